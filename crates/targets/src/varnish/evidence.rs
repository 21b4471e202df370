//! What Varnish counts.

use genkai_model::cache::OwnCounts;
use serde_json::Value;

/// The counters that are asked for (varnish-counters(7)).
pub(super) const ASKED: [&str; 6] = [
    "MAIN.client_req",
    "MAIN.cache_hit",
    "MAIN.threads",
    "MAIN.threads_limited",
    "MAIN.thread_queue_len",
    "MAIN.backend_busy",
];

/// What is asked for of every backend: how often it was busy.
pub(super) const OF_BACKENDS: &str = "VBE.*.busy";

/// Metrics of a running Varnish.
pub(super) mod metrics {
    /// Worker threads.
    pub(in crate::varnish) const THREADS: &str = "varnish.threads";
    /// Times that one more was needed and there may be no more, cumulative.
    pub(in crate::varnish) const LIMITED: &str = "varnish.threads_limited_total";
    /// Sessions that wait for a thread.
    pub(in crate::varnish) const QUEUED: &str = "varnish.thread_queue_len";
    /// Requests that met a backend with `.max_connections` open, cumulative (bin/varnishd/cache/cache_backend.c: vbe_dir_getfd).
    pub(in crate::varnish) const BUSY: &str = "varnish.backend_busy_total";

    /// The same of one backend (bin/varnishd/VSC_vbe.vsc: busy).
    pub(in crate::varnish) fn busy(backend: &str) -> String {
        format!("varnish.backend.{backend}.busy_total")
    }
}

/// What `varnishstat -1 -j` prints. A hit is one in the cache, objects past their time that are still given (grace) included.
pub(super) fn counts(text: &str) -> Option<OwnCounts> {
    let [requests, hits, ..] = asked(text);
    Some(OwnCounts { hits: hits?, misses: requests?.checked_sub(hits?)? })
}

/// The same of its threads, and of each backend.
pub(super) fn gauges(text: &str) -> Vec<(String, f64)> {
    let [_, _, threads, limited, queued, busy] = asked(text);
    let all =
        [(metrics::THREADS, threads), (metrics::LIMITED, limited), (metrics::QUEUED, queued), (metrics::BUSY, busy)];
    let all = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value? as f64)));
    all.chain(backends(text)).collect()
}

/// How often each backend was busy: `VBE.` with the VCL's name, the backend's, and `.busy`.
fn backends(text: &str) -> Vec<(String, f64)> {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(counters) = all.get("counters").and_then(Value::as_object) else { return Vec::new() };
    let one = |(name, counter): (&String, &Value)| {
        let (_, backend) = name.strip_prefix("VBE.")?.strip_suffix(".busy")?.rsplit_once('.')?;
        Some((metrics::busy(backend), counter.get("value")?.as_u64()? as f64))
    };
    counters.iter().filter_map(one).collect()
}

fn asked(text: &str) -> [Option<u64>; ASKED.len()] {
    let all: Value = serde_json::from_str(text).unwrap_or_default();
    ASKED.map(|name| all.get("counters")?.get(name)?.get("value")?.as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varnishstat_is_read() {
        let text =
            r#"{"version":1,"counters":{"MAIN.client_req":{"flag":"c","value":7},"MAIN.cache_hit":{"value":4}}}"#;
        assert_eq!(counts(text), Some(OwnCounts { hits: 4, misses: 3 }));
        assert_eq!((counts("{}"), gauges("{}")), (None, Vec::new()));
        let threads = r#"{"counters":{"MAIN.threads":{"value":20},"MAIN.threads_limited":{"value":3},"MAIN.backend_busy":{"value":4}}}"#;
        let all = [(metrics::THREADS, 20.0), (metrics::LIMITED, 3.0), (metrics::BUSY, 4.0)];
        assert_eq!(gauges(threads), all.map(|(name, value)| (name.to_owned(), value)));
        let busy = r#"{"counters":{"VBE.boot.a.busy":{"value":0},"VBE.boot.b.busy":{"value":6},"VBE.boot.b.req":{"value":9}}}"#;
        assert_eq!(gauges(busy), [(metrics::busy("a"), 0.0), (metrics::busy("b"), 6.0)]);
    }
}
