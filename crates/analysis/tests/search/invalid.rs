//! Runs in which something else than a limit of the system was in the way.

use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;

use crate::world::parts::*;
use crate::world::{Seen, World};
use crate::*;

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
    assert_eq!(answer(&v), (Outcome::Invalid, Answer::CannotTell, Because::ClientIsLimit));
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
    assert_eq!(verdict(&world.run()).because(), Because::ProvedAndHolds);
}

#[test]
fn a_baseline_that_fails_because_its_client_was_late_proves_nothing() {
    let world = World {
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.purpose == Purpose::Baseline {
                (seen.cpu, seen.lateness) = (1.0, 0.5);
            }
            seen
        }),
        ..slots_world(512.0)
    };
    assert_eq!(answer(&verdict(&world.run())), (Outcome::Fails, Answer::CannotTell, Because::ClientIsLimit));
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
    assert_eq!(verdict(&give_out(340.0).run()).because(), Because::ProvedAndHolds);
    let early = verdict(&give_out(260.0).run());
    assert_eq!(answer(&early), (Outcome::Fails, Answer::CannotTell, Because::ClientIsLimit));
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
    assert_eq!(answer(&v), (Outcome::Fails, Answer::CannotTell, Because::ServerDied));
    assert!(v.caveats.contains(&Caveat::ServerDied { subject: "proxy".into(), trial: 1 }));
    assert!((v.trials[0].broke.as_ref().unwrap().at - 2.0).abs() < 0.3);
}
