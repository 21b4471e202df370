//! Open loads that are not carried: requests come faster than they are answered, so that at the highest rate, or on the way there, ever more wait. No
//! condition on errors is violated by that, and none on latency need be yet: a load that ends a little later would be judged otherwise.

use genkai_model::event::Tick;
use genkai_model::record::Trial;

use crate::capacity::Demand;
use crate::window::{self, Tally};

/// Fewest intervals in a third of the time at a constant rate.
const FEWEST: usize = 3;
/// Least part of what comes by which those that wait must become more.
const PART: f64 = 0.1;
/// How many standard deviations of what comes (as if it came by chance) are no chance.
const CHANCE: f64 = 3.0;
/// Least growth from one third to the next, as a part of the other: what levels off was on its way to a steady state.
const STEADY: f64 = 0.5;

/// Whether ever more requests waited for an answer, all the time that the highest rate was held, or in the later half of the way there: those that
/// waited grew from third to third of that time, answers did not come faster, and each came later than those before. (Where an answer merely
/// takes long, the last two are not so.)
pub(crate) fn is(trial: &Trial, demand: &Demand) -> bool {
    let Some(held) = held(&trial.ticks).filter(|_| demand.is_open()) else { return false };
    let third = held.len() / 3;
    let held = &held[held.len() - 3 * third..];
    let [first, middle, last] = [0, 1, 2].map(|n| &held[n * third..(n + 1) * third]);
    let waited = [first, middle, last].map(waiting);
    let (early, late) = (waited[1] - waited[0], waited[2] - waited[1]);
    let comes: f64 = held.iter().map(|tick| tick.level * window::length(tick)).sum();
    let grown = early + late;
    let grows = early.min(late) >= STEADY * early.max(late) && grown >= (PART * comes).max(CHANCE * comes.sqrt());
    grows && !is_faster(first, last) && later(first, last).is_some_and(|by| by >= STEADY * grown / last[0].level)
}

/// The last intervals in which a load had its highest rate, without the first of them, in which it may have become so; where these are few, the later
/// half of all up to the last of them.
fn held(ticks: &[Tick]) -> Option<&[Tick]> {
    let level = ticks.iter().map(|tick| tick.level).reduce(f64::max).filter(|level| *level > 0.0)?;
    let until = &ticks[..=ticks.iter().rposition(|tick| tick.level == level)?];
    let constant = until.rsplit(|tick| tick.level != level).next()?;
    let enough = |held: &&[Tick]| held.len() >= 3 * FEWEST;
    constant.get(1..).filter(enough).or(Some(&until[until.len() / 2..]).filter(enough))
}

/// How many waited, the mean over intervals.
fn waiting(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|tick| tick.in_flight as f64).sum::<f64>() / ticks.len() as f64
}

/// Whether more came to an end in `last` than in `first`, by more than chance and a tenth.
fn is_faster(first: &[Tick], last: &[Tick]) -> bool {
    let [before, after] = [first, last].map(|ticks| Tally::of(ticks).finished() as f64);
    after > before * (1.0 + PART) + CHANCE * before.sqrt()
}

/// By how much longer an answer took in `last` than in `first`, seconds; none where one of them has none.
fn later(first: &[Tick], last: &[Tick]) -> Option<f64> {
    let all = [first, last].map(|ticks| window::merge(ticks, |tick| &tick.latency));
    let [before, after] = &all;
    (!before.is_empty() && !after.is_empty()).then(|| (after.mean() - before.mean()) / 1e9)
}
