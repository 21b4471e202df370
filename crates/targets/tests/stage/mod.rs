//! What a running nginx is tested with: a backend, clients, a folder, configurations. Plain sockets and threads.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::{Environment, ServerState};
use genkai_model::limit::{Law, Limit};
use genkai_model::plan::ConfigSource;
use genkai_place::machine;
use genkai_place::observation::Observation;
use genkai_targets::error::TargetError;
use genkai_targets::nginx::limits::{Facts, Machine};
use genkai_targets::nginx::{self, Running};
use genkai_targets::product::{Deployment, Prepare, Prepared as _};
use tempfile::TempDir;

/// An nginx that can be started.
pub(crate) type Nginx = Deployment<nginx::Nginx>;

/// Longest wait for anything.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Waits until `holds`; fails after [`LONG`].
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// An HTTP server with one thread a connection, which answers each connection's first request and closes; or holds it
/// until told to go on.
pub(crate) struct Backend {
    address: SocketAddr,
    holding: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    inside: Arc<AtomicUsize>,
}

impl Backend {
    /// Listens on a free port.
    pub(crate) fn start() -> Backend {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let backend = Backend {
            address: listener.local_addr().unwrap(),
            holding: Arc::default(),
            ended: Arc::default(),
            inside: Arc::default(),
        };
        let (holding, ended, inside) =
            (Arc::clone(&backend.holding), Arc::clone(&backend.ended), Arc::clone(&backend.inside));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    break;
                }
                let (holding, inside) = (Arc::clone(&holding), Arc::clone(&inside));
                thread::spawn(move || stream.map(|stream| answer(stream, &holding, &inside)));
            }
        });
        backend
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on requests are held, or (false) answered, those held before too.
    pub(crate) fn hold(&self, on: bool) {
        self.holding.store(on, Ordering::Relaxed);
    }

    /// Requests it has and has not answered.
    pub(crate) fn inside(&self) -> usize {
        self.inside.load(Ordering::Relaxed)
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.hold(false);
        self.ended.store(true, Ordering::Relaxed);
        // Wakes the listener, so that it sees its end.
        let _ = TcpStream::connect(self.address);
    }
}

fn answer(mut stream: TcpStream, holding: &AtomicBool, inside: &AtomicUsize) {
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut head = Vec::new();
    let mut chunk = [0; 4096];
    while !head.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut chunk) {
            Ok(n) if n > 0 => head.extend_from_slice(&chunk[..n]),
            _ => return,
        }
    }
    // The body is read whole: closing with bytes unread would reset the connection (RFC 9112 section 9.6), which the proxy
    // may notice before the answer.
    let end = head.windows(4).position(|w| w == b"\r\n\r\n").map_or(head.len(), |at| at + 4);
    let mut left = announced(&head[..end]).saturating_sub(head.len() - end);
    while left > 0 {
        match stream.read(&mut chunk) {
            Ok(n) if n > 0 => left = left.saturating_sub(n),
            _ => return,
        }
    }
    inside.fetch_add(1, Ordering::Relaxed);
    let deadline = Instant::now() + LONG;
    while holding.load(Ordering::Relaxed) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
    inside.fetch_sub(1, Ordering::Relaxed);
    let _ = stream.write_all(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
}

/// Bytes of the body that a request's head announces.
fn announced(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let field = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    field.map_or(0, |value| value.trim().parse().expect("a length"))
}

/// How many requests get to the backends before one is answered without.
pub(crate) fn admitted(backends: &[Backend], address: SocketAddr, most: usize) -> usize {
    let there = held(backends, address, most).len();
    backends.iter().for_each(|backend| backend.hold(false));
    there
}

/// The requests that get to the backends, which hold them, before one does not.
pub(crate) fn held(backends: &[Backend], address: SocketAddr, most: usize) -> Vec<Client> {
    let inside = || backends.iter().map(Backend::inside).sum::<usize>();
    backends.iter().for_each(|backend| backend.hold(true));
    let mut held = Vec::new();
    while held.len() < most {
        let Some(client) = Client::ask(address, &format!("/{}", held.len())) else { break };
        let deadline = Instant::now() + Duration::from_secs(3);
        while inside() == held.len() && !client.is_answered() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        if inside() == held.len() {
            break;
        }
        held.push(client);
    }
    held
}

/// A connection on which a request was sent.
pub(crate) struct Client(TcpStream);

impl Client {
    /// Connects and asks for `path`; none when that cannot be done within a second.
    pub(crate) fn ask(address: SocketAddr, path: &str) -> Option<Client> {
        Client::send(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    /// Connects and posts a body of so many bytes.
    pub(crate) fn post(address: SocketAddr, path: &str, bytes: usize) -> Option<Client> {
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n");
        Client::send(address, &(head + &"x".repeat(bytes)))
    }

    /// Connects and announces a body of so many bytes, of which none comes.
    pub(crate) fn announce(address: SocketAddr, path: &str, bytes: u64) -> Option<Client> {
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n");
        let client = Client::send(address, &head)?;
        // Else a server that has refused waits for the body for some seconds before it closes.
        client.0.shutdown(std::net::Shutdown::Write).ok()?;
        Some(client)
    }

    fn send(address: SocketAddr, request: &str) -> Option<Client> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(Some(LONG)).unwrap();
        // A server that refuses may close before it has read everything.
        let _ = stream.write_all(request.as_bytes());
        Some(Client(stream))
    }

    /// Whether there is an answer, or the connection was closed.
    pub(crate) fn is_answered(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let seen = self.0.peek(&mut [0; 1]);
        self.0.set_nonblocking(false).unwrap();
        !matches!(seen, Err(e) if e.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// The status of the answer; none for a connection that was closed instead.
    pub(crate) fn status(self) -> Option<u16> {
        self.text().strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()
    }

    /// The whole answer.
    pub(crate) fn text(mut self) -> String {
        let mut text = Vec::new();
        let mut chunk = [0; 4096];
        while let Ok(n) = self.0.read(&mut chunk) {
            if n == 0 {
                break;
            }
            text.extend_from_slice(&chunk[..n]);
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// The status of one request.
pub(crate) fn get(address: SocketAddr, path: &str) -> Option<u16> {
    Client::ask(address, path)?.status()
}

/// A folder for one test: the user's files and private copies.
pub(crate) struct Stage {
    dir: TempDir,
    copies: AtomicUsize,
}

impl Stage {
    /// A fresh one.
    pub(crate) fn new() -> Stage {
        Stage { dir: tempfile::tempdir().unwrap(), copies: AtomicUsize::new(0) }
    }

    /// A new folder for a private copy.
    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join(format!("copy-{}", self.copies.fetch_add(1, Ordering::Relaxed)))
    }

    /// A file of the user's.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// A generated proxy with settings.
    pub(crate) fn generated(&self, backend: SocketAddr, settings: &[(&str, &str)]) -> Result<Nginx, TargetError> {
        self.prepare(ConfigSource::Generated, Some(backend), settings)
    }

    /// The user's own file, `nginx.conf`.
    pub(crate) fn own(&self, text: &str, backend: Option<SocketAddr>) -> Result<Nginx, TargetError> {
        let file = self.file("nginx.conf", text);
        self.prepare(ConfigSource::File(file), backend, &[])
    }

    /// Whatever is asked for.
    pub(crate) fn prepare(
        &self,
        source: ConfigSource,
        backend: Option<SocketAddr>,
        settings: &[(&str, &str)],
    ) -> Result<Nginx, TargetError> {
        let settings: BTreeMap<_, _> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let dir = self.folder();
        Nginx::prepare(Prepare {
            listen: std::net::Ipv4Addr::LOCALHOST,
            also: &[],
            resumes: true,
            program: None,
            source,
            settings: &settings,
            backend,
            secured: None,
            dir,
            path: "/",
            host: "localhost",
            websocket: false,
            upgrade: Default::default(),
            streams: None,
            headers: None,
            tls: None,
            allow_remote: &[],
        })
    }
}

/// This machine.
pub(crate) fn environment() -> Environment {
    machine::environment(BTreeMap::new())
}

/// So many clients whose requests the backend holds, let in one after another.
pub(crate) fn hold(backend: &Backend, address: SocketAddr, count: usize) -> Vec<Client> {
    backend.hold(true);
    let one = |n| {
        let client = Client::ask(address, "/").unwrap();
        eventually("it is with the backend", || backend.inside() == n);
        client
    };
    (1..=count).map(one).collect()
}

/// What the limits of an nginx are computed from.
pub(crate) fn facts(nginx: &Nginx, machine: &Machine) -> Facts {
    nginx::facts(nginx.variant(), nginx.private_copy(), machine)
}

/// One limit.
pub(crate) fn limit(nginx: &Nginx, id: &str) -> Limit {
    nginx.limits(&environment()).into_iter().find(|l| l.id == id).unwrap_or_else(|| panic!("no limit {id}"))
}

/// Busy clients that it lets in.
pub(crate) fn clients(limit: &Limit) -> usize {
    let Law::Slots { value, reserved, busy_cost, pools, .. } = limit.law else { panic!("{:?}", limit.law) };
    (pools * ((value - reserved) / busy_cost).floor()) as usize
}

/// A started nginx with everything that was seen of it.
pub(crate) struct Watched {
    /// The server.
    pub(crate) running: Running,
    /// Everything seen so far.
    pub(crate) seen: Observation,
}

impl Watched {
    /// Starts it.
    pub(crate) fn start(nginx: &Nginx) -> Watched {
        Watched { running: nginx.start(None).unwrap(), seen: Observation::default() }
    }

    /// Looks once more.
    pub(crate) fn look(&mut self) {
        let seen = self.running.observe();
        self.seen.merge(seen);
    }

    /// The newest value of a metric.
    pub(crate) fn metric(&mut self, name: &str) -> Option<f64> {
        self.look();
        self.seen.samples.last()?.metrics.get(name).copied()
    }

    /// Lines of a signature so far.
    pub(crate) fn lines(&self, signature: &str) -> u64 {
        self.seen.logs.iter().filter(|l| l.signature.as_deref() == Some(signature)).map(|l| l.count).sum()
    }

    /// Looks until lines of this signature were seen.
    pub(crate) fn await_lines(&mut self, signature: &str) {
        let deadline = Instant::now() + LONG;
        while self.lines(signature) == 0 {
            assert!(Instant::now() < deadline, "no line of {signature} among {:?}", self.seen.logs);
            self.look();
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Looks until this state was seen; gives its detail.
    pub(crate) fn await_state(&mut self, state: ServerState) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            self.look();
            if let Some(found) = self.seen.states.iter().find(|s| s.state == state) {
                return found.detail.clone().unwrap_or_default();
            }
            assert!(Instant::now() < deadline, "never {state:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}
