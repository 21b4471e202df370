//! `genkai load` over every transport and protocol, on real servers: nginx with TLS of our own authority, the echo
//! server behind it and by itself.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::finding::Verdict;
use genkai_model::summary::Summary;
use genkai_model::websocket::CloseCount;

use crate::harness::loads::{Shown, faultless, load, show};
use crate::harness::servers::{Guard, free, nginx, serve};
use crate::harness::{genkai, machine};

fn openssl(dir: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split_whitespace()).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority `ca.pem`, a certificate for localhost, another that expired, a client's.
fn certificates(dir: &Path) {
    let curve = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
    openssl(dir, &format!("req -x509 {curve} -keyout ca.key -out ca.pem -days 30 -subj /CN=authority"));
    for (name, days) in [("good", "30"), ("old", "-5"), ("client", "30")] {
        openssl(dir, &format!("req {curve} -keyout {name}.key -out {name}.csr -subj /CN=localhost"));
        std::fs::write(dir.join("names"), "subjectAltName=DNS:localhost\n").unwrap();
        let sign = format!("x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names");
        let until = if days == "-5" {
            "-not_before 20200101000000Z -not_after 20200201000000Z".to_owned()
        } else {
            format!("-days {days}")
        };
        let output = Command::new("openssl")
            .args(format!("{sign} -out {name}.pem {until}").split_whitespace())
            .current_dir(dir)
            .output()
            .unwrap();
        if !output.status.success() {
            // Before OpenSSL 3.4 there is no -not_after; a negative number of days does the same.
            openssl(dir, &format!("{sign} -out {name}.pem -days -1"));
        }
    }
}

/// nginx with TLS, a Unix socket, and a way through to `backend` for WebSockets.
struct Nginx {
    _guard: Guard,
    dir: tempfile::TempDir,
    port: u16,
    old: u16,
    strict: u16,
}

impl Nginx {
    fn start(backend: &str) -> Nginx {
        let dir = tempfile::tempdir().unwrap();
        certificates(dir.path());
        let [port, old, strict] = free();
        let root = dir.path().display();
        let tls = |port: u16, name: &str, more: &str| {
            format!(
                "server {{ listen 127.0.0.1:{port} ssl; server_name localhost; ssl_certificate {root}/{name}.pem; \
                 ssl_certificate_key {root}/{name}.key; {more} location / {{ return 200 hello; }} \
                 location /ws {{ proxy_pass http://{backend}; proxy_http_version 1.1; proxy_read_timeout 60s; \
                 proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; }} }}\n"
            )
        };
        let servers = [
            tls(port, "good", "ssl_session_cache shared:a:1m;"),
            tls(old, "old", ""),
            tls(strict, "good", &format!("ssl_verify_client on; ssl_client_certificate {root}/ca.pem;")),
            format!("server {{ listen unix:{root}/socket; location / {{ return 200 hello; }} }}"),
        ];
        let guard =
            nginx(dir.path(), &format!("access_log off; keepalive_requests 1000000;\n{}", servers.concat()), strict);
        Nginx { _guard: guard, dir, port, old, strict }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

#[test]
fn over_tls_with_an_authority_of_our_own() {
    let _machine = machine();
    let nginx = Nginx::start("127.0.0.1:1");
    let (ca, port) = (nginx.file("ca.pem"), nginx.port);
    let ca = ca.display();
    let one = faultless(&format!("https://localhost:{port}/ --cacert {ca} --users 4 --requests 400"));
    let made = one.handshakes.unwrap();
    assert_eq!((one.finished, made.full + made.resumed), (400, 4));
    let many = faultless(&format!("https://localhost:{port}/ --cacert {ca} --users 2 --requests 60 --new-connections"));
    let made = many.handshakes.unwrap();
    assert_eq!((made.full + made.resumed, many.finished), (60, 60));
    assert!(made.resumed >= 40, "{made:?}");
    let none =
        faultless(&format!("https://localhost:{port}/ --cacert {ca} -n 20 --users 1 --new-connections --no-resume"));
    assert_eq!(none.handshakes.unwrap().full, 20);
    let identity =
        format!("--cert {} --key {}", nginx.file("client.pem").display(), nginx.file("client.key").display());
    let strict = nginx.strict;
    assert_eq!(
        faultless(&format!("https://localhost:{strict}/ --cacert {ca} {identity} -n 20 --users 2")).finished,
        20
    );
    let without = load(&format!("https://localhost:{strict}/ --cacert {ca} -n 1 --users 1"));
    assert!(without.code == Some(1) && without.stdout.contains("4xx"), "nginx answers 400: {}", without.stdout);
}

#[test]
fn certificate_problems_are_said_by_name() {
    let _machine = machine();
    let nginx = Nginx::start("127.0.0.1:1");
    let (ca, port, old) = (nginx.file("ca.pem"), nginx.port, nginx.old);
    let ca = ca.display();
    let once = "-n 1 --users 1";
    let says = |arguments: &str, what: &str| {
        let shown = load(&format!("{arguments} {once}"));
        assert_eq!(shown.code, Some(1), "{}", shown.stdout);
        assert!(shown.stdout.contains(what), "{what}: {}", shown.stdout);
    };
    says(&format!("https://localhost:{port}/"), "issuer that is not trusted (trust it with --cacert FILE,");
    says(&format!("https://localhost:{old}/ --cacert {ca}"), "expired");
    says(&format!("https://127.0.0.1:{port}/ --cacert {ca}"), "another name");
    assert_eq!(faultless(&format!("https://127.0.0.1:{old}/ --insecure {once}")).finished, 1);
    let missing = load(&format!("https://localhost:{port}/ --cacert /nowhere.pem"));
    assert!(
        missing.code == Some(2) && missing.stderr.contains("/nowhere.pem"),
        "{:?} {}",
        missing.code,
        missing.stderr
    );
}

#[test]
fn over_a_unix_socket() {
    let _machine = machine();
    let nginx = Nginx::start("127.0.0.1:1");
    let socket = nginx.file("socket");
    assert_eq!(faultless(&format!("unix:{}:/some/path --users 3 -n 300", socket.display())).finished, 300);
}

#[test]
fn websockets_by_themselves_and_through_nginx_with_tls() {
    let _machine = machine();
    let (_echo, address) = serve("echo");
    let nginx = Nginx::start(&address);
    let through = format!("wss://localhost:{}/ws --cacert {}", nginx.port, nginx.file("ca.pem").display());
    for url in [format!("ws://{address}"), through] {
        for more in
            ["--message-size 64", "--message-size 100k --binary", "--message-size 5k --deflate --subprotocol chat"]
        {
            let closed = faultless(&format!("{url} --users 3 -n 60 {more}"));
            let messages = closed.messages.unwrap();
            assert_eq!((closed.finished, messages.sent, messages.delivered), (60, 60, 60), "{url} {more}");
            assert_eq!(messages.closes, [CloseCount { code: 1000, count: 3 }]);
            assert_eq!(messages.lost + messages.duplicated + messages.reordered + messages.late + messages.foreign, 0);
        }
        let open = faultless(&format!("{url} --message-rate 500 --connections 5 -n 400 -d 60s"));
        let messages = open.messages.unwrap();
        assert_eq!((messages.sent, messages.delivered), (400, 400), "{messages:?}");
        assert_eq!(open.handshakes.unwrap().upgraded, 5);
        let held = faultless(&format!("{url} --connections 30 --spawn-rate 100 --ping 100ms -d 2s"));
        let messages = held.messages.unwrap();
        assert_eq!((held.finished, messages.closes), (30, vec![CloseCount { code: 1000, count: 30 }]));
        assert!(messages.pongs >= 30, "{}", messages.pongs);
    }
    let text = load(&format!("ws://{address} --users 2 -n 20")).stdout;
    for words in ["messages", "20 sent, 20 echoed", "0 lost, 0 duplicated, 0 reordered", "2 x 1000 (normal)"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_handshake_that_is_refused_is_a_failure_with_its_status() {
    let _machine = machine();
    let nginx = Nginx::start("127.0.0.1:1");
    let ca = nginx.file("ca.pem");
    let shown = load(&format!("wss://localhost:{}/ws --cacert {} -n 1 --users 1", nginx.port, ca.display()));
    assert!(shown.code == Some(1) && shown.stdout.contains("502"), "{}", shown.stdout);
    let shown = load(&format!("wss://localhost:{}/ --cacert {} -n 1 --users 1", nginx.port, ca.display()));
    for words in ["another answer than 101", "answered 200: `hello`", "0 of them; the others failed before"] {
        assert!(shown.stdout.contains(words), "{words}: {}", shown.stdout);
    }
    // At a rate too: what could not be sent for want of a WebSocket is not the generator's fault.
    let open = format!("wss://localhost:{}/ --cacert {} --message-rate 100 --connections 3", nginx.port, ca.display());
    let shown = load(&format!("{open} -d 3s --json"));
    let verdict: Verdict = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown.code, Some(1), "{:?}", verdict.client);
    let load = verdict.load.unwrap();
    assert_eq!((load.ok, load.sent, load.planned), (0, 0, load.failed + load.in_flight));
}

#[test]
fn what_nobody_listens_on_is_told_before_any_load() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, words) in [
        (format!("http://{closed}/"), "connection refused"),
        (format!("wss://{closed}/"), "connection refused"),
        ("unix:/nonexistent/socket:/".to_owned(), "no such socket"),
    ] {
        let shown = load(&address);
        assert_eq!((shown.code, shown.stdout.as_str()), (Some(3), ""), "{address}: {}", shown.stderr);
        assert!(shown.stderr.contains(words) && shown.stderr.contains("hint:"), "{}", shown.stderr);
    }
}

/// The figures of a load, checked against the committed schema.
fn summary(shown: &Shown) -> Summary {
    let schema =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/verdict.schema.json")).unwrap();
    let schema = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let errors: Vec<String> = schema.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    serde_json::from_value(value["load"].clone()).unwrap()
}

#[test]
fn every_figure_adds_up_and_is_left_behind() {
    let _machine = machine();
    let nginx = Nginx::start("127.0.0.1:1");
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name);
    let (out, csv, jtl) = (file("out"), file("a.csv"), file("a.jtl"));
    let files = format!("--out {} --csv {} --jtl {}", out.display(), csv.display(), jtl.display());
    let socket = nginx.file("socket");
    let shown = load(&format!("unix:{}:/some/path --users 3 -n 3000 --json {files}", socket.display()));
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let sum = summary(&shown);
    assert_eq!((sum.planned, sum.sent, sum.ok, sum.failed, sum.in_flight), (3000, 3000, 3000, 0, 0));
    assert_eq!(sum.statuses.iter().map(|s| (s.status, s.count)).collect::<Vec<_>>(), [(200, 3000)]);
    assert_eq!((sum.latency.count, sum.service.count, sum.connections.opened), (3000, 3000, 3));
    assert!(
        sum.latency.min <= sum.latency.p50
            && sum.latency.p50 <= sum.latency.p9999
            && sum.latency.p9999 <= sum.latency.max
    );
    assert!((sum.rate * sum.lasted - 3000.0).abs() < 1.0 && sum.bytes_in > 3000 * 100);
    let table = std::fs::read_to_string(&csv).unwrap();
    let ok: u64 = table.lines().skip(1).map(|l| l.split(',').nth(5).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(ok, 3000);
    let lines = std::fs::read_to_string(&jtl).unwrap();
    assert!(lines.starts_with("timeStamp,elapsed,label,") && lines.lines().count() == 3001);
    assert_eq!(lines.matches(",true,").count(), 3000);
    // All of it again, from the record alone.
    let written = std::fs::read_to_string(out.join("verdict.json")).unwrap();
    assert_eq!(written, shown.stdout);
    std::fs::remove_file(out.join("report.html")).unwrap();
    let (again, csv_again) = (file("b.jtl"), file("b.csv"));
    let tables = format!("--csv {} --jtl {}", csv_again.display(), again.display());
    let told = show(&mut genkai(&format!("report {} {tables}", out.display())));
    assert!(told.code == Some(0) && told.stdout.contains("from the plan"), "{}", told.story());
    assert!(out.join("report.html").exists(), "{}", told.story());
    assert_eq!((std::fs::read_to_string(again).unwrap(), std::fs::read_to_string(csv_again).unwrap()), (lines, table));
}

#[test]
fn thresholds_decide_the_exit_code() {
    let _machine = machine();
    let (_echo, address) = serve("echo");
    let exit = |more: &str| {
        let mut command = genkai(&format!("load ws://{address} --users 2 -n 50"));
        let shown = show(command.args(more.split(';')));
        (shown.code, shown.stdout)
    };
    let (code, text) = exit("--threshold;p99 < 30s;--threshold;errors < 1%, rate > 0.001");
    assert!(code == Some(0) && text.matches("pass  ").count() == 3, "{text}");
    let (code, text) = exit("--threshold;p50 < 1us;--objective;errors < 1%");
    assert!(code == Some(1) && text.contains("FAIL  p50 < 1us") && text.contains("pass  errors < 1%"), "{text}");
}

#[test]
fn where_no_answer_comes_nothing_can_be_told() {
    let _machine = machine();
    // It takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let shown = load(&format!("http://{address}/ --users 3 -d 1s --timeout 60s"));
    assert_eq!(shown.code, Some(4), "what waits has not failed, and no part of the set-up is wrong: {}", shown.story());
    let said = "Cannot tell: no answer came: 3 requests waited when the load ended, after ";
    assert!(shown.stdout.starts_with(said), "{}", shown.story());
    assert!(shown.stdout.contains("none succeeded"), "no latency of 0 s: {}", shown.story());
    let each = format!("{} B each", format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").len());
    assert!(shown.stdout.contains(&each), "of those sent, whether or not they were answered: {}", shown.story());
    let verdict: serde_json::Value =
        serde_json::from_str(&load(&format!("http://{address}/ --users 3 -d 1s --timeout 60s --json")).stdout).unwrap();
    assert_eq!((&verdict["outcome"], &verdict["because"]), (&"invalid".into(), &"unanswered".into()));
    let shown = load(&format!("http://{address}/ --users 3 -d 1s --timeout 300ms --objective p99<1s"));
    assert!(shown.code == Some(1) && shown.stdout.contains("No answer came: "), "{}", shown.story());
    assert!(shown.stdout.contains("nothing to judge by"), "no latency was seen: {}", shown.story());
}

#[test]
fn a_table_that_cannot_be_written_is_told_before_any_load() {
    for flag in ["--csv", "--jtl"] {
        let shown = load(&format!("http://127.0.0.1:1/ {flag} /nonexistent/file"));
        assert!(shown.code == Some(3) && shown.stderr.contains("/nonexistent/file"), "{}", shown.stderr);
    }
    // What is no file is written as it comes, and stays what it is.
    let _machine = machine();
    let (_echo, address) = serve("echo");
    assert_eq!(load(&format!("ws://{address} --users 1 -n 5 --csv /dev/null")).code, Some(0));
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn flags_that_do_not_fit_are_refused_by_name() {
    for (arguments, words) in [
        ("http://127.0.0.1:1/ --insecure", "--insecure"),
        ("http://127.0.0.1:1/ --message-rate 5", "--message-rate"),
        ("http://127.0.0.1:1/ --connections 5", "--connections"),
        ("http://127.0.0.1:1/ --poisson", "--poisson"),
        ("ws://127.0.0.1:1/ --rate 5", "--message-rate"),
        ("ws://127.0.0.1:1/ --method PUT", "--method"),
        ("ws://127.0.0.1:1/ --message-size 23", "at least 24"),
        ("ws://127.0.0.1:1/ --ping 1s", "--ping"),
        ("ws://127.0.0.1:1/ --connections 5 --binary", "--connections"),
        ("ws://127.0.0.1:1/ --message-rate 0", "--message-rate 0"),
        ("https://127.0.0.1:1/ --cert a.pem", "--key"),
        ("ftp://127.0.0.1/", "wss://"),
        ("wss://192.0.2.1/", "--allow-remote"),
    ] {
        let shown = load(arguments);
        assert_eq!(shown.code, Some(2), "{arguments}: {}", shown.stderr);
        assert!(shown.stderr.contains(words), "{arguments}: {}", shown.stderr);
    }
}
