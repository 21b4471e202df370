//! Values between one that failed and the proposed one, a short trial each: what the formula says is enough, else halves.

use genkai_model::event::{Change, Purpose};
use genkai_model::finding::{Smaller, TriedValue};
use genkai_model::limit::{Law, Limit, Remedy, RemedyUnit};
use genkai_model::record::{Record, Trial};
use genkai_model::units::{Bytes, Span};

use super::TrialPlan;
use super::judged_trial::JudgedTrial;
use super::search_state::SearchState;
use crate::capacity::{demand, law};
use crate::proof::{self, Trials};

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
    /// How they are written.
    unit: RemedyUnit,
    /// The largest that a trial of its length tells of; none for what has no length.
    told: Option<f64>,
}

/// A silence must be twice as long in a trial as what is allowed of it, for the trial to tell that it does not matter.
const SILENCES: f64 = 2.0;
/// Values of sizes between two others are multiples of this.
const SIZE: f64 = 1024.0;

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
    changes.push(Change { to: one.text(value), ..one.change.clone() });
    Some(TrialPlan {
        purpose: Purpose::Smaller,
        changes,
        limit: None,
        level: demand::asked(&state.plan.load),
        ramp: procedure.proof_ramp.min(Span::from_secs_f64(demand::ramp(&state.plan.load))),
        hold: super::proof_hold(state),
        draw: 0,
    })
}

/// What is known by now of each setting of which smaller values were tried, the last that was changed first; nothing where the system as it is
/// held once in the proof, which is smaller than all of them, or the proposed values failed there: then no smaller ones are known to hold.
pub(crate) fn findings(record: &Record, state: &SearchState<'_>, proof: &Trials<'_>) -> Vec<Smaller> {
    let contradicts = |trial: &&Trial| {
        let judged = JudgedTrial::of(trial, state.plan);
        match trial.started.purpose {
            Purpose::Baseline => judged.broke.is_none() && !judged.is_silent(),
            _ => judged.broke.is_some(),
        }
    };
    if proof.all.iter().any(contradicts) {
        return Vec::new();
    }
    let told = |one: &Between, at: At| TriedValue { value: one.text(at.value), trial: at.trial };
    let tried = between(record, state).into_iter().filter(|one| one.tried > 0);
    let found = |one: Between| Smaller {
        setting: one.change.setting.clone(),
        holds: told(&one, one.holds),
        fails: told(&one, one.fails),
    };
    tried.map(found).collect()
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
        let limit = last.attempt.limit;
        let unit = limit.remedy.as_ref()?.unit;
        let value = number(unit, &change.to).filter(|_| is_number(limit))?;
        let holds = At { value, trial: all.after.trial.number };
        let failed = mine().filter(|(step, _)| step.at.broke.as_ref().is_some_and(|broke| broke.level <= asked));
        let failed = failed.filter_map(|(step, test)| {
            let value = had(&step.at, test.attempt.limit, &change.setting)?;
            Some(At { value, trial: step.at.trial.number })
        });
        let fails = failed.max_by(|a, b| a.value.total_cmp(&b.value)).filter(|at| at.value < holds.value)?;
        // Where the whole of it is one process, values between are those of another number of processes.
        let remedy = limit.remedy.as_ref();
        let counts = matches!(unit, RemedyUnit::Count | RemedyUnit::Seconds);
        if remedy.is_some_and(|remedy| counts && remedy.step > 1.0 && remedy.step >= holds.value) {
            return None;
        }
        let processes = remedy.map_or(0.0, |remedy| remedy.processes);
        // Where several share a process, only whole processes come.
        let step = match unit {
            RemedyUnit::Bytes if fails.value + SIZE < holds.value => SIZE,
            _ if processes > 0.0 && processes < 1.0 => (1.0 / processes).round(),
            _ => 1.0,
        };
        // One more than what failed is said where no formula says how much is enough.
        let says = |enough: &f64| !limit.law.is_tried() && *enough > fails.value + 1.0;
        let computed = number(unit, &last.attempt.lift.minimum).filter(says);
        let silent = matches!(limit.law, Law::Idle { .. });
        let told = silent.then(|| state.plan.procedure.proof_hold.as_secs_f64() / SILENCES);
        Some(Between { change: change.clone(), holds, fails, tried: 0, computed, step, unit, told })
    }

    fn learn(&mut self, trial: &Trial, proposed: &[Change], state: &SearchState<'_>) {
        let mine = |one: &&Change| one.setting == self.change.setting;
        let others = |all: &[Change]| all.iter().filter(|one| !mine(one)).cloned().collect::<Vec<_>>();
        let change = trial.started.changes.iter().find(mine).filter(|one| one.to != self.change.to);
        let value = change.and_then(|one| number(self.unit, &one.to));
        let Some(value) = value.filter(|_| others(&trial.started.changes) == others(proposed)) else { return };
        self.tried += 1;
        let judged = JudgedTrial::of(trial, state.plan);
        if !judged.client.finding.valid || !proof::is_whole(trial) || judged.is_silent() {
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
        let tells = |value: &f64| self.told.is_none_or(|most| *value <= most);
        computed.filter(inside).or(Some(half)).filter(inside).filter(tells)
    }

    /// A value as it is written.
    fn text(&self, value: f64) -> String {
        match self.unit {
            RemedyUnit::Bytes => Bytes(value as u64).to_string(),
            RemedyUnit::Time => format!("{value}s"),
            _ => value.to_string(),
        }
    }
}

/// Whether what is changed for a limit is a number, a size or a time that counts what the limit does.
fn is_number(limit: &Limit) -> bool {
    let plain = |remedy: &Remedy| {
        matches!(remedy.unit, RemedyUnit::Count | RemedyUnit::Seconds | RemedyUnit::Bytes | RemedyUnit::Time)
    };
    let other = matches!(
        limit.law,
        Law::Tried { word: Some(_), .. }
            | Law::Rate { .. }
            | Law::Cpu { .. }
            | Law::Handshakes { .. }
            | Law::Delay { .. }
            | Law::Unknown
    );
    limit.remedy.as_ref().is_some_and(plain) && !other
}

/// The number that a trial had for a setting: what it was given, or what the limit had as it was. (A law may count something else: all
/// servers' share, or what the server makes of it.)
fn had(at: &JudgedTrial<'_>, limit: &Limit, setting: &str) -> Option<f64> {
    let unit = limit.remedy.as_ref().filter(|_| is_number(limit))?.unit;
    let given = at.trial.started.changes.iter().find(|one| one.setting == setting).map(|one| one.to.as_str());
    let own = || match limit.law {
        _ if limit.setting != setting => None,
        // Each product writes these in units of its own; the law has bytes and seconds.
        Law::BodySize { .. } | Law::MessageSize { .. } | Law::Idle { .. } => Some(law::setting(&limit.law)),
        _ => number(unit, &limit.value),
    };
    given.map_or_else(own, |text| number(unit, text))
}

/// What is written, as a number: of sizes bytes, of times seconds.
fn number(unit: RemedyUnit, text: &str) -> Option<f64> {
    match unit {
        RemedyUnit::Bytes => text.parse().ok().map(|Bytes(bytes)| bytes as f64),
        RemedyUnit::Time => text.strip_suffix('s')?.parse().ok(),
        _ => text.parse().ok(),
    }
}
