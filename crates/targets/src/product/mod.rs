//! What every product under test can do, so that the lab needs to know none of them by name.
//!
//! A product is an implementation of [`Product`]: data and a handful of functions. [`Deployment`] makes of any of them what
//! can be [`Prepared`] and is [`Running`] afterwards. [`crate::catalog`] chooses by the plan's word.

mod by_port;
mod certificate;
mod conditions;
mod contained;
mod deployment;
mod entry;
mod kind;
mod led;
pub mod looks;
mod own;
mod program;
mod secured;
mod served;
mod startup;
mod streams;
mod trusted;
mod twin;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use genkai_model::event::{Change, Directive, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::load::Request;
use genkai_model::plan::{ConfigSource, Upgrade};
use genkai_model::setting::Setting;
use genkai_model::transport::Transport;

pub use crate::limits::backend::{certificate_wanted, given_up};
pub use crate::limits::php::settled;
pub use by_port::ByPort;
pub use certificate::Certificate;
pub use conditions::Conditions;
pub use contained::{Contained, Inside, Printed, WatchInside};
pub use deployment::Deployment;
pub use entry::{Answer, AskFn, Entry, ExplainFn, PrepareFn, Proxy, Role, StartedFn};
pub(crate) use kind::READY_WITHIN;
pub use kind::{Product, Variant};
pub(crate) use led::{is_led, moves, names};
pub use own::OwnAnswer;
pub(crate) use own::{carries, followed, head, on_line};
pub use program::Program;
pub(crate) use program::{LONGEST, Lookup, after, located, tested};
pub(crate) use secured::explained;
pub use secured::{Handshakes, Secured, Sessions};
pub use served::{AsksAtOnce, Cost, Served, ServesFn};
pub(crate) use served::{ENDED, NOTICE, behind};
pub use startup::Startup;
pub(crate) use streams::{shared, unknown};
pub(crate) use trusted::{is_own, program_of, trusted};
pub use twin::{Twin, TwinFn};
pub(crate) use twin::{alike, led_by, same_files};

use crate::error::TargetError;
use crate::files::{Backup, Finished, Move, Requests};
use genkai_place::authority::TlsMaterial;
use genkai_place::endpoint::Endpoint;
use genkai_place::observation::Observation;
use genkai_place::running;

/// What to prepare.
pub struct Prepare<'a> {
    /// The program to run; none: the one installed.
    pub program: Option<&'a Path>,
    /// Where the configuration comes from.
    pub source: ConfigSource,
    /// Settings applied on top of it, in the user's words.
    pub settings: &'a BTreeMap<String, String>,
    /// What to pass requests to; none: where the configuration says.
    pub backend: Option<SocketAddr>,
    /// That takes TLS: the name that it is told in the handshake, empty where it is told none. None: it is spoken to in clear.
    pub secured: Option<&'a str>,
    /// Folder for the private copy.
    pub dir: PathBuf,
    /// Path of the requests that will be made.
    pub path: &'a str,
    /// Further paths that are asked for (a scenario's), of which nothing is told but what may be left out.
    pub also: &'a [String],
    /// Their Host header; it decides which virtual server answers.
    pub host: &'a str,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
    /// What passes those on, in a generated configuration.
    pub upgrade: Upgrade,
    /// They come by HTTP/2: most of them at once on a connection, as the load has it. None: by HTTP/1.1.
    pub streams: Option<u32>,
    /// All their headers, beside Host and what tells of their body; none: not known.
    pub headers: Option<&'a [(String, String)]>,
    /// The fewest and the most bytes that their bodies have.
    pub body: (u64, u64),
    /// A generated configuration listens with TLS, with these.
    pub tls: Option<TlsMaterial>,
    /// Hosts that the load may reach though they are not this machine, as the configuration writes them.
    pub allow_remote: &'a [String],
    /// This machine's address at which it listens.
    pub listen: Ipv4Addr,
    /// Whether clients offer TLS sessions to be resumed.
    pub resumes: bool,
}

impl Prepare<'_> {
    /// A configuration with these settings, for requests of `/` at this machine by nothing but HTTP/1.1; its private copy in `dir`.
    pub fn plain<'a>(source: ConfigSource, settings: &'a BTreeMap<String, String>, dir: PathBuf) -> Prepare<'a> {
        Prepare {
            program: None,
            source,
            settings,
            backend: None,
            secured: None,
            dir,
            path: "/",
            also: &[],
            host: "localhost",
            websocket: false,
            upgrade: Default::default(),
            streams: None,
            headers: None,
            body: (0, 0),
            tls: None,
            allow_remote: &[],
            listen: Ipv4Addr::LOCALHOST,
            resumes: true,
        }
    }

    /// The configuration `main` as it is, in `dir`, for these requests at 127.0.0.1.
    pub(crate) fn of<'a>(
        main: &Path,
        requests: &'a Requests,
        settings: &'a BTreeMap<String, String>,
        dir: &Path,
    ) -> Prepare<'a> {
        Prepare {
            path: &requests.path,
            also: &requests.also,
            host: &requests.host,
            websocket: requests.websocket,
            body: requests.body,
            ..Prepare::plain(ConfigSource::File(main.to_owned()), settings, dir.to_owned())
        }
    }

    /// The requests that it is asked for.
    pub(crate) fn requests(&self) -> Requests {
        let headers = self.headers.map(<[_]>::to_vec);
        let (websocket, streams, also) = (self.websocket, self.streams, self.also.to_vec());
        let body = self.body;
        Requests { websocket, streams, headers, body, also, ..Requests::to(self.host, self.path) }
    }
}

/// A product that is ready to be started, any number of times, one at a time: its configuration read, settings applied, a
/// private copy made and tested by the product itself.
pub trait Prepared {
    /// Its name, one of [`crate::catalog::names`].
    fn product(&self) -> &'static str;

    /// Its version, e.g. `1.22.1`.
    fn version(&self) -> &str;

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// When the product refuses the changed configuration.
    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, TargetError>;

    /// Directives of the user's configuration in force for the requests that will be made and that may be left out, in the order in which they
    /// are written; none where genkai cannot tell.
    fn removable(&self) -> Vec<Directive> {
        Vec::new()
    }

    /// The same without some of these, by their positions, in a folder of its own, tested.
    ///
    /// # Errors
    /// When the product refuses such a configuration.
    fn without(&self, _which: &[u32], _dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        Err(TargetError::usage("", "directives of this product's configuration cannot be left out"))
    }

    /// The same whose copy leads elsewhere, in a folder of its own, tested: [`Prepared::rewrites`] has each place where it does.
    ///
    /// # Errors
    /// When its copies always lead where its configuration says, or the product refuses the copy.
    fn moved(&self, _moves: &[Move], _dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        Err(TargetError::usage(self.product(), "a private copy of it leads where its configuration says"))
    }

    /// The same whose copy asks those to whom the requests of the load go from it through other places, which `place` gives for each (as the user's
    /// files have it, and where that is), in a folder of its own, tested.
    ///
    /// # Errors
    /// When its copies always lead where its configuration says, the product refuses the copy, or there is no such place.
    fn through(
        &self,
        place: &mut dyn FnMut(&Endpoint, &Endpoint) -> io::Result<Endpoint>,
        dir: &Path,
    ) -> Result<Box<dyn Prepared>, TargetError> {
        let moves = moves(self.behind(), place).map_err(|why| TargetError::machine(self.product(), why))?;
        is_led(self.moved(&moves, dir)?, &moves)
    }

    /// Whether a copy of what stands behind it is what [`Prepared::moved`] leads elsewhere.
    fn is_stacked(&self) -> bool {
        false
    }

    /// How many requests the copy behind it works on at once, each of which may ask a server further behind; none: there is no such copy, or that is
    /// not known.
    fn asks_at_once(&self, _environment: &Environment) -> Option<AsksAtOnce> {
        None
    }

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting, or nothing here that it could be set on.
    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError>;

    /// Every limit of this configuration on this machine.
    fn limits(&self, environment: &Environment) -> Vec<Limit>;

    /// The listener of its copy that the load goes to, unless its port is taken before it is started; none where that is not told before.
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    /// What its copy that is loaded at `at` decides otherwise than the user's server, because it listens elsewhere; none: nothing.
    fn apart(&self, _at: SocketAddr) -> Option<String> {
        None
    }

    /// What it answers itself of such requests, or may, as its configuration says; in the order in which it comes to it.
    fn answers(&self, _request: &Request) -> Vec<OwnAnswer> {
        Vec::new()
    }

    /// Limits of the machine that it runs on, where that is not this one; none: it is.
    fn elsewhere(&self) -> Option<Vec<Limit>> {
        None
    }

    /// Where it runs, where that is not this machine, and in what it is unlike the user's: sentences.
    fn told(&self) -> Vec<String> {
        Vec::new()
    }

    /// Where the requests of the load go from it, as its configuration says; names that must be resolved are not among them.
    fn behind(&self) -> Vec<Endpoint> {
        Vec::new()
    }

    /// How long a request may be without an answer from what stands behind it, where each has a connection of its own there, in seconds, as its
    /// configuration says. None: connections are kept there for further requests, or that is not known.
    fn anew(&self) -> Option<f64> {
        None
    }

    /// The target by which what stands behind it is asked where it is asked for this one, as its configuration says. None where that is
    /// not known.
    fn forwarded(&self, target: &str) -> Option<String> {
        Some(target.to_owned())
    }

    /// How what stands behind it is spoken to: TCP where nothing is said of it, TLS with any certificate where its configuration has that.
    fn onward(&self) -> Transport {
        Transport::Tcp
    }

    /// Whether workers run with it, of which the time of a request makes a rate.
    fn has_workers(&self) -> bool {
        false
    }

    /// Takes over what a request costs those workers when nothing else is asked.
    fn costs(&mut self, _cost: Cost) {}

    /// How its listener makes handshakes with a certificate that stands in for the user's; none: it makes none, or nothing is known of them.
    fn secured(&self) -> Option<Secured> {
        None
    }

    /// What carries connections to its listener.
    fn transport(&self) -> Transport {
        Transport::Tcp
    }

    /// What the product's own check warns of: values that it does not take as they are written.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// What the product's own check says against this configuration with one more line, at the top level; none: nothing.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn rejects(&self, line: &str) -> Result<Option<Rejection>, TargetError>;

    /// Every setting of a configuration of genkai's own making, where its limits do not tell them.
    fn written(&self) -> &[Setting] {
        &[]
    }

    /// Where the private copy differs from the user's files; nothing for a generated configuration.
    fn rewrites(&self) -> &[Rewrite] {
        &[]
    }

    /// The same without those of what stands behind it.
    fn own_rewrites(&self) -> &[Rewrite] {
        self.rewrites()
    }

    /// Unified diff that `changes` (and the settings given) make to the user's files; to the rendered configuration where
    /// there are none.
    fn diff(&self, _changes: &[Change]) -> String {
        String::new()
    }

    /// The files that `changes` (and the settings given) make another, finished: to be put in the place of the user's.
    fn finished(&self, _changes: &[Change]) -> Vec<Finished> {
        Vec::new()
    }

    /// Writes `changes` (and the settings given) into the user's files, all or none, each with a backup beside it. Nothing
    /// for a generated configuration.
    ///
    /// # Errors
    /// When a change cannot be applied, or a file was changed by somebody else or cannot be written.
    fn write_back(&self, _changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        Ok(Vec::new())
    }

    /// Removes what was made for it on other machines, once nothing is started any more.
    ///
    /// # Errors
    /// What may be left.
    fn end(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Starts it on the cores given and waits until it answers.
    ///
    /// # Errors
    /// When it does not start; the message carries its last words.
    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError>;
}

/// What a product's own check says against a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// What it does.
    pub kind: RejectionKind,
    /// Its words.
    pub words: String,
}

/// What a product's own check does with a line that it rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionKind {
    /// It knows no such setting.
    Unknown,
    /// It knows the setting and refuses how it is written, or where.
    Refused,
    /// It accepts it with the warning that it takes another value.
    Clamped,
    /// It accepts it with another warning.
    Warned,
}

impl Rejection {
    /// Of a check that passed with `warnings`, of which `known` are not the line's; none where it has no others. A warning
    /// with one of the words `clamps` says that the product takes another value.
    pub(crate) fn warned(warnings: Vec<String>, known: &[String], clamps: &[&str]) -> Option<Rejection> {
        let new: Vec<String> = warnings.into_iter().filter(|warning| !known.contains(warning)).collect();
        let clamped = new.iter().any(|warning| clamps.iter().any(|words| warning.contains(words)));
        let kind = if clamped { RejectionKind::Clamped } else { RejectionKind::Warned };
        (!new.is_empty()).then(|| Rejection { kind, words: new.join("; ") })
    }

    /// Of a check that failed; `unknown` is whether it knows no such setting.
    pub(crate) fn refused(words: String, unknown: bool) -> Rejection {
        Rejection { kind: if unknown { RejectionKind::Unknown } else { RejectionKind::Refused }, words }
    }
}

/// A product that runs. Dropping it ends it.
pub trait Running: Send {
    /// The listener that the load goes to.
    fn address(&self) -> SocketAddr;

    /// Looks at it: metrics, new log lines, deaths.
    fn observe(&mut self) -> Observation;

    /// Processor time that workers which run with it have had.
    fn processor(&self) -> Duration {
        Duration::ZERO
    }

    /// The first processes of servers that run with it.
    fn beside(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Its own first process; none where it is not known.
    fn first(&self) -> Option<u32> {
        None
    }

    /// Why nothing is seen of it any more though it may run; none: it is seen, or that it is not may still find its reason, which is waited
    /// for where no look comes after this (`last`).
    fn blind(&mut self, _last: bool) -> Option<String> {
        None
    }

    /// Ends it, gracefully first. Afterwards no process of it is left.
    fn stop(self: Box<Self>) -> ExitStatus;
}

impl<W: running::Watch> Running for running::Running<W> {
    fn address(&self) -> SocketAddr {
        running::Running::address(self)
    }

    fn observe(&mut self) -> Observation {
        running::Running::observe(self)
    }

    fn first(&self) -> Option<u32> {
        Some(self.pid())
    }

    fn stop(self: Box<Self>) -> ExitStatus {
        running::Running::stop(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_warning_of_another_value_clamps() {
        let said = |warnings: &[&str]| {
            let warnings = warnings.iter().map(|&words| words.to_owned()).collect();
            Rejection::warned(warnings, &["as before".to_owned()], &[", decreasing ", ", increasing "])
                .map(|rejection| rejection.kind)
        };
        assert_eq!(said(&["as before"]), None);
        let less = "AH00318: WARNING: MaxRequestWorkers of 500 would require 20 servers and would exceed ServerLimit of 4, \
                    decreasing to 100.";
        assert_eq!(said(&["as before", less]), Some(RejectionKind::Clamped));
        let more = "AH00499: WARNING: ServerLimit of 0 not allowed, increasing to 1.";
        assert_eq!(said(&[more]), Some(RejectionKind::Clamped));
        let other = "AH10028: WARNING: the directive is deprecated";
        assert_eq!(said(&["as before", other]), Some(RejectionKind::Warned));
    }
}
