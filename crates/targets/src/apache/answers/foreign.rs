//! What may answer a request in a way that is not known: modules that are none of httpd's own, and files of folders that are not evaluated.

use super::of;
use crate::apache::config::modules::directives;
use crate::apache::config::{Config, Found};
use crate::apache::evidence::signature;
use crate::apache::overrides::Overrides;
use crate::product::OwnAnswer;

/// Modules of httpd's own, and what their directives do not tell.
const OWN: [&str; 28] = [
    "asis",
    "authz_host",
    "authz_owner",
    "authz_user",
    "bucketeer",
    "case_filter",
    "case_filter_in",
    "data",
    "dumpio",
    "echo",
    "http2",
    "lbmethod_bybusyness",
    "lbmethod_byrequests",
    "lbmethod_bytraffic",
    "ldap",
    "mpm_event",
    "mpm_prefork",
    "mpm_worker",
    "proxy_ajp",
    "proxy_balancer",
    "proxy_fdpass",
    "proxy_http",
    "proxy_http2",
    "proxy_uwsgi",
    "ratelimit",
    "status",
    "systemd",
    "unique_id",
];
/// Beginnings of modules that answer only by a handler, or nothing.
const HARMLESS: [&str; 6] = ["php", "slotmem_", "socache_", "authn", "log", "ssl_ct"];

/// Those of modules: the line that loads one, or of scripts that look at requests (mod_lua).
pub(super) fn modules(config: &Config) -> Vec<OwnAnswer> {
    let is_own = |name: &str| {
        OWN.contains(&name)
            || HARMLESS.iter().any(|begin| name.starts_with(begin))
            || directives().any(|(_, by)| by.split(',').any(|by| by.strip_prefix("mod_").unwrap_or(by) == name))
    };
    let loads = config.named("loadmodule").filter(|found| {
        let name = found.arg(0).and_then(|name| name.strip_suffix("_module"));
        name.is_some_and(|name| !is_own(name))
    });
    let scripts =
        config.found().iter().filter(|found| found.name.starts_with("luahook") || found.name == "luaquickhandler");
    loads.chain(scripts).map(|found| any(config, found)).collect()
}

/// What may answer in any way that is told as a redirect or a failure.
pub(super) fn any(config: &Config, found: &Found) -> OwnAnswer {
    let when = "it may answer so; what it does is not known".to_owned();
    OwnAnswer { guess: true, when, ..of(config, found, &(300..600).collect::<Vec<_>>()) }
}

/// Those of files of folders: all of them where what they say is not known (then they are told by what lets them count), else each line of them that is
/// not known; and that httpd does not take a line of them, which its log tells.
pub(super) fn files(config: &Config, overrides: &Overrides<'_>) -> Vec<OwnAnswer> {
    let Some(first) = overrides.files.first() else { return Vec::new() };
    let paths = overrides.paths();
    let refused = OwnAnswer {
        signature: Some(signature::OVERRIDE_REFUSED.to_owned()),
        of_path: true,
        kind: "refused",
        when: format!("it lets {paths} count, in which httpd does not take a line: its log says which"),
        ..of(config, first.by, &[500])
    };
    let unknown: Vec<OwnAnswer> = match &overrides.merged {
        None => {
            let when = format!("it lets {paths} count, of which it is not known what they do");
            vec![OwnAnswer { when, ..any(config, first.by) }]
        }
        Some(merged) => {
            let inner = merged.found().iter().skip(config.found().len());
            let is_known = |found: &&Found| {
                found.name.starts_with("php_")
                    || found.section
                    || directives().any(|(known, by)| known.eq_ignore_ascii_case(&found.name) && by != "mod_lua")
            };
            inner.filter(|found| !is_known(found)).map(|found| any(merged, found)).collect()
        }
    };
    unknown.into_iter().chain([refused]).collect()
}
