//! Limits on requests that an administrator set on purpose: body size, concurrency and rate of one visitor.

use genkai_model::limit::{Ceiling, Law, Limit, Remedy, RemedyUnit, Strength, Symptom};

use super::{Facts, refusal};
use crate::limits::{self, at_once, log, raised, valued};
use crate::nginx::evidence::signature;
use crate::nginx::settings::{CLIENT_MAX_BODY_SIZE, LIMIT_CONN, LIMIT_REQ};

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

/// What the reader should know of a limit that counts by visitor, where the load comes from one address.
fn key_note(key: &str) -> String {
    if key.contains("remote_addr") {
        "all of this load comes from one address; real visitors have one each".to_owned()
    } else {
        format!("it counts for each value of {key}; this load is taken to have one value")
    }
}

/// The same for a rate. Times are whole milliseconds, so of two requests in the same one the second is early at any rate.
fn rate_note(zone: &super::ReqZone) -> String {
    let note = key_note(&zone.key);
    if zone.burst > 0 {
        return note;
    }
    format!("{note}; without `burst` the second of two requests in the same millisecond is refused at any rate")
}

/// Requests in flight for one key. (`ngx_http_limit_conn_handler` counts a connection only while it has a request that
/// was read, so an idle client costs nothing.)
pub(super) fn limit_conn(facts: &Facts) -> Vec<Limit> {
    let limit = |zone: &super::ConnZone| {
        let setting = named(LIMIT_CONN.name, &zone.zone, facts.limit_conn.len());
        Limit {
            caps: format!("requests in flight for one value of {}", zone.key),
            law: at_once(zone.number.value as f64, 1.0),
            formula: format!("{} requests in flight (zone {}, all workers together)", zone.number.value, zone.zone),
            source: "nginx src/http/modules/ngx_http_limit_conn_module.c: ngx_http_limit_conn_handler".to_owned(),
            signatures: vec![log(&signature::in_zone(signature::LIMIT_CONN, &zone.zone), Strength::Decisive)],
            symptom: refusal(zone.status),
            remedy: Some(Remedy {
                ceiling: Some(Ceiling { value: 65535.0, by: "nginx (connections \"must be less 65536\")".to_owned() }),
                note: Some(key_note(&zone.key)),
                ..raised(&setting, RemedyUnit::Count, 1.0)
            }),
            ..valued(&format!("nginx.{setting}"), "nginx", &setting, &zone.number)
        }
    };
    facts.limit_conn.iter().map(limit).collect()
}

/// Requests a second for one key.
pub(super) fn limit_req(facts: &Facts) -> Vec<Limit> {
    let limit = |zone: &super::ReqZone| {
        let setting = named(LIMIT_REQ.name, &zone.zone, facts.limit_req.len());
        let delays = zone.burst > 0 && !zone.nodelay;
        Limit {
            caps: format!("requests a second for one value of {}", zone.key),
            law: Law::Rate { value: zone.rate.value, burst: zone.burst as f64 },
            formula: format!(
                "{} requests a second, {} may come early{} (zone {})",
                zone.rate.value,
                zone.burst,
                if delays { " and wait their turn" } else { "" },
                zone.zone
            ),
            source: "nginx src/http/modules/ngx_http_limit_req_module.c: ngx_http_limit_req_lookup (leaky bucket)"
                .to_owned(),
            signatures: vec![
                log(&signature::in_zone(signature::LIMIT_REQ, &zone.zone), Strength::Decisive),
                log(&signature::in_zone(signature::LIMIT_REQ_DELAY, &zone.zone), Strength::Supports),
            ],
            symptom: Symptom { slow: delays, ..refusal(zone.status) },
            remedy: Some(Remedy { note: Some(rate_note(zone)), ..raised(&setting, RemedyUnit::Rate, 1.0) }),
            ..valued(&format!("nginx.{setting}"), "nginx", &setting, &zone.rate)
        }
    };
    facts.limit_req.iter().map(limit).collect()
}
