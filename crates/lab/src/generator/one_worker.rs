//! One worker process as genkai sees it.

use std::thread;
use std::time::{Duration, Instant};

use genkai_model::event::{WorkerClock, WorkerEnd, WorkerUse};
use genkai_model::load::Way;

use super::process::{Orders, Process};

/// How long a worker has to end once it has said its last.
pub(super) const END_WITHIN: Duration = Duration::from_secs(2);

/// A worker process of a load.
pub(super) struct Worker {
    /// How it was reached.
    pub(super) way: Way,
    /// Its process.
    pub(super) process: Process,
    /// Its end is the word to stop.
    pub(super) orders: Option<Orders>,
    /// When it was heard last.
    pub(super) heard: Instant,
    /// What is known of its clock; none: it is ours.
    pub(super) clock: Option<WorkerClock>,
    /// Its own account, once it has ended well.
    pub(super) ended: Option<WorkerEnd>,
    /// Whether its part is over, or given up.
    pub(super) over: bool,
}

impl Worker {
    /// What the record says of it.
    pub(super) fn used(&self) -> WorkerUse {
        let node = self.process.node().map(str::to_owned);
        WorkerUse { place: self.way.name().to_owned(), node, clock: self.clock, ended: self.ended.clone() }
    }

    /// Why there is no container, in the words of the program that was to start it, where it is that which failed: then its status is 125,
    /// or 126 or 127 where the program in the image cannot be run or is not there (podman-run(1): "Exit Status").
    pub(super) fn refused(&mut self) -> Option<String> {
        let Way::Container { name, .. } = &self.way else { return None };
        let deadline = Instant::now() + END_WITHIN;
        while self.process.try_exited().is_none() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        let failed = self
            .process
            .try_exited()
            .is_some_and(|status| [" 125", " 126", " 127"].iter().any(|end| status.ends_with(end)));
        let words = self.process.last_words();
        let last = words.lines().rev().find(|line| !line.trim().is_empty())?.trim().trim_start_matches("Error: ");
        let hint = "`podman run --rm --entrypoint=/genkai IMAGE --version` must work; pull the image before";
        failed.then(|| format!("{name}: it could not be started: {last}\n  hint: {hint}"))
    }

    /// A message of its own, with the place where that is not here.
    pub(super) fn named(&self, message: String) -> String {
        if self.way == Way::Here { message } else { format!("{}: {message}", self.way.name()) }
    }
}
