//! One pass of all contenders: how fast each was, and who differs.

use std::collections::BTreeMap;

use genkai_model::cache::{CachePass, OwnCounts, Warmth};
use genkai_model::finding::RankedPair;
use genkai_model::finding::cache::{CacheRound, CacheStanding, Flow, PassFinding};
use genkai_model::record::Trial;

use super::{Context, cost, is_client_limited, seconds, settling, within_second};
use crate::client;
use crate::effect::{self, Match};
use crate::statistics::{self, ALPHA};
use crate::stress;
use crate::window::{self, Tally, US};

/// A standing with what it is made of.
struct Contender {
    standing: CacheStanding,
    stressed: bool,
    /// Whether it answered fewer than were offered.
    short: bool,
}

impl Contender {
    /// Whether its rate is the client's in most rounds.
    fn is_client_limited(&self) -> bool {
        self.standing.client_limited as usize * 2 > self.standing.rounds.len()
    }
}

pub(super) fn of(context: &Context<'_>, warmth: Warmth) -> PassFinding {
    let contenders = context.plan.contenders.iter();
    let mut all: Vec<Contender> = contenders.filter_map(|one| contender(context, &one.name, warmth)).collect();
    let by = |one: &Contender| one.standing.rate.map_or_else(|| mean(&one.standing), |rate| rate.value);
    all.sort_by(|a, b| by(b).total_cmp(&by(a)));
    let pairs = pairs(&all, context.plan.rate.is_none());
    let stressed = all.iter().any(|one| one.stressed) || pairs.iter().any(|pair| pair.certain);
    let mut standings: Vec<CacheStanding> = all.into_iter().map(|one| one.standing).collect();
    let ranks = effect::ranks_by(standings.iter().map(|one| &one.name), &pairs);
    standings.iter_mut().for_each(|one| (one.best, one.worst) = ranks[&one.name]);
    PassFinding { warmth, standings, pairs, stressed }
}

fn mean(standing: &CacheStanding) -> f64 {
    standing.rounds.iter().map(|seen| seen.rate).sum::<f64>() / standing.rounds.len().max(1) as f64
}

fn contender(context: &Context<'_>, name: &str, warmth: Warmth) -> Option<Contender> {
    let passes: Vec<(u32, &Trial, &CachePass)> = context.seen.of_one(name, warmth).collect();
    if passes.is_empty() {
        return None;
    }
    let ticks: Vec<_> = passes.iter().flat_map(|(_, trial, _)| &trial.ticks).cloned().collect();
    let tally = Tally::of(&ticks);
    let latency = window::merge(&ticks, |tick| &tick.latency);
    let rounds: Vec<CacheRound> = passes
        .iter()
        .map(|(round, trial, _)| CacheRound {
            round: *round,
            trial: trial.number,
            rate: Tally::of(&trial.ticks).rate(),
        })
        .collect();
    let rates: Vec<f64> = rounds.iter().map(|seen| seen.rate).collect();
    let total = |pick: fn(&genkai_model::event::Tick) -> u64| ticks.iter().map(pick).sum::<u64>();
    let busy = |(_, trial, pass): &(u32, &Trial, &CachePass)| {
        let lasted = seconds(trial).max(1e-6);
        let cpu = pass.spent.iter().map(|spent| spent.cpu_us as f64 / US).sum::<f64>() / lasted / context.cores;
        // The device is everybody's: what it did counts against those who used it.
        let used = pass.spent.iter().any(|spent| spent.read.unwrap_or(0) + spent.written.unwrap_or(0) > 0);
        (cpu, pass.device.as_ref().filter(|_| used).map_or(0.0, |device| device.busy_us as f64 / US / lasted))
    };
    let busy: Vec<(f64, f64)> = passes.iter().map(busy).collect();
    let over = |pick: fn(&(f64, f64)) -> f64| busy.iter().map(pick).sum::<f64>() / busy.len() as f64;
    let trials = || passes.iter().map(|(_, trial, _)| *trial);
    let clients: Vec<f64> =
        trials().map(|trial| client::check(trial, context.objective, None).finding.cpu_max).collect();
    let standing = CacheStanding {
        name: name.to_owned(),
        rate: statistics::geometric(&rates, ALPHA),
        best: 1,
        worst: 1,
        rounds,
        within_second: within_second(&latency),
        latency: window::quantiles(&latency),
        requests: tally.finished(),
        errors: tally.errors,
        own: own(&passes),
        origin: passes.iter().map(|(_, _, pass)| pass.origin).sum(),
        connects: total(|tick| tick.opened),
        bytes_in: total(|tick| tick.bytes_in),
        bytes_out: total(|tick| tick.bytes_out),
        busy: over(|both| both.0),
        client: clients.iter().sum::<f64>() / clients.len() as f64,
        client_limited: trials().filter(|trial| is_client_limited(trial, context.objective)).count() as u32,
        settling: settling::of(trials()),
        flow: Flow {
            received: total(|tick| tick.bytes_in) as f64 / tally.seconds.max(1e-9),
            sent: total(|tick| tick.bytes_out) as f64 / tally.seconds.max(1e-9),
        },
        cost: cost::of(&passes),
    };
    let busiest = over(|both| both.0).max(over(|both| both.1));
    let lasted: f64 = trials().map(seconds).sum();
    let answered = mean(&standing) * lasted;
    let short = context.plan.rate.is_some_and(|offered| stress::falls_short(offered * lasted, answered));
    Some(Contender { stressed: stress::is_busy(busiest) || short, short, standing })
}

fn own(passes: &[(u32, &Trial, &CachePass)]) -> Option<OwnCounts> {
    let all: Option<Vec<OwnCounts>> = passes.iter().map(|(_, _, pass)| pass.own).collect();
    let sum = |a: OwnCounts, b: OwnCounts| OwnCounts { hits: a.hits + b.hits, misses: a.misses + b.misses };
    all.map(|all| all.into_iter().fold(OwnCounts::default(), sum))
}

/// Rates of the same round are compared. Of clients that ask again as soon as they were answered (`closed`) who gets far fewer answers
/// has met a limit, whoever's processor was busy. Of a rate that is offered, only who falls short of it has.
fn pairs(all: &[Contender], closed: bool) -> Vec<RankedPair> {
    let rates: Vec<BTreeMap<u32, f64>> = all
        .iter()
        .map(|one| {
            one.standing.rounds.iter().map(|seen| (seen.round, seen.rate)).filter(|(_, rate)| *rate > 0.0).collect()
        })
        .collect();
    let alpha = ALPHA / (all.len() * all.len().saturating_sub(1) / 2).max(1) as f64;
    let pair = |one: Match| {
        let (faster, slower) = (&all[one.more], &all[one.less]);
        let felt = if closed { faster.stressed || slower.stressed || stress::is_far(one.ratio) } else { slower.short };
        // A rate that was the client's may be lower than the contender's.
        let measured = felt && !slower.is_client_limited();
        let certain = measured && one.is_certain();
        let needed = || effect::needed(one.ratio, 1.0, effect::ratio_margin(0.0), alpha, alpha);
        let more = if measured && !certain { needed() } else { None };
        let name = |contender: &Contender| contender.standing.name.clone();
        RankedPair {
            faster: name(faster),
            slower: name(slower),
            ratio: one.ratio,
            certain,
            more,
            clock_uncertainty: None,
        }
    };
    effect::each_with_each(&rates.iter().collect::<Vec<_>>()).into_iter().map(pair).collect()
}
