//! Which of the servers behind a cache answered, and with what, by a log that a private copy of it writes for genkai.

use std::collections::BTreeMap;
use std::path::PathBuf;

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Answers, Limit, Strength};
use genkai_place::tail::Tail;

use crate::limits::{backend, errors, grew, valued};
use crate::settings::SourcedValue;

/// What a server made of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It answered, with no error.
    Answered,
    /// It answered with an error (400 and above).
    Failed,
    /// It refused the connection, closed it, or was silent for too long.
    Unanswered,
}

/// What a line of the log says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogEntry<'l> {
    /// The server, and what it made of the request; none: nobody was asked, or it is nobody's.
    pub(crate) of: Option<(&'l str, Outcome)>,
    /// Whether a good answer was sent in the place of an error.
    pub(crate) hidden: bool,
    /// Whether the request failed as no server could be asked.
    pub(crate) unsent: bool,
    /// Whether no server was asked because the machine of the cache had no local port left; none: the log does not say.
    pub(crate) portless: Option<bool>,
}

/// Reads a line; none where it says nothing.
pub(crate) type Reader = fn(&str) -> Option<LogEntry<'_>>;

/// The log as it grows.
#[derive(Debug)]
pub(crate) struct AnswerLog {
    product: &'static str,
    tail: Tail,
    read: Reader,
    servers: BTreeMap<String, [u64; 3]>,
    hidden: u64,
    unsent: u64,
    portless: Option<u64>,
}

impl AnswerLog {
    /// That of a product before these servers.
    pub(crate) fn of(product: &'static str, log: PathBuf, read: Reader, servers: Vec<String>) -> AnswerLog {
        let servers = servers.into_iter().map(|server| (server, [0; 3])).collect();
        AnswerLog { product, tail: Tail::open(log), read, servers, hidden: 0, unsent: 0, portless: None }
    }

    /// Adds how many there were until now.
    pub(super) fn count(&mut self, metrics: &mut BTreeMap<String, f64>) {
        for line in self.tail.lines() {
            let Some(told) = (self.read)(&line) else { continue };
            self.hidden += u64::from(told.hidden);
            self.unsent += u64::from(told.unsent);
            if let Some(portless) = told.portless {
                *self.portless.get_or_insert(0) += u64::from(portless);
            }
            let Some((server, outcome)) = told.of else { continue };
            if let Some([all, failed, unanswered]) = self.servers.get_mut(server) {
                *all += u64::from(outcome != Outcome::Unanswered);
                *failed += u64::from(outcome == Outcome::Failed);
                *unanswered += u64::from(outcome == Outcome::Unanswered);
            }
        }
        for (server, [all, failed, unanswered]) in &self.servers {
            metrics.insert(of_server(self.product, server, ANSWERS), *all as f64);
            metrics.insert(of_server(self.product, server, FAILED), *failed as f64);
            metrics.insert(of_server(self.product, server, UNANSWERED), *unanswered as f64);
        }
        let failed = self.servers.values().map(|[_, failed, _]| failed).sum::<u64>();
        metrics.insert(all_failed(self.product), failed as f64);
        metrics.insert(metric::HIDDEN_ERRORS.to_owned(), self.hidden as f64);
        metrics.insert(unsent(self.product), self.unsent as f64);
        metrics.extend(self.portless.map(|portless| (format!("{}.{PORTLESS}", self.product), portless as f64)));
    }
}

/// Answers of a server that the log has.
const ANSWERS: &str = "answers_total";
/// Those with an error.
const FAILED: &str = "failed_answers_total";
/// Requests that it did not answer.
const UNANSWERED: &str = "unanswered_total";
/// Requests for which no local port was left.
const PORTLESS: &str = "without_local_port_total";

/// The metric of requests that failed as no server could be asked, where the log tells that.
pub(crate) fn unsent(product: &str) -> String {
    format!("{product}.unsent_total")
}

fn of_server(product: &str, server: &str, what: &str) -> String {
    format!("{product}.server.{server}.{what}")
}

fn all_failed(product: &str) -> String {
    format!("{product}.{FAILED}")
}

/// Several servers behind `product`, by the names that its log has, with their places: which of them answers with errors, and which does not answer. `source` says
/// where the log has that from. `asked`: the metric of how many requests or answers each had. `repeats`: whether a request that one does not answer may be
/// sent to another, so that clients notice nothing of it.
pub(crate) fn limits(
    product: &str,
    each: &[(String, SourcedValue<()>)],
    source: &str,
    asked: fn(&str) -> String,
    repeats: bool,
) -> Vec<Limit> {
    if each.len() < 2 {
        return Vec::new();
    }
    let counted = |(name, held): &(String, SourcedValue<()>)| {
        let own = Answers { failed: of_server(product, name, FAILED), all: Some(asked(name)), failed_of_all: None };
        (name.clone(), held.clone(), own)
    };
    let answers: Vec<_> = each.iter().map(counted).collect();
    let answering = backend::answering(product, &answers, (&all_failed(product), source), true);
    let strength = if repeats { Strength::Supports } else { Strength::Decisive };
    let refusing = each.iter().map(|(name, held)| Limit {
        caps: format!(
            "this one of {} servers refuses connections, closes them unanswered, or does not answer in time",
            each.len()
        ),
        formula: "no number says when".to_owned(),
        source: source.to_owned(),
        signatures: vec![grew(&of_server(product, name, UNANSWERED), strength)],
        symptom: errors(&[ErrorKind::Status502, ErrorKind::Status503, ErrorKind::Status504]),
        ..valued(&format!("{product}.server.refuses.{name}"), "backend", &format!("server {name} (refusing)"), held)
    });
    answering.into_iter().chain(refusing).collect()
}

/// How many answers the log has of a server, for those whose log has all.
pub(crate) fn logged(product: &str, server: &str) -> String {
    of_server(product, server, ANSWERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `NAME STATUS`; `x` in the place of a status is none.
    fn read(line: &str) -> Option<LogEntry<'_>> {
        let (server, status) = line.split_once(' ')?;
        let outcome = match status.parse::<u16>() {
            Err(_) => Outcome::Unanswered,
            Ok(400..) => Outcome::Failed,
            Ok(_) => Outcome::Answered,
        };
        Some(LogEntry {
            of: Some((server, outcome)),
            hidden: server == "b" && outcome != Outcome::Answered,
            unsent: false,
            portless: None,
        })
    }

    #[test]
    fn answers_are_counted_by_server() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("answers");
        let mut log = AnswerLog::of("p", file.clone(), read, vec!["a".into(), "b".into()]);
        std::fs::write(&file, "a 200\na 503\nb x\nc 500\nnothing\nb 404\n").unwrap();
        let mut metrics = BTreeMap::new();
        log.count(&mut metrics);
        let of = |server: &str| [ANSWERS, FAILED, UNANSWERED].map(|what| metrics[&of_server("p", server, what)]);
        assert_eq!((of("a"), of("b")), ([2.0, 1.0, 0.0], [1.0, 1.0, 1.0]));
        assert_eq!((metrics[&all_failed("p")], metrics[metric::HIDDEN_ERRORS]), (2.0, 2.0));
    }
}
