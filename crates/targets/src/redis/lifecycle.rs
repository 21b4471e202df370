//! Find, start, ready, observe, disturb, stop.

use std::cell::Cell;
use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::limit::Limit;

use super::line::Line;
use super::{CALLED, evidence, given, limits};
use crate::error::TargetError;
use genkai_place::caps::Machine;
use genkai_place::observation::Observation;
use genkai_place::process::{Child, Spawn};
use genkai_place::tail::Tail;
use genkai_place::usage::Tree;
use genkai_place::{PlaceError, machine, port, process_tree, program, ready};

/// What messages call it.
const NAME: &str = "redis";
/// An empty Redis is up in some milliseconds.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Most connections that a fault on purpose takes.
const CROWD: usize = 1000;
/// How often one tries to be faster than subscribers that come back.
const TRIES: u32 = 50;

/// A running Redis. Dropping it ends it.
#[derive(Debug)]
pub struct Redis {
    child: Child,
    address: SocketAddr,
    line: Option<Line>,
    /// Connections that are there to take places from others.
    crowd: Vec<Line>,
    tree: Tree,
    tail: Tail,
}

impl Redis {
    /// Starts a private Redis on a free port of loopback, its files in `dir`, without persistence, with Redis's own defaults
    /// otherwise but for `config`, further lines of its configuration.
    ///
    /// # Errors
    /// When it is not installed or does not start, or when a line is one that [`super::check`] refuses.
    pub fn start(config: &[String], cpus: Option<&[usize]>, dir: &Path) -> Result<Redis, TargetError> {
        given::check(config)?;
        let program = find().ok_or_else(missing)?;
        let free = || port::free().map_err(|e| TargetError::machine(CALLED, format!("no free port for redis: {e}")));
        let start = |port: &u16| Redis::start_on(&program, *port, config, cpus, dir);
        process_tree::started(NAME, free()?, start, port_taken, |_| free()).map(|(redis, _)| redis)
    }

    fn start_on(
        program: &Path,
        port: u16,
        config: &[String],
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Redis, PlaceError> {
        let log = dir.join("redis.log");
        let mut command = Command::new(program);
        let port_text = port.to_string();
        let own =
            [("bind", "127.0.0.1"), ("port", &*port_text), ("save", ""), ("appendonly", "no"), ("daemonize", "no")];
        for (name, value) in own {
            command.arg(format!("--{name}")).arg(value);
        }
        for line in config {
            let mut words = line.split(' ');
            command.arg(format!("--{}", words.next().unwrap_or_default())).args(words);
        }
        command.arg("--dir").arg(dir);
        let spawn = Spawn {
            name: NAME.to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(log.clone()),
            nofile: Some(machine::hard_descriptors()),
            user: None,
        };
        let tail = Tail::open(&log);
        let mut child = Child::spawn(command, spawn)?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let opened = Cell::new(None);
        let is_it = |pid| {
            let mut line = Line::open(address).ok();
            let own = process(&line.as_mut().and_then(|line| line.ask("INFO server")).unwrap_or_default()) == Some(pid);
            opened.set(line.filter(|_| own));
            own
        };
        ready::own(address, READY_WITHIN, &mut child, is_it)?;
        let tree = Tree::new(child.pid());
        Ok(Redis { child, address, line: opened.into_inner(), crowd: Vec::new(), tree, tail })
    }

    /// Where it listens, as a URL.
    pub fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// Looks at it: `INFO`, what its process consumes, its log.
    pub fn observe(&mut self) -> Observation {
        let logs = self.tail.lines().iter().filter_map(|line| evidence::log(line)).collect();
        let info = self.ask("INFO").unwrap_or_default();
        let tree = &mut self.tree;
        let seen = Observation::of(&mut self.child, NAME, "", || evidence::sample(&info, &tree.sample()));
        Observation { logs, ..seen }
    }

    /// The limits of a Redis that runs on these lines beside its defaults on a machine with so much memory: those whose signs are
    /// seen by [`Redis::observe`].
    ///
    /// # Errors
    /// When they are not Redis's syntax.
    pub fn limits(config: &[String], machine: &Machine, memory: u64) -> Result<Vec<Limit>, TargetError> {
        Ok(limits::of_lines(config, machine, memory)?)
    }

    /// Why a node did not start, where Redis refused its connections since there were as many clients as may be.
    pub fn full(&mut self, node: &impl Display) -> Option<TargetError> {
        let seen = self.observe();
        let refused =
            seen.samples.iter().find_map(|sample| sample.metrics.get(evidence::REJECTED)).filter(|n| **n >= 1.0)?;
        let what =
            format!("redis refused {refused} connections of nodes: as many clients as maxclients allows were there");
        let why =
            format!("its rejected_connections rose from 0 to {refused}); a node has two connections, and genkai one");
        let hint = "--redis-set maxclients=N with a larger N, or fewer nodes";
        Some(TargetError::machine(CALLED, format!("{what} ({why}\n  hint: {hint}\n  the node: {node}")))
    }

    /// Closes the connections of all subscribers: a fault on purpose. Whether it was done.
    pub fn cut_subscribers(&mut self) -> bool {
        self.ask("CLIENT KILL TYPE pubsub").is_some_and(|answer| is_number(&answer))
    }

    /// The same, with others in the places of those that were closed: subscribers do not get back in. A fault on purpose. Whether it was
    /// done; it cannot be where more than a thousand places are left.
    pub fn crowd_out(&mut self) -> bool {
        (0..TRIES).any(|_| self.fill() && self.cut_subscribers() && self.fill() && self.subscribers() == Some(0))
    }

    /// Takes every place that is left for clients; whether all are taken.
    fn fill(&mut self) -> bool {
        while self.crowd.len() < CROWD {
            match Line::open(self.address).map(|mut line| (line.is_taken(), line)) {
                Ok((true, line)) => self.crowd.push(line),
                Ok((false, _)) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    /// How many subscribers there are now.
    fn subscribers(&mut self) -> Option<usize> {
        Some(self.ask("CLIENT LIST TYPE pubsub")?.lines().count())
    }

    /// The answer to a command, on the connection that has been there from the beginning.
    fn ask(&mut self, command: &str) -> Option<String> {
        let answer = self.line.as_mut().and_then(|line| line.ask(command));
        if answer.is_none() {
            self.line = Line::open(self.address).ok();
        }
        answer
    }
}

/// The process that answered `INFO`.
fn process(info: &str) -> Option<u32> {
    info.lines().find_map(|line| line.strip_prefix("process_id:"))?.trim().parse().ok()
}

/// Whether an answer is a number (RESP: `:N`), not an error (`-ERR ...`, `-NOAUTH ...`).
fn is_number(answer: &str) -> bool {
    answer.strip_prefix(':').is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Whether a line of its log says that its port is taken (server.c, `listenToPort`).
fn port_taken(line: &str) -> bool {
    line.contains("Address already in use")
}

/// It is not installed.
fn missing() -> TargetError {
    let what = "redis-server is not installed (not in PATH)";
    TargetError::missing(CALLED, format!("{what}: install it (Debian, Ubuntu: apt-get install redis-server)"))
}

/// The server's program.
fn find() -> Option<PathBuf> {
    program::find("redis-server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_answers_says_who_it_is() {
        assert_eq!(process("# Server\r\nredis_version:7.0.15\r\nprocess_id:4711\r\ntcp_port:1\r\n"), Some(4711));
        assert_eq!((process(""), process("process_id:x\r\n")), (None, None));
    }

    #[test]
    fn only_a_count_says_that_connections_were_closed() {
        assert!(is_number(":0") && is_number(":12"));
        assert!(!["-NOAUTH Authentication required.", "-ERR unknown", ":", ":x", "+OK", ""].into_iter().any(is_number));
    }

    #[test]
    fn only_a_taken_port_is_tried_again() {
        assert!(port_taken(
            "1:M # Warning: Could not create server TCP listening socket 127.0.0.1:1: bind: Address already in use"
        ));
        assert!(!port_taken("Bad directive or wrong number of arguments"));
        if find().is_none() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let error = Redis::start(&["no-such-directive 1".to_owned()], None, dir.path()).unwrap_err();
        assert!(error.is_exit(), "{error}");
        let held = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = held.local_addr().unwrap().port();
        let program = find().unwrap();
        let error = Redis::start_on(&program, port, &[], None, dir.path()).unwrap_err();
        let PlaceError::Exited { tail, .. } = &error else { panic!("{error}") };
        assert!(tail.lines().any(port_taken), "{tail}");
    }
}
