//! Regular expressions of configurations, and what is told where nothing tells which location requests come by.

use super::tests::{facts_of, facts_of_body};
use super::*;

/// Zones that count requests for a path, with whether that is sure, and descriptors of a client.
fn counted(server: &str, path: &str) -> (Vec<(String, bool)>, (u64, u64)) {
    let text = format!(
        "events {{}}\nhttp {{ limit_conn_zone $binary_remote_addr zone=a:1m;\nlimit_req_zone $binary_remote_addr zone=login:1m rate=5r/s;\n\
         limit_conn_zone $key zone=k:1m; map $uri $key {{ ~^/(?!api) $binary_remote_addr; ~^/api/(.*) $1; default \"\"; }}\n\
         server {{ listen 80; {server} }} }}\n"
    );
    let facts = facts_of(&text, path);
    let conns = facts.limit_conn.iter().filter(|zone| zone.keyed != Keyed::Nothing);
    let conns = conns.map(|zone| (zone.zone.clone(), zone.only.is_none() && zone.keyed == Keyed::Counts));
    let reqs = facts.limit_req.iter().map(|zone| (zone.zone.clone(), zone.only.is_none()));
    let takes = facts.busy_descriptors();
    (conns.chain(reqs).collect(), (takes.fewest, takes.most))
}

fn is(all: &[(&str, bool)]) -> Vec<(String, bool)> {
    all.iter().map(|(zone, sure)| ((*zone).to_owned(), *sure)).collect()
}

const PASS: &str = "proxy_pass http://127.0.0.1:9;";

/// nginx 1.22.1 refused 19 of 30 requests at once to each of the paths that are counted here.
#[test]
fn what_stands_behind_a_look_ahead_is_counted() {
    let shop = format!(
        "location ~ \\.php(?:$|/) {{ rewrite ^/(?!index|remote) /index.php$request_uri; limit_req zone=login burst=10 nodelay; {PASS} }}\n\
         location / {{ return 404; }}"
    );
    for path in ["/index.php", "/apps/index.php", "/remote.php/dav/x"] {
        assert_eq!(counted(&shop, path), (is(&[("login", true)]), (2, 2)), "{path}");
    }
    assert_eq!(counted(&shop, "/x"), (is(&[]), (1, 1)));
    let hidden = format!(
        "location ~ /\\.(?!well-known).* {{ deny all; }} location / {{ limit_conn a 7; limit_req zone=login burst=10 nodelay; {PASS} }}"
    );
    assert_eq!(counted(&hidden, "/.well-known/acme-challenge/x").0, is(&[("a", true), ("login", true)]));
    assert_eq!(counted(&hidden, "/.git/config").0, is(&[]));
    assert_eq!(counted(&hidden, "/a//%2egit").0, is(&[]), "what nginx makes of it is looked at");
}

#[test]
fn a_map_of_expressions_is_looked_up() {
    let server = format!("limit_conn k 5; location / {{ {PASS} }}");
    assert_eq!(counted(&server, "/x").0, is(&[("k", true)]));
    assert_eq!(counted(&server, "/api/x").0, is(&[("k", false)]), "a group is not evaluated");
    assert_eq!(counted(&server, "/api").0, is(&[]), "the default is empty");
}

/// Held by nginx 1.22.1 with 100 descriptors: 88 clients that were redirected.
#[test]
fn a_client_takes_two_descriptors_only_where_it_may_have_an_upstream() {
    let by =
        |condition: &str| format!("location / {{ if ({condition}) {{ return 301 /api/; }} limit_conn a 7; {PASS} }}");
    assert_eq!(counted(&by("$request_uri ~ \"^/(?!api)\""), "/").1, (1, 1));
    assert_eq!(counted(&by("$request_uri ~ \"^/(?!api)\""), "/api/").1, (2, 2));
    assert_eq!(counted(&by("$http_user_agent ~ bot"), "/").1, (1, 2));
    let file = "location / { if ($http_user_agent ~ bot) { return 403; } root /srv; }";
    assert_eq!(counted(file, "/x").1, (1, 2), "a file is open, too");
}

#[test]
fn where_it_is_not_known_where_requests_go_every_zone_may_count_them() {
    let server = format!(
        "rewrite ^/(.*)$ /$http_x_version/$1 last; location /v1/ {{ limit_conn a 7; {PASS} }} location /v2/ {{ limit_req zone=login; {PASS} }}"
    );
    let (zones, takes) = counted(&server, "/x");
    assert_eq!((zones, takes), (is(&[("a", false), ("login", false)]), (1, 2)));
    // Not even a pattern that nginx itself would not take hides one.
    let odd = format!("location ~ ^/(a {{ return 404; }} location / {{ limit_conn a 7; {PASS} }}");
    assert_eq!(counted(&odd, "/x").0, is(&[("a", false)]));
}

/// nginx 1.22.1, ten at once: three were served, seven got 500.
#[test]
fn a_zone_counts_what_is_asked_before() {
    let of = |before: &str, main: &str| {
        let server = format!(
            "location / {{ auth_request /auth; {main} {PASS} }} location = /auth {{ internal; {before} {PASS} }}"
        );
        counted(&server, "/").0
    };
    assert_eq!(of("limit_conn a 3;", ""), is(&[("a", true)]));
    assert_eq!(of("limit_req zone=login;", ""), is(&[("login", true)]));
    assert_eq!(of("", ""), is(&[]));
    assert_eq!(of("limit_conn a 3; if ($http_x) { return 403; }", ""), is(&[("a", false)]));
    let text = "events {} http { limit_conn_zone $binary_remote_addr zone=a:1m; server { listen 80; location / { auth_request /auth; limit_conn a 9; \
                proxy_pass http://127.0.0.1:9; } location = /auth { limit_conn a 3; proxy_pass http://127.0.0.1:9; } } }";
    let facts = facts_of(text, "/");
    let zones: Vec<_> = facts.limit_conn.iter().map(|zone| (zone.number.value, zone.refusal.clone())).collect();
    assert_eq!(zones, [(9, Refusal::Status(503))], "the client's own counts first");
    let asked = facts_of(&text.replace("limit_conn a 9;", ""), "/");
    assert_eq!(asked.limit_conn[0].refusal, Refusal::Status(500));
}

/// Whatever is read: what the log says of a zone has a limit to stand for.
#[test]
fn a_zone_of_another_location_is_known_to_the_log() {
    let text = "events {}\nhttp { limit_req_zone $binary_remote_addr zone=login:1m rate=5r/s;\nserver { listen 80; location /a { limit_req \
                zone=login; } location / { return 200; } } }\n";
    let facts = facts_of(text, "/");
    assert!(facts.limit_req.is_empty());
    let all = crate::nginx::limits::accidents(&facts);
    let limit = all.iter().find(|limit| limit.id == "nginx.limit_req.login").unwrap();
    assert_eq!(limit.value, "zone=login");
    assert!(!crate::nginx::limits::accidents(&facts_of(text, "/a")).iter().any(|limit| limit.id.contains("login")));
}

/// Descriptors of a client whose body has from so many to so many bytes, with these lines in the location.
fn with_body(lines: &str, body: (u64, u64)) -> (u64, u64) {
    let text = format!("events {{}}\nhttp {{ server {{ listen 80; location / {{ {lines} }} }} }}\n");
    let takes = facts_of_body(&text, "/", body).busy_descriptors();
    (takes.fewest, takes.most)
}

/// nginx 1.22.1 with 100 descriptors and bodies of 50,000 bytes: 98 sockets and 45 files at 256, 30 clients at 100.
#[test]
fn a_body_beyond_its_buffer_is_a_file_until_the_upstream_has_it() {
    let large = (50_000, 50_000);
    assert_eq!(with_body(PASS, large), (3, 3));
    assert_eq!(with_body(PASS, (4_000, 4_000)), (2, 2));
    assert_eq!(with_body(PASS, (17_000, 17_000)), (2, 3), "what came with the head counts");
    assert_eq!(with_body(PASS, (0, u64::MAX)), (2, 3), "not every request has one");
    assert_eq!(with_body(&format!("client_body_buffer_size 64k; {PASS}"), large), (2, 2));
    assert_eq!(with_body(&format!("client_body_in_file_only clean; {PASS}"), (1, 1)), (3, 3));
    assert_eq!(with_body(&format!("proxy_request_buffering off; {PASS}"), large), (2, 2));
    assert_eq!(with_body("fastcgi_request_buffering off; fastcgi_pass 127.0.0.1:9;", large), (2, 2));
    let mirrored = with_body(&format!("mirror /m; proxy_request_buffering off; {PASS}"), large);
    assert!(mirrored.0 < mirrored.1, "what is mirrored is read before: {mirrored:?}");
    assert_eq!(with_body(&format!("client_header_buffer_size 64k; {PASS}"), large), (2, 3));
    assert_eq!(with_body("return 204;", large), (1, 1), "it is thrown away");
}
