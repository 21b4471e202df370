//! What a node tells of itself while it runs, and what its process shows.

use genkai_model::evidence::Sample;
use genkai_model::rooms::Hops;
use serde_json::Value;

use genkai_place::usage::Usage;

/// Who a node is in a record.
pub(super) fn subject(number: u32) -> String {
    format!("node {number}")
}

/// Counts in a line; none for anything else.
pub(super) fn hops(line: &str) -> Option<Hops> {
    serde_json::from_str(line).ok()
}

/// One sample of a node: its counts as `node.NAME_total`, `node.members`, `node.waiting` (deliveries that wait to be
/// written), and what its process consumes as `node.cpu` (cores), `node.rss` (bytes), `node.worker_fds_max`,
/// `node.worker_fd_limit`.
pub(super) fn sample(subject: &str, line: &str, usage: &Usage) -> Sample {
    let mut sample = Sample { subject: subject.to_owned(), ..usage.sample_of_one("node") };
    let metrics = &mut sample.metrics;
    if let (Some(hops), Ok(Value::Object(counts))) = (hops(line), serde_json::from_str(line)) {
        metrics.extend(counts.iter().filter_map(|(name, n)| Some((format!("node.{name}_total"), n.as_f64()?))));
        metrics.insert("node.members".to_owned(), hops.joined.saturating_sub(hops.left) as f64);
        let settled = hops.written + hops.dropped_slow + hops.dropped_gone;
        metrics.insert("node.waiting".to_owned(), hops.queued.saturating_sub(settled) as f64);
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_metrics() {
        let counts =
            Hops { joined: 5, left: 2, received: 9, queued: 30, written: 21, dropped_gone: 3, ..Hops::default() };
        let sample = sample("node 3", &serde_json::to_string(&counts).unwrap(), &Usage::default());
        let metric = |name: &str| sample.metrics[&format!("node.{name}")];
        assert_eq!((sample.subject.as_str(), metric("members"), metric("waiting")), ("node 3", 3.0, 6.0));
        assert_eq!((metric("received_total"), metric("cpu")), (9.0, 0.0));
    }

    #[test]
    fn before_the_first_line_there_are_no_counts() {
        let sample = sample("node 1", "", &Usage::default());
        assert!(!sample.metrics.contains_key("node.members") && sample.metrics.contains_key("node.rss"));
    }
}
