//! What programs that are no part of a run used of the machine, counted once more.

use std::collections::BTreeSet;

use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Sign};

use crate::broken::Judged;
use crate::events::sum;
use crate::instants;

/// Whether they used half of the machine's cores or more from one moment to another, microseconds since the load began: all that was in use, less
/// servers, what stands behind them, and genkai.
pub(crate) fn used_most(judged: &Judged<'_>, from: f64, to: f64) -> bool {
    let of_machine = |sign: &Sign| matches!(sign, Sign::Reached { metric, .. } if metric == metric::MACHINE_CPU);
    let machine = judged.limits.iter().find_map(|limit| match limit.law {
        Law::Cpu { cores } if limit.signatures.iter().any(|one| of_machine(&one.sign)) => Some(cores),
        _ => None,
    });
    let Some(cores) = machine else { return false };
    let looked = |name: &str| looked(judged, name, from, to, cores);
    let Some(all) = looked(metric::MACHINE_CPU) else { return false };
    let direct = judged.trial.start.text("/purpose") == "direct";
    let Some(servers) = looked(metric::SERVERS_CPU).or(direct.then_some(0.0)) else { return false };
    let behind: f64 = behind(judged).iter().filter_map(|name| looked(name)).sum();
    let ticks = instants::between(&judged.trial.ticks(), from.max(0.0), to.max(0.0));
    let wall: f64 = ticks.iter().map(|tick| tick.number("/to_us") - tick.number("/from_us")).sum();
    let elsewhere = judged.trial.start.items("/load/scale/workplaces").iter().any(|one| one["by"] != "here");
    let threads = if wall > 0.0 && !elsewhere { sum(&ticks, "/cpu_us") / wall } else { 0.0 };
    let own = looked(metric::OWN_CPU).unwrap_or(0.0).max(threads);
    all - servers - behind - own >= cores / 2.0
}

/// The mean of a metric over the looks from one moment to another; more than all cores cannot be.
fn looked(judged: &Judged<'_>, name: &str, from: f64, to: f64, cores: f64) -> Option<f64> {
    let began = judged.trial.start.number("/at_us");
    let inside = judged.trial.of("sample").filter(|line| {
        let at = line.number("/at_us") - began;
        at >= from && at <= to
    });
    let values: Vec<f64> = inside.filter_map(|line| line.json.get("metrics")?.get(name)?.as_f64()).collect();
    let sum: f64 = values.iter().map(|value| value.min(cores)).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

/// The names under which the processor time of what stands behind is told.
fn behind(judged: &Judged<'_>) -> BTreeSet<String> {
    let metrics = judged.trial.of("sample").filter_map(|line| line.json.get("metrics")?.as_object());
    let names = metrics.flat_map(|metrics| metrics.keys().cloned());
    names.filter(|name| name.ends_with(&format!(".{}", metric::BEHIND_CPU))).collect()
}
