//! Several runs as one experiment: whether each named what it was made to meet, and its loads in the words people use.

use genkai_model::event::{Purpose, Tick};
use genkai_model::finding::{Because, Cause, Confidence, Outcome, ProcessFinding, Verdict};
use genkai_model::limit::Law;
use genkai_model::record::{Record, Trial};
use genkai_model::suite::LoadFigures;

use crate::compare;
use crate::diagnosis::hang;
use crate::processes;
use crate::series;
use crate::sockets;
use crate::window::{self, Tally};

/// Whether `verdict` names the limit `id` and no other first; with `processor`, any limit on processor time will do. Where no limit is to
/// be met: whether it held. Nothing is named by a run that has no answer: its client was the limit, or it was cut off.
pub fn is_named(verdict: &Verdict, id: Option<&str>, processor: bool) -> bool {
    let Some(id) = id else { return verdict.outcome() == Outcome::Holds };
    let void = matches!(verdict.outcome(), Outcome::Invalid | Outcome::Unfinished)
        || matches!(
            verdict.because(),
            Because::ClientIsLimit | Because::Unfinished | Because::Unanswered | Because::Outpaced
        );
    let named = verdict.causes.iter().find(|cause| cause.confidence != Confidence::Refuted);
    !void && named.is_some_and(|cause| if processor { is_processor(cause) } else { is_limit(cause, id) })
}

/// Whether it is this limit, and more than one that fits.
fn is_limit(cause: &Cause, id: &str) -> bool {
    cause.limit.id == id && cause.confidence >= Confidence::Likely
}

/// Whether it is processor time. That it fits is enough: cores which servers share, or share with the generator as on a machine of two,
/// crowd requests before they are full (`machine.servers_cpu` from 80 % on, and all of `machine.cpu`), and no lifting can prove more.
fn is_processor(cause: &Cause) -> bool {
    matches!(cause.limit.law, Law::Cpu { .. })
}

/// Adds the processes that made the loads of a run to those of the runs before it.
pub fn add_processes(sum: &mut Vec<ProcessFinding>, record: &Record) {
    processes::joined(sum, processes::over(record));
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
    let comparison = record.head.as_ref().and_then(|head| head.plan.comparison());
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
        errors: tally.errors.clone(),
        unanswered: sum(|one| one.hung),
        connects: (asked > 0).then(|| sum(|one| one.opened) as f64 / asked as f64),
        concurrent: each.iter().map(|one| one.concurrent).max().unwrap_or(0),
        throughput: if tally.seconds > 0.0 { bytes as f64 / tally.seconds } else { 0.0 },
    }
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
            hung: hang::unanswered(ticks, trial.started.load.patience()).0.max(sockets::left_out(trial).0),
        }
    }
}

#[cfg(test)]
mod tests {
    use genkai_model::finding::{Answered, Break, Decision, Pairing, Predicted, Seen, Stop};
    use genkai_model::limit::Limit;

    use super::*;

    const WORKERS: &str = "apache.MaxRequestWorkers";

    fn predicted() -> Predicted {
        Predicted {
            limit: String::new(),
            subject: String::new(),
            setting: String::new(),
            value: String::new(),
            clients: None,
            users: None,
            rate: None,
            bytes: None,
            formula: String::new(),
            told_from: None,
            observed: None,
            within_load: true,
            far: false,
        }
    }

    fn broke() -> Break {
        Break {
            at: 1.0,
            level: 1.0,
            or_fewer: false,
            in_flight: 1.0,
            connections: Some(1.0),
            later: None,
            rate: 1.0,
            condition: String::new(),
            seen: Seen::Measured(1.0),
            errors: Vec::new(),
            sides: Vec::new(),
            waiting: None,
            unsent: 0,
            until: None,
        }
    }

    fn cause(limit: Limit, confidence: Confidence) -> Cause {
        let (predicted, broke) = (predicted(), broke());
        let (evidence, counterfactual, others) = (Vec::new(), None, Vec::new());
        Cause { limit, predicted, broke, trial: 1, evidence, confidence, counterfactual, others }
    }

    /// A run that met workers, as sure as this.
    fn met(confidence: Confidence, decision: Decision) -> Verdict {
        let causes = vec![cause(Limit::named(WORKERS, "apache", "MaxRequestWorkers"), confidence)];
        Verdict { answer: Answered(decision), causes, ..crate::findings(&Record::default()).verdict }
    }

    fn is_workers(confidence: Confidence, decision: Decision) -> bool {
        is_named(&met(confidence, decision), Some(WORKERS), false)
    }

    const UNTESTED: Decision = Decision::Unmoved { by: Stop::Untested };
    const GENERATOR: Decision = Decision::Unmoved { by: Stop::Generator };
    const ENOUGH: Decision = Decision::Carried { pairs: Pairing::Enough };

    #[test]
    fn a_limit_is_named_when_it_is_more_than_possible() {
        for (confidence, named) in [
            (Confidence::Possible, false),
            (Confidence::Likely, true),
            (Confidence::Proved, true),
            (Confidence::Refuted, false),
        ] {
            assert_eq!(is_workers(confidence, UNTESTED), named, "{confidence:?}");
        }
        assert!(!is_named(&met(Confidence::Proved, ENOUGH), Some("other"), false));
    }

    #[test]
    fn a_run_that_has_no_answer_names_nothing() {
        let cut = Decision::Unmoved { by: Stop::Unfinished };
        for decision in [GENERATOR, cut, Decision::Invalid, Decision::Unfinished] {
            assert!(!is_workers(Confidence::Proved, decision), "{decision:?}");
        }
        let held = |decision| is_named(&met(Confidence::Proved, decision), None, false);
        assert!(held(Decision::Holds) && !held(UNTESTED) && !held(Decision::Unfinished));
    }

    #[test]
    fn processor_time_need_only_fit_but_not_where_the_client_was_the_limit() {
        let cores = Limit { law: Law::Cpu { cores: 2.0 }, ..Limit::named("machine.cpu", "machine", "cores") };
        let full = |decision| Verdict {
            causes: vec![cause(cores.clone(), Confidence::Possible)],
            ..met(Confidence::Likely, decision)
        };
        let processor = Decision::Unmoved { by: Stop::Processor { likely: false } };
        assert!(is_named(&full(processor), Some("(processor)"), true));
        assert!(!is_named(&full(GENERATOR), Some("(processor)"), true));
        assert!(
            !is_named(&met(Confidence::Proved, ENOUGH), Some("(processor)"), true),
            "workers are no processor time"
        );
    }
}
