//! `genkai tune` where a store that a pool asks takes too few clients: a private copy of it is found at the same place, and proves it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::What;
use genkai_model::finding::Confidence;
use genkai_model::limit::Origin;

use crate::harness::judged::told;
use crate::harness::servers::{Guard, free};
use crate::harness::{Run, genkai, machine, until};

/// Redis, by these lines, in a folder that everybody may enter.
fn redis(dir: &Path, lines: &str) -> Guard {
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(dir, open).unwrap();
    let text = format!("maxclients 8\nsave \"\"\ndir {}\n{lines}\n", dir.display());
    std::fs::write(dir.join("redis.conf"), text).unwrap();
    let mut command = Command::new("redis-server");
    Guard(command.arg(dir.join("redis.conf")).stdout(Stdio::null()).spawn().unwrap())
}

/// A pool of php-fpm whose script asks Redis at `place` for something that is not there, for a tenth of a second, on a connection of its own.
fn pool(dir: &Path, place: &str) -> Guard {
    let root = dir.display();
    let page = format!(
        "<?php $r = @stream_socket_client('{place}', $no, $text, 5);\nif (!$r) {{ http_response_code(500); exit('no'); }}\nfwrite($r, \"BLPOP \
         nothing 0.1\\r\\n\");\n$line = fgets($r);\nif ($line === false || $line[0] != '*') {{ http_response_code(500); exit('refused'); \
         }}\necho 'here';\n"
    );
    std::fs::write(dir.join("index.php"), page).unwrap();
    let config = format!(
        "[global]\nerror_log = {root}/fpm.log\n[www]\nlisten = {root}/www.sock\nlisten.mode = 0666\nuser = nobody\ngroup = nogroup\npm = \
         static\npm.max_children = 40\n"
    );
    std::fs::write(dir.join("fpm.conf"), config).unwrap();
    let mut command = Command::new("php-fpm8.2");
    command.args(["-F", "-R", "-y"]).arg(dir.join("fpm.conf")).stderr(Stdio::null());
    let guard = Guard(command.spawn().unwrap());
    until("php-fpm to listen", Duration::from_secs(30), || {
        std::os::unix::net::UnixStream::connect(dir.join("www.sock")).ok()
    });
    guard
}

/// A tune of nginx before that pool.
fn tune(dir: &Path) -> Run {
    let root = dir.display();
    let nginx = format!(
        "events {{ }}\nhttp {{ server {{ listen 80; location / {{ fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; \
         fastcgi_param SCRIPT_FILENAME {root}/index.php; fastcgi_pass unix:{root}/www.sock; }} }} }}\n"
    );
    std::fs::write(dir.join("nginx.conf"), nginx).unwrap();
    let mut command = genkai("tune nginx --users 60 --spawn-rate 8 --think 200ms --quick --pairs 0");
    command.args(["--objective", "errors < 5%", "--config"]).arg(dir.join("nginx.conf"));
    told(&command)
}

/// That the first cause is `maxclients`, proved on a copy with the change of the user's file.
fn is_proved(run: &Run, dir: &Path) {
    let verdict = run.verdict();
    let cause = verdict.causes.first().unwrap_or_else(|| panic!("no cause\n{}", run.story()));
    assert_eq!(cause.limit.id, "redis.maxclients", "{}", run.story());
    assert_eq!(cause.confidence, Confidence::Proved, "{}", run.story());
    assert_eq!(cause.limit.origin, Origin::File { path: dir.join("redis.conf"), line: 1 }, "{}", run.story());
    let change = &verdict.proposal[0].change;
    assert_eq!((change.setting.as_str(), change.from.as_str()), ("maxclients", "8"), "{}", run.story());
    assert!(run.stdout.contains(&format!("-maxclients 8\n+maxclients {}\n", change.to)), "{}", run.story());
}

/// What was noted of who stands behind.
fn noted(run: &Run) -> String {
    let record = run.record();
    let notes = record.remarks.iter().filter_map(|event| match &event.what {
        What::Note(note) if note.text.starts_with("behind ") => Some(note.text.clone() + "\n"),
        _ => None,
    });
    notes.collect()
}

/// Connections that the user's own Redis has had, by what it tells here.
fn connections(words: &[&str]) -> u64 {
    let output = Command::new("redis-cli").args(words).args(["INFO", "stats"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    line.unwrap_or_else(|| panic!("{text}")).trim().parse().unwrap()
}

/// More than this are a load. (Each program that is asked before any load asks the user's own for some seconds.)
const FEW: u64 = 120;

#[test]
fn a_redis_on_a_unix_socket_is_proved_on_a_copy_of_it_in_its_place() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("redis.sock").display().to_string();
    let _redis = redis(dir.path(), &format!("port 0\nunixsocket {socket}\nunixsocketperm 777"));
    until("Redis to listen", Duration::from_secs(30), || std::os::unix::net::UnixStream::connect(&socket).ok());
    let _pool = pool(dir.path(), &format!("unix://{socket}"));
    let run = tune(dir.path());
    is_proved(&run, dir.path());
    assert!(noted(&run).contains(&format!("unix:{socket} is Redis")), "{}", noted(&run));
    assert!(noted(&run).contains("without keys, as it has none"), "{}", noted(&run));
    assert!(connections(&["-s", &socket]) < FEW, "the load has not come to the user's own");
}

#[test]
fn a_redis_on_a_port_of_loopback_is_proved_on_a_copy_of_it_in_a_network_of_its_own() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let [port] = free();
    let _redis = redis(dir.path(), &format!("port {port}\nbind 127.0.0.1"));
    until("Redis to listen", Duration::from_secs(30), || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    let port_text = port.to_string();
    // What it keeps is in no file.
    let set = Command::new("redis-cli").args(["-p", &port_text, "SET", "a", "b"]).output().unwrap();
    assert!(set.status.success());
    let _pool = pool(dir.path(), &format!("tcp://127.0.0.1:{port}"));
    let run = tune(dir.path());
    assert!(noted(&run).contains("it has keys, and without them a copy would answer otherwise"), "{}", noted(&run));
    let named = run.verdict().causes.first().map(|cause| cause.limit.id.clone());
    assert_eq!(named.as_deref(), Some("beyond.Redis.maxclients"), "{}", run.story());
    // Once it has saved them, they are.
    let saved = Command::new("redis-cli").args(["-p", &port_text, "SAVE"]).output().unwrap();
    assert!(saved.status.success());
    let before = connections(&["-p", &port_text]);
    let run = tune(dir.path());
    is_proved(&run, dir.path());
    assert!(noted(&run).contains("dump.rdb has of its keys (0 changes since it was saved)"), "{}", noted(&run));
    assert!(connections(&["-p", &port_text]) - before < FEW, "the load has not come to the user's own");
}
