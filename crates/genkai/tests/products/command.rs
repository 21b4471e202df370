//! Servers that genkai does not know: which parameter of the command is the limit is told by trials alone.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use genkai_model::event::Purpose;
use genkai_model::finding::{Answer, Because, Confidence, Outcome, Rung};

use crate::harness;
use crate::harness::judged::told;
use crate::harness::{Run, finish, genkai, machine, run};

/// Where two requests of 50 ms are served at once, the objective holds up to 12 users; where four are, up to 24: beyond the headroom.
const USERS: &str = "--users 16 --spawn-rate 8 --hold 2s --quick --quiet";
const FAST: &str = "p99 < 300ms, errors < 1%";

fn app(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/command")).join(name)
}

/// `genkai tune command` with these flags before this command.
fn tune(flags: &str, words: &[&str]) -> Command {
    tuned((flags, FAST), words)
}

/// The same with another objective.
fn tuned((flags, objective): (&str, &str), words: &[&str]) -> Command {
    let mut command = genkai(&format!("tune command {flags}"));
    command.args(["--objective", objective, "--"]).args(words);
    command
}

/// Asserts that `limit` alone was found to be the limit, `vain` having been tried in vain, and what is proposed.
fn names(run: &Run, limit: &str, vain: &[&str], setting: &str) {
    let verdict = run.verdict();
    let of = |c| verdict.causes.iter().filter(move |cause| cause.confidence == c).map(|cause| cause.limit.id.clone());
    assert!(of(Confidence::Proved).count() > 0 && of(Confidence::Proved).all(|id| id == limit), "{}", run.story());
    assert!(of(Confidence::Refuted).all(|id| vain.contains(&id.as_str())), "{}", run.story());
    assert_eq!((run.code, verdict.must_change()), (Some(1), Answer::Yes), "{}", run.story());
    assert_eq!(verdict.because(), Because::ProvedAndHolds, "{}", run.story());
    let changed: Vec<&str> = verdict.proposal.iter().map(|proposed| proposed.change.setting.as_str()).collect();
    assert_eq!(changed, [setting], "{}", run.story());
}

#[test]
fn the_workers_of_a_node_cluster_are_named_and_proved() {
    let _machine = machine();
    let cluster = app("cluster.js");
    let words = ["node", cluster.to_str().unwrap(), "{port}", "{workers}", "{keep}"];
    let run = told(&tune(&format!("{USERS} --set workers=1:1..16 --set keep=60"), &words));
    names(&run, "command.workers", &["command.keep"], "workers");
    // More processes of Node.js are not for nothing.
    let price = run.verdict().proposal[0].measured.unwrap_or_else(|| panic!("no price: {}", run.story()));
    assert!(
        price.after.memory > price.before.memory * 1.2 && price.after.descriptors > price.before.descriptors,
        "{price:?}"
    );
    assert!(run.says().join(" ").contains("measured: with it "), "{}", run.story());
    // So does the ladder, of each rung what was seen.
    let ladder = run.verdict().ladder.unwrap_or_else(|| panic!("no ladder: {}", run.story()));
    for rung in &ladder.rungs {
        let Rung::Proved(rung) = rung else { panic!("{rung:?}") };
        let seen = rung.measured.unwrap_or_else(|| panic!("no memory: {rung:?}"));
        assert!(
            (rung.met.trial, rung.tested) == (seen.before.trial, seen.after.trial) && seen.before.memory > 0.0,
            "{rung:?}"
        );
    }
    assert!(run.verdict().proof.is_some_and(|proof| proof.baseline_fails && proof.proposal_holds), "{}", run.story());
}

#[test]
fn the_threads_of_a_java_server_are_named_after_its_backlog_was_tried_in_vain() {
    let _machine = machine();
    let pool = app("Pool.java");
    let words =
        ["java", "-Dsun.net.httpserver.nodelay=true", pool.to_str().unwrap(), "{port}", "{threads}", "{backlog}"];
    let run = told(&tune(&format!("{USERS} --pairs 0 --set backlog=200 --set threads=2"), &words));
    names(&run, "command.threads", &["command.backlog"], "threads");
    // Beside other programs that used most of the machine, what it did not move is no cause that is refuted.
    let tried = |id: &str| run.record().trials.iter().any(|trial| trial.started.limit.as_deref() == Some(id));
    assert!(tried("command.backlog"), "{}", run.story());
}

/// A thread of Puma serves ten requests of a connection that asks again at once before it turns to another, so that others wait for half a second each time.
#[test]
fn the_threads_of_a_ruby_server_are_named() {
    let _machine = machine();
    let rack = app("sync.ru");
    let bind = "tcp://{listen}?backlog={backlog}";
    let words = ["puma", "-e", "production", "-t", "{threads}:{threads}", "-b", bind, rack.to_str().unwrap()];
    let flags = "--users 16 --spawn-rate 4 --hold 4s --quick --quiet --pairs 0 --set backlog=512 --set threads=2:1..64";
    let run = told(&tuned((flags, "p99 < 1s, errors < 1%"), &words));
    names(&run, "command.threads", &["command.backlog"], "threads");
}

/// WEBrick gives a place to each connection, for as long as that is open: one more client than places is not served at all.
#[test]
fn the_clients_of_a_ruby_server_are_named_after_its_timeout_was_tried_in_vain() {
    let _machine = machine();
    let webrick = app("webrick.rb");
    let words = ["ruby", webrick.to_str().unwrap(), "{port}", "{clients}", "{timeout}"];
    let run = told(&tune(&format!("{USERS} --pairs 0 --set timeout=30 --set clients=8"), &words));
    names(&run, "command.clients", &["command.timeout"], "clients");
}

#[test]
fn a_server_that_listens_before_it_answers_is_waited_for() {
    let _machine = machine();
    let late = app("late.py");
    let words = ["python3", late.to_str().unwrap(), "{port}", "{slots}", "7"];
    let run = told(&tune(&format!("{USERS} --pairs 0 --set slots=2"), &words));
    names(&run, "command.slots", &[], "slots");
}

#[test]
fn a_word_in_a_template_is_named() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("pool.json");
    std::fs::write(&template, r#"{"port": {port}, "slots": {slots}, "order": "{order}"}"#).unwrap();
    let flags = format!("{USERS} --pairs 0 --set slots=8 --set order=strict|free --template {}", template.display());
    let pool = app("pool.py");
    let run = told(&tune(&flags, &["python3", pool.to_str().unwrap(), "{template}"]));
    names(&run, "command.order=free", &["command.slots"], "order");
    // To take away: the template with the values in it, and with what is another address each time.
    let proposal = run.out.join("proposal").join(template.strip_prefix("/").unwrap());
    let finished = std::fs::read_to_string(&proposal).unwrap_or_else(|e| panic!("{}: {e}", proposal.display()));
    assert_eq!(finished, r#"{"port": {port}, "slots": 8, "order": "free"}"#);
}

#[test]
fn values_with_which_it_does_not_start_are_told_and_the_search_goes_on() {
    let _machine = machine();
    let strict = app("strict.py");
    let words = ["python3", strict.to_str().unwrap(), "{port}", "{side}", "{cache}"];
    let run = told(&tune(&format!("{USERS} --pairs 0 --set cache=10 --set side=4"), &words));
    names(&run, "command.side", &[], "side");
    let report = finish(genkai("report").arg(&run.out), Duration::from_secs(60));
    let report = String::from_utf8_lossy(&report.stdout).into_owned();
    // Twice the cache and what lies between; twice the side, where what lies between does.
    for (value, said) in [("cache = 20", "cache: 20 does not fit"), ("side = 8", "side: 8 is more than 7")] {
        let sentence = format!("the server does not start with {value}: {said}");
        assert!(report.contains(&sentence), "{sentence}: {report}\n{}", run.story());
    }
    let record = run.record();
    let values = |name: &str| record.not_started.iter().filter(|(_, one)| one.setting == name).count();
    assert_eq!((values("cache"), values("side")), (4, 1), "{:?}", record.not_started);
    assert_eq!(run.verdict().proposal[0].change.to, "6", "{}", run.story());
}

#[test]
fn the_smallest_value_that_holds_is_measured_below_the_proposal() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("pool.json");
    std::fs::write(&template, r#"{"port": {port}, "slots": {slots}, "order": "free"}"#).unwrap();
    // At 600 ms two slots hold 24 users, three hold 36, four hold 48.
    let flags = "--users 28 --spawn-rate 14 --hold 2s --quick --quiet --pairs 0 --set slots=2";
    let pool = app("pool.py");
    let mut command = genkai(&format!("tune command {flags} --template {}", template.display()));
    command.args(["--objective", "p99 < 600ms, errors < 1%", "--", "python3", pool.to_str().unwrap(), "{template}"]);
    let run = told(&command);
    names(&run, "command.slots", &[], "slots");
    let verdict = run.verdict();
    assert_eq!(verdict.proposal[0].change.to, "4", "{}", run.story());
    let smaller = verdict.smaller.first().expect("a smaller value was tried");
    // A busy machine may keep three from holding: what is said must be what the trial saw.
    let tried: Vec<_> = verdict.trials.iter().filter(|trial| trial.purpose == Purpose::Smaller).collect();
    let [three] = tried[..] else { panic!("one value lies between: {}", run.story()) };
    assert_eq!(three.changes[0].to, "3", "{}", run.story());
    let (holds, fails) = if three.broke.is_none() { ("3", "2") } else { ("4", "3") };
    assert_eq!((smaller.holds.value.as_str(), smaller.fails.value.as_str()), (holds, fails), "{}", run.story());
    let said = run.says().join(" ");
    assert!(said.contains(&format!("slots = {holds} is the smallest value tried that held ")), "{said}");
    assert!(said.contains(&format!("; {fails} failed (trial ")), "{said}");
}

/// Neither parameter is read: what moves the break is when a trial begins, or chance.
#[test]
fn what_fails_at_times_or_by_chance_is_laid_to_no_parameter() {
    let _machine = machine();
    let fails = app("fails.py");
    for (how, sets) in [("times", "--set workers=4:1..64"), ("chance", "--set workers=4:1..64 --set depth=2:1..100")] {
        let flags = "--users 16 --spawn-rate 2 --hold 2s --quick --quiet";
        let depth = if how == "chance" { "{depth}" } else { "2" };
        let mut command = genkai(&format!("tune command {sets} {flags}"));
        command.args(["--objective", "errors < 0.1%", "--", "python3"]).arg(&fails);
        let run = run(command.args(["{port}", how, "{workers}", depth]));
        let verdict = run.verdict();
        assert_ne!(verdict.must_change(), Answer::Yes, "{how}: {}", run.story());
        assert!(verdict.causes.iter().all(|one| one.confidence != Confidence::Proved), "{how}: {}", run.story());
        assert_eq!(
            verdict.trials[0].broke.as_ref().map(|broke| broke.condition.as_str()),
            Some("errors < 0.1%"),
            "{how}"
        );
        let said = run.says().join(" ");
        assert!(!said.contains("The cause is confirmed"), "{how}: {said}");
    }
}

#[test]
fn a_value_that_starts_in_the_search_but_not_in_the_proof_is_told_and_proves_nothing() {
    let _machine = machine();
    let cluster = app("cluster.js");
    let tried = || {
        let dir = tempfile::tempdir().unwrap();
        let starts = dir.path().join("starts");
        // With more than one worker it starts once.
        let script = format!(
            "if test $2 -gt 1; then echo >> {0}; test $(wc -l < {0}) -le 1 || {{ echo no place for $2 workers; exit 5; }}; fi; exec node \"$0\" \"$@\"",
            starts.display()
        );
        let words = ["sh", "-c", &script, cluster.to_str().unwrap(), "{port}", "{workers}", "60"];
        harness::run(&tune(&format!("{USERS} --set workers=1:1..16"), &words))
    };
    let judged =
        |run: &Run| run.out.join("verdict.json").exists() && run.verdict().because() == Because::ProposalNotStarted;
    let run = (0..3).map(|_| tried()).find(judged).expect("the proof ends so");
    assert_eq!((run.code, run.verdict().must_change()), (Some(1), Answer::CannotTell), "{}", run.story());
    let record = run.record();
    assert_eq!(record.not_started.len(), 1, "{:?}", record.not_started);
    let (_, one) = &record.not_started[0];
    assert!(
        one.purpose == Purpose::Proposal && one.setting == "workers" && one.said.starts_with("no place for "),
        "{one:?}"
    );
    assert!(record.end.is_some(), "the record is whole");
    assert!(run.says()[0].contains("in the proof the server did not start with it"), "{}", run.story());
}

/// A secret as people have it, and its SHA-256.
const SECRET: (&str, &str) = ("hun=ter|2x9", "3d51538590d7d49c181373e46ee5ca652da27f3eae8467c0bfd862a25d6316ff");

/// A secret that stands in the command itself, behind a flag that says so.
const WORD: &str = "kept-from-all";

/// Whether a text has one of the secrets.
fn has_secret(text: &str) -> bool {
    text.contains(SECRET.0) || text.contains(WORD)
}

#[test]
fn a_secret_reaches_the_server_and_nothing_that_is_written() {
    let _machine = machine();
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("guarded.json");
    std::fs::write(&template, r#"{"slots": {slots}, "token": "{api_token}"}"#).unwrap();
    let guarded = app("guarded.py");
    let words =
        ["python3", guarded.to_str().unwrap(), "{port}", "{template}", "{api_token}", SECRET.1, "--signing-key", WORD];
    let flags = format!("--set slots=2 --set api_token={} --template {}", SECRET.0, template.display());
    let run = told(&tune(&format!("{USERS} --pairs 0 {flags}").replace("--quiet", ""), &words));
    names(&run, "command.slots", &[], "slots");
    assert!(!has_secret(&run.stdout) && !has_secret(&run.stderr), "{}", run.story());
    assert!(run.stdout.contains("api_token: taken for secret by name"), "{}", run.story());
    let mut files = 0;
    for entry in std::fs::read_dir(&run.out).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).into_owned();
        assert!(!has_secret(&text), "{}", entry.path().display());
        files += 1;
    }
    assert!(files >= 3, "record, verdict and page");
    let record = run.record();
    assert!(record.trials.iter().any(|trial| trial.logs.iter().any(|log| format!("{log:?}").contains("(hidden)"))));
    assert_eq!(record.head.unwrap().plan.system.settings["api_token"], "(hidden)");
}

#[test]
fn a_secret_is_in_no_message_and_in_no_plan() {
    let guarded = app("guarded.py");
    let words = ["python3", guarded.to_str().unwrap(), "{port}", "/dev/null", "{password}", "0"];
    for (flags, code) in [("--set password=hun=ter|2x9", 3), ("--set 2password=hun=ter|2x9", 2)] {
        let (ended, stderr) = refused(flags, &words);
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(!has_secret(&stderr), "{stderr}");
    }
    for json in ["", "--json"] {
        let mut command = genkai(&format!("tune command --users 5 --dry-run {json} --set password=hun=ter|2x9"));
        let output = finish(command.arg("--").args(words), Duration::from_secs(60));
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(0) && !has_secret(&told) && told.contains("(hidden)"), "{told}");
    }
}

#[test]
fn a_healthy_server_needs_no_change() {
    let _machine = machine();
    let cluster = app("cluster.js");
    let words = ["node", cluster.to_str().unwrap(), "{port}", "{workers}", "60"];
    let run = told(&tune("--users 4 --spawn-rate 8 --hold 2s --quick --quiet --set workers=2", &words));
    assert_eq!((run.code, run.verdict().outcome()), (Some(0), Outcome::Holds), "{}", run.story());
    assert!(run.says()[0].starts_with("No change needed"), "{}", run.story());
    let rack = app("sync.ru");
    let words = [
        "puma",
        "-e",
        "production",
        "-t",
        "{threads}:{threads}",
        "-b",
        "tcp://{listen}?backlog={backlog}",
        rack.to_str().unwrap(),
    ];
    let flags = "--users 4 --spawn-rate 8 --hold 2s --quick --quiet --set threads=8 --set backlog=512";
    let run = told(&tune(flags, &words));
    assert_eq!((run.code, run.verdict().outcome()), (Some(0), Outcome::Holds), "{}", run.story());
    assert!(run.says()[0].starts_with("No change needed"), "{}", run.story());
}

/// What is said of a command that cannot be tuned, in one sentence, and the exit code.
fn refused(flags: &str, words: &[&str]) -> (Option<i32>, String) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = genkai(&format!("tune command --users 5 --quiet {flags}"));
    command.arg("--out").arg(dir.path().join("out")).arg("--").args(words);
    let output = finish(&mut command, Duration::from_secs(60));
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn braces_parameters_and_values_that_do_not_fit_are_said_before_anything_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let template = dir.path().join("a.conf");
    std::fs::write(&template, "workers {workers}; other {other}; {{kept}} ${kept} { }\n").unwrap();
    let of_template = format!("--set workers=2 --template {}", template.display());
    for (flags, words, said) in [
        ("--set a=1", &["sh", "{a}", "{b}", "{listen}"][..], "{b} in the command is no parameter"),
        ("--set a=1", &["sh", "{listen}"], "--set a: nothing uses this parameter"),
        ("--set a=1", &["sleep", "{a}"], "nothing tells the command where to listen"),
        ("--set a=9:1..2", &["sleep", "{a}", "{port}"], "9 is not from 1 to 2"),
        ("--set a=2:64..1", &["sleep", "{a}", "{port}"], "64..1 is no range"),
        ("--set a=1 --set a=2", &["sleep", "{a}", "{port}"], "given twice"),
        ("--set port=1", &["sleep", "{port}"], "choose another name"),
        ("--set a", &["sleep", "{port}"], "write it like workers=2"),
        ("", &["sleep", "{template}", "{port}"], "{template} needs a file"),
        (&of_template, &["cat", "{template}", "{port}"], "{other} in "),
        ("--template /no/such/file", &["cat", "{template}", "{port}"], "/no/such/file"),
    ] {
        let (code, stderr) = refused(flags, words);
        assert_eq!(code, Some(2), "{flags} {words:?}: {stderr}");
        assert!(stderr.contains(said) && stderr.lines().count() <= 2, "{flags} {words:?}: {stderr}");
    }
    let (code, stderr) = refused("", &["no-such-program", "{port}"]);
    assert!(code == Some(3) && stderr.contains("`no-such-program`: there is no such program"), "{code:?} {stderr}");
}

#[test]
fn a_command_that_ends_or_goes_to_the_background_is_told_and_leaves_nothing() {
    let (code, stderr) = refused("", &["sh", "-c", "echo no such flag; exit 4", "{port}"]);
    assert!(code == Some(3) && stderr.contains("exit status: 4") && stderr.contains("no such flag"), "{stderr}");
    let (code, stderr) = refused("", &["sh", "-c", "setsid sleep 86399 & exit 0", "{port}"]);
    assert!(code == Some(2) && stderr.contains("went to the background"), "{code:?} {stderr}");
    assert!(harness::processes_with("sleep 86399").is_empty(), "nothing is left running");
}

#[test]
fn what_would_be_done_is_shown_without_a_start() {
    let mut command = genkai("tune command --users 5 --dry-run --set a=1 -- sleep 86398 {a} {port}");
    let output = finish(&mut command, Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// That it had to be killed is said; nothing of it is left.
#[test]
fn a_command_that_ignores_a_polite_end_is_told() {
    const SERVER: &str = "import http.server, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'ok')
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()";
    let _machine = machine();
    let words = ["python3", "-c", SERVER, "{port}", "{n}"];
    let run = run(&tune("--users 4 --spawn-rate 4 --think 50ms --hold 1s --quick --pairs 0 --set n=1", &words));
    assert_eq!(run.code, Some(0), "{}", run.story());
    let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("did not end when it was asked to (SIGTERM), and was killed"), "{}", run.story());
}
