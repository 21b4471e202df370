//! Errors that clients get as good answers. HAProxy's own ([`crate::haproxy::pages`]): the log has the error's status. Those of a server
//! that a rule changes (`http-response set-status 200 if { status 503 }`): its statistics count both sides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use genkai_model::evidence::metric;

use super::log::{Session, unanswered};
use super::stat::Passing;
use crate::haproxy::config::Config;
use crate::haproxy::pages::{Sent, pages, status_of};
use crate::haproxy::route::Route;

/// Counts them.
#[derive(Debug, Default)]
pub(in crate::haproxy) struct Hidden {
    statuses: BTreeSet<String>,
    so_far: u64,
    /// Errors that servers answered with, until the look before.
    failed: u64,
    /// Errors of servers that clients were not shown; none: HAProxy does not count both.
    changed: Option<u64>,
}

impl Hidden {
    /// Of the requests that go this way; `folder` is where relative paths start.
    pub(in crate::haproxy) fn of(config: &Config, route: &Route<'_>, folder: &Path) -> Hidden {
        let is_good = |sent: &Sent| match sent {
            Sent::Own => false,
            Sent::Elsewhere(..) => true,
            Sent::File(file) => status_of(file, folder).is_some_and(|status| (200..400).contains(&status)),
        };
        let good = pages(config, route).into_iter().filter(|(_, page)| is_good(&page.sent));
        Hidden { statuses: good.map(|(status, _)| status.to_string()).collect(), ..Hidden::default() }
    }

    /// Takes lines of the log.
    pub(super) fn read(&mut self, lines: &[String]) {
        let own = |line: &&String| {
            let Some(session) = Session::read(line) else { return false };
            self.statuses.contains(session.status) && unanswered(session.state).is_some_and(|(cause, _)| cause != '-')
        };
        self.so_far += lines.iter().filter(own).count() as u64;
    }

    /// Takes the statistics. A server's error is counted when it comes, its client's answer when that has been sent: what servers had answered by
    /// the look before is compared with what clients were shown until now, so that none on its way is taken for one that was hidden.
    pub(super) fn compare(&mut self, passing: Option<Passing>) {
        let Some(Passing { failed, shown, again, .. }) = passing else { return };
        let hidden = self.failed.saturating_sub(shown + again);
        self.changed = Some(hidden.max(self.changed.unwrap_or_default()));
        self.failed = failed;
    }

    /// Adds how many there were until now, where there may be any.
    pub(super) fn count(&self, metrics: &mut BTreeMap<String, f64>) {
        if !self.statuses.is_empty() || self.changed.is_some() {
            metrics.insert(metric::HIDDEN_ERRORS.to_owned(), (self.so_far + self.changed.unwrap_or_default()) as f64);
        }
    }
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

    #[test]
    fn errors_of_servers_that_clients_are_not_shown_are_counted_once_they_cannot_be_on_their_way() {
        let mut hidden = Hidden::default();
        let mut look = |failed: u64, shown: u64, again: u64| {
            hidden.compare(Some(Passing { answered: 1_000, failed, shown, again }));
            let mut metrics = BTreeMap::new();
            hidden.count(&mut metrics);
            metrics.get(metric::HIDDEN_ERRORS).copied()
        };
        assert_eq!(look(0, 0, 0), Some(0.0));
        assert_eq!(look(40, 10, 0), Some(0.0), "they may still be on their way");
        assert_eq!(look(40, 10, 0), Some(30.0));
        assert_eq!(look(90, 40, 0), Some(30.0), "none is taken back");
        assert_eq!(look(90, 40, 10), Some(40.0), "those asked again hid nothing");
        hidden.compare(None);
        assert_eq!(hidden.changed, Some(40), "of what is not counted nothing is known");
    }

    #[test]
    fn whatever_says_what_is_sent_counts() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("good.http"), "HTTP/1.0 200 OK\r\n\r\nsorry").unwrap();
        let hidden = |lines: &str| {
            let text = format!(
                "http-errors mine\n errorfile 503 good.http\n errorfile 504 good.http\ndefaults\n mode http\nfrontend f\n bind :80\n \
                 default_backend b\nbackend b\n {lines}\n server s 127.0.0.1:9\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Default::default()).unwrap();
            let route = Route::find(&config, &Requests::to("localhost", "/")).unwrap();
            Hidden::of(&config, &route, dir.path()).statuses.into_iter().collect::<Vec<_>>().join(" ")
        };
        for (lines, statuses) in [
            ("errorfiles mine", "503 504"),
            ("errorfiles mine 503", "503"),
            ("errorloc 503 http://x/", "503"),
            ("errorloc303 502 /x", "502"),
            ("http-error status 503 errorfile good.http", "503"),
            ("http-error status 503 errorfiles mine", "503"),
            ("errorfile 503 good.http\n http-error status 503 content-type text/plain string sorry", ""),
            ("http-error status 503 default-errorfiles", ""),
            ("errorfile 503 missing.http", ""),
        ] {
            assert_eq!(hidden(lines), statuses, "{lines}");
        }
    }
}
