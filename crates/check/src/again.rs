//! Tests of which no formula tells, that were made a second time.

use genkai_model::limit::{Law, Limit};
use genkai_model::objective::Condition;
use serde_json::{Value as Json, json};

use crate::asked::TOLERANCE;
use crate::broken::{self, Judged};
use crate::counted;
use crate::events::{Line, failed, sum};
use crate::generator::STEEP;
use crate::intervals::{self, Counts};
use crate::moved::{blur, size};

/// How two breaks are told apart where no formula says how far the second should be.
#[derive(Clone, Copy)]
pub(crate) struct Farther {
    /// Whether the same setting has moved the break before.
    pub(crate) further: bool,
    /// Up to where the objective must hold.
    pub(crate) goal: f64,
}

/// What became of it.
pub(crate) enum Second {
    /// None was to be made.
    None,
    /// One was to be made, and was not or not to its end: with what ends the search, if it did.
    Missing(Option<Ended>),
    /// It was made: whether the break moved again, as a verdict tells it, and the trials.
    Made { stands: bool, told: Json },
}

/// Why it is missing.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    Open,
    Cut,
    Invalid,
}

impl Farther {
    /// Whether `after`, in which `lifted` has another value, broke clearly later than `before`, or did not.
    pub(crate) fn is(self, lifted: &Limit, before: &Judged<'_>, after: &Judged<'_>) -> bool {
        let Some(was) = size(before) else { return false };
        let Some(now) = size(after) else { return true };
        let enough = self.further && now > was && now >= self.goal;
        (enough || now > 1.25 * was + blur(before)) && after.asked.ramp >= STEEP
            || counted::moves(lifted, before, after)
    }
}

/// Whether a test that moved the break is to be made again: no formula tells of it, and no pairs will.
pub(crate) fn is_due(lifted: &Limit, after: &Judged<'_>, goal: f64, pairs: f64) -> bool {
    matches!(lifted.law, Law::Tried { .. }) && (pairs == 0.0 || after.level().is_some_and(|level| level < goal))
}

/// Whether a trial is one of a second test.
pub(crate) fn is_second(one: &Judged<'_>) -> bool {
    one.trial.start.text("/purpose") == "repeat"
}

/// Reads the second test of a change from the trials that follow the first.
pub(crate) fn second<'a, 'e: 'a>(
    (before, after): (&Judged<'e>, &Judged<'e>),
    (lifted, farther): (&Limit, Farther),
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a Judged<'e>>>,
    beside: impl Fn(&Judged<'e>) -> bool,
) -> (Second, bool) {
    let repeats = |one: &&Judged<'e>| is_second(one);
    let Some(changed) = rest.next_if(repeats) else {
        let ended = rest.peek().is_none().then_some(Ended::Open);
        return (Second::Missing(ended), false);
    };
    let changed = changed.beyond(farther.goal);
    if let Some(why) = spoilt(&changed) {
        return (Second::Missing(Some(why)), false);
    }
    let mut hindered = beside(&changed);
    let mut told = json!({ "trial": changed.trial.number, "later": false });
    if !farther.is(lifted, before, &changed) {
        return (Second::Made { stands: false, told }, hindered);
    }
    let Some(unchanged) = rest.next_if(repeats) else { return (Second::Missing(Some(Ended::Open)), false) };
    if let Some(why) = spoilt(unchanged) {
        return (Second::Missing(Some(why)), false);
    }
    hindered |= beside(unchanged);
    told["unchanged"] = json!({ "trial": unchanged.trial.number });
    let later = farther.is(lifted, unchanged, after) && farther.is(lifted, unchanged, &changed);
    told["later"] = later.into();
    let counts =
        counts([before, unchanged], [after, &changed]).filter(|_| later && !counted::moves(lifted, unchanged, after));
    if let Some(both) = counts {
        told["failures"] = both.iter().map(|(bad, all)| json!({ "failed": *bad as u64, "of": *all as u64 })).collect();
    }
    // A failure at random comes as often at any load.
    let rarer = counts.is_none_or(|[with, without]| intervals::differ(with, without, intervals::ALPHA).0 > 0.0);
    (Second::Made { stands: later && rarer, told }, hindered)
}

fn spoilt(judged: &Judged<'_>) -> Option<Ended> {
    if !judged.is_whole() {
        return Some(Ended::Cut);
    }
    if !judged.generator.is_valid() {
        return Some(Ended::Invalid);
    }
    (judged.onset.is_none() && judged.is_silent()).then_some(Ended::Cut)
}

/// Failures of all with the change, up to the load that broke any without it, and of all without it; none where failures are not what broke.
fn counts(without: [&Judged<'_>; 2], with: [&Judged<'_>; 2]) -> Option<[Counts; 2]> {
    let onset = without[0].onset?;
    let errors = matches!(onset.condition, Some(Condition::ErrorsBelow(_))) && broken::waits(&onset) == 0.0;
    let most = without.iter().filter_map(|one| one.level()).fold(0.0, f64::max) * (1.0 + TOLERANCE) + 1.0;
    let count = |all: [&Judged<'_>; 2], most: f64| {
        let ticks: Vec<&Line> = all.iter().flat_map(|one| one.trial.ticks()).collect();
        let ticks: Vec<&Line> = ticks.into_iter().filter(|tick| tick.number("/level") <= most).collect();
        let bad: f64 = ticks.iter().map(|tick| failed(tick)).sum();
        (bad, bad + sum(&ticks, "/ok"))
    };
    let (with, without) = (count(with, most), count(without, f64::INFINITY));
    (errors && with.1 > 0.0 && without.0 > 0.0).then_some([with, without])
}
