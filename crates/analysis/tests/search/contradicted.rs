//! Proofs that say something else than the search.

use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{Law, Limit, Strength};

use crate::world::parts::*;
use crate::world::{Seen, World};
use crate::*;

/// What a run says in which two smaller values were tried.
fn after_smaller(mut world: World) -> Verdict {
    world.plan.procedure.smaller = 2;
    let run = world.run();
    assert!(run.asked.iter().any(|trial| trial.purpose == Purpose::Smaller), "{}", run.order());
    verdict(&run)
}

/// Limited at every other start, whatever is set: the first trial fails, the change "carries", and the proof sees both on both sides.
#[test]
fn what_the_proof_contradicts_is_not_confirmed() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.trial % 2 == 1 && m.level > 240.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
                // What stops the proposals leaves no sign: nothing is tried beyond them.
                seen.logs.extend((m.trial == 1).then_some(("slots", 1)));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Contradicted));
    let Decision::Carried { pairs: Pairing::Contradicted { held, failed, of, helps: false } } = v.decision() else {
        panic!("{:?}", v.decision())
    };
    assert!(held > 0 && failed > 0 && held.max(failed) <= of, "{held}, {failed} of {of}");
    assert_eq!(v.causes[0].confidence, Confidence::Possible);
    assert!(v.smaller.is_empty(), "the value as it is held, too: {:?}", v.smaller);
    assert!(v.ladder.unwrap().rungs.iter().all(|rung| !matches!(rung, Rung::Proved(_))));
}

/// The same with a sign of the limit each time: what fails in the proof after the system as it is held there is no further limit to be lifted.
#[test]
fn a_proposal_that_fails_after_a_baseline_held_is_no_reason_to_change_more() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if [1, 4, 6, 8].contains(&m.trial) && m.level > 240.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
                seen.logs.push(("slots", 1));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let run = world.run();
    assert_eq!(run.order(), "XCABBAAB");
    let v = verdict(&run);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Contradicted));
    assert_eq!(v.causes[0].confidence, Confidence::Possible);
}

/// Limited at its first start only, with two smaller values tried: the proof holds on both sides, and no more pairs would decide.
#[test]
fn what_held_without_a_change_needs_no_smaller_value_and_no_more_pairs() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.trial == 1 && m.level > 240.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
                seen.logs.push(("slots", 1));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = after_smaller(world);
    assert_eq!(v.because(), Because::NotReproduced);
    assert!(v.smaller.is_empty(), "{:?}", v.smaller);
    assert!(!v.caveats.iter().any(|one| matches!(one, Caveat::FewPairs { .. })), "{:?}", v.caveats);
}

#[test]
fn where_a_proposal_failed_no_smaller_value_is_said_to_hold() {
    let v = after_smaller(failing_proposals());
    assert!(v.caveats.contains(&Caveat::ProposalFailedInProof) && v.smaller.is_empty(), "{:?}", v.smaller);
}

/// A cap on connections protects a server behind: without it the errors of before are gone, and those of that server come earlier.
#[test]
fn what_breaks_earlier_by_something_else_is_no_better() {
    let other = || {
        let signs = vec![said("other", Strength::Decisive)];
        limit("other", 1.0, Law::Unknown, signs, &[ErrorKind::Status503], false)
    };
    let world = World {
        limits: Box::new(move |s| vec![slots(s["slots"]), other()]),
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            if m.value("slots") <= 512.0 {
                return full_slots(m, seen);
            }
            if m.level > 120.0 {
                seen.errors.push((ErrorKind::Status503, (m.level - 120.0) * 5.0));
                seen.logs.push(("other", 3));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    assert_eq!((v.causes[0].limit.id.as_str(), v.causes[0].confidence), ("proxy.slots", Confidence::Refuted));
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::ChangeMadeNoDifference));
    assert!(v.proposal.is_empty(), "{:?}", v.proposal);
}

/// A limit of another server's, known by its log.
fn other() -> Limit {
    let signs = vec![said("other", Strength::Decisive)];
    behind(limit("other", 1.0, Law::Unknown, signs, &[ErrorKind::Status503], false))
}

/// What stops the load is met beyond it in the search and within it in the proof: the ladder and the next limit tell of the same break.
#[test]
fn what_was_met_beyond_the_load_and_then_within_it_is_told_once() {
    let world = World {
        limits: Box::new(move |s| vec![slots(s["slots"]), other()]),
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            let fits = if m.purpose == Purpose::Proposal { 250.0 } else { 310.0 };
            if m.value("slots") > 512.0 && m.level > fits {
                seen.errors.push((ErrorKind::Status503, (m.level - fits) * 5.0));
                seen.from_level = fits;
                seen.logs.push(("other", 3));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    let Decision::Carried { pairs: Pairing::NotEnough { .. } } = v.decision() else { panic!("{:?}", v.decision()) };
    let beyond = v.causes.last().unwrap();
    assert!(beyond.limit.id == "backend.other" && beyond.broke.level > 300.0, "{beyond:?}");
    let ladder = v.ladder.unwrap();
    let Some(Rung::Measured(rung)) = ladder.rungs.last() else { panic!("{:?}", ladder.rungs) };
    assert!(rung.limit.as_ref().unwrap().limit == "backend.other" && rung.met.level.unwrap() < 300.0, "{rung:?}");
    assert_eq!((v.next.unwrap().limit.as_str(), v.next_met), ("backend.other", Some(rung.met)));
}

/// Nor is a limit that was met beyond the load told as what stops a proposal, of which nothing tells what did.
#[test]
fn what_was_met_beyond_the_load_is_not_what_failed_within_it() {
    let world = World {
        limits: Box::new(move |s| vec![slots(s["slots"]), other()]),
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.value("slots") > 512.0 && m.level > 310.0 {
                seen.errors.push((ErrorKind::Status503, (m.level - 310.0) * 5.0));
                seen.from_level = 310.0;
                seen.logs.push(("other", 3));
            }
            if m.purpose == Purpose::Proposal && m.level > 250.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    let Decision::Carried { pairs: Pairing::NotEnough { .. } } = v.decision() else { panic!("{:?}", v.decision()) };
    assert_eq!(v.causes.last().unwrap().limit.id, "backend.other");
    assert_eq!((v.next, v.next_met), (None, None));
}
