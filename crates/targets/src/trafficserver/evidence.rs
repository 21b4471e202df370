//! What Traffic Server counts.

use genkai_model::cache::OwnCounts;

use crate::cache::counters::number;

/// Page of all its statistics, a path.
pub(super) const PAGE: &str = "/_genkai_stats";

/// Kinds of hits and of misses (proxy/http/HttpConfig.cc, `proxy.process.http.cache_*`). Questions for the statistics are none of them.
const HITS: [&str; 5] = ["hit_fresh", "hit_mem_fresh", "hit_revalidated", "hit_ims", "hit_stale_served"];
const MISSES: [&str; 5] =
    ["miss_cold", "miss_changed", "miss_client_no_cache", "miss_client_not_cacheable", "miss_ims"];

/// Reads the page.
pub(super) fn counts(page: &str, _: u64) -> Option<OwnCounts> {
    let sum = |kinds: [&str; 5]| -> Option<u64> {
        kinds.iter().map(|kind| number(page, &format!("proxy.process.http.cache_{kind}"))).sum()
    };
    Some(OwnCounts { hits: sum(HITS)?, misses: sum(MISSES)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_added_up() {
        let line = |kind: &str, n: u32| format!("\"proxy.process.http.cache_{kind}\": \"{n}\",\n");
        let page: String = HITS.iter().chain(&MISSES).map(|kind| line(kind, 2)).collect();
        assert_eq!(counts(&page, 9), Some(OwnCounts { hits: 10, misses: 10 }));
        assert_eq!(counts(&line("hit_fresh", 1), 0), None);
    }
}
