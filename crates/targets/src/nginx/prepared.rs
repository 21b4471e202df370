//! An nginx that is ready to be started: its configuration read, settings applied, a private copy made, and tested by
//! nginx itself. Variants differ from it by changes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use genkai_model::transport::Transport;

use super::config::Config;
use super::error::NginxError;
use super::lifecycle::{Binary, Running, check, port_taken, start};
use super::limits::{self, Facts, Machine};
use super::runnable::Runnable;
use super::settings::{self, Rendering, Scope, render};
use crate::files::{Backup, Edition, with_line};
use crate::product::{Objection, Prepare};
use genkai_place::remote::Remote;
use genkai_place::scratch::Scratch;
use genkai_place::{caps, process_tree};

/// An nginx that can be started, any number of times, one at a time.
#[derive(Clone, Debug)]
pub struct Nginx {
    base: Arc<Base>,
    /// With settings and changes applied.
    edition: Edition<Config>,
    copy: Runnable,
    rewrites: Vec<Rewrite>,
    warnings: Vec<String>,
}

/// What all variants share.
#[derive(Debug)]
struct Base {
    binary: Binary,
    backend: Option<SocketAddr>,
    /// Soft limit on descriptors that it inherits.
    nofile: u64,
}

impl Nginx {
    /// Finds nginx, reads or renders its configuration, applies the settings, makes a private copy and has nginx test
    /// it. Nothing is started, nothing of the user's is touched.
    ///
    /// # Errors
    /// nginx missing, a file or setting that is wrong (with its place), a configuration that nginx refuses, one that leads
    /// to another machine which was not allowed, a folder that cannot be written.
    pub fn prepare(what: Prepare<'_>) -> Result<Nginx, NginxError> {
        let scratch = scratch(&what.dir)?;
        let binary = Binary::find(what.program, scratch.path())?;
        let original = read(&what, &binary)?;
        let scope = Scope { host: Some(what.host.to_owned()), path: what.path.to_owned() };
        let edition = Edition::new(what.source, original, scope, what.settings)?;
        let base = Base { binary, backend: what.backend, nofile: caps::descriptors() };
        let nginx = Nginx::made(Arc::new(base), edition, scratch)?;
        nginx.serves_someone()?;
        // The backend given is the caller's to judge.
        let given = what.backend.map(|backend| backend.ip().to_string());
        let allowed: Vec<String> = what.allow_remote.iter().cloned().chain(given).collect();
        match nginx.copy.remote(&allowed) {
            None => Ok(nginx),
            Some(remote) => {
                let place = nginx.edition.translate(&nginx.copy.private.translate(&remote.place));
                Err(Remote { place, ..remote }.into())
            }
        }
    }

    /// Refuses slots so few that not one request finds scratch.
    fn serves_someone(&self) -> Result<(), NginxError> {
        let facts = self.facts(&self.machine(&Environment::default()));
        let (value, taken, one) = (facts.worker_connections.value, facts.base_slots(), facts.busy_slots());
        if value >= taken + one { Ok(()) } else { Err(NginxError::TooFewSlots { value, taken, one }) }
    }

    fn made(base: Arc<Base>, edition: Edition<Config>, scratch: Scratch) -> Result<Nginx, NginxError> {
        let copy = Runnable::make(edition.config(), &base.binary, edition.scope(), base.backend, scratch)?;
        let translate = |message: &str| edition.translate(&copy.private.translate(message));
        let warnings = check(&base.binary, copy.scratch.path(), &copy.private.main, translate)?;
        let rewrites = edition.rewrites(copy.private.rewrites.iter().cloned());
        Ok(Nginx { base, edition, copy, rewrites, warnings })
    }

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// As [`Nginx::prepare`].
    pub fn with(&self, changes: &[Change], dir: impl AsRef<Path>) -> Result<Nginx, NginxError> {
        Nginx::made(Arc::clone(&self.base), self.edition.with(changes)?, scratch(dir.as_ref())?)
    }

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting, or nothing here that it could be set on.
    pub fn value_of(&self, setting: &str) -> Result<(String, Origin), NginxError> {
        let effective = settings::effective(self.edition.config(), setting, self.edition.scope())?;
        Ok((effective.written, self.edition.held(setting, effective.origin)))
    }

    /// The listener that the load goes to. (A start may choose another port when this one was taken meanwhile:
    /// [`Running::address`].)
    pub fn address(&self) -> SocketAddr {
        self.copy.address
    }

    /// What carries connections to its listener: plain TCP, so far.
    pub fn transport(&self) -> Transport {
        Transport::Tcp
    }

    /// nginx's version, e.g. `1.22.1`.
    pub fn version(&self) -> &str {
        self.base.binary.version()
    }

    /// Where the private copy differs from the user's files; nothing for a generated configuration.
    pub fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    /// What `nginx -t` warns of, in terms of the user's files.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What `nginx -t` says against this configuration with one more line at its end; none: nothing.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn objects(&self, line: &str) -> Result<Option<Objection>, NginxError> {
        let conf = with_line(&self.copy.private.main, line)?;
        let named = |message: &str| message.replace(&conf.path().display().to_string(), "the configuration");
        match check(&self.base.binary, self.copy.scratch.path(), conf.path(), named) {
            Ok(warnings) => Ok(Objection::warned(warnings, &self.warnings, &[])),
            Err(NginxError::Rejected(words)) => {
                let unknown = words.contains("unknown directive");
                Ok(Some(Objection::refused(words, unknown)))
            }
            Err(e) => Err(e),
        }
    }

    /// Every limit of this configuration on this machine.
    pub fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let mut all = limits::of(&self.facts(&self.machine(environment)));
        for limit in all.iter_mut().filter(|limit| self.edition.is_given(&limit.setting)) {
            limit.origin = Origin::Given;
        }
        all
    }

    fn machine(&self, environment: &Environment) -> Machine {
        Machine::inheriting(environment, self.base.nofile)
    }

    /// What the limits are computed from.
    pub fn facts(&self, machine: &Machine) -> Facts {
        let origin = |path: &Path, line: usize| {
            let original = self.copy.private.translate(&path.to_string_lossy());
            self.edition.origin(Path::new(&original), line)
        };
        self.copy.facts(self.edition.scope(), self.base.binary.numbers(), machine, &origin)
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
    pub fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, NginxError> {
        self.edition.write_back(changes)
    }

    /// Starts it on the cores given and waits until it answers. Where a port was taken since it was chosen, others are
    /// chosen.
    ///
    /// # Errors
    /// When it does not start; the message carries nginx's last words.
    pub fn start(&self, cpus: Option<&[usize]>) -> Result<Running, NginxError> {
        let facts = self.facts(&self.machine(&Environment::default()));
        let start = |copy: &Runnable| start(&self.base.binary, &copy.site(self.base.nofile, &facts), cpus);
        let anew = |copy: Runnable| {
            let (config, scope) = (self.edition.config(), self.edition.scope());
            Runnable::make(config, &self.base.binary, scope, self.base.backend, copy.scratch)
        };
        process_tree::started("nginx", self.copy.clone(), start, port_taken, anew)
    }
}

fn scratch(dir: &Path) -> Result<Scratch, NginxError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-nginx-")?)
}

/// The configuration: the user's as it is on disk, or one that is rendered (with its settings).
fn read(what: &Prepare<'_>, binary: &Binary) -> Result<Config, NginxError> {
    match &what.source {
        ConfigSource::File(path) => {
            Ok(Config::read(path, Path::new(binary.value("--prefix").unwrap_or("/usr/local/nginx")))?)
        }
        ConfigSource::Generated => {
            let backend = what.backend.ok_or(NginxError::NoBackend)?.to_string();
            let rendering =
                Rendering { backend: &backend, port: 80, websocket: what.websocket, settings: what.settings };
            Ok(render(&rendering)?)
        }
    }
}
