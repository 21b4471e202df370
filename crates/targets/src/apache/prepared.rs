//! An Apache that is ready to be started: its configuration read, settings applied, a private copy made, and tested by
//! Apache itself. Variants differ from it by changes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use nix::sys::resource::{Resource, getrlimit};

use super::config::{Config, Reading};
use super::error::ApacheError;
use super::lifecycle::{Binary, Running, Site, check, environment, port_taken, start};
use super::limits::{self, Facts};
use super::private::{self, Options, Private};
use super::route::{Route, Scope};
use super::settings::{self, Rendering, lookup, render};
use crate::files::{Backup, Origins};
use crate::local::caps::Machine;
use crate::local::port;
use crate::local::room::Room;
use crate::product::Prepare;

/// A start whose ports were taken meanwhile is tried again with others, so many times.
const STARTS: u32 = 5;

/// An Apache that can be started, any number of times, one at a time.
#[derive(Clone, Debug)]
pub struct Apache {
    base: Arc<Base>,
    /// With settings and changes applied.
    config: Config,
    /// Names of the settings that were given or changed.
    given: BTreeSet<&'static str>,
    origins: Origins,
    room: Room,
    private: Private,
    rewrites: Vec<Rewrite>,
    warnings: Vec<String>,
}

/// What all variants share.
#[derive(Debug)]
struct Base {
    binary: Binary,
    modules: PathBuf,
    source: ConfigSource,
    /// As the user wrote it; as rendered, where there is no user's file.
    original: Config,
    scope: Scope,
    websocket: bool,
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
        let room = room(&what.dir)?;
        let binary = Binary::find(what.program, room.path())?;
        let main = if let ConfigSource::File(path) = &what.source { Some(path.as_path()) } else { None };
        let environment = environment(main);
        let original = read(&what, &binary, &environment)?;
        let scope = Scope { host: what.host.to_owned(), path: what.path.to_owned() };
        let mut config = original.clone();
        if main.is_some() {
            for (name, value) in what.settings {
                config = settings::apply(&config, name, value, &scope)?;
            }
        }
        let (nofile, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
        let given = what.settings.keys().filter_map(|name| lookup(name).ok()).map(|s| s.name).collect();
        let base = Base {
            modules: binary.modules().unwrap_or_else(|| binary.root().join("modules")),
            binary,
            source: what.source,
            original,
            scope,
            websocket: what.websocket,
            backend: what.backend,
            allowed: what.allow_remote.to_vec(),
            environment,
            nofile,
        };
        Apache::made(Arc::new(base), config, given, room)
    }

    fn made(base: Arc<Base>, config: Config, given: BTreeSet<&'static str>, room: Room) -> Result<Apache, ApacheError> {
        let origins = Origins::new(base.original.pairs(&config));
        let private = copy(&base, &config, &room)?;
        let translate = |message: &str| origins.translate(&private.translate(message));
        let checked = check(&base.binary, room.path(), &private.main, &base.environment, translate)?;
        let rewrites = match base.source {
            ConfigSource::Generated => Vec::new(),
            ConfigSource::File(_) => private.rewrites.iter().map(|r| origins.rewrite(r.clone())).collect(),
        };
        Ok(Apache { base, config, given, origins, room, private, rewrites, warnings: checked.warnings })
    }

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// As [`Apache::prepare`].
    pub fn with(&self, changes: &[Change], dir: &Path) -> Result<Apache, ApacheError> {
        let config = self.changed(&self.config, changes)?;
        let names = changes.iter().filter_map(|change| lookup(&change.setting).ok()).map(|s| s.name);
        let given = self.given.iter().copied().chain(names).collect();
        Apache::made(Arc::clone(&self.base), config, given, room(dir)?)
    }

    fn changed(&self, config: &Config, changes: &[Change]) -> Result<Config, ApacheError> {
        let mut config = config.clone();
        for change in changes {
            config = settings::apply(&config, &change.setting, &change.to, &self.base.scope)?;
        }
        Ok(config)
    }

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting.
    pub fn value_of(&self, setting: &str) -> Result<(String, Origin), ApacheError> {
        let held = settings::effective(&self.config, setting, &self.base.scope)?;
        Ok((held.written, self.origin(held.origin, setting)))
    }

    /// Where a value of the configuration with settings comes from.
    fn origin(&self, origin: Origin, setting: &str) -> Origin {
        match origin {
            _ if lookup(setting).is_ok_and(|s| self.given.contains(s.name)) => Origin::Given,
            Origin::File { .. } if self.base.source == ConfigSource::Generated => {
                Origin::Default("genkai's plain reverse proxy".to_owned())
            }
            Origin::File { path, line } => self.origins.of(&path, line),
            other => other,
        }
    }

    /// The listener that the load goes to. (A start may choose another port when this one was taken meanwhile:
    /// [`Running::address`].)
    pub fn address(&self) -> SocketAddr {
        self.private.address
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

    /// Every limit of this configuration on this machine.
    pub fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let mut all = limits::of(&self.facts(environment));
        for limit in &mut all {
            limit.origin = self.origin(limit.origin.clone(), &limit.setting);
        }
        all
    }

    /// What the limits are computed from.
    pub fn facts(&self, environment: &Environment) -> Facts {
        let machine = Machine { descriptors: self.base.nofile, ..Machine::of(environment) };
        Facts::of(&self.config, &self.base.scope, &machine, self.base.websocket)
    }

    /// Unified diff that `changes` (and the settings given) make to the user's files; to the rendered configuration where
    /// there are none.
    pub fn diff(&self, changes: &[Change]) -> String {
        let before = match self.base.source {
            ConfigSource::Generated => &self.config,
            ConfigSource::File(_) => &self.base.original,
        };
        // The changes ran; what cannot be applied was never proposed.
        self.changed(&self.config, changes).map(|after| before.diff(&after)).unwrap_or_default()
    }

    /// Writes `changes` (and the settings given) into the user's files, all or none, each with a backup beside it. Nothing
    /// for a generated configuration.
    ///
    /// # Errors
    /// When a change cannot be applied, or a file was changed by somebody else or cannot be written.
    pub fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, ApacheError> {
        let after = self.changed(&self.config, changes)?;
        match self.base.source {
            ConfigSource::Generated => Ok(Vec::new()),
            ConfigSource::File(_) => Ok(self.base.original.write_back(&after)?),
        }
    }

    /// Starts it on the cores given and waits until it answers. Where a port was taken since it was chosen, others are
    /// chosen.
    ///
    /// # Errors
    /// When it does not start; the message carries Apache's last words.
    pub fn start(&self, cpus: Option<&[usize]>) -> Result<Running, ApacheError> {
        let facts = self.facts(&Environment::default());
        let mut private = self.private.clone();
        let mut said = String::new();
        for _ in 0..STARTS {
            let site = Site {
                dir: self.room.path().to_owned(),
                conf: private.main.clone(),
                error_log: private.error_log.clone(),
                address: private.address,
                status: private.status,
                environment: self.base.environment.clone(),
                nofile: self.base.nofile,
                children: facts.start_servers.min(facts.children() as u32),
            };
            match start(&self.base.binary, &site, cpus) {
                Err(error) => match port_taken(&error) {
                    Some(line) => said = line.to_owned(),
                    None => return Err(error),
                },
                running => return running,
            }
            private = copy(&self.base, &self.config, &self.room)?;
        }
        Err(ApacheError::Ports { attempts: STARTS, said })
    }
}

fn room(dir: &Path) -> Result<Room, ApacheError> {
    let failed = |source| ApacheError::Folder { path: dir.to_owned(), source };
    Room::make(dir, nix::unistd::geteuid().is_root(), "genkai-apache-").map_err(failed)
}

/// A private copy of `config` in `room`, on free ports.
fn copy(base: &Base, config: &Config, room: &Room) -> Result<Private, ApacheError> {
    let route = Route::find(config, &base.scope).map_err(|listen| match listen {
        Some(listen) => ApacheError::OnlyTls { place: config.place(listen.found) },
        None => ApacheError::NoServer,
    })?;
    // A port that was free may be given twice, as nobody holds it; httpd refuses two listeners on one.
    let mut taken = BTreeSet::new();
    let mut ports = || loop {
        let port = port::free()?;
        if taken.insert(port) {
            return Ok(port);
        }
    };
    let options = Options {
        dir: room.path(),
        ports: &mut ports,
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
