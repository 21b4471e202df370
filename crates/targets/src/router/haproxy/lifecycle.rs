//! Find, check, start, ready, observe, disturb, stop.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::event::{ServerState, State};
use genkai_model::rooms::RouterReport;

use super::config;
use super::evidence::{self, Sessions};
use super::settings::{Settings, descriptors};
use crate::error::TargetError;
use crate::haproxy::CALLED;
use crate::haproxy::evidence::{Names, SUBJECT, Stat, sample};
use crate::haproxy::lifecycle::{find, port_taken};
use crate::product::{LONGEST, Program};
use crate::socket;
use genkai_place::observation::Observation;
use genkai_place::oneshot::finish;
use genkai_place::process::{Child, Signal, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::tail::Tail;
use genkai_place::usage::Tree;
use genkai_place::{PlaceError, port, process_tree, ready};

/// It binds sockets and answers; anything near this long is a fault.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long it has to end when asked to.
const GRACE: Duration = Duration::from_secs(1);

/// An HAProxy whose program was found. It can be started, any number of times, one at a time.
#[derive(Clone, Debug)]
pub struct Prepared {
    binary: Program,
    settings: Settings,
}

impl Prepared {
    /// Finds the program and asks for its version; what it prints goes to `dir`.
    ///
    /// # Errors
    /// When it is not installed, or does not say its version.
    pub fn find(settings: Settings, dir: &Path) -> Result<Prepared, TargetError> {
        Ok(Prepared { binary: find(None, dir)?, settings })
    }

    /// Its version, e.g. `2.6.12`.
    pub fn version(&self) -> &str {
        self.binary.version()
    }

    /// Starts it before `nodes` on a free port of loopback, its files in `dir`, and waits until it accepts. Its configuration is
    /// checked by HAProxy itself first.
    ///
    /// # Errors
    /// When it refuses its configuration or does not start; the message carries its last words.
    pub fn start(&self, nodes: &[SocketAddr], cpus: Option<&[usize]>, dir: &Path) -> Result<Running, TargetError> {
        let socket = Scratch::short("genkai-haproxy-").map_err(files("no folder"))?;
        let site = || {
            let port = port::free().map_err(files("no free port"))?;
            self.site(SocketAddr::from(([127, 0, 0, 1], port)), nodes, socket.path(), dir)
        };
        let start = |site: &Site| Ok((self.launch(site, cpus)?, site.clone()));
        let (child, site) = process_tree::started(SUBJECT, site()?, start, port_taken, |_| site())?;
        Ok(Running::new(child, self.clone(), site, cpus, socket))
    }

    /// Writes the files and has HAProxy check them.
    fn site(&self, address: SocketAddr, nodes: &[SocketAddr], socket: &Path, dir: &Path) -> Result<Site, TargetError> {
        let dir = dir.canonicalize().map_err(files("its folder"))?;
        let site = Site {
            address,
            config: dir.join("haproxy.cfg"),
            log: dir.join("haproxy.log"),
            socket: socket.join("stats"),
        };
        let refusal = dir.join("503.http");
        let places = config::Places { listen: address, socket: &site.socket, refusal: &refusal };
        let write = |path: &Path, text: &str| fs::write(path, text).map_err(files(path.display().to_string()));
        write(&refusal, &config::refusal(&self.settings))?;
        write(&site.config, &config::render(&self.settings, nodes, &places))?;
        let mut command = Command::new(self.binary.path());
        command.arg("-c").arg("-f").arg(&site.config);
        let checked = finish(command, spawn("haproxy -c", &dir.join("haproxy-check.txt")), LONGEST)?;
        if checked.status.success() { Ok(site) } else { Err(refused(&checked.text)) }
    }

    fn launch(&self, site: &Site, cpus: Option<&[usize]>) -> Result<Child, PlaceError> {
        let mut command = Command::new(self.binary.path());
        // In the foreground: the guard's child is the process that serves.
        command.arg("-db").arg("-f").arg(&site.config);
        let nofile = Some(descriptors(self.settings.maxconn));
        let spawn = Spawn { cpus: cpus.map(<[usize]>::to_vec), nofile, ..spawn(SUBJECT, &site.log) };
        let mut child = Child::spawn(command, spawn)?;
        // It has bound all its sockets before it serves the one that tells who it is.
        let is_it = |pid| process(&socket::ask(&site.socket, "show info").unwrap_or_default()) == Some(pid);
        ready::own(site.address, READY_WITHIN, &mut child, is_it)?;
        Ok(child)
    }
}

/// HAProxy refuses what genkai has written.
fn refused(said: &str) -> TargetError {
    TargetError::machine(CALLED, format!("HAProxy does not accept the configuration:\n{}", said.trim()))
}

/// For an I/O error on `what`.
fn files(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> TargetError {
    let what = what.into();
    move |source| TargetError::machine(CALLED, format!("haproxy: {what}: {source}"))
}

/// The sections that are looked at.
fn names() -> Names {
    Names { front: config::FRONTEND.to_owned(), back: config::BACKEND.to_owned() }
}

fn spawn(name: &str, log: &Path) -> Spawn {
    Spawn { name: name.to_owned(), log: Some(log.to_owned()), ..Spawn::default() }
}

/// Where the parts of a started one are.
#[derive(Clone, Debug)]
struct Site {
    address: SocketAddr,
    config: PathBuf,
    log: PathBuf,
    socket: PathBuf,
}

/// The process that answered `show info`.
fn process(info: &str) -> Option<u32> {
    info.lines().find_map(|line| line.strip_prefix("Pid: "))?.trim().parse().ok()
}

/// A running HAProxy. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    prepared: Prepared,
    site: Site,
    cpus: Option<Vec<usize>>,
    tree: Tree,
    tail: Tail,
    sessions: Sessions,
    dead: bool,
    /// It stands still, on purpose: it answers nobody.
    frozen: bool,
    /// Statistics of those processes of it that were killed on purpose.
    before: Stat,
    _socket: Scratch,
}

impl Running {
    fn new(child: Child, prepared: Prepared, site: Site, cpus: Option<&[usize]>, socket: Scratch) -> Running {
        let (tree, tail) = (Tree::new(child.pid()), Tail::open(&site.log));
        let (cpus, sessions) = (cpus.map(<[usize]>::to_vec), Sessions::default());
        let before = Stat::default();
        Running {
            child,
            prepared,
            site,
            cpus,
            tree,
            tail,
            sessions,
            dead: false,
            frozen: false,
            before,
            _socket: socket,
        }
    }

    /// The listener that the load goes to.
    pub fn address(&self) -> SocketAddr {
        self.site.address
    }

    /// Looks at it: its statistics, what its process consumes, new lines of its log.
    pub fn observe(&mut self) -> Observation {
        let logs = self.sessions.take(&self.tail.lines());
        let mut seen = Observation { logs, ..Observation::default() };
        match self.child.try_exited() {
            None => {
                let stat = Stat::read(&self.ask("show stat").unwrap_or_default());
                let info = self.ask("show info").unwrap_or_default();
                seen.samples.push(sample(&info, &stat, &names(), &self.tree.sample()));
            }
            Some(status) if !self.dead => {
                self.dead = true;
                let (subject, detail) = (SUBJECT.to_owned(), Some(status.to_string()));
                seen.states.push(State { subject, state: ServerState::Died, detail });
            }
            Some(_) => {}
        }
        seen
    }

    /// What it tells after a load.
    pub fn report(&mut self) -> RouterReport {
        self.sessions.take(&self.tail.lines());
        let stat = self.stat();
        RouterReport {
            product: SUBJECT.to_owned(),
            version: self.prepared.version().to_owned(),
            nodes: evidence::nodes(&stat),
            queue_peak: evidence::queue_peak(&stat),
            refused: self.sessions.refused(),
            ended: self.sessions.ended.clone(),
            resets_us: Vec::new(),
        }
    }

    /// Lets it stand still: a fault on purpose. What is sent to it from now on waits in its sockets.
    pub fn freeze(&mut self) {
        self.before = self.stat();
        self.frozen = true;
        self.child.signal(Signal::SIGSTOP);
    }

    /// Kills it, so that what waits in it is lost and all its connections are reset, and starts it anew at the same address.
    ///
    /// # Errors
    /// When it does not start again.
    pub fn reset(&mut self) -> Result<(), TargetError> {
        if !self.frozen {
            self.before = self.stat();
        }
        self.child.stop(Signal::SIGKILL, Duration::ZERO);
        self.child = self.prepared.launch(&self.site, self.cpus.as_deref())?;
        self.tree = Tree::new(self.child.pid());
        self.frozen = false;
        Ok(())
    }

    /// Asks it, unless it stands still.
    fn ask(&self, command: &str) -> Option<String> {
        if self.frozen { None } else { socket::ask(&self.site.socket, command) }
    }

    /// Its statistics since it was first started. One that was killed took its own along: they were asked for before.
    fn stat(&self) -> Stat {
        Stat::read(&self.ask("show stat").unwrap_or_default()).after(&self.before)
    }

    /// Ends it.
    pub fn stop(mut self) {
        self.child.stop(Signal::SIGTERM, GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_answers_says_who_it_is() {
        assert_eq!(process("Name: HAProxy\nPid: 4711\nUptime: 0d 0h00m00s\n"), Some(4711));
        assert_eq!(process(""), None);
    }
}
