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

/// Whether ever more requests waited for an answer, all the time that the highest rate was held, or the last one, or in the later half of the way to the
/// highest: those that waited grew from third to third of that time, answers did not come faster, and each came later than those before. (Where an answer merely
/// takes long, the last two are not so.)
pub(crate) fn is(trial: &Trial, demand: &Demand) -> bool {
    demand.is_open() && [at_most(&trial.ticks), at_last(&trial.ticks)].into_iter().flatten().any(grows)
}

/// Whether that is so in these intervals.
fn grows(held: &[Tick]) -> bool {
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

fn enough(held: &&[Tick]) -> bool {
    held.len() >= 3 * FEWEST
}

/// The last intervals in which a load had its highest rate, without the first of them, in which it may have become so; where these are few, the later
/// half of all up to the last of them.
fn at_most(ticks: &[Tick]) -> Option<&[Tick]> {
    let level = ticks.iter().map(|tick| tick.level).reduce(f64::max).filter(|level| *level > 0.0)?;
    let until = &ticks[..=ticks.iter().rposition(|tick| tick.level == level)?];
    constant(until).or(Some(&until[until.len() / 2..]).filter(enough))
}

/// Those at the end of a load in which its rate was constant.
fn at_last(ticks: &[Tick]) -> Option<&[Tick]> {
    constant(ticks).filter(|held| held.iter().all(|tick| tick.level > 0.0))
}

/// The last of constant rate, without the first of them.
fn constant(ticks: &[Tick]) -> Option<&[Tick]> {
    let level = ticks.last()?.level;
    ticks.rsplit(|tick| tick.level != level).next()?.get(1..).filter(enough)
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

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    /// Intervals of a fifth of a second at these rates, of which so many a second are answered at most, in the order in which they come.
    fn ticks(rates: &[f64], passes: f64) -> Vec<Tick> {
        let (mut came, mut ended) = (0.0, 0.0);
        let one = |(i, rate): (usize, &f64)| {
            came += rate * 0.2;
            let answered = (passes * 0.2_f64).min(came - ended);
            ended += answered;
            let waits = (came - ended) / passes;
            let mut latency = Histogram::<u64>::new_with_bounds(1_000, 3_600_000_000_000, 3).unwrap();
            latency.record_n(20_000_000 + (waits * 1e9) as u64, answered.round() as u64).unwrap();
            Tick {
                from_us: i as u64 * 200_000,
                to_us: (i as u64 + 1) * 200_000,
                level: *rate,
                in_flight: (came - ended).round() as u64,
                ok: answered.round() as u64,
                latency: genkai_model::histogram::Payload::encode(&latency),
                ..Tick::default()
            }
        };
        rates.iter().enumerate().map(one).collect()
    }

    fn is_outpaced(rates: &[f64], passes: f64) -> bool {
        let ticks = ticks(rates, passes);
        [at_most(&ticks), at_last(&ticks)].into_iter().flatten().any(grows)
    }

    #[test]
    fn a_rate_that_rises_or_is_held_and_is_not_carried_is_seen() {
        let rising: Vec<f64> = (1..=30).map(|i| f64::from(i) * 10.0).collect();
        assert!(is_outpaced(&rising, 90.0), "it rises to the end");
        assert!(!is_outpaced(&rising, 400.0), "it is carried");
        let peak: Vec<f64> = rising.iter().copied().chain((0..20).map(|_| 20.0)).collect();
        assert!(is_outpaced(&peak, 90.0), "what comes after the peak is carried");
        let plateau: Vec<f64> = [50.0; 3].into_iter().chain([300.0; 3]).chain([120.0; 30]).collect();
        assert!(is_outpaced(&plateau, 90.0), "and what is held after a short peak is not");
        assert!(!is_outpaced(&plateau, 500.0));
    }
}
