//! What stands behind a product and was not started by genkai: found as processes by the sockets that the configuration names, looked at,
//! and never touched. Of a product that is known its own limits are read from its configuration; of any other those of its processes.

mod peer;
mod second;
mod shared;
mod stack;
mod who;

use std::collections::BTreeSet;
use std::time::Duration;

use genkai_model::event::ServerState;
use genkai_model::limit::Limit;
use genkai_place::caps::Machine;
use genkai_place::endpoint::{Endpoint, Listener};
use genkai_place::observation::Observation;

use self::peer::Peer;
pub use self::second::Asked;
pub use self::stack::{Store, with_store, with_twin};
use crate::product::{Cost, Served};

/// Most that are looked at: together they may not delay the other looks.
const MOST: usize = 8;

/// Everything behind a product.
#[derive(Debug, Default)]
pub struct Behind {
    peers: Vec<Peer>,
    /// What is not looked at: a sentence each.
    left: Vec<String>,
}

impl Behind {
    /// Whoever listens at `endpoints`, which may be nobody.
    pub fn find(endpoints: &[Endpoint], machine: &Machine, memory: u64) -> Behind {
        let mut all: Vec<&Endpoint> = Vec::new();
        for at in endpoints.iter().collect::<BTreeSet<_>>() {
            if !all.iter().any(|other| other.is_same(at)) {
                all.push(at);
            }
        }
        let left = all.split_off(MOST.min(all.len()));
        let subject = |n: usize| if n == 0 { "backend".to_owned() } else { format!("backend{}", n + 1) };
        let found = |(n, at): (usize, &Endpoint)| Peer::find(at.clone(), subject(n), machine, memory);
        let mut behind = Behind { peers: all.into_iter().enumerate().map(found).collect(), left: unwatched(&left) };
        let passed: BTreeSet<Endpoint> = behind.peers.iter().filter_map(Peer::forwards).collect();
        let new = passed.into_iter().filter(|at| !behind.peers.iter().any(|peer| peer.is_at(at)));
        for at in new.collect::<Vec<_>>() {
            behind.passed_on(at, subject(behind.peers.len()), machine, memory);
        }
        behind
    }

    /// Takes in whoever gets the connections that one of them passes on, where his processes are seen.
    fn passed_on(&mut self, at: Endpoint, subject: String, machine: &Machine, memory: u64) {
        match at.listener() {
            Listener::Process(_) => self.peers.push(Peer::find(at, subject, machine, memory)),
            _ => self.left.push(format!(
                "who listens at {at}, where connections are passed on to, is not looked at: what those processes take of processors counts as other \
                 programs', and nothing that limits them is known"
            )),
        }
    }

    /// A server that is known already: its first process, where it listens, whom samples of it are of.
    pub(crate) fn of(first: u32, at: Endpoint, subject: &str, served: Box<dyn Served>) -> Behind {
        Behind { peers: vec![Peer::of(first, at, subject.to_owned(), served)], left: Vec::new() }
    }

    /// The first process of each, where it is known.
    pub fn firsts(&self) -> Vec<u32> {
        self.peers.iter().filter_map(Peer::first).collect()
    }

    /// Takes in whoever listens at `places`, to which those behind the product have connections: one hop further. Of those whom a process
    /// has that is not known itself, `only` the known ones: databases and their like.
    pub fn beyond(&mut self, places: &BTreeSet<Endpoint>, only: bool, machine: &Machine, memory: u64) {
        let new = places.iter().filter(|at| !self.peers.iter().any(|peer| peer.is_at(at)));
        let mut new: Vec<&Endpoint> = new.filter(|at| is_server(at)).collect();
        let left = new.split_off(MOST.min(new.len()));
        self.left.extend(unwatched(&left));
        let subject = |n: usize| if n == 0 { "beyond".to_owned() } else { format!("beyond{}", n + 1) };
        let found = |(n, at): (usize, &Endpoint)| Peer::find(at.clone(), subject(n), machine, memory);
        let peers: Vec<Peer> = new.into_iter().enumerate().map(found).collect();
        self.peers.extend(peers.into_iter().filter(|peer| !only || peer.has_workers()));
    }

    /// What caps them.
    pub fn limits(&self) -> Vec<Limit> {
        self.peers.iter().flat_map(Peer::limits).collect()
    }

    /// Whether one of them has a number of workers of which the time of a request makes a rate.
    pub fn has_workers(&self) -> bool {
        self.peers.iter().any(Peer::has_workers)
    }

    /// Processor time that they have had.
    pub fn processor(&self) -> Duration {
        self.peers.iter().map(Peer::processor).sum()
    }

    /// Takes over what a request costs when nothing else is asked.
    pub fn costs(&mut self, cost: Cost) {
        for peer in &mut self.peers {
            peer.costs(cost);
        }
    }

    /// Looks at them: a sample each of subject `backend`, `backend2` and so on.
    pub fn observe(&mut self) -> Observation {
        let mut seen = Observation::default();
        for peer in &mut self.peers {
            seen.merge(peer.observe());
        }
        // Where others are left, one that ends is no end of the service.
        if self.peers.iter().any(Peer::lives) {
            for state in seen.states.iter_mut().filter(|state| state.state == ServerState::Died) {
                state.state = ServerState::Stopped;
            }
        }
        seen
    }

    /// Whether one of them has ended, and nobody has come in its place.
    pub fn is_gone(&self) -> bool {
        self.peers.iter().any(Peer::is_gone)
    }

    /// Who they are, and what of them cannot be seen: a sentence each.
    pub fn told(&self) -> Vec<String> {
        self.peers.iter().map(Peer::told).chain(self.left.iter().cloned()).collect()
    }
}

/// That nobody looks at who listens at these places.
fn unwatched(left: &[&Endpoint]) -> Vec<String> {
    let all: Vec<String> = left.iter().map(ToString::to_string).collect();
    let said = || {
        format!(
            "who listens at {} is not looked at, as genkai looks at {MOST} places at most: what limits those processes, and what they take of \
             processors, is not seen",
            all.join(", ")
        )
    };
    (!all.is_empty()).then(said).into_iter().collect()
}

/// Whether somebody other than genkai listens there, and no service of the system that everybody asks.
fn is_server(at: &Endpoint) -> bool {
    let system = ["/run/systemd/", "/run/dbus/", "/run/nscd/", "/var/run/nscd/", "/dev/log"];
    let asked = |path: &std::path::Path| system.iter().any(|folder| path.to_string_lossy().starts_with(folder));
    match (at, at.listener()) {
        (Endpoint::Unix(path), _) if asked(path) => false,
        (_, Listener::Process(pid)) => pid != std::process::id(),
        (_, listener) => matches!(listener, Listener::Hidden | Listener::Unseen),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Child, Command};
    use std::time::Instant;

    use genkai_model::error::ErrorKind;
    use genkai_model::event::State;

    use super::*;

    /// A process that listens on a Unix socket; it ends with the test.
    struct Server(Child);

    impl Server {
        fn start(path: &Path) -> Server {
            let code = "import os,socket,sys,time; p=sys.argv[1]; os.path.exists(p) and os.unlink(p); s=socket.socket(socket.AF_UNIX); \
                        s.bind(p); s.listen(5); time.sleep(600)";
            let child = Command::new("python3").args(["-c", code]).arg(path).spawn().unwrap();
            let deadline = Instant::now() + Duration::from_secs(20);
            while std::os::unix::net::UnixStream::connect(path).is_err() {
                assert!(Instant::now() < deadline, "it does not listen");
                std::thread::sleep(Duration::from_millis(10));
            }
            Server(child)
        }

        fn end(mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn behind(paths: &[&Path]) -> Behind {
        let machine = Machine::of(&genkai_place::machine::environment(Default::default()));
        let all: Vec<Endpoint> = paths.iter().map(|path| Endpoint::Unix((*path).to_owned())).collect();
        Behind::find(&all, &machine, 1 << 30)
    }

    /// The first state that is told.
    fn told(behind: &mut Behind) -> State {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(state) = behind.observe().states.pop() {
                return state;
            }
            assert!(Instant::now() < deadline, "nothing was told");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_process_that_ends_is_gone_and_one_that_is_started_anew_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let first = Server::start(&path);
        let mut behind = behind(&[&path]);
        assert!(behind.observe().states.is_empty() && !behind.is_gone());
        first.end();
        let second = Server::start(&path);
        let anew = told(&mut behind);
        assert_eq!(anew.state, ServerState::Ready, "{anew:?}");
        assert_eq!(behind.observe().samples.len(), 1, "it is looked at");
        second.end();
        let gone = told(&mut behind);
        assert_eq!(gone.state, ServerState::Died, "{gone:?}");
        let said = gone.detail.unwrap();
        assert!(said.contains("has ended, and nobody listens at unix:"), "{said}");
        assert!(behind.is_gone() && behind.observe().states.is_empty(), "told once");
    }

    #[test]
    fn places_beyond_those_that_are_looked_at_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<_> = (0..=MOST).map(|n| dir.path().join(format!("{n}.sock"))).collect();
        let all: Vec<&Path> = paths.iter().map(|path| &**path).collect();
        let told = behind(&all).told();
        assert_eq!(told.len(), MOST + 1);
        let last = told.last().unwrap();
        assert!(last.contains("8.sock is not looked at") && last.contains("8 places at most"), "{last}");
        // Each place counts once, whatever paths lead there.
        let server = Server::start(&paths[0]);
        std::os::unix::fs::symlink(&paths[0], dir.path().join("link")).unwrap();
        assert_eq!(behind(&[&paths[0], &dir.path().join("link")]).told().len(), 1);
        server.end();
    }

    /// A published port of a container, whose listener passes connections on.
    #[test]
    fn who_listens_for_a_container_is_told_with_whom_he_listens_for() {
        let Some(perl) = genkai_place::program::find("perl") else {
            return genkai_tidy::noted::skipped("perl is not there");
        };
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("docker-proxy");
        std::fs::copy(perl, &program).unwrap();
        let inner = std::net::TcpListener::bind("127.57.1.2:0").unwrap();
        let free = std::net::TcpListener::bind("127.57.1.1:0").unwrap().local_addr().unwrap();
        let code = "use Socket; socket(my $s, PF_INET, SOCK_STREAM, 0); setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1); \
                    bind($s, pack_sockaddr_in($ARGV[0], inet_aton('127.57.1.1'))) or die; listen($s, 5); sleep 600";
        let start = |port: u16| {
            let mut command = Command::new(&program);
            command.args(["-e", code, &free.port().to_string()]);
            command.args(["-container-ip", "127.57.1.2", "-container-port", &port.to_string()]);
            let server = Server(command.spawn().unwrap());
            let deadline = Instant::now() + Duration::from_secs(20);
            while std::net::TcpStream::connect(free).is_err() {
                assert!(Instant::now() < deadline, "it does not listen");
                std::thread::sleep(Duration::from_millis(10));
            }
            server
        };
        let machine = Machine::of(&genkai_place::machine::environment(Default::default()));
        let find = || Behind::find(&[Endpoint::Tcp(free)], &machine, 1 << 30);
        let port = inner.local_addr().unwrap().port();
        let server = start(port);
        let found = find();
        assert!(
            found.told()[0].contains("docker-proxy, which passes connections on to 127.57.1.2:"),
            "{:?}",
            found.told()
        );
        assert!(found.firsts().contains(&std::process::id()), "{:?}", found.told());
        drop(inner);
        let said = find().told().pop().unwrap();
        assert!(said.contains("is not looked at: what those processes take"), "{said}");
        server.end();
    }

    #[test]
    fn one_of_two_that_ends_is_no_end_of_the_service() {
        let dir = tempfile::tempdir().unwrap();
        let paths = [dir.path().join("a.sock"), dir.path().join("b.sock")];
        let (first, second) = (Server::start(&paths[0]), Server::start(&paths[1]));
        let mut behind = behind(&[&paths[0], &paths[1]]);
        first.end();
        assert_eq!(told(&mut behind).state, ServerState::Stopped);
        second.end();
        assert_eq!(told(&mut behind).state, ServerState::Died);
    }

    /// memcached says "Too many open connections" to an application, which answers 500.
    #[test]
    fn whoever_has_no_descriptor_left_is_told_of_by_others_in_any_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.sock");
        let server = Server::start(&path);
        let limits = behind(&[&path]).limits();
        let descriptors = limits.iter().find(|limit| limit.id == "backend.descriptors").unwrap();
        for kind in [ErrorKind::Status500, ErrorKind::Status502, ErrorKind::Status503, ErrorKind::Status504] {
            assert!(descriptors.symptom.errors.contains(&kind), "{kind:?}");
        }
        assert!(descriptors.remedy.is_none());
        server.end();
    }
}
