//! Caches compared: which is faster cold and warm, what a request costs, the highest rate each holds, and whether what was offered was
//! enough to tell; what went wrong on the way.
//!
//! A contender is a name: nothing here knows a product.

mod caveat;
mod cost;
mod mount;
mod pass;
mod rates;
mod search;
mod settling;
mod trouble;

use genkai_model::cache::{Aim, CachePass, Caching, Warmth};
use genkai_model::event::Tick;
use genkai_model::finding::Outcome;
use genkai_model::finding::cache::{CacheContender, CacheFinding, CacheLoad, PassFinding, Trouble};
use genkai_model::objective::Objective;
use genkai_model::record::{Record, Trial};
use hdrhistogram::Histogram;

pub use search::next;

use crate::proof::is_whole;
use crate::{client, processes, series, window};

/// What the comparison of a record showed; none when there was none.
pub fn findings(record: &Record) -> Option<CacheFinding> {
    let head = record.head.as_ref()?;
    let plan = head.plan.caching()?;
    let context = Context { plan, objective: &head.plan.objective, seen: Passes::of(record), cores: cores(record) };
    if context.seen.0.is_empty() {
        return None;
    }
    let passes = [Warmth::Cold, Warmth::Warm].map(|warmth| pass::of(&context, warmth)).to_vec();
    let best_rates = rates::of(&context);
    let troubles = trouble::of(plan, record, &context.seen);
    Some(CacheFinding {
        objects: plan.content.objects,
        requests: plan.requests,
        clients: plan.clients,
        offered: plan.rate,
        objective: head.plan.objective.to_string(),
        memory: plan.memory,
        disk: plan.disk,
        pinning: head.environment.pinning.clone(),
        contenders: plan.contenders.iter().map(|one| contender(&one.name, record)).collect(),
        mounts: mount::of(&context.seen),
        processes: processes::over(record),
        caveats: caveat::of(&context, &passes, &best_rates),
        outcome: outcome(plan, &passes, &troubles, record),
        best_rates,
        passes,
        troubles,
    })
}

/// A comparison and what is known of it.
struct Context<'r> {
    plan: &'r Caching,
    objective: &'r Objective,
    seen: Passes<'r>,
    /// Cores that servers have.
    cores: f64,
}

/// Every load of a comparison of caches that ran to its end, with what it came to.
pub fn loads(record: &Record) -> Vec<CacheLoad> {
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    let one = |(trial, pass): (&Trial, &CachePass)| {
        let total = |pick: fn(&Tick) -> u64| trial.ticks.iter().map(pick).sum::<u64>();
        CacheLoad {
            pass: pass.clone(),
            trial: series::finding(trial, None, client::check(trial, &objective, None).finding),
            connects: total(|tick| tick.opened),
            bytes_in: total(|tick| tick.bytes_in),
            bytes_out: total(|tick| tick.bytes_out),
            within_second: within_second(&window::merge(&trial.ticks, |tick| &tick.latency)),
            settled_after: settling::after(trial),
        }
    };
    Passes::of(record).0.into_iter().map(one).collect()
}

/// A second, nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Responses that took less than a second: the hits of the original experiment.
fn within_second(latency: &Histogram<u64>) -> u64 {
    latency.len() - window::reaching(latency, SECOND)
}

/// Loads of a record that ran to their end, each with what it came to.
struct Passes<'r>(Vec<(&'r Trial, &'r CachePass)>);

impl<'r> Passes<'r> {
    fn of(record: &'r Record) -> Passes<'r> {
        let whole = record.trials.iter().filter(|trial| is_whole(trial));
        Passes(whole.filter_map(|trial| Some((trial, trial.pass.as_ref()?))).collect())
    }

    /// Passes of rounds, of one contender.
    fn of_one<'a>(
        &'a self,
        name: &'a str,
        warmth: Warmth,
    ) -> impl Iterator<Item = (u32, &'r Trial, &'r CachePass)> + 'a {
        self.0.iter().filter_map(move |(trial, pass)| match pass.aim {
            Aim::Pass { round } if pass.contender == name && pass.warmth == warmth => Some((round, *trial, *pass)),
            _ => None,
        })
    }
}

/// Processor time that the servers of a run had, cores' worth.
fn cores(record: &Record) -> f64 {
    record.head.as_ref().map_or(1.0, |head| head.environment.server_time())
}

fn contender(name: &str, record: &Record) -> CacheContender {
    let entries: Vec<_> = record.caches.iter().filter(|entry| entry.contender == name).collect();
    let first = entries.first();
    CacheContender {
        name: name.to_owned(),
        version: first.map(|entry| entry.version.clone()).unwrap_or_default(),
        store: first.map(|entry| entry.store.clone()).unwrap_or_default(),
        settings: first.map(|entry| entry.settings.clone()).unwrap_or_default(),
        limits: first.map(|entry| entry.limits.clone()).unwrap_or_default(),
        started: entries.iter().map(|entry| entry.started.as_secs_f64()).sum::<f64>() / entries.len().max(1) as f64,
        conformance: record.conformance.iter().filter(|one| one.contender == name).cloned().collect(),
    }
}

/// Part of its core from which on the client's busiest thread leaves the servers waiting: the bound of [`client`], here for loads of less
/// than the second that it looks at.
const CLIENT_BUSY: f64 = 0.9;

/// Whether the client was the limit of a load.
fn is_client_limited(trial: &Trial, objective: &Objective) -> bool {
    let check = client::check(trial, objective, None).finding;
    !check.valid || check.cpu_max >= CLIENT_BUSY
}

/// How long a load lasted.
fn seconds(trial: &Trial) -> f64 {
    trial.ticks.iter().map(window::length).sum()
}

fn outcome(plan: &Caching, passes: &[PassFinding], troubles: &[Trouble], record: &Record) -> Outcome {
    let rounds = |pass: &PassFinding, name: &str| {
        pass.standings.iter().find(|one| one.name == name).map_or(0, |one| one.rounds.len())
    };
    let enough = |pass: &PassFinding| plan.contenders.iter().all(|one| rounds(pass, &one.name) >= plan.rounds as usize);
    match () {
        () if record.end.is_none() || !passes.iter().all(enough) => Outcome::Unfinished,
        () if troubles.iter().any(|trouble| !matches!(trouble, Trouble::Rule(_))) => Outcome::Fails,
        () => Outcome::Holds,
    }
}
