//! A Tomcat of the user's a second time: the same program, words, variables and files with one connector on a port of genkai's own, while the
//! user's goes on untouched.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Law, Limit, Remedy, RemedyUnit};
use genkai_model::plan::ConfigSource;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::machine;
use genkai_place::memory;
use genkai_place::port;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::tail;
use genkai_place::usage::alone;

use super::xml::{ServerXml, is_setting};
use super::{ACCEPTS, CONNECTIONS, PRODUCT, QUEUE, Started, THREADS, connector, copied, folder, logs, words};
use crate::error::TargetError;
use crate::files::{Applied, Edited, Requests};
use crate::limits::{raised, raised_queue};
use crate::product::{Cost, Served, Twin, alike};
use crate::upstreams::heap::{Heap, Managed, of_java};
use crate::upstreams::known::Known;

/// A Tomcat deploys its applications before it answers: as long as a large one takes on a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Between two attempts to reach it, and longest wait for one answer.
const PAUSE: Duration = Duration::from_millis(50);
/// Tomcat answers it by itself, without an application (CoyoteAdapter.java: postParseRequest).
const QUESTION: &[u8] = b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// So much of what a copy says at start is read, bytes.
const SAID: u64 = 1 << 20;
/// The part of what could be had that a second heap may take.
const SPARED: f64 = 0.8;
/// Percent of the memory that a JVM gives its heap where nothing says (-XX:MaxRAMPercentage).
const USUAL: f64 = 25.0;

/// How the user's was started.
struct Theirs {
    program: PathBuf,
    started: Started,
    variables: Vec<(String, String)>,
    /// The folder that it runs in.
    within: PathBuf,
    base: PathBuf,
    /// Whose it is, where genkai may start it as that user.
    owner: Option<(u32, u32)>,
    nofile: Option<u64>,
}

impl fmt::Debug for Theirs {
    /// Without its words and variables: they may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Theirs").field("program", &self.program).field("base", &self.base).finish_non_exhaustive()
    }
}

/// It as genkai runs it again.
#[derive(Debug)]
struct PrivateTomcat {
    theirs: Arc<Theirs>,
    applied: Applied<ServerXml>,
    from: Endpoint,
    at: Endpoint,
    address: SocketAddr,
    /// Folder of compiled pages, which all variants share.
    work: Scratch,
    /// CATALINA_BASE of this variant.
    scratch: Scratch,
    cost: Option<Cost>,
}

/// Why it is not run a second time unless it is asked for: who deploys applications starts them.
const UNASKED: &str = "its applications would be started a second time, with all that they do at start; `genkai tune --start-applications` starts them";

/// The Tomcat that process `pid` is, to be run from `dir` where `applications` may be started a second time.
pub(in crate::upstreams) fn twin(
    pid: u32,
    endpoint: &Endpoint,
    dir: &Path,
    applications: bool,
) -> Option<Result<Box<dyn Twin>, String>> {
    let started = Started::of(pid);
    let base = super::base(&started)?;
    if !applications {
        return Some(Err(UNASKED.to_owned()));
    }
    let tomcat = base.and_then(|base| PrivateTomcat::of(pid, started, base, endpoint, dir));
    let tomcat = tomcat.and_then(|tomcat| tomcat.tried_once().map(|()| tomcat));
    Some(tomcat.map(|tomcat| Box::new(tomcat) as Box<dyn Twin>))
}

impl Theirs {
    fn of(pid: u32, started: Started, base: PathBuf) -> Result<Theirs, String> {
        alike(pid)?;
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}"));
        let program = link("exe").map_err(|e| format!("its program is not known: {e}"))?;
        let within = link("cwd").map_err(|e| format!("the folder that it runs in is not known: {e}"))?;
        let text = fs::read(format!("/proc/{pid}/environ"))
            .map_err(|e| format!("its environment, which a copy would need, cannot be read: {e}"))?;
        let pairs = text.split(|b| *b == 0).map(|pair| String::from_utf8_lossy(pair).into_owned());
        let variables: Vec<_> = pairs
            .filter_map(|pair| pair.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        words::alike(&started.words, &variables)?;
        let of = fs::metadata(format!("/proc/{pid}")).map_err(|e| format!("whose it is, is not known: {e}"))?;
        let root = nix::unistd::geteuid().is_root();
        let owner = (root && of.uid() != 0).then(|| (of.uid(), of.gid()));
        let nofile = alone(pid).and_then(|one| one.fd_limit);
        Ok(Theirs { program, started, variables, within, base, owner, nofile })
    }

    fn command(&self, base: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words::copied(&self.started.words, base)).current_dir(&self.within);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl PrivateTomcat {
    fn of(pid: u32, started: Started, base: PathBuf, endpoint: &Endpoint, dir: &Path) -> Result<PrivateTomcat, String> {
        let Endpoint::Tcp(_) = endpoint else {
            return Err("it is reached by a Unix socket there, and its copies listen on TCP ports".to_owned());
        };
        let path = base.join(super::file(&started));
        let conf = fs::read_dir(base.join("conf")).into_iter().flatten().flatten().map(|entry| entry.path());
        let read: Vec<PathBuf> = conf.filter(|path| path.is_file()).chain([path.clone()]).collect();
        started.has_read(read.iter().map(PathBuf::as_path))?;
        fits(&of_java(&started, Vec::new()))?;
        let theirs = Theirs::of(pid, started, base)?;
        let xml = ServerXml::read(&path, endpoint)?;
        let applied = Applied::new(ConfigSource::File(path), xml, Requests::default(), &BTreeMap::new())
            .map_err(|e| e.to_string())?;
        let port = port::free().map_err(|e| format!("no free port on 127.0.0.1: {e}"))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let scratch = |dir: &Path| scratch(dir).map_err(|e| e.to_string());
        let (work, scratch) = (scratch(&dir.join("work"))?, scratch(dir)?);
        let (from, at) = (endpoint.clone(), Endpoint::Tcp(address));
        let tomcat = PrivateTomcat { theirs: Arc::new(theirs), applied, from, at, address, work, scratch, cost: None };
        tomcat.written().map_err(|e| e.to_string())?;
        Ok(tomcat)
    }

    /// That it can be started beside the user's: not every application can be.
    ///
    /// # Errors
    /// What it says, in one line.
    fn tried_once(&self) -> Result<(), String> {
        let one_line = |text: String| text.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let running =
            self.start(None).map_err(|e| format!("it does not start beside it: {}", one_line(e.to_string())))?;
        // Tomcat itself goes on without an application that it could not start, and answers 404 for it.
        let said = [self.log()].into_iter().chain(logs(self.scratch.path())).map(|log| tail::last(&log, SAID));
        let failed = said.collect::<Vec<_>>();
        drop(running);
        match failed.iter().find_map(|text| unstarted(text)) {
            Some(line) => Err(format!("one of its applications does not start beside it: {}", line.trim())),
            None => Ok(()),
        }
    }

    /// Writes its folder.
    fn written(&self) -> Result<(), TargetError> {
        let copied = self.copied()?;
        folder::make(&self.theirs.base, self.scratch.path(), self.work.path(), &copied, self.theirs.owner)
    }

    fn copied(&self) -> Result<copied::Copied, TargetError> {
        let made = copied::of(self.applied.config(), &self.theirs.base, self.scratch.path(), self.address);
        made.map_err(|why| TargetError::usage("Tomcat", why))
    }

    /// What caps it; the threads are called by its own port.
    fn known(&self, somaxconn: u32) -> Result<Known, TargetError> {
        let wrong = |why| TargetError::usage("Tomcat", why);
        let xml = self.applied.config();
        let mut known = super::of(xml.path(), xml.text().map_err(wrong)?, xml.at(), somaxconn).map_err(wrong)?;
        let copied = self.copied()?;
        let own = super::of(xml.path(), &String::from_utf8_lossy(&copied.text), &self.at, somaxconn).map_err(wrong)?;
        known.threads = own.threads;
        known.says_of = own.says_of;
        known.cost = self.cost;
        Ok(known)
    }

    fn served(&self, somaxconn: u32) -> Result<Box<dyn Served>, TargetError> {
        // The user's own messages go elsewhere.
        let mut heap = of_java(&self.theirs.started, Vec::new());
        heap.logs = [self.log()].into_iter().chain(logs(self.scratch.path())).collect();
        heap.collector = heap.collector.map(|_| folder::collector(self.scratch.path()));
        Ok(Managed::of(self.known(somaxconn)?, heap))
    }

    fn log(&self) -> PathBuf {
        self.scratch.path().join("out.log")
    }

    /// A limit as one of a server whose settings can be tried.
    fn tried(&self, limit: Limit, subject: &str, machine: &Machine) -> Limit {
        let id = limit.id.replacen(&format!("{subject}.{PRODUCT}."), &format!("{PRODUCT}."), 1);
        let origin = self.applied.origin_of(&limit.setting, limit.origin.clone());
        let limit = Limit { id, origin, ..limit };
        let count = |name: &str| raised(name, RemedyUnit::Count, 1.0);
        let service = self.cost.map(|cost| cost.service.as_secs_f64().max(1e-6));
        let queue = self.value_of(ACCEPTS.0).ok().and_then(|(value, _)| value.parse().ok());
        match limit.setting.as_str() {
            name if name == THREADS.0 => Limit {
                caps: "requests that it works on at once; further ones wait".to_owned(),
                remedy: Some(Remedy { note: Some("as far as processors and memory reach".to_owned()), ..count(name) }),
                ..limit
            },
            name if name == QUEUE.0 => {
                let note = Some("who waits longer is answered later; more threads are the better answer".to_owned());
                Limit { remedy: Some(Remedy { note, ..count(name) }), ..limit }
            }
            name if name == CONNECTIONS.0 => {
                // What stands before it holds none of its connections while nothing is asked: who finds none waits to be accepted.
                let law = match limit.law {
                    Law::Slots { value, .. } => Law::Workers { workers: value, queue, service, wait: None },
                    other => other,
                };
                Limit { remedy: Some(count(name)), law, ..limit }
            }
            name if name == ACCEPTS.0 => Limit { remedy: Some(raised_queue(name, machine.somaxconn)), ..limit },
            _ => limit,
        }
    }
}

impl Twin for PrivateTomcat {
    fn product(&self) -> &'static str {
        PRODUCT
    }

    fn is_setting(&self, setting: &str) -> bool {
        is_setting(setting)
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Twin>, TargetError> {
        let tomcat = PrivateTomcat {
            theirs: Arc::clone(&self.theirs),
            applied: self.applied.with(changes)?,
            from: self.from.clone(),
            at: self.at.clone(),
            address: self.address,
            work: self.work.clone(),
            scratch: scratch(dir)?,
            cost: self.cost,
        };
        tomcat.written()?;
        Ok(Box::new(tomcat))
    }

    fn places(&self) -> (&Endpoint, &Endpoint) {
        (&self.from, &self.at)
    }

    fn told(&self, machine: &Machine, _: u64) -> String {
        let told = self.known(machine.somaxconn).map(|known| known.told()).unwrap_or_else(|_| "Tomcat".to_owned());
        format!("{told}, whose applications are started a second time with all that they do at start")
    }

    fn rewrite(&self) -> Rewrite {
        let xml = self.applied.config();
        let document = xml.document().ok();
        let place = document.as_ref().and_then(|document| Some(xml.place(connector(document, xml.at())?)));
        Rewrite {
            from: format!("Connector at {}", self.from),
            to: format!("Connector at {} (a Tomcat of its own with this connector alone)", self.address),
            place: place.unwrap_or_default(),
        }
    }

    fn costs(&mut self, cost: Cost) {
        self.cost = Some(cost);
    }

    fn files(&self) -> &dyn Edited {
        &self.applied
    }

    fn limits(&self, subject: &str, environment: &Environment) -> Vec<Limit> {
        let machine = Machine::of(environment);
        let all = self.served(machine.somaxconn).map(|served| served.limits(subject)).unwrap_or_default();
        all.into_iter().map(|limit| self.tried(limit, subject, &machine)).collect()
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<(Child, Box<dyn Served>), TargetError> {
        let spawn = Spawn {
            name: "the copy of Tomcat".to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(self.log()),
            nofile: self.theirs.nofile,
            user: self.theirs.owner,
        };
        let _ = fs::remove_file(self.log());
        let mut child = Child::spawn(self.theirs.command(self.scratch.path()), spawn)?;
        answers(&mut child, self.address)?;
        let somaxconn = machine::environment(BTreeMap::new()).somaxconn;
        Ok((child, self.served(somaxconn)?))
    }
}

/// The first line of a log by which an application was not started (Tomcat's LocalStrings.properties: standardContext.startFailed,
/// standardContext.loadOnStartup.loadException, hostConfig.deploy*.error). One of Tomcat's that speaks another language, or of a logging of the
/// user's own, is not known.
fn unstarted(log: &str) -> Option<&str> {
    let says = ["startup failed due to previous errors", "threw load() exception", "Error deploying "];
    log.lines().find(|line| says.iter().any(|part| line.contains(part)))
}

/// That there is memory for a second heap of this size, of the machine and of the control groups of this process, which a copy is in too: another of
/// the user's processes would be ended for it.
///
/// # Errors
/// What it may take, and what there is.
fn fits(heap: &Heap) -> Result<(), String> {
    let (most, left) = memory::of_children();
    within(heap, most, left)
}

fn within(heap: &Heap, memory: u64, available: u64) -> Result<(), String> {
    let part = || {
        let percent = heap.held.written.strip_suffix(" %").and_then(|text| text.parse().ok());
        memory as f64 * percent.unwrap_or(USUAL) / 100.0
    };
    let most = if heap.held.value > 0 { heap.held.value as f64 } else { part() };
    if most <= available as f64 * SPARED {
        return Ok(());
    }
    let mebibytes = |bytes: f64| (bytes / f64::from(1 << 20)).round();
    Err(format!(
        "its heap may take {} MiB a second time, and {} MiB of memory could be had",
        mebibytes(most),
        mebibytes(available as f64)
    ))
}

fn scratch(dir: &Path) -> Result<Scratch, TargetError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-tomcat-")?)
}

/// Waits until it answers: it listens long before.
fn answers(child: &mut Child, at: SocketAddr) -> Result<(), TargetError> {
    let deadline = Instant::now() + READY_WITHIN;
    let asked = || -> std::io::Result<usize> {
        let mut stream = TcpStream::connect(at)?;
        stream.set_read_timeout(Some(READY_WITHIN))?;
        stream.write_all(QUESTION)?;
        stream.read(&mut [0; 16])
    };
    while !asked().is_ok_and(|bytes| bytes > 0) {
        if child.try_exited().is_some() {
            return Err(child.exited().into());
        }
        if Instant::now() > deadline {
            let words = child.last_words();
            return Err(TargetError::machine("Tomcat", format!("its copy does not answer at {at}\n{words}")));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_that_was_not_started_is_found_in_what_tomcat_says() {
        // Tomcat 10.1.60, an application with a listener that there is not.
        let text = "Nov 25, 2026 10:13:21 PM org.apache.catalina.core.StandardContext startInternal\nSEVERE: Context [] startup failed due to \
                    previous errors\nNov 25, 2026 10:13:21 PM org.apache.catalina.startup.Catalina start\nINFO: Server startup in [1716] \
                    milliseconds";
        assert_eq!(unstarted(text), Some("SEVERE: Context [] startup failed due to previous errors"));
        assert_eq!(unstarted("INFO: Deploying web application directory [/srv/t/webapps/ROOT]"), None);
    }

    #[test]
    fn a_second_heap_must_have_room() {
        let room = |line: &str, available: u64| {
            within(&of_java(&Started::of_line(line), Vec::new()), 16 << 30, available << 30)
        };
        assert_eq!(room("java -Xmx4g Main", 6), Ok(()));
        let none = room("java -Xmx10g Main", 6).unwrap_err();
        assert!(none.contains("10240 MiB") && none.contains("6144 MiB"), "{none}");
        assert!(room("java -XX:MaxRAMPercentage=75 Main", 14).is_err());
        // A quarter of the machine's.
        assert_eq!((room("java Main", 6), room("java Main", 4).is_err()), (Ok(()), true));
    }
}
