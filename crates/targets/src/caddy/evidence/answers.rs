//! The log of what upstreams answered with the status of a server's error (5xx), as a private copy has it written.

use std::collections::BTreeMap;

use genkai_place::tail::Tail;
use serde_json::Value;

/// Counts them, upstream by upstream.
#[derive(Debug)]
pub(in crate::caddy) struct Answers {
    log: Tail,
    failed: BTreeMap<String, u64>,
}

impl Answers {
    /// Of upstreams at these addresses.
    pub(in crate::caddy) fn of(log: Tail, upstreams: impl IntoIterator<Item = String>) -> Answers {
        Answers { log, failed: upstreams.into_iter().map(|upstream| (upstream, 0)).collect() }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.log.lines() {
            if let Some(upstream) = upstream(&line) {
                *self.failed.entry(upstream).or_default() += 1;
            }
        }
        metrics.extend(self.failed.iter().map(|(upstream, failed)| (of_upstream(upstream), *failed as f64)));
        metrics.insert(super::metrics::FAILED_ANSWERS.to_owned(), self.failed.values().sum::<u64>() as f64);
    }
}

/// What the failed answers of an upstream are called.
pub(in crate::caddy) fn of_upstream(address: &str) -> String {
    format!("caddy.server.{address}.failed_answers_total")
}

/// The upstream whose answer the client got: `ADDRESS|TIME`, where the private copy puts it. None where no head of an answer had come (no time):
/// then Caddy answered itself.
fn upstream(line: &str) -> Option<String> {
    let fields: Value = serde_json::from_str(line).ok()?;
    let (upstream, time) = fields.get("user_id")?.as_str()?.rsplit_once('|')?;
    let is_error = fields.get("status")?.as_u64()? >= 500;
    (is_error && !upstream.is_empty() && time.starts_with(|first: char| first.is_ascii_digit()))
        .then(|| upstream.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_caddys_own_is_nobodys() {
        // As Caddy 2.6.2 writes them.
        let line = |id: &str, status: u16| {
            format!(
                "{{\"level\":\"error\",\"ts\":1.5,\"logger\":\"http.log.access.log0\",\"msg\":\"handled request\",\"user_id\":\"{id}\",\
                 \"duration\":0.007,\"size\":2,\"status\":{status}}}"
            )
        };
        assert_eq!(upstream(&line("127.0.0.1:9|7.224738ms", 503)).as_deref(), Some("127.0.0.1:9"));
        assert_eq!(upstream(&line("/a|b.sock|550.711µs", 500)).as_deref(), Some("/a|b.sock"));
        assert_eq!(upstream(&line("127.0.0.1:9|", 502)), None, "refused, or closed");
        assert_eq!(upstream(&line("|", 503)), None, "nobody was asked");
        assert_eq!(upstream(&line("127.0.0.1:9|1ms", 404)), None);
        assert_eq!(upstream("garbage"), None);
    }
}
