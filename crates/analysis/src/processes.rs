//! The processes that made the loads of a run, one by one, where several machines did.

use std::collections::BTreeMap;

use genkai_model::finding::{ProcessFinding, WorkerFinding};
use genkai_model::record::Record;

use crate::{client, workers};

/// Each process over all loads of a run, the worst of each; none where one machine made them.
pub(crate) fn over(record: &Record) -> Vec<ProcessFinding> {
    let objective = record.head.as_ref().map(|head| head.plan.objective.clone()).unwrap_or_default();
    let mut sum: Vec<ProcessFinding> = Vec::new();
    for trial in &record.trials {
        let workers = workers::findings(trial);
        if workers.is_empty() {
            continue;
        }
        let limiting = client::limiting(trial, &objective);
        for (one, number) in workers.into_iter().zip(1u16..) {
            let limited = limiting.contains(&number);
            let at = usize::from(number) - 1;
            if at == sum.len() {
                sum.push(first(&one));
            }
            add(&mut sum[at], &one, limited);
        }
    }
    sum
}

/// The processes of several runs as those of one: the worst of all. A run of fewer users than processes has fewer of them, so that each is told
/// by its place and by which of that place's it is.
pub(crate) fn joined(sum: &mut Vec<ProcessFinding>, more: Vec<ProcessFinding>) {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for one in more {
        let before = seen.entry(one.worst.place.clone()).or_default();
        let known = sum.iter_mut().filter(|known| known.worst.place == one.worst.place).nth(*before);
        *before += 1;
        match known {
            Some(known) => merge(known, &one),
            None => sum.push(one),
        }
    }
}

fn merge(sum: &mut ProcessFinding, one: &ProcessFinding) {
    sum.loads += one.loads;
    sum.saturated += one.saturated;
    if sum.worst.node != one.worst.node {
        // Each run has a Job of its own, whose pods may be on other nodes.
        sum.worst.node = None;
    }
    worst(&mut sum.worst, &one.worst);
}

/// The worse of two, figure by figure.
fn worst(sum: &mut WorkerFinding, one: &WorkerFinding) {
    for (most, now) in [
        (&mut sum.clock_uncertainty, one.clock_uncertainty),
        (&mut sum.clock_drift, one.clock_drift),
        (&mut sum.began, one.began),
        (&mut sum.busiest, one.busiest),
        (&mut sum.late_p99, one.late_p99),
    ] {
        *most = [*most, now].into_iter().flatten().reduce(f64::max);
    }
}

/// Nothing of a process yet.
fn first(one: &WorkerFinding) -> ProcessFinding {
    let figures = WorkerFinding {
        clock_uncertainty: None,
        clock_drift: None,
        began: None,
        busiest: None,
        late_p99: None,
        ..one.clone()
    };
    ProcessFinding { worst: figures, loads: 0, saturated: 0 }
}

/// Adds a load that a process made a part of; `limited`: it was that load's limit.
fn add(sum: &mut ProcessFinding, one: &WorkerFinding, limited: bool) {
    sum.loads += 1;
    sum.saturated += u32::from(limited);
    worst(&mut sum.worst, one);
}

#[cfg(test)]
mod tests {
    use genkai_model::comparison::Turn;
    use genkai_model::event::{EndReason, Event, TrialEnded, TrialStarted, What, WorkerClock, WorkerEnd, WorkerUse};
    use genkai_model::histogram::Payload;
    use genkai_model::load::{Arrivals, Load, Protocol, Spacing};
    use genkai_model::units::Span;
    use genkai_model::websocket::WebSocket;

    use super::*;

    fn worker(place: &str, busiest: f64, drift_ns: i64) -> WorkerUse {
        let clock = (place != "here").then_some(WorkerClock {
            offset_ns: 9,
            uncertainty_ns: 500_000,
            drift_ns: Some(drift_ns),
        });
        let ended = Some(WorkerEnd { began_ns: 1_000_000, busiest, lateness: Payload::default() });
        WorkerUse { place: place.to_owned(), node: None, clock, ended }
    }

    /// A load that these made.
    fn load(record: &mut Record, number: u32, workers: Vec<WorkerUse>) {
        made(record, number, Load::users(2, 1.0), workers);
    }

    fn made(record: &mut Record, number: u32, load: Load, workers: Vec<WorkerUse>) {
        let ended = TrialEnded {
            reason: EndReason::Completed,
            lasted: Span::from_secs(1),
            abandoned: 0,
            client_rss: 0,
            client: None,
            workers,
        };
        for what in [What::TrialStarted(Box::new(TrialStarted::measure(load))), What::TrialEnded(ended)] {
            record.push(Event { at_us: number.into(), trial: Some(number), what });
        }
    }

    /// A load of which every process was at its end has as many limits.
    #[test]
    fn each_process_that_was_at_its_end_is_counted() {
        let mut record = Record::default();
        load(&mut record, 1, vec![worker("here", 0.98, 0), worker("m1", 0.99, 0), worker("m2", 0.5, 0)]);
        let saturated: Vec<u32> = over(&record).iter().map(|one| one.saturated).collect();
        assert_eq!(saturated, [1, 1, 0]);
    }

    /// Of WebSockets a second late does not matter where only counts are judged; between servers that are compared it does.
    #[test]
    fn who_sends_late_is_judged_as_the_study_judges_it() {
        let limited = |is_turn: bool| {
            let mut late = genkai_model::histogram::empty();
            late.record_n(100_000_000, 100).unwrap();
            let mut slow = worker("m1", 0.1, 0);
            slow.ended.as_mut().unwrap().lateness = Payload::encode(&late);
            let mut record = Record::default();
            if is_turn {
                let turn = Turn { contender: "a".into(), block: 1, place: 1, of: 2, control: false };
                record.push(Event { at_us: 0, trial: None, what: What::Turn(turn) });
            }
            let arrivals =
                Arrivals::Rate { per_second: 10.0, ramp: Span(0), spacing: Spacing::Uniform, connections: 10 };
            let protocol = Protocol::WebSocket(WebSocket::default());
            let sockets = Load { arrivals, protocol, ..Load::users(2, 1.0) };
            made(&mut record, 1, sockets, vec![worker("here", 0.1, 0), slow]);
            over(&record)[1].saturated
        };
        assert_eq!((limited(false), limited(true)), (0, 1));
    }

    #[test]
    fn the_worst_of_all_loads_is_told_and_whose_limit_it_was() {
        let mut record = Record::default();
        load(&mut record, 1, vec![worker("here", 0.2, 0), worker("m1", 0.99, -7_000)]);
        load(&mut record, 2, vec![worker("here", 0.4, 0), worker("m1", 0.3, 3_000)]);
        load(&mut record, 3, Vec::new());
        let [here, far] = &over(&record)[..] else { panic!("{:?}", over(&record)) };
        assert_eq!(
            (here.loads, here.saturated, here.worst.busiest, here.worst.clock_uncertainty),
            (2, 0, Some(0.4), None)
        );
        assert_eq!((far.worst.place.as_str(), far.loads, far.saturated, far.worst.busiest), ("m1", 2, 1, Some(0.99)));
        assert_eq!(
            (far.worst.clock_uncertainty, far.worst.clock_drift, far.worst.began),
            (Some(0.000_5), Some(0.000_007), Some(0.001))
        );
        assert_eq!(far.worst.late_p99, None);
    }

    /// A run of fewer users than processes lacks the last of them, or has none of its own.
    #[test]
    fn processes_of_several_runs_are_told_together() {
        let run = |loads: &[&[(&str, f64)]]| {
            let mut record = Record::default();
            for (workers, number) in loads.iter().zip(1..) {
                load(
                    &mut record,
                    number,
                    workers.iter().map(|(place, busiest)| worker(place, *busiest, 4_000)).collect(),
                );
            }
            over(&record)
        };
        let mut sum = Vec::new();
        joined(&mut sum, run(&[&[("here", 0.1), ("m1", 0.2)]]));
        joined(
            &mut sum,
            run(&[&[("here", 0.3), ("m1", 0.1), ("m1", 0.99)], &[("here", 0.2), ("m1", 0.1), ("m1", 0.4)]]),
        );
        joined(&mut sum, run(&[&[]]));
        let told: Vec<_> =
            sum.iter().map(|one| (one.worst.place.as_str(), one.loads, one.saturated, one.worst.busiest)).collect();
        assert_eq!(told, [("here", 3, 0, Some(0.3)), ("m1", 3, 0, Some(0.2)), ("m1", 2, 1, Some(0.99))]);
        assert_eq!((sum[1].worst.clock_uncertainty, sum[0].worst.clock_drift), (Some(0.000_5), None));
    }

    #[test]
    fn a_pod_that_was_on_several_nodes_is_told_without_one() {
        let on = |node: &str| {
            let mut record = Record::default();
            load(&mut record, 1, vec![WorkerUse { node: Some(node.to_owned()), ..worker("pod 0", 0.1, 0) }]);
            over(&record)
        };
        let nodes = |runs: &[&str]| {
            let mut sum = Vec::new();
            runs.iter().for_each(|node| joined(&mut sum, on(node)));
            sum[0].worst.node.clone()
        };
        assert_eq!(
            (nodes(&["a", "a"]).as_deref(), nodes(&["a", "b"]), nodes(&["a", "b", "b"])),
            (Some("a"), None, None)
        );
    }
}
