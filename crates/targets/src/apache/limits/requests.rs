//! Limits on requests that an administrator set on purpose.

use genkai_model::limit::Limit;

use super::Facts;
use crate::apache::evidence::signature;
use crate::apache::settings::LIMIT_REQUEST_BODY;
use crate::limits;

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
