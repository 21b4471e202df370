//! The origin on file systems that write down, or do not, that a file was read.

use std::collections::BTreeMap;

use genkai_model::cache::{AccessTime, Aim};
use genkai_model::finding::cache::Mount;

use super::Passes;
use crate::statistics::{self, ALPHA};
use crate::window::Tally;

pub(super) fn of(seen: &Passes<'_>) -> Vec<Mount> {
    let mut rates: BTreeMap<AccessTime, BTreeMap<u32, (f64, Option<u64>)>> = BTreeMap::new();
    for (trial, pass) in &seen.0 {
        if let Aim::Mount { round, option } = pass.aim {
            let written = pass.device.as_ref().map(|device| device.written);
            rates.entry(option).or_default().insert(round, (Tally::of(&trial.ticks).rate(), written));
        }
    }
    let usual = rates.get(&AccessTime::Relatime).cloned().unwrap_or_default();
    let one = |(option, rounds): (&AccessTime, &BTreeMap<u32, (f64, Option<u64>)>)| {
        let all: Vec<f64> = rounds.values().map(|(rate, _)| *rate).collect();
        let ratios: Vec<f64> = rounds.iter().filter_map(|(n, (rate, _))| Some(rate / usual.get(n)?.0)).collect();
        let written: Option<Vec<u64>> = rounds.values().map(|(_, written)| *written).collect();
        Mount {
            option: *option,
            rate: statistics::geometric(&all, ALPHA),
            // Two options are compared with the third.
            ratio: (*option != AccessTime::Relatime).then(|| statistics::geometric(&ratios, ALPHA / 2.0)).flatten(),
            written: written.map(|all| all.iter().sum::<u64>() as f64 / all.len().max(1) as f64),
        }
    };
    rates.iter().map(one).collect()
}
