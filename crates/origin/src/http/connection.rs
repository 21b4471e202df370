//! One client's connection: read a request, have it served, answer, again.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::rc::Rc;
use std::time::Duration;

use genkai_wire::http1::{BodyDecoder, Error, Framing, RequestHead};
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;

use super::account::{self, Account, Arrival, receive};
use super::page::{self, PIECES, Page, Then};
use super::stall::Stalls;
use super::workers::{Bell, Workers};
use crate::pool::Admission;

/// Longest request body that is read (and thrown away), bytes: 1 GiB.
pub const MAX_BODY: u64 = 1 << 30;

/// Bytes read at once, into a buffer that all connections share.
const READ: usize = 64 * 1024;
/// A connection that ends with an error is read on for so long, and so many bytes, so that the answer is not lost: data
/// that arrives at a closed socket is answered by a reset, which throws away what the client has not read yet
/// (RFC 9112, 9.6).
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

/// What all connections share.
pub(super) struct Shared {
    pub(super) workers: Workers,
    pub(super) stalls: Stalls,
    /// Where it is kept what was done, if it is.
    pub(super) account: Option<Rc<Account>>,
    page: Page,
    /// Borrowed only between two waits.
    buffer: RefCell<Box<[u8]>>,
}

impl Shared {
    pub(super) fn new(body: u64, workers: Workers, stalls: Stalls, account: Option<Rc<Account>>) -> Shared {
        Shared { workers, stalls, account, page: Page::new(body), buffer: RefCell::new(vec![0; READ].into()) }
    }
}

/// Serves a connection until it ends. Its errors are its client's to see, nobody else's.
pub(super) async fn serve(stream: TcpStream, shared: Rc<Shared>) {
    // A connection made before its listener asked for stamps has not inherited them.
    if shared.account.is_some() && account::stamp(&stream).is_err() {
        return;
    }
    let mut connection =
        Connection { stream, shared, pending: Vec::new(), used: 0, arrival: Arrival::default(), bell: Bell::default() };
    let _ = connection.run().await;
}

struct Connection {
    stream: TcpStream,
    shared: Rc<Shared>,
    /// Bytes read; those before `used` are done with. Owns no memory while the connection is idle.
    pending: Vec<u8>,
    used: usize,
    /// When the last of what was read arrived. Known only to who keeps an account.
    arrival: Arrival,
    bell: Bell,
}

/// What is kept of a request's head.
#[derive(Clone, Copy)]
struct Request {
    to_head: bool,
    framing: Framing,
    expects_continue: bool,
    then: Then,
}

/// Why a connection cannot go on.
enum Stop {
    /// The client ended it, or it broke.
    Gone,
    /// The client is told this, and it ends.
    Answer(u16, &'static str),
}

impl From<io::Error> for Stop {
    fn from(_: io::Error) -> Stop {
        Stop::Gone
    }
}

impl From<Error> for Stop {
    fn from(_: Error) -> Stop {
        Stop::Answer(400, "Bad Request")
    }
}

impl Connection {
    async fn run(&mut self) -> io::Result<()> {
        loop {
            match self.exchange().await {
                Ok(Then::Close) => return self.stream.shutdown().await,
                Ok(_) => {}
                Err(Stop::Gone) => return Ok(()),
                Err(Stop::Answer(status, reason)) => return self.reject(status, reason).await,
            }
            // Requests sent ahead are served without a wait in between: others must get their turn.
            tokio::task::coop::consume_budget().await;
        }
    }

    async fn exchange(&mut self) -> Result<Then, Stop> {
        let request = self.head().await?;
        self.body(request).await?;
        let arrival = self.arrival;
        self.shared.stalls.begin();
        match self.shared.workers.work(&self.bell).await? {
            Admission::Taken => self.page(request).await?,
            Admission::Refused => {
                let answer = page::short(503, "Service Unavailable", request.then, request.to_head);
                self.send(&answer, 0).await?;
            }
        }
        if let Some(account) = &self.shared.account {
            account.answered(arrival);
        }
        Ok(request.then)
    }

    async fn head(&mut self) -> Result<Request, Stop> {
        loop {
            if let Some(head) = RequestHead::parse(&self.pending[self.used..])? {
                let request = Request {
                    to_head: head.method == b"HEAD",
                    framing: head.framing,
                    expects_continue: head.expects_continue,
                    then: Then::after(head.version, head.persistent),
                };
                self.used += head.length;
                return Ok(request);
            }
            self.read().await?;
        }
    }

    /// Reads the body and throws it away.
    async fn body(&mut self, request: Request) -> Result<(), Stop> {
        let mut decoder = BodyDecoder::new(request.framing);
        if decoder.done() {
            return Ok(());
        }
        if matches!(request.framing, Framing::Length(length) if length > MAX_BODY) {
            return Err(Stop::Answer(413, "Content Too Large"));
        }
        if request.expects_continue && self.used == self.pending.len() {
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n", 0).await?;
        }
        let mut total = 0;
        loop {
            let (skipped, done) = decoder.skip(&self.pending[self.used..])?;
            self.used += skipped;
            total += skipped as u64;
            if done {
                return Ok(());
            }
            // Chunked bodies do not say their length; the bytes of their framing count here too.
            if total > MAX_BODY {
                return Err(Stop::Answer(413, "Content Too Large"));
            }
            self.read().await?;
        }
    }

    /// Appends what has arrived to `pending`, waiting for at least one byte.
    async fn read(&mut self) -> Result<(), Stop> {
        self.pending.drain(..self.used);
        self.used = 0;
        if self.pending.is_empty() {
            self.pending = Vec::new();
        }
        loop {
            self.stream.readable().await?;
            let mut buffer = self.shared.buffer.borrow_mut();
            let read = match &self.shared.account {
                None => self.stream.try_read(&mut buffer),
                Some(_) => {
                    self.stream.try_io(Interest::READABLE, || receive(&self.stream, &mut buffer)).map(|(n, arrival)| {
                        self.arrival = arrival;
                        n
                    })
                }
            };
            match read {
                Ok(0) => return Err(Stop::Gone),
                Ok(n) => {
                    self.pending.extend_from_slice(&buffer[..n]);
                    return Ok(());
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    async fn page(&self, request: Request) -> io::Result<()> {
        let head = self.shared.page.head(request.then);
        let body = if request.to_head { 0 } else { self.shared.page.length() };
        self.send(&head, body).await
    }

    /// Writes a head and `body` bytes of the page, in one call where the socket takes them.
    async fn send(&self, head: &[u8], body: u64) -> io::Result<()> {
        let end = head.len() as u64 + body;
        let mut sent = 0u64;
        while sent < end {
            let mut slices = [IoSlice::new(&[]); 1 + PIECES];
            slices[0] = IoSlice::new(&head[head.len().min(sent as usize)..]);
            let offset = sent.saturating_sub(head.len() as u64);
            let used = 1 + self.shared.page.body(offset, body, &mut slices[1..]);
            match self.stream.try_write_vectored(&slices[..used]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => sent += n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.stream.writable().await?,
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Answers and ends the connection so that the answer arrives.
    async fn reject(&mut self, status: u16, reason: &str) -> io::Result<()> {
        self.send(&page::short(status, reason, Then::Close, false), 0).await?;
        self.stream.shutdown().await?;
        let _ = tokio::time::timeout(LINGER, async {
            let mut read = 0;
            while read < LINGER_BYTES && self.read().await.is_ok() {
                read += self.pending.len();
                self.used = self.pending.len();
            }
        })
        .await;
        Ok(())
    }
}
