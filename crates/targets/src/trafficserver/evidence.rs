//! What Traffic Server counts.

use genkai_model::cache::OwnCounts;

use crate::cache::counters::number;

/// Page of all its statistics, a path.
pub(super) const PAGE: &str = "/_genkai_stats";

/// Kinds of hits and of misses (proxy/http/HttpConfig.cc, `proxy.process.http.cache_*`). Questions for the statistics count as
/// `miss_client_not_cacheable`, which is left out: clients of an experiment have no say in what may be kept.
const HITS: [&str; 5] = ["hit_fresh", "hit_mem_fresh", "hit_revalidated", "hit_ims", "hit_stale_served"];
const MISSES: [&str; 4] = ["miss_cold", "miss_changed", "miss_client_no_cache", "miss_ims"];

/// Reads the page.
pub(super) fn counts(page: &str, _: u64) -> Option<OwnCounts> {
    let sum = |kinds: &[&str]| -> Option<u64> {
        kinds.iter().map(|kind| number(page, &format!("proxy.process.http.cache_{kind}"))).sum()
    };
    Some(OwnCounts { hits: sum(&HITS)?, misses: sum(&MISSES)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_added_up() {
        let line = |kind: &str, n: u32| format!("\"proxy.process.http.cache_{kind}\": \"{n}\",\n");
        let page: String = HITS.iter().chain(&MISSES).map(|kind| line(kind, 2)).collect();
        assert_eq!(counts(&page, 9), Some(OwnCounts { hits: 10, misses: 8 }));
        assert_eq!(counts(&line("hit_fresh", 1), 0), None);
    }
}
