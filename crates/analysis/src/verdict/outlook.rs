//! What was predicted for the system as it is, and what breaks next.

use genkai_model::finding::{MetAt, Predicted, Scale};
use genkai_model::limit::{Law, Limit, Strength};
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::Record;

use super::standing;
use crate::capacity::{self, Demand, Forecast, TOLERANCE, demand};
use crate::diagnosis::attribute::{self, Weighed};
use crate::proof::Trials;
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::SearchState;

/// What breaks next, and what may break before it.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    /// What does.
    pub next: Option<Predicted>,
    /// Those of which it cannot be told whether they are met before that.
    pub or: Vec<Predicted>,
    /// Where it was met; none where it was not.
    pub met: Option<MetAt>,
}

impl From<Option<Predicted>> for Outlook {
    fn from(next: Option<Predicted>) -> Outlook {
        Outlook { next, ..Outlook::default() }
    }
}

/// From how many times the rate seen on the processor does not matter.
const FAR: f64 = 4.0;

/// What a limit counts, as seen where it broke: in the unit of its law, or else clients in flight.
pub(crate) fn seen(forecast: &Forecast<'_>, at: &JudgedTrial<'_>) -> Option<f64> {
    let broke = at.broke.as_ref()?;
    Some(attribute::observed(forecast, broke, &at.demand).map_or(broke.in_flight, |(_, observed)| observed))
}

/// The limits of the system as it is: those of the first trial, or those announced before it.
fn baseline<'r>(record: &'r Record, state: &SearchState<'r>) -> &'r [Limit] {
    let announced = record.pending_limits.as_ref().map(|l| l.limits.as_slice());
    match &state.first {
        Some(first) => &first.trial.limits.limits,
        None => announced.unwrap_or_default(),
    }
}

/// The plan's load, with the response times that the first trial showed.
fn asked(record: &Record, state: &SearchState<'_>) -> Demand {
    let limits = baseline(record, state);
    let cold = Demand::of(&state.plan.load, &state.plan.objective, None, limits);
    match state.first.as_ref().map(|first| first.demand).filter(|seen| seen.service.is_some()) {
        Some(seen) => Demand { service: seen.service, unloaded: seen.unloaded, servers: seen.servers, ..cold },
        None => cold,
    }
}

/// Every limit of the system as it is, tightest first, with where those that were met really broke.
pub(crate) fn predictions(record: &Record, state: &SearchState<'_>) -> Vec<Predicted> {
    let limits = baseline(record, state);
    let mut all: Vec<Predicted> =
        capacity::forecast(limits, &asked(record, state)).into_iter().map(|f| f.predicted).collect();
    if let Some(first) = &state.first {
        limits.iter().for_each(|limit| processor_time(limit, first, &mut all));
    }
    for step in &state.steps {
        // What left a sign that few others show is not among those of which none was seen, whatever explains it.
        let clear = |w: &&Weighed<'_>| w.strongest > Some(Strength::Consistent);
        let signs = step.weighed.iter().filter(clear).map(|w| &w.forecast.predicted);
        let same = |p: &Predicted, sign: &Predicted| (&p.limit, &p.value) == (&sign.limit, &sign.value);
        for sign in signs {
            all.iter_mut().filter(|p| same(p, sign)).for_each(|p| p.far = false);
        }
        let cause = step.proved().map(|t| &t.candidate).or(step.untested());
        let Some(cause) = cause else { continue };
        // A limit that was lifted before and met again had another value then; and so had one whose formula takes what was lifted.
        let met = cause.forecast.limit;
        // (Where nothing is predicted, nothing was predicted otherwise.)
        let same_formula = |l: &Limit| l.formula == met.formula || l.law == Law::Unknown;
        if !limits.iter().any(|l| l.id == met.id && l.law == met.law && same_formula(l)) {
            continue;
        }
        let same = |p: &&mut Predicted| p.limit == cause.candidate.limit && p.value == cause.forecast.predicted.value;
        if let Some(predicted) = all.iter_mut().find(same) {
            predicted.observed = predicted.observed.or(seen(&cause.forecast, &step.at));
            predicted.far = false;
        }
    }
    all
}

/// Fills in the rate at which processor time should run out, which only the run could tell.
fn processor_time(limit: &Limit, first: &JudgedTrial<'_>, all: &mut [Predicted]) {
    let until = first.onset.map(|o| o.at_us);
    let Some((rate, used)) = capacity::processor::fills(limit, first.trial, until) else { return };
    for predicted in all.iter_mut().filter(|p| p.limit == limit.id) {
        predicted.rate = Some(rate);
        predicted.told_from = Some(used);
        predicted.within_load = first.demand.is_open() && first.demand.asked > rate.high;
        predicted.far = rate.low > FAR * used.rate;
    }
}

/// What breaks next: with the changes proved so far in place, the limit that was seen beyond them, or else the first one
/// predicted beyond what held. When nothing broke at all, the first one predicted beyond the load sent. None where a
/// break stands unlifted, or nothing can be predicted.
pub(crate) fn next(record: &Record, state: &SearchState<'_>, trials: &Trials<'_>) -> Outlook {
    let asked = asked(record, state);
    let Some(test) = state.lifted().last() else {
        if state.first.as_ref().is_some_and(|f| f.broke.is_some()) {
            return Outlook::default();
        }
        let Some(held) = &state.first else { return Outlook::default() };
        return outlook(baseline(record, state), held, &asked, (held.held_to(), &state.plan.objective));
    };
    let Some(stands) = standing::of(state, trials) else {
        let held = &test.after;
        let reached = held.held_to().max(demand::asked(&state.plan.load));
        return outlook(&held.trial.limits.limits, held, &asked, (reached, &state.plan.objective));
    };
    // What is not named by anything that was seen is not told.
    let Some(cause) = &stands.found else { return Outlook::default() };
    Outlook { met: standing::met(&stands.at), ..Some(met(cause, &stands.at, &asked)).into() }
}

/// What comes after a trial that held: what was at work in it, or else what is predicted beyond what was reached.
fn outlook(
    limits: &[Limit],
    held: &JudgedTrial<'_>,
    asked: &Demand,
    (reached, objective): (f64, &Objective),
) -> Outlook {
    match at_work(held, asked) {
        Some(limit) => Some(limit).into(),
        None => {
            let has_room = |limit: &Limit| capacity::bucket::has_room(limit, &held.trial.ticks);
            let found = beyond(limits, asked, (reached, &has_room), objective);
            sooner(found, limits, held, (asked, objective))
        }
    }
}

/// A limit that was met, with where.
fn met(cause: &Weighed<'_>, at: &JudgedTrial<'_>, asked: &Demand) -> Predicted {
    let mut predicted = capacity::of(cause.forecast.limit, asked).predicted;
    predicted.observed = seen(&cause.forecast, at);
    predicted
}

/// The limit with the strongest signs in a trial that held: it is what breaks next, wherever its formula puts it. None where nothing tells that it
/// held.
fn at_work(held: &JudgedTrial<'_>, asked: &Demand) -> Option<Predicted> {
    if held.is_silent() {
        return None;
    }
    let found = attribute::at_work(held.trial, &held.demand);
    found.first().map(|(limit, ..)| capacity::of(limit, asked).predicted)
}

/// `found`, or the processor time of `limits` where that runs out at a lower rate, as `held` used it: a rate beyond is none that comes.
fn sooner(
    found: Outlook,
    limits: &[Limit],
    held: &JudgedTrial<'_>,
    (asked, objective): (&Demand, &Objective),
) -> Outlook {
    let told = limits.iter().filter_map(|limit| {
        let mut all = vec![capacity::of(limit, asked).predicted];
        processor_time(limit, held, &mut all);
        all.pop().filter(|p| p.told_from.is_some())
    });
    let rate = |p: &Predicted| p.rate.map_or(f64::INFINITY, |rate| rate.high);
    let Some(first) = told.min_by(|a, b| rate(a).total_cmp(&rate(b))) else { return found };
    if found.next.as_ref().is_some_and(|p| rate(p) <= rate(&first)) {
        return found;
    }
    let or = untold(&capacity::forecast(limits, asked), asked, objective, None);
    Outlook { or, ..Some(first).into() }
}

/// The first limit that `reached` without a violation does not exclude (it excludes no bucket that still has room), and those of which it cannot be told whether they come before it: what is
/// predicted for it is a range, and theirs begin before that ends.
fn beyond(
    limits: &[Limit],
    asked: &Demand,
    (reached, has_room): (f64, &dyn Fn(&Limit) -> bool),
    objective: &Objective,
) -> Outlook {
    let all = capacity::forecast(limits, asked);
    let end = |f: &Forecast<'_>| {
        let levels = if asked.is_open() { f.predicted.rate } else { f.predicted.users };
        levels.map(|l| l.high).filter(|_| f.bites.is_some()).or(f.bites)
    };
    let waits = |f: &Forecast<'_>| capacity::waits_unjudged(f.limit, objective, Scale::Level);
    let stands = |f: &Forecast<'_>, at: f64| at * (1.0 + TOLERANCE) >= reached || waits(f) || has_room(f.limit);
    let Some(first) = all.iter().find(|f| end(f).is_some_and(|at| stands(f, at))) else { return Outlook::default() };
    let comes =
        |f: &Forecast<'_>| f.begins.map(|at| at.max(reached)).filter(|_| end(f).is_some_and(|at| at >= reached));
    let before = |f: &&Forecast<'_>| !std::ptr::eq(*f, first) && comes(f).is_some_and(|at| end(first) > Some(at));
    let foretold = all.iter().filter(before).map(|f| f.predicted.clone());
    let or = foretold.chain(untold(&all, asked, objective, end(first))).collect();
    Outlook { next: Some(first.predicted.clone()), or, met: None }
}

/// Those of which no formula tells where they are met, and which may be before `end` (none: before the processor's time has run out): what only
/// trials tell, and pools in which requests wait where nothing but errors is judged. How long they may wait is in somebody else's hands: a timeout of
/// the server before it, the patience with which an answer is waited for.
fn untold(all: &[Forecast<'_>], asked: &Demand, objective: &Objective, end: Option<f64>) -> Vec<Predicted> {
    let only_errors = objective.0.iter().all(|one| matches!(one, Condition::ErrorsBelow(_)));
    let is_untold = |f: &&Forecast<'_>| match f.limit.law {
        Law::Tried { .. } => true,
        Law::Workers { workers, wait: None, .. } if only_errors && !asked.tunnels => match (f.bites, end) {
            (Some(_), _) if asked.is_open() => false,
            (Some(bites), Some(end)) => bites > end && workers < end,
            (None, Some(end)) => asked.is_open() || workers < end,
            (_, None) => true,
        },
        _ => false,
    };
    all.iter().filter(is_untold).map(|f| f.predicted.clone()).collect()
}
