//! Hosts that a configuration passes requests to and that are not this machine. A load test can take a host down, so each
//! must be named by the user before any load goes through.

use std::collections::BTreeSet;

use super::config::{Address, Config, Family, Found, Host, Pass, Protocol, Target};
use genkai_place::remote::{self, Remote};

/// The first way out of this machine in `config` that is not among the hosts `allowed` (each as the configuration writes
/// it). Looks at servers of upstream groups and at every `*_pass`, whichever of them the load would reach: internal
/// redirects and subrequests can lead to all of them. `stream` counts where something in `http` leads into it.
pub fn first(config: &Config, allowed: &[String]) -> Option<Remote> {
    let into_stream = leads_into_stream(config);
    let counts = |family: Family| family == Family::Http || (family == Family::Stream && into_stream);
    let groups = config.upstreams();
    let servers = groups.iter().filter(|u| counts(u.family)).flat_map(|u| &u.servers).filter(|s| !s.down);
    let servers = servers.filter_map(|s| of_address(&s.found, s.address.as_ref()?, allowed));
    let resolver = config.walk().iter().any(|f| f.directive.is("resolver") && !f.is_entry());
    let passes = config.passes();
    let family = |p: &Pass<'_>| if p.protocol == Protocol::Stream { Family::Stream } else { Family::Http };
    let passes = passes.iter().filter(|p| counts(family(p))).filter_map(|pass| match &pass.target {
        Target::Upstream(_) => None,
        Target::Address(address) => of_address(&pass.found, address, allowed),
        Target::Variable => of_variables(config, pass, resolver, allowed),
    });
    servers.chain(passes).next()
}

/// Whether a server of `stream` listens where something in `http` passes to.
fn leads_into_stream(config: &Config) -> bool {
    let ports: BTreeSet<u16> =
        config.listens().iter().filter(|l| l.family == Family::Stream).filter_map(|l| port(&l.address)).collect();
    let groups = config.upstreams();
    let servers = groups.iter().filter(|u| u.family == Family::Http).flat_map(|u| &u.servers);
    let mut targets = servers.filter_map(|s| port(s.address.as_ref()?));
    let passes = config.passes();
    let mut direct = passes.iter().filter(|p| p.protocol != Protocol::Stream).filter_map(|p| match &p.target {
        Target::Address(address) => port(address),
        _ => None,
    });
    targets.any(|p| ports.contains(&p)) || direct.any(|p| ports.contains(&p))
}

fn port(address: &Address) -> Option<u16> {
    match address {
        Address::Inet { port, .. } => Some(*port),
        Address::Unix(_) => None,
    }
}

fn of_address(found: &Found<'_>, address: &Address, allowed: &[String]) -> Option<Remote> {
    let Address::Inet { host, .. } = address else { return None };
    let host = match host {
        Host::V4(ip) => ip.to_string(),
        Host::V6(ip) => ip.to_string(),
        Host::Name(name) => name.clone(),
    };
    refused(found, &host, allowed)
}

/// Why `host`, which `found` names, cannot be loaded.
fn refused(found: &Found<'_>, host: &str, allowed: &[String]) -> Option<Remote> {
    remote::check(host, allowed, || format!("{}: `{}`", found.place(), found.written())).err()
}

/// A pass whose host has variables. With a resolver it can lead anywhere, unless the host is one variable that is only ever
/// given values that are known. Without one nginx knows upstream groups, which are looked at, and addresses
/// (`ngx_http_upstream_init_request`: "no resolver defined to resolve"): those written in values are looked at here.
fn of_variables(config: &Config, pass: &Pass<'_>, resolver: bool, allowed: &[String]) -> Option<Remote> {
    let groups = config.upstreams();
    let values = sole(&pass.authority).map(|name| values(config, name)).unwrap_or_default();
    let mut known = !values.is_empty();
    for (found, value) in &values {
        let host = value.split_once("://").map_or(&**value, |(_, rest)| rest);
        let host = host.split(['/', '?']).next().unwrap_or(host);
        if groups.iter().any(|g| g.name.eq_ignore_ascii_case(host)) {
            continue;
        }
        match Address::parse(host, false, 80) {
            Some((Address::Inet { host: Host::Name(_), .. }, _)) if !resolver => {}
            Some((address, _)) => match of_address(found, &address, allowed) {
                Some(bad) => return Some(bad),
                None => continue,
            },
            None => known = false,
        }
    }
    if resolver && !known { refused(&pass.found, &pass.authority, allowed) } else { None }
}

/// The variable that a text is: `$name` or `${name}`.
pub(super) fn sole(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let name = rest.strip_prefix('{').map_or(Some(rest), |rest| rest.strip_suffix('}'))?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then_some(name)
}

/// What makes a variable of others that is one of the values written within.
const CHOOSING: [&str; 3] = ["map", "geo", "split_clients"];

/// What `set`, `map`, `geo` and `split_clients` give the variable, with the place of each.
pub(super) fn values<'a>(config: &'a Config, variable: &str) -> Vec<(Found<'a>, String)> {
    let is = |text: Option<String>| {
        text.is_some_and(|text| text.strip_prefix('$').is_some_and(|name| name.eq_ignore_ascii_case(variable)))
    };
    // Words of a block that are no entries.
    let odd = ["include", "proxy", "delete"];
    let mut all = Vec::new();
    for found in config.walk() {
        if found.directive.is("set") && !found.is_entry() && is(found.arg(0)) {
            all.extend(found.arg(1).map(|value| (found, value)));
        } else if CHOOSING.iter().any(|name| found.directive.is(name)) && is(found.args().pop()) {
            let entries = found.inside().into_iter().filter(|e| !odd.iter().any(|word| e.directive.is(word)));
            all.extend(entries.filter_map(|e| e.arg(0).map(|value| (e, value))));
        }
    }
    all
}
