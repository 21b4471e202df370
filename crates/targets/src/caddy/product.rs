//! Caddy as a product: what is installed, how its configuration is read, copied, tested and started.

use std::path::Path;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use tempfile::NamedTempFile;

use super::CALLED;
use super::config::{Config, variables};
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
    name: "caddy",
    called: CALLED,
    program: ("caddy", &["version"]),
    role: Role::Proxy,
    tls: true,
    prepare: Some(Deployment::<Caddy>::boxed),
    explain: Some(explain),
    looks,
    clamps: &[],
    unknown: "unrecognized",
};

/// By its name, or by directives without a `;` at their end between braces.
fn looks(file: &Looks<'_>) -> Likeness {
    let directives =
        ["reverse_proxy", "file_server", "php_fastcgi", "respond", "encode", "handle", "import", "auto_https"];
    match file.name() {
        "Caddyfile" => Likeness::Name,
        name if name.ends_with(".caddyfile") || name.starts_with("Caddyfile.") => Likeness::Name,
        _ => Likeness::text(
            file.lines.iter().any(|line| line.ends_with('{'))
                && file.lines.iter().any(|line| directives.contains(&first(line)) && !line.ends_with([';', ')'])),
        ),
    }
}

/// The Caddy that is installed.
#[derive(Debug)]
pub struct Caddy(Binary);

impl Product for Caddy {
    const ENTRY: &'static Entry = &ENTRY;
    type Config = Config;
    type Copy = Private;
    type Running = Running;

    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Caddy, TargetError> {
        Binary::find(what.program, dir).map(Caddy)
    }

    fn version(&self) -> &str {
        self.0.version()
    }

    fn read(&self, what: &Prepare<'_>) -> Result<Config, TargetError> {
        match &what.source {
            ConfigSource::File(path) => Ok(Config::read(path, variables())?),
            ConfigSource::Generated => {
                let backend = what.backend.ok_or_else(|| TargetError::no_backend(CALLED))?;
                Ok(render(&Rendering { backend, tls: what.tls.as_ref(), settings: what.settings })?)
            }
        }
    }

    fn scope(host: &str, path: &str) -> Scope {
        Scope { host: host.to_owned(), path: path.to_owned() }
    }

    fn copy(of: &Variant<Self>) -> Result<Private, TargetError> {
        let (config, scope) = (of.config(), of.scope());
        let route = Route::find(config, scope).ok_or_else(|| nobody(config, &scope.host))?;
        let options = Options {
            dir: of.dir(),
            ports: &mut port::free,
            backend: of.conditions().backend,
            allowed: &of.conditions().allowed,
        };
        Ok(private::build(config, &route, options)?)
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
        lifecycle::check(&of.product().0, &site(of, copy), instead, translate)
    }

    /// Among the global options, which are the first block of the copy.
    fn with_line(copy: &Private, line: &str) -> Result<NamedTempFile, TargetError> {
        let text = copy.text().replacen("{\n", &format!("{{\n\t{line}\n"), 1);
        Ok(passing(copy.config.parent().unwrap_or(&copy.config), ("with-line-", ".caddyfile"), &text)?)
    }

    fn value_of(of: &Variant<Self>, setting: &str) -> Result<(String, Origin), TargetError> {
        let held = settings::effective(of.config(), setting, of.scope())?;
        Ok((held.written, held.origin))
    }

    fn limits(of: &Variant<Self>, copy: &Private, machine: &Machine, _: &Environment) -> Vec<Limit> {
        limits::of(&Facts::of(of.config(), Some(&copy.running), of.scope(), of.conditions().websocket, machine))
    }

    fn is_tls(of: &Variant<Self>) -> bool {
        Route::find(of.config(), of.scope()).is_some_and(|route| route.tls)
    }

    fn start(of: &Variant<Self>, copy: &Private, cpus: Option<&[usize]>) -> Result<Running, TargetError> {
        let start = |copy: &Private| lifecycle::start(&of.product().0, &site(of, copy), cpus);
        of.started(copy, start, lifecycle::port_taken)
    }
}

/// No site takes such requests: Caddy would answer them with an empty 200, which looks like success.
fn nobody(config: &Config, host: &str) -> TargetError {
    let sites: Vec<String> = config.sites().iter().map(|site| site.title()).collect();
    let hint = format!("ask for one of its sites with --host: {}", sites.join(", "));
    TargetError::usage(CALLED, format!("no site of the configuration takes requests to `{host}`\n  hint: {hint}"))
}

/// Where the parts of a copy are.
fn site(of: &Variant<Caddy>, copy: &Private) -> Site {
    Site {
        config: copy.config.clone(),
        folder: copy.folder.clone(),
        storage: of.dir().join("storage"),
        log: of.dir().join("caddy.log"),
        socket: copy.socket(),
        address: copy.address,
        nofile: of.conditions().nofile,
    }
}
