//! Errors of Caddy's own that clients get as good answers: a route of `handle_errors` may give any status (modules/caddyhttp/server.go: ServeHTTP), and the log of errors has
//! the error's.

use std::collections::BTreeMap;

use genkai_model::evidence::metric;
use serde_json::Value;

use crate::caddy::config::Site;
use crate::caddy::errors::answer;

/// Counts them.
#[derive(Debug, Default)]
pub(in crate::caddy) struct Hidden {
    is_good: bool,
    so_far: u64,
}

impl Hidden {
    /// Of a site. Only where each of its errors is answered by one `respond` with a good status and nothing before it: what else the routes do is not evaluated.
    pub(in crate::caddy) fn of(site: &Site) -> Hidden {
        let is_good = answer(site).is_some_and(|(_, status)| (200..300).contains(&status));
        Hidden { is_good, so_far: 0 }
    }

    /// Whether there may be any.
    pub(in crate::caddy) fn may_be(&self) -> bool {
        self.is_good
    }

    /// Takes lines of the log.
    pub(super) fn read(&mut self, lines: &[String]) {
        if self.is_good {
            self.so_far += lines.iter().filter(|line| is_error(line)).count() as u64;
        }
    }

    /// Adds how many there were until now, where there may be any.
    pub(super) fn count(&self, metrics: &mut BTreeMap<String, f64>) {
        if self.is_good {
            metrics.insert(metric::HIDDEN_ERRORS.to_owned(), self.so_far as f64);
        }
    }
}

/// Whether a line of the log is of an error of Caddy's own with the status of a server's error. Handled ones are written for debugging (2.6).
fn is_error(line: &str) -> bool {
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else { return false };
    let of = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    of("logger").starts_with("http.log.error") && fields.get("status").and_then(Value::as_u64).is_some_and(|s| s >= 500)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::{Config, Variables};

    #[test]
    fn only_what_answers_every_error_well_hides_them() {
        let of = |routes: &str| {
            let text = format!(":80 {{\n\treverse_proxy a:1\n{routes}}}\n");
            Hidden::of(&Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap().sites()[0])
                .is_good
        };
        assert!(of("\thandle_errors {\n\t\trespond \"sorry\" 200\n\t}\n"));
        for routes in [
            "",
            "\thandle_errors {\n\t\trespond sorry\n\t}\n",
            "\thandle_errors {\n\t\trespond sorry 503\n\t}\n",
            "\thandle_errors {\n\t\trespond /a 200\n\t}\n",
            "\thandle_errors {\n\t\trewrite * /e\n\t\trespond sorry 200\n\t}\n",
            "\thandle_errors 404 {\n\t\trespond sorry 200\n\t}\n",
        ] {
            assert!(!of(routes), "{routes}");
        }
    }

    #[test]
    fn errors_are_counted_once() {
        let line = |logger: &str, status: u16| {
            format!("{{\"level\":\"debug\",\"logger\":\"{logger}\",\"msg\":\"EOF\",\"status\":{status}}}")
        };
        let mut hidden = Hidden { is_good: true, so_far: 0 };
        hidden.read(&[
            line("http.log.error.log0", 502),
            line("http.log.error", 404),
            line("http.log.access", 502),
            "x".into(),
        ]);
        let mut metrics = BTreeMap::new();
        hidden.count(&mut metrics);
        assert_eq!(metrics.get(metric::HIDDEN_ERRORS), Some(&1.0));
    }
}
