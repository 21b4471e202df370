//! How long responses took in a trial before anything made them wait: times that hold waiting already say nothing of how long a request
//! takes in a pool.

use genkai_model::event::Tick;
use genkai_model::limit::{Law, Limit};
use hdrhistogram::Histogram;

use super::{Demand, TOLERANCE};
use crate::window;

/// Standard errors on either side of a mean that hold it with 95 %.
const SURE: f64 = 2.0;
/// Fewest responses of which a mean is known.
const FEWEST: u64 = 3;
/// How many times the longest response must have had time to come: of times that are cut short only the short ones are seen.
const TIME: f64 = 2.0;
/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// The mean response time, seconds, before `until` microseconds and before there were more requests in flight than the smallest of those
/// `limits` that make wait lets through, or, where a client that is idle holds a place too, more connections than places, or requests may have
/// waited for their turn at a rate for more than a tenth of it. None where it is not known within a tenth.
pub(crate) fn mean(ticks: &[Tick], until: Option<u64>, limits: &[Limit], demand: &Demand) -> Option<f64> {
    if limits.iter().any(|limit| matches!(limit.law, Law::NewConnections { .. }) && limit.symptom.slow && !demand.keeps)
    {
        return None;
    }
    let ticks = window::before(ticks, until);
    let [most, open] = [false, true].map(|idle| places(limits, demand, idle));
    let full = |tick: &Tick| tick.in_flight as f64 > most || tick.in_flight.max(tick.connections) as f64 > open;
    let mut buckets: Vec<Bucket> = limits.iter().filter_map(Bucket::of).collect();
    let few = ticks.iter().position(|tick| take_turns(&mut buckets, tick) || full(tick)).unwrap_or(ticks.len());
    let took = window::merge(&ticks[..few], |tick| &tick.service);
    let known = few == ticks.len() || ticks[..few].last().is_some_and(|last| is_known(&took, last));
    (known && !took.is_empty()).then(|| took.mean() / NS)
}

/// What is left of earlier requests at a limit that lets them through one by one at a rate, each in its turn (nginx src/http/modules/ngx_http_limit_req_module.c,
/// a leaky bucket).
struct Bucket {
    rate: f64,
    /// So many wait for nothing.
    early: f64,
    level: f64,
}

impl Bucket {
    /// That of a limit which makes wait.
    fn of(limit: &Limit) -> Option<Bucket> {
        match limit.law {
            Law::Rate { value, burst, at_once: Some(early) } if early < burst => {
                Some(Bucket { rate: value, early, level: 0.0 })
            }
            _ => None,
        }
    }

    /// The longest that a request of this interval can have waited, seconds: if all of them came at the same moment.
    fn wait(&mut self, tick: &Tick) -> f64 {
        let most = self.level + tick.sent as f64;
        self.level = (most - self.rate * tick.to_us.saturating_sub(tick.from_us) as f64 / window::US).max(0.0);
        ((most - 1.0 - self.early) / self.rate).max(0.0)
    }
}

/// The longest that a request of these intervals can have waited for its turn at a limit that lets them through one by one at a rate, seconds; none
/// at any other.
pub(crate) fn longest_turn(limit: &Limit, ticks: &[Tick]) -> Option<f64> {
    let Law::Rate { value, burst, at_once: Some(early) } = limit.law else { return None };
    let mut bucket = Bucket::of(limit)?;
    let longest = ticks.iter().map(|tick| bucket.wait(tick)).fold(0.0, f64::max);
    Some(longest.min((burst - early) / value))
}

/// Whether waiting for turns may have been more than a tenth of the response times of an interval.
fn take_turns(buckets: &mut [Bucket], tick: &Tick) -> bool {
    let wait = buckets.iter_mut().map(|bucket| bucket.wait(tick)).fold(0.0, f64::max);
    let took = window::merge(std::slice::from_ref(tick), |tick| &tick.service);
    wait > 0.0 && !took.is_empty() && wait > TOLERANCE * took.mean() / NS
}

/// Clients from which on some wait; of the limits only whose places are held by clients that are idle, or only by those that are not.
fn places(limits: &[Limit], demand: &Demand, idle: bool) -> f64 {
    let waits = |l: &&Limit| match l.law {
        _ if !l.symptom.slow => false,
        Law::Slots { idle_cost, .. } => idle == (idle_cost > 0.0 && demand.keeps),
        Law::Workers { .. } | Law::Growing { .. } => !idle,
        _ => false,
    };
    let clients = limits.iter().filter(waits).filter_map(|limit| super::of(limit, demand).predicted.clients);
    clients.map(|clients| clients.low).fold(f64::INFINITY, f64::min)
}

/// Whether two standard errors of the mean are no more than a tenth of it, and the longest could have come twice.
fn is_known(took: &Histogram<u64>, last: &Tick) -> bool {
    let error = took.stdev() / (took.len() as f64).sqrt();
    let had = last.to_us as f64 * 1e3;
    took.len() >= FEWEST && SURE * error <= TOLERANCE * took.mean() && had >= TIME * took.max() as f64
}

#[cfg(test)]
mod tests {
    use genkai_model::histogram::{Payload, empty};
    use genkai_model::limit::Symptom;
    use genkai_model::load::{Arrivals, Load};
    use genkai_model::objective::Objective;
    use genkai_model::units::{Span, Spread};

    use super::*;

    /// Intervals of a second with so many requests in flight, connections open, and 50 responses of so many seconds each.
    fn ticks(seen: &[(u64, u64, f64)]) -> Vec<Tick> {
        let tick = |(at, (in_flight, connections, took)): (usize, &(u64, u64, f64))| {
            let mut times = empty();
            times.record_n((took * NS) as u64, 50).unwrap();
            let us = |seconds: usize| seconds as u64 * 1_000_000;
            Tick {
                from_us: us(at),
                to_us: us(at + 1),
                in_flight: *in_flight,
                connections: *connections,
                service: Payload::encode(&times),
                ..Tick::default()
            }
        };
        seen.iter().enumerate().map(tick).collect()
    }

    /// The mean with a limit of 20 places, held by idle clients for so much of one.
    fn seen(idle_cost: f64) -> f64 {
        let arrivals = Arrivals::Users { count: 40, spawn_rate: 10.0, think: Spread::Constant(Span::from_millis(900)) };
        let law = Law::Slots { value: 20.0, reserved: 0.0, idle_cost, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
        let limit = Limit { law, symptom: Symptom { errors: Vec::new(), slow: true }, ..Limit::named("a", "a", "a") };
        let limits = [limit];
        let demand = Demand::of(&Load { arrivals, ..Load::users(40, 10.0) }, &Objective(Vec::new()), None, &limits);
        mean(&ticks(&[(1, 10, 0.1), (2, 20, 0.1), (3, 30, 0.4), (3, 40, 0.4)]), None, &limits, &demand).unwrap()
    }

    /// The mean where requests wait for their turn at a rate, of intervals of a second with so many requests sent.
    fn in_turn(rate: f64, sent: [u64; 3]) -> Option<f64> {
        let law = Law::Rate { value: rate, burst: 100.0, at_once: Some(0.0) };
        let limit = Limit { law, symptom: Symptom { errors: Vec::new(), slow: true }, ..Limit::named("a", "a", "a") };
        let limits = [limit];
        let mut ticks = ticks(&[(1, 1, 0.1), (1, 1, 0.1), (1, 1, 0.4)]);
        ticks.iter_mut().zip(sent).for_each(|(tick, sent)| tick.sent = sent);
        let demand = Demand::of(&Load::users(40, 10.0), &Objective(Vec::new()), None, &limits);
        mean(&ticks, None, &limits, &demand)
    }

    #[test]
    fn a_rate_that_no_request_waited_long_for_leaves_the_times_known() {
        let about = |seen: Option<f64>, so: f64| assert!((seen.unwrap() - so).abs() < 0.001, "{seen:?}");
        // Of ten at the same moment the last waits 9 ms at 1,000 a second; of fifty 49 ms, which is more than a tenth of 400 ms.
        about(in_turn(1000.0, [10, 10, 50]), 0.1);
        about(in_turn(1000.0, [10, 10, 40]), 0.2);
        // At 20 a second that is 450 ms from the first interval on.
        assert_eq!(in_turn(20.0, [10, 10, 10]), None);
        about(in_turn(1000.0, [1, 1000, 1]), 0.1);
        assert_eq!(in_turn(1000.0, [1009, 1, 1]), None);
    }

    #[test]
    fn nobody_waits_longer_for_a_turn_than_the_burst_lasts_or_than_came_at_once() {
        let longest = |value: f64, burst: f64, at_once: f64, sent: [u64; 3]| {
            let law = Law::Rate { value, burst, at_once: Some(at_once) };
            let mut ticks = ticks(&[(1, 1, 0.1), (1, 1, 0.1), (1, 1, 0.4)]);
            ticks.iter_mut().zip(sent).for_each(|(tick, sent)| tick.sent = sent);
            longest_turn(&Limit { law, ..Limit::named("a", "a", "a") }, &ticks)
        };
        // The second of two in the same moment waits for a thousandth of a second, the fiftieth for 49.
        assert_eq!(longest(1000.0, 100.0, 0.0, [2, 1, 1]), Some(0.001));
        assert_eq!(longest(1000.0, 100.0, 0.0, [2, 50, 1]), Some(0.049));
        assert_eq!(longest(1000.0, 20.0, 0.0, [2, 50, 1]), Some(0.02), "further ones are refused");
        assert_eq!(longest(1000.0, 20.0, 20.0, [2, 50, 1]), None, "nobody waits");
    }

    #[test]
    fn times_are_those_before_idle_clients_held_all_places() {
        assert!((seen(1.0) - 0.1).abs() < 0.001, "{}", seen(1.0));
        // Where a client that is idle holds no place, three requests at once did not wait for each other.
        assert!((seen(0.0) - 0.25).abs() < 0.001, "{}", seen(0.0));
    }
}
