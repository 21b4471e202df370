//! Directives in force for a request that may be left out: those of the blocks on its way (main, `http`, `server`, each `location` that it may
//! come to, the `upstream` it is passed to), but for what makes it a server before this backend.

use super::config::{Config, Found, Target};
use crate::files::{Removable, Requests, removable};

/// Directives that stay: where it listens and for whom, what it passes requests to, files that it serves, processes, logs.
const KEPT: [&str; 40] = [
    "access_log",
    "alias",
    "daemon",
    "error_log",
    "events",
    "fastcgi_param",
    "fastcgi_pass",
    "grpc_pass",
    "http",
    "include",
    "listen",
    "load_module",
    "location",
    "lock_file",
    "log_format",
    "mail",
    "master_process",
    "memcached_pass",
    "pid",
    "proxy_pass",
    "proxy_http_version",
    "resolver",
    "root",
    "scgi_param",
    "scgi_pass",
    "server",
    "server_name",
    "ssl_certificate",
    "ssl_certificate_key",
    "stream",
    "stub_status",
    "types",
    "upstream",
    "user",
    "uwsgi_param",
    "uwsgi_pass",
    "worker_connections",
    "worker_cpu_affinity",
    "worker_processes",
    "worker_rlimit_nofile",
];

/// Directives that decide who may ask for what: those of nginx's own modules, and those of modules that are often added (Lua, njs,
/// ModSecurity, naxsi).
const PROTECTS: [&str; 47] = [
    "BasicRule",
    "CheckRule",
    "DeniedUrl",
    "LibInjectionSql",
    "LibInjectionXss",
    "SecRulesEnabled",
    "access_by_lua_block",
    "access_by_lua_file",
    "allow",
    "auth_basic",
    "auth_basic_user_file",
    "auth_jwt",
    "auth_jwt_key_file",
    "auth_jwt_key_request",
    "auth_jwt_require",
    "auth_jwt_type",
    "auth_oidc",
    "auth_request",
    "auth_request_set",
    "basic_rule",
    "check_rule",
    "denied_url",
    "deny",
    "disable_symlinks",
    "internal",
    "js_access",
    "libinjection_sql",
    "libinjection_xss",
    "limit_except",
    "modsecurity",
    "modsecurity_rules",
    "modsecurity_rules_file",
    "modsecurity_rules_remote",
    "rewrite_by_lua_block",
    "rewrite_by_lua_file",
    "rules_enabled",
    "satisfy",
    "secure_link",
    "secure_link_md5",
    "secure_link_secret",
    "ssl_client_certificate",
    "ssl_crl",
    "ssl_ocsp",
    "ssl_reject_handshake",
    "ssl_verify_client",
    "ssl_verify_depth",
    "valid_referers",
];
/// Modules that may hold what answers them by TLS against a certificate, and the ends of the directives by which they do.
const TRUSTS: ([&str; 3], [&str; 4]) =
    (["grpc_ssl_", "proxy_ssl_", "uwsgi_ssl_"], ["crl", "trusted_certificate", "verify", "verify_depth"]);
/// Statuses of a server that fails: an `if` that answers some of these turns these away, and without one everybody gets it.
const TURNS_AWAY: [&str; 1] = ["503"];

/// Variables of an address: a redirect that asks for nothing else leads to another name, port or scheme of the same site.
const OF_ADDRESS: [&str; 9] = [
    "$host",
    "$http_host",
    "$http_x_forwarded_proto",
    "$https",
    "$request_uri",
    "$scheme",
    "$server_name",
    "$server_port",
    "$uri",
];

/// Whether it is an `if` that leads some elsewhere, by what they have with them: it may be the way to a login.
fn leads_away(found: &Found<'_>) -> bool {
    let moved = |of: &str| matches!(of, "301" | "302" | "303" | "307" | "308") || of.contains("://");
    let redirects = |one: &Found<'_>| {
        one.directive.is("return") && one.arg(0).is_some_and(|of| moved(&of))
            || one.directive.is("rewrite") && one.arg(2).is_some_and(|flag| matches!(&*flag, "redirect" | "permanent"))
    };
    let asked = found.arg(0).unwrap_or_default();
    let of_address = OF_ADDRESS.iter().any(|name| asked.trim_start_matches(['(', '!']) == *name);
    found.directive.is("if") && !of_address && found.inside().iter().any(redirects)
}

/// Whether it decides who may ask for what: by its name, or as a `return` (also the one of an `if`) that keeps somebody out, or as an `if` that may
/// lead to a login.
fn protects(found: &Found<'_>) -> bool {
    let returns =
        |one: &Found<'_>, is: &dyn Fn(&str) -> bool| one.directive.is("return") && one.arg(0).is_some_and(|of| is(&of));
    // Whatever is told to be the client's fault (RFC 9110, 15.5), or is nginx's own word for no answer.
    let keeps_out = |of: &str| of.len() == 3 && of.starts_with('4') && of.bytes().all(|byte| byte.is_ascii_digit());
    let turns_away = |of: &str| keeps_out(of) || TURNS_AWAY.contains(&of);
    let guards = returns(found, &keeps_out)
        || found.directive.is("if") && found.inside().iter().any(|one| returns(one, &turns_away))
        || found.inside().iter().any(|one| returns(one, &keeps_out))
        || leads_away(found);
    let (modules, ends) = TRUSTS;
    let trusts = modules.iter().flat_map(|module| ends.map(|end| format!("{module}{end}")));
    guards
        || PROTECTS.iter().any(|name| found.directive.is(name))
        || trusts.into_iter().any(|name| found.directive.is(&name))
}

/// The directives that may be left out for these requests, in the order in which they are written.
pub(super) fn all(config: &Config, requests: &Requests) -> Vec<Removable> {
    let Some(route) = config.route_of(requests) else { return Vec::new() };
    let mut blocks: Vec<Found<'_>> = route.server.parent().into_iter().chain([route.server.clone()]).collect();
    let again = config.through(&route).routes;
    blocks.extend(again.iter().map(|route| route.server.clone()));
    for way in again.iter().chain([&route]).flat_map(|route| &route.ways) {
        let stages = way.looked.iter().flat_map(|stage| &stage.chain);
        blocks.extend(way.entry.iter().chain(stages).chain(&way.handler).cloned());
        if let Some(Target::Upstream(name)) = way.pass().map(|pass| pass.target) {
            let named = |found: &Found<'_>| found.arg(0).as_deref() == Some(name.as_str());
            blocks.extend(config.find(&["http"], "upstream").into_iter().filter(named));
        }
    }
    let inside = blocks.iter().filter(|block| !block.directive.is("if")).flat_map(Found::inside);
    let found =
        config.top().into_iter().chain(inside).filter(|found| !KEPT.iter().any(|name| found.directive.is(name)));
    let mut all = removable::once(found.map(|found| {
        let one = Removable::of(found.file, config.file(found.file), &found.directive.span, &found.written());
        one.protecting(protects(&found))
    }));
    all.sort_by_key(|one| (one.file, one.line));
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "user www-data;\nevents { worker_connections 9; }\nhttp {\n  sendfile on;\n  map $uri $slow { / 1; }\n  server {\n    listen \
                        80;\n    limit_rate 1k;\n    location / {\n      if ($arg_x) { return 403; }\n      proxy_pass http://127.0.0.1:1;\n      \
                        sub_filter a b;\n    }\n    location /other { expires 1d; }\n  }\n  server { listen 80; server_name b; etag off; }\n}\n";

    #[test]
    fn what_is_on_the_way_may_be_left_out() {
        let config = Config::of_text(Path::new("/c"), TEXT.as_bytes().to_vec(), Path::new("/")).unwrap();
        let all = all(&config, &Requests::to("a", "/"));
        let told: Vec<(usize, &str)> = all.iter().map(|one| (one.line, one.written.as_str())).collect();
        let expected = [
            (4, "sendfile on"),
            (5, "map $uri $slow"),
            (8, "limit_rate 1k"),
            (10, "if ($arg_x)"),
            (12, "sub_filter a b"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_keeps_somebody_out_protects() {
        let text = "events { }\nhttp {\n server {\n  listen 80;\n  ssl_verify_client on;\n  valid_referers none;\n  location / {\n   satisfy any;\n   \
                    allow 127.0.0.1;\n   deny all;\n   auth_basic x;\n   auth_request /a;\n   secure_link $arg_x;\n   limit_except GET { deny all; \
                    }\n   if ($invalid_referer) { return 403; }\n   if ($arg_y) { rewrite ^ /z; }\n   if ($cookie_session = \"\") { return 302 /login; }\n   \
                    if ($http_authorization !~ x) { rewrite ^ /login redirect; }\n   if ($scheme = http) { return 301 https://a/; }\n   limit_rate 1k;\n   limit_conn a 3;\n   \
                    if ($arg_bad) { return 429; }\n   if ($arg_worse) { return 503; }\n   if ($arg_x) { return 500; }\n   SecRulesEnabled;\n   \
                    rewrite_by_lua_block { ngx.exit(406) }\n   \
                    proxy_ssl_verify on;\n   proxy_ssl_trusted_certificate a;\n   \
                    proxy_pass http://127.0.0.1:1;\n  }\n }\n}\n";
        let config = Config::of_text(Path::new("/c"), text.as_bytes().to_vec(), Path::new("/")).unwrap();
        let all = all(&config, &Requests::to("a", "/"));
        let open: Vec<&str> = all.iter().filter(|one| !one.protects).map(|one| one.written.as_str()).collect();
        assert_eq!(open, ["if ($arg_y)", "if ($scheme = http)", "limit_rate 1k", "limit_conn a 3", "if ($arg_x)"]);
        assert_eq!(all.iter().filter(|one| one.protects).count(), 18, "{all:?}");
    }

    #[test]
    fn what_is_left_out_is_gone_and_lines_keep_their_numbers() {
        let config = Config::of_text(Path::new("/c"), TEXT.as_bytes().to_vec(), Path::new("/")).unwrap();
        let requests = Requests::to("a", "/");
        let edits: Vec<_> = all(&config, &requests).into_iter().take(4).map(|one| one.edit).collect();
        let left = config.apply(&edits).unwrap();
        let told: Vec<(usize, String)> = all(&left, &requests).into_iter().map(|one| (one.line, one.written)).collect();
        assert_eq!(told, [(12, "sub_filter a b".to_owned())]);
    }
}
