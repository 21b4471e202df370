//! The ladder: the limits that were met, and those that should be met, up to the load asked for.
//!
//! Nothing is decided here: what was met and lifted is the search's, what holds is the decision's.

use genkai_model::event::Change;
use genkai_model::finding::{
    Confidence, Decision, Ladder, MeasuredPrice, MeasuredRung, Outcome, PredictedRung, ProvedRung, Rung, RungLimit,
    Together,
};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::Study;

use super::answer;
use super::cause;
use super::standing::{self, Standing};
use crate::capacity::{self, Demand, Forecast, TOLERANCE, demand, price};
use crate::diagnosis::attribute::Weighed;
use crate::proof::Trials;
use crate::tuning::attempt;
use crate::tuning::break_step::{BreakStep, Test};
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::moved;
use crate::tuning::search_state::SearchState;

/// The ladder of a search that met a limit; none where the trials say nothing of the servers.
pub(super) fn of(state: &SearchState<'_>, decision: Decision, trials: &Trials<'_>) -> Option<Ladder> {
    if state.plan.study != Study::Tune || state.steps.is_empty() || decision.outcome() == Outcome::Invalid {
        return None;
    }
    let asked = demand::asked(&state.plan.load);
    let mut rungs: Vec<Rung> = state.steps.iter().filter_map(|step| lifted(state, step, decision.confirms())).collect();
    match decision {
        Decision::Carried { .. } => {
            let failed = standing::of(state, trials).filter(Standing::is_of_proposal);
            rungs.extend(failed.and_then(|one| measured(&one.at, one.found.as_ref())));
        }
        _ => rungs.extend(state.steps.last().into_iter().flat_map(|step| above(step, asked))),
    }
    let proved = rungs.iter().any(|rung| matches!(rung, Rung::Proved(_)));
    Some(Ladder { asked, rungs, together: together(state, trials).filter(|_| proved) })
}

/// The limit of a break that was lifted; where the break may have been over by itself, as one that was only met.
fn lifted(state: &SearchState<'_>, step: &BreakStep<'_>, confirmed: bool) -> Option<Rung> {
    let test = step.proved()?;
    if !confirmed {
        let Some(Rung::Measured(rung)) = measured(&step.at, Some(&test.candidate)) else { return None };
        return Some(Rung::Measured(MeasuredRung { confidence: Some(Confidence::Possible), ..rung }));
    }
    let change = cause::step_by(step, test);
    Some(Rung::Proved(Box::new(ProvedRung {
        limit: limit(&test.candidate.forecast, &step.at.demand),
        met: standing::met(&step.at)?,
        place: place(state, test, &change),
        change,
        tested: test.after.trial.number,
        price: test.attempt.price(&step.at, &test.after),
        measured: measured_price(step, test),
    })))
}

/// What was taken before and with a change of which no formula tells.
fn measured_price(step: &BreakStep<'_>, test: &Test<'_>) -> Option<MeasuredPrice> {
    let limit = test.attempt.limit;
    let own = price::Own::of(limit, &step.at.demand);
    let price = || price::measured(&limit.subject, own, step.at.trial, test.after.trial);
    limit.law.is_tried().then(price).flatten()
}

/// Where the setting of a change is written: as the system was, or else as the limit was met.
fn place(state: &SearchState<'_>, test: &Test<'_>, change: &Change) -> Option<Origin> {
    let first = state.first.iter().flat_map(|first| &first.trial.limits.limits);
    let all = first.chain(std::iter::once(test.attempt.limit));
    all.into_iter().find(|limit| limit.setting == change.setting).map(|limit| limit.origin.clone())
}

/// What stands, and what should bite between there and the load asked for.
fn above(step: &BreakStep<'_>, asked: f64) -> Vec<Rung> {
    let at = &step.at;
    let Some(broke) = at.broke.as_ref().filter(|_| step.proved().is_none()) else { return Vec::new() };
    let stands = step.untested();
    let mut all: Vec<Rung> = measured(at, stands).into_iter().collect();
    // Of a load that came all at once nothing tells how far it got.
    let reached = if at.is_steep() { 0.0 } else { moved::size(at, broke) };
    let demand = Demand { asked, ..at.demand };
    let beyond = |f: &Forecast<'_>| match f.bites {
        // What is predicted as a range can be met up to its end.
        Some(bites) => {
            let end = attempt::levels(&f.predicted, &demand).map_or(bites, |range| range.high);
            end > reached * (1.0 + TOLERANCE) && bites < asked
        }
        None => !f.predicted.far,
    };
    let other = |f: &Forecast<'_>| stands.is_none_or(|one| one.candidate.limit != f.limit.id);
    let untested = |f: &Forecast<'_>| !step.tests.iter().any(|test| test.attempt.limit.id == f.limit.id);
    let forecast = capacity::forecast(&at.trial.limits.limits, &demand);
    all.extend(forecast.iter().filter(|f| beyond(f) && other(f) && untested(f)).map(|f| {
        let remedy = f.limit.remedy.as_ref().map(|remedy| remedy.setting.clone());
        Rung::Predicted(PredictedRung { limit: limit(f, &demand), remedy })
    }));
    all
}

/// A limit that was met and stands; none of a trial that held.
fn measured(at: &JudgedTrial<'_>, found: Option<&Weighed<'_>>) -> Option<Rung> {
    let named = found.map(|weighed| limit(&weighed.forecast, &at.demand));
    Some(Rung::Measured(MeasuredRung {
        limit: named,
        confidence: found.map(cause::confidence),
        met: standing::met(at)?,
    }))
}

fn limit(forecast: &Forecast<'_>, demand: &Demand) -> RungLimit {
    let Limit { id, subject, setting, value, origin, .. } = forecast.limit.clone();
    let predicted = attempt::levels(&forecast.predicted, demand).filter(|_| forecast.bites.is_some());
    RungLimit { limit: id, subject, setting, value, origin, predicted }
}

fn together(state: &SearchState<'_>, trials: &Trials<'_>) -> Option<Together> {
    let last = state.lifted().last()?;
    let of = |(_, proposal): &&(_, &genkai_model::record::Trial)| proposal.started.changes == last.attempt.changes;
    let mine: Vec<_> = trials.pairs.iter().filter(of).collect();
    let failed = mine.iter().filter(|(_, proposal)| answer::failed(proposal, state.plan)).count();
    Some(Together {
        trial: last.after.trial.number,
        held_to: last.after.held_to(),
        pairs: mine.len() as u32,
        failed: failed as u32,
    })
}
