//! Several runs as one experiment: whether each named what it was made to meet, and its loads in the words people use.

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Purpose, Tick};
use genkai_model::finding::{Confidence, Outcome, Verdict};
use genkai_model::limit::Law;
use genkai_model::record::{Record, Trial};
use genkai_model::suite::LoadFigures;

use crate::diagnosis::hang;
use crate::series;
use crate::sockets;
use crate::window::{self, Tally};

/// Whether `verdict` names the limit `id` and no other first; with `processor`, any limit on processor time will do. Where no limit is to
/// be met: whether it held.
pub fn is_named(verdict: &Verdict, id: Option<&str>, processor: bool) -> bool {
    let Some(id) = id else { return verdict.outcome == Outcome::Holds };
    let named = verdict.causes.iter().find(|c| c.confidence != Confidence::Refuted);
    named.is_some_and(|c| if processor { matches!(c.limit.law, Law::Cpu { .. }) } else { c.limit.id == id })
}

/// The loads of a run in figures: of the system as it is, and the last of the proposal, where it was proved.
pub fn loads(record: &Record) -> Vec<LoadFigures> {
    let first = record.trials.first().map(|trial| figures(trial, "as it is".to_owned()));
    let proposal = record.trials.iter().rfind(|t| t.started.purpose == Purpose::Proposal);
    let name = |t: &Trial| {
        let changes = t.started.changes.iter().map(|c| format!("{} {}", c.setting, c.to));
        changes.collect::<Vec<String>>().join(", ")
    };
    first.into_iter().chain(proposal.map(|trial| figures(trial, name(trial)))).collect()
}

fn figures(trial: &Trial, name: String) -> LoadFigures {
    let ticks = &trial.ticks;
    let tally = Tally::of(ticks);
    let sum = |count: fn(&Tick) -> u64| ticks.iter().map(count).sum::<u64>();
    let hung = hang::unanswered(ticks).0.max(sockets::left_out(ticks).0);
    let mut errors = tally.errors.clone();
    match errors.iter_mut().find(|e| e.kind == ErrorKind::Timeout) {
        Some(timeouts) => timeouts.count += hung,
        None if hung > 0 => errors.push(ErrorCount { kind: ErrorKind::Timeout, count: hung }),
        None => {}
    }
    let launched = series::reached(trial) as u64;
    let opened = sum(|t| t.handshakes.as_ref().map_or(0, |h| h.upgraded));
    let ended = sum(|t| t.disconnects.as_ref().map_or(0, |d| d.count()));
    let failed = sum(|t| t.handshakes.as_ref().map_or(0, |h| h.failed));
    let concurrent = sockets::most_open(ticks) as u64;
    let waiting = launched.saturating_sub(opened + failed);
    let asked = opened + failed + waiting;
    LoadFigures {
        name,
        launched,
        completed: launched.min(opened).saturating_sub(ended),
        requests: tally.ok,
        rate: if tally.seconds > 0.0 { tally.sent as f64 / tally.seconds } else { 0.0 },
        latency: window::quantiles(&window::merge(ticks, |t| &t.latency)),
        errors,
        connects: (asked > 0).then(|| opened as f64 / asked as f64),
        concurrent,
        throughput: if tally.seconds > 0.0 { sum(|t| t.bytes_in + t.bytes_out) as f64 / tally.seconds } else { 0.0 },
    }
}
