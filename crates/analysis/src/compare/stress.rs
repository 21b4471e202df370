//! Whether anybody was stressed. When nobody was, the load offered was the limit: every contender did what it was asked, and
//! that their throughput differs a little says nothing of what they can do.

use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparedPair, Stress};
use genkai_model::record::Record;

use super::{Seen, pairs};
use crate::stress;

pub(super) fn of(record: &Record, turns: &[Seen<'_>], pairs: &[ComparedPair]) -> Stress {
    let mut names: Vec<&str> = turns.iter().map(|seen| seen.finding.contender.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mean = |name: &str| {
        let own: Vec<f64> =
            turns.iter().filter(|seen| seen.is(name, false)).filter_map(|seen| seen.finding.busy).collect();
        (!own.is_empty()).then(|| own.iter().sum::<f64>() / own.len() as f64)
    };
    let stressed = |name: &&str| {
        let own: Vec<bool> = turns.iter().filter(|seen| seen.is(name, false)).map(|seen| seen.stressed).collect();
        own.iter().filter(|stressed| **stressed).count() * 2 > own.len()
    };
    let all = names.iter().filter_map(|name| Some((mean(name)?, *name)));
    let most = all.max_by(|a, b| a.0.total_cmp(&b.0));
    // A latency that differs that much: somebody was slower under this load, so it was noticed.
    let slower = pairs.iter().flat_map(|pair| &pair.effects).any(|effect| {
        let far = effect.effect.map_or_else(|| effect.bound.is_some_and(stress::is_beyond), stress::is_far);
        matches!(effect.figure, Figure::P50 | Figure::P95) && pairs::differs(effect.call) && far
    });
    // Where nobody can be seen, nothing speaks against it.
    let unseen = most.is_none() || record.trials.is_empty();
    Stress {
        anybody: unseen || slower || names.iter().any(stressed),
        busiest: most.map(|(busy, _)| busy),
        who: most.map(|(_, name)| name.to_owned()),
    }
}
