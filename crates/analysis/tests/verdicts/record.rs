//! Records as they may be: cut off anywhere, damaged, empty; and one whole verdict as it is written.

use std::sync::OnceLock;

use genkai_analysis::tuning::{self, Next};
use genkai_analysis::{diagnosis, findings};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::*;
use genkai_model::finding::*;
use genkai_model::histogram::Payload;
use genkai_model::limit::Strength;
use genkai_model::record::Record;
use genkai_model::units::Span;
use proptest::prelude::*;

use crate::world::parts::*;
use crate::world::{Moment, Run, Seen, World};

fn full_slots(m: &Moment<'_>) -> Seen {
    let mut seen = Seen::closed(m.level, 0.3);
    let fits = ((m.value("slots") * 15.0 / 16.0 - 2.0) / 2.0).floor();
    if m.level > fits {
        seen.errors.push((ErrorKind::EofReused, (m.level - fits) * 5.0));
        seen.from_level = fits;
        seen.logs.push(("slots", 3));
        seen.growth.push(("proxy.dropped_total", m.level - fits));
    }
    seen
}

/// A run of short trials.
fn world() -> World {
    let mut plan = plan(users(300, 200.0), "errors < 0.1%, p99 < 2s");
    plan.procedure.hold = Span::from_millis(1200);
    plan.procedure.proof_ramp = Span::from_secs(1);
    plan.procedure.proof_hold = Span::from_millis(1400);
    (plan.procedure.min_pairs, plan.procedure.max_pairs) = (2, 2);
    World {
        plan,
        settings: settings(&[("slots", 512.0)]),
        limits: Box::new(|s| {
            vec![cpu(1.0, Strength::Supports, None), slots(s["slots"]), descriptors(20_000.0), pool(400.0, 0.3)]
        }),
        behaviour: Box::new(full_slots),
    }
}

fn whole() -> &'static Run {
    static RUN: OnceLock<Run> = OnceLock::new();
    RUN.get_or_init(|| world().run())
}

fn read(events: &[Event]) -> Record {
    let mut record = Record::default();
    events.iter().for_each(|e| record.push(e.clone()));
    record
}

#[test]
fn one_whole_verdict() {
    let findings = findings(&whole().record);
    insta::assert_snapshot!(serde_json::to_string_pretty(&findings.verdict).unwrap());
}

#[test]
fn a_record_read_back_says_the_same() {
    let run = whole();
    let lines: Vec<String> = run.events.iter().map(|e| serde_json::to_string(e).unwrap()).collect();
    let back = Record::read(lines.iter().map(String::as_str)).unwrap();
    let findings = findings(&back);
    assert_eq!(findings, genkai_analysis::findings(&run.record));
    let json = serde_json::to_string(&findings).unwrap();
    let written = serde_json::from_str::<Findings>(&json).expect("no figure that JSON cannot hold");
    assert_eq!(written.verdict.causes.len(), findings.verdict.causes.len());
}

#[test]
fn nothing_says_nothing() {
    let v = findings(&Record::default()).verdict;
    assert_eq!(
        (v.outcome(), v.must_change(), v.because()),
        (Outcome::Unfinished, Answer::CannotTell, Because::Unfinished)
    );
    assert_eq!(tuning::next(&Record::default()), Next::Done);
    let begun = world().begin();
    let v = findings(&begun.record).verdict;
    assert_eq!(v.outcome(), Outcome::Unfinished);
    assert_eq!(v.predictions[0].limit, "proxy.slots", "predictions need no trial");
    assert!(v.caveats.contains(&Caveat::RecordCutOff));
}

#[test]
fn a_trial_cut_off_before_the_break_is_unfinished() {
    let run = whole();
    let first = run.events.iter().position(|e| matches!(e.what, What::TrialEnded(_))).unwrap();
    let before = read(&run.events[..first - 24]);
    assert_eq!(before.trials[0].ended, None);
    assert_eq!(findings(&before).verdict.outcome(), Outcome::Unfinished);
}

#[test]
fn interrupted_after_the_break_keeps_what_is_known() {
    let run = whole();
    let mut record = world().run_until(1).record;
    assert_eq!(record.trials.len(), 1);
    record.end.as_mut().unwrap().interrupted = true;
    assert_eq!(tuning::next(&record), Next::Done);
    let v = findings(&record).verdict;
    assert_eq!((v.outcome(), v.must_change(), v.because()), (Outcome::Fails, Answer::CannotTell, Because::NotTested));
    assert_eq!((v.causes[0].limit.id.as_str(), v.causes[0].confidence), ("proxy.slots", Confidence::Likely));
    assert!(v.proposal.is_empty() && v.proof.is_none());

    // ... and after the counterfactual: the cause is proved, the proposal is not.
    let proved = world().run_until(3).record;
    let v = findings(&proved).verdict;
    assert_eq!((v.outcome(), v.must_change(), v.because()), (Outcome::Fails, Answer::CannotTell, Because::Unfinished));
    assert_eq!(v.causes[0].confidence, Confidence::Proved);
    assert_eq!(v.proposal.len(), 1);
    assert!(run.record.trials.len() > 3);
}

#[test]
fn an_interrupted_trial_ends_the_search() {
    let mut record = world().run_until(2).record;
    record.end = None;
    record.trials[1].ended.as_mut().unwrap().reason = EndReason::Interrupted;
    assert_eq!(tuning::next(&record), Next::Done);
    assert_eq!(findings(&record).verdict.because(), Because::NotTested);
}

#[test]
fn the_break_is_the_same_live_and_later() {
    let run = whole();
    let plan = &run.record.head.as_ref().unwrap().plan;
    let (mut broke, mut held) = (0, 0);
    for trial in &run.record.trials {
        let later = diagnosis::broke(trial, &plan.objective, &plan.procedure);
        let mut growing = trial.clone();
        (growing.ticks, growing.ended) = (Vec::new(), None);
        let live = trial.ticks.iter().find_map(|tick| {
            growing.ticks.push(tick.clone());
            diagnosis::broke(&growing, &plan.objective, &plan.procedure)
        });
        assert_eq!(live.as_ref().map(|b| (b.at, b.level)), later.as_ref().map(|b| (b.at, b.level)));
        (broke, held) = if later.is_some() { (broke + 1, held) } else { (broke, held + 1) };
        assert_eq!(live.map(|b| b.seen), later.map(|b| b.seen));
    }
    assert!(broke > 0 && held > 0, "{broke} trials broke, {held} held");
}

#[test]
fn every_trial_boundary_is_survived() {
    let run = whole();
    let is_edge = |e: &Event| !matches!(e.what, What::Tick(_) | What::Sample(_) | What::Log(_));
    for (i, _) in run.events.iter().enumerate().filter(|(_, e)| is_edge(e)) {
        for cut in [i, i + 1] {
            let record = read(&run.events[..cut]);
            let v = findings(&record).verdict;
            let whole = cut == run.events.len();
            assert_eq!(v.because() == Because::ProvedAndHolds, whole || is_proved(&record), "after {cut} events");
            let _ = tuning::next(&record);
        }
    }
}

/// All that the proof needs is there, only the last line is not.
fn is_proved(record: &Record) -> bool {
    record.trials.len() == whole().record.trials.len() && record.trials.last().unwrap().ended.is_some()
}

fn any_tick() -> impl Strategy<Value = Tick> {
    let numbers = (0u64..5_000_000, 0u64..2_000_000, 0f64..1e6, 0u64..1000, 0u64..1000, 0u64..1000);
    let rest = (0usize..ErrorKind::COUNT, 0u64..50, proptest::option::of(0u64..9_000_000), "[A-Za-z0-9+/]{0,16}");
    (numbers, rest).prop_map(|((from_us, long, level, in_flight, sent, ok), (kind, count, first, payload))| Tick {
        from_us,
        to_us: from_us + long,
        level,
        in_flight,
        connections: in_flight,
        sent,
        ok,
        errors: vec![ErrorCount { kind: ErrorKind::ALL[kind], count }],
        latency: Payload(payload.as_str().into()),
        lateness: Payload(payload.into()),
        cpu_max_us: long,
        first_error_us: first,
        first_error_level: first.map(|_| level),
        ..Tick::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_prefix_panics(share in 0f64..1.0) {
        let run = whole();
        let cut = (run.events.len() as f64 * share) as usize;
        let record = read(&run.events[..cut]);
        let _ = findings(&record);
        let _ = tuning::next(&record);
    }

    #[test]
    fn no_missing_events_panic(keep in proptest::collection::vec(any::<bool>(), 64)) {
        let run = whole();
        let some: Vec<Event> =
            run.events.iter().enumerate().filter(|(i, _)| *i == 0 || keep[(i * 7 + i / 64) % 64]).map(|(_, e)| e.clone()).collect();
        let record = read(&some);
        let _ = findings(&record);
        let _ = tuning::next(&record);
    }

    #[test]
    fn no_nonsense_panics(ticks in proptest::collection::vec(any_tick(), 0..30), ended in any::<bool>()) {
        let mut record = world().run_until(1).record;
        record.end = None;
        record.trials[0].ticks = ticks;
        if !ended {
            record.trials[0].ended = None;
        }
        let found = findings(&record);
        let json = serde_json::to_string(&found).unwrap();
        prop_assert!(serde_json::from_str::<Findings>(&json).is_ok(), "figures are finite");
        let _ = tuning::next(&record);
    }
}
