//! nginx as a product: what is installed, how its configuration is read, copied, tested and started.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use tempfile::NamedTempFile;

use super::config::{Address, Config, Found, Host, Route};
use super::evidence::StubPage;
use super::explain::explain;
use super::lifecycle::{self, Binary, Running, Site};
use super::limits::{self, Facts, Reading};
use super::private::{self, Options, Private, STATUS_PATH};
use super::remote;
use super::settings::{self, Rendering, Scope, render};
use super::{CALLED, no_server};
use crate::error::TargetError;
use crate::files::with_line;
use crate::product::{Deployment, Entry, Likeness, Looks, Prepare, Product, Role, Variant};
use genkai_place::caps::Machine;
use genkai_place::port;
use genkai_place::remote::Remote;

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "nginx",
    called: CALLED,
    program: ("nginx", &["-v"]),
    role: Role::Proxy,
    tls: false,
    prepare: Some(Deployment::<Nginx>::boxed),
    explain: Some(explain),
    looks,
    clamps: &[],
    unknown: "unknown directive",
};

/// Its directives end with `;` or braces.
fn looks(file: &Looks<'_>) -> Likeness {
    if file.lines.len() > 2 * file.ended() { Likeness::None } else { Likeness::Perhaps }
}

/// The nginx that is installed.
#[derive(Debug)]
pub struct Nginx(Binary);

/// A private copy, and the copy read back: that says what really runs.
#[derive(Clone, Debug)]
pub struct Copied {
    private: Private,
    /// Where the load goes.
    pub address: SocketAddr,
    config: Config,
}

impl Product for Nginx {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Copied;
    type Running = Running;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Nginx, TargetError> {
        Binary::find(what.program, dir).map(Nginx)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, what: &Prepare<'_>) -> Result<Config, TargetError> {
        match &what.source {
            ConfigSource::File(path) => {
                Ok(Config::read(path, Path::new(self.0.value("--prefix").unwrap_or("/usr/local/nginx")))?)
            }
            ConfigSource::Generated => {
                let backend = what.backend.ok_or_else(|| TargetError::no_backend(CALLED))?.to_string();
                let rendering =
                    Rendering { backend: &backend, port: 80, websocket: what.websocket, settings: what.settings };
                Ok(render(&rendering)?)
            }
        }
    }

    fn scope(host: &str, path: &str) -> Scope {
        Scope { host: Some(host.to_owned()), path: path.to_owned() }
    }

    fn copy(of: &Variant<Self>) -> Result<Copied, TargetError> {
        let binary = &of.product().0;
        let options = Options {
            dir: of.dir(),
            ports: &mut port::free,
            backend: of.conditions().backend,
            root: nix::unistd::geteuid().is_root(),
            configure: &binary.arguments().join(" "),
            status: binary.has("--with-http_stub_status_module"),
        };
        let private = private::build(of.config(), options)?;
        let route = of.config().route(of.scope().host.as_deref(), &of.scope().path).ok_or_else(no_server)?;
        if let Some(listen) = route.listen.as_ref().filter(|l| l.ssl) {
            return Err(only_tls(&listen.found.place()));
        }
        let place = route.listen.as_ref().map_or_else(|| route.server.place(), |l| l.found.place());
        let address = private.address_of(&place).ok_or_else(no_server)?;
        let config = Config::read(&private.main, of.config().prefix())?;
        let copy = Copied { private, address, config };
        copy.route(of.scope()).ok_or_else(no_server)?;
        Ok(copy)
    }

    fn rewrites(copy: &Copied) -> Vec<Rewrite> {
        copy.private.rewrites.clone()
    }

    fn translate(copy: &Copied, message: &str) -> String {
        copy.private.translate(message)
    }

    /// One that nginx accepts must also serve somebody and stay on this machine.
    fn check(
        of: &Variant<Self>,
        copy: &Copied,
        instead: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        let main = instead.unwrap_or(&copy.private.main);
        let warnings = lifecycle::check(&of.product().0, of.dir(), main, translate)?;
        serves_someone(&facts(of, copy, &of.machine(&Environment::default())))?;
        stays_here(of, copy, translate)?;
        Ok(warnings)
    }

    fn with_line(copy: &Copied, line: &str) -> Result<NamedTempFile, TargetError> {
        Ok(with_line(&copy.private.main, line)?)
    }

    fn value_of(of: &Variant<Self>, setting: &str) -> Result<(String, Origin), TargetError> {
        let effective = settings::effective(of.config(), setting, of.scope())?;
        Ok((effective.written, effective.origin))
    }

    fn limits(of: &Variant<Self>, copy: &Copied, machine: &Machine, _: &Environment) -> Vec<Limit> {
        limits::of(&facts(of, copy, machine))
    }

    /// A route of TLS is refused when the copy is made.
    fn is_tls(_: &Variant<Self>) -> bool {
        false
    }

    fn start(of: &Variant<Self>, copy: &Copied, cpus: Option<&[usize]>) -> Result<Running, TargetError> {
        let start = |copy: &Copied| {
            let facts = facts(of, copy, &of.machine(&Environment::default()));
            let page = copy.private.status.map(|address| StubPage {
                address,
                path: STATUS_PATH.to_owned(),
                host: "genkai".to_owned(),
            });
            let site = Site {
                prefix: of.dir().to_owned(),
                conf: copy.private.main.clone(),
                error_log: copy.private.error_log.clone(),
                address: copy.address,
                page,
                nofile: of.conditions().nofile,
                workers: facts.workers.value,
                crowded: facts.crowded(),
            };
            lifecycle::start(&of.product().0, &site, cpus)
        };
        of.started(copy, start, port_taken)
    }
}

/// Whether a line of its last words says that somebody else has a port.
fn port_taken(line: &str) -> bool {
    line.contains("bind() to ") && line.contains("failed (98: ")
}

impl Copied {
    fn route(&self, scope: &Scope) -> Option<Route<'_>> {
        let IpAddr::V4(ip) = self.address.ip() else { return None };
        let address = Address::Inet { host: Host::V4(ip), port: self.address.port() };
        self.config.route_by(Some(&address), scope.host.as_deref(), &scope.path)
    }
}

/// What the limits of a copy are computed from, each with its place in the configuration.
pub fn facts(of: &Variant<Nginx>, copy: &Copied, machine: &Machine) -> Facts {
    let route = copy.route(of.scope()).expect("looked at when the copy was made");
    let origin = |found: &Found<'_>| {
        let path = found.config.file(found.file).path.to_string_lossy();
        Origin::File { path: copy.private.translate(&path).into(), line: found.line() }
    };
    Reading { config: &copy.config, route, origin: &origin, version: of.product().0.numbers(), machine }.facts()
}

fn only_tls(place: &str) -> TargetError {
    let hint = "add a plain `listen` to a copy of the file and give that";
    let what = format!("{place}: only TLS listeners, and genkai speaks plain HTTP/1.1 so far\n  hint: {hint}");
    TargetError::usage(CALLED, what)
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
