//! Limits that others stand before: what a timeout ends waits elsewhere, and who waits for a connection waits for no worker.

use genkai_model::error::ErrorKind;
use genkai_model::finding::*;
use genkai_model::limit::{Law, Limit, Strength};

use crate::world::parts::*;
use crate::world::{Seen, World};
use crate::*;

#[test]
fn a_timeout_that_ended_what_waited_for_a_full_pool_is_not_the_cause() {
    // Its formula takes requests to be twice as fast as they are by then.
    let law = Law::Workers { workers: 3.0, queue: None, service: Some(0.05), wait: Some(1.95) };
    let workers = move || Limit {
        law: law.clone(),
        symptom: genkai_model::limit::Symptom { errors: vec![ErrorKind::Status502], slow: true },
        ..pool(3.0, 0.05)
    };
    let timeout = || Limit {
        patience: Some(2.0),
        ..limit("timeout", 2.0, Law::Unknown, vec![said("silent", Strength::Supports)], &[ErrorKind::Status502], true)
    };
    let world = |full: bool| {
        let workers = workers.clone();
        World {
            plan: plan(users(100, 20.0), "errors < 0.1%"),
            settings: settings(&[]),
            limits: Box::new(move |_| vec![behind(timeout()), workers()]),
            behaviour: Box::new(move |m| {
                let mut seen = full_pool(m, 3.0, 0.1, 20.0);
                if !full {
                    seen.gauges.clear();
                }
                if m.level > 60.0 {
                    seen.errors.push((ErrorKind::Status502, 20.0));
                    seen.from_level = 60.0;
                    seen.logs.push(("silent", 4));
                }
                seen
            }),
        }
    };
    let v = verdict(&world(true).run());
    assert_eq!(v.causes[0].limit.id, "backend.pool", "{:?}", v.causes[0]);
    let timeout = v.causes[0].others.iter().find(|one| one.limit == "backend.timeout").unwrap();
    assert_eq!(timeout.against, [Against::Explained]);
    assert_eq!(verdict(&world(false).run()).causes[0].limit.id, "backend.timeout", "nobody was seen to wait there");
}

/// A Tomcat of 10 threads and 40 connections, of which users keep one each; 20 more wait to be accepted, the others are dropped.
fn connections(frees: bool) -> World {
    let of = |id: &str, law, signs, errors: &[ErrorKind]| behind(limit(id, 1.0, law, signs, errors, true));
    let slots = |value, reserved: f64| Law::Slots {
        value,
        reserved,
        idle_cost: if reserved < 0.0 { 0.0 } else { 1.0 },
        busy_cost: 1.0,
        pools: 1.0,
        soft: 1.0,
    };
    let threads = Law::Workers { workers: 10.0, queue: Some(50.0), service: Some(0.2), wait: None };
    let late = [ErrorKind::Status504, ErrorKind::Timeout];
    let all = vec![
        of("threads", threads, vec![reached("backend.within", 15.0, Strength::Supports)], &late),
        of("connections", slots(40.0, 0.0), vec![reached("backend.connections", 40.0, Strength::Supports)], &late),
        of("accepts", slots(20.0, -41.0), vec![grew("backend.drops_total", Strength::Decisive)], &late),
    ];
    World {
        plan: plan(users(100, 20.0), "errors < 0.1%, p99 < 1.5s"),
        settings: settings(&[]),
        limits: Box::new(move |_| all.clone()),
        behaviour: Box::new(move |m| {
            let served = if frees { m.level } else { m.level.min(40.0) };
            let mut seen = Seen::closed(served, (served * 0.02).max(0.2));
            seen.in_flight = m.level;
            seen.gauges = vec![("backend.connections", m.level.min(40.0)), ("backend.within", m.level.min(40.0))];
            seen.growth = vec![("backend.drops_total", (m.level - 61.0).max(0.0))];
            if !frees && m.level > 40.0 {
                seen.waiting = Some((2.0, 0));
            }
            seen
        }),
    }
}

#[test]
fn who_gets_no_connection_waits_for_that_and_neither_for_a_worker_nor_in_a_queue() {
    let v = verdict(&connections(false).run());
    assert_eq!(v.causes[0].limit.id, "backend.connections", "{:?}", v.causes[0]);
    assert!(
        v.causes[0].broke.level < 45.0 && matches!(v.causes[0].broke.seen, genkai_model::finding::Seen::Bound { .. }),
        "{:?}",
        v.causes[0].broke
    );
    let against = |id: &str| v.causes[0].others.iter().find(|one| one.limit == id).unwrap().against.clone();
    assert!(against("backend.threads").contains(&Against::Explained));
    // Where connections are given back, all are served, later and later.
    let late = verdict(&connections(true).run());
    assert_ne!(late.causes[0].limit.id, "backend.connections", "{:?}", late.causes[0].broke);
}

#[test]
fn a_queue_that_fills_later_is_not_why_responses_were_late() {
    let mut world = connections(true);
    let served = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let seen = served(m);
        if m.level > 30.0 { Seen { latency: 2.0, service: 2.0, ..seen } } else { seen }
    });
    let v = verdict(&world.run());
    assert_eq!(v.causes[0].limit.id, "backend.threads", "{:?}", v.causes[0]);
    assert!(v.causes[0].broke.level < 40.0, "{:?}", v.causes[0].broke);
}
