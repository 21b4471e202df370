//! Many clients of one WebSocket server that do one thing together, on the calling thread.
//!
//! A load (`run`) paces requests; here there is nothing to pace: everybody hears the same message, everybody speaks at once, or
//! one client moves a large message. The server speaks the protocol of the server comparison (apps/README.md), plainly or over
//! Socket.IO ([`Manner`]), and shares our clock, so that delays are of one direction: its CLOCK_MONOTONIC is ours on one
//! machine (clock_gettime(2); Java's System.nanoTime and Node's process.hrtime read it on Linux).
//!
//! A message counts as received when its last byte was in the client's socket (SO_TIMESTAMPING), not when this thread came to
//! read it: with hundreds of clients on one thread, its own turn would otherwise be a large part of what is measured.
//!
//! Reading order: [`ask`] (what is asked), [`seat`] (one client), [`voice`] (dialects).

mod ask;
mod seat;
mod voice;

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_model::websocket::{CloseCount, Messages};
use genkai_wire::websocket::{Kind, code};
use nix::time::{ClockId, clock_gettime};
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

pub use ask::Answer;
use seat::{Post, Seat};
pub use voice::Manner;

/// Bytes read at once.
const READ: usize = 256 * 1024;
/// Connections that are opened before their handshakes are waited for: fewer than any server's accept queue holds (Jetty's 50).
const BATCH: usize = 32;
/// Events taken at once.
const EVENTS: usize = 1024;

/// Why clients could not do what they were to do.
#[derive(Debug, thiserror::Error)]
pub enum CrowdError {
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
        "the server says it sent at {said} ns, which is not between {asked} and {came}: it does not read this machine's CLOCK_MONOTONIC"
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

impl CrowdError {
    /// Whether it is the server that does not do its part: it may be gone, and others go on.
    pub fn is_of_server(&self) -> bool {
        matches!(self, CrowdError::Connect { .. } | CrowdError::Open { .. })
    }
}

fn ended(code: Option<u16>) -> String {
    code.map_or_else(String::new, |code| format!(" (the connection ended with code {code})"))
}

/// The clients of one server.
#[derive(Debug)]
pub struct Crowd {
    address: SocketAddr,
    manner: Manner,
    patience: Duration,
    epoll: std::os::fd::OwnedFd,
    seats: Vec<Seat>,
    buffer: Vec<u8>,
    closes: Messages,
}

impl Crowd {
    /// Opens `count` connections to the application at `address`. `patience`: longest wait for anything.
    ///
    /// # Errors
    /// When a connection cannot be opened.
    pub fn gather(address: SocketAddr, manner: Manner, count: usize, patience: Duration) -> Result<Crowd, CrowdError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io::Error::from)?;
        let seats = (0..count).map(|_| Seat::default()).collect();
        let closes = Messages::default();
        let mut crowd = Crowd { address, manner, patience, epoll, seats, buffer: vec![0; READ], closes };
        crowd.mend()?;
        Ok(crowd)
    }

    /// Opens the connections again that have ended; how many.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn mend(&mut self) -> Result<usize, CrowdError> {
        let gone: Vec<usize> = (0..self.seats.len()).filter(|n| !self.seats[*n].is_open()).collect();
        for some in gone.chunks(BATCH) {
            for &number in some {
                if !self.seats[number].has_ended() {
                    // It is there, but the server has been silent for too long.
                    self.closes.closed(code::ABNORMAL, 1);
                }
                let open = Seat::connect(self.address, self.manner, &self.epoll, number as u64, self.patience);
                self.seats[number] =
                    open.map_err(|source| CrowdError::Connect { number, address: self.address, source })?;
            }
            let deadline = Instant::now() + self.patience;
            self.until(deadline, |crowd, _| {
                some.iter().all(|n| crowd.seats[*n].is_open() || crowd.seats[*n].has_ended())
            })?;
            if let Some(&number) = some.iter().find(|n| !self.seats[**n].is_open()) {
                let (address, within) = (self.address, self.patience);
                return Err(CrowdError::Open { number, address, within, code: self.seats[number].ended });
            }
        }
        Ok(gone.len())
    }

    /// Reads what has come, without waiting: so pings are answered while somebody else is asked.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn attend(&mut self) -> Result<(), CrowdError> {
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
        mut done: impl FnMut(&mut Crowd, Option<(usize, &Post)>) -> bool,
    ) -> Result<bool, CrowdError> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut posts = Vec::new();
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
                let changed = self.serve(number, &mut posts);
                let mut finished = false;
                for post in posts.drain(..) {
                    finished |= done(self, Some((number, &post)));
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
    fn serve(&mut self, number: usize, posts: &mut Vec<Post>) -> bool {
        let seat = &mut self.seats[number];
        let before = (seat.is_ready(), seat.has_ended());
        seat.serve(&mut self.buffer, posts);
        if let Some(code) = seat.just_ended() {
            self.closes.closed(code, 1);
        }
        seat.register(&self.epoll, number as u64);
        before != (seat.is_ready(), seat.has_ended())
    }

    /// Has a client say a message.
    fn say(&mut self, number: usize, kind: Kind, payload: &[u8]) {
        let seat = &mut self.seats[number];
        seat.say(kind, payload);
        seat.register(&self.epoll, number as u64);
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
