//! Several runs as one experiment: whether each named what it was made to meet, and its loads in the words people use.

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Purpose, Tick};
use genkai_model::finding::{Confidence, Outcome, Verdict};
use genkai_model::limit::Law;
use genkai_model::record::{Record, Trial};
use genkai_model::suite::LoadFigures;

use crate::compare;
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
    let first = record.trials.first().map(|trial| figures(&[trial], "as it is".to_owned()));
    let proposal = record.trials.iter().rfind(|t| t.started.purpose == Purpose::Proposal);
    let name = |t: &Trial| {
        let changes = t.started.changes.iter().map(|c| format!("{} {}", c.setting, c.to));
        changes.collect::<Vec<String>>().join(", ")
    };
    first.into_iter().chain(proposal.map(|trial| figures(&[trial], name(trial)))).collect()
}

/// The loads of a comparison in figures: a contender each, all its turns that count added up.
pub fn turns(record: &Record) -> Vec<LoadFigures> {
    let comparison = record.head.as_ref().and_then(|head| head.plan.comparison.as_ref());
    let turns = compare::turns(record);
    let of = |name: &str| {
        let own: Vec<&Trial> = turns.iter().filter(|seen| seen.is(name, false)).map(|seen| seen.trial).collect();
        figures(&own, name.to_owned())
    };
    comparison.into_iter().flat_map(|c| &c.contenders).map(|one| of(&one.name)).collect()
}

/// What loads came to together.
fn figures(trials: &[&Trial], name: String) -> LoadFigures {
    let ticks = || trials.iter().flat_map(|trial| &trial.ticks);
    let tally = Tally::of(ticks());
    let bytes: u64 = ticks().map(|t| t.bytes_in + t.bytes_out).sum();
    let each: Vec<Opened> = trials.iter().map(|trial| Opened::of(trial)).collect();
    let sum = |count: fn(&Opened) -> u64| each.iter().map(count).sum::<u64>();
    let asked = sum(|one| one.asked);
    LoadFigures {
        name,
        launched: sum(|one| one.launched),
        completed: sum(|one| one.completed),
        requests: tally.ok,
        rate: if tally.seconds > 0.0 { tally.sent as f64 / tally.seconds } else { 0.0 },
        latency: window::quantiles(&window::merge(ticks(), |t| &t.latency)),
        errors: errors(&tally, sum(|one| one.hung)),
        connects: (asked > 0).then(|| sum(|one| one.opened) as f64 / asked as f64),
        concurrent: each.iter().map(|one| one.concurrent).max().unwrap_or(0),
        throughput: if tally.seconds > 0.0 { bytes as f64 / tally.seconds } else { 0.0 },
    }
}

/// Errors by kind; those that hung when a load ended are among the timeouts.
fn errors(tally: &Tally, hung: u64) -> Vec<ErrorCount> {
    let mut errors = tally.errors.clone();
    match errors.iter_mut().find(|e| e.kind == ErrorKind::Timeout) {
        Some(timeouts) => timeouts.count += hung,
        None if hung > 0 => errors.push(ErrorCount { kind: ErrorKind::Timeout, count: hung }),
        None => {}
    }
    errors
}

/// The users and WebSockets of one load.
struct Opened {
    /// Users who came.
    launched: u64,
    /// Those whose WebSocket opened and did not end unasked.
    completed: u64,
    /// Openings that went well.
    opened: u64,
    /// Openings that ended, and those that were waited for in vain.
    asked: u64,
    /// Most that were open at once.
    concurrent: u64,
    /// Those that hung when the load ended.
    hung: u64,
}

impl Opened {
    fn of(trial: &Trial) -> Opened {
        let ticks = &trial.ticks;
        let sum = |count: fn(&Tick) -> u64| ticks.iter().map(count).sum::<u64>();
        let launched = series::reached(trial) as u64;
        let opened = sum(|t| t.handshakes.as_ref().map_or(0, |h| h.upgraded));
        let ended = sum(|t| t.disconnects.as_ref().map_or(0, |d| d.count()));
        let failed = sum(|t| t.handshakes.as_ref().map_or(0, |h| h.failed));
        let waiting = launched.saturating_sub(opened + failed);
        Opened {
            launched,
            completed: launched.min(opened).saturating_sub(ended),
            opened,
            asked: opened + failed + waiting,
            concurrent: sockets::most_open(ticks) as u64,
            hung: hang::unanswered(ticks).0.max(sockets::left_out(ticks).0),
        }
    }
}
