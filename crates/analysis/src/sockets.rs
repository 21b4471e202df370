//! What conditions on WebSockets count: how many of how many went wrong.

use std::collections::VecDeque;

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::Tick;
use genkai_model::load::{Arrivals, Load};
use genkai_model::objective::Condition;
use genkai_model::record::Trial;

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Share {
    /// All that count.
    pub(crate) all: f64,
    /// Those that went wrong.
    pub(crate) bad: f64,
}

impl Share {
    /// What `ticks` say of a condition on WebSockets: openings that failed of those that ended; messages that were lost or came altered of
    /// those that came or will not come; WebSockets that ended unasked of all that were open, ever so short. Nothing for other conditions.
    pub(crate) fn of(condition: &Condition, ticks: &[Tick]) -> Share {
        Share::after(0.0, condition, ticks)
    }

    /// The same where so many WebSockets are open when `ticks` begin.
    pub(crate) fn after(open: f64, condition: &Condition, ticks: &[Tick]) -> Share {
        let sum = |count: fn(&Tick) -> u64| ticks.iter().map(count).sum::<u64>() as f64;
        match condition {
            Condition::ConnectsAbove(_) => {
                let bad = sum(|t| t.handshakes.as_ref().map_or(0, |h| h.failed));
                Share { bad, all: bad + sum(|t| t.handshakes.as_ref().map_or(0, |h| h.upgraded)) }
            }
            Condition::DeliveredAbove(_) => {
                let bad = sum(|t| t.messages.as_ref().map_or(0, |m| m.lost + m.changed + m.foreign));
                Share { bad, all: bad + sum(|t| t.messages.as_ref().map_or(0, |m| m.delivered)) }
            }
            Condition::DisconnectsBelow(_) => {
                let bad = sum(|t| t.disconnects.as_ref().map_or(0, |d| d.count()));
                Share { bad, all: open.max(0.0) + sum(|t| t.handshakes.as_ref().map_or(0, |h| h.upgraded)) }
            }
            _ => Share::default(),
        }
    }

    /// The figure that the condition speaks of, where there is anything to judge; it is to stay below its mark for disconnects, above it
    /// for the others.
    pub(crate) fn figure(&self, condition: &Condition) -> Option<f64> {
        let part = (self.all > 0.0).then(|| self.bad / self.all)?;
        Some(if matches!(condition, Condition::DisconnectsBelow(_)) { part } else { 1.0 - part })
    }
}

/// How long nobody gets in before those who wait are taken to be left out, microseconds. (Servers that start processes when they are
/// needed do so every second: httpd, perform_idle_server_maintenance.)
pub(crate) const STALL_US: u64 = 1_500_000;

/// Follows users who wait for a WebSocket.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// Whether levels are users, each of whom wants a WebSocket; of a rate they are messages, of which this tells nothing.
    users: bool,
    open: f64,
    /// Users at the ends of the last ticks, as far back as one waits in vain.
    levels: VecDeque<(u64, f64)>,
    /// Since when somebody has waited and nobody has got in.
    since_us: Option<u64>,
}

impl Waiting {
    /// For a trial with `load`.
    pub(crate) fn new(load: &Load) -> Waiting {
        Waiting { users: matches!(load.arrivals, Arrivals::Users { .. }), ..Waiting::default() }
    }

    /// Takes the next tick. Gives how many users certainly wait in vain at its end: those without a WebSocket who have been there for a
    /// while in which nobody got in; and since when. Whether others still come does not matter.
    pub(crate) fn tick(&mut self, tick: &Tick) -> (f64, u64) {
        let opened = tick.handshakes.as_ref().map_or(0, |h| h.upgraded);
        self.open += change(tick);
        let waits = self.users && tick.level > self.open;
        self.since_us = match self.since_us {
            Some(since) if waits && opened == 0 => Some(since),
            _ => waits.then_some(tick.to_us),
        };
        self.levels.push_back((tick.to_us, tick.level));
        let then = tick.to_us.saturating_sub(STALL_US);
        while self.levels.get(1).is_some_and(|(at, _)| *at <= then) {
            self.levels.pop_front();
        }
        let Some(since) = self.since_us.filter(|since| *since <= then && tick.to_us >= STALL_US) else {
            return (0.0, tick.to_us);
        };
        let there = self.levels.front().map_or(0.0, |(_, level)| *level);
        ((there - self.open).clamp(0.0, tick.in_flight as f64), since)
    }
}

/// How many users waited in vain for a WebSocket when a trial ended, and since when, microseconds.
pub(crate) fn left_out(trial: &Trial) -> (u64, Option<u64>) {
    left(Waiting::new(&trial.started.load), &trial.ticks)
}

fn left(mut waiting: Waiting, ticks: &[Tick]) -> (u64, Option<u64>) {
    let (out, since) = ticks.iter().fold((0.0, 0), |_, tick| waiting.tick(tick));
    (out as u64, (out > 0.0).then_some(since))
}

/// The most WebSockets that were open at the ends of `ticks`, which begin with the load.
pub(crate) fn most_open(ticks: &[Tick]) -> f64 {
    let open = ticks.iter().scan(0.0, |open, tick| {
        *open += change(tick);
        Some(*open)
    });
    open.fold(0.0, f64::max)
}

/// WebSockets that are open when `ticks`, which begin with the load, end.
pub(crate) fn open(ticks: &[Tick]) -> f64 {
    ticks.iter().map(change).sum()
}

/// How many more WebSockets are open at the end of a tick than at its beginning: those that opened, less those that ended, unasked or as the
/// load says (each message on a connection of its own, a scenario that goes on elsewhere).
pub(crate) fn change(tick: &Tick) -> f64 {
    let (opened, left) = tick.handshakes.as_ref().map_or((0, 0), |h| (h.upgraded, h.left));
    let cut = tick.disconnects.as_ref().map_or(0, |d| d.count());
    opened as f64 - left as f64 - cut as f64
}

/// Adds connections that ended unasked while nothing was asked on them, which is no failed request.
pub(crate) fn disconnected(ticks: &[Tick], errors: &mut Vec<ErrorCount>) {
    let all = || ticks.iter().filter_map(|t| t.disconnects.as_ref());
    let kinds = [
        (ErrorKind::Closed, all().map(|d| d.closed).sum::<u64>()),
        (ErrorKind::ClosedAbnormally, all().map(|d| d.cut).sum()),
    ];
    for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
        match errors.iter_mut().find(|e| e.kind == kind) {
            Some(error) => error.count = error.count.max(count),
            None => errors.push(ErrorCount { kind, count }),
        }
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::event::{Disconnects, Handshakes};
    use genkai_model::objective::Bound;
    use genkai_model::websocket::Messages;

    use super::*;

    fn of_users() -> Waiting {
        Waiting { users: true, ..Waiting::default() }
    }

    #[test]
    fn who_waits_while_nobody_gets_in_is_left_out() {
        let tick = |n: u64, upgraded: u64| Tick {
            from_us: n * 500_000,
            to_us: (n + 1) * 500_000,
            level: 10.0,
            in_flight: 4,
            handshakes: Some(Handshakes { upgraded, ..Handshakes::default() }),
            ..Tick::default()
        };
        let ticks: Vec<Tick> = [4, 3, 0, 0, 0].iter().zip(0..).map(|(upgraded, n)| tick(n, *upgraded)).collect();
        assert_eq!(left(of_users(), &ticks), (3, Some(1_000_000)));
        assert_eq!(left(of_users(), &ticks[..4]), (0, None), "for a second only");
    }

    /// One user comes every tick of 100 ms, and the first thirty get in.
    #[test]
    fn who_waits_is_seen_while_others_still_come() {
        let tick = |n: u64| Tick {
            from_us: n * 100_000,
            to_us: (n + 1) * 100_000,
            level: (n + 1) as f64,
            in_flight: (n + 1).saturating_sub(30),
            handshakes: Some(Handshakes { upgraded: u64::from(n < 30), ..Handshakes::default() }),
            ..Tick::default()
        };
        let ticks: Vec<Tick> = (0..100).map(tick).collect();
        assert_eq!(left(of_users(), &ticks[..45]), (0, None));
        assert_eq!(left(of_users(), &ticks[..46]), (1, Some(3_100_000)), "the first of them has waited long enough");
        assert_eq!(left(of_users(), &ticks), (55, Some(3_100_000)));
        assert_eq!(
            left(Waiting::default(), &ticks),
            (0, None),
            "a hundred messages a second want no hundred WebSockets"
        );
    }

    #[test]
    fn those_that_ended_are_a_part_of_all_that_were_open() {
        let tick = |upgraded: u64, cut: u64| Tick {
            to_us: 1_000_000,
            // Others only connect: they are no WebSockets yet.
            connections: 100,
            handshakes: Some(Handshakes { upgraded, ..Handshakes::default() }),
            disconnects: Some(Disconnects { cut, ..Disconnects::default() }),
            ..Tick::default()
        };
        let condition = "disconnects < 1%".parse::<genkai_model::objective::Objective>().unwrap().0[0];
        let ticks = [tick(20, 0), tick(0, 15), tick(10, 5)];
        assert_eq!(Share::of(&condition, &ticks), Share { all: 30.0, bad: 20.0 });
        let open = open(&ticks[..2]);
        assert_eq!((open, Share::after(open, &condition, &ticks[2..])), (5.0, Share { all: 15.0, bad: 5.0 }));
    }

    #[test]
    fn connections_of_one_message_each_are_not_all_open_at_once() {
        let tick = |upgraded: u64, left: u64| Tick {
            handshakes: Some(Handshakes { upgraded, left, ..Handshakes::default() }),
            ..Tick::default()
        };
        let ticks = [tick(30, 0), tick(28, 30), tick(31, 27), tick(30, 32)];
        assert_eq!(most_open(&ticks), 32.0, "119 were opened");
        assert_eq!(most_open(&ticks[..2]), 30.0);
    }

    #[test]
    fn each_condition_counts_its_own() {
        let tick = Tick {
            to_us: 1_000_000,
            connections: 97,
            handshakes: Some(Handshakes { upgraded: 99, failed: 1, ..Handshakes::default() }),
            messages: Some(Messages { delivered: 8, lost: 1, foreign: 1, ..Messages::default() }),
            disconnects: Some(Disconnects { closed: 1, cut: 2, ..Disconnects::default() }),
            ..Tick::default()
        };
        let figure = |condition| Share::of(&condition, std::slice::from_ref(&tick)).figure(&condition).unwrap();
        assert_eq!(figure(Condition::ConnectsAbove(Bound::excluding(0.9))), 0.99);
        assert_eq!(figure(Condition::DeliveredAbove(Bound::excluding(0.9))), 0.8);
        assert_eq!(figure(Condition::DisconnectsBelow(Bound::excluding(0.1))), 3.0 / 99.0);
        assert_eq!(most_open(std::slice::from_ref(&tick)), 96.0);
        let connects = Condition::ConnectsAbove(Bound::excluding(0.9));
        assert_eq!(Share::of(&connects, &[]).figure(&connects), None);
    }
}
