//! Laws evaluated and inverted.

use genkai_model::limit::Law;
use genkai_model::units::Range;

use super::demand::Demand;

/// Slack that keeps a whole number whole when it was computed in binary fractions.
pub(crate) const EPSILON: f64 = 1e-9;

/// Standard deviations from the mean that one in a thousand is beyond (the standard normal distribution).
const RARE: f64 = 3.09;

/// How many clients fit, at `cost` slots each: `pools * floor((share * value - reserved) / cost)`.
fn fit(value: f64, reserved: f64, cost: f64, pools: f64, share: f64) -> f64 {
    pools * ((share * value - reserved) / cost + EPSILON).floor().max(0.0)
}

/// How many fit where what they take varies by `swing * sqrt(n)` (a standard deviation) about `cost * n`: as many of which one in a thousand times
/// no more is taken than there is, `cost * n + RARE * swing * sqrt(n) <= room`.
fn fit_mostly(value: f64, reserved: f64, (cost, swing): (f64, f64), pools: f64, share: f64) -> f64 {
    let room = share * value - reserved;
    if swing <= 0.0 || room <= 0.0 {
        return fit(value, reserved, cost, pools, share);
    }
    let by = RARE * swing;
    let root = ((by * by + 4.0 * cost * room).sqrt() - by) / (2.0 * cost);
    pools * (root * root + EPSILON).floor()
}

/// By how much what clients take varies, a standard deviation at one client: each has a request in flight at some moments only, by itself (a binomial
/// distribution), or requests come at random (Poisson's; in flight M/G/infinity). 0 where it is always the same, or not known.
fn swing(idle_cost: f64, busy_cost: f64, demand: &Demand) -> f64 {
    let busy = demand.busy();
    match demand.is_open() {
        true if demand.random => busy_cost,
        true => 0.0,
        false if demand.think == 0.0 || demand.tunnels || busy.low < busy.high => 0.0,
        false if demand.keeps => (busy_cost - idle_cost) * (busy.low * (1.0 - busy.low)).sqrt(),
        false => busy_cost * demand.away().sqrt(),
    }
}

/// Slots that one present client takes on average: dearest and cheapest, a range where it is not known how often it is
/// busy. A client that does not keep its connection is only there while it is busy.
pub(super) fn cost(idle_cost: f64, busy_cost: f64, demand: &Demand) -> Range {
    if !demand.keeps {
        return Range { low: busy_cost, high: busy_cost };
    }
    let at = |busy: f64| busy * busy_cost + (1.0 - busy) * idle_cost;
    let busy = demand.busy();
    let (a, b) = (at(busy.low), at(busy.high));
    let low = if a.min(b) > 0.0 { a.min(b) } else { busy_cost };
    Range { low, high: a.max(b) }
}

/// Clients that `law` lets be present at once: from where the first of them suffers to where no more fit. None for laws
/// that do not count clients in slots.
pub fn clients(law: &Law, demand: &Demand) -> Option<Range> {
    let Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft } = *law else { return None };
    let cost = cost(idle_cost, busy_cost, demand);
    if cost.low <= 0.0 {
        return None;
    }
    let low = fit_mostly(value, reserved, (cost.high, swing(idle_cost, busy_cost, demand)), pools, soft);
    Some(Range { low, high: fit(value, reserved, cost.low, pools, 1.0).max(low) })
}

/// Requests in flight that `law` lets be at once, where it counts these alone: slots that only a client with a request in flight takes. None for
/// other laws.
pub fn in_flight(law: &Law) -> Option<f64> {
    match *law {
        Law::Slots { value, reserved, idle_cost: 0.0, busy_cost, pools, .. } if busy_cost > 0.0 => {
            Some(fit(value, reserved, busy_cost, pools, 1.0))
        }
        _ => None,
    }
}

/// The number that the law's setting stands for now; 0 for a law without one. (A backlog's queue holds one more than the setting says: Linux
/// compares with `>`, `sk_acceptq_is_full`, include/net/sock.h.)
pub fn setting(law: &Law) -> f64 {
    match *law {
        Law::Slots { value, .. }
        | Law::BodySize { value }
        | Law::MessageSize { value }
        | Law::Idle { after: value }
        | Law::NewConnections { value }
        | Law::Tried { value, .. }
        | Law::Rate { value, .. } => value,
        Law::Workers { workers, .. } => workers,
        Law::Growing { least, .. } => least,
        Law::Backlog { value } => value - 1.0,
        Law::Cpu { cores } | Law::Handshakes { cores, .. } => cores,
        Law::Delay { .. } | Law::Unknown => 0.0,
    }
}

/// The law with its setting at another number.
pub fn with_setting(law: &Law, to: f64) -> Law {
    let mut law = law.clone();
    match &mut law {
        Law::Slots { value, .. }
        | Law::BodySize { value }
        | Law::MessageSize { value }
        | Law::NewConnections { value }
        | Law::Tried { value, .. }
        | Law::Idle { after: value } => *value = to,
        Law::Rate { value, burst, .. } => {
            *burst = grown(*burst, *value, to);
            *value = to;
        }
        Law::Workers { workers, .. } => *workers = to,
        Law::Growing { least, most, full, .. } => {
            *most = grow(*most, *least, *full, to);
            *least = to;
        }
        Law::Backlog { value } => *value = to + 1.0,
        Law::Cpu { cores } | Law::Handshakes { cores, .. } => *cores = to,
        Law::Delay { .. } | Law::Unknown => {}
    }
    law
}

/// As many as there are at most where the setting, of which there are `least` always, becomes `to`: where what decides between the two is not in
/// the configuration, the most is a multiple of it (a pool in each of several processes).
fn grow(most: f64, least: f64, full: Option<f64>, to: f64) -> f64 {
    if full.is_none() && least > 0.0 { (most * to / least).max(to) } else { most.max(to) }
}

/// `law` as `demand` meets it: a worker that has a tunnel serves nothing else for as long as that is open, so tunnels take workers
/// as they take slots.
pub fn met(law: &Law, demand: &Demand) -> Law {
    match *law {
        Law::Workers { workers, .. } if demand.tunnels => {
            Law::Slots { value: workers, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 }
        }
        Law::Growing { least, most, full, .. } if demand.tunnels => {
            let Range { low, high } = begins(least, most, full);
            let soft = if high > 0.0 { low / high } else { 1.0 };
            Law::Slots { value: high, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft }
        }
        _ => law.clone(),
    }
}

/// Clients from which on some wait, of the law [`Law::Growing`]: at fewer than `full` clients there are more in service only where
/// `most` of them are at least as many.
pub fn begins(least: f64, most: f64, full: Option<f64>) -> Range {
    let keeps_up = full.is_none_or(|full| most >= full);
    Range { low: least, high: if keeps_up { most } else { least } }
}

/// The smallest setting with which `law` lets a load of `level` users (or requests a second) through. `stretch` scales
/// the clients that must fit, for a system in which fewer fitted than the law says. None where the law cannot tell.
pub fn needed(law: &Law, demand: &Demand, level: f64, stretch: f64) -> Option<f64> {
    let law = &met(law, demand);
    match *law {
        Law::Slots { .. } => needed_slots(law, demand, demand.clients_at(level)? * stretch),
        Law::Workers { queue, service, wait, .. } => {
            // Waits vary, and beyond the longest one requests are refused at once: half of it is aimed at.
            let demand = &demand.waiting(wait.map(|longest| longest / 2.0));
            let clients = demand.clients_at(level)? * stretch;
            let slots = clients - queue.unwrap_or(0.0);
            let pace = service.or(demand.without_waiting()).or(demand.service).map(|s| match demand.is_open() {
                true => level * stretch * s,
                false => level * stretch * s / (demand.patience + demand.think).max(s),
            });
            let least = match (queue, pace) {
                (Some(_), Some(pace)) => slots.max(pace),
                (None, Some(pace)) => pace,
                (_, None) => slots,
            };
            Some((least - EPSILON).ceil().max(1.0))
        }
        Law::Growing { least, wait, .. } => {
            needed(&Law::Workers { workers: least, queue: None, service: None, wait }, demand, level, stretch)
        }
        Law::NewConnections { .. } => Some((demand.arrivals(level)? * stretch - EPSILON).ceil()),
        Law::Backlog { .. } => Some((demand.clients_at(level)? * stretch).ceil() - 1.0),
        Law::BodySize { .. } => Some(demand.body),
        Law::MessageSize { .. } => Some(demand.message),
        Law::Idle { .. } => Some(demand.silence),
        // A bucket counts exactly: that it overflows below its rate says that its burst is too small, not its rate.
        Law::Rate { value, .. } => {
            let wanted = demand.throughput(level)?;
            Some(if wanted <= value * FILLED + EPSILON { value } else { (wanted / FILLED - EPSILON).ceil() })
        }
        // As far as one trial moved the break, the next is taken to: in proportion. Without such a trial nothing tells.
        Law::Tried { value, .. } => (stretch > 1.0).then(|| (value * stretch * level / demand.asked - EPSILON).ceil()),
        Law::Cpu { .. } | Law::Handshakes { .. } | Law::Delay { .. } | Law::Unknown => None,
    }
}

/// A burst that covers the same time at the rate `to` as `burst` does at the rate `from`, but is never smaller. Users who
/// wait for their responses come back together, so what comes at once grows with what comes in a second.
fn grown(burst: f64, from: f64, to: f64) -> f64 {
    if from > 0.0 && to > from { (burst * to / from - EPSILON).ceil() } else { burst }
}

/// Fraction of requests that may find a leaky bucket full, where its rate is chosen here: a tenth of the errors that are
/// allowed by default.
const OVERFLOW: f64 = 1e-4;

/// Part of a leaky bucket's rate that a load may take where the rate is chosen here: beyond it the burst that random arrivals take
/// grows without bound.
const FILLED: f64 = 0.9;

/// The burst of a leaky bucket of `rate` for `wanted` requests a second that come at random, or in groups of up to `together`. Its
/// content is the work waiting in an M/D/1 queue, which exceeds `b` with a probability of about `exp(-t b)`, where
/// `r (exp(t) - 1) = t` for a load of `r` (Cramer-Lundberg; Asmussen, Applied Probability and Queues, 2003, XIII.5). At a load of `r` or
/// less, `t >= 2 (1 - r) / (1 + r)`, as `(exp(t) - 1) / t <= (2 + t) / (2 - t)`: so `b = ln(1 / OVERFLOW) / t` is enough.
fn room(wanted: f64, rate: f64, together: f64) -> f64 {
    let filled = (wanted / rate).min(FILLED);
    let t = 2.0 * (1.0 - filled) / (1.0 + filled);
    (-OVERFLOW.ln() / t).max(together).ceil()
}

/// `law`, if it is a leaky bucket, with a burst of room for a load of `level`, and never less than twice what it has: it overflowed.
pub fn with_room(law: Law, before: &Law, demand: &Demand, level: f64) -> Law {
    match (law, before) {
        (Law::Rate { value, burst, at_once }, Law::Rate { burst: had, .. }) => {
            let wanted = demand.throughput(level).unwrap_or(value);
            let together = if demand.is_open() { 0.0 } else { level };
            Law::Rate { value, burst: room(wanted, value, together).max(burst).max(had * 2.0), at_once }
        }
        (law, _) => law,
    }
}

/// The smallest whole `value` with which as many as are `wanted` fit for certain ([`clients`]): each pool must hold its share, so
/// `soft * value - reserved >= ceil(wanted / pools) * cost`, and what that varies by.
pub(super) fn needed_slots(law: &Law, demand: &Demand, wanted: f64) -> Option<f64> {
    let Law::Slots { reserved, idle_cost, busy_cost, pools, soft, .. } = *law else { return None };
    let (cost, swing) = (cost(idle_cost, busy_cost, demand).high, swing(idle_cost, busy_cost, demand));
    if cost <= 0.0 || pools < 1.0 || soft <= 0.0 {
        return None;
    }
    let each = ((wanted - EPSILON) / pools).ceil().max(0.0);
    let holds = |value: f64| fit_mostly(value, reserved, (cost, swing), pools, soft) >= each * pools;
    let mut value = ((each * cost + RARE * swing * each.sqrt() + reserved) / soft).ceil();
    while value >= 1.0 && holds(value - 1.0) {
        value -= 1.0;
    }
    while !holds(value) {
        value += 1.0;
    }
    Some(value.max(0.0))
}

/// The law with its numbers, for limits that bring no wording of their own.
pub fn formula(law: &Law, demand: &Demand) -> String {
    match *law {
        Law::Slots { value, reserved, idle_cost, busy_cost, pools, soft } => {
            let cost = cost(idle_cost, busy_cost, demand).high;
            let soft = if soft < 1.0 { format!(" (suffering from {soft} x {value} on)") } else { String::new() };
            format!("{pools} x floor(({value} - {reserved}) / {cost}){soft}")
        }
        Law::Workers { workers, service: Some(s), .. } => format!("{workers} / {s} s = {} requests/s", workers / s),
        Law::Workers { workers, .. } => format!("{workers} at once"),
        Law::Growing { least, most, .. } => format!("{least} to {most} at once"),
        Law::NewConnections { value } => format!("{value} new connections/s"),
        Law::Backlog { value } => format!("{value} waiting at once"),
        Law::BodySize { value } | Law::MessageSize { value } => format!("{value} bytes"),
        Law::Idle { after } => format!("silent for {after} s at most"),
        Law::Rate { value, burst, .. } => format!("{value} requests/s, {burst} early"),
        Law::Cpu { cores } => format!("{cores} cores"),
        Law::Handshakes { cores, least, most } => {
            format!("{cores} cores / {least} to {most} s of processor time a connection")
        }
        Law::Delay { time } => format!("every request takes {time}"),
        Law::Tried { .. } => "no formula is known: trying another value tells".to_owned(),
        Law::Unknown => "no number says when".to_owned(),
    }
}
