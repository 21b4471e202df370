//! Counters and distributions of one interval.

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Deliveries, Handshakes};
use genkai_model::histogram::{DIGITS, HIGHEST_NS, LOWEST_NS, Payload};
use genkai_model::websocket::Messages;
use hdrhistogram::Histogram;

use crate::clock::Moment;

/// A distribution with the bounds all genkai histograms have. 32-bit counters: half the memory, and no interval has four
/// thousand million requests.
fn empty() -> Histogram<u32> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid")
}

/// What one thread saw in one interval; or, added up, what all did.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) opened: u64,
    pub(crate) closed_idle: u64,
    pub(crate) sent: u64,
    pub(crate) ok: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    errors: [u64; ErrorKind::COUNT],
    /// Planned instant of the request that was planned first of those that failed. A request that times out does so
    /// long after the load that it met.
    pub(crate) first_error: Option<Moment>,
    pub(crate) latency: Histogram<u32>,
    pub(crate) service: Histogram<u32>,
    pub(crate) failed_after: Histogram<u32>,
    pub(crate) connect: Histogram<u32>,
    pub(crate) lateness: Histogram<u32>,
    /// TLS handshakes: full, resumed.
    pub(crate) secured: [u64; 2],
    /// WebSocket handshakes.
    pub(crate) upgraded: u64,
    /// From connected to ready.
    pub(crate) ready: Histogram<u32>,
    /// WebSocket messages.
    pub(crate) messages: Messages,
    /// What members of chat rooms heard: from the planned instant.
    pub(crate) deliveries: Histogram<u32>,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            opened: 0,
            closed_idle: 0,
            sent: 0,
            ok: 0,
            bytes_in: 0,
            bytes_out: 0,
            errors: [0; ErrorKind::COUNT],
            first_error: None,
            latency: empty(),
            service: empty(),
            failed_after: empty(),
            connect: empty(),
            lateness: empty(),
            secured: [0; 2],
            upgraded: 0,
            ready: empty(),
            messages: Messages::default(),
            deliveries: empty(),
        }
    }

    /// Counts a success.
    #[inline]
    pub(crate) fn succeeded(&mut self, latency: Moment, service: Moment) {
        self.ok += 1;
        self.latency.saturating_record(latency);
        self.service.saturating_record(service);
    }

    /// Counts a failure that took `after` from the planned instant.
    pub(crate) fn failed(&mut self, kind: ErrorKind, now: Moment, after: Moment) {
        self.errors[kind.index()] += 1;
        let planned = now.saturating_sub(after);
        self.first_error = Some(self.first_error.map_or(planned, |first| first.min(planned)));
        self.failed_after.saturating_record(after);
    }

    /// Kinds that occurred.
    pub(crate) fn errors(&self) -> Vec<ErrorCount> {
        let count = |kind: &ErrorKind| ErrorCount { kind: *kind, count: self.errors[kind.index()] };
        ErrorKind::ALL.iter().map(count).filter(|e| e.count > 0).collect()
    }

    /// Adds what another thread, or another interval, saw.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.opened += other.opened;
        self.closed_idle += other.closed_idle;
        self.sent += other.sent;
        self.ok += other.ok;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        for (mine, theirs) in self.secured.iter_mut().zip(other.secured) {
            *mine += theirs;
        }
        self.upgraded += other.upgraded;
        self.messages.add(&other.messages);
        for (mine, theirs) in self.errors.iter_mut().zip(other.errors) {
            *mine += theirs;
        }
        self.first_error = [self.first_error, other.first_error].into_iter().flatten().min();
        for (mine, theirs) in self.histograms().into_iter().zip(other.distributions()) {
            if !theirs.is_empty() {
                mine.add(theirs).expect("the same bounds");
            }
        }
    }

    /// As new, keeping its memory.
    pub(crate) fn clear(&mut self) {
        (self.opened, self.closed_idle, self.sent, self.ok) = (0, 0, 0, 0);
        (self.bytes_in, self.bytes_out, self.first_error) = (0, 0, None);
        self.errors = [0; ErrorKind::COUNT];
        (self.secured, self.upgraded) = ([0; 2], 0);
        self.messages = Messages::default();
        for histogram in self.histograms() {
            if !histogram.is_empty() {
                histogram.reset();
            }
        }
    }

    fn histograms(&mut self) -> [&mut Histogram<u32>; 7] {
        let Tally { latency, service, failed_after, connect, lateness, ready, deliveries, .. } = self;
        [latency, service, failed_after, connect, lateness, ready, deliveries]
    }

    /// TLS and WebSocket handshakes, if there were any.
    pub(crate) fn handshakes(&self) -> Option<Handshakes> {
        let [full, resumed] = self.secured;
        let took = Payload::encode(&self.ready);
        let all = Handshakes { full, resumed, upgraded: self.upgraded, took };
        (all != Handshakes::default()).then_some(all)
    }

    /// WebSocket messages, if there were any.
    pub(crate) fn messages(&self) -> Option<Messages> {
        (self.messages != Messages::default()).then(|| self.messages.clone())
    }

    /// What members of chat rooms heard, if there are such.
    pub(crate) fn deliveries(&self) -> Option<Deliveries> {
        (!self.deliveries.is_empty())
            .then(|| Deliveries { count: self.deliveries.len(), latency: Payload::encode(&self.deliveries) })
    }

    fn distributions(&self) -> [&Histogram<u32>; 7] {
        let Tally { latency, service, failed_after, connect, lateness, ready, deliveries, .. } = self;
        [latency, service, failed_after, connect, lateness, ready, deliveries]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_adds_everything_and_clearing_leaves_nothing() {
        let mut one = Tally::new();
        one.succeeded(2_000_000, 1_000_000);
        one.failed(ErrorKind::Reset, 3_000_050, 3_000_000);
        one.lateness.saturating_record(9_000);
        one.connect.saturating_record(u64::MAX);
        (one.opened, one.sent, one.closed_idle, one.bytes_in, one.bytes_out) = (1, 2, 3, 4, 5);
        let mut sum = Tally::new();
        sum.failed(ErrorKind::Reset, 41, 1);
        one.secured = [1, 2];
        one.ready.saturating_record(7_000);
        one.messages.sent = 4;
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.opened, sum.sent, sum.closed_idle, sum.bytes_in, sum.bytes_out, sum.ok), (2, 4, 6, 8, 10, 2));
        assert_eq!(sum.errors(), [ErrorCount { kind: ErrorKind::Reset, count: 3 }]);
        assert_eq!(sum.first_error, Some(40));
        assert_eq!(sum.distributions().map(Histogram::len), [2, 2, 3, 2, 2, 2, 0]);
        let handshakes = sum.handshakes().unwrap();
        assert_eq!((handshakes.full, handshakes.resumed, sum.messages().unwrap().sent), (2, 4, 8));
        sum.clear();
        assert_eq!(sum.distributions().map(Histogram::len), [0; 7]);
        assert_eq!((sum.handshakes(), sum.messages()), (None, None));
        assert_eq!((sum.ok, sum.errors().len(), sum.first_error), (0, 0, None));
    }
}
