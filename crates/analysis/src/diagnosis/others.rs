//! Processor time of programs that are no part of the run. That processor time is lacking is a sign of the load only where the load used it:
//! else whoever runs beside it would be told as what the servers lack.

use std::collections::BTreeMap;

use genkai_model::event::Purpose;
use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Sign, Strength};
use genkai_model::record::Trial;

use super::signs::Seconds;
use crate::window::{self, US};

/// From which part of the machine's cores others use on, it is theirs that processor time is lacking: most of it.
const MOST: f64 = 0.5;

/// What programs that are no part of the run used of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Others {
    /// Cores in use, less those of servers, of what stands behind them and of the generator.
    pub(crate) busy: f64,
    /// Cores of the machine.
    pub(crate) of: f64,
}

impl Others {
    /// What they used in these seconds, where that was most of the machine. None where it was less, or nobody looked.
    pub(crate) fn most(trial: &Trial, seconds: &Seconds) -> Option<Others> {
        let of = trial.limits.limits.iter().find_map(machine)?;
        let busy = busy(trial, seconds, of)?;
        (busy >= MOST * of).then_some(Others { busy, of })
    }

    /// Whether they explain that `limit` seems to lack processor time: nothing more than that it fits speaks for it. (What its own processes use
    /// is its own.)
    pub(super) fn explain(limit: &Limit, strongest: Option<Strength>) -> bool {
        let fits = match limit.law {
            Law::Cpu { .. } => Strength::Consistent,
            // That its processes want more than they get is what fits.
            Law::Handshakes { .. } => Strength::Supports,
            _ => return false,
        };
        strongest == Some(fits)
    }
}

/// The cores of the whole machine, where `limit` is their processor time.
fn machine(limit: &Limit) -> Option<f64> {
    let Law::Cpu { cores } = limit.law else { return None };
    let whole = |sign: &Sign| matches!(sign, Sign::Reached { metric, .. } if metric == metric::MACHINE_CPU);
    limit.signatures.iter().any(|one| whole(&one.sign)).then_some(cores)
}

/// Cores that others used.
fn busy(trial: &Trial, seconds: &Seconds, cores: f64) -> Option<f64> {
    let used = means(trial, seconds, cores);
    let servers = used.get(metric::SERVERS_CPU).copied();
    // Asked directly, the backend is the only server there is.
    let servers = servers.or((trial.started.purpose == Purpose::Direct).then_some(0.0))?;
    let behind = |name: &str| name.rsplit_once('.').is_some_and(|(_, of)| of == metric::BEHIND_CPU);
    let behind: f64 = used.iter().filter(|(name, _)| behind(name)).map(|(_, cores)| cores).sum();
    // What threads say includes those of other machines.
    let threads = if trial.started.load.scale.is_spread() { 0.0 } else { generator(trial, seconds) };
    let own = used.get(metric::OWN_CPU).copied().unwrap_or(0.0).max(threads);
    Some((used.get(metric::MACHINE_CPU)? - servers - behind - own).max(0.0))
}

/// The mean of each metric over the looks in these seconds, each at most as many as there are `cores`: in records of older versions who was
/// held up while looking saw more.
fn means<'t>(trial: &'t Trial, seconds: &Seconds, cores: f64) -> BTreeMap<&'t str, f64> {
    let mut all: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    let looks = trial.samples.iter().filter(|(at, _)| seconds.hold(*at));
    for (name, value) in looks.flat_map(|(_, sample)| &sample.metrics) {
        let (sum, looks) = all.entry(name).or_default();
        (*sum, *looks) = (*sum + value.min(cores), *looks + 1);
    }
    all.into_iter().map(|(name, (sum, looks))| (name, sum / f64::from(looks))).collect()
}

/// Cores that the threads of the generator used, of all its processes.
fn generator(trial: &Trial, seconds: &Seconds) -> f64 {
    let at = |us: i64| us.max(0).unsigned_abs();
    let ticks = window::between(&trial.ticks, at(seconds.from), at(seconds.to));
    let lasted: f64 = ticks.iter().map(window::length).sum();
    let used: f64 = ticks.iter().map(|tick| tick.cpu_us as f64 / US).sum();
    if lasted > 0.0 { used / lasted } else { 0.0 }
}
