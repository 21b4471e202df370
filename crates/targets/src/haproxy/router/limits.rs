//! What caps connections through a router, as data.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Sign, Signature, Strength, Symptom};

use super::settings::{Settings, descriptors};
use crate::haproxy::limits::queueing;
use genkai_place::caps::Machine;

/// Every limit of these settings before so many nodes on this machine.
pub fn of(settings: &Settings, nodes: u32, machine: &Machine) -> Vec<Limit> {
    let mut all = vec![process(settings, machine)];
    all.extend(settings.server_maxconn.map(|cap| server(cap, settings, nodes)));
    all
}

/// `maxconn` of `global`. Clients beyond it are not accepted: they wait in the kernel's queue and hang.
fn process(settings: &Settings, machine: &Machine) -> Limit {
    let value = settings.maxconn;
    Limit {
        value: value.to_string(),
        origin: Origin::Given,
        caps: "connections of clients at once".to_owned(),
        law: slots(f64::from(value), 1.0),
        formula: format!("maxconn {value}; each takes two descriptors"),
        source: "HAProxy src/listener.c (a full listener stops accepting); src/haproxy.c: compute_ideal_maxconn"
            .to_owned(),
        signatures: vec![Signature {
            sign: Sign::ReachedMetric {
                metric: "haproxy.connections".to_owned(),
                of: "haproxy.maxconn".to_owned(),
                fraction: 1.0,
            },
            strength: Strength::Decisive,
        }],
        symptom: Symptom { errors: vec![ErrorKind::Timeout, ErrorKind::ConnectTimeout], slow: true },
        remedy: Some(Remedy {
            setting: "maxconn".to_owned(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: Some(Ceiling {
                value: ((machine.descriptors_ceiling.value - 100.0) / 2.0).floor(),
                by: format!("two descriptors a connection, {}", machine.descriptors_ceiling.by),
            }),
            note: Some(format!("it takes {} descriptors", descriptors(value))),
        }),
        ..Limit::named("haproxy.maxconn", "haproxy", "maxconn")
    }
}

/// `maxconn` of a `server`. Requests beyond it wait in the queue, those that wait too long are answered 503.
fn server(cap: u32, settings: &Settings, nodes: u32) -> Limit {
    Limit {
        value: cap.to_string(),
        origin: Origin::Given,
        caps: "connections a node may have at once; further requests wait, then are answered 503".to_owned(),
        law: slots(f64::from(cap), f64::from(nodes)),
        formula: format!(
            "nodes ({nodes}) x maxconn {cap}; beyond that a wait of timeout queue {}",
            settings.queue_timeout
        ),
        ..queueing("haproxy.refused.sQ", "or add nodes: each brings as many")
    }
}

/// A client takes one slot for as long as its connection lasts.
fn slots(value: f64, pools: f64) -> Law {
    Law::Slots { value, reserved: 0.0, idle_cost: 1.0, busy_cost: 1.0, pools, soft: 1.0 }
}
