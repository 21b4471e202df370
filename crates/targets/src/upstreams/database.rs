//! A server that refuses a connection in the moment in which there is one too many: a database, a pool before one, a store.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use genkai_model::evidence::LogLine;
use genkai_model::limit::{Limit, Signature, Strength};
use genkai_place::endpoint::Endpoint;
use genkai_place::log_lines::{self, ParsedLine};
use genkai_place::peak::Peak;
use genkai_place::tail::Tail;
use genkai_place::usage::Usage;

use super::known::{CONNECTIONS, Caps, Known, Part};
use crate::limits::{grew, log, reached};
use crate::product::{Cost, Served};

/// Connections where nobody tells whether further ones were refused; after its subject.
const UNTOLD: &str = "connections_refusals_unknown";
/// Connections that it says to have refused, cumulative; after its subject.
const REFUSED: &str = "refused_connections_total";

/// How it tells that it refuses connections.
#[derive(Debug)]
pub(crate) enum Refusals {
    /// In no way that can be seen.
    Untold,
    /// By messages of its log, which have one of these parts; `each`: whether it writes one for every refusal.
    Logged { log: PathBuf, says: &'static [&'static str], each: bool },
    /// It counts them, and is asked now and then.
    Counted(Arc<Counted>),
}

/// Refusals as it counts them, and how often it was asked.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    refused: AtomicU64,
    asked: AtomicU64,
}

impl Counted {
    /// Takes over what it has just told.
    pub(crate) fn tell(&self, refused: u64) {
        self.refused.store(refused, Ordering::SeqCst);
        self.asked.fetch_add(1, Ordering::SeqCst);
    }
}

/// The server.
#[derive(Debug)]
pub(crate) struct Database {
    known: Known,
    peak: Peak,
    refusals: Refusals,
    log: Option<(Tail, &'static [&'static str])>,
    /// How often it had told its count by the last look.
    asked: AtomicU64,
}

impl Database {
    /// One that is reached at `at`, and what tells of its refusals.
    pub(crate) fn of(known: Known, at: &Endpoint, refusals: Refusals) -> Box<dyn Served> {
        let log = match &refusals {
            Refusals::Logged { log, says, .. } => Some((Tail::open(log.clone()), *says)),
            _ => None,
        };
        Box::new(Database { known, peak: Peak::of(at.clone()), refusals, log, asked: AtomicU64::new(0) })
    }

    fn signature(&self, subject: &str) -> String {
        format!("{subject}.{}.refused", self.known.product)
    }

    /// What shows that it refused connections, of which it has at most so many. That they are all open shows it of none who tells of refusals.
    fn refused(&self, subject: &str, most: u64) -> Vec<Signature> {
        let full = reached(&format!("{subject}.{UNTOLD}"), most as f64, Strength::Consistent);
        match &self.refusals {
            Refusals::Untold => vec![full],
            Refusals::Logged { .. } => vec![log(&self.signature(subject), Strength::Decisive), full],
            Refusals::Counted(_) => vec![grew(&format!("{subject}.{REFUSED}"), Strength::Decisive), full],
        }
    }

    /// Metrics of refusals, where it had at most so many connections since the last look.
    fn told_since(&self, most: f64) -> BTreeMap<String, f64> {
        let untold = (UNTOLD.to_owned(), most);
        match &self.refusals {
            Refusals::Logged { each: true, .. } => BTreeMap::new(),
            Refusals::Untold | Refusals::Logged { .. } => BTreeMap::from([untold]),
            Refusals::Counted(counted) => {
                let (asked, refused) = (counted.asked.load(Ordering::SeqCst), counted.refused.load(Ordering::SeqCst));
                let answered = self.asked.swap(asked, Ordering::SeqCst) < asked;
                let told = (REFUSED.to_owned(), refused as f64);
                [told].into_iter().chain((!answered).then_some(untold)).collect()
            }
        }
    }
}

impl Served for Database {
    fn product(&self) -> &'static str {
        self.known.product()
    }

    fn told(&self) -> String {
        let Some(part) = self.known.parts.iter().find(|part| part.caps == Caps::Sessions) else {
            return self.known.told();
        };
        let made = if part.made.is_empty() { String::new() } else { format!("; {}", part.made) };
        // Of an application nobody knows where it reads that.
        format!(
            "{}{made}; it is not tried on a copy, as whoever asks it is led to it by a configuration of its own",
            self.known.told()
        )
    }

    fn sessions(&self) -> Option<u64> {
        let most = self.known.parts.iter().find(|part| part.caps == Caps::Sessions);
        most.map(|part| part.held.value)
    }

    fn loops(&self, at: &Endpoint, usage: &Usage) -> Option<Vec<u32>> {
        self.known.loops(at, usage)
    }

    fn limits(&self, subject: &str) -> Vec<Limit> {
        let mut all = self.known.limits(subject);
        let refuses = |part: &Part| matches!(part.caps, Caps::Sessions | Caps::Refused);
        let sessions = self.known.parts.iter().zip(&mut all).filter(|(part, _)| refuses(part));
        for (part, limit) in sessions {
            match part.caps {
                Caps::Sessions => limit.signatures.extend(self.refused(subject, part.held.value)),
                _ if self.log.is_some() => limit.signatures.push(log(&self.signature(subject), Strength::Decisive)),
                _ => {}
            }
        }
        all
    }

    fn costs(&mut self, cost: Cost) {
        self.known.costs(cost);
    }

    fn look(&self, endpoint: &Endpoint, usage: &Usage) -> BTreeMap<String, f64> {
        let mut seen = self.known.look(endpoint, usage);
        let peak = self.peak.take() as f64;
        let most = *seen.entry(CONNECTIONS.to_owned()).and_modify(|now| *now = now.max(peak)).or_insert(peak);
        seen.extend(self.told_since(most));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(refusals: Refusals) -> Database {
        let at = Endpoint::Unix("/nowhere".into());
        let known = Known {
            product: "Store",
            told: "Store".to_owned(),
            parts: Vec::new(),
            keeps: true,
            threads: None,
            socket: None,
            cost: None,
            says: &[],
            says_of: None,
        };
        Database { known, peak: Peak::of(at), refusals, log: None, asked: AtomicU64::new(0) }
    }

    /// That all connections are open is seen as the sign of nothing by one who tells of each refusal, and of no more than a possible one of others.
    #[test]
    fn that_it_is_full_is_no_refusal() {
        let logged = |each| Refusals::Logged { log: "/nowhere".into(), says: &[], each };
        assert_eq!(seen(logged(true)).told_since(10.0), BTreeMap::new());
        let untold = BTreeMap::from([(UNTOLD.to_owned(), 10.0)]);
        assert_eq!(seen(logged(false)).told_since(10.0), untold);
        assert_eq!(seen(Refusals::Untold).told_since(10.0), untold);
        for refusals in [logged(true), Refusals::Untold] {
            let signs = seen(refusals).refused("a", 10);
            let full = signs.iter().filter(|one| matches!(one.sign, genkai_model::limit::Sign::Reached { .. }));
            assert!(full.clone().count() == 1 && full.clone().all(|one| one.strength == Strength::Consistent));
        }
    }

    #[test]
    fn whoever_counts_refusals_is_believed_as_long_as_it_answers() {
        let counted = Arc::new(Counted::default());
        let store = seen(Refusals::Counted(counted.clone()));
        let look = |most| store.told_since(most);
        counted.tell(3);
        assert_eq!(look(9.0), BTreeMap::from([(REFUSED.to_owned(), 3.0)]));
        let both = BTreeMap::from([(REFUSED.to_owned(), 3.0), (UNTOLD.to_owned(), 10.0)]);
        assert_eq!(look(10.0), both, "it could not be asked since");
        counted.tell(5);
        assert_eq!(look(10.0), BTreeMap::from([(REFUSED.to_owned(), 5.0)]));
    }
}
