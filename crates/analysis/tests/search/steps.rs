//! The steps of the search and of the proof.

use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::Call;
use genkai_model::finding::*;
use genkai_model::limit::{Law, Strength};

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};
use crate::*;

#[test]
fn healthy() {
    let run = slots_world(4096.0).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "X");
    assert_eq!(answer(&v), (Outcome::Holds, Answer::No, Because::ObjectiveHolds));
    assert!(v.causes.is_empty() && v.proposal.is_empty() && v.caveats.is_empty(), "{v:?}");
    assert_eq!(v.next.unwrap().users.unwrap().low, 1919.0, "what breaks first, one day");
}

#[test]
fn slots_are_found_lifted_and_proved() {
    let run = slots_world(512.0).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCABBAAB");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
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
    assert_eq!((proof.order.as_str(), proof.pairs), ("ABBAAB", 3));
    assert!(proof.certain && proof.proposal_holds && proof.baseline_fails);
    let decided = &proof.decided;
    assert_eq!((decided.call, decided.by, decided.chance), (Call::Better, Rule::Separation, Some(1.0 / 64.0)));
    assert!((decided.each - (0.05 - 1.0 / 64.0)).abs() < 1e-12, "what is left for the interval: {}", decided.each);
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

#[test]
fn a_proposal_that_fails_in_the_proof_is_said_to() {
    let world = failing_proposals();
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::ProvedButNextLimit));
    assert!(v.caveats.contains(&Caveat::ProposalFailedInProof));
}

/// Whoever waits for an answer until the load ends has not failed; that nobody failed is no objective that held.
#[test]
fn a_proposal_that_nobody_got_an_answer_from_is_not_said_to_hold() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.purpose == Purpose::Proposal {
                (seen.ok, seen.errors) = (0.0, Vec::new());
            }
            seen
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Unanswered));
    assert_eq!(v.decision(), Decision::Carried { pairs: Pairing::Unanswered { unanswered: 3, of: 3 } });
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
    assert_eq!(v.must_change(), Answer::CannotTell);
    assert!(v.caveats.contains(&Caveat::BaselineHeldInProof), "{:?}", v.caveats);
    assert_eq!(v.because(), Because::NotReproduced);
    assert_eq!(v.proof.unwrap().decided.call, Call::Same, "nothing failed on either side");
}

#[test]
fn a_prediction_that_did_not_come_true_is_a_caveat() {
    let world = World { behaviour: Box::new(|m| Seen::closed(m.level, 0.3)), ..slots_world(512.0) };
    let v = verdict(&world.run());
    assert_eq!(v.outcome(), Outcome::Holds);
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
    assert_eq!((v.because(), v.causes[0].confidence), (Because::NotTested, Confidence::Likely));
    assert!(matches!(&v.ladder.unwrap().rungs[..], [Rung::Measured(_)]), "nothing else lies below the load asked for");
}

/// Baselines fail by what is drawn for each.
fn uneven(of: fn(&Moment<'_>) -> f64) -> World {
    World {
        behaviour: Box::new(move |m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.purpose == Purpose::Baseline {
                seen.errors.iter_mut().for_each(|e| e.1 *= of(m));
            }
            seen
        }),
        ..slots_world(512.0)
    }
}

#[test]
fn three_pairs_are_enough_where_every_baseline_fails_and_no_proposal() {
    // The first baseline fails little, the others much: the interval does not exclude "no difference".
    let run = uneven(|m| if m.trial == 3 { 0.02 } else { 1.0 }).run();
    let v = verdict(&run);
    let proof = v.proof.as_ref().unwrap();
    let decided = &proof.decided;
    assert!(decided.effect.unwrap().interval.high > 0.0, "{decided:?}");
    assert_eq!((decided.call, decided.by), (Call::Better, Rule::Separation));
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

#[test]
fn more_pairs_until_it_is_decided() {
    // One baseline holds, so that only the interval can decide, which takes more pairs.
    let mut world = uneven(|m| if m.trial == 3 { 0.0 } else { 1.0 });
    world.plan.procedure.max_pairs = 8;
    let run = world.run();
    let proof = verdict(&run).proof.unwrap();
    let decided = &proof.decided;
    assert!((4..8).contains(&proof.pairs), "{proof:?}");
    assert_eq!((decided.call, decided.by, decided.chance), (Call::Better, Rule::Interval, None));
    assert_eq!(run.order(), format!("XC{}", &"ABBAABBAABBAABAB"[..2 * proof.pairs as usize]));
}

#[test]
fn what_it_would_take_is_said_where_it_cannot_be_told() {
    let mut world = uneven(|m| if m.trial == 3 { 0.0 } else { 1.0 });
    world.plan.procedure.max_pairs = 3;
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Undecided));
    let Some(Call::CannotTell { more: Some(more) }) = v.proof.map(|proof| proof.decided.call) else {
        panic!("it cannot be told from three pairs, and how many more is known")
    };
    assert!((1..30).contains(&more), "{more}");
    assert!(v.caveats.contains(&Caveat::FewPairs { pairs: 3, more: Some(more) }), "{:?}", v.caveats);
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
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::ChangeMadeNoDifference));
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
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::NoCauseFound));
    assert!(v.causes.is_empty(), "the right place alone proves nothing");
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
    assert_eq!(run.order(), "XCCABBAAB");
    let causes: Vec<_> = v.causes.iter().map(|c| (c.limit.id.as_str(), c.confidence)).collect();
    assert_eq!(causes, [("proxy.wrong", Confidence::Refuted), ("proxy.slots", Confidence::Proved)]);
    assert_eq!(v.causes[0].counterfactual.as_ref().unwrap().moved, Moved::Not);
    let changed: Vec<_> = run.asked[2].changes.iter().map(|c| c.setting.as_str()).collect();
    assert_eq!(changed, ["slots"], "the refuted change is taken back");
    assert_eq!(v.proposal.len(), 1);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
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
    assert_eq!(run.order(), "XCCABBAAB");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    let causes: Vec<_> = v.causes.iter().map(|c| (c.limit.id.as_str(), c.confidence)).collect();
    assert_eq!(causes, [("proxy.slots", Confidence::Proved), ("proxy.descriptors", Confidence::Proved)]);
    assert_eq!(v.causes[0].counterfactual.as_ref().unwrap().moved, Moved::AsPredicted);
    assert_eq!(run.asked[2].changes.len(), 2, "what was proved stays");
    let settings: Vec<_> = v.proposal.iter().map(|p| p.change.setting.as_str()).collect();
    assert_eq!(settings, ["slots", "descriptors"]);
    let ladder = v.ladder.unwrap();
    let ids: Vec<_> = ladder.rungs.iter().map(|rung| rung.limit().unwrap().limit.as_str()).collect();
    assert_eq!(ids, ["proxy.slots", "proxy.descriptors"]);
    let Rung::Proved(second) = &ladder.rungs[1] else { panic!("{:?}", ladder.rungs[1]) };
    let Cause { broke, trial, counterfactual: Some(test), .. } = &v.causes[1] else { panic!("it was tested") };
    assert_eq!((second.met.trial, second.met.level, second.met.rate), (*trial, Some(broke.level), broke.rate));
    assert_eq!((&second.change, second.tested), (&test.change, test.trial));
    let together = ladder.together.unwrap();
    assert_eq!((together.trial, together.pairs, together.failed), (3, v.proof.unwrap().pairs, 0));
}

#[test]
fn a_search_that_stops_tells_what_is_only_predicted_beyond() {
    let mut world = World {
        settings: settings(&[("slots", 256.0), ("descriptors", 400.0)]),
        limits: Box::new(|s| vec![slots(s["slots"]), descriptors(s["descriptors"])]),
        ..slots_world(256.0)
    };
    world.plan.procedure.max_limits = 0;
    let v = verdict(&world.run());
    let ladder = v.ladder.unwrap();
    let [Rung::Measured(met), Rung::Predicted(beyond)] = &ladder.rungs[..] else { panic!("{:?}", ladder.rungs) };
    assert_eq!(met.limit.as_ref().unwrap().limit, "proxy.slots");
    assert_eq!(met.met.level, Some(v.causes[0].broke.level));
    assert_eq!(beyond.limit.limit, "proxy.descriptors");
    let range = beyond.limit.predicted.unwrap();
    assert!(met.met.level.unwrap() < range.low && range.high < ladder.asked, "{range:?}");
    assert_eq!(ladder.together, None, "nothing was changed");
}

#[test]
fn a_proof_in_which_the_baseline_often_holds_is_none() {
    // The baseline fails in the first proof trial only: the slots happen to suffice later.
    let world = World {
        behaviour: Box::new(|m| {
            let lucky = m.purpose == Purpose::Baseline && m.trial > 3;
            let seen = Seen::closed(m.level, 0.3);
            if lucky { seen } else { full_slots(m, seen) }
        }),
        ..slots_world(512.0)
    };
    let run = world.run();
    let v = verdict(&run);
    let pairs = (run.asked.len() - 2) / 2;
    assert_eq!(pairs as u32, world.plan.procedure.max_pairs, "as many pairs as allowed: {}", run.order());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::Undecided));
    assert_eq!(v.proposal.len(), 1, "still shown as what is likely");
    assert!(v.caveats.contains(&Caveat::BaselineHeldInProof), "{:?}", v.caveats);
}

#[test]
fn a_limit_that_is_lifted_and_then_never_met_where_predicted_has_moved_elsewhere() {
    // Once lifted, the slots hold far more than their formula says.
    let world = World {
        behaviour: Box::new(|m| {
            let seen = Seen::closed(m.level, 0.3);
            if m.value("slots") > 512.0 { seen } else { full_slots(m, seen) }
        }),
        ..slots_world(512.0)
    };
    let v = verdict(&world.run());
    let test = v.causes[0].counterfactual.as_ref().unwrap();
    assert!(test.observed.is_none() && test.predicted.unwrap().high < test.held_to, "{test:?}");
    assert_eq!((test.moved, v.causes[0].confidence), (Moved::Elsewhere, Confidence::Proved));
}

#[test]
fn a_limit_that_was_at_work_while_the_objective_held_breaks_next() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = Seen::closed(m.level, 0.3);
            seen.gauges = vec![("proxy.worker_cpu_max", 0.99)];
            seen
        }),
        ..slots_world(4096.0)
    };
    let v = verdict(&world.run());
    assert_eq!(answer(&v), (Outcome::Holds, Answer::No, Because::ObjectiveHolds));
    assert_eq!(
        v.next.unwrap().limit,
        "proxy.cores",
        "the slots' formula puts them at 1,919 users, but nothing was seen of them"
    );
    assert!(
        matches!(&v.caveats[..], [Caveat::AtWorkButHeld { limit, .. }] if limit == "proxy.cores"),
        "{:?}",
        v.caveats
    );
}

#[test]
fn a_limit_at_the_load_itself_is_next_although_it_held() {
    // 312 slots hold 145 to 155 users; 150 are asked for.
    let world = World {
        plan: plan(users(150, 60.0), "errors < 0.1%"),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.3)),
        ..slots_world(312.0)
    };
    let v = verdict(&world.run());
    assert_eq!(v.because(), Because::ObjectiveHolds);
    assert_eq!(v.next.unwrap().limit, "proxy.slots");
}

/// A server whose room grows by whole children, and whose clients stay with the child that took them: with several, one may
/// be full although others have room. `unlucky` says in which trials the spread is uneven.
fn children(unlucky: fn(&Moment<'_>) -> bool) -> World {
    children_where(unlucky, false)
}

/// The same, where a child that is full leaves a sign in any break that merely `fits` (as many are busy as one takes), and clients see the same of both.
fn children_where(unlucky: fn(&Moment<'_>) -> bool, fits: bool) -> World {
    let kind = if fits { ErrorKind::Timeout } else { ErrorKind::EofReused };
    let law = |value, soft| Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools: 1.0, soft };
    World {
        plan: plan(users(40, 20.0), "errors < 0.1%"),
        settings: settings(&[("room", 25.0), ("child", 25.0)]),
        limits: Box::new(move |s| {
            let signs = vec![parts_said("full"), reached("proxy.busy", s["room"], Strength::Supports)];
            let mut all = vec![limit("room", s["room"], law(s["room"], 1.0), signs, &[ErrorKind::Timeout], true)];
            if s["room"] > s["child"] || fits {
                let mut signs = vec![parts_said("child full")];
                signs.extend(fits.then(|| reached("proxy.busy", s["child"], Strength::Consistent)));
                let law = law(s["room"], s["child"] / s["room"]);
                all.push(limit("child", s["child"], law, signs, &[kind], false));
            }
            all
        }),
        behaviour: Box::new(move |m| {
            let (room, child) = (m.value("room"), m.value("child"));
            let mut seen = Seen::closed(m.level.min(room), 0.5);
            seen.gauges = vec![("proxy.busy", m.level.min(room))];
            if m.level > room {
                seen.errors.push((ErrorKind::Timeout, 4.0 * (m.level - room)));
                (seen.from_level, seen.logs) = (room, vec![("full", 1)]);
            } else if m.level > child && room > child && unlucky(m) {
                seen.errors.push((kind, if fits { 4.0 * (m.level - child) } else { 5.0 }));
                (seen.from_level, seen.logs) = (child, vec![("child full", 1)]);
            }
            seen
        }),
    }
}

#[test]
fn another_limit_at_the_same_place_is_no_change_in_vain() {
    let run = children(|_| true).run();
    let v = verdict(&run);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds), "{}", run.order());
    let causes: Vec<_> = v.causes.iter().map(|c| (c.limit.id.as_str(), c.confidence)).collect();
    assert_eq!(causes, [("proxy.room", Confidence::Proved), ("proxy.child", Confidence::Proved)]);
}

#[test]
fn another_limit_that_says_so_now_is_no_change_in_vain_either() {
    let run = children_where(|_| true, true).run();
    let v = verdict(&run);
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds), "{}", run.order());
    let causes: Vec<_> = v.causes.iter().map(|c| (c.limit.id.as_str(), c.confidence)).collect();
    assert_eq!(causes, [("proxy.room", Confidence::Proved), ("proxy.child", Confidence::Proved)]);
}

#[test]
fn a_limit_that_only_the_proof_meets_is_lifted_too() {
    let run = children(|m| m.purpose == Purpose::Proposal).run();
    let v = verdict(&run);
    assert_eq!(run.order(), "XCABCABBAAB", "a new proof of what was found in the first");
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    let causes: Vec<_> = v.causes.iter().map(|c| c.limit.id.as_str()).collect();
    assert_eq!(causes, ["proxy.room", "proxy.child"]);
    let proof = v.proof.unwrap();
    assert_eq!((proof.order.as_str(), proof.proposal_holds), ("ABBAAB", true));
    assert!(!v.caveats.contains(&Caveat::ProposalFailedInProof), "{:?}", v.caveats);
}
