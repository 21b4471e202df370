//! Runs the real binary in fresh folders and reads what it leaves.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod checked;
pub mod judged;
pub mod lan;
pub mod loads;
pub mod perturbed;
pub mod recorded;
pub mod servers;
pub mod sources;
pub mod ssh;
pub mod words;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use genkai_model::finding::Verdict;
use genkai_model::record::Record;

/// Load tests disturb each other; one at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// Takes the machine for one load test.
pub fn machine() -> MutexGuard<'static, ()> {
    MACHINE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The binary with its arguments, split at spaces (quote-free).
pub fn genkai(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_genkai"));
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).env_remove("NO_COLOR");
    command
}

/// Whether a text stands in any file below a folder.
pub fn holds(dir: &Path, text: &str) -> bool {
    std::fs::read_dir(dir).unwrap().flatten().any(|entry| match entry.file_type().unwrap().is_dir() {
        true => holds(&entry.path(), text),
        false => String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap()).contains(text),
    })
}

/// A finished run.
pub struct Run {
    /// Exit code.
    pub code: Option<i32>,
    /// What was printed.
    pub stdout: String,
    /// What was said.
    pub stderr: String,
    /// The run folder.
    pub out: PathBuf,
    _dir: tempfile::TempDir,
}

impl Run {
    /// The verdict, read back through its type.
    pub fn verdict(&self) -> Verdict {
        let text = std::fs::read_to_string(self.out.join("verdict.json"))
            .unwrap_or_else(|e| panic!("verdict.json: {e}\n{}\n{}", self.stdout, self.stderr));
        serde_json::from_str(&text).unwrap()
    }

    /// The record.
    pub fn record(&self) -> Record {
        let text = std::fs::read_to_string(self.out.join("run.jsonl")).unwrap();
        Record::read(text.lines()).unwrap()
    }

    /// The verdict's sentences, the answer first.
    pub fn says(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.out.join("verdict.json")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(value["says"].clone()).unwrap()
    }

    /// Everything a failed assertion should show.
    pub fn story(&self) -> String {
        let verdict = std::fs::read_to_string(self.out.join("verdict.json")).unwrap_or_default();
        let verdict = verdict.chars().take(6000).collect::<String>();
        format!("exit {:?}\nstdout:\n{}\nstderr:\n{}\nverdict:\n{verdict}", self.code, self.stdout, self.stderr)
    }
}

/// Runs to the end, with a run folder of its own.
pub fn run(command: &Command) -> Run {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    // A copy, so that the same command can be run again.
    let mut copy = Command::new(command.get_program());
    // What stands behind `--` is no flag of ours.
    let words: Vec<_> = command.get_args().collect();
    let flags = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    copy.args(&words[..flags]).arg("--out").arg(&out).args(&words[flags..]).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    let output = finish(&mut copy, Duration::from_secs(180));
    Run {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        out,
        _dir: dir,
    }
}

/// Runs to the end; a run that takes longer than `longest` is a failure of the test.
pub fn finish(command: &mut Command, longest: Duration) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match receiver.recv_timeout(longest) {
        Ok(output) => {
            checked::follows(command);
            output.unwrap()
        }
        Err(_) => {
            signal(pid, "KILL");
            panic!("{command:?} did not end within {longest:?}");
        }
    }
}

/// Sends a signal to one process.
pub fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap();
    assert!(status.success(), "kill -{name} {pid}");
}

/// Waits for a child, at most `longest`.
pub fn wait(child: &mut Child, longest: Duration) -> ExitStatus {
    let deadline = Instant::now() + longest;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        assert!(Instant::now() < deadline, "the process did not end within {longest:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until `done` gives something, at most `longest`.
pub fn until<T>(what: &str, longest: Duration, mut done: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + longest;
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(Instant::now() < deadline, "{what}: not within {longest:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until more than half of the machine is idle for a second, at most a minute: then whoever waits goes on as it is.
pub fn quiet() {
    let idle = || {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let ticks: Vec<u64> = text.lines().next().unwrap().split_whitespace().skip(1).flat_map(str::parse).collect();
        (ticks[3], ticks[..8].iter().sum::<u64>())
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let before = idle();
        std::thread::sleep(Duration::from_secs(1));
        let after = idle();
        if (after.0 - before.0) * 2 > after.1 - before.1 {
            return;
        }
    }
}

/// Processes whose command line contains `text` (a run folder's path), other than this one: pid and command line.
pub fn processes_with(text: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        let Ok(raw) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let line = String::from_utf8_lossy(&raw).replace('\0', " ");
        if line.contains(text) && pid != std::process::id() {
            found.push((pid, line));
        }
    }
    found
}

/// Children of a process, at any depth.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut front = vec![pid];
    while let Some(parent) = front.pop() {
        let path = format!("/proc/{parent}/task");
        for task in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|c| c.parse().ok()) {
                all.push(child);
                front.push(child);
            }
        }
    }
    all
}

/// Asserts that none of these processes lives on.
pub fn all_gone(pids: &[u32]) {
    until("left running", Duration::from_secs(10), || {
        pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists() || zombie(*pid)).then_some(())
    });
}

fn zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}
