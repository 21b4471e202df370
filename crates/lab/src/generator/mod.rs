//! Where a load is made: in this process, or in several worker processes that begin at one instant and whose intervals are
//! joined as those of threads are. Who asks for a load gets the same intervals and the same end in both cases.

mod clients;
mod clock;
mod crowd;
mod keeper;
mod listener;
pub mod locust;
mod one_worker;
mod open;
mod order_reader;
mod own;
mod process;
mod protocol;
mod recorded;
mod room;
mod seat;
mod worker;
mod workers;
mod workplace;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::Scope;
use std::time::{Duration, Instant};

use genkai_engine::{End, Hold, StopFlag};
use genkai_model::event::{ClientUse, EndReason, Tick, TrialEnded, WorkerUse};
use genkai_model::load::Load;
use genkai_model::units::Span;
use genkai_place::machine;

pub(crate) use crowd::{Asked, Crowd, largest_share};
pub use keeper::keep;
pub(crate) use open::MANY_LOADS;
pub use open::{machines, one_load};
pub(crate) use recorded::Recorded;
pub use worker::serve;
pub use workplace::Workplaces;

use crate::error::LabError;

/// Makes loads.
#[derive(Clone, Copy, Debug)]
pub struct Generator<'a> {
    /// Where its processes run.
    pub places: &'a Workplaces,
    /// Cores of its threads, in turn; none: any.
    pub cpus: Option<&'a [usize]>,
}

/// What a load tells from its thread.
#[derive(Debug)]
pub(crate) enum LoadEvent {
    /// It began.
    Started(Instant),
    /// An interval.
    Tick(Box<Tick>),
    /// It is over, or could not begin.
    Ended(Box<Result<LoadEnd, LabError>>),
}

/// Passes what is told on to a channel whose other end may be gone.
pub(crate) fn into<T: From<LoadEvent>>(sender: Sender<T>) -> impl Fn(LoadEvent) {
    move |told| drop(sender.send(told.into()))
}

/// The next message of a trial's threads, if one comes within `patience`.
///
/// # Errors
/// When all of them are gone: the load has not said how it ended.
pub(crate) fn received<T>(receiver: &Receiver<T>, patience: Duration) -> Result<Option<T>, LabError> {
    match receiver.recv_timeout(patience) {
        Ok(message) => Ok(Some(message)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => {
            let text = "the load generator's thread ended without a word; this is a bug in genkai";
            Err(LabError::Environment(text.to_owned()))
        }
    }
}

/// A load that was made.
#[derive(Debug)]
pub struct LoadEnd {
    /// How it ended.
    pub end: End,
    /// Each worker process, where several machines made it.
    pub workers: Vec<WorkerUse>,
    /// What cut it short, if anything did: a worker process that died. What was seen until then is good.
    pub failure: Option<LabError>,
}

impl LoadEnd {
    /// The end as a record has it.
    pub fn ended(&self, reason: EndReason) -> TrialEnded {
        let End { lasted, abandoned, client_rss, client, .. } = self.end;
        // Of processes that are not genkai's own nothing is known.
        let client = (client != ClientUse::default()).then_some(client);
        TrialEnded { reason, lasted, abandoned, client_rss, client, workers: self.workers.clone() }
    }
}

impl<'a> Generator<'a> {
    /// Makes `load` on a thread of `scope` until it is over or `stop` is set; one process's load waits while `hold` wants it to.
    pub(crate) fn spawn<'scope, 'env>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        load: &'scope Load,
        (stop, hold): (&StopFlag, &Hold),
        tell: impl Fn(LoadEvent) + Send + 'scope,
    ) where
        'a: 'scope,
    {
        let (stop, hold) = (stop.clone(), hold.clone());
        scope.spawn(move || {
            let started = |at| tell(LoadEvent::Started(at));
            let tick = |tick| tell(LoadEvent::Tick(Box::new(tick)));
            let ended = self.run(load, (&stop, &hold), started, tick);
            tell(LoadEvent::Ended(Box::new(ended)));
        });
    }
}

impl Generator<'_> {
    /// Makes `load` and blocks until it is over; `started` and `tick` as in [`genkai_engine::run_held`].
    ///
    /// # Errors
    /// When the load could not begin.
    pub fn run(
        &self,
        load: &Load,
        (stop, hold): (&StopFlag, &Hold),
        started: impl FnOnce(Instant),
        tick: impl FnMut(Tick),
    ) -> Result<LoadEnd, LabError> {
        if load.locust.is_some() {
            return self.places.master()?.run(load, stop, started, tick);
        }
        let mut made = match genkai_engine::processes(load)? {
            1 if !load.scale.is_spread() => {
                let end = genkai_engine::run_held(load, self.cpus, (stop, hold), started, tick)?;
                LoadEnd { end, workers: Vec::new(), failure: None }
            }
            many => workers::run(self, load, many, stop, started, tick)?,
        };
        let client = &mut made.end.client;
        if load.scale.is_spread() {
            (client.sources, client.ports) = self.places.sources(load.scale.here() > 0);
        } else {
            client.ports = range(machine::local_ports());
        }
        Ok(made)
    }
}

/// Local ports in a range.
pub(crate) fn range((first, last): (u16, u16)) -> u32 {
    (u32::from(last) + 1).saturating_sub(u32::from(first))
}

/// The end of a load that no process has made yet.
fn nothing() -> End {
    let client = ClientUse::default();
    End { lasted: Span(0), began: Span(0), abandoned: 0, client_rss: 0, stopped: false, client, rooms: None }
}
