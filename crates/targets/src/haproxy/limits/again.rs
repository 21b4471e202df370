//! Requests that HAProxy passes to itself: each time they take one of its connections more.

use std::borrow::Cow;
use std::collections::BTreeSet;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Signature, Strength, Symptom};

use super::bound::of_bind;
use super::capacity::Capacity;
use super::elsewhere::queued;
use crate::files::Requests;
use crate::haproxy::config::{Config, Section};
use crate::haproxy::evidence::{of_frontend, signature};
use crate::haproxy::proxy::{self, Mode, Server, first_parameter};
use crate::haproxy::route::{Address, Bind, Route, binds};
use crate::haproxy::settings::{FRONTEND_MAXCONN, SERVER_MAXCONN, TIMEOUT_CONNECT, TIMEOUT_QUEUE, value};
use crate::limits::{at_once, log, reached_of, valued};
use crate::settings::SourcedValue;
use genkai_place::endpoint::Endpoint;

/// Requests that are passed on more often than this go in a circle.
const MOST: u64 = 16;

/// How often a request comes in at HAProxy, the client's own time with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// So often.
    Times(u64),
    /// Some servers lead back to HAProxy and some do not, or it goes in a circle.
    Untold,
}

impl Passes {
    /// Of the requests that take this way.
    pub(super) fn of(config: &Config, route: Option<&Route<'_>>, requests: &Requests) -> Passes {
        let (ways, is_told) = ways(config, route, requests);
        if is_told { Passes::Times(ways.len().max(1) as u64) } else { Passes::Untold }
    }

    /// Connections of HAProxy that a client takes while its request is served; none where that is not known.
    pub(super) fn connections(self) -> Option<f64> {
        match self {
            Passes::Times(times) => Some(times as f64),
            Passes::Untold => None,
        }
    }

    /// What a formula says of it; nothing where it comes in once.
    pub(super) fn said(self) -> String {
        match self {
            Passes::Times(1) => String::new(),
            Passes::Times(times) => {
                format!(
                    "; HAProxy passes requests to itself: a client in flight holds {times} of its connections, an idle one 1"
                )
            }
            Passes::Untold => {
                "; some servers lead back to HAProxy itself: how many of its connections a client holds is not known"
                    .to_owned()
            }
        }
    }
}

/// Each way that a request takes through HAProxy, the client's own first, and whether that is all of them: where only some servers lead back, or it
/// goes in a circle, it is not. An answer of HAProxy's own is the last way.
pub(in crate::haproxy) fn ways<'c>(
    config: &'c Config,
    route: Option<&Route<'c>>,
    requests: &Requests,
) -> (Vec<Route<'c>>, bool) {
    let (mut all, mut now) = (Vec::new(), route.cloned());
    while let Some(route) = now {
        let servers = if route.answered.is_some() { Vec::new() } else { route.servers(config) };
        let onward: Vec<Option<(&Section, Bind<'_>)>> =
            servers.iter().map(|server| own(config, &Address::parse(&reached(config, target(server)?)))).collect();
        all.push(route);
        let Some(next) = onward.first().cloned() else { return (all, true) };
        if onward.iter().any(|one| *one != next) {
            let leaves = onward.iter().all(Option::is_none);
            return (all, leaves);
        }
        let Some((front, bind)) = next else { return (all, true) };
        if all.len() as u64 == MOST {
            return (all, false);
        }
        now = Some(Route::of(config, front, bind, requests));
    }
    (all, true)
}

/// Names of the servers of a way that are listeners of the same HAProxy.
pub(super) fn own_servers(config: &Config, way: &Route<'_>) -> Vec<String> {
    let is_own = |server: &&Server<'_>| {
        target(server).is_some_and(|text| own(config, &Address::parse(&reached(config, text))).is_some())
    };
    way.servers(config).iter().filter(is_own).flat_map(|server| server.names().collect::<Vec<_>>()).collect()
}

/// The same of each way that a request takes, as `BACKEND/SERVER`.
pub(in crate::haproxy) fn leading_back(
    config: &Config,
    route: Option<&Route<'_>>,
    requests: &Requests,
) -> BTreeSet<String> {
    let (ways, _) = ways(config, route, requests);
    let of = |way: &Route<'_>| {
        let back = way.back.filter(|_| way.answered.is_none()).map(|back| back.name.clone()).unwrap_or_default();
        own_servers(config, way).into_iter().map(move |server| format!("{back}/{server}")).collect::<Vec<_>>()
    };
    ways.iter().flat_map(of).collect()
}

/// What a request meets when it comes in again.
#[derive(Clone, Debug)]
pub struct Again {
    /// The section that takes it.
    front: String,
    /// Its name.
    name: String,
    /// The backend that leads there.
    from: String,
    /// How many wait to be accepted before further ones are refused at once; none: further ones wait for an answer (TCP).
    refused_from: Option<u64>,
    /// Connections at once of that section, and of its listener, where they say so, with the setting.
    connections: Vec<(&'static str, SourcedValue<u64>)>,
    /// The section whose servers get it, how many of these at once, and how long one waits, where anything waits.
    servers: Option<(String, Capacity, Option<f64>)>,
    /// Whether it speaks HTTP.
    http: bool,
    /// Whether more than the configuration decides that requests come here.
    unsure: bool,
}

impl Again {
    /// Of each way but the first.
    pub(super) fn all(config: &Config, route: Option<&Route<'_>>, requests: &Requests, process: u64) -> Vec<Again> {
        let (ways, is_told) = ways(config, route, requests);
        let mut unsure = !is_told;
        let (mut all, mut seen, mut from) = (Vec::new(), Vec::new(), String::new());
        for way in &ways {
            unsure |= !way.doubts.is_empty();
            let front = way.front.title();
            // Where they go in a circle a section is told once.
            let is_new = !seen.contains(&front);
            seen.push(front);
            if seen.len() > 1 && is_new {
                all.push(Again { from: from.clone(), ..Again::of(config, way, requests, process, unsure) });
            }
            from = way.back.map(|back| back.name.clone()).unwrap_or_default();
        }
        all
    }

    fn of(config: &Config, way: &Route<'_>, requests: &Requests, process: u64, unsure: bool) -> Again {
        let maxconn = FRONTEND_MAXCONN.directive;
        let front = proxy::number(config, way.front, maxconn).map(|held| (FRONTEND_MAXCONN.name, held));
        let bind = of_bind(config, way, maxconn).map(|held| ("bind.maxconn", held));
        let connections = front.into_iter().chain(bind).filter(|(_, held)| (1..process).contains(&held.value));
        let back = way.back.filter(|_| way.answered.is_none());
        let servers = back.and_then(|back| {
            let held = Capacity::of(config, back, &way.servers(config), process, &requests.path)?;
            Some((back.name.clone(), held, wait(config, back)))
        });
        let http = proxy::mode(config, way.front) == Mode::Http;
        let connections: Vec<_> = connections.collect();
        let is_unix = way.bind.addresses.iter().any(|address| matches!(address, Address::Unix(_)));
        let least = connections.iter().map(|(_, held)| held.value).min().unwrap_or(process);
        Again {
            front: way.front.title(),
            name: way.front.name.clone(),
            from: String::new(),
            refused_from: is_unix.then(|| waiting(config, way, least)),
            connections,
            servers,
            http,
            unsure,
        }
    }

    /// Its limits. What lifts them is in another section than the one whose settings are changed: no remedy is told.
    pub(super) fn limits(&self) -> Vec<Limit> {
        let known = |law: Law| if self.unsure { Law::Unknown } else { law };
        let passed = "HAProxy passes requests to itself";
        let unsure = if self.unsure { "; cannot tell how many come here" } else { "" };
        let least = self.connections.iter().map(|(_, held)| held.value).min();
        let refusal = if self.http { ErrorKind::Status503 } else { ErrorKind::EofNew };
        let then = match self.refused_from {
            Some(queue) => format!(
                ", where {queue} have room; those beyond are refused, which HAProxy answers as if a server refused"
            ),
            None => String::new(),
        };
        let capped = self.connections.iter().map(move |(setting, held)| Limit {
            caps: format!(
                "connections of HAProxy's own at once to `{}`; further ones wait in its accept queue{then}",
                self.front
            ),
            law: known(match self.refused_from {
                Some(queue) => {
                    Law::Workers { workers: held.value as f64, queue: Some(queue as f64), service: None, wait: None }
                }
                None => at_once(held.value as f64, 1.0),
            }),
            formula: format!("maxconn {} where {passed}{unsure}", held.value),
            source: "HAProxy src/listener.c: listener_accept (what is full stops accepting)".to_owned(),
            signatures: self.full(setting, least == Some(held.value)),
            symptom: Symptom { errors: vec![ErrorKind::Timeout, refusal], slow: true },
            ..valued(&format!("haproxy.{setting}.{}", self.front.replace(' ', ".")), "haproxy", setting, held)
        });
        let waiting = self.servers.iter().map(|(name, held, wait)| Limit {
            value: held.written.clone(),
            origin: held.origin.clone(),
            caps: format!("requests that the servers of `{name}` get at once; further ones wait in HAProxy's queue"),
            law: known(held.law(self.http, *wait)),
            formula: format!("{}; {passed}{unsure}", held.formula),
            source: "HAProxy configuration manual 5.2, `maxconn`; 4.2, `timeout queue`".to_owned(),
            signatures: queued(name),
            symptom: Symptom { errors: vec![ErrorKind::Status503], slow: true },
            ..Limit::named(&format!("haproxy.server.maxconn.{name}"), "haproxy", SERVER_MAXCONN.name)
        });
        capped.chain(waiting).collect()
    }

    /// The signs that it has no room for a connection of HAProxy's own: of several caps the lowest one's.
    fn full(&self, setting: &str, is_lowest: bool) -> Vec<Signature> {
        let refused = [signature::SERVER_REFUSED, signature::SERVER_SLOW_CONNECT];
        let logged = refused.iter().filter(|_| is_lowest);
        let logged = logged.map(|name| log(&signature::of_backend(name, &self.from), Strength::Decisive));
        let metric = |what: &str| format!("haproxy.{}", of_frontend(&self.name, what));
        let full = reached_of(&metric("sessions"), &metric("sessions_limit"), 1.0, Strength::Supports);
        logged.chain((setting == FRONTEND_MAXCONN.name).then_some(full)).collect()
    }
}

/// How many connections wait to be accepted by a listener of a way (src/listener.c: listener_backlog), one more than listen(2) is told.
fn waiting(config: &Config, way: &Route<'_>, connections: u64) -> u64 {
    let own = of_bind(config, way, "backlog").or_else(|| proxy::number(config, way.front, "backlog"));
    own.filter(|held| held.value > 0).map_or(connections, |held| held.value).saturating_add(1)
}

/// How many seconds a request may wait for a server of a section.
fn wait(config: &Config, back: &Section) -> Option<f64> {
    let of = |key: &str| {
        let millis = value::lenient_time(&config.value(back, key)?.words.get(2)?.value)?.0;
        (millis > 0).then_some(millis as f64 / 1e3)
    };
    of(TIMEOUT_QUEUE.directive).or_else(|| of(TIMEOUT_CONNECT.directive))
}

/// Where a server's line leads.
pub(super) fn target<'c>(server: &Server<'c>) -> Option<&'c str> {
    server.found.arg(first_parameter(server.found) - 1)
}

/// Where a server's address leads once HAProxy has changed its root (`chroot`): sockets are looked for below it, addresses are as they are written.
pub(in crate::haproxy) fn reached<'t>(config: &Config, text: &'t str) -> Cow<'t, str> {
    let root = config.global("chroot").and_then(|found| found.arg(0)).map(|root| root.trim_end_matches('/'));
    match (root, Address::parse(text)) {
        (Some(root), Address::Unix(path)) if path.starts_with('/') => Cow::Owned(format!("unix@{root}{path}")),
        _ => Cow::Borrowed(text),
    }
}

/// Whether one of the servers of a way is HAProxy itself.
pub(super) fn leads_back(config: &Config, way: &Route<'_>) -> bool {
    way.servers(config)
        .iter()
        .filter_map(target)
        .any(|text| own(config, &Address::parse(&reached(config, text))).is_some())
}

/// Where the servers that requests get to are, HAProxy itself not among them.
pub(super) fn behind(config: &Config, route: Option<&Route<'_>>, requests: &Requests) -> Vec<Endpoint> {
    let (ways, _) = ways(config, route, requests);
    let served = ways.iter().filter(|way| way.answered.is_none());
    let servers: Vec<Server<'_>> = served.flat_map(|way| way.servers(config)).collect();
    let texts = servers.iter().filter_map(target).map(|text| reached(config, text));
    texts
        .filter(|text| own(config, &Address::parse(text)).is_none())
        .filter_map(|text| Endpoint::parse(&text))
        .collect()
}

/// The listener of the same HAProxy at an address.
fn own<'c>(config: &'c Config, address: &Address) -> Option<(&'c Section, Bind<'c>)> {
    let fronts = config.sections().iter().filter(|section| section.is_front());
    let mut all = fronts.flat_map(|front| binds(config, front).into_iter().map(move |bind| (front, bind)));
    all.find(|(_, bind)| bind.addresses.iter().any(|listens| listens.takes(address)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    const FRONTS: &str = "defaults\n mode http\nfrontend a\n bind 127.0.0.1:80\n default_backend loop\nfrontend b\n bind *:81,/run/b.sock\n \
                          default_backend real\nbackend real\n server r 127.0.0.1:9\n";

    fn passes(servers: &str) -> Passes {
        let text = format!("{FRONTS}backend loop\n{servers}");
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let requests = Requests::default();
        Passes::of(&config, Route::find(&config, &requests).as_ref(), &requests)
    }

    #[test]
    fn a_request_is_followed_back_into_haproxy() {
        assert_eq!(passes(" server s 127.0.0.1:9\n"), Passes::Times(1));
        assert_eq!(passes(" server s 127.0.0.1:81\n"), Passes::Times(2));
        assert_eq!(passes(" server s unix@/run/b.sock\n"), Passes::Times(2));
        assert_eq!(passes(" server s 127.0.0.1:81\n server t 127.0.0.1:81\n"), Passes::Times(2));
        assert_eq!(passes(" server s 127.0.0.1:82\n server t 127.0.0.1:83\n"), Passes::Times(1));
    }

    #[test]
    fn what_caps_requests_when_they_come_in_again_is_told() {
        let told = |inner: &str, server: &str| {
            let text = format!(
                "defaults\n mode http\n timeout queue 2s\nfrontend a\n bind 127.0.0.1:80\n default_backend loop\nbackend loop\n \
                 server s 127.0.0.1:81\nfrontend b\n bind 127.0.0.1:81{inner}\n default_backend real\nbackend real\n server r 127.0.0.1:9{server}\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let requests = Requests::default();
            let all = Again::all(&config, Route::find(&config, &requests).as_ref(), &requests, 500);
            let limits = all.iter().flat_map(Again::limits);
            limits.map(|limit| (limit.id, limit.value, limit.law != Law::Unknown)).collect::<Vec<_>>()
        };
        let limit = |id: &str, value: &str, is_known| (id.to_owned(), value.to_owned(), is_known);
        assert_eq!(told("", ""), []);
        assert_eq!(told("", " maxconn 3"), [limit("haproxy.server.maxconn.real", "3", true)]);
        assert_eq!(told("\n maxconn 7", ""), [limit("haproxy.frontend.maxconn.frontend.b", "7", true)]);
        assert_eq!(told(" maxconn 5", ""), [limit("haproxy.bind.maxconn.frontend.b", "5", true)]);
        assert_eq!(told("\n maxconn 900", ""), [], "the process takes fewer");
        let rule = "\n use_backend other if { src 10.0.0.0/8 }";
        assert_eq!(told(rule, " maxconn 3"), [limit("haproxy.server.maxconn.real", "3", false)]);
        let circle = told("\n maxconn 7", "\n server t 127.0.0.1:81");
        let ids: std::collections::BTreeSet<&String> = circle.iter().map(|(id, ..)| id).collect();
        assert_eq!(ids.len(), circle.len(), "each once, however often they come in: {circle:?}");
    }

    #[test]
    fn a_full_listener_of_its_own_is_told_by_what_its_server_refuses() {
        let signs = |listener: &str, inner: &str| {
            let text = format!(
                "defaults\n mode http\nfrontend a\n bind 127.0.0.1:80\n default_backend loop\nbackend loop\n server in {listener}\n\
                 frontend b\n bind {listener}{inner}\n default_backend real\nbackend real\n server r 127.0.0.1:9\n"
            );
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let requests = Requests::default();
            let route = Route::find(&config, &requests);
            let own = leading_back(&config, route.as_ref(), &requests);
            assert_eq!(own.into_iter().collect::<Vec<_>>(), ["loop/in"], "{listener}");
            let limits =
                Again::all(&config, route.as_ref(), &requests, 500).iter().flat_map(Again::limits).collect::<Vec<_>>();
            let is_decisive = |limit: &Limit| {
                let refused = log("haproxy.refused.SC.loop", Strength::Decisive);
                limit.signatures.contains(&refused)
            };
            let all = limits.iter().map(|limit| (limit.value.clone(), is_decisive(limit), limit.law.clone()));
            all.collect::<Vec<_>>()
        };
        let queue = |workers: f64, queue| Law::Workers { workers, queue: Some(queue), service: None, wait: None };
        assert_eq!(signs("abns@in", "\n maxconn 30"), [("30".to_owned(), true, queue(30.0, 31.0))]);
        assert_eq!(signs("127.0.0.1:81", "\n maxconn 30"), [("30".to_owned(), true, at_once(30.0, 1.0))]);
        let both: Vec<_> = signs("/run/in.sock", " maxconn 20 backlog 5\n maxconn 30");
        let told: Vec<_> = both.iter().map(|(value, is_decisive, _)| (value.as_str(), *is_decisive)).collect();
        assert_eq!((told, &both[1].2), (vec![("30", false), ("20", true)], &queue(20.0, 6.0)), "the lowest is full");
    }

    #[test]
    fn what_is_behind_is_not_haproxy_itself() {
        let behind = |servers: &str| {
            let text = format!("{FRONTS}backend loop\n{servers}");
            let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
            let requests = Requests::default();
            let route = Route::find(&config, &requests).unwrap();
            let all = behind(&config, Some(&route), &requests).iter().map(Endpoint::to_string).collect::<Vec<_>>();
            (all, leads_back(&config, &route))
        };
        assert_eq!(behind(" server s 127.0.0.1:81\n"), (vec!["127.0.0.1:9".to_owned()], true));
        assert_eq!(behind(" server s 127.0.0.1:7\n"), (vec!["127.0.0.1:7".to_owned()], false));
        assert_eq!(behind(" server s 127.0.0.1:81\n server t 127.0.0.1:7\n"), (vec!["127.0.0.1:7".to_owned()], true));
    }

    #[test]
    fn where_only_some_servers_lead_back_or_all_in_a_circle_nothing_is_told() {
        assert_eq!(passes(" server s 127.0.0.1:81\n server t 127.0.0.1:9\n"), Passes::Untold);
        assert_eq!(passes(" server s 127.0.0.1:80\n"), Passes::Untold);
    }
}
