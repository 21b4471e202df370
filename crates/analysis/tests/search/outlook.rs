//! What comes next where it was not met, and what may come before it.

use genkai_model::error::ErrorKind;
use genkai_model::finding::*;
use genkai_model::limit::{Law, RemedyUnit};

use crate::world::parts::*;
use crate::world::{Seen, World};
use crate::*;

/// `count` users before a proxy that is full at 25 to 100 of them, as they are spread, and has 15 to 60 connections to its backend, for one of
/// which a request waits for 750 ms at most: at 500 ms a response some may fail from 37 users on, and do from 150.
fn ranges(count: u32) -> World {
    let threads = Law::Slots { value: 100.0, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 0.25 };
    let pool = Law::Growing { least: 15.0, most: 60.0, full: None, wait: Some(0.75) };
    World {
        plan: plan(users(count, 20.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(move |_| {
            vec![
                descriptors(10_000.0),
                limit("pool", 15.0, pool.clone(), Vec::new(), &[ErrorKind::Status503], false),
                limit("threads", 25.0, threads.clone(), Vec::new(), &[ErrorKind::Status503], false),
            ]
        }),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.5)),
    }
}

#[test]
fn of_two_ranges_that_overlap_beyond_what_held_either_may_come_first() {
    let told = |count: u32| {
        let v = verdict(&ranges(count).run());
        assert_eq!(v.outcome(), Outcome::Holds);
        let of = |p: &Predicted| (p.limit.clone(), p.users.map(|users| (users.low, users.high)));
        (of(v.next.as_ref().unwrap()), v.next_or.iter().map(of).collect::<Vec<_>>())
    };
    let threads = || ("proxy.threads".to_owned(), Some((25.0, 100.0)));
    let pool = || ("proxy.pool".to_owned(), Some((15.0, 150.0)));
    // Of 40 that held, as of 90, either may be the next; 30 are too few for the pool to fail, and the threads may be full before.
    for held in [30, 40, 90] {
        assert_eq!(told(held), (threads(), vec![pool()]), "{held}");
    }
    assert_eq!(told(130), (pool(), vec![]), "the threads were passed");
    assert_eq!(told(300).0.0, "proxy.descriptors");
}

#[test]
fn what_is_certainly_met_later_does_not_come_first() {
    let mut world = ranges(40);
    let law = Law::Growing { least: 50.0, most: 60.0, full: None, wait: Some(0.75) };
    world.limits = {
        let threads = ranges(40).limits;
        Box::new(move |s| {
            let mut all = threads(s);
            all[1] = limit("pool", 50.0, law.clone(), Vec::new(), &[ErrorKind::Status503], false);
            all
        })
    };
    let v = verdict(&world.run());
    assert_eq!((v.next.unwrap().limit.as_str(), v.next_or.len()), ("proxy.threads", 0), "the pool begins at 125 users");
}

#[test]
fn a_range_that_a_break_fell_into_is_still_a_rung_of_the_ladder() {
    let law = Law::Slots { value: 280.0, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 0.25 };
    let mut world = World {
        settings: settings(&[("slots", 256.0)]),
        limits: Box::new(move |s| {
            vec![slots(s["slots"]), limit("threads", 70.0, law.clone(), Vec::new(), &[ErrorKind::Status503], false)]
        }),
        ..slots_world(256.0)
    };
    world.plan.procedure.max_limits = 0;
    let v = verdict(&world.run());
    let level = v.causes[0].broke.level;
    assert_eq!(v.causes[0].limit.id, "proxy.slots");
    let ladder = v.ladder.unwrap();
    let [Rung::Measured(_), Rung::Predicted(beyond)] = &ladder.rungs[..] else { panic!("{:?}", ladder.rungs) };
    let range = beyond.limit.predicted.unwrap();
    assert!(range.low < level && level < range.high, "{range:?}, {level}");
}

/// Whoever comes within the first interval with responses comes with others: of one alone nothing was seen.
#[test]
fn a_level_before_which_nothing_was_answered_is_the_most_that_it_may_be() {
    let broke = |from: f64| {
        let world = World {
            plan: plan(users(80, 20.0), "errors < 0.1%, p99 < 20ms"),
            behaviour: Box::new(move |m| Seen::closed(m.level, if m.level > from { 0.1 } else { 0.005 })),
            ..slots_world(4096.0)
        };
        verdict(&world.run()).trials.into_iter().find_map(|trial| trial.broke).expect("it breaks")
    };
    let first = broke(0.0);
    assert!(first.or_fewer && first.level < 10.0, "{first:?}");
    let later = broke(30.0);
    assert!(!later.or_fewer && later.level > 25.0, "{later:?}");
}

/// Ten users who all come at once: nobody tried fewer.
#[test]
fn the_level_of_a_load_that_comes_at_once_is_the_most_that_it_may_be() {
    let broke = |spawn_rate: f64| {
        let world = World {
            plan: plan(users(10, spawn_rate), "errors < 0.1%"),
            behaviour: Box::new(|m| Seen {
                errors: vec![(ErrorKind::Status500, 20.0)],
                from_level: 9.0,
                ..Seen::closed(m.level, 0.1)
            }),
            ..slots_world(4096.0)
        };
        verdict(&world.run()).trials.into_iter().find_map(|trial| trial.broke).expect("it breaks")
    };
    let [at_once, slowly] = [broke(1e6), broke(4.0)];
    assert!(at_once.or_fewer && (at_once.level - 10.0).abs() < 1e-9, "{at_once:?}");
    assert!(!slowly.or_fewer, "{slowly:?}");
}

/// `count` requests a second, five seconds of them more and more, before a bucket of `rate` a second of which `burst` may come early.
fn bucket(count: f64, passes: f64, burst: f64) -> World {
    let law = move |value| Law::Rate { value, burst, at_once: Some(1e9) };
    let told = move |value| {
        let mut limit = limit("req", value, law(value), vec![parts_said("req")], &[ErrorKind::Status429], false);
        limit.remedy.as_mut().unwrap().unit = RemedyUnit::Rate;
        limit
    };
    World {
        plan: plan(rate(count, 5, 1_000), "errors < 0.1%"),
        settings: settings(&[("req", passes)]),
        limits: Box::new(move |s| vec![told(s["req"]), descriptors(10_000.0)]),
        behaviour: Box::new(move |m| {
            let over = m.level - m.value("req");
            let mut seen = Seen { in_flight: m.level * 0.05, ok: m.level, ..Seen::closed(1.0, 0.05) };
            // What is too much has come at twice the load's pace.
            if over > 0.0 && over * over / 2.0 / (count / 5.0) + over * (m.t - 5.0).max(0.0) > burst {
                seen.errors.push((ErrorKind::Status429, over));
                seen.logs.push(("req", 1));
            }
            seen
        }),
    }
}

#[test]
fn a_bucket_that_was_not_filled_yet_is_what_comes_next() {
    let held = verdict(&bucket(100.0, 90.0, 200.0).run());
    let next = held.next.as_ref().unwrap();
    assert_eq!(
        (held.outcome(), next.limit.as_str(), next.rate.map(|rate| rate.high)),
        (Outcome::Holds, "proxy.req", Some(90.0))
    );
    let said = |c: &Caveat| matches!(c, Caveat::PredictedButHeld { .. });
    assert!(!held.caveats.iter().any(said), "its formula says just that: {:?}", held.caveats);

    let lifted = verdict(&bucket(100.0, 50.0, 20.0).run());
    let next = lifted.next.as_ref().unwrap();
    assert_eq!(
        (lifted.causes[0].limit.id.as_str(), next.limit.as_str()),
        ("proxy.req", "proxy.req"),
        "{:?}",
        lifted.next
    );
    assert_eq!(next.rate.map(|rate| rate.high), next.value.split("r/s").next().unwrap().parse().ok());
}

#[test]
fn of_a_setting_of_each_of_several_servers_a_proposal_holds_for_all() {
    let law = |value| Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
    let told = move |each: f64| {
        let signs = vec![parts_said("each")];
        let mut limit = limit("each", each, law(each * 2.0), signs, &[ErrorKind::Status503], false);
        limit.remedy.as_mut().unwrap().parts = 2.0;
        limit
    };
    let world = World {
        plan: plan(users(80, 20.0), "errors < 0.1%"),
        settings: settings(&[("each", 15.0)]),
        limits: Box::new(move |s| vec![told(s["each"]), descriptors(10_000.0)]),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.1);
            if m.level > 2.0 * m.value("each") {
                seen.errors.push((ErrorKind::Status503, 50.0));
                seen.logs.push(("each", 3));
            }
            seen
        }),
    };
    let v = verdict(&world.run());
    let change = &v.proposal[0];
    let all = 2.0 * change.change.to.parse::<f64>().unwrap();
    assert_eq!(change.holds_for.map(|holds| (holds.low, holds.high)), Some((all, all)), "{change:?}");
}
