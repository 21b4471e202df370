//! Which directives make it fail, where no rule names a cause: some are left out, again and again, until the fewest are left without which it
//! holds. The search has no state: what to leave out next follows from the record.

mod few;
mod minimize;
mod outcome;
mod settled;

use std::collections::BTreeSet;

use genkai_model::event::{Directive, Page, Purpose, Removal, Trying};
use genkai_model::finding::{Bisected, BisectionEnd, Break, Decision, Failures};
use genkai_model::objective::Condition;
use genkai_model::plan::Plan;
use genkai_model::record::{Record, Removals, Trial};
use genkai_model::units::Span;

use crate::capacity::demand;
use crate::diagnosis::onset;
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::SearchState;
use crate::tuning::{TrialPlan, directly};
use crate::window;

pub use few::few_of_a_kind;
pub use minimize::smallest;
use outcome::of;
pub use outcome::{Outcome, is_normal};

/// How much more than the load at the break a short load is, so that it is certainly beyond it.
const BEYOND: f64 = 1.25;
/// Time in which a short load rises.
const RAMP: Span = Span::from_millis(500);
/// How long it is held beyond the time that a request may take.
const HOLD: Span = Span::from_millis(1500);

/// The short load by which a configuration is tried, of which a request takes at most `patience`: a quarter beyond where it broke or, if that is
/// more, where the break was certain; and no more than was asked for. A higher one may be beyond another limit, with which it fails whatever is left
/// out. None where nothing broke.
pub fn trying(record: &Record, patience: Span) -> Option<Trying> {
    let state = SearchState::replay(record)?;
    let broke = state.first?.broke?;
    let level = (broke.level.max(1.0) * BEYOND).max(broke.until.unwrap_or(0.0)).ceil();
    let level = level.min(demand::asked(&state.plan.load)).max(1.0);
    let within = Some(patience).filter(|patience| patience.0 < state.plan.load.timeout.0);
    Some(Trying::Load { level, ramp: RAMP, hold: Span(HOLD.0 + patience.0), within })
}

/// The longest that what stands behind took for an answer where it was asked by itself; none where it was not.
pub fn longest_alone(record: &Record) -> Option<Span> {
    longest(record, |purpose| purpose == Purpose::Direct)
}

/// The longest that the product took for an answer under load; none where it gave none.
pub fn longest_answer(record: &Record) -> Option<Span> {
    longest(record, |purpose| purpose != Purpose::Direct)
}

fn longest(record: &Record, of: impl Fn(Purpose) -> bool) -> Option<Span> {
    let own = record.trials.iter().filter(|trial| of(trial.started.purpose));
    let took = |trial: &Trial| window::merge(&trial.ticks, |tick| &tick.latency).max();
    own.map(took).max().filter(|longest| *longest > 0).map(Span)
}

/// Whether one request tells that it fails with all directives in place: of the first load none was answered well. Else what fails comes and goes,
/// and a request that is answered is chance.
pub fn fails_always(record: &Record) -> bool {
    record.trials.first().is_some_and(|trial| trial.ticks.iter().all(|tick| tick.ok == 0))
}

/// The trial of a configuration that is tried by a load; none where one request is enough.
pub fn trial(by: Trying) -> Option<TrialPlan> {
    let Trying::Load { level, ramp, hold, .. } = by else { return None };
    Some(TrialPlan { purpose: Purpose::Bisect, changes: Vec::new(), limit: None, level, ramp, hold, draw: 0 })
}

/// What to leave out next; none where nothing more is to be tried.
pub fn next(record: &Record) -> Option<Vec<u32>> {
    let (plan, search) = (&record.head.as_ref()?.plan, record.bisection.as_ref()?);
    told(record, search, plan).err()
}

/// What came of it.
pub(crate) fn finding(record: &Record) -> Option<Bisected> {
    let (plan, search) = (&record.head.as_ref()?.plan, record.bisection.as_ref()?);
    let outcomes = outcomes(record, search, plan);
    let count = |wanted| outcomes.iter().filter(|(_, outcome)| *outcome == wanted).count() as u64;
    let ended = told(record, search, plan).unwrap_or(BisectionEnd::Unfinished);
    // That it holds with all in place names nothing.
    let healed = outcomes.iter().filter(|(set, outcome)| *outcome == Outcome::Heals && !set.is_empty());
    let named = healed.map(|(set, _)| *set).next_back();
    let named = named.filter(|_| {
        !matches!(
            ended,
            BisectionEnd::Nothing | BisectionEnd::NotFailing | BisectionEnd::Untold | BisectionEnd::Unsteady
        )
    });
    let tried = |outcome: &Outcome| matches!(outcome, Outcome::Fails | Outcome::Heals);
    let known: BTreeSet<u32> =
        outcomes.iter().filter(|(_, outcome)| tried(outcome)).flat_map(|(set, _)| set.iter().copied()).collect();
    let directive = |at: &u32| search.began.directives.get(*at as usize).cloned();
    let refused = is_refused_to_ask(search);
    let guarding = |one: Directive| Directive { protects: one.protects || refused, ..one };
    let named: Vec<Directive> = named.into_iter().flatten().filter_map(directive).map(guarding).collect();
    Some(Bisected {
        directives: search.began.directives.len() as u64,
        tried: outcomes.len() as u64,
        refused: count(Outcome::Refused),
        altered: count(Outcome::Altered),
        kept: search.began.directives.len().saturating_sub(known.len()) as u64,
        tried_by: search.began.tried_by,
        budget: search.began.budget,
        named,
        ended,
        compared: is_compared(search),
    })
}

/// Whether each content that was answered was held against a normal one.
fn is_compared(search: &Removals) -> bool {
    let has = |page: &Page| page.digest.is_some();
    let answers = search.steps.iter().filter_map(|(removal, _)| removal.page.as_ref());
    let mut good = answers.filter(|page| page.status.is_some_and(|status| status < 400));
    search.began.normal.iter().any(has) && good.all(has)
}

/// Whether, with all directives in place, requests were answered that this client may not ask, or not now (RFC 9110, 15.5; RFC 6585, 4; RFC 7725): whatever
/// lets them pass lets in who was kept out.
fn is_refused_to_ask(search: &Removals) -> bool {
    let first = search.steps.first().and_then(|(removal, _)| removal.page.as_ref());
    first
        .and_then(|page| page.status)
        .is_some_and(|status| matches!(status, 401 | 403 | 405 | 406 | 407 | 410 | 418 | 429 | 451))
}

/// Each step with what came of it.
fn outcomes<'r>(record: &'r Record, search: &'r Removals, plan: &Plan) -> Vec<(&'r [u32], Outcome)> {
    let one = |(removal, trial): &'r (_, Option<u32>)| {
        let removal: &'r Removal = removal;
        let trial = trial.and_then(|number| record.trials.iter().find(|t| t.number == number));
        (removal.removed.as_slice(), of(removal, trial, &search.began, plan))
    };
    search.steps.iter().map(one).collect()
}

/// How the search ended.
///
/// # Errors
/// What is to be left out next, where it has not ended.
fn told(record: &Record, search: &Removals, plan: &Plan) -> Result<BisectionEnd, Vec<u32>> {
    let steps = outcomes(record, search, plan);
    match steps.first() {
        None => return Err(Vec::new()),
        Some((_, Outcome::Fails)) => {}
        Some((_, Outcome::Untold)) => return Ok(BisectionEnd::Untold),
        Some((_, Outcome::Altered)) => return Ok(BisectionEnd::Unsteady),
        Some(_) => return Ok(BisectionEnd::NotFailing),
    }
    let failures: Vec<_> = search.steps.iter().map(|(_, trial)| failures(record, *trial, plan)).collect();
    settled::end(&steps, &failures, search.began.directives.len() as u32, &search.began.first)
}

/// Failures in the load of a step, where it held, or where they are what broke it; none where it is known of something else, or it had no load.
fn failures(record: &Record, trial: Option<u32>, plan: &Plan) -> Option<Failures> {
    let trial = record.trials.iter().find(|one| Some(one.number) == trial)?;
    let broke = JudgedTrial::of(trial, plan).broke;
    let by_these =
        |broke: &Break| matches!(onset::condition(broke), Some(Condition::ErrorsBelow(_))) && broke.waiting.is_none();
    broke.as_ref().is_none_or(by_these).then(|| directly::sum(&trial.ticks))
}

/// A decision, with what leaving out directives showed.
pub(crate) fn over(decision: Decision, found: Option<&Bisected>) -> Decision {
    match found {
        Some(found) if found.ended == BisectionEnd::Proved && matches!(decision, Decision::Unmoved { .. }) => {
            if found.named.iter().any(|one| one.protects) { Decision::Guarded } else { Decision::Bisected }
        }
        _ => decision,
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::event::Bisection;

    use super::*;

    fn search(normal: &[Option<&str>], steps: &[(u16, Option<&str>)]) -> Removals {
        let page = |status: u16, digest: &Option<&str>| Page {
            status: Some(status),
            digest: digest.map(str::to_owned),
            statuses: Vec::new(),
        };
        let step = |(status, digest): &(u16, Option<&str>)| {
            (Removal { removed: Vec::new(), refused: None, page: Some(page(*status, digest)) }, None)
        };
        let began = Bisection {
            budget: Span::from_secs(60),
            directives: Vec::new(),
            first: Vec::new(),
            tried_by: Trying::Request { within: Span::from_secs(2) },
            normal: normal.iter().map(|digest| page(200, digest)).collect(),
        };
        Removals { began, steps: steps.iter().map(step).collect() }
    }

    #[test]
    fn contents_are_compared_where_each_was() {
        assert!(is_compared(&search(&[Some("a")], &[(503, None), (200, Some("b"))])));
        assert!(!is_compared(&search(&[Some("a")], &[(503, None), (200, None)])), "one has nothing to be compared by");
        assert!(!is_compared(&search(&[None], &[(200, Some("b"))])) && !is_compared(&search(&[], &[])));
    }

    #[test]
    fn whoever_is_turned_away_is_kept_out() {
        for status in [401, 403, 405, 406, 407, 410, 418, 429, 451] {
            assert!(is_refused_to_ask(&search(&[], &[(status, None)])), "{status}");
        }
        for status in [200, 302, 400, 404, 413, 500, 502, 503] {
            assert!(!is_refused_to_ask(&search(&[], &[(status, None)])), "{status}");
        }
    }
}
