//! Values in force, from which limits are computed.

use genkai_model::limit::{Ceiling, Origin};
use genkai_model::units::Span;

use super::absent::{self, Absent};
use super::again::{self, Again, Passes};
use super::bound::of_bind;
use super::capacity::Capacity;
use super::check::Check;
use super::elsewhere;
use super::observe::Observed;
use super::source;
use crate::files::Requests;
use crate::haproxy::config::Config;
use crate::haproxy::proxy::{self, Choice, Mode, Server, first_parameter};
use crate::haproxy::route::{Address, Route, binds};
use crate::haproxy::settings::{
    BACKLOG, FRONTEND_MAXCONN, MAXCONN, MAXCONNRATE, MAXSESSRATE, MAXSSLCONN, MAXSSLRATE, NBTHREAD,
    RATE_LIMIT_SESSIONS, Setting, TIMEOUT_CLIENT, TIMEOUT_CONNECT, TIMEOUT_HTTP_KEEP_ALIVE, TIMEOUT_HTTP_REQUEST,
    TIMEOUT_QUEUE, TIMEOUT_SERVER, TIMEOUT_TUNNEL, TUNE_BUFSIZE, ULIMIT_N, in_force, value, written,
};
use crate::limits::backend::Place;
use crate::limits::slots::Takes;
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

/// Descriptors that HAProxy sets aside before it counts anything (src/haproxy.c: `global.maxsock = 10`).
const RESERVED: u64 = 10;
/// Connections to the statistics sockets together, unless `stats maxconn` says otherwise (src/cli.c).
const STATS_MAXCONN: u64 = 10;
/// Descriptors of a thread: its epoll, and the pipe that wakes it (src/haproxy.c: `compute_ideal_maxconn`).
const THREAD: u64 = 3;
/// The least that HAProxy computes by itself (DEFAULT_MAXCONN).
const LEAST: u64 = 100;
/// `listen(2)`'s queue where nothing says more (src/listener.c: `listener_backlog`).
const QUEUE: u64 = 1024;

/// What the limits of one configuration for one kind of request are computed from.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Connections of clients at once, of the whole process.
    pub maxconn: SourcedValue<u64>,
    /// Whether it is written, not computed from the descriptors.
    pub maxconn_written: bool,
    /// Descriptors that the process gives itself.
    pub nofile: SourcedValue<u64>,
    /// What its number of connections is computed from, where `maxconn` is not written.
    pub available: u64,
    /// Whether HAProxy refuses to start with fewer descriptors than `maxconn` needs (`strict-limits`, the default since 2.3).
    pub strict: bool,
    /// Descriptors that it asks for, and `fd-hard-limit` where that is fewer: it does not start then, unless `strict-limits` is off.
    pub beyond: Option<(u64, u64)>,
    /// The most that it can have.
    pub nofile_ceiling: Ceiling,
    /// Descriptors that are never a client's: HAProxy's own count.
    pub own: u64,
    /// The section that takes the connections.
    pub front: String,
    /// Connections at once of it, where it says so itself.
    pub front_maxconn: Option<SourcedValue<u64>>,
    /// TLS connections at once of the process, where clients come over TLS and there is a cap.
    pub maxsslconn: Option<SourcedValue<u64>>,
    /// Whether it speaks HTTP: in TCP mode HAProxy answers nothing itself.
    pub http: bool,
    /// How often a request comes in at HAProxy.
    pub passes: Passes,
    /// What it meets each time but the first.
    pub again: Vec<Again>,
    /// Local ports that each server is connected to from (`source`), where all have a range of them.
    pub source: Option<SourcedValue<Vec<u64>>>,
    /// Descriptors that a client takes each time: its own connection, and that to a server, if there is one.
    pub(crate) takes: Takes,
    /// Servers behind it.
    pub servers: u64,
    /// Each server that has a line of its own: its name, and its address with the place of the line.
    pub each: Vec<(String, SourcedValue<()>)>,
    /// Whether TLS is spoken to all servers.
    pub encrypted: bool,
    /// Whether it is to some of them and not to others.
    pub partly_encrypted: bool,
    /// The server, where there is one alone: its name with the place of its line, and its address. None where it cannot be told whether its
    /// handshake of TLS fails or its connection.
    pub server: Option<Place>,
    /// The health check that takes them out, where there is one.
    pub check: Option<Check>,
    /// What takes them out for errors of requests, where that is so.
    pub observed: Option<Observed>,
    /// Their section; none: there is none.
    pub back: Option<String>,
    /// How many requests they get at once, where that is capped.
    pub capacity: Option<Capacity>,
    /// How many requests may wait for the one server that they can go to (`maxqueue`), and how many it gets at once, where all servers have the
    /// same; further ones are refused. None: any number may wait, or they can go elsewhere.
    pub queue: Option<(SourcedValue<u64>, Option<u64>)>,
    /// Where servers are that answer none, since nobody listens there: neither of these counts them.
    pub absent: Absent,
    /// How a server is chosen for each of them; none: there is no backend.
    pub(super) spread: Option<Choice>,
    /// Those of the servers that are HAProxy's own listeners.
    pub(super) own_servers: Vec<String>,
    /// The same of other backends that requests may go to, with their names.
    pub others: Vec<(String, Capacity)>,
    /// Rules of which the configuration does not tell whether they hold for these requests.
    pub doubt: Option<String>,
    /// Connections at once of the listener, where it says so itself.
    pub bind_maxconn: Option<SourcedValue<u64>>,
    /// How long one may wait; the setting that says so.
    pub queue_timeout: Option<(&'static str, SourcedValue<Span>)>,
    /// How long a server may take to accept.
    pub connect_timeout: Option<SourcedValue<Span>>,
    /// How long a client may take to send a request; the setting that says so.
    pub request_timeout: Option<(&'static Setting, SourcedValue<Span>)>,
    /// How long a connection is kept for a next request; the setting that says so.
    pub keep_alive: Option<(&'static Setting, SourcedValue<Span>)>,
    /// How long a server may be silent.
    pub server_timeout: Option<SourcedValue<Span>>,
    /// How long both sides of a tunnel may be silent, and the setting that says so; none: for ever, or the load opens none.
    pub tunnel_timeout: Option<(&'static str, SourcedValue<Span>)>,
    /// Addresses and ports of the servers, towards each of which all local ports can be used; those of one address are one.
    pub addresses: u64,
    /// Where servers are reached; names that must be resolved are not among them, nor is HAProxy itself.
    pub behind: Vec<Endpoint>,
    /// `listen(2)`'s queue.
    pub backlog: SourcedValue<u32>,
    /// net.core.somaxconn.
    pub somaxconn: u32,
    /// New connections a second: the settings, and their values.
    pub rates: Vec<(&'static str, SourcedValue<u64>)>,
    /// Threads.
    pub threads: SourcedValue<u32>,
    /// Cores that they may use.
    pub cores: u32,
    /// Bytes of one buffer.
    pub bufsize: SourcedValue<u64>,
    /// Whether requests share connections of clients (HTTP/2).
    pub shares: bool,
    /// Memory of the machine, bytes.
    pub memory: u64,
    /// Local ports, first and last.
    pub ports: (u16, u16),
}

impl Facts {
    /// The facts of `config` for these requests on a machine with so much memory.
    /// `running`: the copy that runs, where there is one, with its own listeners and sockets.
    pub fn of(config: &Config, running: Option<&Config>, requests: &Requests, machine: &Machine, memory: u64) -> Facts {
        let route = Route::find(config, requests);
        let number = |setting: &Setting| number_of(config, setting, requests, value::whole);
        let threads = threads(config, requests, machine);
        let own = own(running.unwrap_or(config), threads.value);
        let (maxconn, available, nofile) = connections(config, requests, machine, own);
        let front_maxconn = number(&FRONTEND_MAXCONN).filter(|h| h.value > 0);
        let of_listener = route.as_ref().and_then(|r| of_bind(config, r, FRONTEND_MAXCONN.directive));
        let bind_maxconn = of_listener.filter(|h| h.value > 0);
        // Where HAProxy answers itself there is nothing behind it.
        let served = route.as_ref().filter(|r| r.answered.is_none());
        let used = served.map(|r| r.servers(config)).unwrap_or_default();
        let (there, absent) = served.map(|r| absent::without(config, running, r, &used)).unwrap_or_default();
        let servers = used.iter().map(|s| s.count).fold(0, u64::saturating_add);
        let time = |setting: &Setting| {
            number_of(config, setting, requests, |text| Some(value::lenient_time(text)?.0))
                .map(|h| h.map(Span::from_millis))
        };
        // Zero is for ever (include/haproxy/ticks.h).
        let time = |setting: &Setting| time(setting).filter(|held| held.value.0 > 0);
        let queue_timeout = time(&TIMEOUT_QUEUE)
            .map(|h| (TIMEOUT_QUEUE.directive, h))
            .or_else(|| time(&TIMEOUT_CONNECT).map(|h| (TIMEOUT_CONNECT.directive, h)));
        let address = |s: &Server<'_>| Address::parse(s.found.arg(first_parameter(s.found) - 1).unwrap_or_default());
        let addresses = distinct(used.iter().map(|s| (address(s), s.count)));
        let tls = route.as_ref().is_some_and(|r| r.bind.tls);
        let rates = [MAXCONNRATE, RATE_LIMIT_SESSIONS, MAXSESSRATE].into_iter().chain(tls.then_some(MAXSSLRATE));
        let rate = |s: &Setting| match s.name == RATE_LIMIT_SESSIONS.name {
            true => number_of(config, s, requests, value::unsigned),
            false => number(s),
        };
        let rates = rates.filter_map(|s| Some((s.name, rate(&s).filter(|h| h.value > 0)?)));
        Facts {
            backlog: backlog(config, requests, bind_maxconn.as_ref().or(front_maxconn.as_ref()).unwrap_or(&maxconn)),
            rates: rates.collect(),
            capacity: served.and_then(|r| Capacity::of(config, r.back?, &there, maxconn.value, &requests.path)),
            queue: served.and_then(|r| queue(config, r, &there, &requests.path)),
            absent,
            others: served.map(|r| elsewhere::others(config, r, maxconn.value, &requests.path)).unwrap_or_default(),
            spread: served.and_then(|r| elsewhere::spread(config, r, &requests.path)),
            own_servers: served.map(|r| again::own_servers(config, r)).unwrap_or_default(),
            doubt: served.and_then(|r| doubt(config, r)),
            bind_maxconn,
            maxsslconn: number(&MAXSSLCONN).filter(|held| held.value > 0 && tls),
            maxconn_written: number(&MAXCONN).is_some_and(|held| held.value > 0),
            available,
            strict: !refused(config, "strict-limits"),
            nofile,
            beyond: beyond(config, &maxconn, own),
            nofile_ceiling: machine.descriptors_ceiling.clone(),
            own,
            front: route.as_ref().map(|r| r.front.title()).unwrap_or_default(),
            front_maxconn,
            http: route.as_ref().is_none_or(|r| proxy::mode(config, r.front) == Mode::Http),
            passes: Passes::of(config, route.as_ref(), requests),
            again: Again::all(config, route.as_ref(), requests, maxconn.value),
            source: served.and_then(|r| source::ports(config, r.back?, &used)),
            takes: match route.as_ref().map(|route| route.is_served(config)) {
                Some(Some(true)) => Takes::always(2),
                Some(None) => Takes { fewest: 1, most: 2 },
                Some(Some(false)) | None => Takes::always(1),
            },
            servers,
            each: used.iter().filter_map(|server| named(config, server)).collect(),
            server: lone(config, &used)
                .filter(|_| served.is_some_and(|r| doubt(config, r).is_none() && !again::leads_back(config, r))),
            encrypted: !used.is_empty() && used.iter().all(|server| server.encrypted),
            partly_encrypted: [true, false].iter().all(|tls| used.iter().any(|server| server.encrypted == *tls)),
            check: served.and_then(|r| Check::of(config, r.back?, &used)),
            observed: served.and_then(|r| Observed::of(config, r.back?, &used)),
            back: served.and_then(|r| Some(r.back?.title())),
            queue_timeout,
            connect_timeout: time(&TIMEOUT_CONNECT),
            request_timeout: [&TIMEOUT_HTTP_REQUEST, &TIMEOUT_CLIENT].into_iter().find_map(|s| Some((s, time(s)?))),
            keep_alive: [&TIMEOUT_HTTP_KEEP_ALIVE, &TIMEOUT_HTTP_REQUEST, &TIMEOUT_CLIENT]
                .into_iter()
                .find_map(|s| Some((s, time(s)?))),
            server_timeout: time(&TIMEOUT_SERVER),
            tunnel_timeout: tunnel_timeout(time).filter(|_| requests.websocket),
            addresses,
            behind: again::behind(config, served, requests),
            somaxconn: machine.somaxconn,
            threads,
            cores: machine.cores,
            bufsize: in_force(config, &TUNE_BUFSIZE, requests)
                .parsed(|text| value::buffer(text, config.reading().version))
                .or_else(|| TUNE_BUFSIZE.default_value().parsed(value::size))
                .expect("the default is well formed"),
            shares: requests.streams.is_some(),
            memory,
            ports: machine.ports,
            maxconn,
        }
    }

    /// Descriptors that the configuration needs when it is full.
    pub fn needed(&self) -> u64 {
        descriptors(self.maxconn.value, self.own)
    }

    /// Whether the descriptors do, so that it starts (src/haproxy.c: main).
    pub fn starts(&self) -> bool {
        !self.strict || self.needed() <= self.nofile.value && self.beyond.is_none()
    }

    /// Threads that can work at once.
    pub fn workers(&self) -> u32 {
        self.threads.value.min(self.cores).max(1)
    }
}

/// The name of a server, and its address.
fn named(config: &Config, server: &Server<'_>) -> Option<(String, SourcedValue<()>)> {
    let (name, address) = (server.found.arg(0)?, server.found.arg(1)?);
    let own = server.found.is("server");
    let held = SourcedValue { value: (), written: address.to_owned(), origin: proxy::origin(config, server.found) };
    own.then(|| (name.to_owned(), held))
}

/// Where the only server is. Of old versions a handshake of TLS that fails is told as a connection that does.
fn lone(config: &Config, used: &[Server<'_>]) -> Option<Place> {
    let [server] = used else { return None };
    let told = !server.encrypted || config.reading().tells();
    let (name, held) = named(config, server).filter(|_| told)?;
    let name = SourcedValue { value: (), written: name, origin: held.origin };
    Some(Place { name, address: held.written })
}

/// What may wait for one server. Where any server with room is taken, one whose queue is full is passed over (src/backend.c:
/// assign_server_and_queue: SRV_STATUS_FULL).
fn queue(
    config: &Config,
    route: &Route<'_>,
    used: &[Server<'_>],
    target: &str,
) -> Option<(SourcedValue<u64>, Option<u64>)> {
    let (back, chosen) = (route.back?, elsewhere::spread(config, route, target)?);
    let first = used.iter().filter(|server| server.maxqueue > 0 && server.maxconn > 0).min_by_key(|s| s.maxqueue)?;
    let (written, origin) = proxy::written(config, back, used, "maxqueue")?;
    let alike = |s: &Server<'_>| (s.maxconn, s.minconn, s.maxqueue) == (first.maxconn, first.maxconn, first.maxqueue);
    let known = matches!(chosen, Choice::One(_)) && used.iter().all(alike);
    let held = SourcedValue { value: first.maxqueue, written, origin };
    (chosen != Choice::AnyWithRoom).then(|| (held, known.then_some(first.maxconn)))
}

/// What decides where requests go, and is not in the configuration.
fn doubt(config: &Config, route: &Route<'_>) -> Option<String> {
    let rules: Vec<String> =
        route.doubts.iter().map(|rule| format!("`{}` at {}", rule.name(), config.place(rule))).collect();
    (!rules.is_empty()).then(|| rules.join(", "))
}

/// `timeout tunnel`, which supersedes those of both sides once a tunnel is open (src/stream.c: the backend's `timeout.tunnel`);
/// without it the shorter of theirs. Zero is for ever (include/haproxy/ticks.h: tick_add_ifset).
fn tunnel_timeout(time: impl Fn(&Setting) -> Option<SourcedValue<Span>>) -> Option<(&'static str, SourcedValue<Span>)> {
    let time = |s: Setting| Some((s.directive, time(&s).filter(|held| held.value.0 > 0)?));
    let both = || [TIMEOUT_CLIENT, TIMEOUT_SERVER].into_iter().filter_map(time).min_by_key(|(_, held)| held.value.0);
    time(TIMEOUT_TUNNEL).or_else(both)
}

/// What the process asks for, and the `fd-hard-limit` that is below it.
fn beyond(config: &Config, maxconn: &SourcedValue<u64>, own: u64) -> Option<(u64, u64)> {
    let positive = |key: &str| value::whole(config.global(key)?.arg(0)?).filter(|n| *n > 0);
    let (asked, hard) =
        (positive("ulimit-n").unwrap_or_else(|| descriptors(maxconn.value, own)), positive("fd-hard-limit")?);
    (asked > hard).then_some((asked, hard))
}

/// Two descriptors a connection, and HAProxy's own.
fn descriptors(maxconn: u64, own: u64) -> u64 {
    maxconn.saturating_mul(2).saturating_add(own)
}

fn number_of(
    config: &Config,
    setting: &Setting,
    requests: &Requests,
    read: fn(&str) -> Option<u64>,
) -> Option<SourcedValue<u64>> {
    let default = || Some(setting.default_value()).filter(|_| !setting.default.is_empty());
    let held = written(config, setting, requests).or_else(default)?;
    held.parsed(|text| read(text.split(' ').next()?))
}

/// Whether a `no KEYWORD` of `global` counts.
fn refused(config: &Config, keyword: &str) -> bool {
    let mut lines = config.sections().iter().filter(|s| s.kind == "global").flat_map(|s| config.inside(s));
    let last = lines.rfind(|f| f.name() == keyword);
    last.is_some_and(|f| f.prefix.as_ref().is_some_and(|p| p.value == "no"))
}

fn threads(config: &Config, requests: &Requests, machine: &Machine) -> SourcedValue<u32> {
    match number_of(config, &NBTHREAD, requests, value::whole) {
        Some(held) => held.map(|n| u32::try_from(n).unwrap_or(u32::MAX)),
        None => SourcedValue {
            value: machine.cores,
            written: "(one a core)".to_owned(),
            origin: Origin::Default("HAProxy src/thread.c: as many as cores it may use".to_owned()),
        },
    }
}

/// What HAProxy takes off before it counts clients: src/haproxy.c (`init`, `compute_ideal_maxconn`), src/listener.c,
/// src/cli.c, src/check.c.
fn own(config: &Config, threads: u32) -> u64 {
    let lines = |key: &'static str| config.found().iter().filter(move |f| f.is(key)).count() as u64;
    let listeners: usize = config.sections().iter().flat_map(|s| binds(config, s)).map(|b| sockets(&b.addresses)).sum();
    let sockets = lines("stats socket");
    let stats = config.global("stats maxconn").and_then(|f| f.arg(1)?.parse::<u64>().ok()).unwrap_or(STATS_MAXCONN);
    let checks = config.found().iter().filter(|f| f.is("server") && f.words.iter().skip(3).any(|w| w.value == "check"));
    let stats = if sockets > 0 { stats.saturating_add(sockets) } else { 0 };
    let each = [RESERVED, listeners as u64, stats, checks.count() as u64, THREAD * u64::from(threads)];
    each.into_iter().fold(0, u64::saturating_add)
}

/// How many addresses of the network there are, of servers with so many each (those of a template are taken to differ).
fn distinct(servers: impl Iterator<Item = (Address, u64)>) -> u64 {
    let mut all: Vec<(Address, u64)> = Vec::new();
    for (address, count) in servers.filter(|(address, _)| matches!(address, Address::Inet { .. })) {
        match all.iter_mut().find(|(known, _)| *known == address) {
            Some((_, most)) => *most = count.max(*most),
            None => all.push((address, count)),
        }
    }
    all.iter().map(|(_, count)| count).sum()
}

/// Sockets of a `bind`: one a port.
fn sockets(addresses: &[Address]) -> usize {
    let each = |a: &Address| match a {
        Address::Inet { ports: Some(ports), .. } => ports.clone().count(),
        _ => 1,
    };
    addresses.iter().map(each).sum()
}

/// `maxconn`, what it is computed from, and the descriptors of the process. Where `maxconn` is not written it is what the hard
/// limit allows, whatever `ulimit-n` says. The process raises its soft limit to `ulimit-n`, or to what `maxconn` needs, and never
/// lowers it (src/haproxy.c: main; src/limits.c: raise_rlim_nofile).
fn connections(
    config: &Config,
    requests: &Requests,
    machine: &Machine,
    own: u64,
) -> (SourcedValue<u64>, u64, SourcedValue<u64>) {
    let number = |setting: &Setting| number_of(config, setting, requests, value::whole);
    let most = machine.descriptors_ceiling.value as u64;
    let hard = config.global("fd-hard-limit").and_then(|f| value::whole(f.arg(0)?)).filter(|n| *n > 0);
    let available = hard.map_or(machine.descriptors_hard, |hard| hard.min(machine.descriptors_hard));
    let maxconn = number(&MAXCONN).filter(|held| held.value > 0).unwrap_or_else(|| {
        let value = (available.saturating_sub(own) / 2).max(LEAST);
        SourcedValue::plain(
            value,
            Origin::Default(format!(
                "computed from {available} descriptors (HAProxy src/haproxy.c: compute_ideal_maxconn)"
            )),
        )
    });
    let needed = descriptors(maxconn.value, own);
    let asked = number(&ULIMIT_N).filter(|held| held.value > 0).unwrap_or_else(|| {
        SourcedValue::plain(needed, Origin::Default("HAProxy src/haproxy.c: what maxconn needs".to_owned()))
    });
    let value = asked.value.min(most).max(machine.descriptors);
    let nofile = match value > asked.value {
        // What the process has already, and keeps: another number than the one it asks for.
        true => SourcedValue::plain(value, Origin::Machine("ulimit -n, which HAProxy never lowers".to_owned())),
        false => SourcedValue { value, ..asked },
    };
    (maxconn, available, nofile)
}

fn backlog(config: &Config, requests: &Requests, maxconn: &SourcedValue<u64>) -> SourcedValue<u32> {
    let route = Route::find(config, requests);
    let of_bind = route.as_ref().and_then(|r| of_bind(config, r, BACKLOG.directive));
    let held = of_bind.or_else(|| number_of(config, &BACKLOG, requests, value::whole)).filter(|h| h.value > 0);
    let held = held.unwrap_or_else(|| SourcedValue {
        value: if maxconn.value > 0 { maxconn.value } else { QUEUE },
        written: maxconn.value.to_string(),
        origin: Origin::Default("as maxconn (HAProxy src/listener.c: listener_backlog)".to_owned()),
    });
    held.map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::config::Reading;

    /// HAProxy 2.6.12 with two threads on a machine with so many descriptors.
    fn facts(text: &str, descriptors: f64) -> Facts {
        let config = Config::of_texts(vec![("/x".into(), text.into())], Reading::default()).unwrap();
        let ceiling = Ceiling { value: descriptors, by: "hard RLIMIT_NOFILE".to_owned() };
        let machine = Machine {
            descriptors: 1024,
            descriptors_hard: descriptors as u64,
            descriptors_ceiling: ceiling,
            online: 2,
            cores: 2,
            somaxconn: 4096,
            ports: (32_768, 60_999),
        };
        let requests = Requests { websocket: true, ..Requests::default() };
        Facts::of(&config, None, &requests, &machine, 1 << 30)
    }

    const PLAIN: &str =
        "global\n stats socket /run/s\nfrontend f\n bind :80\n default_backend b\nbackend b\n server s 127.0.0.1:1\n";

    #[test]
    fn what_haproxy_computes_by_itself_is_what_it_says() {
        // `show info` of HAProxy 2.6.12 with two threads, a listener and a statistics socket: Maxconn 9986 of 20,000
        // descriptors, 498 of 1024.
        assert_eq!(facts(PLAIN, 20_000.0).maxconn.value, 9986);
        assert_eq!(facts(PLAIN, 1024.0).maxconn.value, 498);
        // ... and Maxsock 128 for maxconn 50.
        let fifty = facts(&PLAIN.replace("global", "global\n maxconn 50"), 20_000.0);
        assert_eq!((fifty.backlog.value, fifty.needed()), (50, 128));
    }

    #[test]
    fn a_tunnel_ends_by_its_own_time_or_by_the_shorter_of_both_sides() {
        let of = |lines: &str| facts(&PLAIN.replace("frontend f", &format!("defaults\n{lines}\nfrontend f")), 1024.0);
        let told = |lines: &str| of(lines).tunnel_timeout.map(|(setting, held)| (setting, held.value.as_secs_f64()));
        assert_eq!(told(" timeout client 9s\n timeout server 4s"), Some(("timeout server", 4.0)));
        assert_eq!(
            told(" timeout client 9s\n timeout server 4s\n timeout tunnel 1h"),
            Some(("timeout tunnel", 3600.0))
        );
        assert_eq!(told(" maxconn 5"), None);
        // Zero is no end.
        assert_eq!(told(" timeout client 0\n timeout server 4s"), Some(("timeout server", 4.0)));
        assert_eq!(told(" timeout client 9s\n timeout tunnel 0"), Some(("timeout client", 9.0)));
        assert_eq!(told(" timeout client 0\n timeout server 0s\n timeout tunnel 0"), None);
    }

    #[test]
    fn descriptors_are_raised_and_never_lowered() {
        let few = |lines: &str| facts(&PLAIN.replace("global", &format!("global\n{lines}")), 20_000.0);
        // The process has 1024 before it begins; `show info` says Maxsock 148 for maxconn 60.
        let low = few(" maxconn 60\n ulimit-n 60");
        assert_eq!((low.nofile.value, low.needed(), low.strict), (1024, 148, true));
        // `FD limit (1000) too low for maxconn=9986/maxsock=20000`: ulimit-n alone changes no maxconn.
        let alone = few(" ulimit-n 1100\n no strict-limits");
        assert_eq!(
            (alone.maxconn.value, alone.needed(), alone.nofile.value, alone.strict),
            (9986, 20_000, 1100, false)
        );
    }
}
