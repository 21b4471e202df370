//! What stands behind a product and takes TLS: who it is, what it takes when it is asked directly, its limits, and what is broken between the two.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::Because;

use crate::harness;
use crate::harness::judged::{only_cause, told};
use crate::harness::servers::{Guard, certificate, free};
use crate::harness::{Run, genkai, machine, until};

/// Products, with a configuration that passes requests on by TLS to this port, and the line that says so.
const PRODUCTS: [&str; 4] = ["nginx", "apache", "haproxy", "caddy"];

/// How the fault is called, whose words name what cannot be reached, and the name of the limit of a handshake that fails.
const FAULTS: [(&str, &str); 4] = [
    ("nginx", "nginx.upstream.tls"),
    ("apache", "apache.backend.tls"),
    ("haproxy", "haproxy.server.tls"),
    ("caddy", "caddy.upstream.tls"),
];

fn text(product: &str, port: u16) -> String {
    let modules = "/usr/lib/apache2/modules";
    match product {
        "nginx" => format!(
            "events {{}}\nhttp {{ server {{ listen 80;\n  location / {{\n    proxy_pass https://127.0.0.1:{port};\n  }}\n}} }}\n"
        ),
        "apache" => {
            let all = ["mpm_event", "authz_core", "proxy", "proxy_http", "ssl"];
            let load = |name: &&str| format!("LoadModule {name}_module {modules}/mod_{name}.so\n");
            format!(
                "{}Listen 8080\nSSLProxyEngine on\nSSLProxyVerify none\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off\n\
                 ProxyPass / https://127.0.0.1:{port}/\n",
                all.iter().map(load).collect::<String>()
            )
        }
        "haproxy" => format!(
            "defaults\n  mode http\n  timeout connect 5s\n  timeout client 50s\n  timeout server 50s\nfrontend www\n  bind :80\n  \
             default_backend app\nbackend app\n  server one 127.0.0.1:{port} ssl verify none\n"
        ),
        "caddy" => format!(
            "http://:80 {{\n\treverse_proxy https://127.0.0.1:{port} {{\n\t\ttransport http {{\n\t\t\ttls_insecure_skip_verify\n\t\t}}\n\t}}\n}}\n"
        ),
        other => panic!("{other}"),
    }
}

/// The configuration as a file, and the line that names the port.
fn written(product: &str, dir: &Path, port: u16) -> (PathBuf, usize) {
    let name = if product == "caddy" { "Caddyfile".to_owned() } else { format!("{product}.conf") };
    let (file, text) = (dir.join(name), text(product, port));
    std::fs::write(&file, &text).unwrap();
    (file, text.lines().position(|line| line.contains(&port.to_string())).unwrap() + 1)
}

fn tuned(product: &str, file: &Path, load: &str) -> Run {
    told(genkai(&format!("tune {product} --quick --quiet --pairs 0 --bisect 0 {load} --config")).arg(file))
}

/// gunicorn with TLS before an application that sleeps for a tenth of a second.
fn gunicorn(dir: &Path, port: u16) -> Guard {
    let application = "import time\ndef app(environ, start):\n    time.sleep(0.1)\n    start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";
    std::fs::write(dir.join("app.py"), application).unwrap();
    std::fs::write(dir.join("gunicorn.conf.py"), "# as it is\nworkers = 3\n").unwrap();
    certificate(dir);
    let words = format!("-b 127.0.0.1:{port} --certfile ca.pem --keyfile key.pem app:app");
    let mut command = Command::new("gunicorn");
    command.args(words.split_whitespace()).current_dir(dir).stdout(Stdio::null()).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("gunicorn to listen", Duration::from_secs(60), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    guard
}

/// That the workers of a server that takes TLS are named behind this product.
fn named(product: &str) {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let _gunicorn = gunicorn(dir.path(), port);
    let (file, _) = written(product, dir.path(), port);
    let run = tuned(product, &file, "--users 50 --spawn-rate 10 --objective p99<800ms");
    let verdict = only_cause(&run, "backend.gunicorn.workers");
    // 3 workers x 800 ms / 104 ms.
    let seen = verdict.causes[0].predicted.observed.unwrap();
    assert!((18.0..=28.0).contains(&seen), "{seen} users: {}", run.story());
    let limits = &run.record().trials[0].limits.limits;
    let alone = limits.iter().find(|limit| limit.id == "backend.alone").unwrap_or_else(|| panic!("{}", run.story()));
    assert!(alone.source.contains("handshake of TLS") && alone.formula.contains("directly"), "{alone:?}");
}

#[test]
fn a_server_that_takes_tls_is_asked_and_named_behind_nginx() {
    named("nginx");
}

#[test]
fn a_server_that_takes_tls_is_asked_and_named_behind_apache() {
    named("apache");
}

#[test]
fn a_server_that_takes_tls_is_asked_and_named_behind_haproxy() {
    named("haproxy");
}

#[test]
fn a_server_that_takes_tls_is_asked_and_named_behind_caddy() {
    named("caddy");
}

/// Somebody who answers in clear whatever is said.
fn clear() -> (Guard, u16) {
    let (guard, address) = harness::servers::serve("origin");
    (guard, address.rsplit(':').next().unwrap().parse().unwrap())
}

#[test]
fn a_backend_that_speaks_no_tls_is_a_fault_with_its_line() {
    let _machine = machine();
    let (_origin, port) = clear();
    for (product, id) in FAULTS {
        let dir = tempfile::tempdir().unwrap();
        let (file, line) = written(product, dir.path(), port);
        let run = tuned(product, &file, "--users 4 --spawn-rate 4");
        let cause = &only_cause(&run, id).causes[0];
        assert!(cause.limit.fault, "{}", run.story());
        let says = &run.says()[0];
        assert!(says.contains(&format!("({}:{line})", file.display())), "{says}");
        assert!(
            says.contains(&format!("the TLS handshake with 127.0.0.1:{port} fails")) && !says.contains("limit"),
            "{says}"
        );
    }
}

/// HAProxy that asks its clients for a certificate, as `verify` says, and does with their requests what `does` says.
fn asking(dir: &Path, verify: &str, does: &str) -> (Guard, u16) {
    certificate(dir);
    let (root, [port]) = (dir.display(), free());
    let both = ["ca.pem", "key.pem"].map(|name| std::fs::read_to_string(dir.join(name)).unwrap()).concat();
    std::fs::write(dir.join("both.pem"), both).unwrap();
    let text = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  timeout server 30s\nfrontend f\n  bind 127.0.0.1:{port} ssl crt \
         {root}/both.pem ca-file {root}/ca.pem verify {verify}\n  {does}\n"
    );
    std::fs::write(dir.join("behind.cfg"), text).unwrap();
    let mut command = Command::new("haproxy");
    command.args(["-db", "-f"]).arg(dir.join("behind.cfg")).stdout(Stdio::null()).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("haproxy to listen", Duration::from_secs(60), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    (guard, port)
}

/// Apache whose own clients come by TLS writes nothing of a backend's alert (TLS 1.3): the backend is asked itself.
#[test]
fn a_certificate_that_a_backend_wants_of_apache_is_named_where_its_clients_come_by_tls_too() {
    let _machine = machine();
    for (verify, does, id) in [
        ("required", "http-request return status 200", "apache.backend.tls"),
        // It may do without, and closes connections for a reason of its own.
        ("optional", "http-request reject", "apache.backend"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (_haproxy, port) = asking(dir.path(), verify, does);
        let root = dir.path().display();
        let own = format!(
            "Listen 8443\nSSLEngine on\nSSLCertificateFile {root}/ca.pem\nSSLCertificateKeyFile {root}/key.pem\n"
        );
        let file = dir.path().join("server.conf");
        std::fs::write(&file, text("apache", port).replace("Listen 8080\n", &own)).unwrap();
        let run = tuned("apache", &file, "--users 4 --spawn-rate 4");
        let cause = &only_cause(&run, id).causes[0];
        let asked = "asked without a certificate before the load, it ended the handshake for want of one";
        assert_eq!(cause.limit.caps.contains(asked), verify == "required", "{}", run.story());
    }
}

#[test]
fn nobody_where_tls_is_spoken_to_is_told_as_nobody() {
    let _machine = machine();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let faults = PRODUCTS.into_iter().zip([
        "nginx.upstream.address",
        "apache.backend.address",
        "haproxy.server.address",
        "caddy.upstream.address",
    ]);
    for (product, id) in faults {
        let dir = tempfile::tempdir().unwrap();
        let (file, _) = written(product, dir.path(), port);
        let run = tuned(product, &file, "--users 4 --spawn-rate 4");
        only_cause(&run, id);
    }
}

#[test]
fn websockets_of_which_none_was_opened_have_not_held() {
    let _machine = machine();
    let (_origin, port) = clear();
    let dir = tempfile::tempdir().unwrap();
    let (file, _) = written("haproxy", dir.path(), port);
    // HAProxy makes the handshake again for longer than this load lasts.
    let run = tuned("haproxy", &file, "--websocket --connections 10 --spawn-rate 20 --hold 500ms");
    assert_eq!(run.verdict().because(), Because::Unanswered, "{}", run.story());
    assert!(run.says()[0].contains("no WebSocket was opened"), "{:?}", run.says());
}
