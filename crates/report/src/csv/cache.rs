//! Every load of a comparison of caches: one header, one line a load.

use std::fmt::Write as _;

use genkai_model::cache::{Aim, OwnCounts, Side, Spent, Warmth};
use genkai_model::finding::cache::CacheLoad;

use super::plain;

/// Names of the columns, in order. Columns are only ever added at the end.
pub const HEADER: &[&str] = &[
    "trial",
    "contender",
    "aim",
    "round",
    "pass",
    "offered_per_s",
    "seconds",
    "requests",
    "ok",
    "failed",
    "ok_per_s",
    "latency_p50_ms",
    "latency_p99_ms",
    "latency_max_ms",
    "own_hits",
    "own_misses",
    "origin_requests",
    "cache_cpu_s",
    "origin_cpu_s",
    "cache_rss",
    "cache_pss",
    "cache_read",
    "cache_written",
    "store_bytes",
    "store_in_page_cache",
    "content_in_page_cache_before",
    "content_in_page_cache_after",
    "device",
    "device_read",
    "device_written",
    "device_busy_s",
    "origin_rss",
    "origin_pss",
    "origin_read",
    "origin_written",
    "connects",
    "bytes_in",
    "bytes_out",
    "within_1_s",
    "client_cpu",
    "settled_after_s",
];

/// The header and a line for each load and what it came to.
pub fn cache<'a>(all: impl IntoIterator<Item = &'a CacheLoad>) -> String {
    let mut text = HEADER.join(",");
    text.push('\n');
    for load in all {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line(load).join(","));
    }
    text
}

fn line(load: &CacheLoad) -> Vec<String> {
    let (pass, trial) = (&load.pass, &load.trial);
    let (aim, round, offered) = match pass.aim {
        Aim::Pass { round } => ("pass".to_owned(), round.to_string(), String::new()),
        Aim::Search { round, rate } => ("search".to_owned(), round.to_string(), plain(rate)),
        Aim::Mount { round, option } => (option.option().to_owned(), round.to_string(), String::new()),
    };
    let warmth = if pass.warmth == Warmth::Cold { "cold" } else { "warm" };
    let mut cells = vec![trial.trial.to_string(), name(&pass.contender), aim, round, warmth.to_owned(), offered];
    cells.push(plain(trial.lasted));
    cells.extend([trial.finished, trial.finished - trial.failed, trial.failed].map(|n| n.to_string()));
    cells.push(plain(trial.rate));
    let l = &trial.latency;
    cells.extend([l.p50, l.p99, l.max].map(|s| plain(s * 1e3)));
    let count = |pick: fn(&OwnCounts) -> u64| pass.own.as_ref().map(pick);
    cells.extend([count(|own| own.hits), count(|own| own.misses), Some(pass.origin)].map(cell));
    let of = |side| pass.spent.iter().find(|spent: &&Spent| spent.side == side);
    let cpu = |side| of(side).map_or_else(String::new, |spent| plain(spent.cpu_us as f64 / 1e6));
    cells.extend([cpu(Side::Cache), cpu(Side::Origin)]);
    let cache = of(Side::Cache);
    cells.push(cell(cache.map(|spent| spent.rss)));
    cells.extend([cache.and_then(|s| s.pss), cache.and_then(|s| s.read), cache.and_then(|s| s.written)].map(cell));
    cells.extend([pass.store_bytes, pass.store_resident, pass.content_before, pass.content_after].map(cell));
    let device = pass.device.as_ref();
    cells.push(device.map_or_else(String::new, |device| name(&device.name)));
    cells.extend([device.map(|d| d.read), device.map(|d| d.written)].map(cell));
    cells.push(device.map_or_else(String::new, |d| plain(d.busy_us as f64 / 1e6)));
    let origin = of(Side::Origin);
    cells.push(cell(origin.map(|spent| spent.rss)));
    cells.extend([origin.and_then(|s| s.pss), origin.and_then(|s| s.read), origin.and_then(|s| s.written)].map(cell));
    cells.extend([load.connects, load.bytes_in, load.bytes_out, load.within_second].map(|n| n.to_string()));
    cells.extend([plain(trial.client.cpu_max), load.settled_after.map_or_else(String::new, plain)]);
    cells
}

fn cell(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Names are the user's words: letters and signs without meaning in CSV (RFC 4180).
fn name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() && !",\"".contains(*c)).collect()
}
