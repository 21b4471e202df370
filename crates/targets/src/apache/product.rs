//! Apache httpd as a product: what is installed, how its configuration is read, copied, tested and started.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Law, Limit};
use genkai_model::load::Request;
use genkai_model::plan::ConfigSource;
use tempfile::NamedTempFile;

use super::CALLED;
use super::answers;
use super::by_port::by_port;
use super::config::{Config, Reading};
use super::evidence::{Answers, Out, Watch, children};
use super::explain::explain;
use super::lifecycle::{self, LOOKUP, command, environment, modules, root};
use super::limits::{self, Facts, handlers};
use super::overrides::Overrides;
use super::passed;
use super::private::{self, Private};
use super::route::{Route, answers_are_told, documents, errors_may_hide, is_url};
use super::secured;
use super::settings::{Mpm, Rendering, render};
use crate::error::TargetError;
use crate::files::{Requests, with_line};
use crate::limits::backend::nobody_listens;
use crate::product::{
    ByPort, Certificate, Deployment, Entry, OwnAnswer, Prepare, Product, Program, Proxy, Role, Sessions, Startup,
    Variant, followed, shared, unknown,
};
use genkai_place::authority;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::process::Child;
use genkai_place::running::Running;
use genkai_place::tail::Tail;
use genkai_place::{port, process_tree};

/// What a warning of httpd says that replaces a number: server/mpm/event/event.c, worker.c and prefork.c, `*_check_config`; for
/// ThreadStackSize "is inappropriate, using default" (AH02435, AH02436).
const CLAMPS: &[&str] = &[", decreasing ", ", increasing ", ", using default"];

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "apache",
    called: CALLED,
    program: ("apache2", &["-v"]),
    role: Role::Proxy(Proxy {
        title: "Apache httpd",
        programs: LOOKUP.names,
        tls: true,
        http2: Some("`LoadModule http2_module` and `Protocols h2 http/1.1` (`h2c` without TLS)"),
        upgrades: true,
        started: Some(super::standing::started),
        examples: &[
            "--set MaxRequestWorkers=300 --users 500 --spawn-rate 20",
            "--set mpm=prefork --set MaxRequestWorkers=150 --users 300",
            "--config /etc/apache2/apache2.conf --backend embedded --users 500",
            "--config ./httpd.conf --backend http://127.0.0.1:8080 --objective \"p99 < 500ms\"",
            "--websocket --tls --set MaxRequestWorkers=300 --users 500 --think 1s",
            "--websocket --set Timeout=60 --set ProxyTimeout=60 --connections 100 --hold 2m",
            "--websocket --broadcast 1s --users 100 --objective \"delivered > 99.99%\"",
        ],
    }),
    prepare: Some(Deployment::<Apache>::boxed),
    explain: Some(explain),
    ask: Some((Deployment::<Apache>::asked, "`apachectl -t` of a private copy")),
    looks: super::looks::LOOKS,
    clamps: CLAMPS,
    unknown: "Invalid command",
    leaves_out: false,
};

/// HTTP/2 requests at once on a connection where nothing is said (mod_http2, `H2MaxSessionStreams`).
const STREAMS: u32 = 100;

/// The httpd that is installed, and how it is run.
#[derive(Debug)]
pub struct Apache {
    program: Program,
    modules: PathBuf,
    environment: BTreeMap<String, String>,
}

impl Product for Apache {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Private;
    type Running = Running<Watch>;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Apache, TargetError> {
        let program = lifecycle::find(what.program, dir)?;
        let main = if let ConfigSource::File(path) = &what.source { Some(path.as_path()) } else { None };
        let modules = modules(&program).unwrap_or_else(|| root(program.said()).join("modules"));
        Ok(Apache { modules, environment: environment(main), program })
    }

    fn version(&self) -> &str {
        self.program.version()
    }

    fn read(&self, main: &Path) -> Result<Config, TargetError> {
        Ok(Config::read(main, self.reading())?)
    }

    fn plain(&self, what: &Prepare<'_>, backend: SocketAddr) -> Result<Config, TargetError> {
        let modules = modules(&self.program).ok_or_else(|| no_modules(self.program.path()))?;
        let (websocket, tls) = (what.websocket.then_some(what.upgrade), what.tls.as_ref());
        let rendering = Rendering {
            backend,
            secured: what.secured,
            websocket,
            http2: what.streams.is_some(),
            tls,
            modules: &modules,
            user: user(),
        };
        Ok(render(&rendering, self.reading())?)
    }

    fn copy(of: &Variant<Self>) -> Result<Private, TargetError> {
        let no_server = || TargetError::usage(CALLED, "the configuration has no `Listen` on a TCP port");
        let route = Route::find(of.config(), of.requests()).ok_or_else(no_server)?;
        let (modules, mut ports) = (&of.product().modules, port::free);
        let mut copy = private::build(of.config(), &route, of.copy_options(&mut ports), modules)?;
        let place = of.config().place(route.listen.found);
        copy.rewrites.extend(route.redirect.map(|found| followed(of.config().place(found), found.written(), &place)));
        Ok(copy)
    }

    fn address(copy: &Private) -> Option<SocketAddr> {
        Some(copy.address)
    }

    fn by_port(of: &Variant<Self>) -> Option<ByPort> {
        by_port(of.config(), of.requests())
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
        let Apache { program, environment, .. } = of.product();
        lifecycle::check(program, of.dir(), instead.unwrap_or(&copy.main), environment, translate)
    }

    fn with_line(copy: &Private, line: &str) -> Result<NamedTempFile, TargetError> {
        Ok(with_line(&copy.main, line)?)
    }

    fn limits(of: &Variant<Self>, _: &Private, machine: &Machine, _: &Environment) -> Vec<Limit> {
        let facts = facts(of, machine);
        let passed = passed::limits(of.config(), of.requests());
        limits::of(&facts).into_iter().chain(limits::accidents(&facts)).chain(passed).collect()
    }

    fn answers(of: &Variant<Self>, _: &Private, request: &Request) -> Vec<OwnAnswer> {
        let route = Route::find(of.config(), of.requests());
        route.map_or_else(Vec::new, |route| answers::own(of.config(), &route, request))
    }

    fn behind(of: &Variant<Self>, _: &Private) -> Vec<Endpoint> {
        let upstream = facts(of, &of.machine(&Environment::default())).upstream;
        upstream.map_or_else(|| handling(of.config(), of.requests()), |upstream| upstream.behind)
    }

    fn forwarded(of: &Variant<Self>, target: &str) -> Option<String> {
        Route::find(of.config(), of.requests())?.forwarded(of.config(), target)
    }

    fn encrypts(of: &Variant<Self>) -> Option<String> {
        facts(of, &of.machine(&Environment::default())).upstream.filter(|upstream| upstream.encrypted).map(|upstream| {
            let kept = Route::find(of.config(), of.requests()).is_some_and(|route| route.keeps_host(of.config()));
            authority::bare(if kept { &of.requests().host } else { &upstream.name.written })
        })
    }

    fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
        secured::certificate(config, requests)
    }

    /// A connection has a thread of the worker MPM; of event it has one only while it does something. Its requests are answered by threads of
    /// mod_http2's own, of which each child has a number.
    fn over_http2(of: &Variant<Self>, limit: Limit, streams: u32) -> Limit {
        let route = Route::find(of.config(), of.requests());
        let found = route.and_then(|route| route.of_host(of.config(), &["h2maxsessionstreams"]));
        let written = found.and_then(|found| found.arg(0)?.parse().ok());
        let streams = streams.min(written.filter(|n| *n > 0).unwrap_or(STREAMS));
        let holds = matches!(limit.law, Law::Slots { idle_cost, .. } if idle_cost > 0.0);
        match Mpm::of(of.config()) {
            _ if limit.id == limits::DESCRIPTORS => {
                unknown(limit, "over HTTP/2 each request in flight takes descriptors of its own")
            }
            Mpm::Worker => shared(limit, streams),
            _ if holds => unknown(
                limit,
                "over HTTP/2 a connection holds a worker only now and then, and mod_http2 has workers of its own",
            ),
            _ => shared(limit, streams),
        }
    }

    fn sessions(of: &Variant<Self>) -> Option<Sessions> {
        secured::sessions(of.config(), of.requests())
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        Route::find(of.config(), of.requests()).is_some_and(|route| route.is_tls(of.config()))
    }

    /// Ready when its children run, too.
    fn start(of: &Variant<Self>, copy: &Private, cpus: Option<&[usize]>) -> Result<Running<Watch>, TargetError> {
        let facts = facts(of, &of.machine(&Environment::default()));
        let first = facts.start_servers.value.min(facts.children()).min(1000) as u32;
        let start = |copy: &Private| {
            let mut command = command(&of.product().program, &copy.main, &of.product().environment);
            command.args(["-D", "FOREGROUND"]);
            let (output, log) = (of.dir().join("output.txt"), copy.error_log.clone());
            let startup = Startup { command, address: copy.address, output, log };
            let wanted = if facts.mpm == Mpm::Prefork { facts.spare_servers.0.min(facts.children()) } else { 0 };
            let ready = |child: &mut Child| {
                process_tree::ready(child, copy.address, first, children)?;
                lifecycle::spare(child, wanted);
                Ok(())
            };
            let members = facts.upstream.iter().flat_map(|upstream| &upstream.each).map(|(url, _)| url.clone());
            let several = |upstream: &&limits::Upstream| upstream.balanced && upstream.each.len() > 1;
            let balanced = facts.upstream.as_ref().filter(several);
            let out = balanced.map(|upstream| Out::of(upstream.each.iter().map(|(url, _)| url.clone())));
            let forking = (facts.mpm == Mpm::Prefork).then(|| facts.children());
            let pages = errors_may_hide(of.config()).then(|| elsewhere(of.config()));
            let answers = copy.answers.clone().map(|log| Answers::of(Tail::open(log), members, pages));
            let watch = |pid, log| {
                Watch::new(pid, copy.address, copy.status, log).answered(answers).balancing(out).forking(forking)
            };
            of.launch(startup, cpus, ready, watch)
        };
        of.started(copy, start, |line| line.contains("AH00072") || line.contains("could not bind to address"))
    }
}

impl Apache {
    fn reading(&self) -> Reading {
        Reading {
            root: root(self.program.said()),
            environment: self.environment.clone(),
            defines: BTreeSet::from(["FOREGROUND".to_owned()]),
            version: self.program.numbers(),
        }
    }
}

/// Where handlers pass requests, those of files of folders among them, where it is not known which has these.
fn handling(config: &Config, requests: &Requests) -> Vec<Endpoint> {
    let merged = Route::find(config, requests).and_then(|route| Overrides::of(config, &route, requests).merged);
    handlers(merged.as_ref().unwrap_or(config))
}

/// What the limits are computed from.
fn facts(of: &Variant<Apache>, machine: &Machine) -> Facts {
    // What stands in for a member may not have begun.
    let is_replaced = |address: SocketAddr| {
        let from = Endpoint::Tcp(address);
        of.conditions().backend.is_some() || of.moves().iter().any(|one| one.from == from || one.to == from)
    };
    let nobody = |address: SocketAddr| !is_replaced(address) && nobody_listens(address);
    let mut facts = Facts::without(of.config(), of.requests(), machine, &nobody);
    if of.conditions().backend.is_some() {
        // One backend stands for all of the user's.
        facts.upstream.iter_mut().for_each(|upstream| upstream.each.clear());
    }
    let told = of.conditions().backend.is_none() && answers_are_told(of.config());
    facts.logs += u32::from(told || errors_may_hide(of.config()));
    facts
}

/// Where clients are led instead of an error.
fn elsewhere(config: &Config) -> BTreeSet<String> {
    let all = documents(config).filter_map(|found| found.arg(1).filter(|page| is_url(page)));
    all.map(str::to_owned).collect()
}

fn no_modules(program: &Path) -> TargetError {
    let hint = "give a configuration of your own with --config";
    let what =
        format!("{}: there is no folder of modules in any of the usual places\n  hint: {hint}", program.display());
    TargetError::missing(CALLED, what)
}

/// Whom the workers of a generated configuration run as, where Apache is started as root: an account that may do nothing.
fn user() -> Option<(&'static str, &'static str)> {
    let known = |name: &str| nix::unistd::User::from_name(name).ok().flatten().is_some();
    let pairs = [("www-data", "www-data"), ("apache", "apache"), ("nobody", "nogroup"), ("nobody", "nobody")];
    let exists =
        |(user, group): &(&str, &str)| known(user) && nix::unistd::Group::from_name(group).ok().flatten().is_some();
    nix::unistd::geteuid().is_root().then(|| pairs.into_iter().find(exists)).flatten()
}
