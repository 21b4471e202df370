//! Requests that wait: for a backend that is slow by itself, for a core that is nearly full, for a free connection.

use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Limit, Sign, Signature, Strength, Symptom};
use genkai_model::load::Load;
use genkai_model::units::Span;

use crate::world::parts::*;
use crate::world::{Seen, World};
use crate::*;

/// A backend of which every request takes so long.
fn delay(time: &str) -> Limit {
    Limit {
        law: Law::Delay { time: time.parse().unwrap() },
        symptom: Symptom { errors: Vec::new(), slow: true },
        ..Limit::named("backend.delay", "backend", "time alone")
    }
}

/// Users before a backend that takes `time`, with a full core and a full table of descriptors beside it.
fn behind_delay(load: Load, objective: &str, time: &'static str, seen: f64) -> World {
    World {
        plan: plan(load, objective),
        settings: settings(&[]),
        limits: Box::new(move |_| vec![descriptors(512.0), cpu(1.0, Strength::Supports, None), delay(time)]),
        behaviour: Box::new(move |m| {
            let mut seen = Seen::closed(m.level, seen);
            seen.gauges = vec![("proxy.worker_cpu_max", 0.99)];
            seen.logs.push(("descriptors", 1));
            seen
        }),
    }
}

#[test]
fn a_backend_that_is_too_slow_alone_is_the_cause_whatever_else_is_seen() {
    let run = behind_delay(users(50, 10.0), "p99 < 500ms", "700ms", 0.72).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X", "nothing is lifted in vain");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::No, Because::BackendIsLimit));
    let cause = &v.causes[0];
    assert_eq!((cause.limit.id.as_str(), cause.confidence), ("backend.delay", Confidence::Likely));
    assert!(
        cause.evidence.contains(&Evidence::Alone { takes: 0.7, allowed: 0.5, quantile: None }),
        "{:?}",
        cause.evidence
    );
    assert_eq!(v.predictions[0].limit, "backend.delay", "it bites first");
    assert!(v.predictions[0].within_load && !v.predictions[0].far);
}

#[test]
fn a_backend_that_is_fast_enough_alone_is_not() {
    let v = verdict(&behind_delay(users(50, 10.0), "p99 < 500ms", "300ms", 0.72).run());
    assert!(v.causes.iter().all(|c| c.limit.id != "backend.delay"), "{:?}", v.causes);
    assert!(v.predictions.iter().any(|p| p.limit == "backend.delay" && p.far), "nor does it matter");
}

/// Users whose responses become slow from `through` on behind the proxy, and from `own` on when the backend is asked directly; nothing
/// shows why.
fn unknown(through: f64, own: f64) -> World {
    let by_itself = || Limit::named(BACKEND_BY_ITSELF, "backend", "load it bears by itself");
    World {
        plan: plan(users(100, 20.0), "p99 < 500ms"),
        settings: settings(&[]),
        limits: Box::new(move |_| vec![descriptors(5000.0), by_itself()]),
        behaviour: Box::new(move |m| {
            let slow = m.level > if m.purpose == Purpose::Direct { own } else { through };
            Seen::closed(m.level, if slow { 0.9 } else { 0.1 })
        }),
    }
}

#[test]
fn what_breaks_by_itself_is_named_where_nothing_else_is() {
    let run = unknown(40.0, 38.0).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XD", "asked once, and nothing is lifted");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::No, Because::BackendIsLimit));
    let cause = &v.causes[0];
    assert_eq!((cause.limit.id.as_str(), cause.confidence), (BACKEND_BY_ITSELF, Confidence::Likely));
    let directly = |e: &Evidence| matches!(e, Evidence::Directly { trial: 2, level, through, .. } if level <= through);
    assert!(cause.evidence.iter().any(directly), "{:?}", cause.evidence);
    assert!(v.caveats.is_empty(), "{:?}", v.caveats);
}

#[test]
fn a_backend_that_breaks_elsewhere_by_itself_is_not_named() {
    for (own, later) in [(60.0, true), (1e9, true), (10.0, false)] {
        let run = unknown(40.0, own).run();
        let v = verdict(&run);
        assert_eq!((run.order().as_str(), v.because(), v.causes.len()), ("XD", Because::NoCauseFound, 0), "{own}");
        let bore = |c: &Caveat| matches!(c, Caveat::BackendBore { trial: 2, longer, .. } if *longer == later);
        assert!(v.caveats.iter().any(bore), "{:?}", v.caveats);
    }
}

#[test]
fn what_was_found_stands_where_the_backend_could_not_be_asked() {
    let cut = unknown(40.0, 38.0).run_until(1);
    assert_eq!(verdict(&cut).because(), Because::NoCauseFound);
    let late = World {
        behaviour: Box::new(|m| {
            let direct = m.purpose == Purpose::Direct;
            let mut seen = Seen::closed(m.level, if m.level > if direct { 38.0 } else { 40.0 } { 0.9 } else { 0.1 });
            (seen.cpu, seen.lateness) = if direct { (1.0, 0.5) } else { (seen.cpu, seen.lateness) };
            seen
        }),
        ..unknown(40.0, 38.0)
    };
    let v = verdict(&late.run());
    assert_eq!((v.because(), v.client.valid), (Because::NoCauseFound, true));
    assert!(v.caveats.contains(&Caveat::DirectInvalid { trial: 2 }), "{:?}", v.caveats);
}

#[test]
fn a_backend_is_not_asked_where_something_is_named_or_it_cannot_be() {
    let named = World {
        limits: Box::new(|_| vec![cpu(1.0, Strength::Supports, None), Limit::named(BACKEND_BY_ITSELF, "backend", "")]),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, if m.level > 40.0 { 0.9 } else { 0.1 });
            seen.gauges = vec![("proxy.worker_cpu_max", 0.99)];
            seen
        }),
        ..unknown(40.0, 40.0)
    };
    assert_eq!(named.run().order(), "X");
    let nowhere = World { limits: Box::new(|_| vec![descriptors(5000.0)]), ..unknown(40.0, 40.0) };
    assert_eq!((nowhere.run().order().as_str(), verdict(&nowhere.run()).because()), ("X", Because::NoCauseFound));
}

#[test]
fn what_takes_longer_than_the_deadline_fails_and_what_takes_long_is_never_often() {
    let short = Load { timeout: Span::from_millis(500), ..users(50, 10.0) };
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.5);
            (seen.ok, seen.errors) = (0.0, vec![(ErrorKind::Timeout, m.level * 2.0)]);
            seen
        }),
        ..behind_delay(short, "errors < 0.1%", "700ms", 0.5)
    };
    let v = verdict(&world.run());
    assert_eq!((v.because(), v.causes[0].limit.id.as_str()), (Because::BackendIsLimit, "backend.delay"));
}

#[test]
fn users_who_are_too_few_for_a_rate_say_nothing_of_the_server() {
    // 50 users who get an answer every 0.7 s get 71 a second, of whatever server; 71 users make 101.
    let v = verdict(&behind_delay(users(50, 25.0), "rate > 100", "700ms", 0.7).run());
    assert_eq!(answer(&v), (Outcome::Invalid, Answer::CannotTell, Because::ClientIsLimit));
    let [ClientLimit::Users { users: 50.0, alone, carries, wanted: 100.0, needed: 71.0 }] = v.client.reasons[..] else {
        panic!("{:?}", v.client)
    };
    assert!((alone - 0.7).abs() < 0.01 && (carries - 71.4).abs() < 1.0, "{alone} {carries}");
    let enough = verdict(&behind_delay(users(80, 40.0), "rate > 100", "700ms", 1.0).run());
    assert!(
        enough.client.valid && enough.outcome() == Outcome::Fails,
        "the product makes it slower: {:?}",
        enough.client
    );
}

#[test]
fn a_core_that_is_nearly_full_is_probably_the_limit_and_a_full_one_is() {
    let used = |used: f64| World {
        plan: plan(users(100, 20.0), "p99 < 5ms"),
        settings: settings(&[]),
        limits: Box::new(|_| {
            let mut cpu = cpu(1.0, Strength::Supports, None);
            cpu.signatures.push(reached("proxy.worker_cpu_max", 0.8, Strength::Consistent));
            vec![slots(4096.0), cpu]
        }),
        behaviour: Box::new(move |m| {
            let slow = if m.level > 40.0 { 0.008 } else { 0.002 };
            let mut seen = Seen { latency: slow, ..Seen::closed(m.level, 0.002) };
            seen.gauges = vec![("proxy.worker_cpu_max", if m.level > 36.0 { used } else { m.level / 60.0 })];
            seen
        }),
    };
    let v = verdict(&used(0.88).run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::CpuIsLimit));
    assert_eq!(v.causes[0].confidence, Confidence::Possible);
    let v = verdict(&used(0.99).run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::CpuIsLimit));
    assert_eq!(v.causes[0].confidence, Confidence::Likely);
    let marks: Vec<f64> = v.causes[0]
        .evidence
        .iter()
        .filter_map(|e| match e {
            Evidence::Reached { mark, .. } => Some(*mark),
            _ => None,
        })
        .collect();
    assert_eq!(marks, [0.95], "the mark passed on the way says nothing more");
    let v = verdict(&used(0.5).run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::NoCauseFound), "a core that is half idle");
}

/// An open load of `planned` requests/s over 200 connections, on a server that needs `service` seconds for each and has
/// `capacity` requests/s; what cannot be sent waits, and is dropped where `drops`.
fn open(planned: f64, service: f64, capacity: f64, drops: bool, objective: &str) -> World {
    World {
        plan: plan(rate(planned, 5, 200), objective),
        settings: settings(&[]),
        limits: Box::new(|_| vec![slots(512.0), cpu(1.0, Strength::Supports, None)]),
        behaviour: Box::new(move |m| {
            let carried = (200.0 / service).min(capacity);
            let ok = m.level.min(carried);
            let waiting = if m.level > carried { (m.level - carried) * m.t.min(20.0) } else { 0.0 };
            let now = if m.level > capacity { 200.0 / capacity } else { service };
            let mut seen = Seen { ok, latency: now + waiting / ok, ..Seen::closed(1.0, now) };
            seen.in_flight = (ok * now).min(200.0) + waiting;
            seen.gauges = vec![("proxy.worker_cpu_max", if m.level > capacity { 0.98 } else { 0.2 })];
            if drops && waiting > 0.0 {
                (seen.errors, seen.from_level) = (vec![(ErrorKind::Dropped, m.level - carried)], carried);
            }
            seen
        }),
    }
}

#[test]
fn connections_that_are_too_few_are_the_clients_limit() {
    for (drops, objective) in [(true, "errors < 0.1%"), (false, "errors < 0.1%"), (false, "p99 < 1s")] {
        let v = verdict(&open(1000.0, 0.3, 1e6, drops, objective).run());
        assert_eq!(answer(&v), (Outcome::Invalid, Answer::CannotTell, Because::ClientIsLimit), "{drops} {objective}");
        let reason = v.client.reasons[..].first();
        let Some(ClientLimit::Connections { connections: 200, carries, planned, .. }) = reason else {
            panic!("{:?}", v.client)
        };
        assert!((carries - 667.0).abs() < 10.0 && *planned >= *carries, "{reason:?}");
        assert!(v.causes.is_empty(), "no server limit is named");
    }
}

#[test]
fn connections_that_are_busy_because_the_server_became_slow_are_the_servers() {
    for drops in [true, false] {
        let v = verdict(&open(60_000.0, 0.000_5, 18_000.0, drops, "errors < 0.1%").run());
        assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::CpuIsLimit), "{drops}: {:?}", v.client);
        assert!(v.client.valid);
        let broke = &v.causes[0].broke;
        assert_eq!(broke.troubles()[0].kind, ErrorKind::Dropped);
        assert!(broke.in_flight <= 200.0, "no more clients than connections: {}", broke.in_flight);
        assert!(v.caveats.is_empty(), "slots for 239 clients were not passed by 200: {:?}", v.caveats);
        let slots = v.predictions.iter().find(|p| p.limit == "proxy.slots").unwrap();
        assert!(slots.rate.is_none() && !slots.within_load, "{slots:?}");
    }
}

#[test]
fn an_open_load_that_is_all_sent_holds() {
    let v = verdict(&open(600.0, 0.3, 1e6, true, "errors < 0.1%").run());
    assert_eq!(answer(&v), (Outcome::Holds, Answer::No, Because::ObjectiveHolds));
}

#[test]
fn a_load_just_under_a_limit_holds_without_headroom() {
    let world = |value: f64| World {
        plan: plan(users(150, 60.0), "errors < 0.1%"),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.3)),
        ..slots_world(value)
    };
    // 312 slots hold 145 to 155 users; 400 hold 186 to 199.
    let v = verdict(&world(312.0).run());
    assert_eq!(v.because(), Because::ObjectiveHolds);
    let [Caveat::NoHeadroom { setting, predicted, asked, .. }] = &v.caveats[..] else { panic!("{:?}", v.caveats) };
    assert_eq!((setting.as_str(), predicted.low, predicted.high, *asked), ("slots", 145.0, 155.0, 150.0));
    assert_eq!(v.next.unwrap().limit, "proxy.slots", "what stands at the load itself is next");
    assert!(verdict(&world(400.0).run()).caveats.is_empty());
}

#[test]
fn a_proof_speaks_of_the_figure_that_the_objective_judges() {
    let world = World {
        plan: plan(users(400, 50.0), "p95 < 200ms"),
        settings: settings(&[("cores", 1.0)]),
        limits: Box::new(|s| vec![cpu(s["cores"], Strength::Supports, Some(4.0))]),
        behaviour: Box::new(|m| busy(m.value("cores"))(m)),
    };
    let v = verdict(&world.run());
    let because = v.because();
    let proof = v.proof.unwrap_or_else(|| panic!("{because:?}"));
    let judged = proof.judged.unwrap();
    assert_eq!(judged.condition, "p95 < 200ms");
    let [before, after, difference] = judged.figures;
    assert!(before.value > 0.2 && after.value < 0.2, "{before:?} {after:?}");
    assert!((difference.value - (after.value - before.value)).abs() < 1e-6 && difference.interval.high < 0.0);
    assert!(proof.certain);
}

#[test]
fn a_backend_that_takes_longer_than_the_proxy_waits_is_no_mere_possibility() {
    let world = |time: &'static str| World {
        plan: plan(users(20, 10.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(move |_| {
            let signs = vec![Signature { sign: Sign::Log("silent".into()), strength: Strength::Consistent }];
            let waits = limit("proxy.timeout", 1.0, Law::Unknown, signs, &[ErrorKind::Status504], true);
            vec![Limit { patience: Some(1.0), ..behind(waits) }, delay(time)]
        }),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 1.0);
            (seen.ok, seen.errors) = (0.0, vec![(ErrorKind::Status504, m.level)]);
            seen.logs.push(("silent", 1));
            seen
        }),
    };
    let sure = verdict(&world("1500ms").run());
    let cause = &sure.causes[0];
    assert_eq!((cause.limit.id.as_str(), cause.confidence), ("backend.backend.timeout", Confidence::Likely));
    assert!(cause.evidence.contains(&Evidence::Alone { takes: 1.5, allowed: 1.0, quantile: None }), "{cause:?}");
    let fits = verdict(&world("500ms").run());
    assert_eq!(fits.causes[0].confidence, Confidence::Possible, "it is slow for another reason");
}

#[test]
fn a_processor_that_serves_nothing_at_all_is_not_the_limit() {
    let world = |ok: f64| World {
        plan: plan(users(40, 10.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(|_| vec![cpu(1.0, Strength::Supports, None)]),
        behaviour: Box::new(move |m| {
            let mut seen = Seen::closed(m.level, 1.0);
            (seen.ok, seen.errors) = (ok, vec![(ErrorKind::Timeout, m.level)]);
            seen.gauges = vec![("proxy.worker_cpu_max", 0.99)];
            seen
        }),
    };
    let silent = verdict(&world(0.0).run());
    assert!(silent.causes.is_empty(), "whoever has no time for all has time for some: {:?}", silent.causes);
    assert_eq!(verdict(&world(5.0).run()).causes[0].limit.id, "proxy.cores");
}

/// Users before a proxy that takes `takes` of them at once; the others wait, and nothing fails.
fn takes(takes: f64, objective: &str) -> World {
    let law = Law::Slots { value: takes, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
    World {
        plan: plan(users(80, 20.0), objective),
        settings: settings(&[]),
        limits: Box::new(move |_| {
            vec![limit("takes", takes, law.clone(), Vec::new(), &[ErrorKind::Timeout], true), descriptors(1_000.0)]
        }),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.05)),
    }
}

#[test]
fn a_limit_that_only_makes_wait_is_not_passed_because_nothing_failed() {
    let v = verdict(&takes(30.0, "errors < 0.1%").run());
    assert_eq!(v.outcome(), Outcome::Holds);
    let next = v.next.as_ref().unwrap();
    assert_eq!((next.limit.as_str(), next.users.unwrap().high), ("proxy.takes", 30.0), "not the one above it");
    let waits = |c: &Caveat| matches!(c, Caveat::PredictedButHeld { limit, waits: true, .. } if limit == "proxy.takes");
    assert!(v.caveats.iter().any(waits), "{:?}", v.caveats);
    // Where latency is judged, it was seen not to make anybody wait for too long.
    let judged = verdict(&takes(30.0, "errors < 0.1%, p99 < 500ms").run());
    assert_eq!(judged.next.unwrap().limit, "proxy.descriptors");
    assert!(matches!(&judged.caveats[..], [Caveat::PredictedButHeld { waits: false, .. }]), "{:?}", judged.caveats);
}

#[test]
fn workers_beyond_whose_wait_requests_fail_are_passed_by_a_load_without_an_error() {
    // 10 workers of 100 ms, and who waits for a second is refused: 110 users at most.
    let law = Law::Workers { workers: 10.0, queue: None, service: Some(0.1), wait: Some(1.0) };
    let world = World {
        plan: plan(users(300, 60.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(move |_| {
            vec![limit("maxconn", 10.0, law.clone(), Vec::new(), &[ErrorKind::Status503], true), descriptors(1_000.0)]
        }),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.05)),
    };
    let v = verdict(&world.run());
    assert_eq!(v.outcome(), Outcome::Holds);
    assert_eq!(v.next.as_ref().unwrap().limit, "proxy.descriptors", "300 users held, and 110 are no limit to them");
    let passed = |c: &Caveat| {
        matches!(c, Caveat::PredictedButHeld { limit, predicted, waits: false, .. }
            if limit == "proxy.maxconn" && predicted.high <= 110.0)
    };
    assert!(v.caveats.iter().any(passed), "{:?}", v.caveats);
}

/// A pool of 16 before a backend of which no part of the system tells how long it takes, which is 0.1 s.
fn unknown_service(spawn_rate: f64, queue: Option<f64>) -> World {
    World {
        plan: plan(users(80, spawn_rate), "p95 < 300ms"),
        settings: settings(&[("conns", 16.0)]),
        limits: Box::new(move |s| {
            let law = Law::Workers { workers: s["conns"], queue, service: None, wait: None };
            let full = vec![reached("proxy.full", 1.0, Strength::Decisive)];
            vec![limit("conns", s["conns"], law, full, &[ErrorKind::Timeout], true)]
        }),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.1_f64.max(m.level * 0.1 / m.value("conns")));
            seen.gauges = vec![("proxy.full", f64::from(u8::from(m.level > m.value("conns"))))];
            seen
        }),
    }
}

#[test]
fn how_long_a_request_takes_is_told_by_those_that_did_not_wait() {
    let v = verdict(&unknown_service(10.0, None).run());
    let predicted = v.predictions[0].users.unwrap();
    assert_eq!(predicted.low, 16.0);
    assert!((46.0..=50.0).contains(&predicted.high), "16 places, each three times: {predicted:?}");
    let cause = &v.causes[0];
    assert!(cause.evidence.iter().any(|e| matches!(e, Evidence::Place { .. })), "{:?}", cause.evidence);
    let seen = cause.predicted.users.unwrap();
    assert!(cause.broke.level >= seen.low && cause.broke.level <= seen.high * 1.1, "{seen:?} {}", cause.broke.level);
}

#[test]
fn no_number_of_users_is_told_where_every_request_waited() {
    // It is too late for them long before a queue is full.
    for queue in [None, Some(511.0)] {
        let v = verdict(&unknown_service(400.0, queue).run());
        assert_eq!(v.predictions[0].users, None, "all 80 were there at once");
        assert_eq!(v.predictions[0].clients.unwrap().low, 16.0);
        assert_eq!(v.causes[0].limit.id, "proxy.conns");
    }
}

/// Places of which 60 are enough for the load, with a sign that others leave, too; and what brings them, too slowly for it.
fn slowly_forked(sign: Option<Strength>) -> World {
    World {
        plan: plan(users(40, 10.0), "p99 < 500ms"),
        settings: settings(&[("places", 60.0), ("start", 5.0)]),
        limits: Box::new(move |s| {
            let at_once =
                Law::Slots { value: s["places"], reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
            let fits = vec![grew("proxy.unreachable_total", Strength::Consistent)];
            let waited = sign.map(|strength| grew("proxy.short_total", strength)).into_iter().collect();
            vec![
                limit("places", s["places"], at_once, fits, &[ErrorKind::Timeout], true),
                limit("start", s["start"], Law::Unknown, waited, &[ErrorKind::Timeout], true),
            ]
        }),
        behaviour: Box::new(|m| {
            let slow = m.value("start") < 60.0 && m.level > 20.0;
            let mut seen = Seen::closed(m.level, if slow { 0.9 } else { 0.1 });
            let grows = if slow { 1.0 } else { 0.0 };
            seen.growth = vec![("proxy.unreachable_total", grows), ("proxy.short_total", grows)];
            seen
        }),
    }
}

#[test]
fn a_limit_is_not_blamed_for_a_break_below_it_by_a_sign_that_others_leave() {
    let v = verdict(&slowly_forked(None).run());
    assert_eq!((v.causes.len(), v.because()), (0, Because::NoCauseFound), "{:?}", v.causes);
    let v = verdict(&slowly_forked(Some(Strength::Supports)).run());
    assert!(v.causes.iter().all(|cause| cause.limit.id == "proxy.start"), "{:?}", v.causes);
    assert!(!v.causes.is_empty());
}

/// Four workers that take 0.1 s, before which nine may wait: more are refused at once.
fn short_queue(objective: &str) -> Verdict {
    let queue = || {
        let signs = vec![reached("backend.queued", 9.0, Strength::Decisive)];
        behind(limit("queue", 9.0, Law::Backlog { value: 9.0 }, signs, &[ErrorKind::Status502], true))
    };
    let world = World {
        plan: plan(users(60, 4.0), objective),
        settings: settings(&[]),
        limits: Box::new(move |_| vec![queue(), pool(4.0, 0.1)]),
        behaviour: Box::new(|m| {
            let inside = m.level.clamp(1.0, 13.0);
            let mut seen = Seen { waiting: Some((m.t, 0)), ..Seen::closed(m.level, 0.1 * (inside / 4.0).max(1.0)) };
            seen.ok = inside.min(4.0) / 0.1;
            seen.errors = vec![(ErrorKind::Status502, (m.level - inside).max(0.0) * 10.0)];
            let queued = (inside - 4.0).max(0.0);
            seen.gauges = vec![("backend.busy", inside.min(4.0)), ("backend.workers", 4.0), ("backend.queued", queued)];
            seen
        }),
    };
    verdict(&world.run())
}

#[test]
fn a_full_queue_comes_behind_workers_that_would_be_too_slow_for_a_longer_one() {
    // 14 users wait for 0.35 s, and the 14th is refused.
    let v = short_queue("p99 < 350ms, errors < 1%");
    let cause = &v.causes[0];
    assert_eq!((cause.limit.id.as_str(), cause.broke.condition.as_str()), ("backend.pool", "errors < 1%"), "{v:?}");
    let queue = cause.others.iter().find(|c| c.limit == "backend.queue").unwrap();
    assert!(queue.against.contains(&Against::Explained), "{queue:?}");
    // Where they may wait for longer, a longer queue serves more.
    let v = short_queue("p99 < 2s, errors < 1%");
    assert_eq!(v.causes[0].limit.id, "backend.queue", "{v:?}");
}
