//! Limits on requests that an administrator set on purpose.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Remedy, RemedyUnit, Strength};

use super::Facts;
use crate::apache::evidence::signature;
use crate::limits::{errors, log};

/// The largest request body; none when it is not capped, and for requests that are passed to a backend: those are not
/// limited (measured on httpd 2.4.71: 413 for files, 200 through mod_proxy_http, with a length and in chunks).
pub(super) fn body(facts: &Facts) -> Option<Limit> {
    if facts.body.value == 0 || facts.upstream.is_some() {
        return None;
    }
    Some(Limit {
        id: "apache.LimitRequestBody".to_owned(),
        subject: "apache".to_owned(),
        setting: "LimitRequestBody".to_owned(),
        value: facts.body.written.clone(),
        origin: facts.body.origin.clone(),
        caps: "bytes of a request body".to_owned(),
        law: Law::BodySize { value: facts.body.value as f64 },
        formula: format!("request body <= {} bytes", facts.body.value),
        source: "httpd modules/http/http_filters.c: ap_http_filter (413); responses are not limited; 1 GiB by default since \
                 2.4.54 (server/core.c: AP_DEFAULT_LIMIT_REQ_BODY)"
            .to_owned(),
        signatures: vec![log(signature::BODY_TOO_LARGE, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status413]),
        remedy: Some(Remedy {
            setting: "LimitRequestBody".to_owned(),
            unit: RemedyUnit::Bytes,
            step: 1_048_576.0,
            ceiling: None,
            note: None,
        }),
    })
}
