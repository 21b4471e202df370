//! What was asked of a system: a trial's load and the objective, in the few figures that statements are made of.

use genkai_model::limit::Limit;
use genkai_model::load::{Arrivals, Load, Protocol, Reuse};
use genkai_model::objective::{Condition, Objective};
use genkai_model::units::Spread;

use crate::events::{Events, Trial, span};

/// A load in figures.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// As it was recorded.
    pub(crate) load: Load,
    /// Users, or requests a second.
    pub(crate) level: f64,
    /// Seconds until it is reached.
    pub(crate) ramp: f64,
    /// Most clients at once.
    pub(crate) most: f64,
    /// Whether clients are WebSockets that stay open.
    pub(crate) tunnels: bool,
    /// Whether users come, not a rate of requests.
    pub(crate) users: bool,
    /// How long an answer is waited for before waiting counts as failing, microseconds.
    pub(crate) patience_us: u64,
}

/// The longest that waiting is patient, microseconds.
const PATIENT_US: u64 = 10_000_000;

impl Asked {
    /// Of a trial; none where its load cannot be read.
    pub(crate) fn of(trial: &Trial<'_>) -> Option<Asked> {
        let load = serde_json::from_value::<Load>(trial.start.json.get("load")?.clone()).ok()?;
        let told = load.asked_by.is_some();
        let mut asked = Asked::by(load);
        if told {
            // Nobody knew before.
            asked.level = trial.ticks().iter().map(|tick| tick.number("/level")).fold(asked.level, f64::max);
        }
        Some(asked)
    }

    /// Whether a connection carries several requests at once.
    pub(crate) fn has_streams(&self) -> bool {
        matches!(self.load.protocol, Protocol::Http2(_))
    }

    /// Of a load.
    pub(crate) fn by(load: Load) -> Asked {
        let (level, most, users, rises) = match load.arrivals {
            Arrivals::Users { count, spawn_rate, .. } => {
                let rises = if spawn_rate > 0.0 { f64::from(count) / spawn_rate } else { 0.0 };
                (f64::from(count), f64::INFINITY, true, rises)
            }
            Arrivals::Rate { per_second, connections, ramp, .. } => {
                (per_second, f64::from(connections) * on_each(&load), false, ramp.as_secs_f64())
            }
        };
        let tunnels = matches!(load.protocol, Protocol::WebSocket(_))
            && load.reuse == Reuse::KeepAlive
            && load.scenario.is_none();
        let ramp = if load.stages.is_empty() { rises } else { peak(&load) };
        let patience_us = (load.timeout.0 / 1_000).min(PATIENT_US);
        Asked { level, ramp, most, tunnels, users, patience_us, load }
    }
}

/// Requests that a connection of a load carries at once.
fn on_each(load: &Load) -> f64 {
    let shared = match (&load.scenario, &load.protocol) {
        (Some(scenario), _) => scenario.targets.iter().filter_map(|target| target.http2).next(),
        (None, Protocol::Http2(http2)) => Some(*http2),
        (None, _) => None,
    };
    shared.filter(|_| load.reuse == Reuse::KeepAlive).map_or(1.0, |http2| f64::from(http2.streams))
}

impl Asked {
    /// Whether a file says what users do, so that they do more than one request over and over.
    pub(crate) fn is_told_by_a_file(&self) -> bool {
        self.load.scenario.is_some() || self.load.locust.is_some()
    }

    /// Whether its users share connections.
    pub(crate) fn shares(&self) -> bool {
        let targets = self.load.scenario.as_ref().map(|scenario| &scenario.targets);
        targets.map_or(matches!(self.load.protocol, Protocol::Http2(_)), |all| {
            all.iter().any(|target| target.http2.is_some())
        })
    }

    /// Whether requests are due at an instant of their own, and not simply when the one before is answered.
    pub(crate) fn is_planned(&self) -> bool {
        let rooms = matches!(&self.load.protocol, Protocol::WebSocket(socket) if socket.rooms.is_some());
        let thinks = matches!(&self.load.arrivals, Arrivals::Users { think, .. } if mean(think) > 0.0);
        !self.users || thinks || rooms || self.load.scenario.is_some()
    }
}

/// Seconds until the stages of a load first reach their highest level.
fn peak(load: &Load) -> f64 {
    let mut points = Vec::new();
    let mut now = 0.0;
    for stage in &load.stages {
        points.push((stage.from, now));
        now += stage.lasts.as_secs_f64();
        points.push((stage.to, now));
    }
    let highest = points.iter().map(|(level, _)| *level).fold(0.0, f64::max);
    points.iter().find(|(level, _)| *level > 0.0 && *level == highest).map_or(0.0, |(_, at)| *at)
}

/// The mean of a time, seconds.
pub(crate) fn mean(time: &Spread) -> f64 {
    match time {
        Spread::Constant(s) | Spread::Exponential(s) => s.as_secs_f64(),
        Spread::Uniform(a, b) => (a.as_secs_f64() + b.as_secs_f64()) / 2.0,
        Spread::LogNormal(median, sigma) => median.as_secs_f64() * (sigma.powi(2) / 2.0).exp(),
        Spread::Bimodal(a, b, part) => a.as_secs_f64() + (b.as_secs_f64() - a.as_secs_f64()) * part,
    }
}

/// How far from a figure counts as there: a tenth.
pub(crate) const TOLERANCE: f64 = 0.1;

/// The load that was asked for, and up to where the objective must hold in a search.
pub(crate) fn goal(events: &Events) -> (f64, f64) {
    let load = |name: &str| events.head().found(&format!("/plan/load/arrivals/{name}"));
    let asked = load("count").or_else(|| load("per_second")).unwrap_or(0.0);
    (asked, (asked * events.head().number("/plan/procedure/headroom") * (1.0 - TOLERANCE)).max(asked))
}

/// The objective of a run.
pub(crate) fn objective(events: &Events) -> Objective {
    events.head().text("/plan/objective").parse().unwrap_or(Objective(Vec::new()))
}

/// How long a violation must last, microseconds.
pub(crate) fn sustained_us(events: &Events) -> u64 {
    (span(events.head().text("/plan/procedure/sustained")) * 1e6).round() as u64
}

/// The part of requests that may fail, or be too slow; nothing of conditions that speak of neither.
pub(crate) fn bad_allowed(condition: Condition) -> f64 {
    match condition {
        Condition::ErrorsBelow(bound) => bound.at,
        Condition::LatencyBelow(q, _) => 1.0 - q,
        _ => 0.0,
    }
}

/// The smallest latency that an objective allows, seconds.
pub(crate) fn tightest(objective: &Objective) -> Option<f64> {
    let bounds = objective.0.iter().filter_map(|one| match one {
        Condition::LatencyBelow(_, bound) => Some(bound.at.as_secs_f64()),
        _ => None,
    });
    bounds.reduce(f64::min)
}

/// The limits in force at an event: those told last before it.
pub(crate) fn limits(events: &Events, before: usize) -> Vec<Limit> {
    let told = events.of("limits").filter(|line| line.number < before).last();
    told.and_then(|line| serde_json::from_value(line.json.get("limits")?.clone()).ok()).unwrap_or_default()
}
