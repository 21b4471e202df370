//! The run so far, retold: which limits were met, which were lifted, and what is due now.

use genkai_model::event::{Change, Purpose};
use genkai_model::limit::Strength;
use genkai_model::objective::Condition;
use genkai_model::plan::Plan;
use genkai_model::record::{Record, Trial};

use super::TrialPlan;
use super::attempt::Attempt;
use super::break_step::{BreakStep, Progress, Test};
use super::judged_trial::JudgedTrial;
use super::unusable::Tests;
use crate::capacity::TOLERANCE;
use crate::capacity::demand;
use crate::diagnosis::onset;
use crate::proof;

/// A run so far.
#[derive(Clone, Debug)]
pub(crate) struct SearchState<'r> {
    pub(crate) plan: &'r Plan,
    /// The trial that tells how the system is.
    pub(crate) first: Option<JudgedTrial<'r>>,
    /// Breaks in the order met.
    pub(crate) steps: Vec<BreakStep<'r>>,
    /// The backend under the same load by itself, where that was asked.
    pub(crate) direct: Option<JudgedTrial<'r>>,
    pub(crate) phase: Phase<'r>,
}

/// Where a run stands.
#[derive(Clone, Debug)]
pub(crate) enum Phase<'r> {
    /// Nothing was tried yet.
    NeedBreak,
    /// A trial was cut off.
    Cut,
    /// The client was the limit.
    Invalid,
    /// The objective holds as it is.
    Holds,
    /// A server died.
    Died,
    /// A server refused connections when it broke.
    Refused,
    /// This is to be put to the test.
    Test(Box<Attempt<'r>>),
    /// A test that moved the break, by no formula, is made again: this is due.
    Repeat(Box<TrialPlan>),
    /// Nothing more than possible causes: the backend is to be asked by itself. Where it stands without that.
    AskBackend(Box<Phase<'r>>),
    /// Programs that are no part of the run used most of the machine when it broke, and nothing else is named.
    Crowded,
    /// Nothing in the evidence names a cause.
    NoCause,
    /// Every candidate was lifted in vain.
    Refuted,
    /// The likeliest cause cannot be lifted.
    CannotLift,
    /// As many limits were lifted as the plan allows.
    Enough,
    /// The changes hold at the load asked for: baseline against proposal.
    Prove,
}

impl<'r> SearchState<'r> {
    /// Retells `record`; none without a head.
    pub(crate) fn replay(record: &'r Record) -> Option<SearchState<'r>> {
        let plan = &record.head.as_ref()?.plan;
        let mut state = SearchState { plan, first: None, steps: Vec::new(), direct: None, phase: Phase::NeedBreak };
        let search = |p| matches!(p, Purpose::Break | Purpose::Measure);
        let Some(trial) = record.trials.iter().find(|t| search(t.started.purpose)) else { return Some(state) };
        let judged = JudgedTrial::of(trial, plan);
        state.first = Some(judged.clone());
        state.phase = if !judged.client.finding.valid {
            Phase::Invalid
        } else if judged.broke.is_none() {
            if proof::is_whole(trial) { Phase::Holds } else { Phase::Cut }
        } else if let Some(phase) = ended(&judged) {
            phase
        } else {
            state.search(judged, record, &mut Tests::of(record))
        };
        Some(state)
    }

    fn search(&mut self, first: JudgedTrial<'r>, record: &'r Record, tests: &mut Tests<'r>) -> Phase<'r> {
        let mut at = first;
        loop {
            let changes = self.changes();
            if self.steps.len() >= self.plan.procedure.max_limits as usize {
                let (step, _) = BreakStep::replay(at, &mut tests.over(), &changes, self.plan, self.goal());
                self.steps.push(step);
                return self.or_prove(Phase::Enough);
            }
            let (step, progress) = BreakStep::replay(at, tests, &changes, self.plan, self.goal());
            self.steps.push(step);
            match progress {
                Progress::Proved => {}
                Progress::Try(attempt) => return Phase::Test(attempt),
                Progress::Repeat(trial) => return Phase::Repeat(trial),
                Progress::CannotLift => return self.or_else(Phase::CannotLift, record),
                Progress::Refuted => return self.or_else(Phase::Refuted, record),
                Progress::NoCause if self.is_crowded() => return self.or_prove(Phase::Crowded),
                Progress::NoCause => return self.or_else(Phase::NoCause, record),
                Progress::Crowded => return self.or_prove(Phase::Crowded),
                Progress::Cut => return Phase::Cut,
                Progress::Invalid => return Phase::Invalid,
            }
            let Some(test) = self.steps.last().and_then(BreakStep::proved) else { return Phase::NoCause };
            match &test.after.broke {
                Some(broke) if broke.level < self.goal() => match ended(&test.after) {
                    Some(phase) => return phase,
                    None => at = test.after.clone(),
                },
                _ => match self.failed_proof(record, tests) {
                    Some(failed) => at = failed,
                    None => return Phase::Prove,
                },
            }
        }
    }

    /// A proof trial of the changes so far that broke by a limit which says so itself: one that bites only sometimes (clients
    /// that spread unevenly) and did not in the search. It is to be lifted like those before. None where it cannot be, or where the system as
    /// it is had held before: then the proof contradicts the search, and there is nothing that more changes could be enough for.
    fn failed_proof(&self, record: &'r Record, tests: &Tests<'r>) -> Option<JudgedTrial<'r>> {
        let changes = self.changes();
        let mine = |t: &&Trial| t.started.purpose == Purpose::Proposal && t.started.changes == changes;
        let judged =
            record.trials.iter().filter(mine).filter(|t| proof::is_whole(t)).map(|t| JudgedTrial::of(t, self.plan));
        let named = |judged: &JudgedTrial<'r>| {
            let (step, progress) =
                BreakStep::replay(judged.clone(), &mut tests.over(), &changes, self.plan, self.goal());
            let says = step.untested().is_some_and(|w| w.strongest == Some(Strength::Decisive));
            says && matches!(progress, Progress::Try(_))
        };
        let baselines = record.trials.iter().filter(|t| t.started.purpose == Purpose::Baseline && proof::is_whole(t));
        let holds =
            |judged: JudgedTrial<'_>| judged.client.finding.valid && judged.broke.is_none() && !judged.is_silent();
        let held = baselines.map(|t| JudgedTrial::of(t, self.plan)).find_map(|j| {
            let number = j.trial.number;
            holds(j).then_some(number)
        });
        let failed = judged.filter(|j| j.client.finding.valid && j.broke.is_some() && !j.died()).find(named)?;
        held.is_none_or(|held| held > failed.trial.number).then_some(failed)
    }

    /// A further limit that nothing lifts does not matter if it lies beyond the load asked for: then only the headroom is
    /// missing, and the changes so far are worth their proof.
    fn or_prove(&self, phase: Phase<'r>) -> Phase<'r> {
        let beyond = self.steps.last().and_then(|m| m.at.broke.as_ref()).map(|b| b.level);
        let lifted = self.steps.iter().any(|m| m.proved().is_some());
        if lifted && beyond.is_some_and(|level| level > self.asked()) { Phase::Prove } else { phase }
    }

    /// The same where nothing is named: the backend by itself may be what it is.
    fn or_else(&mut self, phase: Phase<'r>, record: &'r Record) -> Phase<'r> {
        let phase = self.or_prove(phase);
        let open = self.steps.last().is_some_and(BreakStep::is_open);
        if matches!(phase, Phase::Prove) || !open {
            return phase;
        }
        let Some(trial) = record.trials.iter().find(|t| t.started.purpose == Purpose::Direct) else {
            return Phase::AskBackend(Box::new(phase));
        };
        if !proof::is_whole(trial) {
            return phase;
        }
        let direct = JudgedTrial::of(trial, self.plan);
        if let Some(phase) = ended(&direct) {
            return phase;
        }
        let valid = direct.client.finding.valid && direct.crowded().is_none();
        let named = valid && self.steps.last_mut().is_some_and(|step| step.directly(&direct));
        self.direct = Some(direct);
        if named { Phase::CannotLift } else { phase }
    }

    /// Whether the last break came while other programs used most of the machine, and nothing else explains it.
    fn is_crowded(&self) -> bool {
        self.steps.last().is_some_and(|step| step.at.crowded().is_some())
    }

    fn asked(&self) -> f64 {
        demand::asked(&self.plan.load)
    }

    /// The level up to which the objective must hold: the load asked for with headroom, less the tolerance with which a
    /// break's place can be told, and never less than the load asked for.
    pub(crate) fn goal(&self) -> f64 {
        (self.asked() * self.plan.procedure.headroom * (1.0 - TOLERANCE)).max(self.asked())
    }

    /// The tests that proved a cause, in order.
    pub(crate) fn lifted(&self) -> impl Iterator<Item = &Test<'r>> {
        self.steps.iter().filter_map(BreakStep::proved)
    }

    /// The changes proved so far.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.lifted().last().map(|t| t.attempt.changes.clone()).unwrap_or_default()
    }

    /// The condition that the system as it is violates.
    pub(crate) fn condition(&self) -> Option<Condition> {
        self.first.as_ref()?.broke.as_ref().and_then(onset::condition)
    }
}

/// What is due where a server ended in a trial, or refused connections as it broke.
fn ended<'r>(judged: &JudgedTrial<'r>) -> Option<Phase<'r>> {
    match (judged.refused(), judged.died()) {
        (Some(_), _) => Some(Phase::Refused),
        (None, true) => Some(Phase::Died),
        (None, false) => None,
    }
}
