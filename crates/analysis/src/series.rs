//! A trial in figures: over time, and in sum.

use genkai_model::event::{Handshakes, Tick};
use genkai_model::finding::{Break, ClientCheck, HandshakeFinding, Point, Quantiles, Series, TrialFinding};
use genkai_model::histogram;
use genkai_model::record::Trial;
use genkai_model::websocket::Messages;

use crate::capacity::demand;
use crate::window::{self, Tally, US};

/// Fewest responses in an interval for its 99 % quantile to be more than its largest value; a fifth of it for the 90 %.
const ENOUGH: u64 = 20;

/// One point an interval.
pub fn of(trial: &Trial) -> Series {
    Series { trial: trial.number, points: trial.ticks.iter().map(point).collect() }
}

fn point(tick: &Tick) -> Point {
    let latency = window::decode(&tick.latency);
    let seconds = window::length(tick);
    let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
    let quantile = |q: f64, least: u64| window::quantile(&latency, q).filter(|_| latency.len() >= least);
    Point {
        at: (tick.from_us as f64 + tick.to_us as f64) / 2.0 / US,
        level: tick.level,
        in_flight: tick.in_flight as f64,
        ok: per_second(tick.ok),
        failed: per_second(window::failed(tick)),
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
        errors: tally.errors,
        latency: window::quantiles(&window::merge(&trial.ticks, |t| &t.latency)),
        service: window::quantiles(&window::merge(&trial.ticks, |t| &t.service)),
        broke,
        client,
        handshakes: handshakes(trial),
        messages: messages(trial),
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

/// Seconds the load lasted; for a trial that was cut off, up to its last interval.
fn lasted(trial: &Trial) -> f64 {
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
