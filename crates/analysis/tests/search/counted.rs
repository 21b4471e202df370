//! Settings that count something else than users: requests in all, seconds, requests a second.

use std::cell::RefCell;
use std::collections::BTreeMap;

use genkai_model::error::ErrorKind;
use genkai_model::finding::*;
use genkai_model::limit::{Ceiling, Law, Limit};

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};
use crate::*;

/// What a request takes, and a tick, seconds.
const SERVICE: f64 = 0.1;
const TICK: f64 = 0.2;

fn tried(id: &str, value: f64) -> Limit {
    limit(id, value, Law::Tried { value, word: None }, Vec::new(), ErrorKind::ALL, true)
}

/// 60 users before a server with one setting that has this value. `serves` says how many requests a second are answered, of the moment, of how many
/// come, and of a number that each trial keeps, zero at its begin.
fn world(value: f64, serves: fn(&Moment<'_>, f64, &mut f64) -> f64) -> World {
    let kept: RefCell<BTreeMap<u32, f64>> = RefCell::default();
    World {
        plan: plan(users(60, 12.0), "errors < 1%"),
        settings: settings(&[("n", value)]),
        limits: Box::new(|s| vec![tried("n", s["n"])]),
        behaviour: Box::new(move |m| {
            let mut kept = kept.borrow_mut();
            let mut seen = Seen::closed(m.level, SERVICE);
            let ok = serves(m, seen.ok, kept.entry(m.trial).or_default());
            if ok < seen.ok {
                seen.errors = vec![(ErrorKind::Status503, seen.ok - ok)];
            }
            (seen.ok, seen.in_flight) = (ok, ok * SERVICE);
            seen
        }),
    }
}

fn budget(m: &Moment<'_>, comes: f64, spent: &mut f64) -> f64 {
    let left = (m.value("n") - *spent).max(0.0);
    let now = (comes * TICK).min(left);
    *spent += now;
    now / TICK
}

/// 100 a second, and so many more.
fn bucket(m: &Moment<'_>, comes: f64, taken: &mut f64) -> f64 {
    let there = (m.value("n") - *taken) + 100.0 * TICK;
    let now = (comes * TICK).min(there);
    *taken = (*taken + now - 100.0 * TICK).max(0.0);
    now / TICK
}

fn counted(v: &Verdict) -> Option<(Counts, CountedTrial, Option<CountedTrial>)> {
    v.caveats.iter().find_map(|caveat| match caveat {
        Caveat::Counts { setting, counts, before, after } if setting == "n" => Some((*counts, *before, *after)),
        _ => None,
    })
}

#[test]
fn a_budget_is_counted_in_requests_answered_and_its_break_moves_with_it() {
    // 60 users use it up while they are all there, as those do that come with the headroom.
    let v = verdict(&world(1500.0, budget).run());
    let (counts, before, after) = counted(&v).unwrap();
    assert_eq!((counts, before.answered, after.map(|after| after.answered)), (Counts::Requests, 1500, Some(3000)));
    assert_eq!(v.causes[0].counterfactual.as_ref().unwrap().moved, Moved::Elsewhere, "{:?}", v.causes);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

#[test]
fn a_budget_that_is_raised_beyond_the_load_is_known_by_its_value() {
    let v = verdict(&world(2500.0, budget).run());
    let (counts, before, after) = counted(&v).unwrap();
    assert_eq!((counts, before.answered, after), (Counts::Requests, 2500, None));
}

#[test]
fn a_rate_is_told_as_requests_a_second() {
    let v = verdict(&world(150.0, |m, comes, _| comes.min(m.value("n"))).run());
    let (counts, before, after) = counted(&v).unwrap();
    let rates = [before.rate, after.unwrap().rate].map(f64::round);
    assert_eq!((counts, rates), (Counts::Rate, [150.0, 300.0]));
}

/// A server that answers as many a second whatever its setting says is full of something else, also where that number is near.
#[test]
fn a_rate_that_does_not_follow_the_value_is_not_what_it_counts() {
    let mut full = world(66.0, |_, comes, _| comes.min(71.0));
    full.limits = Box::new(|s| {
        let mut limit = tried("n", s["n"]);
        let remedy = limit.remedy.as_mut().unwrap();
        remedy.ceiling = Some(Ceiling { value: 78.0, by: "the range given".to_owned() });
        vec![limit]
    });
    let v = verdict(&full.run());
    assert_eq!(counted(&v), None);
    assert!(v.causes.iter().all(|cause| cause.confidence != Confidence::Proved), "{:?}", v.causes);
}

#[test]
fn what_may_come_beyond_a_rate_is_no_effect_that_cannot_be_measured() {
    let v = verdict(&world(100.0, bucket).run());
    let (counts, before, after) = counted(&v).unwrap();
    assert_eq!((counts, before.rate.round(), after.unwrap().rate.round()), (Counts::Burst, 100.0, 100.0));
    assert_ne!(v.because(), Because::ChangeMadeNoDifference);
}

#[test]
fn users_at_once_are_told_as_nothing_else() {
    // As many a second as at once, since each takes a second.
    let mut slow = world(20.0, |m, comes, _| comes.min(m.value("n")));
    let behaviour = slow.behaviour;
    slow.behaviour = Box::new(move |m| Seen { in_flight: m.value("n"), ..behaviour(m) });
    assert_eq!(counted(&verdict(&slow.run())), None);
    // Once it was too much for it, it answers no more.
    let breaks = |m: &Moment<'_>, comes: f64, broken: &mut f64| {
        *broken = broken.max(if m.level > m.value("n") { 1.0 } else { 0.0 });
        if *broken > 0.0 { 0.0 } else { comes }
    };
    assert_eq!(counted(&verdict(&world(20.0, breaks).run())), None);
}
