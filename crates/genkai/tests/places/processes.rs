//! One load in several processes, and one server in several: what is counted, who dies, what is left behind.

use std::io::Read;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::finding::{TrialFinding, Verdict};
use genkai_model::record::Record;
use genkai_model::websocket::CloseCount;

use crate::harness::loads::show;
use crate::harness::servers::{Guard, certificate, free, nginx, requests, serve};
use crate::harness::{all_gone, descendants, genkai, machine, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(90);

/// nginx with its own count of requests, and a log of who came.
struct Nginx {
    _guard: Guard,
    dir: tempfile::TempDir,
    port: u16,
    tls: u16,
    /// HTTP/2 without TLS.
    http2: u16,
}

impl Nginx {
    fn start() -> Nginx {
        let dir = tempfile::tempdir().unwrap();
        let [port, tls, http2] = free();
        certificate(dir.path());
        let root = dir.path().display();
        let http = format!(
            "log_format who '$remote_addr'; access_log off; server {{ listen 127.0.0.1:{port}; \
             listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.1:{http2} http2; \
             ssl_certificate {root}/ca.pem; ssl_certificate_key {root}/key.pem; keepalive_requests 1000000; \
             location / {{ access_log {root}/who who; return 200 hello; }} location /status {{ stub_status; }} }}"
        );
        let guard = nginx(dir.path(), &http, port);
        Nginx { _guard: guard, dir, port, tls, http2 }
    }

    /// Requests that it has had, this one not counted.
    fn requests(&self) -> u64 {
        requests(&format!("127.0.0.1:{}", self.port))
    }

    /// Addresses requests came from, each once.
    fn came_from(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.dir.path().join("who")).unwrap();
        let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// The only trial of a load, which must have ended without a failure.
fn trial(command: &mut Command) -> TrialFinding {
    show(command.arg("--json")).faultless()
}

/// With at most so many descriptors a process, and no way to have more.
fn with_descriptors(most: u32, arguments: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -n {most}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_genkai")]);
    command.args(arguments.split_whitespace()).stdin(Stdio::null());
    command
}

#[test]
fn totals_add_up_to_what_nginx_counted() {
    let _machine = machine();
    let nginx = Nginx::start();
    for (load, connections, full) in [
        ("http://127.0.0.1:CLEAR/ --users 5 -n 1001 --threads 2", 7, 0),
        ("http://127.0.0.1:CLEAR/ --rate 800 --connections 7 -n 1001 -d 60s", 7, 0),
        ("https://localhost:TLS/ --insecure --users 6 -n 1001", 6, 6),
        ("https://localhost:TLS/ --insecure --http2 --users 12 --streams 2 -n 1001", 6, 6),
        ("http://127.0.0.1:HTTP2/ --http2-prior-knowledge --rate 800 --connections 4 --streams 3 -n 1001 -d 60s", 4, 0),
    ] {
        let load = [("CLEAR", nginx.port), ("TLS", nginx.tls), ("HTTP2", nginx.http2)]
            .iter()
            .fold(load.to_owned(), |load, (name, port)| load.replace(name, &port.to_string()));
        let before = nginx.requests();
        let trial = trial(&mut genkai(&format!("load {load} --processes 3")));
        // The status request before is counted too.
        assert_eq!((trial.finished, nginx.requests() - before - 1), (1001, 1001), "{load}");
        assert_eq!((trial.latency.count, trial.service.count), (1001, 1001), "{load}");
        let handshakes = trial.handshakes.map_or(0, |made| made.full + made.resumed);
        assert_eq!(handshakes, full, "{load}");
        let used = trial.used.unwrap();
        assert_eq!(used.processes, 3);
        assert!(used.rss > used.rss_max && used.rss_max > 1 << 20 && used.cpu_us > 0, "{used:?}");
        // They are looked at when intervals end; a load may be over before its first does.
        let least = u64::from(load.contains("-d "));
        assert!((least..=connections).contains(&used.connections) && used.descriptors > 2, "{load}: {used:?}");
    }
}

/// Were one not sent, the interval would end for nobody.
#[test]
fn intervals_in_which_a_process_has_nothing_to_do_are_told_too() {
    let _machine = machine();
    let (nginx, dir) = (Nginx::start(), tempfile::tempdir().unwrap());
    let url = format!("http://127.0.0.1:{}/", nginx.port);
    let words = format!("load {url} --rate 2 --connections 2 -d 3s --processes 2 --out");
    let trial = trial(genkai(&words).arg(dir.path().join("run")));
    assert_eq!((trial.finished, trial.used.unwrap().processes), (6, 2));
    let lines = std::fs::read_to_string(dir.path().join("run/run.jsonl")).unwrap();
    let record = Record::read(lines.lines()).unwrap();
    let ticks = &record.trials[0].ticks;
    assert!(ticks.windows(2).all(|two| two[0].to_us == two[1].from_us), "one after the other");
    let idle = ticks.iter().filter(|tick| tick.sent == 0 && tick.in_flight == 0).count();
    assert!(idle >= 6 && ticks.len() >= 14, "{idle} of {} intervals of 200 ms", ticks.len());
}

#[test]
fn more_processes_than_users_are_not_started() {
    let _machine = machine();
    let nginx = Nginx::start();
    let trial = trial(&mut genkai(&format!("load http://127.0.0.1:{}/ --processes 9 --users 2 -n 50", nginx.port)));
    assert_eq!((trial.finished, trial.used.unwrap().processes), (50, 2));
}

#[test]
fn connections_come_from_the_sources_given() {
    let _machine = machine();
    let nginx = Nginx::start();
    let url = format!("load http://127.0.0.1:{}/ -n 40 --users 4", nginx.port);
    let used = trial(&mut genkai(&format!("{url} --source 127.0.0.2,127.0.0.8/30 --processes 2"))).used.unwrap();
    assert_eq!(used.sources, 3);
    let came = nginx.came_from();
    assert!(came.len() >= 2 && came.iter().all(|ip| ["127.0.0.2", "127.0.0.9", "127.0.0.10"].contains(&ip.as_str())));
    for (source, code, words) in
        [("192.0.2.77", 3, "ip address"), ("::1", 2, "of another kind"), ("127.0.0.0/8", 2, "smaller"), ("x", 2, "/26")]
    {
        let output = show(&mut genkai(&format!("{url} --source {source}")));
        assert_eq!(output.code, Some(code), "{source}: {}", output.story());
        assert!(output.story().contains(words), "{source}: {}", output.story());
    }
}

#[test]
fn what_one_process_has_too_few_descriptors_for_several_have() {
    let _machine = machine();
    let (_echo, address) = serve("echo --processes 2");
    let load = format!("load ws://{address} --connections 600 --spawn-rate 2000 --ping 200ms -d 2s");
    let refused = show(&mut with_descriptors(256, &load));
    assert_eq!(refused.code, Some(3), "{}", refused.story());
    for words in ["600 connections", "only 184 fit", "--processes 4"] {
        assert!(refused.story().contains(words), "{words}: {}", refused.story());
    }
    let held = trial(&mut with_descriptors(256, &format!("{load} --processes 4")));
    let (messages, used) = (held.messages.unwrap(), held.used.unwrap());
    assert_eq!((held.finished, messages.closes), (600, vec![CloseCount { code: 1000, count: 600 }]));
    assert!(messages.pongs >= 600, "{}", messages.pongs);
    assert_eq!((used.descriptors_limit, used.connections, used.processes), (256, 600, 4));
    assert!((150..=256).contains(&used.descriptors), "{used:?}");
}

#[test]
fn messages_of_all_processes_are_told_apart() {
    let _machine = machine();
    let (_echo, address) = serve("echo");
    let load = |more: &str| {
        let load = format!("load ws://{address} --message-rate 600 --connections 9 -n 900 -d 60s --processes 3 {more}");
        let open = trial(&mut genkai(&load));
        let messages = open.messages.unwrap();
        assert_eq!((messages.sent, messages.delivered, open.latency.count), (900, 900, 900));
        assert_eq!(messages.lost + messages.duplicated + messages.foreign, 0);
        (open.handshakes.unwrap().upgraded, messages.closes)
    };
    assert_eq!(load(""), (9, vec![CloseCount { code: 1000, count: 9 }]));
    // Opened one after the other: all have long been opened when the last messages are due.
    assert_eq!(load("--spawn-rate 30"), (9, vec![CloseCount { code: 1000, count: 9 }]));
    // So slowly that the load is over before.
    let (opened, closes) = load("--spawn-rate 0.5");
    assert!(opened < 9 && closes == [CloseCount { code: 1000, count: opened }], "{opened}: {closes:?}");
}

/// A load in two processes that would last long, once its workers make it.
fn long(address: &str, more: &str) -> (Guard, Vec<u32>) {
    let mut child = genkai(&format!("load ws://{address} --connections 20 -d 60s --processes 2 --json {more}"));
    let child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let workers = until("workers", LONGEST, || {
        let workers: Vec<u32> = descendants(pid).into_iter().filter(|pid| is_worker(*pid)).collect();
        (workers.len() == 2 && workers.iter().all(|pid| sockets(*pid) == 10)).then_some(workers)
    });
    (Guard(child), workers)
}

/// Sockets a process has open.
fn sockets(pid: u32) -> usize {
    let Ok(all) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let socket = |file: &std::fs::DirEntry| {
        std::fs::read_link(file.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))
    };
    all.flatten().filter(socket).count()
}

fn is_worker(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with(b"\0worker\0"))
}

fn ended(mut guard: Guard) -> (Option<i32>, String, String) {
    let status = wait(&mut guard.0, LONGEST);
    let (mut out, mut err) = (String::new(), String::new());
    guard.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    guard.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (status.code(), out, err)
}

#[test]
fn a_worker_that_dies_ends_the_load_with_its_name() {
    let _machine = machine();
    let (_echo, address) = serve("echo");
    let (load, workers) = long(&address, "");
    let all = descendants(load.0.id());
    signal(workers[1], "KILL");
    let (code, out, err) = ended(load);
    assert_eq!(code, Some(4), "the measurement says nothing of the server: {err}");
    assert!(err.contains("worker process") && err.contains("of 2 was lost (signal: 9"), "{err}");
    let verdict: Verdict = serde_json::from_str(&out).unwrap();
    assert_eq!(verdict.trials[0].used.unwrap().processes, 1, "of the other is told what it used");
    all_gone(&all);
}

#[test]
fn ctrl_c_reaches_every_process() {
    let _machine = machine();
    let (_echo, address) = serve("echo");
    let (load, _) = long(&address, "");
    let all = descendants(load.0.id());
    signal(load.0.id(), "INT");
    let (code, out, err) = ended(load);
    assert_eq!(code, Some(130), "{err}");
    let verdict: Verdict = serde_json::from_str(&out).unwrap();
    let messages = verdict.trials[0].messages.clone().unwrap();
    assert_eq!(messages.closes, [CloseCount { code: 1000, count: 20 }], "closed in good order");
    all_gone(&all);
}

#[test]
fn workers_do_not_outlive_genkai() {
    let _machine = machine();
    let (_echo, address) = serve("echo");
    let (mut load, workers) = long(&address, "--quiet");
    signal(load.0.id(), "KILL");
    wait(&mut load.0, LONGEST);
    all_gone(&workers);
}

#[test]
fn servers_on_one_port_end_together() {
    let _machine = machine();
    for (name, code) in [("TERM", Some(0)), ("KILL", Some(3))] {
        let (mut server, address) = serve("echo --processes 3");
        let all = descendants(server.0.id());
        let held = trial(&mut genkai(&format!("load ws://{address} --connections 60 --ping 100ms -d 1s")));
        assert_eq!(held.messages.unwrap().closes, [CloseCount { code: 1000, count: 60 }]);
        let child = all.iter().find(|pid| {
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|l| l.windows(8).any(|w| w == b"--shared"))
        });
        signal(if name == "TERM" { server.0.id() } else { *child.unwrap() }, name);
        assert_eq!(wait(&mut server.0, LONGEST).code(), code);
        all_gone(&all);
    }
}

#[test]
fn an_echo_server_does_not_share_a_port_unasked() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let output = show(&mut genkai(&format!("serve echo --processes 2 --listen {}", taken.local_addr().unwrap())));
    assert!(output.code == Some(3) && output.story().contains("cannot listen on"), "{}", output.story());
}

#[test]
fn a_worker_without_an_order_says_whom_it_is_for() {
    let output = show(&mut genkai("worker"));
    assert_eq!(output.code, Some(2), "{}", output.story());
    assert!(output.story().contains("genkai load"), "{}", output.story());
}
