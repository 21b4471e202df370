//! Values in force, on configurations as people write them.

use std::path::Path;

use genkai_model::limit::{Ceiling, Sign, Signature};

use super::*;
use crate::nginx::config::Refusal;

const MACHINE: fn() -> Machine = || Machine {
    descriptors: 1024,
    descriptors_hard: 20_000,
    descriptors_ceiling: Ceiling { value: 4096.0, by: "hard RLIMIT_NOFILE 4096".into() },
    online: 8,
    cores: 4,
    somaxconn: 128,
    ports: (32768, 60999),
};

pub(super) fn facts_of(text: &str, path: &str) -> Facts {
    facts_where(text, path, &|_| false)
}

/// The same of requests with bodies of so many bytes.
pub(super) fn facts_of_body(text: &str, path: &str, body: (u64, u64)) -> Facts {
    facts_from(text, path, body, &|_| false)
}

/// The same where nobody listens at some addresses.
fn facts_where(text: &str, path: &str, absent: &dyn Fn(std::net::SocketAddr) -> bool) -> Facts {
    facts_from(text, path, (0, 0), absent)
}

fn facts_from(text: &str, path: &str, body: (u64, u64), absent: &dyn Fn(std::net::SocketAddr) -> bool) -> Facts {
    let config = Config::of_text(Path::new("/etc/nginx/nginx.conf"), text.into(), Path::new("/usr")).unwrap();
    let route = config.route(Some("localhost"), path).unwrap();
    let origin = |f: &Found<'_>| Origin::File { path: f.config.file(f.file).path.clone(), line: f.line() };
    let machine = MACHINE();
    let (version, machine) = ((1, 22, 1), &machine);
    Reading {
        config: &config,
        route,
        origin: &origin,
        version,
        machine,
        status: None,
        visitor: None,
        headers: None,
        body,
        absent,
    }
    .facts()
}

fn line(origin: &Origin) -> usize {
    let Origin::File { line, .. } = origin else { panic!("{origin:?}") };
    *line
}

#[test]
fn a_short_file_has_defaults_with_their_sources() {
    let facts =
        facts_of("events {}\nhttp { server { listen 80; location / { proxy_pass http://127.0.0.1:9; } } }\n", "/");
    assert_eq!((facts.workers.value, facts.worker_connections.value, facts.backlog.value), (1, 512, 511));
    assert_eq!((facts.body.value, facts.body.written.as_str()), (1 << 20, "1m"));
    assert!(matches!(&facts.worker_connections.origin, Origin::Default(by) if !by.is_empty()));
    assert_eq!((facts.nofile.value, facts.listeners, facts.sockets, facts.logs), (1024, 1, 1, 1));
    assert!(matches!(facts.nofile.origin, Origin::Machine(_)));
    assert_eq!(facts.upstream.unwrap().addresses, ["127.0.0.1:9".parse().unwrap()]);
}

#[test]
fn values_come_from_the_innermost_block_with_their_line() {
    let text = "worker_processes auto;\nworker_rlimit_nofile 2048;\nevents { worker_connections 768; }\nhttp {\n\
        client_max_body_size 8m;\nlimit_conn_zone $binary_remote_addr zone=per:10m;\nlimit_conn per 100;\n\
        limit_req_zone $binary_remote_addr zone=slow:1m rate=30r/m;\nserver {\nlisten 80 backlog=64;\n\
        location / { proxy_pass http://127.0.0.1:9; }\n\
        location /up {\nclient_max_body_size 0;\nlimit_conn per 3;\nlimit_conn_status 429;\n\
        limit_req zone=slow burst=5 nodelay;\nproxy_read_timeout 1m30s;\nproxy_pass http://127.0.0.1:9;\n}\n}\n}\n";
    let root = facts_of(text, "/");
    assert_eq!((root.workers.value, root.workers.written.as_str()), (8, "auto"));
    assert_eq!((root.nofile.value, line(&root.nofile.origin)), (2048, 2));
    assert_eq!((root.body.value, line(&root.body.origin)), (8 << 20, 5));
    assert_eq!((root.backlog.value, line(&root.backlog.origin)), (64, 10));
    assert_eq!((root.limit_conn[0].number.value, &root.limit_conn[0].refusal), (100, &Refusal::Status(503)));
    assert!(root.limit_req.is_empty());
    let up = facts_of(text, "/up/x");
    assert_eq!((up.body.value, line(&up.body.origin)), (0, 13));
    assert_eq!(
        (up.limit_conn.len(), up.limit_conn[0].number.value, &up.limit_conn[0].refusal),
        (1, 3, &Refusal::Status(429))
    );
    let req = &up.limit_req[0];
    assert_eq!((req.rate.value, req.burst, req.at_once, line(&req.rate.origin)), (0.5, 5, 5, 8));
    assert_eq!(up.read_timeout.value, Span::from_secs(90));
}

#[test]
fn more_descriptors_than_may_be_had_are_not_had() {
    let facts = facts_of("worker_rlimit_nofile 100000;\nevents {}\nhttp { server { listen 80; return 200; } }\n", "/");
    assert_eq!((facts.nofile.value, facts.nofile.written.as_str()), (1024, "100000"));
}

#[test]
fn what_answers_decides_what_a_client_costs() {
    let text = "events {}\nhttp { server { listen 80; root /nowhere; location /app { fastcgi_pass unix:/run/php.sock; }\n\
        location = /ok { return 200 ok; } location / { try_files $uri @app; } location @app { proxy_pass http://127.0.0.1:9; } } }\n";
    let serving = |path| facts_of(text, path).serving;
    assert_eq!(
        (serving("/app/"), serving("/ok"), serving("/x")),
        (Serving::Upstream, Serving::Nothing, Serving::Upstream)
    );
    assert!(facts_of(text, "/app/").upstream.unwrap().addresses.is_empty(), "a Unix socket has no ports");
    let files = "events {}\nhttp { server { listen 80; root /nowhere; } }\n";
    assert_eq!(facts_of(files, "/").serving, Serving::File);
}

#[test]
fn a_file_that_is_tried_for_is_there_where_a_status_is_all_else() {
    let of = |server: &str, path: &str| {
        let facts =
            facts_of(&format!("events {{}}\nhttp {{ server {{ listen 80; root /nowhere; {server} }} }}\n"), path);
        (facts.serving, facts.mixed)
    };
    let debian = "index index.html index.nginx-debian.html; location / { try_files $uri $uri/ =404; }";
    for path in ["/", "/a", "/a/"] {
        assert_eq!(of(debian, path), (Serving::File, false), "{path}");
        assert_eq!(of(&format!("{debian} error_page 404 /404.html;"), path), (Serving::File, false), "{path}");
    }
    let php = "location ~ \\.php$ { try_files $uri =404; fastcgi_pass unix:/run/php.sock; }";
    assert_eq!(of(php, "/x.php"), (Serving::Upstream, false));
    let one_page = "location / { try_files $uri $uri/ /index.html; }";
    assert_eq!(of(one_page, "/some/page"), (Serving::File, false));
    let else_app =
        "error_page 404 = @app; location / { try_files $uri =404; } location @app { proxy_pass http://127.0.0.1:9; }";
    assert_eq!(of(else_app, "/x"), (Serving::File, true));
}

#[test]
fn more_conditions_than_are_followed_leave_the_way_open() {
    let ifs: String = (0..6).map(|at| format!("if ($http_x{at}) {{ set $y{at} 1; }} ")).collect();
    let facts = facts_of(
        &format!(
            "events {{}}\nhttp {{ server {{ listen 80; location / {{ {ifs} proxy_pass http://127.0.0.1:9; }} }} }}\n"
        ),
        "/",
    );
    assert!(facts.mixed);
    assert!(facts.upstream.unwrap().only.is_some_and(|why| why.contains("too many conditions")));
}

#[test]
fn a_condition_on_the_method_is_not_decided() {
    let server =
        "location / { if ($request_method = PUT) { return 403; } limit_conn z 5; proxy_pass http://127.0.0.1:9; }";
    assert_eq!(conns("", server), [("z".to_owned(), None, Refusal::Status(503))]);
}

#[test]
fn sockets_and_logs_are_counted_once() {
    let text = "worker_processes 3;\nerror_log /l/error.log;\nevents {}\nhttp { access_log /l/a.log;\n\
        server { listen 80 reuseport; access_log /l/a.log; error_log /l/error.log; return 200; }\n\
        server { listen 80; listen 81; access_log off; return 200; }\n\
        server { listen 82; access_log /l/$host.log; error_log syslog:server=x; return 200; } }\n";
    let facts = facts_of(text, "/");
    assert_eq!((facts.listeners, facts.sockets, facts.logs), (3, 5, 2));
}

#[test]
fn a_server_at_whose_address_nobody_listens_takes_no_connections() {
    let group = |servers: &str, absent: &[u16]| {
        let text = format!(
            "events {{}}\nhttp {{ upstream u {{ zone z 64k; {servers} }}\nserver {{ listen 80; location / {{ proxy_pass http://u; }} }} }}\n"
        );
        facts_where(&text, "/", &|address| absent.contains(&address.port())).upstream.unwrap()
    };
    let two = "server 127.0.0.1:1 max_conns=5; server 127.0.0.1:2 max_conns=6;";
    let caps = |group: Upstream| group.max_conns.map(|held| held.value);
    assert_eq!(caps(group(two, &[])), Some(vec![5, 6]));
    let one = group(two, &[2]);
    assert_eq!((caps(one.clone()), one.max_fails.is_some()), (Some(vec![5]), true));
    assert_eq!(one.absent, [("127.0.0.1:2".to_owned(), true)]);
    assert_eq!(caps(group(two, &[1, 2])), Some(vec![5, 6]), "then it is not that which stops a load");
    let backup = format!("{two} server 127.0.0.1:3 backup;");
    assert_eq!((caps(group(&backup, &[])), caps(group(&backup, &[3]))), (None, Some(vec![5, 6])));
    // A name of the loopback stands for both of its addresses.
    let text = "events {}\nhttp { upstream u { server 127.0.0.1:1; server localhost:2; }\nserver { listen 80; location / { proxy_pass http://u; } } }\n";
    let absent = |both: bool| {
        let facts = facts_where(text, "/", &|address| address.port() == 2 && (both || address.is_ipv4()));
        facts.upstream.unwrap().absent.len()
    };
    assert_eq!((absent(false), absent(true)), (0, 1));
}

#[test]
fn max_conns_is_a_cap_only_when_every_server_has_one() {
    let group = |servers: &str| {
        let text = format!(
            "events {{}}\nhttp {{ upstream app {{ {servers} }} server {{ listen 80; location / {{ proxy_pass http://app; }} }} }}\n"
        );
        facts_of(&text, "/").upstream.unwrap()
    };
    let capped =
        group("zone z 64k; server 127.0.0.1:1 max_conns=5; server 127.0.0.1:2 max_conns=6; server 127.0.0.1:3 backup;");
    assert_eq!((capped.max_conns, capped.shared, capped.servers), (None, true, 2));
    let backup = group("server 127.0.0.1:1 max_conns=5; server 127.0.0.1:2 max_conns=6 backup;");
    assert_eq!((backup.max_conns.unwrap().value, backup.servers), (vec![5, 6], 1));
    assert_eq!(backup.max_fails.map(|held| held.written).as_deref(), Some("1"), "the default");
    let always = group("server 127.0.0.1:1 max_fails=0; server 127.0.0.1:2;");
    assert_eq!(always.max_fails, None, "one is always asked");
    assert_eq!(group("server 127.0.0.1:1;").max_fails, None, "and so is the only one");
    let open = group("server 127.0.0.1:1 max_conns=5; server 127.0.0.1:2; keepalive 16;");
    assert_eq!((open.max_conns, open.keepalive), (None, Some(16)));
}

/// Connections that stay open are those that servers are not asked to close.
#[test]
fn what_a_server_is_asked_to_close_does_not_stay_open() {
    let closed = |server: &str| {
        let text = format!(
            "events {{}}\nhttp {{ upstream u {{ server 127.0.0.1:1; server 127.0.0.1:2; keepalive 16; }}\nserver {{ listen 80; location / {{ {server} }} }} }}\n"
        );
        let facts = facts_of(&text, "/");
        (facts.upstream.as_ref().unwrap().closed, facts.kept().is_none())
    };
    let new = "proxy_pass http://u; proxy_http_version 1.1;";
    for server in [
        "proxy_pass http://u;",
        new,
        &format!("{new} proxy_set_header Connection close;"),
        "fastcgi_pass u;",
        "uwsgi_pass u;",
    ] {
        assert_eq!(closed(server), (true, true), "{server}");
    }
    let header = |value: &str| format!("{new} proxy_set_header Connection {value};");
    for server in [&*header("\"\""), &header("$connection_upgrade"), "fastcgi_pass u; fastcgi_keep_conn on;"] {
        assert_eq!(closed(server), (false, false), "{server}");
    }
}

/// `limit_conn` in force, with what refuses; none of a number that is not known.
fn conns(http: &str, server: &str) -> Vec<(String, Option<u64>, Refusal)> {
    let text = format!(
        "events {{}}\nhttp {{ limit_conn_zone all zone=z:1m; limit_conn_zone all zone=y:1m; {http}\nserver {{ listen 80; {server} }} }}\n"
    );
    let zones = facts_of(&text, "/").limit_conn.into_iter();
    zones.map(|zone| (zone.zone, Some(zone.number.value).filter(|_| zone.only.is_none()), zone.refusal)).collect()
}

#[test]
fn limits_are_those_of_where_a_request_goes() {
    let refused = || Refusal::Status(503);
    let pass = "proxy_pass http://127.0.0.1:9;";
    let of = |server: &str| conns("", &server.replace("PASS", pass));
    let five = vec![("z".to_owned(), Some(5), refused())];
    for server in [
        "location / { try_files $uri @b; } location @b { limit_conn z 5; PASS }",
        "location / { try_files $uri /in; } location /in { internal; limit_conn z 5; PASS }",
        "location / { rewrite ^ /in last; limit_conn y 1; } location /in { limit_conn z 5; PASS }",
        "rewrite ^/(.*) /in/$1 last; location / { PASS } location /in { limit_conn z 5; PASS }",
        "rewrite ^ /in; rewrite ^/in$ /in2; location / { PASS } location /in2 { limit_conn z 5; PASS }",
        "location / { rewrite ^ /in break; limit_conn z 5; PASS } location /in { limit_conn y 1; PASS }",
        "location / { return 418; error_page 418 @b; } location @b { limit_conn z 5; PASS }",
        "location / { try_files $uri =404; error_page 404 = @b; limit_conn z 5; } location @b { limit_conn y 1; PASS }",
        "location / { limit_conn z 5; if ($scheme = https) { return 301 https://x; } PASS }",
        "set $a b; location / { if ($a = b) { rewrite ^ /in last; } PASS } location /in { limit_conn z 5; PASS }",
    ] {
        assert_eq!(of(server), five, "{server}");
    }
    for server in [
        "location / { limit_conn z 5; return 200; }",
        "location / { limit_conn z 5; rewrite ^ /x redirect; PASS }",
        "rewrite ^ https://x/ ; location / { limit_conn z 5; PASS }",
        "location / { internal; limit_conn z 5; PASS }",
        "if ($host = localhost) { return 404; } location / { limit_conn z 5; PASS }",
        "location / { if ($arg_key = \"\") { return 403; } limit_conn z 5; PASS }",
    ] {
        assert_eq!(of(server), [], "{server}");
    }
    let some = vec![("z".to_owned(), None, refused())];
    for server in [
        "location / { if ($http_x) { return 403; } limit_conn z 5; PASS }",
        "location / { if ($http_x) { rewrite ^ /in last; } PASS } location /in { limit_conn z 5; PASS }",
        "location / { rewrite ^ /$http_x last; limit_conn z 5; } location /in { PASS }",
    ] {
        assert_eq!(of(server).into_iter().filter(|z| z.0 == "z").collect::<Vec<_>>(), some, "{server}");
    }
    let ahead = of("location / { PASS } location ~ ^/(?!x) { limit_conn z 5; PASS }");
    assert_eq!(ahead, [("z".to_owned(), Some(5), refused())], "a look-ahead is followed");
}

#[test]
fn an_error_page_may_answer_what_is_refused() {
    let of = |page: &str| {
        let server = format!(
            "{page} location / {{ limit_conn z 5; proxy_pass http://127.0.0.1:9; }} location @f {{ proxy_pass http://127.0.0.1:9; }} \
             location @r {{ return 429; }}"
        );
        conns("", &server).remove(0).2
    };
    for page in ["error_page 503 /x.html;", "error_page 503 @f;", "error_page 502 =200 @f;"] {
        assert_eq!(of(page), Refusal::Status(503), "{page}");
    }
    assert_eq!(of("error_page 503 =429 /x.html;"), Refusal::Status(429));
    assert_eq!(of("error_page 503 = @r;"), Refusal::Status(429));
    for page in ["error_page 500 503 =200 @f;", "error_page 503 = @f;", "error_page 503 https://x/;"] {
        assert!(matches!(of(page), Refusal::Elsewhere(_)), "{page}");
    }
}

/// A file that is not there may be answered by another location, which has limits of its own.
#[test]
fn an_error_page_that_is_served_behind_limits_is_a_way_too() {
    let doubts = |page: &str, there: &str| {
        let text = format!(
            "events {{}}\nhttp {{ limit_conn_zone $uri zone=z:1m;\nserver {{ listen 80; {page} location /s/ {{ }} location /a/ {{ {there} }} }} }}\n"
        );
        let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/usr")).unwrap();
        config.route(Some("localhost"), "/s/x").unwrap().doubts.len()
    };
    let pass = "limit_conn z 5; proxy_pass http://127.0.0.1:9;";
    assert_eq!(doubts("error_page 404 /a/x;", pass), 1);
    assert_eq!(doubts("error_page 404 /a/x;", "limit_conn z 5;"), 1);
    assert_eq!(doubts("error_page 404 /a/x;", ""), 0, "a file like any other");
    assert_eq!(doubts("error_page 404 https://x/a/;", pass), 0);
    assert_eq!(doubts("error_page 500 /a/x;", pass), 0);
}

/// nginx 1.22: a group that the last expression does not have is empty.
#[test]
fn a_redirect_in_an_error_page_is_followed_by_the_path_that_is_known() {
    let of = |to: &str| {
        let server = format!(
            "error_page 452 =429 @n; location / {{ limit_conn z 5; limit_conn_status 452; rewrite ^ {to} break; proxy_pass http://127.0.0.1:9; }} \
             location @n {{ rewrite ^/in/ /b redirect; proxy_pass http://127.0.0.1:9; }}"
        );
        conns("", &server).remove(0).2
    };
    assert!(matches!(of("/in/$1"), Refusal::Elsewhere(_)));
    assert_eq!(of("/out/$1"), Refusal::Status(429));
}

#[test]
fn a_variable_names_one_upstream_or_several() {
    let of = |http: &str, server: &str| {
        let text = format!(
            "events {{}}\nhttp {{ upstream u {{ server 127.0.0.1:1 max_conns=3; }} upstream v {{ server 127.0.0.1:2 max_conns=9; }} {http}\n\
             server {{ listen 80; {server} }} }}\n"
        );
        let facts = facts_of(&text, "/");
        let all = facts.upstream.into_iter().chain(facts.others);
        all.map(|u| (u.name.written, u.max_conns.map(|held| held.value[0]), u.only.is_none())).collect::<Vec<_>>()
    };
    let told = |name: &str, cap, sure| (name.to_owned(), Some(cap), sure);
    let pass = "location / { proxy_pass http://$b; }";
    assert_eq!(of("", &format!("set $b v; {pass}")), [told("v", 9, true)]);
    assert_eq!(of("map $uri $b { default u; / v; }", pass), [told("v", 9, true)]);
    let both = [told("u", 3, false), told("v", 9, false)];
    assert_eq!(of("map $http_x $b { default u; a v; }", pass), both);
    assert_eq!(of("split_clients $remote_addr $b { 50% u; * v; }", pass), both);
    assert_eq!(of("", "location / { proxy_pass http://$http_x; }"), both, "any of them");
    let ifs = "location / { if ($http_x) { proxy_pass http://v; } proxy_pass http://u; }";
    assert_eq!(of("", ifs), both);
}

#[test]
fn what_is_asked_besides_is_known_with_its_upstream() {
    let text = "events {}\nhttp { upstream auth { server 127.0.0.1:2 max_conns=8; }\nserver { listen 80;\nauth_request /ask;\nmirror /copy;\n\
        location / { proxy_pass http://127.0.0.1:1; }\nlocation = /ask { internal; auth_request off; proxy_pass http://auth; }\n\
        location = /copy { internal; proxy_pass http://127.0.0.1:3; }\nlocation /own { mirror off; auth_request off; proxy_pass http://127.0.0.1:1; }\n\
        location /unknown { auth_request off; mirror /to$request_uri; proxy_pass http://127.0.0.1:1; } } }\n";
    let facts = facts_of(text, "/");
    let told: Vec<(&str, bool, Vec<String>)> = facts
        .asides
        .iter()
        .map(|one| {
            let to = one.upstream.iter().flat_map(|upstream| &upstream.addresses).map(ToString::to_string);
            (one.by.as_str(), one.meanwhile, to.collect())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("`auth_request /ask` (/etc/nginx/nginx.conf:4)", false, vec!["127.0.0.1:2".to_owned()]),
            ("`mirror /copy` (/etc/nginx/nginx.conf:5)", true, vec!["127.0.0.1:3".to_owned()]),
        ]
    );
    assert_eq!((facts.busy_slots(), facts.most_slots(), facts.busy_descriptors().most), (2, 3, 3));
    let capped = crate::nginx::limits::of(&facts);
    let capped = capped.iter().find(|limit| limit.id == "nginx.upstream.max_conns.auth").unwrap();
    assert_eq!(line(&capped.origin), 2);
    assert_eq!(facts_of(text, "/own").asides, []);
    let unknown = facts_of(text, "/unknown");
    assert_eq!((unknown.asides.len(), unknown.asides[0].upstream.is_none(), unknown.most_slots()), (1, true, 3));
}

#[test]
fn nobody_is_asked_besides_for_what_nginx_answers_itself() {
    let text = "events {}\nhttp { server { listen 80;\nauth_request /ask;\nmirror /ask;\nlocation / { return 200 x; }\n\
        location = /ask { internal; proxy_pass http://127.0.0.1:2; } } }\n";
    let facts = facts_of(text, "/");
    assert_eq!((facts.asides.len(), facts.most_slots(), facts.busy_descriptors().most), (0, 1, 1));
}

#[test]
fn how_much_a_server_is_asked_counts_where_not_each_gets_as_many_requests() {
    let even = |group: &str| {
        let text = format!(
            "events {{}}\nhttp {{ upstream app {{ {group} }} server {{ listen 80; location / {{ proxy_pass http://app; }} }} }}\n"
        );
        let limits = crate::nginx::limits::of(&facts_of(&text, "/"));
        let of = |id: &str| limits.iter().filter(|limit| limit.id.starts_with(id)).count();
        let compares = |one: &Signature| match &one.sign {
            Sign::Answers { own, .. } => own.all.is_some() && own.failed_of_all.is_some(),
            _ => false,
        };
        let compared = limits.iter().filter(|limit| limit.signatures.iter().any(compares)).count();
        (of("nginx.server.answers."), of("nginx.server.answers") - of("nginx.server.answers."), compared)
    };
    assert_eq!(even("server 127.0.0.1:1; server 127.0.0.1:2;"), (2, 1, 0));
    for group in [
        "server 127.0.0.1:1 weight=10; server 127.0.0.1:2;",
        "least_conn; server 127.0.0.1:1; server 127.0.0.1:2;",
        "ip_hash; server 127.0.0.1:1; server 127.0.0.1:2;",
        "server 127.0.0.1:1; server 127.0.0.1:2 backup;",
    ] {
        assert_eq!(even(group), (2, 1, 2), "{group}");
    }
    assert_eq!(even("server 127.0.0.1:1; server 127.0.0.1:1;"), (0, 0, 0), "one server, twice");
}
