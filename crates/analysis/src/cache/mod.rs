//! Caches compared: which is faster cold and warm, what a request costs, the highest rate each holds, and whether what was offered was
//! enough to tell; what went wrong on the way.
//!
//! A contender is a name: nothing here knows a product.

mod cost;
mod mount;
mod pass;
mod search;
mod trouble;

use genkai_model::cache::{
    Aim, CacheCaveat, CacheFinding, CachePass, Caching, Participant, PassFinding, Trouble, Warmth,
};
use genkai_model::finding::{Outcome, TrialFinding};
use genkai_model::record::{Record, Trial};

pub use search::next;

use crate::proof::is_whole;
use crate::{client, series, window};

/// What the comparison of a record showed; none when there was none.
pub fn findings(record: &Record) -> Option<CacheFinding> {
    let head = record.head.as_ref()?;
    let plan = head.plan.caching.as_deref()?;
    let seen = Passes::of(record);
    if seen.0.is_empty() {
        return None;
    }
    let cores = cores(record);
    let passes: Vec<PassFinding> =
        [Warmth::Cold, Warmth::Warm].into_iter().map(|warmth| pass::of(plan, &seen, warmth, cores)).collect();
    let troubles = trouble::of(plan, record, &seen);
    Some(CacheFinding {
        objects: plan.content.objects,
        requests: plan.requests,
        clients: plan.clients,
        offered: plan.rate,
        objective: head.plan.objective.to_string(),
        memory: plan.memory,
        disk: plan.disk,
        participants: plan.contenders.iter().map(|one| participant(&one.name, record)).collect(),
        held: search::held(record, plan),
        mounts: mount::of(&seen),
        caveats: caveats(plan, record, &seen, &passes, cores),
        outcome: outcome(plan, &passes, &troubles, record),
        passes,
        troubles,
    })
}

/// Every load of a comparison of caches, with what it came to: one that ran to its end.
pub fn loads(record: &Record) -> Vec<(&CachePass, TrialFinding)> {
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    let one = |trial: &Trial| series::finding(trial, None, client::check(trial, &objective, None).finding);
    Passes::of(record).0.into_iter().map(|(trial, pass)| (pass, one(trial))).collect()
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

/// Cores that the servers of a run had.
fn cores(record: &Record) -> f64 {
    let environment = record.head.as_ref().map(|head| &head.environment);
    let cores = environment.map_or(1, |e| e.pinning.as_ref().map_or(e.cores, |pinning| pinning.servers.len() as u32));
    f64::from(cores.max(1))
}

fn participant(name: &str, record: &Record) -> Participant {
    let entries: Vec<_> = record.caches.iter().filter(|entry| entry.contender == name).collect();
    let first = entries.first();
    Participant {
        name: name.to_owned(),
        version: first.map(|entry| entry.version.clone()).unwrap_or_default(),
        store: first.map(|entry| entry.store.clone()).unwrap_or_default(),
        settings: first.map(|entry| entry.settings.clone()).unwrap_or_default(),
        limits: first.map(|entry| entry.limits.clone()).unwrap_or_default(),
        started: entries.iter().map(|entry| entry.started.as_secs_f64()).sum::<f64>() / entries.len().max(1) as f64,
        conformance: record.conformance.iter().filter(|one| one.contender == name).cloned().collect(),
    }
}

/// Passes shorter than this are measured badly, seconds.
const SHORT: f64 = 0.2;
/// Bytes of the origin's files that may be in memory before a cold pass: what reading folders leaves.
const FORGOTTEN: u64 = 1 << 20;

fn caveats(plan: &Caching, record: &Record, seen: &Passes<'_>, passes: &[PassFinding], cores: f64) -> Vec<CacheCaveat> {
    let mut all = Vec::new();
    for pass in passes.iter().filter(|pass| !pass.stressed && !pass.standings.is_empty()) {
        let busiest = pass.standings.iter().map(|one| one.busy).fold(0.0, f64::max);
        all.push(CacheCaveat::OfferedLoad { warmth: pass.warmth, busiest });
    }
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    for (name, warmth) in plan.contenders.iter().flat_map(|one| [(&one.name, Warmth::Cold), (&one.name, Warmth::Warm)])
    {
        let limited = |trial: &Trial| !client::check(trial, &objective, None).finding.valid;
        if seen.of_one(name, warmth).any(|(_, trial, _)| limited(trial)) {
            all.push(CacheCaveat::Client { name: name.clone(), warmth });
        }
    }
    let cold = seen.0.iter().filter(|(_, pass)| pass.warmth == Warmth::Cold && matches!(pass.aim, Aim::Pass { .. }));
    let left = cold.filter_map(|(_, pass)| pass.content_before).max().filter(|bytes| *bytes > FORGOTTEN);
    all.extend(left.map(|bytes| CacheCaveat::PageCache { bytes }));
    let lengths =
        seen.0.iter().filter(|(_, pass)| matches!(pass.aim, Aim::Pass { .. })).map(|(trial, _)| seconds(trial));
    let shortest = lengths.fold(f64::INFINITY, f64::min);
    if shortest < SHORT {
        all.push(CacheCaveat::Short { seconds: shortest });
    }
    if plan.rounds < 2 {
        all.push(CacheCaveat::OneRound);
    }
    if cores <= 2.0 {
        all.push(CacheCaveat::SharedCores { cores: cores as u32 });
    }
    all
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
