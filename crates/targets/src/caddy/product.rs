//! Caddy as a product: what is installed, how its configuration is read, copied, tested and started.

use std::net::SocketAddr;
use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::Limit;
use tempfile::NamedTempFile;

use super::CALLED;
use super::by_port::{by_port, unsent};
use super::config::{Config, variables};
use super::evidence::{Answers, Checks, Hidden, Judged, Watch};
use super::explain::explain;
use super::lifecycle::{self, LOOKUP, command};
use super::limits::{self, Facts};
use super::private::{self, Private};
use super::route::{Route, Upstream, is_fastcgi};
use super::secured;
use super::settings::render;
use crate::error::TargetError;
use crate::files::{Requests, masked, passing};
use crate::product::{
    ByPort, Certificate, Deployment, Entry, Prepare, Product, Program, Proxy, READY_WITHIN, Role, Startup, Variant,
    shared,
};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::process::Child;
use genkai_place::running::Running;
use genkai_place::tail::Tail;
use genkai_place::{port, ready};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "caddy",
    called: CALLED,
    program: ("caddy", &["version"]),
    role: Role::Proxy(Proxy {
        title: CALLED,
        programs: LOOKUP.names,
        tls: true,
        http2: Some("`protocols h1 h2` (and `h2c` without TLS) under `servers` in the global options"),
        upgrades: false,
        started: None,
        examples: &[
            "--set max_conns_per_host=20 --users 200",
            "--config /etc/caddy/Caddyfile --backend embedded --users 500",
            "--config ./Caddyfile --header \"Host: www.example.com\"",
        ],
    }),
    prepare: Some(Deployment::<Caddy>::boxed),
    explain: Some(explain),
    ask: Some((Deployment::<Caddy>::asked, "`caddy validate` of a private copy")),
    looks: super::looks::LOOKS,
    clamps: &[],
    unknown: "unrecognized",
    leaves_out: true,
};

/// Why a copy without some directives is none: an empty answer looks like success.
const UNANSWERED: &str = "without these nothing answers such requests, and it answers them with an empty 200";

/// HTTP/2 requests at once on a connection (Go net/http h2_bundle.go: http2defaultMaxStreams).
const STREAMS: u32 = 250;

/// The Caddy that is installed.
#[derive(Debug)]
pub struct Caddy(Program);

impl Product for Caddy {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Private;
    type Running = Running<Watch>;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Caddy, TargetError> {
        Program::find(&LOOKUP, what.program, dir).map(Caddy)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, main: &Path) -> Result<Config, TargetError> {
        Ok(Config::read(main, variables())?)
    }

    fn plain(&self, what: &Prepare<'_>, backend: SocketAddr) -> Result<Config, TargetError> {
        Ok(render((backend, what.secured), what.tls.as_ref(), what.streams.is_some())?)
    }

    fn copy(of: &Variant<Self>) -> Result<Private, TargetError> {
        let (config, requests) = (of.config(), of.requests());
        let route = Route::find(config, requests).ok_or_else(|| nobody(config, &requests.host))?;
        let was = Route::find(of.original(), requests);
        if !route.answered && was.is_some_and(|was| was.answered) {
            return Err(TargetError::usage(CALLED, UNANSWERED));
        }
        Ok(private::build(config, &route, of.copy_options(&mut port::free))?)
    }

    fn by_port(of: &Variant<Self>) -> Option<ByPort> {
        by_port(of.config(), of.requests())
    }

    fn entered(of: &Variant<Self>) -> Vec<String> {
        let unled = of.conditions().backend.and_then(|_| unled(of.config(), of.requests()));
        unsent(of.config(), of.requests()).into_iter().chain(unled).collect()
    }

    fn rewrites(copy: &Private) -> Vec<Rewrite> {
        copy.rewrites.clone()
    }

    fn translate(copy: &Private, message: &str) -> String {
        copy.translate(message)
    }

    fn check(
        of: &Variant<Self>,
        copy: &Private,
        instead: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        let config = instead.unwrap_or(&copy.config);
        lifecycle::check(&of.product().0, config, &copy.folder, of.dir(), translate)
    }

    /// Among the global options, which are the first block of the copy.
    fn with_line(copy: &Private, line: &str) -> Result<NamedTempFile, TargetError> {
        let text = copy.text().replacen("{\n", &format!("{{\n\t{line}\n"), 1);
        Ok(passing(copy.config.parent().unwrap_or(&copy.config), ("with-line-", ".caddyfile"), &text)?)
    }

    fn limits(of: &Variant<Self>, copy: &Private, machine: &Machine, _: &Environment) -> Vec<Limit> {
        let facts = Facts::of(of.config(), Some(&copy.running), of.requests(), machine);
        let facts = facts.in_version(of.product().version());
        limits::of(&facts).into_iter().chain(limits::accidents(&facts)).collect()
    }

    fn behind(of: &Variant<Self>, copy: &Private) -> Vec<Endpoint> {
        let machine = of.machine(&Environment::default());
        Facts::of(of.config(), Some(&copy.running), of.requests(), &machine).behind
    }

    /// Who speaks FastCGI is asked for no target.
    fn forwarded(of: &Variant<Self>, target: &str) -> Option<String> {
        let proxy = Route::find(of.config(), of.requests()).and_then(|route| route.proxy);
        if proxy.is_some_and(is_fastcgi) { None } else { Route::forwarded(of.config(), of.requests(), target) }
    }

    fn encrypts(of: &Variant<Self>) -> Option<String> {
        let route = Route::find(of.config(), of.requests())?;
        let proxy = route.proxy.filter(|proxy| limits::is_encrypted(proxy))?;
        let inside = |name: &str| proxy.option("transport http")?.option(name)?.arg(0);
        let named = inside("tls_server_name").map(|word| word.value.clone());
        let host = || route.upstreams().first().and_then(|one| Upstream::parse(&one.value).host);
        Some(named.or_else(host).filter(|name| !name.contains('{')).unwrap_or_default())
    }

    fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
        secured::certificate(config, requests)
    }

    fn over_http2(_: &Variant<Self>, limit: Limit, streams: u32) -> Limit {
        shared(limit, streams.min(STREAMS))
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        Route::find(of.config(), of.requests()).is_some_and(|route| route.tls)
    }

    fn start(of: &Variant<Self>, copy: &Private, cpus: Option<&[usize]>) -> Result<Running<Watch>, TargetError> {
        let start = |copy: &Private| {
            // The socket of an earlier start must not be mistaken for this one's.
            let _ = std::fs::remove_file(copy.socket());
            let log = of.dir().join("caddy.log");
            let command = command(&of.product().0, &copy.config, &copy.folder, of.dir(), "run");
            let startup = Startup { command, address: copy.address, output: log.clone(), log };
            let ready = |child: &mut Child| ready::connectable(copy.address, READY_WITHIN, child);
            let each = limits::each(of.config(), of.requests()).into_keys();
            let answers = copy.answers.clone().map(|log| Answers::of(Tail::open(log), each));
            let route = Route::find(of.config(), of.requests());
            let hidden = route.map(|route| Hidden::of(route.site)).unwrap_or_default();
            let each = limits::each(of.config(), of.requests()).into_keys();
            let route = Route::find(of.config(), of.requests());
            let checks = route.and_then(|route| route.proxy).map(|proxy| Checks::of(proxy, each)).unwrap_or_default();
            let upstreams = limits::each(of.config(), of.requests()).into_keys().collect();
            let judged = limits::fails(of.config(), of.requests()).map(|most| Judged { upstreams, most });
            let watch = |pid, log| {
                let watch = Watch::new(pid, copy.address, copy.socket(), log);
                watch.answered(answers).hiding(hidden).judging(judged).checking(checks)
            };
            of.launch(startup, cpus, ready, watch)
        };
        of.started(copy, start, |line| line.contains("bind: address already in use"))
    }
}

/// No site takes such requests: Caddy would answer them with an empty 200, which looks like success.
fn nobody(config: &Config, host: &str) -> TargetError {
    let sites: Vec<String> = config.sites().iter().map(|site| site.title()).collect();
    let hint = format!("ask for one of its sites, e.g. with --header \"Host: NAME\": {}", sites.join(", "));
    TargetError::usage(CALLED, format!("no site of the configuration takes requests to `{host}`\n  hint: {hint}"))
}

/// That a backend which was given is not asked, as `php_fastcgi` has these requests.
fn unled(config: &Config, requests: &Requests) -> Option<String> {
    let proxy = Route::find(config, requests)?.proxy.filter(|proxy| proxy.is("php_fastcgi"))?;
    Some(format!(
        "`{}` at {} passes these requests on to whom it names, and not to the backend that was given: that speaks no FastCGI",
        masked(&config.written(proxy)),
        config.place(proxy)
    ))
}
