//! Requests held open: which number to try next, from how many on some are refused, and what refuses them.

use genkai_model::event::EndReason;
use genkai_model::finding::idle_requests::{IdleFinding, IdleLimit, IdleTrial};
use genkai_model::finding::{Evidence, Outcome};
use genkai_model::idle_requests::IdleSearch;
use genkai_model::limit::Strength;
use genkai_model::load::Arrivals;
use genkai_model::objective::Objective;
use genkai_model::record::{Record, Trial};

use crate::client;
use crate::diagnosis::signs::{self, Seconds};
use crate::processes;
use crate::window::Tally;

/// The number is known when what is borne and what is not are no further apart than this part of it (and at least one).
const PRECISION: f64 = 0.005;

/// How many requests the next trial is to hold; none when it is known.
pub fn next(record: &Record) -> Option<u32> {
    let search = search(record)?;
    let trials = trials(record);
    // A trial that did not run to its end was cut off: the search too.
    if trials.len() < record.trials.len() { None } else { step(&search, &trials) }
}

fn step(search: &IdleSearch, trials: &[IdleTrial]) -> Option<u32> {
    match bounds(trials) {
        (None, None) => Some(search.first.min(search.most).max(1)),
        (Some(n), None) if n >= search.most => None,
        (Some(n), None) => Some(n.saturating_mul(2).min(search.most)),
        (borne, Some(refused)) => {
            let borne = borne.unwrap_or(0);
            let apart = refused.saturating_sub(borne);
            let known = f64::from(apart) <= (f64::from(refused) * PRECISION).max(1.0);
            if known { None } else { Some(borne + apart / 2) }
        }
    }
}

fn search(record: &Record) -> Option<IdleSearch> {
    record.head.as_ref()?.plan.idle_requests()
}

/// The largest number that was borne below the smallest that was not, and that.
fn bounds(trials: &[IdleTrial]) -> (Option<u32>, Option<u32>) {
    let refused = trials.iter().filter(|trial| !trial.is_borne()).map(|trial| trial.requests).min();
    let below = |trial: &&IdleTrial| refused.is_none_or(|refused| trial.requests < refused);
    (trials.iter().filter(|t| t.is_borne()).filter(below).map(|t| t.requests).max(), refused)
}

/// Trials that ran to their end. One that was cut off says nothing of what is refused: its requests were let go.
fn trials(record: &Record) -> Vec<IdleTrial> {
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    record.trials.iter().filter(|trial| is_whole(trial)).map(|trial| one(trial, &objective)).collect()
}

fn is_whole(trial: &Trial) -> bool {
    trial.ended.as_ref().is_some_and(|ended| ended.reason == EndReason::Completed)
}

fn one(trial: &Trial, objective: &Objective) -> IdleTrial {
    let tally = Tally::of(&trial.ticks);
    IdleTrial {
        trial: trial.number,
        requests: match trial.started.load.arrivals {
            Arrivals::Users { count, .. } => count,
            Arrivals::Rate { connections, .. } => connections,
        },
        at_once: trial.ticks.iter().map(|tick| tick.in_flight).max().unwrap_or(0),
        answered: tally.ok,
        refused: tally.errors,
        told: trial.router.as_ref().map(|router| router.refused.clone()).unwrap_or_default(),
        client: client::check(trial, objective, None).finding,
    }
}

/// What a search found; none for a record of something else.
pub fn findings(record: &Record) -> Option<IdleFinding> {
    let search = search(record)?;
    let trials = trials(record);
    let (largest, refused_from) = bounds(&trials);
    let decides = trials.iter().find(|trial| Some(trial.requests) == refused_from.or(largest));
    let refused = decides.filter(|trial| !trial.is_borne());
    let limits = refused.and_then(|trial| record.trials.iter().find(|one| one.number == trial.trial));
    let nodes = record.head.as_ref().and_then(|head| head.plan.cluster()?.nodes.first().copied()).unwrap_or(1);
    Some(IdleFinding {
        nodes,
        time: search.time,
        outcome: outcome(&search, &trials, decides),
        largest,
        refused_from,
        limits: limits.map(signs_of).unwrap_or_default(),
        processes: processes::over(record),
        trials,
    })
}

/// What all `trials` say; `decides` is the one at the bound.
fn outcome(search: &IdleSearch, trials: &[IdleTrial], decides: Option<&IdleTrial>) -> Outcome {
    match decides {
        None => Outcome::Unfinished,
        Some(trial) if !trial.client.valid => Outcome::Invalid,
        Some(_) if step(search, trials).is_some() => Outcome::Unfinished,
        Some(trial) if trial.is_borne() => Outcome::Holds,
        Some(_) => Outcome::Fails,
    }
}

/// Limits that left signs in a trial, those with the strongest signs first.
fn signs_of(trial: &Trial) -> Vec<IdleLimit> {
    let seconds = Seconds::all(trial);
    let found = |limit: &genkai_model::limit::Limit| {
        let evidence: Vec<Evidence> =
            limit.signatures.iter().filter_map(|signature| signs::find(signature, trial, &seconds)).collect();
        let strongest = evidence.iter().filter_map(strength).max()?;
        Some((strongest, IdleLimit { limit: limit.clone(), evidence }))
    };
    let mut all: Vec<(Strength, IdleLimit)> = trial.limits.limits.iter().filter_map(found).collect();
    all.sort_by_key(|(strength, _)| std::cmp::Reverse(*strength));
    all.into_iter().map(|(_, limit)| limit).collect()
}

fn strength(evidence: &Evidence) -> Option<Strength> {
    match evidence {
        Evidence::Log { strength, .. } | Evidence::Grew { strength, .. } | Evidence::Reached { strength, .. } => {
            Some(*strength)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacity::tests::load;
    use genkai_model::error::{ErrorCount, ErrorKind};
    use genkai_model::event::{Event, TrialEnded, TrialStarted, What};
    use genkai_model::finding::{ClientCheck, Quantiles};
    use genkai_model::load::{Body, Reuse};
    use genkai_model::units::{Span, Spread};
    use proptest::prelude::*;

    fn trial(requests: u32, borne: bool) -> IdleTrial {
        let client =
            ClientCheck { valid: true, reasons: vec![], lateness: Quantiles::default(), receipt: None, cpu_max: 0.1 };
        let refused = if borne { vec![] } else { vec![ErrorCount { kind: ErrorKind::Status503, count: 1 }] };
        let answered = u64::from(requests) - refused.len() as u64;
        IdleTrial { trial: 1, requests, at_once: 0, answered, refused, told: vec![], client }
    }

    #[test]
    fn what_is_borne_above_a_refusal_does_not_count() {
        let all = [trial(100, true), trial(200, false), trial(150, false), trial(160, true)];
        assert_eq!(bounds(&all), (Some(100), Some(150)));
        assert_eq!(bounds(&all[..1]), (Some(100), None));
        assert_eq!(bounds(&[trial(8, false)]), (None, Some(8)));
    }

    #[test]
    fn a_search_that_was_cut_off_says_neither_that_it_holds_nor_from_where_on_it_fails() {
        let mut record = Record::default();
        began(&mut record, 1, Some(EndReason::Completed));
        began(&mut record, 2, Some(EndReason::Interrupted));
        began(&mut record, 3, None);
        assert_eq!(record.trials.len(), 3);
        assert_eq!(super::trials(&record).iter().map(|trial| trial.trial).collect::<Vec<_>>(), [1]);
        let search = IdleSearch { time: Span::from_secs(1), first: 125, most: 1_000 };
        let all = [trial(125, true), trial(1_000, true), trial(250, false)];
        assert_eq!(outcome(&search, &all[..1], all.first()), Outcome::Unfinished, "twice as many come next");
        assert_eq!(outcome(&search, &all[..2], all.get(1)), Outcome::Holds);
        assert_eq!(outcome(&search, &all[..0], None), Outcome::Unfinished);
    }

    /// A trial in which nothing was seen, and how it ended, if it did.
    fn began(record: &mut Record, number: u32, ended: Option<EndReason>) {
        let users = Arrivals::Users { count: 125, spawn_rate: 1.0, think: Spread::default() };
        let load = load(users, Reuse::KeepAlive, Body::Empty);
        let started = TrialStarted::measure(load);
        let mut push = |what| record.push(Event { at_us: 0, trial: Some(number), what });
        push(What::TrialStarted(Box::new(started)));
        if let Some(reason) = ended {
            let (lasted, abandoned, client_rss, client) = (Span(1), 125, 1, None);
            push(What::TrialEnded(TrialEnded { reason, lasted, abandoned, client_rss, client, workers: Vec::new() }));
        }
    }

    proptest! {
        /// However the bounds lie, the search ends, and what it finds is the capacity to within its precision.
        #[test]
        fn the_search_ends_at_the_capacity(capacity in 0u32..20_000, first in 1u32..3_000, most in 1u32..20_000) {
            let mut all: Vec<IdleTrial> = Vec::new();
            let search = IdleSearch { time: genkai_model::units::Span::from_secs(1), first, most };
            for _ in 0..60 {
                let Some(n) = step(&search, &all) else { break };
                prop_assert!(n >= 1 && n <= most);
                all.push(trial(n, n <= capacity));
            }
            prop_assert!(step(&search, &all).is_none(), "it does not end: {} trials", all.len());
            match bounds(&all) {
                (largest, Some(refused)) => {
                    let largest = largest.unwrap_or(0);
                    prop_assert!(largest <= capacity && refused > capacity);
                    prop_assert!(f64::from(refused - largest) <= (f64::from(refused) * PRECISION).max(1.0));
                }
                (largest, None) => prop_assert_eq!(largest, Some(most)),
            }
        }
    }
}
