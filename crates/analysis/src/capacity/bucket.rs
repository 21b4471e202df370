//! Users before a leaky bucket: at how many of them it overflows.

use genkai_model::event::Tick;
use genkai_model::limit::{Law, Limit};
use genkai_model::units::Range;

use super::TOLERANCE;
use super::demand::Demand;

/// Users at which a bucket that lets `rate` requests a second through, and `burst` come early, overflows; `at_once` of those are passed on
/// at once, the others wait for their turn (none: it is not known whether any does, and how long it takes to overflow is not told). None for a load at a
/// rate, or where nothing is known of response times.
///
/// Users who are not made to wait overflow it once they ask for more than its rate: `rate * (service + think)`. Those who wait ask for
/// nothing meanwhile, so that all places to wait are taken first, and no request waits longer than it may. While users are added the
/// bucket takes some time to fill: with `s` of them a second the requests that are too many are `s t^2 / 2 (service + think)` after `t`, so
/// that it may be `sqrt(2 at_once s (service + think))` users more.
///
/// Where nobody is made to wait, those who ask in step need not ask for more than its rate: one request and `burst` more at one instant are all
/// that goes.
///
/// Before a pool that carries less than the rate users wait there, and never ask for as much: it overflows, if ever, by how their requests fall
/// together, which nothing tells.
pub(super) fn users(rate: f64, burst: f64, at_once: Option<f64>, demand: &Demand) -> Option<Range> {
    let spawn = demand.spawn_rate?;
    let long = demand.alone.or(demand.service)?;
    if demand.carries() <= rate * (1.0 + TOLERANCE) {
        return None;
    }
    let Some(early) = at_once.map(|n| n.min(burst)) else {
        return demand.level_at_throughput(rate).map(|at| Range { low: at, high: at });
    };
    let waits = burst - early;
    // Where some wait, their waiting is in the times that were seen.
    let short = if waits > 0.0 { demand.alone.unwrap_or(0.0) } else { long };
    let room = |service: f64| waits.min(rate * (demand.patience - service).max(0.0));
    let asks = |service: f64| rate * (service + demand.think);
    let flows = room(long) + asks(short);
    let low = if waits > 0.0 { flows } else { flows.min(1.0 + burst) };
    let fills = (2.0 * early * spawn * (long + demand.think)).sqrt();
    let first = if waits > 0.0 { 1.0 } else { 0.0 };
    let high = room(short) + asks(long) + fills + first;
    // With all users there it goes on filling.
    Some(Range { low, high: high.min(demand.asked.max(low + first)) })
}

/// Whether `limit` is a bucket that what was sent in `ticks` did not fill: that a load beyond its rate held for so long says nothing against it.
pub(crate) fn has_room(limit: &Limit, ticks: &[Tick]) -> bool {
    let Law::Rate { value, burst, .. } = limit.law else { return false };
    let (mut early, mut most) = (0.0_f64, 0.0_f64);
    for tick in ticks {
        let seconds = (tick.to_us - tick.from_us) as f64 / 1e6;
        early = (early + tick.sent as f64 - value * seconds).max(0.0);
        most = most.max(early);
    }
    most <= burst
}

#[cfg(test)]
mod tests {
    use genkai_model::load::{Arrivals, Load};
    use genkai_model::objective::Objective;
    use genkai_model::units::Spread;

    use super::*;

    /// 120 users, ten more each second, whose responses took so long (seconds).
    fn demand(service: f64) -> Demand {
        let arrivals = Arrivals::Users { count: 120, spawn_rate: 10.0, think: Spread::default() };
        let load = Load { arrivals, ..Load::users(1, 1.0) };
        Demand { service: Some(service), ..Demand::of(&load, &Objective::default(), None, &[]) }
    }

    /// 20 requests a second before a server that takes 0.1 s: refused from the 63rd user on with `burst=60`, from the 43rd with
    /// `burst=60 delay=20` (nginx 1.22.1; the times seen before had 1.1 s and 0.6 s, most of it waiting).
    #[test]
    fn who_waits_for_a_turn_asks_for_nothing() {
        let all = users(20.0, 60.0, Some(0.0), &demand(1.1)).unwrap();
        assert!(all.low <= 63.0 && 63.0 <= all.high && all.high < 85.0, "{all:?}");
        let some = users(20.0, 60.0, Some(20.0), &demand(0.6)).unwrap();
        assert!(some.low <= 43.0 && 43.0 <= some.high && some.high < 70.0, "{some:?}");
        let known = Demand { alone: Some(0.1), ..demand(1.1) };
        assert_eq!(users(20.0, 60.0, Some(0.0), &known), Some(Range { low: 62.0, high: 63.0 }));
    }

    /// `rate=134r/s burst=84` before a load that climbed to 148 a second within 7.4 s and stayed there for 3 s: 34 requests came too early.
    #[test]
    fn a_load_beyond_the_rate_does_not_fill_it_at_once() {
        let bucket =
            |burst| Limit { law: Law::Rate { value: 134.0, burst, at_once: Some(1e9) }, ..Limit::named("a", "b", "c") };
        let rate = |i: u64| (4 * i).min(148);
        let tick =
            |i: u64| Tick { from_us: i * 200_000, to_us: (i + 1) * 200_000, sent: rate(i) / 5, ..Tick::default() };
        let ticks: Vec<Tick> = (0..52).map(tick).collect();
        assert!(has_room(&bucket(84.0), &ticks) && !has_room(&bucket(10.0), &ticks) && !has_room(&bucket(0.0), &ticks));
    }

    /// Nobody waits longer than for his answer: of 600 places those that 10 s let through are taken.
    #[test]
    fn no_one_waits_longer_than_may_be() {
        let known = Demand { alone: Some(0.1), patience: 10.0, ..demand(1.1) };
        let Range { low, high } = users(20.0, 600.0, Some(0.0), &known).unwrap();
        assert!((low - 200.0).abs() < 1e-9 && (high - 201.0).abs() < 1e-9, "20/s x (10 s - 0.1 s) + 2: {low} {high}");
    }

    proptest::proptest! {
        #[test]
        fn the_lower_end_is_the_lower_one(
            rate in 0.01f64..1e5, burst in 0f64..1e5, early in 0f64..2.0, took in 0.001f64..100.0, known in proptest::option::of(0.001f64..1.0),
        ) {
            // What is taken alone takes no longer with others.
            let met = Demand { alone: known.map(|part| part * took), ..demand(took) };
            for at_once in [None, Some(early * burst)] {
                let Range { low, high } = users(rate, burst, at_once, &met).unwrap();
                proptest::prop_assert!(0.0 <= low && low <= high && high.is_finite(), "{low} {high}");
            }
        }
    }

    /// `rate=150r/s burst=5 nodelay` before a server that takes 0.1 s: users who come 0.1 s apart ask in step, and were refused from the eighth on.
    #[test]
    fn users_in_step_fill_it_at_one_instant() {
        let Range { low, high } = users(150.0, 5.0, Some(1e9), &demand(0.1)).unwrap();
        assert!((low - 6.0).abs() < 1e-9 && high > 15.0, "{low} {high}");
    }

    /// 100 requests a second before four workers that take 0.1 s, which carry 40: ten users would ask for as much, were all served at once.
    #[test]
    fn nothing_is_foretold_before_a_server_that_carries_less() {
        let pool = |workers, service| {
            let law = Law::Workers { workers, queue: None, service, wait: None };
            let limits = [Limit { law, ..Limit::named("a", "b", "c") }];
            let arrivals = Arrivals::Users { count: 120, spawn_rate: 10.0, think: Spread::default() };
            let load = Load { arrivals, ..Load::users(1, 1.0) };
            Demand {
                service: Some(0.1),
                unloaded: Some(0.1),
                ..Demand::of(&load, &Objective::default(), None, &limits)
            }
        };
        for at_once in [None, Some(0.0), Some(1e9)] {
            let told = |workers, service| users(100.0, 5.0, at_once, &pool(workers, service)).is_some();
            assert!(
                !told(4.0, Some(0.1)) && !told(4.0, None) && told(20.0, Some(0.1)) && told(20.0, None),
                "{at_once:?}"
            );
        }
    }

    /// `nodelay`: two users ask for all that may come; the bucket of 100 fills while some 14 more come.
    #[test]
    fn a_bucket_takes_time_to_fill() {
        let Range { low, high } = users(20.0, 100.0, Some(1e9), &demand(0.1)).unwrap();
        assert_eq!(users(20.0, 100.0, None, &demand(0.1)).map(|at| at.high), Some(2.0), "an old record");
        assert!((low - 2.0).abs() < 1e-9 && (high - 2.0 - 200f64.sqrt()).abs() < 1e-9, "{low} {high}");
    }
}
