//! `genkai tune caddy` and `genkai explain` on a real Caddy and a user's files.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::Because;
use genkai_model::limit::Origin;

use crate::harness::judged::{only_cause, told};
use crate::harness::servers::{Guard, free, scripted, serve};
use crate::harness::{genkai, machine, run, until};

const CONFIG: &str = "\
# The shop
{
\temail ops@example.com
}

(app) {
\treverse_proxy 192.0.2.1:8080 {
\t\theader_up X-Token {$CADDY_TEST_TOKEN:hunter2}
\t\ttransport http {
\t\t\tmax_conns_per_host {args.0}   # few, on purpose
\t\t}
\t}
}

http://localhost, shop.example {
\timport app 4
\tlog {
\t\toutput file /var/log/caddy/shop.log
\t}
}
";

#[test]
fn the_connections_to_an_upstream_are_found_changed_and_shown() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, CONFIG).unwrap();
    let run = told(
        genkai(
            "tune caddy --backend embedded --users 24 --spawn-rate 20 --backend-time 200ms --quick --quiet --pairs 0",
        )
        .args(["--objective", "errors < 0.1%, p99 < 700ms", "--config"])
        .arg(&file),
    );
    let verdict = only_cause(&run, "caddy.max_conns_per_host");
    assert_eq!((run.code, verdict.because()), (Some(1), Because::ProvedAndHolds), "{}", run.story());
    let limit = &verdict.causes[0].limit;
    let line = CONFIG.lines().position(|l| l.contains("max_conns_per_host")).unwrap() + 1;
    let place = Origin::File { path: file.clone(), line };
    assert_eq!((limit.value.as_str(), &limit.origin), ("4", &place), "{}", run.story());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), CONFIG, "the user's file is as it was");
    let diff = run.record().end.as_ref().unwrap().diff.clone();
    assert!(diff.contains("-\timport app 4\n+\timport app "), "the argument is changed where it is given: {diff}");
}

fn explained(file: &std::path::Path) -> (Option<i32>, String) {
    let done = genkai("explain").arg(file).output().unwrap();
    // Lines are wrapped.
    (done.status.code(), String::from_utf8_lossy(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn a_caddyfile_is_explained_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, CONFIG.replace("max_conns_per_host", "max_cons_per_host")).unwrap();
    let (code, text) = explained(&file);
    for says in ["did you mean max_conns_per_host?", "local ports x 1 upstream", "response_header_timeout"] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert_eq!(code, Some(1), "{text}");
    let stock = std::path::Path::new("/etc/caddy/Caddyfile");
    if stock.exists() {
        let (code, text) = explained(stock);
        assert_eq!(code, Some(0), "the distribution's file has no remark: {text}");
    }
}

/// Caddy with its files in `dir`.
fn caddy(dir: &Path, words: &str) -> Command {
    let mut command = Command::new("caddy");
    command.args(words.split_whitespace()).current_dir(dir);
    command.envs([("XDG_DATA_HOME", dir), ("XDG_CONFIG_HOME", dir)]).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Connections that are open at a port of this machine.
fn open(port: u16) -> usize {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap() + &std::fs::read_to_string("/proc/net/tcp6").unwrap();
    let here = format!(":{port:04X}");
    let fields = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    fields.filter(|all| all.get(1).is_some_and(|local| local.ends_with(&here)) && all.get(3) == Some(&"01")).count()
}

/// Caddy that is reloaded closes every WebSocket with a frame (1001); nginx before it passes that on, and is not who did it.
#[test]
fn websockets_that_a_reload_of_caddy_closes_are_not_said_to_be_cut_by_nginx() {
    const LONGEST: Duration = Duration::from_secs(60);
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let (_echo, echo) = serve("echo");
    let [port, admin] = free();
    let write = |made: &str| {
        let site = format!("http://:{port} {{\n\theader X-Made {made}\n\treverse_proxy {echo}\n}}\n");
        let text = format!("{{\n\tadmin 127.0.0.1:{admin}\n\tauto_https off\n}}\n{site}");
        std::fs::write(dir.path().join("Caddyfile"), text).unwrap();
    };
    write("first");
    let _caddy = Guard(caddy(dir.path(), "run --config Caddyfile --adapter caddyfile").spawn().unwrap());
    until("Caddy listens", LONGEST, || TcpStream::connect(("127.0.0.1", port)).ok());
    let upgrade =
        "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade;";
    let server = format!("server {{ listen 80; location / {{ {upgrade} proxy_pass http://127.0.0.1:{port}; }} }}");
    let file = dir.path().join("nginx.conf");
    std::fs::write(&file, format!("events {{}}\nhttp {{\n{server}\n}}\n")).unwrap();
    let run = std::thread::scope(|scope| {
        scope.spawn(|| {
            until("WebSockets are open", LONGEST, || (open(port) >= 20).then_some(()));
            write("second");
            let address = format!("reload --config Caddyfile --adapter caddyfile --address 127.0.0.1:{admin}");
            assert!(caddy(dir.path(), &address).status().unwrap().success());
        });
        let words =
            "tune nginx --websocket --users 30 --spawn-rate 15 --think 200ms --hold 6s --quick --pairs 0 --bisect 0";
        run(genkai(words).args(["--objective", "disconnects < 0.1%, delivered > 99%", "--config"]).arg(&file))
    });
    assert!(run.stdout.contains("saw open WebSockets closed by close"), "{}", run.story());
    assert!(!run.stdout.contains("cut open") && !run.stdout.contains("not this backend"), "{}", run.story());
}

/// One of two upstreams answers 503 to a tenth of its requests, at whatever load; now and then one of them has all the requests that it gets at once.
#[test]
fn an_upstream_that_fails_by_itself_is_not_laid_to_how_many_requests_each_gets() {
    let _machine = machine();
    let (_bad, bad) = scripted("errors --share 0.1 --status 503 --time 0.05 --seed 3");
    let (_good, good) = scripted("errors --share 0 --status 503 --time 0.05 --seed 5");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Caddyfile");
    let config = format!(
        "http://localhost {{\n\treverse_proxy {bad} {good} {{\n\t\tunhealthy_request_count 6\n\t\tmax_fails 1\n\t}}\n}}\n"
    );
    std::fs::write(&file, config).unwrap();
    let run = told(
        genkai("tune caddy --users 11 --spawn-rate 4 --hold 3s --quick --quiet")
            .args(["--objective", "errors < 1%", "--config"])
            .arg(&file),
    );
    let verdict = run.verdict();
    let named: Vec<&str> = verdict.causes.iter().map(|cause| cause.limit.id.as_str()).collect();
    assert!(named.iter().all(|id| id.starts_with("caddy.server.answers")), "{}", run.story());
    assert!(verdict.proposal.is_empty(), "{}", run.story());
}
