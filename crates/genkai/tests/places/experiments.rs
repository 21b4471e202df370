//! Experiments whose load other machines make: each in a network namespace of its own with a clock of its own, reached through ssh.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use genkai_model::cache::{Aim, Warmth};
use genkai_model::event::WorkerUse;
use genkai_model::finding::cache::CacheFinding;
use genkai_model::finding::latencies::{LatencyCaveat, LatencyFinding};
use genkai_model::finding::{ClientLimit, Verdict};
use genkai_model::latencies::{Case, Round};
use genkai_model::record::Record;
use genkai_model::suite::SuiteFinding;

use crate::harness::lan::Lan;
use crate::harness::loads::show;
use crate::harness::servers::{Guard, serve};
use crate::harness::ssh::{Sessions, Sshd};
use crate::harness::{all_gone, checked, descendants, genkai, machine, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(90);

/// A few objects: what is tested is who asked for what.
const CACHES: &str = "experiment run reverse-proxy-cache --contenders origin,haproxy --objects 40 --requests 31 --clients 7 --rounds 2 --no-search";

fn record(dir: &Path) -> Record {
    Record::read(std::fs::read_to_string(dir.join("run.jsonl")).unwrap().lines()).unwrap()
}

/// Who made each load of a record.
fn makers(record: &Record) -> Vec<Vec<String>> {
    let made = |trial: &genkai_model::record::Trial| {
        let workers = &trial.ended.as_ref().unwrap().workers;
        assert!(workers.iter().all(|one| one.ended.is_some() && one.clock.is_some()), "{workers:?}");
        workers.iter().map(|one| one.place.clone()).collect()
    };
    record.trials.iter().map(made).collect()
}

#[test]
fn caches_are_asked_by_several_machines_for_each_object_once() {
    let _machine = machine();
    let Some(lan) = Lan::start() else { return };
    let _nginx = lan.nginx();
    let out = lan.path().join("caches");
    let shown = show(&mut lan.genkai(&format!("{CACHES} --listen 10.97.0.1 --on ssh:m1,m2,m3"), &out));
    assert_eq!(shown.code, Some(0), "{}", shown.story());
    let record = record(&out);
    let all = makers(&record);
    assert!(all.len() == 2 * 2 * 2 && all.iter().all(|made| *made == ["m1", "m2", "m3"]), "{all:?}");
    // One that is empty has each object from the origin, once: an object that was asked for twice would be a hit.
    let passes = record.trials.iter().filter_map(|trial| trial.pass.as_ref());
    let cold: Vec<_> =
        passes.filter(|pass| pass.warmth == Warmth::Cold && matches!(pass.aim, Aim::Pass { .. })).collect();
    assert!(cold.len() == 4 && cold.iter().all(|pass| pass.origin == 31), "{cold:?}");
    let finding: CacheFinding =
        serde_json::from_str(&std::fs::read_to_string(out.join("verdict.json")).unwrap()).unwrap();
    let told: Vec<(&str, u32, bool)> = finding
        .processes
        .iter()
        .map(|one| (one.worst.place.as_str(), one.loads, one.worst.clock_uncertainty.is_some()))
        .collect();
    assert_eq!(told, [("m1", 8, true), ("m2", 8, true), ("m3", 8, true)]);
    assert!(shown.story().contains("in each load all processes that ended it had begun at most "), "{}", shown.story());
    for pass in &finding.passes {
        assert!(pass.standings.iter().all(|one| one.requests == 2 * 31), "{pass:?}");
    }
    // They do not reach what listens at 127.0.0.1.
    let shown = show(&mut lan.genkai(&format!("{CACHES} --on ssh:m1"), &lan.path().join("refused")));
    let refusal = "--on m1: 127.0.0.1:80 leads to another server there than here";
    assert!(shown.code == Some(2) && shown.story().contains(refusal), "{}", shown.story());
}

#[test]
fn parts_of_the_apache_experiment_are_loaded_by_several_machines() {
    let _machine = machine();
    let Some(lan) = Lan::start() else { return };
    let _nginx = lan.nginx();
    let out = lan.path().join("apache");
    let words = "experiment run apache-websocket --part baseline --part refused --part fan-out --listen 10.97.0.1 --on ssh:m1,m2";
    let shown = show(lan.genkai(words, &out).arg("--json"));
    let finding: SuiteFinding =
        serde_json::from_str(&shown.stdout).unwrap_or_else(|e| panic!("{e}: {}", shown.story()));
    // Whether the processor was saturated cannot be told where others use it, too (exit code 4); the other parts count who gets in.
    assert!(matches!(shown.code, Some(0 | 1 | 4)), "{:?} {}", shown.code, shown.stderr);
    let named: Vec<_> = finding.parts.iter().map(|part| (part.name.as_str(), part.named)).collect();
    assert!(
        named.len() == 3 && named[0] == ("baseline", true) && named[2] == ("refused", true),
        "{named:?} {}",
        shown.stderr
    );
    for part in ["baseline", "refused", "fan-out"] {
        let all = makers(&record(&out.join(part)));
        assert!(!all.is_empty() && all.iter().all(|made| *made == ["m1", "m2"]), "{part}: {all:?}");
    }
    // In the joined report they are told over the loads of all parts.
    let loads: usize =
        ["baseline", "refused", "fan-out"].map(|part| makers(&record(&out.join(part))).len()).iter().sum();
    let told: Vec<_> = finding.processes.iter().map(|one| (one.worst.place.as_str(), one.loads as usize)).collect();
    assert_eq!(told, [("m1", loads), ("m2", loads)]);
    assert!(
        finding.processes.iter().all(|one| one.worst.clock_uncertainty.is_some() && one.worst.began.is_some()),
        "{finding:?}"
    );
    let again = show(genkai("report").arg(&out).arg("--json"));
    assert_eq!(serde_json::from_str::<SuiteFinding>(&again.stdout).unwrap().processes, finding.processes);
    assert!(show(genkai("report").arg(&out)).stdout.contains("process 2 on m2: "), "{}", again.story());
    // Members of both machines heard each other.
    let heard = record(&out.join("fan-out"));
    let heard =
        heard.trials[0].ticks.iter().filter_map(|tick| tick.deliveries.as_ref()).map(|one| one.count).sum::<u64>();
    assert!(heard > 10_000, "{heard}");
    let words = "experiment run apache-websocket --part baseline --on ssh:m1";
    let shown = show(&mut lan.genkai(words, &lan.path().join("refused")));
    let refusal = "--on m1: 127.0.0.1:80 leads to another server there than here";
    assert!(shown.code == Some(2) && shown.story().contains(refusal), "{}", shown.story());
}

/// How far apart the processes of a load may begin.
const SKEW: Duration = Duration::from_millis(5);

/// A machine that is busy starts threads late, which is told, too: so of a few loads the best is judged.
#[test]
fn machines_whose_clocks_differ_by_seconds_begin_within_5_ms_and_say_so() {
    let _machine = machine();
    let Some(lan) = Lan::start() else { return };
    let _nginx = lan.nginx();
    let mut worst = Vec::new();
    for n in 0..5 {
        let out = lan.path().join(format!("skew-{n}"));
        let words = "load http://10.97.0.1/ --allow-remote 10.97.0.1 --rate 400 --connections 32 -n 400 -d 60s --on ssh:m1,m2,m3,m4:4";
        let shown = show(&mut lan.genkai(words, &out));
        // Whoever sends late on a busy machine is told of (exit code 4); when they began is known all the same.
        assert!(matches!(shown.code, Some(0 | 4)), "{}", shown.story());
        assert!(shown.story().contains("all processes had begun at most "), "{}", shown.story());
        let record = record(&out);
        let workers = &record.trials[0].ended.as_ref().unwrap().workers;
        let late = |one: &WorkerUse| one.ended.as_ref().unwrap().began_ns + one.clock.unwrap().uncertainty_ns;
        let mut all: Vec<u64> = workers.iter().map(late).collect();
        all.sort_unstable();
        // Of sixteen the 99th percentile is the largest.
        worst.push(Duration::from_nanos(*all.last().unwrap()));
        if all.len() == 16 && worst.last() <= Some(&SKEW) {
            return;
        }
    }
    panic!("{worst:?}");
}

fn is_worker(pid: &u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().ends_with("\0worker\0")
}

/// One process of two is let run a quarter of the time: the load says nothing of the server, and that process is named, not the other.
#[test]
fn a_worker_that_is_kept_from_running_makes_the_load_invalid_and_is_named() {
    let _machine = machine();
    let own = Path::new(env!("CARGO_BIN_EXE_genkai"));
    let known = std::fs::metadata(own).unwrap();
    // It passes for the same program, and is.
    let stat = format!("#!/bin/sh\necho '{} {}'\n", known.len(), known.mtime());
    let hindered = format!(
        "#!/bin/sh\nme=$$\n(while kill -STOP $me; do sleep 0.15; kill -CONT $me; sleep 0.05; done) </dev/null >/dev/null 2>&1 &\n\
         exec {} \"$@\"\n",
        own.display()
    );
    let programs: &[(&str, &str)] = &[("stat", &stat), ("genkai", &hindered)];
    let sshd = Sshd::with(&Sessions { programs, ..Sessions::default() });
    let (_origin, address) = serve("origin --listen 127.0.0.1:0");
    let words = format!("load http://{address}/ --rate 200 --connections 20 -d 3s --on ssh:load1 --on here --json");
    let shown = show(genkai(&words).arg("--ssh").arg(sshd.ssh()));
    assert_eq!(shown.code, Some(4), "{}", shown.story());
    let verdict: Verdict = serde_json::from_str(&shown.stdout).unwrap();
    let one = &verdict.trials[0];
    let named: Vec<u16> = one
        .client
        .reasons
        .iter()
        .filter_map(|reason| if let ClientLimit::Worker { worker, .. } = reason { Some(*worker) } else { None })
        .collect();
    assert_eq!(named, [1], "{:?}", one.client);
    assert_eq!(one.workers[0].place, "load1");
    assert!(
        one.workers[0].late_p99 > Some(0.03) && one.workers[0].late_p99 > one.workers[1].late_p99,
        "{:?}",
        one.workers
    );
}

/// A worker is killed while caches are measured: the run ends, and says so.
#[test]
fn a_worker_that_is_lost_ends_a_comparison_of_caches() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let words = "experiment run reverse-proxy-cache --contenders origin --no-search --objects 200 --requests 200 --rate 10 --clients 4 \
                 --rounds 2 --processes 2";
    let mut command = genkai(words);
    let mut run = Guard(command.arg("--out").arg(&out).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    let asks = || std::fs::read_to_string(out.join("run.jsonl")).unwrap_or_default().contains("\"ok\":1");
    let far = until("requests to be made", LONGEST, || {
        descendants(run.0.id()).into_iter().find(is_worker).filter(|_| asks())
    });
    let all = descendants(run.0.id());
    signal(far, "KILL");
    let mut err = String::new();
    run.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(wait(&mut run.0, LONGEST).code(), Some(4), "{err}");
    assert!(err.contains(" of 2 was lost"), "{err}");
    let kept = record(&out);
    assert!(kept.trials.iter().any(|trial| trial.ticks.iter().any(|tick| tick.ok > 0)), "what was measured is kept");
    checked::folder(&out);
    all_gone(&all);
}

/// A few clients and rounds: what is tested is whose clocks the delays are told by.
const SERVERS: &str =
    "experiment run websocket-servers --servers embedded,node-ws --clients 13 --warm-up 1 --sizes 16k,300k";

/// Clocks differ by two seconds: a delay that was not corrected would be that long, or none.
#[test]
fn servers_are_compared_by_clients_whose_clocks_differ_by_seconds() {
    let _machine = machine();
    let Some(lan) = Lan::start() else { return };
    let _nginx = lan.nginx();
    let out = lan.path().join("servers");
    let shown =
        show(&mut lan.genkai(&format!("{SERVERS} --rounds 3 --listen 10.97.0.1 --on ssh:m1,m2 --on here"), &out));
    assert_eq!(shown.code, Some(0), "{}", shown.story());
    let record = record(&out);
    let rounds: Vec<&Round> = record.trials[0].rounds.iter().map(|(_, round)| round).collect();
    assert!(rounds.len() > 2 * 6 * 4, "{}", rounds.len());
    for round in &rounds {
        let places: Vec<(&str, u32)> = round.workers.iter().map(|one| (one.place.as_str(), one.clients)).collect();
        assert_eq!(places, [("m1", 5), ("m2", 4), ("here", 4)]);
        for (one, shift) in round.workers.iter().zip([Some(2), Some(-2), None]) {
            let off = one.clock.zip(shift).map(|(clock, shift)| (clock.offset_ns - shift * 1_000_000_000).abs());
            assert!(off.is_none_or(|off| off < 500_000_000) && one.clock.is_some() == shift.is_some(), "{one:?}");
        }
        // A message that a server does not take is no delay.
        if !matches!(round.case, Case::Take { .. }) {
            let due = if matches!(round.case, Case::Give { .. }) { 1 } else { 13 };
            assert_eq!((round.due, round.missing), (due, 0), "{round:?}");
            assert!(round.figure_ns.is_some_and(|ns| ns > 0 && ns < 1_000_000_000), "{round:?}");
        }
        let all = round.delays.decode().unwrap();
        assert!(round.case != Case::Receive || all.len() == 13, "{round:?}");
    }
    let finding: LatencyFinding =
        serde_json::from_str(&std::fs::read_to_string(out.join("verdict.json")).unwrap()).unwrap();
    for case in &finding.cases {
        assert!(case.standings.iter().all(|one| one.clock_uncertainty.is_some_and(|within| within > 0.0)), "{case:?}");
        let told =
            |caveat: &LatencyCaveat| matches!(caveat, LatencyCaveat::Clocks { case: of, .. } if *of == case.case);
        assert!(finding.caveats.iter().any(told), "{:?}", finding.caveats);
    }
    assert!(
        shown.story().contains("may be wrong by up to ") && shown.story().contains("1 on m1: 5 clients"),
        "{}",
        shown.story()
    );
    // They do not reach what listens at 127.0.0.1.
    let shown = show(&mut lan.genkai(&format!("{SERVERS} --on ssh:m1"), &lan.path().join("refused")));
    let refusal = "--on m1: 127.0.0.1:80 leads to another server there than here";
    assert!(shown.code == Some(2) && shown.story().contains(refusal), "{}", shown.story());
}

/// A process with clients is killed while servers are compared: the run ends, says so and keeps what was measured.
#[test]
fn clients_that_are_lost_end_a_comparison_of_servers() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let mut command = genkai(&format!("{SERVERS} --processes 2 --rounds 500"));
    let mut run = Guard(command.arg("--out").arg(&out).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    let asked = || std::fs::read_to_string(out.join("run.jsonl")).unwrap_or_default().contains("\"case\":\"send\"");
    let far = until("rounds", LONGEST, || descendants(run.0.id()).into_iter().find(is_worker).filter(|_| asked()));
    let (all, killed) = (descendants(run.0.id()), Instant::now());
    signal(far, "KILL");
    let mut err = String::new();
    run.0.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(wait(&mut run.0, LONGEST).code(), Some(4), "{err}");
    assert!(err.contains(" of 2 was lost"), "{err}");
    // Servers are stopped besides.
    assert!(killed.elapsed() < Duration::from_secs(20), "{:?}", killed.elapsed());
    let kept = record(&out);
    assert!(kept.trials[0].rounds.iter().any(|(_, round)| round.figure_ns.is_some()), "what was measured is kept");
    checked::folder(&out);
    all_gone(&all);
}

#[test]
fn caches_whose_clients_do_not_fit_are_refused_before_anything_starts() {
    let words = "experiment run reverse-proxy-cache --contenders origin --clients 300 --no-search --dry-run";
    let narrow = format!("ulimit -n 120; exec {} {words}", env!("CARGO_BIN_EXE_genkai"));
    let shown = show(std::process::Command::new("bash").args(["-c", &narrow]));
    assert!(shown.code == Some(3) && shown.story().contains("more --processes"), "{}", shown.story());
    let wider = format!("{narrow} --processes 8");
    assert_eq!(show(std::process::Command::new("bash").args(["-c", &wider])).code, Some(0));
}
