//! Limits and plans to build worlds from.

use std::collections::BTreeMap;

use genkai_model::error::ErrorKind;
use genkai_model::limit::*;
use genkai_model::load::{Arrivals, Load, Spacing, Stop};
use genkai_model::plan::{Plan, Procedure, System};
use genkai_model::units::Span;

/// A limit of the product under test (`proxy`), whose setting has the limit's name.
pub fn limit(id: &str, value: f64, law: Law, signatures: Vec<Signature>, errors: &[ErrorKind], slow: bool) -> Limit {
    Limit {
        value: format!("{value}"),
        caps: format!("what {id} caps"),
        law,
        source: "tests".into(),
        signatures,
        symptom: Symptom { errors: errors.to_vec(), slow },
        remedy: Some(Remedy {
            setting: id.into(),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: None,
            note: None,
            parts: 1.0,
            processes: 0.0,
            onward: false,
            queues: false,
            word: None,
        }),
        ..Limit::named(&format!("proxy.{id}"), "proxy", id)
    }
}

/// The same as the backend's, with nothing to lift it.
pub fn behind(limit: Limit) -> Limit {
    Limit { id: limit.id.replace("proxy", "backend"), subject: "backend".into(), remedy: None, ..limit }
}

pub fn said(name: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::Log(name.into()), strength }
}

pub fn grew(name: &str, strength: Strength) -> Signature {
    Signature { sign: Sign::Grew(name.into()), strength }
}

pub fn reached(name: &str, value: f64, strength: Strength) -> Signature {
    Signature { sign: Sign::Reached { metric: name.into(), value }, strength }
}

/// Slots of a proxy worker: two a busy client, one listener, one channel, suffering from 15/16 on.
pub fn slots(value: f64) -> Limit {
    let law = Law::Slots { value, reserved: 2.0, idle_cost: 1.0, busy_cost: 2.0, pools: 1.0, soft: 15.0 / 16.0 };
    let signs = vec![said("slots", Strength::Decisive), grew("proxy.dropped_total", Strength::Supports)];
    limit("slots", value, law, signs, &[ErrorKind::EofNew, ErrorKind::EofReused, ErrorKind::Status500], false)
}

/// Descriptors: two a busy client.
pub fn descriptors(value: f64) -> Limit {
    let law = Law::Slots { value, reserved: 11.0, idle_cost: 1.0, busy_cost: 2.0, pools: 1.0, soft: 1.0 };
    let reached = Sign::ReachedMetric { metric: "proxy.fds".into(), of: "proxy.fd_limit".into(), fraction: 0.98 };
    let signs =
        vec![said("descriptors", Strength::Decisive), Signature { sign: reached, strength: Strength::Supports }];
    limit("descriptors", value, law, signs, &[ErrorKind::Status500, ErrorKind::Timeout], true)
}

/// The backend's pool.
pub fn pool(workers: f64, service: f64) -> Limit {
    let law = Law::Workers { workers, queue: None, service: Some(service), wait: None };
    let busy = Sign::ReachedMetric { metric: "backend.busy".into(), of: "backend.workers".into(), fraction: 1.0 };
    let signs = vec![
        Signature { sign: busy, strength: Strength::Supports },
        reached("backend.queued", 1.0, Strength::Supports),
    ];
    behind(limit("pool", workers, law, signs, &[ErrorKind::Status504], true))
}

/// Processor time of the proxy's workers.
pub fn cpu(cores: f64, strength: Strength, ceiling: Option<f64>) -> Limit {
    let signs = vec![reached("proxy.worker_cpu_max", 0.95, strength)];
    let mut limit = limit("cores", cores, Law::Cpu { cores }, signs, &[ErrorKind::Timeout], true);
    match ceiling {
        Some(value) => {
            limit.remedy.as_mut().unwrap().ceiling = Some(Ceiling { value, by: "the machine's cores".into() });
        }
        None => limit.remedy = None,
    }
    limit
}

pub fn users(count: u32, spawn_rate: f64) -> Load {
    Load { stop: Stop { after: Span::from_secs(60), requests: None }, ..Load::users(count, spawn_rate) }
}

pub fn rate(per_second: f64, ramp: u64, connections: u32) -> Load {
    let arrivals = Arrivals::Rate { per_second, ramp: Span::from_secs(ramp), spacing: Spacing::Uniform, connections };
    Load { arrivals, ..users(1, 1.0) }
}

/// A quick plan for a load.
pub fn plan(load: Load, objective: &str) -> Plan {
    let procedure = Procedure {
        max_limits: 4,
        min_pairs: 3,
        max_pairs: 3,
        hold: Span::from_secs(3),
        proof_ramp: Span::from_secs(2),
        proof_hold: Span::from_secs(3),
        headroom: 1.2,
        sustained: Span::from_secs(1),
        seed: 3,
        bisect: Span(0),
        smaller: 0,
    };
    Plan::of("a test".into(), System::generated("proxy"), load, objective.parse().unwrap(), procedure)
}

pub fn settings(all: &[(&str, f64)]) -> BTreeMap<String, f64> {
    all.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}
