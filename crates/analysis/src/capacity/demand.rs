//! A load in the terms of laws: who is present, who is busy, how long a request may take.

use genkai_model::finding::Quantiles;
use genkai_model::http2::Http2;
use genkai_model::limit::{Law, Limit};
use genkai_model::load::{Arrivals, Load, Protocol, Reuse, Spacing};
use genkai_model::objective::{Condition, Objective};
use genkai_model::stage::Stage;
use genkai_model::units::{Range, Spread};
use statrs::distribution::{ContinuousCDF, Normal};

/// Longest that an event loop leaves its listener alone while it works on other connections, in seconds: connections
/// that arrive within it meet in the accept queue. (One turn of a loop serves at most its ready events; 512 of them at
/// 20 us each, the cost of a proxied request, are 10 ms.)
const TURN: f64 = 0.010;

/// Ramps shorter than this (seconds) put the whole load on at once: the level at the break says nothing of the place.
pub const STEEP: f64 = 1.0;

/// How servers are to each other of which each has places of its own, and any with a free one is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Servers {
    /// One is as fast as another.
    #[default]
    Alike,
    /// They are not: a place of them all answers one request in so many seconds, when all are taken.
    Unlike(f64),
    /// Nobody knows.
    Unknown,
}

/// A load as laws see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Users (closed) or requests a second (open) asked for.
    pub asked: f64,
    /// New users a second; none for the open model.
    pub spawn_rate: Option<f64>,
    /// By how much a rate grows in a second; 0 where it does not, or is not asked for.
    pub climb: f64,
    /// Mean pause of a user between response and next request, seconds.
    pub think: f64,
    /// Whether a client keeps its connection while it thinks.
    pub keeps: bool,
    /// How long a response takes, seconds, where known.
    pub service: Option<f64>,
    /// How long one takes where nothing makes it wait, seconds, where a part of the system tells.
    pub alone: Option<f64>,
    /// How long one took while no limit made any wait, seconds; none where that is not known ([`super::unloaded`]).
    pub unloaded: Option<f64>,
    /// How long a response may take before it counts as a failure, seconds: the tightest latency condition, or the
    /// request's deadline.
    pub patience: f64,
    /// The quantile at which `patience` is judged: the latency condition's, or what is left beside the errors allowed.
    pub patience_at: f64,
    /// Most clients that can be there at once: the connections of an open load; infinite for users.
    pub most: f64,
    /// Request body, bytes; 0 for a load without.
    pub body: f64,
    /// WebSocket message, bytes; 0 for a load without.
    pub message: f64,
    /// Whether clients are WebSockets that stay open: what is seen of their number is how many are open.
    pub tunnels: bool,
    /// The longest that nothing may be said on an open WebSocket of the load, seconds; 0 for a load without.
    pub silence: f64,
    /// Whether it is known how many connections there are and how many requests at once. Of Locust's users only the mean of those requests is,
    /// and as many users begin in one moment as come in a second, so that they may ask all at once however long they pause.
    pub counted: bool,
    /// Whether requests come at random (a Poisson process).
    pub random: bool,
    /// Whether clients share connections (HTTP/2): how many are open does not say how many clients there are.
    pub shares: bool,
    /// How fast the servers are whose places a limit counts each for itself.
    pub servers: Servers,
    /// The most requests a second that pools carry of which it is told how long they take for one; infinite without such.
    pub carried: f64,
    /// The fewest places of a pool of which it is not; infinite without such.
    pub places: f64,
}

/// The mean of a time distribution, seconds. Log-normal: `median * exp(sigma^2 / 2)`.
pub fn mean(spread: &Spread) -> f64 {
    match spread {
        Spread::Constant(s) | Spread::Exponential(s) => s.as_secs_f64(),
        Spread::Uniform(low, high) => (low.as_secs_f64() + high.as_secs_f64()) / 2.0,
        Spread::LogNormal(median, sigma) => median.as_secs_f64() * (sigma * sigma / 2.0).exp(),
        Spread::Bimodal(usual, other, share) => usual.as_secs_f64() * (1.0 - share) + other.as_secs_f64() * share,
    }
}

/// A quantile of a time distribution, seconds.
pub fn quantile(spread: &Spread, q: f64) -> f64 {
    match spread {
        Spread::Constant(s) => s.as_secs_f64(),
        Spread::Exponential(mean) => -mean.as_secs_f64() * (1.0 - q).ln(),
        Spread::Uniform(low, high) => low.as_secs_f64() + q * (high.as_secs_f64() - low.as_secs_f64()),
        Spread::LogNormal(median, sigma) if q > 0.0 => {
            median.as_secs_f64() * (sigma * Normal::standard().inverse_cdf(q.min(1.0))).exp()
        }
        Spread::LogNormal(..) => 0.0,
        Spread::Bimodal(usual, other, share) => {
            let (low, high, below) = if usual <= other { (usual, other, 1.0 - share) } else { (other, usual, *share) };
            if q <= below { low.as_secs_f64() } else { high.as_secs_f64() }
        }
    }
}

/// The level of a load when its ramp is over: users, or requests a second.
pub fn asked(load: &Load) -> f64 {
    match load.arrivals {
        Arrivals::Users { count, .. } => f64::from(count),
        Arrivals::Rate { per_second, .. } => per_second,
    }
}

/// Seconds the ramp of a load takes.
pub fn ramp(load: &Load) -> f64 {
    match load.arrivals {
        _ if !load.stages.is_empty() => to_peak(&load.stages),
        Arrivals::Users { count, spawn_rate, .. } if spawn_rate > 0.0 => f64::from(count) / spawn_rate,
        Arrivals::Users { .. } => 0.0,
        Arrivals::Rate { ramp, .. } => ramp.as_secs_f64(),
    }
}

/// Seconds until stages first reach their highest level.
fn to_peak(stages: &[Stage]) -> f64 {
    let (mut at, mut best) = (0.0, (0.0, 0.0));
    for stage in stages {
        for (level, when) in [(stage.from, at), (stage.to, at + stage.lasts.as_secs_f64())] {
            if level > best.0 {
                best = (level, when);
            }
        }
        at += stage.lasts.as_secs_f64();
    }
    best.1
}

/// What `stages` of a rate plan from one moment to another, microseconds since the load began: the integral of their level.
pub fn integral(stages: &[Stage], from_us: u64, to_us: u64) -> f64 {
    let (from, to) = (from_us as f64 / 1e6, to_us as f64 / 1e6);
    let (mut at, mut sum) = (0.0, 0.0);
    for stage in stages {
        let length = stage.lasts.as_secs_f64();
        let (begin, end) = ((from - at).clamp(0.0, length), (to - at).clamp(0.0, length));
        if end > begin {
            let level = |x: f64| stage.from + (stage.to - stage.from) * x / length;
            sum += (level(begin) + level(end)) / 2.0 * (end - begin);
        }
        at += length;
    }
    sum
}

/// The tightest latency condition of an objective, seconds; none where it has none.
pub fn tightest(objective: &Objective) -> Option<f64> {
    strictest(objective).map(|(_, bound)| bound)
}

/// The tightest latency condition of an objective: its quantile, and seconds.
fn strictest(objective: &Objective) -> Option<(f64, f64)> {
    let bounds = objective.0.iter().filter_map(|c| match c {
        Condition::LatencyBelow(q, bound) => Some((*q, bound.at.as_secs_f64())),
        _ => None,
    });
    bounds.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Errors allowed, where nothing is said: as the default objective has it.
const ERRORS: f64 = 0.001;

/// A fraction of errors so small that it is none in any load: of `errors <= 0%` no quantile could be taken.
pub(crate) const RARE: f64 = 1e-6;

/// The smallest fraction of errors that an objective allows, as a part of a distribution.
fn allowed(objective: &Objective) -> f64 {
    let all = objective.0.iter().filter_map(|c| match c {
        Condition::ErrorsBelow(bound) => Some(bound.at),
        _ => None,
    });
    all.min_by(f64::total_cmp).unwrap_or(ERRORS).max(RARE)
}

/// Bytes of a load's WebSocket messages; 0 where it has none.
fn message(load: &Load) -> f64 {
    match &load.protocol {
        Protocol::WebSocket(websocket) => websocket.message.map_or(0.0, |m| m.size as f64),
        _ => 0.0,
    }
}

/// Whether a load's clients are WebSockets that stay open.
pub fn tunnels(load: &Load) -> bool {
    matches!(load.protocol, Protocol::WebSocket(_)) && load.reuse == Reuse::KeepAlive && load.scenario.is_none()
}

/// Whether requests of `load` have a planned instant that is not simply the end of the one before: those of a rate, of a scenario, of users
/// who think, of chat rooms.
pub fn is_planned(load: &Load) -> bool {
    let busy = matches!(&load.arrivals, Arrivals::Users { think, .. } if mean(think) == 0.0);
    let rooms = matches!(&load.protocol, Protocol::WebSocket(websocket) if websocket.rooms.is_some());
    !busy || rooms || load.scenario.is_some()
}

/// Whether each user of `load` is one client, at all times: users who ask again as soon as they have an answer.
pub fn is_clients(load: &Load) -> bool {
    !is_planned(load) && !tunnels(load)
}

/// The quantile of think times that counts as their longest: that of one user in a hundred.
const LONGEST: f64 = 0.99;

/// The longest that nothing is said on an open WebSocket of `load`, seconds: between two messages, two pings, or for as long as it is
/// held. 0 where there are none, or each message has one of its own.
fn silence(load: &Load) -> f64 {
    let Protocol::WebSocket(websocket) = &load.protocol else { return 0.0 };
    if load.reuse == Reuse::PerRequest {
        return 0.0;
    }
    match (&websocket.rooms, load.arrivals) {
        (Some(rooms), _) => rooms.every.as_secs_f64(),
        (None, _) if websocket.message.is_none() => {
            let held = websocket.ping.unwrap_or(load.stop.after).min(load.stop.after);
            held.as_secs_f64()
        }
        (None, Arrivals::Users { think, .. }) => quantile(&think, LONGEST),
        (None, Arrivals::Rate { per_second, connections, .. }) => f64::from(connections) / per_second,
    }
}

/// Most clients that a load can have at once: the connections of an open load, over HTTP/2 the streams on them; infinite for users.
pub fn most(load: &Load) -> f64 {
    let each = match load.http2() {
        Some(Http2 { streams }) if load.reuse == Reuse::KeepAlive => f64::from(streams),
        _ => 1.0,
    };
    match load.arrivals {
        Arrivals::Users { .. } => f64::INFINITY,
        Arrivals::Rate { connections, .. } => f64::from(connections) * each,
    }
}

impl Demand {
    /// The demand of `load`. Response times are those seen, or else the longest that one of `limits` knows of; they are taken to have no
    /// waiting in them.
    pub fn of(load: &Load, objective: &Objective, seen: Option<Quantiles>, limits: &[Limit]) -> Demand {
        let alone = limits.iter().filter_map(|l| match l.law {
            Law::Delay { time } => Some(mean(&time)),
            _ => None,
        });
        let known = limits.iter().filter_map(|l| match l.law {
            Law::Workers { service, .. } => service,
            Law::Delay { time } => Some(mean(&time)),
            _ => None,
        });
        let seen = seen.filter(|q| q.count > 0).map(|q| q.mean);
        let service = seen.or_else(|| known.max_by(f64::total_cmp));
        let (spawn_rate, think) = match load.arrivals {
            Arrivals::Users { spawn_rate, think, .. } => (Some(spawn_rate), mean(&think)),
            Arrivals::Rate { .. } => (None, 0.0),
        };
        let pools = limits.iter().filter_map(|l| match l.law {
            Law::Workers { workers, service, .. } => Some((workers, service.filter(|s| *s > 0.0))),
            _ => None,
        });
        let ramp = if spawn_rate.is_none() { ramp(load) } else { 0.0 };
        let deadline = load.timeout.as_secs_f64();
        let latency = strictest(objective).filter(|(_, bound)| *bound <= deadline);
        let (patience_at, patience) = latency.unwrap_or((1.0 - allowed(objective), deadline));
        Demand {
            asked: asked(load),
            spawn_rate,
            climb: if ramp > 0.0 { asked(load) / ramp } else { 0.0 },
            think,
            keeps: load.reuse == Reuse::KeepAlive,
            service,
            alone: alone.max_by(f64::total_cmp),
            unloaded: service,
            patience,
            patience_at,
            most: most(load),
            body: load.request.body.len() as f64,
            message: message(load),
            tunnels: tunnels(load),
            silence: silence(load),
            counted: load.locust.is_none(),
            shares: load.http2().is_some(),
            servers: Servers::Alike,
            carried: pools.clone().filter_map(|(n, service)| Some(n / service?)).fold(f64::INFINITY, f64::min),
            places: pools.filter(|(_, service)| service.is_none()).map(|(n, _)| n).fold(f64::INFINITY, f64::min),
            random: matches!(load.arrivals, Arrivals::Rate { spacing: Spacing::Poisson, .. }),
        }
    }

    /// The same where a request that has waited so long (seconds) is refused, however patient its client is.
    pub fn waiting(&self, wait: Option<f64>) -> Demand {
        let longest = wait.map_or(f64::INFINITY, |wait| wait + self.without_waiting().or(self.service).unwrap_or(0.0));
        Demand { patience: self.patience.min(longest), ..*self }
    }

    /// How long a response takes where nothing makes it wait, seconds; none where that is not known.
    pub fn without_waiting(&self) -> Option<f64> {
        self.alone.or(self.unloaded)
    }

    /// The most requests a second that all pools of workers carry, as far as that is known; infinite where nothing is known of any.
    pub fn carries(&self) -> f64 {
        let others = self.without_waiting().filter(|s| *s > 0.0).map(|service| self.places / service);
        others.map_or(self.carried, |others| others.min(self.carried))
    }

    /// Whether requests come at a rate, whatever the responses do.
    pub fn is_open(&self) -> bool {
        self.spawn_rate.is_none()
    }

    /// Which fraction of its time a client has a request in flight: `S / (S + T)` for service time S and think time T.
    /// A range to 1 where many may have one at the same time, and from 0 where it depends on a service time that is not known. An open WebSocket
    /// holds what it holds whether or not something is said on it: the connection to the server behind, too.
    pub fn busy(&self) -> Range {
        match self.service {
            _ if self.think == 0.0 || self.tunnels => Range { low: 1.0, high: 1.0 },
            Some(s) => {
                let share = s / (s + self.think);
                Range { low: share, high: if self.counted { share } else { 1.0 } }
            }
            None => Range { low: 0.0, high: 1.0 },
        }
    }

    /// Which fraction of its time a client that leaves between requests is not there; 0 where that is not known.
    pub(super) fn away(&self) -> f64 {
        self.service.map_or(0.0, |s| self.think / (s + self.think))
    }

    /// Whether its users keep their connections while they think, and it is known which part of their time that is.
    pub fn thinks_present(&self) -> bool {
        self.keeps && self.think > 0.0 && !self.tunnels && !self.shares && !self.is_open() && self.service.is_some()
    }

    /// Whether every client that is present occupies its connection: it keeps it, or is never without a request.
    fn always_there(&self) -> bool {
        self.keeps || self.think == 0.0
    }

    /// The level (users, or requests a second) at which `clients` are present at once: users are clients unless they
    /// leave between requests; for a rate, `clients / S` (Little, Operations Research 9, 1961). None without a service
    /// time where one is needed.
    pub fn level_of(&self, clients: f64) -> Option<f64> {
        match self.service {
            Some(s) if self.is_open() => (s > 0.0).then(|| clients / s),
            None if self.is_open() => None,
            _ if self.always_there() => Some(clients),
            Some(s) if s > 0.0 => Some((clients * (s + self.think) / s).floor()),
            _ => None,
        }
    }

    /// Clients present at once at a level; the inverse of [`Demand::level_of`].
    pub fn clients_at(&self, level: f64) -> Option<f64> {
        match self.service {
            Some(s) if self.is_open() => Some((level * s).min(self.most)),
            None if self.is_open() => None,
            _ if self.always_there() => Some(level),
            Some(s) => Some(level * s / (s + self.think)),
            None => None,
        }
    }

    /// Requests a second at a level, if nothing but service and think time held users up. None where that is unknown.
    pub fn throughput(&self, level: f64) -> Option<f64> {
        if self.is_open() {
            return Some(level);
        }
        self.service.map(|s| s + self.think).filter(|cycle| *cycle > 0.0).map(|cycle| level / cycle)
    }

    /// New connections a second at a level: of users who keep theirs, those who are being added; else one a request. None where that
    /// is unknown.
    pub fn arrivals(&self, level: f64) -> Option<f64> {
        if self.keeps { self.spawn_rate } else { self.throughput(level) }
    }

    /// The level that demands so many requests a second; the inverse of [`Demand::throughput`].
    pub fn level_at_throughput(&self, rate: f64) -> Option<f64> {
        if self.is_open() { Some(rate) } else { self.service.map(|s| rate * (s + self.think)) }
    }

    /// How many new connections can arrive before a server has had a chance to accept one.
    pub fn arrives_at_once(&self) -> f64 {
        self.spawn_rate.map_or(0.0, |rate| (rate * TURN).min(self.asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_time() {
        let at = |text: &str, q| quantile(&text.parse().unwrap(), q);
        assert_eq!((at("700ms", 0.5), at("700ms", 1.0)), (0.7, 0.7));
        assert!((at("uniform(20ms,80ms)", 0.9) - 0.074).abs() < 1e-9);
        assert!((at("exp(50ms)", 0.99) - 0.2303).abs() < 1e-4, "50 ms x ln 100");
        assert!((at("lognormal(50ms,0.5)", 0.5) - 0.05).abs() < 1e-9);
        // The normal's 97.5 % quantile is 1.96.
        assert!((at("lognormal(50ms,0.5)", 0.975) - 0.05 * 0.98f64.exp()).abs() < 1e-4);
        assert!(at("exp(50ms)", 1.0).is_infinite());
    }
}
