//! The administration endpoint on a Unix socket: what each upstream has, and the metrics of Go's runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use genkai_model::evidence::metric;
use serde_json::Value;

use super::{SUBJECT, metrics};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest answer that is read: the metrics of a plain Caddy have some 10 kB.
const ANSWER_MAX: u64 = 4 << 20;

/// The metrics that are kept of all that there are, by the names that they get.
const METRICS: [(&str, &str); 2] =
    [("go_goroutines", metrics::GOROUTINES), ("go_memstats_heap_inuse_bytes", metrics::HEAP)];

/// The body of an answer; none when there is none in time. On a Unix socket Caddy wants the Host header to be empty (admin.go:
/// `allowedOrigins`), and to HTTP/1.0 it answers in one piece.
fn ask(socket: &Path, path: &str) -> Option<String> {
    let mut stream = UnixStream::connect(socket).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.set_write_timeout(Some(PATIENCE)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: \r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.split(' ').nth(1).filter(|status| *status == "200")?;
    Some(body.to_owned())
}

/// What a running Caddy says of itself.
pub(super) fn sample(socket: &Path, judged: Option<&Judged>) -> BTreeMap<String, f64> {
    let body = ask(socket, "/reverse_proxy/upstreams").unwrap_or_default();
    let mut all = upstreams(&body);
    all.extend(judged.map(|judged| judged.down(&body)).unwrap_or_default());
    all.extend(runtime(&ask(socket, "/metrics").unwrap_or_default()));
    all
}

/// Requests at all upstreams together and at the fullest, and failures that count at present (reverseproxy/admin.go).
fn upstreams(body: &str) -> BTreeMap<String, f64> {
    let Ok(Value::Array(all)) = serde_json::from_str(body) else { return BTreeMap::new() };
    let field = |upstream: &Value, name: &str| upstream.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let requests: Vec<f64> = all.iter().map(|upstream| field(upstream, "num_requests")).collect();
    let fails = all.iter().map(|upstream| field(upstream, "fails")).sum();
    BTreeMap::from([
        (metrics::UPSTREAM_REQUESTS.to_owned(), requests.iter().sum()),
        (metrics::UPSTREAM_REQUESTS_MAX.to_owned(), requests.iter().copied().fold(0.0, f64::max)),
        (metrics::UPSTREAM_FAILS.to_owned(), fails),
    ])
}

/// Upstreams that are judged by how often they failed of late (`fail_duration`).
#[derive(Clone, Debug)]
pub(in crate::caddy) struct Judged {
    /// Where they are.
    pub(in crate::caddy) upstreams: BTreeSet<String>,
    /// From how many failures on each gets no requests (`max_fails`; reverseproxy/hosts.go: Healthy).
    pub(in crate::caddy) most: u64,
}

impl Judged {
    /// Which get no requests.
    fn down(&self, body: &str) -> BTreeMap<String, f64> {
        let Ok(Value::Array(all)) = serde_json::from_str(body) else { return BTreeMap::new() };
        let told = all.iter().filter_map(|upstream| {
            let address = upstream.get("address")?.as_str().filter(|address| self.upstreams.contains(*address))?;
            let failed = upstream.get("fails")?.as_u64()?;
            Some((metric::of_down(SUBJECT, address), f64::from(u8::from(failed >= self.most))))
        });
        told.collect()
    }
}

/// `NAME VALUE` lines of those that are known.
fn runtime(body: &str) -> BTreeMap<String, f64> {
    let values = body.lines().filter_map(|line| line.split_once(' '));
    let known = values.filter_map(|(name, value)| {
        let (_, ours) = METRICS.iter().find(|(known, _)| *known == name)?;
        Some(((*ours).to_owned(), value.parse().ok()?))
    });
    known.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let body = r#"[{"address":"127.0.0.1:1","num_requests":7,"fails":1},{"address":"127.0.0.1:2","num_requests":9,"fails":0}]"#;
        let all = upstreams(body);
        let of = |name: &str| all.get(name).copied();
        assert_eq!((of(metrics::UPSTREAM_REQUESTS), of(metrics::UPSTREAM_REQUESTS_MAX)), (Some(16.0), Some(9.0)));
        assert_eq!((of(metrics::UPSTREAM_FAILS), upstreams("").len()), (Some(1.0), 0));
        let judged =
            |most: u64, names: &[&str]| Judged { upstreams: names.iter().map(|n| (*n).to_owned()).collect(), most };
        let both = ["127.0.0.1:1", "127.0.0.1:2"];
        let of = |which: &str| metric::of_down("caddy", which);
        assert_eq!(judged(1, &both).down(body), BTreeMap::from([(of(both[0]), 1.0), (of(both[1]), 0.0)]));
        assert_eq!(judged(2, &both[..1]).down(body), BTreeMap::from([(of(both[0]), 0.0)]), "it may fail twice");
        let text =
            "# HELP go_goroutines Number\ngo_goroutines 79\ngo_memstats_heap_inuse_bytes 6.578176e+06\nother 1\n";
        assert_eq!(runtime(text).values().copied().collect::<Vec<_>>(), [79.0, 6_578_176.0]);
    }
}
