//! The highest rate that each contender holds, over rounds, and who differs in it.
//!
//! A round knows a rate that held and one that did not; what lies between is not known. The interval of a mean over rounds therefore is
//! Student's, on logarithms of the middles, and on either side half of the mean distance between the two.

use genkai_model::cache::Warmth;
use genkai_model::finding::cache::{BestRate, RateFinding, RateRepeat};
use genkai_model::finding::{Estimate, RankedPair};
use genkai_model::units::Range;

use super::{Context, search};
use crate::effect::{self, Match};
use crate::statistics::{self, ALPHA};

/// What is known of all contenders, cold and warm; nothing where nothing was looked for.
pub(super) fn of(context: &Context<'_>) -> Vec<RateFinding> {
    [Warmth::Cold, Warmth::Warm].into_iter().filter_map(|warmth| one(context, warmth)).collect()
}

fn one(context: &Context<'_>, warmth: Warmth) -> Option<RateFinding> {
    let (mut standings, mut loads, mut unsettled) = (Vec::new(), 0, 0);
    for contender in &context.plan.contenders {
        let tried = search::tried(&context.seen, &contender.name, warmth, context.objective, |_| true);
        loads += tried.len() as u32;
        unsettled += tried.iter().filter(|one| one.unsettled).count() as u32;
        let repeats = search::repeats(&tried);
        if !repeats.is_empty() {
            let rate = mean(&brackets(&repeats).map(|(_, bracket)| bracket).collect::<Vec<_>>(), ALPHA);
            let rate = rate.map(Mean::estimate);
            standings.push(BestRate { name: contender.name.clone(), rate, best: 1, worst: 1, repeats });
        }
    }
    let value = |one: &BestRate| one.rate.map_or(0.0, |rate| rate.value);
    standings.sort_by(|a, b| value(b).total_cmp(&value(a)));
    let pairs = pairs(&standings);
    let ranks = effect::ranks_by(standings.iter().map(|one| &one.name), &pairs);
    standings.iter_mut().for_each(|one| (one.best, one.worst) = ranks[&one.name]);
    (loads > 0).then_some(RateFinding { warmth, standings, pairs, loads, unsettled })
}

/// Rounds that found both, with what held and what did not.
fn brackets(repeats: &[RateRepeat]) -> impl Iterator<Item = (u32, (f64, f64))> + '_ {
    repeats.iter().filter_map(|one| Some((one.round, (one.holds?, one.fails?))).filter(|_| !one.client_limited))
}

/// A mean over rounds of what is known only between two bounds.
#[derive(Clone, Copy, Debug)]
struct Mean {
    /// Of the middles: what more rounds make narrower.
    middle: Estimate,
    /// Half the mean distance between the bounds, as a factor: what more rounds leave.
    half: f64,
}

fn mean(brackets: &[(f64, f64)], alpha: f64) -> Option<Mean> {
    let middles: Vec<f64> = brackets.iter().map(|(low, high)| (low * high).sqrt()).collect();
    let middle = statistics::geometric(&middles, alpha)?;
    let halves: f64 = brackets.iter().map(|(low, high)| (high / low).ln() / 2.0).sum();
    Some(Mean { middle, half: (halves / brackets.len() as f64).exp() })
}

impl Mean {
    fn estimate(self) -> Estimate {
        let Range { low, high } = self.middle.interval;
        Estimate { interval: Range { low: low / self.half, high: high * self.half }, ..self.middle }
    }

    /// How many more rounds would make the ratio of two certain: the spread must fall below what the bounds leave of it.
    fn more(self, alpha: f64) -> Option<u32> {
        let away = self.middle.value.max(1.0 / self.middle.value) / self.half;
        let factor = away / self.middle.value;
        let Range { low, high } = self.middle.interval;
        let left =
            Estimate { value: away, interval: Range { low: low * factor, high: high * factor }, n: self.middle.n };
        effect::needed(left, 1.0, effect::ratio_margin(0.0), alpha, alpha).filter(|_| away > 1.0)
    }
}

/// Rates of the same round are compared with each other. Rounds in which the client was the limit are left out, and in them a contender
/// may have been faster than in the others: it is not certainly behind anybody.
fn pairs(standings: &[BestRate]) -> Vec<RankedPair> {
    let known: Vec<&BestRate> = standings.iter().filter(|one| one.rate.is_some()).collect();
    let count = known.len() * known.len().saturating_sub(1) / 2;
    let alpha = ALPHA / count.max(1) as f64;
    let pair = |(first, second): (usize, usize)| {
        let other: Vec<(u32, (f64, f64))> = brackets(&known[second].repeats).collect();
        let ratios = brackets(&known[first].repeats).filter_map(|(round, (low, high))| {
            let (_, (least, most)) = other.iter().find(|(n, _)| *n == round)?;
            Some((low / most, high / least))
        });
        let mean = mean(&ratios.collect::<Vec<_>>(), alpha)?;
        let one = Match::of(first, second, mean.middle);
        let (faster, slower, mean) = (known[one.more], known[one.less], Mean { middle: one.ratio, ..mean });
        let ratio = mean.estimate();
        let measured = !slower.repeats.iter().any(|repeat| repeat.client_limited);
        let certain = measured && effect::excludes(ratio, 1.0);
        let more = if measured && !certain { mean.more(alpha) } else { None };
        let (faster, slower) = (faster.name.clone(), slower.name.clone());
        Some(RankedPair { faster, slower, ratio, certain, more, clock_uncertainty: None })
    };
    let each = (0..known.len()).flat_map(|first| (first + 1..known.len()).map(move |second| (first, second)));
    each.filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_distr::{Distribution, LogNormal};
    use rand_pcg::Pcg64Mcg;

    use super::*;
    use crate::cache::search::tests::simulated;

    /// Of the intervals of a few short searches 95 in 100 and more have the capacity in them, however much it strays from round to
    /// round and however coarse the steps are.
    #[test]
    fn intervals_hold_what_they_promise() {
        for (spread, rounds) in [(0.005, 3), (0.03, 3), (0.15, 3), (0.03, 5), (0.15, 5)] {
            let mut random = Pcg64Mcg::seed_from_u64(1);
            let law = LogNormal::new(3_000.0_f64.ln(), spread).unwrap();
            let found = (0..1_000).filter_map(|_| {
                let repeats = simulated(rounds, || law.sample(&mut random));
                mean(&brackets(&repeats).map(|(_, bracket)| bracket).collect::<Vec<_>>(), ALPHA)
            });
            let found: Vec<Estimate> = found.map(Mean::estimate).collect();
            let held = found.iter().filter(|rate| (rate.interval.low..=rate.interval.high).contains(&3_000.0)).count();
            assert!(found.len() >= 990, "spread {spread}, {rounds} rounds: {} searches found both sides", found.len());
            // The standard error of 95 in 100 is 0.7 at 1,000.
            assert!(held * 100 >= found.len() * 93, "spread {spread}, {rounds} rounds: {held} of {}", found.len());
        }
    }

    /// A contender and what each round found: the middle of two bounds that are 2 % apart; none: the client was the limit.
    fn held(name: &str, middles: [Option<f64>; 4]) -> BestRate {
        let repeat = |(n, middle): (usize, Option<f64>)| RateRepeat {
            round: n as u32 + 1,
            holds: middle.map(|rate| rate / 1.01),
            fails: middle.map(|rate| rate * 1.01),
            loads: 3,
            client_limited: middle.is_none(),
        };
        let repeats: Vec<RateRepeat> = middles.into_iter().enumerate().map(repeat).collect();
        let rate = mean(&brackets(&repeats).map(|(_, bracket)| bracket).collect::<Vec<_>>(), ALPHA).map(Mean::estimate);
        BestRate { name: name.to_owned(), rate, best: 1, worst: 1, repeats }
    }

    #[test]
    fn who_is_faster_in_common_rounds_is_the_faster() {
        // The first has the higher mean by a round that the other does not have.
        let first = held("a", [Some(1_000.0), Some(1_010.0), Some(1_005.0), Some(9_000.0)]);
        let second = held("b", [Some(1_300.0), Some(1_310.0), Some(1_305.0), None]);
        let pairs = pairs(&[first, second]);
        let pair = &pairs[0];
        assert_eq!((&*pair.faster, &*pair.slower, pair.certain), ("b", "a", true), "{pair:?}");
        assert!((1.29..1.31).contains(&pair.ratio.value) && pair.ratio.interval.low > 1.0, "{pair:?}");
        let names = ["a", "b"].map(str::to_owned);
        let ranks = effect::ranks_by(names.iter(), &pairs);
        assert_eq!([ranks["a"], ranks["b"]], [(2, 2), (1, 1)]);
    }

    /// Its best round is the one that is left out.
    #[test]
    fn who_was_held_up_by_the_client_in_a_round_is_not_behind_others() {
        let rates = [1_300.0, 1_310.0, 1_305.0, 1_300.0];
        let behind = |last: Option<f64>| {
            let slower = held("b", [Some(1_000.0), Some(1_010.0), Some(1_005.0), last]);
            pairs(&[held("a", rates.map(Some)), slower]).remove(0)
        };
        assert!(behind(Some(1_000.0)).certain);
        let pair = behind(None);
        assert!(!pair.certain && pair.more.is_none() && pair.ratio.interval.low > 1.0, "{pair:?}");
    }

    #[test]
    fn more_rounds_help_where_the_spread_hides_a_difference_and_not_where_the_steps_do() {
        let spread = mean(&[(1.0, 1.4), (1.1, 1.2), (1.1, 1.6)], ALPHA).unwrap();
        assert!(!effect::excludes(spread.estimate(), 1.0) && spread.more(ALPHA).is_some(), "{spread:?}");
        let coarse = mean(&[(0.9, 1.2), (0.9, 1.2), (0.9, 1.21)], ALPHA).unwrap();
        assert_eq!(coarse.more(ALPHA), None, "{coarse:?}");
    }
}
