//! Many clients of one WebSocket server that do one thing together, on the calling thread.
//!
//! A load (`run`) paces requests; here there is nothing to pace: all receive the same message, all send at once, or
//! one client moves a large message. The server speaks the protocol of the server comparison (apps/README.md), plainly or over
//! Socket.IO ([`ClientOptions`]). Delays are of one direction: its CLOCK_MONOTONIC is ours on one machine (clock_gettime(2);
//! Java's System.nanoTime and Node's process.hrtime read it on Linux), and clients on others reckon with its offset to theirs
//! ([`clock`]). Clients of several processes do one thing together in steps ([`share`]).
//!
//! A message counts as received when its last byte was in the client's socket (SO_TIMESTAMPING), not when this thread came to
//! read it: with hundreds of clients on one thread, its own turn would otherwise be a large part of what is measured.
//!
//! Reading order: [`ask`] (what is asked), [`share`] (the same in several processes), [`clock`] (delays between two clocks), [`client`]
//! (one client), [`dialect`] (what they speak).

mod ask;
mod client;
mod clock;
mod dialect;
mod share;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_model::websocket::{CloseCount, Messages};
use genkai_wire::websocket::{Kind, code};
use nix::time::{ClockId, clock_gettime};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

pub use ask::Answer;
use client::{Client, ReceivedMessage};
pub use dialect::ClientOptions;

/// Bytes read at once.
const READ: usize = 256 * 1024;
/// Connections that are opened before their handshakes are waited for: fewer than any server's accept queue holds (Jetty's 50).
const BATCH: usize = 32;
/// Events taken at once.
const EVENTS: usize = 1024;

/// Why clients could not do what they were to do.
#[derive(Debug, thiserror::Error)]
pub enum BroadcastError {
    /// A connection cannot be opened.
    #[error("client {number}: cannot connect to {address}: {source}")]
    Connect {
        /// Which client, from 0.
        number: usize,
        /// Where to.
        address: SocketAddr,
        /// The system's words.
        source: io::Error,
    },
    /// A WebSocket cannot be opened.
    #[error("client {number}: {address} did not open a WebSocket within {within:?}{}", ended(*.code))]
    Open {
        /// Which client, from 0.
        number: usize,
        /// Where to.
        address: SocketAddr,
        /// How long was waited.
        within: Duration,
        /// How the connection ended, if it did.
        code: Option<u16>,
    },
    /// The server's clock is not ours.
    #[error(
        "the server says it sent at {said} ns, which is not between {asked} and {came}: it does not read its machine's CLOCK_MONOTONIC"
    )]
    Clock {
        /// When it was asked.
        asked: u64,
        /// What it says.
        said: u64,
        /// When its message came.
        came: u64,
    },
    /// It says something else than it should.
    #[error("the server does not speak the comparison's protocol: it answered `{0}`")]
    Strange(String),
    /// The system refuses.
    #[error("waiting for clients' sockets: {0}")]
    Io(#[from] io::Error),
}

impl BroadcastError {
    /// Whether it is the server that does not do its part: it may be gone, and others go on.
    pub fn is_of_server(&self) -> bool {
        matches!(self, BroadcastError::Connect { .. } | BroadcastError::Open { .. })
    }
}

fn ended(code: Option<u16>) -> String {
    code.map_or_else(String::new, |code| format!(" (the connection ended with code {code})"))
}

/// The clients of one server.
#[derive(Debug)]
pub struct BroadcastClients {
    address: SocketAddr,
    options: ClientOptions,
    patience: Duration,
    epoll: std::os::fd::OwnedFd,
    clients: Vec<Client>,
    buffer: Vec<u8>,
    closes: Messages,
    /// By how much messages of a step showed that the clock is wrong, ns.
    wrong: u64,
}

impl BroadcastClients {
    /// Opens `count` connections to the application at `address`. `patience`: longest wait for anything.
    ///
    /// # Errors
    /// When a connection cannot be opened.
    pub fn connect(
        address: SocketAddr,
        options: ClientOptions,
        count: usize,
        patience: Duration,
    ) -> Result<BroadcastClients, BroadcastError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let clients = (0..count).map(|_| Client::default()).collect();
        let closes = Messages::default();
        let mut clients =
            BroadcastClients { address, options, patience, epoll, clients, buffer: vec![0; READ], closes, wrong: 0 };
        clients.reconnect()?;
        Ok(clients)
    }

    /// Opens the connections again that have ended; how many.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn reconnect(&mut self) -> Result<usize, BroadcastError> {
        let gone: Vec<usize> = (0..self.clients.len()).filter(|n| !self.clients[*n].is_open()).collect();
        for some in gone.chunks(BATCH) {
            for &number in some {
                if !self.clients[number].has_ended() {
                    // It is there, but the server has been silent for too long.
                    self.closes.closed(code::ABNORMAL, 1);
                }
                let open = Client::connect(self.address, self.options, &self.epoll, number as u64, self.patience);
                self.clients[number] =
                    open.map_err(|source| BroadcastError::Connect { number, address: self.address, source })?;
            }
            let deadline = Instant::now() + self.patience;
            self.until(deadline, |all, _| {
                some.iter().all(|n| all.clients[*n].is_open() || all.clients[*n].has_ended())
            })?;
            if let Some(&number) = some.iter().find(|n| !self.clients[**n].is_open()) {
                let (address, within) = (self.address, self.patience);
                return Err(BroadcastError::Open { number, address, within, code: self.clients[number].ended });
            }
        }
        Ok(gone.len())
    }

    /// Reads what has come, without waiting: so pings are answered while somebody else is asked.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn poll(&mut self) -> Result<(), BroadcastError> {
        self.until(Instant::now(), |_, _| false).map(drop)
    }

    /// Connections that have ended since this was asked last, by code.
    fn take_closes(&mut self) -> Vec<CloseCount> {
        std::mem::take(&mut self.closes).closes
    }

    /// Reads and writes until `done` says so, or until `deadline`. It is asked about every message, and without one whenever
    /// a connection has opened or ended. Whether it was done.
    fn until(
        &mut self,
        deadline: Instant,
        mut done: impl FnMut(&mut BroadcastClients, Option<(usize, &ReceivedMessage)>) -> bool,
    ) -> Result<bool, BroadcastError> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut messages = Vec::new();
        if done(self, None) {
            return Ok(true);
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&wait)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(io::Error::from(e).into()),
            }
            let none = events.is_empty();
            for event in &events {
                let number = event.data.u64() as usize;
                let changed = self.serve(number, &mut messages);
                let mut finished = false;
                for message in messages.drain(..) {
                    finished |= done(self, Some((number, &message)));
                }
                if finished || (changed && done(self, None)) {
                    return Ok(true);
                }
            }
            if none && left.is_zero() {
                return Ok(false);
            }
        }
    }

    /// Does what the socket of one client is ready for. Whether the client is connected now and was not, or the other way round.
    fn serve(&mut self, number: usize, messages: &mut Vec<ReceivedMessage>) -> bool {
        let client = &mut self.clients[number];
        let before = (client.is_ready(), client.has_ended());
        client.serve(&mut self.buffer, messages);
        if let Some(code) = client.just_ended() {
            self.closes.closed(code, 1);
        }
        client.register(&self.epoll, number as u64);
        before != (client.is_ready(), client.has_ended())
    }

    /// Has a client send a message.
    fn send_from(&mut self, number: usize, kind: Kind, payload: &[u8]) {
        let client = &mut self.clients[number];
        client.send(kind, payload);
        client.register(&self.epoll, number as u64);
    }
}

/// CLOCK_MONOTONIC, ns.
fn monotonic() -> u64 {
    nanos(ClockId::CLOCK_MONOTONIC)
}

/// Processor time of this thread, ns.
fn busy() -> u64 {
    nanos(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn nanos(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |now| Duration::from(now).as_nanos() as u64)
}
