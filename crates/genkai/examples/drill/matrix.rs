//! What was the matter against what was said, and how much the words "proved", "likely" and "possible" are worth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use genkai_model::finding::{Confidence, Outcome};

use crate::cases::{Case, Expect};
use crate::judge::Judged;
use crate::run::Done;

/// Kinds of limits, by words in their names: the first that fits counts.
const KINDS: [(&str, &[&str]); 11] = [
    ("accept queue", &["backlog", "ListenBacklog", "somaxconn"]),
    ("ports", &["ports"]),
    ("rate or key", &["limit_conn", "limit_req", "rate-limit"]),
    ("size", &["body", "Body", "max_message", "max_size", "buffer", "bufsize"]),
    ("time", &["timeout", "Timeout", "idle", "service_time", "alone", "limit_rate", "keep-alive", "MaxSpare"]),
    ("pool to the backend", &["server.maxconn", "ProxyPass", "max_conns", "request_count"]),
    ("connections", &["worker_connections", "nofile", "ulimit", "maxconn"]),
    ("workers", &["MaxRequestWorkers", "ServerLimit", "ThreadsPerChild"]),
    ("processor", &["cpu"]),
    ("Redis", &["redis."]),
    ("backend", &["backend", "upstream", "SSLProxyEngine", "server.slow", "server.refuses"]),
];

const HOLDS: &str = "holds";
const CLIENT: &str = "the client";
const NAMELESS: &str = "no name";

fn kind(id: &str) -> &'static str {
    let fits = |(_, words): &&(&str, &[&str])| words.iter().any(|word| id.contains(word));
    KINDS.iter().find(fits).map_or("other", |(kind, _)| kind)
}

fn was(case: &Case) -> &'static str {
    match &case.expect {
        Expect::Ladder { ids } => ids.first().copied().unwrap_or(HOLDS),
        Expect::Holds => HOLDS,
        Expect::Client => CLIENT,
        Expect::Crowded => CLIENT,
        Expect::Cause { ids, .. } => ids.first().map_or(NAMELESS, |id| kind(id)),
    }
}

fn said(judged: &Judged) -> &'static str {
    match (judged.claimed(), judged.outcome) {
        (Some(id), _) => kind(id),
        (None, Outcome::Holds) => HOLDS,
        (None, Outcome::Invalid) => CLIENT,
        (None, _) => NAMELESS,
    }
}

/// How often each kind was called what.
fn confusion(all: &[Done<'_>]) -> BTreeMap<&'static str, BTreeMap<&'static str, usize>> {
    let mut table: BTreeMap<_, BTreeMap<_, usize>> = BTreeMap::new();
    for (case, judged) in all.iter().filter_map(|done| Some((done.case, done.judged.as_ref().ok()?))) {
        *table.entry(was(case)).or_default().entry(said(judged)).or_default() += 1;
    }
    table
}

/// How often limits named with this confidence were true, and how often they were named.
fn worth(all: &[Done<'_>], confidence: Confidence) -> (usize, usize) {
    let judged = all.iter().filter_map(|done| done.judged.as_ref().ok());
    let named: Vec<bool> = judged
        .flat_map(|j| &j.causes)
        .filter(|cause| cause.confidence == confidence)
        .map(|cause| cause.is_true)
        .collect();
    (named.iter().filter(|is_true| **is_true).count(), named.len())
}

/// Both as Markdown.
pub(crate) fn markdown(all: &[Done<'_>]) -> String {
    let table = confusion(all);
    let mut columns: Vec<&str> = table.values().flat_map(BTreeMap::keys).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    let mut text =
        format!("What was the matter (a row each), and what was said of it:\n\n| | {} |\n", columns.join(" | "));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "|---|{}", "---|".repeat(columns.len()));
    for (was, said) in &table {
        let cells = columns.iter().map(|column| said.get(column).map_or_else(String::new, usize::to_string));
        let _ = writeln!(text, "| **{was}** | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text.push_str("\nHow often a limit that was called so was the fault, or true besides:\n\n");
    let words = [("proved", Confidence::Proved), ("likely", Confidence::Likely), ("possible", Confidence::Possible)];
    for (word, confidence) in words {
        let (right, named) = worth(all, confidence);
        let _ = writeln!(text, "* {word}: {right} of {named}");
    }
    text
}
