//! Where a setting is written, for the requests under test.

use super::{Context, LIMIT_CONN, LISTEN_BACKLOG, Named, SSL_SESSION_CACHE, SettingError};
use crate::nginx::config::{Address, Config, Found, Listen, Route, Target, Upstream};

/// The directives that hold a setting for requests of this route: the first is the one in force. Empty where it is not written.
pub(super) fn places<'a>(
    config: &'a Config,
    named: &Named<'_>,
    route: Option<&Route<'a>>,
) -> Result<Vec<Found<'a>>, SettingError> {
    let setting = named.setting;
    let name = setting.directive;
    Ok(match setting.context {
        Context::Main => config.find(&[], name),
        Context::Events => config.find(&["events"], name),
        // Sessions are made and looked for in what the listener has before the client's name is known.
        Context::Http if name == SSL_SESSION_CACHE.directive => {
            let first = route.and_then(|route| config.first_of(route));
            inherited(config, name, first.as_ref().or(route))
        }
        Context::Http => inherited(config, name, route),
        Context::HttpZone => {
            let all = config.find(&["http"], name);
            all.into_iter().filter(|f| named.zone.is_none_or(|z| zone(f).as_deref() == Some(z))).collect()
        }
        Context::Zone => in_zone(config, named, route)?,
        Context::Listen => listens(config, route)?.into_iter().map(|l| l.found).collect(),
        Context::Upstream => {
            let inside = upstream(config, setting.name, route)?.found.inside();
            inside.into_iter().filter(|f| f.directive.is(name)).collect()
        }
        Context::UpstreamServer => {
            upstream(config, setting.name, route)?.servers.into_iter().map(|s| s.found).collect()
        }
    })
}

fn inherited<'a>(config: &'a Config, name: &str, route: Option<&Route<'a>>) -> Vec<Found<'a>> {
    match route {
        Some(route) => route.inherited(name),
        None => config.find(&["http"], name),
    }
}

/// Zone a directive declares or uses: `zone=one:10m`, `zone=one`, or the first argument of `limit_conn`.
pub(super) fn zone(found: &Found<'_>) -> Option<String> {
    let args = found.args();
    if found.directive.is(LIMIT_CONN.directive) {
        return args.into_iter().next();
    }
    let named = args.iter().find_map(|a| a.strip_prefix("zone="))?;
    Some(named.split(':').next().unwrap_or(named).to_owned())
}

/// The `limit_conn` or `limit_req` in force of the zone asked for; without a zone there must be at most one.
fn in_zone<'a>(
    config: &'a Config,
    named: &Named<'_>,
    route: Option<&Route<'a>>,
) -> Result<Vec<Found<'a>>, SettingError> {
    let mut all = inherited(config, named.setting.directive, route);
    // Where nginx passes requests to itself, each further server counts them too.
    for again in route.iter().flat_map(|route| config.through(route).routes) {
        let known: Vec<_> = all.iter().map(zone).collect();
        all.extend(again.inherited(named.setting.directive).into_iter().filter(|f| !known.contains(&zone(f))));
    }
    match named.zone {
        Some(wanted) => Ok(all.into_iter().filter(|f| zone(f).as_deref() == Some(wanted)).collect()),
        None if all.len() > 1 => {
            let name = named.setting.name;
            let zones: Vec<_> = all.iter().filter_map(zone).map(|z| format!("{name}.{z}")).collect();
            Err(SettingError::no_place(name, format!("several are in force; name one of {}", zones.join(", "))))
        }
        None => Ok(all),
    }
}

/// The listeners under test, each as the directive that may carry socket options: nginx takes them once
/// for an address, in whichever server.
fn listens<'a>(config: &'a Config, route: Option<&Route<'a>>) -> Result<Vec<Listen<'a>>, SettingError> {
    let missing = || SettingError::no_place(LISTEN_BACKLOG.name, "the server has no listen directive; add one to it");
    let route = route.ok_or_else(missing)?;
    let all = config.listens();
    let tested = route.listen.as_ref().ok_or_else(missing)?;
    // Its twins (IPv6) have the same port.
    let port = |l: &Listen<'_>| if let Address::Inet { port, .. } = l.address { Some(port) } else { None };
    let mut own = config.listens_of(&route.server);
    own.retain(|l| !l.udp && (l.address == tested.address || (port(l).is_some() && port(l) == port(tested))));
    own.sort_by_key(|l| l.address != tested.address);
    let carrier = |listen: Listen<'a>| {
        let same = |l: &&Listen<'_>| (l.family, l.udp, &l.address) == (listen.family, listen.udp, &listen.address);
        all.iter().filter(same).find(|l| l.bind).cloned().unwrap_or(listen)
    };
    Ok(own.into_iter().map(carrier).collect())
}

/// The upstream group that answers the requests under test: the last one where nginx passes them to itself.
pub(super) fn upstream<'a>(
    config: &'a Config,
    name: &str,
    route: Option<&Route<'a>>,
) -> Result<Upstream<'a>, SettingError> {
    let last = route.and_then(|route| config.through(route).routes.pop());
    let pass = last.as_ref().or(route).and_then(|r| r.pass());
    let missing = |what: &str| SettingError::no_place(name, what);
    let target = match pass.map(|p| p.target) {
        None => return Err(missing("no upstream answers this path; choose a path that is passed to one")),
        Some(Target::Upstream(target)) => target,
        Some(Target::Address(_)) => {
            return Err(missing(
                "the path is passed to an address, not to an upstream block; put the address into one",
            ));
        }
        Some(Target::Variable) => return Err(missing("the upstream is chosen by variables; set it in the file")),
    };
    let named = |u: &Upstream<'_>| u.name.eq_ignore_ascii_case(&target) && u.found.is_under("http");
    config.upstreams().into_iter().find(named).ok_or_else(|| missing("its upstream block was not found"))
}
