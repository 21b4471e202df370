//! Values between one that failed and the proposed one, a short trial each: what the formula says is enough, else halves.

use genkai_model::event::{Change, Purpose};
use genkai_model::finding::{Smaller, TriedValue};
use genkai_model::limit::{Law, Limit, Remedy, RemedyUnit};
use genkai_model::record::{Record, Trial};
use genkai_model::units::Span;

use super::TrialPlan;
use super::judged_trial::JudgedTrial;
use super::search_state::SearchState;
use crate::capacity::demand;
use crate::proof;

/// A value with the trial that tells of it.
#[derive(Clone, Copy, Debug)]
struct At {
    value: f64,
    trial: u32,
}

/// Between which values of a setting the smallest that holds is.
#[derive(Clone, Debug)]
struct Between {
    change: Change,
    holds: At,
    fails: At,
    tried: u32,
    /// What is enough by the formula; none where none says.
    computed: Option<f64>,
    /// Values are multiples of this.
    step: f64,
}

/// The next smaller value to be tried, of that setting of which fewest were; none when there were enough, the proof has begun, or none is left.
pub(crate) fn next(record: &Record, state: &SearchState<'_>) -> Option<TrialPlan> {
    let procedure = &state.plan.procedure;
    let begun = |trial: &Trial| matches!(trial.started.purpose, Purpose::Baseline | Purpose::Proposal);
    if trials(record).count() >= procedure.smaller as usize || record.trials.last().is_some_and(begun) {
        return None;
    }
    let all = between(record, state);
    let unusable = |one: &Between| {
        let mine = |setting: &str| setting == one.change.setting;
        record.not_started.iter().any(|(_, note)| note.purpose == Purpose::Smaller && mine(&note.setting))
    };
    let open = all.iter().filter(|one| !unusable(one)).filter_map(|one| Some((one, one.value()?)));
    let (one, value) = open.min_by_key(|(one, _)| one.tried)?;
    // What is tried comes last, as in the search.
    let mut changes: Vec<Change> =
        state.changes().into_iter().filter(|change| change.setting != one.change.setting).collect();
    changes.push(Change { to: value.to_string(), ..one.change.clone() });
    Some(TrialPlan {
        purpose: Purpose::Smaller,
        changes,
        limit: None,
        level: demand::asked(&state.plan.load),
        ramp: procedure.proof_ramp.min(Span::from_secs_f64(demand::ramp(&state.plan.load))),
        hold: procedure.proof_hold,
    })
}

/// What is known by now of each setting of which smaller values were tried, the last that was changed first.
pub(crate) fn findings(record: &Record, state: &SearchState<'_>) -> Vec<Smaller> {
    let told = |at: At| TriedValue { value: at.value.to_string(), trial: at.trial };
    let tried = between(record, state).into_iter().filter(|one| one.tried > 0);
    tried.map(|one| Smaller { setting: one.change.setting, holds: told(one.holds), fails: told(one.fails) }).collect()
}

fn trials(record: &Record) -> impl Iterator<Item = &Trial> {
    record.trials.iter().filter(|trial| trial.started.purpose == Purpose::Smaller)
}

/// Of each proposed setting, the last that was changed first.
fn between(record: &Record, state: &SearchState<'_>) -> Vec<Between> {
    let proposed = state.changes();
    let mut all: Vec<Between> = proposed.iter().rev().filter_map(|change| Between::of(change, state)).collect();
    for trial in trials(record) {
        all.iter_mut().for_each(|one| one.learn(trial, &proposed, state));
    }
    all
}

impl Between {
    /// Of one setting, before smaller values of it were tried; none where it has no number, or no trial is left in which it failed at the load
    /// asked for.
    fn of(change: &Change, state: &SearchState<'_>) -> Option<Between> {
        let asked = demand::asked(&state.plan.load);
        let mine = || {
            let proved = state.steps.iter().filter_map(|step| Some((step, step.proved()?)));
            proved.filter(|(_, test)| test.attempt.change.setting == change.setting)
        };
        let (_, last) = mine().next_back()?;
        let all = state.lifted().last()?;
        let holds =
            At { value: number(&change.to).filter(|_| is_number(last.attempt.limit))?, trial: all.after.trial.number };
        let failed = mine().filter(|(step, _)| step.at.broke.as_ref().is_some_and(|broke| broke.level <= asked));
        let failed = failed.filter_map(|(step, test)| {
            let value = had(&step.at, test.attempt.limit, &change.setting)?;
            Some(At { value, trial: step.at.trial.number })
        });
        let fails = failed.max_by(|a, b| a.value.total_cmp(&b.value)).filter(|at| at.value < holds.value)?;
        // Where the whole of it is one process, values between are those of another number of processes.
        let remedy = last.attempt.limit.remedy.as_ref();
        if remedy.is_some_and(|remedy| remedy.step > 1.0 && remedy.step >= holds.value) {
            return None;
        }
        let processes = last.attempt.limit.remedy.as_ref().map_or(0.0, |remedy| remedy.processes);
        // Where several share a process, only whole processes come.
        let step = if processes > 0.0 && processes < 1.0 { (1.0 / processes).round() } else { 1.0 };
        // One more than what failed is said where no formula says how much is enough.
        let says = |enough: &f64| !last.attempt.limit.law.is_tried() && *enough > fails.value + 1.0;
        let computed = number(&last.attempt.lift.minimum).filter(says);
        Some(Between { change: change.clone(), holds, fails, tried: 0, computed, step })
    }

    fn learn(&mut self, trial: &Trial, proposed: &[Change], state: &SearchState<'_>) {
        let mine = |one: &&Change| one.setting == self.change.setting;
        let others = |all: &[Change]| all.iter().filter(|one| !mine(one)).cloned().collect::<Vec<_>>();
        let change = trial.started.changes.iter().find(mine).filter(|one| one.to != self.change.to);
        let value = change.and_then(|one| number(&one.to));
        let Some(value) = value.filter(|_| others(&trial.started.changes) == others(proposed)) else { return };
        self.tried += 1;
        let judged = JudgedTrial::of(trial, state.plan);
        if !judged.client.finding.valid || !proof::is_whole(trial) {
            return;
        }
        let at = At { value, trial: trial.number };
        match judged.broke {
            None if self.fails.value < value && value < self.holds.value => self.holds = at,
            Some(_) if value > self.fails.value => self.fails = at,
            _ => {}
        }
    }

    /// The value to be tried next; none where none is between, or what the formula says is enough has held.
    fn value(&self) -> Option<f64> {
        let whole = |value: f64| (value / self.step).ceil() * self.step;
        let inside = |value: &f64| self.fails.value < *value && *value < self.holds.value;
        let computed = self.computed.map(whole);
        if computed.is_some_and(|value| self.holds.value <= value && self.fails.value < value) {
            return None;
        }
        let half = (f64::midpoint(self.holds.value, self.fails.value) / self.step).floor() * self.step;
        computed.filter(inside).or(Some(half)).filter(inside)
    }
}

/// Whether what is changed for a limit is a plain number that counts what the limit does.
fn is_number(limit: &Limit) -> bool {
    let plain = |remedy: &Remedy| matches!(remedy.unit, RemedyUnit::Count | RemedyUnit::Seconds);
    let other = matches!(
        limit.law,
        Law::Tried { word: Some(_), .. } | Law::Rate { .. } | Law::Cpu { .. } | Law::Delay { .. } | Law::Unknown
    );
    limit.remedy.as_ref().is_some_and(plain) && !other
}

/// The number that a trial had for a setting: what it was given, or what the limit had as it was. (A law may count something else: all
/// servers' share, or what the server makes of it.)
fn had(at: &JudgedTrial<'_>, limit: &Limit, setting: &str) -> Option<f64> {
    let given = at.trial.started.changes.iter().find(|one| one.setting == setting).map(|one| one.to.as_str());
    let own = || (limit.setting == setting).then_some(limit.value.as_str());
    number(given.or_else(own)?).filter(|_| is_number(limit))
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}
