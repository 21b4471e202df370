//! Servers of a group that get no requests because they failed: nginx writes a warning each time (src/http/ngx_http_upstream_round_robin.c:
//! ngx_http_upstream_free_round_robin_peer), and asks them again after `fail_timeout`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use genkai_model::evidence::metric;

/// `fail_timeout` where nothing else is written.
const FAIL_TIMEOUT: Duration = Duration::from_secs(10);

/// Until when each is out.
#[derive(Debug)]
pub(in crate::nginx) struct Out(BTreeMap<String, Option<Instant>>);

impl Out {
    /// Of these servers, as nginx names them, whose `fail_timeout` is nginx's own and of which all workers think the same.
    pub(in crate::nginx) fn of(servers: impl IntoIterator<Item = String>) -> Out {
        Out(servers.into_iter().map(|server| (server, None)).collect())
    }

    /// Takes lines of the error log.
    pub(super) fn read(&mut self, lines: &[String], now: Instant) {
        for server in lines.iter().filter_map(|line| disabled(line)) {
            if let Some(until) = self.0.get_mut(server) {
                *until = Some(now + FAIL_TIMEOUT);
            }
        }
    }

    /// Adds which are out now.
    pub(super) fn count(&self, now: Instant, metrics: &mut BTreeMap<String, f64>) {
        let is_out = |until: &Option<Instant>| until.is_some_and(|until| now < until);
        metrics.extend(
            self.0.iter().map(|(server, until)| (metric::of_down("nginx", server), f64::from(u8::from(is_out(until))))),
        );
    }
}

/// The server that a line says to be left alone.
fn disabled(line: &str) -> Option<&str> {
    let rest = line.split_once(" upstream server temporarily disabled ")?.1;
    let url = rest.split_once("upstream: \"")?.1.split('"').next()?;
    url.split_once("://")?.1.split('/').next().filter(|server| !server.starts_with("unix:"))
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
    }
}
