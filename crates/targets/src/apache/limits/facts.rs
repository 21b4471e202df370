//! What the limits need to know: values in force, each with the place it comes from, and how httpd adjusts them to one
//! another when it starts.

use std::net::SocketAddr;

use genkai_model::limit::{Ceiling, Origin};
use genkai_model::units::Span;

use crate::apache::config::{Config, Found};
use crate::apache::evidence::told;
use crate::apache::handler;
use crate::apache::route::{Member, Members, Pass, Route, authority, host, listens, members, socket};
use crate::apache::settings::{
    ASYNC_REQUEST_WORKER_FACTOR, H2_MAX_WORKERS, H2_MIN_WORKERS, KEEP_ALIVE, KEEP_ALIVE_TIMEOUT, LIMIT_REQUEST_BODY,
    LISTEN_BACKLOG, MAX_CONNECTIONS_PER_CHILD, MAX_REQUEST_WORKERS, MAX_SPARE_SERVERS, MAX_SPARE_THREADS,
    MIN_SPARE_SERVERS, Mpm, PROXY_PASS_ACQUIRE, PROXY_PASS_MAX, PROXY_PASS_TIMEOUT, PROXY_TIMEOUT,
    PROXY_WEBSOCKET_FALLBACK_TO_PROXY_HTTP, RATE_INITIAL_BURST, RATE_LIMIT, SERVER_LIMIT, SSL_PROXY_ENGINE,
    START_SERVERS, Setting, THREAD_LIMIT, THREADS_PER_CHILD, TIMEOUT, in_force, value,
};
use crate::apache::within::filters;

use super::absent::{self, Absent};
use super::again::{Passes, followed};
use crate::files::Requests;
use crate::limits::backend::Place;
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;

/// The backend that answers the path under load.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// As the `ProxyPass` names it, and where that is written.
    pub name: SourcedValue<()>,
    /// Where it is, if it is one alone: as the `ProxyPass`, or the only member of a balancer, names it.
    pub lone: Option<Place>,
    /// Its address, where it is one; those of a balancer's members.
    pub addresses: Vec<SocketAddr>,
    /// Where it is reached, by TCP or a Unix socket; names that must be resolved are not among them.
    pub behind: Vec<Endpoint>,
    /// `max=`: connections of each child process at once, of each member of a balancer; none: as many as threads.
    pub max: Vec<Option<SourcedValue<u64>>>,
    /// Members that these leave out, since nobody listens there.
    pub absent: Absent,
    /// The same of the members that are given what those have no connection for; none: nobody is.
    pub further: Option<Vec<Option<SourcedValue<u64>>>>,
    /// The members of a balancer by their URLs, each with its line.
    pub each: Vec<(String, SourcedValue<()>)>,
    /// Whether each of them is asked as often as the others.
    pub even: bool,
    /// Whether it is a balancer, whose members have the parameters.
    pub balanced: bool,
    /// How long a request waits for one of them at most (`acquire=`; of a balancer's members for one after another, as it is given to the next
    /// where one was not to be had); none: for ever, at one of them at least.
    pub acquire: Option<Span>,
    /// The same of each member of a balancer, by its address.
    pub waits: Vec<(String, Option<Span>)>,
    /// Whether a member that had no connection within its `acquire` leaves the request to another one.
    pub passes_on: bool,
    /// Whether all of it takes TLS.
    pub encrypted: bool,
    /// `SSLProxyEngine`, where the backend is one that takes TLS and this is not on.
    pub unencrypted: Option<SourcedValue<()>>,
    /// Whether mod_proxy_wstunnel carries WebSockets itself: then no time ends a silent one (mod_proxy_wstunnel.c: apr_pollset_poll
    /// without a timeout).
    pub untimed: bool,
    /// The scheme by which the backend is asked (`http`, `fcgi`).
    pub scheme: String,
}

/// Everything the limits are computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The multi-processing module.
    pub mpm: Mpm,
    /// `MaxRequestWorkers`, as written.
    pub max_request_workers: SourcedValue<u64>,
    /// `ServerLimit`, as written.
    pub server_limit: SourcedValue<u64>,
    /// `ThreadsPerChild`, as written; 1 for prefork.
    pub threads_per_child: SourcedValue<u64>,
    /// `ThreadLimit`, as written.
    pub thread_limit: SourcedValue<u64>,
    /// `AsyncRequestWorkerFactor`.
    pub async_factor: SourcedValue<f64>,
    /// `StartServers`.
    pub start_servers: SourcedValue<u64>,
    /// `MinSpareServers` and `MaxSpareServers`.
    pub spare_servers: (u64, u64),
    /// The setting by which children are ended while the server serves: `MaxConnectionsPerChild`, else how many may be spare.
    pub ends: (String, SourcedValue<u64>),
    /// `ListenBacklog`.
    pub backlog: SourcedValue<u32>,
    /// net.core.somaxconn.
    pub somaxconn: u32,
    /// `LimitRequestBody` for the path under load; 0: no cap.
    pub body: SourcedValue<u64>,
    /// mod_ratelimit: bytes of a response that are sent in a second, and bytes that go before it counts; none: no cap.
    pub rate_limit: Option<SourcedValue<(u64, u64)>>,
    /// `Timeout`.
    pub timeout: SourcedValue<Span>,
    /// How long the backend may be silent: `timeout=` of the pass, `ProxyTimeout`, or `Timeout`.
    pub proxy_timeout: (String, SourcedValue<Span>),
    /// Whether connections are kept between requests.
    pub keep_alive: bool,
    /// `KeepAliveTimeout`.
    pub keep_alive_timeout: SourcedValue<Span>,
    /// Descriptors of a child process.
    pub nofile: SourcedValue<u64>,
    /// The most descriptors that it can be given here.
    pub nofile_ceiling: Ceiling,
    /// Listening sockets.
    pub listeners: u32,
    /// Log files open in each child.
    pub logs: u32,
    /// How often a request comes in at httpd.
    pub passes: Passes,
    /// What answers the path under load; none: httpd itself.
    pub upstream: Option<Upstream>,
    /// Whether the load holds WebSocket connections.
    pub websocket: bool,
    /// Threads by which a child answers requests of HTTP/2; none: the load has none.
    pub h2_workers: Option<SourcedValue<u64>>,
    /// Cores that the servers can use.
    pub cores: u32,
    /// Local ports for outgoing connections, first and last.
    pub ports: (u16, u16),
}

/// Hard maximum of `ServerLimit`: `MAX_SERVER_LIMIT` of event.c:115, worker.c:87, prefork.c:75.
pub(crate) fn most_servers(mpm: Mpm) -> u64 {
    if mpm == Mpm::Prefork { 200_000 } else { 20_000 }
}

/// Hard maximum of `ThreadLimit`: `MAX_THREAD_LIMIT` of event.c, worker.c.
pub(crate) const fn most_threads() -> u64 {
    100_000
}

impl Facts {
    /// Reads them for the requests of `requests`.
    pub fn of(config: &Config, requests: &Requests, machine: &Machine) -> Facts {
        Facts::without(config, requests, machine, &|_| false)
    }

    /// The same where nobody listens at some addresses.
    pub(in crate::apache) fn without(
        config: &Config,
        requests: &Requests,
        machine: &Machine,
        nobody: &dyn Fn(SocketAddr) -> bool,
    ) -> Facts {
        let mpm = Mpm::of(config);
        let reading = Reading { config, requests, nobody };
        let one = |mut held: SourcedValue<u64>| {
            if mpm == Mpm::Prefork {
                held.value = 1;
            }
            held
        };
        let timeout = reading.held(&TIMEOUT, Span::from_secs(60), whole_seconds);
        Facts {
            mpm,
            max_request_workers: reading.number(&MAX_REQUEST_WORKERS),
            server_limit: reading.number(&SERVER_LIMIT),
            threads_per_child: one(reading.number(&THREADS_PER_CHILD)),
            thread_limit: one(reading.number(&THREAD_LIMIT)),
            async_factor: reading.held(&ASYNC_REQUEST_WORKER_FACTOR, 2.0, value::factor),
            start_servers: reading.number(&START_SERVERS),
            spare_servers: (reading.number(&MIN_SPARE_SERVERS).value, reading.number(&MAX_SPARE_SERVERS).value),
            ends: reading.ends(),
            backlog: reading.held(&LISTEN_BACKLOG, 511, |t| u32::try_from(value::atoi(t)).ok().filter(|n| *n > 0)),
            somaxconn: machine.somaxconn,
            body: reading.held(&LIMIT_REQUEST_BODY, 1, value::count),
            rate_limit: reading.rate_limit(),
            proxy_timeout: reading.proxy_timeout(&timeout),
            timeout,
            keep_alive: !reading.written(&KEEP_ALIVE).eq_ignore_ascii_case("off"),
            keep_alive_timeout: reading.held(&KEEP_ALIVE_TIMEOUT, Span::from_secs(5), interval),
            nofile: SourcedValue::plain(
                machine.descriptors,
                Origin::Machine("inherited: `ulimit -n` (RLIMIT_NOFILE)".to_owned()),
            ),
            nofile_ceiling: machine.descriptors_ceiling.clone(),
            listeners: listens(config).len() as u32,
            logs: config.named("customlog").chain(config.named("transferlog")).count().max(1) as u32,
            passes: Passes::of(config, requests),
            upstream: reading.upstream(),
            websocket: requests.websocket,
            h2_workers: requests.streams.map(|_| reading.h2_workers(mpm)),
            cores: machine.cores,
            ports: machine.ports,
        }
    }

    /// Threads of a child in force: at most `ThreadLimit` (event.c: event_check_config, AH00507), which is at least one and at most
    /// `MAX_THREAD_LIMIT` (AH00502, AH00504). Prefork has none but the process itself.
    pub fn threads(&self) -> u64 {
        match self.mpm {
            Mpm::Prefork => 1,
            _ => self.threads_per_child.value.clamp(1, self.thread_limit.value.clamp(1, most_threads())),
        }
    }

    /// `ServerLimit` in force.
    pub fn servers(&self) -> u64 {
        self.server_limit.value.clamp(1, most_servers(self.mpm))
    }

    /// Workers in force: whole children, at least one, at most `ServerLimit` of them (event.c: event_check_config; AH00511,
    /// AH00513, AH00515).
    pub fn workers(&self) -> u64 {
        self.children() * self.threads()
    }

    /// Child processes at most.
    pub fn children(&self) -> u64 {
        (self.max_request_workers.value / self.threads()).clamp(1, self.servers())
    }

    /// Whether `ServerLimit` keeps workers below `MaxRequestWorkers`.
    pub fn is_clamped(&self) -> bool {
        self.max_request_workers.value / self.threads() > self.servers()
    }

    /// Workers that an idle keep-alive client costs. Event lets a child hold `threads + idle threads * factor` connections
    /// (event.c: connections_above_limit), so `b` busy and `i` idle ones fit while `b (1 + f) + i <= threads (1 + f)`.
    pub fn idle_cost(&self) -> f64 {
        match self.mpm {
            _ if self.websocket => 1.0,
            _ if !self.keep_alive => 0.0,
            Mpm::Event => 1.0 / (1.0 + self.async_factor.value.floor()),
            Mpm::Worker | Mpm::Prefork => 1.0,
        }
    }

    /// The setting that ends a silent tunnel, and its time: the longer of what Apache waits for clients and for the backend
    /// (mod_proxy_http.c: proxy_http_handler; a shorter ProxyTimeout does not shorten it). None where no time does.
    pub fn tunnel_timeout(&self) -> Option<(&str, &SourcedValue<Span>)> {
        let (setting, held) = &self.proxy_timeout;
        let longest =
            if self.timeout.value > held.value { (TIMEOUT.name, &self.timeout) } else { (setting.as_str(), held) };
        self.upstream.as_ref().filter(|u| self.websocket && !u.untimed).map(|_| longest)
    }

    /// Descriptors of a child that are never a client's: standard streams, event queue, wake-up and control pipes, listening
    /// sockets (genkai's status page included), logs. Measured on httpd 2.4.71 (event): 9 and one for each of the others.
    pub fn base_descriptors(&self) -> u64 {
        9 + u64::from(self.listeners) + 1 + u64::from(self.logs) + u64::from(self.upstream.is_some())
    }

    /// Descriptors of a client whose request is in flight; a tunnel has an event queue, too (apr_pollset_create).
    pub fn busy_descriptors(&self) -> u64 {
        self.passes.connections() + u64::from(self.upstream.is_some() && self.websocket)
    }
}

/// Seconds as `Timeout`, `ProxyTimeout` and `timeout=` count them: units are not read (core.c: set_timeout; mod_proxy.c: set_proxy_timeout,
/// set_worker_param: atoi). None where there is no such time.
fn whole_seconds(text: &str) -> Option<Span> {
    u64::try_from(value::atoi(text)).ok().map(Span::from_secs)
}

fn interval(text: &str) -> Option<Span> {
    value::interval(text, 1_000).map(Span::from_millis)
}

struct Reading<'a> {
    config: &'a Config,
    requests: &'a Requests,
    nobody: &'a dyn Fn(SocketAddr) -> bool,
}

impl Reading<'_> {
    /// Whether `SSLProxyEngine` is on in a `<Proxy>` or `<ProxyMatch>`, which may be the backend's.
    fn has_engine_of_a_proxy(&self) -> bool {
        let is_proxy = |found: &Found| found.context.iter().any(|s| s.name == "proxy" || s.name == "proxymatch");
        let is_on = |found: &Found| found.arg(0).is_some_and(|word| word.eq_ignore_ascii_case("on"));
        self.config.named("sslproxyengine").any(|found| is_proxy(found) && is_on(found))
    }

    fn raw(&self, setting: &Setting) -> SourcedValue<()> {
        in_force(self.config, setting, self.requests)
    }

    fn written(&self, setting: &Setting) -> String {
        self.raw(setting).written
    }

    /// A value; what httpd would refuse, and what is not set, is taken as `otherwise`.
    fn held<T>(&self, setting: &Setting, otherwise: T, parse: impl Fn(&str) -> Option<T>) -> SourcedValue<T> {
        let raw = self.raw(setting);
        let value = parse(&raw.written).unwrap_or(otherwise);
        raw.map(|()| value)
    }

    /// What httpd reads of a number of workers, threads or children; it takes one for none and less.
    fn number(&self, setting: &Setting) -> SourcedValue<u64> {
        self.held(setting, 1, |text| Some(u64::try_from(value::atoi(text)).unwrap_or(0)))
    }

    /// Threads of mod_http2 in a child: as written, else half as many again as there are at least, which are as many as the child's workers
    /// (h2_c1.c: h2_c1_child_init).
    fn h2_workers(&self, mpm: Mpm) -> SourcedValue<u64> {
        let number = |setting: &Setting| {
            self.raw(setting).parsed(|text| u64::try_from(value::atoi(text)).ok().filter(|n| *n > 0))
        };
        let threads = match mpm {
            Mpm::Prefork => 1,
            _ => self
                .number(&THREADS_PER_CHILD)
                .value
                .clamp(1, self.number(&THREAD_LIMIT).value.clamp(1, most_threads())),
        };
        let least = number(&H2_MIN_WORKERS).map_or(threads, |held| held.value);
        let most = number(&H2_MAX_WORKERS).unwrap_or_else(|| {
            let why = format!(
                "3/2 of {least} (H2MinWorkers, or ThreadsPerChild): httpd modules/http2/h2_c1.c: h2_c1_child_init"
            );
            SourcedValue::plain(3 * least / 2, Origin::Default(why))
        });
        most.map(|most| most.max(least))
    }

    /// What mod_ratelimit lets through of a response.
    fn rate_limit(&self) -> Option<SourcedValue<(u64, u64)>> {
        let route = Route::find(self.config, self.requests)?;
        let loaded = ["ratelimit_module", "env_module"].iter().all(|module| self.config.has_module(module));
        let filtered = loaded && filters(self.config, &route, self.requests, "rate_limit");
        let bytes = |setting: &Setting| {
            let kilobytes = |text: &str| u64::try_from(value::atoi(text)).ok().filter(|n| *n > 0);
            self.raw(setting).parsed(|text| Some(kilobytes(text)?.saturating_mul(1024)))
        };
        let rate = bytes(&RATE_LIMIT).filter(|_| filtered)?;
        let burst = bytes(&RATE_INITIAL_BURST).map_or(0, |held| held.value);
        Some(rate.map(|rate| (rate, burst)))
    }

    /// The setting by which children are ended.
    fn ends(&self) -> (String, SourcedValue<u64>) {
        let counted = self.held(&MAX_CONNECTIONS_PER_CHILD, 0, value::count);
        match counted.value {
            0 => (MAX_SPARE_THREADS.name.to_owned(), self.number(&MAX_SPARE_THREADS)),
            _ => (MAX_CONNECTIONS_PER_CHILD.name.to_owned(), counted),
        }
    }

    /// The setting that says how long a backend may be silent, and its value.
    fn proxy_timeout(&self, timeout: &SourcedValue<Span>) -> (String, SourcedValue<Span>) {
        // What is not set has no digits.
        let span = |text: &str| whole_seconds(text).filter(|span| *span > Span::from_secs(0));
        // The timeout of a balancer is another: how long a request waits for a member. The first to give up counts.
        let members = self.balanced();
        let of = |member: &Member<'_>| {
            let text = member.parameter(PROXY_PASS_TIMEOUT.directive)?.to_owned();
            Some(SourcedValue { value: span(&text)?, written: text, origin: self.origin(member.found) })
        };
        if let Some(first) = members.iter().flatten().filter_map(of).min_by_key(|held| held.value) {
            return ("BalancerMember.timeout".to_owned(), first);
        }
        let own = [PROXY_PASS_TIMEOUT, PROXY_TIMEOUT].into_iter().skip(usize::from(members.is_some()));
        let mut own = own.filter_map(|s| Some((s.name.to_owned(), self.raw(&s).parsed(span)?)));
        own.next().unwrap_or_else(|| (TIMEOUT.name.to_owned(), timeout.clone()))
    }

    /// Whether a backend of this scheme is mod_proxy_wstunnel's own: it hands over to mod_proxy_http unless that is not there, or it is
    /// told not to (mod_proxy_wstunnel.c: proxy_wstunnel_check_trans, since 2.4.48).
    fn is_untimed(&self, scheme: &str) -> bool {
        let hands_over = self.config.has_module("proxy_http_module")
            && !self.written(&PROXY_WEBSOCKET_FALLBACK_TO_PROXY_HTTP).eq_ignore_ascii_case("off");
        matches!(scheme, "ws" | "wss") && !hands_over
    }

    /// By which requests leave httpd; where it passes them to itself in a way that is not known, by which they come in again.
    fn pass(&self) -> Option<Pass<'_>> {
        match followed(self.config, self.requests) {
            (Passes::Times(..), pass) => pass,
            (Passes::Untold, _) => handler::pass(self.config, &Route::find(self.config, self.requests)?, self.requests),
        }
    }

    /// The members that a pass to a balancer goes to.
    fn balanced(&self) -> Option<Vec<Member<'_>>> {
        Some(members(self.config, &self.pass()?.url)?.first)
    }

    fn origin(&self, found: &Found) -> Origin {
        Origin::File { path: self.config.file(found.file).path.clone(), line: found.line }
    }

    /// A member by the name that httpd's log has of it.
    fn named(&self, member: &Member<'_>) -> (String, SourcedValue<()>) {
        let name = told(&member.url);
        (name.clone(), SourcedValue { value: (), written: name, origin: self.origin(member.found) })
    }

    /// Whether members get requests in turn: by the default method (or its name), with equal factors, and no session keeps to one.
    fn even(&self, all: &[Member<'_>]) -> bool {
        let factor = |member: &Member<'_>| member.parameter("loadfactor").unwrap_or("1").parse().unwrap_or(0.0_f64);
        let same = all.windows(2).all(|two| factor(&two[0]) == factor(&two[1]));
        let uneven = |arg: &String| {
            let arg = arg.to_ascii_lowercase();
            arg.starts_with("stickysession=") || arg.strip_prefix("lbmethod=").is_some_and(|by| by != "byrequests")
        };
        same && !self.config.found().iter().any(|found| found.args.iter().any(uneven))
    }

    /// Where a backend is that is one alone.
    fn lone(&self, pass: &Pass<'_>, members: Option<&[Member<'_>]>) -> Option<Place> {
        let (url, found) = match members {
            None => (pass.url.as_str(), pass.found),
            Some([member]) => (member.url.as_str(), member.found),
            Some(_) => return None,
        };
        let socket = url.strip_prefix("unix:").map(|rest| rest.split('|').next().unwrap_or(rest));
        let address = socket.unwrap_or_else(|| host(authority(url).1)).to_owned();
        let name = SourcedValue { value: (), written: address.clone(), origin: self.origin(found) };
        Some(Place { name, address })
    }

    fn upstream(&self) -> Option<Upstream> {
        let pass = self.pass()?;
        let members = self.balanced();
        let urls: Vec<&str> =
            members.as_ref().map_or(vec![&pass.url], |all| all.iter().map(|m| m.url.as_str()).collect());
        let (scheme, name) = pass.authority();
        let limit = |text: &str| u64::try_from(value::atoi(text)).ok().filter(|max| *max > 0);
        let own = |member: &Member<'_>| {
            let text = member.parameter(PROXY_PASS_MAX.directive)?;
            Some(SourcedValue { value: limit(text)?, written: text.to_owned(), origin: self.origin(member.found) })
        };
        let wait = |text: &str| value::interval(text, 1).filter(|ms| *ms > 0);
        let waits = |member: &Member<'_>| member.parameter(PROXY_PASS_ACQUIRE.directive).and_then(wait);
        let (there, absent) = absent::without(self.config, &pass.url, self.nobody).unzip();
        let Members { first: there, further: passed } = there.unwrap_or_default();
        let asked = there.iter().chain(passed.iter().flatten());
        let acquire = asked.map(waits).sum::<Option<u64>>();
        // Who waits for one for ever is given to nobody else.
        let further = passed.as_ref().filter(|_| acquire.is_some());
        let each_waits = |member: &Member<'_>| (told(&member.url), waits(member).map(Span::from_millis));
        Some(Upstream {
            waits: there.iter().map(each_waits).collect(),
            absent: absent.unwrap_or_default(),
            passes_on: passed.is_some(),
            name: SourcedValue { value: (), written: host(name).to_owned(), origin: self.origin(pass.found) },
            lone: self.lone(&pass, members.as_deref()),
            addresses: urls.iter().filter_map(|url| socket(url)).collect(),
            behind: urls.iter().filter_map(|url| endpoint(url)).collect(),
            max: match &members {
                Some(_) => there.iter().map(own).collect(),
                // That of the way in is changed by the setting, and no other.
                None if Passes::of(self.config, self.requests).is_again() => vec![None],
                None => vec![self.raw(&PROXY_PASS_MAX).parsed(limit)],
            },
            further: further.map(|all| all.iter().map(own).collect()),
            each: members.iter().flatten().map(|member| self.named(member)).collect(),
            even: members.as_ref().is_some_and(|all| self.even(all)),
            balanced: members.is_some(),
            acquire: match &members {
                Some(_) => acquire,
                None => self.raw(&PROXY_PASS_ACQUIRE).parsed(wait).map(|held| held.value),
            }
            .map(Span::from_millis),
            untimed: self.is_untimed(urls.first().map_or(scheme, |url| authority(url).0)),
            scheme: urls
                .first()
                .map_or(scheme, |url| authority(url).0)
                .rsplit('|')
                .next()
                .unwrap_or_default()
                .to_lowercase(),
            encrypted: !urls.is_empty() && urls.iter().all(|url| is_encrypted(url)),
            unencrypted: Some(self.raw(&SSL_PROXY_ENGINE)).filter(|held| {
                let tls = urls.iter().any(|url| is_encrypted(url));
                tls && !held.written.eq_ignore_ascii_case("on") && !self.has_engine_of_a_proxy()
            }),
        })
    }
}

/// Where `scheme://address:port/`, or `unix:/path|scheme://name/`, leads.
fn endpoint(url: &str) -> Option<Endpoint> {
    match url.strip_prefix("unix:") {
        Some(rest) => Endpoint::parse(rest.split('|').next()?),
        None => socket(url).map(Endpoint::Tcp),
    }
}

/// Where handlers lead that pass to a server (`SetHandler "proxy:unix:/path|fcgi://localhost"`), whichever files or locations have them.
pub fn handlers(config: &Config) -> Vec<Endpoint> {
    let passed = config.named("sethandler").filter_map(|found| found.arg(0)?.strip_prefix("proxy:"));
    passed.filter_map(endpoint).collect()
}

fn is_encrypted(url: &str) -> bool {
    matches!(authority(url).0, "https" | "wss")
}
