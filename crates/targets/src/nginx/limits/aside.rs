//! What the limits need to know of requests that nginx makes besides those of clients (`auth_request`, `mirror`).

use genkai_model::error::ErrorKind;
use genkai_model::limit::Limit;

use super::{Facts, Reading, Serving, Upstream, upstream};
use crate::explain::place;
use crate::limits::errors;
use crate::nginx::config;

/// Requests of one kind that nginx makes besides, one for each of a client.
#[derive(Clone, Debug, PartialEq)]
pub struct Aside {
    /// The directive that makes it, as written, and where.
    pub by: String,
    /// Whether it is made while the client's own is, and not before.
    pub meanwhile: bool,
    /// Whether it may be passed to an upstream.
    pub passed: bool,
    /// That upstream, where it is known.
    pub upstream: Option<Upstream>,
}

impl Reading<'_> {
    /// What nginx asks besides.
    pub(super) fn asides(&self) -> Vec<Aside> {
        self.config.asides(&self.route).into_iter().map(|one| self.aside(one)).collect()
    }

    fn aside(&self, one: config::Aside<'_>) -> Aside {
        let at = place(&(self.origin)(&one.found)).map(|at| format!(" ({at})")).unwrap_or_default();
        let by = format!("`{}`{at}", one.found.written());
        let Some(route) = one.route else {
            return Aside { by, meanwhile: one.meanwhile, passed: true, upstream: None };
        };
        let inner = Reading { route, ..*self };
        let passed = inner.serving(inner.route.pass().as_ref()) == Serving::Upstream || inner.is_mixed();
        Aside { by, meanwhile: one.meanwhile, passed, upstream: inner.upstreams().0 }
    }
}

impl Facts {
    /// Requests besides that may have connections to upstreams while the client's own request has its.
    pub(super) fn meanwhile(&self) -> impl Iterator<Item = &Aside> {
        self.asides.iter().filter(|one| one.meanwhile && one.passed)
    }
}

/// `max_conns` of the groups that are asked before each request: where they take no more, clients get 500
/// (ngx_http_auth_request_module.c: ngx_http_auth_request_handler, "auth request unexpected status"). What becomes of a mirrored
/// request is of no concern to clients.
pub(super) fn max_conns(facts: &Facts) -> Vec<Limit> {
    let asked = facts.asides.iter().filter(|one| !one.meanwhile).filter_map(|one| Some((one, one.upstream.as_ref()?)));
    asked
        .filter_map(|(one, upstream)| {
            let limit = upstream::max_conns_between(facts, upstream)?;
            let formula = format!("{}; asked before each request by {}", limit.formula, one.by);
            Some(Limit { formula, symptom: errors(&[ErrorKind::Status500]), ..limit })
        })
        .collect()
}
