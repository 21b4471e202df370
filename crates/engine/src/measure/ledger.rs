//! What a thread counts, and how it hands that over: the tally of an interval goes out when the interval ends, at the first
//! event after its end or when the thread looks, whichever is sooner. Boundaries are absolute, so intervals do not drift.

mod own;

use std::rc::Rc;
use std::sync::mpsc::TrySendError;

use genkai_model::content::WrongBody;
use genkai_model::error::ErrorKind;
use genkai_model::event::Refusal;
use genkai_model::websocket::Messages;

use super::attempt::Attempt;
use super::figure::count_status;
use super::flows::FlowTally;
use super::report::{Handover, Report, Waits};
use super::tally::Tally;
use crate::clock::{Moment, NEVER};
use crate::host;
use crate::transport::deadline::Deadlines;

/// Counts of one thread.
pub(crate) struct Ledger {
    tally: Box<Tally>,
    handover: Handover,
    /// Length of the first intervals.
    tick: Moment,
    /// Beginning of the present interval.
    from: Moment,
    /// Its end.
    boundary: Moment,
    /// End of the load: what happens later is not counted.
    end: Moment,
    /// Whether something was seen after the end.
    past: bool,
    /// Requests that may still be taken up.
    left: u64,
    in_flight: u64,
    /// Of these, requests that wait for a connection.
    unsent: u64,
    /// Who waits for an answer, and for how long is patience.
    deadlines: Option<(Rc<Deadlines>, Moment)>,
    connections: u64,
    /// Connections that were open when the load ended.
    at_end: Option<u64>,
    /// What waited when the load ended.
    waited: Option<Waits>,
    cpu: u64,
}

impl Ledger {
    /// For a load of this length, at most `quota` requests.
    pub(crate) fn new(tick: Moment, end: Moment, quota: Option<u64>, handover: Handover) -> Ledger {
        Ledger {
            tally: Box::new(Tally::default()),
            handover,
            tick,
            from: 0,
            boundary: tick,
            end: if quota == Some(0) { 0 } else { end },
            past: false,
            left: quota.unwrap_or(u64::MAX),
            in_flight: 0,
            unsent: 0,
            deadlines: None,
            connections: 0,
            at_end: None,
            waited: None,
            cpu: host::thread_cpu_us(),
        }
    }

    /// Tells of requests that wait, too.
    pub(crate) fn watching(self, deadlines: Rc<Deadlines>, patience: Moment) -> Ledger {
        Ledger { deadlines: Some((deadlines, patience)), ..self }
    }

    /// A request waits for a connection.
    pub(crate) fn queued(&mut self) {
        self.unsent += 1;
    }

    /// So many wait for a connection no more.
    pub(crate) fn unqueued(&mut self, count: u64) {
        self.unsent = self.unsent.saturating_sub(count);
    }

    /// The load, which is held or was, ends at `end`, if it has not ended yet.
    pub(crate) fn postpone(&mut self, now: Moment, end: Moment) {
        if self.over(now) || self.end == 0 {
            return;
        }
        self.end = end;
        self.boundary = self.from;
        while self.boundary <= now {
            self.boundary = interval_end(self.tick, self.boundary);
        }
        if self.boundary >= self.end {
            self.boundary = NEVER;
        }
    }

    /// Takes up a request, if there may be another.
    #[inline]
    pub(crate) fn claim(&mut self, now: Moment) -> bool {
        if !self.open(now) || self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.in_flight += 1;
        true
    }

    /// A connection was established after `took`.
    pub(crate) fn opened(&mut self, now: Moment, took: Moment) {
        if self.open(now) {
            self.tally.opened += 1;
            self.tally.connect.record(took);
        }
        self.connections += 1;
        self.handover.open.opened();
    }

    /// TLS was made on a connection.
    pub(crate) fn secured(&mut self, now: Moment, resumed: bool, took: Moment) {
        if self.open(now) {
            let handshakes = &mut *self.tally.handshakes;
            *(if resumed { &mut handshakes.resumed } else { &mut handshakes.full }) += 1;
            handshakes.took.record(took);
        }
    }

    /// A WebSocket was opened on a connection; how long that took.
    pub(crate) fn upgraded(&mut self, now: Moment, took: Moment) {
        if self.open(now) {
            self.tally.handshakes.upgraded += 1;
            self.tally.handshakes.took.record(took);
        }
    }

    /// A WebSocket could not be opened.
    pub(crate) fn unopened(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.handshakes.failed += 1;
        }
    }

    /// A WebSocket ended that the client had asked to end.
    pub(crate) fn left(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.handshakes.left += 1;
        }
    }

    /// A WebSocket ended unasked: by a close frame, or cut after nothing had been sent on it for `silent`.
    pub(crate) fn disconnected(&mut self, now: Moment, by_frame: bool, silent: Moment) {
        if self.counts(now) {
            let disconnects = &mut *self.tally.disconnects;
            if by_frame {
                disconnects.closed += 1;
            } else {
                disconnects.cut += 1;
                disconnects.silent.record(silent);
            }
        }
    }

    /// An HTTP/2 server asked to leave a connection.
    pub(crate) fn sent_away(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.goaways.connections += 1;
        }
    }

    /// A request that was written has not been processed, by the server's word, and will be made again.
    pub(crate) fn retried(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.goaways.retried += 1;
        }
    }

    /// A request met the end of a kept connection, and is made again on a new one.
    pub(crate) fn made_again(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.retried += 1;
        }
    }

    /// Bytes came behind an answer that are no part of it.
    pub(crate) fn surplus(&mut self, now: Moment) {
        self.tally.surplus += u64::from(self.open(now));
    }

    /// A redirection is followed.
    pub(crate) fn redirected(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.redirected.0 += 1;
        }
    }

    /// A user whose request failed at once has waited, and makes another.
    pub(crate) fn paced(&mut self, now: Moment) {
        if self.open(now) {
            self.tally.paced.0 += 1;
        }
    }

    /// Counts of messages. They go on after the end of the load, while connections are being closed: an echo that is still
    /// on its way then is not lost.
    #[inline]
    pub(crate) fn messages(&mut self) -> &mut Messages {
        &mut self.tally.messages
    }

    /// A member of a chat room received a message for the first time.
    #[inline]
    pub(crate) fn delivered(&mut self, now: Moment, planned: Moment) {
        // After the end too, as for other counts of messages.
        self.open(now);
        self.tally.deliveries.count += 1;
        self.tally.deliveries.latency.record(now.saturating_sub(planned));
    }

    /// Ends the load now, if it has not ended before: nothing after it counts as a request.
    pub(crate) fn end(&mut self, now: Moment) {
        self.end = self.end.min(now);
        self.open(now);
        self.at_end = Some(self.connections);
    }

    /// A connection is gone.
    pub(crate) fn closed(&mut self) {
        self.connections -= 1;
        self.handover.open.closed();
    }

    /// The server closed a kept connection on which nothing had been said for `silent`.
    pub(crate) fn kept_ended(&mut self, now: Moment, silent: Moment) {
        if self.open(now) {
            self.tally.kept_silent.record(silent);
        }
    }

    /// The peer closed an idle connection ([`closed`](Self::closed) follows).
    pub(crate) fn closed_idle(&mut self, now: Moment) {
        if self.counts(now) {
            self.tally.closed_idle += 1;
        }
    }

    /// A request was begun to be written; `late` after its planned instant, if only the generator can have made it so.
    #[inline]
    pub(crate) fn sent(&mut self, now: Moment, late: Option<Moment>) {
        if self.open(now) {
            self.tally.sent += 1;
            if let Some(late) = late {
                self.tally.lateness.record(late);
            }
        }
    }

    /// A connection was asked for, for a request planned `late` before, which only the generator can have delayed.
    pub(crate) fn began(&mut self, now: Moment, late: Moment) {
        if self.open(now) {
            self.tally.lateness.record(late);
        }
    }

    /// Bytes were written.
    #[inline]
    pub(crate) fn wrote(&mut self, bytes: usize) {
        if !self.past {
            self.tally.bytes_out += bytes as u64;
        }
    }

    /// Bytes were read.
    #[inline]
    pub(crate) fn read(&mut self, bytes: usize) {
        if !self.past {
            self.tally.bytes_in += bytes as u64;
        }
    }

    /// A response came, with this status; [`succeeded`](Self::succeeded) or [`failed`](Self::failed) tells what of.
    #[inline]
    pub(crate) fn answered(&mut self, now: Moment, status: u16) {
        if self.open(now) {
            count_status(&mut self.tally.statuses, status, 1);
        }
    }

    /// A WebSocket handshake was answered with something else than 101.
    pub(crate) fn refused(&mut self, now: Moment, status: u16, refusal: impl FnOnce() -> Refusal) {
        if self.open(now) {
            count_status(&mut self.tally.statuses, status, 1);
            self.tally.handshakes.refusal.get_or_insert_with(refusal);
        }
    }

    /// A request taken up ended well.
    #[inline]
    pub(crate) fn succeeded(&mut self, now: Moment, planned: Moment, written: Moment) {
        if self.open(now) {
            self.finish(now);
            self.tally.succeeded(now.saturating_sub(planned), now.saturating_sub(written));
        }
    }

    /// A request taken up ended well some time before it is counted, after `latency` from its planned instant and `service`
    /// from its writing.
    pub(crate) fn succeeded_at(&mut self, now: Moment, latency: Moment, service: Moment) {
        if self.open(now) {
            self.finish(now);
            self.tally.succeeded(latency, service);
        }
    }

    /// Counts of flows, unless the load is over.
    pub(crate) fn flows(&mut self, now: Moment) -> Option<&mut FlowTally> {
        self.open(now).then(|| self.tally.flows.seen())
    }

    /// The same for what came with an answer at `answered`: the last of a bounded number ends the load as it comes.
    pub(crate) fn flows_with(&mut self, now: Moment, answered: Moment) -> Option<&mut FlowTally> {
        (self.open(now) || answered <= self.end).then(|| self.tally.flows.seen())
    }

    /// A step of a flow ended.
    pub(crate) fn step(&mut self, now: Moment, name: u32, kind: Option<ErrorKind>, took: Option<Moment>) {
        match (self.flows(now), kind) {
            (Some(flows), None) => flows.succeeded(name, took),
            (Some(flows), Some(_)) => flows.failed(name),
            (None, _) => {}
        }
    }

    /// Whether no further request may be taken up.
    pub(crate) fn is_spent(&mut self, now: Moment) -> bool {
        !self.open(now) || self.left == 0
    }

    /// The load ends at `now`, if not before: there is nobody left to make it.
    pub(crate) fn finish_at(&mut self, now: Moment) {
        self.end = self.end.min(now);
    }

    /// A request taken up failed.
    pub(crate) fn failed(&mut self, now: Moment, planned: Moment, kind: ErrorKind) {
        if self.open(now) {
            self.finish(now);
            self.tally.failed(kind, now, now.saturating_sub(planned));
        }
    }

    /// A request of HTTP that was taken up ended; whether it failed, by its status or otherwise.
    #[inline]
    pub(crate) fn ended(&mut self, planned: Moment, attempt: &Attempt) -> bool {
        let Attempt { written, at, outcome, .. } = *attempt;
        let kind = match outcome {
            Ok(received) => {
                self.answered(at, received.status);
                of_status(received.status)
            }
            Err(kind) => Some(kind),
        };
        match kind {
            None => self.succeeded(at, planned, written),
            Some(kind) => self.failed(at, planned, kind),
        }
        kind.is_some()
    }

    /// A body is not the one asked for; that its request failed is counted by [`ended`](Self::ended).
    #[cold]
    pub(crate) fn wrong(&mut self, now: Moment, wrong: WrongBody) {
        if self.open(now) {
            self.tally.wrong.get_or_insert(wrong);
        }
    }

    fn finish(&mut self, now: Moment) {
        self.in_flight -= 1;
        if self.left == 0 && self.in_flight == 0 {
            // The last of a bounded number: nothing after it belongs to the load. It may have ended before it was noticed, in an
            // interval that has been handed over.
            self.end = now.max(self.from);
        }
    }

    /// Whether the load is over: its time or its requests. Hands over intervals that ended.
    pub(crate) fn over(&mut self, now: Moment) -> bool {
        !self.open(now)
    }

    /// When the ledger next needs a look.
    pub(crate) fn next_look(&self) -> Moment {
        self.boundary.min(self.end)
    }

    /// Ends the load now, if it has not ended before. Hands over the rest; returns the requests cut off.
    pub(crate) fn close(&mut self, now: Moment) -> u64 {
        self.end = self.end.min(now);
        self.open(self.end);
        let report = self.report(self.end, true);
        // Waits for room: the collector reads until it has everybody's last. It fails only when the collector is gone.
        let _ = self.handover.reports.send(report);
        self.in_flight
    }

    /// Whether the end of a connection at `now` counts: also when it came with the last answer of the load.
    fn counts(&mut self, now: Moment) -> bool {
        self.open(now) || now <= self.end
    }

    /// Whether what happens at `now` counts. Hands over intervals that ended before.
    #[inline]
    fn open(&mut self, now: Moment) -> bool {
        if now >= self.boundary {
            self.turn(now.min(self.end));
        }
        if now >= self.end && !self.past {
            self.note_waits();
        }
        !self.past
    }

    /// The load is over: what waits at its end is noted before whoever waits is gone.
    #[cold]
    fn note_waits(&mut self) {
        self.past = true;
        self.waited = Some(self.waiting(self.end));
        self.note_unanswered();
    }

    #[cold]
    fn turn(&mut self, now: Moment) {
        while now >= self.boundary && self.boundary < self.end {
            let report = self.report(self.boundary, false);
            match self.handover.reports.try_send(report) {
                Ok(()) => self.from = self.boundary,
                Err(TrySendError::Full(report) | TrySendError::Disconnected(report)) => self.take_back(report),
            }
            self.boundary = interval_end(self.tick, self.boundary);
        }
        if self.boundary >= self.end {
            self.boundary = NEVER;
        }
    }

    fn report(&mut self, to: Moment, last: bool) -> Report {
        let cpu = host::thread_cpu_us();
        let cpu_us = cpu - std::mem::replace(&mut self.cpu, cpu);
        let fresh = self.handover.spare.try_recv().unwrap_or_else(|_| Box::new(Tally::default()));
        let tally = std::mem::replace(&mut self.tally, fresh);
        let thread = self.handover.thread;
        let connections = self.at_end.unwrap_or(self.connections);
        let waiting = self.waited.unwrap_or_else(|| self.waiting(to));
        let (in_flight, most) = (self.in_flight, self.handover.open.most());
        Report { thread, to, tally, in_flight, waiting, connections, most, cpu_us, cpu_max_us: cpu_us, last }
    }

    /// What waits at `to`.
    fn waiting(&self, to: Moment) -> Waits {
        let Some((deadlines, patience)) = &self.deadlines else { return Waits::default() };
        let (since, overdue) = deadlines.waiting(to.checked_sub(*patience));
        Waits { since, overdue, unsent: self.unsent }
    }

    /// The collector had no room: the interval goes on.
    fn take_back(&mut self, report: Report) {
        self.tally = report.tally;
        self.cpu -= report.cpu_us;
    }
}

/// Intervals of the usual length; those after them are longer. Each is some kilobytes of distributions, which are kept for the
/// judgement at the end and are in the record: memory must not grow with the length of a load that nobody knows before.
const USUAL: u64 = 600;

/// End of the interval that begins at `from`: a power of two times `tick`, such that in the first `USUAL` ticks there are so many
/// intervals, and half as many in each doubling of that time (an hour from 200 ms: some 2,100). A function of the moment alone,
/// so that all threads and processes agree.
fn interval_end(tick: Moment, from: Moment) -> Moment {
    let ticks = (from / tick.saturating_mul(USUAL) + 1).next_power_of_two();
    from.saturating_add(tick.saturating_mul(ticks))
}

/// The kind of a status; above 599 counts like 500 (RFC 9110 section 15).
pub(crate) fn of_status(status: u16) -> Option<ErrorKind> {
    ErrorKind::of_status(status.min(599))
}

#[cfg(test)]
mod tests;
