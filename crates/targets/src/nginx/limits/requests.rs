//! Limits on requests that an administrator set on purpose: body size, concurrency and rate of one visitor.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Remedy, RemedyUnit, Strength, Symptom};

use super::{Facts, refusal};
use crate::limits::{errors, log};
use crate::nginx::evidence::signature;
use crate::nginx::settings::{CLIENT_MAX_BODY_SIZE, LIMIT_CONN, LIMIT_REQ};

/// The largest request body; none when it is not capped.
pub(super) fn body(facts: &Facts) -> Option<Limit> {
    if facts.body.value == 0 {
        return None;
    }
    Some(Limit {
        id: "nginx.client_max_body_size".to_owned(),
        subject: "nginx".to_owned(),
        setting: CLIENT_MAX_BODY_SIZE.name.to_owned(),
        value: facts.body.written.clone(),
        origin: facts.body.origin.clone(),
        caps: "bytes of a request body".to_owned(),
        law: Law::BodySize { value: facts.body.value as f64 },
        formula: format!("request body <= {} bytes", facts.body.value),
        source:
            "nginx src/http/ngx_http_core_module.c: ngx_http_core_find_config_phase (413); responses are not limited"
                .to_owned(),
        signatures: vec![log(signature::BODY_TOO_LARGE, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status413]),
        remedy: Some(Remedy {
            setting: CLIENT_MAX_BODY_SIZE.name.to_owned(),
            unit: RemedyUnit::Bytes,
            step: 1_048_576.0,
            ceiling: None,
            note: Some("bodies beyond client_body_buffer_size are written to client_body_temp_path".to_owned()),
        }),
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
    let limit = |zone: &super::ConnZone| Limit {
        id: named("nginx.limit_conn", &zone.zone, facts.limit_conn.len()),
        subject: "nginx".to_owned(),
        setting: named(LIMIT_CONN.name, &zone.zone, facts.limit_conn.len()),
        value: zone.number.written.clone(),
        origin: zone.number.origin.clone(),
        caps: format!("requests in flight for one value of {}", zone.key),
        law: Law::Slots {
            value: zone.number.value as f64,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: 1.0,
            pools: 1.0,
            soft: 1.0,
        },
        formula: format!("{} requests in flight (zone {}, all workers together)", zone.number.value, zone.zone),
        source: "nginx src/http/modules/ngx_http_limit_conn_module.c: ngx_http_limit_conn_handler".to_owned(),
        signatures: vec![log(&signature::in_zone(signature::LIMIT_CONN, &zone.zone), Strength::Decisive)],
        symptom: refusal(zone.status),
        remedy: Some(Remedy {
            setting: named(LIMIT_CONN.name, &zone.zone, facts.limit_conn.len()),
            unit: RemedyUnit::Count,
            step: 1.0,
            ceiling: Some(genkai_model::limit::Ceiling {
                value: 65535.0,
                by: "nginx (connections \"must be less 65536\")".to_owned(),
            }),
            note: Some(key_note(&zone.key)),
        }),
    };
    facts.limit_conn.iter().map(limit).collect()
}

/// Requests a second for one key.
pub(super) fn limit_req(facts: &Facts) -> Vec<Limit> {
    let limit = |zone: &super::ReqZone| {
        let delays = zone.burst > 0 && !zone.nodelay;
        Limit {
            id: named("nginx.limit_req", &zone.zone, facts.limit_req.len()),
            subject: "nginx".to_owned(),
            setting: named(LIMIT_REQ.name, &zone.zone, facts.limit_req.len()),
            value: zone.rate.written.clone(),
            origin: zone.rate.origin.clone(),
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
            remedy: Some(Remedy {
                setting: named(LIMIT_REQ.name, &zone.zone, facts.limit_req.len()),
                unit: RemedyUnit::Rate,
                step: 1.0,
                ceiling: None,
                note: Some(rate_note(zone)),
            }),
        }
    };
    facts.limit_req.iter().map(limit).collect()
}
