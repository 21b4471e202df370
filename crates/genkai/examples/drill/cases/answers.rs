//! Answers that a server makes itself: the limit named is the directive with its line, which its identity ends with.

use super::{AT_ONCE, Case, NO_NUMBER};

/// A load that shows it at once.
const ALL: &str = "--users 10 --spawn-rate 10 --backend embedded --backend-time 10ms";
/// A load that grows over what a rule allows.
const GROWS: &str = "--users 40 --spawn-rate 10 --backend embedded --backend-time 100ms";

pub(super) fn cases() -> Vec<Case> {
    [nginx(), apache(), haproxy()].into_iter().flatten().collect()
}

fn nginx() -> Vec<Case> {
    let one = |name: &str, fault: &str, within: &str, id: &'static str| {
        let text = format!(
            "events {{}}\nhttp {{\n  server {{\n    listen 8080;\n    location / {{\n      {within}\n      proxy_pass \
             http://127.0.0.1:9;\n    }}\n  }}\n}}\n"
        );
        Case::of("nginx", name, fault).flags(ALL).config(text).cause(id).off(AT_ONCE)
    };
    vec![
        one("nginx-deny", "deny of the machine's network", "deny 127.0.0.0/8;", "nginx.answers.deny.6"),
        one("nginx-return", "return 503", "return 503;", "nginx.answers.return.6"),
        one(
            "nginx-auth",
            "auth_basic, without a user",
            "auth_basic x; auth_basic_user_file /nonexistent;",
            "nginx.answers.auth_basic.6",
        ),
        one("nginx-try-files", "try_files that finds none", "try_files /none =404;", "nginx.answers.try_files.6"),
        one(
            "nginx-header-buffers",
            "a path of 3 kB, for buffers of 2 kB",
            "} large_client_header_buffers 4 2k; location /b {",
            "nginx.answers.large_client_header_buffers.6",
        )
        .flags(format!("--path /{}", "x".repeat(3_000))),
    ]
}

fn apache() -> Vec<Case> {
    let one = |name: &str, fault: &str, within: &str, id: &'static str| {
        let names = ["mpm_event", "authz_core", "authz_host", "rewrite", "proxy", "proxy_http"];
        let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
        let modules: String = names.into_iter().map(load).collect();
        let text =
            format!("{modules}User www-data\nGroup www-data\nListen 80\n{within}\nProxyPass / http://127.0.0.1:9/\n");
        Case::of("apache", name, fault).flags(ALL).config(text).cause(id).off(AT_ONCE)
    };
    vec![
        one(
            "apache-require",
            "Require of another network",
            "<Location />\nRequire ip 10.0.0.0/8\n</Location>",
            "apache.answers.Require.11",
        ),
        one(
            "apache-forbidden",
            "a RewriteRule that forbids",
            "RewriteEngine on\nRewriteRule ^/ - [F]",
            "apache.answers.RewriteRule.11",
        ),
    ]
}

fn haproxy() -> Vec<Case> {
    let one = |name: &str, fault: &str, flags: &str, front: &str, id: &'static str| {
        let text = format!(
            "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\nfrontend f\n  bind :80\n  {front}\n  \
             default_backend b\nbackend b\n  server s 127.0.0.1:9\n"
        );
        Case::of("haproxy", name, fault).flags(flags).config(text).cause(id)
    };
    let table =
        "stick-table type ip size 100 expire 10s store conn_cur,http_req_rate(1s)\n  http-request track-sc0 src\n  ";
    vec![
        one(
            "haproxy-deny",
            "http-request deny of all",
            ALL,
            "http-request deny",
            "haproxy.answers.http-request-deny.8",
        )
        .off(AT_ONCE),
        one(
            "haproxy-return",
            "http-request return 503",
            ALL,
            "http-request return status 503",
            "haproxy.answers.http-request-return.8",
        )
        .off(AT_ONCE),
        one(
            "haproxy-many",
            "http-request deny of more than 20 connections of an address",
            GROWS,
            &format!("{table}http-request deny deny_status 429 if {{ sc_conn_cur(0) gt 20 }}"),
            "haproxy.answers.http-request-deny.10",
        )
        .off(NO_NUMBER),
        one(
            "haproxy-often",
            "http-request deny of more than 100 requests a second of an address",
            GROWS,
            &format!("{table}http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt 100 }}"),
            "haproxy.answers.http-request-deny.10",
        )
        .off(NO_NUMBER),
    ]
}
