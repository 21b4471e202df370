//! Directives of modules that are none of nginx's own, and scripts: they may answer a request in any way, and in no words that are known.

use super::scopes;
use crate::files::names::table;
use crate::nginx::config::{Found, Route, Stage};

/// Every directive of nginx's own modules.
static OWN: &str = include_str!("../explain/directives.txt");
/// Beginnings of directives from elsewhere that answer nothing.
const HARMLESS: [&str; 14] = [
    "lua_",
    "set_by_lua",
    "init_",
    "log_by_lua",
    "balancer_by_lua",
    "js_import",
    "js_path",
    "js_set",
    "js_var",
    "more_",
    "brotli",
    "zstd",
    "vhost_traffic_status_",
    "geoip2",
];

/// Those in force at a location that may answer before nginx's own modules do.
pub(super) fn foreign<'a>(route: &Route<'a>, stage: &Stage<'a>) -> Vec<Found<'a>> {
    let mut seen: Vec<String> = Vec::new();
    let mut all = Vec::new();
    for found in scopes(route, stage, None).iter().flat_map(Found::inside) {
        let name = String::from_utf8_lossy(found.directive.name()).into_owned();
        let is_own = || table(OWN).any(|(own, _)| own == name) && !name.starts_with("perl");
        if seen.contains(&name) || HARMLESS.iter().any(|begin| name.starts_with(begin)) || is_own() {
            continue;
        }
        seen.push(name);
        let is_off = found.args().iter().any(|arg| arg == "off");
        all.extend((!is_off).then_some(found));
    }
    all
}
