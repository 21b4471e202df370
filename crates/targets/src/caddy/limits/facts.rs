//! Values in force, from which limits are computed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use genkai_model::limit::Origin;
use genkai_model::units::Span;

use super::Absent;
use crate::caddy::config::{Config, Line, Word};
use crate::caddy::route::{Address, Ports, Route, Upstream, answers_are_told, upstreams};
use crate::caddy::settings::*;
use crate::caddy::settings::{in_force, value};
use crate::files::Requests;
use crate::limits::backend::{Place, nobody_at, nobody_listens};
use crate::limits::slots::Takes;
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

/// Descriptors of a Caddy with the private copy's endpoint and logs, its listeners apart: standard streams, epoll and its
/// wake-up, the endpoint, what Go and Caddy keep open (counted in /proc/PID/fd of 2.6.2: 10 with one listener).
const OWN: u64 = 9;

/// What the limits of one configuration for one kind of request are computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Descriptors of the process. Go raises its soft limit to the hard one.
    pub nofile: SourcedValue<u64>,
    /// Descriptors that are never a client's.
    pub own: u64,
    /// Descriptors that a client takes whose request is in flight.
    pub(crate) takes: Takes,
    /// Who passes requests on: the upstreams as written; empty where nobody does.
    pub upstreams: SourcedValue<()>,
    /// The upstream, where there is one alone and nothing else may take the requests: with the place of its `reverse_proxy`.
    pub lone: Option<Place>,
    /// How many different ones there are.
    pub count: u64,
    /// Those of them at whose address nobody listens.
    pub absent: Absent,
    /// Whether all requests of one client, or for one path, go to the same of them (`lb_policy`), and which policy says so.
    pub together: Option<String>,
    /// Each of several by the address at which it is reached.
    pub each: BTreeMap<String, SourcedValue<()>>,
    /// Whether each of them is chosen as often as the others, as long as it is up: in turn, or at random.
    pub in_turn: bool,
    /// Whether requests are spread evenly over them.
    pub even: bool,
    /// Whether upstreams take TLS.
    pub encrypted: bool,
    /// Whether connections to upstreams carry several requests at once: HTTP/2, with TLS or without.
    pub multiplexed: bool,
    /// The host of the requests.
    pub asked: String,
    /// Directives before the proxy of which it is not known whether they take the requests, in words; empty: none.
    pub unsure: String,
    /// Where they are reached; names that must be resolved are not among them.
    pub behind: Vec<Endpoint>,
    /// How many of them have an address and a port, so that local ports are used.
    pub inet: u64,
    /// Requests that each gets at once (`unhealthy_request_count`).
    pub max_requests: Option<SourcedValue<u64>>,
    /// How long an upstream that failed gets no requests (`fail_duration`); none: failures are not counted.
    pub fail_duration: Option<SourcedValue<Span>>,
    /// By what upstreams are asked now and then whether they are well (`health_uri` and others).
    pub health_checks: Option<(String, SourcedValue<()>)>,
    /// `max_fails` as written.
    pub max_fails: String,
    /// The directive by which Caddy judges upstreams without being told how many failures are too many, so that versions up to
    /// [`TAKES_NONE`] hold every one for down; none: there is no such one.
    pub no_fails_allowed: Option<(String, SourcedValue<()>)>,
    /// Connections to each at once (`max_conns_per_host`).
    pub max_conns: Option<SourcedValue<u64>>,
    /// The same of servers that are asked before (`forward_auth`); none: how many requests one takes is not known.
    pub authorities: Vec<(SourcedValue<u64>, Option<u64>)>,
    /// How long a request may wait for an upstream that takes it (`lb_try_duration`).
    pub try_duration: SourcedValue<Span>,
    /// How long a connect may last.
    pub dial_timeout: SourcedValue<Span>,
    /// How long a connection is kept for a next request.
    pub idle: SourcedValue<Span>,
    /// How long the head of an answer may take.
    pub response_header_timeout: Option<SourcedValue<Span>>,
    /// How long an upstream may be silent.
    pub read_timeout: Option<SourcedValue<Span>>,
    /// Whether the load opens WebSocket connections.
    pub websocket: bool,
    /// Largest request body, bytes.
    pub body: Option<SourcedValue<u64>>,
    /// net.core.somaxconn.
    pub somaxconn: u32,
    /// Cores that it may use.
    pub cores: u32,
    /// Local ports, first and last.
    pub ports: (u16, u16),
}

impl Facts {
    /// The facts of `config` for these requests on this machine. `running`: the copy
    /// that runs, where there is one, with its own listeners and upstreams.
    pub fn of(config: &Config, running: Option<&Config>, requests: &Requests, machine: &Machine) -> Facts {
        Facts::without(config, running, requests, machine, &nobody_listens)
    }

    /// The same where nobody listens at some addresses.
    pub(super) fn without(
        config: &Config,
        running: Option<&Config>,
        requests: &Requests,
        machine: &Machine,
        nobody: &dyn Fn(SocketAddr) -> bool,
    ) -> Facts {
        let actual = running.unwrap_or(config);
        let route = Route::find(config, requests);
        let names = |route: &Route<'_>| route.upstreams().iter().map(|w| w.value.clone()).collect::<Vec<_>>();
        let running_route = Route::find(actual, requests);
        let now = running_route.as_ref().map(names).unwrap_or_default();
        let dialled = |all: &[String]| all.iter().map(|text| Upstream::parse(text).dial()).collect::<BTreeSet<_>>();
        let distinct = dialled(&now);
        let asked_of = running_route.as_ref().and_then(|route| route.proxy);
        // A copy with another backend asks nobody before.
        let asked = running_route.as_ref().map_or(0, |route| route.authorities.len());
        let set_time = |setting: &Setting| {
            let held = written(config, setting, requests, |text| value::time(text).map(Span::from));
            held.filter(|held| !held.value.is_zero())
        };
        let counted = |setting: &Setting| written(config, setting, requests, number).filter(|held| held.value > 0);
        let max_requests = counted(&UNHEALTHY_REQUEST_COUNT);
        let fail_duration = set_time(&FAIL_DURATION);
        let forgiving = counted(&MAX_FAILS).is_some() || fail_duration.is_some();
        Facts {
            nofile: SourcedValue::plain(machine.descriptors_hard, Origin::Machine("hard RLIMIT_NOFILE".to_owned())),
            own: OWN + listeners(actual) + u64::from(running.is_some_and(answers_are_told)),
            takes: route.as_ref().map_or(Takes::always(1), |route| takes(route, asked)),
            upstreams: SourcedValue {
                value: (),
                written: route.as_ref().map(|route| names(route).join(", ")).unwrap_or_default(),
                origin: Origin::Given,
            },
            lone: route.as_ref().and_then(|route| lone(config, route)),
            count: distinct.len() as u64,
            absent: match running {
                Some(_) => {
                    let own = route.as_ref().map(|route| dialled(&names(route))).unwrap_or_default();
                    Absent::of(&own, &distinct, (asked_of, fail_duration.is_some()), nobody)
                }
                None => Absent::default(),
            },
            together: route.as_ref().and_then(|route| route.proxy).and_then(together),
            each: if distinct.len() > 1 { each(config, requests) } else { BTreeMap::new() },
            in_turn: route.as_ref().and_then(|route| route.proxy).is_some_and(is_in_turn),
            even: route.as_ref().and_then(|route| route.proxy).is_some_and(is_even),
            encrypted: route.as_ref().and_then(|route| route.proxy).is_some_and(is_encrypted),
            multiplexed: route.as_ref().and_then(|route| route.proxy).is_some_and(is_multiplexed),
            asked: requests.host.clone(),
            unsure: route.as_ref().map(|route| unsure(config, route)).unwrap_or_default(),
            behind: distinct.iter().filter_map(|text| Endpoint::parse(text)).collect(),
            inet: distinct.iter().filter(|text| Upstream::parse(text).host.is_some()).count() as u64,
            max_fails: in_force(config, &MAX_FAILS, requests).written,
            no_fails_allowed: route
                .as_ref()
                .and_then(|route| route.proxy)
                .filter(|_| !forgiving)
                .and_then(|proxy| first(config, proxy, &JUDGING)),
            max_requests,
            fail_duration,
            health_checks: route
                .as_ref()
                .and_then(|route| first(config, route.proxy?, &CHECKING))
                .map(|(name, held)| (name, SourcedValue { written: bare(&held.written), ..held })),
            max_conns: counted(&MAX_CONNS_PER_HOST),
            authorities: super::authorities::of(config, route.as_ref().filter(|_| asked > 0)),
            try_duration: time(config, &LB_TRY_DURATION, requests),
            dial_timeout: time(config, &DIAL_TIMEOUT, requests),
            idle: time(config, &IDLE, requests),
            response_header_timeout: set_time(&RESPONSE_HEADER_TIMEOUT),
            read_timeout: set_time(&READ_TIMEOUT),
            websocket: requests.websocket,
            body: written(config, &MAX_SIZE, requests, value::size),
            somaxconn: machine.somaxconn,
            cores: machine.cores,
            ports: machine.ports,
        }
    }

    /// The same for this version, e.g. `2.6.2`.
    pub(in crate::caddy) fn in_version(self, version: &str) -> Facts {
        let numbers: Vec<u64> = version.split(['.', '-']).map_while(|number| number.parse().ok()).collect();
        let forgives = numbers.as_slice() > TAKES_NONE.as_slice();
        Facts { no_fails_allowed: self.no_fails_allowed.filter(|_| !forgives), ..self }
    }

    /// A formula, with what it leaves out.
    pub(super) fn unless(&self, formula: &str) -> String {
        let formula = format!("{formula} (requests to {})", self.asked);
        match self.unsure.is_empty() {
            true => formula,
            false => format!(
                "{formula}; unless the requests meet one of these before, which is not evaluated: {}",
                self.unsure
            ),
        }
    }

    /// How many upstreams get requests.
    pub(super) fn there(&self) -> u64 {
        self.count - if self.absent.down { self.absent.at.len() as u64 } else { 0 }
    }

    /// Whether it is known how many requests at once the upstreams get.
    pub(super) fn are_told(&self) -> bool {
        self.absent.at.is_empty() || self.absent.down
    }

    /// What a formula says of those that are not there.
    pub(super) fn absent(&self) -> String {
        match self.are_told() {
            true => nobody_at(&self.absent.at),
            false => format!(
                "; nobody listens at {}, and nothing keeps requests from there (no fail_duration): cannot tell how many are served at once",
                self.absent.at.join(", ")
            ),
        }
    }

    /// `1 upstream`, `3 upstreams`: of those that get requests.
    pub(super) fn counted(&self) -> String {
        crate::limits::counted(self.there(), "upstream")
    }
}

/// What a client takes: one, and one more for its upstream; connections of HTTP/2 to an upstream are shared, and a file is open while it is
/// read. A server that is asked before (`forward_auth`) may have one for as long as the request lasts: Caddy 2.6.2 with 100 descriptors held 30 clients where
/// that answered with a body, and 44 where it did not.
fn takes(route: &Route<'_>, asked: usize) -> Takes {
    let takes = of_answer(route);
    Takes { most: takes.most + asked as u64, ..takes }
}

/// The same without those that are asked before.
fn of_answer(route: &Route<'_>) -> Takes {
    match route.proxy {
        _ if !route.unsure.is_empty() => Takes { fewest: 1, most: 2 },
        Some(proxy) if is_multiplexed(proxy) => Takes { fewest: 1, most: 2 },
        Some(_) => Takes::always(2),
        None if route.file => Takes { fewest: 1, most: 2 },
        None => Takes::always(1),
    }
}

/// The directives by which upstreams are judged by what becomes of requests (`reverse_proxy`, passive health checks), those first that say how.
const JUDGING: [&str; 5] =
    ["unhealthy_request_count", "unhealthy_status", "unhealthy_latency", "max_fails", "fail_duration"];
/// The last version in which no `max_fails` means that none is allowed, once upstreams are judged (modules/caddyhttp/reverseproxy/reverseproxy.go:
/// Provision; since 2.7.5 it is 1 then).
pub(in crate::caddy) const TAKES_NONE: [u64; 3] = [2, 7, 4];

/// The directives by which a proxy asks its upstreams whether they are well.
const CHECKING: [&str; 3] = ["health_uri", "health_path", "health_port"];

/// The first of such directives, with its value and place.
fn first(config: &Config, proxy: &Line, of: &[&'static str]) -> Option<(String, SourcedValue<()>)> {
    let (name, line) = of.iter().copied().find_map(|name| Some((name, proxy.option(name)?)))?;
    let words: Vec<&str> = line.args().iter().map(|word| word.value.as_str()).collect();
    let origin = Origin::File { path: config.file(line.file).path.clone(), line: line.number };
    Some((name.to_owned(), SourcedValue { value: (), written: words.join(" "), origin }))
}

/// Several upstreams by the addresses at which they are reached, with the place of their `reverse_proxy`; empty where there is one, or where an
/// address is another for each request.
pub(crate) fn each(config: &Config, requests: &Requests) -> BTreeMap<String, SourcedValue<()>> {
    let Some(route) = Route::find(config, requests) else { return BTreeMap::new() };
    let Some(proxy) = route.proxy else { return BTreeMap::new() };
    let named = |word: &Word| {
        let dial = Upstream::parse(&word.value).dial();
        let unix = dial.strip_prefix("unix").and_then(|rest| rest.split_once('/')).map(|(_, path)| path.to_owned());
        let origin = Origin::File { path: config.file(proxy.file).path.clone(), line: proxy.number };
        (unix.unwrap_or(dial), SourcedValue { value: (), written: word.value.clone(), origin })
    };
    let all: BTreeMap<String, SourcedValue<()>> = route.upstreams().into_iter().map(named).collect();
    if all.len() < 2 || all.keys().any(|address| address.contains('{')) { BTreeMap::new() } else { all }
}

/// From how many failures on an upstream gets no requests; none: failures are not counted (`fail_duration`).
pub(crate) fn fails(config: &Config, requests: &Requests) -> Option<u64> {
    let time = |text: &str| value::time(text).map(Span::from).filter(|span| !span.is_zero());
    written(config, &FAIL_DURATION, requests, time)?;
    // One, where nothing says how many (reverseproxy.go: Provision).
    Some(written(config, &MAX_FAILS, requests, number).map_or(1, |held| held.value.max(1)))
}

/// Whether a proxy chooses each upstream as often as the others: at random, as it does by default, or in turn.
fn is_in_turn(proxy: &Line) -> bool {
    let policy = proxy.option("lb_policy").and_then(|line| line.arg(0));
    policy.is_none_or(|word| ["random", "round_robin"].contains(&word.value.as_str()))
}

/// Where the only upstream is.
fn lone(config: &Config, route: &Route<'_>) -> Option<Place> {
    let (proxy, all) = (route.proxy?, route.upstreams());
    let [one] = all.as_slice() else { return None };
    let dial = Upstream::parse(&one.value).dial();
    // A placeholder is another address for each request.
    if !route.unsure.is_empty() || dial.contains('{') {
        return None;
    }
    let origin = Origin::File { path: config.file(proxy.file).path.clone(), line: proxy.number };
    let name = SourcedValue { value: (), written: one.value.clone(), origin };
    let unix = dial.strip_prefix("unix").and_then(|rest| rest.split_once('/')).map(|(_, path)| path.to_owned());
    Some(Place { name, address: unix.unwrap_or(dial) })
}

/// The policy of a proxy that gives one upstream to all requests of one client, or for one path, while that upstream is up.
fn together(proxy: &Line) -> Option<String> {
    let policy = proxy.option("lb_policy")?.arg(0)?.value.clone();
    ["first", "ip_hash", "client_ip_hash", "uri_hash", "query"].contains(&policy.as_str()).then_some(policy)
}

/// Whether a proxy spreads requests evenly. By default it chooses at random.
fn is_even(proxy: &Line) -> bool {
    let policy = proxy.option("lb_policy").and_then(|line| line.arg(0));
    policy.is_some_and(|word| ["round_robin", "least_conn"].contains(&word.value.as_str()))
}

/// A path without what a query has, which may be a secret.
fn bare(path: &str) -> String {
    path.split('?').next().unwrap_or_default().to_owned()
}

/// Whether a proxy speaks TLS to upstreams.
pub(crate) fn is_encrypted(proxy: &Line) -> bool {
    let transport = proxy.option("transport http");
    upstreams(proxy).iter().any(|word| word.value.starts_with("https://"))
        || transport.is_some_and(|line| line.inside().iter().any(|line| line.name().starts_with("tls")))
}

/// Whether a proxy speaks HTTP/2 to upstreams: it does with TLS, and where a scheme or `versions` says h2c.
fn is_multiplexed(proxy: &Line) -> bool {
    let begins = |scheme: &str| upstreams(proxy).iter().any(|word| word.value.starts_with(scheme));
    let transport = proxy.option("transport http");
    let tls = is_encrypted(proxy);
    let h2c = begins("h2c://") || begins("unix+h2c/");
    match transport.and_then(|line| line.option("versions")) {
        _ if h2c => true,
        Some(versions) => versions.args().iter().any(|word| word.value == "h2c" || tls && word.value == "2"),
        None => tls,
    }
}

/// The directives that requests may meet before they are passed on, with their places.
fn unsure(config: &Config, route: &Route<'_>) -> String {
    let each = |line: &&Line| format!("`{}` ({})", config.written(line), config.place(line));
    route.unsure.iter().map(each).collect::<Vec<_>>().join(", ")
}

/// A setting that is written, as a number; none where it is not written.
fn written<T>(
    config: &Config,
    setting: &Setting,
    requests: &Requests,
    read: impl Fn(&str) -> Option<T>,
) -> Option<SourcedValue<T>> {
    in_force(config, setting, requests).parsed(read).filter(|held| !matches!(held.origin, Origin::Default(_)))
}

/// Go's `strconv.Atoi`; none below zero.
fn number(text: &str) -> Option<u64> {
    text.parse::<i64>().ok().and_then(|number| number.try_into().ok())
}

/// A time, or its default.
fn time(config: &Config, setting: &Setting, requests: &Requests) -> SourcedValue<Span> {
    let held = in_force(config, setting, requests);
    let value = value::time(&held.written).or_else(|| value::time(setting.default)).unwrap_or_default();
    held.map(|()| value.into())
}

/// Sockets that it listens on: one a port, and one more for HTTP/3 where that speaks TLS.
fn listeners(config: &Config) -> u64 {
    let ports = Ports::of(config);
    let sites = config.sites().iter().filter(|site| !site.is_route());
    let each = sites.flat_map(|site| {
        let tls = site.lines.iter().any(|line| line.is("tls"));
        let addresses = site.addresses.iter().filter_map(|word| Address::parse(&word.value, ports));
        addresses.map(move |address| (address.port, address.is_tls(ports, tls)))
    });
    each.collect::<BTreeSet<_>>().iter().map(|(_, tls)| 1 + u64::from(*tls)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::config::Variables;
    use genkai_model::limit::Ceiling;

    fn facts(text: &str) -> Facts {
        let config = Config::of_texts(vec![("/x".into(), text.into())], Variables::new()).unwrap();
        let requests = Requests { websocket: true, ..Requests::to("localhost", "/") };
        let machine = Machine {
            descriptors: 60,
            descriptors_hard: 60,
            descriptors_ceiling: Ceiling { value: 60.0, by: String::new() },
            online: 2,
            cores: 2,
            somaxconn: 4096,
            ports: (40_000, 40_029),
        };
        Facts::of(&config, None, &requests, &machine)
    }

    #[test]
    fn values_in_force_are_found() {
        let text = ":80 {\n\treverse_proxy h:1 h:2 h:1 unix//s {\n\t\tunhealthy_request_count 7\n\t\ttransport http \
                    {\n\t\t\tread_timeout 2s\n\t\t}\n\t}\n}\na.example {\n\trespond x\n}\n";
        let facts = facts(text);
        assert_eq!((facts.count, facts.inet, facts.own), (3, 2, 12));
        assert_eq!(facts.max_requests.as_ref().map(|held| held.value), Some(7));
        let named =
            |facts: &Facts| facts.no_fails_allowed.as_ref().map(|(name, held)| format!("{name} {}", held.written));
        assert_eq!(named(&facts).as_deref(), Some("unhealthy_request_count 7"));
        assert_eq!(named(&facts.clone().in_version("2.7.4")), named(&facts));
        assert_eq!(named(&facts.clone().in_version("2.7.5")), None);
        assert_eq!(named(&facts.clone().in_version("2.11.4")), None);
        assert_eq!(facts.read_timeout.as_ref().map(|held| held.value), Some(Span::from_secs(2)));
        assert_eq!((facts.dial_timeout.written.as_str(), facts.max_conns), ("3s", None));
    }

    #[test]
    fn upstreams_that_are_held_for_down_are_a_limit_of_caddy() {
        let find = |inside: &str, id: &str| {
            let facts = facts(&format!("http://:80 {{\n\treverse_proxy h:1 {{\n{inside}\t}}\n}}\n"));
            super::super::backend::all(&facts).into_iter().find(|limit| limit.id == id)
        };
        let held = find("\t\tfail_duration 5s\n", "caddy.fail_duration").unwrap();
        assert_eq!((held.subject.as_str(), held.value.as_str()), ("caddy", "5s"));
        assert_eq!(held.signatures[0].strength, genkai_model::limit::Strength::Decisive);
        let checked = find("\t\tfail_duration 5s\n\t\thealth_uri /up\n", "caddy.fail_duration").unwrap();
        assert_eq!(checked.signatures[0].strength, genkai_model::limit::Strength::Supports, "a check may hold it down");
        assert_eq!(find("", "caddy.fail_duration"), None);
        let backend = find("", "caddy.backend").unwrap();
        assert!(backend.signatures.iter().all(|one| !format!("{:?}", one.sign).contains("no_upstream")));
    }

    #[test]
    fn upstreams_that_no_failure_is_allowed_are_a_fault_and_no_number() {
        // Asked of 2.6.2: 503 for each of the first, 200 for each of the others.
        for (inside, down) in [
            ("unhealthy_request_count 8", Some("unhealthy_request_count")),
            ("unhealthy_status 5xx", Some("unhealthy_status")),
            ("unhealthy_latency 1s", Some("unhealthy_latency")),
            ("max_fails 0", Some("max_fails")),
            ("fail_duration 0s", Some("fail_duration")),
            ("unhealthy_request_count 8\n\t\tmax_fails -1", Some("unhealthy_request_count")),
            ("unhealthy_status 5xx\n\t\tfail_duration 5s", None),
            ("unhealthy_status 5xx\n\t\tmax_fails 1", None),
            ("max_fails 3", None),
            ("fail_duration 1ms", None),
            ("max_fails 0\n\t\tfail_duration 5s", None),
            ("health_uri /", None),
        ] {
            let facts = facts(&format!("http://:80 {{\n\treverse_proxy h:1 {{\n\t\t{inside}\n\t}}\n}}\n"));
            let all = super::super::of(&facts);
            let fault = all.iter().find(|limit| limit.fault && limit.id == "caddy.max_fails");
            let named = fault.map(|limit| limit.caps.split(' ').next().unwrap());
            assert_eq!(named, down, "{inside}");
            let count = all.iter().any(|limit| limit.id == "caddy.unhealthy_request_count");
            assert!(!count || down.is_none(), "{inside}: nobody is served, so there is no number");
        }
    }

    #[test]
    fn a_caddy_of_sixty_descriptors_serves_twenty_five_clients() {
        // 2.6.2 with a hard limit of 60, one listener: 25 clients with a request each are served, more are not.
        let facts = facts("http://:80 {\n\treverse_proxy h:1\n}\n");
        assert_eq!((facts.nofile.value - facts.own) / 2, 25);
    }

    /// Caddy 2.6.2 with 100 descriptors held 92 clients that it answered itself.
    #[test]
    fn a_client_takes_two_descriptors_only_where_it_may_have_an_upstream() {
        let takes = |lines: &str| {
            let takes = facts(&format!("http://:80 {{\n\t{lines}\n}}\n")).takes;
            (takes.fewest, takes.most)
        };
        assert_eq!(takes("reverse_proxy h:1"), (2, 2));
        assert_eq!(takes("reverse_proxy h:1\n\thandle {\n\t\trespond hi\n\t}"), (1, 1));
        assert_eq!(takes("@a header X-A 1\n\trespond @a no\n\treverse_proxy h:1"), (1, 2));
        assert_eq!(takes("reverse_proxy https://h:1"), (1, 2), "several requests at once on one connection of HTTP/2");
        assert_eq!(takes("file_server"), (1, 2));
        let asked = "forward_auth h:2 {\n\t\turi /auth\n\t}\n\treverse_proxy h:1";
        assert_eq!(takes(asked), (2, 3), "the connection to who is asked is kept while the request goes on");
        assert_eq!(takes("forward_auth /other h:2 {\n\t\turi /auth\n\t}\n\treverse_proxy h:1"), (2, 2));
    }
}
