//! A test of which no formula tells, made once more.
//!
//! Where no formula says what comes of a change, one trial with it and one without decide that the break moved. What fails by chance, or at times,
//! breaks now sooner and now later, and looks the same. So both are tried again, in the order A B B A: the move stands where each trial with the
//! change broke clearly later than each without. Failures at random have no level at all: where they were what broke, they must be certainly
//! rarer with the change, at the load that broke the system without it. (Where the objective held with the change at the load asked for, the
//! pairs of the proof do the same.)

use genkai_model::event::Purpose;
use genkai_model::finding::{self, Failures, Moved, Unchanged};
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

/// Which drawing of the load it is: another than that of the first time.
const DRAW: u32 = 1;

/// What came of trying both again.
#[derive(Clone, Debug)]
pub(crate) struct Again<'r> {
    changed: JudgedTrial<'r>,
    unchanged: Option<JudgedTrial<'r>>,
    later: bool,
    failures: Option<[Failures; 2]>,
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
        let due = |changes| Repeated::Due(Box::new(TrialPlan { purpose: Purpose::Repeat, draw: DRAW, ..changes }));
        let changed = match tests.again() {
            Some(trial) => JudgedTrial::of(trial, plan).up_to(goal),
            None if tests.is_told() => return due(attempt.trial(plan)),
            None => return Repeated::Never,
        };
        if let Some(spoilt) = spoilt(&changed) {
            return spoilt;
        }
        let later =
            |unchanged: &JudgedTrial<'_>, changed: &JudgedTrial<'_>| moved::is_later(unchanged, attempt, changed, goal);
        if !later(at, &changed) {
            return Repeated::Made(Box::new(Again { changed, unchanged: None, later: false, failures: None }));
        }
        let Some(trial) = tests.again() else { return due(unchanged(at, attempt, plan)) };
        let unchanged = JudgedTrial::of(trial, plan);
        if let Some(spoilt) = spoilt(&unchanged) {
            return spoilt;
        }
        let later = later(&unchanged, after) && later(&unchanged, &changed);
        // What is used up is so each time, and how often anything fails then is the length of the load.
        let counted = || counted::moved(attempt.limit, &unchanged, after);
        let failures = failures([at, &unchanged], [after, &changed]).filter(|_| later && !counted());
        Repeated::Made(Box::new(Again { changed, unchanged: Some(unchanged), later, failures }))
    }

    /// Whether the break moved again.
    pub(crate) fn stands(&self) -> bool {
        self.later && self.failures.is_none_or(|[with, without]| directly::fails_less(with, without))
    }

    /// Whether other programs used most of the machine when one of the trials broke.
    pub(crate) fn is_crowded(&self) -> bool {
        [Some(&self.changed), self.unchanged.as_ref()].into_iter().flatten().any(|judged| judged.crowded().is_some())
    }

    /// As it is told.
    pub(crate) fn told(&self) -> finding::Again {
        finding::Again {
            trial: self.changed.trial.number,
            unchanged: self.unchanged.as_ref().map(|judged| Unchanged { trial: judged.trial.number }),
            later: self.later,
            failures: self.failures,
        }
    }
}

fn spoilt<'r>(judged: &JudgedTrial<'_>) -> Option<Repeated<'r>> {
    match () {
        () if !proof::is_whole(judged.trial) => Some(Repeated::Cut),
        () if !judged.client.finding.valid => Some(Repeated::Invalid),
        () if judged.is_silent() => Some(Repeated::Cut),
        () => None,
    }
}

/// What broke before the change, once more.
fn unchanged(at: &JudgedTrial<'_>, attempt: &Attempt<'_>, plan: &Plan) -> TrialPlan {
    let load = &at.trial.started.load;
    TrialPlan {
        changes: at.trial.started.changes.clone(),
        level: demand::asked(load),
        ramp: Span::from_secs_f64(demand::ramp(load)),
        ..attempt.trial(plan)
    }
}

/// Failures with the change while the load was at most as large as one that broke the system without it, and those without; none where
/// something else broke.
fn failures(unchanged: [&JudgedTrial<'_>; 2], changed: [&JudgedTrial<'_>; 2]) -> Option<[Failures; 2]> {
    let broke = unchanged[0].broke.as_ref()?;
    let failed = matches!(onset::condition(broke), Some(Condition::ErrorsBelow(_))) && broke.waiting.is_none();
    let level = unchanged.iter().filter_map(|one| one.broke.as_ref()).map(|broke| broke.level).fold(0.0, f64::max);
    let both = |a: Failures, b: Failures| Failures { failed: a.failed + b.failed, of: a.of + b.of };
    let with = changed.map(|one| directly::below(one, level)).into_iter().reduce(both)?;
    let without = unchanged.map(|one| directly::sum(&one.trial.ticks)).into_iter().reduce(both)?;
    (failed && with.of > 0 && without.failed > 0).then_some([with, without])
}
