//! A product in a container that others made, and in which nothing of genkai's is: it is read from what its own commands print there, and
//! runs on files that are put in the place of the container's.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use genkai_model::event::{Change, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;
use genkai_place::caps::Machine;
use genkai_place::inside::Look;
use genkai_place::observation::Observation;

use crate::error::TargetError;
use crate::files::Finished;

/// How a product is met in a container.
#[derive(Debug)]
pub struct Inside {
    /// Its name, one of [`crate::catalog::names`].
    pub product: &'static str,
    /// Whether a process that calls itself so is its first.
    pub is_first: fn(&str) -> bool,
    /// Whether a process that calls itself so serves: its first does not by itself.
    pub serves: fn(&str) -> bool,
    /// Commands by which it tells who it is and what it read, of one whose first process calls itself so.
    pub asks: fn(&str) -> Vec<Vec<String>>,
    /// Labels of the pods in which it is the ingress controller of a cluster, as a selector.
    pub controller: &'static str,
    /// Where images have its main file.
    pub main: &'static str,
    /// The text of that file as a plain reverse proxy before an address, with these settings.
    ///
    /// # Errors
    /// When a setting cannot be changed.
    pub plain: fn(SocketAddr, &BTreeMap<String, String>) -> Result<String, TargetError>,
    /// Reads it from what they printed.
    pub read: fn(Printed<'_>) -> Result<Box<dyn Contained>, TargetError>,
}

/// What was printed in a container, and what is asked of the product in it.
pub struct Printed<'a> {
    /// Standard output and standard error of each command of [`Inside::asks`].
    pub answers: &'a [(Vec<u8>, String)],
    /// The server in a cluster that it is.
    pub source: ConfigSource,
    /// What the container lets it have.
    pub machine: Machine,
    /// Folder in the container into which it can write its log.
    pub folder: &'a Path,
    /// Settings applied on top of its configuration, in the user's words.
    pub settings: &'a BTreeMap<String, String>,
    /// Target of the requests that will be made.
    pub path: &'a str,
    /// Their Host header.
    pub host: &'a str,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
    /// Hosts that the load may reach though they are not the pod itself, as the configuration writes them; none: it is only read, and no load
    /// goes to it.
    pub allow_remote: Option<&'a [String]>,
}

/// A product in a container, with settings.
pub trait Contained: Debug + Send + Sync {
    /// Its version, e.g. `1.22.1`.
    fn version(&self) -> &str;

    /// The same with settings changed.
    ///
    /// # Errors
    /// When there is no such setting, or it does not take that value.
    fn with(&self, changes: &[Change]) -> Result<Box<dyn Contained>, TargetError>;

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting, or nothing here that it could be set on.
    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError>;

    /// Every limit of this configuration, where the container is all that it has.
    fn limits(&self) -> Vec<Limit>;

    /// The port that the load goes to.
    fn port(&self) -> u16;

    /// The log of errors, in the container.
    fn log(&self) -> PathBuf;

    /// Its main file, in the container.
    fn main(&self) -> PathBuf;

    /// The files that a copy must have in the place of those of the container: those that are not alike.
    fn files(&self) -> Vec<Finished>;

    /// Why what its commands print in a copy is not what it was given; none: it is.
    fn unlike(&self, answers: &[(Vec<u8>, String)]) -> Option<String>;

    /// The user's files that `changes` (and the settings given) make another, finished.
    fn finished(&self, changes: &[Change]) -> Vec<Finished>;

    /// Unified diff that `changes` (and the settings given) make to the user's files, but for those for which `except` says so.
    fn diff(&self, changes: &[Change], except: &dyn Fn(&Path) -> bool) -> String;

    /// Where a copy's files differ from the user's, but for settings.
    fn rewrites(&self) -> &[Rewrite];

    /// What looks at one that runs; `page` is the size of a page in bytes, where that is known.
    fn watch(&self, page: Option<u64>) -> Box<dyn WatchInside>;
}

/// Makes observations of looks into a container.
pub trait WatchInside: Send {
    /// Metrics, new log lines, deaths of its workers.
    fn look(&mut self, look: &Look) -> Observation;
}
