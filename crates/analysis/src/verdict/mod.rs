//! The answer of a run, from its record alone.
//!
//! `answer` says yes, no or cannot tell; `cause` puts the limits that were met with their evidence and tests;
//! `standing` says what stops the load in the end, `ladder` puts all in order up to the load asked for, `outlook` has what was and is predicted; `caveat` what limits all that. A record may end anywhere: what is known by
//! then is said, and nothing else.

mod answer;
mod cause;
mod caveat;
mod changed;
mod down;
mod ladder;
mod open;
mod outlook;
mod standing;

use genkai_model::event::Purpose;
use genkai_model::finding::{
    Answered, ClientCheck, Findings, MeasuredPrice, OnwardPrice, ProposedChange, SCHEMA, TrialFinding, Verdict,
};
use genkai_model::plan::Plan;
use genkai_model::record::{Record, Trial};

use crate::bisection;
use crate::capacity::{onward, price, served};
use crate::client;
use crate::proof::{self, Trials};
use crate::series;
use crate::summary;
use crate::tuning::break_step::{BreakStep, Test};
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::{Phase, SearchState};
use crate::tuning::smaller;

pub use open::{Open, leaves_open};

/// Everything that a record says. Never fails: an empty record gives an unfinished verdict.
pub fn findings(record: &Record) -> Findings {
    Findings { verdict: verdict(record), series: record.trials.iter().map(series::of).collect() }
}

fn verdict(record: &Record) -> Verdict {
    let state = SearchState::replay(record);
    let trials = Trials::of(record);
    let proof = state.as_ref().and_then(|s| {
        let all = proof::of(&trials, &s.plan.objective, &s.plan.procedure, s.condition());
        all.filter(|_| s.lifted().next().is_some())
    });
    let summaries = state.as_ref().map(|s| summaries(record, s.plan)).unwrap_or_default();
    let load = summary::of(record);
    let bisection = bisection::finding(record);
    let decision = answer::over(answer::of(state.as_ref(), &trials), load.as_ref());
    let decision = bisection::over(decision, bisection.as_ref());
    let outlook = state.as_ref().map(|s| outlook::next(record, s, &trials)).unwrap_or_default();
    Verdict {
        schema: SCHEMA.to_owned(),
        answer: Answered(decision),
        proposal: state.as_ref().map(|s| proposal(s, &trials)).unwrap_or_default(),
        causes: state.as_ref().map(|s| cause::all(s, decision)).unwrap_or_default(),
        next: outlook.next,
        next_or: outlook.or,
        next_met: outlook.met,
        predictions: state.as_ref().map(|s| outlook::predictions(record, s)).unwrap_or_default(),
        client: client::overall(judging(&summaries, record)),
        caveats: caveat::all(record, state.as_ref(), &trials, proof.as_ref()),
        trials: summaries,
        proof,
        ladder: state.as_ref().and_then(|s| ladder::of(s, decision, &trials)),
        load,
        bisection,
        smaller: state
            .as_ref()
            .filter(|s| matches!(s.phase, Phase::Prove))
            .map(|s| smaller::findings(record, s, &trials))
            .unwrap_or_default(),
    }
}

/// The client in the trials that the answer rests on: what the backend says by itself is counted only where it is used.
fn judging<'t>(all: &'t [TrialFinding], record: &'t Record) -> impl Iterator<Item = (&'t ClientCheck, &'t Trial)> {
    let each = all.iter().map(|finding| &finding.client).zip(&record.trials);
    let counts = |check: &ClientCheck, purpose| match purpose {
        // What is said of directives rests on no trial of which its own generator was the limit.
        Purpose::Bisect | Purpose::Smaller => false,
        Purpose::Direct => check.valid,
        _ => true,
    };
    each.filter(move |(check, trial)| counts(check, trial.started.purpose))
}

/// One summary a trial. Proof trials are judged like the others, so their breaks show too.
fn summaries(record: &Record, plan: &Plan) -> Vec<TrialFinding> {
    let one = |t| {
        let judged = JudgedTrial::of(t, plan);
        series::finding(t, judged.broke, judged.client.finding)
    };
    record.trials.iter().map(one).collect()
}

/// The changes that were proved, each setting once with its last value.
fn proposal(state: &SearchState<'_>, proof: &Trials<'_>) -> Vec<ProposedChange> {
    let mut all: Vec<ProposedChange> = Vec::new();
    for (step, test) in state.steps.iter().filter_map(|step| Some((step, step.proved()?))) {
        let attempt = &test.attempt;
        let ran = test.after.trial.started.changes.iter().find(|c| c.setting == attempt.change.setting);
        let price = attempt.price(&step.at, &test.after);
        let proposed = ProposedChange {
            change: ran.unwrap_or(&attempt.change).clone(),
            limit: attempt.limit.id.clone(),
            minimum: attempt.lift.minimum.clone(),
            holds_for: attempt.lift.holds_for,
            price,
            measured: price.is_none().then(|| measured(state, test, proof)).flatten(),
            descriptors: attempt.descriptors(&step.at),
            onward: onwards(state, test),
        };
        match all.iter_mut().find(|p| p.change.setting == proposed.change.setting) {
            Some(earlier) => *earlier = proposed,
            None => all.push(proposed),
        }
    }
    all
}

/// What a change takes of which no formula tells, beside what was taken where its setting was changed for the first time.
fn measured(state: &SearchState<'_>, test: &Test<'_>, proof: &Trials<'_>) -> Option<MeasuredPrice> {
    let (subject, first, after) = (taker(state, test), first(state, test)?, test.after.trial);
    let own = price::Own::of(test.attempt.limit, &first.at.demand).filter(|_| test.attempt.limit.subject == subject);
    let price = price::measured(subject, own, first.at.trial, after)?;
    let proposals = proof.all.iter().copied().filter(|trial| is_proposal(trial.started.purpose));
    Some(MeasuredPrice { grew: served::explains(&price, subject, after, proposals), ..price })
}

/// The connections that the same two trials showed to what stands behind.
fn onwards(state: &SearchState<'_>, test: &Test<'_>) -> Option<OnwardPrice> {
    let first = first(state, test)?;
    onward::price(taker(state, test), &state.plan.system.product, first.at.trial, test.after.trial)
}

/// The step in which the setting of a change was changed for the first time.
fn first<'s, 'r>(state: &'s SearchState<'r>, test: &Test<'_>) -> Option<&'s BreakStep<'r>> {
    let setting = &test.attempt.change.setting;
    let changed = |step: &&BreakStep<'_>| step.proved().is_some_and(|one| one.attempt.change.setting == *setting);
    state.steps.iter().find(changed)
}

/// Whose processes tell what a change takes. A setting of the product's may lift a limit of the machine's. What another server takes, it does not
/// tell.
fn taker<'a>(state: &'a SearchState<'_>, test: &'a Test<'_>) -> &'a str {
    match test.attempt.limit.subject.as_str() {
        "kernel" | "machine" => &state.plan.system.product,
        subject => subject,
    }
}

/// Whether a proof trial is the proposal.
fn is_proposal(purpose: Purpose) -> bool {
    purpose == Purpose::Proposal
}
