//! Where worker processes are started: here, through ssh, in containers, or in pods. From then on nobody asks which it is.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command};
use std::thread;
use std::time::Duration;

use genkai_engine::{Start, StopFlag, TooLarge};
use genkai_model::load::{ContainerPlace, Load, Scale, Way};
use genkai_model::locust::Locust;
use genkai_place::machine;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::ssh::{Delivered, Ssh};

use super::listener::{FromWorker, Listener};
use super::locust::Master;
use super::process::{Orders, Process};
use super::protocol::{Report, harmless, read};
use super::range;
use super::room::Room;
use super::seat::Pods;
use crate::error::LabError;

/// Our program on the machines of a load, for as long as this is kept: for all loads of a run.
#[derive(Debug)]
pub struct Workplaces {
    program: PathBuf,
    /// What processes say besides what they are asked; none where genkai's own process makes the load.
    logs: Option<Scratch>,
    hosts: BTreeMap<String, Delivered>,
    pods: Pods,
    /// Locust's workers, where Locust makes the loads.
    master: Option<Master>,
    /// What other machines have.
    pub(super) rooms: Vec<(Way, Room)>,
}

impl Workplaces {
    /// Sees to it that `program` can be run wherever `scale` leads, on all machines at once, for so long at most.
    ///
    /// # Errors
    /// When a machine cannot be had: each of those is named with its reason. When `stop` is set before all are.
    pub(super) fn reached(
        program: &Path,
        scale: &Scale,
        lasts: Duration,
        stop: &StopFlag,
    ) -> Result<Workplaces, LabError> {
        let mut places = Workplaces::here(program, scale)?;
        let Some(logs) = &places.logs else { return Ok(places) };
        let hosts: BTreeMap<String, Ssh> = scale.ways().filter_map(ssh).map(|one| (one.host.clone(), one)).collect();
        let all: Vec<_> = thread::scope(|scope| {
            let deliver = |one: &Ssh| one.deliver(program, logs.path(), &|| stop.is_stopped());
            let each: Vec<_> = hosts.values().map(|one| (one, scope.spawn(move || deliver(one)))).collect();
            each.into_iter().map(|(one, thread)| (one, thread.join())).collect()
        });
        let mut missing = Vec::new();
        for (one, delivered) in all {
            match delivered {
                Ok(Ok(Some(delivered))) => drop(places.hosts.insert(one.host.clone(), delivered)),
                Ok(Ok(None)) => return Err(LabError::Interrupted),
                Ok(Err(e)) => missing.push(e.to_string()),
                Err(_) => missing.push(format!("{}: a thread of genkai's ended; this is a bug in genkai", one.host)),
            }
        }
        if stop.is_stopped() {
            return Err(LabError::Interrupted);
        }
        if !missing.is_empty() {
            return Err(LabError::Environment(format!("no load was sent: {}", missing.join("\nand "))));
        }
        places.pods = Pods::reached(scale, lasts, stop)?;
        Ok(places)
    }

    /// Only this machine, whatever `scale` says of others.
    ///
    /// # Errors
    /// When the folder for what worker processes say cannot be made.
    pub(crate) fn here(program: &Path, scale: &Scale) -> Result<Workplaces, LabError> {
        let logs = || Scratch::short("genkai-workers-").map_err(LabError::folder(std::env::temp_dir()));
        let logs = (scale.processes > 1 || scale.is_spread()).then(logs).transpose()?;
        Ok(Workplaces {
            program: program.to_owned(),
            logs,
            hosts: BTreeMap::new(),
            pods: Pods::default(),
            master: None,
            rooms: Vec::new(),
        })
    }

    /// Has Locust's workers ready, where the plan is that they make the loads; on these cores where they are started here.
    ///
    /// # Errors
    /// When they do not come, or `stop` is set before.
    pub(crate) fn with_locust(
        mut self,
        locust: Option<&Locust>,
        cpus: Option<&[usize]>,
        stop: &StopFlag,
    ) -> Result<Workplaces, LabError> {
        self.master = locust.map(|locust| Master::open(locust, cpus, stop)).transpose()?;
        Ok(self)
    }

    /// The master of Locust's workers.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn master(&self) -> Result<&Master, LabError> {
        let none = || LabError::Plan("Locust makes loads for `genkai tune` only".to_owned());
        self.master.as_ref().ok_or_else(none)
    }

    /// Whether `load` goes to one server from all machines, and fits each of them.
    ///
    /// # Errors
    /// When it does not.
    pub(crate) fn check(&self, load: &Load) -> Result<(), LabError> {
        for (way, room) in &self.rooms {
            room.reach(load, way.name())?;
        }
        self.fit(load).map_err(|e| LabError::Environment(e.to_string()))
    }

    /// Whether `load` fits each of the other machines.
    ///
    /// # Errors
    /// When it does not, with the largest that does and the reason of each machine.
    pub(crate) fn fit(&self, load: &Load) -> Result<(), TooLarge> {
        let all = self.rooms.iter().filter_map(|(way, room)| room.fit(load, way).err());
        all.reduce(|one, other| TooLarge {
            largest: one.largest.min(other.largest),
            limited_by: if other.largest < one.largest { other.limited_by } else { one.limited_by },
            limit: format!("{}; {}", one.limit, other.limit),
            hint: format!("{}; and {}", one.hint, other.hint),
            ..one
        })
        .map_or(Ok(()), Err)
    }

    /// How many addresses a load comes from that other machines make, and this one where it is `here`; the fewest ports that one of them
    /// has. A machine that has several names is one.
    pub(super) fn sources(&self, here: bool) -> (u32, u32) {
        let mut ports = BTreeMap::from_iter(self.rooms.iter().map(|(_, room)| room.address()));
        if here {
            ports.insert(Room::our_network(), range(machine::local_ports()));
        }
        (ports.len() as u32, ports.into_values().min().unwrap_or(0))
    }

    /// Starts worker process `n` and has `listener` hear it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn start(&self, n: usize, way: &Way, listener: &Listener) -> Result<(Process, Orders), LabError> {
        if let Way::Pod { cluster, index, name } = way {
            let none = || LabError::Environment(format!("{name}: there is no such pod; this is a bug in genkai"));
            let seat = self.pods.seat(cluster, *index).ok_or_else(none)?;
            seat.begin(n, listener);
            return Ok((Process::Pod(seat.clone()), Orders::Pod(seat.clone())));
        }
        let (command, nofile) = match ssh(way) {
            None if let Way::Container { place, .. } = way => (contained(place), None),
            None => {
                let mut command = Command::new(&self.program);
                command.arg("worker");
                (command, Some(machine::hard_descriptors()))
            }
            Some(ssh) => {
                let program = self.hosts.get(&ssh.host).map_or("genkai", |one| one.program.as_str());
                (ssh.start(program, "worker"), None)
            }
        };
        let log = self.logs.as_ref().map(|logs| logs.path().join(format!("worker-{n}.log")));
        let spawn = Spawn { name: format!("worker process {}", n + 1), log, nofile, ..Spawn::default() };
        let mut child = Child::conversing(command, spawn)?;
        let (Some(orders), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(LabError::Environment("a worker process without pipes".to_owned()));
        };
        listen(n, output, listener.clone())?;
        Ok((Process::Child(child), Orders::Pipe(orders)))
    }
}

/// The ssh of a way that leads through it.
fn ssh(way: &Way) -> Option<Ssh> {
    match way {
        Way::Here | Way::Pod { .. } | Way::Container { .. } => None,
        Way::Ssh { command, host } => Some(Ssh { command: command.clone(), host: host.clone() }),
    }
}

/// The command that starts a worker in a container, which is gone at its end: without root's rights, and without a place to write to.
fn contained(place: &ContainerPlace) -> Command {
    let mut command = Command::new(place.command.first().map_or("podman", String::as_str));
    command.args(place.command.iter().skip(1));
    command.args(["run", "--rm", "--interactive", "--read-only", "--cap-drop=all", "--security-opt=no-new-privileges"]);
    command.args(place.network.iter().map(|one| format!("--network={one}")));
    command.args(place.cpus.iter().map(|one| format!("--cpus={one}")));
    command.args(place.memory.iter().map(|one| format!("--memory={one}")));
    command.arg("--entrypoint=/genkai").arg(&place.image).arg("worker");
    command
}

/// Reads past what a login script printed before a worker's first line.
fn past_banner(output: &mut impl BufRead) -> io::Result<()> {
    const FIRST: &[u8] = b"{\"said\":";
    loop {
        let next = output.fill_buf()?;
        let length = next.len().min(FIRST.len());
        if next[..length] == FIRST[..length] {
            return Ok(());
        }
        output.read_until(b'\n', &mut Vec::new())?;
    }
}

/// Reads what a worker says on a thread of its own, until it says nothing more or nobody listens.
fn listen(n: usize, output: ChildStdout, listener: Listener) -> Result<(), LabError> {
    let listen = move || {
        let mut output = BufReader::new(output);
        let banner = past_banner(&mut output);
        let why = loop {
            if let Err(e) = &banner {
                break Some(e.to_string());
            }
            match read::<Report>(&mut output) {
                Ok(Some(said)) => {
                    let heard = FromWorker::Message(said.harmless(), Start::now().0);
                    if listener.send((n, heard)).is_err() {
                        return;
                    }
                }
                Ok(None) => break None,
                Err(e) => break Some(harmless(&e.to_string())),
            }
        };
        let _ = listener.send((n, FromWorker::Gone(why)));
    };
    let thread = thread::Builder::new().name(format!("worker-{n}")).spawn(listen);
    thread.map(drop).map_err(|e| LabError::Environment(format!("cannot start a thread: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_the_greeting_is_passed_over() {
        for banner in ["", "\n", "Welcome to load1\n{\"a\":1}\n\n", "\u{1b}[2J\n"] {
            let text = format!("{banner}{{\"said\":\"ready\"}}\n");
            let mut output = text.as_bytes();
            past_banner(&mut output).unwrap();
            assert!(matches!(read::<Report>(&mut output).unwrap(), Some(Report::Ready)), "{banner}");
        }
        let mut nothing = &b"closed for today"[..];
        past_banner(&mut nothing).unwrap();
        assert!(read::<Report>(&mut nothing).unwrap().is_none());
    }
}
