//! The highest rate at which the objective holds: which rate to offer next, and what is known.

use genkai_model::cache::{Aim, CachePass, Caching, Held, Warmth};
use genkai_model::objective::Objective;
use genkai_model::record::{Record, Trial};

use super::{Passes, seconds};
use crate::window::{self, Tally};
use crate::{client, summary};

/// The rate is known when what holds and what does not are no further apart than this factor.
const PRECISION: f64 = 1.04;
/// The first rate offered, as a part of what the closed clients of the passes got: with them the server is never idle, so more than that
/// does not hold for long.
const FIRST: f64 = 0.8;
/// From one rate to the next while only one side is known.
const STRIDE: f64 = 1.3;

/// One rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tried {
    rate: f64,
    held: bool,
    /// The client could not offer it.
    limited: bool,
}

/// The rate that comes next for one contender; none when it is known well enough, or nothing was to be looked for.
pub fn next(record: &Record, name: &str, warmth: Warmth) -> Option<f64> {
    let plan = &record.head.as_ref()?.plan;
    let search = plan.caching.as_deref()?.search?;
    let seen = Passes::of(record);
    step(&tried(&seen, name, warmth, &plan.objective), search.steps, || passed(&seen, name, warmth))
}

/// The next rate; none when it is known well enough, or there were steps enough.
fn step(tried: &[Tried], steps: u32, first: impl Fn() -> Option<f64>) -> Option<f64> {
    if tried.len() >= steps as usize || tried.iter().any(|one| one.limited) {
        return None;
    }
    match bounds(tried) {
        (None, None) => first().map(|rate| rate * FIRST),
        (Some(held), None) => Some(held * STRIDE),
        (None, Some(failed)) => Some(failed / STRIDE),
        (Some(held), Some(failed)) if failed / held <= PRECISION => None,
        (Some(held), Some(failed)) => Some((held * failed).sqrt()),
    }
    .map(f64::round)
    .filter(|rate| *rate >= 1.0)
}

/// The highest rate that held below the lowest that did not, and that.
fn bounds(tried: &[Tried]) -> (Option<f64>, Option<f64>) {
    let whole = || tried.iter().filter(|one| !one.limited);
    let failed = whole().filter(|one| !one.held).map(|one| one.rate).reduce(f64::min);
    let below = |one: &&Tried| failed.is_none_or(|failed| one.rate < failed);
    (whole().filter(|one| one.held).filter(below).map(|one| one.rate).reduce(f64::max), failed)
}

/// What closed clients got, the mean over rounds.
fn passed(seen: &Passes<'_>, name: &str, warmth: Warmth) -> Option<f64> {
    let rates: Vec<f64> = seen.of_one(name, warmth).map(|(_, trial, _)| Tally::of(&trial.ticks).rate()).collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    (mean > 0.0).then_some(mean)
}

fn tried(seen: &Passes<'_>, name: &str, warmth: Warmth, objective: &Objective) -> Vec<Tried> {
    let of = |(trial, pass): &(&Trial, &CachePass)| match pass.aim {
        Aim::Search { rate } if pass.contender == name && pass.warmth == warmth => Some(one(trial, rate, objective)),
        _ => None,
    };
    seen.0.iter().filter_map(of).collect()
}

fn one(trial: &Trial, rate: f64, objective: &Objective) -> Tried {
    let tally = Tally::of(&trial.ticks);
    let latency = window::merge(&trial.ticks, |tick| &tick.latency);
    let lasted = seconds(trial);
    let held =
        objective.0.iter().all(|condition| summary::judge(condition, &trial.ticks, &tally, &latency, lasted).holds);
    Tried { rate, held, limited: !client::check(trial, objective, None).finding.valid && !held }
}

/// What is known of every contender, cold and warm; nothing where nothing was looked for.
pub(super) fn held(record: &Record, plan: &Caching) -> Vec<Held> {
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    let seen = Passes::of(record);
    let all = plan.contenders.iter().flat_map(|one| [(&one.name, Warmth::Cold), (&one.name, Warmth::Warm)]);
    let of = |(name, warmth): (&String, Warmth)| {
        let tried = tried(&seen, name, warmth, &objective);
        let (holds, fails) = bounds(&tried);
        let client_limited = tried.iter().any(|one| one.limited);
        let steps = tried.len() as u32;
        (steps > 0).then(|| Held { name: name.clone(), warmth, holds, fails, steps, client_limited })
    };
    all.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tried(rate: f64, held: bool) -> Tried {
        Tried { rate, held, limited: false }
    }

    #[test]
    fn what_holds_above_a_failure_does_not_count() {
        let all = [tried(100.0, true), tried(200.0, false), tried(150.0, false), tried(160.0, true)];
        assert_eq!(bounds(&all), (Some(100.0), Some(150.0)));
        let limited = [Tried { limited: true, ..tried(100.0, false) }];
        assert_eq!(bounds(&limited), (None, None), "what the client could not offer says nothing of the server");
        assert_eq!(step(&limited, 9, || Some(100.0)), None);
        assert_eq!(step(&[], 9, || Some(100.0)), Some(80.0));
        assert_eq!(step(&[], 9, || None), None, "no pass, no search");
    }

    proptest! {
        /// Wherever the capacity lies, the search ends, and with steps enough it knows it to within its precision.
        #[test]
        fn the_search_ends_at_the_capacity(capacity in 20.0f64..50_000.0, first in 0.2f64..5.0) {
            let mut all: Vec<Tried> = Vec::new();
            while let Some(rate) = step(&all, 40, || Some(capacity * first)) {
                all.push(tried(rate, rate <= capacity));
                prop_assert!(all.len() <= 40);
            }
            let (held, failed) = bounds(&all);
            let (held, failed) = (held.unwrap(), failed.unwrap());
            prop_assert!(held <= capacity && failed > capacity);
            prop_assert!(failed / held <= PRECISION + 2.0 / held, "{held} {failed}");
        }
    }
}
