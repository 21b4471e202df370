//! Chat rooms: whatever a member of `/rooms/{name}` sends goes to every member of that room, the sender too.
//!
//! * One process, or several nodes that share rooms over Redis (pub/sub): a node then passes on what comes back from Redis,
//!   so that every member of a room, on whichever node, hears the messages in one order.
//! * A message is encoded once and the bytes shared by all receivers. What a member's socket does not take waits in that
//!   member's queue, which is bounded: who reads too slowly is told so ([`SLOW`]) and disconnected, and never holds up
//!   others.
//! * Every hop counts ([`Hops`](genkai_model::rooms::Hops)): received, published, back from Redis, queued for members, written to their sockets,
//!   lost and why. With a trace ([`trace`]) each message can be followed, too.
//! * `/app` leads to the application of the server comparison ([`app`]), in which this server is the reference.
//! * `GET /counters` answers the counts in JSON, `GET /trace` the trace.
//!
//! A client may say who it is: `/rooms/{name}?member=17`; the trace then names it where its messages were lost.
//!
//! One thread does everything. Reading order: [`room`] (who is where, and what a message does), [`member`] (a queue and its
//! socket), [`connection`] (a client's side), [`backplane`] (the way to other nodes), [`redis`] (what carries it).

mod app;
mod backplane;
mod connection;
mod counters;
mod house;
mod member;
mod outgoing;
mod redis;
mod room;
#[cfg(test)]
mod tests;
mod trace;

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::task::LocalSet;

use crate::accept;
use crate::printer::Printer;
use counters::Counters;
use house::House;

/// Code and reason with which a slow member is disconnected: 1008, a policy of the endpoint (RFC 6455 section 7.4.1).
pub const SLOW: (u16, &str) = (1008, "too slow: the queue of this member is full");

/// How a node behaves.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Largest message, bytes.
    pub max_message: u64,
    /// Bytes that may wait for one member.
    pub member_queue: usize,
    /// Messages kept in the trace; 0 for none.
    pub trace: usize,
    /// Redis that nodes share, e.g. `redis://127.0.0.1:6379/`; none: rooms are of this process only.
    pub redis: Option<String>,
    /// Loses every so many-th message that was received, before anything is done with it: a fault on purpose, for drills.
    pub lose_every: Option<u64>,
}

impl Default for Spec {
    /// Messages up to 64 KiB, a megabyte may wait for a member, no trace, no Redis, nothing lost on purpose.
    fn default() -> Spec {
        Spec { max_message: 64 * 1024, member_queue: 1024 * 1024, trace: 0, redis: None, lose_every: None }
    }
}

/// Serves until `stop` is set: blocks the calling thread, which does all the work. `joined` is called once clients can be served, Redis
/// being reached. With `stats`, a line of counts in JSON goes to standard output every period from then on, and one at the end.
///
/// # Errors
/// When the event loop cannot be made, the listener fails for good, Redis cannot be reached at the start, or `joined` fails.
pub fn serve(
    listener: TcpListener,
    spec: Spec,
    stats: Option<Duration>,
    stop: &Arc<AtomicBool>,
    joined: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    serve_to(listener, spec, stop, |counters| {
        joined()?;
        let printer = |every| Printer::start(every, move || counters.line(), Arc::clone(stop), io::stdout());
        Ok(stats.map(printer))
    })
}

/// `begin` is called once clients can be served; what it gives is dropped when they no longer are.
fn serve_to<T>(
    listener: TcpListener,
    spec: Spec,
    stop: &AtomicBool,
    begin: impl FnOnce(Arc<Counters>) -> io::Result<T>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(listener, spec, stop, begin))
}

async fn run<T>(
    listener: TcpListener,
    spec: Spec,
    stop: &AtomicBool,
    begin: impl FnOnce(Arc<Counters>) -> io::Result<T>,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let counters = Arc::new(Counters::default());
    let house = Rc::new(House::new(spec, Arc::clone(&counters)));
    let backplane = redis::join(&house).await?;
    let _begun = begin(counters)?;
    tokio::select! {
        ended = accept::forever(&listener, |stream| connection::serve(stream, Rc::clone(&house))) => ended,
        () = house.flush() => Ok(()),
        () = backplane => Ok(()),
        () = accept::stopped(stop) => Ok(()),
    }
}
