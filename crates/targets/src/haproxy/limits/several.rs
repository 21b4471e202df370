//! Which of several servers it is: one that refuses, is far slower than the others, or answers with errors.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Answers, Limit, Strength, Symptom};

use super::Facts;
use super::answer::answer;
use crate::haproxy::evidence::{metrics, of_server};
use crate::limits::{backend, errors, grew, reached_of, valued};
use crate::settings::SourcedValue;

/// From how many times the time of the fastest server on one of several is called slow.
const SLOWER: f64 = 3.0;

/// One of several servers that refuses, or is far slower than the others: which it is.
pub(super) fn one(facts: &Facts) -> Vec<Limit> {
    let several = facts.each.len() > 1;
    let metric = |name: &str, what: &str| format!("haproxy.{}", of_server(name, what));
    let named = |(what, word): (&str, &str), name: &str, held: &SourcedValue<()>| {
        valued(&format!("haproxy.server.{what}.{name}"), "backend", &format!("server {name} ({word})"), held)
    };
    // A request for which the queue has no room counts as a failed connection, too (src/backend.c: SRV_STATUS_FULL).
    let of_connections = if facts.queue.is_some() { Strength::Supports } else { Strength::Decisive };
    let refuses = |(name, held): &(String, SourcedValue<()>)| Limit {
        caps: "this one of several servers refuses connections, or closes them unanswered".to_owned(),
        formula: "no number says when".to_owned(),
        source: "HAProxy management manual 9.1: econ, eresp of a server".to_owned(),
        signatures: vec![
            grew(&metric(name, "connect_errors_total"), of_connections),
            grew(&metric(name, "response_errors_total"), Strength::Decisive),
        ],
        symptom: errors(&[answer(facts, ErrorKind::Status502), answer(facts, ErrorKind::Status503)]),
        ..named(("refuses", "refusing"), name, held)
    };
    let slow = |(name, held): &(String, SourcedValue<()>)| Limit {
        caps: format!("this one of several servers takes {SLOWER} times as long as the fastest, or longer"),
        formula: "no number says when".to_owned(),
        source: "HAProxy management manual 9.1: rtime of a server".to_owned(),
        signatures: vec![reached_of(&metric(name, "response_time"), metrics::FASTEST, SLOWER, Strength::Supports)],
        symptom: Symptom { errors: vec![answer(facts, ErrorKind::Status504)], slow: true },
        ..named(("slow", "slow"), name, held)
    };
    let each = facts.each.iter().filter(|_| several);
    // What one that is not there refuses is answered by the others, while these have room.
    let is_answered = |held: &SourcedValue<()>| facts.absent.asked && facts.absent.at.contains(&held.written);
    each.clone()
        .filter(|(name, held)| !is_answered(held) && !facts.own_servers.contains(name))
        .map(refuses)
        .chain(each.filter(|_| facts.http).map(slow))
        .collect()
}

/// Several servers, of which some answer with errors.
pub(super) fn answering(facts: &Facts) -> Vec<Limit> {
    let own = |name: &str| Answers {
        failed: format!("haproxy.{}", of_server(name, metrics::FAILED_ANSWERS)),
        all: Some(format!("haproxy.{}", of_server(name, metrics::ANSWERS))),
        failed_of_all: None,
    };
    let each: Vec<_> = facts.each.iter().map(|(name, held)| (name.clone(), held.clone(), own(name))).collect();
    // Of servers without a line of their own nothing is known, and what HAProxy's own listeners answer is said by what stands behind them.
    if !facts.own_servers.is_empty() || !facts.http || each.len() as u64 != facts.servers {
        return Vec::new();
    }
    backend::answering(
        "haproxy",
        &each,
        (
            metrics::ALL_FAILED_ANSWERS,
            "HAProxy management manual 9.1: hrsp_1xx to hrsp_other of a server; src/http_ana.c: http_wait_for_response",
        ),
        true,
    )
}
