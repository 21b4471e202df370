//! Requests that nginx makes besides, for each one of a client: `auth_request` asks before, `mirror` sends a copy meanwhile.

use super::flow;
use super::{Config, Found, Route, Variables};

/// One of them.
#[derive(Clone, Debug)]
pub struct Aside<'a> {
    /// Its directive.
    pub found: Found<'a>,
    /// Whether it is made while the client's own request is (`mirror`), and not before (`auth_request`).
    pub meanwhile: bool,
    /// What serves it; none: a variable says which path is asked.
    pub route: Option<Route<'a>>,
}

/// Directives that make one, and whether it is made meanwhile: ngx_http_auth_request_module.c (the access phase waits for it),
/// ngx_http_mirror_module.c (in the background).
const MAKING: [(&str, bool); 2] = [("auth_request", false), ("mirror", true)];

impl Config {
    /// The requests that nginx makes besides those of `route`.
    pub fn asides<'a>(&'a self, route: &Route<'a>) -> Vec<Aside<'a>> {
        // What nginx answers itself, it mostly does before it asks anybody (`return`: the rewrite phase).
        if route.ways.iter().all(|way| way.status.is_some()) {
            return Vec::new();
        }
        let of = |(name, meanwhile): (&str, bool)| {
            let all = route.inherited(name).into_iter();
            all.filter_map(move |found| {
                let uri = found.arg(0).filter(|uri| uri != "off")?;
                Some(Aside { route: inner(route, &uri), meanwhile, found })
            })
            .collect::<Vec<_>>()
        };
        MAKING.into_iter().flat_map(of).collect()
    }
}

/// What serves a request for `uri` that nginx makes of one of `route` (ngx_http_core_module.c: ngx_http_subrequest: the same server, and
/// `internal` lets it in).
fn inner<'a>(route: &Route<'a>, uri: &str) -> Option<Route<'a>> {
    let known = &route.ways[0].variables;
    let tls = route.listen.as_ref().is_some_and(|listen| listen.ssl);
    let variables = Variables::new(route.server.clone(), tls, known.host.as_deref(), uri);
    let (ways, doubts) = flow::ways(&variables, true);
    let route = Route { redirect: None, listen: route.listen.clone(), server: route.server.clone(), ways, doubts };
    (!uri.contains('$')).then_some(route)
}
