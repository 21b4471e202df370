//! What requests come to before any load: that those behind fail by themselves, or are not asked at all.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::What;
use genkai_model::finding::{Because, Confidence};

use super::others::{before_pool, pool};
use crate::harness::judged::{only_cause, told};
use crate::harness::servers::{Guard, free, scripted};
use crate::harness::{Run, genkai, machine, run, until};

const LOAD: &str = "--users 6 --spawn-rate 6 --hold 1s --quick --quiet --pairs 0";

/// The configuration of a user who has such a product before one server.
fn before(product: &str, dir: &Path, server: &str) -> PathBuf {
    let (host, port) = server.split_once(':').unwrap();
    let text = match product {
        "nginx" => {
            format!("events {{}}\nhttp {{ server {{ listen 80; location / {{ proxy_pass http://{server}; }} }} }}\n")
        }
        "apache" => {
            let load = |name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
            let modules: String = ["mpm_event", "authz_core", "proxy", "proxy_http"].map(load).concat();
            format!("{modules}Listen 8080\nProxyPass / http://{server}/\n")
        }
        "haproxy" => format!(
            "defaults\n mode http\n timeout connect 5s\n timeout client 9s\n timeout server 9s\nfrontend f\n bind :80\n default_backend b\n\
             backend b\n server one {server} check\n"
        ),
        "caddy" => format!("http://:80 {{\n\treverse_proxy {server}\n}}\n"),
        "squid" => format!(
            "http_port 80 accel defaultsite=localhost\ncache_peer {host} parent {port} 0 no-query no-digest originserver\ncache deny all\n\
             http_access allow all\n"
        ),
        _ => format!("vcl 4.1;\nbackend b {{ .host = \"{host}\"; .port = \"{port}\"; }}\n"),
    };
    let file = dir.join(if product == "caddy" { "Caddyfile".to_owned() } else { format!("{product}.conf") });
    std::fs::write(&file, text).unwrap();
    file
}

/// What was noted of requests that were followed.
fn followed(run: &Run) -> Vec<String> {
    let record = run.record();
    let notes = record.remarks.iter().filter_map(|event| match &event.what {
        What::Note(note) if note.text.contains("requests were followed through") => Some(note.text.clone()),
        _ => None,
    });
    notes.collect()
}

#[test]
fn a_server_that_fails_by_itself_is_the_answer_whoever_stands_before_it() {
    let _machine = machine();
    let (_server, server) = scripted("errors --share 1 --status 500 --time 0.005");
    let dir = tempfile::tempdir().unwrap();
    for product in ["nginx", "apache", "haproxy", "caddy", "squid", "varnish"] {
        let file = before(product, dir.path(), &server);
        let run = run(genkai(&format!("tune {product} {LOAD} --config")).arg(&file));
        let verdict = only_cause(&run, "backend.answers");
        assert_eq!(verdict.because(), Because::BackendIsLimit, "{product}: {}", run.story());
        assert_eq!((verdict.causes[0].confidence, run.code), (Confidence::Likely, Some(1)), "{}", run.story());
        let said = format!(
            "No: {product} is not the limit, the backend is: before any load, {server} answered 500 to each of 5 requests that were passed on to it"
        );
        assert!(run.says()[0].starts_with(&said), "{said}: {:?}", run.says());
        assert!(verdict.bisection.is_none() && verdict.next.is_none(), "{product}: {}", run.story());
        assert_eq!(followed(&run).len(), 1, "{}", run.story());
    }
}

/// By FastCGI too, where nobody could ask it without the server before it.
#[test]
fn a_script_that_fails_is_told_as_the_pools() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _pool = pool(dir.path(), &["php-fpm8.2"], "pm = static\npm.max_children = 3\n");
    let nginx = before_pool(dir.path());
    std::fs::write(dir.path().join("index.php"), "<?php http_response_code(500); echo 'no';\n").unwrap();
    let run = run(genkai(&format!("tune nginx {LOAD} --config")).arg(&nginx));
    let verdict = only_cause(&run, "backend.answers");
    assert_eq!(verdict.because(), Because::BackendIsLimit, "{}", run.story());
    let said = format!("unix:{}/www.sock answered 500 to each of 5 requests", dir.path().display());
    assert!(run.says()[0].contains(&said), "{said}: {:?}", run.says());
    // Not one of all these has come to the user's own pool.
    assert_eq!(std::fs::read_to_string(dir.path().join("access.log")).unwrap(), "");
}

/// gunicorn with two workers.
fn gunicorn(dir: &Path) -> (Guard, u16) {
    let application = "def app(environ, start):\n    start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n";
    std::fs::write(dir.join("app.py"), application).unwrap();
    let [port] = free();
    let mut command = Command::new("gunicorn");
    let words = format!("-w 2 -b 127.0.0.1:{port} app:app");
    command.args(words.split_whitespace()).current_dir(dir).stdout(Stdio::null()).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("gunicorn to listen", Duration::from_secs(60), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    (guard, port)
}

#[test]
fn a_pool_that_no_request_reaches_is_met_by_none() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_gunicorn, port) = gunicorn(dir.path());
    let has_pool = |run: &Run| {
        let trials = run.record().trials;
        trials.iter().any(|trial| trial.limits.limits.iter().any(|limit| limit.id == "backend.gunicorn.workers"))
    };
    for (rule, asked) in [("return (synth(200));", false), ("return (pass);", true)] {
        let file = dir.path().join("site.vcl");
        let text = format!(
            "vcl 4.1;\nbackend b {{ .host = \"127.0.0.1\"; .port = \"{port}\"; }}\nsub vcl_recv {{ {rule} }}\n"
        );
        std::fs::write(&file, text).unwrap();
        let run = run(genkai(&format!("tune varnish {LOAD} --config")).arg(&file));
        let verdict = run.verdict();
        assert_eq!(has_pool(&run), asked, "{}", run.story());
        let notes = followed(&run);
        let said = format!("none of them was passed on to 127.0.0.1:{port}");
        assert_eq!(notes.iter().any(|text| text.contains(&said)), !asked, "{notes:?} {}", run.story());
        let next: Vec<_> = verdict.next.iter().chain(&verdict.next_or).map(|one| one.limit.clone()).collect();
        assert!(asked || !next.iter().any(|limit| limit.contains("gunicorn")), "{next:?} {}", run.story());
    }
}

/// What `php_fastcgi` asks is looked at and put to the test as what nginx's `fastcgi_pass` asks is.
#[test]
fn a_pool_behind_caddys_php_fastcgi_is_proved_on_a_copy_of_it() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let _pool = pool(dir.path(), &["php-fpm8.2"], "pm = static\npm.max_children = 4\n");
    let file = dir.path().join("Caddyfile");
    let root = dir.path().display();
    let text = format!("http://:80 {{\n\troot * {root}\n\tphp_fastcgi unix/{root}/www.sock\n\tfile_server\n}}\n");
    std::fs::write(&file, text).unwrap();
    let mut tune = genkai("tune caddy --users 60 --spawn-rate 6 --think 200ms --quick --pairs 0 --max-limits 1");
    let run = told(tune.args(["--objective", "p99 < 500ms", "--config"]).arg(&file));
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert_eq!(cause.limit.id, "php-fpm.www.pm.max_children", "{}", run.story());
    assert_eq!(cause.confidence, Confidence::Proved, "{}", run.story());
    assert_eq!(verdict.proposal[0].change.setting, "pm.max_children", "{}", run.story());
    assert_eq!(std::fs::read_to_string(dir.path().join("access.log")).unwrap(), "");
}
