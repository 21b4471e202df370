//! A test of which no formula tells, made once more.
//!
//! Where no formula says what comes of a change, one trial with it and one without decide that the break moved. What fails by chance, or at times,
//! breaks now sooner and now later, and looks the same. So both are tried again, in the order A B B A: the move stands where each trial with the
//! change broke clearly later than each without. Failures at random have no level at all: where they were what broke, they must be certainly
//! rarer with the change, at the load that broke the system without it. (Where the objective held with the change at the load asked for, the
//! pairs of the proof do the same.)
//!
//! What fails at moments of its own has a level by chance, and each trial is one draw of it: two of each are in that order in one of six cases.
//! So the load goes on for a while after the break when both are tried again. Where failures end by themselves then, or one and the same
//! configuration breaks at loads that are as far apart as what is to be told apart, both are tried on until there are five trials of each: all
//! with the change are later by chance in one of 252 cases.

use genkai_model::event::Purpose;
use genkai_model::finding::{self, Break, Failures, MoreTries, Moved, Unchanged};
use genkai_model::objective::Condition;
use genkai_model::plan::Plan;
use genkai_model::units::Span;

use super::TrialPlan;
use super::attempt::Attempt;
use super::counted;
use super::directly;
use super::judged_trial::JudgedTrial;
use super::moved::{self, Outcome};
use super::unusable::Tests;
use crate::capacity::demand;
use crate::diagnosis::onset;
use crate::proof;
use crate::window;

/// So many trials of each are enough, the first ones included, and so many where these may be draws.
const ENOUGH: usize = 2;
const MOST: usize = 5;

/// How long nothing fails any more where failures have ended, microseconds; and so many of the answers since then would have failed, had they not.
const ENDED_US: u64 = 1_000_000;
const EXPECTED: f64 = 5.0;

/// What came of trying both again.
#[derive(Clone, Debug)]
pub(crate) struct Again<'r> {
    /// The trials with the change after its test, and those without it after the break, in order.
    changed: Vec<JudgedTrial<'r>>,
    unchanged: Vec<JudgedTrial<'r>>,
    later: bool,
    failures: Option<[Failures; 2]>,
    more: Option<MoreTries>,
}

/// Where a test stands with that.
pub(crate) enum Repeated<'r> {
    /// It need not be made again.
    Needless,
    /// It was not, and the search went on, as that of older versions did.
    Never,
    /// This is due.
    Due(Box<TrialPlan>),
    Made(Box<Again<'r>>),
    /// A trial of it was cut off, or nothing in it came to an end.
    Cut,
    /// The client gave out in it.
    Invalid,
}

impl<'r> Again<'r> {
    /// Takes what follows the test `after` of `attempt` from `tests`, where its `outcome` is to be had twice.
    pub(crate) fn replay(
        at: &JudgedTrial<'r>,
        attempt: &Attempt<'_>,
        (after, outcome): (&JudgedTrial<'r>, &Outcome),
        tests: &mut Tests<'r>,
        (plan, goal): (&Plan, f64),
    ) -> Repeated<'r> {
        // What held at the goal is measured in pairs, if any are made.
        let enough = moved::reaches(after, goal) && plan.procedure.min_pairs > 0;
        if !attempt.limit.law.is_tried() || outcome.moved == Moved::Not || enough {
            return Repeated::Needless;
        }
        let later =
            |unchanged: &JudgedTrial<'_>, changed: &JudgedTrial<'_>| moved::is_later(unchanged, attempt, changed, goal);
        let mut again = Again { changed: Vec::new(), unchanged: Vec::new(), later: true, failures: None, more: None };
        for made in 0.. {
            let Some(trial) = tests.again() else {
                // What older versions tried next was another setting.
                let never = made == 0 && !tests.is_told();
                return if never { Repeated::Never } else { Repeated::Due(Box::new(due(made, at, attempt, plan))) };
            };
            let judged = JudgedTrial::of(trial, plan);
            let judged = if is_changed(made) { judged.up_to(goal) } else { judged };
            if let Some(spoilt) = spoilt(&judged) {
                return spoilt;
            }
            if is_changed(made) {
                again.later = [at].into_iter().chain(&again.unchanged).all(|other| later(other, &judged));
                again.changed.push(judged);
            } else {
                again.later = [after].into_iter().chain(&again.changed).all(|other| later(&judged, other));
                again.unchanged.push(judged);
            }
            if again.is_over([at, after], attempt) {
                break;
            }
        }
        again.failures = again.counted([at, after], attempt);
        Repeated::Made(Box::new(again))
    }

    /// Whether no further trial is due, of a change that was tested in `after` of the break `at`.
    fn is_over(&mut self, [at, after]: [&JudgedTrial<'r>; 2], attempt: &Attempt<'_>) -> bool {
        let tries = |again: &[JudgedTrial<'_>]| again.len() + 1;
        let [with, without] = [tries(&self.changed), tries(&self.unchanged)];
        if with == ENOUGH && without == ENOUGH && self.later {
            let (changed, unchanged) = (&self.changed[0], &self.unchanged[0]);
            let ended = [changed, unchanged].into_iter().any(has_ended);
            let apart = moved::are_apart(at, unchanged) || moved::are_apart(after, changed);
            // What is used up is so each time.
            let tells = !ended && !apart || counted::moved(attempt.limit, unchanged, after);
            self.more = (!tells).then_some(MoreTries { ended, apart, with: 0, without: 0 });
        }
        if let Some(more) = &mut self.more {
            (more.with, more.without) = (with as u32, without as u32);
        }
        let most = if self.more.is_some() { MOST } else { ENOUGH };
        !self.later || with == most && without == most
    }

    /// Failures with and without the change, where the break moved each time and these matter.
    fn counted(&self, [at, after]: [&JudgedTrial<'r>; 2], attempt: &Attempt<'_>) -> Option<[Failures; 2]> {
        let unchanged: Vec<&JudgedTrial<'_>> = [at].into_iter().chain(&self.unchanged).collect();
        let changed: Vec<&JudgedTrial<'_>> = [after].into_iter().chain(&self.changed).collect();
        // What is used up is so each time, and how often anything fails then is the length of the load.
        let counted = || unchanged.get(1).is_some_and(|one| counted::moved(attempt.limit, one, after));
        failures(&unchanged, &changed).filter(|_| self.later && !counted())
    }

    /// Whether the break moved again.
    pub(crate) fn stands(&self) -> bool {
        self.later && self.failures.is_none_or(|[with, without]| directly::fails_less(with, without))
    }

    /// Whether other programs used most of the machine when one of the trials broke.
    pub(crate) fn is_crowded(&self) -> bool {
        self.changed.iter().chain(&self.unchanged).any(|judged| judged.crowded().is_some())
    }

    /// As it is told.
    pub(crate) fn told(&self) -> Option<finding::Again> {
        Some(finding::Again {
            trial: self.changed.first()?.trial.number,
            unchanged: self.unchanged.first().map(|judged| Unchanged { trial: judged.trial.number }),
            later: self.later,
            failures: self.failures,
            more: self.more,
        })
    }
}

/// Whether the trial after so many of them has the change: A B is followed by B A, and so on.
fn is_changed(made: usize) -> bool {
    matches!(made % 4, 0 | 3)
}

fn spoilt<'r>(judged: &JudgedTrial<'_>) -> Option<Repeated<'r>> {
    match () {
        () if !proof::is_whole(judged.trial) => Some(Repeated::Cut),
        () if !judged.client.finding.valid => Some(Repeated::Invalid),
        () if judged.is_silent() => Some(Repeated::Cut),
        () => None,
    }
}

/// The trial after so many of them: with the change, or what broke before it once more. Each pair has another drawing of the load than those before.
fn due(made: usize, at: &JudgedTrial<'_>, attempt: &Attempt<'_>, plan: &Plan) -> TrialPlan {
    let repeat = TrialPlan { purpose: Purpose::Repeat, draw: 1 + made as u32 / 2, ..attempt.trial(plan) };
    if is_changed(made) {
        return repeat;
    }
    let load = &at.trial.started.load;
    TrialPlan {
        changes: at.trial.started.changes.clone(),
        level: demand::asked(load),
        ramp: Span::from_secs_f64(demand::ramp(load)),
        ..repeat
    }
}

/// Whether failures are what broke.
fn fails(broke: &Break) -> bool {
    matches!(onset::condition(broke), Some(Condition::ErrorsBelow(_))) && broke.waiting.is_none()
}

/// Whether failures ended by themselves after the break, while no fewer users were there (or no fewer requests came).
fn has_ended(judged: &JudgedTrial<'_>) -> bool {
    let (Some(onset), Some(broke)) = (judged.onset, judged.broke.as_ref().filter(|broke| fails(broke))) else {
        return false;
    };
    let (mut failed, mut finished) = (0, 0);
    let (mut healthy_us, mut healthy) = (0, 0);
    for tick in judged.trial.ticks.iter().filter(|tick| tick.to_us > onset.at_us) {
        let bad = window::failed(tick);
        let hung = tick.waiting.is_some_and(|waiting| waiting.overdue > 0);
        if bad > 0 || hung || tick.level < broke.level {
            failed += bad;
            finished += bad + tick.ok + healthy;
            (healthy_us, healthy) = (0, 0);
            continue;
        }
        healthy_us += tick.to_us.saturating_sub(tick.from_us);
        healthy += tick.ok;
        if healthy_us >= ENDED_US && healthy as f64 * failed as f64 >= EXPECTED * finished.max(1) as f64 {
            return true;
        }
    }
    false
}

/// Failures with the change while the load was at most as large as one that broke the system without it, and those without by then; none where
/// something else broke.
fn failures(unchanged: &[&JudgedTrial<'_>], changed: &[&JudgedTrial<'_>]) -> Option<[Failures; 2]> {
    let failed = fails(unchanged.first()?.broke.as_ref()?);
    let level = unchanged.iter().filter_map(|one| one.broke.as_ref()).map(|broke| broke.level).fold(0.0, f64::max);
    let both = |a: Failures, b: Failures| Failures { failed: a.failed + b.failed, of: a.of + b.of };
    let with = changed.iter().map(|one| directly::below(one, level)).reduce(both)?;
    // Of like loads: the tries go on for some seconds beyond their breaks.
    let without = unchanged.iter().map(|one| directly::below(one, level)).reduce(both)?;
    (failed && with.of > 0 && without.failed > 0).then_some([with, without])
}
