//! An Apache that is ready to be started: its configuration read, settings applied, a private copy made, and tested by
//! Apache itself. Variants differ from it by changes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use genkai_model::transport::Transport;

use super::config::{Config, Reading};
use super::error::ApacheError;
use super::lifecycle::{Binary, Running, Site, check, environment, port_taken, start};
use super::limits::{self, Facts};
use super::private::{self, Options, Private};
use super::route::{Route, Scope};
use super::settings::{self, Rendering, render};
use crate::files::{Backup, Edition, with_line};
use crate::product::{Objection, Prepare};
use genkai_place::authority::{self, TlsMaterial};
use genkai_place::caps::Machine;
use genkai_place::scratch::Scratch;
use genkai_place::{caps, port, process_tree};

/// What a warning of httpd says that replaces a number: server/mpm/event/event.c, worker.c and prefork.c, `*_check_config`; for
/// ThreadStackSize "is inappropriate, using default" (AH02435, AH02436).
pub(crate) const CLAMPS: &[&str] = &[", decreasing ", ", increasing ", ", using default"];

/// An Apache that can be started, any number of times, one at a time.
#[derive(Clone, Debug)]
pub struct Apache {
    base: Arc<Base>,
    /// With settings and changes applied.
    edition: Edition<Config>,
    scratch: Scratch,
    private: Private,
    rewrites: Vec<Rewrite>,
    warnings: Vec<String>,
}

/// What all variants share.
#[derive(Debug)]
struct Base {
    binary: Binary,
    modules: PathBuf,
    websocket: bool,
    /// What a generated configuration's TLS was made with.
    tls: Option<TlsMaterial>,
    backend: Option<SocketAddr>,
    allowed: Vec<String>,
    environment: BTreeMap<String, String>,
    /// Soft limit on descriptors that it inherits.
    nofile: u64,
}

impl Apache {
    /// Finds Apache, reads or renders its configuration, applies the settings, makes a private copy and has Apache test it.
    /// Nothing is started, nothing of the user's is touched.
    ///
    /// # Errors
    /// Apache missing, a file or setting that is wrong (with its place), a configuration that Apache refuses, one that leads
    /// to another machine which was not allowed, a folder that cannot be written.
    pub fn prepare(what: Prepare<'_>) -> Result<Apache, ApacheError> {
        let scratch = scratch(&what.dir)?;
        let binary = Binary::find(what.program, scratch.path())?;
        let main = if let ConfigSource::File(path) = &what.source { Some(path.as_path()) } else { None };
        let environment = environment(main);
        let original = read(&what, &binary, &environment)?;
        let scope = Scope { host: what.host.to_owned(), path: what.path.to_owned() };
        let edition = Edition::new(what.source, original, scope, what.settings)?;
        let base = Base {
            modules: binary.modules().unwrap_or_else(|| binary.root().join("modules")),
            binary,
            websocket: what.websocket,
            tls: what.tls,
            backend: what.backend,
            allowed: what.allow_remote.to_vec(),
            environment,
            nofile: caps::descriptors(),
        };
        Apache::made(Arc::new(base), edition, scratch)
    }

    fn made(base: Arc<Base>, edition: Edition<Config>, scratch: Scratch) -> Result<Apache, ApacheError> {
        let private = copy(&base, &edition, &scratch)?;
        let translate = |message: &str| edition.translate(&private.translate(message));
        let warnings = check(&base.binary, scratch.path(), &private.main, &base.environment, translate)?;
        let rewrites = edition.rewrites(private.rewrites.iter().cloned());
        Ok(Apache { base, edition, scratch, private, rewrites, warnings })
    }

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// As [`Apache::prepare`].
    pub fn with(&self, changes: &[Change], dir: &Path) -> Result<Apache, ApacheError> {
        Apache::made(Arc::clone(&self.base), self.edition.with(changes)?, scratch(dir)?)
    }

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn value_of(&self, setting: &str) -> Result<(String, Origin), ApacheError> {
        let held = settings::effective(self.edition.config(), setting, self.edition.scope())?;
        Ok((held.written, self.edition.held(setting, held.origin)))
    }

    /// The listener that the load goes to. (A start may choose another port when this one was taken meanwhile:
    /// [`Running::address`].)
    pub fn address(&self) -> SocketAddr {
        self.private.address
    }

    /// What carries connections to that listener.
    pub fn transport(&self) -> Transport {
        let (config, scope) = (self.edition.config(), self.edition.scope());
        let is_tls = Route::find(config, scope).is_some_and(|route| route.is_tls(config));
        authority::transport(self.base.tls.as_ref(), &scope.host, is_tls)
    }

    /// Apache's version, e.g. `2.4.71`.
    pub fn version(&self) -> &str {
        self.base.binary.version()
    }

    /// Where the private copy differs from the user's files; nothing for a generated configuration.
    pub fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    /// What `apache2 -t` warns of, in terms of the user's files.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What `apache2 -t` says against this configuration with one more line at its end; none: nothing.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn objects(&self, line: &str) -> Result<Option<Objection>, ApacheError> {
        let conf = with_line(&self.private.main, line)?;
        let named = |message: &str| message.replace(&conf.path().display().to_string(), "the configuration");
        match check(&self.base.binary, self.scratch.path(), conf.path(), &self.base.environment, named) {
            Ok(warnings) => Ok(Objection::warned(warnings, &self.warnings, CLAMPS)),
            Err(ApacheError::Rejected(words)) => {
                let unknown = words.contains("Invalid command");
                Ok(Some(Objection::refused(words, unknown)))
            }
            Err(e) => Err(e),
        }
    }

    /// Every limit of this configuration on this machine.
    pub fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let mut all = limits::of(&self.facts(environment));
        for limit in &mut all {
            limit.origin = self.edition.held(&limit.setting, limit.origin.clone());
        }
        all
    }

    /// What the limits are computed from.
    pub fn facts(&self, environment: &Environment) -> Facts {
        let machine = Machine::inheriting(environment, self.base.nofile);
        Facts::of(self.edition.config(), self.edition.scope(), &machine, self.base.websocket)
    }

    /// Unified diff that `changes` (and the settings given) make to the user's files; to the rendered configuration where
    /// there are none.
    pub fn diff(&self, changes: &[Change]) -> String {
        self.edition.diff(changes)
    }

    /// Writes `changes` (and the settings given) into the user's files, all or none, each with a backup beside it. Nothing
    /// for a generated configuration.
    ///
    /// # Errors
    /// When a change cannot be applied, or a file was changed by somebody else or cannot be written.
    pub fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, ApacheError> {
        self.edition.write_back(changes)
    }

    /// Starts it on the cores given and waits until it answers. Where a port was taken since it was chosen, others are
    /// chosen.
    ///
    /// # Errors
    /// When it does not start; the message carries Apache's last words.
    pub fn start(&self, cpus: Option<&[usize]>) -> Result<Running, ApacheError> {
        let facts = self.facts(&Environment::default());
        let start = |private: &Private| {
            let site = Site {
                dir: self.scratch.path().to_owned(),
                conf: private.main.clone(),
                error_log: private.error_log.clone(),
                address: private.address,
                status: private.status,
                environment: self.base.environment.clone(),
                nofile: self.base.nofile,
                children: facts.start_servers.min(facts.children() as u32),
            };
            start(&self.base.binary, &site, cpus)
        };
        let anew = |_| copy(&self.base, &self.edition, &self.scratch);
        process_tree::started("Apache", self.private.clone(), start, port_taken, anew)
    }
}

fn scratch(dir: &Path) -> Result<Scratch, ApacheError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-apache-")?)
}

/// A private copy in `scratch`, on free ports.
fn copy(base: &Base, edition: &Edition<Config>, scratch: &Scratch) -> Result<Private, ApacheError> {
    let config = edition.config();
    let route = Route::find(config, edition.scope()).ok_or(ApacheError::NoServer)?;
    let options = Options {
        dir: scratch.path(),
        ports: &mut port::free,
        backend: base.backend,
        allowed: &base.allowed,
        root: nix::unistd::geteuid().is_root(),
        modules: &base.modules,
    };
    Ok(private::build(config, &route, options)?)
}

/// The configuration: the user's as it is on disk, or one that is rendered (with its settings).
fn read(what: &Prepare<'_>, binary: &Binary, environment: &BTreeMap<String, String>) -> Result<Config, ApacheError> {
    let reading = Reading {
        root: binary.root().to_owned(),
        environment: environment.clone(),
        defines: BTreeSet::from(["FOREGROUND".to_owned()]),
        version: binary.numbers(),
    };
    match &what.source {
        ConfigSource::File(path) => Ok(Config::read(path, reading)?),
        ConfigSource::Generated => {
            let backend = what.backend.ok_or(ApacheError::NoBackend)?.to_string();
            let modules = binary.modules().ok_or_else(|| ApacheError::NoModules(binary.path().to_owned()))?;
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

/// Whom the workers of a generated configuration run as, where Apache is started as root: an account that may do nothing.
fn user() -> Option<(&'static str, &'static str)> {
    let known = |name: &str| nix::unistd::User::from_name(name).ok().flatten().is_some();
    let pairs = [("www-data", "www-data"), ("apache", "apache"), ("nobody", "nogroup"), ("nobody", "nobody")];
    let exists =
        |(user, group): &(&str, &str)| known(user) && nix::unistd::Group::from_name(group).ok().flatten().is_some();
    nix::unistd::geteuid().is_root().then(|| pairs.into_iter().find(exists)).flatten()
}
