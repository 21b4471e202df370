//! Each kind of limit: the right one is named, and none of the others.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::finding::*;
use genkai_model::limit::{Law, Limit, RemedyUnit, Sign, Signature, Strength};
use genkai_model::load::{Arrivals, Body, Load, Request};

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};
use crate::*;

#[test]
fn a_full_backend_is_not_blamed_on_the_proxy() {
    let world = World {
        plan: plan(users(100, 20.0), "errors < 0.1%, p99 < 500ms"),
        settings: settings(&[("slots", 4096.0)]),
        limits: Box::new(|s| vec![slots(s["slots"]), cpu(1.0, Strength::Consistent, Some(2.0)), pool(5.0, 0.05)]),
        behaviour: Box::new(|m| {
            let mut seen = full_pool(m, 5.0, 0.05, 20.0);
            seen.gauges.push(("proxy.worker_cpu_max", 0.97));
            seen
        }),
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X", "nothing to lift");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::No, Because::BackendIsLimit));
    assert_eq!(v.causes[0].limit.id, "backend.pool");
    assert_eq!(v.causes[0].confidence, Confidence::Likely);
    let near = v.causes[0].broke.level;
    assert!((45.0..=52.0).contains(&near), "50 users make 500 ms, it broke at {near}");
    let proxy = v.causes[0].others.iter().find(|c| c.limit == "proxy.cores").unwrap();
    assert_eq!(proxy.against, [Against::Explained]);
    let idle = v.causes[0].others.iter().find(|c| c.limit == "proxy.slots").unwrap();
    assert!(idle.against.contains(&Against::NoSign) && idle.against.contains(&Against::WrongSymptom));
}

#[test]
fn slots_full_because_the_backend_is_slow_are_what_refuses() {
    let world = World {
        plan: plan(users(300, 60.0), "errors < 0.1%"),
        settings: settings(&[("slots", 512.0)]),
        limits: Box::new(|s| vec![slots(s["slots"]), pool(20.0, 0.3)]),
        behaviour: Box::new(|m| full_slots(m, full_pool(m, 20.0, 0.3, 60.0))),
    };
    let v = verdict(&world.run());
    assert_eq!(v.because(), Because::ProvedAndHolds);
    assert_eq!(v.causes[0].limit.id, "proxy.slots");
    let pool = v.causes[0].others.iter().find(|c| c.limit == "backend.pool").unwrap();
    assert!(pool.against.contains(&Against::WrongSymptom), "a full pool makes wait, it closes no connection");
}

#[test]
fn processor_time_that_nothing_lifts() {
    let world = World {
        plan: plan(users(400, 50.0), "p99 < 200ms"),
        settings: settings(&[]),
        limits: Box::new(|_| vec![cpu(1.0, Strength::Supports, None), slots(4096.0), pool(500.0, 0.02)]),
        behaviour: Box::new(busy(1.0)),
    };
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::CpuIsLimit));
    assert_eq!(v.causes[0].limit.id, "proxy.cores");
}

/// What is foretold of the processor by 40 users at 20 ms, 2000 requests/s, who use so much of it.
fn foretold(uses: impl Fn(&Moment<'_>) -> f64 + 'static) -> Predicted {
    let world = World {
        plan: plan(users(40, 20.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(|_| vec![cpu(1.0, Strength::Supports, None)]),
        behaviour: Box::new(move |m| {
            let mut seen = Seen::closed(m.level, 0.02);
            seen.gauges = vec![("proxy.worker_cpu_max", uses(m))];
            seen
        }),
    };
    verdict(&world.run()).predictions.swap_remove(0)
}

#[test]
fn processor_time_that_was_not_the_limit_is_foretold() {
    // They use 0.4 of a core: 0.95 of it are 4750/s.
    let told = foretold(|m| m.level / 100.0);
    let rate = told.rate.unwrap();
    assert!((rate.low - 4275.0).abs() < 1.0 && (rate.high - 5225.0).abs() < 1.0, "{rate:?}");
    let used = told.told_from.unwrap();
    assert!((used.cores - 0.4).abs() < 0.005 && (used.rate - 2000.0).abs() < 1.0, "{used:?}");
}

/// A server that still compiles what it runs: a request takes half of what it took three seconds before, and will take less.
#[test]
fn processor_time_of_requests_that_still_fall_foretells_no_rate() {
    let told = foretold(|m| m.level / 50.0 * 0.5_f64.powf(m.t / 3.0));
    assert_eq!((told.rate, told.told_from.is_none()), (None, true));
}

#[test]
fn periods_of_a_quota_foretell_no_rate() {
    let quota = || Limit {
        signatures: vec![reached(metric::THROTTLED, 0.5, Strength::Supports)],
        remedy: None,
        ..cpu(1.0, Strength::Supports, None)
    };
    let world = World {
        plan: plan(users(40, 20.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(move |_| vec![quota()]),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.02);
            seen.gauges = vec![(metric::THROTTLED, 0.2)];
            seen
        }),
    };
    assert_eq!(verdict(&world.run()).predictions[0].rate, None);
}

#[test]
fn processor_time_that_more_workers_lift_but_not_enough() {
    let world = World {
        plan: plan(users(600, 50.0), "p99 < 200ms"),
        settings: settings(&[("cores", 1.0)]),
        limits: Box::new(|s| vec![cpu(s["cores"], Strength::Supports, Some(2.0))]),
        behaviour: Box::new(|m| busy(m.value("cores"))(m)),
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XC", "two cores are all there are");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedButNextLimit));
    assert_eq!(v.proposal[0].change.to, "2");
    assert!(v.caveats.iter().any(|c| matches!(c, Caveat::CeilingReached { value, .. } if *value == 2.0)), "{v:?}");
    assert_eq!(v.next.unwrap().limit, "proxy.cores");
}

/// Bodies of 2,000,000 bytes, where less is allowed.
pub(crate) fn body_world() -> World {
    let load = users(20, 10.0);
    let load = Load { request: Request { body: Body::Size(2_000_000), ..load.request }, ..load };
    World {
        plan: plan(load, "errors < 0.1%"),
        settings: settings(&[("body", 1_048_576.0), ("slots", 4096.0)]),
        limits: Box::new(|s| {
            let law = Law::BodySize { value: s["body"] };
            let mut body = limit("body", s["body"], law, vec![parts_said("body")], &[ErrorKind::Status413], false);
            let remedy = body.remedy.as_mut().unwrap();
            (remedy.unit, remedy.step) = (RemedyUnit::Bytes, 1_048_576.0);
            vec![slots(s["slots"]), body]
        }),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.1);
            if m.value("body") < 2_000_000.0 {
                seen.ok = 0.0;
                seen.errors.push((ErrorKind::Status413, m.level * 10.0));
                seen.logs.push(("body", 5));
            }
            seen
        }),
    }
}

#[test]
fn a_body_too_large() {
    let run = body_world().run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCABBAAB");
    assert_eq!(v.because(), Because::ProvedAndHolds);
    assert_eq!((v.causes[0].limit.id.as_str(), v.proposal[0].change.to.as_str()), ("proxy.body", "3m"));
    assert!(v.causes[0].broke.at < 0.3, "from the first request on");
    assert_eq!(v.predictions[0].limit, "proxy.body", "it bites first");
}

#[test]
fn a_cap_on_concurrent_requests() {
    let law = |value| Law::Slots { value, reserved: 0.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
    let world = World {
        plan: plan(users(60, 20.0), "errors < 0.1%"),
        settings: settings(&[("conn", 10.0), ("slots", 4096.0)]),
        limits: Box::new(move |s| {
            let signs = vec![parts_said("conn")];
            let conn = limit("conn", s["conn"], law(s["conn"]), signs, &[ErrorKind::Status503], false);
            let backend =
                behind(limit("queue", 9.0, law(9.0), vec![parts_said("queue")], &[ErrorKind::Status503], false));
            vec![slots(s["slots"]), conn, backend]
        }),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level.min(m.value("conn")), 0.1);
            if m.level > m.value("conn") {
                seen.errors.push((ErrorKind::Status503, (m.level - m.value("conn")) * 20.0));
                seen.from_level = m.value("conn");
                seen.logs.push(("conn", 40));
            }
            seen
        }),
    };
    let v = verdict(&world.run());
    assert_eq!(v.because(), Because::ProvedAndHolds);
    assert_eq!((v.causes[0].limit.id.as_str(), v.proposal[0].change.to.as_str()), ("proxy.conn", "72"));
    assert_eq!(v.causes[0].broke.level, 11.0);
}

#[test]
fn a_burst_that_the_accept_queue_does_not_hold() {
    let world = World {
        plan: plan(users(100, 1e6), "errors < 0.1%, p99 < 500ms"),
        settings: settings(&[("backlog", 8.0), ("slots", 4096.0)]),
        limits: Box::new(|s| {
            let law = Law::Backlog { value: s["backlog"] + 1.0 };
            let signs = vec![grew("kernel.drops_total", Strength::Decisive)];
            vec![slots(s["slots"]), limit("backlog", s["backlog"], law, signs, &[ErrorKind::ConnectTimeout], true)]
        }),
        behaviour: Box::new(|m| {
            // Those who did not get in try again after 1, 3, 7 s: until then they wait.
            let mut seen = Seen::closed(m.level, 0.05);
            let out = (m.level - m.value("backlog") - 1.0).max(0.0);
            seen.ok = (m.level - out) / 0.05;
            seen.growth.push(("kernel.drops_total", if m.t < 3.5 { out } else { 0.0 }));
            seen
        }),
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCABBAAB");
    assert_eq!(v.because(), Because::ProvedAndHolds);
    assert_eq!((v.causes[0].limit.id.as_str(), v.proposal[0].change.to.as_str()), ("proxy.backlog", "119"));
    assert!(v.causes[0].broke.condition.starts_with("p99"), "those who wait count although nothing came back");
    assert!(run.asked[2].ramp.as_secs_f64() < 0.001, "the proof is a burst too");
    assert!(v.caveats.is_empty(), "it was predicted and it bit: {:?}", v.caveats);
}

#[test]
fn a_stray_drop_is_not_a_full_queue() {
    // One connection was dropped somewhere, and counted; 512 may wait, and there are never more than 400 clients.
    let world = World {
        plan: plan(users(400, 50.0), "p99 < 200ms"),
        settings: settings(&[("backlog", 511.0)]),
        limits: Box::new(|s| {
            let law = Law::Backlog { value: s["backlog"] + 1.0 };
            let signs = vec![grew("kernel.drops_total", Strength::Decisive)];
            let backlog = limit("backlog", s["backlog"], law, signs, &[ErrorKind::ConnectTimeout], true);
            vec![backlog, cpu(1.0, Strength::Supports, None)]
        }),
        behaviour: Box::new(|m| {
            let mut seen = busy(1.0)(m);
            seen.growth.push(("kernel.drops_total", if (m.t - 4.4).abs() < 0.05 { 1.0 } else { 0.0 }));
            seen
        }),
    };
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::CpuIsLimit));
    assert_eq!(v.causes[0].limit.id, "proxy.cores");
    let backlog = &v.causes[0].others[0];
    // Nor are responses late by the second after which a dropped connection is tried again.
    assert_eq!(backlog.against, [Against::WrongSymptom, Against::WrongPlace], "{backlog:?}");
}

/// On a busy machine responses become slower as the load rises: as many are at once at a lower rate than that at which they would have been.
#[test]
fn as_many_at_once_as_foretold_are_where_they_were_foretold_whatever_the_rate() {
    let world = World {
        plan: plan(rate(1000.0, 5, 5000), "errors < 0.1%"),
        settings: settings(&[("slots", 256.0)]),
        limits: Box::new(|s| vec![slots(s["slots"])]),
        behaviour: Box::new(|m| {
            let service = 0.25 + (m.level - 1000.0).max(0.0) * 0.001;
            let clients = m.level * service;
            let mut seen = Seen { ok: m.level, ..Seen::closed(clients, service) };
            let fits = ((m.value("slots") * 15.0 / 16.0 - 2.0) / 2.0).floor();
            if clients > fits {
                seen.errors.push((ErrorKind::EofNew, (clients - fits) * 4.0 + 5.0));
                seen.ok = m.level - seen.errors[0].1;
                let slower = (0.75 + (0.75_f64.powi(2) + 0.004 * fits).sqrt()) / 0.002;
                seen.from_level = if fits < 250.0 { fits / 0.25 } else { slower };
                seen.logs.push(("slots", 1));
            }
            seen
        }),
    };
    let v = verdict(&world.run());
    let test = v.causes[0].counterfactual.as_ref().unwrap();
    let (foretold, after) = (test.predicted.unwrap(), test.observed.as_ref().unwrap());
    assert_eq!((test.scale, test.moved), (Scale::Clients, Moved::AsPredicted), "{test:?}");
    assert!(after.level < 1100.0, "by its rate it is elsewhere: {after:?}");
    assert!((after.in_flight - foretold.low).abs() < foretold.low * 0.05, "{test:?}");
}

#[test]
fn an_open_load() {
    // 0.25 s a request: 1000/s are 250 clients; 239 fit.
    let world = World {
        plan: plan(rate(1000.0, 5, 5000), "errors < 0.1%"),
        settings: settings(&[("slots", 512.0)]),
        limits: Box::new(|s| vec![slots(s["slots"])]),
        behaviour: Box::new(|m| {
            let clients = m.level * 0.25;
            let mut seen = Seen { ok: m.level, ..Seen::closed(clients, 0.25) };
            let fits = ((m.value("slots") * 15.0 / 16.0 - 2.0) / 2.0).floor();
            if clients > fits {
                seen.errors.push((ErrorKind::EofNew, (clients - fits) * 4.0 + 5.0));
                seen.ok = m.level - seen.errors[0].1;
                seen.from_level = fits / 0.25;
                seen.logs.push(("slots", 1));
            }
            seen
        }),
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(v.because(), Because::ProvedAndHolds);
    let cause = &v.causes[0];
    assert!((cause.broke.level - 956.0).abs() < 5.0, "{}", cause.broke.level);
    let rate = cause.predicted.rate.unwrap();
    assert!((rate.low - 956.0).abs() < 10.0 && cause.predicted.users.is_none());
    assert!((cause.broke.in_flight - 239.0).abs() < 3.0);
    assert_eq!(cause.counterfactual.as_ref().unwrap().moved, Moved::AsPredicted);
}

/// Six requests are served at once; that all are is said once, and the objective fails much later.
fn said_once() -> World {
    World {
        plan: plan(users(100, 10.0), "p99 < 1s"),
        settings: settings(&[("workers", 6.0)]),
        limits: Box::new(|s| {
            let law = Law::Workers { workers: s["workers"], queue: None, service: Some(0.1), wait: None };
            let signs = vec![Signature { sign: Sign::LoggedOnce("full".into()), strength: Strength::Decisive }];
            vec![limit("workers", s["workers"], law, signs, &[], true)]
        }),
        behaviour: Box::new(move |m| {
            let workers = m.value("workers");
            let mut seen = Seen::closed(m.level, (m.level * 0.1 / workers).max(0.1));
            if m.trial == 1 && (m.t - 1.0).abs() < 0.05 {
                seen.logs.push(("full", 1));
            }
            seen
        }),
    }
}

#[test]
fn what_a_server_says_once_counts_while_the_load_is_no_lower() {
    let v = verdict(&said_once().run());
    let first = &v.causes[0];
    assert_eq!((first.limit.id.as_str(), first.confidence), ("proxy.workers", Confidence::Proved));
    assert!(first.broke.at > 2.5, "the line is older than the window: {}", first.broke.at);
    let Some(Evidence::Log { at, strength, .. }) = first.evidence.first() else { panic!("{:?}", first.evidence) };
    assert!(*at < first.broke.at - 1.0 && *strength == Strength::Supports, "an older line says less");
}

#[test]
fn a_full_accept_queue_is_no_cause_of_responses_that_come_sooner_than_a_connection_is_tried_again() {
    let world = |late: f64| World {
        plan: plan(users(100, 10.0), "p95 < 300ms"),
        settings: settings(&[]),
        limits: Box::new(|_| {
            let full = vec![reached("backend.queued", 4.0, Strength::Decisive)];
            vec![behind(limit("backlog", 5.0, Law::Backlog { value: 5.0 }, full, &[], true))]
        }),
        behaviour: Box::new(move |m| {
            let full = m.level > 20.0;
            let mut seen = Seen::closed(m.level, if full { late } else { 0.05 });
            seen.gauges = vec![("backend.queued", if full { 5.0 } else { 0.0 })];
            seen
        }),
    };
    let v = verdict(&world(0.5).run());
    assert_eq!((v.because(), v.causes.len()), (Because::NoCauseFound, 0));
    let v = verdict(&world(1.3).run());
    assert_eq!((v.because(), v.causes[0].limit.id.as_str()), (Because::BackendIsLimit, "backend.backlog"));
}

/// What waits for a place counts as a request at once, and is predicted as a user who thinks between two of them.
#[test]
fn a_limit_on_requests_at_once_is_met_by_users_who_think_where_its_formula_has_them() {
    let think = "300ms".parse().unwrap();
    let arrivals = Arrivals::Users { count: 80, spawn_rate: 4.0, think };
    let law = Law::Slots { value: 15.0, reserved: -20.0, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
    let signs = vec![said("rejected", Strength::Decisive), said("closed", Strength::Consistent)];
    let queue = behind(limit("queue", 15.0, law, signs, &[ErrorKind::Status502], false));
    let closed = vec![said("closed", Strength::Decisive)];
    let closing = behind(limit("closing", 0.0, Law::Unknown, closed, &[ErrorKind::Status502], false));
    let run = World {
        plan: plan(Load { arrivals, ..users(80, 4.0) }, "errors < 1%"),
        settings: settings(&[]),
        limits: Box::new(move |_| vec![queue.clone(), closing.clone()]),
        behaviour: Box::new(|m| {
            let asked = m.level * 0.5 / 0.8;
            let mut seen = Seen { in_flight: asked.min(36.0), ..Seen::closed(asked.min(35.0), 0.5) };
            if asked > 35.0 {
                seen.errors = vec![(ErrorKind::Status502, (asked - 35.0) * 4.0)];
                seen.logs = vec![("rejected", 1), ("closed", 1)];
            }
            seen
        }),
    }
    .run();
    let v = verdict(&run);
    let cause = &v.causes[0];
    assert_eq!((cause.limit.id.as_str(), cause.confidence), ("backend.queue", Confidence::Likely), "{:?}", v.causes);
    let there = |evidence: &Evidence| match evidence {
        Evidence::Place { predicted, observed } => {
            (predicted.low, predicted.high) == (40.0, 56.0) && (54.0..=60.0).contains(observed)
        }
        _ => false,
    };
    assert!(cause.evidence.iter().any(there), "{:?}", cause.evidence);
}

/// A queue that hardly ends (Tomcat's own, of 2^31) has no place in clients: where its workers are met next is told in users, as the break is.
#[test]
fn workers_whose_queue_hardly_ends_are_foretold_in_the_unit_of_the_load() {
    let law = Law::Workers { workers: 20.0, queue: Some(2_147_483_648.0), service: Some(0.03), wait: None };
    let endless = Limit { law, ..pool(20.0, 0.03) };
    let run = World {
        plan: plan(users(300, 60.0), "errors < 0.1%, p99 < 500ms"),
        settings: settings(&[("slots", 512.0)]),
        limits: Box::new(move |s| vec![slots(s["slots"]), endless.clone()]),
        behaviour: Box::new(|m| full_slots(m, full_pool(m, 20.0, 0.03, 60.0))),
    }
    .run();
    let v = verdict(&run);
    let test = v.causes[0].counterfactual.as_ref().unwrap();
    assert_eq!(
        (v.causes[0].limit.id.as_str(), test.scale, test.moved),
        ("proxy.slots", Scale::Level, Moved::AsPredicted)
    );
    let (foretold, broke) = (test.predicted.unwrap(), test.observed.as_ref().unwrap());
    assert_eq!((foretold.low, foretold.high), (20.0, 333.0), "from where they wait to where they wait too long");
    assert!((foretold.high - broke.level).abs() < 30.0, "{broke:?}");
}

#[test]
fn a_process_behind_that_has_no_descriptor_left_is_named_and_not_only_that_it_closes_connections() {
    let closes = || {
        let signs = vec![said("closed", Strength::Decisive), grew("proxy.closed_total", Strength::Supports)];
        let told = behind(limit("upstream", 0.0, Law::Unknown, signs, &[ErrorKind::Status502], false));
        Limit { setting: "(upstream)".into(), ..told }
    };
    let full = |strength| {
        let all = Sign::ReachedMetric { metric: "backend.fds".into(), of: "backend.fd_limit".into(), fraction: 0.98 };
        let signs = vec![Signature { sign: all, strength }];
        let errors = [ErrorKind::Status502, ErrorKind::Status500];
        Limit { subject: "app".into(), ..behind(limit("descriptors", 50.0, Law::Unknown, signs, &errors, true)) }
    };
    let named = |strength| {
        let world = World {
            plan: plan(users(60, 10.0), "errors < 0.1%"),
            settings: settings(&[]),
            limits: Box::new(move |_| vec![closes(), full(strength), slots(4096.0)]),
            behaviour: Box::new(|m| {
                let mut seen = Seen::closed(m.level, 0.3);
                seen.gauges.extend([("backend.fds", (20.0 + m.level).min(50.0)), ("backend.fd_limit", 50.0)]);
                if m.level > 30.0 {
                    seen.errors.push((ErrorKind::Status502, m.level - 30.0));
                    seen.logs.push(("closed", 3));
                    seen.growth.push(("proxy.closed_total", 3.0));
                }
                seen
            }),
        };
        let v = verdict(&world.run());
        assert_eq!(v.causes[0].confidence, Confidence::Likely, "nothing here changes it");
        v.causes[0].limit.id.clone()
    };
    assert_eq!(named(Strength::Decisive), "backend.descriptors");
    assert_eq!(named(Strength::Supports), "backend.upstream", "others would leave it, too");
}
