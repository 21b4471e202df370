//! Failures: whose they are, and when few become many.

use genkai_analysis::tuning::TrialPlan;
use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Limit, RemedyUnit, Sign, Signature, Strength};
use genkai_model::load::Protocol;
use genkai_model::websocket::WebSocket;

use crate::world::parts::*;
use crate::world::{Moment, Seen, World};
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

/// Half of the answers were good, whatever the directives: that one of two requests is answered names none of them.
#[test]
fn where_some_requests_are_answered_one_request_does_not_tell_of_a_directive() {
    let fails = |part: f64| {
        let world = World {
            plan: plan(users(20, 10.0), "errors < 0.1%"),
            settings: settings(&[]),
            limits: Box::new(|_| vec![descriptors(5000.0)]),
            behaviour: Box::new(move |m| failing(m.level, &[(ErrorKind::Status500, part)])),
        };
        genkai_analysis::bisection::fails_always(&world.run().record)
    };
    assert_eq!([fails(0.5), fails(1.0)], [false, true]);
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

/// The two of a pair have the same arrivals, pauses and choices; another pair has others, or it would be the same observation, made again.
#[test]
fn each_pair_of_a_proof_draws_anew_what_is_random() {
    let run = leaves_alone(0.002).run();
    let of_pairs = |what: &&TrialPlan| matches!(what.purpose, Purpose::Baseline | Purpose::Proposal);
    let drawn: Vec<u32> = run.asked.iter().filter(of_pairs).map(|what| what.draw).collect();
    assert!(drawn.len() >= 6, "{drawn:?}");
    let expected: Vec<u32> = (1..=drawn.len() as u32 / 2).flat_map(|pair| [pair, pair]).collect();
    assert_eq!(drawn, expected);
    assert!(run.asked.iter().filter(|what| !of_pairs(what)).all(|what| what.draw == 0));
}

#[test]
fn a_break_by_other_failures_is_another_break_however_early_it_comes() {
    let v = verdict(&leaves_alone(0.02).run());
    assert_eq!((v.causes[0].limit.id.as_str(), v.causes[0].confidence), ("proxy.max_fails", Confidence::Proved));
    let moved = v.causes[0].counterfactual.as_ref().map(|test| test.moved);
    assert!(matches!(moved, Some(Moved::Elsewhere | Moved::AsPredicted)), "{moved:?}");
    assert_eq!(v.because(), Because::ProvedButNextLimit);
}

#[test]
fn where_many_still_fail_without_it_what_keeps_requests_away_is_no_cause() {
    let v = verdict(&leaves_alone(0.2).run());
    let fails = v.causes.iter().find(|cause| cause.limit.id == "proxy.max_fails");
    assert!(fails.is_none_or(|cause| cause.confidence != Confidence::Proved), "{:?}", v.causes);
    assert!(v.proposal.is_empty(), "{:?}", v.proposal);
}

/// Two servers of which one refuses, so that `max_fails` leaves it alone; the other takes 12 at once. While the refusing one is asked, clients get
/// the same answer for another reason, from `from` users on.
fn one_refuses(from: f64) -> World {
    World {
        plan: plan(users(40, 10.0), "errors < 0.1%"),
        settings: settings(&[("max_fails", 1.0)]),
        limits: Box::new(|set| {
            let alone = vec![said("none_live", Strength::Decisive)];
            let mut fails = limit("max_fails", set["max_fails"], Law::Unknown, alone, &[ErrorKind::Status502], false);
            fails.remedy.as_mut().unwrap().unit = RemedyUnit::Zero;
            let refuses = vec![said("refused", Strength::Decisive)];
            vec![fails, behind(limit("refuses", 0.0, Law::Unknown, refuses, &[ErrorKind::Status502], false))]
        }),
        behaviour: Box::new(move |m| {
            let held = m.value("max_fails") > 0.0;
            let most = if held { 12.0 } else { from };
            let mut seen = failing(m.level, &[(ErrorKind::Status502, if m.level > most { 0.5 } else { 0.0 })]);
            let sign = if held { "none_live" } else { "refused" };
            seen.logs = if m.level > most { vec![(sign, 50)] } else { Vec::new() };
            seen
        }),
    }
}

#[test]
fn what_keeps_requests_from_a_server_is_not_confirmed_by_what_is_seen_of_that_server_without_it() {
    for from in [12.0, 2.0] {
        let v = verdict(&one_refuses(from).run());
        let fails = v.causes.iter().find(|cause| cause.limit.id == "proxy.max_fails");
        assert!(fails.is_none_or(|cause| cause.confidence != Confidence::Proved), "{from}: {:?}", v.causes);
        assert!(v.proposal.is_empty(), "{from}: {:?}", v.proposal);
        assert_ne!(answer(&v).1, Answer::Yes);
    }
}

/// Answers that become slow from 20 users on, while all cores of the machine are in use: by servers, and by what is behind them, so many.
fn full_machine(servers: f64, behind: f64, more: impl Fn(f64) -> Vec<(&'static str, u64)> + 'static) -> World {
    World {
        plan: plan(users(60, 20.0), "p99 < 40ms"),
        settings: settings(&[("slots", 30.0)]),
        limits: Box::new(|set| {
            let whole = vec![reached("kernel.cpu", 1.9, Strength::Consistent)];
            let whole = Limit { signatures: whole, ..cpu(2.0, Strength::Consistent, None) };
            let wants = vec![reached("proxy.worker_demand_max", 0.98, Strength::Consistent)];
            let worker = Limit { signatures: wants, ..cpu(1.0, Strength::Consistent, None) };
            vec![
                Limit { id: "machine.cpu".into(), subject: "machine".into(), ..whole },
                Limit { id: "proxy.worker".into(), ..worker },
                limit("slots", set["slots"], Law::Unknown, vec![said("full", Strength::Decisive)], &[], true),
                by_itself(),
            ]
        }),
        behaviour: Box::new(move |m| {
            let mut seen = Seen::closed(m.level, if m.level > 20.0 { 0.05 } else { 0.02 });
            seen.gauges = vec![
                ("kernel.cpu", 2.0),
                ("kernel.genkai_cpu", 0.1),
                ("machine.servers_cpu", servers),
                ("backend.processor", behind),
                ("proxy.worker_demand_max", 1.2),
            ];
            seen.logs = more(m.level);
            seen
        }),
    }
}

#[test]
fn processor_time_that_other_programs_use_is_no_cause_and_nothing_is_said_of_the_server() {
    let v = verdict(&full_machine(0.05, 0.0, |_| Vec::new()).run());
    assert_eq!(answer(&v), (Outcome::Invalid, Answer::CannotTell, Because::OtherPrograms));
    assert_eq!((v.causes.len(), v.trials.len()), (0, 1), "the backend would lack the same time, asked directly");
    assert_eq!(v.ladder, None, "where it broke says nothing of it");
    let [Caveat::OtherPrograms { trial: 1, busy, of: 2.0 }] = v.caveats[..] else { panic!("{:?}", v.caveats) };
    assert!((busy - 1.85).abs() < 1e-9, "{busy}");
}

#[test]
fn servers_what_stands_behind_them_and_genkai_are_no_other_programs() {
    for (servers, behind) in [(1.7, 0.0), (0.05, 1.7), (0.6, 0.6)] {
        let v = verdict(&full_machine(servers, behind, |_| Vec::new()).run());
        assert_eq!((v.outcome(), v.caveats.iter().any(is_of_others)), (Outcome::Fails, false), "{servers} {behind}");
    }
}

#[test]
fn evidence_of_the_servers_own_comes_before_the_processor_time_of_others() {
    let full = |level: f64| if level > 20.0 { vec![("full", 3)] } else { Vec::new() };
    let record = full_machine(0.05, 0.0, full).run().record;
    assert_eq!(record.trials[1].started.limit.as_deref(), Some("proxy.slots"), "it is put to the test");
}

#[test]
fn a_test_that_other_programs_crowd_refutes_nothing() {
    let full = |level: f64| if level > 20.0 { vec![("full", 3)] } else { Vec::new() };
    let World { plan, settings, limits, behaviour } = full_machine(0.05, 0.0, full);
    let behaviour = move |m: &Moment<'_>| {
        let mut seen = behaviour(m);
        // Only once the setting was changed.
        seen.gauges.retain(|(name, _)| m.trial > 1 || !["kernel.cpu", "proxy.worker_demand_max"].contains(name));
        seen
    };
    let v = verdict(&World { plan, settings, limits, behaviour: Box::new(behaviour) }.run());
    assert_eq!((v.outcome(), v.because(), v.ladder), (Outcome::Invalid, Because::OtherPrograms, None));
    assert!(matches!(v.caveats[..], [Caveat::OtherPrograms { trial: 2, .. }]), "{:?}", v.caveats);
    assert!(v.causes.iter().all(|cause| cause.confidence != Confidence::Refuted), "{:?}", v.causes);
}

fn is_of_others(caveat: &Caveat) -> bool {
    matches!(caveat, Caveat::OtherPrograms { .. })
}

#[test]
fn a_backend_that_is_named_is_not_told_as_what_bore_more_where_nobody_timed_it() {
    let slow = |_: &_| {
        let timed_out = vec![said("timed_out", Strength::Consistent)];
        vec![behind(limit("slow", 0.3, Law::Unknown, timed_out, &[ErrorKind::Status504], true)), by_itself()]
    };
    let world = World {
        plan: plan(users(40, 10.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(slow),
        behaviour: Box::new(|m| {
            let ends = m.purpose != Purpose::Direct && m.level > 20.0;
            let mut seen = failing(m.level, &[(ErrorKind::Status504, if ends { 0.5 } else { 0.0 })]);
            seen.logs = if ends { vec![("timed_out", 5)] } else { Vec::new() };
            seen
        }),
    };
    let v = verdict(&world.run());
    assert_eq!((v.because(), v.causes[0].limit.id.as_str()), (Because::BackendIsLimit, "backend.slow"));
    assert!(v.trials.iter().any(|t| t.purpose == Purpose::Direct && t.broke.is_none()), "it was asked, and held");
    assert!(!v.caveats.iter().any(|c| matches!(c, Caveat::BackendBore { .. })), "{:?}", v.caveats);
}

#[test]
fn what_a_part_takes_alone_is_no_prediction_of_where_a_load_that_held_breaks() {
    let world = World {
        plan: plan(users(40, 10.0), "p95 < 300ms"),
        settings: settings(&[]),
        // Half a second alone, and nobody waits for it: a cache stands before it.
        limits: Box::new(|_| {
            let law = Law::Delay { time: "500ms".parse().unwrap() };
            vec![behind(limit("alone", 0.5, law, Vec::new(), &[], true))]
        }),
        behaviour: Box::new(|m| Seen::closed(m.level, 0.02)),
    };
    let v = verdict(&world.run());
    assert_eq!((v.outcome(), v.caveats.len()), (Outcome::Holds, 0), "{:?}", v.caveats);
}

#[test]
fn a_load_of_which_no_request_was_answered_has_not_held() {
    let world = World {
        plan: plan(users(20, 10.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(|_| vec![slots(4096.0)]),
        behaviour: Box::new(|m| Seen { ok: 0.0, waiting: Some((0.1, 0)), ..Seen::closed(m.level, 10.0) }),
    };
    let v = verdict(&world.run());
    assert_eq!((v.outcome(), v.must_change(), v.trials[0].finished), (Outcome::Invalid, Answer::CannotTell, 0));
    assert_eq!((v.causes.len(), v.because()), (0, Because::Unanswered));
}

/// A rate that a server passes `passes` a second of: how many wait, and for how long.
fn queued(m: &Moment<'_>, passes: f64) -> Seen {
    // The rate rises by 6 a second to 60.
    let came = |t: f64| if t < 10.0 { 3.0 * t * t } else { 300.0 + 60.0 * (t - 10.0) };
    let from = passes / 6.0;
    let waiting = if m.t < from || passes >= 60.0 { 0.0 } else { came(m.t) - came(from) - passes * (m.t - from) };
    let takes = 0.1 + waiting / passes;
    Seen {
        ok: m.level.min(passes),
        latency: takes,
        service: takes,
        in_flight: waiting + m.level * 0.1,
        sent: m.level / m.level.min(passes),
        ..Seen::closed(1.0, 0.1)
    }
}

#[test]
fn a_rate_at_which_ever_more_wait_is_not_held_whatever_its_conditions_say() {
    let held = |passes: f64| {
        let world = World {
            plan: plan(rate(60.0, 10, 1000), "errors < 0.1%"),
            settings: settings(&[]),
            limits: Box::new(|_| vec![slots(4096.0)]),
            behaviour: Box::new(move |m| queued(m, passes)),
        };
        verdict(&world.run())
    };
    assert_eq!(answer(&held(30.0)), (Outcome::Invalid, Answer::CannotTell, Because::Outpaced));
    // Messages of WebSockets that stay open, too.
    let mut messages = World {
        plan: plan(rate(60.0, 10, 1000), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(|_| vec![slots(4096.0)]),
        behaviour: Box::new(move |m| queued(m, 30.0)),
    };
    messages.plan.load.protocol = Protocol::WebSocket(WebSocket::default());
    assert_eq!(answer(&verdict(&messages.run())), (Outcome::Invalid, Answer::CannotTell, Because::Outpaced));
    // Fewer than a tenth more may be chance.
    for passes in [58.0, 60.0, 90.0] {
        let v = held(passes);
        assert_eq!(answer(&v), (Outcome::Holds, Answer::No, Because::ObjectiveHolds), "{passes}");
    }
}

/// No condition on errors is violated by a proposal that passes on six of ten, and whoever waits longer is told at the end of the load.
#[test]
fn a_proposal_with_which_ever_more_wait_does_not_prove_that_it_is_enough() {
    let told = |passes: f64| {
        let world = World {
            plan: plan(rate(300.0, 10, 1000), "errors < 0.1%"),
            settings: settings(&[("slots", 512.0)]),
            limits: Box::new(|s| vec![slots(s["slots"])]),
            behaviour: Box::new(move |m| {
                let behind = if m.purpose == Purpose::Proposal { (1.0 - passes) * m.level * m.t } else { 0.0 };
                let (ok, takes) = (m.level * passes, 1.0 + behind / (m.level * passes).max(1.0));
                let seen = Seen { ok, in_flight: m.level + behind, sent: 1.0 / passes, ..Seen::closed(m.level, takes) };
                full_slots(m, if m.purpose == Purpose::Proposal { seen } else { Seen::closed(m.level, 1.0) })
            }),
        };
        verdict(&world.run())
    };
    let outpaced = told(0.6);
    assert_eq!(answer(&outpaced), (Outcome::Fails, Answer::CannotTell, Because::Outpaced));
    assert_eq!(outpaced.decision(), Decision::Carried { pairs: Pairing::Outpaced { outpaced: 3, of: 3 } });
    assert_eq!(outpaced.causes[0].confidence, Confidence::Proved, "what the test saw of it stands");
    assert_eq!(answer(&told(1.0)), (Outcome::Fails, Answer::Yes, Because::ProvedAndHolds));
}

#[test]
fn a_rate_of_which_answers_merely_take_long_is_held() {
    for takes in [1.0, 2.0, 4.0] {
        let world = World {
            plan: plan(rate(60.0, 2, 1000), "errors < 0.1%"),
            settings: settings(&[]),
            limits: Box::new(|_| vec![slots(4096.0)]),
            behaviour: Box::new(move |m| {
                let came = |t: f64| if t < 2.0 { 15.0 * t.max(0.0) * t.max(0.0) } else { 30.0 + 60.0 * (t - 2.0) };
                let answered = came(m.t - takes);
                let ok = (answered - came(m.t - takes - 0.2)) / 0.2;
                let sent = if ok > 0.0 { m.level / ok } else { 1.0 };
                let waits = came(m.t) - answered;
                Seen { ok, latency: takes, service: takes, in_flight: waits, sent, ..Seen::closed(1.0, 0.1) }
            }),
        };
        let v = verdict(&world.run());
        assert_ne!(v.because(), Because::Outpaced, "{takes}");
    }
}

/// Servers that answer with errors from 20 users on and fail their check half a second later, after which nobody is asked; or a check that fails
/// first, so that those who are left answer with errors.
fn checked(answers_first: bool) -> World {
    World {
        plan: plan(users(60, 20.0), "errors < 0.1%"),
        settings: settings(&[]),
        limits: Box::new(|_| {
            let failed = |grew: bool| {
                let sign = Sign::LoggedGrown {
                    name: "nobody".into(),
                    since: "down".into(),
                    metric: "proxy.failed_answers_total".into(),
                    grew,
                };
                vec![Signature { sign, strength: Strength::Decisive }]
            };
            let one = |id: &str, grew: bool| {
                behind(limit(id, 0.0, Law::Unknown, failed(grew), &[ErrorKind::Status503], false))
            };
            vec![one("check", false), one("answers", true)]
        }),
        behaviour: Box::new(move |m| {
            let mut seen = failing(m.level, &[(ErrorKind::Status503, if m.level > 20.0 { 0.6 } else { 0.0 })]);
            let (first, second) = (m.level > 20.0, m.level > 30.0);
            let (answers, down) = if answers_first { (first, second) } else { (second, first) };
            seen.growth = vec![("proxy.failed_answers_total", if answers { 20.0 } else { 0.0 })];
            seen.logs.extend(down.then_some(("down", 1)));
            seen.logs.extend(second.then_some(("nobody", 30)));
            seen
        }),
    }
}

#[test]
fn a_check_that_fails_after_its_servers_did_is_not_the_cause() {
    for (answers_first, cause) in [(true, "backend.answers"), (false, "backend.check")] {
        let v = verdict(&checked(answers_first).run());
        let named: Vec<&str> = v.causes.iter().map(|cause| cause.limit.id.as_str()).collect();
        assert_eq!(named, [cause]);
        let refused = &v.causes[0].others;
        let other = refused.iter().find(|one| one.limit != cause).unwrap();
        assert!(other.against.contains(&Against::NoSign), "{other:?}");
    }
}
