//! Pods of this run, and a worker in each of them at a time.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use genkai_engine::{Start, StopFlag};
use genkai_kubernetes::{Attached, Run, Stopped};
use genkai_model::load::{PodPlace, Scale, Way};

use super::keeper::{BEAT, BEGIN};
use super::listener::{FromWorker, Listener};
use super::protocol::{Report, harmless, read};
use crate::error::LabError;

/// How long what is said to a pod may wait on its way before the pod counts as cut off.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

/// How often pods hear that we are there, load or not: far sooner than they lose patience.
const BEATS: Duration = Duration::from_secs(5);

/// A pod, and what is heard of it.
pub(super) struct Seat {
    attached: Attached,
    /// The node that it is on.
    node: Option<String>,
    /// Whole lines are written.
    to: Mutex<UnixStream>,
    hearing: Mutex<Hearing>,
}

#[derive(Default)]
struct Hearing {
    /// Who hears the worker that is there now: its number, and whether it has greeted. What was said before is of an earlier one.
    listener: Option<(usize, Listener, bool)>,
    /// It will not be heard again: why.
    gone: Option<String>,
    /// It is we who go.
    closing: bool,
}

impl Hearing {
    fn pass(&mut self, said: Report, at: i64) {
        let Some((n, listener, greeted)) = &mut self.listener else { return };
        *greeted |= matches!(said, Report::Hello(_));
        if *greeted {
            // Whoever does not listen any more has ended its load.
            let _ = listener.send((*n, FromWorker::Message(said, at)));
        }
    }

    fn tell_end(&self) {
        if let (Some((n, listener, _)), Some(why)) = (&self.listener, &self.gone) {
            let _ = listener.send((*n, FromWorker::Gone(Some(why.clone()))));
        }
    }
}

impl Seat {
    fn hearing(&self) -> MutexGuard<'_, Hearing> {
        self.hearing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a worker started there, which `listener` hears as number `n`.
    pub(super) fn begin(&self, n: usize, listener: &Listener) {
        let mut hearing = self.hearing();
        hearing.listener = Some((n, listener.clone(), false));
        hearing.tell_end();
        drop(hearing);
        self.tell(BEGIN);
    }

    /// Says one word. A pod that is gone is told of by whoever hears it.
    pub(super) fn tell(&self, word: &str) {
        let _ = self.write(format!("{word}\n").as_bytes());
    }

    /// Writes whole lines.
    pub(super) fn write(&self, lines: &[u8]) -> io::Result<usize> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(lines).map(|()| lines.len())
    }

    /// The node that it is on.
    pub(super) fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    /// The end of what it said on standard error.
    pub(super) fn last_words(&self) -> String {
        self.attached.last_words()
    }

    /// Hears it to its end.
    fn listen(&self, from: UnixStream, why: impl Fn() -> String) {
        let mut from = BufReader::new(from);
        let cut = loop {
            match read::<Report>(&mut from) {
                Ok(Some(said)) => self.hearing().pass(said.harmless(), Start::now().0),
                Ok(None) => break None,
                Err(e) => break Some(harmless(&e.to_string())),
            }
        };
        if !self.hearing().closing {
            let why = cut.map_or_else(why, |e| format!("it said what is none of ours: {e}"));
            let mut hearing = self.hearing();
            hearing.gone = Some(why);
            hearing.tell_end();
        }
    }
}

/// The pods of a run, for as long as this is kept; then their Jobs are deleted.
#[derive(Default)]
pub(super) struct Pods {
    /// By cluster and number.
    seats: BTreeMap<(PodPlace, u16), Arc<Seat>>,
    threads: Vec<JoinHandle<()>>,
    /// To whoever lets pods know that we are there: a pod that is to hear of it, too. Its end is the end of what pods hear of us.
    beats: Option<Sender<Arc<Seat>>>,
    runs: Vec<Arc<Run>>,
}

impl std::fmt::Debug for Pods {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.runs).finish()
    }
}

impl Pods {
    /// Has all pods of `scale` made, all of which run then; the loads of the run last so long at most.
    ///
    /// # Errors
    /// When not all come. When `stop` is set before they have.
    pub(super) fn reached(scale: &Scale, lasts: Duration, stop: &StopFlag) -> Result<Pods, LabError> {
        let mut pods = Pods::default();
        let mut jobs: BTreeMap<&PodPlace, u16> = BTreeMap::new();
        for way in scale.ways() {
            if let Way::Pod { cluster, .. } = way {
                *jobs.entry(cluster).or_default() += 1;
            }
        }
        for (cluster, many) in jobs {
            let run = Run::start(cluster, many, lasts, &|| stop.is_stopped()).map_err(|stopped| match stopped {
                Stopped::Asked => LabError::Interrupted,
                Stopped::Failed(e) if e.usage => LabError::Plan(e.to_string()),
                Stopped::Failed(e) => LabError::Environment(format!("no load was sent: {e}")),
            })?;
            let run = Arc::new(run);
            pods.runs.push(run.clone());
            for n in 0..many {
                if stop.is_stopped() {
                    return Err(LabError::Interrupted);
                }
                let absent = |e: &dyn std::fmt::Display| LabError::Environment(format!("no load was sent: {e}"));
                let attached = run.attach(n).map_err(|e| absent(&e))?;
                let (to, from) =
                    attached.stream().and_then(|to| Ok((to, attached.stream()?))).map_err(|e| absent(&e))?;
                to.set_write_timeout(Some(WRITTEN_WITHIN)).map_err(|e| absent(&e))?;
                let node = run.node(n).map(str::to_owned);
                let seat = Arc::new(Seat { attached, node, to: Mutex::new(to), hearing: Mutex::default() });
                let (run, own) = (run.clone(), seat.clone());
                let listen = move || own.listen(from, || run.why(n));
                let thread = thread::Builder::new().name(format!("pod-{n}")).spawn(listen);
                pods.threads.push(thread.map_err(|e| absent(&e))?);
                pods.seats.insert((cluster.clone(), n), seat.clone());
                pods.beat(seat)?;
            }
        }
        Ok(pods)
    }

    /// Lets a pod know, from now on, that we are there: while the others are attached to, too.
    fn beat(&mut self, seat: Arc<Seat>) -> Result<(), LabError> {
        let beats = match self.beats.take() {
            Some(beats) => beats,
            None => {
                let (beats, new) = mpsc::channel();
                let failed = |e| LabError::Environment(format!("no load was sent: cannot start a thread: {e}"));
                let thread = thread::Builder::new().name("pods".into()).spawn(move || beat(&new));
                self.threads.push(thread.map_err(failed)?);
                beats
            }
        };
        // It hears us for as long as we have this.
        let _ = beats.send(seat);
        self.beats = Some(beats);
        Ok(())
    }

    /// The pod of a way that leads to one.
    pub(super) fn seat(&self, cluster: &PodPlace, n: u16) -> Option<&Arc<Seat>> {
        self.seats.get(&(cluster.clone(), n))
    }
}

/// Beats to all pods that came, until no more can come.
fn beat(new: &Receiver<Arc<Seat>>) {
    let mut all: Vec<Arc<Seat>> = Vec::new();
    let mut next = Instant::now() + BEATS;
    loop {
        match new.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(seat) => all.push(seat),
            Err(RecvTimeoutError::Timeout) => {
                all.iter().for_each(|seat| seat.tell(BEAT));
                next = Instant::now() + BEATS;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Drop for Pods {
    fn drop(&mut self) {
        self.beats = None;
        for seat in self.seats.values() {
            seat.hearing().closing = true;
            seat.attached.close();
        }
        // The last who has a Job deletes it: that is us, so that it is done when this returns.
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
