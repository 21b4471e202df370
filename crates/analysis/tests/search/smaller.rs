//! Values below the proposed ones: which is the smallest that holds when it is tried.

use genkai_model::event::Purpose;
use genkai_model::finding::*;

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
