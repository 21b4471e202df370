//! Any product, ready to be started: its configuration read, settings applied, a private copy made, and tested by the product
//! itself. Variants differ from it by changes.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};

use genkai_model::event::{Change, Directive, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Request;
use genkai_model::plan::ConfigSource;
use genkai_model::transport::{Tls, Transport};

use super::certificate::{Certificate, shown, stand_in};
use super::conditions::Conditions;
use super::kind::{Product, Shared, Variant};
use super::secured::Secured;
use super::streams;
use super::{Answer, OwnAnswer, Prepare, Prepared, Rejection, Running};
use crate::error::{ErrorKind, TargetError};
use crate::files::{Applied, Backup, Configuration, Finished, Move, Requests};
use genkai_place::authority::{self, Key};
use genkai_place::caps;
use genkai_place::endpoint::Endpoint;
use genkai_place::remote::ANYWHERE;
use genkai_place::scratch::Scratch;

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
        // A plan may hold anything: that all hosts are allowed is not for it to say.
        let allowed = what.allow_remote.iter().filter(|host| *host != ANYWHERE).cloned().collect();
        let (nofile, listen) = (caps::descriptors(), what.listen);
        let (_folder, resumes) = (Some(scratch.clone()), what.resumes);
        let conditions = Conditions { backend, secured, allowed, tls, _folder, unlike, nofile, listen, resumes };
        let (shared, moves) = (Arc::new(Shared { product: Arc::new(product), conditions }), Vec::new());
        Deployment::made(Variant { shared, applied, scratch, moves, moved: Mutex::default() })
    }

    /// The same of a configuration of genkai's own before nodes of rooms, written into `dir` as if it were its user's, at this address (none: 127.0.0.1).
    ///
    /// # Errors
    /// As [`Deployment::prepare`].
    pub(crate) fn rendered(config: &str, listen: Option<Ipv4Addr>, dir: &Path) -> Result<Deployment<P>, TargetError> {
        let file = dir.join("router.conf");
        std::fs::write(&file, config).map_err(TargetError::files(&file))?;
        let requests = Requests { websocket: true, ..Requests::to("localhost", "/rooms") };
        let listen = listen.unwrap_or(Ipv4Addr::LOCALHOST);
        Deployment::prepare(Prepare {
            listen,
            ..Prepare::of(&file, &requests, &BTreeMap::new(), &dir.join(P::ENTRY.name))
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

    /// Has the product that is installed test a private copy of the configuration `main`, in `dir`. Nothing is started.
    ///
    /// # Errors
    /// The product is not installed.
    pub(crate) fn asked(main: &Path, requests: &Requests, dir: &Path) -> Result<Answer, TargetError> {
        let scratch = scratch::<P>(dir)?;
        let none = BTreeMap::new();
        let product = P::find(&Prepare::of(main, requests, &none, dir), scratch.path())?;
        let version = product.version().to_owned();
        let verdict = Deployment::<P>::answered(product, main, requests, scratch);
        Ok(Answer { version, verdict })
    }

    fn answered(product: P, main: &Path, requests: &Requests, scratch: Scratch) -> Result<Vec<String>, TargetError> {
        let (config, source) = (product.read(main)?, ConfigSource::File(main.to_owned()));
        let applied = Applied::new(source, config, requests.clone(), &BTreeMap::new())?;
        let users = P::certificate(applied.config(), applied.requests());
        let (tls, _) = shown(None, users.as_ref(), &scratch, P::ENTRY.called)?;
        let (shared, moves) =
            (Arc::new(Shared { product: Arc::new(product), conditions: Conditions::of_question(tls) }), Vec::new());
        let variant = Variant { shared, applied, scratch, moves, moved: Mutex::default() };
        Deployment::made(variant).map(|deployment| deployment.warnings)
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
        let (key, changes) = self.parted(changes);
        let (applied, moves) = (self.variant.applied.with(&changes)?, self.variant.moves.clone());
        self.beside(applied, moves, key, dir)
    }

    /// A kind of key that changes want for the user's certificate, and the others, which change files: no file says which kind it is.
    fn parted(&self, changes: &[Change]) -> (Option<Key>, Vec<Change>) {
        let Some(users) = self.users() else { return (None, changes.to_vec()) };
        let key = |change: &Change| Key::named(&change.to).filter(|_| change.setting == users.setting);
        (changes.iter().find_map(key), changes.iter().filter(|change| key(change).is_none()).cloned().collect())
    }

    /// The user's certificate that another stands in for.
    fn users(&self) -> Option<Certificate> {
        self.variant.conditions().tls.as_ref()?;
        P::certificate(self.variant.config(), self.variant.requests())
    }

    fn beside(
        &self,
        applied: Applied<P::Config>,
        moves: Vec<Move>,
        key: Option<Key>,
        dir: &Path,
    ) -> Result<Self, TargetError> {
        let scratch = scratch::<P>(dir)?;
        let shared = match key.zip(self.users()) {
            Some((key, users)) => {
                let (tls, unlike) = stand_in(&scratch, &users, P::ENTRY.called, Some(key))?;
                let Shared { product, conditions } = &*self.variant.shared;
                let conditions =
                    Conditions { tls: Some(tls), _folder: Some(scratch.clone()), unlike, ..conditions.clone() };
                Arc::new(Shared { product: Arc::clone(product), conditions })
            }
            None => Arc::clone(&self.variant.shared),
        };
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
        Ok(Box::new(self.beside(applied, moves, None, dir)?))
    }

    fn moved(&self, moves: &[Move], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        Ok(Box::new(self.beside(self.variant.applied.clone(), moves.to_vec(), None, dir)?))
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

    fn apart(&self, at: SocketAddr) -> Option<String> {
        P::by_port(&self.variant).filter(|by| !by.has(at.port())).map(|by| by.told(P::ENTRY.name))
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

    fn anew(&self) -> Option<f64> {
        P::anew(&self.variant, &self.copy)
    }

    fn forwarded(&self, target: &str) -> Option<String> {
        P::forwarded(&self.variant, target)
    }

    fn onward(&self) -> Transport {
        streams::onward(self.variant.conditions().name(|| P::encrypts(&self.variant)))
    }

    fn secured(&self) -> Option<Secured> {
        let users = self.users().filter(|_| P::is_tls(&self.variant))?;
        let key = Key::of(&self.variant.conditions().tls.as_ref()?.certificate).ok()?;
        let origin = self.variant.applied.origin_of(users.setting, users.origin());
        let mut sessions = P::sessions(&self.variant);
        if let Some(sessions) = &mut sessions {
            sessions.origin = self.variant.applied.origin_of(sessions.setting, sessions.origin.clone());
        }
        Some(Secured { setting: users.setting, origin, key, sessions })
    }

    fn told(&self) -> Vec<String> {
        let unlike = self.variant.conditions().unlike.iter();
        let text = |one: &Rewrite| {
            format!("{}: your certificate has {}; the one that stands in for it has {}", one.place, one.from, one.to)
        };
        let unlike = unlike.filter(|_| P::is_tls(&self.variant)).map(text);
        unlike.chain(P::entered(&self.variant)).collect()
    }

    fn transport(&self) -> Transport {
        let (tls, host) = (self.variant.conditions().tls.as_ref(), &self.variant.requests().host);
        let resumes = self.variant.conditions().resumes;
        match authority::transport(tls, host, P::is_tls(&self.variant)) {
            Transport::Tls(tls) => Transport::Tls(Tls { resume: resumes, ..tls }),
            other => other,
        }
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
        self.variant.applied.diff(&self.parted(changes).1)
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        self.variant.applied.finished(&self.parted(changes).1)
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        self.variant.applied.write_back(&self.parted(changes).1)
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(Deployment::start(self, cpus)?))
    }
}
