//! Where worker processes are started: here, or through ssh. From then on nobody asks which it is.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command};
use std::sync::mpsc::Sender;
use std::thread;

use genkai_engine::Start;
use genkai_model::load::Way;
use genkai_place::machine;
use genkai_place::process::{Child, Spawn};
use genkai_place::ssh::{Delivered, Ssh};

use super::protocol::{Said, read};
use crate::error::LabError;

/// What is heard of a worker.
pub(super) enum Heard {
    /// What it said, and our clock when it was read, nanoseconds.
    Said(Said, i64),
    /// Nothing more will be: why, if it is known.
    Gone(Option<String>),
}

/// Whoever hears workers: number of the process, what was heard.
pub(super) type Listener = Sender<(usize, Heard)>;

/// Our program on the machines of a load, for as long as this is kept.
pub(super) struct Workplaces {
    program: PathBuf,
    logs: tempfile::TempDir,
    hosts: BTreeMap<String, Delivered>,
}

impl Workplaces {
    /// Sees to it that `program` can be run wherever these lead, on all machines at once.
    ///
    /// # Errors
    /// When a machine cannot be had: each of those is named with its reason.
    pub(super) fn open<'a>(program: &Path, ways: impl Iterator<Item = &'a Way>) -> Result<Workplaces, LabError> {
        let logs = tempfile::Builder::new()
            .prefix("genkai-workers-")
            .tempdir()
            .map_err(LabError::folder(std::env::temp_dir()))?;
        let hosts: BTreeMap<String, Ssh> = ways.filter_map(ssh).map(|one| (one.host.clone(), one)).collect();
        let all: Vec<_> = thread::scope(|scope| {
            let deliver = |one: &Ssh| one.deliver(program, logs.path());
            let each: Vec<_> = hosts.values().map(|one| (one, scope.spawn(move || deliver(one)))).collect();
            each.into_iter().map(|(one, thread)| (one, thread.join())).collect()
        });
        let (mut hosts, mut missing) = (BTreeMap::new(), Vec::new());
        for (one, delivered) in all {
            match delivered {
                Ok(Ok(delivered)) => drop(hosts.insert(one.host.clone(), delivered)),
                Ok(Err(e)) => missing.push(e.to_string()),
                Err(_) => missing.push(format!("{}: a thread of genkai's ended; this is a bug in genkai", one.host)),
            }
        }
        if !missing.is_empty() {
            return Err(LabError::Environment(format!("no load was sent: {}", missing.join("\nand "))));
        }
        Ok(Workplaces { program: program.to_owned(), logs, hosts })
    }

    /// Starts worker process `n` and has `listener` hear it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(&self, n: usize, way: &Way, listener: &Listener) -> Result<(Child, ChildStdin), LabError> {
        let (command, nofile) = match ssh(way) {
            None => {
                let mut command = Command::new(&self.program);
                command.arg("worker");
                (command, Some(machine::hard_descriptors()))
            }
            Some(ssh) => {
                let program = self.hosts.get(&ssh.host).map_or("genkai", |one| one.program.as_str());
                (ssh.run(&format!("exec \"{program}\" worker")), None)
            }
        };
        let log = self.logs.path().join(format!("worker-{n}.log"));
        let spawn = Spawn { name: format!("worker process {}", n + 1), log: Some(log), nofile, ..Spawn::default() };
        let mut child = Child::conversing(command, spawn)?;
        let (Some(orders), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(LabError::Environment("a worker process without pipes".to_owned()));
        };
        listen(n, output, listener.clone())?;
        Ok((child, orders))
    }
}

/// The ssh of a way that leads through it.
fn ssh(way: &Way) -> Option<Ssh> {
    match way {
        Way::Here => None,
        Way::Ssh { command, host } => Some(Ssh { command: command.clone(), host: host.clone() }),
    }
}

/// Reads what a worker says on a thread of its own, until it says nothing more or nobody listens.
fn listen(n: usize, output: ChildStdout, listener: Listener) -> Result<(), LabError> {
    let listen = move || {
        let mut output = BufReader::new(output);
        let why = loop {
            match read::<Said>(&mut output) {
                Ok(Some(said)) => {
                    let heard = Heard::Said(said, Start::now().0);
                    if listener.send((n, heard)).is_err() {
                        return;
                    }
                }
                Ok(None) => break None,
                Err(e) => break Some(e.to_string()),
            }
        };
        let _ = listener.send((n, Heard::Gone(why)));
    };
    let thread = thread::Builder::new().name(format!("worker-{n}")).spawn(listen);
    thread.map(drop).map_err(|e| LabError::Environment(format!("cannot start a thread: {e}")))
}
