//! A server that refuses a connection in the moment in which there is one too many: a database, a pool before one, a store.

use std::collections::BTreeMap;
use std::path::PathBuf;

use genkai_model::evidence::LogLine;
use genkai_model::limit::{Limit, Strength};
use genkai_place::endpoint::Endpoint;
use genkai_place::log_lines::{self, ParsedLine};
use genkai_place::peak::Peak;
use genkai_place::tail::Tail;
use genkai_place::usage::Usage;

use super::known::{CONNECTIONS, Caps, Known, Part};
use crate::limits::log;
use crate::product::{Cost, Served};

/// Its log, and parts of the messages by which it says that it refuses connections.
pub(crate) type Refusals = (PathBuf, &'static [&'static str]);

/// The server.
#[derive(Debug)]
pub(crate) struct Database {
    known: Known,
    peak: Peak,
    log: Option<(Tail, &'static [&'static str])>,
}

impl Database {
    /// One that is reached at `at`, and its log where that can be read.
    pub(crate) fn of(known: Known, at: &Endpoint, log: Option<Refusals>) -> Box<dyn Served> {
        let log = log.map(|(path, says)| (Tail::open(path), says));
        Box::new(Database { known, peak: Peak::of(at.clone()), log })
    }

    fn signature(&self, subject: &str) -> String {
        format!("{subject}.{}.refused", self.known.product)
    }
}

impl Served for Database {
    fn product(&self) -> &'static str {
        self.known.product()
    }

    fn told(&self) -> String {
        if !self.known.parts.iter().any(|part| part.caps == Caps::Sessions) {
            return self.known.told();
        }
        // Of an application nobody knows where it reads that.
        format!(
            "{}; it is not tried on a copy, as whoever asks it is led to it by a configuration of its own",
            self.known.told()
        )
    }

    fn limits(&self, subject: &str) -> Vec<Limit> {
        let mut all = self.known.limits(subject);
        let refuses = |part: &Part| matches!(part.caps, Caps::Sessions | Caps::Refused);
        let sessions = self.known.parts.iter().zip(&mut all).filter(|(part, _)| refuses(part));
        for (_, limit) in sessions.filter(|_| self.log.is_some()) {
            limit.signatures.push(log(&self.signature(subject), Strength::Decisive));
        }
        all
    }

    fn costs(&mut self, cost: Cost) {
        self.known.costs(cost);
    }

    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64> {
        let mut seen = self.known.look(endpoint, usage);
        let peak = self.peak.take() as f64;
        seen.entry(CONNECTIONS.to_owned()).and_modify(|now| *now = now.max(peak)).or_insert(peak);
        seen
    }

    fn logs(&mut self, subject: &str) -> Vec<LogLine> {
        let signature = self.signature(subject);
        let Some((tail, says)) = &mut self.log else { return Vec::new() };
        let lines = tail.lines();
        let refused = lines.iter().map(String::as_str).filter(|line| says.iter().any(|part| line.contains(part)));
        log_lines::aggregate(subject, refused, |line| ParsedLine {
            level: "error",
            gist: line,
            signature: Some(signature.clone().into()),
        })
    }
}
