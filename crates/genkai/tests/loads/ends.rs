//! Runs that end early: Ctrl-C, a dying server, a full disk. What was measured is kept, nothing is left running.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use genkai_model::event::ServerState;
use genkai_model::finding::{Because, Outcome};
use genkai_model::record::Record;

use crate::harness::servers::serve;
use crate::harness::{all_gone, descendants, finish, genkai, machine, run, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(60);

fn record(out: &Path) -> Option<Record> {
    let text = std::fs::read_to_string(out.join("run.jsonl")).ok()?;
    Record::read(text.lines()).ok()
}

/// The folder of the servers' private files, while there is one.
fn private(out: &Path) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(out).ok()?;
    entries
        .flatten()
        .map(|e| e.path())
        .find(|p| p.is_dir() && p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("work-")))
}

/// Starts a run, waits until `ready` says so of its record, then does `then` to it and waits for its end.
fn disturbed(
    arguments: &str,
    ready: impl Fn(&Record) -> bool,
    then: impl Fn(u32, &[u32]),
) -> (Option<i32>, Record, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut child =
        genkai(arguments).arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the run to get there", LONGEST, || record(&out).filter(|r| ready(r)));
    let children = descendants(child.id());
    assert!(!children.is_empty(), "servers run");
    then(child.id(), &children);
    let status = wait(&mut child, LONGEST);
    all_gone(&children);
    assert!(private(&out).is_none(), "private files are gone");
    assert!(out.join("verdict.json").exists() && out.join("report.html").exists(), "outputs are there");
    let record = record(&out).unwrap();
    assert!(record.end.is_some(), "the record has its last line");
    (status.code(), record, dir)
}

const LOAD: &str =
    "tune nginx --set worker_connections=64 --users 60 --spawn-rate 20 --backend-time 200ms --quick --quiet";

fn ticks(record: &Record, trial: usize) -> usize {
    record.trials.get(trial).map_or(0, |t| t.ticks.len())
}

#[test]
fn ctrl_c_while_looking_for_the_break() {
    let _machine = machine();
    let (code, record, _dir) = disturbed(LOAD, |r| ticks(r, 0) >= 3, |pid, _| signal(pid, "INT"));
    assert_eq!(code, Some(130));
    assert!(record.end.unwrap().interrupted);
    assert!(record.trials[0].ticks.len() >= 3, "what was measured is kept");
}

#[test]
fn ctrl_c_in_the_proof() {
    let _machine = machine();
    let (code, record, _dir) = disturbed(LOAD, |r| ticks(r, 2) >= 2, |pid, _| signal(pid, "TERM"));
    assert_eq!(code, Some(130));
    assert!(record.trials.len() >= 3);
}

#[test]
fn a_terminal_that_goes_away_hangs_up_twice() {
    let _machine = machine();
    let hang_up = |pid, _: &[u32]| {
        signal(pid, "HUP");
        signal(pid, "HUP");
    };
    let (code, record, _dir) = disturbed(LOAD, |r| ticks(r, 0) >= 3, hang_up);
    assert_eq!(code, Some(130));
    assert!(record.end.unwrap().interrupted);
}

#[test]
fn ctrl_c_before_the_load() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut child = genkai(LOAD).arg("--out").arg(&out).stderr(Stdio::null()).spawn().unwrap();
    until("the run folder", LONGEST, || private(&out));
    signal(child.id(), "INT");
    let status = wait(&mut child, LONGEST);
    assert_eq!(status.code(), Some(130));
    assert!(private(&out).is_none());
}

#[test]
fn a_master_that_dies_is_a_finding() {
    let _machine = machine();
    let nginx = |pids: &[u32]| -> u32 {
        let is_master = |pid: &&u32| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.contains("nginx: master"))
        };
        *pids.iter().find(is_master).expect("nginx runs")
    };
    let (code, record, dir) = disturbed(LOAD, |r| ticks(r, 0) >= 3, |_, pids| signal(nginx(pids), "KILL"));
    assert_eq!(code, Some(1));
    let died = record.trials[0].states.iter().any(|(_, s)| s.subject == "nginx" && s.state == ServerState::Died);
    assert!(died, "{:?}", record.trials[0].states);
    let verdict = std::fs::read_to_string(dir.path().join("out/verdict.json")).unwrap();
    let verdict: genkai_model::finding::Verdict = serde_json::from_str(&verdict).unwrap();
    assert_eq!((verdict.outcome(), verdict.because()), (Outcome::Fails, Because::ServerDied));
}

#[test]
fn a_backend_that_dies_is_a_finding() {
    let _machine = machine();
    let origin = |pids: &[u32]| -> u32 {
        let is_origin = |pid: &&u32| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.contains("serve\0origin"))
        };
        *pids.iter().find(is_origin).expect("the origin runs")
    };
    let (code, record, dir) = disturbed(LOAD, |r| ticks(r, 0) >= 3, |_, pids| signal(origin(pids), "KILL"));
    assert_eq!(code, Some(1));
    let died = record.trials[0].states.iter().any(|(_, s)| s.subject == "backend" && s.state == ServerState::Died);
    assert!(died, "{:?}", record.trials[0].states);
    let verdict = std::fs::read_to_string(dir.path().join("out/verdict.json")).unwrap();
    assert!(verdict.contains("server_died"), "{verdict}");
}

#[test]
fn a_client_without_processor_time_is_invalid() {
    let _machine = machine();
    // Hogs on the generator's core take most of its time: what it then measures is itself.
    let cores = genkai_lab::pinning::cores();
    let core = cores.last().unwrap().to_string();
    let mut hogs: Vec<_> = (0..12)
        .map(|_| Command::new("taskset").args(["-c", &core, "sh", "-c", "while :; do :; done"]).spawn().unwrap())
        .collect();
    let run = run(genkai(
        "tune nginx --set worker_connections=8192 --rate 20000 --ramp 1s --connections 200 --backend-time 0ms --backend-body 1k \
         --hold 4s --quick --quiet",
    )
    .args(["--objective", "errors < 0.1%, p99 < 20ms"]));
    for hog in &mut hogs {
        hog.kill().unwrap();
        hog.wait().unwrap();
    }
    assert_eq!(run.code, Some(4), "{}", run.story());
    let verdict = run.verdict();
    assert_eq!((verdict.outcome(), verdict.because()), (Outcome::Invalid, Because::ClientIsLimit), "{}", run.story());
    assert!(verdict.causes.is_empty(), "no server limit is named\n{}", run.story());
}

#[test]
fn a_full_disk_keeps_what_fits() {
    let _machine = machine();
    // A file-size limit stands for a full disk: its signal, which ends programs that know nothing of it, is not to end this one.
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let script = format!("ulimit -f 24; exec {} {LOAD} --out {}", env!("CARGO_BIN_EXE_genkai"), out.display());
    let output = finish(Command::new("sh").args(["-c", &script]), LONGEST);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    assert!(stderr.contains("cannot write"), "{stderr}");
    let kept = record(&out).expect("the record up to then can be read");
    assert!(kept.head.is_some() && kept.end.is_none());
    assert!(private(&out).is_none());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let run = run(&genkai("tune nginx --set worker_connections=512 --users 300 --dry-run"));
    assert_eq!(run.code, Some(0));
    let mut child = genkai("tune nginx --set worker_connections=512 --users 300 --dry-run")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = wait(&mut child, LONGEST);
    assert_eq!(output.code(), Some(0));
    let _ = std::io::stderr().flush();
}

const SERVERS: &str =
    "experiment run websocket-servers --servers embedded,node-ws --clients 5 --warm-up 1 --sizes 1k --quiet";

/// Rounds of a contender that were answered, and that were not.
fn rounds(record: &Record, contender: &str) -> (usize, usize) {
    let of_it = || record.trials.iter().flat_map(|t| &t.rounds).filter(|(_, round)| round.contender == contender);
    let answered = of_it().filter(|(_, round)| round.figure_ns.is_some()).count();
    (answered, of_it().count() - answered)
}

#[test]
fn ctrl_c_while_servers_are_compared() {
    let _machine = machine();
    let asked = format!("{SERVERS} --rounds 10000");
    let (code, record, _dir) = disturbed(&asked, |r| rounds(r, "node-ws").0 >= 20, |pid, _| signal(pid, "INT"));
    assert_eq!(code, Some(130));
    assert!(rounds(&record, "node-ws").0 >= 20 && record.end.unwrap().interrupted, "what was measured is kept");
}

#[test]
fn a_compared_server_that_dies_is_named_and_the_others_go_on() {
    let _machine = machine();
    let asked = format!("{SERVERS} --rounds 100");
    let is_node = |pid: &&u32| {
        std::fs::read(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| String::from_utf8_lossy(&line).contains("server.js"))
    };
    let kill = |_: u32, children: &[u32]| signal(*children.iter().find(is_node).expect("ws runs"), "KILL");
    let (code, record, _dir) = disturbed(&asked, |r| rounds(r, "node-ws").0 >= 8, kill);
    let ((embedded, lost), (_, unanswered)) = (rounds(&record, "embedded"), rounds(&record, "node-ws"));
    // Two cases and one size in two kinds, in 101 rounds, and what it takes.
    assert!(embedded >= 4 * 101 && lost == 0, "{embedded} and {lost}");
    assert!(unanswered > 0 && code == Some(1), "{unanswered} rounds without an answer, exit {code:?}");
    let died: Vec<&str> = record.trials[0]
        .states
        .iter()
        .filter(|(_, state)| state.state == ServerState::Died)
        .map(|(_, state)| state.subject.as_str())
        .collect();
    assert_eq!(died, ["node-ws"]);
}

/// A load that ends before it has risen, or before all its users have asked, is told with what came; of a record that is cut off nothing is told of an end.
#[test]
fn a_load_is_told_with_the_load_that_came() {
    let _machine = machine();
    let (_origin, address) = serve("origin --listen 127.0.0.1:0");
    let load = |flags: &str| run(&genkai(&format!("load http://{address}/ --quiet {flags}")));
    for (flags, said) in [
        ("--users 50 -n 20", "at 20 users, as far as the load rose (50 were asked for)."),
        ("--rate 200 --ramp 4s -n 50", " planned requests/s, as far as the load rose (200 were asked for)."),
        ("--stages 750ms:0..100,750ms:0", "at 100 users."),
        ("--users 5 --duration 500ms", "at 5 users."),
    ] {
        let run = load(flags);
        assert!(
            run.says()[0].starts_with("Held: `errors < 0.1%` at ") && run.says()[0].ends_with(said),
            "{flags}: {}",
            run.story()
        );
    }
    let whole = load("--users 5 --duration 1500ms");
    let cut = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(whole.out.join("run.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    std::fs::write(cut.path().join("run.jsonl"), lines[..lines.len() - 4].join("\n") + "\n").unwrap();
    finish(genkai("report --quiet").arg(cut.path()), LONGEST);
    let said: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(cut.path().join("verdict.json")).unwrap()).unwrap();
    let first = said["says"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one.as_str())
        .find(|one| one.starts_with("Cannot tell"));
    assert!(first.is_some_and(|one| one.contains("the record ends ") && !one.contains("before its time")), "{said}");
}
