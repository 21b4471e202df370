//! One load made by several machines: through a real ssh server, and between network namespaces whose clocks differ.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use genkai_model::finding::rooms::RoomsFinding;
use genkai_model::finding::{TrialFinding, Verdict};
use genkai_model::machine::PlacesCheckup;
use genkai_model::record::Record;

use crate::harness::lan::{Lan, SHIFTS};
use crate::harness::loads::show;
use crate::harness::servers::{Counting, Guard, serve};
use crate::harness::ssh::{Sessions, Sshd};
use crate::harness::{all_gone, descendants, genkai, machine, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(90);
/// Within 10 s of the end of genkai nothing of it runs, and nothing is left, on any machine; on a busy one it is given three times that.
const PROMISED: Duration = Duration::from_secs(30);

/// `genkai load` with these words through an ssh of its own.
/// Tells workers on this machine, in their environment, to which server's test they belong.
const OF: &str = "GENKAI_TEST_OF";

fn load(sshd: &Sshd, words: &str) -> Command {
    let mut command = genkai(&format!("load {words}"));
    command.arg("--ssh").arg(sshd.ssh()).env(OF, sshd.sent());
    command
}

fn trial(command: &mut Command) -> TrialFinding {
    show(command.arg("--json")).faultless()
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn machines_make_one_load_and_each_is_told() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(true), Counting::start());
    for words in ["--users 6 -n 1001", "--rate 800 --connections 7 -n 1001 -d 60s"] {
        let before = nginx.requests();
        let on = "--on ssh:load1:2 --on ssh:load2 --on here";
        let made = trial(&mut load(&sshd, &format!("{} {words} {on}", nginx.url())));
        assert_eq!((made.finished, nginx.requests() - before - 1), (1001, 1001), "{words}");
        assert_eq!((made.latency.count, made.used.unwrap().processes), (1001, 4), "{words}");
        let places: Vec<&str> = made.workers.iter().map(|one| one.place.as_str()).collect();
        assert_eq!(places, ["load1", "load1", "load2", "here"], "{words}");
        for one in &made.workers {
            let own = one.place == "here";
            assert!(one.began.is_some() && one.clock_uncertainty.is_none() == own, "{one:?}");
            // The very clock of this machine: the offset is none, and so is what it moved by.
            assert!(one.clock_drift.is_none_or(|drift| drift < 1.0), "{one:?}");
        }
    }
    assert!(is_empty(&sshd.sent()), "what is there already is not sent");
}

/// What a link with a delay leaves open of a clock is told, and bounds by how much it may be wrong: the machine's clock is the very same.
#[test]
fn a_machine_behind_a_slow_link_begins_as_well_as_its_clock_is_known() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(true), Counting::start());
    let (_link, listening) = serve(&format!("link --listen 127.0.0.1:0 --to {} --delay 25ms", sshd.address()));
    let (before, out) = (nginx.requests(), tempfile::tempdir().unwrap());
    let words =
        format!("load {} --rate 400 --connections 9 -n 800 -d 60s --on ssh:load1:2 --on here --json", nginx.url());
    let mut command = genkai(&words);
    command.arg("--ssh").arg(sshd.ssh_by(&listening)).arg("--out").arg(out.path().join("run"));
    let made = show(&mut command).faultless();
    assert_eq!((made.finished, nginx.requests() - before - 1), (800, 800));
    let far: Vec<_> = made.workers.iter().filter(|one| one.place == "load1").collect();
    assert_eq!(far.len(), 2);
    assert!(far.iter().all(|one| one.began.is_some() && one.clock_uncertainty >= Some(0.025)), "{far:?}");
    let record = Record::read(std::fs::read_to_string(out.path().join("run/run.jsonl")).unwrap().lines()).unwrap();
    let ended = record.trials[0].ended.as_ref().unwrap();
    let clocks: Vec<_> = ended.workers.iter().filter_map(|one| one.clock).collect();
    assert!(clocks.iter().all(|one| one.offset_ns.unsigned_abs() <= one.uncertainty_ns), "{clocks:?}");
}

#[test]
fn genkai_is_sent_along_and_nothing_is_left() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(false), Counting::start());
    let (before, sent) = (nginx.requests(), sshd.sent());
    let made = trial(&mut load(&sshd, &format!("{} --users 4 -n 100 --on ssh:load1:2", nginx.url())));
    assert_eq!((made.finished, nginx.requests() - before - 1, made.workers.len()), (100, 100, 2));
    until("what was sent to be removed", LONGEST, || is_empty(&sent).then_some(()));
}

#[test]
fn machines_that_cannot_be_had_are_named_before_any_load() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(true), Counting::start());
    let before = nginx.requests();
    for (host, words) in [
        ("no-such-host.invalid", "its name is not known"),
        ("closed", "no ssh server listens there"),
        ("stranger", "lets nobody in"),
        ("unknown", "host key"),
        ("changed", "its host key is not the one that was known"),
        ("shell-less", "its user has no shell: This account is currently not available."),
    ] {
        let output = show(&mut load(&sshd, &format!("{} --users 4 -n 100 --on ssh:load1,{host}", nginx.url())));
        assert_eq!(output.code, Some(3), "{host}: {}", output.story());
        let story = output.story();
        assert!(story.contains(&format!("no load was sent: {host}: ")) && story.contains(words), "{host}: {story}");
        assert!(story.contains("hint: "), "{host}: {story}");
    }
    let all = show(&mut load(&sshd, &format!("{} --users 4 -n 9 --on ssh:closed,stranger", nginx.url()))).story();
    assert!(all.contains("closed: ") && all.contains("and stranger: "), "each has its reason: {all}");
    let none = show(genkai(&format!("load {} --on ssh:load1", nginx.url())).args(["--ssh", "/no/such/ssh"]));
    assert!(none.code == Some(3) && none.story().contains("/no/such/ssh"), "{}", none.story());
    assert_eq!(nginx.requests() - before, 1, "only the looks at the count");
}

#[test]
fn a_machine_that_does_not_take_genkai_says_why() {
    let _machine = machine();
    let nginx = Counting::start();
    let before = nginx.requests();
    let other = "#!/bin/sh\nprintf 'Linux \\033[31maarch64\\n'\n";
    for (sessions, words) in [
        (
            Sessions { programs: &[("uname", other)], ..Sessions::default() },
            "it is Linux \u{fffd}[31maarch64, and this",
        ),
        (Sessions { mount: Some("noexec"), ..Sessions::default() }, "genkai may not be run there"),
        (Sessions { mount: Some("size=1m"), ..Sessions::default() }, "it has no space for genkai"),
        (Sessions { mount: Some("ro"), ..Sessions::default() }, "genkai cannot be put there"),
        (Sessions { config: "ForceCommand echo closed for today", ..Sessions::default() }, "load1: closed for today"),
    ] {
        let sshd = Sshd::with(&sessions);
        let output = show(&mut load(&sshd, &format!("{} --users 4 -n 100 --on ssh:load1", nginx.url())));
        let story = output.story();
        assert_eq!(output.code, Some(3), "{words}: {story}");
        assert!(story.contains(words) && story.contains("hint: "), "{words}: {story}");
        assert!(!story.contains('\u{1b}'), "{words}: {story}");
        until("nothing to be left", LONGEST, || is_empty(&sshd.sent()).then_some(()));
    }
    assert_eq!(nginx.requests() - before, 1, "only the look at the count");
}

/// What counts in another layout cannot be added up.
#[test]
fn a_machine_whose_genkai_counts_otherwise_is_refused() {
    let _machine = machine();
    let nginx = Counting::start();
    let before = nginx.requests();
    let own = std::fs::metadata(env!("CARGO_BIN_EXE_genkai")).unwrap();
    // It passes for the same program.
    let stat = format!("#!/bin/sh\necho '{} {}'\n", own.len(), own.mtime());
    let other =
        "#!/bin/sh\necho '{\"said\":\"hello\",\"version\":\"0.1.0\",\"layout\":\"two digits\"}'\nexec cat >/dev/null\n";
    let programs: &[(&str, &str)] = &[("stat", &stat), ("genkai", other)];
    let sshd = Sshd::with(&Sessions { programs, ..Sessions::default() });
    let output = show(&mut load(&sshd, &format!("{} --users 4 -n 100 --on ssh:load1", nginx.url())));
    let story = output.story();
    assert_eq!(output.code, Some(3), "{story}");
    assert!(
        story.contains("load1: the genkai there is 0.1.0 (two digits), this one is") && story.contains("hint: "),
        "{story}"
    );
    assert_eq!(nginx.requests() - before, 1, "only the look at the count");
}

#[test]
fn odd_folders_and_login_scripts_are_no_matter() {
    let _machine = machine();
    let nginx = Counting::start();
    let chatty = "ForceCommand printf 'Welcome!\\nYou have mail. '; eval \"$SSH_ORIGINAL_COMMAND\"";
    let sshd = Sshd::with(&Sessions { folder: "it's a $folder", config: chatty, ..Sessions::default() });
    let made = trial(&mut load(&sshd, &format!("{} --users 4 -n 100 --on ssh:load1:2", nginx.url())));
    assert_eq!((made.finished, made.workers.len()), (100, 2));
    until("what was sent to be removed", LONGEST, || is_empty(&sshd.sent()).then_some(()));
}

/// An ssh that waits for a silent host would be given up after 10 s, a worker that says nothing after 30 s: exit code 3, both.
#[test]
fn an_interrupt_while_machines_are_connected_ends_at_once() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(true), Counting::start());
    let before = nginx.requests();
    for (ssh, host, waits_in) in [(sshd.ssh(), "silent", "ssh"), (sshd.stalling(), "load1", "sleep")] {
        let out = tempfile::tempdir().unwrap();
        let mut command = genkai(&format!("load {} --users 4 -d 60s --on ssh:{host}", nginx.url()));
        command.arg("--ssh").arg(ssh).arg("--out").arg(out.path().join("run"));
        let load = Guard(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let pid = load.0.id();
        let program = |pid: &u32| std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let waits = || descendants(pid).into_iter().find(|pid| program(pid).trim() == waits_in);
        until("it to wait for the machine", LONGEST, waits);
        let all = descendants(pid);
        signal(pid, "INT");
        let (code, out, err) = ended(load);
        assert_eq!(code, Some(130), "{host}: {out} {err}");
        all_gone(&all);
    }
    assert_eq!(nginx.requests() - before, 1, "only the look at the count");
}

/// Of sessions in which a process may open 120 descriptors.
fn narrow() -> Sshd {
    let config = "ForceCommand ulimit -n 120; eval \"$SSH_ORIGINAL_COMMAND\"";
    Sshd::with(&Sessions { has: true, config, ..Sessions::default() })
}

#[test]
fn a_load_that_does_not_fit_a_machine_is_refused_with_the_largest_that_does() {
    let _machine = machine();
    let (sshd, nginx) = (narrow(), Counting::start());
    let before = nginx.requests();
    let with = |users: u64| {
        load(&sshd, &format!("{} --users {users} -n 2000 --threads 2 --on ssh:load1,load2:2", nginx.url()))
    };
    let refused = show(&mut with(800));
    let story = refused.story();
    // Each process needs 64 for itself and 8 for each of its threads.
    let each = 120 - 64 - 2 * 8;
    let largest = format!("the load needs 800 connections, but only {} fit: ", 4 * each);
    assert!(refused.code == Some(3) && story.contains(&largest), "{story}");
    for host in ["load1", "load2"] {
        let part = format!("{host} makes 400 of them and can make {}: each of 2 processes may open 120", 2 * each);
        assert!(story.contains(&part), "{host}: {story}");
    }
    assert_eq!(show(&mut with(4 * each + 1)).code, Some(3));
    assert_eq!(nginx.requests() - before, 1, "only the look at the count");
    assert_eq!(trial(&mut with(4 * each)).finished, 2000);
}

#[test]
fn doctor_says_what_each_machine_holds() {
    let _machine = machine();
    let sshd = narrow();
    let doctor = |words: &str| {
        let mut command = genkai(&format!("doctor --on here:2 --on ssh:load1 {words}"));
        command.arg("--ssh").arg(sshd.ssh());
        show(&mut command)
    };
    let output = doctor("--json --connections 120");
    let checkup: PlacesCheckup = serde_json::from_str(&output.stdout).unwrap();
    let seen: Vec<_> =
        checkup.places.iter().map(|one| (one.place.as_str(), one.processes, one.part, one.good)).collect();
    assert_eq!(seen, [("here", 2, Some(80), true), ("load1", 1, Some(40), true)]);
    let far = &checkup.places[1];
    assert_eq!((far.machine.descriptors_hard, far.holds.all), (120, 120 - 72));
    assert!(output.code == Some(0) && checkup.good && checkup.holds == 3 * (120 - 72), "{}", output.story());
    let output = doctor("--connections 3000");
    assert!(output.code == Some(3) && output.story().contains("do not fit"), "{}", output.story());
}

#[test]
fn systems_are_compared_and_tuned_by_the_load_of_several_machines() {
    let _machine = machine();
    let sshd = Sshd::start(true);
    let on = "--on ssh:load1:2 --on here --quick";
    let (one, other) = (Counting::start(), Counting::start());
    for words in [
        format!("compare {} {} --users 6 --hold 300ms --blocks 2 --no-control", one.url(), other.url()),
        "tune nginx --users 20 --spawn-rate 40 --hold 1s".to_owned(),
    ] {
        let out = tempfile::tempdir().unwrap();
        let mut command = genkai(&format!("{words} {on}"));
        let shown = show(command.arg("--ssh").arg(sshd.ssh()).arg("--out").arg(out.path().join("run")));
        assert!(matches!(shown.code, Some(0 | 1)), "{words}: {:?} {}", shown.code, shown.story());
        let record = std::fs::read_to_string(out.path().join("run/run.jsonl")).unwrap();
        let events = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let ended: Vec<_> = events.filter(|event| event["event"] == "trial_ended").collect();
        assert!(!ended.is_empty(), "{words}");
        for trial in ended {
            let workers = trial["workers"].as_array().unwrap();
            let places: Vec<_> = workers.iter().map(|one| one["place"].as_str().unwrap()).collect();
            assert_eq!(places, ["load1", "load1", "here"], "{words}");
            assert!(workers.iter().all(|one| one["ended"].is_object()), "{words}: {trial}");
        }
    }
}

/// A load through ssh that would last long, once its workers make it; and those.
fn long(sshd: &Sshd, nginx: &Counting) -> (Guard, Vec<u32>) {
    let mut command = load(sshd, &format!("{} --users 20 -d 60s --on ssh:load1:2 --on here --json", nginx.url()));
    let load = Guard(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let before = nginx.requests();
    until("far more requests than are made to look", LONGEST, || (nginx.requests() > before + 5_000).then_some(()));
    let workers = all_workers(sshd);
    assert_eq!(workers.len(), 3, "{workers:?}");
    (load, workers)
}

/// Worker processes of the loads of this test, here and in the server's sessions, whose files are in its folder.
fn all_workers(sshd: &Sshd) -> Vec<u32> {
    let sent = sshd.sent().display().to_string();
    let marks = [format!("{OF}={sent}"), format!("TMPDIR={sent}")];
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid: u32, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let ours = |pid: u32| read(pid, "environ").split('\0').any(|one| marks.iter().any(|mark| mark == one));
    pids.filter(|pid| read(*pid, "cmdline").ends_with("/genkai\0worker\0") && ours(*pid)).collect()
}

fn ended(mut guard: Guard) -> (Option<i32>, String, String) {
    let (mut out, mut err) = (String::new(), String::new());
    guard.0.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    guard.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (wait(&mut guard.0, LONGEST).code(), out, err)
}

/// A lost worker ends the load within this time.
const ENDED: Duration = Duration::from_secs(3);

/// How long it took until a server was asked for nothing more: three looks, in each of which it saw nobody but whoever looks.
fn quiet(nginx: &Counting) -> Duration {
    let (began, mut last, mut before) = (Instant::now(), Duration::ZERO, nginx.requests());
    while began.elapsed() - last < Duration::from_millis(900) {
        std::thread::sleep(Duration::from_millis(300));
        let now = nginx.requests();
        if now > before + 1 {
            last = began.elapsed();
            assert!(last < LONGEST, "the load goes on");
        }
        before = now;
    }
    last
}

#[test]
fn a_worker_that_is_lost_ends_the_load_as_invalid() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(true), Counting::start());
    let (load, workers) = long(&sshd, &nginx);
    let own = descendants(load.0.id());
    let far = workers.iter().find(|pid| !own.contains(pid)).unwrap();
    signal(*far, "KILL");
    let took = quiet(&nginx);
    assert!(took <= ENDED, "{took:?}");
    let (code, out, err) = ended(load);
    assert_eq!(code, Some(4), "{err}");
    assert!(err.contains("of 3 on load1 was lost"), "{err}");
    let verdict: Verdict = serde_json::from_str(&out).unwrap();
    let kept = &verdict.trials[0];
    assert!(kept.finished > 0 && kept.lasted < 50.0, "what was measured is kept: {kept:?}");
    assert_eq!(kept.workers.iter().filter(|one| one.began.is_none()).count(), 1, "{:?}", kept.workers);
    all_gone(&workers);
}

#[test]
fn the_end_of_genkai_is_the_end_of_all_its_workers() {
    let _machine = machine();
    let (sshd, nginx) = (Sshd::start(false), Counting::start());
    for (name, code) in [("INT", Some(130)), ("KILL", None)] {
        let (mut load, workers) = long(&sshd, &nginx);
        signal(load.0.id(), name);
        if code.is_some() {
            assert_eq!(ended(load).0, code);
        } else {
            wait(&mut load.0, LONGEST);
        }
        until("workers to end and what was sent to be removed", PROMISED, || {
            (is_empty(&sshd.sent()) && all_workers(&sshd).is_empty()).then_some(())
        });
        all_gone(&workers);
    }
}

#[test]
fn machines_whose_clocks_differ_begin_together() {
    let _machine = machine();
    let Some(lan) = Lan::start() else { return };
    let _nginx = lan.nginx();
    let out = lan.path().join("out");
    let words = "load http://10.97.0.1/ --allow-remote 10.97.0.1 --rate 400 --connections 40 -n 1200 -d 60s \
                 --on ssh:m1,m2,m3,m4 --json";
    let shown = show(&mut lan.genkai(words, &out));
    let made = shown.faultless();
    // Each planned instant once: as many requests as were planned, a quarter from each machine.
    let who = std::fs::read_to_string(lan.path().join("who")).unwrap();
    assert_eq!((made.finished, who.lines().count()), (1200, 1200), "{}", shown.story());
    for n in 1..=4 {
        let from = who.lines().filter(|line| line.starts_with(&format!("10.97.{n}.2 "))).count();
        assert_eq!(from, 300, "machine {n}");
    }
    let record = std::fs::read_to_string(out.join("run.jsonl")).unwrap();
    let ended: serde_json::Value = record
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .find(|line: &serde_json::Value| line["event"] == "trial_ended")
        .unwrap();
    for (n, shift) in SHIFTS.into_iter().enumerate() {
        let clock = &ended["workers"][n]["clock"];
        let (offset, within) = (clock["offset_ns"].as_i64().unwrap(), clock["uncertainty_ns"].as_u64().unwrap());
        // The namespace's clock is ahead by exactly so much.
        assert!(offset.abs_diff(i64::from(shift) * 1_000_000_000) <= within, "machine {}: {clock}", n + 1);
    }
    // What each of them has for itself is another server on each.
    for words in ["load http://127.0.0.1:80/ --users 4 -d 2s", "tune nginx --users 4"] {
        let shown = show(lan.genkai(words, &out).args(["--on", "ssh:m1"]));
        let refusal = "--on m1: 127.0.0.1:80 leads to another server there than here";
        assert!(shown.code == Some(2) && shown.story().contains(refusal), "{words}: {}", shown.story());
    }
    // A server that genkai starts is reached where it is told to listen.
    let words = "tune nginx --listen 10.97.0.1 --users 20 --spawn-rate 40 --hold 1s --quick --on ssh:m1,m2";
    let tuned = lan.path().join("tuned");
    let shown = show(&mut lan.genkai(words, &tuned));
    assert!(matches!(shown.code, Some(0 | 1)), "{}", shown.story());
    let record = std::fs::read_to_string(tuned.join("run.jsonl")).unwrap();
    let all = record.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let ended: Vec<_> = all.filter(|line| line["event"] == "trial_ended").collect();
    assert!(!ended.is_empty());
    for trial in ended {
        let made = [0, 1].map(|n| trial["workers"][n]["place"].as_str());
        assert_eq!(made, [Some("m1"), Some("m2")], "{trial}");
    }
    // Members of chat rooms on other machines come to a router that they reach; without one, they are refused.
    let rooms = "experiment run rooms --rooms 4 --members 5 --messages 8 --enter-every 50ms --message-every 250ms --on ssh:m1,m2,m3";
    let out = lan.path().join("rooms");
    let shown = show(lan.genkai(rooms, &out).args(["--router", "haproxy", "--listen", "10.97.0.1"]));
    let verdict =
        std::fs::read_to_string(out.join("verdict.json")).unwrap_or_else(|e| panic!("{e}: {}", shown.story()));
    let finding: RoomsFinding = serde_json::from_str(&verdict).unwrap();
    let one = &finding.runs[0];
    assert_eq!((one.score, one.entered, one.lost, one.foreign), (160, 20, 0, 0), "{}", shown.story());
    let record = Record::read(std::fs::read_to_string(out.join("run.jsonl")).unwrap().lines()).unwrap();
    let made: Vec<_> =
        record.trials[0].ended.iter().flat_map(|ended| &ended.workers).map(|one| one.place.as_str()).collect();
    assert_eq!(made, ["m1", "m2", "m3"]);
    let shown = show(&mut lan.genkai(rooms, &lan.path().join("refused")));
    assert!(
        shown.code == Some(2) && shown.story().contains(": 127.0.0.1:80 leads to another server"),
        "{}",
        shown.story()
    );
    let mut command = lan.inside(env!("CARGO_BIN_EXE_genkai"));
    let refused = show(command.args("tune nginx --listen 10.97.0.9 --users 4".split_whitespace()));
    assert!(refused.code == Some(2) && refused.story().contains("nothing can listen there"), "{}", refused.story());
}
