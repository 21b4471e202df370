//! Limits on requests that an administrator set on purpose.

use genkai_model::limit::Limit;

use super::Facts;
use crate::apache::evidence::signature;
use crate::apache::settings::{LIMIT_REQUEST_BODY, RATE_LIMIT};
use crate::limits::{self, beyond, paced};

/// The largest request body; none when it is not capped, and for requests that are passed to a backend: those are not
/// limited (measured on httpd 2.4.71: 413 for files, 200 through mod_proxy_http, with a length and in chunks).
pub(super) fn body(facts: &Facts) -> Option<Limit> {
    let limit = limits::body("apache", LIMIT_REQUEST_BODY.name, &facts.body, signature::BODY_TOO_LARGE)?;
    facts.upstream.is_none().then(|| Limit {
        source: "httpd modules/http/http_filters.c: ap_http_filter (413); responses are not limited; 1 GiB by default since \
                 2.4.54 (server/core.c: AP_DEFAULT_LIMIT_REQ_BODY)"
            .to_owned(),
        ..limit
    })
}

/// How fast a response is sent. It makes each take a time that grows with its length, which no configuration says. (Measured on 2.4.71 with
/// 20: a body of 10 KiB takes 0.4 s: a fifth of a second's worth goes at once, and as much each 200 ms.)
pub(super) fn rate(facts: &Facts) -> Option<Limit> {
    let held = facts.rate_limit.as_ref()?;
    let (rate, after) = held.value;
    let from = beyond(after);
    Some(Limit {
        formula: format!("a response takes up to its bytes{from} / {rate} seconds, less the 0.2 s of its first part"),
        source: "httpd modules/filters/mod_ratelimit.c: rate_limit_filter (RATE_INTERVAL_MS 200)".to_owned(),
        ..paced(("apache.rate-limit", "apache", RATE_LIMIT.name), held, " (mod_ratelimit)")
    })
}
