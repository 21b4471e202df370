//! Answers that a server makes itself: the limit named is the directive with its line, which its identity ends with.

use super::{AT_ONCE, Case, NO_NUMBER, SLOW};

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
        one(
            "nginx-header-field",
            "a header field of 3 kB, for buffers of 2 kB",
            "} large_client_header_buffers 4 2k; location /b {",
            "nginx.answers.large_client_header_buffers.6",
        )
        .words(["-H", &format!("X-Long: {}", "x".repeat(3_000))]),
        one(
            "nginx-auth-request",
            "auth_request to a location that answers 401",
            "auth_request /ask; } location = /ask { internal; return 401; } location /b {",
            "nginx.answers.auth_request.6",
        ),
        one(
            "nginx-limit-except",
            "limit_except for GET, which nobody may",
            "limit_except POST { deny all; }",
            "nginx.answers.deny.6",
        ),
        one(
            "nginx-error-page",
            "deny, told as 404 by an error_page",
            "deny all; error_page 403 =404 @gone; } location @gone { return 404; } location /b {",
            "nginx.answers.deny.6",
        ),
    ]
}

fn apache() -> Vec<Case> {
    let with = |more: &[&str], name: &str, fault: &str, within: &str, id: &'static str| {
        let names = ["mpm_event", "authz_core", "authz_host", "rewrite", "proxy", "proxy_http"];
        let names = names.into_iter().chain(more.iter().copied());
        let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
        let modules: String = names.map(load).collect();
        let text =
            format!("{modules}User www-data\nGroup www-data\nListen 80\n{within}\nProxyPass / http://127.0.0.1:9/\n");
        Case::of("apache", name, fault).config(text).cause(id)
    };
    let one = |name: &str, fault: &str, within: &str, id: &'static str| {
        with(&[], name, fault, within, id).flags(ALL).off(AT_ONCE)
    };
    let modules = ["mpm_event", "authz_core", "reflector"];
    let load = |name: &str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let own: String = modules.into_iter().map(load).collect();
    vec![
        Case::of("apache", "apache-body-own", "LimitRequestBody 8192 for bodies of 20k that Apache itself takes (mod_reflector)")
            .config(format!(
                "{own}User www-data\nGroup www-data\nListen 80\nLimitRequestBody 8192\n<Location />\nSetHandler reflector\n</Location>\n"
            ))
            .flags("--users 10 --spawn-rate 10 --body-size 20k")
            .cause("apache.LimitRequestBody")
            .off(AT_ONCE),
        with(
            &["reqtimeout"],
            "apache-request-slow",
            "bodies of 40 MB that must come within a second: they share what there is",
            "RequestReadTimeout body=1",
            "apache.answers.RequestReadTimeout.11",
        )
        .flags("--users 40 --spawn-rate 5 --body-size 40m --backend embedded --backend-time 10ms")
        .off(NO_NUMBER),
        with(
            &["ratelimit", "env"],
            "apache-paced",
            "mod_ratelimit of 20 kB/s for responses of 10 KiB: each takes two fifths of a second",
            "<Location />\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit 20\n</Location>",
            "apache.rate-limit",
        )
        .flags("--users 20 --spawn-rate 20 --backend embedded --backend-time 1ms")
        .objective("p99 < 300ms")
        .off(SLOW),
        one(
            "apache-require",
            "Require of another network",
            "<Location />\nRequire ip 10.0.0.0/8\n</Location>",
            "apache.answers.Require.11",
        ),
        one(
            "apache-field-size",
            "LimitRequestFieldSize 200 for a field of 300 bytes",
            "LimitRequestFieldSize 200",
            "apache.answers.LimitRequestFieldSize.10",
        )
        .words(["-H", &format!("X-Long: {}", "x".repeat(300))]),
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
            "haproxy-tarpit",
            "http-request tarpit of all",
            ALL,
            "timeout tarpit 200ms\n  http-request tarpit",
            "haproxy.answers.http-request-tarpit.9",
        )
        .off(AT_ONCE),
        one(
            "haproxy-large-field",
            "a header field of 17 kB, for tune.bufsize 16384",
            ALL,
            "option dontlognull",
            "haproxy.answers.tune.bufsize",
        )
        .words(["-H", &format!("X-Long: {}", "x".repeat(17_000))])
        .off(AT_ONCE),
        one(
            "haproxy-many",
            "http-request deny of more than 20 connections of an address",
            GROWS,
            &format!("{table}http-request deny deny_status 429 if {{ sc_conn_cur(0) gt 20 }}"),
            "haproxy.answers.http-request-deny.10",
        ),
        one(
            "haproxy-many-connections",
            "tcp-request connection reject of more than 20 connections of an address",
            GROWS,
            "stick-table type ip size 100 expire 10s store conn_cur\n  tcp-request connection track-sc0 src\n  tcp-request connection \
             reject if { sc0_conn_cur gt 20 }",
            "haproxy.answers.tcp-request-connection-reject.10",
        ),
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
