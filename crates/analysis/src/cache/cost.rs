//! What a request costs: processor time, disk, memory.

use genkai_model::cache::{CachePass, Side, Spent};
use genkai_model::finding::cache::Cost;
use genkai_model::record::Trial;

use crate::window::{Tally, US};

/// The means over rounds.
pub(super) fn of(passes: &[(u32, &Trial, &CachePass)]) -> Cost {
    let requests: Vec<f64> =
        passes.iter().map(|(_, trial, _)| Tally::of(&trial.ticks).finished().max(1) as f64).collect();
    let all = passes.iter().map(|(_, _, pass)| *pass).zip(requests);
    let all: Vec<(&CachePass, f64)> = all.collect();
    let mean = |value: &dyn Fn(&CachePass, f64) -> Option<f64>| -> Option<f64> {
        let values: Option<Vec<f64>> = all.iter().map(|(pass, requests)| value(pass, *requests)).collect();
        values.map(|values| values.iter().sum::<f64>() / values.len().max(1) as f64)
    };
    // The origin alone has no cache beside it.
    let subject = |pass: &CachePass| -> Option<Spent> {
        let of = |side| pass.spent.iter().find(|spent| spent.side == side).copied();
        of(Side::Cache).or_else(|| of(Side::Origin))
    };
    let amount = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    Cost {
        cpu: mean(&|pass, requests| Some(cpu(pass, Side::Cache) / requests)).unwrap_or_default(),
        origin_cpu: mean(&|pass, requests| Some(cpu(pass, Side::Origin) / requests)).unwrap_or_default(),
        read: mean(&|pass, requests| Some(amount(subject(pass)?.read)? / requests)),
        written: mean(&|pass, requests| Some(amount(subject(pass)?.written)? / requests)),
        memory: mean(&|pass, _| subject(pass).map(|spent| spent.pss.unwrap_or(spent.rss) as f64)).unwrap_or_default(),
        page_cache: mean(&|pass, _| amount(pass.store_resident)),
        store: mean(&|pass, _| amount(pass.store_bytes)),
        device_read: mean(&|pass, _| pass.device.as_ref().map(|device| device.read as f64)),
        device_written: mean(&|pass, _| pass.device.as_ref().map(|device| device.written as f64)),
    }
}

/// Processor time of one side of a load, seconds.
fn cpu(pass: &CachePass, side: Side) -> f64 {
    pass.spent.iter().filter(|spent| spent.side == side).map(|spent| spent.cpu_us as f64 / US).sum()
}
