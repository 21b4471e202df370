//! `--backend https://` and `wss://`: a backend of the command line that takes TLS, before real servers: asked so, by the name that it is given, and
//! told where its handshake is refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::{Because, Confidence, Evidence};

use crate::harness::judged::{only_cause, told};
use crate::harness::servers::{Guard, certificate, free, nginx, serve};
use crate::harness::{Run, genkai, machine, run, until};

const PRODUCTS: [&str; 4] = ["nginx", "apache", "haproxy", "caddy"];

/// Of users who fit: nothing is searched for.
const FITS: &str = "--users 6 --spawn-rate 6 --hold 1s --quick --quiet --pairs 0 --bisect 0";

/// nginx with TLS before an application, which refuses the handshake of whoever asks for another name than `localhost`.
fn strict(dir: &Path, application: &str) -> (Guard, u16) {
    certificate(dir);
    let [port] = free();
    let root = dir.display();
    let pass =
        "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_;";
    let http = format!(
        "access_log off; map $http_upgrade $connection_ {{ default upgrade; '' ''; }} server {{ listen 127.0.0.1:{port} ssl default_server; \
         ssl_reject_handshake on; }} server {{ listen 127.0.0.1:{port} ssl; server_name localhost; ssl_certificate {root}/ca.pem; \
         ssl_certificate_key {root}/key.pem; location / {{ {pass} proxy_pass http://{application}; }} }}"
    );
    (nginx(dir, &http, port), port)
}

/// A configuration of the user's that passes requests on in clear, to a port where nobody is.
fn clear(product: &str, dir: &Path) -> PathBuf {
    let text = match product {
        "nginx" => "events {}\nhttp { server { listen 80; location / { proxy_pass http://127.0.0.1:9; } } }\n".to_owned(),
        "apache" => {
            let load = |name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
            let modules: String = ["mpm_event", "authz_core", "proxy", "proxy_http"].map(load).concat();
            format!("{modules}Listen 8080\n<VirtualHost *:8080>\nProxyPass / http://127.0.0.1:9/\n</VirtualHost>\n")
        }
        "haproxy" => "defaults\n mode http\n timeout connect 5s\n timeout client 5s\n timeout server 5s\nfrontend f\n bind :80\n \
                      default_backend b\nbackend b\n server one 127.0.0.1:9 check\n"
            .to_owned(),
        _ => "http://:80 {\n\treverse_proxy 127.0.0.1:9 {\n\t\ttransport http {\n\t\t\tdial_timeout 5s\n\t\t}\n\t}\n}\n".to_owned(),
    };
    let file = dir.join(if product == "caddy" { "Caddyfile" } else { "server.conf" });
    std::fs::write(&file, text).unwrap();
    file
}

/// That users were answered, and none in vain.
fn answered(run: &Run, what: &str) {
    assert_eq!(run.verdict().because(), Because::ObjectiveHolds, "{what}: {}", run.story());
    let ticks = &run.record().trials[0].ticks;
    let (ok, failed) = ticks.iter().fold((0, 0), |(ok, failed), tick| (ok + tick.ok, failed + tick.errors.len()));
    assert!(ok > 0 && failed == 0, "{what}: {ok} {failed}: {}", run.story());
}

#[test]
fn a_backend_is_asked_over_tls_by_its_name_before_every_product_and_every_file() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_origin, origin) = serve("origin --service-time 20ms");
    let (_strict, port) = strict(dir.path(), &origin);
    for product in PRODUCTS {
        let file = clear(product, dir.path());
        let run = run(genkai(&format!("tune {product} --backend https://localhost:{port} {FITS} --config")).arg(&file));
        answered(&run, product);
        let record = run.record();
        let rewrites = &record.head.as_ref().unwrap().rewrites;
        let says =
            |to: &str| to.contains(&port.to_string()) && (to.contains("https://") || to.contains("ssl verify none"));
        assert!(product == "caddy" || rewrites.iter().any(|one| says(&one.to)), "{product}: {rewrites:#?}");
    }
}

#[test]
fn tls_is_spoken_to_a_backend_in_the_virtual_host_in_force_whatever_another_one_says() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_origin, origin) = serve("origin --service-time 20ms");
    let (_strict, port) = strict(dir.path(), &origin);
    let text = std::fs::read_to_string(clear("apache", dir.path())).unwrap();
    let text = text.replacen("<VirtualHost *:8080>", "<VirtualHost *:8080>\nSSLProxyEngine off", 1);
    let ssl = "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n";
    let other =
        "<VirtualHost *:8080>\nServerName other\nSSLProxyEngine on\nProxyPass / https://127.0.0.1:9/\n</VirtualHost>\n";
    let file = dir.path().join("two.conf");
    for own in [text.replace("SSLProxyEngine off\n", ""), text] {
        std::fs::write(&file, format!("{ssl}{own}{other}")).unwrap();
        let run = run(genkai(&format!("tune apache --backend https://localhost:{port} {FITS} --config")).arg(&file));
        answered(&run, &own);
    }
}

#[test]
fn the_workers_of_a_backend_that_takes_tls_are_named() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let application = "import time\ndef app(environ, start):\n    time.sleep(0.1)\n    start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";
    std::fs::write(dir.path().join("app.py"), application).unwrap();
    certificate(dir.path());
    let [port] = free();
    let words = format!("-w 3 -b 127.0.0.1:{port} --certfile ca.pem --keyfile key.pem app:app");
    let mut command = Command::new("gunicorn");
    command.args(words.split_whitespace()).current_dir(dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let _gunicorn = Guard(command.spawn().unwrap());
    until("gunicorn to listen", Duration::from_secs(60), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    for product in ["nginx", "caddy"] {
        let load = "--users 50 --spawn-rate 10 --objective p99<800ms --quick --quiet --pairs 0";
        let run = told(&genkai(&format!("tune {product} --backend https://127.0.0.1:{port} {load}")));
        let verdict = only_cause(&run, "backend.gunicorn.workers");
        let seen = verdict.causes[0].predicted.observed.unwrap();
        assert!((18.0..=28.0).contains(&seen), "{product}: {seen} users: {}", run.story());
    }
}

/// That threads which all wait for one another are no limit that more of them would lift, although all of them are busy.
#[test]
fn threads_of_which_one_works_at_a_time_are_not_told_as_what_is_to_be_raised() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let application = "import threading, time\none = threading.Lock()\ndef app(environ, start):\n    with one: time.sleep(0.1)\n    \
                       start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";
    std::fs::write(dir.path().join("app.py"), application).unwrap();
    let [port] = free();
    let mut command = Command::new("gunicorn");
    let words = format!("--threads 8 -b 127.0.0.1:{port} app:app");
    command.args(words.split_whitespace()).current_dir(dir.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let _gunicorn = Guard(command.spawn().unwrap());
    until("gunicorn to listen", Duration::from_secs(60), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    let load = "--users 40 --spawn-rate 2 --objective p99<2s --quick --quiet --pairs 0";
    let run = told(&genkai(&format!("tune nginx --backend http://127.0.0.1:{port} {load}")));
    let verdict = run.verdict();
    let flat = |one: &Evidence| matches!(one, Evidence::NoFaster { most: 8.0, .. });
    let cause = &verdict.causes[0];
    assert!(verdict.proposal.is_empty() && cause.limit.subject != "nginx", "{}", run.story());
    let threads = cause.others.iter().find(|other| other.limit == "backend.gunicorn.workers");
    let evidence = threads.map_or(&cause.evidence, |other| &other.evidence);
    assert!(evidence.iter().any(flat), "{}", run.story());
    assert!(
        cause.limit.id != "backend.gunicorn.workers" || cause.confidence == Confidence::Possible,
        "{}",
        run.story()
    );
    println!("{}", run.story());
}

#[test]
fn websockets_go_through_to_a_backend_that_takes_tls() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_echo, echo) = serve("echo");
    let (_strict, port) = strict(dir.path(), &echo);
    let load = "--websocket --connections 50 --spawn-rate 25 --hold 2s --quick --quiet --pairs 0 --max-limits 1";
    // (64 - 3 of nginx's own) / 2; a worker each; two sockets each.
    let met = [
        ("nginx", "--set worker_connections=64", "nginx.worker_connections", (26.0, 32.0)),
        ("apache", "--set MaxRequestWorkers=25", "apache.MaxRequestWorkers", (22.0, 28.0)),
        ("haproxy", "--set maxconn=30", "haproxy.maxconn", (27.0, 33.0)),
    ];
    for (product, set, id, (low, high)) in met {
        let run = told(&genkai(&format!("tune {product} {set} --backend wss://localhost:{port} {load}")));
        let verdict = only_cause(&run, id);
        let seen = verdict.causes[0].predicted.observed;
        assert!(seen.is_some_and(|seen| (low..=high).contains(&seen)), "{product}: {seen:?}: {}", run.story());
    }
    let run = told(&genkai(&format!("tune caddy --backend wss://localhost:{port} {load}")));
    assert_eq!(run.verdict().because(), Because::ObjectiveHolds, "{}", run.story());
}

#[test]
fn a_handshake_that_is_refused_is_told_before_any_load() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_origin, origin) = serve("origin");
    let (_strict, port) = strict(dir.path(), &origin);
    let refused = |arguments: &str| {
        let output = genkai(arguments).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for product in PRODUCTS {
        for (backend, why) in [
            (format!("https://{origin}"), "what it answers is no TLS"),
            (format!("https://127.0.0.1:{port}"), "UnrecognisedName"),
        ] {
            let (code, said) =
                refused(&format!("tune {product} --backend {backend} {}", FITS.trim_end_matches(" --bisect 0")));
            assert_eq!(code, Some(3), "{said}");
            assert!(said.contains("the TLS handshake with the backend at") && said.contains(why), "{said}");
            assert_eq!(said.matches("error:").count(), 1, "{said}");
        }
    }
    let (code, said) = refused(&format!("compare nginx squid-memory --users 2 --backend https://localhost:{port}"));
    assert!(code == Some(2) && said.contains("squid-memory before a backend that takes TLS"), "{said}");
    let (code, said) = refused(&format!("tune nginx --backend wss://localhost:{port}"));
    assert!(code == Some(2) && said.contains("https://"), "{said}");
}

#[test]
fn products_are_compared_before_a_backend_that_takes_tls() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_origin, origin) = serve("origin");
    let (_strict, port) = strict(dir.path(), &origin);
    let run = run(&genkai(&format!(
        "compare nginx haproxy caddy --users 3 --backend https://localhost:{port} --hold 300ms --blocks 2 --no-control --quiet"
    )));
    let record = run.record();
    assert_eq!(record.trials.len(), 6, "{}", run.story());
    for trial in &record.trials {
        let failed: usize = trial.ticks.iter().map(|tick| tick.errors.len()).sum();
        assert!(failed == 0 && trial.ticks.iter().any(|tick| tick.ok > 0), "{}", run.story());
    }
}
