//! Changes of which no formula tells, tried a second time: what fails by chance, or at times, moves by itself.

use genkai_analysis::tuning::{self, Next};
use genkai_model::error::ErrorKind;
use genkai_model::event::*;
use genkai_model::finding::*;
use genkai_model::limit::{Law, Limit};

use crate::world::parts::*;
use crate::world::{Run, Seen, World};
use crate::*;

/// What a request takes.
const SERVICE: f64 = 0.1;

fn tried(id: &str, value: f64) -> Limit {
    limit(id, value, Law::Tried { value, word: None }, Vec::new(), ErrorKind::ALL, true)
}

/// 60 users, of whom so many make it fail in each trial, whatever is set: a part of its answers, or one in so many of them.
fn by_trial(breaks: &'static [f64], part: f64) -> World {
    World {
        plan: plan(users(60, 4.0), "errors < 0.1%"),
        settings: settings(&[("first", 7.0), ("second", 10.0)]),
        limits: Box::new(|s| vec![tried("first", s["first"]), tried("second", s["second"])]),
        behaviour: Box::new(move |m| {
            let at = breaks.get(m.trial as usize - 1).copied().unwrap_or(f64::INFINITY);
            let mut seen = Seen { waiting: Some((m.t, 0)), ..Seen::closed(m.level, SERVICE) };
            if m.level > at {
                seen.errors = vec![(ErrorKind::Status503, seen.ok * part)];
                seen.ok *= 1.0 - part;
            }
            seen
        }),
    }
}

/// What came of the second tests, in order.
fn repeats(v: &Verdict) -> Vec<Again> {
    v.causes.iter().filter_map(|cause| cause.counterfactual.as_ref()?.again).collect()
}

fn confidences(v: &Verdict) -> Vec<Confidence> {
    v.causes.iter().map(|cause| cause.confidence).collect()
}

#[test]
fn what_fails_at_times_moves_once_and_is_taken_back() {
    // Sooner in the first trial than in all others, each of which begins as long after a failure.
    let run = by_trial(&[5.0, 24.0, 24.0, 24.0, 24.0, 24.0, 24.0], 0.5).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCccCcc", "with it, without it, and so the other parameter");
    assert_eq!(confidences(&v), [Confidence::Refuted; 2]);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::ChangeMadeNoDifference));
    assert!(v.proposal.is_empty(), "{:?}", v.proposal);
    let all = repeats(&v);
    assert!(all.len() == 2 && all.iter().all(|one| !one.later && one.unchanged.is_some()), "{all:?}");
    // The trials without it are what broke, once more.
    let first = &run.asked[0];
    let without = &run.asked[3];
    assert_eq!((&without.changes, without.level, without.ramp), (&first.changes, first.level, first.ramp));
    assert!(run.asked[2].draw != first.draw && run.asked[2].draw == without.draw, "they would be one observation");
}

#[test]
fn a_second_trial_with_the_change_that_breaks_as_early_is_enough() {
    let run = by_trial(&[5.0, 24.0, 5.0, 5.0], 0.5).run();
    let v = verdict(&run);
    assert_eq!((run.order().as_str(), confidences(&v)), ("XCcC", vec![Confidence::Refuted; 2]));
    let [again] = repeats(&v)[..] else { panic!("{v:?}") };
    assert_eq!((again.trial, again.unchanged, again.later), (3, None, false));
}

#[test]
fn failures_that_are_as_frequent_at_the_same_load_are_chance_wherever_they_come() {
    // A few answers fail, from some moment on. The change had it later both times, and hardly any came before it without the change.
    let mut world = by_trial(&[], 0.0);
    world.behaviour = Box::new(|m| {
        let at = [1.0, 24.0, 24.0, 1.0, 1.0].get(m.trial as usize - 1).copied().unwrap_or(f64::INFINITY);
        let mut seen = Seen { waiting: Some((m.t, 0)), ..Seen::closed(m.level, SERVICE) };
        if m.level > at {
            seen.errors = vec![(ErrorKind::Status503, 5.0)];
        }
        seen
    });
    let v = verdict(&world.run());
    let again = repeats(&v)[0];
    let Some([with, without]) = again.failures else { panic!("{again:?}") };
    assert!(again.later && without.failed > 0 && with.failed == 0 && with.of > 0, "{again:?}");
    assert_eq!((confidences(&v)[0], v.must_change()), (Confidence::Refuted, Answer::CannotTell));
}

/// As many users as the second setting is large make it fail, and a larger one than 15 cannot be had.
fn capped() -> World {
    let mut world = by_trial(&[], 0.5);
    world.limits = Box::new(|s| {
        let mut second = tried("second", s["second"]);
        let most = genkai_model::limit::Ceiling { value: 15.0, by: "the range".into() };
        second.remedy.as_mut().unwrap().ceiling = Some(most);
        vec![second]
    });
    world.behaviour = Box::new(|m| {
        let mut seen = Seen { waiting: Some((m.t, 0)), ..Seen::closed(m.level, SERVICE) };
        if m.level > m.value("second") {
            seen.errors = vec![(ErrorKind::Status503, seen.ok * 0.5)];
            seen.ok *= 0.5;
        }
        seen
    });
    world
}

#[test]
fn what_moves_twice_is_believed_although_it_is_not_enough() {
    let run = capped().run();
    let v = verdict(&run);
    assert_eq!((run.order().as_str(), confidences(&v)), ("XCcc", vec![Confidence::Proved]));
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedButNextLimit));
    let [again] = repeats(&v)[..] else { panic!("{v:?}") };
    let Some([with, without]) = again.failures else { panic!("{again:?}") };
    assert!(again.later && with.failed == 0 && without.failed > 0, "{again:?}");
}

/// Ends a run as it stands.
fn ended(mut run: Run) -> Verdict {
    let end = RunEnded { interrupted: false, failure: None, diff: String::new(), files: Vec::new() };
    let what = What::RunEnded(end);
    run.record.push(Event { at_us: 0, trial: None, what: what.clone() });
    run.events.push(Event { at_us: 0, trial: None, what });
    verdict(&run)
}

#[test]
fn what_was_tried_once_only_is_not_believed() {
    let world = capped();
    for trials in [2, 3] {
        let mut run = world.begin();
        for _ in 0..trials {
            let Next::Trial(what) = tuning::next(&run.record) else { panic!("it ends early") };
            world.trial(&mut run, &what);
        }
        assert!(matches!(tuning::next(&run.record), Next::Trial(what) if what.purpose == Purpose::Repeat));
        let v = ended(run);
        assert_eq!(confidences(&v), [Confidence::Possible], "after {trials}");
        assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Unfinished), "after {trials}");
    }
}

#[test]
fn a_record_of_an_older_version_which_went_on_is_read_on() {
    // The second of two parameters is found and raised once more, without a second test between.
    let mut world = capped();
    world.limits = Box::new(|s| vec![tried("second", s["second"])]);
    let mut run = world.begin();
    let mut old = Vec::new();
    for to in ["", "20", "40"] {
        let Next::Trial(mut what) = tuning::next(&run.record) else { panic!("it ends early") };
        if !to.is_empty() {
            what.purpose = Purpose::Counterfactual;
            let product = what.changes[0].product.clone();
            what.changes = vec![Change { product, setting: "second".into(), from: "10".into(), to: to.into() }];
        }
        world.trial(&mut run, &what);
        old.push(what);
    }
    let v = ended(run);
    assert_eq!(v.trials.len(), 3);
    assert_eq!(confidences(&v), [Confidence::Possible; 2], "neither was seen twice");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Unfinished));
}

#[test]
fn without_pairs_what_holds_is_tried_twice_as_well() {
    let mut world = capped();
    world.limits = Box::new(|s| vec![tried("second", s["second"])]);
    world.plan = plan(users(14, 4.0), "errors < 0.1%");
    world.plan.procedure.min_pairs = 0;
    let run = world.run();
    let v = verdict(&run);
    assert_eq!((run.order().replace('S', "").as_str(), confidences(&v)), ("XCcc", vec![Confidence::Proved]));
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

/// The same world in which everything fails for a second and a half from such a moment on, whatever is set, and is well again.
fn in_bursts(moments: &'static [f64], lasts: f64) -> World {
    let mut world = by_trial(&[], 0.0);
    world.limits = Box::new(|s| {
        let mut first = tried("first", s["first"]);
        let most = genkai_model::limit::Ceiling { value: 10.0, by: "the range".into() };
        first.remedy.as_mut().unwrap().ceiling = Some(most);
        vec![first]
    });
    world.behaviour = Box::new(move |m| {
        let at = moments.get(m.trial as usize - 1).copied().unwrap_or(f64::INFINITY);
        let mut seen = Seen { waiting: Some((m.t, 0)), ..Seen::closed(m.level, SERVICE) };
        if m.t > at && m.t <= at + lasts {
            seen.errors = vec![(ErrorKind::Status503, seen.ok)];
            seen.ok = 0.0;
        }
        seen
    });
    world
}

#[test]
fn failures_that_end_by_themselves_are_tried_until_chance_is_excluded() {
    // Sooner without the change in the first four trials, as in one of six cases; and in the next with the change, as soon.
    let run = in_bursts(&[3.0, 8.0, 8.0, 3.0, 3.0, 3.0], 1.5).run();
    let v = verdict(&run);
    assert_eq!((run.order().as_str(), confidences(&v)), ("XCcccc", vec![Confidence::Refuted]));
    let [again] = repeats(&v)[..] else { panic!("{v:?}") };
    let more = MoreTries { ended: true, apart: false, with: 3, without: 3 };
    assert_eq!((again.later, again.more, again.failures), (false, Some(more), None));
    let changed: Vec<usize> = run.asked.iter().map(|one| one.changes.len()).collect();
    assert_eq!(changed, [0, 1, 1, 0, 0, 1], "A B B A A B");
    let draws: Vec<u32> = run.asked[2..].iter().map(|one| one.draw).collect();
    assert_eq!(draws, [1, 1, 2, 2], "another load each time");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::ChangeMadeNoDifference));
    // It is seen that they end.
    let lasted = |i: usize| run.record.trials[i].ended.as_ref().unwrap().lasted;
    assert!(lasted(2).0 > lasted(1).0 + 2_000_000_000, "{:?} {:?}", lasted(2), lasted(1));
}

#[test]
fn five_of_each_in_that_order_are_no_chance() {
    let run = in_bursts(&[3.0, 8.0, 8.0, 3.0, 3.0, 8.0, 8.0, 3.0, 3.0, 8.0], 1.5).run();
    let v = verdict(&run);
    assert_eq!((&run.order()[..10], confidences(&v)[0]), ("XCcccccccc", Confidence::Proved));
    let more = MoreTries { ended: true, apart: false, with: 5, without: 5 };
    assert_eq!((repeats(&v)[0].later, repeats(&v)[0].more), (true, Some(more)));
}

#[test]
fn one_configuration_that_breaks_now_sooner_and_now_later_is_tried_on() {
    let run = by_trial(&[5.0, 24.0, 24.0, 10.0, 30.0], 0.5).run();
    let v = verdict(&run);
    assert_eq!((&run.order()[..5], confidences(&v)[0]), ("XCccc", Confidence::Refuted));
    let more = MoreTries { ended: false, apart: true, with: 2, without: 3 };
    assert_eq!((repeats(&v)[0].later, repeats(&v)[0].more), (false, Some(more)));
}
