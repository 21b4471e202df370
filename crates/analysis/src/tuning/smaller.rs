//! Values between one that fails and the proposed one, where no formula says which of them hold: halved, a short trial each.

use genkai_model::event::{Change, Purpose};
use genkai_model::finding::{Smaller, TriedValue};
use genkai_model::limit::Law;
use genkai_model::record::{Record, Trial};
use genkai_model::units::Span;

use super::TrialPlan;
use super::judged_trial::JudgedTrial;
use super::search_state::SearchState;
use crate::capacity::{demand, law};
use crate::proof;

/// A value with the trial that tells of it.
#[derive(Clone, Copy, Debug)]
struct At {
    value: f64,
    trial: u32,
}

/// Between which values the smallest that holds is.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    change: Change,
    holds: At,
    fails: At,
    tried: u32,
}

impl Between {
    /// Of the setting that was changed last, as far as its smaller values were tried; none where a formula tells of it, or the trials before
    /// leave no value that failed at the load asked for.
    pub(crate) fn of(record: &Record, state: &SearchState<'_>) -> Option<Between> {
        let asked = demand::asked(&state.plan.load);
        let last = state.lifted().last()?;
        let change = last.attempt.change.clone();
        let lifted = |law: &Law| matches!(law, Law::Tried { word: None, .. });
        let holds = At {
            value: change.to.parse().ok().filter(|_| lifted(&last.attempt.limit.law))?,
            trial: last.after.trial.number,
        };
        let mine = state.steps.iter().filter(|step| {
            step.proved().is_some_and(|test| test.attempt.change.setting == change.setting)
                && step.at.broke.as_ref().is_some_and(|broke| broke.level <= asked)
        });
        let failed = mine.filter_map(|step| {
            let value = law::setting(&step.proved()?.attempt.limit.law);
            Some(At { value, trial: step.at.trial.number })
        });
        let fails = failed.max_by(|a, b| a.value.total_cmp(&b.value))?;
        let mut all = Between { change, holds, fails, tried: 0 };
        let proposed = state.changes();
        for trial in record.trials.iter().filter(|trial| trial.started.purpose == Purpose::Smaller) {
            all.learn(trial, &proposed, state);
        }
        Some(all)
    }

    fn learn(&mut self, trial: &Trial, proposed: &[Change], state: &SearchState<'_>) {
        self.tried += 1;
        let mine = |one: &&Change| one.setting == self.change.setting;
        let others = |all: &[Change]| all.iter().filter(|one| !mine(one)).cloned().collect::<Vec<_>>();
        let value = trial.started.changes.iter().find(mine).and_then(|one| one.to.parse::<f64>().ok());
        let Some(value) = value.filter(|_| others(&trial.started.changes) == others(proposed)) else { return };
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

    /// The next value to be tried; none when there are enough, none is between, or the last one could not be used.
    pub(crate) fn next(&self, record: &Record, state: &SearchState<'_>) -> Option<TrialPlan> {
        let procedure = &state.plan.procedure;
        let begun = |trial: &Trial| matches!(trial.started.purpose, Purpose::Baseline | Purpose::Proposal);
        let unusable = record.not_started.iter().any(|(_, one)| one.purpose == Purpose::Smaller);
        let value = ((self.holds.value + self.fails.value) / 2.0).floor();
        if self.tried >= procedure.smaller
            || value <= self.fails.value
            || unusable
            || record.trials.last().is_some_and(begun)
        {
            return None;
        }
        let mut changes = state.changes();
        for change in changes.iter_mut().filter(|one| one.setting == self.change.setting) {
            change.to = value.to_string();
        }
        Some(TrialPlan {
            purpose: Purpose::Smaller,
            changes,
            limit: None,
            level: demand::asked(&state.plan.load),
            ramp: procedure.proof_ramp.min(Span::from_secs_f64(demand::ramp(&state.plan.load))),
            hold: procedure.proof_hold,
        })
    }

    /// What is known by now; none where nothing was tried.
    pub(crate) fn finding(&self) -> Option<Smaller> {
        let told = |at: At| TriedValue { value: at.value.to_string(), trial: at.trial };
        let smaller =
            Smaller { setting: self.change.setting.clone(), holds: told(self.holds), fails: told(self.fails) };
        (self.tried > 0).then_some(smaller)
    }
}
