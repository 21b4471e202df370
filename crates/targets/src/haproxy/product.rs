//! HAProxy as a product: what is installed, how its configuration is read, copied, tested and started.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::Limit;
use genkai_model::load::Request;
use tempfile::NamedTempFile;

use super::answers;
use super::by_port::by_port;
use super::config::{Config, Reading};
use super::evidence::{Hidden, Watch};
use super::explain::explain;
use super::lifecycle::{self, LOOKUP, features};
use super::limits::{self, Facts};
use super::private::{self, Private};
use super::route::{Route, moves};
use super::secured;
use super::settings::render;
use super::settle;
use super::sni;
use super::{CALLED, LOG};
use crate::error::TargetError;
use crate::files::{Requests, passing};
use crate::product::{
    ByPort, Certificate, Deployment, Entry, OwnAnswer, Prepare, Product, Program, Proxy, READY_WITHIN, Role, Sessions,
    Startup, Variant, followed, shared, unknown,
};
use crate::socket;
use genkai_place::authority;
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::process::Child;
use genkai_place::running::Running;
use genkai_place::{port, ready};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "haproxy",
    called: CALLED,
    program: ("haproxy", &["-v"]),
    role: Role::Proxy(Proxy {
        title: CALLED,
        programs: LOOKUP.names,
        tls: true,
        http2: Some("`alpn h2,http/1.1` on the bind line (`proto h2` without TLS)"),
        upgrades: false,
        started: Some(super::standing::started),
        examples: &[
            "--set maxconn=300 --users 500 --spawn-rate 20",
            "--set server.maxconn=20 --set timeout.queue=2s --users 200",
            "--config /etc/haproxy/haproxy.cfg --backend embedded --users 500",
            "--websocket --tls --set timeout.tunnel=60s --connections 100 --hold 2m",
            "--config ./haproxy.cfg --backend http://127.0.0.1:8080",
        ],
    }),
    prepare: Some(Deployment::<Haproxy>::boxed),
    explain: Some(explain),
    ask: Some((Deployment::<Haproxy>::asked, "`haproxy -c` of a private copy")),
    looks: super::looks::LOOKS,
    clamps: &[],
    unknown: "unknown keyword",
    leaves_out: false,
};

/// HTTP/2 requests at once on a connection where nothing is said (configuration manual 3.2, `tune.h2.max-concurrent-streams`).
const STREAMS: u32 = 100;

/// The HAProxy that is installed.
#[derive(Debug)]
pub struct Haproxy(Program);

impl Product for Haproxy {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Private;
    type Running = Running<Watch>;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Haproxy, TargetError> {
        lifecycle::find(what.program, dir).map(Haproxy)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, main: &Path) -> Result<Config, TargetError> {
        Ok(Config::read(main, self.reading())?)
    }

    fn plain(&self, what: &Prepare<'_>, backend: SocketAddr) -> Result<Config, TargetError> {
        Ok(render((backend, what.secured), what.tls.as_ref(), what.streams.is_some(), self.reading())?)
    }

    fn copy(of: &Variant<Self>) -> Result<Private, TargetError> {
        let none = "the configuration has no `bind` on a TCP port in a frontend or listen section";
        let route = Route::find(of.config(), of.requests()).ok_or_else(|| TargetError::usage(CALLED, none))?;
        let mut copy = private::build(of.config(), &route, of.copy_options(&mut port::free))?;
        let place = of.config().place(route.bind.found);
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

    /// The copy is a folder, of which HAProxy reads every file: one beside the main file is tested with it.
    fn check(
        of: &Variant<Self>,
        copy: &Private,
        _: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        lifecycle::check(&of.product().0, of.dir(), &copy.folder, &copy.config, translate)
    }

    /// In a section `global` of its own, in a file that is read after the others, in order of their names.
    fn with_line(copy: &Private, line: &str) -> Result<NamedTempFile, TargetError> {
        Ok(passing(&copy.config, ("zzz-line-", ".cfg"), &format!("global\n  {line}\n"))?)
    }

    fn limits(of: &Variant<Self>, copy: &Private, machine: &Machine, environment: &Environment) -> Vec<Limit> {
        let facts = Facts::of(of.config(), Some(&copy.running), of.requests(), machine, environment.memory);
        let all = limits::of(&facts).into_iter().chain(limits::accidents(&facts));
        let within = answers::ends_within(of.config(), of.requests());
        all.filter(|limit| !(within && limits::BACKENDS.contains(&&*limit.id))).collect()
    }

    /// Names that the listener may refuse, and its copy does not.
    fn entered(of: &Variant<Self>) -> Vec<String> {
        let route = Route::find(of.config(), of.requests()).filter(|route| route.bind.tls);
        route.and_then(|route| sni::untold(of.config(), route.bind.found)).into_iter().collect()
    }

    fn answers(of: &Variant<Self>, copy: &Private, request: &Request) -> Vec<OwnAnswer> {
        answers::own(of.config(), copy, of.requests(), request)
    }

    fn behind(of: &Variant<Self>, copy: &Private) -> Vec<Endpoint> {
        let machine = of.machine(&Environment::default());
        Facts::of(of.config(), Some(&copy.running), of.requests(), &machine, 0).behind
    }

    fn forwarded(of: &Variant<Self>, target: &str) -> Option<String> {
        // A rule that gives another path holds for some requests, and which is not asked here.
        (!of.config().found().iter().any(moves)).then(|| target.to_owned())
    }

    fn encrypts(of: &Variant<Self>) -> Option<String> {
        let route = Route::find(of.config(), of.requests())?;
        let servers = route.servers(of.config());
        let server = servers.first().filter(|_| servers.iter().all(|server| server.encrypted))?;
        let sni = server.found.option(2, "sni").map(|word| word.value.as_str());
        let fixed = |text: &str| Some(text.strip_prefix("str(")?.strip_suffix(')')?.to_owned());
        Some(sni.map_or_else(String::new, |text| fixed(text).unwrap_or_else(|| authority::bare(&of.requests().host))))
    }

    fn certificate(config: &Config, requests: &Requests) -> Option<Certificate> {
        secured::certificate(config, requests)
    }

    /// What a connection of HTTP/2 takes beside its buffers was not measured.
    fn over_http2(of: &Variant<Self>, limit: Limit, streams: u32) -> Limit {
        let keys = ["tune.h2.fe.max-concurrent-streams", "tune.h2.max-concurrent-streams"];
        // Zero is the default (src/mux_h2.c).
        let written = keys.iter().filter_map(|key| of.config().global(key)?.arg(0)?.parse().ok()).find(|n| *n > 0);
        let streams = streams.min(written.unwrap_or(STREAMS));
        match limit.id.as_str() {
            limits::MEMORY => {
                unknown(limit, "over HTTP/2 a connection has buffers of its own, and each of its streams")
            }
            _ => shared(limit, streams),
        }
    }

    fn sessions(of: &Variant<Self>) -> Option<Sessions> {
        secured::sessions(of.config(), of.requests())
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        Route::find(of.config(), of.requests()).is_some_and(|route| route.bind.tls)
    }

    fn start(of: &Variant<Self>, copy: &Private, cpus: Option<&[usize]>) -> Result<Running<Watch>, TargetError> {
        let start = |copy: &Private| {
            let mut command = Command::new(of.product().0.path());
            command.arg("-db").arg("-f").arg(&copy.config).current_dir(&copy.folder);
            let log = of.dir().join(LOG);
            let startup = Startup { command, address: copy.address, output: log.clone(), log };
            // It has bound all its sockets before it serves the one that tells who it is.
            let is_it = |pid| process(&socket::ask(&copy.socket(), "show info").unwrap_or_default()) == Some(pid);
            let ready = |child: &mut Child| {
                ready::own(copy.address, READY_WITHIN, child, is_it)?;
                settle::wait(copy, child);
                Ok(())
            };
            let route = Route::find(of.config(), of.requests());
            let is_deferred = route.as_ref().is_some_and(|route| route.bind.defers());
            let own = limits::leading_back(of.config(), route.as_ref(), of.requests());
            let hidden = route.map(|route| Hidden::of(of.config(), &route, &copy.folder)).unwrap_or_default();
            let watch = |pid, log| {
                let watch = Watch::new(pid, copy.address, copy.socket(), copy.names.clone(), log);
                watch.deferring(copy.address, is_deferred).leading_back(own).hiding(hidden)
            };
            of.launch(startup, cpus, ready, watch)
        };
        of.started(copy, start, lifecycle::port_taken)
    }
}

/// The process that answered `show info`.
fn process(info: &str) -> Option<u32> {
    info.lines().find_map(|line| line.strip_prefix("Pid: "))?.trim().parse().ok()
}

impl Haproxy {
    fn reading(&self) -> Reading {
        Reading::here(self.0.numbers(), features(self.0.said()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_answers_says_who_it_is() {
        assert_eq!(process("Name: HAProxy\nPid: 4711\nUptime: 0d 0h00m00s\n"), Some(4711));
        assert_eq!(process(""), None);
    }
}
