//! What Squid counts.

use genkai_model::cache::OwnCounts;

use crate::cache::counters::number;

/// Signature of the message that it has no descriptors left for clients (src/comm/TcpAcceptor.cc).
pub(super) const OUT_OF_DESCRIPTORS: &str = "squid-out-of-descriptors";

/// The known message that a line of its log is.
pub(super) fn signature(line: &str) -> Option<&'static str> {
    line.contains("Your cache is running out of filedescriptors").then_some(OUT_OF_DESCRIPTORS)
}

/// Its page of counters (cache manager, `mgr:counters`).
pub(super) const PAGE: &str = "/squid-internal-mgr/counters";

/// `client_http.requests` and `client_http.hits` (src/StatCounters.h). The page itself was asked for `before` times, and each of those
/// is a request that was no hit.
pub(super) fn counts(page: &str, before: u64) -> Option<OwnCounts> {
    let (requests, hits) = (number(page, "client_http.requests")?, number(page, "client_http.hits")?);
    Some(OwnCounts { hits, misses: requests.checked_sub(hits)?.checked_sub(before)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_for_the_counters_do_not_count() {
        let page = "sample_time = 1\nclient_http.requests = 9\nclient_http.hits = 3\nserver.http.requests = 3\n";
        assert_eq!(counts(page, 2), Some(OwnCounts { hits: 3, misses: 4 }));
        assert_eq!((counts("", 0), counts(page, 7)), (None, None));
    }
}
