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

mod connection;
mod page;
mod stats;
mod workers;

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use genkai_model::plan::OriginSpec;
use tokio::task::LocalSet;

use crate::accept;
use crate::printer::Printer;
use connection::Shared;
use stats::Counters;
use workers::Workers;

pub use connection::MAX_BODY;

/// Serves until `stop` is set: blocks the calling thread, which does all the work. With `stats`, a line of JSON a
/// period goes to standard output, and one at the end:
/// `{"busy":3,"queued":0,"workers":5,"refused_total":0,"done_total":17}` (`workers` is null without a cap). When nobody
/// reads them any more, serving ends too, without an error.
///
/// # Errors
/// When the event loop or its timer cannot be made, or the listener fails for good.
pub fn serve(
    listener: TcpListener,
    spec: OriginSpec,
    stats: Option<Duration>,
    stop: Arc<AtomicBool>,
) -> io::Result<()> {
    serve_to(listener, &spec, stats, &stop, io::stdout())
}

fn serve_to(
    listener: TcpListener,
    spec: &OriginSpec,
    stats: Option<Duration>,
    stop: &Arc<AtomicBool>,
    out: impl io::Write + Send + 'static,
) -> io::Result<()> {
    let counters = Arc::new(Counters::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let printer = stats.map(|every| {
        let (counters, workers) = (Arc::clone(&counters), spec.workers);
        Printer::start(every, move || counters.line(workers), Arc::clone(stop), out)
    });
    let served = LocalSet::new().block_on(&runtime, run(listener, spec, counters, stop));
    drop(printer);
    served
}

async fn run(listener: TcpListener, spec: &OriginSpec, counters: Arc<Counters>, stop: &AtomicBool) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let shared = Rc::new(Shared::new(spec.body.0, Workers::new(spec, counters)?));
    tokio::select! {
        ended = accept::forever(&listener, |stream| connection::serve(stream, Rc::clone(&shared))) => ended,
        ended = shared.workers.run() => ended,
        () = accept::stopped(stop) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
