//! HAProxy as a product: what is installed, how its configuration is read, copied, tested and started.

use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use tempfile::NamedTempFile;

use super::CALLED;
use super::config::{Config, Reading};
use super::explain::explain;
use super::lifecycle::{self, Binary, Running, Site};
use super::limits::{self, Facts};
use super::private::{self, Options, Private};
use super::route::{Route, Scope};
use super::settings::{self, Rendering, render};
use crate::error::TargetError;
use crate::files::passing;
use crate::product::{Deployment, Entry, Likeness, Looks, Prepare, Product, Role, Variant, first};
use genkai_place::caps::Machine;
use genkai_place::port;

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "haproxy",
    called: CALLED,
    program: ("haproxy", &["-v"]),
    role: Role::Proxy,
    tls: true,
    prepare: Some(Deployment::<Haproxy>::boxed),
    explain: Some(explain),
    looks,
    clamps: &[],
    unknown: "unknown keyword",
};

/// Its sections stand alone at a line's beginning. A folder is taken for one of its files.
fn looks(file: &Looks<'_>) -> Likeness {
    let heads = ["global", "defaults", "frontend", "backend", "listen", "userlist", "peers", "resolvers"];
    let section = |line: &String| {
        heads.contains(&first(line)) && line.split_ascii_whitespace().count() <= 4 && !line.ends_with([';', '{'])
    };
    Likeness::text(file.path.is_dir() || file.lines.iter().any(section))
}

/// The HAProxy that is installed.
#[derive(Debug)]
pub struct Haproxy(Binary);

impl Product for Haproxy {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Private;
    type Running = Running;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Haproxy, TargetError> {
        Binary::find(what.program, dir).map(Haproxy)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, what: &Prepare<'_>) -> Result<Config, TargetError> {
        let reading = Reading::here(self.0.numbers(), self.0.features().clone());
        match &what.source {
            ConfigSource::File(path) => Ok(Config::read(path, reading)?),
            ConfigSource::Generated => {
                let backend = what.backend.ok_or_else(|| TargetError::no_backend(CALLED))?;
                Ok(render(&Rendering { backend, tls: what.tls.as_ref(), settings: what.settings, reading })?)
            }
        }
    }

    fn scope(host: &str, path: &str) -> Scope {
        Scope { host: host.to_owned(), path: path.to_owned() }
    }

    fn copy(of: &Variant<Self>) -> Result<Private, TargetError> {
        let none = "the configuration has no `bind` on a TCP port in a frontend or listen section";
        let route = Route::find(of.config(), of.scope()).ok_or_else(|| TargetError::usage(CALLED, none))?;
        let options = Options {
            dir: of.dir(),
            ports: &mut port::free,
            backend: of.conditions().backend,
            allowed: &of.conditions().allowed,
            root: nix::unistd::geteuid().is_root(),
        };
        Ok(private::build(of.config(), &route, options)?)
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

    fn value_of(of: &Variant<Self>, setting: &str) -> Result<(String, Origin), TargetError> {
        let held = settings::effective(of.config(), setting, of.scope())?;
        Ok((held.written, held.origin))
    }

    fn limits(of: &Variant<Self>, copy: &Private, machine: &Machine, environment: &Environment) -> Vec<Limit> {
        let (running, websocket) = (Some(&copy.running), of.conditions().websocket);
        limits::of(&Facts::of(of.config(), running, of.scope(), websocket, machine, environment.memory))
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        Route::find(of.config(), of.scope()).is_some_and(|route| route.bind.tls)
    }

    fn start(of: &Variant<Self>, copy: &Private, cpus: Option<&[usize]>) -> Result<Running, TargetError> {
        let start = |copy: &Private| {
            let site = Site {
                config: copy.config.clone(),
                folder: copy.folder.clone(),
                log: of.dir().join(lifecycle::LOG),
                socket: copy.socket(),
                address: copy.address,
                nofile: of.conditions().nofile,
                names: copy.names.clone(),
            };
            lifecycle::start(&of.product().0, &site, cpus)
        };
        of.started(copy, start, lifecycle::port_taken)
    }
}
