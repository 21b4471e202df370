//! The processes that made the loads of a run, one by one, where several machines did.

use genkai_model::finding::{ClientLimit, ProcessFinding, WorkerFinding};
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
        let limits = client::check(trial, &objective, None).finding.reasons;
        for (one, number) in workers.into_iter().zip(1u16..) {
            let limited =
                limits.iter().any(|limit| matches!(limit, ClientLimit::Worker { worker, .. } if *worker == number));
            let at = usize::from(number) - 1;
            if at == sum.len() {
                sum.push(first(&one));
            }
            add(&mut sum[at], &one, limited);
        }
    }
    sum
}

/// Nothing of a process yet.
fn first(one: &WorkerFinding) -> ProcessFinding {
    ProcessFinding {
        place: one.place.clone(),
        node: one.node.clone(),
        loads: 0,
        saturated: 0,
        clock_uncertainty: None,
        clock_drift: None,
        began: None,
        busiest: None,
        late_p99: None,
    }
}

/// Adds a load that a process made a part of; `limited`: it was that load's limit.
fn add(sum: &mut ProcessFinding, one: &WorkerFinding, limited: bool) {
    sum.loads += 1;
    sum.saturated += u32::from(limited);
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

#[cfg(test)]
mod tests {
    use genkai_model::event::{EndReason, Event, TrialEnded, TrialStarted, What, WorkerClock, WorkerEnd, WorkerUse};
    use genkai_model::histogram::Payload;
    use genkai_model::load::Load;
    use genkai_model::units::Span;

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
        let ended = TrialEnded {
            reason: EndReason::Completed,
            lasted: Span::from_secs(1),
            abandoned: 0,
            client_rss: 0,
            client: None,
            workers,
        };
        for what in [What::TrialStarted(Box::new(TrialStarted::measure(Load::users(2, 1.0)))), What::TrialEnded(ended)]
        {
            record.push(Event { at_us: number.into(), trial: Some(number), what });
        }
    }

    #[test]
    fn the_worst_of_all_loads_is_told_and_whose_limit_it_was() {
        let mut record = Record::default();
        load(&mut record, 1, vec![worker("here", 0.2, 0), worker("m1", 0.99, -7_000)]);
        load(&mut record, 2, vec![worker("here", 0.4, 0), worker("m1", 0.3, 3_000)]);
        load(&mut record, 3, Vec::new());
        let [here, far] = &over(&record)[..] else { panic!("{:?}", over(&record)) };
        assert_eq!((here.loads, here.saturated, here.busiest, here.clock_uncertainty), (2, 0, Some(0.4), None));
        assert_eq!((far.place.as_str(), far.loads, far.saturated, far.busiest), ("m1", 2, 1, Some(0.99)));
        assert_eq!((far.clock_uncertainty, far.clock_drift, far.began), (Some(0.000_5), Some(0.000_007), Some(0.001)));
        assert_eq!(far.late_p99, None);
    }
}
