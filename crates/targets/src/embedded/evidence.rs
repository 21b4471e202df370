//! What the origin tells of itself, a line of JSON a period on its standard output, and what its process shows.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::ChildStdout;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use genkai_model::evidence::{Sample, metric};
use serde_json::Value;

use crate::local::usage::Usage;

/// CPU of the origin since the look before, cores.
pub const CPU: &str = "backend.cpu";
/// Its resident memory, bytes.
pub const RSS: &str = "backend.rss";
/// Its open descriptors: connections, and a dozen of its own.
pub const FDS: &str = "backend.worker_fds_max";
/// Its soft limit on descriptors.
pub const FD_LIMIT: &str = "backend.worker_fd_limit";

/// Longest line that is read; a line of counts has about 100 bytes.
const LINE: u64 = 4096;

/// Names in the origin's lines, and the metrics they are.
const COUNTS: [(&str, &str); 5] = [
    ("busy", metric::BACKEND_BUSY),
    ("queued", metric::BACKEND_QUEUED),
    ("workers", metric::BACKEND_WORKERS),
    ("refused_total", metric::BACKEND_REFUSED),
    ("done_total", metric::BACKEND_DONE),
];

/// Metrics of the last line of counts.
pub(super) type Counts = Arc<Mutex<BTreeMap<String, f64>>>;

/// Reads the origin's output until it ends. The first line comes through the channel, whatever it is (a closed channel:
/// there was none); of the others the last one stands in [`Counts`].
pub(super) fn listen(out: ChildStdout) -> (Receiver<String>, Counts) {
    let (first, received) = channel();
    let counts = Counts::default();
    let last = Arc::clone(&counts);
    let read = move || {
        let mut out = BufReader::new(out);
        let Some(line) = line(&mut out) else { return };
        let _ = first.send(line);
        while let Some(line) = self::line(&mut out) {
            if let Some(metrics) = metrics(&line) {
                *last.lock().unwrap_or_else(PoisonError::into_inner) = metrics;
            }
        }
    };
    // Without the thread the channel is closed, and the origin counts as one that said nothing.
    let _ = thread::Builder::new().name("origin-out".into()).spawn(read);
    (received, counts)
}

/// The next line, cut where it is too long; none at the end.
fn line(out: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    match out.by_ref().take(LINE).read_until(b'\n', &mut bytes) {
        Ok(n) if n > 0 => Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        _ => None,
    }
}

/// The address in the first line, `{"listening":"127.0.0.1:PORT"}`.
pub(super) fn address(line: &str) -> Option<SocketAddr> {
    serde_json::from_str::<Value>(line).ok()?.get("listening")?.as_str()?.parse().ok()
}

/// A line of counts as metrics; counts that are null are absent. None for anything else.
fn metrics(line: &str) -> Option<BTreeMap<String, f64>> {
    let line: Value = serde_json::from_str(line).ok()?;
    line.get("done_total")?;
    let one = |(name, metric): (&str, &str)| Some((metric.to_owned(), line.get(name)?.as_f64()?));
    Some(COUNTS.into_iter().filter_map(one).collect())
}

/// One sample of subject `backend`.
pub(super) fn sample(counts: &Counts, usage: &Usage) -> Sample {
    let mut metrics = counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    metrics.insert(CPU.to_owned(), usage.cpu);
    metrics.insert(RSS.to_owned(), usage.rss as f64);
    let descriptors = [(FDS, usage.fds_max), (FD_LIMIT, usage.fd_limit)];
    metrics.extend(descriptors.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value? as f64))));
    Sample { subject: "backend".to_owned(), metrics }
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

    #[test]
    fn the_first_line_tells_the_address() {
        assert_eq!(address(r#"{"listening":"127.0.0.1:8080"}"#), Some("127.0.0.1:8080".parse().unwrap()));
        for text in ["", "listening", r#"{"listening":"somewhere"}"#, r#"{"listening":5}"#] {
            assert_eq!(address(text), None, "{text}");
        }
    }
}
