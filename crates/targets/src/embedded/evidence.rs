//! What the origin tells of itself, a line of JSON a period on its standard output, and what its process shows.

use std::collections::BTreeMap;

use genkai_model::evidence::{Sample, metric};
use serde_json::Value;

use genkai_place::usage::Usage;

/// CPU of the origin since the look before, cores.
pub const CPU: &str = "backend.cpu";
/// Its resident memory, bytes.
pub const RSS: &str = "backend.rss";
/// Its open descriptors: connections, and a dozen of its own.
pub const FDS: &str = "backend.worker_fds_max";
/// Its soft limit on descriptors.
pub const FD_LIMIT: &str = "backend.worker_fd_limit";

/// Names in the origin's lines, and the metrics they are.
const COUNTS: [(&str, &str); 5] = [
    ("busy", metric::BACKEND_BUSY),
    ("queued", metric::BACKEND_QUEUED),
    ("workers", metric::BACKEND_WORKERS),
    ("refused_total", metric::BACKEND_REFUSED),
    ("done_total", metric::BACKEND_DONE),
];

/// A line of counts as metrics; counts that are null are absent. None for anything else.
fn metrics(line: &str) -> Option<BTreeMap<String, f64>> {
    let line: Value = serde_json::from_str(line).ok()?;
    line.get("done_total")?;
    let one = |(name, metric): (&str, &str)| Some((metric.to_owned(), line.get(name)?.as_f64()?));
    Some(COUNTS.into_iter().filter_map(one).collect())
}

/// One sample of subject `backend`; `line` is the last that the origin said.
pub(super) fn sample(line: &str, usage: &Usage) -> Sample {
    let mut sample = usage.sample_of_one("backend");
    sample.metrics.extend(metrics(line).unwrap_or_default());
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_become_metrics() {
        let metrics = metrics(r#"{"busy":3,"queued":1,"workers":5,"refused_total":2,"done_total":17}"#).unwrap();
        let expected = [("busy", 3.0), ("done_total", 17.0), ("queued", 1.0), ("refused_total", 2.0), ("workers", 5.0)];
        let seen: Vec<_> =
            metrics.iter().map(|(name, value)| (name.strip_prefix("backend.").unwrap(), *value)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_pool_without_cap_has_no_such_metric_and_nonsense_none_at_all() {
        let metrics_ = metrics(r#"{"busy":0,"queued":0,"workers":null,"refused_total":0,"done_total":0}"#).unwrap();
        assert!(!metrics_.contains_key(metric::BACKEND_WORKERS) && metrics_.contains_key(metric::BACKEND_BUSY));
        for text in ["", "busy", "[1]", "{}", r#"{"busy":1}"#] {
            assert_eq!(metrics(text), None, "{text}");
        }
    }
}
