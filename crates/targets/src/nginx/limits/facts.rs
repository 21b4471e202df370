//! What the limits need to know: values in force, each with the place it comes from. Plain data, so that every formula
//! can be tested without a server.

use std::net::SocketAddr;
use std::path::PathBuf;

use genkai_model::limit::Ceiling;
use genkai_model::units::Span;

use super::Keyed;
use crate::limits::backend::Place;
use crate::limits::slots::{Kept, Takes};
use crate::nginx::config::Refusal;
use crate::settings::SourcedValue;

/// What answers a request for the path under load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// An upstream (`proxy_pass`, `fastcgi_pass`, ...): a second connection while the request lasts.
    Upstream,
    /// A file of this machine: its descriptor is open while the request lasts.
    File,
    /// nginx itself (`return`).
    Nothing,
}

/// What answers a request that nginx has passed to itself, one of the times that it gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// Where the `listen` is written by which it comes back.
    pub by: String,
    /// What answers it then.
    pub serving: Serving,
    /// Whether the response may come from a cache.
    pub cached: bool,
    /// Whether something that the configuration does not tell decides whether there is an upstream at all.
    pub mixed: bool,
    /// Descriptors that it takes.
    pub(crate) takes: Takes,
}

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

/// A `limit_conn` in force for the path under load.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnZone {
    /// Name of the zone.
    pub zone: String,
    /// Its key, e.g. `$binary_remote_addr`.
    pub key: String,
    /// Whether that can be empty.
    pub keyed: Keyed,
    /// Requests in flight allowed for one key.
    pub number: SourcedValue<u64>,
    /// What clients get where it refuses.
    pub refusal: Refusal,
    /// Why it is not known whether requests come by it; none: all do.
    pub only: Option<String>,
}

/// A `limit_req` in force for the path under load.
#[derive(Clone, Debug, PartialEq)]
pub struct ReqZone {
    /// Name of the zone.
    pub zone: String,
    /// Its key.
    pub key: String,
    /// Whether that can be empty.
    pub keyed: Keyed,
    /// Requests a second for one key.
    pub rate: SourcedValue<f64>,
    /// Requests that may come early.
    pub burst: u64,
    /// Of these, how many are served at once; the others wait (`nodelay`: all, `delay=`: some).
    pub at_once: u64,
    /// What clients get where it refuses.
    pub refusal: Refusal,
    /// Why it is not known whether requests come by it; none: all do.
    pub only: Option<String>,
}

/// A `limit_conn` or `limit_req` somewhere else in the configuration than these requests are taken to come by.
#[derive(Clone, Debug, PartialEq)]
pub struct Besides {
    /// The directive.
    pub setting: &'static str,
    /// Its zone.
    pub zone: String,
    /// As it is written.
    pub written: SourcedValue<()>,
    /// Whether it counts connections of a `stream` server.
    pub of_stream: bool,
}

/// The upstream that answers the path under load.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// As the `*_pass` directive names it, and where that is written.
    pub name: SourcedValue<()>,
    /// Whether it takes TLS.
    pub encrypted: bool,
    /// TCP addresses; Unix sockets and names that were not resolved are not among them.
    pub addresses: Vec<SocketAddr>,
    /// Unix sockets of servers in regular use.
    pub sockets: Vec<PathBuf>,
    /// Every server that may be used, as nginx names it in logs, with the place of its line; none where the name of one must be resolved.
    pub each: Vec<(String, SourcedValue<()>)>,
    /// Servers in regular use (neither `backup` nor `down`).
    pub servers: u32,
    /// Whether each server gets as many requests as any other: in turn, by no weight, and none is `backup`.
    pub even: bool,
    /// The only server there is, where its address is written as a number or a path: a name may have several.
    pub place: Option<Place>,
    /// Servers at whose address nobody listens, as long as somebody does at another's, each with whether it is in regular use.
    pub absent: Vec<(String, bool)>,
    /// Whether nginx's log tells which servers get no requests for their failures.
    pub told: bool,
    /// `max_conns` of each server that is there, those that are `backup` after the others: they take what the others have no room for. None: at
    /// least one has no cap.
    pub max_conns: Option<SourcedValue<Vec<u64>>>,
    /// `max_fails` of each server, where every one of several can be left alone for its failures. None: one at least is always asked (nginx
    /// never leaves the only server of a group alone).
    pub max_fails: Option<SourcedValue<()>>,
    /// A server's name that may have several addresses, each of which has the whole `max_conns`.
    pub resolved: Option<String>,
    /// Whether the group has a `zone`: without it every worker counts `max_conns` for itself.
    pub shared: bool,
    /// `keepalive` connections cached in each worker, as it is written; none: a new connection for each request.
    pub keepalive: Option<u64>,
    /// Whether servers are asked to close each connection after a response: then none is cached.
    pub closed: bool,
    /// What clients get where no server takes a request.
    pub refusal: Refusal,
    /// Why it is not known whether requests go there; none: all do.
    pub only: Option<String>,
}

/// Everything the limits are computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Worker processes.
    pub workers: SourcedValue<u32>,
    /// Whether one of several workers may take most of the clients: with `accept_mutex` one at a time accepts, with `multi_accept` all that
    /// wait.
    pub uneven: bool,
    /// Slots of a worker.
    pub worker_connections: SourcedValue<u64>,
    /// Descriptors of a worker: `worker_rlimit_nofile`, or inherited.
    pub nofile: SourcedValue<u64>,
    /// The most descriptors that a worker can be given here.
    pub nofile_ceiling: Ceiling,
    /// Listening sockets that each worker watches, without genkai's own.
    pub listeners: u32,
    /// Listening sockets of genkai's own: the one of its status page, or none.
    pub own_listeners: u32,
    /// Listening sockets that each worker has open (`reuseport` makes one for every worker, and each holds them all).
    pub sockets: u32,
    /// Log files open in each worker.
    pub logs: u32,
    /// Helper processes: a cache's manager, and its loader in the first minute.
    pub helpers: u32,
    /// What answers the path under load.
    pub serving: Serving,
    /// Whether its responses may come from a cache, without the upstream.
    pub cached: bool,
    /// Whether something that the configuration does not tell decides whether there is an upstream at all.
    pub mixed: bool,
    /// Descriptors that a request takes the first time.
    pub(crate) takes: Takes,
    /// What answers requests that nginx passes to itself, in order; empty: it passes none to itself.
    pub again: Vec<Again>,
    /// Requests that nginx makes besides.
    pub asides: Vec<Aside>,
    /// Why it is not known how often requests come back to this nginx; none: it is known.
    pub lost: Option<String>,
    /// Whether they go on to a `stream` server of this nginx, which may close their connections itself.
    pub relayed: bool,
    /// `limit_rate`: bytes of a response that are sent in a second, and bytes that go before it counts; none: no cap.
    pub limit_rate: Option<SourcedValue<(u64, u64)>>,
    /// How long a connection is kept for a next request; 0: not at all.
    pub keepalive_timeout: SourcedValue<Span>,
    /// How the directives begin that are for the way to the upstream: `proxy`, `fastcgi`, ...
    pub protocol: &'static str,
    /// The buffer that a response's head must fit.
    pub head_buffer: SourcedValue<u64>,
    /// `backlog` of the listener under load.
    pub backlog: SourcedValue<u32>,
    /// net.core.somaxconn.
    pub somaxconn: u32,
    /// `client_max_body_size`; 0: no cap.
    pub body: SourcedValue<u64>,
    /// `limit_conn`s.
    pub limit_conn: Vec<ConnZone>,
    /// `limit_req`s.
    pub limit_req: Vec<ReqZone>,
    /// Zones that no request is taken to come by.
    pub besides: Vec<Besides>,
    /// The upstream, when there is one.
    pub upstream: Option<Upstream>,
    /// Groups by which nginx passes requests to itself.
    pub between: Vec<Upstream>,
    /// Other upstreams that requests may go to, where something decides that the configuration does not tell.
    pub others: Vec<Upstream>,
    /// How long an upstream may take to accept.
    pub connect_timeout: SourcedValue<Span>,
    /// How long an upstream may be silent.
    pub read_timeout: SourcedValue<Span>,
    /// Whether WebSockets are passed to it (`proxy_set_header Upgrade`).
    pub upgrades: bool,
    /// Cores that the servers can use.
    pub cores: u32,
    /// Local ports for outgoing connections, first and last.
    pub ports: (u16, u16),
}

impl Facts {
    /// Descriptors of a worker that are never a client's: standard streams, event queue and its wake-up, its end of the
    /// channel to the master and the ends of the other workers and helpers, listening sockets, logs. Measured on nginx
    /// 1.22.1 (Linux) with 1..4 workers, 1..6 sockets, `reuseport`, caches.
    pub fn base_descriptors(&self) -> u64 {
        let processes = self.workers.value + self.helpers;
        3 + 2 + u64::from(processes) + u64::from(self.sockets + self.own_listeners) + u64::from(self.logs)
    }

    /// Slots of a worker that are never a client's: its listeners and its channel.
    pub fn base_slots(&self) -> u64 {
        u64::from(self.listeners + self.own_listeners) + 1
    }

    /// Descriptors of a worker from which on one more connection could cost a client its own: the slots' soft onset, or
    /// the last descriptors, whichever comes first.
    pub fn crowded(&self) -> u64 {
        let no_slot = self.base_descriptors().saturating_sub(self.base_slots());
        let soft = self.worker_connections.value * 15 / 16 + no_slot;
        soft.min(self.nofile.value).saturating_sub(2)
    }

    /// The times that nginx gets a request: what answers it, and whether that may be without the next, by a cache or otherwise.
    fn times(&self) -> impl Iterator<Item = (Serving, bool)> + '_ {
        let first = (self.serving, self.cached || self.mixed);
        std::iter::once(first).chain(self.again.iter().map(|again| (again.serving, again.cached || again.mixed)))
    }

    /// Slots of a client whose request is in flight, the fewest that it can have.
    pub fn busy_slots(&self) -> u64 {
        let mut sum = 0;
        for (serving, short) in self.times() {
            sum += if serving == Serving::Upstream && !short { 2 } else { 1 };
            if short {
                break;
            }
        }
        sum
    }

    /// The most that it can have.
    pub fn most_slots(&self) -> u64 {
        let times: u64 =
            self.times().map(|(serving, short)| if serving == Serving::Upstream || short { 2 } else { 1 }).sum();
        times + self.meanwhile().count() as u64
    }

    /// Connections that a worker keeps to the servers of a group besides those in use (ngx_http_upstream_keepalive_module: they are not among the
    /// idle ones that `ngx_drain_connections` closes); none where there is but one server, whose kept ones the next request takes.
    pub(super) fn kept(&self) -> Option<Kept> {
        let group = self.upstream.as_ref()?;
        let servers = group.each.len().max(group.servers as usize) as u64;
        let most = group.keepalive.filter(|_| !group.closed && (servers > 1 || group.resolved.is_some()))?;
        Some(Kept { most, servers: if group.resolved.is_some() { most + 1 } else { servers } })
    }

    /// Descriptors of a client whose request is in flight.
    pub(crate) fn busy_descriptors(&self) -> Takes {
        let each = std::iter::once(self.takes).chain(self.again.iter().map(|again| again.takes));
        let most: u64 = each.clone().map(|takes| takes.most).sum();
        let (mut fewest, mut open) = (0, true);
        for (takes, (_, short)) in each.zip(self.times()) {
            fewest += if open { takes.fewest } else { 0 };
            open &= !short;
        }
        Takes { fewest, most: most + self.meanwhile().count() as u64 }
    }

    /// Requests besides that may have connections to upstreams while the client's own request has its.
    pub(super) fn meanwhile(&self) -> impl Iterator<Item = &Aside> {
        self.asides.iter().filter(|one| one.meanwhile && one.passed)
    }
}
