//! What the generator itself was late with, beside what it sent, and what it leaves.

use super::Ledger;
use crate::clock::Moment;

/// From so long on it counts that a thread did not run: what is shorter, the scheduler of a machine in use does all the time.
const STALL: Moment = 10_000_000;

impl Ledger {
    /// A response was read `waited` after it had arrived, as the kernel says.
    pub(crate) fn received(&mut self, now: Moment, waited: Moment) {
        if self.open(now) {
            self.tally.receipt.record(waited);
        }
    }

    /// The thread runs again `late` after it was to: that may be in the time of every request in flight.
    pub(crate) fn ran_late(&mut self, now: Moment, late: Moment) {
        if late >= STALL && self.in_flight > 0 && self.open(now) {
            self.tally.stalled.record_n(late, self.in_flight);
        }
    }

    /// The load is over: how long those have waited that have no answer.
    pub(super) fn note_unanswered(&mut self) {
        if let Some((deadlines, _)) = &self.deadlines {
            deadlines.waited(self.end, |age| self.tally.unanswered.record(age));
        }
    }
}
