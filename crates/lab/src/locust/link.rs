//! The way to a Locust master: ZeroMQ over TCP, a DEALER whose identity is the worker's name, one frame a message (locust 2.47,
//! `locust/rpc/zmqrpc.py`). A thread of its own keeps it, so that the master hears a heartbeat each second whatever else happens.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval, timeout};
use zeromq::util::PeerIdentity;
use zeromq::{DealerSocket, Socket, SocketOptions, SocketRecv, SocketSend, ZmqError, ZmqMessage};

use crate::error::LabError;
use crate::locust_wire::message::{Health, MasterMessage, WorkerMessage};
use crate::locust_wire::state::State;

/// Between two heartbeats (`HEARTBEAT_INTERVAL`).
const BEAT: Duration = Duration::from_secs(1);
/// A master that says nothing for so long is gone (`MASTER_HEARTBEAT_TIMEOUT`).
const SILENCE: Duration = Duration::from_secs(60);
/// Longest wait for a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// The way to a master.
pub(super) struct Link {
    told: Option<UnboundedSender<WorkerMessage>>,
    heard: Receiver<Event>,
    vitals: Vitals,
    thread: Option<JoinHandle<()>>,
}

/// What comes over the way.
#[derive(Debug)]
pub(super) enum Event {
    /// A message.
    Message(MasterMessage),
    /// There is no connection, or no longer: why.
    Lost(String),
}

/// What heartbeats tell.
#[derive(Clone, Default)]
struct Vitals {
    state: Arc<AtomicU8>,
    /// Of a core, hundredths of a percent.
    busy: Arc<AtomicU32>,
}

impl Link {
    /// Connects to the master at `address` (`HOST:PORT`) as `worker`.
    ///
    /// # Errors
    /// When nobody accepts a connection there.
    pub(super) fn open(address: &str, worker: &str) -> Result<Link, LabError> {
        let (told, orders) = unbounded_channel();
        let (say, heard) = mpsc::channel();
        let (opened, open) = mpsc::channel();
        let vitals = Vitals::default();
        let keeper = Keeper { worker: worker.to_owned(), say: Mutex::new(say), vitals: vitals.clone() };
        let address = address.to_owned();
        let thread = thread::spawn(move || keeper.keep(&address, orders, &opened));
        match open.recv() {
            Ok(Ok(())) => Ok(Link { told: Some(told), heard, vitals, thread: Some(thread) }),
            Ok(Err(why)) => Err(LabError::Environment(why)),
            Err(_) => Err(LabError::Environment("the connection to the Locust master could not be made".to_owned())),
        }
    }

    /// Tells the master.
    pub(super) fn tell(&self, told: WorkerMessage) {
        // Who is gone is told by `next`.
        let _ = self.told.as_ref().map(|to| to.send(told));
    }

    /// What state heartbeats tell from now on.
    pub(super) fn be(&self, state: State) {
        self.vitals.state.store(state as u8, Ordering::Relaxed);
    }

    /// How busy the busiest thread is, of 1.
    pub(super) fn busy(&self, share: f64) {
        self.vitals.busy.store((share.clamp(0.0, 1.0) * 10_000.0) as u32, Ordering::Relaxed);
    }

    /// What comes next, within `patience`.
    pub(super) fn next(&self, patience: Duration) -> Option<Event> {
        match self.heard.recv_timeout(patience) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Event::Lost("the connection has ended".to_owned())),
        }
    }
}

impl Drop for Link {
    /// What has been told still goes out.
    fn drop(&mut self) {
        self.told = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What keeps the way open.
struct Keeper {
    worker: String,
    say: Mutex<mpsc::Sender<Event>>,
    vitals: Vitals,
}

impl Keeper {
    fn keep(self, address: &str, orders: UnboundedReceiver<WorkerMessage>, opened: &mpsc::Sender<Result<(), String>>) {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(e) => return drop(opened.send(Err(format!("cannot wait for the Locust master: {e}")))),
        };
        runtime.block_on(async {
            let socket = match self.connect(address).await {
                Ok(socket) => socket,
                Err(why) => return drop(opened.send(Err(why))),
            };
            let _ = opened.send(Ok(()));
            if let Err(why) = self.talk(address, socket, orders).await {
                self.say(Event::Lost(why));
            }
        });
        runtime.shutdown_timeout(BEAT);
    }

    async fn connect(&self, address: &str) -> Result<DealerSocket, String> {
        let mut options = SocketOptions::default();
        options.peer_identity(PeerIdentity::try_from(self.worker.as_bytes()).map_err(|e| e.to_string())?);
        let mut socket = DealerSocket::with_options(options);
        let endpoint = format!("tcp://{address}");
        let made = timeout(CONNECT, socket.connect(&endpoint)).await;
        let why = match made {
            Ok(Ok(())) => return Ok(socket),
            Ok(Err(ZmqError::Network(e))) => e.to_string(),
            Ok(Err(e)) => e.to_string(),
            Err(_) => format!("no answer within {} s", CONNECT.as_secs()),
        };
        Err(format!(
            "cannot reach a Locust master at {address}: {why}\n  hint: start one first: locust --master -f FILE.py (it listens on port 5557), or correct the address"
        ))
    }

    /// Until there are no more orders, or the master is gone.
    async fn talk(
        &self,
        address: &str,
        mut socket: DealerSocket,
        mut orders: UnboundedReceiver<WorkerMessage>,
    ) -> Result<(), String> {
        let mut beat = interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut last = Instant::now();
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(told) => self.send(&mut socket, &told).await?,
                    None => {
                        let _ = timeout(BEAT, socket.close()).await;
                        return Ok(());
                    }
                },
                message = socket.recv() => {
                    last = Instant::now();
                    let message = message.map_err(|e| format!("the connection to the Locust master has ended: {e}"))?;
                    match message.get(0).and_then(|frame| MasterMessage::decode(frame)) {
                        Some(MasterMessage::Reconnect) => socket = self.connect(address).await?,
                        Some(heard) => self.say(Event::Message(heard)),
                        None => return Err("what came is no message of a Locust master: is it of version 2?".to_owned()),
                    }
                },
                _ = beat.tick() => {
                    if last.elapsed() > SILENCE {
                        return Err(format!("the Locust master has said nothing for {} s", SILENCE.as_secs()));
                    }
                    self.send(&mut socket, &WorkerMessage::Heartbeat(self.vitals.health())).await?;
                }
            }
        }
    }

    async fn send(&self, socket: &mut DealerSocket, told: &WorkerMessage) -> Result<(), String> {
        let frame = ZmqMessage::from(told.encode(&self.worker));
        socket.send(frame).await.map_err(|_| "the Locust master has closed the connection".to_owned())
    }

    fn say(&self, event: Event) {
        let _ = self.say.lock().unwrap_or_else(PoisonError::into_inner).send(event);
    }
}

impl Vitals {
    fn health(&self) -> Health {
        Health {
            state: State::of(self.state.load(Ordering::Relaxed)).name(),
            current_cpu_usage: f64::from(self.busy.load(Ordering::Relaxed)) / 100.0,
            current_memory_usage: resident(),
        }
    }
}

/// Resident memory of this process, bytes; 0 where it cannot be read.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok()).unwrap_or_default();
    pages * nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE).ok().flatten().map_or(4096, |size| size as u64)
}
