//! Whole runs in worlds whose limits are known: the search must find the right one, lift it, and prove it - or say that
//! it cannot.

mod world;

use genkai_analysis::findings;
use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{Law, RemedyUnit, Strength};
use genkai_model::load::{Body, Request};

use world::parts::*;
use world::{Moment, Run, Seen, World};

/// Slots as they really are: from 15/16 on, clients beyond lose their connections.
fn full_slots(m: &Moment<'_>, mut seen: Seen) -> Seen {
    let fits = ((m.value("slots") * 15.0 / 16.0 - 2.0) / 2.0).floor();
    if m.level > fits {
        seen.errors.push((ErrorKind::EofReused, (m.level - fits) * 5.0));
        seen.from_level = fits;
        seen.logs.push(("slots", 3));
        seen.growth.push(("proxy.dropped_total", m.level - fits));
    }
    seen
}

fn slots_world(value: f64) -> World {
    World {
        plan: plan(users(300, 60.0), "errors < 0.1%"),
        settings: settings(&[("slots", value)]),
        limits: Box::new(|s| vec![slots(s["slots"]), cpu(1.0, Strength::Supports, None)]),
        behaviour: Box::new(|m| full_slots(m, Seen::closed(m.level, 0.3))),
    }
}

fn verdict(run: &Run) -> Verdict {
    findings(&run.record).verdict
}

fn said(v: &Verdict) -> (Outcome, Answer, Because) {
    (v.outcome, v.must_change, v.because)
}

#[test]
fn healthy() {
    let run = slots_world(4096.0).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X");
    assert_eq!(said(&v), (Outcome::Holds, Answer::No, Because::ObjectiveHolds));
    assert!(v.causes.is_empty() && v.proposal.is_empty() && v.caveats.is_empty(), "{v:?}");
    assert_eq!(v.next.unwrap().users.unwrap().low, 1919.0, "what breaks first, one day");
}

#[test]
fn slots_are_found_lifted_and_proved() {
    let run = slots_world(512.0).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCABABAB");
    assert_eq!(said(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    let cause = &v.causes[0];
    assert_eq!((v.causes.len(), cause.limit.id.as_str(), cause.confidence), (1, "proxy.slots", Confidence::Proved));
    assert_eq!(cause.broke.level, 240.0, "exactly the first user too many");
    assert!((cause.broke.at - 4.0).abs() < 0.01);
    assert_eq!(cause.predicted.clients.unwrap().low, 239.0);
    assert_eq!(cause.predicted.observed, Some(240.0));
    assert_eq!(cause.broke.sides, [genkai_model::error::Side::Server]);
    let place = cause.evidence.iter().any(|e| matches!(e, Evidence::Place { .. }));
    assert!(place && cause.evidence.len() == 4, "two signs, errors, place: {:?}", cause.evidence);
    let proposal = &v.proposal[0];
    assert_eq!((proposal.change.from.as_str(), proposal.change.to.as_str()), ("512", "771"));
    assert_eq!((proposal.minimum.as_str(), proposal.holds_for.unwrap().low), ("643", 360.0));
    let test = cause.counterfactual.as_ref().unwrap();
    assert_eq!((test.moved, test.predicted.unwrap().low), (Moved::AsPredicted, 360.0));
    assert_eq!(test.observed.as_ref().unwrap().level, 361.0, "the load went on to where the new value ends");
    let next = v.next.unwrap();
    assert_eq!((next.limit.as_str(), next.observed), ("proxy.slots", Some(361.0)));
    let proof = v.proof.unwrap();
    assert_eq!((proof.order.as_str(), proof.pairs), ("ABABAB", 3));
    assert!(proof.certain && proof.proposal_holds && proof.baseline_fails);
    assert_eq!(proof.failures[1], 0);
    assert!(proof.failed_after.interval.high > 0.0, "no failure in three trials is not never");
    assert!(v.caveats.is_empty() && v.client.valid, "{:?}", v.caveats);
}

#[test]
fn the_proposal_holds_for_the_load_in_the_proof_and_is_not_gentler() {
    let run = slots_world(512.0).run();
    let baseline = run.asked.iter().find(|t| t.purpose == Purpose::Baseline).unwrap();
    assert_eq!((baseline.level, baseline.ramp.as_secs_f64()), (300.0, 2.0));
    let test = &run.asked[1];
    assert_eq!(test.limit.as_deref(), Some("proxy.slots"));
    assert!((test.level / test.ramp.as_secs_f64() - 60.0).abs() < 0.5, "as steep as the load that broke it");
}

/// A pool of workers behind the proxy, first come, first served: a response that comes now was asked for when there were
/// fewer users.
fn full_pool(m: &Moment<'_>, workers: f64, service: f64, spawn_rate: f64) -> Seen {
    let then = m.level / (1.0 + spawn_rate * service / workers);
    let wait = (then * service / workers).max(service);
    let mut seen = Seen::closed(m.level, wait);
    seen.gauges = vec![
        ("backend.busy", m.level.min(workers)),
        ("backend.workers", workers),
        ("backend.queued", (m.level - workers).max(0.0)),
    ];
    seen
}

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
    assert_eq!(said(&v), (Outcome::Fails, Answer::No, Because::BackendIsLimit));
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
    assert_eq!(v.because, Because::ProvedAndHolds);
    assert_eq!(v.causes[0].limit.id, "proxy.slots");
    let pool = v.causes[0].others.iter().find(|c| c.limit == "backend.pool").unwrap();
    assert!(pool.against.contains(&Against::WrongSymptom), "a full pool makes wait, it closes no connection");
}

#[test]
fn two_limits_in_a_row() {
    let world = World {
        plan: plan(users(300, 60.0), "errors < 0.1%"),
        settings: settings(&[("slots", 256.0), ("descriptors", 400.0)]),
        limits: Box::new(|s| vec![slots(s["slots"]), descriptors(s["descriptors"])]),
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            let fits = ((m.value("descriptors") - 11.0) / 2.0).floor();
            let open = (11.0 + 2.0 * m.level).min(m.value("descriptors"));
            seen.gauges = vec![("proxy.fds", open), ("proxy.fd_limit", m.value("descriptors"))];
            if m.level > fits {
                seen.errors.push((ErrorKind::Status500, (m.level - fits) * 3.0));
                seen.from_level = if seen.errors.len() == 1 { fits } else { seen.from_level };
                seen.logs.push(("descriptors", 1));
            }
            seen
        }),
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCCABABAB");
    assert_eq!(said(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    let causes: Vec<_> = v.causes.iter().map(|c| (c.limit.id.as_str(), c.confidence)).collect();
    assert_eq!(causes, [("proxy.slots", Confidence::Proved), ("proxy.descriptors", Confidence::Proved)]);
    assert_eq!(v.causes[0].counterfactual.as_ref().unwrap().moved, Moved::AsPredicted);
    assert_eq!(run.asked[2].changes.len(), 2, "what was proved stays");
    let settings: Vec<_> = v.proposal.iter().map(|p| p.change.setting.as_str()).collect();
    assert_eq!(settings, ["slots", "descriptors"]);
}

#[test]
fn a_refuted_candidate_then_the_right_one() {
    // Both leave decisive signs, but only the slots refuse clients.
    let world = World {
        plan: plan(users(300, 60.0), "errors < 0.1%"),
        settings: settings(&[("slots", 512.0), ("wrong", 478.0)]),
        limits: Box::new(|s| {
            let law =
                Law::Slots { value: s["wrong"], reserved: 0.0, idle_cost: 1.0, busy_cost: 2.0, pools: 1.0, soft: 1.0 };
            let signs =
                vec![parts_said("wrong"), parts_said("wrong too"), grew("proxy.dropped_total", Strength::Supports)];
            let wrong = limit("wrong", s["wrong"], law, signs, &[ErrorKind::EofReused], false);
            vec![wrong, slots(s["slots"])]
        }),
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if !seen.errors.is_empty() {
                seen.logs.extend([("wrong", 1), ("wrong too", 1)]);
            }
            seen
        }),
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCCABABAB");
    let causes: Vec<_> = v.causes.iter().map(|c| (c.limit.id.as_str(), c.confidence)).collect();
    assert_eq!(causes, [("proxy.wrong", Confidence::Refuted), ("proxy.slots", Confidence::Proved)]);
    assert_eq!(v.causes[0].counterfactual.as_ref().unwrap().moved, Moved::Not);
    let changed: Vec<_> = run.asked[2].changes.iter().map(|c| c.setting.as_str()).collect();
    assert_eq!(changed, ["slots"], "the refuted change is taken back");
    assert_eq!(v.proposal.len(), 1);
    assert_eq!(said(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

fn parts_said(name: &str) -> genkai_model::limit::Signature {
    world::parts::said(name, Strength::Decisive)
}

#[test]
fn every_candidate_refuted() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.level > 240.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
                seen.logs.push(("slots", 1));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XC");
    assert_eq!(said(&v), (Outcome::Fails, Answer::CannotTell, Because::ChangeMadeNoDifference));
    assert_eq!(v.causes[0].confidence, Confidence::Refuted);
    assert!(v.proposal.is_empty());
}

#[test]
fn no_sign_no_cause() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.level > 240.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    assert_eq!(said(&v), (Outcome::Fails, Answer::CannotTell, Because::NoCauseFound));
    assert!(v.causes.is_empty(), "the right place alone proves nothing");
}

fn busy(cores: f64) -> impl Fn(&Moment<'_>) -> Seen {
    move |m| {
        let most = 1000.0 * cores;
        let service = (m.level / most).max(0.02);
        let mut seen = Seen::closed(m.level, service);
        seen.gauges = vec![("proxy.worker_cpu_max", (m.level / service / most).min(1.0))];
        seen
    }
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
    assert_eq!(said(&v), (Outcome::Fails, Answer::No, Because::CpuIsLimit));
    assert_eq!(v.causes[0].limit.id, "proxy.cores");
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
    assert_eq!(said(&v), (Outcome::Fails, Answer::Yes, Because::ProvedButNextLimit));
    assert_eq!(v.proposal[0].change.to, "2");
    assert!(v.caveats.iter().any(|c| matches!(c, Caveat::CeilingReached { value, .. } if *value == 2.0)), "{v:?}");
    assert_eq!(v.next.unwrap().limit, "proxy.cores");
}

#[test]
fn a_body_too_large() {
    let load = users(20, 10.0);
    let load = genkai_model::load::Load { request: Request { body: Body::Size(2_000_000), ..load.request }, ..load };
    let world = World {
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
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCABABAB");
    assert_eq!(v.because, Because::ProvedAndHolds);
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
    assert_eq!(v.because, Because::ProvedAndHolds);
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
    assert_eq!(run.order(), "XCABABAB");
    assert_eq!(v.because, Because::ProvedAndHolds);
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
    assert_eq!(said(&v), (Outcome::Fails, Answer::No, Because::CpuIsLimit));
    assert_eq!(v.causes[0].limit.id, "proxy.cores");
    let backlog = &v.causes[0].others[0];
    assert_eq!((backlog.against.as_slice(), backlog.evidence.len()), (&[Against::WrongPlace][..], 2), "{backlog:?}");
}

#[test]
fn a_saturated_client_invalidates_the_break() {
    let world = World {
        plan: plan(users(300, 60.0), "p99 < 500ms"),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, if m.level > 200.0 { 0.9 } else { 0.1 });
            seen.cpu = (m.level / 180.0).min(1.0);
            seen
        }),
        ..slots_world(4096.0)
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X");
    assert_eq!(said(&v), (Outcome::Invalid, Answer::CannotTell, Because::ClientIsLimit));
    assert!(matches!(v.client.reasons[..], [ClientLimit::Cpu { used }] if used > 0.97), "{:?}", v.client);
    assert!(v.causes.is_empty(), "no cause is named");
}

#[test]
fn a_client_overrun_only_after_the_break_does_not_matter() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if !seen.errors.is_empty() {
                (seen.cpu, seen.lateness) = (1.0, 0.5);
            }
            seen
        }),
        ..slots_world(512.0)
    };
    assert_eq!(verdict(&world.run()).because, Because::ProvedAndHolds);
}

#[test]
fn a_client_that_gives_out_beyond_the_load_asked_for_leaves_the_test_standing() {
    let give_out = |at: f64| World {
        behaviour: Box::new(move |m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.level > at && m.purpose == Purpose::Counterfactual {
                (seen.cpu, seen.lateness) = (1.0, 0.5);
            }
            seen
        }),
        ..slots_world(512.0)
    };
    assert_eq!(verdict(&give_out(340.0).run()).because, Because::ProvedAndHolds);
    let early = verdict(&give_out(260.0).run());
    assert_eq!(said(&early), (Outcome::Fails, Answer::CannotTell, Because::ClientIsLimit));
}

#[test]
fn a_server_that_dies() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.t > 2.0 {
                seen.errors.push((ErrorKind::ConnectRefused, 500.0));
                seen.ok = 0.0;
                seen.died = Some("proxy");
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X");
    assert_eq!(said(&v), (Outcome::Fails, Answer::CannotTell, Because::ServerDied));
    assert!(v.caveats.contains(&Caveat::ServerDied { subject: "proxy".into(), trial: 1 }));
    assert!((v.trials[0].broke.as_ref().unwrap().at - 2.0).abs() < 0.3);
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
    assert_eq!(v.because, Because::ProvedAndHolds);
    let cause = &v.causes[0];
    assert!((cause.broke.level - 956.0).abs() < 5.0, "{}", cause.broke.level);
    let rate = cause.predicted.rate.unwrap();
    assert!((rate.low - 956.0).abs() < 10.0 && cause.predicted.users.is_none());
    assert!((cause.broke.in_flight - 239.0).abs() < 3.0);
    assert_eq!(cause.counterfactual.as_ref().unwrap().moved, Moved::AsPredicted);
}

#[test]
fn a_proposal_that_fails_in_the_proof_is_said_to() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.purpose == Purpose::Proposal && m.level > 250.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    assert_eq!(said(&v), (Outcome::Fails, Answer::CannotTell, Because::ProvedButNextLimit));
    assert!(v.caveats.contains(&Caveat::ProposalFailedInProof));
}

#[test]
fn a_baseline_that_holds_in_the_proof_is_said_to() {
    let world = World {
        behaviour: Box::new(|m| {
            let seen = Seen::closed(m.level, 0.3);
            if m.purpose == Purpose::Baseline { seen } else { full_slots(m, seen) }
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    assert_eq!(v.must_change, Answer::CannotTell);
    assert!(v.caveats.contains(&Caveat::BaselineHeldInProof) && v.caveats.contains(&Caveat::FewPairs { pairs: 3 }));
}

#[test]
fn a_prediction_that_did_not_come_true_is_a_caveat() {
    let world = World { behaviour: Box::new(|m| Seen::closed(m.level, 0.3)), ..slots_world(512.0) };
    let v = verdict(&world.run());
    assert_eq!(v.outcome, Outcome::Holds);
    assert!(
        matches!(&v.caveats[..], [Caveat::PredictedButHeld { limit, reached, .. }]
        if limit == "proxy.slots" && *reached == 300.0),
        "{:?}",
        v.caveats
    );
}

#[test]
fn no_more_limits_than_allowed() {
    let mut world = slots_world(512.0);
    world.plan.procedure.max_limits = 0;
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X");
    assert_eq!((v.because, v.causes[0].confidence), (Because::NotTested, Confidence::Likely));
}

#[test]
fn more_pairs_until_it_is_certain() {
    let mut world = World {
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            // The first baseline fails little, the others much.
            if m.purpose == Purpose::Baseline && m.trial == 3 {
                seen.errors.iter_mut().for_each(|e| e.1 *= 0.1);
            }
            seen
        }),
        ..slots_world(512.0)
    };
    world.plan.procedure.max_pairs = 6;
    let run = world.run();
    let v = verdict(&run);
    let proof = v.proof.unwrap();
    assert!(proof.pairs > 3 && proof.certain, "{proof:?}");
    assert_eq!(run.order(), format!("XC{}", "AB".repeat(proof.pairs as usize)));
}
