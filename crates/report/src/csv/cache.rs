//! Every load of a comparison of caches: one header, one line a load.

use genkai_model::cache::{Aim, Side, Spent, Warmth};
use genkai_model::finding::cache::CacheLoad;

use super::{Column, head, line, plain, quoted};

/// The columns, in order. Columns are only ever added at the end.
const LOADS: [Column<CacheLoad>; 41] = [
    ("trial", |l| l.trial.trial.to_string()),
    ("contender", |l| quoted(&l.pass.contender)),
    ("aim", |l| aim(l).0.to_owned()),
    ("round", |l| aim(l).1.to_string()),
    ("pass", |l| if l.pass.warmth == Warmth::Cold { "cold" } else { "warm" }.to_owned()),
    ("offered_per_s", |l| aim(l).2.map_or_else(String::new, plain)),
    ("seconds", |l| plain(l.trial.lasted)),
    ("requests", |l| l.trial.finished.to_string()),
    ("ok", |l| (l.trial.finished - l.trial.failed).to_string()),
    ("failed", |l| l.trial.failed.to_string()),
    ("ok_per_s", |l| plain(l.trial.rate)),
    ("latency_p50_ms", |l| plain(l.trial.latency.p50 * 1e3)),
    ("latency_p99_ms", |l| plain(l.trial.latency.p99 * 1e3)),
    ("latency_max_ms", |l| plain(l.trial.latency.max * 1e3)),
    ("own_hits", |l| count(l.pass.own.map(|own| own.hits))),
    ("own_misses", |l| count(l.pass.own.map(|own| own.misses))),
    ("origin_requests", |l| l.pass.origin.to_string()),
    ("cache_cpu_s", |l| cpu(l, Side::Cache)),
    ("origin_cpu_s", |l| cpu(l, Side::Origin)),
    ("cache_rss", |l| used(l, Side::Cache, |spent| Some(spent.rss))),
    ("cache_pss", |l| used(l, Side::Cache, |spent| spent.pss)),
    ("cache_read", |l| used(l, Side::Cache, |spent| spent.read)),
    ("cache_written", |l| used(l, Side::Cache, |spent| spent.written)),
    ("store_bytes", |l| count(l.pass.store_bytes)),
    ("store_in_page_cache", |l| count(l.pass.store_resident)),
    ("content_in_page_cache_before", |l| count(l.pass.content_before)),
    ("content_in_page_cache_after", |l| count(l.pass.content_after)),
    ("device", |l| l.pass.device.as_ref().map_or_else(String::new, |device| quoted(&device.name))),
    ("device_read", |l| count(l.pass.device.as_ref().map(|device| device.read))),
    ("device_written", |l| count(l.pass.device.as_ref().map(|device| device.written))),
    ("device_busy_s", |l| l.pass.device.as_ref().map_or_else(String::new, |device| plain(device.busy_us as f64 / 1e6))),
    ("origin_rss", |l| used(l, Side::Origin, |spent| Some(spent.rss))),
    ("origin_pss", |l| used(l, Side::Origin, |spent| spent.pss)),
    ("origin_read", |l| used(l, Side::Origin, |spent| spent.read)),
    ("origin_written", |l| used(l, Side::Origin, |spent| spent.written)),
    ("connects", |l| l.connects.to_string()),
    ("bytes_in", |l| l.bytes_in.to_string()),
    ("bytes_out", |l| l.bytes_out.to_string()),
    ("within_1_s", |l| l.within_second.to_string()),
    ("client_cpu", |l| plain(l.trial.client.cpu_max)),
    ("settled_after_s", |l| l.settled_after.map_or_else(String::new, plain)),
];

/// The header and a line for each load and what it came to.
pub fn cache<'a>(all: impl IntoIterator<Item = &'a CacheLoad>) -> String {
    let lines = all.into_iter().map(|load| line(&LOADS, load));
    std::iter::once(head(&LOADS)).chain(lines).map(|line| line + "\n").collect()
}

/// What a load was for, in which round, and the rate that was offered in a search.
fn aim(load: &CacheLoad) -> (&'static str, u32, Option<f64>) {
    match load.pass.aim {
        Aim::Pass { round } => ("pass", round, None),
        Aim::Search { round, rate } => ("search", round, Some(rate)),
        Aim::Mount { round, option } => (option.option(), round, None),
    }
}

/// What one side used, in a cell.
fn used(load: &CacheLoad, side: Side, pick: fn(&Spent) -> Option<u64>) -> String {
    count(of(load, side).and_then(pick))
}

fn cpu(load: &CacheLoad, side: Side) -> String {
    of(load, side).map_or_else(String::new, |spent| plain(spent.cpu_us as f64 / 1e6))
}

fn of(load: &CacheLoad, side: Side) -> Option<&Spent> {
    load.pass.spent.iter().find(|spent| spent.side == side)
}

fn count(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
