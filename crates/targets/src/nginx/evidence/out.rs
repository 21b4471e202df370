//! Servers of a group that get no requests because they failed: nginx writes a warning each time (src/http/ngx_http_upstream_round_robin.c:
//! ngx_http_upstream_free_round_robin_peer), and asks them again after `fail_timeout`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use genkai_model::evidence::metric;

use super::metrics;

/// `fail_timeout` where nothing else is written.
const FAIL_TIMEOUT: Duration = Duration::from_secs(10);

/// Until when each is out, and how many requests were answered without asking any while all were.
#[derive(Debug)]
pub(in crate::nginx) struct Out {
    until: BTreeMap<String, Option<Instant>>,
    refused: u64,
}

impl Out {
    /// Of these servers, as nginx names them, whose `fail_timeout` is nginx's own and of which all workers think the same.
    pub(in crate::nginx) fn of(servers: impl IntoIterator<Item = String>) -> Out {
        Out { until: servers.into_iter().map(|server| (server, None)).collect(), refused: 0 }
    }

    /// Takes lines of the error log.
    pub(super) fn read(&mut self, lines: &[String], now: Instant) {
        for line in lines {
            if let Some(until) = disabled(line).and_then(|server| self.until.get_mut(server)) {
                *until = Some(now + FAIL_TIMEOUT);
            }
            // While one is in use, it is full.
            if line.contains(" no live upstreams ") && self.until.values().all(|until| is_out(until, now)) {
                self.refused += 1;
            }
        }
    }

    /// Adds which are out now.
    pub(super) fn count(&self, now: Instant, metrics: &mut BTreeMap<String, f64>) {
        let down = |until: &Option<Instant>| f64::from(u8::from(is_out(until, now)));
        metrics.extend(self.until.iter().map(|(server, until)| (metric::of_down("nginx", server), down(until))));
        metrics.insert(metrics::REFUSED_ALL_OUT.to_owned(), self.refused as f64);
    }
}

fn is_out(until: &Option<Instant>, now: Instant) -> bool {
    until.is_some_and(|until| now < until)
}

/// The server that a line says to be left alone.
fn disabled(line: &str) -> Option<&str> {
    let rest = line.split_once(" upstream server temporarily disabled ")?.1;
    let url = rest.split_once("upstream: \"")?.1.split('"').next()?;
    let server = url.split_once("://")?.1;
    match server.strip_prefix("unix:") {
        // Its path ends where that of the request begins.
        Some(path) => server.get(.."unix:".len() + path.find(':')?),
        None => server.split('/').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_out_until_it_is_asked_again() {
        // Written by 1.22.1.
        let line = "2026/11/26 04:30:30 [warn] 9#9: *7 upstream server temporarily disabled while connecting to upstream, client: 127.0.0.1, \
                    server: , request: \"GET / HTTP/1.1\", upstream: \"http://127.0.0.1:9/\", host: \"x\"";
        let mut out = Out::of(["127.0.0.1:9".to_owned(), "127.0.0.1:8".to_owned()]);
        let now = Instant::now();
        let seen = |out: &Out, after: u64| {
            let mut metrics = BTreeMap::new();
            out.count(now + Duration::from_secs(after), &mut metrics);
            ["127.0.0.1:9", "127.0.0.1:8"].map(|server| metrics[&metric::of_down("nginx", server)])
        };
        out.read(&["connect() failed (111: Connection refused)".to_owned()], now);
        assert_eq!(seen(&out, 0), [0.0, 0.0]);
        out.read(&[line.to_owned()], now);
        assert_eq!((seen(&out, 9), seen(&out, 10)), ([1.0, 0.0], [0.0, 0.0]));
        // Written by 1.22.1. The one that is in use is full; when both are out, that is why.
        let none =
            line.replace("[warn]", "[error]").replace("upstream server temporarily disabled", "no live upstreams");
        let refused = |out: &Out| {
            let mut metrics = BTreeMap::new();
            out.count(now, &mut metrics);
            metrics[metrics::REFUSED_ALL_OUT]
        };
        out.read(std::slice::from_ref(&none), now);
        assert_eq!(refused(&out), 0.0);
        out.read(&[line.replace(":9/", ":8/"), none.clone(), none], now);
        assert_eq!(refused(&out), 2.0);
    }

    #[test]
    fn a_socket_in_a_file_is_known_by_its_path() {
        // Written by 1.22.1.
        let line = "2026/11/26 18:00:02 [warn] 9#9: *7 upstream server temporarily disabled while connecting to upstream, client: 127.0.0.1, \
                    server: , request: \"GET / HTTP/1.1\", upstream: \"fastcgi://unix:/run/php/p.sock:\", host: \"x\"";
        assert_eq!(disabled(line), Some("unix:/run/php/p.sock"));
        assert_eq!(disabled(&line.replace("sock:", "sock:/a:b")), Some("unix:/run/php/p.sock"));
    }
}
