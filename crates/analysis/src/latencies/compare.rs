//! Contenders against each other in one case.
//!
//! Figures are times; their logarithms are compared, round with the same round, so that what drifts meets both. With one start
//! of the servers a round is an observation; with several, a start is (its rounds share one process, one compiled code, one
//! layout of memory, and are no independent observations: Georges, Buytaert, Eeckhout, "Statistically Rigorous Java Performance
//! Evaluation", OOPSLA 2007). Intervals of pairs hold for all pairs of the case together.

use std::collections::BTreeMap;

use genkai_model::finding::RankedPair;
use genkai_model::finding::latencies::{CaseFinding, LatencyStanding, MeasuredRound};
use genkai_model::histogram::empty;
use genkai_model::latencies::{Case, LatencyComparison, Round};
use genkai_model::record::Trial;

use super::Counted;
use crate::effect::{self, Match, Paired};
use crate::statistics::{self, ALPHA};
use crate::window;

/// Part of the time from which on a client that moves one large message is taken for the limit.
pub(super) const BUSY: f64 = 0.9;

/// What is observed of one contender: by start, and by round where there is one start only.
type Observations = BTreeMap<(u32, u32), f64>;

/// What is observed of one contender, and what it would have been if clocks of other machines were as wrong as they may be.
struct Observed {
    figures: Observations,
    /// With all clocks wrong one way, and the other; the first may be nothing.
    least: Observations,
    most: Observations,
}

/// One case.
pub(super) fn case(comparison: &LatencyComparison, counted: &Counted<'_>, case: Case) -> CaseFinding {
    let several = comparison.starts > 1;
    let mut standings: Vec<(LatencyStanding, Observed, bool)> = Vec::new();
    for contender in &comparison.contenders {
        let rounds: Vec<_> = counted.of_one(&contender.name, case).collect();
        if !rounds.is_empty() {
            let of = |by: fn(f64, f64) -> f64| observations(&rounds, several, by);
            let observed = Observed {
                figures: of(|figure, _| figure),
                least: of(|figure, wrong| (figure - wrong).max(0.0)),
                most: of(|figure, wrong| figure + wrong),
            };
            let standing = standing(&contender.name, &rounds, &observed.figures);
            standings.push((standing, observed, busy(&rounds) > BUSY));
        }
    }
    let by = |standing: &LatencyStanding| standing.figure.map_or(f64::INFINITY, |figure| figure.value);
    standings.sort_by(|a, b| by(&a.0).total_cmp(&by(&b.0)));
    let (pairs, within_clocks) = pairs(&standings);
    let mut standings: Vec<LatencyStanding> = standings.into_iter().map(|(standing, ..)| standing).collect();
    let ranked = comparison.contenders.iter().filter(|one| !one.reference).map(|one| &one.name);
    let ranks = effect::ranks_by(ranked.filter(|name| standings.iter().any(|one| one.name == **name)), &pairs);
    standings.iter_mut().for_each(|one| (one.best, one.worst) = ranks.get(&one.name).copied().unwrap_or_default());
    CaseFinding { case, standings, told_apart: pairs.iter().any(|pair| pair.certain), pairs, within_clocks }
}

/// Part of the time in which the client's thread was busy, the mean; 0 where the client is no part of the figure: several
/// clients' receipts are stamped by the kernel, and what each sends carries its own instant.
pub(super) fn busy(rounds: &[(&Trial, i64, &Round)]) -> f64 {
    let large = rounds.iter().filter(|(_, _, round)| matches!(round.case, Case::Give { .. }));
    let all: Vec<f64> = large.map(|(_, _, round)| round.client_busy).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// `by`: what counts of a figure and of how wrong clocks may have made it.
fn observations(rounds: &[(&Trial, i64, &Round)], several: bool, by: impl Fn(f64, f64) -> f64) -> Observations {
    let wrong = |round: &Round| round.clock_ns().unwrap_or(0) as f64 / 1e9;
    let figure = |round: &Round| round.figure_ns.filter(|ns| *ns > 0).map(|ns| by(ns as f64 / 1e9, wrong(round)));
    let all = rounds.iter().filter_map(|(trial, _, round)| Some(((trial.number, round.round), figure(round)?)));
    if !several {
        return all.collect();
    }
    let mut starts: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for ((start, _), figure) in all {
        starts.entry(start).or_default().push(figure.ln());
    }
    let mean = |logs: &[f64]| (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    starts.into_iter().map(|(start, logs)| ((start, 0), mean(&logs))).collect()
}

fn standing(name: &str, rounds: &[(&Trial, i64, &Round)], observations: &Observations) -> LatencyStanding {
    let values: Vec<f64> = observations.values().copied().collect();
    let mut delays = empty();
    for (_, _, round) in rounds {
        // A payload that is none adds nothing.
        let _ = round.delays.add_to(&mut delays);
    }
    LatencyStanding {
        name: name.to_owned(),
        figure: statistics::geometric(&values, ALPHA),
        best: 0,
        worst: 0,
        rounds: rounds.iter().map(|(trial, at, round)| observed(trial, *at, round)).collect(),
        failed: rounds.iter().filter(|(_, _, round)| round.figure_ns.is_none()).count() as u32,
        median: window::quantile(&delays, 0.5),
        p99: window::quantile(&delays, 0.99),
        clock_uncertainty: rounds.iter().filter_map(|(_, _, round)| round.clock_ns()).max().map(|ns| ns as f64 / 1e9),
    }
}

/// A round with the pauses of its contender's collector within it.
fn observed(trial: &Trial, at: i64, round: &Round) -> MeasuredRound {
    let began = at.saturating_sub_unsigned(round.lasted.0 / 1000);
    let within = trial.collections.iter().filter(|(end, pause)| {
        pause.contender == round.contender && *end >= began && end.saturating_sub_unsigned(pause.lasted_ns / 1000) <= at
    });
    MeasuredRound {
        start: trial.number,
        round: round.round,
        figure: round.figure_ns.map(|ns| ns as f64 / 1e9),
        paused: within.map(|(_, pause)| pause.lasted_ns as f64 / 1e9).sum(),
    }
}

/// Each two contenders of which there are observations of the same rounds; and how many of them only the clocks keep from being told apart.
fn pairs(standings: &[(LatencyStanding, Observed, bool)]) -> (Vec<RankedPair>, u32) {
    let observations: Vec<&Observations> = standings.iter().map(|(_, observed, _)| &observed.figures).collect();
    let name = |place: usize| standings[place].0.name.clone();
    let is_busy = |place: usize| standings[place].2;
    let count = standings.len() * standings.len().saturating_sub(1) / 2;
    let mut within_clocks = 0;
    // A figure is a time: who has less of it is faster.
    let pair = |one: Match| {
        let (faster, slower) = (&standings[one.less], &standings[one.more]);
        let differ = one.is_certain() && !(is_busy(one.less) && is_busy(one.more));
        let certain = differ && whatever_clocks_say(&faster.1, &slower.1, ALPHA / count as f64);
        within_clocks += u32::from(differ && !certain);
        let clocks = [faster, slower].map(|one| one.0.clock_uncertainty);
        RankedPair {
            faster: name(one.less),
            slower: name(one.more),
            ratio: one.ratio,
            certain,
            more: None,
            clock_uncertainty: clocks.into_iter().flatten().reduce(|one, other| one + other),
        }
    };
    let pairs = effect::each_with_each(&observations).into_iter().map(pair).collect();
    (pairs, within_clocks)
}

/// Whether one is faster than the other for certain even if all clocks of other machines were wrong in its favour, by as much as they may be.
fn whatever_clocks_say(faster: &Observed, slower: &Observed, alpha: f64) -> bool {
    let both = slower.least.iter().filter_map(|(key, slower)| Some((*faster.most.get(key)?, *slower)));
    let both: Vec<(f64, f64)> = both.collect();
    both.iter().all(|(_, slower)| *slower > 0.0)
        && Paired::Ratios(both).effect(alpha).is_some_and(|ratio| ratio.interval.low > 1.0)
}
