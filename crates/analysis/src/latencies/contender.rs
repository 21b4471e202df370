//! Contenders as they ran: what was set, what they consumed, how often they stood still.

use std::collections::BTreeMap;

use genkai_model::finding::latencies::{LatencyContender, Pause, Usage};
use genkai_model::latencies::{LatencyComparison, Round};
use genkai_model::record::Record;

pub(super) fn all(comparison: &LatencyComparison, record: &Record) -> Vec<LatencyContender> {
    comparison.contenders.iter().filter_map(|one| contender(&one.name, record)).collect()
}

/// None for one that never came up.
fn contender(name: &str, record: &Record) -> Option<LatencyContender> {
    let entries: Vec<_> =
        record.trials.iter().flat_map(|trial| &trial.entries).filter(|entry| entry.contender == name).collect();
    let last = entries.last()?;
    let started = entries.iter().map(|entry| entry.started.as_secs_f64()).sum::<f64>() / entries.len() as f64;
    let (version, settings) = (last.version.clone(), last.settings.clone());
    let (name, pauses, usage) = (name.to_owned(), pauses(name, record), usage(name, record));
    Some(LatencyContender { name, version, settings, started, pauses, usage })
}

/// Pauses after the warm-up, longest in sum first.
fn pauses(name: &str, record: &Record) -> Vec<Pause> {
    let mut kinds: BTreeMap<&str, Pause> = BTreeMap::new();
    for trial in &record.trials {
        let warm = trial.rounds.iter().filter(|(_, round)| round.warm_up).map(|(at, _)| *at).max().unwrap_or(i64::MIN);
        for (at, pause) in &trial.collections {
            if pause.contender != name || *at <= warm {
                continue;
            }
            let kind = kinds.entry(&pause.kind).or_default();
            let lasted = pause.lasted_ns as f64 / 1e9;
            kind.kind.clone_from(&pause.kind);
            kind.count += 1;
            kind.total += lasted;
            kind.longest = kind.longest.max(lasted);
        }
    }
    let mut all: Vec<Pause> = kinds.into_values().collect();
    all.sort_by(|a, b| b.total.total_cmp(&a.total));
    all
}

fn usage(name: &str, record: &Record) -> Usage {
    let counts = |round: &&Round| !round.warm_up && round.contender == name;
    let rounds = record.trials.iter().flat_map(|trial| trial.rounds.iter().map(|(_, round)| round)).filter(counts);
    rounds.fold(Usage::default(), |all, round| Usage {
        cpu: all.cpu + round.used.cpu_us as f64 / 1e6,
        rss: all.rss.max(round.used.rss),
        heap: all.heap.max(round.used.heap),
        threads: all.threads.max(round.used.threads),
        descriptors: all.descriptors.max(round.used.descriptors),
    })
}
