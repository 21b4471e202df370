//! The search for the highest rate at which the objective holds: which rate to offer next, and what each load of it came to.
//!
//! Every round searches anew. The first begins below what closed clients got, each later one in the middle of what the earlier ones
//! found, so that it takes few loads; what it finds is its own all the same.

use genkai_model::cache::{Aim, CachePass, RateSearch, Warmth};
use genkai_model::finding::cache::RateRepeat;
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::{Record, Trial};

use super::{Passes, is_client_limited, seconds};
use crate::steady::{self, Steady};
use crate::summary;
use crate::window::{self, Tally, US};

/// The first rate offered, as a part of what the closed clients of the passes got: with them the server is never idle, so more than that
/// does not hold for long.
const FIRST: f64 = 0.8;
/// From one rate to the next while only one side is known, in the first round; by this factor to the power of the loads so far; where
/// earlier rounds know the neighbourhood, a step is what is to be known.
const STRIDE: f64 = 1.3;
/// Requests pile up when so many are missing in the later half of the time in which they are offered: of this long, seconds, and this part
/// of them. What is answered late but steadily is missing at the beginning only.
const PILED: (f64, f64) = (0.030, 0.02);

/// One rate that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tried {
    pub(super) round: u32,
    rate: f64,
    held: bool,
    /// The client could not offer it.
    limited: bool,
    /// Whether rate and latency never settled.
    pub(super) unsettled: bool,
}

/// Where a search begins, and how far it steps at first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Start {
    rate: f64,
    stride: f64,
}

/// The rate that comes next for one contender in a round; none when it is known well enough, or nothing was to be looked for.
pub fn next(record: &Record, name: &str, warmth: Warmth, round: u32) -> Option<f64> {
    let plan = &record.head.as_ref()?.plan;
    let search = plan.caching()?.search?;
    let seen = Passes::of(record);
    let own = tried(&seen, name, warmth, &plan.objective, |n| n == round);
    let earlier = || repeats(&tried(&seen, name, warmth, &plan.objective, |n| n < round));
    step(&own, search, || start(&earlier(), search.precision, || passed(&seen, name, warmth)))
}

/// Where a round's search begins: with a step around the middle of what earlier ones found, else below what closed clients got.
fn start(earlier: &[RateRepeat], precision: f64, closed: impl Fn() -> Option<f64>) -> Option<Start> {
    let middles: Vec<f64> = earlier.iter().filter_map(|one| Some((one.holds? * one.fails?).sqrt().ln())).collect();
    if middles.is_empty() {
        return closed().map(|rate| Start { rate: rate * FIRST, stride: STRIDE });
    }
    let middle = (middles.iter().sum::<f64>() / middles.len() as f64).exp();
    Some(Start { rate: middle / precision.sqrt(), stride: precision })
}

/// The next rate of a search; none when it is known well enough, or there were loads enough.
fn step(tried: &[Tried], search: RateSearch, start: impl Fn() -> Option<Start>) -> Option<f64> {
    if let Some(last) = tried.last().filter(|last| last.limited) {
        // Once may have been the machine's doing.
        let once = tried.iter().filter(|one| one.limited).count() == 1;
        return once.then_some(last.rate);
    }
    let loads = tried.len() as u32;
    let far = || Some(start()?.stride.powi(tried.len() as i32));
    let one_sided = loads < search.steps * 2;
    let rate = match bounds(tried) {
        (None, None) => start()?.rate,
        (Some(held), None) if one_sided => held * far()?,
        (None, Some(failed)) if one_sided => failed / far()?,
        (Some(held), Some(failed)) if loads < search.steps && failed / held > search.precision => {
            (held * failed).sqrt()
        }
        _ => return None,
    };
    Some(rate.round()).filter(|rate| *rate >= 1.0)
}

/// The highest rate that held below the lowest that did not, and that.
fn bounds(tried: &[Tried]) -> (Option<f64>, Option<f64>) {
    let whole = || tried.iter().filter(|one| !one.limited);
    let failed = whole().filter(|one| !one.held).map(|one| one.rate).reduce(f64::min);
    let below = |one: &&Tried| failed.is_none_or(|failed| one.rate < failed);
    (whole().filter(|one| one.held).filter(below).map(|one| one.rate).reduce(f64::max), failed)
}

/// What the search of each round found.
pub(super) fn repeats(tried: &[Tried]) -> Vec<RateRepeat> {
    let mut rounds: Vec<u32> = tried.iter().map(|one| one.round).collect();
    rounds.dedup();
    let repeat = |round: u32| {
        let own: Vec<Tried> = tried.iter().filter(|one| one.round == round).copied().collect();
        let (holds, fails) = bounds(&own);
        let client_limited = own.last().is_some_and(|one| one.limited);
        RateRepeat { round, holds, fails, loads: own.len() as u32, client_limited }
    };
    rounds.into_iter().map(repeat).collect()
}

/// What closed clients got, the mean over rounds.
fn passed(seen: &Passes<'_>, name: &str, warmth: Warmth) -> Option<f64> {
    let rates: Vec<f64> = seen.of_one(name, warmth).map(|(_, trial, _)| Tally::of(&trial.ticks).rate()).collect();
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    (mean > 0.0).then_some(mean)
}

/// Every load of a contender's searches in these rounds, in order.
pub(super) fn tried(
    seen: &Passes<'_>,
    name: &str,
    warmth: Warmth,
    objective: &Objective,
    rounds: impl Fn(u32) -> bool,
) -> Vec<Tried> {
    let of = |(trial, pass): &(&Trial, &CachePass)| match pass.aim {
        Aim::Search { round, rate } if pass.contender == name && pass.warmth == warmth && rounds(round) => {
            Some(one(trial, round, rate, objective))
        }
        _ => None,
    };
    seen.0.iter().filter_map(of).collect()
}

/// Judges a load: by what came once it had settled; failures count from its beginning.
fn one(trial: &Trial, round: u32, rate: f64, objective: &Objective) -> Tried {
    let steady = steady::of(&trial.ticks);
    let judged = match steady {
        Steady::From(at) => &trial.ticks[at..],
        Steady::Never | Steady::TooShort => &trial.ticks[..],
    };
    let (tally, whole) = (Tally::of(judged), Tally::of(&trial.ticks));
    let latency = window::merge(judged, |tick| &tick.latency);
    let holds = |condition: &Condition| {
        let tally = if matches!(condition, Condition::ErrorsBelow(_)) { &whole } else { &tally };
        summary::judge(condition, judged, tally, &latency, (tally.seconds, None)).holds
    };
    let held = objective.0.iter().all(holds) && !piles_up(trial, rate);
    let limited = !held && is_client_limited(trial, objective);
    Tried { round, rate, held, limited, unsettled: steady == Steady::Never }
}

/// Whether fewer answers came than requests were due, to the end: what goes on so is late in the end, however late that is.
fn piles_up(trial: &Trial, rate: f64) -> bool {
    let requests = trial.started.load.stop.requests.map_or(f64::INFINITY, |requests| requests as f64);
    let end = (seconds(trial).min(requests / rate) * US) as u64;
    let later = trial.ticks.iter().filter(|tick| tick.from_us >= end / 2 && tick.to_us <= end);
    let (due, came) = later
        .fold((0.0, 0), |(due, came), tick| (due + rate * window::length(tick), came + tick.ok + window::failed(tick)));
    due - came as f64 > (rate * PILED.0).max(due * PILED.1)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use genkai_model::units::Span;
    use proptest::prelude::*;

    const SEARCH: RateSearch = RateSearch { steps: 9, hold: Span(0), precision: 1.04 };

    fn tried(rate: f64, held: bool) -> Tried {
        Tried { round: 1, rate, held, limited: false, unsettled: false }
    }

    fn at(rate: f64) -> Option<Start> {
        Some(Start { rate, stride: STRIDE })
    }

    #[test]
    fn what_holds_above_a_failure_does_not_count() {
        let all = [tried(100.0, true), tried(200.0, false), tried(150.0, false), tried(160.0, true)];
        assert_eq!(bounds(&all), (Some(100.0), Some(150.0)));
    }

    #[test]
    fn what_the_client_could_not_offer_is_tried_again_once_and_says_nothing_of_the_server() {
        let limited = Tried { limited: true, ..tried(100.0, false) };
        assert_eq!(bounds(&[limited]), (None, None));
        assert_eq!(step(&[limited], SEARCH, || at(80.0)), Some(100.0));
        assert_eq!(step(&[limited, limited], SEARCH, || at(80.0)), None);
        assert_eq!(step(&[limited, tried(100.0, true)], SEARCH, || at(80.0)), Some(169.0), "it was once only");
        assert!(
            repeats(&[limited, limited])[0].client_limited
                && !repeats(&[limited, tried(100.0, true)])[0].client_limited
        );
    }

    #[test]
    fn a_search_begins_in_the_middle_of_what_is_known() {
        assert_eq!(start(&[], 1.21, || Some(100.0)), at(80.0));
        assert_eq!(start(&[], 1.21, || None), None, "no pass, no search");
        let one = |holds, fails| RateRepeat { round: 1, holds, fails, loads: 3, client_limited: false };
        let known = start(&[one(Some(100.0), Some(121.0)), one(Some(5.0), None)], 1.21, || Some(1.0)).unwrap();
        assert!((known.rate - 100.0).abs() < 1e-9 && known.stride == 1.21, "{known:?}");
        assert_eq!(step(&[tried(100.0, true)], SEARCH, || Some(known)), Some(121.0));
        let both = [tried(100.0, true), tried(121.0, true)];
        assert_eq!(step(&both, SEARCH, || Some(known)), Some(177.0), "ever farther");
    }

    /// Searches a few rounds whose capacities stray by so much around 3,000.
    pub(in super::super) fn simulated(rounds: u32, stray: impl FnMut() -> f64) -> Vec<RateRepeat> {
        let search = RateSearch { steps: 2, precision: 1.2, ..SEARCH };
        let mut all: Vec<Tried> = Vec::new();
        for (round, capacity) in (1..=rounds).zip(std::iter::repeat_with(stray)) {
            let begin = || start(&repeats(&all), search.precision, || Some(3_300.0));
            let (mut own, first): (Vec<Tried>, Option<Start>) = (Vec::new(), begin());
            while let Some(rate) = step(&own, search, || first) {
                own.push(Tried { round, ..tried(rate, rate <= capacity) });
            }
            all.extend(own);
        }
        repeats(&all)
    }

    proptest! {
        /// Wherever the capacity lies, the search ends, and with loads enough it knows it to within its precision.
        #[test]
        fn the_search_ends_at_the_capacity(capacity in 20.0f64..50_000.0, first in 0.2f64..5.0) {
            let search = RateSearch { steps: 30, ..SEARCH };
            let mut all: Vec<Tried> = Vec::new();
            while let Some(rate) = step(&all, search, || at(capacity * first)) {
                all.push(tried(rate, rate <= capacity));
                prop_assert!(all.len() <= 30);
            }
            let (held, failed) = bounds(&all);
            let (held, failed) = (held.unwrap(), failed.unwrap());
            prop_assert!(held <= capacity && failed > capacity);
            prop_assert!(failed / held <= SEARCH.precision + 2.0 / held, "{held} {failed}");
        }
    }
}
