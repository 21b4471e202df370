//! What to try next: the theory of constraints, one limit at a time.
//!
//! Break the system as it is; name the limit; lift that setting alone and see whether the break moves to where the
//! formula says; go on with the next limit until the objective holds at the load asked for with headroom, or nothing
//! more can be lifted; then prove the proposal against the baseline, in pairs. Where the evidence names nothing, ask the
//! backend directly, under the same load: what breaks it no later is its own.
//!
//! No state is kept: [`next`] retells the `story` from the record each time, so that a live run and a record read back
//! agree on what happened and why.

pub(crate) mod again;
pub(crate) mod attempt;
pub(crate) mod break_step;
pub(crate) mod counted;
pub(crate) mod directly;
pub(crate) mod judged_trial;
pub(crate) mod moved;
pub(crate) mod search_state;
pub(crate) mod smaller;
pub(crate) mod unusable;

use genkai_model::event::{Change, EndReason, Purpose};
use genkai_model::limit::BACKEND_BY_ITSELF;
use genkai_model::objective::Condition;
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_model::units::Span;

use crate::capacity::demand;
use crate::diagnosis::onset::Onset;
use crate::effect;
use crate::proof::{self, Trials};
use crate::spending;
use search_state::{Phase, SearchState};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Run this trial, then ask again.
    Trial(TrialPlan),
    /// Nothing more to find out.
    Done,
}

/// A trial to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct TrialPlan {
    /// What for.
    pub purpose: Purpose,
    /// Settings that differ from the baseline.
    pub changes: Vec<Change>,
    /// The limit under test, in a counterfactual.
    pub limit: Option<String>,
    /// Users, or requests a second, at the end of the ramp.
    pub level: f64,
    /// Time to get there.
    pub ramp: Span,
    /// How long the level is held.
    pub hold: Span,
    /// Which drawing it is of what is random in the load: arrivals, pauses, what users choose. Those that are compared have the same; repetitions have others, or
    /// they would be one observation, made again.
    pub draw: u32,
}

/// How long the load goes on after the break of what is tried again, where requests failed: whether failures last is seen then.
const AFTERWARDS_US: u64 = 3_000_000;

/// Whether a trial of the search may end at this moment of its load, once its break is certain (`broke`).
pub fn may_end(purpose: Purpose, broke: &Onset, now_us: u64) -> bool {
    let fails = matches!(broke.condition, Some(Condition::ErrorsBelow(_)));
    purpose != Purpose::Repeat || !fails || now_us >= broke.certain_us.saturating_add(AFTERWARDS_US)
}

/// What to try next, from what is on record. [`Next::Done`] also for a record without a head and for one that was
/// interrupted.
pub fn next(record: &Record) -> Next {
    let stopped = |reason| matches!(reason, EndReason::Interrupted | EndReason::EngineFailed);
    let cut = record.trials.iter().any(|t| t.ended.as_ref().is_some_and(|e| stopped(e.reason)));
    if cut || record.end.is_some() {
        return Next::Done;
    }
    let Some(state) = SearchState::replay(record) else { return Next::Done };
    let plan = state.plan;
    match &state.phase {
        Phase::NeedBreak => Next::Trial(first(plan)),
        Phase::Test(attempt) => Next::Trial(attempt.trial(plan)),
        Phase::Repeat(again) => Next::Trial((**again).clone()),
        Phase::AskBackend(_) => Next::Trial(TrialPlan {
            purpose: Purpose::Direct,
            limit: Some(BACKEND_BY_ITSELF.to_owned()),
            ..first(plan)
        }),
        Phase::Prove => smaller::next(record, &state).or_else(|| prove(record, &state)).map_or(Next::Done, Next::Trial),
        _ => Next::Done,
    }
}

/// So much longer than a failure takes a trial of the proof lasts: its load comes within a part of that, and fails for a second.
const SEEN_CLEARLY: Span = Span::from_secs(2);
/// Longest hold of such a trial that a failure asks for.
const LONGEST_PROOF: Span = Span::from_secs(15);

fn first(plan: &Plan) -> TrialPlan {
    TrialPlan {
        purpose: Purpose::Break,
        changes: Vec::new(),
        limit: None,
        level: demand::asked(&plan.load),
        ramp: Span::from_secs_f64(demand::ramp(&plan.load)),
        hold: plan.procedure.hold,
        draw: 0,
    }
}

/// The next proof trial; none when there are enough pairs.
fn prove(record: &Record, state: &SearchState<'_>) -> Option<TrialPlan> {
    let (plan, trials) = (state.plan, Trials::of(record));
    let procedure = &plan.procedure;
    if trials.not_started || trials.all.len() == trials.pairs.len() * 2 && is_enough(&trials, state) {
        return None;
    }
    let purpose = trials.next(procedure.seed);
    // A proof must not be gentler than the load that broke the system.
    let ramp = procedure.proof_ramp.min(Span::from_secs_f64(demand::ramp(&plan.load)));
    Some(TrialPlan {
        purpose,
        changes: if purpose == Purpose::Proposal { state.changes() } else { Vec::new() },
        limit: None,
        level: demand::asked(&plan.load),
        ramp,
        hold: proof_hold(state),
        draw: trials.all.len() as u32 / 2 + 1,
    })
}

/// How long a trial of the proof holds its load: for longer than what broke took to be seen (a timeout of the server's, the patience with
/// which an answer is waited for). A shorter one cannot fail as the search did, whatever is changed.
fn proof_hold(state: &SearchState<'_>) -> Span {
    let plan = &state.plan.procedure;
    let broke = state.first.as_ref().and_then(|first| first.onset.as_ref());
    let seen = broke.map_or(0, |broke| broke.certain_us.saturating_sub(broke.at_us).saturating_mul(1_000));
    let clear = Span(seen.saturating_add(SEEN_CLEARLY.0)).min(LONGEST_PROOF);
    if seen > 0 { plan.proof_hold.max(clear) } else { plan.proof_hold }
}

/// Whether a proof needs no further pair: a look is planned now and the figure is decided, or there are no more looks.
fn is_enough(trials: &Trials<'_>, state: &SearchState<'_>) -> bool {
    let (plan, pairs) = (state.plan, trials.pairs.len() as u32);
    if plan.procedure.min_pairs == 0 {
        return true;
    }
    let looks = proof::looks(&plan.procedure);
    let decided = || {
        let proof = proof::of(trials, &plan.objective, &plan.procedure, state.condition());
        proof.is_some_and(|proof| effect::is_decided(proof.decided.call))
    };
    looks.last().is_none_or(|last| pairs >= *last) || (spending::is_look(&looks, pairs) && decided())
}
