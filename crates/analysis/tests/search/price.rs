//! What a change takes of memory, and what the memory does not hold.

use genkai_model::finding::*;
use genkai_model::limit::{Law, Sign, Signature, Strength};
use genkai_model::load::{Arrivals, Load};
use genkai_model::units::Span;

use crate::world::{Moment, Seen, World};
use crate::*;

/// Bytes of the server by itself, of a client, and of a worker process.
const OWN: f64 = 10_000_000.0;
const CLIENT: f64 = 100_000.0;

/// A server that takes 100 kB a client that it serves, on a machine that has `left` bytes for it and its like.
fn hungry(value: f64, left: f64) -> World {
    let behaviour = move |m: &Moment<'_>| {
        let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
        let served = m.level.min(((m.value("slots") - 2.0) / 2.0).floor());
        let pss = OWN + served * CLIENT;
        seen.gauges.extend([
            ("proxy.pss", pss),
            ("proxy.worker_processes", 0.0),
            ("proxy.descriptors", 10.0 + 2.0 * served),
            ("proxy.memory_available", OWN + left - pss),
        ]);
        seen
    };
    World { behaviour: Box::new(behaviour), ..slots_world(value) }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= b.abs() * 0.001
}

#[test]
fn a_proposal_has_a_price_that_the_test_of_it_confirms() {
    let v = verdict(&hungry(512.0, 1e9).run());
    let price = v.proposal[0].price.unwrap();
    // 240 came, of whom 255 fit.
    assert!(near(price.memory.client, CLIENT) && near(price.memory.taken, OWN + price.clients * CLIENT), "{price:?}");
    assert_eq!(price.full, 384.0, "771 slots");
    assert!(near(price.memory.more, (384.0 - price.clients) * CLIENT), "{price:?}");
    assert!(near(price.descriptors.more, (384.0 - price.clients) * 2.0), "{price:?}");
    assert_eq!((price.memory.group, price.memory.process, price.behind), (None, None, None));
    let tested = price.tested.unwrap();
    assert_eq!(tested.trial, 2);
    assert!(near(tested.predicted, tested.taken), "{tested:?}");
    assert!(!v.caveats.iter().any(|c| matches!(c, Caveat::MemoryBound { .. })), "{:?}", v.caveats);
}

#[test]
fn what_grew_with_the_requests_is_no_price() {
    let mut world = hungry(512.0, 1e9);
    let before = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let mut seen = before(m);
        // A leak, and nothing for a client.
        let left = OWN + 3e6 * m.t;
        seen.gauges.iter_mut().filter(|(name, _)| *name == "proxy.pss").for_each(|(_, value)| *value = left);
        seen
    });
    // All are there for a while, before the break is certain.
    world.plan.procedure.sustained = Span::from_secs(3);
    let proposed = verdict(&world.run()).proposal.remove(0);
    assert_eq!((proposed.price, proposed.descriptors), (None, None), "{proposed:?}");
}

#[test]
fn descriptors_have_a_price_where_memory_did_not_grow() {
    let mut world = hungry(512.0, 1e9);
    let before = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let mut seen = before(m);
        // A heap that was taken before anybody came.
        seen.gauges.iter_mut().filter(|(name, _)| *name == "proxy.pss").for_each(|(_, value)| *value = OWN);
        seen
    });
    let proposed = verdict(&world.run()).proposal.remove(0);
    let alone = proposed.descriptors.unwrap();
    assert_eq!((proposed.price, alone.full), (None, 384.0), "{proposed:?}");
    assert!(near(alone.held, 10.0 + 2.0 * alone.clients), "{alone:?}");
    assert!(near(alone.more, (384.0 - alone.clients) * 2.0), "{alone:?}");
    let whole = verdict(&hungry(512.0, 1e9).run());
    assert_eq!(whole.proposal[0].descriptors, None, "they are told with the memory");
}

#[test]
fn of_a_proposal_that_does_not_fit_the_largest_that_does_is_made() {
    // 771 slots take 384 clients; the memory is for 340 of them.
    let v = verdict(&hungry(512.0, 24e6 + 10e6 / 0.8).run());
    let to: f64 = v.proposal[0].change.to.parse().unwrap();
    assert!((640.0..=690.0).contains(&to), "{:?}", v.proposal);
    let bound = v.caveats.iter().find_map(|c| match c {
        Caveat::MemoryBound { setting, value, needed, bytes, left_bytes, group_bytes } => {
            assert_eq!((setting.as_str(), *value, *needed, *group_bytes), ("slots", to, 771.0, None));
            Some(bytes > left_bytes)
        }
        _ => None,
    });
    assert_eq!(bound, Some(true), "what is missing is said: {:?}", v.caveats);
}

#[test]
fn where_nothing_larger_fits_nothing_is_proposed_and_what_is_missing_is_said() {
    let v = verdict(&hungry(512.0, 24.01e6).run());
    assert!(v.proposal.is_empty(), "{:?}", v.proposal);
    assert_eq!(v.must_change(), Answer::CannotTell);
    let bound = v.caveats.iter().any(|c| matches!(c, Caveat::MemoryBound { needed, .. } if *needed == 771.0));
    assert!(bound, "{:?}", v.caveats);
}

#[test]
fn where_memory_was_not_measured_no_bound_is_invented() {
    let v = verdict(&slots_world(512.0).run());
    assert_eq!(v.proposal[0].price, None);
    assert_eq!(v.proposal[0].change.to, "771");
}

#[test]
fn connections_to_what_stands_behind_are_told_before_and_with_it_beside_what_is_known_there() {
    let mut world = hungry(512.0, 1e9);
    let before = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let mut seen = before(m);
        let served = m.level.min(((m.value("slots") - 2.0) / 2.0).floor());
        seen.gauges.push(("proxy.onward_connections", served * 2.0));
        seen
    });
    world.limits = Box::new(|s| {
        let pool = |value: f64| {
            let law = Law::Workers { workers: value, queue: None, service: None, wait: None };
            behind(limit(&format!("pool{value}"), value, law, vec![], &[], false))
        };
        vec![slots(s["slots"]), cpu(1.0, Strength::Supports, None), pool(900.0), pool(800.0)]
    });
    let v = verdict(&world.run());
    let onward = v.proposal[0].onward.as_ref().unwrap();
    assert_eq!((onward.subject.as_str(), onward.before.trial, onward.after.trial), ("proxy", 1, 2));
    assert!(onward.before.looks > 3 && onward.before.clients >= 255.0, "{onward:?}");
    // Two for each of the 255 that 512 slots serve, and of the 384 that the proposed 771 do.
    assert_eq!((onward.before.connections, onward.after.connections), (510.0, 768.0));
    let known: Vec<_> =
        onward.known.iter().map(|one| (one.subject.as_str(), one.value.as_str(), one.at_once)).collect();
    assert_eq!(known, [("backend", "800", 800.0)]);
    let unseen = verdict(&hungry(512.0, 1e9).run());
    assert_eq!(unseen.proposal[0].onward, None, "nobody looked");
}

/// Bytes of a process that serves nobody.
const PROCESS: f64 = 50_000.0;

/// The same with a process for each slot.
fn forking() -> World {
    let mut world = hungry(512.0, 1e9);
    let before = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let mut seen = before(m);
        let workers = m.value("slots");
        let pss = seen.gauges.iter_mut().find(|(name, _)| *name == "proxy.pss").unwrap();
        let own = PROCESS + (pss.1 - OWN) / workers;
        pss.1 += workers * PROCESS;
        seen.gauges.retain(|(name, _)| *name != "proxy.worker_processes");
        seen.gauges.extend([("proxy.worker_processes", workers), ("proxy.worker_private", own)]);
        seen
    });
    world.limits = Box::new(|s| {
        let mut slots = slots(s["slots"]);
        slots.remedy.as_mut().unwrap().processes = 1.0;
        vec![slots, cpu(1.0, Strength::Supports, None)]
    });
    world
}

#[test]
fn what_a_process_serves_when_it_is_first_looked_at_is_not_counted_twice() {
    let idle = verdict(&forking().run()).proposal[0].price.unwrap();
    assert!(near(idle.memory.process.unwrap(), PROCESS) && near(idle.memory.client, CLIENT), "{idle:?}");
    let mut run = forking().run();
    // On a busy machine the first look comes late: it sees some at work.
    let first = &mut run.record.trials[0];
    let began = first.ticks.iter().find(|tick| tick.connections >= 80).unwrap().to_us as i64;
    first.samples.retain(|(at, _)| *at > began);
    let late = verdict(&run).proposal[0].price.unwrap();
    assert!(near(late.memory.more, idle.memory.more), "{late:?} {idle:?}");
    assert!(near(late.memory.process.unwrap(), PROCESS) && near(late.memory.client, CLIENT), "{late:?}");
    assert!(!late.tested.unwrap().refuted, "{late:?}");
}

#[test]
fn a_look_that_may_have_ended_after_the_load_tells_nothing_of_its_clients() {
    let mut run = hungry(512.0, 1e9).run();
    // Begun within the load, read when its clients were gone.
    for trial in &mut run.record.trials {
        let (_, last) = trial.samples.last_mut().unwrap();
        last.metrics.insert("proxy.pss".into(), OWN);
        last.metrics.insert("proxy.descriptors".into(), 10.0);
    }
    let price = verdict(&run).proposal[0].price.unwrap();
    assert!(near(price.memory.client, CLIENT) && near(price.memory.taken, OWN + price.clients * CLIENT), "{price:?}");
    assert!(near(price.descriptors.held, 10.0 + 2.0 * price.clients), "{price:?}");
    let tested = price.tested.unwrap();
    assert!(near(tested.taken, OWN + tested.clients * CLIENT), "{tested:?}");
}

/// Who waits in a queue of the kernel takes nothing of the server: that a longer one lets more clients be says nothing of what they take.
#[test]
fn a_longer_queue_of_the_kernel_has_no_price() {
    let priced = |queues: bool| {
        let mut world = hungry(512.0, 1e9);
        let limits = world.limits;
        world.limits = Box::new(move |s| {
            let mut all = limits(s);
            all.iter_mut().filter_map(|limit| limit.remedy.as_mut()).for_each(|remedy| remedy.queues = queues);
            all
        });
        let proposed = verdict(&world.run()).proposal.remove(0);
        (proposed.price.is_some(), proposed.descriptors.is_some())
    };
    assert_eq!((priced(false), priced(true)), ((true, false), (false, false)));
}

/// Where each request is a connection, an instant between two of them shows descriptors of nobody.
#[test]
fn descriptors_are_the_most_that_were_seen_under_that_load() {
    let mut run = hungry(512.0, 1e9).run();
    for trial in &mut run.record.trials {
        let at = trial.samples.len() - 2;
        let (_, between) = &mut trial.samples[at];
        between.metrics.insert("proxy.descriptors".into(), 3.0);
    }
    let price = verdict(&run).proposal[0].price.unwrap();
    assert!(near(price.descriptors.held, 10.0 + 2.0 * price.clients), "{price:?}");
    assert!(near(price.descriptors.more, (384.0 - price.clients) * 2.0), "{price:?}");
}

/// A look is an instant, at which some clients have no request in flight. Near to what the law of the descriptors says it is that; far from it the law is not
/// what happens there.
#[test]
fn descriptors_of_a_client_are_those_of_their_law_where_that_is_nearly_what_was_seen() {
    let told = |each: f64| {
        let mut world = hungry(512.0, 1e9);
        let (limits, before) = (world.limits, world.behaviour);
        world.limits = Box::new(move |s| {
            let mut all = limits(s);
            let mut counted = descriptors(20_000.0);
            let sign = Sign::ReachedMetric {
                metric: "proxy.worker_fds_max".into(),
                of: "proxy.worker_fd_limit".into(),
                fraction: 0.98,
            };
            counted.signatures = vec![Signature { sign, strength: Strength::Supports }];
            all.push(counted);
            all
        });
        world.behaviour = Box::new(move |m| {
            let mut seen = before(m);
            let opened = |value: f64| 10.0 + (value - 10.0) * each / 2.0;
            seen.gauges.iter_mut().filter(|g| g.0 == "proxy.descriptors").for_each(|g| g.1 = opened(g.1));
            seen
        });
        let price = verdict(&world.run()).proposal[0].price.unwrap();
        price.descriptors.more / (price.full - price.clients)
    };
    assert!(near(told(1.87), 2.0) && near(told(1.4), 1.4), "{} {}", told(1.87), told(1.4));
}

#[test]
fn a_price_that_was_measured_elsewhere_is_refuted() {
    for (times, refuted) in [(1.0, false), (1.1, false), (1.3, true), (0.7, true)] {
        let mut run = hungry(512.0, 1e9).run();
        let tested = verdict(&run).proposal[0].price.unwrap().tested.unwrap().trial;
        for trial in run.record.trials.iter_mut().filter(|trial| trial.number == tested) {
            for (_, sample) in &mut trial.samples {
                sample.metrics.entry("proxy.pss".into()).and_modify(|pss| *pss *= times);
            }
        }
        let told = verdict(&run).proposal[0].price.unwrap().tested.unwrap();
        assert_eq!(told.refuted, refuted, "{times}: {told:?}");
    }
}

/// Users who think half as long again are not all in flight: what stands behind is asked for no more than the setting counts.
#[test]
fn what_stands_behind_a_limit_on_requests_in_flight_is_asked_for_no_more_than_that() {
    let arrivals = Arrivals::Users { count: 60, spawn_rate: 10.0, think: "300ms".parse().unwrap() };
    let mut world = World {
        plan: plan(Load { arrivals, ..users(60, 10.0) }, "errors < 0.1%"),
        settings: settings(&[("flights", 15.0)]),
        limits: Box::new(|s| {
            let law = Law::Slots {
                value: s["flights"],
                reserved: 0.0,
                idle_cost: 0.0,
                busy_cost: 1.0,
                pools: 1.0,
                soft: 1.0,
            };
            let signs = vec![said("flights", Strength::Decisive)];
            vec![limit("flights", s["flights"], law, signs, &[ErrorKind::Status503], false), pool(900.0, 0.5)]
        }),
        behaviour: Box::new(|m| {
            let (asked, most) = (m.level * 0.5 / 0.8, m.value("flights"));
            let mut seen = Seen { in_flight: asked.min(most), ..Seen::closed(asked.min(most), 0.5) };
            if asked > most {
                seen.errors = vec![(ErrorKind::Status503, (asked - most) * 4.0)];
                seen.from_level = most * 1.6;
                seen.logs = vec![("flights", 1)];
            }
            let pss = OWN + m.level * CLIENT;
            seen.gauges = vec![("proxy.pss", pss), ("proxy.worker_processes", 0.0), ("proxy.memory_available", 1e9)];
            seen
        }),
    };
    let told = |world: &World| {
        let proposed = verdict(&world.run()).proposal.remove(0);
        let price = proposed.price.unwrap();
        (proposed.change.to.parse::<f64>().unwrap(), price.full, price.behind.unwrap())
    };
    let (to, full, behind) = told(&world);
    assert!(full > 60.0 && behind == to, "{behind} requests of {full} clients, of which {to} may be in flight");
    // Of one whose idle clients count, each client may ask for something.
    world.limits = Box::new(|s| {
        let law =
            Law::Slots { value: s["flights"], reserved: 0.0, idle_cost: 0.1, busy_cost: 1.0, pools: 1.0, soft: 1.0 };
        let signs = vec![said("flights", Strength::Decisive)];
        vec![limit("flights", s["flights"], law, signs, &[ErrorKind::Status503], false), pool(900.0, 0.5)]
    });
    let (_, full, behind) = told(&world);
    assert_eq!(full, behind);
}

/// What stands before a server may let fewer through than the load has: its own count says how many there were.
#[test]
fn a_price_counts_the_clients_that_the_server_counted_itself() {
    let pool = |m: &Moment<'_>| m.level.min(((m.value("slots") - 2.0) / 2.0).floor()).min(300.0);
    let mut world = hungry(512.0, 1e9);
    let before = world.behaviour;
    world.behaviour = Box::new(move |m| {
        let (mut seen, served) = (before(m), pool(m));
        seen.gauges.retain(|(name, _)| *name != "proxy.pss");
        seen.gauges.extend([("proxy.pss", OWN + served * CLIENT), ("proxy.clients", 2.0 * served)]);
        seen
    });
    let counted = |value: f64| {
        let mut limit = slots(value);
        limit.signatures.push(reached("proxy.clients", value, Strength::Consistent));
        limit
    };
    world.limits = Box::new(move |s| vec![counted(s["slots"]), cpu(1.0, Strength::Supports, None)]);
    let v = verdict(&world.run());
    let price = v.proposal[0].price.unwrap();
    let tested = price.tested.unwrap();
    assert_eq!((tested.clients, tested.refuted), (300.0, false), "{price:?}");
    assert!(near(tested.predicted, OWN + 300.0 * CLIENT) && near(tested.taken, tested.predicted), "{tested:?}");
}
