//! When a load counts as broken, and when not.

use genkai_analysis::diagnosis::broke;
use genkai_analysis::tuning::TrialPlan;
use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::Break;
use genkai_model::load::Load;
use genkai_model::units::Span;
use proptest::prelude::*;

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};

/// Runs one plain trial of ten seconds and gives its break.
fn trial(load: Load, objective: &str, behaviour: impl Fn(&Moment<'_>) -> Seen + 'static) -> Option<Break> {
    lasting(10, load, objective, behaviour)
}

/// [`trial`], with its length in seconds.
fn lasting(
    seconds: u64,
    load: Load,
    objective: &str,
    behaviour: impl Fn(&Moment<'_>) -> Seen + 'static,
) -> Option<Break> {
    let ramp = Span::from_secs_f64(genkai_analysis::capacity::demand::ramp(&load));
    let level = genkai_analysis::capacity::demand::asked(&load);
    let world = World {
        plan: plan(load, objective),
        settings: settings(&[]),
        limits: Box::new(|_| Vec::new()),
        behaviour: Box::new(behaviour),
    };
    let mut run = world.begin();
    let hold = Span(Span::from_secs(seconds).0 - ramp.0);
    world.trial(
        &mut run,
        &TrialPlan { purpose: Purpose::Measure, changes: vec![], limit: None, level, ramp, hold, draw: 0 },
    );
    broke(&run.record.trials[0], &world.plan.objective, &world.plan.procedure)
}

fn errors_at(times: &'static [f64], each: f64) -> impl Fn(&Moment<'_>) -> Seen {
    move |m| {
        let mut seen = Seen::closed(m.level, 0.1);
        if times.iter().any(|t| (m.t - t).abs() < 0.05) {
            seen.errors.push((ErrorKind::Reset, each));
        }
        seen
    }
}

#[test]
fn failures_within_the_share_allowed_hold_and_beyond_it_do_not_however_few_and_short() {
    // One failure each in about a thousand requests.
    for times in [&[3.0][..], &[3.0, 8.0], &[3.0, 3.8]] {
        assert_eq!(trial(users(10, 10.0), "errors < 0.5%", errors_at(times, 5.0)), None, "{times:?}");
        let b = trial(users(10, 10.0), "errors < 0.05%", errors_at(times, 5.0)).unwrap();
        assert!((2.8..=3.0).contains(&b.at), "{times:?}: {}", b.at);
    }
    let b = trial(users(10, 10.0), "errors < 0.1%", errors_at(&[3.0], 500.0)).unwrap();
    assert!((2.8..=3.0).contains(&b.at), "many, at one moment: {}", b.at);
}

#[test]
fn failures_that_last_to_the_very_end_are_no_strays() {
    let b = trial(users(10, 10.0), "errors < 0.1%", errors_at(&[10.0], 500.0)).unwrap();
    assert!((9.7..=10.0).contains(&b.at), "{}", b.at);
    assert_eq!(trial(users(10, 10.0), "errors < 10%", errors_at(&[10.0], 500.0)), None, "so many are allowed");
}

#[test]
fn what_lasts_is_a_break_from_its_first_error_on() {
    let b = trial(users(10, 10.0), "errors < 0.1%", errors_at(&[3.0, 3.4, 3.8, 4.0], 5.0)).unwrap();
    assert!((2.8..=3.0).contains(&b.at), "{}", b.at);
    assert_eq!(b.errors[0].count, 3, "a plain load goes on once it is certain");
    assert_eq!(b.sides, [genkai_model::error::Side::Unknown]);
    assert!((b.rate - 100.0).abs() < 2.0);
}

#[test]
fn a_stray_long_before_is_not_its_beginning() {
    let b = trial(users(10, 10.0), "errors < 0.1%", errors_at(&[1.4, 3.0, 3.4, 3.8, 4.0], 5.0)).unwrap();
    assert!((2.8..=3.0).contains(&b.at), "{}", b.at);
}

#[test]
fn errors_scattered_over_the_whole_trial_still_violate_it() {
    let times = &[1.0, 2.8, 4.6, 6.4, 8.2];
    let b = trial(users(10, 10.0), "errors < 0.1%", errors_at(times, 5.0)).unwrap();
    assert!((0.8..=1.0).contains(&b.at), "{}", b.at);
    assert_eq!(trial(users(10, 10.0), "errors < 1%", errors_at(times, 5.0)), None, "5 of 1000");
}

#[test]
fn few_errors_are_allowed_up_to_the_bound() {
    let failing = |share: f64| {
        move |m: &Moment<'_>| {
            let mut seen = Seen::closed(m.level, 0.01);
            seen.errors.push((ErrorKind::Status503, seen.ok * share));
            seen
        }
    };
    assert!(trial(users(10, 10.0), "errors < 5%", failing(0.03)).is_none());
    assert!(trial(users(10, 10.0), "errors < 5%", failing(0.07)).is_some());
}

fn slow(from: f64, to: f64, seconds: f64) -> impl Fn(&Moment<'_>) -> Seen {
    move |m| Seen::closed(m.level, if m.t > from && m.t <= to { seconds } else { 0.05 })
}

#[test]
fn latency_must_stay_too_long() {
    assert_eq!(trial(users(40, 40.0), "p99 < 300ms", slow(4.0, 4.6, 0.5)), None);
    let b = trial(users(40, 40.0), "p99 < 300ms", slow(4.0, 9.0, 0.5)).unwrap();
    // Seen in the interval up to 4.2; the requests were planned 0.3 s before, at least.
    assert!((b.at - 3.9).abs() < 0.01, "{}", b.at);
    assert!((b.seen.least() - 0.525).abs() < 0.01, "{:?}", b.seen);
    assert_eq!(b.condition, "p99 < 300ms");
    assert_eq!(trial(users(40, 40.0), "p99 < 600ms", slow(4.0, 9.0, 0.5)), None);
}

#[test]
fn quantiles_are_of_all_requests_of_the_window_not_of_the_worst_tick() {
    // Of five ticks one is slow, again and again: a fifth of all requests. p50 is fine, p90 is not.
    let pulse = |m: &Moment<'_>| {
        Seen::closed(m.level, if ((m.t * 5.0).round() as u64).is_multiple_of(5) { 0.5 } else { 0.5001 })
    };
    assert!(trial(users(40, 40.0), "p50 < 600ms", pulse).is_none());
    let pulse = |m: &Moment<'_>| {
        let slow = ((m.t * 5.0).round() as u64).is_multiple_of(5);
        Seen { ok: 100.0, latency: if slow { 0.5 } else { 0.05 }, ..Seen::closed(m.level, 0.05) }
    };
    assert!(trial(users(40, 40.0), "p50 < 300ms", pulse).is_none());
    assert!(trial(users(40, 40.0), "p90 < 300ms", pulse).is_some());
}

#[test]
fn requests_that_hang_are_slow_although_none_comes_back() {
    let hang = |from: f64, share: f64| {
        move |m: &Moment<'_>| {
            let mut seen = Seen::closed(m.level, 0.05);
            if m.t > from {
                seen.ok *= 1.0 - share;
            }
            seen
        }
    };
    let b = trial(users(40, 40.0), "p99 < 500ms", hang(4.0, 1.0)).unwrap();
    assert!((3.5..=4.2).contains(&b.at), "all hang: {}", b.at);
    assert_eq!(
        b.seen,
        genkai_model::finding::Seen::Bound { more_than: 0.5 },
        "it took longer than allowed; more is not known"
    );
    let b = trial(users(40, 40.0), "p99 < 500ms", hang(4.0, 0.5)).unwrap();
    assert!((3.5..=4.2).contains(&b.at), "half of them, the others are as fast as ever: {}", b.at);
    let b = trial(users(40, 40.0), "p99.5 < 500ms", hang(2.0, 0.2)).unwrap();
    assert!((1.6..=2.4).contains(&b.at), "a fifth of them: {}", b.at);
    assert_eq!(trial(users(40, 40.0), "p99 < 500ms", hang(4.0, 0.0)), None);
    let in_step = |m: &Moment<'_>| Seen::closed(m.level, 0.45);
    assert_eq!(trial(users(40, 1e6), "p99 < 500ms", in_step), None, "long, and all at once, but not too long");
}

#[test]
fn of_old_records_requests_that_hang_are_told_as_waiting_long_before_their_deadline() {
    // 45 of 150 users are served, the others are never accepted; the deadline is a minute.
    let full = |m: &Moment<'_>| Seen { in_flight: m.level, ..Seen::closed(m.level.min(45.0), 0.3) };
    let b = trial(users(150, 30.0), "errors < 0.1%", full).unwrap();
    assert!((38.0..=60.0).contains(&b.level), "45 fit, it broke at {}", b.level);
    assert_eq!((b.errors.len(), b.seen.least()), (0, 0.0), "none of them has failed");
    assert_eq!(b.troubles()[0].kind, ErrorKind::Timeout, "what it would become");
    let waiting = b.waiting.unwrap();
    assert!(waiting.count >= 15 && waiting.longest >= 1.0 && waiting.patience.is_none(), "{b:?}");
    let stops =
        |m: &Moment<'_>| Seen { ok: if m.t > 4.0 { 0.0 } else { m.level / 0.05 }, ..Seen::closed(m.level, 0.05) };
    let b = trial(users(40, 40.0), "errors < 0.1%", stops).unwrap();
    assert!((3.5..=4.2).contains(&b.at), "nothing comes back any more: {}", b.at);
    let few = |m: &Moment<'_>| Seen { in_flight: m.level, ..Seen::closed(m.level - 2.0, 0.3) };
    assert_eq!(trial(users(150, 30.0), "errors < 0.1%", few), None, "two stragglers");
}

/// 45 of the users are served, the others are never accepted, and wait since they came, `spawn` a second.
fn never_accepted(spawn: f64) -> impl Fn(&Moment<'_>) -> Seen {
    let came = move |n: f64| n / spawn;
    move |m| {
        let overdue = (0..m.level as u64).filter(|n| *n >= 45 && came(*n as f64) < m.t - 10.0).count() as u64;
        let waiting = Some(if m.level > 45.0 { (came(45.0), overdue) } else { (m.t, 0) });
        Seen { in_flight: m.level, waiting, ..Seen::closed(m.level.min(45.0), 0.3) }
    }
}

#[test]
fn requests_without_an_answer_count_when_the_patience_is_over_and_are_told_as_waiting() {
    assert_eq!(lasting(11, users(150, 30.0), "errors < 0.1%", never_accepted(30.0)), None, "not yet");
    let b = lasting(20, users(150, 30.0), "errors < 0.1%", never_accepted(30.0)).unwrap();
    assert!((1.4..=1.6).contains(&b.at) && (44.0..=47.0).contains(&b.level), "{b:?}");
    assert_eq!((b.errors.len(), b.seen.least()), (0, 0.0), "none has failed");
    let waiting = b.waiting.unwrap();
    assert!(waiting.count >= 3 && waiting.longest >= 10.0 && waiting.patience == Some(10.0), "{waiting:?}");
    let short = Load { timeout: Span::from_secs(3), ..users(150, 30.0) };
    assert_eq!(short.patience(), Span::from_secs(3), "no longer than the timeout");
}

#[test]
fn what_waits_while_the_load_still_rises_says_nothing() {
    assert_eq!(lasting(19, users(150, 10.0), "errors < 0.1%", never_accepted(10.0)), None, "rises for 15 s");
    assert!(lasting(30, users(150, 10.0), "errors < 0.1%", never_accepted(10.0)).is_some(), "then it is held");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// Whatever else is seen: where nothing failed, and nothing waited for longer than is patient, errors are no cause of a break.
    #[test]
    fn what_has_not_failed_and_was_answered_in_time_breaks_no_condition_on_errors(
        level in 1u32..800, ramp in 0.01f64..14.0, looks in proptest::collection::vec((0.0f64..1.0, 0.05f64..9.0, 0.0f64..9.9), 75)
    ) {
        let seen = move |m: &Moment<'_>| {
            let (share, latency, waited) = looks[(m.t / 0.2).round() as usize % looks.len()];
            let waiting = Some(((m.t - waited).max(0.0), 0));
            Seen { ok: m.level * share / latency, latency, in_flight: m.level, waiting, ..Seen::closed(m.level, 1.0) }
        };
        for objective in ["errors < 0.1%", "errors <= 0%", "errors < 50%"] {
            prop_assert_eq!(lasting(15, users(level, f64::from(level) / ramp), objective, seen.clone()), None);
        }
    }
}

/// What users in a closed loop see of `workers` that serve them in order, `service` seconds each: the latency of those
/// who were served, by tick.
fn served_in_order(users: u32, spawn: f64, workers: usize, service: f64, seconds: f64) -> Vec<Vec<f64>> {
    let mut ticks = vec![Vec::new(); (seconds / 0.2) as usize];
    // Arrivals in order: those who are new, and those who were answered and ask again.
    let mut waiting: Vec<f64> = (0..users).map(|i| f64::from(i) / spawn).collect();
    let mut free = vec![0.0f64; workers];
    loop {
        let next = (0..waiting.len()).min_by(|a, b| waiting[*a].total_cmp(&waiting[*b])).unwrap();
        let worker = (0..workers).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap();
        let arrived = waiting[next];
        let done = arrived.max(free[worker]) + service;
        let Some(tick) = ticks.get_mut((done / 0.2) as usize) else { return ticks };
        tick.push(done - arrived);
        (free[worker], waiting[next]) = (done, done);
    }
}

#[test]
fn a_queue_served_in_order_is_slow_and_nothing_hangs() {
    // 300 users over 5 workers of 0.3 s: the wait grows to 18 s, nothing fails.
    for spawn in [10.0, 30.0, 60.0, 300.0, 1e6] {
        let ticks = served_in_order(300, spawn, 5, 0.3, 40.0);
        let longest = ticks.iter().flatten().copied().fold(0.0, f64::max);
        assert!((14.0..19.0).contains(&longest), "{longest}");
        let queue = move |m: &Moment<'_>| {
            let done = &ticks[(m.t / 0.2).round() as usize - 1];
            let latency = done.iter().sum::<f64>() / done.len().max(1) as f64;
            Seen { ok: done.len() as f64 / 0.2, latency, in_flight: m.level, ..Seen::closed(m.level, 0.3) }
        };
        assert_eq!(lasting(40, users(300, spawn), "errors < 0.1%", queue), None, "{spawn}");
    }
}

#[test]
fn clients_beyond_what_a_server_accepts_hang_one_by_one() {
    let full = |m: &Moment<'_>| Seen { in_flight: m.level, ..Seen::closed(m.level.min(120.0), 0.3) };
    let b = trial(users(300, 60.0), "p99 < 1s", full).unwrap();
    assert!((105.0..=135.0).contains(&b.level), "120 fit, it broke at {}", b.level);
    let full = |m: &Moment<'_>| Seen { in_flight: m.level, ..Seen::closed(m.level.min(120.0), 0.02) };
    let b = trial(users(300, 30.0), "p99 < 500ms", full).unwrap();
    assert!((105.0..=135.0).contains(&b.level), "120 fit, it broke at {}", b.level);
}

#[test]
fn a_rate_counts_only_after_the_ramp() {
    let b = trial(users(100, 20.0), "rate > 900", |m: &Moment<'_>| Seen::closed(m.level, 0.1));
    assert_eq!(b, None, "during the ramp it is lower, of course");
    let b = trial(users(100, 20.0), "rate > 900", |m: &Moment<'_>| Seen::closed(m.level, 0.2)).unwrap();
    assert!((b.at - 5.0).abs() < 0.01, "{}", b.at);
    assert!((b.seen.least() - 500.0).abs() < 10.0, "{:?}", b.seen);
    let dip = |m: &Moment<'_>| Seen::closed(m.level, if m.t > 6.0 && m.t <= 6.4 { 0.5 } else { 0.1 });
    assert_eq!(trial(users(100, 20.0), "rate > 900", dip), None);
}

#[test]
fn a_server_that_answers_what_was_planned_answers_enough() {
    // A hundred a second on average: fewer in one second, more in another, and each is answered.
    let random = |m: &Moment<'_>| Seen {
        ok: if m.t > 3.0 && m.t <= 5.0 { 80.0 } else { 105.0 },
        in_flight: 1.0,
        ..Seen::closed(1.0, 0.01)
    };
    assert_eq!(trial(rate(100.0, 1, 100), "rate >= 90", random), None);
    let slow = |m: &Moment<'_>| Seen {
        ok: if m.t > 3.0 { 80.0 } else { 100.0 },
        in_flight: (m.t - 3.0).max(0.0) * 20.0,
        ..Seen::closed(1.0, 0.01)
    };
    let b = trial(rate(100.0, 1, 100), "rate >= 90", slow).unwrap();
    assert!((2.5..=4.5).contains(&b.at), "{}", b.at);
}

#[test]
fn the_first_condition_to_break_counts() {
    let both = |m: &Moment<'_>| {
        let mut seen = Seen::closed(m.level, if m.t > 3.0 { 0.9 } else { 0.05 });
        if m.t > 5.0 {
            seen.errors.push((ErrorKind::Status502, 10.0));
        }
        seen
    };
    assert_eq!(trial(users(40, 40.0), "errors < 0.1%, p99 < 300ms", both).unwrap().condition, "p99 < 300ms");
    assert_eq!(trial(users(40, 40.0), "errors < 0.1%, p99 < 2s", both).unwrap().condition, "errors < 0.1%");
}

#[test]
fn a_death_is_a_break_at_once() {
    let dies = |m: &Moment<'_>| {
        let mut seen = Seen::closed(m.level, 0.05);
        if m.t > 3.9 {
            seen.errors.push((ErrorKind::ConnectRefused, 100.0));
            seen.died = Some("backend");
        }
        seen
    };
    let b = trial(users(40, 40.0), "errors < 0.1%", dies).unwrap();
    assert!((3.8..=4.0).contains(&b.at), "{}", b.at);
    let silent = |m: &Moment<'_>| Seen { died: (m.t > 3.9).then_some("proxy"), ..Seen::closed(m.level, 0.05) };
    assert!((trial(users(40, 40.0), "p99 < 1s", silent).unwrap().at - 4.0).abs() < 0.01);
}

#[test]
fn a_user_who_does_not_think_is_a_client_from_the_first_moment_on() {
    let b = trial(users(5, 0.0), "errors < 0.1%", |m| Seen {
        errors: vec![(ErrorKind::Status500, 20.0)],
        from_level: 4.0,
        in_flight: 0.0,
        ..Seen::closed(m.level, 0.1)
    });
    let b = b.unwrap();
    assert_eq!(
        (b.level, b.in_flight, b.later),
        (5.0, 5.0, None),
        "nobody is in flight while all pause after a failure"
    );
}
