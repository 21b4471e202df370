//! A trial in figures: over time, and in sum.

use genkai_model::event::{Handshakes, Tick};
use genkai_model::finding::{
    Break, ClientCheck, DisconnectFinding, HandshakeFinding, Point, Quantiles, Series, TrialFinding,
};
use genkai_model::histogram;
use genkai_model::http2::GoAways;
use genkai_model::record::Trial;
use genkai_model::websocket::Messages;

use crate::capacity::demand;
use crate::flows;
use crate::window::{self, Tally, US};
use crate::workers;

/// Fewest responses in an interval for its 99 % quantile to be more than its largest value; a fifth of it for the 90 %.
const ENOUGH: u64 = 20;

/// About so many points make a trial's line; more would only be noise and weight.
const POINTS: usize = 100;

/// The trial over time: a point for each tick, or for several together in a long trial.
pub fn of(trial: &Trial) -> Series {
    Series { trial: trial.number, points: groups(&trial.ticks).into_iter().map(point).collect() }
}

/// Ticks in groups of equal number. What is left over, and shorter than half a group, belongs to the group before: a
/// rate over a few milliseconds says nothing.
pub(crate) fn groups(ticks: &[Tick]) -> Vec<&[Tick]> {
    let size = ticks.len().div_ceil(POINTS).max(1);
    let mut ends: Vec<usize> = (size..ticks.len()).step_by(size).collect();
    let length = |ticks: &[Tick]| ticks.iter().map(window::length).sum::<f64>();
    if let Some(last) = ends.last().copied()
        && length(&ticks[last..]) < length(&ticks[last - size..last]) / 2.0
    {
        ends.pop();
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let ends = ends.iter().copied().chain(std::iter::once(ticks.len()));
    starts.zip(ends).map(|(from, to)| &ticks[from..to]).filter(|group| !group.is_empty()).collect()
}

fn point(ticks: &[Tick]) -> Point {
    let tally = Tally::of(ticks);
    let latency = window::merge(ticks, |t| &t.latency);
    let seconds: f64 = ticks.iter().map(window::length).sum();
    let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let quantile = |q: f64, least: u64| window::quantile(&latency, q).filter(|_| latency.len() >= least);
    let (first, last) = (&ticks[0], &ticks[ticks.len() - 1]);
    Point {
        at: (first.from_us as f64 + last.to_us as f64) / 2.0 / US,
        level: last.level,
        in_flight: last.in_flight as f64,
        ok: per_second(ticks.iter().map(|t| t.ok).sum()),
        failed: per_second(tally.failed),
        p50: quantile(0.5, 1),
        p90: quantile(0.9, ENOUGH / 5),
        p99: quantile(0.99, ENOUGH),
    }
}

/// The trial in sum, whole.
pub fn finding(trial: &Trial, broke: Option<Break>, client: ClientCheck) -> TrialFinding {
    let tally = Tally::of(&trial.ticks);
    TrialFinding {
        trial: trial.number,
        purpose: trial.started.purpose,
        changes: trial.started.changes.clone(),
        asked: demand::asked(&trial.started.load),
        lasted: lasted(trial),
        finished: tally.finished(),
        failed: tally.failed,
        rate: tally.rate(),
        retried: trial.ticks.iter().map(|t| t.retried).sum(),
        errors: tally.errors,
        latency: window::quantiles(&window::merge(&trial.ticks, |t| &t.latency)),
        service: window::quantiles(&window::merge(&trial.ticks, |t| &t.service)),
        broke,
        client,
        used: trial.ended.as_ref().and_then(|ended| ended.client),
        workers: workers::findings(trial),
        handshakes: handshakes(trial),
        messages: messages(trial),
        disconnects: disconnects(trial),
        goaways: goaways(trial),
        flows: flows::finding(trial, lasted(trial)),
    }
}

/// TLS and WebSocket handshakes, if any interval had them.
fn handshakes(trial: &Trial) -> Option<HandshakeFinding> {
    let all = || trial.ticks.iter().filter_map(|tick| tick.handshakes.as_ref());
    all().next()?;
    let sum = |what: fn(&Handshakes) -> u64| all().map(what).sum();
    let mut took = histogram::empty();
    for one in all() {
        // A damaged payload counts as empty, as everywhere.
        let _ = one.took.add_to(&mut took);
    }
    Some(HandshakeFinding {
        full: sum(|h| h.full),
        resumed: sum(|h| h.resumed),
        upgraded: sum(|h| h.upgraded),
        failed: sum(|h| h.failed),
        took: window::quantiles(&took),
    })
}

/// WebSocket messages in sum, if any interval had them.
fn messages(trial: &Trial) -> Option<Messages> {
    let mut all = trial.ticks.iter().filter_map(|tick| tick.messages.as_ref());
    let mut sum = all.next()?.clone();
    all.for_each(|more| sum.add(more));
    Some(sum)
}

/// WebSockets that ended unasked in sum, if any did.
fn disconnects(trial: &Trial) -> Option<DisconnectFinding> {
    let all = || trial.ticks.iter().filter_map(|tick| tick.disconnects.as_ref());
    all().next()?;
    let silent = window::merge_some(&trial.ticks, |t| t.disconnects.as_ref().map(|d| &d.silent));
    Some(DisconnectFinding {
        closed: all().map(|d| d.closed).sum(),
        cut: all().map(|d| d.cut).sum(),
        silent: window::quantiles(&silent),
    })
}

/// HTTP/2 connections ended by GOAWAY in sum, if any interval had them.
fn goaways(trial: &Trial) -> Option<GoAways> {
    let mut all = trial.ticks.iter().filter_map(|tick| tick.goaways.as_ref());
    let mut sum = *all.next()?;
    all.for_each(|more| sum.add(more));
    Some(sum)
}

/// Seconds the load lasted; for a trial that was cut off, up to its last interval.
pub(crate) fn lasted(trial: &Trial) -> f64 {
    match &trial.ended {
        Some(ended) => ended.lasted.as_secs_f64(),
        None => trial.ticks.last().map_or(0.0, |t| t.to_us as f64 / US),
    }
}

/// How long responses took before `until` microseconds (all of them for none).
pub fn service_before(trial: &Trial, until: Option<u64>) -> Quantiles {
    window::quantiles(&window::merge(window::before(&trial.ticks, until), |t| &t.service))
}

/// The largest level reached.
pub fn reached(trial: &Trial) -> f64 {
    trial.ticks.iter().map(|t| t.level).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(from_us: u64, to_us: u64) -> Tick {
        Tick { from_us, to_us, ok: (to_us - from_us) / 1000, ..Tick::default() }
    }

    #[test]
    fn a_stump_at_the_end_belongs_to_the_point_before() {
        let ticks = [tick(0, 200_000), tick(200_000, 400_000), tick(400_000, 401_000)];
        let groups: Vec<usize> = groups(&ticks).iter().map(|g| g.len()).collect();
        assert_eq!(groups, [1, 2]);
        assert_eq!(super::groups(&ticks[..1]).len(), 1);
        assert!(super::groups(&[]).is_empty());
    }

    #[test]
    fn long_trials_keep_every_request_in_few_points() {
        let ticks: Vec<Tick> = (0..1234).map(|i| tick(i * 200_000, (i + 1) * 200_000)).collect();
        let groups = groups(&ticks);
        assert!(groups.len() <= POINTS && groups.len() > POINTS / 2, "{}", groups.len());
        assert_eq!(groups.iter().map(|g| g.len()).sum::<usize>(), ticks.len());
        assert!(groups.iter().all(|g| (point(g).ok - 1000.0).abs() < 1e-6));
    }
}
