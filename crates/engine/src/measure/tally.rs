//! What is counted in one interval. A new figure is a line here and a field of [`Tick`].

use genkai_model::content::WrongBody;
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Deliveries, Disconnects, Handshakes, Refusal, StatusCount, Tick};
use genkai_model::histogram::PayloadError;
use genkai_model::http2::GoAways;
use genkai_model::websocket::Messages;

use super::figure::{Always, Distribution, Figure, FirstError, Seldom, count_error, figures};
use super::flows::FlowTally;
use crate::clock::Moment;

figures! {
    /// What one thread saw in one interval; or, added up, what all did.
    Tally tells Tick {
        opened: u64,
        closed_idle: u64,
        /// From the last response to the end that was noticed.
        kept_silent: Distribution,
        sent: u64,
        retried: u64,
        surplus: u64,
        redirected: Always,
        paced: Always,
        ok: u64,
        bytes_in: u64,
        bytes_out: u64,
        errors: Vec<ErrorCount>,
        statuses: Vec<StatusCount>,
        first_error_us: FirstError,
        latency: Distribution,
        service: Distribution,
        failed_after: Distribution,
        connect: Distribution,
        lateness: Distribution,
        /// Of each request in flight on a thread that ran late, by how much.
        stalled: Distribution,
        /// Of each without an answer when the load ended, since when it waited.
        unanswered: Distribution,
        /// From arrival, by the kernel's stamps, to reading. There is none without stamps.
        receipt: Distribution,
        handshakes: Seldom<HandshakeTally>,
        /// WebSockets that ended unasked.
        disconnects: Seldom<DisconnectTally>,
        /// WebSocket messages.
        messages: Seldom<Messages>,
        /// HTTP/2 connections ended by GOAWAY.
        goaways: Seldom<GoAways>,
        flows: FlowTally,
        /// What members of chat rooms received.
        deliveries: Seldom<DeliveryTally>,
        /// The first wrong body.
        wrong: Option<WrongBody>,
    }
    besides { from_us, to_us, level, in_flight, waiting, connections, most, cpu_us, cpu_max_us, first_error_level }
}

figures! {
    /// TLS and WebSocket handshakes.
    HandshakeTally tells Handshakes {
        full: u64,
        resumed: u64,
        upgraded: u64,
        /// WebSockets that could not be opened.
        failed: u64,
        /// WebSockets that ended as the client had asked.
        left: u64,
        /// From connected to ready.
        took: Distribution,
        /// The first WebSocket handshake that was refused.
        refusal: Option<Refusal>,
    }
    besides { }
}

figures! {
    /// WebSockets that ended unasked.
    DisconnectTally tells Disconnects {
        /// With a close frame.
        closed: u64,
        /// Without.
        cut: u64,
        /// How long nothing had been sent or received on those that were cut.
        silent: Distribution,
    }
    besides { }
}

figures! {
    /// What members of chat rooms received.
    DeliveryTally tells Deliveries {
        count: u64,
        /// From the planned instant.
        latency: Distribution,
    }
    besides { }
}

impl Tally {
    /// Counts a success.
    #[inline]
    pub(crate) fn succeeded(&mut self, latency: Moment, service: Moment) {
        self.ok += 1;
        self.latency.record(latency);
        self.service.record(service);
    }

    /// Counts a failure that took `after` from the planned instant.
    pub(crate) fn failed(&mut self, kind: ErrorKind, now: Moment, after: Moment) {
        count_error(&mut self.errors, kind, 1);
        self.first_error_us.failed(now.saturating_sub(after));
        self.failed_after.record(after);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::figure::count_status;
    use genkai_model::histogram::Payload;

    #[test]
    fn adding_adds_everything_and_clearing_leaves_nothing() {
        let mut one = Tally::default();
        one.succeeded(2_000_000, 1_000_000);
        one.failed(ErrorKind::Reset, 3_000_050, 3_000_000);
        one.lateness.record(9_000);
        one.connect.record(u64::MAX);
        (one.opened, one.sent, one.closed_idle, one.bytes_in, one.bytes_out) = (1, 2, 3, 4, 5);
        (one.retried, one.paced.0, one.redirected.0, one.surplus) = (6, 7, 8, 9);
        let mut sum = Tally::default();
        sum.failed(ErrorKind::Reset, 41, 1);
        (one.handshakes.full, one.handshakes.resumed) = (1, 2);
        one.handshakes.took.record(7_000);
        one.messages.sent = 4;
        (one.handshakes.failed, one.handshakes.left) = (3, 5);
        (one.disconnects.closed, one.disconnects.cut) = (1, 2);
        one.disconnects.silent.record(2_000_000);
        *one.goaways = GoAways { connections: 1, retried: 3 };
        [200, 404, 404, 999, 7].into_iter().for_each(|status| count_status(&mut one.statuses, status, 1));
        one.handshakes.refusal = Some(Refusal { status: 404, location: None, body: "no".into() });
        one.receipt.record(5_000);
        one.stalled.record(40_000_000);
        one.unanswered.record(1_000_000_000);
        sum.add(&one);
        sum.add(&one);
        let told = sum.tell();
        let values = |payload: &Payload| payload.decode().unwrap().len();
        assert_eq!(
            (told.opened, told.sent, told.closed_idle, told.bytes_in, told.bytes_out, told.ok, told.retried),
            (2, 4, 6, 8, 10, 2, 12)
        );
        assert_eq!(told.errors, [ErrorCount { kind: ErrorKind::Reset, count: 3 }]);
        assert_eq!((sum.first_error_us.planned(), told.first_error_us), (Some(40), Some(0)));
        let Tick { latency, service, failed_after, connect, lateness, receipt, stalled, unanswered, .. } = &told;
        assert_eq!(
            [latency, service, failed_after, connect, lateness, receipt, stalled, unanswered].map(values),
            [2, 2, 3, 2, 2, 2, 2, 2]
        );
        let handshakes = told.handshakes.unwrap();
        let ended = told.disconnects.unwrap();
        assert_eq!((handshakes.failed, handshakes.left, values(&handshakes.took)), (6, 10, 2));
        assert_eq!((ended.closed, ended.cut, values(&ended.silent)), (2, 4, 2));
        assert_eq!((handshakes.full, handshakes.resumed, told.messages.unwrap().sent), (2, 4, 8));
        let statuses: Vec<(u16, u64)> = told.statuses.iter().map(|s| (s.status, s.count)).collect();
        assert_eq!(statuses, [(100, 2), (200, 2), (404, 4), (999, 2)]);
        assert_eq!(handshakes.refusal.map(|r| r.status), Some(404));
        assert_eq!(told.goaways, Some(GoAways { connections: 2, retried: 6 }));
        sum.clear();
        assert_eq!((told.paced, told.redirected, told.surplus), (Some(14), Some(16), 18));
        assert_eq!(sum.tell(), Tick { paced: Some(0), redirected: Some(0), ..Tick::default() });
    }
}
