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
use crate::moved::{self, blur, size};
use crate::scan::Onset;

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
    /// It was made: whether the break moved each time, and the trials as a verdict tells them.
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

/// Reads the second test of a change, and those after it, from the trials that follow the first.
pub(crate) fn second<'a, 'e: 'a>(
    (before, after): (&Judged<'e>, &Judged<'e>),
    (lifted, farther): (&Limit, Farther),
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a Judged<'e>>>,
    beside: impl Fn(&Judged<'e>) -> bool,
) -> (Second, bool) {
    // Without the change, and with it.
    let mut all = [vec![before.clone()], vec![after.clone()]];
    let (mut hindered, mut more) = (false, None);
    let later = loop {
        let made = all[0].len() + all[1].len() - 2;
        // With, without, without, with, with, ...
        let with = usize::from(made % 4 == 0 || made % 4 == 3);
        let Some(one) = rest.next_if(|one| is_second(one)) else {
            let open = made > 0 || rest.peek().is_none();
            return (Second::Missing(open.then_some(Ended::Open)), false);
        };
        let one = if with == 1 { one.beyond(farther.goal) } else { one.clone() };
        if let Some(why) = spoilt(&one) {
            return (Second::Missing(Some(why)), false);
        }
        hindered |= beside(&one);
        let later = all[1 - with].iter().all(|other| match with {
            1 => farther.is(lifted, other, &one),
            _ => farther.is(lifted, &one, other),
        });
        all[with].push(one);
        if !later {
            break false;
        }
        let tries = [all[0].len(), all[1].len()];
        if tries == [2, 2] && !counted::moves(lifted, &all[0][1], after) {
            let ended = has_ended(&all[0][1]) || has_ended(&all[1][1]);
            let apart = all.iter().any(|two| moved::are_apart(&two[0], &two[1]));
            more = (ended || apart).then_some((ended, apart));
        }
        if tries == [2, 2] && more.is_none() || tries == [5, 5] {
            break true;
        }
    };
    let [without, with] = &all;
    let mut told = json!({ "trial": with[1].trial.number, "later": later });
    if let Some(one) = without.get(1) {
        told["unchanged"] = json!({ "trial": one.trial.number });
    }
    if let Some((ended, apart)) = more {
        told["more"] = json!({ "ended": ended, "apart": apart, "with": with.len(), "without": without.len() });
    }
    let counted = || counted::moves(lifted, &without[1], after);
    let counts = counts(without, with).filter(|_| later && !counted());
    if let Some(both) = counts {
        told["failures"] = both.iter().map(|(bad, all)| json!({ "failed": *bad as u64, "of": *all as u64 })).collect();
    }
    // A failure at random comes as often at any load.
    let rarer = counts.is_none_or(|[with, without]| intervals::differ(with, without, intervals::ALPHA).0 > 0.0);
    (Second::Made { stands: later && rarer, told }, hindered)
}

/// Whether requests failed, and no more for a second, while no less load was there: as many as were answered then would have had five failures or more.
fn has_ended(judged: &Judged<'_>) -> bool {
    let (Some(onset), Some(level)) = (judged.onset.filter(fails), judged.level()) else { return false };
    let (mut bad, mut all, mut good) = (0.0, 0.0, Vec::new());
    for tick in judged.trial.ticks() {
        if tick.number("/to_us") <= onset.at_us as f64 {
            continue;
        }
        if failed(tick) == 0.0 && tick.number("/waiting/overdue") == 0.0 && tick.number("/level") >= level {
            good.push(tick);
            let lasted: f64 = good.iter().map(|tick| tick.number("/to_us") - tick.number("/from_us")).sum();
            if lasted >= 1e6 && sum(&good, "/ok") * bad >= 5.0 * f64::max(all, 1.0) {
                return true;
            }
        } else {
            bad += failed(tick);
            all += failed(tick) + tick.number("/ok") + sum(&good, "/ok");
            good.clear();
        }
    }
    false
}

/// Whether failures are what broke.
fn fails(onset: &Onset) -> bool {
    matches!(onset.condition, Some(Condition::ErrorsBelow(_))) && broken::waits(onset) == 0.0
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

/// Failures of all with the change, and of all without it, up to the load that broke any without it; none where failures are not what broke.
fn counts(without: &[Judged<'_>], with: &[Judged<'_>]) -> Option<[Counts; 2]> {
    let errors = without.first()?.onset.is_some_and(|onset| fails(&onset));
    let most = without.iter().filter_map(|one| one.level()).fold(0.0, f64::max) * (1.0 + TOLERANCE) + 1.0;
    let count = |all: &[Judged<'_>], most: f64| {
        let ticks: Vec<&Line> = all.iter().flat_map(|one| one.trial.ticks()).collect();
        let ticks: Vec<&Line> = ticks.into_iter().filter(|tick| tick.number("/level") <= most).collect();
        let bad: f64 = ticks.iter().map(|tick| failed(tick)).sum();
        (bad, bad + sum(&ticks, "/ok"))
    };
    let (with, without) = (count(with, most), count(without, most));
    (errors && with.1 > 0.0 && without.0 > 0.0).then_some([with, without])
}
