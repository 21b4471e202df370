//! What a thread hands over at the end of an interval, and how.

use std::sync::mpsc::{Receiver, SyncSender};

use super::open::OpenCount;
use super::tally::Tally;
use crate::clock::Moment;

/// What one thread, or one process of several, reports of one interval.
pub(crate) struct Report {
    /// Number of the thread, or of the process.
    pub(crate) thread: usize,
    /// End of the interval. It began where the thread's interval before ended.
    pub(crate) to: Moment,
    /// What was seen.
    pub(crate) tally: Box<Tally>,
    /// Requests in flight at the end.
    pub(crate) in_flight: u64,
    /// What waited then.
    pub(crate) waiting: Waits,
    /// Open connections at the end.
    pub(crate) connections: u64,
    /// The most that its process had open at once so far.
    pub(crate) most: u64,
    /// CPU time of the thread in the interval, microseconds; of a process, the sum over its threads.
    pub(crate) cpu_us: u64,
    /// The same of the busiest thread.
    pub(crate) cpu_max_us: u64,
    /// Whether it is the thread's last.
    pub(crate) last: bool,
}

/// Requests that wait for an answer, or for a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// Since when the one has waited that has waited longest.
    pub(crate) since: Option<Moment>,
    /// Those that have waited for longer than is patient.
    pub(crate) overdue: u64,
    /// Those that wait for a connection.
    pub(crate) unsent: u64,
}

impl Waits {
    /// With what waits elsewhere.
    pub(crate) fn and(self, other: Waits) -> Waits {
        Waits {
            since: [self.since, other.since].into_iter().flatten().min(),
            overdue: self.overdue + other.overdue,
            unsent: self.unsent + other.unsent,
        }
    }
}

/// The way to the collector and back.
pub(crate) struct Handover {
    /// Number of the thread.
    pub(crate) thread: usize,
    /// Bounded: a collector that does not keep up makes intervals longer, not memory larger.
    pub(crate) reports: SyncSender<Report>,
    /// Connections of all threads.
    pub(crate) open: OpenCount,
    /// Tallies that can be used again.
    pub(crate) spare: Receiver<Box<Tally>>,
}
