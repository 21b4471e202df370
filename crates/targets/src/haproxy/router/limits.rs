//! What caps connections through it.

use genkai_model::limit::{Ceiling, Limit, Origin, Remedy, RemedyUnit};
use genkai_model::plan;

use super::config::maxconn;
use crate::haproxy::limits::{holding, queueing};
use crate::haproxy::settings::MAXCONN;
use crate::limits::{connections, raised};
use genkai_place::caps::Machine;

/// Descriptors of its own: listeners, pollers, the statistics socket, pipes (100 are plenty for one thread without pipes).
const OWN: u64 = 100;

/// Every limit of it before so many nodes on this machine, in so many processes, each with room for so many clients.
pub(crate) fn of(plan: &plan::Router, clients: u32, processes: u64, nodes: u32, machine: &Machine) -> Vec<Limit> {
    let mut all = vec![process(maxconn(clients), processes, machine)];
    all.extend(plan.node_connections.map(|cap| server(cap, plan, nodes)));
    all
}

/// `maxconn` of `global`. Each connection takes two descriptors (src/haproxy.c, `compute_ideal_maxconn`).
fn process(value: u32, processes: u64, machine: &Machine) -> Limit {
    let most = ((machine.descriptors_ceiling.value - OWN as f64) / 2.0).floor();
    let by = format!("two descriptors a connection, {}", machine.descriptors_ceiling.by);
    Limit {
        value: value.to_string(),
        origin: Origin::Given,
        caps: "connections of clients at once".to_owned(),
        law: connections(f64::from(value), processes as f64),
        formula: match processes {
            1 => format!("maxconn {value}; each takes two descriptors"),
            many => format!("{many} processes x maxconn {value}; each takes two descriptors"),
        },
        remedy: Some(Remedy {
            ceiling: Some(Ceiling { value: most, by }),
            note: Some(format!("it takes {} descriptors", 2 * u64::from(value) + OWN)),
            ..raised(MAXCONN.name, RemedyUnit::Count, 1.0)
        }),
        ..holding()
    }
}

/// `maxconn` of a `server`. Requests beyond it wait in the queue, those that wait too long are answered 503.
fn server(cap: u32, plan: &plan::Router, nodes: u32) -> Limit {
    let wait = plan.queue_timeout;
    Limit {
        value: cap.to_string(),
        origin: Origin::Given,
        caps: "connections a node may have at once; further requests wait, then are answered 503".to_owned(),
        law: connections(f64::from(cap), f64::from(nodes)),
        formula: format!("nodes ({nodes}) x maxconn {cap}; beyond that a wait of timeout queue {wait}"),
        ..queueing("haproxy.refused.sQ", "or add nodes: each brings as many")
    }
}
