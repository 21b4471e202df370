//! Find, check, start, ready, observe, disturb, stop.

use std::fs;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use genkai_model::event::{ServerState, State};
use genkai_model::rooms::RouterReport;
use tempfile::TempDir;

use super::config;
use super::evidence::{self, SUBJECT, Sessions, Stat};
use super::settings::{Settings, descriptors};
use crate::local::finish::finish;
use crate::local::process::{Child, Signal, Spawn};
use crate::local::tail::Tail;
use crate::local::usage::Tree;
use crate::local::{LocalError, brood, port, ready};
use crate::observation::Observation;

/// A version and a check answer at once.
const ANSWER: Duration = Duration::from_secs(10);
/// It binds sockets and answers; anything near this long is a fault.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long it has to end when asked to.
const GRACE: Duration = Duration::from_secs(1);
/// Longest wait for an answer of the statistics socket.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read: a row of `show stat` has some hundred bytes.
const ANSWER_MAX: u64 = 4 << 20;

/// Why there is no HAProxy. One clear message each.
#[derive(Debug, thiserror::Error)]
pub enum HaproxyError {
    /// It is not installed.
    #[error(
        "haproxy is not installed: there is none in PATH or in /usr/sbin\n  hint: apt-get install haproxy, or --router none"
    )]
    Missing,
    /// A program called haproxy that is none.
    #[error("{} does not say that it is HAProxy (`haproxy -v` printed `{said}`)", path.display())]
    NotHaproxy {
        /// The program.
        path: PathBuf,
        /// What it printed.
        said: String,
    },
    /// It refuses its configuration.
    #[error("haproxy refuses its configuration: {0}")]
    Rejected(String),
    /// It cannot be started.
    #[error(transparent)]
    Local(#[from] LocalError),
    /// Its files cannot be written, or there is no port.
    #[error("haproxy: {what}: {source}")]
    Files {
        /// What failed.
        what: String,
        /// The system's words.
        source: io::Error,
    },
}

fn files(what: impl Into<String>) -> impl FnOnce(io::Error) -> HaproxyError {
    move |source| HaproxyError::Files { what: what.into(), source }
}

/// An HAProxy whose program was found. It can be started, any number of times, one at a time.
#[derive(Clone, Debug)]
pub struct Prepared {
    program: PathBuf,
    version: String,
    settings: Settings,
}

impl Prepared {
    /// Finds the program and asks for its version; what it prints goes to `dir`.
    ///
    /// # Errors
    /// When it is not installed, or does not say its version.
    pub fn find(settings: Settings, dir: &Path) -> Result<Prepared, HaproxyError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from));
        let program = folders.map(|folder| folder.join("haproxy")).find(|program| program.is_file());
        let program = program.ok_or(HaproxyError::Missing)?;
        let mut command = Command::new(&program);
        command.arg("-v");
        let said = finish(command, spawn("haproxy -v", &dir.join("haproxy-version.txt")), ANSWER)?.text;
        match version(&said) {
            Some(version) => Ok(Prepared { program, version, settings }),
            None => Err(HaproxyError::NotHaproxy { path: program, said: first_line(&said) }),
        }
    }

    /// Its version, e.g. `2.6.12`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Starts it before `nodes` on a free port of loopback, its files in `dir`, and waits until it accepts. Its configuration is
    /// checked by HAProxy itself first.
    ///
    /// # Errors
    /// When it refuses its configuration or does not start; the message carries its last words.
    pub fn start(&self, nodes: &[SocketAddr], cpus: Option<&[usize]>, dir: &Path) -> Result<Running, HaproxyError> {
        // In the folder for temporary files, because the path of a Unix socket has at most 107 bytes (unix(7)).
        let socket = tempfile::Builder::new().prefix("genkai-haproxy-").tempdir().map_err(files("no folder"))?;
        let site = || {
            let port = port::free().map_err(files("no free port"))?;
            self.site(SocketAddr::from(([127, 0, 0, 1], port)), nodes, socket.path(), dir)
        };
        let start = |site: &Site| Ok((self.launch(site, cpus)?, site.clone()));
        let (child, site) = brood::started(SUBJECT, site()?, start, port_taken, |_| site())?;
        Ok(Running::new(child, self.clone(), site, cpus, socket))
    }

    /// Writes the files and has HAProxy check them.
    fn site(&self, address: SocketAddr, nodes: &[SocketAddr], socket: &Path, dir: &Path) -> Result<Site, HaproxyError> {
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
        let mut command = Command::new(&self.program);
        command.arg("-c").arg("-f").arg(&site.config);
        let checked = finish(command, spawn("haproxy -c", &dir.join("haproxy-check.txt")), ANSWER)?;
        if checked.status.success() { Ok(site) } else { Err(HaproxyError::Rejected(checked.text.trim().to_owned())) }
    }

    fn launch(&self, site: &Site, cpus: Option<&[usize]>) -> Result<Child, LocalError> {
        let mut command = Command::new(&self.program);
        // In the foreground: the guard's child is the process that serves.
        command.arg("-db").arg("-f").arg(&site.config);
        let nofile = Some(descriptors(self.settings.maxconn));
        let spawn = Spawn { cpus: cpus.map(<[usize]>::to_vec), nofile, ..spawn(SUBJECT, &site.log) };
        let mut child = Child::spawn(command, spawn)?;
        // It has bound all its sockets before it serves the one that tells who it is.
        let is_it = |pid| process(&site.ask("show info").unwrap_or_default()) == Some(pid);
        ready::own(site.address, READY_WITHIN, &mut child, is_it)?;
        Ok(child)
    }
}

fn spawn(name: &str, log: &Path) -> Spawn {
    Spawn { name: name.to_owned(), log: Some(log.to_owned()), ..Spawn::default() }
}

/// `HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/` to `2.6.12`.
fn version(said: &str) -> Option<String> {
    let rest = said.split_once("HAProxy version ").or_else(|| said.split_once("HA-Proxy version "))?.1;
    let version: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    (!version.is_empty()).then_some(version)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// Where the parts of a started one are.
#[derive(Clone, Debug)]
struct Site {
    address: SocketAddr,
    config: PathBuf,
    log: PathBuf,
    socket: PathBuf,
}

impl Site {
    /// Sends a command to the statistics socket and gives the answer (management manual 9.3).
    fn ask(&self, command: &str) -> Option<String> {
        let mut stream = UnixStream::connect(&self.socket).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        stream.set_write_timeout(Some(PATIENCE)).ok()?;
        writeln!(stream, "{command}").ok()?;
        let mut answer = String::new();
        stream.take(ANSWER_MAX).read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

/// The process that answered `show info`.
fn process(info: &str) -> Option<u32> {
    info.lines().find_map(|line| line.strip_prefix("Pid: "))?.trim().parse().ok()
}

/// Whether a line of its log says that a port is taken (src/proto_tcp.c, `tcp_bind_listener`).
fn port_taken(line: &str) -> bool {
    line.contains("Address already in use") || line.contains("cannot bind socket")
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
    _socket: TempDir,
}

impl Running {
    fn new(child: Child, prepared: Prepared, site: Site, cpus: Option<&[usize]>, socket: TempDir) -> Running {
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
                seen.samples.push(evidence::sample(&info, &stat, &self.tree.sample()));
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
            version: self.prepared.version.clone(),
            nodes: stat.nodes(),
            queue_peak: stat.queue_peak(),
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
    pub fn reset(&mut self) -> Result<(), HaproxyError> {
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
        if self.frozen { None } else { self.site.ask(command) }
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
        assert!(port_taken(
            "[ALERT] (1) : Starting frontend in: cannot bind socket (Address already in use) [127.0.0.1:1]"
        ));
        assert!(!port_taken("[ALERT] (1) : config : parsing [haproxy.cfg:3]"));
    }

    #[test]
    fn versions_are_read() {
        let debian = "HAProxy version 2.6.12-1+deb12u4 2026/10/17 - https://haproxy.org/\nStatus: long-term\n";
        assert_eq!(version(debian).as_deref(), Some("2.6.12"));
        assert_eq!(version("HA-Proxy version 1.8.19-1 2019\n").as_deref(), Some("1.8.19"));
        assert_eq!(version("nginx version: nginx/1.22.1\n"), None);
    }
}
