use super::*;
use crate::measure::figure::Figure;
use crate::measure::open::OpenCount;
use std::sync::mpsc::{Receiver, channel, sync_channel};

const MS: Moment = 1_000_000;

fn ledger(end: Moment, quota: Option<u64>, room: usize) -> (Ledger, Receiver<Report>) {
    let (reports, inbox) = sync_channel(room);
    let (_, spare) = channel();
    (Ledger::new(100 * MS, end, quota, Handover { thread: 0, reports, open: OpenCount::default(), spare }), inbox)
}

fn seen(inbox: &Receiver<Report>) -> Vec<(Moment, u64, u64, bool)> {
    inbox.try_iter().map(|r| (r.to / MS, r.tally.ok, r.in_flight, r.last)).collect()
}

#[test]
fn events_belong_to_the_interval_of_their_time() {
    let (mut ledger, inbox) = ledger(350 * MS, None, 9);
    assert!(ledger.claim(0) && ledger.claim(0));
    ledger.succeeded(99 * MS, 0, 0);
    ledger.succeeded(100 * MS, 0, 0);
    assert!(ledger.claim(299 * MS));
    assert!(!ledger.over(310 * MS));
    assert!(ledger.over(360 * MS));
    ledger.succeeded(360 * MS, 0, 0);
    assert!(!ledger.claim(350 * MS));
    assert_eq!(ledger.close(370 * MS), 1, "what was in flight at the end stays in flight");
    let expected = [(100, 1, 1, false), (200, 1, 0, false), (300, 0, 1, false), (350, 0, 1, true)];
    assert_eq!(seen(&inbox), expected);
}

#[test]
fn an_end_on_a_boundary_makes_no_empty_interval() {
    let (mut ledger, inbox) = ledger(200 * MS, None, 9);
    assert!(ledger.over(200 * MS));
    ledger.close(201 * MS);
    assert_eq!(seen(&inbox), [(100, 0, 0, false), (200, 0, 0, true)]);
}

#[test]
fn a_quota_ends_the_load_with_its_last_request() {
    let (mut ledger, inbox) = ledger(900 * MS, Some(2), 9);
    assert!(ledger.claim(0) && ledger.claim(0) && !ledger.claim(0));
    ledger.succeeded(10 * MS, 0, 0);
    assert!(!ledger.over(20 * MS));
    ledger.failed(30 * MS, 0, ErrorKind::Reset);
    assert!(ledger.over(40 * MS));
    assert_eq!(ledger.close(40 * MS), 0);
    assert_eq!(seen(&inbox), [(30, 1, 0, true)]);
}

#[test]
fn a_slow_collector_gets_longer_intervals_and_loses_nothing() {
    let (mut ledger, inbox) = ledger(900 * MS, None, 1);
    for ms in [50, 150, 250] {
        assert!(ledger.claim(ms * MS));
        ledger.succeeded(ms * MS, 0, 0);
    }
    assert_eq!(seen(&inbox), [(100, 1, 0, false)]);
    ledger.over(400 * MS);
    assert_eq!(seen(&inbox), [(300, 2, 0, false)]);
}

#[test]
fn a_load_does_not_end_before_what_was_handed_over() {
    let (mut ledger, inbox) = ledger(900 * MS, Some(1), 9);
    assert!(ledger.claim(50 * MS));
    // Read before the end of the interval, noticed after it.
    assert!(!ledger.over(101 * MS));
    ledger.succeeded(99 * MS, 50 * MS, 60 * MS);
    assert!(ledger.over(102 * MS));
    ledger.close(103 * MS);
    assert_eq!(seen(&inbox), [(100, 0, 1, false), (100, 1, 0, true)]);
}

/// Ends of the intervals of a load of so many seconds, as it is when the thread looks so often; and what was counted in them.
fn ends(seconds: u64, looks: u64) -> (Vec<Moment>, u64) {
    const SECOND: Moment = 1_000_000_000;
    let (reports, inbox) = sync_channel(1_000);
    let (spare, spares) = channel();
    let handover = Handover { thread: 0, reports, open: OpenCount::default(), spare: spares };
    let mut ledger = Ledger::new(SECOND, seconds * SECOND, Some(u64::MAX), handover);
    let (mut all, mut counted) = (Vec::new(), 0);
    let mut collect = || {
        for mut report in inbox.try_iter() {
            all.push(report.to / SECOND);
            counted += report.tally.ok;
            report.tally.clear();
            spare.send(report.tally).unwrap();
        }
    };
    for n in 0..looks {
        let now = n * (seconds * SECOND / looks);
        assert!(ledger.claim(now));
        ledger.succeeded(now, now, now);
        collect();
    }
    ledger.close(seconds * SECOND);
    collect();
    (all, counted)
}

#[test]
fn a_load_of_unknown_length_has_few_intervals() {
    let (short, _) = ends(600, 6_000);
    assert_eq!(short, (1..=600).collect::<Vec<_>>());
    let (long, counted) = ends(100_000, 100_000);
    assert_eq!((&long[..600], counted), (&short[..], 100_000), "nothing is lost by it");
    assert_eq!(long[600..602], [602, 604]);
    assert_eq!(long[899..901], [1_200, 1_204]);
    assert!(long.len() < 600 + 8 * 300 && long.last() == Some(&100_000), "{}", long.len());
    // Who looks seldom hands over the same intervals.
    assert_eq!(ends(100_000, 500).0, long);
}

#[test]
fn what_waits_at_the_end_is_told_although_who_waited_is_gone() {
    let deadlines = Rc::new(Deadlines::default());
    let slot = deadlines.slot();
    let (ledger, inbox) = ledger(350 * MS, None, 9);
    let mut ledger = ledger.watching(Rc::clone(&deadlines), 200 * MS);
    assert!(ledger.claim(10 * MS));
    slot.ask(10 * MS, 900 * MS);
    assert!(ledger.over(351 * MS));
    slot.disarm();
    ledger.close(360 * MS);
    let last = inbox.try_iter().last().unwrap();
    assert_eq!((last.waiting.since, last.waiting.overdue), (Some(10 * MS), 1));
}
