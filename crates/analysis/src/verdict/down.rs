//! Servers of several that got no requests while everything held.

use std::collections::BTreeMap;

use genkai_model::evidence::metric;
use genkai_model::finding::Caveat;

use crate::tuning::judged_trial::JudgedTrial;
use crate::window::US;

/// Of a trial that held, each server that was down at some look during the load, by the product's own account.
pub(super) fn members(judged: &JudgedTrial<'_>) -> Vec<Caveat> {
    if judged.broke.is_some() {
        return Vec::new();
    }
    let end = judged.trial.ticks.last().map_or(0, |tick| tick.to_us as i64);
    let mut seen: BTreeMap<(&str, &str), Vec<(i64, bool)>> = BTreeMap::new();
    for (at, sample) in judged.trial.samples.iter().filter(|(at, _)| (0..=end).contains(at)) {
        for (name, value) in &sample.metrics {
            if let Some(which) = metric::down(name) {
                seen.entry(which).or_default().push((*at, *value > 0.0));
            }
        }
    }
    let caveat = |((subject, server), looks): ((&str, &str), Vec<(i64, bool)>)| {
        let down: Vec<i64> = looks.iter().filter(|(_, down)| *down).map(|(at, _)| *at).collect();
        Some(Caveat::MemberDown {
            trial: judged.trial.number,
            subject: subject.to_owned(),
            server: server.to_owned(),
            down: down.len() as u64,
            looks: looks.len() as u64,
            from: *down.first()? as f64 / US,
        })
    };
    seen.into_iter().filter_map(caveat).collect()
}
