//! One pass of all contenders: how fast each was, and who can be told apart.

use std::collections::BTreeMap;

use genkai_model::cache::{CachePair, CachePass, CacheStanding, Caching, OwnCounts, PassFinding, Seen, Side, Warmth};
use genkai_model::finding::Estimate;
use genkai_model::record::Trial;
use genkai_model::units::Range;

use super::{Passes, cost, seconds};
use crate::statistics::{self, ALPHA};
use crate::window::{self, Tally, US};

/// Part of the servers' cores, or of the disk's time, from which on a contender is stressed: with less it was waiting for requests.
const STRESSED: f64 = 0.7;
/// Part of a rate offered that must be answered for it to be borne.
const BORNE: f64 = 0.97;
/// Clients that ask again as soon as they were answered and get so many times fewer answers for certain have met a limit, whoever's
/// processor was busy.
const SLOWER: f64 = 1.5;
/// A second, nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// A standing with what it is made of.
struct Entrant {
    standing: CacheStanding,
    stressed: bool,
}

pub(super) fn of(plan: &Caching, seen: &Passes<'_>, warmth: Warmth, cores: f64) -> PassFinding {
    let mut all: Vec<Entrant> =
        plan.contenders.iter().filter_map(|one| entrant(plan, &one.name, seen, warmth, cores)).collect();
    let by = |one: &Entrant| one.standing.rate.map_or_else(|| mean(&one.standing), |rate| rate.value);
    all.sort_by(|a, b| by(b).total_cmp(&by(a)));
    let pairs = pairs(&all, plan.rate.is_none());
    let stressed = all.iter().any(|one| one.stressed) || pairs.iter().any(|pair| pair.certain);
    let count = all.len() as u32;
    let standings = all.into_iter().map(|one| {
        let name = one.standing.name.clone();
        let certain = |ahead: bool| {
            let other = |pair: &&CachePair| if ahead { pair.slower == name } else { pair.faster == name };
            pairs.iter().filter(|pair| pair.certain).filter(other).count() as u32
        };
        CacheStanding { best: 1 + certain(true), worst: count - certain(false), ..one.standing }
    });
    PassFinding { warmth, standings: standings.collect(), pairs, stressed }
}

fn mean(standing: &CacheStanding) -> f64 {
    standing.rounds.iter().map(|seen| seen.rate).sum::<f64>() / standing.rounds.len().max(1) as f64
}

fn entrant(plan: &Caching, name: &str, seen: &Passes<'_>, warmth: Warmth, cores: f64) -> Option<Entrant> {
    let passes: Vec<(u32, &Trial, &CachePass)> = seen.of_one(name, warmth).collect();
    if passes.is_empty() {
        return None;
    }
    let ticks: Vec<_> = passes.iter().flat_map(|(_, trial, _)| &trial.ticks).cloned().collect();
    let tally = Tally::of(&ticks);
    let latency = window::merge(&ticks, |tick| &tick.latency);
    let rounds: Vec<Seen> = passes
        .iter()
        .map(|(round, trial, _)| Seen { round: *round, trial: trial.number, rate: Tally::of(&trial.ticks).rate() })
        .collect();
    let rates: Vec<f64> = rounds.iter().map(|seen| seen.rate).collect();
    let total = |pick: fn(&genkai_model::event::Tick) -> u64| ticks.iter().map(pick).sum::<u64>();
    let busy = |(_, trial, pass): &(u32, &Trial, &CachePass)| {
        let lasted = seconds(trial).max(1e-6);
        let cpu = pass.spent.iter().map(|spent| spent.cpu_us as f64 / US).sum::<f64>() / lasted / cores;
        // The device is everybody's: what it did counts against those who used it.
        let used = pass.spent.iter().any(|spent| spent.read.unwrap_or(0) + spent.written.unwrap_or(0) > 0);
        (cpu, pass.device.as_ref().filter(|_| used).map_or(0.0, |device| device.busy_us as f64 / US / lasted))
    };
    let busy: Vec<(f64, f64)> = passes.iter().map(busy).collect();
    let over = |pick: fn(&(f64, f64)) -> f64| busy.iter().map(pick).sum::<f64>() / busy.len() as f64;
    let standing = CacheStanding {
        name: name.to_owned(),
        rate: statistics::geometric(&rates, ALPHA),
        best: 1,
        worst: 1,
        rounds,
        within_second: latency.len() - window::reaching(&latency, SECOND),
        latency: window::quantiles(&latency),
        requests: tally.finished(),
        errors: tally.errors,
        own: own(&passes),
        origin: passes.iter().map(|(_, _, pass)| pass.origin).sum(),
        connects: total(|tick| tick.opened),
        bytes_in: total(|tick| tick.bytes_in),
        bytes_out: total(|tick| tick.bytes_out),
        busy: over(|both| both.0),
        cost: cost::of(&passes),
    };
    let busiest = over(|both| both.0).max(over(|both| both.1));
    let borne = plan.rate.is_none_or(|offered| mean(&standing) >= BORNE * offered);
    Some(Entrant { stressed: busiest >= STRESSED || !borne, standing })
}

fn own(passes: &[(u32, &Trial, &CachePass)]) -> Option<OwnCounts> {
    let all: Option<Vec<OwnCounts>> = passes.iter().map(|(_, _, pass)| pass.own).collect();
    let sum = |a: OwnCounts, b: OwnCounts| OwnCounts { hits: a.hits + b.hits, misses: a.misses + b.misses };
    all.map(|all| all.into_iter().fold(OwnCounts::default(), sum))
}

/// Rates of the same round are compared with each other, so that what drifts on the machine meets both alike.
fn pairs(all: &[Entrant], closed: bool) -> Vec<CachePair> {
    let count = all.len() * all.len().saturating_sub(1) / 2;
    let mut pairs = Vec::with_capacity(count);
    for (n, faster) in all.iter().enumerate() {
        for slower in &all[n + 1..] {
            let Some(ratio) = ratio(&faster.standing, &slower.standing, ALPHA / count as f64) else { continue };
            let told = ratio.interval.low > 1.0 || ratio.interval.high < 1.0;
            let far = closed && !(1.0 / SLOWER..=SLOWER).contains(&ratio.value);
            let certain = told && (faster.stressed || slower.stressed || far);
            let (one, other) = (faster.standing.name.clone(), slower.standing.name.clone());
            pairs.push(if ratio.value >= 1.0 {
                CachePair { faster: one, slower: other, ratio, certain }
            } else {
                let interval = Range { low: 1.0 / ratio.interval.high, high: 1.0 / ratio.interval.low };
                let ratio = Estimate { value: 1.0 / ratio.value, interval, n: ratio.n };
                CachePair { faster: other, slower: one, ratio, certain }
            });
        }
    }
    pairs
}

/// How many times as fast, round by round.
pub(super) fn ratio(one: &CacheStanding, other: &CacheStanding, alpha: f64) -> Option<Estimate> {
    let rates: BTreeMap<u32, f64> = other.rounds.iter().map(|seen| (seen.round, seen.rate)).collect();
    let ratios: Vec<f64> = one
        .rounds
        .iter()
        .filter_map(|seen| Some(seen.rate / rates.get(&seen.round).filter(|rate| **rate > 0.0)?))
        .collect();
    statistics::geometric(&ratios, alpha)
}

/// Processor time of one side of a load, seconds.
pub(super) fn cpu(pass: &CachePass, side: Side) -> f64 {
    pass.spent.iter().filter(|spent| spent.side == side).map(|spent| spent.cpu_us as f64 / US).sum()
}
