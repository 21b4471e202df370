//! nginx as a product: what is installed, how its configuration is read, copied, tested and started.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Request;
use tempfile::NamedTempFile;

use super::answers;
use super::by_port::by_port;
use super::config::{Address, Config, Found, Host, Route, asked};
use super::entered;
use super::evidence::{Answers, Out, StubPage, Watch, workers};
use super::explain::explain;
use super::lifecycle::{self, LOOKUP, arguments, command, pin};
use super::limits::{self, Facts, Reading};
use super::passed;
use super::private::{self, Private, STATUS_PATH};
use super::remote;
use super::secured;
use super::settings::render;
use super::uncounted;
use super::{CALLED, no_server};
use crate::error::TargetError;
use crate::files::{Requests, with_line};
use crate::product::{
    ByPort, Certificate, Deployment, Entry, OwnAnswer, Prepare, Product, Program, Proxy, Role, Sessions, Startup,
    Variant, followed, shared,
};
use genkai_place::authority;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::process::Child;
use genkai_place::remote::Remote;
use genkai_place::running::Running;
use genkai_place::tail::Tail;
use genkai_place::{port, process_tree};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "nginx",
    called: CALLED,
    program: ("nginx", &["-v"]),
    role: Role::Proxy(Proxy {
        title: CALLED,
        programs: LOOKUP.names,
        tls: true,
        http2: Some("`listen ... ssl http2;` (from 1.25.1 on `http2 on;`) in the server block"),
        upgrades: false,
        started: None,
        examples: &[
            "--set worker_connections=512 --users 300 --spawn-rate 10",
            "--config /etc/nginx/nginx.conf --backend embedded --users 500",
            "--config ./nginx.conf --backend http://127.0.0.1:8080 --objective \"p99 < 500ms\"",
            "--set worker_connections=512 --users 300 --dry-run",
        ],
    }),
    prepare: Some(Deployment::<Nginx>::boxed),
    explain: Some(explain),
    ask: Some((Deployment::<Nginx>::asked, "`nginx -t` of a private copy")),
    looks: super::looks::LOOKS,
    clamps: &[],
    unknown: "unknown directive",
    leaves_out: false,
};

/// From this version on HTTP/2 is switched on by a directive, and not by a word of `listen`.
const HTTP2_ON: (u32, u32, u32) = (1, 25, 1);

/// HTTP/2 requests at once on a connection where nothing is said (src/http/v2/ngx_http_v2_module.c: ngx_http_v2_merge_srv_conf).
const STREAMS: u32 = 128;

/// The nginx that is installed.
#[derive(Debug)]
pub struct Nginx {
    program: Program,
    /// With what it was built.
    arguments: Vec<String>,
}

/// A private copy, and the copy read back: that says what really runs.
#[derive(Clone, Debug)]
pub struct Copied {
    private: Private,
    /// Where the load goes.
    pub address: SocketAddr,
    config: Config,
    /// The redirect of a plain listener that requests do not go by, as they would end up here.
    followed: Option<Rewrite>,
}

impl Product for Nginx {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Copied;
    type Running = Running<Watch>;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Nginx, TargetError> {
        let program = Program::find(&LOOKUP, what.program, dir)?;
        Ok(Nginx { arguments: arguments(program.said()), program })
    }

    fn version(&self) -> &str {
        self.program.version()
    }

    fn read(&self, main: &Path) -> Result<Config, TargetError> {
        let prefix = self.arguments.iter().find_map(|a| a.strip_prefix("--prefix="));
        Ok(Config::read(main, Path::new(prefix.unwrap_or("/usr/local/nginx")))?)
    }

    fn plain(&self, what: &Prepare<'_>, backend: SocketAddr) -> Result<Config, TargetError> {
        let http2 = what.streams.map(|_| self.program.numbers() >= HTTP2_ON);
        Ok(render((backend, what.secured), what.websocket, http2, what.tls.as_ref()))
    }

    fn copy(of: &Variant<Self>) -> Result<Copied, TargetError> {
        let arguments = &of.product().arguments;
        let status = arguments.iter().any(|a| a == "--with-http_stub_status_module");
        let configure = arguments.join(" ");
        let built = private::Built { configure: &configure, version: of.product().program.numbers() };
        let route = of.config().route_of(of.requests());
        let loaded = route.as_ref().and_then(|route| route.listen.as_ref()).map(|listen| &listen.address);
        let private = private::build(of.config(), loaded, of.copy_options(&mut port::free), built, status)?;
        let route = route.ok_or_else(no_server)?;
        let place = route.listen.as_ref().map_or_else(|| route.server.place(), |l| l.found.place());
        let address = private.address_of(&place, route.listen.as_ref().map(|l| &l.address)).ok_or_else(no_server)?;
        let config = Config::read(&private.main, of.config().prefix())?;
        let followed = route.redirect.as_ref().map(|redirect| followed(redirect.place(), redirect.written(), &place));
        let copy = Copied { private, address, config, followed };
        copy.route(of.requests()).ok_or_else(no_server)?;
        Ok(copy)
    }

    fn by_port(of: &Variant<Self>) -> Option<ByPort> {
        by_port(of.config(), of.requests())
    }

    fn rewrites(copy: &Copied) -> Vec<Rewrite> {
        copy.private.rewrites.iter().cloned().chain(copy.followed.clone()).collect()
    }

    fn translate(copy: &Copied, message: &str) -> String {
        copy.private.translate(message)
    }

    /// One of the user's that nginx accepts must also serve somebody and stay on this machine.
    fn check(
        of: &Variant<Self>,
        copy: &Copied,
        instead: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        let main = instead.unwrap_or(&copy.private.main);
        let warnings = lifecycle::check(&of.product().program, of.dir(), main, translate)?;
        // A change that makes it useless is the answer of whoever tries it.
        if !of.is_changed() && !of.conditions().is_question() {
            serves_someone(&facts(of, copy, &of.machine(&Environment::default())))?;
            stays_here(of, copy, translate)?;
        }
        Ok(warnings)
    }

    fn with_line(copy: &Copied, line: &str) -> Result<NamedTempFile, TargetError> {
        Ok(with_line(&copy.private.main, line)?)
    }

    fn limits(of: &Variant<Self>, copy: &Copied, machine: &Machine, _: &Environment) -> Vec<Limit> {
        let facts = facts(of, copy, machine);
        let passed = passed::limits(of.config(), of.requests());
        let all = limits::of(&facts).into_iter().chain(limits::accidents(&facts)).chain(passed);
        all.map(|limit| as_written(&copy.private, limit)).collect()
    }

    fn entered(of: &Variant<Self>) -> Vec<String> {
        let unreplaced = of.conditions().backend.map(|_| private::unreplaced(of.config())).unwrap_or_default();
        let (version, machine) = (of.product().program.numbers(), of.machine(&Environment::default()));
        let visitor = Some(of.conditions().listen).filter(Ipv4Addr::is_loopback);
        let uncounted = uncounted::told(of.config(), of.requests(), version, &machine, visitor);
        unreplaced.into_iter().chain(entered::told(of.config(), of.requests())).chain(uncounted).collect()
    }

    fn answers(of: &Variant<Self>, _: &Copied, request: &Request) -> Vec<OwnAnswer> {
        of.config().route_of(of.requests()).map_or_else(Vec::new, |route| answers::own(&route, request))
    }

    fn behind(of: &Variant<Self>, copy: &Copied) -> Vec<Endpoint> {
        let facts = facts(of, copy, &of.machine(&Environment::default()));
        let besides = facts.asides.into_iter().filter_map(|one| one.upstream);
        let own = |at: &Endpoint| copy.is_own(at);
        let each = facts.upstream.into_iter().chain(besides).flat_map(|upstream| {
            let tcp = upstream.addresses.into_iter().map(Endpoint::Tcp);
            tcp.chain(upstream.sockets.into_iter().map(Endpoint::Unix))
        });
        let mut all: Vec<Endpoint> = Vec::new();
        each.filter(|at| !own(at)).for_each(|at| {
            if !all.contains(&at) {
                all.push(at);
            }
        });
        all
    }

    fn anew(of: &Variant<Self>, copy: &Copied) -> Option<f64> {
        let facts = facts(of, copy, &of.machine(&Environment::default()));
        let upstream = facts.upstream.filter(|upstream| upstream.keepalive.is_none() && facts.asides.is_empty())?;
        (upstream.servers == 1).then_some(facts.read_timeout.value.as_secs_f64())
    }

    fn forwarded(of: &Variant<Self>, target: &str) -> Option<String> {
        let route = of.config().route_of(of.requests())?;
        let again = of.config().through(&route).routes;
        std::iter::once(&route).chain(&again).try_fold(target.to_owned(), |target, route| route.forwarded(&target))
    }

    fn encrypts(of: &Variant<Self>) -> Option<String> {
        let route = of.config().route_of(of.requests())?;
        let again = of.config().through(&route).routes;
        let last = again.last().unwrap_or(&route);
        let pass = last.pass().filter(|pass| pass.tls)?;
        let word = |name: &str| last.inherited(name).last().and_then(|found| found.arg(0));
        let sent = word("proxy_ssl_server_name").is_some_and(|word| word == "on");
        let named = || match word("proxy_ssl_name").unwrap_or_else(|| pass.authority.clone()) {
            name if name.contains('$') => of.requests().host.clone(),
            name => name,
        };
        Some(if sent { authority::bare(&named()) } else { String::new() })
    }

    fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
        secured::certificate(config, requests)
    }

    fn over_http2(of: &Variant<Self>, limit: Limit, streams: u32) -> Limit {
        let found = of.config().route_of(of.requests()).map(|route| route.inherited("http2_max_concurrent_streams"));
        let written = found.and_then(|found| found.last()?.arg(0)?.parse().ok());
        shared(limit, streams.min(written.unwrap_or(STREAMS)))
    }

    fn sessions(of: &Variant<Self>) -> Option<Sessions> {
        secured::sessions(of.config(), of.requests())
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        let route = of.config().route_of(of.requests());
        route.and_then(|route| route.listen).is_some_and(|listen| listen.ssl)
    }

    /// Ready when its workers run, too, which it may have put on other cores.
    fn start(of: &Variant<Self>, copy: &Copied, cpus: Option<&[usize]>) -> Result<Running<Watch>, TargetError> {
        let start = |copy: &Copied| {
            let facts = facts(of, copy, &of.machine(&Environment::default()));
            let mut command = command(&of.product().program, of.dir(), &copy.private.main);
            command.args(["-g", "daemon off; master_process on;"]);
            let (output, log) = (of.dir().join("output.txt"), copy.private.error_log.clone());
            let startup = Startup { command, address: copy.address, output, log };
            let ready = |child: &mut Child| {
                let workers = process_tree::ready(child, copy.address, facts.workers.value, workers)?;
                pin(&workers, cpus.unwrap_or_default());
                Ok(())
            };
            let page = |address| StubPage { address, path: STATUS_PATH.to_owned(), host: "genkai".to_owned() };
            let page = copy.private.status.map(page);
            let servers = facts.upstream.iter().flat_map(|upstream| &upstream.each).map(|(name, _)| name.clone());
            let answers = copy.private.answers.clone().map(|log| Answers::of(Tail::open(log), servers));
            let out = leaves_out(&facts, &copy.config).map(Out::of);
            let is_deferred = defers(of.config(), of.requests());
            let watch = |pid, log| {
                let watch = Watch::new(pid, copy.address, page, facts.crowded(), log);
                watch.deferring(copy.address, is_deferred).answered(answers).leaving_out(out)
            };
            of.launch(startup, cpus, ready, watch)
        };
        of.started(copy, start, |line| line.contains("bind() to ") && line.contains("failed (98: "))
    }
}

/// A limit that tells places of the copy's listeners as the user's configuration has them.
fn as_written(private: &Private, limit: Limit) -> Limit {
    Limit {
        value: private.as_written(&limit.value),
        setting: private.as_written(&limit.setting),
        caps: private.as_written(&limit.caps),
        formula: private.as_written(&limit.formula),
        ..limit
    }
}

/// The servers of a group of which nginx's log tells which gets no requests: all workers must think the same, and the time must be nginx's own.
fn leaves_out(facts: &Facts, config: &Config) -> Option<Vec<String>> {
    let upstream = facts.upstream.as_ref().filter(|upstream| upstream.each.len() > 1)?;
    let timed = config.files().any(|(_, file)| String::from_utf8_lossy(&file.text).contains("fail_timeout"));
    let alike = facts.workers.value == 1 || upstream.shared;
    (alike && !timed).then(|| upstream.each.iter().map(|(name, _)| name.clone()).collect())
}

/// Whether the listener of these requests waits for data before it accepts: what one `listen` of an address says of its socket counts for all.
fn defers(config: &Config, requests: &Requests) -> bool {
    let listen = config.route_of(requests).and_then(|route| route.listen);
    let same = |address: &Address| listen.as_ref().is_some_and(|listen| listen.address == *address);
    config.listens().iter().any(|one| one.deferred && same(&one.address))
}

impl Copied {
    /// Whether it is where one of the copy's own listeners is now.
    fn is_own(&self, at: &Endpoint) -> bool {
        self.private.moved.iter().any(|moved| moved.to.endpoint() == *at)
    }

    fn route(&self, requests: &Requests) -> Option<Route<'_>> {
        let IpAddr::V4(ip) = self.address.ip() else { return None };
        let address = Address::Inet { host: Host::V4(ip), port: self.address.port() };
        let (host, path) = asked(requests);
        self.config.route_by(Some(&address), host, path)
    }
}

/// What the limits of a copy are computed from, each with its place in the configuration.
pub fn facts(of: &Variant<Nginx>, copy: &Copied, machine: &Machine) -> Facts {
    let route = copy.route(of.requests()).expect("looked at when the copy was made");
    let origin = |found: &Found<'_>| {
        let path = found.config.file(found.file).path.to_string_lossy();
        Origin::File { path: copy.private.translate(&path).into(), line: found.line() }
    };
    let mut facts = Reading {
        config: &copy.config,
        route,
        origin: &origin,
        version: of.product().program.numbers(),
        machine,
        status: copy.private.status,
        visitor: Some(of.conditions().listen).filter(Ipv4Addr::is_loopback),
        headers: of.requests().headers.as_deref(),
        body: of.requests().body,
        absent: &|address| {
            let at = Endpoint::Tcp(address);
            // What stands in for one may not have begun.
            let moved = copy.is_own(&at) || of.moves().iter().any(|one| one.to == at);
            address.ip().is_loopback() && !moved && at.is_nobodys()
        },
    }
    .facts();
    let told = leaves_out(&facts, &copy.config).is_some();
    facts.upstream.iter_mut().for_each(|upstream| upstream.told = told);
    facts
}

/// Refuses slots so few that not one request finds room.
fn serves_someone(facts: &Facts) -> Result<(), TargetError> {
    let (value, taken, one) = (facts.worker_connections.value, facts.base_slots(), facts.busy_slots());
    if value >= taken + one {
        return Ok(());
    }
    Err(TargetError::usage(
        CALLED,
        format!(
            "worker_connections {value}: not one request could be served: a worker's listeners (genkai's status page is one) and \
             its channel to the master take {taken}, a request takes {one}\n  hint: give at least {}",
            taken + one
        ),
    ))
}

/// Refuses a host that requests would reach though it is neither this machine nor allowed.
fn stays_here(of: &Variant<Nginx>, copy: &Copied, translate: &dyn Fn(&str) -> String) -> Result<(), TargetError> {
    // The backend given is the caller's to judge.
    let given = of.conditions().backend.map(|backend| backend.ip().to_string());
    let allowed: Vec<String> = of.conditions().allowed.iter().cloned().chain(given).collect();
    let Some(found) = remote::first(&copy.config, &allowed) else { return Ok(()) };
    let place = translate(&found.place);
    Err(Remote { place, ..found }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_listen_that_defers_counts_for_all_of_its_address() {
        let of = |other: &str| {
            let text = format!(
                "events {{}}\nhttp {{ server {{ listen 80; server_name a; }} server {{ listen {other}; server_name b; }} }}\n"
            );
            let config = Config::of_text(Path::new("/n.conf"), text.into(), Path::new("/")).unwrap();
            defers(&config, &Requests::to("a", "/"))
        };
        assert_eq!((of("80 deferred"), of("80"), of("81 deferred")), (true, false, false));
    }
}
