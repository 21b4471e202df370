//! genkai as the master of real Locust workers: their users find the limit of a real nginx.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use genkai_model::finding::{Because, Confidence, Outcome};
use genkai_model::record::Record;

use crate::harness;
use crate::harness::loads::{Shown, show};
use crate::harness::servers::free;
use crate::harness::{checked, finish, genkai, machine, signal, until, wait};

const LONGEST: Duration = Duration::from_secs(300);
/// How long a worker may take until its first report.
const BEGINS: Duration = Duration::from_secs(90);

/// Users of two classes.
const SHOP: &str = "\
from locust import HttpUser, constant, task


class Look(HttpUser):
    weight = 3
    wait_time = constant(0.1)

    @task
    def front(self):
        self.client.get('/')


class Buy(HttpUser):
    wait_time = constant(0.1)

    @task
    def cart(self):
        self.client.post('/cart', data={'n': 1})
";

/// A class that makes no request, because its tasks are wrong.
const WRONG: &str = "\
from locust import HttpUser, task

class Wrong(HttpUser):
    @task
    def nothing(self):
        self.client.nowhere('/')
";

/// Locust, as `make packages-test` installs it.
fn locust() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/locust/bin/locust");
    assert!(path.exists(), "{} is not there: make packages-test", path.display());
    path
}

/// A folder with locustfiles, and the processes that run one of them.
struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> Site {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("shop.py", SHOP), ("wrong.py", WRONG)] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        Site { dir }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `genkai tune nginx` with these words and users of this file.
    fn tune(&self, file: &str, words: &str) -> Command {
        let mut command = genkai(&format!("tune nginx --quick {words}"));
        command.arg("--load").arg(format!("locust:{}", self.file(file).display()));
        command.arg("--out").arg(self.out());
        if !words.contains("--locust ") {
            command.arg("--locust").arg(locust());
        }
        command
    }

    fn out(&self) -> PathBuf {
        self.dir.path().join("out")
    }

    fn record(&self) -> Record {
        Record::read(fs::read_to_string(self.out().join("run.jsonl")).unwrap().lines()).unwrap()
    }

    fn verdict(&self) -> genkai_model::finding::Verdict {
        serde_json::from_str(&fs::read_to_string(self.out().join("verdict.json")).unwrap()).unwrap()
    }

    /// Processes that run a file of the folder.
    fn workers(&self) -> Vec<u32> {
        let here = format!("{}/", self.dir.path().display());
        let pids =
            fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let works = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            words.contains(&here) && words.contains("--worker")
        };
        pids.filter(works).collect()
    }

    /// A run that has been told of two intervals.
    fn begun(&self, command: &mut Command) -> Child {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let file = self.out().join("run.jsonl");
        let ticks = || fs::read_to_string(&file).ok().filter(|text| text.matches("\"event\":\"tick\"").count() > 1);
        until("the load goes on", BEGINS, ticks);
        child
    }

    fn ended(&self, mut child: Child) -> Shown {
        let code = wait(&mut child, Duration::from_secs(60)).code();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Shown { code, stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

#[test]
fn the_limit_that_users_of_a_locustfile_meet_is_named_and_proved() {
    let _machine = machine();
    let site = Site::new();
    let mut command = site.tune("shop.py", "--set worker_connections=64 --users 60 --spawn-rate 10");
    let output = finish(&mut command, LONGEST);
    let story = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let verdict = site.verdict();
    assert_eq!(output.status.code(), Some(1), "{story}");
    assert_eq!(verdict.because(), Because::ProvedAndHolds, "{story}");
    assert!(verdict.causes.iter().all(|cause| cause.limit.id == "nginx.worker_connections"), "{story}");
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{story}");
    let changed: Vec<&str> = verdict.proposal.iter().map(|one| one.change.setting.as_str()).collect();
    assert_eq!(changed, ["worker_connections"], "{story}");
    assert!(
        verdict.proof.is_some_and(|proof| proof.baseline_fails && proof.proposal_holds && proof.certain),
        "{story}"
    );
    // Locust's figures are said to be its own, and what it does not tell is not told.
    assert!(story.contains("counts and failures are Locust's"), "{story}");
    let record = site.record();
    let first = &record.trials[0];
    let of_locust = first.started.load.locust.as_ref().unwrap();
    let names: Vec<(&str, f64)> = of_locust.classes.iter().map(|class| (class.name.as_str(), class.weight)).collect();
    assert_eq!(names, [("Look", 3.0), ("Buy", 1.0)]);
    for trial in &record.trials {
        assert!(trial.ended.as_ref().is_some_and(|end| end.client.is_none()), "nothing is known of its descriptors");
        assert!(trial.ticks.iter().all(|tick| tick.connect.is_empty() && tick.lateness.is_empty()));
        let finished: u64 = trial.ticks.iter().map(|tick| tick.sent).sum();
        let timed: u64 = trial.ticks.iter().map(|tick| tick.latency.decode().unwrap().len()).sum();
        assert!(finished > 0 && finished == timed, "{finished} {timed}");
    }
    assert_eq!(site.workers(), [0u32; 0], "none is left");
}

#[test]
fn a_server_that_bears_the_users_needs_no_change() {
    let _machine = machine();
    let site = Site::new();
    let shape = "\n\nfrom locust import LoadTestShape\n\n\nclass Steps(LoadTestShape):\n    def tick(self):\n        return (999, 99)\n";
    fs::write(site.file("shop.py"), format!("{SHOP}{shape}")).unwrap();
    let shown = show(&mut site.tune("shop.py", "--users 10 --spawn-rate 5 --locust-workers 2"));
    assert_eq!(shown.code, Some(0), "{}", shown.story());
    assert_eq!(site.verdict().outcome(), Outcome::Holds, "{}", shown.story());
    assert!(shown.stderr.contains("its LoadTestShape has no effect"), "{}", shown.story());
    let record = site.record();
    assert_eq!(record.trials[0].ticks.last().unwrap().level, 10.0, "{}", shown.story());
    assert_eq!(site.workers(), [0u32; 0], "none is left");
}

/// Users ask by https, and trust the certificate of the run where it stands in for the one of the file; a redirect of the plain listener is
/// followed before any load.
#[test]
fn users_of_a_locustfile_trust_a_listener_with_tls() {
    let _machine = machine();
    let site = Site::new();
    let root = site.dir.path().display().to_string();
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=shop.example -keyout";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .arg(site.file("own.key"))
        .arg("-out")
        .arg(site.file("own.pem"))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
    let config = format!(
        "events {{ worker_connections 512; }}\nhttp {{\n server {{ listen 80; return 301 https://$host$request_uri; }}\n \
         server {{ listen 443 ssl; ssl_certificate {root}/own.pem; ssl_certificate_key {root}/own.key; \
         location / {{ return 200 hello; }} }}\n}}\n"
    );
    fs::write(site.file("nginx.conf"), config).unwrap();
    for words in ["--tls", &format!("--config {root}/nginx.conf")] {
        let output = finish(&mut site.tune("shop.py", &format!("{words} --users 12 --spawn-rate 10")), LONGEST);
        let story = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let trials = site.verdict().trials;
        assert!(trials.iter().all(|trial| trial.finished > 0 && trial.failed == 0), "{words}: {story}");
        assert_eq!(output.status.code(), Some(0), "{words}: {story}");
        assert_eq!(site.workers(), [0u32; 0], "{words}: none is left");
    }
}

/// Users ask for the site that their file names, of several that a server has: by both of Locust's clients, after a redirect to that name too,
/// with the cookies of that name; requests to others are as they were.
#[test]
fn users_of_a_locustfile_ask_for_the_site_that_it_names() {
    let _machine = machine();
    let site = Site::new();
    let [other] = free();
    let elsewhere =
        format!("server {{ listen 127.0.0.1:{other}; if ($host != 127.0.0.1) {{ return 421; }} return 200 hello; }}");
    let dir = tempfile::tempdir().unwrap();
    let _elsewhere = harness::servers::nginx(dir.path(), &elsewhere, other);
    let config = "events { worker_connections 64; }
http {
 server { listen 80 default_server; return 404; }
 server {
  listen 80; server_name shop.example;
  location = / { return 200 hello; }
  location = /moved { add_header Set-Cookie 'seen=1; Domain=shop.example; Path=/'; return 302 http://$host/kept; }
  location = /kept { if ($cookie_seen = '') { return 403; } return 200 hello; }
  location = /fast { return 302 http://$host/; }
 }
}
";
    fs::write(site.file("nginx.conf"), config).unwrap();
    let users = format!(
        "from locust import FastHttpUser, HttpUser, constant, task\n\n\nclass Plain(HttpUser):\n    host = 'http://shop.example'\n    \
         wait_time = constant(0.1)\n\n    @task\n    def all(self):\n        self.client.get('/')\n        self.client.get('/moved')\n        \
         self.client.get('/kept')\n        self.client.get('http://127.0.0.1:{other}/', name='elsewhere')\n\n\nclass Fast(FastHttpUser):\n    \
         host = 'http://shop.example'\n    wait_time = constant(0.1)\n\n    @task\n    def all(self):\n        self.client.get('/')\n        \
         self.client.get('/fast')\n        self.client.get('http://127.0.0.1:{other}/', name='elsewhere')\n"
    );
    fs::write(site.file("sites.py"), users).unwrap();
    let config = site.file("nginx.conf").display().to_string();
    let output = finish(&mut site.tune("sites.py", &format!("--config {config} --users 8 --spawn-rate 8")), LONGEST);
    let story = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{story}");
    assert!(site.verdict().trials.iter().all(|trial| trial.finished > 0 && trial.failed == 0), "{story}");
    assert_eq!(site.record().trials[0].started.load.request.host, "shop.example", "{story}");
    assert_eq!(site.workers(), [0u32; 0], "none is left");
}

#[test]
fn what_cannot_be_done_is_said_before_any_load() {
    let site = Site::new();
    let write = |name: &str, text: &str| fs::write(site.file(name), text).unwrap();
    write("broken.py", "import no_such_module\n");
    write("empty.py", "x = 1\n");
    write(
        "fixed.py",
        &SHOP
            .replace("weight = 3", "fixed_count = 3")
            .replace("class Buy(HttpUser):", "class Buy(HttpUser):\n    fixed_count = 1"),
    );
    write(
        "moody.py",
        &SHOP.replace("wait_time = constant(0.1)", "def wait_time(self):\n        return self.environment.mood\n"),
    );
    let program = |name: &str, version: &str| {
        write(name, &format!("#!/bin/sh\necho {version}\n"));
        let status = Command::new("chmod").arg("+x").arg(site.file(name)).status().unwrap();
        assert!(status.success());
        format!("--locust {}", site.file(name).display())
    };
    let (old, other) = (program("old", "locust 1.6.0"), program("other", "grasshopper 3"));
    let cases = [
        ("none.py", "", 2, "none.py: cannot be read: No such file"),
        ("broken.py", "", 2, "Locust cannot load it: ModuleNotFoundError: No module named 'no_such_module'"),
        ("empty.py", "", 2, "Locust finds no user class in it"),
        ("fixed.py", "", 2, "each of its user classes has a fixed_count"),
        ("moody.py", "", 2, "how long users of Look pause cannot be told from its wait_time"),
        ("shop.py", "--rate 5", 2, "--rate: has no effect on users of a locustfile"),
        ("shop.py", "--hold 4s", 2, "--hold 4s: too short for what Locust tells every 3s"),
        ("shop.py", "--locust-bind 5557", 2, "--locust-bind 5557: is not HOST:PORT"),
        ("shop.py", "--tls --http2", 2, "users of a locustfile ask by HTTP"),
        ("shop.py", "--tls --locust-bind 127.0.0.1:5557", 2, "which workers that others start do not trust"),
        ("shop.py", "--locust /no/such/locust", 3, "--locust /no/such/locust: there is no such program"),
        ("shop.py", &old, 3, "is Locust 1.6.0, whose workers speak another protocol"),
        ("shop.py", &other, 3, "is no Locust: `--version` says `grasshopper 3`"),
    ];
    for (file, words, code, text) in cases {
        let shown = show(&mut site.tune(file, words));
        assert_eq!(shown.code, Some(code), "{file} {words}: {}", shown.story());
        assert!(shown.stderr.contains(text), "{file} {words}: {}", shown.story());
        assert!(!site.out().exists(), "{file} {words}: nothing is recorded");
        assert_eq!(site.workers(), [0u32; 0], "{file} {words}: none is left");
    }
    let shown = show(&mut genkai("tune nginx --load shop.py"));
    assert!(shown.code == Some(2) && shown.stderr.contains("write it like locust:FILE.py"), "{}", shown.story());
}

#[test]
fn a_worker_that_is_lost_ends_the_load_and_what_was_measured_is_kept() {
    let _machine = machine();
    let site = Site::new();
    let child = site.begun(&mut site.tune("shop.py", "--users 6 --spawn-rate 6 --locust-workers 2"));
    let workers = site.workers();
    assert_eq!(workers.len(), 2);
    signal(workers[0], "KILL");
    let shown = site.ended(child);
    assert_eq!(shown.code, Some(4), "{}", shown.story());
    assert!(shown.stderr.contains("a Locust worker is lost: Locust worker"), "{}", shown.story());
    assert!(site.record().trials[0].ticks.iter().map(|tick| tick.ok).sum::<u64>() > 0);
    assert_eq!(site.workers(), [0u32; 0], "the other one is not left either");
}

#[test]
fn who_is_interrupted_keeps_what_was_measured() {
    let _machine = machine();
    let site = Site::new();
    let child = site.begun(&mut site.tune("shop.py", "--users 6 --spawn-rate 6"));
    signal(child.id(), "INT");
    let shown = site.ended(child);
    assert_eq!(shown.code, Some(130), "{}", shown.story());
    assert!(site.record().trials[0].ticks.iter().map(|tick| tick.ok).sum::<u64>() > 0);
    assert!(checked::check(&site.out()).is_none_or(|checked| checked.holds()));
    assert_eq!(site.workers(), [0u32; 0], "none is left");
}

#[test]
fn a_file_whose_tasks_are_wrong_is_no_server_that_holds() {
    let _machine = machine();
    let site = Site::new();
    let shown = show(&mut site.tune("wrong.py", "--users 3 --spawn-rate 3"));
    assert_eq!(shown.code, Some(4), "{}", shown.story());
    assert!(shown.stderr.contains("wrong.py made no request: its tasks raised `"), "{}", shown.story());
    assert!(shown.stderr.contains("has no attribute 'nowhere'"), "{}", shown.story());
}

#[test]
fn users_of_whom_nothing_is_heard_are_missed() {
    let _machine = machine();
    let site = Site::new();
    let shown = show(&mut site.tune("shop.py", "--users 10 --spawn-rate 5 --pairs 0 --backend-time 10m"));
    assert_eq!(shown.code, Some(1), "{}", shown.story());
    let verdict = site.verdict();
    assert_eq!((verdict.trials[0].finished, verdict.trials[0].failed), (0, 0), "{}", shown.story());
    let broke = verdict.trials[0].broke.as_ref().unwrap();
    assert!(broke.waiting.is_some_and(|waiting| waiting.count >= 3), "{}", shown.story());
    assert_eq!(broke.connections, None, "Locust tells of none");
    assert!(shown.stdout.contains("requests had no answer after 10 s"), "{}", shown.story());
}

#[test]
fn a_worker_without_time_left_is_no_limit_of_the_server() {
    let _machine = machine();
    let site = Site::new();
    fs::write(site.file("busy.py"), SHOP.replace("    wait_time = constant(0.1)\n", "")).unwrap();
    let shown = show(&mut site.tune("busy.py", "--users 100 --spawn-rate 50 --pairs 0 --backend-time 0ms"));
    assert_eq!(shown.code, Some(4), "{}", shown.story());
    assert!(shown.stdout.contains("a worker of Locust used or waited for"), "{}", shown.story());
    let again = show(genkai("report --csv load.csv").arg(site.out()).current_dir(site.dir.path()));
    assert!(again.code == Some(2) && again.stderr.contains("Locust made the load"), "{}", again.story());
}

#[test]
fn workers_that_others_start_make_the_load() {
    let _machine = machine();
    let site = Site::new();
    let [port] = free();
    let join = |file: &str| {
        let mut command = Command::new(locust());
        command.arg("-f").arg(site.file(file)).args(["--worker", "--master-host", "127.0.0.1", "--master-port"]);
        let worker = command.arg(port.to_string()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Worker(worker.spawn().unwrap())
    };
    let words = format!("--users 6 --spawn-rate 6 --locust-bind 127.0.0.1:{port} --locust-workers 2");
    {
        let mut workers = [join("shop.py"), join("shop.py")];
        let shown = show(&mut site.tune("shop.py", &words));
        assert_eq!(shown.code, Some(0), "{}", shown.story());
        assert_eq!(site.record().trials[0].ticks.last().unwrap().level, 6.0);
        for worker in &mut workers {
            wait(&mut worker.0, Duration::from_secs(30));
        }
    }
    let refused = |text: &str| {
        let shown = show(&mut site.tune("shop.py", &format!("{words} --keep")));
        assert_eq!(shown.code, Some(3), "{}", shown.story());
        assert!(shown.stderr.contains(text), "{}", shown.story());
    };
    {
        let _other = [join("shop.py"), join("wrong.py")];
        refused("has the user classes Wrong, and ");
    }
    {
        // What a worker of Locust 1 says first, said by the library that Locust itself speaks with.
        let says = format!(
            "import msgpack, time, zmq\ns = zmq.Context().socket(zmq.DEALER)\ns.setsockopt(zmq.IDENTITY, b'old')\ns.connect('tcp://127.0.0.1:{port}')\n\
             while True:\n    s.send(msgpack.dumps(('client_ready', '1.6.0', 'old')))\n    time.sleep(0.2)\n"
        );
        let mut command = Command::new(locust().with_file_name("python"));
        let _old = Worker(command.args(["-c", &says]).stdin(Stdio::null()).spawn().unwrap());
        refused("old is a worker of Locust 1.6.0, which speaks another protocol");
    }
    let _taken = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    refused(&format!("cannot listen for Locust workers at 127.0.0.1:{port}: "));
}

/// A worker that the test starts.
struct Worker(Child);

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
