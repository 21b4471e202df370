//! Parameters of which no formula and no sign is known: each is tried alone, and what moves the break is the cause.

use genkai_analysis::tuning::{self, Next};
use genkai_model::error::ErrorKind;
use genkai_model::event::{Event, NotStarted, Purpose, What};
use genkai_model::finding::*;
use genkai_model::limit::{Ceiling, Law, Limit, Strength};
use genkai_model::units::Span;

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};
use crate::*;

/// What a request takes.
const SERVICE: f64 = 0.1;

fn tried(id: &str, value: f64, most: Option<f64>) -> Limit {
    let mut limit = limit(id, value, Law::Tried { value, word: None }, Vec::new(), ErrorKind::ALL, true);
    limit.remedy.as_mut().unwrap().ceiling = most.map(|value| Ceiling { value, by: "the range".into() });
    limit
}

fn word(id: &str, word: &str) -> Limit {
    let law = Law::Tried { value: 0.0, word: Some(word.into()) };
    let mut limit = limit("mode", 1.0, law, Vec::new(), ErrorKind::ALL, true);
    limit.id = format!("proxy.{id}={word}");
    limit
}

/// So many users, of whom as many are served at once as `serves` makes of a first and a second setting; 0.5 s may be taken.
fn world(count: u32, most: Option<f64>, serves: fn(f64, f64) -> f64) -> World {
    World {
        plan: plan(users(count, 20.0), "p99 < 500ms"),
        settings: settings(&[("first", 7.0), ("second", 10.0)]),
        limits: Box::new(move |s| {
            vec![
                tried("first", s["first"], None),
                tried("second", s["second"], most),
                cpu(1.0, Strength::Supports, None),
            ]
        }),
        behaviour: Box::new(move |m| {
            let workers = serves(m.value("first"), m.value("second"));
            let takes = SERVICE.max(m.level * SERVICE / workers);
            Seen::closed(m.level, takes)
        }),
    }
}

/// The limits that were lifted in vain, and those that were not.
fn named(v: &Verdict) -> (Vec<&str>, Vec<&str>) {
    let of = |c| v.causes.iter().filter(|cause| cause.confidence == c).map(|cause| cause.limit.id.as_str()).collect();
    (of(Confidence::Refuted), of(Confidence::Proved))
}

#[test]
fn each_is_tried_alone_and_the_one_that_heals_is_named_and_proved() {
    let run = world(60, None, |_, second| second).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCCABBAAB");
    assert_eq!(named(&v), (vec!["proxy.first"], vec!["proxy.second"]));
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    let change = &v.proposal[0].change;
    assert_eq!((v.proposal.len(), change.from.as_str(), change.to.as_str()), (1, "10", "20"));
    assert_eq!(v.proposal[0].minimum, "20", "no formula says that less would do");
    assert!(v.causes.iter().all(|cause| cause.predicted.users.is_none()), "nothing was foretold");
    let changed: Vec<usize> = run.asked.iter().map(|trial| trial.changes.len()).collect();
    assert!(changed.iter().all(|count| *count <= 1), "one at a time: {changed:?}");
}

/// A proposal may fail in the proof by chance (the machine was busy), far below where its setting was met before: no sign of it was seen.
#[test]
fn a_proposal_that_fails_is_laid_to_nothing_that_left_no_sign_in_that_trial() {
    let mut world = world(60, None, |_, second| second);
    let usual = world.behaviour;
    world.behaviour = Box::new(move |m| match m.purpose {
        Purpose::Proposal if m.level > 20.0 => Seen::closed(m.level, 0.7),
        _ => usual(m),
    });
    let v = verdict(&world.run());
    // It takes longer than as it was: more than that it is not enough.
    assert_eq!(v.decision(), Decision::Carried { pairs: Pairing::Worse });
    assert_eq!(v.next, None, "nothing was seen of it");
    let rungs = &v.ladder.as_ref().unwrap().rungs;
    let Some(Rung::Measured(last)) = rungs.last() else { panic!("{rungs:?}") };
    assert_eq!((&last.limit, last.confidence), (&None, None), "the failure is told, and no limit for it");
    assert!(last.met.level.is_some_and(|level| level < 40.0), "{last:?}");
}

#[test]
fn what_has_moved_the_break_is_raised_in_proportion() {
    let v = verdict(&world(300, None, |_, second| second).run());
    let values: Vec<&str> =
        v.causes.iter().filter_map(|c| Some(c.counterfactual.as_ref()?.change.to.as_str())).collect();
    assert_eq!(named(&v).1, ["proxy.second", "proxy.second"]);
    assert_eq!(values[..2], ["14", "20"], "first in vain, second doubled");
    let last: f64 = v.proposal[0].change.to.parse().unwrap();
    assert!((70.0..=90.0).contains(&last), "20 broke between 80 and 100 of 300 users: {last}");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

#[test]
fn nothing_is_named_where_no_parameter_moves_the_break() {
    let v = verdict(&world(60, None, |_, _| 10.0).run());
    assert_eq!(named(&v), (vec!["proxy.first", "proxy.second"], vec![]));
    assert!(v.proposal.is_empty() && v.causes.iter().all(|cause| cause.confidence == Confidence::Refuted));
    assert_eq!(v.must_change(), Answer::CannotTell);
}

#[test]
fn what_others_show_is_told_after_every_parameter_was_tried_in_vain() {
    let mut world = world(60, None, |_, _| 10.0);
    let slow = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let mut seen = slow(m);
        seen.gauges.push(("proxy.worker_cpu_max", 0.99));
        seen
    });
    let v = verdict(&world.run());
    assert_eq!(named(&v).0, ["proxy.first", "proxy.second"]);
    let last = v.causes.last().unwrap();
    assert_eq!((last.limit.id.as_str(), last.confidence), ("proxy.cores", Confidence::Likely));
}

#[test]
fn a_break_that_moves_a_little_is_the_same_break() {
    // The first setting gives a sixth more.
    let v = verdict(&world(60, None, |first, second| if first > 7.0 { second * 1.17 } else { second }).run());
    assert_eq!(named(&v), (vec!["proxy.first"], vec!["proxy.second"]));
}

#[test]
fn no_value_goes_beyond_its_range() {
    let v = verdict(&world(200, Some(15.0), |_, second| second).run());
    assert_eq!(named(&v).1, ["proxy.second"]);
    assert_eq!(v.proposal[0].change.to, "15");
    assert!(
        v.causes.iter().all(|cause| cause.confidence != Confidence::Possible),
        "what is at its end is not named again"
    );
}

#[test]
fn each_other_word_is_tried() {
    let mut world = world(60, None, |_, second| second);
    world.settings.insert("mode".into(), 1.0);
    world.limits =
        Box::new(|s| if s["mode"] == 0.0 { Vec::new() } else { vec![word("mode", "fast"), word("mode", "wild")] });
    world.behaviour = Box::new(|m| {
        let workers = if m.value("mode") == 0.0 { 100.0 } else { 10.0 };
        Seen::closed(m.level, SERVICE.max(m.level * SERVICE / workers))
    });
    let v = verdict(&world.run());
    assert_eq!((named(&v).1, v.proposal[0].change.to.as_str()), (vec!["proxy.mode=fast"], "fast"));
}

#[test]
fn a_healthy_server_is_left_alone() {
    let run = world(40, None, |_, second| second).run();
    assert_eq!((run.order().as_str(), verdict(&run).outcome()), ("X", Outcome::Holds));
}

#[test]
fn a_further_step_that_holds_what_is_asked_for_is_no_chance() {
    // 14 break at 70 users, 28 at 140, and of what is above 28 only a part serves: 36 break at 168 of 150 asked for.
    let mut world = world(150, None, |_, second| second.min(28.0) + (second - 28.0).max(0.0) * 0.7);
    world.settings.insert("second".into(), 14.0);
    let v = verdict(&world.run());
    assert!(named(&v).0.iter().all(|id| *id == "proxy.first"), "tried before each, in vain: {:?}", named(&v).0);
    assert_eq!(named(&v).1, ["proxy.second", "proxy.second"]);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    let mut little = world;
    little.behaviour = Box::new(|m| {
        let second = m.value("second");
        let workers = second.min(28.0) + (second - 28.0).max(0.0) * 0.1;
        Seen::closed(m.level, SERVICE.max(m.level * SERVICE / workers))
    });
    let v = verdict(&little.run());
    assert!(named(&v).0.contains(&"proxy.second"), "144 are not what is asked for, and as many may be had by chance");
}

#[test]
fn a_value_that_the_server_refuses_is_told_as_what_ends_the_search() {
    let world = world(150, None, |_, second| second);
    let mut run = world.begin();
    while let Next::Trial(what) = tuning::next(&run.record) {
        let change = what.changes.last().cloned();
        match change.filter(|c| c.setting == "second" && c.to.parse::<f64>().unwrap() > 22.0) {
            Some(change) => {
                let (setting, value, said) = (change.setting, change.to, "too many threads".to_owned());
                let one = NotStarted { setting, value, said, purpose: Purpose::Counterfactual, listens: false };
                run.record.push(Event { at_us: 0, trial: None, what: What::NotStarted(one) });
            }
            None => world.trial(&mut run, &what),
        }
    }
    let v = verdict(&run);
    let refused: Vec<_> = v
        .caveats
        .iter()
        .filter_map(|c| match c {
            Caveat::DoesNotStart { setting, value, most, said } => {
                Some((setting.as_str(), *value, *most, said.as_str()))
            }
            _ => None,
        })
        .collect();
    let [("second", value, most, "too many threads")] = refused[..] else { panic!("{:?}", v.caveats) };
    assert!((20.0..=22.0).contains(&most) && value > most && value <= 40.0, "{value} {most}");
    assert!(v.proposal.iter().all(|p| p.change.to.parse::<f64>().unwrap() <= most), "{:?}", v.proposal);
}

/// The same in which the server and the generator use so many cores in the first trial, and other programs most of the machine in every other.
fn crowded(world: World, own: f64) -> World {
    let World { plan, settings, limits, behaviour } = world;
    let limits = move |s: &_| {
        let mut all: Vec<Limit> = limits(s);
        let whole = vec![reached("kernel.cpu", 1.9, Strength::Consistent)];
        let whole = Limit { signatures: whole, ..cpu(2.0, Strength::Consistent, None) };
        all.push(Limit { id: "machine.cpu".into(), subject: "machine".into(), ..whole });
        all
    };
    let behaviour = move |m: &Moment<'_>| {
        let mut seen = behaviour(m);
        let [all, servers] = if m.trial > 1 { [2.0, 0.05] } else { [own, own - 0.1] };
        seen.gauges.extend([("kernel.cpu", all), ("kernel.genkai_cpu", 0.1), ("machine.servers_cpu", servers)]);
        seen
    };
    World { plan, settings, limits: Box::new(limits), behaviour: Box::new(behaviour) }
}

#[test]
fn a_test_that_other_programs_crowd_leaves_the_other_parameters_to_be_tried() {
    let v = verdict(&crowded(world(60, None, |_, second| second), 0.5).run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    assert_eq!(named(&v), (vec![], vec!["proxy.second"]), "of the first, which did not move it, nothing is said");
    let others: Vec<&str> = v.causes[0].others.iter().map(|one| one.limit.as_str()).collect();
    assert!(others.contains(&"proxy.cores") && !others.contains(&"proxy.first"), "nor why it is not: {others:?}");
    // Where none moves it, what kept it there is not known, also where the processor had been full before.
    for own in [0.5, 2.0] {
        let v = verdict(&crowded(world(60, None, |_, _| 10.0), own).run());
        assert_eq!(answer(&v), (Outcome::Invalid, Answer::CannotTell, Because::OtherPrograms), "{own}");
        assert_eq!((named(&v), v.trials.len()), ((vec![], vec![]), 3), "each was tried");
    }
}

/// 16 MB for each of `slots`, which serve one user each.
fn dear(left: f64) -> World {
    taking(left, 16e6, 0.0)
}

/// So much for each of `slots`, and for each second of the load.
fn taking(left: f64, each: f64, leaves: f64) -> World {
    World {
        plan: plan(users(40, 8.0), "errors < 0.1%"),
        settings: settings(&[("slots", 4.0)]),
        limits: Box::new(|s| vec![tried("slots", s["slots"], None)]),
        behaviour: Box::new(move |m| {
            let slots = m.value("slots");
            let mut seen = Seen::closed(m.level, SERVICE);
            if m.level > slots {
                seen.errors = vec![(ErrorKind::Status503, seen.ok * 0.5)];
                seen.ok *= 0.5;
            }
            let taken = 2e6 + each * m.level.min(slots) + leaves * m.t;
            seen.gauges.extend([("proxy.pss", taken), ("proxy.memory_available", (left - taken).max(1e6))]);
            seen
        }),
    }
}

#[test]
fn a_value_that_the_memory_does_not_hold_by_what_was_measured_is_not_tried() {
    let v = verdict(&dear(300e6).run());
    // Of 170 MB left with 8 of them, 0.8 hold 8 more; 18 are all that there is memory for.
    let tried: Vec<&str> = v.trials.iter().flat_map(|t| &t.changes).map(|change| change.to.as_str()).collect();
    assert!(tried.contains(&"8") && tried.contains(&"16"), "{tried:?}");
    assert!(tried.iter().all(|to| to.parse::<u32>().unwrap() <= 18), "{tried:?}");
    let bound = v.caveats.iter().any(|c| matches!(c, Caveat::MemoryBound { needed, .. } if *needed > 30.0));
    assert!(bound, "{:?}", v.caveats);
    let free = verdict(&dear(1e10).run());
    assert_eq!(answer(&free), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

#[test]
fn where_the_memory_holds_no_further_value_that_is_said() {
    // 15 MB are left with 8 of them.
    let v = verdict(&dear(145e6).run());
    let bound = v.caveats.iter().find_map(|c| match c {
        Caveat::MemoryBound { setting, value, needed, bytes, left_bytes, .. } if setting == "slots" => {
            Some((*value, *needed > 8.0, *bytes > *left_bytes))
        }
        _ => None,
    });
    assert_eq!(bound, Some((8.0, true, true)), "{:?}", v.caveats);
    assert_eq!((v.proposal[0].change.to.as_str(), v.because()), ("8", Because::ProvedButNextLimit));
}

#[test]
fn what_each_takes_is_not_told_where_memory_grows_with_the_requests() {
    // 20 MB a second, of 90: what was taken with 8 of them is what half a second left.
    let mut world = World { plan: plan(users(12, 8.0), "errors < 0.1%"), ..taking(90e6, 0.0, 20e6) };
    world.plan.procedure.sustained = Span::from_secs(3);
    let v = verdict(&world.run());
    assert!(!v.caveats.iter().any(|c| matches!(c, Caveat::MemoryBound { .. })), "{:?}", v.caveats);
}
