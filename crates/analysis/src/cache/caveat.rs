//! What limits the answer of a comparison of caches.

use genkai_model::cache::{Aim, Warmth};
use genkai_model::finding::cache::{CacheCaveat, CacheStanding, PassFinding, RateFinding};

use super::{Context, Passes, seconds};

/// Passes shorter than this are measured badly, seconds.
const SHORT: f64 = 0.2;
/// Bytes of the origin's files that may be in memory before a cold pass: what reading folders leaves.
const FORGOTTEN: u64 = 1 << 20;
/// Part of a search's loads that may not settle: single ones happen by chance.
const CHANCE: f64 = 0.25;

pub(super) fn of(context: &Context<'_>, passes: &[PassFinding], rates: &[RateFinding]) -> Vec<CacheCaveat> {
    let mut all: Vec<CacheCaveat> = passes.iter().filter_map(offered).collect();
    all.extend(passes.iter().flat_map(|pass| pass.standings.iter().filter_map(|one| client(one, pass.warmth))));
    all.extend(passes.iter().flat_map(|pass| pass.standings.iter().filter_map(|one| unsettled(one, pass.warmth))));
    all.extend(rates.iter().filter_map(rates_unsettled));
    all.extend(remembered(&context.seen));
    all.extend(short(&context.seen));
    if context.plan.rounds < 2 {
        all.push(CacheCaveat::OneRound);
    }
    if context.cores <= 2.0 {
        all.push(CacheCaveat::SharedCores { cores: context.cores as u32 });
    }
    all
}

/// Nobody was stressed.
fn offered(pass: &PassFinding) -> Option<CacheCaveat> {
    let busiest = pass.standings.iter().map(|one| one.busy).fold(0.0, f64::max);
    let idle = !pass.stressed && !pass.standings.is_empty();
    idle.then_some(CacheCaveat::OfferedLoad { warmth: pass.warmth, busiest })
}

fn client(one: &CacheStanding, warmth: Warmth) -> Option<CacheCaveat> {
    let (name, rounds, of) = (one.name.clone(), one.client_limited, one.rounds.len() as u32);
    (rounds > 0).then_some(CacheCaveat::Client { name, warmth, rounds, of, used: one.client })
}

fn unsettled(one: &CacheStanding, warmth: Warmth) -> Option<CacheCaveat> {
    let (rounds, of) = (one.settling.never, one.settling.never + one.settling.settled);
    (rounds * 2 > of).then(|| CacheCaveat::NotSettled { name: one.name.clone(), warmth, rounds, of })
}

fn rates_unsettled(rates: &RateFinding) -> Option<CacheCaveat> {
    let (warmth, loads, of) = (rates.warmth, rates.unsettled, rates.loads);
    (f64::from(loads) > CHANCE * f64::from(of)).then_some(CacheCaveat::RatesNotSettled { warmth, loads, of })
}

/// Files of the origin that were to be dropped.
fn remembered(seen: &Passes<'_>) -> Option<CacheCaveat> {
    let cold = seen.0.iter().filter(|(_, pass)| pass.warmth == Warmth::Cold && matches!(pass.aim, Aim::Pass { .. }));
    let left = cold.filter_map(|(_, pass)| pass.content_before).max().filter(|bytes| *bytes > FORGOTTEN);
    left.map(|bytes| CacheCaveat::PageCache { bytes })
}

fn short(seen: &Passes<'_>) -> Option<CacheCaveat> {
    let passes = seen.0.iter().filter(|(_, pass)| matches!(pass.aim, Aim::Pass { .. }));
    let shortest = passes.map(|(trial, _)| seconds(trial)).fold(f64::INFINITY, f64::min);
    (shortest < SHORT).then_some(CacheCaveat::Short { seconds: shortest })
}
