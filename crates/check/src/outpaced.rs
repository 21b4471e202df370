//! Whether a rate was not carried: ever more waited while it was constant.

use crate::broken::Judged;
use crate::events::{Line, failed, merged};

/// Whether at a constant rate those that waited became more and more, by what was answered and how late.
pub(crate) fn is(judged: &Judged<'_>) -> bool {
    if judged.asked.users {
        return false;
    }
    let rate = |tick: &&Line| tick.number("/level");
    let ticks = judged.trial.ticks();
    let highest = ticks.iter().map(rate).fold(0.0, f64::max);
    let mut risen = ticks.clone();
    while risen.last().is_some_and(|tick| rate(tick) < highest) {
        risen.pop();
    }
    let same = |all: &[&Line]| {
        let last = all.last().map_or(0.0, rate);
        if last > 0.0 { all.iter().rev().take_while(|tick| rate(tick) == last).count() } else { 0 }
    };
    // The first of them may have begun at another rate; where they are too few on top, what came in the later half is looked at.
    let top = if same(&risen) > 9 { same(&risen) - 1 } else { risen.len().div_ceil(2) };
    let end = if same(&ticks) > 9 { same(&ticks) - 1 } else { 0 };
    piles_up(&risen, top) || piles_up(&ticks, end)
}

/// Whether that is so in the last `looked` of these intervals.
fn piles_up(ticks: &[&Line], looked: usize) -> bool {
    let rate = |tick: &&Line| tick.number("/level");
    let each = looked / 3;
    if each < 3 {
        return false;
    }
    let part = |back: usize| &ticks[ticks.len() - back * each..ticks.len() - (back - 1) * each];
    let waited = |back: usize| part(back).iter().map(|tick| tick.number("/in_flight")).sum::<f64>() / each as f64;
    let came = (1..=3).flat_map(part).map(|tick| rate(tick) * seconds(tick)).sum::<f64>();
    let level = rate(&part(1)[0]);
    let (early, late) = (waited(2) - waited(3), waited(1) - waited(2));
    let steady = early >= 0.5 * late && late >= 0.5 * early;
    let ended = |back: usize| part(back).iter().map(|tick| tick.number("/ok") + failed(tick)).sum::<f64>();
    let faster = ended(1) > 1.1 * ended(3) + 3.0 * ended(3).sqrt();
    let took = |back: usize| {
        let all = merged(part(back), "/latency");
        (all.count() > 0).then(|| all.sum() / all.count() as f64)
    };
    let grown = early + late;
    let later = took(1).zip(took(3)).is_some_and(|(last, first)| last - first >= 0.5 * grown / level);
    steady && grown >= 0.1 * came && grown >= 3.0 * came.sqrt() && !faster && later
}

/// How long an interval was.
fn seconds(tick: &&Line) -> f64 {
    (tick.number("/to_us") - tick.number("/from_us")) / 1e6
}
