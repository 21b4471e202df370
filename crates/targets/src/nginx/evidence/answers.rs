//! The log of what servers behind answered with an error, and how long they took for a share of all requests, as a private copy writes it.

use std::collections::{BTreeMap, VecDeque};

use genkai_model::evidence::metric;
use genkai_place::tail::Tail;

use crate::nginx::private::REJECTED;

/// How many times of a server are kept, the last ones, and how many it takes to tell how long it takes.
const KEPT: usize = 64;
const FEWEST: usize = 5;
/// Less than this is told as this, seconds: nobody calls a server slow that takes no longer.
const STEP: f64 = 20e-3;

/// Counts them, server by server.
#[derive(Debug)]
pub struct Answers {
    log: Tail,
    failed: BTreeMap<String, u64>,
    /// Answers that were sent as good ones in the place of an error.
    hidden: u64,
    /// Times, seconds.
    took: BTreeMap<String, VecDeque<f64>>,
}

impl Answers {
    /// Of these servers, as nginx names them (`address:port`, `unix:/path`).
    pub(in crate::nginx) fn of(log: Tail, servers: impl IntoIterator<Item = String>) -> Answers {
        let failed = servers.into_iter().map(|server| (server, 0)).collect();
        Answers { log, failed, took: BTreeMap::new(), hidden: 0 }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.log.lines() {
            if let Some(server) = server(&line) {
                *self.failed.entry(server.to_owned()).or_default() += 1;
            }
            self.hidden += u64::from(is_hidden(&line));
            // Those of other groups are none of several that the same requests go to.
            if let Some((server, took)) = timed(&line).filter(|(server, _)| self.failed.contains_key(*server)) {
                let all = self.took.entry(server.to_owned()).or_default();
                if all.len() == KEPT {
                    all.pop_front();
                }
                all.push_back(took);
            }
        }
        metrics.extend(self.failed.iter().map(|(server, failed)| (of_server(server), *failed as f64)));
        metrics.insert(metric::HIDDEN_ERRORS.to_owned(), self.hidden as f64);
        metrics.insert(super::metrics::FAILED_ANSWERS.to_owned(), self.failed.values().sum::<u64>() as f64);
        let known = self.took.iter().filter(|(_, took)| took.len() >= FEWEST);
        let means: Vec<(&String, f64)> =
            known.map(|(server, took)| (server, (took.iter().sum::<f64>() / took.len() as f64).max(STEP))).collect();
        if let (true, Some(fastest)) = (means.len() > 1, means.iter().map(|(_, mean)| *mean).min_by(f64::total_cmp)) {
            metrics.extend(means.iter().map(|(server, mean)| (time_of(server), *mean)));
            metrics.insert(super::metrics::FASTEST.to_owned(), fastest);
        }
    }
}

/// What the failed answers of a server are called.
pub(in crate::nginx) fn of_server(server: &str) -> String {
    format!("nginx.server.{server}.failed_answers_total")
}

/// What the mean time of a server is called, seconds.
pub(in crate::nginx) fn time_of(server: &str) -> String {
    format!("nginx.server.{server}.response_time")
}

/// The server whose head the client got, and how long that took, seconds; none where the line is there for something else.
fn timed(line: &str) -> Option<(&str, f64)> {
    let (rest, share) = line.rsplit_once('|')?;
    let mut fields = rest.split('|').skip(2).map(|field| field.rsplit([',', ' ']).next().unwrap_or(field));
    let (time, server) = (fields.next()?, fields.next()?);
    let took = time.parse().ok().filter(|_| share == "t")?;
    Some((server, took))
}

/// The server whose answer the client got (`STATUS|STATUSES|TIMES|SERVERS|REFUSALS|SHARE`, of each server that was asked, separated by commas, and by colons after
/// an internal redirect). None where nginx answered itself: no head had come, or the status is another one.
fn server(line: &str) -> Option<&str> {
    let mut fields = line.split('|').map(|field| field.rsplit([',', ' ']).next().unwrap_or(field));
    let (status, last, time, server) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    (status == last && status.starts_with(['4', '5']) && time != "-").then_some(server)
}

/// Whether the client got a good answer where a server that nginx asked had given an error, or nginx one in its place (`error_page 502 =200`), or
/// where nginx had refused the request (`limit_conn`, `limit_req`).
/// Colons separate what was asked before an internal redirect from what was asked after it; the last of the servers asked for one counts.
fn is_hidden(line: &str) -> bool {
    let mut fields = line.split('|');
    let (Some(status), Some(all)) = (fields.next(), fields.next()) else { return false };
    let last = |asked: &str| asked.rsplit(", ").next().unwrap_or_default().to_owned();
    let ended: Vec<String> = all.split(" : ").map(last).collect();
    // Nothing found in one place, and found in another, is how such sites are made (`error_page 404 = @application`).
    let found = ended.last().is_some_and(|last| last.starts_with(['2', '3']));
    let is_error = |ended: &String| ended.starts_with('5') || ended.starts_with('4') && !found;
    let refused = fields.nth(2).is_some_and(|all| all.split(',').any(|one| one == REJECTED));
    status.starts_with(['2', '3']) && (refused || ended.iter().any(is_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_good_answer_in_the_place_of_an_error_is_hidden() {
        assert!(is_hidden("200|502|-|127.0.0.1:9"), "a page of nginx's own");
        assert!(is_hidden("200|503, 500 : 200|0.1, 0.1 : 0.2|127.0.0.1:9, 127.0.0.1:8 : 127.0.0.1:7"));
        assert!(!is_hidden("200|502, 200|-, 0.1|127.0.0.1:9, 127.0.0.1:8"), "the next server answered");
        assert!(!is_hidden("200|404 : 200|0.1 : 0.2|127.0.0.1:9 : 127.0.0.1:8"), "found elsewhere");
        assert!(is_hidden("200|404|0.1|127.0.0.1:9"), "a page of nginx's own");
        assert!(!is_hidden("503|503|0.1|127.0.0.1:9") && !is_hidden("garbage"));
        assert!(
            is_hidden("200|-|-|-|REJECTED|") && is_hidden("200|-|-|-|PASSED,REJECTED|t"),
            "refused by nginx itself"
        );
        assert!(!is_hidden("503|-|-|-|REJECTED|t") && !is_hidden("200|200|0.1|127.0.0.1:9|REJECTED_DRY_RUN,-|t"));
    }

    #[test]
    fn an_answer_of_nginx_own_is_nobodys() {
        assert_eq!(server("500|500|0.050|127.0.0.1:9"), Some("127.0.0.1:9"));
        assert_eq!(server("503|502, 503|-, 0.001|127.0.0.1:8, unix:/a.sock"), Some("unix:/a.sock"));
        assert_eq!(server("502|502|-|127.0.0.1:9"), None, "refused, or closed");
        assert_eq!(server("504|504|-|127.0.0.1:9"), None, "no answer in time");
        assert_eq!(server("200|500 : 200|0.050 : 0.001|127.0.0.1:9 : 127.0.0.1:8"), None, "another page was sent");
        assert_eq!(server("404|404|0.010|127.0.0.1:9"), Some("127.0.0.1:9"));
        assert_eq!(server("garbage"), None);
        assert_eq!(server("404|404|0.010|127.0.0.1:9|t"), Some("127.0.0.1:9"));
    }

    #[test]
    fn times_are_those_of_the_share() {
        assert_eq!(timed("200|200|0.050|127.0.0.1:9|t"), Some(("127.0.0.1:9", 0.05)));
        assert_eq!(timed("200|502, 200|-, 0.001|127.0.0.1:8, unix:/a.sock|t"), Some(("unix:/a.sock", 0.001)));
        assert_eq!(timed("500|500|0.050|127.0.0.1:9|"), None, "there as it failed: it would count twice");
        assert_eq!((timed("504|504|-|127.0.0.1:9|t"), timed("200|-|-|-|t"), timed("garbage")), (None, None, None));
    }
}
