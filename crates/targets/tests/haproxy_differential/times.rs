//! Timeouts in force, by what genkai reads, against what a running HAProxy says of sessions (`show sess all`): how long the silence of a
//! server, of a client in TCP mode, and a wait in the queue may last from now on.

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use genkai_model::units::Span;
use genkai_place::caps::Machine;
use genkai_place::machine::environment;
use genkai_targets::files::{Configuration, Requests};
use genkai_targets::haproxy::config::{Config, Reading};
use genkai_targets::haproxy::limits::Facts;
use genkai_targets::haproxy::settings::value;
use genkai_targets::settings::SourcedValue;

use super::grammar::Random;
use super::{Running, SAMPLE, ask, many, ports, taken, there};

const TIMES: [&str; 8] = ["30s", "1m", "1h", "2d", "45000", "90000ms", "100000000us", "0"];

/// Lines with some of the timeouts.
fn times(random: &mut Random, keys: &[&str]) -> String {
    let mut text = String::new();
    for key in keys {
        if random.percent(45) {
            text += &format!("    timeout {key} {}\n", random.of(&TIMES));
        }
    }
    text
}

fn made(random: &mut Random, front: u16, server: SocketAddr, socket: &str) -> String {
    let (all, mode) = (["client", "server", "queue", "connect"], random.of(&["http", "http", "tcp"]));
    let mut text = format!(
        "global\n    stats socket {socket} level admin\ndefaults base\n    mode {mode}\n    timeout client 40s\n    timeout server 50s\n    \
         timeout connect 20s\n"
    );
    text += &times(random, &all);
    text += "defaults special from base\n";
    text += &times(random, &all);
    let front_of = random.of(&["base", "special"]);
    text += &format!("frontend f from {front_of}\n    bind 127.0.0.1:{front}\n    default_backend b\n");
    text += &times(random, &["client"]);
    text += &format!("backend b from {}\n", random.of(&["base", "special"]));
    text += &times(random, &all[1..]);
    text + &format!("    server s1 {server} maxconn 1\n")
}

/// A time as HAProxy writes it: `1m30s`, `<NEVER>`. None: never.
fn written(text: &str) -> Option<f64> {
    let (mut seconds, mut number) = (0.0, String::new());
    let mut rest = text;
    while let Some(first) = rest.chars().next().filter(char::is_ascii_alphanumeric) {
        if first.is_ascii_digit() {
            number.push(first);
            rest = &rest[1..];
            continue;
        }
        let unit = [("ms", 0.001), ("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0)].into_iter();
        let (name, length) = unit.into_iter().find(|(name, _)| rest.starts_with(name))?;
        seconds += number.parse::<f64>().ok()? * length;
        number.clear();
        rest = &rest[name.len()..];
    }
    (seconds > 0.0).then_some(seconds)
}

/// The text after `mark` in the part of a session that follows `from`.
fn after<'t>(session: &'t str, from: &str, mark: &str) -> &'t str {
    let part = session.split_once(from).map_or("", |(_, rest)| rest);
    part.split_once(mark).map_or("", |(_, rest)| rest.split_whitespace().next().unwrap_or_default())
}

/// Whether so much can be left of a time that began some seconds ago. HAProxy writes the two largest units.
fn fits(mine: Option<f64>, left: Option<f64>) -> bool {
    match (mine, left) {
        (Some(mine), Some(left)) => {
            let unit = if mine > 86_400.0 {
                3601.0
            } else if mine > 3600.0 {
                61.0
            } else {
                1.0
            };
            left <= mine + 0.5 && left >= mine - unit - 8.0
        }
        (mine, left) => mine == left,
    }
}

#[test]
fn timeouts_are_those_of_running_sessions() {
    if !there() {
        return;
    }
    let dir = tempfile::Builder::new().prefix("genkai-ht-").tempdir().unwrap();
    let machine = Machine::of(&environment(std::collections::BTreeMap::new()));
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for seed in 0..if many() > SAMPLE { many() / 10 } else { 4 } {
        // It takes connections and never answers.
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let (mut random, front) = (Random(seed + 2000), ports(1)[0]);
        let (path, socket) = (dir.path().join("x.cfg"), dir.path().join("s"));
        let _ = std::fs::remove_file(&socket);
        let text = made(&mut random, front, server.local_addr().unwrap(), &socket.display().to_string());
        std::fs::write(&path, &text).unwrap();
        assert!(taken(&path).0, "{}\n{text}", taken(&path).1);
        let config = Config::read(&path, Reading::here((2, 6, 12), ["OPENSSL".to_owned()].into())).unwrap();
        let mine = |name: &str| {
            let (text, _) = config.value_of(name, &Requests::to("localhost", "/")).unwrap();
            value::lenient_time(&text).map(|(ms, _)| ms as f64 / 1000.0).filter(|seconds| *seconds > 0.0)
        };
        let _running = Running::start(&path, &socket).expect("it starts");
        let client = || {
            let mut stream = TcpStream::connect(("127.0.0.1", front)).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream
        };
        let sessions = || -> Vec<String> {
            let all = ask(&socket, "show sess all");
            all.split("\n0x").filter(|one| one.contains("frontend=f ")).map(str::to_owned).collect()
        };
        let _first = client();
        let until = Instant::now() + Duration::from_secs(10);
        let wait = |what: &str| {
            while !sessions().iter().any(|one| one.contains(what)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
            sessions().into_iter().find(|one| one.contains(what)).unwrap_or_default()
        };
        let served = wait("server=s1");
        let _second = client();
        let queued = wait("state=QUE");
        let http = !text.contains("mode tcp");
        let facts = Facts::of(&config, None, &Requests::to("localhost", "/"), &machine, 1 << 30);
        let seconds = |held: &SourcedValue<Span>| held.value.as_secs_f64();
        let queue = facts.queue_timeout.as_ref().map(|(_, held)| seconds(held));
        let mut all = vec![
            ("timeout server", facts.server_timeout.as_ref().map(seconds), after(&served, "  res=", "rex=")),
            ("timeout queue", queue, after(&queued, "flags=", "conn_exp=")),
        ];
        all.extend((!http).then(|| ("timeout client", mine("timeout.client"), after(&served, "  req=", "rex="))));
        for (what, mine, theirs) in all {
            // Where neither has one, there is nothing to be compared.
            compared += usize::from(mine.is_some() || written(theirs).is_some());
            if !fits(mine, written(theirs)) {
                wrong.push(format!("seed {seed}: {what}: genkai {mine:?} s, HAProxy {theirs} left\n{text}"));
            }
        }
    }
    println!("{compared} timeouts compared");
    assert!(compared > 0, "nothing was compared");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n----\n"));
}
