//! Values below the proposed ones: which is the smallest that holds when it is tried.

use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{Law, RemedyUnit};
use genkai_model::load::{Load, Protocol};
use genkai_model::units::Span;
use genkai_model::websocket::WebSocket;

use crate::world::{Run, Seen, World};
use crate::*;

/// Slots that are too few, of which so many smaller values are tried.
fn world(most: u32) -> World {
    let mut world = slots_world(512.0);
    world.plan.procedure.smaller = most;
    world
}

/// The value that a trial gave a setting.
fn tried(run: &Run, setting: &str) -> Vec<String> {
    let all = run.asked.iter().filter(|trial| trial.purpose == Purpose::Smaller);
    all.map(|trial| trial.changes.iter().find(|one| one.setting == setting).unwrap().to.clone()).collect()
}

fn told(one: &Smaller) -> (&str, &str, u32, &str, u32) {
    (&one.setting, &one.holds.value, one.holds.trial, &one.fails.value, one.fails.trial)
}

#[test]
fn what_the_formula_says_is_enough_is_tried_once_and_held() {
    let run = world(2).run();
    let v = verdict(&run);
    assert_eq!((run.order().as_str(), tried(&run, "slots")), ("XCSABBAAB", vec!["643".to_owned()]));
    assert_eq!(v.smaller.iter().map(told).collect::<Vec<_>>(), [("slots", "643", 3, "512", 1)]);
    assert_eq!((v.proposal[0].change.to.as_str(), answer(&v)), ("771", answer(&verdict(&slots_world(512.0).run()))));
}

#[test]
fn halves_are_tried_where_it_is_not_enough() {
    let mut world = world(3);
    // Of many, it takes 30 more than the formula says.
    world.behaviour = Box::new(|m| {
        let slots = m.value("slots");
        full_of(if slots > 600.0 { slots - 30.0 } else { slots }, m, Seen::closed(m.level, 0.3))
    });
    let run = world.run();
    let v = verdict(&run);
    assert_eq!(tried(&run, "slots"), ["643", "707", "675"]);
    assert_eq!(v.smaller.iter().map(told).collect::<Vec<_>>(), [("slots", "675", 5, "643", 3)]);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

#[test]
fn none_is_tried_unless_asked_for() {
    let run = world(0).run();
    assert_eq!((run.order().as_str(), verdict(&run).smaller.len()), ("XCABBAAB", 0));
}

#[test]
fn of_a_size_what_the_bodies_need_is_tried_in_its_own_units() {
    let mut world = crate::causes::body_world();
    world.plan.procedure.smaller = 2;
    let run = world.run();
    let v = verdict(&run);
    assert_eq!((run.order().as_str(), tried(&run, "body")), ("XCSABBAAB", vec!["1954k".to_owned()]));
    assert_eq!(v.smaller.iter().map(told).collect::<Vec<_>>(), [("body", "1954k", 3, "1m", 1)]);
}

#[test]
fn halves_of_a_size_are_multiples_of_a_kibibyte() {
    let mut world = crate::causes::body_world();
    world.plan.procedure.smaller = 3;
    // Something else than the body counts, too.
    world.behaviour = Box::new(|m| {
        let mut seen = Seen::closed(m.level, 0.1);
        if m.value("body") < 2_500_000.0 {
            seen.ok = 0.0;
            seen.errors.push((ErrorKind::Status413, m.level * 10.0));
            seen.logs.push(("body", 5));
        }
        seen
    });
    let run = world.run();
    assert_eq!(tried(&run, "body"), ["1954k", "2513k", "2233k"]);
    let v = verdict(&run);
    assert_eq!(v.smaller.iter().map(told).collect::<Vec<_>>(), [("body", "2513k", 4, "2233k", 5)]);
}

/// WebSockets on which nothing is said for 4 s, where less is allowed; trials with smaller values hold for so many seconds.
fn silent_world(hold: u64) -> World {
    let mut world = crate::causes::body_world();
    let quiet = WebSocket { message: None, ping: Some(Span::from_secs(4)), ..WebSocket::default() };
    world.plan = plan(Load { protocol: Protocol::WebSocket(quiet), ..users(20, 10.0) }, "errors < 0.1%");
    (world.plan.procedure.smaller, world.plan.procedure.proof_hold) = (2, Span::from_secs(hold));
    world.settings = settings(&[("wait", 2.0)]);
    world.limits = Box::new(|s| {
        let law = Law::Idle { after: s["wait"] };
        let mut wait = limit("wait", s["wait"], law, vec![parts_said("wait")], &[ErrorKind::EofReused], false);
        // Milliseconds, as HAProxy counts where a unit is missing.
        wait.value = format!("{}", s["wait"] * 1000.0);
        wait.remedy.as_mut().unwrap().unit = RemedyUnit::Time;
        vec![wait]
    });
    world.behaviour = Box::new(|m| {
        let mut seen = Seen::closed(m.level, 0.1);
        if m.value("wait") < 4.0 {
            seen.errors.push((ErrorKind::EofReused, m.level));
            seen.logs.push(("wait", 5));
        }
        seen
    });
    world
}

#[test]
fn of_a_time_whole_seconds_are_tried_in_trials_that_are_long_enough_to_tell() {
    let run = silent_world(8).run();
    let v = verdict(&run);
    assert_eq!((tried(&run, "wait"), v.proposal[0].change.to.as_str()), (vec!["4s".to_owned()], "5s"));
    assert_eq!(v.smaller.iter().map(told).collect::<Vec<_>>(), [("wait", "4s", 3, "2s", 1)]);
    let short = silent_world(7).run();
    assert_eq!((tried(&short, "wait"), verdict(&short).smaller.len()), (Vec::new(), 0), "7 s do not tell of 4 s");
}
