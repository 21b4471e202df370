//! A client that limits its own measurement, and one that only breathes.

use genkai_analysis::client::{Check, check};
use genkai_analysis::tuning::TrialPlan;
use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::evidence::metric;
use genkai_model::finding::ClientLimit;
use genkai_model::histogram::Payload;
use genkai_model::load::{Arrivals, Load, Spacing};
use genkai_model::transport::{Tls, Transport};
use genkai_model::units::Span;

use crate::world::parts::*;
use crate::world::{Moment, Run, Seen, World};

fn trial(load: Load, objective: &str, until: Option<u64>, behaviour: impl Fn(&Moment<'_>) -> Seen + 'static) -> Check {
    let (world, run) = ran(load, objective, behaviour);
    check(&run.record.trials[0], &world.plan.objective, until)
}

fn ran(load: Load, objective: &str, behaviour: impl Fn(&Moment<'_>) -> Seen + 'static) -> (World, Run) {
    let ramp = Span::from_secs_f64(genkai_analysis::capacity::demand::ramp(&load));
    let level = genkai_analysis::capacity::demand::asked(&load);
    let world = World {
        plan: plan(load, objective),
        settings: settings(&[]),
        limits: Box::new(|_| Vec::new()),
        behaviour: Box::new(behaviour),
    };
    let mut run = world.begin();
    let hold = Span::from_secs(5);
    world.trial(
        &mut run,
        &TrialPlan { purpose: Purpose::Measure, changes: vec![], limit: None, level, ramp, hold, draw: 0 },
    );
    (world, run)
}

fn closed(cpu: impl Fn(f64) -> f64 + 'static, late: impl Fn(f64) -> f64 + 'static) -> impl Fn(&Moment<'_>) -> Seen {
    move |m| Seen { cpu: cpu(m.t), lateness: late(m.t), ..Seen::closed(m.level, 0.3) }
}

const NEVER: fn(f64) -> f64 = |_| 0.000_05;

#[test]
fn a_client_with_room_is_valid() {
    let c = trial(users(100, 50.0), "errors < 1%", None, closed(|_| 0.6, NEVER));
    assert!(c.finding.valid && c.finding.reasons.is_empty() && c.since_us.is_none());
    assert!((c.finding.cpu_max - 0.6).abs() < 1e-6 && c.finding.lateness.p99 < 0.0001);
}

#[test]
fn a_busy_moment_is_not_saturation() {
    let c = trial(users(100, 50.0), "errors < 1%", None, closed(|t| if t < 3.0 && t > 2.5 { 1.0 } else { 0.5 }, NEVER));
    assert!(c.finding.valid, "{c:?}");
}

#[test]
fn a_second_without_processor_time_is() {
    let c = trial(users(100, 50.0), "errors < 1%", None, closed(|t| if t > 3.0 { 1.0 } else { 0.5 }, NEVER));
    assert!(matches!(c.finding.reasons[..], [ClientLimit::Cpu { .. }]), "{c:?}");
    assert_eq!(c.since_us, Some(3_000_000));
}

#[test]
fn a_quota_is_why_and_never_the_reason_by_itself() {
    let stalled = |late: f64, throttled: f64| {
        trial(users(100, 50.0), "errors < 1%", None, move |m| Seen {
            gauges: vec![(metric::THROTTLED, throttled)],
            ..closed(|_| 0.2, move |_| late)(m)
        })
    };
    let reasons = stalled(0.08, 0.9).finding.reasons;
    assert!(
        matches!(reasons[..], [ClientLimit::Throttled { fraction }, ClientLimit::Late { .. }] if fraction > 0.8),
        "{reasons:?}"
    );
    assert!(matches!(stalled(0.08, 0.1).finding.reasons[..], [ClientLimit::Late { .. }]));
    assert!(stalled(0.0001, 0.9).finding.valid);
}

#[test]
fn nearly_busy_counts_only_when_it_sends_late() {
    let busy = |late: f64| closed(|_| 0.93, move |t| if t > 3.0 { late } else { 0.0001 });
    assert!(trial(users(100, 50.0), "errors < 1%", None, busy(0.001)).finding.valid);
    let c = trial(users(100, 50.0), "errors < 1%", None, busy(0.1));
    assert!(c.finding.reasons.iter().any(|r| matches!(r, ClientLimit::Cpu { .. })), "{c:?}");
}

#[test]
fn small_lateness_beside_long_responses_is_nothing() {
    // 20 ms late, responses take 300 ms: under a tenth.
    assert!(trial(users(100, 50.0), "errors < 1%", None, closed(|_| 0.5, |_| 0.02)).finding.valid);
    let c = trial(users(100, 50.0), "errors < 1%", None, closed(|_| 0.5, |_| 0.04));
    assert!(matches!(c.finding.reasons[..], [ClientLimit::Late { p99, bound, .. }] if p99 > 0.035 && bound < 0.035));
    // ... but it is nothing either beside a latency allowed of a second.
    assert!(trial(users(100, 50.0), "p99 < 1s", None, closed(|_| 0.5, |_| 0.04)).finding.valid);
}

/// Stopped three times for 0.3 s (a debugger, a hypervisor): users who ask as soon as they are answered are late for nothing.
#[test]
fn a_client_that_stands_still_is_told_by_the_requests_in_flight() {
    let judged_until =
        |think: bool, objective: &str, (long_ms, often, flying): (u64, usize, u64), until: Option<u64>| {
            let mut load = users(100, 50.0);
            if let (Arrivals::Users { think: pause, .. }, true) = (&mut load.arrivals, think) {
                *pause = "1s".parse().unwrap();
            }
            let mut run = ran(load, objective, closed(|_| 0.1, NEVER)).1;
            let mut stalled = genkai_model::histogram::empty();
            stalled.record_n(long_ms * 1_000_000, flying).unwrap();
            for tick in run.record.trials[0].ticks.iter_mut().skip(10).step_by(4).take(often) {
                tick.stalled = Payload::encode(&stalled);
            }
            let c = check(&run.record.trials[0], &objective.parse().unwrap(), until);
            (c.finding.reasons, c.since_us)
        };
    let judged = |think, objective: &str, long_ms, often| judged_until(think, objective, (long_ms, often, 100), None);
    let (reasons, since) = judged(false, "p99 < 500ms", 300, 3);
    assert!(
        matches!(reasons[..], [ClientLimit::Stalled { longest, requests: 300, bound: 0.25 }] if (longest - 0.3).abs() < 0.001),
        "{reasons:?}"
    );
    assert_eq!(since, Some(2_000_000));
    assert_eq!(judged_until(false, "p99 < 500ms", (300, 1, 10), None).0, [], "once in the whole load, which held");
    let (reasons, since) = judged_until(false, "p99 < 500ms", (300, 1, 10), Some(6_000_000));
    assert!(
        matches!(reasons[..], [ClientLimit::Stalled { requests: 10, .. }]),
        "in one second of one that broke: {reasons:?}"
    );
    assert_eq!(since, Some(2_000_000));
    for (think, objective, long_ms, often, why) in [
        (true, "p99 < 500ms", 300, 3, "who thinks has instants to be late for"),
        (false, "p99 < 700ms", 300, 3, "shorter than half of what is allowed"),
        (false, "errors < 1%", 300, 3, "no latency is judged"),
        (false, "p99 < 60ms", 40, 3, "as short as a scheduler's turn"),
    ] {
        assert_eq!(judged(think, objective, long_ms, often).0, [], "{why}");
    }
}

/// Stopped when it broke, for longer than an answer may take: that it did not run it notes when it runs again, after the break.
#[test]
fn a_client_that_stood_still_when_it_broke_is_the_limit() {
    let judged = |load: Load, objective: &str, long_ms: u64| {
        let mut run = ran(load, objective, closed(|_| 0.1, NEVER)).1;
        let mut stalled = genkai_model::histogram::empty();
        stalled.record_n(long_ms * 1_000_000, 90).unwrap();
        // It ran again at about 4.2 s.
        run.record.trials[0].ticks[20].stalled = Payload::encode(&stalled);
        [3_300_000, 5_000_000, 9_000_000]
            .map(|until| check(&run.record.trials[0], &objective.parse().unwrap(), Some(until)).finding.reasons)
    };
    for load in [users(100, 50.0), rate(500.0, 2, 100)] {
        let [before, after, later] = judged(load.clone(), "p99 < 500ms", 900);
        for reasons in [before, after] {
            assert!(matches!(reasons[..], [ClientLimit::Stalled { requests: 90, .. }]), "{reasons:?}");
        }
        // Of users one second with such a stop is enough.
        if matches!(load.arrivals, Arrivals::Rate { .. }) {
            assert_eq!(later, [], "it broke long after that");
        }
        assert_eq!(judged(load.clone(), "p99 < 500ms", 400)[0], [], "shorter than what is allowed");
        assert_eq!(judged(load.clone(), "errors < 1%", 900)[0], [], "no latency is judged");
        let short = Load { timeout: Span::from_millis(500), ..load.clone() };
        assert!(matches!(judged(short, "errors < 1%", 900)[0][..], [ClientLimit::Stalled { .. }]), "as it timed out");
        assert_eq!(judged(load, "p99 < 100ms", 150)[0], [], "it began after the break");
    }
}

#[test]
fn blips_do_not_count_but_a_late_second_does() {
    let at = |from: f64, to: f64| move |t: f64| if t > from && t <= to { 0.2 } else { 0.0001 };
    // The ramp is 2 s long; 0.2 s of 60 is less than 1 % of all requests.
    let long = users(100, 1.9);
    assert!(trial(long.clone(), "errors < 1%", None, closed(|_| 0.5, at(20.0, 20.2))).finding.valid);
    let c = trial(long, "errors < 1%", None, closed(|_| 0.5, at(20.0, 21.0)));
    assert_eq!((c.finding.valid, c.since_us), (false, Some(20_000_000)));
}

#[test]
fn what_comes_after_the_break_does_not_count() {
    let late = || closed(|t| if t > 3.0 { 1.0 } else { 0.5 }, |t| if t > 3.0 { 0.5 } else { 0.0001 });
    assert!(trial(users(100, 50.0), "errors < 1%", Some(3_100_000), late()).finding.valid);
    assert!(!trial(users(100, 50.0), "errors < 1%", Some(4_500_000), late()).finding.valid);
}

#[test]
fn a_burst_makes_everyone_late_once() {
    let first = |t: f64| if t <= 0.2 { 0.1 } else { 0.0001 };
    assert!(trial(users(100, 1e6), "errors < 1%", None, closed(|_| 0.5, first)).finding.valid);
}

#[test]
fn an_open_load_must_be_sent() {
    let sent = |part: f64, connections: f64| {
        move |m: &Moment<'_>| Seen { ok: m.level, sent: part, ..Seen::closed(connections, 0.05) }
    };
    assert!(trial(rate(500.0, 2, 100), "errors < 1%", None, sent(1.0, 25.0)).finding.valid);
    let c = trial(rate(500.0, 2, 100), "errors < 1%", None, sent(0.9, 25.0));
    assert!(
        matches!(c.finding.reasons[..], [ClientLimit::Short { fraction }] if (fraction - 0.9).abs() < 0.02),
        "{c:?}"
    );
    // All connections busy: the server is too slow for the rate.
    assert!(trial(rate(500.0, 2, 100), "errors < 1%", None, sent(0.9, 100.0)).finding.valid);
    // 3 % less than planned in 3000 is no wonder at random spacing.
    let random = |seen: f64| {
        let mut load = rate(500.0, 0, 100);
        if let Arrivals::Rate { spacing, .. } = &mut load.arrivals {
            *spacing = Spacing::Poisson;
        }
        trial(load, "errors < 1%", None, sent(seen, 25.0))
    };
    assert!(random(0.97).finding.valid);
    assert!(!random(0.9).finding.valid);
}

#[test]
fn ports_and_descriptors() {
    let out = |kind| {
        move |m: &Moment<'_>| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.t > 4.0 {
                seen.errors.push((kind, 10.0));
            }
            seen
        }
    };
    let c = trial(users(100, 50.0), "errors < 1%", None, out(ErrorKind::PortsExhausted));
    assert!(matches!(c.finding.reasons[..], [ClientLimit::Ports { count }] if count > 10));
    let c = trial(users(100, 50.0), "errors < 1%", Some(4_100_000), out(ErrorKind::DescriptorsExhausted));
    assert!(matches!(c.finding.reasons[..], [ClientLimit::Descriptors { count: 2 }]), "in the break's own interval");
    assert!(trial(users(100, 50.0), "errors < 1%", Some(3_000_000), out(ErrorKind::PortsExhausted)).finding.valid);
}

/// What genkai does not take is no failure of the server's; beside other failures it excuses nothing.
#[test]
fn responses_that_are_too_large_are_the_generators() {
    let of = |others: f64| {
        let seen = move |m: &Moment<'_>| {
            let mut seen = Seen::closed(m.level, 0.3);
            seen.errors.extend([(ErrorKind::TooLarge, 10.0), (ErrorKind::Status500, others)]);
            seen
        };
        trial(users(100, 50.0), "errors < 1%", None, seen).finding
    };
    assert!(matches!(of(0.0).reasons[..], [ClientLimit::TooLarge { count }] if count > 10));
    assert!(of(10.0).valid);
}

#[test]
fn a_worker_that_is_at_its_end_is_not_lost_in_the_sum_of_all() {
    use genkai_model::event::{EndReason, TrialEnded, WorkerEnd, WorkerUse};
    use genkai_model::histogram::{self, Payload};
    let rate = Arrivals::Rate { per_second: 100.0, ramp: Span(0), spacing: Spacing::Uniform, connections: 50 };
    let world = World {
        plan: plan(Load { arrivals: rate, ..users(1, 1.0) }, "errors < 1%"),
        settings: settings(&[]),
        limits: Box::new(|_| Vec::new()),
        behaviour: Box::new(|_| Seen { cpu: 0.1, lateness: 0.000_05, ..Seen::closed(1.0, 0.01) }),
    };
    let mut run = world.begin();
    let (level, hold) = (100.0, Span::from_secs(5));
    let plan =
        TrialPlan { purpose: Purpose::Measure, changes: vec![], limit: None, level, ramp: Span(0), hold, draw: 0 };
    world.trial(&mut run, &plan);
    let trial = &mut run.record.trials[0];
    let worker = |busiest: f64, late_ms: u64| {
        let mut lateness = histogram::empty();
        lateness.record_n(late_ms * 1_000_000, 10).unwrap();
        let end = WorkerEnd { began_ns: 1000, busiest, lateness: Payload::encode(&lateness) };
        WorkerUse { place: "load1".to_owned(), node: None, clock: None, ended: Some(end) }
    };
    let mut told = |workers: Vec<WorkerUse>| {
        let before = trial.ended.clone().unwrap();
        trial.ended = Some(TrialEnded { reason: EndReason::Completed, workers, ..before });
        check(trial, &world.plan.objective, None).finding.reasons
    };
    assert_eq!(told(vec![worker(0.5, 1), worker(0.6, 2)]), []);
    let full = told(vec![worker(0.5, 1), worker(0.99, 1)]);
    assert!(matches!(full[..], [ClientLimit::Worker { worker: 2, .. }]), "{full:?}");
    let late = told(vec![worker(0.5, 400), worker(0.6, 1)]);
    assert!(matches!(late[..], [ClientLimit::Worker { worker: 1, p99, .. }] if p99 > 0.3), "{late:?}");
}

#[test]
fn connections_that_wait_in_a_handshake_were_begun() {
    // 500 a second are opened, of which the server secures 400.
    let seen = |m: &Moment<'_>| Seen {
        ok: m.level,
        sent: 0.8,
        secured: Some((m.level, 0.8 * m.level)),
        ..Seen::closed(25.0, 0.05)
    };
    let open = |transport| Load { transport, ..rate(500.0, 2, 1000) };
    let tls = Transport::Tls(Tls { server_name: "x".into(), ca: None, identity: None, insecure: true, resume: false });
    assert!(trial(open(tls), "errors < 1%", None, seen).finding.valid, "they wait for the server");
    assert!(
        !trial(open(Transport::Tcp), "errors < 1%", None, seen).finding.valid,
        "without TLS nothing holds a request up"
    );
}
