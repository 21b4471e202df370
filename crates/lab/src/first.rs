//! What the product answers to one request before any load: a load on a redirect, on an error page, or on the wrong
//! `server` block measures something, but not what was meant.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_engine::{Asked, ask};
use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Origin, Symptom};
use genkai_model::load::{Load, Protocol};
use genkai_model::units::{Span, Spread};

use crate::backend::Backend;

/// How long the answer may take. A backend may be slow; one that is slower than this is not waited for.
const WITHIN: Duration = Duration::from_secs(5);
/// Backends tell their counters at intervals not longer than this.
const TOLD: Duration = Duration::from_millis(400);

/// Identity of the note in the record.
pub const NOTE: &str = "first-answer";

/// A sentence about the answer, where it is not what a load is usually meant to measure. None where it cannot be asked for in plain HTTP.
pub fn answer(product: &str, load: &Load, address: SocketAddr, backend: &mut Backend) -> Option<String> {
    if matches!(load.protocol, Protocol::WebSocket(_)) || !load.transport.is_tcp() {
        return None;
    }
    // A backend that has not told anything yet has not been asked anything yet.
    let before = done(backend).unwrap_or(0.0);
    let asked = ask(load, address, WITHIN)?;
    let what = format!("{} {} (Host: {})", load.request.method, load.request.path, load.request.host);
    let choose = "--header \"Host: NAME\" or --path chooses another server or location";
    match asked {
        Asked::Closed => {
            Some(format!("before any load, the connection is closed on {what} without an answer; {choose}"))
        }
        Asked::NotOffered { instead } => Some(format!("before any load, HTTP/2 is not offered ({instead})")),
        Asked::Nothing => Some(format!("before any load, there is no answer to {what} within {} s", WITHIN.as_secs())),
        Asked::Answered { status: status @ 300..400, location } => {
            let to = location.map(|to| format!(" to {to}")).unwrap_or_default();
            Some(format!("{what} is answered {status}{to}: the load measures this redirect, not the page behind it"))
        }
        Asked::Answered { status: status @ 400.., .. } => {
            Some(format!("before any load, {what} is answered {status}; {choose}"))
        }
        Asked::Answered { .. } => {
            let ours = matches!(backend, Backend::Embedded(_) | Backend::WordPress(_));
            std::thread::sleep(if ours { TOLD } else { Duration::ZERO });
            let unasked = ours && done(backend).is_some_and(|after| after <= before);
            unasked.then(|| format!("{what} is answered without the backend: {product} serves it itself; {choose}"))
        }
    }
}

/// How often the backend is asked alone.
const TIMES: usize = 3;
/// From when on it is not asked again, where it is slow.
const ENOUGH: Duration = Duration::from_secs(5);

/// What the backend takes for the load's request when nothing stands before it and nothing else is asked: the shortest of a
/// few times, as a limit on everything before it. None where the plan says what it takes, where it is not known where it is,
/// where asking is not safe, or where it does not answer well.
pub fn alone(load: &Load, backend: &Backend) -> Option<Limit> {
    let address = backend.address().filter(|_| !matches!(backend, Backend::Embedded(_)))?;
    let (begun, mut took) = (Instant::now(), Vec::new());
    while took.len() < TIMES && begun.elapsed() < ENOUGH {
        let asked = Instant::now();
        match ask(load, address, WITHIN)? {
            Asked::Answered { status: ..400, .. } => took.push(asked.elapsed()),
            _ => return None,
        }
    }
    let (least, most) = (took.iter().min()?, took.iter().max()?);
    let time = Span::from(*least);
    Some(Limit {
        value: rounded(*least),
        origin: Origin::Machine("asked before any load".to_owned()),
        caps: "time the backend takes for a request, however few there are".to_owned(),
        law: Law::Delay { time: Spread::Constant(time) },
        formula: format!(
            "asked {} times directly, without any load: {} to {}",
            took.len(),
            rounded(*least),
            rounded(*most)
        ),
        source: "up to the end of the response's head".to_owned(),
        symptom: Symptom { errors: Vec::new(), slow: true },
        ..Limit::named("backend.alone", "backend", "time for one request alone")
    })
}

/// Three digits are enough for a time that varies.
fn rounded(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2}ms") } else { format!("{ms:.0}ms") }
}

/// Requests the backend has answered, where it tells.
fn done(backend: &mut Backend) -> Option<f64> {
    backend.observe().samples.iter().find_map(|s| s.metrics.get(metric::BACKEND_DONE).copied())
}
