//! `genkai load` over HTTP/2, on real nginx: by ALPN and by prior knowledge, sent away by GOAWAY, and where it is not offered.

mod harness;

use std::path::Path;
use std::process::Command;

use harness::loads::{faultless, load};
use harness::machine;
use harness::servers::{Guard, free, nginx};

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

fn certificate(dir: &Path) {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out ca.pem -days 30 \
                     -subj /CN=localhost -addext subjectAltName=DNS:localhost";
    let output = Command::new("openssl").args(arguments.split_whitespace()).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
        let open = faultless(&format!("{} --rate 500 --streams 4 --connections 2 -d 1s", url.replace("PATH", "small")));
        assert!((400..=501).contains(&open.finished), "{}", open.finished);
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
    let open = faultless(&format!("{url} --rate 1000 --streams 5 --connections 3 -n 900 -d 20s"));
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
