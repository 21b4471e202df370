//! The log of what members of balancers answered with an error, and of errors that clients got as good answers, as a private copy writes it.

use std::collections::{BTreeMap, BTreeSet};

use genkai_model::evidence::metric;
use genkai_place::tail::Tail;

use crate::apache::route::without_usual;

/// Counts them, member by member.
#[derive(Debug)]
pub(in crate::apache) struct Answers {
    log: Tail,
    failed: BTreeMap<String, u64>,
    hidden: Option<Hidden>,
}

/// Errors of what was asked that an `ErrorDocument` sent as something else.
#[derive(Debug)]
struct Hidden {
    /// Where clients are led instead.
    pages: BTreeSet<String>,
    so_far: u64,
}

impl Answers {
    /// Of these members, by the metrics of their answers; `pages`: where clients are led instead of an error (none: nothing hides errors).
    pub(in crate::apache) fn of(
        log: Tail,
        members: impl IntoIterator<Item = String>,
        pages: Option<BTreeSet<String>>,
    ) -> Answers {
        let failed = members.into_iter().map(|member| (of_member(&member), 0)).collect();
        Answers { log, failed, hidden: pages.map(|pages| Hidden { pages, so_far: 0 }) }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.log.lines() {
            let Some(answer) = Answer::read(&line) else { continue };
            if let Some(member) = answer.member() {
                *self.failed.entry(of_member(member)).or_default() += 1;
            }
            if let Some(hidden) = &mut self.hidden {
                hidden.so_far += u64::from(answer.is_hidden(&hidden.pages));
            }
        }
        metrics.extend(self.failed.iter().map(|(metric, failed)| (metric.clone(), *failed as f64)));
        metrics.insert(super::metrics::FAILED_ANSWERS.to_owned(), self.failed.values().sum::<u64>() as f64);
        metrics.extend(self.hidden.iter().map(|hidden| (metric::HIDDEN_ERRORS.to_owned(), hidden.so_far as f64)));
    }
}

/// What the failed answers of a member are called, by its URL as it is written or as httpd gives it.
pub(in crate::apache) fn of_member(url: &str) -> String {
    format!("apache.server.{}.failed_answers_total", told(url))
}

/// The name that httpd gives a member in its log, as far as that tells it from others: hosts have no case, a scheme's usual port and the path of a
/// Unix socket are left out (server/util_uri: apr_uri_unparse; modules/proxy/proxy_util.c: ap_proxy_define_worker); and, for nobody's eyes, user
/// and password.
pub(in crate::apache) fn told(url: &str) -> String {
    let url = url.rsplit('|').next().unwrap_or(url).trim_end_matches('/').to_ascii_lowercase();
    let Some((scheme, rest)) = url.split_once("://") else { return url };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or(authority);
    format!("{scheme}://{}{path}", without_usual(scheme, host))
}

/// What a line says (`STATUS LAST HANDLER ID MEMBER LOCATION`, with tabs).
struct Answer<'l> {
    /// Before an `ErrorDocument`.
    status: &'l str,
    /// What the client got.
    last: &'l str,
    /// Who answered before an `ErrorDocument`.
    handler: &'l str,
    /// Whether httpd's error log has anything of the request.
    logged: bool,
    worker: &'l str,
    location: &'l str,
}

impl<'l> Answer<'l> {
    fn read(line: &'l str) -> Option<Answer<'l>> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [status, last, handler, id, worker, location] = fields[..] else { return None };
        Some(Answer { status, last, handler, logged: id != "-", worker, location })
    }

    /// The member whose answer the client got. None where no member was asked, and where httpd's error log has anything of the request: then httpd
    /// may have answered itself, of which it tells each time.
    fn member(&self) -> Option<&'l str> {
        let own = self.logged || matches!(self.worker, "-" | "");
        (self.last.starts_with(['4', '5']) && !own).then_some(self.worker)
    }

    /// Whether the client got a good answer where what httpd passed the request to gave an error that tells of trouble (5xx, 429), or httpd one in
    /// its place. Of clients that are led to another page only what httpd's error log has, too, is told apart from a server that leads them there.
    fn is_hidden(&self, pages: &BTreeSet<String>) -> bool {
        let is_error = self.status.starts_with('5') || self.status == "429";
        let asked = is_error && self.last.starts_with(['2', '3']);
        let led = self.status == "302" && self.logged && pages.contains(self.location);
        self.handler.starts_with("proxy") && (asked || led)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_apaches_own_is_nobodys() {
        let member = |line: &str| {
            let line = line.replace(' ', "\t");
            Answer::read(&line).and_then(|answer| answer.member().map(str::to_owned))
        };
        let is = |line: &str| member(line).unwrap_or_default();
        assert_eq!(is("500 500 proxy-server - http://127.0.0.1:9/ -"), "http://127.0.0.1:9/");
        assert_eq!(is("503 503 proxy-server - unix:/a.sock|http://localhost -"), "unix:/a.sock|http://localhost");
        assert_eq!(member("503 503 proxy-server Zm9v http://127.0.0.1:9 -"), None, "the error log has something of it");
        assert_eq!(member("403 403 - - - -"), None, "no member was asked");
        assert_eq!(member("500 200 proxy-server - http://127.0.0.1:9 -"), None);
        assert_eq!(member("garbage"), None);
        assert_eq!(of_member("http://Host:9/"), of_member("http://host:9"));
        assert_eq!(told("http://me:hunter2@Host:80/a/"), "http://host/a");
        assert_eq!(told("https://host:80"), "https://host:80", "not the usual port of that");
        assert_eq!(told("unix:/a.sock|http://localhost"), told("http://localhost/"), "httpd tells no socket");
    }

    #[test]
    fn a_good_answer_in_the_place_of_an_error_is_hidden() {
        let pages = BTreeSet::from(["https://else.example/sorry".to_owned()]);
        // As httpd 2.4.71 writes them.
        for (line, hides) in [
            ("503 200 proxy-server jcPDM4a - -", true),
            ("500 200 proxy-server - - -", true),
            ("429 302 proxy-server - - http://x/", true),
            ("302 302 proxy-server ZlPHM4a - https://else.example/sorry", true),
            ("302 302 proxy-server - - https://else.example/sorry", false),
            ("302 302 proxy-server ZlPHM4a - https://else.example/login", false),
            ("503 503 proxy-server O1XEM4a - -", false),
            ("404 200 proxy-server - - -", false),
            ("503 200 - - - -", false),
        ] {
            let line = line.replace(' ', "\t");
            assert_eq!(Answer::read(&line).unwrap().is_hidden(&pages), hides, "{line}");
        }
    }
}
