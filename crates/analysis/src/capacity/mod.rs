//! What a limit's law means for a load: how many clients, users, requests a second or bytes it lets through, and which
//! value of its setting would let enough through.
//!
//! [`demand`] turns a load into the terms of laws, [`law`] evaluates and inverts a law, [`remedy`] makes a value that
//! can be written into a configuration, [`processor`] tells from a run what no configuration says, [`unloaded`] how long a response takes without
//! waiting. This file puts them together into predictions.

pub(crate) mod bucket;
pub mod demand;
pub(crate) mod each;
pub mod law;
mod looks;
pub(crate) mod onward;
pub(crate) mod price;
pub mod processor;
pub mod remedy;
pub(crate) mod served;
pub(crate) mod servers;
pub(crate) mod unloaded;

use genkai_model::finding::{Predicted, Quantiles, Scale};
use genkai_model::limit::{Law, Limit};
use genkai_model::load::Load;
use genkai_model::objective::{Condition, Objective};
use genkai_model::units::{Range, Spread};

/// How far from the predicted range a break may come and still be where the formula puts it: a tenth.
pub const TOLERANCE: f64 = 0.10;

pub use demand::Demand;

/// A prediction with what it was made from.
#[derive(Clone, Debug)]
pub struct Forecast<'l> {
    /// The limit.
    pub limit: &'l Limit,
    /// What is predicted, in the user's units.
    pub predicted: Predicted,
    /// The level of the load (users, or requests a second) above which the objective should fail because of it; none:
    /// never, or not known.
    pub bites: Option<f64>,
    /// The level from which on that may happen at the earliest; none: not known.
    pub begins: Option<f64>,
}

/// What is predicted for each limit under `load`, tightest first. `service_seen` is how long responses took
/// before anything broke; without it, rates are given only where a limit itself knows its service time.
///
/// Waiting counts as failure only from the request's deadline on; [`predict_under`] knows the objective.
pub fn predict(limits: &[Limit], load: &Load, service_seen: Option<Quantiles>) -> Vec<Predicted> {
    predict_under(limits, load, &Objective(Vec::new()), service_seen)
}

/// [`predict`] for an objective: a limit that makes requests wait bites where the wait exceeds the latency allowed.
pub fn predict_under(
    limits: &[Limit],
    load: &Load,
    objective: &Objective,
    service_seen: Option<Quantiles>,
) -> Vec<Predicted> {
    let demand = Demand::of(load, objective, service_seen, limits);
    forecast(limits, &demand).into_iter().map(|f| f.predicted).collect()
}

/// The predictions for `limits` under `demand`, tightest first.
pub fn forecast<'l>(limits: &'l [Limit], demand: &Demand) -> Vec<Forecast<'l>> {
    let mut all: Vec<Forecast<'l>> = limits.iter().map(|limit| of(limit, demand)).collect();
    let key = |f: &Forecast<'_>| f.bites.unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| key(a).total_cmp(&key(b)));
    all
}

/// The prediction for one limit.
pub fn of<'l>(limit: &'l Limit, demand: &Demand) -> Forecast<'l> {
    let demand = &servers::met(limit, demand);
    let reach = if never_full(limit, demand) { Reach::default() } else { Reach::of(&limit.law, demand) };
    let reach = if limit.turns { reach.in_turns(demand) } else { reach };
    let level = if demand.is_open() { reach.rate } else { reach.users };
    let bites = level.map(|l| if waits(&limit.law, demand) { l.high } else { l.low });
    let predicted = Predicted {
        limit: limit.id.clone(),
        subject: limit.subject.clone(),
        setting: limit.setting.clone(),
        value: limit.value.clone(),
        clients: reach.clients,
        users: reach.users,
        rate: reach.rate,
        bytes: reach.bytes,
        formula: if limit.formula.is_empty() { law::formula(&limit.law, demand) } else { limit.formula.clone() },
        told_from: None,
        observed: None,
        within_load: bites.is_some_and(|at| demand.asked > at),
        far: is_far(&limit.law, bites, demand),
    };
    Forecast { limit, predicted, bites, begins: begins(&limit.law, demand, level, bites) }
}

/// Whether no more clients come to a limit than it lets be there at once.
pub(crate) fn never_full(limit: &Limit, demand: &Demand) -> bool {
    let most = limit.comes.zip(law::clients(&limit.law, demand));
    most.is_some_and(|(comes, lets)| comes <= lets.low)
}

/// The level from which on the objective may fail because of a law: of workers of whom fewer may be there, that of the fewest. Where requests only
/// begin to wait, none fails.
fn begins(law: &Law, demand: &Demand, level: Option<Range>, bites: Option<f64>) -> Option<f64> {
    match law::met(law, demand) {
        Law::Growing { least, wait, .. } if !demand.is_open() => {
            let fewest = Reach::growing((least, least), None, &demand.waiting(wait));
            bites.and(fewest.users).map(|users| users.high)
        }
        Law::Workers { .. } | Law::NewConnections { .. } => bites,
        _ => level.map(|level| level.low),
    }
}

/// Whether a load does not fail where the first waits, but where one waits too long.
fn waits(law: &Law, demand: &Demand) -> bool {
    match law {
        Law::Workers { .. } | Law::Growing { .. } => true,
        Law::NewConnections { .. } => !demand.keeps,
        // Users who wait send less; a rate does not.
        Law::Handshakes { .. } => !demand.is_open(),
        _ => false,
    }
}

/// From how many times the load asked for on a limit does not matter for it.
const FAR: f64 = 10.0;

/// Whether a limit does not matter for a load: it should bite far beyond, never, or nothing says where. (A rate that users
/// reach at a response time not known yet does.)
fn is_far(law: &Law, bites: Option<f64>, demand: &Demand) -> bool {
    bites.map_or(
        !matches!(
            law,
            Law::Rate { .. }
                | Law::NewConnections { .. }
                | Law::Handshakes { .. }
                | Law::Workers { .. }
                | Law::Growing { .. }
        ),
        |at| at > FAR * demand.asked,
    )
}

/// Whether all that `limit` does to the requests beyond what is predicted for it on `scale` is to make them wait, and no condition of
/// `objective` judges that: a load that went beyond it without a violation does not show that it held nothing back.
///
/// The level predicted for workers ends where requests wait too long or are refused, and their clients where the queue is full: beyond, they
/// fail, which every objective judges. Only of workers with a queue without end are the clients just those beyond whom the others wait.
pub(crate) fn waits_unjudged(limit: &Limit, objective: &Objective, scale: Scale) -> bool {
    let queues = match limit.law {
        Law::Slots { .. } => true,
        Law::Workers { queue: None, .. } | Law::Growing { .. } => scale == Scale::Clients,
        _ => false,
    };
    let judges = |c: &Condition| !matches!(c, Condition::ErrorsBelow(_));
    limit.symptom.slow && queues && !objective.0.iter().any(judges)
}

/// How far a law lets a load go, in each unit it has an answer in: from where clients begin to suffer to where nothing
/// more goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reach {
    clients: Option<Range>,
    users: Option<Range>,
    rate: Option<Range>,
    bytes: Option<f64>,
}

fn map(range: Range, f: impl Fn(f64) -> Option<f64>) -> Option<Range> {
    Some(Range { low: f(range.low)?, high: f(range.high)? })
}

fn point(at: f64) -> Range {
    Range { low: at, high: at }
}

impl Reach {
    fn of(law: &Law, demand: &Demand) -> Reach {
        let law = &law::met(law, demand);
        match law {
            Law::Slots { .. } => Reach::slots(law, demand),
            Law::Workers { workers, queue, service, wait } => {
                Reach::workers(*workers, *queue, *service, &demand.waiting(*wait))
            }
            Law::Growing { least, most, full, wait } => Reach::growing((*least, *most), *full, &demand.waiting(*wait)),
            Law::NewConnections { value } => Reach::new_connections(*value, demand),
            Law::Handshakes { cores, least, most } => Reach::handshakes(*cores, (*least, *most), demand),
            Law::Backlog { value } => {
                let users = (demand.arrives_at_once() >= *value).then(|| point(*value));
                Reach { clients: Some(point(*value)), users, ..Reach::default() }
            }
            Law::BodySize { value } | Law::MessageSize { value } => {
                let size = if matches!(law, Law::MessageSize { .. }) { demand.message } else { demand.body };
                Reach {
                    bytes: (*value > 0.0).then_some(*value),
                    ..Reach::at_once(*value > 0.0 && size > *value, demand)
                }
            }
            Law::Idle { after } => Reach::at_once(demand.silence > *after, demand),
            Law::Rate { value, burst, at_once } => {
                let users = bucket::users(*value, *burst, *at_once, demand);
                Reach { rate: Some(point(*value)), users, ..Reach::default() }
            }
            Law::Delay { time } => Reach::delay(time, demand),
            Law::Cpu { .. } | Law::Tried { .. } | Law::Unknown => Reach::default(),
        }
    }

    fn slots(law: &Law, demand: &Demand) -> Reach {
        let Some(clients) = law::clients(law, demand) else { return Reach::default() };
        // Clients beyond the connections that a load may have never come.
        let comes = clients.low < demand.most;
        let level = map(clients, |c| demand.level_of(c)).filter(|_| comes);
        let (users, rate) = if demand.is_open() {
            (None, level)
        } else {
            (level, level.and_then(|users| map(users, |u| demand.throughput(u))))
        };
        Reach { clients: Some(clients), users, rate, bytes: None }
    }

    /// As [`Reach::workers`] with `c(n)` workers at `n` clients, `least` and `most` of them at least and at most, `most * n / full`
    /// between. Clients wait `(n / c(n) - 1)` service times, so that between the two all or none wait too long.
    fn growing((least, most): (f64, f64), full: Option<f64>, demand: &Demand) -> Reach {
        let clients = law::begins(least, most, full);
        let Some(service) = demand.without_waiting().filter(|s| *s > 0.0) else {
            return Reach { clients: Some(clients), ..Reach::default() };
        };
        let rate = Some(Range { low: clients.low / service, high: most / service });
        if demand.is_open() {
            return Reach { clients: Some(clients), rate, ..Reach::default() };
        }
        let grows = full.is_none_or(|full| most * demand.patience >= full * service);
        let at = |workers: f64, cycle: f64| (workers * cycle / service + law::EPSILON).floor();
        let high = at(if grows { most } else { least }, demand.patience + demand.think);
        let users = Some(Range { low: at(least, service + demand.think).min(high), high });
        Reach { clients: Some(clients), users, rate, bytes: None }
    }

    /// The same where those who find no slot take turns with those who have one: until each waits too long they are as many times more as it may
    /// take longer, as before workers ([`Reach::workers`]).
    fn in_turns(self, demand: &Demand) -> Reach {
        let took = demand.without_waiting().filter(|took| *took > 0.0 && !demand.is_open() && !demand.tunnels);
        let Some(took) = took else { return self };
        let times = ((demand.patience + demand.think) / (took + demand.think)).max(1.0);
        let late = |range: Range| Range { high: (range.high * times + 1e-9).floor().max(range.high), ..range };
        Reach { clients: self.clients.map(late), users: self.users.map(late), ..self }
    }

    /// Connections that come faster than they are accepted wait longer and longer: of `a` a second, of which `value` are accepted,
    /// the one that comes after `t` waits `t * (a - value) / value`. Users who keep theirs open one each, while they are added.
    fn new_connections(value: f64, demand: &Demand) -> Reach {
        let Some(spawn) = demand.spawn_rate else {
            let rate = (!demand.keeps).then(|| point(value));
            return Reach { rate, ..Reach::default() };
        };
        // Whose connection waits asks for no other one: from where some wait to where they wait too long.
        if !demand.keeps {
            let late = value * (demand.patience + demand.think);
            let begins = demand.without_waiting().map_or(late, |took| value * (took + demand.think));
            let users = demand.service.map(|_| Range { low: begins.min(late), high: late });
            return Reach { rate: Some(point(value)), users, ..Reach::default() };
        }
        let late = demand.patience * value / (spawn - value) * spawn;
        let users = (spawn > value).then(|| Range { low: value.min(late), high: late });
        Reach { users, ..Reach::default() }
    }

    /// Each request is a connection with a full handshake: so many a second as processor time suffices for. Users wait as for workers that
    /// take so long ([`Reach::workers`]). A rate that climbs by `g` a second is `sqrt(2 p c g)` beyond what goes, `c`, when those who come wait
    /// for `p`: `p c` have come in excess.
    fn handshakes(cores: f64, (least, most): (f64, f64), demand: &Demand) -> Reach {
        if demand.keeps || least <= 0.0 {
            return Reach::default();
        }
        let (low, goes) = (cores / most, cores / least);
        let beyond = (2.0 * demand.patience * goes * demand.climb).sqrt();
        let rate = Some(Range { low, high: goes.max((goes + beyond).min(demand.asked)) });
        if demand.is_open() {
            return Reach { rate, ..Reach::default() };
        }
        let service = demand.without_waiting().unwrap_or(most).max(most);
        let at = |cycle: f64, each: f64| (cores * cycle / each + law::EPSILON).floor();
        let high = at(demand.patience + demand.think, least);
        let users = Some(Range { low: at(service + demand.think, most).min(high), high });
        Reach { users, rate: Some(Range { low, high: goes }), ..Reach::default() }
    }

    /// Too slow from the first request on, or never.
    fn delay(time: &Spread, demand: &Demand) -> Reach {
        Reach::at_once(demand::quantile(time, demand.patience_at) >= demand.patience, demand)
    }

    /// From the first client on, or never.
    fn at_once(bites: bool, demand: &Demand) -> Reach {
        let at = bites.then(|| point(0.0));
        let (users, rate) = if demand.is_open() { (None, at) } else { (at, None) };
        Reach { users, rate, ..Reach::default() }
    }

    /// Waiting begins when all workers are busy; it fails the objective when `users * service / workers - think` exceeds
    /// the latency allowed (the asymptote of a closed system: Lazowska et al., Quantitative System Performance, 1984,
    /// section 5.2), and requests are refused when the queue is full.
    fn workers(workers: f64, queue: Option<f64>, service: Option<f64>, demand: &Demand) -> Reach {
        let full = workers + queue.unwrap_or(0.0);
        let clients = Some(Range { low: workers, high: full });
        let Some(service) = service.or(demand.without_waiting()).filter(|s| *s > 0.0) else {
            // Where requests were seen to take so long, and not known how long without waiting, they may be too late long before the queue is full.
            let known = demand.service.is_none() && !demand.is_open() && demand.think == 0.0;
            let users = queue.filter(|_| known).map(|_| point(full));
            return Reach { clients, users, ..Reach::default() };
        };
        let rate = Some(point(workers / service));
        if demand.is_open() {
            return Reach { clients, rate, ..Reach::default() };
        }
        let begins = workers * (service + demand.think) / service;
        let too_long = workers * (demand.patience + demand.think) / service;
        let refused = queue.map_or(f64::INFINITY, |q| begins + q);
        let high = (too_long.min(refused) + law::EPSILON).floor();
        let users = Some(Range { low: (begins + law::EPSILON).floor().min(high), high });
        Reach { clients, users, rate, bytes: None }
    }
}

#[cfg(test)]
pub(crate) mod tests;
