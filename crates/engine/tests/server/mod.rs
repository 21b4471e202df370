//! A server that does what a test tells it to, and a load to send it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use genkai_engine::{End, StopFlag, run};
use genkai_model::error::ErrorKind;
use genkai_model::event::Tick;
use genkai_model::histogram::{Payload, empty};
use genkai_model::load::{Arrivals, Body, Load, Request, Reuse, Stop};
use genkai_model::units::{Span, Spread};
use genkai_model::websocket::Messages;
use hdrhistogram::Histogram;

/// A response of five bytes on a connection that stays.
pub(crate) const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Listens on a free loopback port; every connection gets a thread that runs the script. Ends with the test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Connections accepted so far.
    pub(crate) accepted: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
    acceptor: Option<JoinHandle<()>>,
}

impl Server {
    /// `script` gets each connection and its number, from 0.
    pub(crate) fn start(script: impl Fn(&mut TcpStream, usize) + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (over, accepted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (ends, counts, script) = (Arc::clone(&over), Arc::clone(&accepted), Arc::new(script));
        let acceptor = thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                // Scripts must end when a client hangs, for the test to fail instead of hanging too.
                stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
                stream.set_nodelay(true).expect("nodelay");
                let (n, script) = (counts.fetch_add(1, Ordering::SeqCst), Arc::clone(&script));
                thread::spawn(move || script(&mut stream, n));
            }
        });
        Server { address, accepted, over, acceptor: Some(acceptor) }
    }

    /// Answers each request with the same bytes, for as long as the client goes on.
    pub(crate) fn always(answer: impl Into<Vec<u8>>) -> Server {
        let answer = answer.into();
        Server::start(move |stream, _| while read_request(stream) && stream.write_all(&answer).is_ok() {})
    }

    pub(crate) fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.acceptor.take().map(JoinHandle::join);
    }
}

/// Reads one request without a body; whether there was one.
pub(crate) fn read_request(stream: &mut TcpStream) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Waits until all that was written is in the client's socket: what comes next cannot overtake it, and a reset leaves it to be read
/// (tcp_recvmsg of Linux looks at what is there before it looks at errors).
pub(crate) fn arrived(stream: &TcpStream) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut left: libc::c_int = 1;
    loop {
        // SAFETY: the descriptor is open, and the kernel writes one int (tcp(7), SIOCOUTQ: what is not acknowledged yet).
        let done = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut left) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        if left == 0 {
            return;
        }
        assert!(Instant::now() < deadline, "{left} bytes do not arrive");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Makes the connection end with RST instead of FIN when it is dropped.
pub(crate) fn reset(stream: &TcpStream) {
    socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).expect("linger");
}

/// One user, keep-alive, ten seconds at most; tests bound it by requests.
pub(crate) fn load(address: SocketAddr, requests: u64) -> Load {
    Load {
        addresses: vec![address],
        transport: Default::default(),
        protocol: Default::default(),
        request: Request {
            method: "GET".into(),
            path: "/".into(),
            host: "test".into(),
            headers: vec![],
            body: Body::Empty,
        },
        arrivals: users(1),
        stages: Vec::new(),
        asked_by: None,
        locust: None,
        scenario: None,
        reuse: Reuse::KeepAlive,
        retry: false,
        stop: Stop { after: Span::from_secs(10), requests: Some(requests) },
        timeout: Span::from_secs(5),
        threads: 1,
        scale: Default::default(),
        tick: Span::from_millis(100),
        seed: 1,
        kernel_timestamps: false,
        pages: None,
    }
}

pub(crate) fn users(count: u32) -> Arrivals {
    Arrivals::Users { count, spawn_rate: 1e6, think: Spread::default() }
}

/// A whole run, added up.
pub(crate) struct Seen {
    pub(crate) end: End,
    pub(crate) ticks: Vec<Tick>,
}

pub(crate) fn make(load: &Load) -> Seen {
    make_until(load, &StopFlag::new())
}

pub(crate) fn make_until(load: &Load, stop: &StopFlag) -> Seen {
    make_while(load, stop, |_| ())
}

/// Makes a load; `each` sees its intervals as they end.
pub(crate) fn make_while(load: &Load, stop: &StopFlag, mut each: impl FnMut(&Tick) + Send) -> Seen {
    let mut ticks = Vec::new();
    let take = |tick: Tick| {
        each(&tick);
        ticks.push(tick);
    };
    let end = run(load, None, stop, |_| (), take).expect("the load can be made");
    let seen = Seen { end, ticks };
    seen.check(load.protocol.is_http1(), load.scenario.is_some());
    seen
}

impl Seen {
    pub(crate) fn sum(&self, what: impl Fn(&Tick) -> u64) -> u64 {
        self.ticks.iter().map(what).sum()
    }

    pub(crate) fn ok(&self) -> u64 {
        self.sum(|t| t.ok)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sum(|t| t.sent)
    }

    pub(crate) fn errors(&self) -> u64 {
        self.sum(|t| t.errors.iter().map(|e| e.count).sum())
    }

    pub(crate) fn error(&self, kind: ErrorKind) -> u64 {
        self.sum(|t| t.errors.iter().filter(|e| e.kind == kind).map(|e| e.count).sum())
    }

    /// The kinds that occurred.
    pub(crate) fn kinds(&self) -> Vec<ErrorKind> {
        ErrorKind::ALL.iter().copied().filter(|kind| self.error(*kind) > 0).collect()
    }

    pub(crate) fn merged(&self, what: impl Fn(&Tick) -> &Payload) -> Histogram<u64> {
        let mut all = empty();
        for tick in &self.ticks {
            all.add(what(tick).decode().expect("a payload")).expect("the same bounds");
        }
        all
    }

    /// What became of WebSocket messages.
    pub(crate) fn messages(&self) -> Messages {
        let mut sum = Messages::default();
        self.ticks.iter().filter_map(|t| t.messages.as_ref()).for_each(|more| sum.add(more));
        sum
    }

    /// Close codes of the server, each with its number of connections.
    pub(crate) fn codes(&self) -> Vec<(u16, u64)> {
        self.messages().closes.iter().map(|c| (c.code, c.count)).collect()
    }

    /// What holds for every run, whatever the server did. Over `http`/1.1, what ended was sent, but for the kinds named here; a
    /// WebSocket message may also fail because its handshake did, a stream because its connection did not become ready. What is
    /// `redirected` is sent again.
    fn check(&self, http: bool, redirected: bool) {
        let from = self.ticks.iter().map(|t| t.from_us);
        let to = self.ticks.iter().map(|t| t.to_us);
        assert!(from.eq(std::iter::once(0).chain(to).take(self.ticks.len())), "intervals adjoin");
        assert_eq!(self.ticks.last().expect("at least one interval").to_us, self.end.lasted.0 / 1_000);
        let unsent_kinds = [
            ErrorKind::ConnectRefused,
            ErrorKind::ConnectTimeout,
            ErrorKind::ConnectOther,
            ErrorKind::PortsExhausted,
            ErrorKind::DescriptorsExhausted,
            ErrorKind::Dropped,
            ErrorKind::TlsExpired,
            ErrorKind::TlsUntrusted,
            ErrorKind::TlsSelfSigned,
            ErrorKind::TlsWrongName,
            ErrorKind::TlsCertificate,
            ErrorKind::TlsUnknownName,
            ErrorKind::TlsVersion,
            ErrorKind::TlsHandshakeFailure,
            ErrorKind::TlsFailed,
            ErrorKind::TlsClosed,
            ErrorKind::TlsTimeout,
        ];
        let unsent: u64 = unsent_kinds.iter().map(|kind| self.error(*kind)).sum();
        let ended = self.ok() + self.errors() - unsent;
        let sent = self.sent();
        assert!(
            (ended <= sent || !http) && (sent <= ended + self.end.abandoned || redirected),
            "{sent} sent, {ended} ended of them, {:?}",
            self.end
        );
        assert_eq!(self.ticks.last().unwrap().in_flight, self.end.abandoned);
        assert_eq!(self.merged(|t| &t.latency).len(), self.ok());
        assert_eq!(self.merged(|t| &t.service).len(), self.ok());
        assert_eq!(self.merged(|t| &t.failed_after).len(), self.errors());
        assert_eq!(self.merged(|t| &t.connect).len(), self.sum(|t| t.opened));
        let first = self.ticks.iter().find(|t| !t.errors.is_empty());
        for tick in &self.ticks {
            let at = tick.first_error_us;
            assert_eq!(at.is_some(), !tick.errors.is_empty());
            assert!(at.is_none_or(|at| at <= tick.to_us), "planned before it failed");
        }
        assert_eq!(first.is_some(), self.errors() > 0);
    }
}
