//! Counters and distributions of one interval.

use genkai_model::content::WrongBody;
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Deliveries, Disconnects, Handshakes, Refusal, StatusCount, Tick};
use genkai_model::histogram::{DIGITS, HIGHEST_NS, LOWEST_NS, Payload, PayloadError};
use genkai_model::http2::GoAways;
use genkai_model::websocket::Messages;
use hdrhistogram::Histogram;

use crate::clock::Moment;
use crate::measure::flows::FlowTally;

/// A distribution with the bounds all genkai histograms have. 32-bit counters: half the memory, and no interval has four
/// thousand million requests.
pub(crate) fn empty() -> Histogram<u32> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid")
}

/// Smallest status (RFC 9110 section 15).
const FIRST_STATUS: u16 = 100;
/// Statuses told apart; those above 599 are no statuses and counted as the largest.
const STATUSES: usize = 500;

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
    /// Responses by status, from [`FIRST_STATUS`].
    statuses: [u32; STATUSES],
    /// Planned instant of the request that was planned first of those that failed. A request that times out does so
    /// long after the load that it met.
    pub(crate) first_error: Option<Moment>,
    pub(crate) latency: Histogram<u32>,
    pub(crate) service: Histogram<u32>,
    pub(crate) failed_after: Histogram<u32>,
    pub(crate) connect: Histogram<u32>,
    pub(crate) lateness: Histogram<u32>,
    /// From arrival, by the kernel's stamps, to reading. There is none without stamps.
    pub(crate) receipt: Option<Box<Histogram<u32>>>,
    /// TLS handshakes: full, resumed.
    pub(crate) secured: [u64; 2],
    /// WebSocket handshakes.
    pub(crate) upgraded: u64,
    /// WebSockets that could not be opened.
    pub(crate) unopened: u64,
    /// WebSockets that ended as the client had asked.
    pub(crate) left: u64,
    /// WebSockets that ended unasked: with a close frame, without.
    pub(crate) disconnected: [u64; 2],
    /// How long nothing had been said on those.
    pub(crate) silent: Histogram<u32>,
    /// From connected to ready.
    pub(crate) ready: Histogram<u32>,
    /// The first WebSocket handshake that was refused.
    pub(crate) refusal: Option<Refusal>,
    /// WebSocket messages.
    pub(crate) messages: Messages,
    /// HTTP/2 connections ended by GOAWAY.
    pub(crate) goaways: GoAways,
    /// Flows, where there are such.
    pub(crate) flows: Option<Box<FlowTally>>,
    /// What members of chat rooms heard: from the planned instant.
    pub(crate) deliveries: Histogram<u32>,
    /// The first wrong body.
    pub(crate) wrong: Option<WrongBody>,
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
            statuses: [0; STATUSES],
            first_error: None,
            latency: empty(),
            service: empty(),
            failed_after: empty(),
            connect: empty(),
            lateness: empty(),
            receipt: None,
            secured: [0; 2],
            upgraded: 0,
            unopened: 0,
            left: 0,
            disconnected: [0; 2],
            silent: empty(),
            ready: empty(),
            refusal: None,
            messages: Messages::default(),
            goaways: GoAways::default(),
            flows: None,
            deliveries: empty(),
            wrong: None,
        }
    }

    /// What an interval says that another process reports. Every field of a tick is named here, so that a new one cannot be
    /// forgotten: those that are not counted (the level, gauges, times) are the reader's.
    pub(crate) fn read(tick: &Tick) -> Result<Tally, PayloadError> {
        #[rustfmt::skip]
        let Tick {
            opened, closed_idle, sent, ok, errors, bytes_in, bytes_out, latency, service, failed_after, connect, lateness,
            first_error_us, handshakes, messages, disconnects, goaways, flows, deliveries, statuses, receipt, wrong,
            from_us: _, to_us: _, level: _, in_flight: _, connections: _, cpu_us: _, cpu_max_us: _, first_error_level: _,
        } = tick;
        let mut tally = Tally::new();
        (tally.opened, tally.closed_idle, tally.sent, tally.ok) = (*opened, *closed_idle, *sent, *ok);
        (tally.bytes_in, tally.bytes_out) = (*bytes_in, *bytes_out);
        for error in errors {
            tally.errors[error.kind.index()] += error.count;
        }
        for StatusCount { status, count } in statuses {
            let counter = &mut tally.statuses[usize::from(status.saturating_sub(FIRST_STATUS)).min(STATUSES - 1)];
            *counter = counter.saturating_add(u32::try_from(*count).unwrap_or(u32::MAX));
        }
        // To the end of its microsecond: whoever was planned in it may have been the one.
        tally.first_error = first_error_us.map(|us| us * 1_000 + 999);
        tally.wrong = *wrong;
        let Handshakes { full, resumed, upgraded, failed, left, took, refusal } =
            handshakes.clone().unwrap_or_default();
        (tally.secured, tally.upgraded, tally.refusal) = ([full, resumed], upgraded, refusal);
        (tally.unopened, tally.left) = (failed, left);
        let Disconnects { closed, cut, silent } = disconnects.clone().unwrap_or_default();
        tally.disconnected = [closed, cut];
        tally.messages = messages.clone().unwrap_or_default();
        tally.goaways = goaways.unwrap_or_default();
        tally.flows = flows.as_deref().map(FlowTally::read).transpose()?.map(Box::new);
        let heard = deliveries.clone().unwrap_or_default().latency;
        let payloads = [latency, service, failed_after, connect, lateness, &took, &heard, &silent];
        for (mine, payload) in tally.histograms().into_iter().zip(payloads) {
            payload.add_to(mine)?;
        }
        if !receipt.0.is_empty() {
            receipt.add_to(tally.receipt.get_or_insert_with(|| Box::new(empty())))?;
        }
        Ok(tally)
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

    /// Counts a response.
    #[inline]
    pub(crate) fn answered(&mut self, status: u16) {
        self.statuses[usize::from(status.saturating_sub(FIRST_STATUS)).min(STATUSES - 1)] += 1;
    }

    /// Statuses that occurred.
    pub(crate) fn statuses(&self) -> Vec<StatusCount> {
        let counts = (FIRST_STATUS..).zip(self.statuses).filter(|(_, count)| *count > 0);
        counts.map(|(status, count)| StatusCount { status, count: count.into() }).collect()
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
        self.unopened += other.unopened;
        self.left += other.left;
        for (mine, theirs) in self.disconnected.iter_mut().zip(other.disconnected) {
            *mine += theirs;
        }
        self.messages.add(&other.messages);
        self.goaways.add(&other.goaways);
        if let Some(theirs) = &other.flows {
            self.flows.get_or_insert_default().add(theirs);
        }
        for (mine, theirs) in self.errors.iter_mut().zip(other.errors) {
            *mine += theirs;
        }
        for (mine, theirs) in self.statuses.iter_mut().zip(other.statuses) {
            *mine += theirs;
        }
        if self.refusal.is_none() {
            self.refusal.clone_from(&other.refusal);
        }
        self.wrong = self.wrong.or(other.wrong);
        self.first_error = [self.first_error, other.first_error].into_iter().flatten().min();
        if let Some(theirs) = other.receipt.as_deref().filter(|theirs| !theirs.is_empty()) {
            self.receipt.get_or_insert_with(|| Box::new(empty())).add(theirs).expect("the same bounds");
        }
        for (mine, theirs) in self.histograms().into_iter().zip(other.distributions()) {
            if !theirs.is_empty() {
                mine.add(theirs).expect("the same bounds");
            }
        }
    }

    /// As new, keeping its memory.
    pub(crate) fn clear(&mut self) {
        (self.opened, self.closed_idle, self.sent, self.ok) = (0, 0, 0, 0);
        (self.bytes_in, self.bytes_out, self.first_error, self.wrong) = (0, 0, None, None);
        self.errors = [0; ErrorKind::COUNT];
        self.statuses = [0; STATUSES];
        self.refusal = None;
        (self.secured, self.upgraded, self.unopened, self.disconnected) = ([0; 2], 0, 0, [0; 2]);
        self.left = 0;
        (self.messages, self.goaways) = (Messages::default(), GoAways::default());
        if let Some(flows) = &mut self.flows {
            flows.clear();
        }
        if let Some(receipt) = self.receipt.as_deref_mut() {
            receipt.reset();
        }
        for histogram in self.histograms() {
            if !histogram.is_empty() {
                histogram.reset();
            }
        }
    }

    fn histograms(&mut self) -> [&mut Histogram<u32>; 8] {
        let Tally { latency, service, failed_after, connect, lateness, ready, deliveries, silent, .. } = self;
        [latency, service, failed_after, connect, lateness, ready, deliveries, silent]
    }

    /// How long responses lay in their sockets, if the kernel was asked.
    pub(crate) fn receipt(&self) -> Payload {
        self.receipt.as_deref().map_or_else(Payload::default, Payload::encode)
    }

    /// TLS and WebSocket handshakes, if there were any.
    pub(crate) fn handshakes(&self) -> Option<Handshakes> {
        let [full, resumed] = self.secured;
        let took = Payload::encode(&self.ready);
        let (upgraded, failed, left) = (self.upgraded, self.unopened, self.left);
        let all = Handshakes { full, resumed, upgraded, failed, left, took, refusal: self.refusal.clone() };
        (all != Handshakes::default()).then_some(all)
    }

    /// WebSockets that ended unasked, if there were any.
    pub(crate) fn disconnects(&self) -> Option<Disconnects> {
        let [closed, cut] = self.disconnected;
        (closed + cut > 0).then(|| Disconnects { closed, cut, silent: Payload::encode(&self.silent) })
    }

    /// WebSocket messages, if there were any.
    pub(crate) fn messages(&self) -> Option<Messages> {
        (self.messages != Messages::default()).then(|| self.messages.clone())
    }

    /// HTTP/2 connections ended by GOAWAY, if there were any.
    pub(crate) fn goaways(&self) -> Option<GoAways> {
        (self.goaways != GoAways::default()).then_some(self.goaways)
    }

    /// What members of chat rooms heard, if there are such.
    pub(crate) fn deliveries(&self) -> Option<Deliveries> {
        (!self.deliveries.is_empty())
            .then(|| Deliveries { count: self.deliveries.len(), latency: Payload::encode(&self.deliveries) })
    }

    fn distributions(&self) -> [&Histogram<u32>; 8] {
        let Tally { latency, service, failed_after, connect, lateness, ready, deliveries, silent, .. } = self;
        [latency, service, failed_after, connect, lateness, ready, deliveries, silent]
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
        (one.unopened, one.disconnected, one.left) = (3, [1, 2], 5);
        one.silent.saturating_record(2_000_000);
        one.goaways = GoAways { connections: 1, retried: 3 };
        [200, 404, 404, 999, 7].into_iter().for_each(|status| one.answered(status));
        one.refusal = Some(Refusal { status: 404, location: None, body: "no".into() });
        one.receipt.get_or_insert_with(|| Box::new(empty())).saturating_record(5_000);
        sum.add(&one);
        sum.add(&one);
        assert_eq!(sum.receipt().decode().unwrap().len(), 2);
        assert_eq!((sum.opened, sum.sent, sum.closed_idle, sum.bytes_in, sum.bytes_out, sum.ok), (2, 4, 6, 8, 10, 2));
        assert_eq!(sum.errors(), [ErrorCount { kind: ErrorKind::Reset, count: 3 }]);
        assert_eq!(sum.first_error, Some(40));
        assert_eq!(sum.distributions().map(Histogram::len), [2, 2, 3, 2, 2, 2, 0, 2]);
        let handshakes = sum.handshakes().unwrap();
        let ended = sum.disconnects().unwrap();
        assert_eq!((handshakes.failed, handshakes.left), (6, 10));
        assert_eq!((ended.closed, ended.cut, ended.count()), (2, 4, 6));
        assert_eq!((handshakes.full, handshakes.resumed, sum.messages().unwrap().sent), (2, 4, 8));
        let statuses: Vec<(u16, u64)> = sum.statuses().iter().map(|s| (s.status, s.count)).collect();
        assert_eq!(statuses, [(100, 2), (200, 2), (404, 4), (599, 2)]);
        assert_eq!(handshakes.refusal.map(|r| r.status), Some(404));
        assert_eq!(sum.goaways(), Some(GoAways { connections: 2, retried: 6 }));
        sum.clear();
        assert_eq!(sum.distributions().map(Histogram::len), [0; 8]);
        let rest = (sum.handshakes(), sum.messages(), sum.disconnects(), sum.goaways(), sum.receipt());
        assert_eq!(rest, (None, None, None, None, Payload::default()));
        assert_eq!((sum.ok, sum.errors().len(), sum.statuses().len(), sum.first_error), (0, 0, 0, None));
    }
}
