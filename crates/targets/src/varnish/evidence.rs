//! What Varnish counts.

use genkai_model::cache::OwnCounts;
use serde_json::Value;

/// The counters that are asked for (varnish-counters(7)).
pub(super) const ASKED: [&str; 2] = ["MAIN.client_req", "MAIN.cache_hit"];

/// What `varnishstat -1 -j` prints. A hit is one in the cache, objects past their time that are still given (grace) included.
pub(super) fn counts(text: &str) -> Option<OwnCounts> {
    let all: Value = serde_json::from_str(text).ok()?;
    let of = |name: &str| all.get("counters")?.get(name)?.get("value")?.as_u64();
    let [requests, hits] = ASKED.map(of);
    Some(OwnCounts { hits: hits?, misses: requests?.checked_sub(hits?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varnishstat_is_read() {
        let text =
            r#"{"version":1,"counters":{"MAIN.client_req":{"flag":"c","value":7},"MAIN.cache_hit":{"value":4}}}"#;
        assert_eq!(counts(text), Some(OwnCounts { hits: 4, misses: 3 }));
        assert_eq!(counts("{}"), None);
    }
}
