//! Apache httpd as a product: what is installed, how its configuration is read, copied, tested and started.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use tempfile::NamedTempFile;

use super::CALLED;
use super::config::{Config, Reading};
use super::explain::explain;
use super::lifecycle::{self, Binary, Running, Site, environment};
use super::limits::{self, Facts};
use super::private::{self, Options, Private};
use super::route::{Route, Scope};
use super::settings::{self, Rendering, render};
use crate::error::TargetError;
use crate::files::with_line;
use crate::product::{Deployment, Entry, Likeness, Looks, Prepare, Product, Role, Variant};
use genkai_place::caps::Machine;
use genkai_place::port;

/// What a warning of httpd says that replaces a number: server/mpm/event/event.c, worker.c and prefork.c, `*_check_config`; for
/// ThreadStackSize "is inappropriate, using default" (AH02435, AH02436).
const CLAMPS: &[&str] = &[", decreasing ", ", increasing ", ", using default"];

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "apache",
    called: CALLED,
    program: ("apache2", &["-v"]),
    role: Role::Proxy,
    tls: true,
    prepare: Some(Deployment::<Apache>::boxed),
    explain: Some(explain),
    looks,
    clamps: CLAMPS,
    unknown: "Invalid command",
};

/// Its directives end with the line.
fn looks(file: &Looks<'_>) -> Likeness {
    if file.lines.len() > 2 * file.ended() { Likeness::Perhaps } else { Likeness::None }
}

/// The httpd that is installed, and how it is run.
#[derive(Debug)]
pub struct Apache {
    binary: Binary,
    modules: PathBuf,
    environment: BTreeMap<String, String>,
}

impl Product for Apache {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Private;
    type Running = Running;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Apache, TargetError> {
        let binary = Binary::find(what.program, dir)?;
        let main = if let ConfigSource::File(path) = &what.source { Some(path.as_path()) } else { None };
        let modules = binary.modules().unwrap_or_else(|| binary.root().join("modules"));
        Ok(Apache { modules, environment: environment(main), binary })
    }

    fn version(&self) -> &str {
        self.binary.version()
    }

    fn read(&self, what: &Prepare<'_>) -> Result<Config, TargetError> {
        let reading = Reading {
            root: self.binary.root().to_owned(),
            environment: self.environment.clone(),
            defines: BTreeSet::from(["FOREGROUND".to_owned()]),
            version: self.binary.numbers(),
        };
        match &what.source {
            ConfigSource::File(path) => Ok(Config::read(path, reading)?),
            ConfigSource::Generated => {
                let backend = what.backend.ok_or_else(|| TargetError::no_backend(CALLED))?.to_string();
                let modules = self.binary.modules().ok_or_else(|| no_modules(self.binary.path()))?;
                let rendering = Rendering {
                    backend: &backend,
                    port: 80,
                    websocket: what.websocket,
                    upgrade: what.upgrade,
                    tls: what.tls.as_ref(),
                    modules: &modules,
                    user: user(),
                    settings: what.settings,
                    reading,
                };
                Ok(render(&rendering)?)
            }
        }
    }

    fn scope(host: &str, path: &str) -> Scope {
        Scope { host: host.to_owned(), path: path.to_owned() }
    }

    fn copy(of: &Variant<Self>) -> Result<Private, TargetError> {
        let no_server = || TargetError::usage(CALLED, "the configuration has no `Listen` on a TCP port");
        let route = Route::find(of.config(), of.scope()).ok_or_else(no_server)?;
        let options = Options {
            dir: of.dir(),
            ports: &mut port::free,
            backend: of.conditions().backend,
            allowed: &of.conditions().allowed,
            root: nix::unistd::geteuid().is_root(),
            modules: &of.product().modules,
        };
        Ok(private::build(of.config(), &route, options)?)
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
        let Apache { binary, environment, .. } = of.product();
        lifecycle::check(binary, of.dir(), instead.unwrap_or(&copy.main), environment, translate)
    }

    fn with_line(copy: &Private, line: &str) -> Result<NamedTempFile, TargetError> {
        Ok(with_line(&copy.main, line)?)
    }

    fn value_of(of: &Variant<Self>, setting: &str) -> Result<(String, Origin), TargetError> {
        let held = settings::effective(of.config(), setting, of.scope())?;
        Ok((held.written, held.origin))
    }

    fn limits(of: &Variant<Self>, _: &Private, machine: &Machine, _: &Environment) -> Vec<Limit> {
        limits::of(&facts(of, machine))
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        Route::find(of.config(), of.scope()).is_some_and(|route| route.is_tls(of.config()))
    }

    fn start(of: &Variant<Self>, copy: &Private, cpus: Option<&[usize]>) -> Result<Running, TargetError> {
        let start = |copy: &Private| {
            let facts = facts(of, &of.machine(&Environment::default()));
            let site = Site {
                dir: of.dir().to_owned(),
                conf: copy.main.clone(),
                error_log: copy.error_log.clone(),
                address: copy.address,
                status: copy.status,
                environment: of.product().environment.clone(),
                nofile: of.conditions().nofile,
                children: facts.start_servers.min(facts.children() as u32),
            };
            lifecycle::start(&of.product().binary, &site, cpus)
        };
        of.started(copy, start, port_taken)
    }
}

/// Whether a line of its last words says that somebody else has a port.
fn port_taken(line: &str) -> bool {
    line.contains("AH00072") || line.contains("could not bind to address")
}

/// What the limits are computed from.
fn facts(of: &Variant<Apache>, machine: &Machine) -> Facts {
    Facts::of(of.config(), of.scope(), machine, of.conditions().websocket)
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
