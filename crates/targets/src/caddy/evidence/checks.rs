//! What Caddy's own checks of upstreams say (`health_uri`, `health_path`, `health_port`): an upstream that fails one gets no requests until it passes one
//! (modules/caddyhttp/reverseproxy/healthchecks.go: doActiveHealthCheck). They are written as no errors, in a log of their own here.

use std::collections::{BTreeMap, BTreeSet};

use genkai_model::evidence::metric;
use serde_json::{Map, Value};

use super::SUBJECT;
use crate::caddy::config::Line;

/// Who writes of them.
pub(in crate::caddy) const LOGGER: &str = "http.handlers.reverse_proxy.health_checker.active";
/// What it says of one that passes after it had failed.
const PASSED: &str = "host is up";
/// What it says of one that fails.
const FAILED: [&str; 5] = [
    "HTTP request failed",
    "status code out of tolerances",
    "unexpected status code",
    "failed to read response body",
    "response body failed expectations",
];

/// Follows them, upstream by upstream.
#[derive(Clone, Debug, Default)]
pub(in crate::caddy) struct Checks {
    /// Upstreams by the place that is asked about each.
    asked: BTreeMap<String, BTreeSet<String>>,
    down: BTreeSet<String>,
}

impl Checks {
    /// Those of several `upstreams` of a proxy; none where it has no checks, or where not each failure counts, or another place is asked for all.
    pub(in crate::caddy) fn of(proxy: &Line, upstreams: impl Iterator<Item = String>) -> Checks {
        let word = |name: &str| Some(proxy.option(name)?.arg(0)?.value.clone());
        let several = proxy.option("health_fails").is_some_and(|_| word("health_fails").as_deref() != Some("1"));
        let has = ["health_uri", "health_path", "health_port"].iter().any(|name| proxy.option(name).is_some());
        if !has || several || proxy.option("health_upstream").is_some() {
            return Checks::default();
        }
        let port = word("health_port");
        let mut asked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for upstream in upstreams {
            let Some((host, own)) = upstream.rsplit_once(':') else { continue };
            let at = format!("{host}:{}", port.as_deref().unwrap_or(own));
            asked.entry(at).or_default().insert(upstream.clone());
        }
        Checks { asked, down: BTreeSet::new() }
    }

    /// Takes lines of the log.
    pub(super) fn read(&mut self, lines: &[String]) {
        for line in lines {
            let Ok(Value::Object(fields)) = serde_json::from_str(line) else { continue };
            let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let (says, host) = (text("msg"), text("host"));
            let Some(upstreams) = self.asked.get(host).filter(|_| text("logger") == LOGGER) else { continue };
            if says == PASSED {
                self.down.retain(|one| !upstreams.contains(one));
            } else if FAILED.contains(&says) {
                self.down.extend(upstreams.iter().cloned());
            }
        }
    }

    /// Adds which get no requests because they fail them; what judges them otherwise has said so of others.
    pub(super) fn count(&self, metrics: &mut BTreeMap<String, f64>) {
        for upstream in self.asked.values().flatten() {
            let down = f64::from(u8::from(self.down.contains(upstream)));
            metrics.entry(metric::of_down(SUBJECT, upstream)).and_modify(|one| *one = one.max(down)).or_insert(down);
        }
    }
}

/// A line of theirs that tells of a failure, in words, without the URL that was asked (a secret may be in it). None: it is another one.
pub(super) fn failed(fields: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let says = text("msg");
    if text("logger") != LOGGER || !FAILED.contains(&says) {
        return None;
    }
    let status = fields.get("status_code").and_then(Value::as_u64).map(|status| format!(" ({status})"));
    let error = text("error").split_once("\": ").map(|(_, why)| format!(": {why}"));
    Some(format!("health check of {}: {says}{}", text("host"), status.or(error).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::super::{aggregate, signature};
    use super::*;
    use crate::caddy::config::{Config, Variables};

    fn checks(lines: &str) -> Checks {
        let text = format!(":80 {{\n\treverse_proxy 127.0.0.1:1 127.0.0.1:2 {{\n\t\t{lines}\n\t}}\n}}\n");
        let config = Config::of_texts(vec![("/C".into(), text.into())], Variables::new()).unwrap();
        let proxy = &config.sites()[0].lines[0];
        Checks::of(proxy, ["127.0.0.1:1", "127.0.0.1:2"].map(str::to_owned).into_iter())
    }

    fn line(says: &str, more: &str) -> String {
        format!("{{\"level\":\"info\",\"logger\":\"{LOGGER}\",\"msg\":\"{says}\",{more}}}")
    }

    #[test]
    fn who_fails_a_check_is_down_until_it_passes_one() {
        let down = |checks: &Checks| {
            let mut metrics = BTreeMap::new();
            checks.count(&mut metrics);
            metrics.into_values().collect::<Vec<f64>>()
        };
        let (bad, good) = (
            line("status code out of tolerances", "\"status_code\":503,\"host\":\"127.0.0.1:2\""),
            line("host is up", "\"host\":\"127.0.0.1:2\""),
        );
        let mut all = checks("health_uri /up");
        assert_eq!(down(&all), [0.0, 0.0]);
        all.read(&[good.clone(), bad.clone()]);
        assert_eq!(down(&all), [0.0, 1.0]);
        all.read(&[good]);
        assert_eq!(down(&all), [0.0, 0.0]);
        // A place for both.
        let mut both = checks("health_port 9");
        both.read(&[line("HTTP request failed", "\"host\":\"127.0.0.1:9\",\"error\":\"\"")]);
        assert_eq!(down(&both), [1.0, 1.0]);
        for other in ["lb_retries 2", "health_uri /up\n\t\thealth_fails 3"] {
            assert_eq!(down(&checks(other)), [0.0; 0], "{other}");
        }
    }

    #[test]
    fn a_failure_is_told_without_the_url() {
        let error = "Get \\\"http://127.0.0.1:2/up?key=secret\\\": dial tcp 127.0.0.1:2: connect: connection refused";
        let lines =
            aggregate([
                line("HTTP request failed", &format!("\"host\":\"127.0.0.1:2\",\"error\":\"{error}\"")).as_str()
            ]);
        assert_eq!(
            lines[0].text,
            "warn health check of 127.0.0.1:2: HTTP request failed: dial tcp 127.0.0.1:2: connect: connection refused"
        );
        assert_eq!(lines[0].signature.as_deref(), Some(signature::CHECK_FAILED));
        assert!(aggregate([line("host is up", "\"host\":\"127.0.0.1:2\"").as_str()]).is_empty());
    }
}
