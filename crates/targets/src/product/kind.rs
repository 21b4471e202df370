//! What a product is: what is particular to it, and a configuration of it with settings.

use std::fmt::Debug;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use genkai_model::event::{Environment, Rewrite};
use genkai_model::limit::Limit;
use genkai_model::load::Request;
use tempfile::NamedTempFile;

use super::by_port::ByPort;
use super::certificate::Certificate;
use super::conditions::Conditions;
use super::secured::Sessions;
use super::startup::Startup;
use super::streams::shared;
use super::{Entry, OwnAnswer, Prepare, Running};
use crate::error::TargetError;
use crate::files::{Applied, Configuration, CopyOptions, Move, Requests};
use genkai_place::caps::Machine;
use genkai_place::endpoint::Endpoint;
use genkai_place::port;
use genkai_place::process::{Child, Spawn};
use genkai_place::scratch::Scratch;
use genkai_place::tail::Tail;
use genkai_place::{PlaceError, process_tree, running};

/// A product: what is installed here, and what is particular to it. [`super::Deployment`] does the rest.
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

    /// By what else clients come to its listener for those requests, where the load does not come by that, what a backend that was given does not
    /// take the place of, and what is written for them and does nothing: sentences.
    fn entered(_of: &Variant<Self>) -> Vec<String> {
        Vec::new()
    }

    /// How long a request may be without an answer from there, in seconds, where each has a connection of its own; none: not so, or not known.
    fn anew(_of: &Variant<Self>, _copy: &Self::Copy) -> Option<f64> {
        None
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

    /// What it decides by the server's own port or address, which a private copy may not have; none: nothing.
    fn by_port(_of: &Variant<Self>) -> Option<ByPort> {
        None
    }

    /// One of its limits where so many HTTP/2 requests share a connection, or as many as its listener allows.
    fn over_http2(_of: &Variant<Self>, limit: Limit, streams: u32) -> Limit {
        shared(limit, streams)
    }

    /// What decides whether its listener for those requests resumes TLS sessions; none: not known.
    fn sessions(_of: &Variant<Self>) -> Option<Sessions> {
        None
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
pub(super) struct Shared<P> {
    /// What is installed.
    pub(super) product: Arc<P>,
    /// In which conditions it runs.
    pub(super) conditions: Conditions,
}

/// A configuration with settings, and the folder for its private copy.
#[derive(Debug)]
pub struct Variant<P: Product> {
    /// What is the same for all of them.
    pub(super) shared: Arc<Shared<P>>,
    /// The configuration before and with settings.
    pub(super) applied: Applied<P::Config>,
    /// The folder.
    pub(super) scratch: Scratch,
    /// What its copies lead to instead of what the configuration names.
    pub(super) moves: Vec<Move>,
    /// The copy that was started last, where that is not the first: it has other ports, in the same files.
    pub(super) moved: Mutex<Option<P::Copy>>,
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

    /// The configuration as it is written, nothing changed and nothing left out.
    pub(crate) fn original(&self) -> &P::Config {
        self.applied.original()
    }

    /// The requests that count.
    pub fn requests(&self) -> &Requests {
        self.applied.requests()
    }

    /// What its copies lead to instead of what the configuration names.
    pub(crate) fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Whether a setting was changed since it was prepared.
    pub(crate) fn is_changed(&self) -> bool {
        self.applied.is_changed()
    }

    /// What its private copy should be like.
    pub(crate) fn copy_options<'a>(&'a self, ports: &'a mut dyn FnMut() -> io::Result<u16>) -> CopyOptions<'a> {
        let options = self.conditions().copy_options(self.dir(), &self.moves, ports);
        // Another address than this machine's own is where others come to its servers.
        let by = P::by_port(self).filter(|_| options.listen == Ipv4Addr::LOCALHOST);
        match by.and_then(|by| by.ports).and_then(|ports| port::apart(&ports)) {
            Some(listen) => CopyOptions { listen, kept: true, ..options },
            None => options,
        }
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
        let mut tail = Tail::open(&log);
        let mut child = Child::spawn(command, spawn)?;
        ready(&mut child).map_err(|error| logged(error, &mut tail))?;
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

/// Most lines of a log that are told of a server that did not start.
const LINES: usize = 8;

/// The error of a server that said nothing on its output, with what it wrote into its log.
fn logged(error: PlaceError, log: &mut Tail) -> PlaceError {
    match error {
        PlaceError::Exited { name, status, tail } if tail.is_empty() => {
            let lines = log.lines();
            let tail = lines[lines.len().saturating_sub(LINES)..].join("\n");
            PlaceError::Exited { name, status, tail }
        }
        other => other,
    }
}
