//! genkai as a worker of a real Locust master.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use genkai_model::finding::{TrialFinding, Verdict};

use crate::harness::loads::show;
use crate::harness::servers::{Guard, free, serve};
use crate::harness::{genkai, machine, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(90);

/// User classes that do nothing by themselves: genkai makes them.
const CLASSES: &str = "\
from locust import User, task

class buy(User):
    @task
    def nothing(self): pass

class look(User):
    @task
    def nothing(self): pass
";

/// Locust, as `make packages-test` installs it.
fn locust() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/locust/bin/locust");
    assert!(path.exists(), "{} is not there: make packages-test", path.display());
    path
}

/// A scenario whose flows are named like the classes, a server that counts, and a folder.
struct Site {
    _origin: Guard,
    dir: tempfile::TempDir,
    scenario: PathBuf,
    port: u16,
}

impl Site {
    fn start() -> Site {
        let (origin, listening) = serve("origin --listen 127.0.0.1:0");
        let dir = tempfile::tempdir().unwrap();
        let scenario = dir.path().join("site.yaml");
        let text = format!(
            "title: a site\ntarget: http://{listening}\nphases:\n  - {{ users: 1, for: 1s }}\nflows:\n  - name: buy\n    steps:\n      \
             - request: POST /cart\n        name: buying\n      - think: 40ms\n  - name: look\n    steps:\n      - request: GET /\n        \
             name: front\n      - request: GET /more\n        name: more\n      - think: 30ms\n"
        );
        std::fs::write(&scenario, text).unwrap();
        std::fs::write(dir.path().join("classes.py"), CLASSES).unwrap();
        let [port] = free();
        Site { _origin: origin, dir, scenario, port }
    }

    /// A master that waits for so many workers and then makes its test with these words.
    fn master(&self, workers: u32, words: &str) -> Master {
        let port = self.port.to_string();
        let mut command = Command::new(locust());
        command.args(["-f", "classes.py", "--master", "--headless", "--master-bind-host", "127.0.0.1"]);
        command.args(["--master-bind-port", &port, "--expect-workers", &workers.to_string(), "--csv", "master"]);
        command.args(["--only-summary", "--exit-code-on-error", "0"]).args(words.split_whitespace());
        let log = std::fs::File::create(self.dir.path().join("master.log")).unwrap();
        command.current_dir(&self.dir).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap();
        let listens = || TcpStream::connect(("127.0.0.1", self.port)).ok();
        until("the master listens", LONGEST, listens);
        Master { child }
    }

    fn worker(&self) -> Command {
        let mut command = genkai("worker --json --locust");
        command.arg(format!("127.0.0.1:{}", self.port)).arg(&self.scenario);
        command
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("master.log")).unwrap_or_default()
    }

    /// The lines of the master's statistics: name, requests, failures.
    fn statistics(&self) -> Vec<(String, u64, u64)> {
        let text = std::fs::read_to_string(self.dir.path().join("master_stats.csv")).unwrap_or_default();
        let line = |line: &str| {
            let fields: Vec<&str> = line.split(',').collect();
            Some((fields.get(1)?.to_string(), fields.get(2)?.parse().ok()?, fields.get(3)?.parse().ok()?))
        };
        text.lines().skip(1).filter_map(line).collect()
    }
}

struct Master {
    child: Child,
}

impl Master {
    fn ended(&mut self) -> ExitStatus {
        wait(&mut self.child, LONGEST)
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn trial(text: &str) -> TrialFinding {
    let verdict: Verdict = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    verdict.trials.into_iter().next().unwrap()
}

#[test]
fn two_workers_make_what_the_master_asks_for_and_all_count_the_same() {
    let _machine = machine();
    let site = Site::start();
    let mut master = site.master(2, "--users 11 --spawn-rate 4 --run-time 6s");
    let start = || site.worker().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let workers = [start(), start()].map(|child| child.wait_with_output().unwrap());
    assert!(master.ended().success(), "{}", site.log());
    let trials = workers.each_ref().map(|output| {
        let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{said}\n{told}");
        trial(&said)
    });
    let all: u64 = trials.iter().map(|trial| trial.finished).sum();
    let sums = site.statistics();
    let sum = |name: &str| sums.iter().find(|(of, ..)| of == name).map(|(_, requests, _)| *requests);
    assert_eq!(sum("Aggregated"), Some(all), "{sums:?}\n{}", site.log());
    assert_eq!(["buying", "front", "more"].map(|name| sum(name).unwrap()).iter().sum::<u64>(), all);
    assert!(sums.iter().all(|(_, _, failures)| *failures == 0), "{sums:?}");
    let most = trials.iter().map(|trial| trial.asked).sum::<f64>();
    assert_eq!(most, 11.0, "users at most");
    assert!(site.log().contains(r#"All users spawned: {"buy": 6, "look": 5} (11 total users)"#), "{}", site.log());
}

/// A worker that comes late gets its part of the users, and the first gives them up: all are counted once.
#[test]
fn users_are_divided_anew_when_another_worker_comes() {
    let _machine = machine();
    let site = Site::start();
    let mut master = site.master(1, "--users 9 --spawn-rate 9 --run-time 14s --enable-rebalancing");
    let start = || site.worker().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let first = start();
    until("all users", LONGEST, || site.log().contains("All users spawned").then_some(()));
    let workers = [first, start()].map(|child| child.wait_with_output().unwrap());
    assert!(master.ended().success(), "{}", site.log());
    let [first, second] = workers.map(|output| {
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        (trial(&String::from_utf8_lossy(&output.stdout)), String::from_utf8_lossy(&output.stderr).into_owned())
    });
    assert_eq!((first.0.asked, second.0.asked), (9.0, 4.0), "{}\n{}", first.1, second.1);
    assert!(first.1.contains("5 of 5 users"), "{}", first.1);
    let sums = site.statistics();
    let all = sums.iter().find(|(of, ..)| of == "Aggregated").map(|(_, requests, failures)| (*requests, *failures));
    assert_eq!(all, Some((first.0.finished + second.0.finished, 0)), "{sums:?}\n{}", site.log());
    assert!(site.log().contains("to 2 ready workers"), "{}", site.log());
}

#[test]
fn a_class_that_the_scenario_has_not_is_refused() {
    let _machine = machine();
    let site = Site::start();
    std::fs::write(site.dir.path().join("classes.py"), CLASSES.replace("class look", "class Search")).unwrap();
    let _master = site.master(1, "--users 4 --spawn-rate 4 --run-time 60s");
    let made = show(&mut site.worker());
    assert_eq!(made.code, Some(2), "{}", made.story());
    assert!(made.stderr.contains("asks for users of `Search`, which the scenario has not"), "{}", made.story());
    assert!(made.stderr.contains("they are: buy, look"), "{}", made.story());
}

/// Masters of Locust 1 know no word by which they take a worker; those of Locust 2 send away whom they do not understand.
#[test]
fn masters_of_another_protocol_are_told() {
    let site = Site::start();
    for (answer, expected) in [
        ("quit", "sends this worker away, as it does with workers of another protocol"),
        ("", "does not take this worker: no answer to "),
    ] {
        let script = format!(
            "import msgpack, zmq\ns = zmq.Context().socket(zmq.ROUTER)\ns.bind('tcp://127.0.0.1:{}')\nwhile True:\n    name, _ = \
             s.recv_multipart()\n    if '{answer}': s.send_multipart([name, msgpack.dumps(('{answer}', None, name.decode()))])\n",
            site.port
        );
        let mut command = Command::new(locust().with_file_name("python"));
        let _master = Guard(command.args(["-c", &script]).stdin(Stdio::null()).spawn().unwrap());
        until("the master listens", LONGEST, || TcpStream::connect(("127.0.0.1", site.port)).ok());
        let made = show(&mut site.worker());
        let story = made.story();
        assert!(made.code == Some(3) && story.contains(expected) && story.contains("hint: "), "{story}");
    }
}

#[test]
fn without_a_master_nothing_is_sent() {
    let site = Site::start();
    let made = show(&mut site.worker());
    assert_eq!(made.code, Some(3), "{}", made.story());
    assert!(made.stderr.contains("cannot reach a Locust master at 127.0.0.1:"), "{}", made.story());
    let both = show(site.worker().args(["--requests", "5"]));
    assert!(both.code == Some(2) && both.stderr.contains("not with --locust"), "{}", both.story());
}

#[test]
fn a_master_that_is_gone_ends_the_load_and_what_was_measured_is_kept() {
    let _machine = machine();
    let site = Site::start();
    let mut master = site.master(1, "--users 6 --spawn-rate 6 --run-time 60s");
    let out = site.dir.path().join("out");
    let mut command = site.worker();
    let mut worker = command.arg("--out").arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ticks =
        || std::fs::read_to_string(out.join("run.jsonl")).ok().filter(|text| text.matches("\"tick\"").count() > 1);
    until("the load goes on", LONGEST, ticks);
    master.child.kill().unwrap();
    master.ended();
    let ended = wait(&mut worker, Duration::from_secs(30));
    let told = worker.wait_with_output().unwrap();
    assert_eq!(ended.code(), Some(4), "{}", String::from_utf8_lossy(&told.stderr));
    assert!(String::from_utf8_lossy(&told.stderr).contains("the Locust master at"), "{told:?}");
    assert!(trial(&String::from_utf8_lossy(&told.stdout)).finished > 0);
}

#[test]
fn who_is_interrupted_shows_what_was_measured() {
    let _machine = machine();
    let site = Site::start();
    let _master = site.master(1, "--users 3 --spawn-rate 3 --run-time 60s");
    let out = site.dir.path().join("out");
    let mut command = site.worker();
    let mut worker = command.arg("--out").arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ticks =
        || std::fs::read_to_string(out.join("run.jsonl")).ok().filter(|text| text.matches("\"tick\"").count() > 1);
    until("the load goes on", LONGEST, ticks);
    signal(worker.id(), "INT");
    assert_eq!(wait(&mut worker, Duration::from_secs(30)).code(), Some(130));
    let told = worker.wait_with_output().unwrap();
    assert!(trial(&String::from_utf8_lossy(&told.stdout)).finished > 0);
}
