//! Limits on requests that an administrator set on purpose: body size, concurrency and rate of one visitor.

use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Strength, Symptom};

use genkai_model::error::ErrorKind;

use super::{Besides, ConnZone, Facts, Keyed, ReqZone, refusal};
use crate::limits::{self, accident, at_once, beyond, errors, log, paced, raised, valued};
use crate::nginx::config::Refusal;
use crate::nginx::evidence::signature;
use crate::nginx::settings::{CLIENT_MAX_BODY_SIZE, LIMIT_CONN, LIMIT_RATE, LIMIT_REQ};

/// The largest request body; none when it is not capped.
pub(super) fn body(facts: &Facts) -> Option<Limit> {
    let setting = CLIENT_MAX_BODY_SIZE.name;
    let limit = limits::body("nginx", setting, &facts.body, signature::BODY_TOO_LARGE)?;
    let note = "bodies beyond client_body_buffer_size are written to client_body_temp_path";
    Some(Limit {
        source:
            "nginx src/http/ngx_http_core_module.c: ngx_http_core_find_config_phase (413); responses are not limited"
                .to_owned(),
        remedy: limit.remedy.map(|remedy| Remedy { note: Some(note.to_owned()), ..remedy }),
        ..limit
    })
}

/// Stable name: the plain one when there is one zone, else with the zone's name.
fn named(plain: &str, zone: &str, zones: usize) -> String {
    if zones == 1 { plain.to_owned() } else { format!("{plain}.{zone}") }
}

/// Why a limit has no number that all requests share; none: it has.
fn doubt(key: &str, keyed: Keyed, only: Option<&String>) -> Option<String> {
    match keyed {
        _ if let Some(why) = only => Some(format!("; cannot tell whether it counts these requests: {why}")),
        Keyed::Depends => Some(format!(
            " for one value of {key}; it depends: requests for which it is empty are not counted, and each value has a count of its own"
        )),
        Keyed::Counts | Keyed::Nothing => None,
    }
}

/// The same where refusals are answered by something else.
fn answered(refusal: &Refusal) -> Option<String> {
    let Refusal::Elsewhere(to) = refusal else { return None };
    Some(format!("; cannot tell what is refused: those beyond it go to {to}"))
}

/// What the reader should know of a limit that counts by visitor, where the load is taken to come from one address.
fn key_note(key: &str) -> String {
    if key.contains("remote_addr") {
        "this load is taken to come from one address; real visitors have one each".to_owned()
    } else {
        format!("it counts for each value of {key}; this load is taken to have one value")
    }
}

/// The same for a rate. Times are whole milliseconds, so of two requests in the same one the second is early at any rate.
fn rate_note(zone: &ReqZone) -> String {
    let note = key_note(&zone.key);
    if zone.burst > 0 {
        return note;
    }
    format!("{note}; without `burst` the second of two requests in the same millisecond is refused at any rate")
}

/// Requests in flight for one key. (`ngx_http_limit_conn_handler` counts a connection only while it has a request that
/// was read, so an idle client costs nothing.)
pub(super) fn limit_conn(facts: &Facts) -> Vec<Limit> {
    let counted: Vec<_> = facts.limit_conn.iter().filter(|zone| zone.keyed != Keyed::Nothing).collect();
    let limit = |zone: &&ConnZone| {
        let setting = named(LIMIT_CONN.name, &zone.zone, counted.len());
        let (number, name) = (zone.number.value, &zone.zone);
        let doubt = doubt(&zone.key, zone.keyed, zone.only.as_ref()).or_else(|| answered(&zone.refusal));
        let known = doubt.is_none();
        let counts = format!("{number} requests in flight (zone {name}, all workers together)");
        Limit {
            caps: format!("requests in flight for one value of {}", zone.key),
            law: if known { at_once(number as f64, 1.0) } else { Law::Unknown },
            formula: counts + &doubt.unwrap_or_default(),
            source: "nginx src/http/modules/ngx_http_limit_conn_module.c: ngx_http_limit_conn_handler".to_owned(),
            signatures: vec![log(&signature::in_zone(signature::LIMIT_CONN, name), Strength::Decisive)],
            symptom: refusal(&zone.refusal),
            remedy: known.then(|| Remedy {
                ceiling: Some(Ceiling { value: 65535.0, by: "nginx (connections \"must be less 65536\")".to_owned() }),
                note: Some(key_note(&zone.key)),
                ..raised(&setting, RemedyUnit::Count, 1.0)
            }),
            ..valued(&format!("nginx.{setting}"), "nginx", &setting, &zone.number)
        }
    };
    counted.iter().map(limit).collect()
}

/// Requests a second for one key.
pub(super) fn limit_req(facts: &Facts) -> Vec<Limit> {
    let counted: Vec<_> = facts.limit_req.iter().filter(|zone| zone.keyed != Keyed::Nothing).collect();
    let limit = |zone: &&ReqZone| {
        let setting = named(LIMIT_REQ.name, &zone.zone, counted.len());
        let delays = zone.burst > zone.at_once;
        let doubt = doubt(&zone.key, zone.keyed, zone.only.as_ref()).or_else(|| answered(&zone.refusal));
        let known = doubt.is_none();
        Limit {
            caps: format!("requests a second for one value of {}", zone.key),
            law: match known {
                true => Law::Rate {
                    value: zone.rate.value,
                    burst: zone.burst as f64,
                    // With `nodelay` nobody waits, whatever the burst becomes.
                    at_once: Some(if delays || zone.burst == 0 { zone.at_once as f64 } else { f64::from(u32::MAX) }),
                },
                false => Law::Unknown,
            },
            formula: format!(
                "{} requests a second, {} may come early{} (zone {}){}",
                zone.rate.value,
                zone.burst,
                waits(zone),
                zone.zone,
                doubt.unwrap_or_default()
            ),
            source: "nginx src/http/modules/ngx_http_limit_req_module.c: ngx_http_limit_req_lookup (leaky bucket)"
                .to_owned(),
            signatures: vec![
                log(&signature::in_zone(signature::LIMIT_REQ, &zone.zone), Strength::Decisive),
                log(&signature::in_zone(signature::LIMIT_REQ_DELAY, &zone.zone), Strength::Supports),
            ],
            symptom: Symptom { slow: delays, ..refusal(&zone.refusal) },
            remedy: known.then(|| Remedy { note: Some(rate_note(zone)), ..raised(&setting, RemedyUnit::Rate, 1.0) }),
            value: written(zone),
            ..valued(&format!("nginx.{setting}"), "nginx", &setting, &zone.rate)
        }
    };
    counted.iter().map(limit).collect()
}

/// A zone that these requests are not taken to come by. Where the log says that it refused some, they did.
pub(super) fn besides(of: &Besides) -> Limit {
    let named = if of.setting == LIMIT_CONN.name { signature::LIMIT_CONN } else { signature::LIMIT_REQ };
    let setting = format!("{}.{}", of.setting, of.zone);
    let (counts, answers) = match of.of_stream {
        true => (
            "connections of a stream server that a zone counts: it closes those beyond it",
            vec![ErrorKind::Status502, ErrorKind::EofNew, ErrorKind::EofReused, ErrorKind::Reset],
        ),
        // What is answered for a refusal is a matter of the location.
        false => ("requests that a zone of another location counts", vec![ErrorKind::Status503, ErrorKind::Status429]),
    };
    Limit {
        formula: "the configuration was not read to count these requests".to_owned(),
        source: "nginx src/http/modules/ngx_http_limit_conn_module.c, ngx_http_limit_req_module.c; \
                 src/stream/ngx_stream_limit_conn_module.c"
            .to_owned(),
        value: of.written.written.clone(),
        origin: of.written.origin.clone(),
        symptom: errors(&answers),
        ..accident(&format!("nginx.{setting}"), "nginx", &setting, counts, &[&signature::in_zone(named, &of.zone)])
    }
}

/// Rate and burst, which are changed together.
fn written(zone: &ReqZone) -> String {
    match zone.burst {
        0 => zone.rate.written.clone(),
        burst => format!("{} burst={burst}", zone.rate.written),
    }
}

/// What becomes of requests that come early.
fn waits(zone: &ReqZone) -> String {
    match zone.at_once {
        early if early >= zone.burst => String::new(),
        0 => " and wait their turn".to_owned(),
        early => format!(", of which all but {early} wait their turn"),
    }
}

/// How fast a response is sent. It makes each response take a time that grows with its length, which no configuration says. (Measured on
/// 1.22.1 with 20k: a file of 10 KiB takes no time, one of 60 KiB 3.01 s; what comes from an upstream in pieces waits after each.)
pub(super) fn limit_rate(facts: &Facts) -> Option<Limit> {
    let held = facts.limit_rate.as_ref()?;
    let (rate, after) = held.value;
    let takes = (100_000.0 - after as f64).max(0.0) / rate as f64;
    Some(Limit {
        formula: format!(
            "a response takes up to its bytes{} / {rate} seconds, and at most a second less, as a second's worth may go at once: 100 kB \
             take from {:.3} to {takes:.3} s",
            beyond(after),
            (takes - 1.0).max(0.0)
        ),
        source: "nginx src/http/ngx_http_write_filter_module.c: ngx_http_write_filter (limit_rate)".to_owned(),
        ..paced(("nginx.limit_rate", "nginx", LIMIT_RATE.name), held, "")
    })
}
