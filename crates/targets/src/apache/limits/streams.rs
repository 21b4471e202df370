//! Limits on requests that share a connection (HTTP/2): mod_http2 answers them by threads of its own.

use genkai_model::limit::{Law, Limit, RemedyUnit, Strength};

use super::Facts;
use crate::apache::evidence::metrics;
use crate::apache::settings::H2_MAX_WORKERS;
use crate::limits::{SLOW, raised, reached, valued};

/// Threads of a child beside its workers and those of mod_http2: its first, and the listener.
const OTHERS: u64 = 2;

/// Threads of mod_http2, of which each child has so many: further requests of the child's connections wait. All connections may be with one
/// child. (Measured on 2.4.71: 37 requests at once of 250 users on 25 connections, with one child of 25 threads; such a child has 64 threads
/// then.)
pub(super) fn workers(facts: &Facts) -> Option<Limit> {
    let held = facts.h2_workers.as_ref()?;
    let (each, children) = (held.value as f64, facts.children() as f64);
    let law = match facts.children() {
        1 => Law::Workers { workers: each, queue: None, service: None, wait: None },
        _ => Law::Growing { least: each, most: each * children, full: None, wait: None },
    };
    Some(Limit {
        caps: "requests of HTTP/2 that a child answers at once".to_owned(),
        law,
        formula: format!(
            "{} requests at once in a child; {}",
            held.value,
            match facts.children() {
                1 => "there is one".to_owned(),
                children => format!(
                    "from {} (all connections with one of {children} children) to {}",
                    held.value,
                    held.value * children
                ),
            }
        ),
        source: "httpd modules/http2/h2_c1.c: h2_c1_child_init (H2MinWorkers: threads of a child; H2MaxWorkers: 3/2 of them)".to_owned(),
        signatures: vec![reached(
            metrics::WORKER_THREADS_MAX,
            (facts.threads() + held.value + OTHERS) as f64,
            Strength::Supports,
        )],
        symptom: SLOW,
        remedy: Some(raised(H2_MAX_WORKERS.name, RemedyUnit::Count, 1.0)),
        ..valued("apache.H2MaxWorkers", "apache", H2_MAX_WORKERS.name, held)
    })
}
