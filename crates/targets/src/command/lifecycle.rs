//! Start, ready, stop.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::evidence::LogLine;
use genkai_place::endpoint::{Endpoint, Listener, listening};
use genkai_place::observation::Observation;
use genkai_place::process::{Child, Spawn};
use genkai_place::strays::Strays;
use genkai_place::tail::Tail;
use genkai_place::usage::Tree;
use genkai_place::{PlaceError, port, ready, running};

use super::evidence::Watch;
use super::secrets;
use crate::error::{ErrorKind, TargetError};
use crate::product::Running;

/// How long a start may take that does nothing one can see.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// So many times as long may one take that goes on printing or using processor time: what compiles itself first, on a busy machine, takes minutes.
const AT_WORK: u32 = 10;
/// Whoever went to the background is seen there by then.
const BACKGROUND: Duration = Duration::from_secs(1);
/// Its workers are there by then, or come while the load runs.
const SETTLED: Duration = Duration::from_secs(10);
/// Between two looks at what they use.
const LOOK: Duration = Duration::from_millis(100);
/// Who uses less of a core waits for requests.
const RESTING: f64 = 0.1;
/// Between two looks at who is there.
const PAUSE: Duration = Duration::from_millis(20);
/// A start whose port was taken meanwhile is tried again at another, so many times.
const STARTS: u32 = 3;

/// What is started, and where.
#[derive(Debug)]
pub(super) struct Site {
    /// What messages call it.
    pub(super) name: String,
    /// The program.
    pub(super) program: String,
    /// Its arguments, filled.
    pub(super) arguments: Vec<String>,
    /// Where what it prints goes.
    pub(super) log: PathBuf,
    /// Where it is told to listen.
    pub(super) address: SocketAddr,
    /// Soft limit on descriptors that it inherits.
    pub(super) nofile: u64,
    /// What of the arguments and of what it prints nobody is to see.
    pub(super) secrets: Vec<String>,
}

/// A command that runs. Dropping it ends it, with all that it started.
#[derive(Debug)]
pub struct Started {
    // In this order: the session ends first, then whoever left it.
    running: running::Running<Watch>,
    strays: Strays,
    /// Left processes that were told.
    told: BTreeSet<u32>,
}

impl Running for Started {
    fn address(&self) -> SocketAddr {
        self.running.address()
    }

    fn observe(&mut self) -> Observation {
        let mut seen = self.running.observe();
        let left: Vec<u32> = self.strays.doubtful().into_iter().filter(|pid| self.told.insert(*pid)).collect();
        seen.logs.extend(doubt(&left).map(|text| LogLine {
            subject: "genkai".to_owned(),
            level: "warning".to_owned(),
            text,
            signature: None,
            count: 1,
        }));
        seen
    }

    fn first(&self) -> Option<u32> {
        self.running.first()
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        self.running.stop()
    }
}

/// Starts what `site` makes for a free address of loopback, and waits until it listens there.
///
/// # Errors
/// When it does not start, does not listen, or goes to the background; nothing of it is left running.
pub(super) fn start(
    site: impl Fn(SocketAddr) -> Result<Site, TargetError>,
    cpus: Option<&[usize]>,
) -> Result<Started, TargetError> {
    let mut starts = 1;
    loop {
        let port = port::free().map_err(|e| TargetError::machine("", format!("no free port on 127.0.0.1: {e}")))?;
        match launch(&site((Ipv4Addr::LOCALHOST, port).into())?, cpus, READY_WITHIN) {
            Err(error) if starts < STARTS && is_taken(&error) => starts += 1,
            other => return other,
        }
    }
}

/// Whether its last words say that somebody else took the port.
fn is_taken(error: &TargetError) -> bool {
    let said = error.to_string().to_lowercase();
    error.is_exit() && ["address already in use", "eaddrinuse"].iter().any(|words| said.contains(words))
}

fn launch(site: &Site, cpus: Option<&[usize]>, within: Duration) -> Result<Started, TargetError> {
    let mut command = Command::new(&site.program);
    command.args(&site.arguments);
    let mut strays = Strays::mark(&mut command);
    let spawn = Spawn {
        name: site.name.clone(),
        cpus: cpus.map(<[usize]>::to_vec),
        log: Some(site.log.clone()),
        nofile: Some(site.nofile),
        user: None,
    };
    // Output of an earlier start must not be mistaken for this one's last words.
    let _ = std::fs::remove_file(&site.log);
    let tail = Tail::open(&site.log);
    let mut child = Child::spawn(command, spawn)?;
    strays.watch(child.pid(), Some(site.address), Some(&site.log));
    let own = |first| match Endpoint::Tcp(site.address).listener() {
        Listener::Process(pid) => processes(first, &strays).contains(&pid),
        Listener::Nobody | Listener::Hidden | Listener::Unseen | Listener::Awaited => false,
    };
    wait(site, within, &mut child, &strays, own)
        .map_err(|(error, waited)| told(secrets::without(error, &site.secrets), waited, &child, &strays))?;
    settle(&child);
    let watch = Watch::new(child.pid(), site.address, tail, site.secrets.clone());
    Ok(Started { running: running::Running::new(child, site.address, watch), strays, told: BTreeSet::new() })
}

/// Waits until it listens, longer than `within` so long as it is at work and listens nowhere. Gives how long it was waited for, where it does not.
fn wait(
    site: &Site,
    within: Duration,
    child: &mut Child,
    strays: &Strays,
    own: impl Fn(u32) -> bool,
) -> Result<(), (PlaceError, Duration)> {
    let printed = || std::fs::metadata(&site.log).map_or(0, |log| log.len());
    let mut tree = Tree::new(child.pid());
    for times in 1.. {
        tree.sample();
        let before = printed();
        match ready::own(site.address, within, child, &own) {
            Ok(()) => break,
            Err(error @ PlaceError::Silent { .. }) => {
                let is_at_work = tree.sample().cpu > RESTING || printed() > before;
                // Whoever listens elsewhere has started.
                let is_elsewhere = !listening(&processes(child.pid(), strays)).is_empty();
                if !is_at_work || is_elsewhere || times >= AT_WORK {
                    return Err((error, within * times));
                }
            }
            Err(error) => return Err((error, within * times)),
        }
    }
    Ok(())
}

/// Waits until its processes rest: a listener may be there long before the workers behind it are. One that never rests is not waited for long.
fn settle(child: &Child) {
    let mut tree = Tree::new(child.pid());
    let (deadline, mut rested, mut before) = (Instant::now() + SETTLED, 0, 0);
    while rested < 3 && Instant::now() < deadline {
        thread::sleep(LOOK);
        let usage = tree.sample();
        let rests = usage.cpu < RESTING && usage.processes.len() == before;
        (rested, before) = (if rests { rested + 1 } else { 0 }, usage.processes.len());
    }
}

/// Everything that came of a start: what the first process has started, and whoever carries its mark (a title that a process gives itself
/// may overwrite that).
fn processes(first: u32, strays: &Strays) -> Vec<u32> {
    let tree = Tree::new(first).sample().processes;
    tree.into_iter().map(|one| one.pid).chain(strays.alive()).collect()
}

/// Why it is not there, as far as its processes tell.
fn told(error: PlaceError, within: Duration, child: &Child, strays: &Strays) -> TargetError {
    match error {
        PlaceError::Exited { ref name, .. } if is_in_background(child, strays) => TargetError::usage(
            "",
            format!(
                "{name} went to the background: the process that was started ended, and others that it started go on\n  hint: keep it in the \
                 foreground (leave out --daemon or the like), so that it can be watched and ended"
            ),
        ),
        PlaceError::Silent { name, address, tail, .. } => {
            let elsewhere: Vec<String> =
                listening(&processes(child.pid(), strays)).iter().map(ToString::to_string).collect();
            let hint = match &elsewhere[..] {
                [] => "it listens nowhere; {listen} in the command is the address at which it must".to_owned(),
                all => format!("it listens at {}, not at {{listen}}, which was {address}", all.join(", ")),
            };
            let error = PlaceError::Silent { name, address, within, tail };
            TargetError { product: "", kind: ErrorKind::Place(Box::new(error)), hint: Some(hint) }
        }
        PlaceError::Exited { .. } => {
            let hint = doubt(&strays.doubtful());
            TargetError { product: "", kind: ErrorKind::Place(Box::new(error)), hint }
        }
        _ => error.into(),
    }
}

/// What to say of processes that may have come of a start or not: they are left alone.
fn doubt(left: &[u32]) -> Option<String> {
    let pids: Vec<String> = left.iter().map(ToString::to_string).collect();
    match &pids[..] {
        [] => None,
        [pid] => Some(format!("a process {pid} is left that genkai may have started; look at it")),
        _ => Some(format!("processes {} are left that genkai may have started; look at them", pids.join(", "))),
    }
}

/// Whether processes outlived the one that was started.
fn is_in_background(child: &Child, strays: &Strays) -> bool {
    let deadline = Instant::now() + BACKGROUND;
    loop {
        // A process that is about to end does not count: it is gone at one of the looks.
        let left = strays.alive().iter().any(|pid| *pid != child.pid());
        // One of which nothing is known yet may listen in a moment.
        if (!left && strays.doubtful().is_empty()) || Instant::now() >= deadline {
            return left;
        }
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(800);

    /// What becomes of a script that is given a port as `$1`.
    fn of(script: &str, within: Duration) -> (Result<Started, TargetError>, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let port = port::free().unwrap();
        let site = Site {
            name: "server".to_owned(),
            program: "/bin/sh".to_owned(),
            arguments: ["-c", script, "sh", &port.to_string()].map(str::to_owned).to_vec(),
            log: dir.path().join("log"),
            address: (Ipv4Addr::LOCALHOST, port).into(),
            nofile: 256,
            secrets: Vec::new(),
        };
        (launch(&site, None, within), dir)
    }

    fn error(script: &str, within: Duration) -> String {
        of(script, within).0.unwrap_err().to_string()
    }

    const LISTENS: &str = "exec python3 -c 'import socket,sys,time
s=socket.create_server((\"127.0.0.1\",int(sys.argv[1])));s.listen();time.sleep(600)' ";

    #[test]
    fn a_command_that_does_not_listen_is_told_with_what_it_printed() {
        let said = error("echo hello; sleep 600", SHORT);
        assert!(said.contains("did not accept connections") && said.contains("hello"), "{said}");
        assert!(said.contains("it listens nowhere"), "{said}");
        let said = error("echo no such flag; exit 3", READY_WITHIN);
        assert!(said.contains("no such flag") && said.contains("exit status: 3"), "{said}");
    }

    #[test]
    fn a_start_that_goes_on_printing_or_working_is_waited_for() {
        for work in ["for i in 1 2 3 4 5; do echo $i; sleep 0.4; done", "timeout 2 sh -c 'while :; do :; done'"] {
            let (started, _dir) = of(&format!("{work}; {LISTENS} $1"), SHORT * 2);
            Box::new(started.unwrap()).stop();
        }
        // Not for good.
        let begun = Instant::now();
        let said = error("while :; do echo still; sleep 0.1; done", SHORT / 4);
        assert!(begun.elapsed() >= SHORT / 4 * AT_WORK && said.contains("within 2s"), "{said}");
    }

    #[test]
    fn a_command_that_goes_to_the_background_is_told_and_ended() {
        // The second is without the variable by which the others are known.
        for daemon in ["setsid sleep 601 & exit 0", "setsid env -i sleep 601 & exit 0"] {
            let said = error(daemon, READY_WITHIN);
            assert!(said.contains("went to the background") && said.contains("--daemon"), "{said}");
        }
    }

    /// Nothing it inherited tells of it: it is known by the port alone, once it listens there.
    #[test]
    fn a_daemon_that_left_all_behind_is_known_by_its_port() {
        const DAEMON: &str = "exec env -i /usr/bin/env python3 -c 'import os,socket,sys,time
if os.fork(): os._exit(0)
os.setsid(); null=os.open(\"/dev/null\",os.O_RDWR); [os.dup2(null,fd) for fd in (0,1,2)]; time.sleep(0.3)
s=socket.create_server((\"127.0.0.1\",int(sys.argv[1])));s.listen();time.sleep(600)' ";
        for daemon in [
            format!("{DAEMON} $1"),
            "exec redis-server --port $1 --bind 127.0.0.1 --save '' --daemonize yes --dir /tmp".to_owned(),
        ] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let said = error(&format!("echo $1 >{}; {daemon}", file.path().display()), READY_WITHIN);
            assert!(said.contains("went to the background"), "{said}");
            let port: u16 = std::fs::read_to_string(file.path()).unwrap().trim().parse().unwrap();
            assert!(std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "it was ended");
        }
    }

    #[test]
    fn a_command_that_listens_elsewhere_is_told_where() {
        let said = error(&format!("{LISTENS} 0"), Duration::from_secs(5));
        assert!(said.contains("it listens at 127.0.0.1:") && said.contains("not at {listen}"), "{said}");
    }

    #[test]
    fn a_command_that_ignores_a_polite_end_is_ended() {
        let (started, _dir) = of(&format!("trap '' TERM; {LISTENS} $1"), READY_WITHIN);
        let started = Box::new(started.unwrap());
        let pid = started.running.pid();
        started.stop();
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "nothing is left");
    }
}
