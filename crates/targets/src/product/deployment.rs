//! Any product, ready to be started: its configuration read, settings applied, a private copy made, and tested by the product
//! itself. Variants differ from it by changes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use genkai_model::event::{Change, Directive, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Request;
use genkai_model::plan::ConfigSource;
use genkai_model::transport::Transport;
use tempfile::NamedTempFile;

use super::certificate::{Certificate, shown};
use super::conditions::Conditions;
use super::startup::Startup;
use super::streams::{self, shared};
use super::{Entry, OwnAnswer, Prepare, Prepared, Rejection, Running};
use crate::error::{ErrorKind, TargetError};
use crate::files::{Applied, Backup, Configuration, CopyOptions, Finished, Move, Requests};
use genkai_place::authority;
use genkai_place::caps::{self, Machine};
use genkai_place::endpoint::Endpoint;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::tail::Tail;
use genkai_place::{PlaceError, process_tree, running};

/// A product: what is installed here, and what is particular to it. [`Deployment`] does the rest.
pub trait Product: Debug + Send + Sync + Sized + 'static {
    /// What is known of it beforehand.
    const ENTRY: &'static Entry;
    /// Its configuration, as files.
    type Config: Configuration + Clone;
    /// A private copy of a configuration, on disk.
    type Copy: Debug + Clone;
    /// It, started.
    type Running: Running + 'static;

    /// Finds what is installed, or takes the program given. `dir` takes what that prints.
    ///
    /// # Errors
    /// When it is not there, or not this product.
    fn find(what: &Prepare<'_>, dir: &Path) -> Result<Self, TargetError>;

    /// Its version, e.g. `1.22.1`.
    fn version(&self) -> &str;

    /// The user's configuration, as it is on disk.
    ///
    /// # Errors
    /// A file that is wrong, with its place.
    fn read(&self, main: &Path) -> Result<Self::Config, TargetError>;

    /// A configuration of genkai's own, without settings: a plain reverse proxy before this backend. Nothing is written.
    ///
    /// # Errors
    /// When something that it needs is not installed, or it is no plain reverse proxy.
    fn plain(&self, _what: &Prepare<'_>, _backend: SocketAddr) -> Result<Self::Config, TargetError> {
        let name = Self::ENTRY.name;
        Err(TargetError::usage(name, format!("{name} needs a configuration file of your own")))
    }

    /// Makes a private copy in the variant's folder, on free ports.
    ///
    /// # Errors
    /// When it cannot be written, serves no such requests, or leads to another machine which was not allowed.
    fn copy(of: &Variant<Self>) -> Result<Self::Copy, TargetError>;

    /// The listener of the copy that the load goes to; none where that is not told before it runs.
    fn address(_copy: &Self::Copy) -> Option<SocketAddr> {
        None
    }

    /// Where the copy differs from the configuration.
    fn rewrites(copy: &Self::Copy) -> Vec<Rewrite>;

    /// A message about the copy as one about the configuration.
    fn translate(copy: &Self::Copy, message: &str) -> String;

    /// Has it test its copy, or `instead` of the copy's main file another one. Gives its warnings, each through `translate`.
    ///
    /// # Errors
    /// [`ErrorKind::Rejected`] with its messages when it says no.
    fn check(
        of: &Variant<Self>,
        copy: &Self::Copy,
        instead: Option<&Path>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError>;

    /// A file of the copy with one more line at its top level, for a check.
    ///
    /// # Errors
    /// When it cannot be written, or a single line cannot be tested.
    fn with_line(_copy: &Self::Copy, _line: &str) -> Result<NamedTempFile, TargetError> {
        let name = Self::ENTRY.name;
        Err(TargetError::usage(name, format!("{name}: genkai cannot show it a single line")))
    }

    /// Every limit of the configuration, each with its place there. The memory of the machine is that of `environment`.
    fn limits(of: &Variant<Self>, copy: &Self::Copy, machine: &Machine, environment: &Environment) -> Vec<Limit>;

    /// What it answers itself of such requests, or may, each with its place in the configuration.
    fn answers(_of: &Variant<Self>, _copy: &Self::Copy, _request: &Request) -> Vec<OwnAnswer> {
        Vec::new()
    }

    /// Where the requests of the load go from it; names that must be resolved are not among them.
    fn behind(_of: &Variant<Self>, _copy: &Self::Copy) -> Vec<Endpoint> {
        Vec::new()
    }

    /// The target by which what stands behind it is asked where it is asked for this one; none where that is not known.
    fn forwarded(_of: &Variant<Self>, target: &str) -> Option<String> {
        Some(target.to_owned())
    }

    /// The name that it tells what stands behind it in the handshake of TLS; empty: it speaks TLS and tells none. None: it speaks no TLS.
    fn encrypts(_of: &Variant<Self>) -> Option<String> {
        None
    }

    /// The user's certificate that its listener for those requests shows; none: it wants no TLS, or a copy shows it as it is. Copies
    /// show another, made for the same names with a key of the same kind ([`Conditions::tls`]).
    fn certificate(_config: &Self::Config, _requests: &Requests) -> Option<Certificate> {
        None
    }

    /// One of its limits where so many HTTP/2 requests share a connection, or as many as its listener allows.
    fn over_http2(_of: &Variant<Self>, limit: Limit, streams: u32) -> Limit {
        shared(limit, streams)
    }

    /// Whether its listener for those requests wants TLS.
    fn is_tls(_of: &Variant<Self>) -> bool {
        false
    }

    /// Starts a copy on the cores given and waits until it answers ([`Variant::started`]).
    ///
    /// # Errors
    /// When it does not start; the message carries its last words.
    fn start(of: &Variant<Self>, copy: &Self::Copy, cpus: Option<&[usize]>) -> Result<Self::Running, TargetError>;
}

/// A server binds sockets and answers; anything near this long is a fault.
pub(crate) const READY_WITHIN: Duration = Duration::from_secs(10);

/// What all variants of a deployment share.
#[derive(Debug)]
struct Shared<P> {
    product: P,
    conditions: Conditions,
}

/// A configuration with settings, and the folder for its private copy.
#[derive(Debug)]
pub struct Variant<P: Product> {
    shared: Arc<Shared<P>>,
    applied: Applied<P::Config>,
    scratch: Scratch,
    /// What its copies lead to instead of what the configuration names.
    moves: Vec<Move>,
    /// The copy that was started last, where that is not the first: it has other ports, in the same files.
    moved: Mutex<Option<P::Copy>>,
}

impl<P: Product> Variant<P> {
    /// What is installed.
    pub fn product(&self) -> &P {
        &self.shared.product
    }

    /// In which conditions it runs.
    pub fn conditions(&self) -> &Conditions {
        &self.shared.conditions
    }

    /// The configuration with settings applied.
    pub fn config(&self) -> &P::Config {
        self.applied.config()
    }

    /// The requests that count.
    pub fn requests(&self) -> &Requests {
        self.applied.requests()
    }

    /// Whether a setting was changed since it was prepared.
    pub(crate) fn is_changed(&self) -> bool {
        self.applied.is_changed()
    }

    /// What its private copy should be like.
    pub(crate) fn copy_options<'a>(&'a self, ports: &'a mut dyn FnMut() -> io::Result<u16>) -> CopyOptions<'a> {
        self.conditions().copy_options(self.dir(), &self.moves, ports)
    }

    /// The folder of its copy.
    pub fn dir(&self) -> &Path {
        self.scratch.path()
    }

    /// What the machine allows it.
    pub fn machine(&self, environment: &Environment) -> Machine {
        Machine::inheriting(environment, self.conditions().nofile)
    }

    /// Starts a program on these cores. `ready` waits until it answers, `watch` looks at it (its first process, its log) from then on.
    ///
    /// # Errors
    /// When it ends or does not answer; the message carries its last words.
    pub fn launch<W: running::Watch>(
        &self,
        startup: Startup,
        cpus: Option<&[usize]>,
        ready: impl FnOnce(&mut Child) -> Result<(), PlaceError>,
        watch: impl FnOnce(u32, Tail) -> W,
    ) -> Result<running::Running<W>, PlaceError> {
        let Startup { command, address, output, log } = startup;
        let spawn = Spawn {
            name: P::ENTRY.program.0.to_owned(),
            cpus: cpus.map(<[usize]>::to_vec),
            log: Some(output.clone()),
            nofile: Some(self.conditions().nofile),
            user: None,
        };
        // Output of an earlier start must not be mistaken for this one's last words.
        let _ = std::fs::remove_file(output);
        let tail = Tail::open(&log);
        let mut child = Child::spawn(command, spawn)?;
        ready(&mut child)?;
        let watch = watch(child.pid(), tail);
        Ok(running::Running::new(child, address, watch))
    }

    /// Starts the copy that is on disk: `first`, or the one that took its place. Where a port was taken since it was chosen (a line of
    /// its last words says so to `taken`), another copy is made on other ports.
    ///
    /// # Errors
    /// When it does not start; the message carries its last words.
    pub fn started(
        &self,
        first: &P::Copy,
        start: impl Fn(&P::Copy) -> Result<P::Running, PlaceError>,
        taken: fn(&str) -> bool,
    ) -> Result<P::Running, TargetError> {
        let mut moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = moved.clone().unwrap_or_else(|| first.clone());
        let (running, copy) = process_tree::started(P::ENTRY.called, copy, start, taken, |_| P::copy(self))?;
        *moved = Some(copy);
        Ok(running)
    }
}

/// A product that can be started, any number of times, one at a time.
pub struct Deployment<P: Product> {
    variant: Variant<P>,
    copy: P::Copy,
    rewrites: Vec<Rewrite>,
    warnings: Vec<String>,
}

impl<P: Product> Deployment<P> {
    /// Finds the product, reads or renders its configuration, applies the settings, makes a private copy and has the product
    /// test it. Nothing is started, nothing of the user's is touched.
    ///
    /// # Errors
    /// The product is missing, a file or a setting is wrong (with its place), the product refuses the configuration, it leads to
    /// another machine which was not allowed, or a folder cannot be written.
    pub fn prepare(what: Prepare<'_>) -> Result<Deployment<P>, TargetError> {
        let scratch = scratch::<P>(&what.dir)?;
        let product = P::find(&what, scratch.path())?;
        let config = match &what.source {
            ConfigSource::File(main) => product.read(main)?,
            ConfigSource::Cluster(_) => return Err(TargetError::elsewhere(P::ENTRY.called)),
            ConfigSource::Generated => {
                product.plain(&what, what.backend.ok_or_else(|| TargetError::no_backend(P::ENTRY.called))?)?
            }
        };
        let requests = what.requests();
        let applied = Applied::new(what.source, config, requests, what.settings)?;
        let users = P::certificate(applied.config(), applied.requests());
        let (tls, unlike) = shown(what.tls, users.as_ref(), &scratch, P::ENTRY.called)?;
        let (backend, secured) = (what.backend, what.secured.map(str::to_owned));
        let (allowed, nofile, listen) = (what.allow_remote.to_vec(), caps::descriptors(), what.listen);
        let conditions = Conditions { backend, secured, allowed, tls, unlike, nofile, listen };
        let (shared, moves) = (Arc::new(Shared { product, conditions }), Vec::new());
        Deployment::made(Variant { shared, applied, scratch, moves, moved: Mutex::default() })
    }

    /// The same of a configuration of genkai's own before nodes of rooms, written into `dir` as if it were its user's, at this address (none: 127.0.0.1).
    ///
    /// # Errors
    /// As [`Deployment::prepare`].
    pub(crate) fn rendered(config: &str, listen: Option<Ipv4Addr>, dir: &Path) -> Result<Deployment<P>, TargetError> {
        let file = dir.join("router.conf");
        std::fs::write(&file, config).map_err(TargetError::files(&file))?;
        Deployment::prepare(Prepare {
            program: None,
            source: ConfigSource::File(file),
            settings: &BTreeMap::new(),
            backend: None,
            secured: None,
            dir: dir.join(P::ENTRY.name),
            path: "/rooms",
            host: "localhost",
            websocket: true,
            upgrade: Default::default(),
            streams: None,
            headers: None,
            tls: None,
            allow_remote: &[],
            listen: listen.unwrap_or(Ipv4Addr::LOCALHOST),
        })
        .map_err(|error| match error.kind {
            // The user wrote none of it.
            ErrorKind::Rejected(_) => TargetError::machine(error.product, error),
            _ => error,
        })
    }

    /// The same, whichever product it is.
    ///
    /// # Errors
    /// As [`Deployment::prepare`].
    pub(crate) fn boxed(what: Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
        Ok(Box::new(Deployment::<P>::prepare(what)?))
    }

    fn made(variant: Variant<P>) -> Result<Deployment<P>, TargetError> {
        let copy = P::copy(&variant)?;
        let translate = |message: &str| variant.applied.translate(&P::translate(&copy, message));
        let warnings = P::check(&variant, &copy, None, &translate)?;
        let unlike = variant.conditions().unlike.clone();
        let rewrites = variant.applied.rewrites(P::rewrites(&copy).into_iter().chain(unlike));
        Ok(Deployment { variant, copy, rewrites, warnings })
    }

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// As [`Deployment::prepare`].
    pub fn with(&self, changes: &[Change], dir: &Path) -> Result<Deployment<P>, TargetError> {
        let (applied, moves) = (self.variant.applied.with(changes)?, self.variant.moves.clone());
        self.beside(applied, moves, dir)
    }

    fn beside(&self, applied: Applied<P::Config>, moves: Vec<Move>, dir: &Path) -> Result<Self, TargetError> {
        let (shared, scratch) = (Arc::clone(&self.variant.shared), scratch::<P>(dir)?);
        Deployment::made(Variant { shared, applied, scratch, moves, moved: Mutex::default() })
    }

    /// The configuration with settings, and the folder of its copy.
    pub fn variant(&self) -> &Variant<P> {
        &self.variant
    }

    /// The private copy.
    pub fn private_copy(&self) -> &P::Copy {
        &self.copy
    }

    /// Starts it on the cores given and waits until it answers.
    ///
    /// # Errors
    /// When it does not start; the message carries its last words.
    pub fn start(&self, cpus: Option<&[usize]>) -> Result<P::Running, TargetError> {
        P::start(&self.variant, &self.copy, cpus)
    }
}

fn scratch<P: Product>(dir: &Path) -> Result<Scratch, TargetError> {
    Ok(Scratch::make(dir, nix::unistd::geteuid().is_root(), &format!("genkai-{}-", P::ENTRY.name))?)
}

impl<P: Product> Debug for Deployment<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct(P::ENTRY.called).field("dir", &self.variant.dir()).finish_non_exhaustive()
    }
}

impl<P: Product> Prepared for Deployment<P> {
    fn product(&self) -> &'static str {
        P::ENTRY.name
    }

    fn version(&self) -> &str {
        self.variant.product().version()
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        Ok(Box::new(Deployment::with(self, changes, dir)?))
    }

    fn removable(&self) -> Vec<Directive> {
        self.variant.applied.removable()
    }

    fn without(&self, which: &[u32], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        let (applied, moves) = (self.variant.applied.without(which)?, self.variant.moves.clone());
        Ok(Box::new(self.beside(applied, moves, dir)?))
    }

    fn moved(&self, moves: &[Move], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        Ok(Box::new(self.beside(self.variant.applied.clone(), moves.to_vec(), dir)?))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        let (value, origin) = self.variant.config().value_of(setting, self.variant.requests())?;
        Ok((value, self.variant.applied.origin_of(setting, origin)))
    }

    fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let mut all = P::limits(&self.variant, &self.copy, &self.variant.machine(environment), environment);
        if let Some(streams) = self.variant.requests().streams {
            all = all.into_iter().map(|limit| P::over_http2(&self.variant, limit, streams)).collect();
        }
        all.push(crate::limits::memory_group(P::ENTRY.name));
        for limit in &mut all {
            limit.origin = self.variant.applied.origin_of(&limit.setting, limit.origin.clone());
        }
        all
    }

    fn address(&self) -> Option<SocketAddr> {
        P::address(&self.copy)
    }

    fn answers(&self, request: &Request) -> Vec<OwnAnswer> {
        let mut all = P::answers(&self.variant, &self.copy, request);
        // What it says to this machine's visitors, it may not say to those of others.
        let here = self.variant.conditions().listen.is_loopback();
        for one in &mut all {
            one.certain &= here;
            one.origin = self.variant.applied.origin_of(&one.setting, one.origin.clone());
        }
        all
    }

    fn behind(&self) -> Vec<Endpoint> {
        P::behind(&self.variant, &self.copy)
    }

    fn forwarded(&self, target: &str) -> Option<String> {
        P::forwarded(&self.variant, target)
    }

    fn onward(&self) -> Transport {
        streams::onward(self.variant.conditions().name(|| P::encrypts(&self.variant)))
    }

    fn transport(&self) -> Transport {
        let (tls, host) = (self.variant.conditions().tls.as_ref(), &self.variant.requests().host);
        authority::transport(tls, host, P::is_tls(&self.variant))
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn rejects(&self, line: &str) -> Result<Option<Rejection>, TargetError> {
        let extra = P::with_line(&self.copy, line)?;
        let named = |message: &str| message.replace(&extra.path().display().to_string(), "the configuration");
        match P::check(&self.variant, &self.copy, Some(extra.path()), &named) {
            Ok(warnings) => Ok(Rejection::warned(warnings, &self.warnings, P::ENTRY.clamps)),
            Err(TargetError { kind: ErrorKind::Rejected(words), .. }) => {
                let unknown = words.contains(P::ENTRY.unknown);
                Ok(Some(Rejection::refused(words, unknown)))
            }
            Err(e) => Err(e),
        }
    }

    fn rewrites(&self) -> &[Rewrite] {
        &self.rewrites
    }

    fn diff(&self, changes: &[Change]) -> String {
        self.variant.applied.diff(changes)
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        self.variant.applied.finished(changes)
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        self.variant.applied.write_back(changes)
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(Deployment::start(self, cpus)?))
    }
}
