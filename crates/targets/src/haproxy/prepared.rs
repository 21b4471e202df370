//! An HAProxy that is ready to be started: its configuration read, settings applied, a private copy made, and tested by
//! HAProxy itself. Variants differ from it by changes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use genkai_model::transport::Transport;

use super::config::{Config, Reading};
use super::error::HaproxyError;
use super::lifecycle::{Binary, Running, Site, check, port_taken, start};
use super::limits::{self, Facts};
use super::private::{self, Options, Private};
use super::route::{Route, Scope};
use super::settings::{self, Rendering, render};
use crate::files::{Backup, Edition, passing};
use crate::product::{Objection, Prepare};
use genkai_place::authority::{self, TlsMaterial};
use genkai_place::caps::Machine;
use genkai_place::scratch::Scratch;
use genkai_place::{caps, port, process_tree};

/// An HAProxy that can be started, any number of times, one at a time.
#[derive(Clone, Debug)]
pub struct Haproxy {
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
    backend: Option<SocketAddr>,
    allowed: Vec<String>,
    /// Whether the load opens WebSocket connections.
    websocket: bool,
    /// What a generated configuration listens with; none: without TLS.
    tls: Option<TlsMaterial>,
    /// Soft limit on descriptors that it inherits.
    nofile: u64,
}

impl Haproxy {
    /// Finds HAProxy, reads or renders its configuration, applies the settings, makes a private copy and has HAProxy test it.
    /// Nothing is started, nothing of the user's is touched.
    ///
    /// # Errors
    /// HAProxy missing, a file or setting that is wrong (with its place), a configuration that HAProxy refuses, one that leads
    /// to another machine which was not allowed, a folder that cannot be written.
    pub fn prepare(what: Prepare<'_>) -> Result<Haproxy, HaproxyError> {
        let scratch = scratch(&what.dir)?;
        let binary = Binary::find(what.program, scratch.path())?;
        let original = read(&what, &binary)?;
        let scope = Scope { host: what.host.to_owned(), path: what.path.to_owned() };
        let edition = Edition::new(what.source, original, scope, what.settings)?;
        let base = Base {
            binary,
            backend: what.backend,
            allowed: what.allow_remote.to_vec(),
            websocket: what.websocket,
            tls: what.tls,
            nofile: caps::descriptors(),
        };
        Haproxy::made(Arc::new(base), edition, scratch)
    }

    fn made(base: Arc<Base>, edition: Edition<Config>, scratch: Scratch) -> Result<Haproxy, HaproxyError> {
        let private = copy(&base, &edition, &scratch)?;
        let translate = |message: &str| edition.translate(&private.translate(message));
        let warnings = check(&base.binary, scratch.path(), &private.folder, &private.config, translate)?;
        let rewrites = edition.rewrites(private.rewrites.iter().cloned());
        Ok(Haproxy { base, edition, scratch, private, rewrites, warnings })
    }

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// As [`Haproxy::prepare`].
    pub fn with(&self, changes: &[Change], dir: &Path) -> Result<Haproxy, HaproxyError> {
        Haproxy::made(Arc::clone(&self.base), self.edition.with(changes)?, scratch(dir)?)
    }

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn value_of(&self, setting: &str) -> Result<(String, Origin), HaproxyError> {
        let held = settings::effective(self.edition.config(), setting, self.edition.scope())?;
        Ok((held.written, self.edition.held(setting, held.origin)))
    }

    /// The listener that the load goes to. (A start may choose another port when this one was taken meanwhile:
    /// [`Running::address`].)
    pub fn address(&self) -> SocketAddr {
        self.private.address
    }

    /// What carries connections to its listener.
    pub fn transport(&self) -> Transport {
        let scope = self.edition.scope();
        let is_tls = Route::find(self.edition.config(), scope).is_some_and(|route| route.bind.tls);
        authority::transport(self.base.tls.as_ref(), &scope.host, is_tls)
    }

    /// HAProxy's version, e.g. `2.6.12`.
    pub fn version(&self) -> &str {
        self.base.binary.version()
    }

    /// Where the private copy differs from the user's files; nothing for a generated configuration.
    pub fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    /// What `haproxy -c` warns of, in terms of the user's files.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What `haproxy -c` says against this configuration with one more line, in a section `global` of its own; none: nothing.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn objects(&self, line: &str) -> Result<Option<Objection>, HaproxyError> {
        // Of a folder HAProxy reads every file, in order of their names.
        let extra = passing(&self.private.config, ("zzz-line-", ".cfg"), &format!("global\n  {line}\n"))?;
        let named = |message: &str| message.replace(&extra.path().display().to_string(), "the configuration");
        let said = check(&self.base.binary, self.scratch.path(), &self.private.folder, &self.private.config, named);
        match said {
            Ok(warnings) => Ok(Objection::warned(warnings, &self.warnings, &[])),
            Err(HaproxyError::Rejected(words)) => {
                let unknown = words.contains("unknown keyword");
                Ok(Some(Objection::refused(words, unknown)))
            }
            Err(e) => Err(e),
        }
    }

    /// Every limit of this configuration on this machine.
    pub fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let machine = Machine::inheriting(environment, self.base.nofile);
        let (config, running) = (self.edition.config(), Some(&self.private.running));
        let facts = Facts::of(config, running, self.edition.scope(), self.base.websocket, &machine, environment.memory);
        let mut all = limits::of(&facts);
        for limit in &mut all {
            limit.origin = self.edition.held(&limit.setting, limit.origin.clone());
        }
        all
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
    pub fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, HaproxyError> {
        self.edition.write_back(changes)
    }

    /// Starts it on the cores given and waits until it answers. Where a port was taken since it was chosen, others are
    /// chosen.
    ///
    /// # Errors
    /// When it does not start; the message carries HAProxy's last words.
    pub fn start(&self, cpus: Option<&[usize]>) -> Result<Running, HaproxyError> {
        let start = |private: &Private| {
            let site = Site {
                config: private.config.clone(),
                folder: private.folder.clone(),
                log: self.scratch.path().join("haproxy.log"),
                socket: private.socket(),
                address: private.address,
                nofile: self.base.nofile,
                names: private.names.clone(),
            };
            start(&self.base.binary, &site, cpus)
        };
        let anew = |_| copy(&self.base, &self.edition, &self.scratch);
        process_tree::started("HAProxy", self.private.clone(), start, port_taken, anew)
    }
}

fn scratch(dir: &Path) -> Result<Scratch, HaproxyError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), "genkai-haproxy-")?)
}

/// A private copy in `scratch`, on free ports.
fn copy(base: &Base, edition: &Edition<Config>, scratch: &Scratch) -> Result<Private, HaproxyError> {
    let config = edition.config();
    let route = Route::find(config, edition.scope()).ok_or(HaproxyError::NoServer)?;
    let options = Options {
        dir: scratch.path(),
        ports: &mut port::free,
        backend: base.backend,
        allowed: &base.allowed,
        root: nix::unistd::geteuid().is_root(),
    };
    Ok(private::build(config, &route, options)?)
}

/// The configuration: the user's as it is on disk, or one that is rendered (with its settings).
fn read(what: &Prepare<'_>, binary: &Binary) -> Result<Config, HaproxyError> {
    let reading = Reading::here(binary.numbers(), binary.features().clone());
    match &what.source {
        ConfigSource::File(path) => Ok(Config::read(path, reading)?),
        ConfigSource::Generated => {
            let backend = what.backend.ok_or(HaproxyError::NoBackend)?;
            Ok(render(&Rendering { backend, tls: what.tls.as_ref(), settings: what.settings, reading })?)
        }
    }
}
