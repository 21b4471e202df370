//! Processes, their usage and the kernel's view, on real processes of this machine.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use genkai_place::process::{Child, Signal, Spawn};
use genkai_place::usage::Tree;
use genkai_place::{PlaceError, machine};

const LONG: Duration = Duration::from_secs(20);

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn named(name: &str) -> Spawn {
    Spawn { name: name.to_owned(), ..Spawn::default() }
}

/// What a program prints when it is started so.
fn output(script: &str, spawn: Spawn) -> String {
    let mut child = Child::piped(shell(script), spawn).unwrap();
    let mut text = String::new();
    child.take_stdout().unwrap().read_to_string(&mut text).unwrap();
    text
}

/// Live processes of a session.
fn session(leader: u32) -> Vec<i32> {
    let stats = procfs::process::all_processes().unwrap().flatten().filter_map(|process| process.stat().ok());
    stats.filter(|s| (s.session == leader as i32 || s.pgrp == leader as i32) && s.state != 'Z').map(|s| s.pid).collect()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A leader, a child, and a child in a group of its own, all deaf to polite signals. Prints a line when they are up.
const DEAF: &str = "trap '' TERM INT HUP; sleep 600 & set -m; (sleep 600; true) & set +m; echo up; wait; wait";

fn deaf() -> Child {
    let mut child = Child::piped(shell(DEAF), named("deaf")).unwrap();
    let mut line = String::new();
    BufReader::new(child.take_stdout().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    eventually("three processes", || session(child.pid()).len() >= 3);
    child
}

#[test]
fn nobody_survives_a_stop() {
    let mut child = deaf();
    let pid = child.pid();
    let status = child.stop(Signal::SIGTERM, Duration::from_millis(20));
    assert_eq!(status.signal(), Some(9));
    assert_eq!(session(pid), Vec::<i32>::new());
    assert!(!Path::new(&format!("/proc/{pid}")).exists(), "not reaped");
    assert_eq!(child.stop(Signal::SIGTERM, LONG), status, "a second stop tells the same");
}

#[test]
fn nobody_survives_a_drop() {
    let pid = deaf().pid();
    assert_eq!(session(pid), Vec::<i32>::new());
}

#[test]
fn a_polite_end_is_waited_for() {
    let mut child = Child::piped(shell("trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"), named("polite"));
    let child = child.as_mut().unwrap();
    BufReader::new(child.take_stdout().unwrap()).read_line(&mut String::new()).unwrap();
    assert_eq!(child.try_exited(), None);
    assert_eq!(child.stop(Signal::SIGTERM, LONG).code(), Some(7));
}

#[test]
fn an_exit_is_seen_and_kept() {
    let mut child = Child::spawn(shell("exit 5"), named("short")).unwrap();
    eventually("an exit", || child.try_exited().is_some());
    assert_eq!(child.try_exited().unwrap().code(), Some(5));
    assert_eq!(child.stop(Signal::SIGTERM, LONG).code(), Some(5));
    assert_eq!(child.try_exited().unwrap().code(), Some(5));
}

#[test]
fn a_child_outlives_the_thread_that_asked_for_it() {
    let script = "trap 'exit 7' USR1; echo up; while :; do sleep 0.01; done";
    let spawner = thread::spawn(move || Child::piped(shell(script), named("server")).unwrap());
    let mut child = spawner.join().unwrap();
    BufReader::new(child.take_stdout().unwrap()).read_line(&mut String::new()).unwrap();
    assert_eq!(child.stop(Signal::SIGUSR1, LONG).code(), Some(7), "killed by its parent-death signal?");
}

/// Not a test: what [`nobody_survives_the_death_of_genkai`] starts and kills.
#[test]
#[ignore = "started by another test"]
fn holder() {
    let child = deaf();
    println!("\nheld {}", child.pid());
    thread::sleep(LONG * 10);
}

#[test]
fn nobody_survives_the_death_of_genkai() {
    let mut holder = Command::new(std::env::current_exe().unwrap());
    holder.args(["--exact", "holder", "--ignored", "--nocapture"]);
    let mut holder = holder.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    let pid = lines.filter_map(|line| line.strip_prefix("held ")?.parse::<u32>().ok()).next().unwrap();
    // The one in a group of its own is beyond the reach of the reaper; it is ended here.
    let own_group: Vec<i32> = session(pid).into_iter().filter(|&member| group(member) != Some(pid as i32)).collect();
    assert!(session(pid).len() >= 3);
    holder.kill().unwrap();
    holder.wait().unwrap();
    eventually("the group is gone", || session(pid).iter().all(|member| own_group.contains(member)));
    for member in own_group {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(member), Signal::SIGKILL);
    }
}

fn group(pid: i32) -> Option<i32> {
    procfs::process::Process::new(pid).ok()?.stat().ok().map(|stat| stat.pgrp)
}

#[test]
fn cores_and_descriptors_are_as_asked() {
    let last = *machine::cores().last().unwrap();
    let spawn = Spawn { cpus: Some(vec![last]), nofile: Some(123), ..named("pinned") };
    let text = output("ulimit -Sn; grep Cpus_allowed_list /proc/self/status", spawn);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["123", "Cpus_allowed_list:", &last.to_string()]);
    let (_, hard) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).unwrap();
    assert_eq!(output("ulimit -Hn", Spawn { nofile: Some(123), ..named("soft") }).trim(), hard.to_string());
}

#[test]
fn more_descriptors_than_the_hard_limit_are_granted_or_refused_with_the_figure() {
    let (_, hard) = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE).unwrap();
    let Some(asked) = hard.checked_add(1) else { return };
    match Child::piped(shell("ulimit -Sn"), Spawn { nofile: Some(asked), ..named("greedy") }) {
        Ok(mut child) => {
            let mut text = String::new();
            child.take_stdout().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text.trim(), asked.to_string());
        }
        Err(PlaceError::Descriptors { asked: a, hard: h, .. }) => assert_eq!((a, h), (asked, hard)),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn another_user_when_root() {
    if !nix::unistd::geteuid().is_root() {
        return genkai_tidy::noted::skipped("only root can run as another user");
    }
    let text = output("id -u; id -g; id -G", Spawn { user: Some((65534, 65534)), ..named("nobody") });
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["65534"; 3]);
}

#[test]
fn what_cannot_start_says_why() {
    let error = Child::spawn(Command::new("/no/such/program"), named("ghost")).unwrap_err().to_string();
    assert!(error.contains("ghost") && error.contains("/no/such/program"), "{error}");
    let spawn = Spawn { cpus: Some(vec![1023]), ..named("far") };
    let error = Child::spawn(shell("true"), spawn).unwrap_err();
    assert!(matches!(error, PlaceError::Core { cpu: 1023, .. }), "{error}");
    let spawn = Spawn { log: Some("/no/such/folder/log".into()), ..named("mute") };
    let error = Child::spawn(shell("true"), spawn).unwrap_err().to_string();
    assert!(error.contains("/no/such/folder/log"), "{error}");
}

#[test]
fn both_outputs_are_logged() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    fs::write(&log, "before\n").unwrap();
    let spawn = Spawn { log: Some(log.clone()), ..named("talker") };
    let mut child = Child::spawn(shell("echo out; echo err >&2"), spawn).unwrap();
    eventually("an exit", || child.try_exited().is_some());
    assert_eq!(fs::read_to_string(&log).unwrap(), "before\nout\nerr\n");
    assert_eq!(child.last_words(), "before\nout\nerr");
}

#[test]
fn a_tree_is_counted_whole() {
    let script = "exec 7</dev/null 8</dev/null 9</dev/null; (while :; do :; done) & sleep 600 & wait";
    let mut child = Child::spawn(shell(script), Spawn { nofile: Some(77), ..named("busy") }).unwrap();
    let mut tree = Tree::new(child.pid());
    eventually("a busy tree of three", || {
        thread::sleep(Duration::from_millis(50));
        let usage = tree.sample();
        usage.processes.len() == 3 && usage.busiest_cpu > 0.2
    });
    thread::sleep(Duration::from_millis(100));
    let usage = tree.sample();
    let by = |name: &str| usage.processes.iter().filter(|p| p.name == name).collect::<Vec<_>>();
    assert_eq!((by("sh").len(), by("sleep").len()), (2, 1), "{usage:?}");
    assert_eq!(usage.processes[0].pid, child.pid());
    assert!(by("sleep")[0].cpu < 0.2, "{usage:?}");
    assert!(usage.cpu <= 1.5, "one loop cannot use more than a core: {usage:?}");
    assert!((usage.cpu - usage.processes.iter().map(|p| p.cpu).sum::<f64>()).abs() < 1e-9);
    assert!(usage.rss > 3 * 100_000, "{usage:?}");
    assert!(usage.fds_max.unwrap() >= 6, "three standard ones and three more: {usage:?}");
    assert_eq!(usage.fd_limit, Some(77));
    child.stop(Signal::SIGTERM, Duration::ZERO);
    assert_eq!(tree.sample().processes, []);
}

/// An event loop is in the main thread: a thread of a pool that computes beside it is not one.
#[test]
fn of_the_main_threads_alone_one_that_works_beside_them_is_not_seen() {
    let code = "import threading,sys\ndef work():\n  while True: pass\nthreading.Thread(target=work,daemon=True).start()\nprint(flush=True)\nsys.stdin.read()";
    let mut command = std::process::Command::new("python3");
    command.args(["-c", code]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut [0]).unwrap();
    let (mut all, mut main) = (genkai_place::threads::Threads::default(), genkai_place::threads::Threads::main());
    let mut look = || (all.busiest([child.id()]), main.busiest([child.id()]));
    look();
    std::thread::sleep(Duration::from_millis(500));
    let seen = look();
    drop(child.stdin.take());
    child.kill().unwrap();
    child.wait().unwrap();
    let (Some(busiest), Some(main)) = seen else { panic!("{seen:?}") };
    assert!(busiest > 0.02 && main < busiest / 2.0, "{busiest} {main}");
}
