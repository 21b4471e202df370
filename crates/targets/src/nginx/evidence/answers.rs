//! The log of what servers behind answered with an error, as a private copy writes it.

use std::collections::BTreeMap;

use genkai_place::tail::Tail;

/// Counts them, server by server.
#[derive(Debug)]
pub struct Answers {
    log: Tail,
    failed: BTreeMap<String, u64>,
}

impl Answers {
    /// Of these servers, as nginx names them (`address:port`, `unix:/path`).
    pub(in crate::nginx) fn of(log: Tail, servers: impl IntoIterator<Item = String>) -> Answers {
        Answers { log, failed: servers.into_iter().map(|server| (server, 0)).collect() }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.log.lines() {
            if let Some(server) = server(&line) {
                *self.failed.entry(server.to_owned()).or_default() += 1;
            }
        }
        metrics.extend(self.failed.iter().map(|(server, failed)| (of_server(server), *failed as f64)));
        metrics.insert(super::metrics::FAILED_ANSWERS.to_owned(), self.failed.values().sum::<u64>() as f64);
    }
}

/// What the failed answers of a server are called.
pub(in crate::nginx) fn of_server(server: &str) -> String {
    format!("nginx.server.{server}.failed_answers_total")
}

/// The server whose answer the client got (`STATUS|STATUSES|TIMES|SERVERS`, of each server that was asked, separated by commas, and by colons after
/// an internal redirect). None where nginx answered itself: no head had come, or the status is another one.
fn server(line: &str) -> Option<&str> {
    let mut fields = line.split('|').map(|field| field.rsplit([',', ' ']).next().unwrap_or(field));
    let (status, last, time, server) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    (status == last && status.starts_with(['4', '5']) && time != "-").then_some(server)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_nginx_own_is_nobodys() {
        assert_eq!(server("500|500|0.050|127.0.0.1:9"), Some("127.0.0.1:9"));
        assert_eq!(server("503|502, 503|-, 0.001|127.0.0.1:8, unix:/a.sock"), Some("unix:/a.sock"));
        assert_eq!(server("502|502|-|127.0.0.1:9"), None, "refused, or closed");
        assert_eq!(server("504|504|-|127.0.0.1:9"), None, "no answer in time");
        assert_eq!(server("200|500 : 200|0.050 : 0.001|127.0.0.1:9 : 127.0.0.1:8"), None, "another page was sent");
        assert_eq!(server("404|404|0.010|127.0.0.1:9"), Some("127.0.0.1:9"));
        assert_eq!(server("garbage"), None);
    }
}
