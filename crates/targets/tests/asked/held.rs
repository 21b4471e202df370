//! Requests that are held until they are let go, so that what a server works on at once is counted exactly, whatever the machine does.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a number must stay as it is.
const STILL: Duration = Duration::from_millis(400);
/// Longest wait for that.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number that `count` comes to rest at, once it is at least `expected` or nothing more happens for long.
pub(crate) fn at_rest(expected: usize, count: impl Fn() -> usize) -> usize {
    let (begun, mut since, mut last) = (Instant::now(), Instant::now(), count());
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let now = count();
        if now != last {
            (since, last) = (Instant::now(), now);
        }
        let enough = if last >= expected { STILL } else { 8 * STILL };
        if since.elapsed() > enough || begun.elapsed() > PATIENCE {
            return last;
        }
    }
}

/// A backend that answers nobody until it is told to, and counts who waits.
pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    present: Arc<AtomicUsize>,
    open: Arc<AtomicBool>,
}

impl Backend {
    pub(crate) fn start() -> Backend {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (present, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (counted, opened) = (Arc::clone(&present), Arc::clone(&open));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (present, open) = (Arc::clone(&counted), Arc::clone(&opened));
                std::thread::spawn(move || held(stream, &present, &open));
            }
        });
        Backend { address, present, open }
    }

    pub(crate) fn present(&self) -> usize {
        self.present.load(Ordering::SeqCst)
    }

    pub(crate) fn let_go(&self, on: bool) {
        self.open.store(on, Ordering::SeqCst);
    }
}

fn held(mut stream: TcpStream, present: &AtomicUsize, open: &AtomicBool) {
    let mut head = [0; 4096];
    while stream.read(&mut head).is_ok_and(|n| n > 0) {
        present.fetch_add(1, Ordering::SeqCst);
        let begun = Instant::now();
        while !open.load(Ordering::SeqCst) && begun.elapsed() < 3 * PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        present.fetch_sub(1, Ordering::SeqCst);
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
    }
}

/// Clients with one request each, a connection each. They leave when this is dropped.
pub(crate) struct Clients(Arc<Mutex<Vec<TcpStream>>>);

impl Clients {
    pub(crate) fn send(count: usize, to: SocketAddr) -> Clients {
        let all = Arc::new(Mutex::new(Vec::new()));
        for _ in 0..count {
            let all = Arc::clone(&all);
            std::thread::spawn(move || {
                let Ok(mut stream) = TcpStream::connect_timeout(&to, PATIENCE) else { return };
                let _ = stream.write_all(b"GET /app/x HTTP/1.1\r\nHost: main\r\nConnection: close\r\n\r\n");
                all.lock().unwrap().push(stream);
            });
        }
        Clients(all)
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.0.lock().unwrap().clear();
    }
}

/// Connections that wait to be accepted by a listener after so many have come, one after the other, each with the beginning of a request (Apache
/// has the kernel keep back those without a byte): the kernel's own count.
pub(crate) fn queued_tcp(to: SocketAddr, come: usize) -> usize {
    let open = |_| {
        let stream = TcpStream::connect_timeout(&to, Duration::from_millis(300)).ok()?;
        (&stream).write_all(b"GET /").ok()?;
        Some(stream)
    };
    let _open: Vec<Option<TcpStream>> = (0..come).map(open).collect();
    at_rest(come, || waiting(to).unwrap_or(0))
}

/// The receive queue of a listening socket: connections that wait to be accepted (proc_pid_net(5), tcp_diag: sk_ack_backlog).
fn waiting(listener: SocketAddr) -> Option<usize> {
    let text = std::fs::read_to_string("/proc/net/tcp").ok()?;
    let port = format!(":{:04X}", listener.port());
    let mut rows = text.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.len() > 4 && row[1].ends_with(&port) && row[3] == "0A")?;
    usize::from_str_radix(row[4].split_once(':')?.1, 16).ok()
}

/// The same for a Unix socket, which refuses at once.
pub(crate) fn queued_unix(to: &Path, most: usize) -> usize {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
    use std::os::fd::AsRawFd;
    let address = UnixAddr::new(to).unwrap();
    let mut open = Vec::new();
    while open.len() < most {
        let one = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_NONBLOCK, None).unwrap();
        if connect(one.as_raw_fd(), &address).is_err() {
            break;
        }
        open.push(one);
    }
    open.len()
}

/// A FastCGI request for a script, which is kept open (FastCGI specification 1.0, 3.3 and 5).
pub(crate) fn fast_cgi(socket: &Path, script: &Path) -> Option<UnixStream> {
    // The socket is there a moment before anybody listens on it.
    let begun = Instant::now();
    let mut stream = loop {
        match UnixStream::connect(socket) {
            Ok(stream) => break stream,
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && begun.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(_) => return None,
        }
    };
    let record = |kind: u8, body: &[u8]| {
        let length = u16::try_from(body.len()).unwrap().to_be_bytes();
        [&[1, kind, 0, 1, length[0], length[1], 0, 0][..], body].concat()
    };
    let mut parameters = Vec::new();
    for (name, value) in [("SCRIPT_FILENAME", script.to_str()?), ("REQUEST_METHOD", "GET")] {
        parameters.extend([u8::try_from(name.len()).unwrap(), u8::try_from(value.len()).unwrap()]);
        parameters.extend(name.bytes().chain(value.bytes()));
    }
    let all = [record(1, &[0, 1, 0, 0, 0, 0, 0, 0]), record(4, &parameters), record(4, &[]), record(5, &[])].concat();
    stream.write_all(&all).ok()?;
    Some(stream)
}
