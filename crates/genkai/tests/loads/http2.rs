//! `genkai load` over HTTP/2, on real nginx: by ALPN and by prior knowledge, sent away by GOAWAY, and where it is not offered.

use crate::harness::loads::{faultless, load};
use crate::harness::machine;
use crate::harness::servers::{Guard, certificate, free, nginx};

/// nginx with HTTP/2 on a clear port and one with TLS, with few streams or few requests a connection, and without.
struct Nginx {
    _guard: Guard,
    dir: tempfile::TempDir,
    clear: u16,
    tls: u16,
    few_streams: u16,
    few_requests: u16,
    http1: u16,
    http1_tls: u16,
}

impl Nginx {
    fn start() -> Nginx {
        let dir = tempfile::tempdir().unwrap();
        certificate(dir.path());
        let root = dir.path().display().to_string();
        std::fs::write(dir.path().join("large"), vec![b'x'; 3_000_000]).unwrap();
        std::fs::write(dir.path().join("small"), "hello").unwrap();
        let [clear, tls, few_streams, few_requests, http1, http1_tls] = free();
        let paper = format!("ssl_certificate {root}/ca.pem; ssl_certificate_key {root}/key.pem;");
        let server = |port: u16, how: &str, more: &str| {
            format!(
                "server {{ listen 127.0.0.1:{port} {how}; root {root}; {more} location /empty {{ return 204; }} \
                 location /answer {{ return 200 hello; }} location /moved {{ return 301 /small; }} }}\n"
            )
        };
        let servers = [
            server(clear, "http2", ""),
            server(tls, "ssl http2", &paper),
            server(few_streams, "http2", "http2_max_concurrent_streams 3;"),
            server(few_requests, "http2", "keepalive_requests 20;"),
            server(http1, "", ""),
            server(http1_tls, "ssl", &paper),
            format!("server {{ listen unix:{root}/socket http2; root {root}; }}\n"),
        ];
        let http = format!("access_log off; client_max_body_size 10m;\n{}", servers.concat());
        let guard = nginx(dir.path(), &http, http1_tls);
        Nginx { _guard: guard, dir, clear, tls, few_streams, few_requests, http1, http1_tls }
    }
}

#[test]
fn by_alpn_by_prior_knowledge_and_over_a_unix_socket() {
    let _machine = machine();
    let nginx = Nginx::start();
    let urls = [
        format!("http://127.0.0.1:{}/PATH --http2-prior-knowledge", nginx.clear),
        format!("https://localhost:{}/PATH --http2 --insecure", nginx.tls),
        format!("unix:{}/socket:/PATH --http2-prior-knowledge", nginx.dir.path().display()),
    ];
    for url in &urls {
        for (path, more) in [("small", ""), ("large", "--streams 2"), ("small", "--method HEAD --streams 8")] {
            let url = url.replace("PATH", path);
            assert_eq!(faultless(&format!("{url} --users 8 -n 80 {more}")).finished, 80, "{url} {more}");
        }
        let open = format!("{} --rate 500 --streams 4 --connections 2 -n 400 -d 60s", url.replace("PATH", "small"));
        assert_eq!(faultless(&open).finished, 400);
        assert_eq!(
            faultless(&format!("{} --connections 3 --streams 5 -n 90", url.replace("PATH", "small"))).finished,
            90
        );
        assert_eq!(
            faultless(&format!("{} --users 3 -n 30 --new-connections", url.replace("PATH", "small"))).finished,
            30
        );
    }
    for path in ["empty", "moved", "answer"] {
        assert_eq!(faultless(&format!("{} --users 2 -n 20", urls[0].replace("PATH", path))).finished, 20);
    }
    let tls = faultless(&format!("{} --users 8 --streams 4 -n 40", urls[1].replace("PATH", "small")));
    let handshakes = tls.handshakes.unwrap();
    assert_eq!(handshakes.full + handshakes.resumed, 2, "two connections for eight users");
}

#[test]
fn bodies_go_up() {
    let _machine = machine();
    let nginx = Nginx::start();
    for url in [
        format!("http://127.0.0.1:{}/answer --http2-prior-knowledge", nginx.clear),
        format!("https://localhost:{}/answer --http2 --insecure", nginx.tls),
    ] {
        for body in ["--body-size 1", "--body-size 2m", "--body text"] {
            assert_eq!(faultless(&format!("{url} --users 4 -n 20 {body}")).finished, 20, "{url} {body}");
        }
    }
}

#[test]
fn what_the_server_sends_away_comes_again() {
    let _machine = machine();
    let nginx = Nginx::start();
    let url = format!("http://127.0.0.1:{}/small --http2-prior-knowledge", nginx.few_requests);
    let sent_away = faultless(&format!("{url} --users 10 --streams 5 -n 1000"));
    let goaways = sent_away.goaways.unwrap();
    assert!(sent_away.finished == 1000 && goaways.connections >= 45, "{goaways:?}");
    let shown = load(&format!("{url} --users 10 --streams 5 -n 1000")).stdout;
    assert!(shown.contains("GOAWAY") && shown.contains("made again"), "{shown}");
    let open = faultless(&format!("{url} --rate 1000 --streams 5 --connections 3 -n 900 -d 60s"));
    assert!(open.finished == 900 && open.goaways.unwrap().connections >= 40);
}

#[test]
fn a_server_may_allow_few_streams() {
    let _machine = machine();
    let nginx = Nginx::start();
    let url = format!("http://127.0.0.1:{}/small --http2-prior-knowledge", nginx.few_streams);
    assert_eq!(faultless(&format!("{url} --users 20 --streams 20 -n 2000")).finished, 2000);
}

#[test]
fn where_it_is_not_offered_nothing_is_loaded() {
    let _machine = machine();
    let nginx = Nginx::start();
    let says = |arguments: String, words: &[&str]| {
        let shown = load(&arguments);
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(3), ""), "{arguments}: {}", shown.stderr);
        for word in words {
            assert!(shown.stderr.contains(word), "{word}: {}", shown.stderr);
        }
    };
    let port = nginx.http1_tls;
    says(
        format!("https://localhost:{port}/ --http2 --insecure"),
        &[&format!("HTTP/2 not offered by 127.0.0.1:{port} (ALPN chose http/1.1)"), "hint:"],
    );
    let port = nginx.http1;
    says(
        format!("http://127.0.0.1:{port}/ --http2-prior-knowledge"),
        &[&format!("HTTP/2 not offered by 127.0.0.1:{port} (it answered in HTTP/1)"), "hint:"],
    );
}

/// Users log in with a body, take a token and a field from the answer, come back with both and a cookie, are sent on, and go to
/// another target that speaks HTTP/1.1.
const SCENARIO: &str = "
targets:
  shop: {url: 'http://127.0.0.1:CLEAR/', http2: true, streams: 4}
  safe: {url: 'https://localhost:TLS', http2: true}
  old: 'http://127.0.0.1:OLD'
phases: [{users: 8, for: 60s}]
requests: 560
redirects: 1
headers: {X-Test: yes}
flows:
  - steps:
    - {request: POST /login, json: {name: ada}, capture: {token: {json: /token}, kind: {header: x-kind}}, check: {status: 200}}
    - {request: GET /api/a, headers: {Authorization: 'Bearer {{token}}', X-Kind: '{{kind}}'}, check: {status: 200, contains: items}}
    - {request: GET /moved, name: moved, check: {status: 200, json: {/landed: 'true'}}}
    - {request: HEAD /landed, name: head, check: {status: 200}}
    - {request: GET /large, target: safe, name: large, check: {status: 200, contains: xxx}}
    - {request: GET /nothing, target: safe, name: nothing, check: {status: 404}}
    - {request: GET /landed, target: old, name: old, check: {status: 200, contains: landed}}
";

/// nginx as the scenario needs it, with a log of protocol, method, path, status and connection.
fn shop() -> (Guard, tempfile::TempDir, [u16; 3]) {
    let dir = tempfile::tempdir().unwrap();
    certificate(dir.path());
    let root = dir.path().display().to_string();
    std::fs::write(dir.path().join("large"), vec![b'x'; 300_000]).unwrap();
    let ports @ [clear, tls, old] = free();
    let http = format!(
        "log_format way '$server_protocol $request_method $uri $status $connection'; access_log {root}/access.log way; \
         server {{ listen 127.0.0.1:{clear} http2; listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.1:{old}; root {root}; \
         ssl_certificate {root}/ca.pem; ssl_certificate_key {root}/key.pem; keepalive_requests 1000000; \
         if ($http_x_test != yes) {{ return 400; }} \
         location = /login {{ add_header Set-Cookie sid=1; add_header X-Kind blue; return 200 '{{\"token\":\"t1\"}}'; }} \
         location /api/ {{ set $all $http_authorization$cookie_sid$http_x_kind; if ($all != 'Bearer t11blue') {{ return 401; }} \
         return 200 items; }} \
         location = /moved {{ return 302 /landed; }} location = /landed {{ return 200 '{{\"landed\":true}}'; }} }}"
    );
    (nginx(dir.path(), &http, old), dir, ports)
}

#[test]
fn scenarios_speak_it_to_the_targets_that_say_so() {
    let _machine = machine();
    let (_guard, dir, [clear, tls, old]) = shop();
    let file = dir.path().join("s.yaml");
    let names = [("CLEAR", clear), ("TLS", tls), ("OLD", old)];
    let text = names.iter().fold(SCENARIO.to_owned(), |text, (name, port)| text.replace(name, &port.to_string()));
    std::fs::write(&file, text).unwrap();
    for processes in [1, 2] {
        std::fs::write(dir.path().join("access.log"), "").unwrap();
        let shown = load(&format!("{} --insecure --processes {processes} --json", file.display()));
        let trial = shown.faultless();
        assert_eq!((shown.code, trial.finished), (Some(0), 560), "{}", shown.story());
        let flows = trial.flows.unwrap();
        assert_eq!((flows.steps.len(), flows.counts.broken, flows.counts.missed), (7, 0, 0));
        assert_eq!(flows.steps.iter().map(|step| step.took.count).sum::<u64>(), 560, "distributions were added up");
        let log = std::fs::read_to_string(dir.path().join("access.log")).unwrap();
        let lines: Vec<Vec<&str>> = log.lines().map(|line| line.split(' ').collect()).collect();
        let by = |protocol: &str, path: &str| {
            let all = lines.iter().filter(|line| line[0] == protocol && line[2] == path);
            all.map(|line| line[4]).collect::<Vec<_>>()
        };
        assert!(by("HTTP/1.1", "/login").is_empty() && by("HTTP/1.1", "/large").is_empty(), "{log}");
        let mut shared = by("HTTP/2.0", "/login");
        assert!(shared.len() >= 80, "{}", shared.len());
        shared.sort_unstable();
        shared.dedup();
        assert_eq!(shared.len(), 2, "eight users, four a connection");
        let old = by("HTTP/1.1", "/landed").len() as u64;
        assert_eq!(old, flows.steps.iter().find(|step| step.name == "old").unwrap().ok);
    }
}

#[test]
fn a_scenario_for_a_server_without_it_is_not_run() {
    let _machine = machine();
    let (_guard, dir, [_, _, old]) = shop();
    let file = dir.path().join("s.yaml");
    let text = "http2: true\nphases: [{users: 1, for: 1s}]\nflows: [{steps: [{request: GET /}]}]\n";
    std::fs::write(&file, format!("target: http://127.0.0.1:{old}\n{text}")).unwrap();
    let shown = load(&file.display().to_string());
    let wanted = format!("HTTP/2 not offered by 127.0.0.1:{old}");
    assert!(shown.code == Some(3) && shown.stderr.contains(&wanted), "{}", shown.story());
    let shown = load(&format!("{} --http2", file.display()));
    assert!(shown.code == Some(2) && shown.stderr.contains("`http2: true`"), "{}", shown.story());
    let shown = load(&format!("{} --dry-run", file.display()));
    assert!(shown.code == Some(0) && shown.stdout.contains("HTTP/2, 10 users"), "{}", shown.story());
}

#[test]
fn flags_that_do_not_fit_are_refused_by_name() {
    for (arguments, words) in [
        ("http://127.0.0.1:1/ --http2", "--http2-prior-knowledge"),
        ("http://127.0.0.1:1/ --streams 3", "--streams"),
        ("ws://127.0.0.1:1/ --http2", "--http2"),
        ("http://127.0.0.1:1/ --http2-prior-knowledge --streams 0", "--streams"),
        ("http://127.0.0.1:1/ --http2-prior-knowledge --connections 4000000 --streams 4000000", "more than"),
        ("http://127.0.0.1:1/ --http2-prior-knowledge --users 3 --connections 3", "--users"),
    ] {
        let shown = load(arguments);
        assert_eq!(shown.code, Some(2), "{arguments}: {}", shown.stderr);
        assert!(shown.stderr.contains(words), "{arguments}: {}", shown.stderr);
    }
    let nginx = Nginx::start();
    let shown = load(&format!("http://127.0.0.1:{}/ --http2-prior-knowledge -H Upgrade:x", nginx.clear));
    assert!(shown.code == Some(2) && shown.stderr.contains("`upgrade`"), "{}", shown.stderr);
    let help = load("--help").stdout;
    assert!(help.contains("--http2") && help.contains("[default: HTTP/1.1]"), "{help}");
}
