//! What a limit's law says of a load: from its recorded numbers, written down plainly once more.

use genkai_model::limit::{Law, Limit};
use genkai_model::load::{Arrivals, Protocol, Reuse, Spacing};
use genkai_model::objective::{Condition, Objective};
use genkai_model::units::Spread;
use serde_json::{Value as Json, json};

use crate::asked::{self, Asked};
use crate::bucket;
use crate::met::{Ends, Met, Place};

/// What a law says, in each unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Predicted {
    /// Clients at once.
    pub(crate) clients: Option<Ends>,
    /// Users.
    pub(crate) users: Option<Ends>,
    /// Requests a second.
    pub(crate) rate: Option<Ends>,
    /// Bytes.
    pub(crate) bytes: Option<f64>,
}

/// Part of errors that no load has less of.
const RARE: f64 = 1e-6;
/// Errors allowed where nothing is said.
const ERRORS: f64 = 0.001;
/// What keeps whole numbers whole in binary fractions.
pub(crate) const WHOLE: f64 = 1e-9;

impl Met {
    /// The same of users who ask again at once.
    pub(crate) fn without_pauses(&self) -> Met {
        Met { think: 0.0, ..self.clone() }
    }

    /// A load with the response times seen, or else the longest that a limit knows of.
    pub(crate) fn of(asked: &Asked, objective: &Objective, seen: Option<f64>, limits: &[Limit]) -> Met {
        let load = &asked.load;
        let (spawn, think) = match load.arrivals {
            Arrivals::Users { spawn_rate, think, .. } => (Some(spawn_rate), asked::mean(&think)),
            Arrivals::Rate { .. } => (None, 0.0),
        };
        let delay = |limit: &Limit| match limit.law {
            Law::Delay { time } => Some(asked::mean(&time)),
            _ => None,
        };
        let known = |limit: &Limit| match limit.law {
            Law::Workers { service, .. } => service,
            _ => delay(limit),
        };
        let service = seen.or_else(|| limits.iter().filter_map(known).reduce(f64::max));
        Met {
            level: asked.level,
            spawn,
            climb: if spawn.is_none() && asked.ramp > 0.0 { asked.level / asked.ramp } else { 0.0 },
            think,
            keeps: load.reuse == Reuse::KeepAlive,
            service,
            unloaded: service,
            alone: limits.iter().filter_map(delay).reduce(f64::max),
            patience: patience(objective, load.timeout.as_secs_f64()),
            most: asked.most,
            body: load.request.body.len() as f64,
            message: message(asked),
            tunnels: asked.tunnels,
            silence: silence(asked),
            counted: load.locust.is_none(),
            random: matches!(load.arrivals, Arrivals::Rate { spacing: Spacing::Poisson, .. }),
            place: Place::Average,
            pools: bucket::pools(limits),
        }
    }

    /// Users, or requests a second, with which so many clients are there at once.
    fn level_of(&self, clients: f64) -> Option<f64> {
        let Some(service) = self.service else {
            return (self.spawn.is_some() && (self.keeps || self.think == 0.0)).then_some(clients);
        };
        match self.spawn {
            None => (service > 0.0).then(|| clients / service),
            Some(_) if self.keeps || self.think == 0.0 => Some(clients),
            Some(_) => (service > 0.0).then(|| (clients * (service + self.think) / service).floor()),
        }
    }

    /// Requests a second of so many users (or of such a rate).
    fn requests(&self, level: f64) -> Option<f64> {
        match self.spawn {
            None => Some(level),
            Some(_) => self.service.map(|s| s + self.think).filter(|cycle| *cycle > 0.0).map(|cycle| level / cycle),
        }
    }
}

/// The time a response may take, and the quantile that it is judged at.
fn patience(objective: &Objective, deadline: f64) -> (f64, f64) {
    let mut latency: Option<(f64, f64)> = None;
    let mut errors: Option<f64> = None;
    for condition in &objective.0 {
        match condition {
            Condition::LatencyBelow(q, bound) if latency.is_none_or(|(least, _)| bound.at.as_secs_f64() < least) => {
                latency = Some((bound.at.as_secs_f64(), *q));
            }
            Condition::ErrorsBelow(bound) => errors = Some(errors.map_or(bound.at, |least| least.min(bound.at))),
            _ => {}
        }
    }
    let by_errors = (deadline, 1.0 - errors.unwrap_or(ERRORS).max(RARE));
    latency.filter(|(bound, _)| *bound <= deadline).unwrap_or(by_errors)
}

fn message(asked: &Asked) -> f64 {
    match &asked.load.protocol {
        Protocol::WebSocket(socket) => socket.message.map_or(0.0, |message| message.size as f64),
        _ => 0.0,
    }
}

/// The longest that an open WebSocket says nothing, seconds.
fn silence(asked: &Asked) -> f64 {
    let load = &asked.load;
    let Protocol::WebSocket(socket) = &load.protocol else { return 0.0 };
    if load.reuse == Reuse::PerRequest {
        return 0.0;
    }
    if let Some(rooms) = &socket.rooms {
        return rooms.every.as_secs_f64();
    }
    let held = load.stop.after.as_secs_f64();
    match load.arrivals {
        _ if socket.message.is_none() => socket.ping.map_or(held, |ping| ping.as_secs_f64().min(held)),
        Arrivals::Users { think, .. } => longest(&think, 0.99),
        Arrivals::Rate { per_second, connections, .. } => f64::from(connections) / per_second,
    }
}

/// A quantile of a time, seconds.
pub(crate) fn longest(time: &Spread, q: f64) -> f64 {
    match time {
        Spread::Constant(s) => s.as_secs_f64(),
        Spread::Uniform(a, b) => a.as_secs_f64() * (1.0 - q) + b.as_secs_f64() * q,
        Spread::Exponential(mean) => mean.as_secs_f64() * -(-q).ln_1p(),
        Spread::LogNormal(median, sigma) => median.as_secs_f64() * (sigma * normal(q)).exp(),
        Spread::Bimodal(a, b, part) => {
            let (a, b) = (a.as_secs_f64(), b.as_secs_f64());
            let below = if a <= b { 1.0 - part } else { *part };
            if q <= below { a.min(b) } else { a.max(b) }
        }
    }
}

/// That a time is not less than is allowed, at a quantile.
pub(crate) fn longer(time: &Spread, q: f64, allowed: f64) -> Option<Json> {
    let takes = longest(time, q);
    let mut told = json!({ "evidence": "alone", "takes": takes, "allowed": allowed });
    if !matches!(time, Spread::Constant(_)) {
        told["quantile"] = q.into();
    }
    (takes >= allowed).then_some(told)
}

/// A quantile of the standard normal distribution: where the area below reaches it, by Simpson's rule and bisection.
fn normal(q: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let below = |x: f64| {
        let steps = 400;
        let width = x / f64::from(steps);
        let sum: f64 = (0..=steps)
            .map(|i| {
                density(f64::from(i) * width)
                    * if i == 0 || i == steps {
                        1.0
                    } else if i % 2 == 1 {
                        4.0
                    } else {
                        2.0
                    }
            })
            .sum();
        0.5 + sum * width / 3.0
    };
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if below(middle) >= q { high = middle } else { low = middle }
    }
    high
}

fn both(ends: Option<Ends>, of: impl Fn(f64) -> Option<f64>) -> Option<Ends> {
    let (low, high) = ends?;
    Some((of(low)?, of(high)?))
}

/// What is in force of a law: a worker with a tunnel serves nothing else, so tunnels take workers as slots.
fn met(law: &Law, tunnels: bool) -> Law {
    let slots =
        |value: f64, soft: f64| Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft };
    match *law {
        Law::Workers { workers, .. } if tunnels => slots(workers, 1.0),
        Law::Growing { least, most, full, .. } if tunnels => {
            let high = if full.is_none_or(|full| most >= full) { most } else { least };
            slots(high, if high > 0.0 { least / high } else { 1.0 })
        }
        _ => law.clone(),
    }
}

/// The load as a limit meets it, whose places may be those of such servers.
fn meets(limit: &Limit, met: &Met) -> Met {
    let time = match (met.place, &limit.law) {
        (place, _) if limit.servers.is_empty() || met.alone.is_some() || place == Place::Average => return met.clone(),
        (Place::Takes(time), Law::Workers { .. }) => Some(time),
        _ => None,
    };
    let mut own = met.clone();
    (own.alone, own.unloaded) = (time, time);
    own
}

/// What a limit says of a load. Where slots are given up after each request, users beyond them wait for their turn; with `n` times as many a request
/// takes about `n` times as long.
pub(crate) fn of_limit(limit: &Limit, met: &Met) -> Predicted {
    let met = &meets(limit, met);
    let mut all = predicted(&limit.law, met);
    if crate::comes::is_never_full(limit, all.clients) {
        return Predicted::default();
    }
    let alone = met.alone.or(met.unloaded).unwrap_or(0.0);
    if limit.turns && met.spawn.is_some() && !met.tunnels && alone > 0.0 {
        let longest = (met.patience.0 + met.think) / (alone + met.think);
        for ends in [&mut all.clients, &mut all.users].into_iter().flatten() {
            ends.1 = ends.1.max((ends.1 * longest + WHOLE).floor());
        }
    }
    all
}

/// What the law of a limit says of a load.
pub(crate) fn predicted(law: &Law, met_by: &Met) -> Predicted {
    let open = met_by.spawn.is_none();
    // From the first request on, or never.
    let at_once = |bites: bool| {
        let at = bites.then_some((0.0, 0.0));
        Predicted { users: at.filter(|_| !open), rate: at.filter(|_| open), ..Predicted::default() }
    };
    match met(law, met_by.tunnels) {
        Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft } => {
            let Some((dear, cheap)) = cost(idle_cost, busy_cost, met_by) else { return Predicted::default() };
            let fit = |share: f64, cost: f64| pools * ((share * value - reserved) / cost + WHOLE).floor().max(0.0);
            let low = match varies(idle_cost, busy_cost, met_by) * MOSTLY {
                by if by > 0.0 && soft * value > reserved => {
                    // The largest n of which no more than one in a thousand takes more than the room: a quadratic in its root.
                    let half = by / (2.0 * dear);
                    let root = (half * half + (soft * value - reserved) / dear).sqrt() - half;
                    pools * (root.powi(2) + WHOLE).floor()
                }
                _ => fit(soft, dear),
            };
            let clients = (low, fit(1.0, cheap).max(low));
            let level = both(Some(clients), |n| met_by.level_of(n)).filter(|_| low < met_by.most);
            let users = level.filter(|_| !open);
            let rate = if open { level } else { both(users, |n| met_by.requests(n)) };
            Predicted { clients: Some(clients), users, rate, bytes: None }
        }
        Law::Workers { workers, queue, service, wait } => of_workers(workers, queue, service, wait, met_by),
        Law::Growing { least, most, full, wait } => growing((least, most), full, wait, met_by),
        Law::NewConnections { value } => new_connections(value, met_by),
        Law::Handshakes { cores, least, most } => handshakes(cores, least, most, met_by),
        Law::Backlog { value } => {
            // Those that come within ten milliseconds meet in the queue.
            let meets = met_by.spawn.map_or(0.0, |spawn| (spawn * 0.010).min(met_by.level));
            let users = (meets >= value).then_some((value, value));
            Predicted { clients: Some((value, value)), users, ..Predicted::default() }
        }
        Law::BodySize { value } => {
            Predicted { bytes: (value > 0.0).then_some(value), ..at_once(value > 0.0 && met_by.body > value) }
        }
        Law::MessageSize { value } => {
            Predicted { bytes: (value > 0.0).then_some(value), ..at_once(value > 0.0 && met_by.message > value) }
        }
        Law::Idle { after } => at_once(met_by.silence > after),
        Law::Rate { value, burst, at_once } => Predicted {
            rate: Some((value, value)),
            users: bucket::users(value, burst, at_once, met_by),
            ..Predicted::default()
        },
        Law::Delay { time } => at_once(longest(&time, met_by.patience.1) >= met_by.patience.0),
        Law::Cpu { .. } | Law::Tried { .. } | Law::Unknown => Predicted::default(),
    }
}

/// A connection with a full handshake for each request, of which each takes from `least` to `most` seconds of the processor: nobody waits until the
/// dearest fill the cores, and it is too long where the cheapest of those who wait took longer than is allowed.
fn handshakes(cores: f64, least: f64, most: f64, met: &Met) -> Predicted {
    if met.keeps || least <= 0.0 {
        return Predicted::default();
    }
    let goes = cores / least;
    let Some(_) = met.spawn else {
        // Those in excess come faster and faster: half the climb times the square of the time, until they are as many as are served in that wait.
        let seconds = (2.0 * met.patience.0 * goes / met.climb.max(f64::MIN_POSITIVE)).sqrt();
        let late = if met.climb > 0.0 { goes + met.climb * seconds } else { goes };
        return Predicted { rate: Some((cores / most, late.min(met.level).max(goes))), ..Predicted::default() };
    };
    let users = {
        let alone = met.alone.or(met.unloaded).unwrap_or(0.0).max(most);
        let too_long = (cores * (met.patience.0 + met.think) / least + WHOLE).floor();
        let begins = (cores * (alone + met.think) / most + WHOLE).floor();
        (begins.min(too_long), too_long)
    };
    Predicted { users: Some(users), rate: Some((cores / most, goes)), ..Predicted::default() }
}

/// Slots that a client takes on average: dearest and cheapest. None where it takes none.
pub(crate) fn cost(idle: f64, busy: f64, met: &Met) -> Option<(f64, f64)> {
    let part = match met.service {
        _ if !met.keeps || met.think == 0.0 || met.tunnels => (1.0, 1.0),
        Some(s) if !met.counted => (s / (s + met.think), 1.0),
        Some(s) => (s / (s + met.think), s / (s + met.think)),
        None => (0.0, 1.0),
    };
    let at = |part: f64| part * busy + (1.0 - part) * idle;
    let (a, b) = (at(part.0), at(part.1));
    let cheap = if a.min(b) > 0.0 { a.min(b) } else { busy };
    (cheap > 0.0).then_some((a.max(b), cheap))
}

/// Standard deviations that one in a thousand of a normal distribution is beyond.
const MOSTLY: f64 = 3.09;

/// The standard deviation of what one client takes: of who thinks, by whether it has a request just then; of requests that come at random, as many as
/// there are.
fn varies(idle: f64, busy: f64, met: &Met) -> f64 {
    let part = |service: f64| service / (service + met.think);
    match (met.spawn, met.service) {
        (None, _) if met.random => busy,
        (Some(_), Some(service)) if met.think > 0.0 && !met.tunnels => match (met.keeps, met.counted) {
            (true, true) => (busy - idle) * (part(service) - part(service).powi(2)).sqrt(),
            (true, false) => 0.0,
            (false, _) if !met.counted => 0.0,
            (false, _) => busy * (1.0 - part(service)).sqrt(),
        },
        _ => 0.0,
    }
}

/// How long a client waits at most, where who has waited for `wait` is refused.
fn waits(wait: Option<f64>, met: &Met) -> f64 {
    let refused = wait.map(|wait| wait + met.alone.or(met.unloaded).or(met.service).unwrap_or(0.0));
    refused.map_or(met.patience.0, |longest| longest.min(met.patience.0))
}

/// Users wait when all workers are busy; it is too long at `workers * (patience + think) / service` of them, and there is no room in the
/// queue beyond that.
fn of_workers(workers: f64, queue: Option<f64>, service: Option<f64>, wait: Option<f64>, met: &Met) -> Predicted {
    let room = workers + queue.unwrap_or(0.0);
    let clients = Some((workers, room));
    let Some(service) = service.or(met.alone).or(met.unloaded).filter(|s| *s > 0.0) else {
        let known = queue.is_some() && met.service.is_none() && met.spawn.is_some() && met.think == 0.0;
        return Predicted { clients, users: known.then_some((room, room)), ..Predicted::default() };
    };
    let rate = Some((workers / service, workers / service));
    let busy = workers * (service + met.think) / service;
    let late = workers * (waits(wait, met) + met.think) / service;
    let high = (queue.map_or(late, |queue| late.min(busy + queue)) + WHOLE).floor();
    let users = met.spawn.map(|_| ((busy + WHOLE).floor().min(high), high));
    Predicted { clients, users, rate, bytes: None }
}

/// The same where there are more workers the more clients there are.
fn growing((least, most): Ends, full: Option<f64>, wait: Option<f64>, met: &Met) -> Predicted {
    let high = if full.is_none_or(|full| most >= full) { most } else { least };
    let clients = Some((least, high));
    let Some(service) = met.alone.or(met.unloaded).filter(|s| *s > 0.0) else {
        return Predicted { clients, ..Predicted::default() };
    };
    let rate = Some((least / service, most / service));
    let patience = waits(wait, met);
    let grows = full.is_none_or(|full| most * patience >= full * service);
    let at = |workers: f64, cycle: f64| (workers * cycle / service + WHOLE).floor();
    let high = at(if grows { most } else { least }, patience + met.think);
    let users = met.spawn.map(|_| (at(least, service + met.think).min(high), high));
    Predicted { clients, users, rate, bytes: None }
}

/// Of `spawn` new connections a second `value` are accepted: who comes after `t` waits `t (spawn - value) / value`.
fn new_connections(value: f64, met: &Met) -> Predicted {
    let rate = (!met.keeps).then_some((value, value));
    let users = match met.spawn {
        None => None,
        // Of those who wait each has one connection that is not accepted yet: a second lets `value` of them in.
        Some(_) if !met.keeps => {
            let most = value * (met.think + met.patience.0);
            let some = met.alone.or(met.unloaded).map(|took| value * (met.think + took));
            met.service.and(Some((some.map_or(most, |n| n.min(most)), most)))
        }
        Some(spawn) => {
            let late = met.patience.0 * value * spawn / (spawn - value);
            (spawn > value).then(|| (value.min(late), late))
        }
    };
    Predicted { rate, users, ..Predicted::default() }
}

impl Predicted {
    /// In the unit of the load's level.
    pub(crate) fn levels(&self, met: &Met) -> Option<Ends> {
        if met.spawn.is_none() { self.rate } else { self.users }
    }

    /// The level above which the objective should fail; none: never, or not known.
    pub(crate) fn bites(&self, law: &Law, met: &Met) -> Option<f64> {
        let late = match law {
            Law::Workers { .. } | Law::Growing { .. } => true,
            Law::NewConnections { .. } => !met.keeps,
            Law::Handshakes { .. } => met.spawn.is_some(),
            _ => false,
        };
        self.levels(met).map(|(low, high)| if late { high } else { low })
    }
}
