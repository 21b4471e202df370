//! Errors of HAProxy's own that clients get as good answers: an `errorfile` is sent as it is, whatever status its first line has
//! (configuration manual 4.2), and the log has the error's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use genkai_model::evidence::metric;

use super::log::{Session, unanswered};
use crate::haproxy::config::{Config, Section};
use crate::haproxy::route::Route;

/// Counts them.
#[derive(Debug, Default)]
pub(in crate::haproxy) struct Hidden {
    statuses: BTreeSet<String>,
    so_far: u64,
}

impl Hidden {
    /// Of the requests that go this way; `folder` is where relative paths start. Files of the section with the servers come before those of
    /// the listener's (src/http_ana.c: http_error_message).
    pub(in crate::haproxy) fn of(config: &Config, route: &Route<'_>, folder: &Path) -> Hidden {
        let mut files: BTreeMap<&str, &str> = BTreeMap::new();
        for section in route.back.into_iter().chain([route.front]) {
            for (status, file) in config.lineage(section).flat_map(|one| written(config, one)) {
                files.entry(status).or_insert(file);
            }
        }
        let is_good = |file: &str| {
            let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
            let status = text.split_ascii_whitespace().nth(1).unwrap_or_default();
            status.len() == 3 && status.starts_with(['2', '3'])
        };
        let good = files.into_iter().filter(|(_, file)| is_good(file));
        Hidden { statuses: good.map(|(status, _)| status.to_owned()).collect(), so_far: 0 }
    }

    /// Takes lines of the log.
    pub(super) fn read(&mut self, lines: &[String]) {
        let own = |line: &&String| {
            let Some(session) = Session::read(line) else { return false };
            self.statuses.contains(session.status) && unanswered(session.state).is_some_and(|(cause, _)| cause != '-')
        };
        self.so_far += lines.iter().filter(own).count() as u64;
    }

    /// Adds how many there were until now, where there may be any.
    pub(super) fn count(&self, metrics: &mut BTreeMap<String, f64>) {
        if !self.statuses.is_empty() {
            metrics.insert(metric::HIDDEN_ERRORS.to_owned(), self.so_far as f64);
        }
    }
}

/// The `errorfile STATUS FILE` of a section itself, the last of a status first: that counts.
fn written<'c>(config: &'c Config, section: &'c Section) -> impl Iterator<Item = (&'c str, &'c str)> {
    let lines = config.inside(section).iter().filter(|line| line.is("errorfile"));
    let all: Vec<_> = lines.filter_map(|line| Some((line.arg(0)?, line.arg(1)?))).collect();
    all.into_iter().rev()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Requests;

    #[test]
    fn own_errors_with_a_good_page_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("good.http"), "HTTP/1.0 200 OK\r\n\r\nsorry").unwrap();
        std::fs::write(dir.path().join("bad.http"), "HTTP/1.0 504 Gateway Time-out\r\n\r\nsorry").unwrap();
        let text = "defaults\n mode http\n errorfile 503 bad.http\n errorfile 504 bad.http\nfrontend f\n bind :80\n errorfile 504 \
                    good.http\n default_backend b\nbackend b\n errorfile 503 good.http\n server s 127.0.0.1:9\n";
        let config = Config::of_texts(vec![("/x".into(), text.into())], Default::default()).unwrap();
        let route = Route::find(&config, &Requests::to("localhost", "/")).unwrap();
        let mut hidden = Hidden::of(&config, &route, dir.path());
        assert_eq!(hidden.statuses, BTreeSet::from(["503".to_owned()]), "the backend's come before the frontend's");
        let session =
            |state: &str, status: u16| format!("session {state} status={status} queue=0 node=<NOSRV> target=/");
        hidden.read(&[session("sQ", 503), session("SC", 503), session("--", 503), session("sH", 504), "else".into()]);
        let mut metrics = BTreeMap::new();
        hidden.count(&mut metrics);
        assert_eq!(metrics.get(metric::HIDDEN_ERRORS), Some(&2.0));
        let mut none = BTreeMap::new();
        Hidden::default().count(&mut none);
        assert!(none.is_empty());
    }
}
