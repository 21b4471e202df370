//! What `INFO` and the log tell.

use genkai_model::evidence::{LogLine, Sample};

use genkai_place::usage::Usage;

/// A subscriber was cut off because it read too slowly (`client-output-buffer-limit pubsub`; networking.c,
/// `closeClientOnOutputBufferLimitReached`): the messages that waited for it are lost.
pub(super) const OUTPUT_BUFFER: &str = "redis.output_buffer_limit";
/// Clients that were refused because there are as many as may be (`maxclients`; networking.c: `acceptCommonHandler`). At its usual
/// level the log says nothing of them.
pub(super) const REJECTED: &str = "redis.rejected_connections";

/// Clients that were closed because all together took too much memory (`maxmemory-clients`; networking.c: evictClients).
pub(super) const EVICTED: &str = "redis.evicted_clients";

/// Counts of `INFO` that are kept (sections clients, stats, memory).
const COUNTS: [&str; 8] = [
    "connected_clients",
    "blocked_clients",
    "rejected_connections",
    "total_commands_processed",
    "pubsub_channels",
    "used_memory",
    "client_recent_max_output_buffer",
    "evicted_clients",
];

/// One sample of subject `redis`: the counts above as `redis.NAME`, and what its process uses.
pub(super) fn sample(info: &str, usage: &Usage) -> Sample {
    let count = |line: &str| {
        let (name, value) = line.trim_end().split_once(':')?;
        let known = COUNTS.contains(&name);
        Some((format!("redis.{name}"), value.parse::<f64>().ok().filter(|_| known)?))
    };
    let mut sample = usage.sample_of_one("redis");
    sample.metrics.extend(info.lines().filter_map(count));
    sample
}

/// A line about a client without most of what it says of the client (`addr=... laddr=... fd=...`).
fn gist(line: &str) -> String {
    let kept =
        |word: &&str| !word.contains('=') || ["addr=", "omem=", "cmd="].iter().any(|name| word.starts_with(name));
    line.split(' ').filter(kept).collect::<Vec<_>>().join(" ").chars().take(400).collect()
}

/// A line of the log that tells of a limit.
pub(super) fn log(line: &str) -> Option<LogLine> {
    line.contains("overcoming of output buffer limits").then(|| LogLine {
        subject: "redis".to_owned(),
        level: "warning".to_owned(),
        text: gist(line),
        signature: Some(OUTPUT_BUFFER.to_owned()),
        count: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_info_are_metrics() {
        let info = "$123\r\n# Clients\r\nconnected_clients:7\r\nmaxclients:10000\r\nused_memory:1000\r\nos:Linux:6\r\n";
        let sample = sample(info, &Usage { rss: 5, ..Usage::default() });
        let names: Vec<&str> = sample.metrics.keys().map(String::as_str).collect();
        assert_eq!(names, ["redis.connected_clients", "redis.cpu", "redis.rss", "redis.used_memory"]);
        assert_eq!(sample.metrics["redis.connected_clients"], 7.0);
    }

    #[test]
    fn a_subscriber_that_was_cut_off_is_recognised() {
        // Redis 7.0.15.
        let line = "1:M 01 Jan 2026 10:00:00.000 # Client id=5 addr=127.0.0.1:4 omem=33 cmd=subscribe scheduled to be closed \
                    ASAP for overcoming of output buffer limits.";
        let seen = log(line).unwrap();
        assert_eq!(seen.signature.as_deref(), Some(OUTPUT_BUFFER));
        assert!(seen.text.ends_with("Client addr=127.0.0.1:4 omem=33 cmd=subscribe scheduled to be closed ASAP for overcoming of output buffer limits."), "{}", seen.text);
        assert_eq!(log("1:M 01 Jan 2026 10:00:00.000 * Ready to accept connections"), None);
    }
}
