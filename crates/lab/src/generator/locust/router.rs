//! The master's end of the way to Locust's workers: ZeroMQ over TCP, a ROUTER, one frame a message behind the worker's name (locust 2.47,
//! `locust/rpc/zmqrpc.py`). A thread of its own keeps it, so that each worker hears an answer to its heartbeats whatever else happens.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zeromq::util::PeerIdentity;
use zeromq::{RouterSocket, Socket, SocketRecv, SocketSend, ZmqMessage};

use crate::error::LabError;
use crate::locust_wire::message::{Order, Report};

/// How long the thread may take to end once nobody wants anything of it.
const END: Duration = Duration::from_secs(1);

/// Where workers come to.
#[derive(Debug)]
pub(super) struct Router {
    orders: Option<UnboundedSender<(String, Order)>>,
    said: Receiver<FromWorker>,
    thread: Option<JoinHandle<()>>,
    port: u16,
}

/// After a failure to receive.
const AGAIN: Duration = Duration::from_millis(50);

/// What a worker said, and when it was heard.
#[derive(Debug)]
pub(super) struct FromWorker {
    pub(super) worker: String,
    /// The message; or what is wrong with it.
    pub(super) report: Result<Report, String>,
    pub(super) at: Instant,
}

impl Router {
    /// Listens at `address` (`HOST:PORT`; port 0: any).
    ///
    /// # Errors
    /// When nobody can listen there.
    pub(super) fn open(address: &str) -> Result<Router, LabError> {
        let (orders, ordered) = unbounded_channel();
        let (say, said) = mpsc::channel();
        let (opened, open) = mpsc::channel();
        let endpoint = format!("tcp://{address}");
        let thread = thread::spawn(move || keep(&endpoint, ordered, &say, &opened));
        let port = open.recv().unwrap_or_else(|_| Err("its thread has ended".to_owned()));
        let port = port.map_err(|why| {
            LabError::Environment(format!(
                "cannot listen for Locust workers at {address}: {why}\n  hint: choose another address with --locust-bind"
            ))
        })?;
        Ok(Router { orders: Some(orders), said, thread: Some(thread), port })
    }

    /// Where it listens.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Tells a worker. Who is gone does not hear it; that it is gone shows by its silence.
    pub(super) fn tell(&self, worker: &str, order: Order) {
        let _ = self.orders.as_ref().map(|to| to.send((worker.to_owned(), order)));
    }

    /// What is said next, within `patience`.
    ///
    /// # Errors
    /// When the thread that listens is gone.
    pub(super) fn next(&self, patience: Duration) -> Result<Option<FromWorker>, LabError> {
        match self.said.recv_timeout(patience) {
            Ok(said) => Ok(Some(said)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(LabError::Environment(
                "the socket for Locust workers is closed; this is a bug in genkai".to_owned(),
            )),
        }
    }
}

impl Drop for Router {
    /// What workers have been told still goes out.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn keep(
    endpoint: &str,
    mut orders: UnboundedReceiver<(String, Order)>,
    say: &mpsc::Sender<FromWorker>,
    opened: &mpsc::Sender<Result<u16, String>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return drop(opened.send(Err(e.to_string()))),
    };
    runtime.block_on(async {
        let mut socket = RouterSocket::new();
        let bound = match socket.bind(endpoint).await {
            Ok(zeromq::Endpoint::Tcp(_, port)) => Ok(port),
            Ok(other) => Err(format!("{other} is no TCP address")),
            Err(e) => Err(e.to_string()),
        };
        let failed = bound.is_err();
        let _ = opened.send(bound);
        if failed {
            return;
        }
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some((worker, order)) => send(&mut socket, &worker, &order).await,
                    None => break,
                },
                message = socket.recv() => {
                    let Ok(message) = message else {
                        tokio::time::sleep(AGAIN).await;
                        continue;
                    };
                    let Some((worker, report)) = read(&message) else { continue };
                    if matches!(report, Ok(Report::Heartbeat(_))) {
                        send(&mut socket, &worker, &Order::Heartbeat).await;
                    }
                    if say.send(FromWorker { worker, report, at: Instant::now() }).is_err() {
                        break;
                    }
                }
            }
        }
        let _ = tokio::time::timeout(END, socket.close()).await;
    });
    runtime.shutdown_timeout(END);
}

/// A message: who sent it, and what it says.
fn read(message: &ZmqMessage) -> Option<(String, Result<Report, String>)> {
    let worker = String::from_utf8(message.get(0)?.to_vec()).ok()?;
    Some((worker, Report::decode(message.get(1)?)))
}

async fn send(socket: &mut RouterSocket, worker: &str, order: &Order) {
    let Ok(identity) = PeerIdentity::try_from(worker.as_bytes()) else { return };
    let mut message = ZmqMessage::from(order.encode(worker));
    message.push_front(identity.into());
    // Fails for one that is gone.
    let _ = socket.send(message).await;
}
