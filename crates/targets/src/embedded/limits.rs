//! The origin's limits. None has a remedy: they stand for a backend that is as it is, and no setting of the product
//! before it lifts them.

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Law, Limit, Origin, Sign, Signature, Strength, Symptom};
use genkai_model::plan::{OriginSpec, WebSocketServer};
use genkai_model::units::Spread;
use genkai_model::websocket::TOO_BIG;
use genkai_place::machine;

use super::Spec;
use super::evidence::{CPU, FD_LIMIT, FDS};
use crate::limits::{SLOW, at_once, errors, grew, reached, reached_of};

/// Threads that serve: one does everything (genkai's `origin` crate, `http::serve`).
const THREADS: u32 = 1;
/// Fraction of its processor time that counts as all of it; the kernel's own work takes a share that is nobody's.
const FULL: f64 = 0.95;
/// Descriptors that it has for itself: its standard streams, a listener, what its event loop waits with.
const OWN: f64 = 16.0;

/// Limits of a server built so, that may run on `cores` cores.
pub fn of(spec: &Spec, cores: u32) -> Vec<Limit> {
    match spec {
        Spec::Http(spec) => of_http(spec, cores),
        Spec::WebSocket(spec) => of_websocket(spec, cores),
    }
}

/// What it takes for a message, how large one may be, its processor.
fn of_websocket(spec: &WebSocketServer, cores: u32) -> Vec<Limit> {
    let time = Spread::Constant(spec.delay);
    let delay = (spec.delay.0 > 0).then(|| Limit {
        value: time.to_string(),
        caps: "time the application takes for a message, however few there are".to_owned(),
        law: Law::Delay { time },
        formula: format!("{time} a message"),
        source: "genkai's embedded echo (`genkai serve echo --delay`)".to_owned(),
        symptom: SLOW,
        ..limit("backend.service_time", "time for a message (embedded echo)")
    });
    let mut limits = vec![message(spec)];
    limits.extend(delay);
    limits.push(processor(cores));
    limits
}

/// The application's own cap on a message: no proxy looks into a WebSocket.
fn message(spec: &WebSocketServer) -> Limit {
    let largest = spec.max_message;
    Limit {
        value: largest.to_string(),
        caps: "bytes of a message that the application takes; the connection of a larger one is closed".to_owned(),
        law: Law::MessageSize { value: largest.0 as f64 },
        formula: format!("message <= {} bytes", largest.0),
        source: "RFC 6455 section 7.4.1: 1009; genkai's embedded servers (`--max-message`)".to_owned(),
        signatures: vec![Signature { sign: Sign::Closed(TOO_BIG), strength: Strength::Decisive }],
        symptom: errors(&[ErrorKind::Closed, ErrorKind::ClosedAbnormally]),
        ..limit("backend.max_message", "largest message (embedded server)")
    }
}

/// Limits of an origin. One whose service takes no time has no limit but its processor: no request ever occupies a worker.
fn of_http(spec: &OriginSpec, cores: u32) -> Vec<Limit> {
    let service = mean(spec.service_time);
    let mut limits = Vec::new();
    if let Some(workers) = spec.workers.filter(|_| service > 0.0) {
        limits.push(pool(spec, f64::from(workers), service));
        limits.extend(spec.queue.map(|queue| waiting(f64::from(workers), f64::from(queue))));
    }
    if service > 0.0 {
        limits.push(alone(spec, service));
    }
    limits.push(descriptors(machine::hard_descriptors()));
    limits.push(processor(cores));
    limits
}

/// Each connection is a descriptor of one process; it gets all that may be given ([`super::Origin::start`]).
fn descriptors(most: u64) -> Limit {
    Limit {
        value: most.to_string(),
        origin: Origin::Machine("the hard limit on descriptors".to_owned()),
        caps: "descriptors of the backend: connections, and some of its own".to_owned(),
        law: Law::Slots { value: most as f64, reserved: OWN, idle_cost: 0.0, busy_cost: 1.0, pools: 1.0, soft: 1.0 },
        formula: format!("{most} descriptors - {OWN} of its own = {} requests at once", most as f64 - OWN),
        source: "getrlimit(2): RLIMIT_NOFILE".to_owned(),
        signatures: vec![reached_of(FDS, FD_LIMIT, 0.98, Strength::Supports)],
        symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
        ..limit("backend.descriptors", "descriptors (embedded origin)")
    }
}

fn pool(spec: &OriginSpec, workers: f64, service: f64) -> Limit {
    Limit {
        value: workers.to_string(),
        caps: "requests the backend has in service at once; further ones wait for it".to_owned(),
        law: Law::Workers { workers, queue: spec.queue.map(f64::from), service: Some(service), wait: None },
        formula: format!(
            "{workers} workers / {} s mean service = {} requests/s",
            short(service),
            short(workers / service)
        ),
        source: "first come, first served: throughput is workers / mean service time (Little's law)".to_owned(),
        signatures: vec![
            reached_of(metric::BACKEND_BUSY, metric::BACKEND_WORKERS, 1.0, Strength::Supports),
            reached(metric::BACKEND_QUEUED, 1.0, Strength::Supports),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
        ..limit("backend.workers", "workers (embedded origin)")
    }
}

fn waiting(workers: f64, queue: f64) -> Limit {
    Limit {
        value: queue.to_string(),
        caps: "requests that may wait for a worker of the backend; further ones are answered 503".to_owned(),
        law: at_once(workers + queue, 1.0),
        formula: format!("{workers} in service + {queue} waiting = {} requests at once", workers + queue),
        source: "genkai's embedded origin (`genkai serve origin --queue`)".to_owned(),
        signatures: vec![grew(metric::BACKEND_REFUSED, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status503]),
        ..limit("backend.queue", "queue (embedded origin)")
    }
}

fn alone(spec: &OriginSpec, service: f64) -> Limit {
    let time = spec.service_time;
    Limit {
        value: time.to_string(),
        caps: "time the backend takes for a request, however few there are".to_owned(),
        law: Law::Delay { time },
        formula: format!("{time} a request, {} s on average", short(service)),
        source: "genkai's embedded origin (`genkai serve origin --service-time`)".to_owned(),
        symptom: SLOW,
        ..limit("backend.service_time", "service time (embedded origin)")
    }
}

fn processor(cores: u32) -> Limit {
    let cores = f64::from(THREADS.min(cores.max(1)));
    Limit {
        value: cores.to_string(),
        origin: Origin::Machine("the embedded origin is one thread".to_owned()),
        caps: "processor time of the backend".to_owned(),
        law: Law::Cpu { cores },
        formula: format!("{cores} core"),
        source: "sched_setaffinity(2); one event loop".to_owned(),
        signatures: vec![reached(CPU, FULL * cores, Strength::Supports)],
        symptom: SLOW,
        ..limit("backend.cpu", "cores (embedded origin)")
    }
}

/// Mean service time, seconds. Of a log-normal it is `median * exp(sigma^2 / 2)` (Johnson, Kotz and Balakrishnan,
/// Continuous Univariate Distributions 1, chapter 14).
fn mean(spread: Spread) -> f64 {
    match spread {
        Spread::Constant(time) | Spread::Exponential(time) => time.as_secs_f64(),
        Spread::Uniform(low, high) => f64::midpoint(low.as_secs_f64(), high.as_secs_f64()),
        Spread::LogNormal(median, sigma) => median.as_secs_f64() * (sigma * sigma / 2.0).exp(),
        Spread::Bimodal(usual, other, share) => usual.as_secs_f64() * (1.0 - share) + other.as_secs_f64() * share,
    }
}

/// At most four significant digits.
fn short(number: f64) -> String {
    let digits = 3 - number.abs().max(1e-9).log10().floor() as i32;
    let scale = 10f64.powi(digits.max(0));
    ((number * scale).round() / scale).to_string()
}

/// A limit of the backend by name.
fn limit(id: &str, setting: &str) -> Limit {
    Limit::named(id, "backend", setting)
}

#[cfg(test)]
mod tests {
    use genkai_model::units::Bytes;

    use super::*;

    fn spec(service: &str, workers: Option<u32>, queue: Option<u32>) -> OriginSpec {
        OriginSpec { body: Bytes(1), service_time: service.parse().unwrap(), workers, queue, seed: 1 }
    }

    fn ids(spec: &OriginSpec) -> Vec<String> {
        of_http(spec, 2).into_iter().map(|limit| limit.id).collect()
    }

    #[test]
    fn only_limits_that_can_bite() {
        assert_eq!(
            ids(&spec("50ms", Some(5), Some(9))),
            ["backend.workers", "backend.queue", "backend.service_time", "backend.descriptors", "backend.cpu"]
        );
        assert_eq!(
            ids(&spec("50ms", Some(5), None)),
            ["backend.workers", "backend.service_time", "backend.descriptors", "backend.cpu"]
        );
        assert_eq!(ids(&spec("50ms", None, Some(9))), ["backend.service_time", "backend.descriptors", "backend.cpu"]);
        assert_eq!(ids(&spec("0s", Some(5), Some(9))), ["backend.descriptors", "backend.cpu"]);
    }

    #[test]
    fn laws_carry_the_numbers() {
        let limits = of_http(&spec("uniform(20ms,80ms)", Some(5), Some(9)), 4);
        assert_eq!(limits[0].law, Law::Workers { workers: 5.0, queue: Some(9.0), service: Some(0.05), wait: None });
        assert_eq!(limits[0].formula, "5 workers / 0.05 s mean service = 100 requests/s");
        assert!(matches!(limits[1].law, Law::Slots { value: 14.0, .. }));
        assert_eq!(limits[2].law, Law::Delay { time: "uniform(20ms,80ms)".parse().unwrap() });
        assert!(matches!(limits[3].law, Law::Slots { idle_cost: 0.0, .. }));
        assert_eq!(limits[4].law, Law::Cpu { cores: 1.0 });
        assert!(limits.iter().all(|limit| limit.remedy.is_none() && limit.subject == "backend"));
    }

    #[test]
    fn a_websocket_server_has_a_largest_message() {
        let spec = WebSocketServer {
            answers: genkai_model::plan::Answers::Echo,
            max_message: Bytes(65_536),
            delay: "20ms".parse().unwrap(),
        };
        let limits = of(&Spec::from(&spec), 2);
        let ids: Vec<&str> = limits.iter().map(|l| l.id.as_str()).collect();
        assert_eq!(ids, ["backend.max_message", "backend.service_time", "backend.cpu"]);
        assert_eq!(limits[0].law, Law::MessageSize { value: 65_536.0 });
    }

    #[test]
    fn means_and_short_numbers() {
        assert!((mean("lognormal(50ms,0.5)".parse().unwrap()) - 0.05 * 0.125f64.exp()).abs() < 1e-12);
        assert_eq!(mean("exp(30ms)".parse().unwrap()), 0.03);
        assert_eq!([short(0.056_658), short(88.2497), short(12345.6), short(0.0)], ["0.05666", "88.25", "12346", "0"]);
    }
}
