//! An HTTP/1.1 origin that behaves as told: a body of given size, a service time from a given distribution, a cap on
//! requests in service with a queue before it, and nothing else.
//!
//! * Any method and target is answered 200 with the body (HEAD: without it), after its service time; 503 at once when
//!   the queue is full. Bytes that are not a request are answered 400, a body beyond [`MAX_BODY`] 413; then the
//!   connection ends.
//! * Service begins when the whole request was read and ends when the answer may be written: as with a php-fpm pool
//!   behind a buffering proxy, a slow client does not hold a worker. A client that goes away does not free one either.
//! * Requests of one connection are answered in order, one at a time, however many were sent ahead.
//! * Connections stay open until the client ends them; an idle one costs its socket and no buffer.
//!
//! One thread does everything: what it can serve is bounded by one core, and its CPU is measured as the backend's.

mod account;
mod connection;
mod page;
mod stall;
mod stats;
mod workers;

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use genkai_model::plan::OriginSpec;
use tokio::task::LocalSet;

use crate::accept;
use crate::printer::Printer;
use account::Account;
use connection::Shared;
use stall::Stalls;
use stats::Counters;
use workers::Workers;

pub use connection::MAX_BODY;
pub use stall::Stall;

/// What an origin does besides serving.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// Prints counts so often, see [`serve`].
    pub stats: Option<Duration>,
    /// Stands still now and then.
    pub stall: Option<Stall>,
    /// Where it writes, at its end, what it did: a line of JSON, then a line a request, `arrived answered`, both in
    /// nanoseconds since 1970; a request arrives when the kernel has its last byte, however long it waits to be read.
    pub account: Option<PathBuf>,
}

/// Serves until `stop` is set: blocks the calling thread, which does all the work. With `stats`, a line of JSON a
/// period goes to standard output, and one at the end:
/// `{"busy":3,"queued":0,"workers":5,"refused_total":0,"done_total":17}` (`workers` is null without a cap). When nobody
/// reads them any more, serving ends too, without an error.
///
/// # Errors
/// When the event loop or its timer cannot be made, or the listener fails for good.
pub fn serve(listener: TcpListener, spec: OriginSpec, extras: &Extras, stop: Arc<AtomicBool>) -> io::Result<()> {
    serve_to(listener, &spec, extras, &stop, io::stdout())
}

fn serve_to(
    listener: TcpListener,
    spec: &OriginSpec,
    extras: &Extras,
    stop: &Arc<AtomicBool>,
    out: impl io::Write + Send + 'static,
) -> io::Result<()> {
    let counters = Arc::new(Counters::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let account = extras.account.as_deref().map(Account::new).transpose()?.map(Rc::new);
    let printer = extras.stats.map(|every| {
        let (counters, workers) = (Arc::clone(&counters), spec.workers);
        Printer::start(every, move || counters.line(workers), Arc::clone(stop), out)
    });
    let kept = account.clone();
    let served = LocalSet::new().block_on(&runtime, async {
        let workers = Workers::new(spec, Arc::clone(&counters))?;
        run(listener, Shared::new(spec.body.0, workers, Stalls::new(extras.stall), kept), stop).await
    });
    drop(printer);
    served.and(account.map_or(Ok(()), |account| account.write()))
}

async fn run(listener: TcpListener, shared: Shared, stop: &AtomicBool) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    if shared.account.is_some() {
        account::stamp(&listener)?;
    }
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let shared = Rc::new(shared);
    tokio::select! {
        ended = accept::forever(&listener, |stream| connection::serve(stream, Rc::clone(&shared))) => ended,
        ended = shared.workers.run() => ended,
        () = shared.stalls.run(shared.account.as_deref()) => Ok(()),
        () = accept::stopped(stop) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
