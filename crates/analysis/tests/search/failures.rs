//! Failures: whose they are, and when few become many.

use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Limit, RemedyUnit, Strength};

use crate::world::parts::*;
use crate::world::{Seen, World};
use crate::*;

/// Users who are answered so often a second with these failures, in parts of all.
fn failing(level: f64, parts: &[(ErrorKind, f64)]) -> Seen {
    let mut seen = Seen::closed(level, 0.1);
    let all = seen.ok;
    seen.errors = parts.iter().filter(|(_, part)| *part > 0.0).map(|(kind, part)| (*kind, all * part)).collect();
    seen.ok = all * (1.0 - parts.iter().map(|(_, part)| part).sum::<f64>());
    seen
}

fn by_itself() -> Limit {
    Limit::named(BACKEND_BY_ITSELF, "backend", "load it bears by itself")
}

#[test]
fn a_backend_that_gives_the_same_failures_later_by_itself_is_not_cleared() {
    let world = |own: ErrorKind| World {
        plan: plan(users(100, 20.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(|_| vec![descriptors(5000.0), by_itself()]),
        behaviour: Box::new(move |m| {
            let (kind, from) = if m.purpose == Purpose::Direct { (own, 80.0) } else { (ErrorKind::Status503, 58.0) };
            failing(m.level, &[(kind, if m.level > from { 0.7 } else { 0.0 })])
        }),
    };
    let v = verdict(&world(ErrorKind::Status503).run());
    assert_eq!((v.because(), v.causes.len()), (Because::NoCauseFound, 0));
    assert!(matches!(v.caveats[..], [Caveat::BackendFailedToo { trial: 2, .. }]), "{:?}", v.caveats);
    let another = verdict(&world(ErrorKind::EofNew).run());
    assert!(
        matches!(another.caveats[..], [Caveat::BackendBore { trial: 2, longer: true, .. }]),
        "it fails otherwise: {:?}",
        another.caveats
    );
}

/// A proxy that asks no backend for a while after failures of one; the backend fails so many of all requests.
fn leaves_alone(fails: f64) -> World {
    World {
        plan: plan(users(40, 10.0), "errors < 0.5%"),
        settings: settings(&[("max_fails", 1.0)]),
        limits: Box::new(|set| {
            let alone = vec![said("none_live", Strength::Decisive)];
            let mut fails = limit("max_fails", set["max_fails"], Law::Unknown, alone, &[ErrorKind::Status502], false);
            fails.remedy.as_mut().unwrap().unit = RemedyUnit::Zero;
            let closes = vec![said("closed", Strength::Decisive)];
            vec![fails, behind(limit("refuses", 0.0, Law::Unknown, closes, &[ErrorKind::Status500], false))]
        }),
        behaviour: Box::new(move |m| {
            let held = m.value("max_fails") > 0.0;
            let mut seen = failing(
                m.level,
                &[(ErrorKind::Status502, if held { 0.5 } else { 0.0 }), (ErrorKind::Status500, fails)],
            );
            seen.logs = if held { vec![("none_live", 50)] } else { Vec::new() };
            seen.logs.extend((fails > 0.0).then_some(("closed", 1)));
            seen
        }),
    }
}

#[test]
fn a_setting_that_makes_few_failures_many_is_tested_before_the_backend_is_named() {
    let v = verdict(&leaves_alone(0.002).run());
    assert_eq!(answer(&v), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
    assert_eq!((v.proposal[0].change.setting.as_str(), v.proposal[0].change.to.as_str()), ("max_fails", "0"));
}

#[test]
fn a_break_by_other_failures_is_another_break_however_early_it_comes() {
    let v = verdict(&leaves_alone(0.02).run());
    assert_eq!((v.causes[0].limit.id.as_str(), v.causes[0].confidence), ("proxy.max_fails", Confidence::Proved));
    let moved = v.causes[0].counterfactual.as_ref().map(|test| test.moved);
    assert!(matches!(moved, Some(Moved::Elsewhere | Moved::AsPredicted)), "{moved:?}");
    assert_eq!(v.because(), Because::ProvedButNextLimit);
}
