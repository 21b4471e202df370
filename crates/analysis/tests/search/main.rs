//! Whole runs in worlds whose limits are known: the search must find the right one, lift it, and prove it - or say that
//! it cannot.

#[path = "../world/mod.rs"]
mod world;

mod again;
mod before;
mod causes;
mod contradicted;
mod counted;
mod failures;
mod handshakes;
mod invalid;
mod nothing;
mod outlook;
mod price;
mod smaller;
mod steps;
mod tried;
mod waits;

use genkai_analysis::{findings, statements};
use genkai_model::error::ErrorKind;
use genkai_model::event::Purpose;
use genkai_model::finding::*;
use genkai_model::limit::{Signature, Strength};
use genkai_model::record::Record;

use world::lines;
use world::parts::*;
use world::{Moment, Run, Seen, World};

/// Slots as they really are: from 15/16 on, clients beyond lose their connections.
fn full_slots(m: &Moment<'_>, seen: Seen) -> Seen {
    full_of(m.value("slots"), m, seen)
}

fn full_of(slots: f64, m: &Moment<'_>, mut seen: Seen) -> Seen {
    let fits = ((slots * 15.0 / 16.0 - 2.0) / 2.0).floor();
    if m.level > fits {
        seen.errors.push((ErrorKind::EofReused, (m.level - fits) * 5.0));
        seen.from_level = fits;
        seen.logs.push(("slots", 3));
        seen.growth.push(("proxy.dropped_total", m.level - fits));
    }
    seen
}

fn slots_world(value: f64) -> World {
    World {
        plan: plan(users(300, 60.0), "errors < 0.1%"),
        settings: settings(&[("slots", value)]),
        limits: Box::new(|s| vec![slots(s["slots"]), cpu(1.0, Strength::Supports, None)]),
        behaviour: Box::new(|m| full_slots(m, Seen::closed(m.level, 0.3))),
    }
}

/// The same, and each proposal fails in the proof, which held in the search.
fn failing_proposals() -> World {
    World {
        behaviour: Box::new(|m| {
            let mut seen = full_slots(m, Seen::closed(m.level, 0.3));
            if m.purpose == Purpose::Proposal && m.level > 250.0 {
                seen.errors.push((ErrorKind::EofReused, 50.0));
            }
            seen
        }),
        ..slots_world(512.0)
    }
}

fn verdict(run: &Run) -> Verdict {
    decided(&run.record)
}

/// What is said of the record, which the second computation says as well.
fn decided(record: &Record) -> Verdict {
    let verdict = findings(record).verdict;
    let stated = statements::of(&verdict, Some(record));
    let json = serde_json::to_value(&verdict).unwrap();
    let checked = genkai_check::check(&lines::of(record), &json, &stated).unwrap();
    assert!(checked.contradicted.is_empty() && checked.differences.is_empty(), "{checked:#?}");
    verdict
}

fn answer(v: &Verdict) -> (Outcome, Answer, Because) {
    (v.outcome(), v.must_change(), v.because())
}

/// A pool of workers behind the proxy, first come, first served: a response that comes now was asked for when there were
/// fewer users.
fn full_pool(m: &Moment<'_>, workers: f64, service: f64, spawn_rate: f64) -> Seen {
    let then = m.level / (1.0 + spawn_rate * service / workers);
    let wait = (then * service / workers).max(service);
    let mut seen = Seen::closed(m.level, wait);
    seen.gauges = vec![
        ("backend.busy", m.level.min(workers)),
        ("backend.workers", workers),
        ("backend.queued", (m.level - workers).max(0.0)),
    ];
    seen
}

fn parts_said(name: &str) -> Signature {
    world::parts::said(name, Strength::Decisive)
}

fn busy(cores: f64) -> impl Fn(&Moment<'_>) -> Seen {
    move |m| {
        let most = 1000.0 * cores;
        let service = (m.level / most).max(0.02);
        let mut seen = Seen::closed(m.level, service);
        seen.gauges = vec![("proxy.worker_cpu_max", (m.level / service / most).min(1.0))];
        seen
    }
}
