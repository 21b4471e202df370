//! A pool that was full, of which more would hardly have answered more: it answered no more a second when all of it worked than when less than
//! half of it did, because what each worker waits for, or computes with, is the limit (a lock, a database, a core).
//!
//! By Little's law a pool that is the limit itself answers in proportion to how many of it work.

use genkai_model::event::Tick;
use genkai_model::finding::Evidence;
use genkai_model::limit::{Law, Limit};

use super::case::Case;
use crate::window::{self, Tally, US};

/// Fewest answers, and seconds, of which a rate is taken.
const FEWEST: u64 = 10;
const LEAST: f64 = 0.99;
/// The part of the rate of the whole pool from which on that of less than half of it is no less.
const SAME: f64 = 0.8;
/// Standard errors that a mean is certain by, and the most that it may be then, of what a request would take a pool that is the limit itself.
const SURE: f64 = 2.0;
const SOONER: f64 = 0.75;
/// The part of requests that may fail where the rate of the others is to tell of the pool: who failed is not answered, and keeps workers busy.
const FAILED: f64 = 0.01;
/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// Evidence that more of a pool would not have helped. None of a limit that can be tried, which shows it by itself.
pub(super) fn evidence(limit: &Limit, case: &Case<'_>) -> Option<Evidence> {
    let Law::Workers { workers, .. } = limit.law else { return None };
    let until = (case.certain * US) as u64;
    limit.remedy.is_none().then(|| of(window::before(&case.trial.ticks, Some(until)), workers)).flatten()
}

fn of(ticks: &[Tick], workers: f64) -> Option<Evidence> {
    let first = |least: f64| ticks.iter().position(|tick| tick.in_flight as f64 >= least);
    let (half, full) = (first(workers / 2.0)?, first(workers)?);
    let few = last(&ticks[..half])?;
    let all = &ticks[full + 1..];
    let all = &all[..all.iter().position(|tick| (tick.in_flight as f64) < workers).unwrap_or(all.len())];
    let (of_few, of_all) = (Tally::of(few), Tally::of(all));
    let told = of_all.ok >= FEWEST && of_all.seconds >= LEAST && of_few.failed == 0;
    if !told || of_all.failed_fraction() > FAILED {
        return None;
    }
    let took = window::merge(few, |tick| &tick.service);
    let at_once = took.mean() / NS * took.len() as f64 / of_few.seconds;
    let surely = (took.mean() + SURE * took.stdev() / (took.len() as f64).sqrt()) / NS;
    let same = at_once <= workers / 2.0 && of_few.rate() >= SAME * of_all.rate();
    let sooner = surely <= SOONER * workers / of_all.rate();
    (same && sooner).then(|| Evidence::NoFaster {
        few: at_once,
        rate: of_few.rate(),
        most: workers,
        full: of_all.rate(),
    })
}

/// The last of these intervals that hold enough answers to tell a rate.
fn last(ticks: &[Tick]) -> Option<&[Tick]> {
    let enough = |from: &usize| {
        let tally = Tally::of(&ticks[*from..]);
        tally.ok >= FEWEST && tally.seconds >= LEAST
    };
    (0..ticks.len()).rev().find(enough).map(|from| &ticks[from..])
}

#[cfg(test)]
mod tests {
    use genkai_model::histogram::{self, Payload};

    use super::*;

    /// A second for each number of requests in flight, with so many answers that took so long.
    fn ticks(answered: impl Fn(u64) -> (u64, f64)) -> Vec<Tick> {
        let tick = |second: u64| {
            let in_flight = second + 1;
            let (ok, took) = answered(in_flight);
            let mut times = histogram::empty();
            times.record_n((took * NS) as u64, ok).unwrap();
            let (from_us, to_us) = (second * 1_000_000, (second + 1) * 1_000_000);
            Tick { from_us, to_us, ok, in_flight, service: Payload::encode(&times), ..Tick::default() }
        };
        (0..16).map(tick).collect()
    }

    /// One after another, a tenth of a second each.
    fn in_turn(in_flight: u64) -> (u64, f64) {
        (10, in_flight as f64 * 0.1)
    }

    #[test]
    fn a_pool_of_which_one_works_at_a_time_is_no_limit() {
        let Some(Evidence::NoFaster { few, rate, most, full }) = of(&ticks(in_turn), 8.0) else { panic!() };
        assert!((few - 3.0).abs() < 0.01 && (rate, most, full) == (10.0, 8.0, 10.0), "{few} {rate} {full}");
    }

    #[test]
    fn a_pool_that_answers_the_more_the_more_of_it_works_is_one() {
        let pool = |in_flight: u64| {
            let working = in_flight.min(8);
            (10 * working, 0.1 * in_flight as f64 / working as f64)
        };
        assert_eq!(of(&ticks(pool), 8.0), None);
        // With less than what is wanted nothing is known.
        assert_eq!(of(&ticks(in_turn), 20.0), None, "never full");
        assert_eq!(of(&ticks(in_turn), 1.0), None, "never less than half full");
        let mut failing = ticks(in_turn);
        failing.iter_mut().skip(8).for_each(|tick| {
            tick.errors =
                vec![genkai_model::error::ErrorCount { kind: genkai_model::error::ErrorKind::Timeout, count: 1 }]
        });
        assert_eq!(of(&failing, 8.0), None, "who gave up keeps workers busy");
    }
}
