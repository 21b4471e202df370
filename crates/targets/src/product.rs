//! What every product under test can do, so that the lab needs to know none of them by name.
//!
//! [`prepare`] chooses by the plan's word. Adding a product is a folder beside `nginx/`, an implementation of [`Prepared`]
//! and [`Running`], and a line in [`prepare`].

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::{ConfigSource, Upgrade};
use genkai_model::setting::Setting;
use genkai_model::transport::Transport;

use crate::apache::{Apache, ApacheError};
use crate::cache::{self, Accelerator, CacheError};
use crate::explain::EXPLAINED;
use crate::files::Backup;
use crate::files::entry::EntryError;
use crate::haproxy::{Haproxy, HaproxyError};
use crate::nginx::{Nginx, NginxError};
use genkai_place::authority::TlsMaterial;
use genkai_place::observation::Observation;
use genkai_place::running;

/// Names of the products that can be a plain reverse proxy, as plans and the command line have them. Caches have names of their own
/// ([`cache::compared`]).
pub const PRODUCTS: &[&str] = &["nginx", "apache", "haproxy"];

/// Those that listen with TLS where genkai writes their configuration.
const WITH_TLS: &[&str] = &["apache", "haproxy"];

/// What can be named without a configuration: plain reverse proxies, and caches as genkai writes them.
pub fn names() -> Vec<String> {
    PRODUCTS.iter().map(|name| (*name).to_owned()).chain(cache::compared()).collect()
}

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
    /// Folder for the private copy.
    pub dir: PathBuf,
    /// Path of the requests that will be made.
    pub path: &'a str,
    /// Their Host header; it decides which virtual server answers.
    pub host: &'a str,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
    /// What passes those on, in a generated configuration.
    pub upgrade: Upgrade,
    /// A generated configuration listens with TLS, with these.
    pub tls: Option<TlsMaterial>,
    /// Hosts that the load may reach though they are not this machine, as the configuration writes them.
    pub allow_remote: &'a [String],
}

/// A product that is ready to be started, any number of times, one at a time: its configuration read, settings applied, a
/// private copy made and tested by the product itself.
pub trait Prepared {
    /// Its name, one of [`PRODUCTS`] or a cache of [`names`].
    fn product(&self) -> &'static str;

    /// Its version, e.g. `1.22.1`.
    fn version(&self) -> &str;

    /// The same with settings changed, in a folder of its own, tested.
    ///
    /// # Errors
    /// When the product refuses the changed configuration.
    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, ProductError>;

    /// The value of a setting in force for the requests that will be made, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting, or nothing here that it could be set on.
    fn value_of(&self, setting: &str) -> Result<(String, Origin), ProductError>;

    /// Every limit of this configuration on this machine.
    fn limits(&self, environment: &Environment) -> Vec<Limit>;

    /// What carries connections to its listener.
    fn transport(&self) -> Transport;

    /// What the product's own check warns of: values that it does not take as they are written.
    fn warnings(&self) -> &[String];

    /// What the product's own check says against this configuration with one more line, at the top level; none: nothing.
    ///
    /// # Errors
    /// When it cannot be asked.
    fn objects(&self, line: &str) -> Result<Option<Objection>, ProductError>;

    /// Every setting of a configuration of genkai's own making, where its limits do not tell them.
    fn written(&self) -> &[Setting] {
        &[]
    }

    /// Where the private copy differs from the user's files; nothing for a generated configuration.
    fn rewrites(&self) -> &[Rewrite];

    /// Unified diff that `changes` (and the settings given) make to the user's files; to the rendered configuration where
    /// there are none.
    fn diff(&self, changes: &[Change]) -> String;

    /// Writes `changes` (and the settings given) into the user's files, all or none, each with a backup beside it. Nothing
    /// for a generated configuration.
    ///
    /// # Errors
    /// When a change cannot be applied, or a file was changed by somebody else or cannot be written.
    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, ProductError>;

    /// Starts it on the cores given and waits until it answers.
    ///
    /// # Errors
    /// When it does not start; the message carries its last words.
    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, ProductError>;
}

/// What a product's own check says against a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Objection {
    /// What it does.
    pub kind: ObjectionKind,
    /// Its words.
    pub words: String,
}

/// What a product's own check does with a line it objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectionKind {
    /// It knows no such setting.
    Unknown,
    /// It knows the setting and refuses how it is written, or where.
    Refused,
    /// It accepts it with the warning that it takes another value.
    Clamped,
    /// It accepts it with another warning.
    Warned,
}

impl Objection {
    /// Of a check that passed with `warnings`, of which `known` are not the line's; none where it has no others. A warning
    /// with one of the words `clamps` says that the product takes another value.
    pub(crate) fn warned(warnings: Vec<String>, known: &[String], clamps: &[&str]) -> Option<Objection> {
        let new: Vec<String> = warnings.into_iter().filter(|warning| !known.contains(warning)).collect();
        let clamped = new.iter().any(|warning| clamps.iter().any(|words| warning.contains(words)));
        let kind = if clamped { ObjectionKind::Clamped } else { ObjectionKind::Warned };
        (!new.is_empty()).then(|| Objection { kind, words: new.join("; ") })
    }

    /// Of a check that failed; `unknown` is whether it knows no such setting.
    pub(crate) fn refused(words: String, unknown: bool) -> Objection {
        Objection { kind: if unknown { ObjectionKind::Unknown } else { ObjectionKind::Refused }, words }
    }
}

/// A product that runs. Dropping it ends it.
pub trait Running: Send {
    /// The listener that the load goes to.
    fn address(&self) -> SocketAddr;

    /// Looks at it: metrics, new log lines, deaths.
    fn observe(&mut self) -> Observation;

    /// Ends it, gracefully first. Afterwards no process of it is left.
    fn stop(self: Box<Self>) -> ExitStatus;
}

/// Why a product could not be prepared or started. One clear message each.
#[derive(Debug, thiserror::Error)]
pub enum ProductError {
    /// There is no such product.
    #[error("there is no product `{name}`; there are: {}", names().join(", "))]
    Unknown {
        /// As asked for.
        name: String,
    },
    /// Its configurations are not explained.
    #[error("genkai does not explain configurations of `{name}`; it explains those of: {}", EXPLAINED.join(", "))]
    NotExplained {
        /// As asked for, or as the files look.
        name: String,
    },
    /// A folder in which there is no configuration.
    #[error("{} is a folder without `*.cfg` files of HAProxy's\n  hint: name the main file, like nginx.conf", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// Its generated configuration does not listen with TLS.
    #[error(
        "{name} with TLS: genkai writes listeners with TLS for {} only\n  hint: give a configuration of {name} that listens with TLS, or leave \
         TLS out",
        WITH_TLS.join(" and ")
    )]
    NoTls {
        /// The product.
        name: String,
    },
    /// nginx.
    #[error(transparent)]
    Nginx(#[from] NginxError),
    /// Apache.
    #[error(transparent)]
    Apache(#[from] ApacheError),
    /// HAProxy.
    #[error(transparent)]
    Haproxy(#[from] HaproxyError),
    /// A cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A configuration of php-fpm or Redis.
    #[error(transparent)]
    Entry(#[from] EntryError),
}

impl ProductError {
    /// Whether what the user gave is at fault (files, settings), not the machine.
    pub fn is_usage(&self) -> bool {
        match self {
            ProductError::Unknown { .. }
            | ProductError::NotExplained { .. }
            | ProductError::Folder { .. }
            | ProductError::NoTls { .. } => true,
            ProductError::Nginx(e) => e.is_usage(),
            ProductError::Apache(e) => e.is_usage(),
            ProductError::Haproxy(e) => e.is_usage(),
            ProductError::Cache(e) => e.is_usage(),
            ProductError::Entry(_) => true,
        }
    }
}

/// Prepares the product called `name`. Nothing is started, nothing of the user's is touched.
///
/// # Errors
/// The product is unknown or missing, or does not accept what it is given.
pub fn prepare(name: &str, what: Prepare<'_>) -> Result<Box<dyn Prepared>, ProductError> {
    if what.tls.is_some() && what.source == ConfigSource::Generated && !WITH_TLS.contains(&name) {
        return Err(ProductError::NoTls { name: name.to_owned() });
    }
    match name {
        "nginx" => Ok(Box::new(Nginx::prepare(what)?)),
        "apache" => Ok(Box::new(Apache::prepare(what)?)),
        "haproxy" => Ok(Box::new(Haproxy::prepare(what)?)),
        cache if cache::is(cache, &what.source) => Ok(Box::new(Accelerator::prepare(cache, &what)?)),
        other => Err(ProductError::Unknown { name: other.to_owned() }),
    }
}

/// The methods of a product's own type are those of the trait, with the product's own errors.
macro_rules! forward {
    ($name:literal, $prepared:ty) => {
        impl Prepared for $prepared {
            fn product(&self) -> &'static str {
                $name
            }

            fn version(&self) -> &str {
                <$prepared>::version(self)
            }

            fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, ProductError> {
                Ok(Box::new(<$prepared>::with(self, changes, dir)?))
            }

            fn value_of(&self, setting: &str) -> Result<(String, Origin), ProductError> {
                Ok(<$prepared>::value_of(self, setting)?)
            }

            fn limits(&self, environment: &Environment) -> Vec<Limit> {
                <$prepared>::limits(self, environment)
            }

            fn transport(&self) -> Transport {
                <$prepared>::transport(self)
            }

            fn warnings(&self) -> &[String] {
                <$prepared>::warnings(self)
            }

            fn objects(&self, line: &str) -> Result<Option<Objection>, ProductError> {
                Ok(<$prepared>::objects(self, line)?)
            }

            fn rewrites(&self) -> &[Rewrite] {
                <$prepared>::rewrites(self)
            }

            fn diff(&self, changes: &[Change]) -> String {
                <$prepared>::diff(self, changes)
            }

            fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, ProductError> {
                Ok(<$prepared>::write_back(self, changes)?)
            }

            fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, ProductError> {
                Ok(Box::new(<$prepared>::start(self, cpus)?))
            }
        }
    };
}

forward!("nginx", Nginx);
forward!("apache", Apache);
forward!("haproxy", Haproxy);

impl<W: running::Watch> Running for running::Running<W> {
    fn address(&self) -> SocketAddr {
        running::Running::address(self)
    }

    fn observe(&mut self) -> Observation {
        running::Running::observe(self)
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
            Objection::warned(warnings, &["as before".to_owned()], crate::apache::CLAMPS)
                .map(|objection| objection.kind)
        };
        assert_eq!(said(&["as before"]), None);
        let less = "AH00318: WARNING: MaxRequestWorkers of 500 would require 20 servers and would exceed ServerLimit of 4, \
                    decreasing to 100.";
        assert_eq!(said(&["as before", less]), Some(ObjectionKind::Clamped));
        let more = "AH00499: WARNING: ServerLimit of 0 not allowed, increasing to 1.";
        assert_eq!(said(&[more]), Some(ObjectionKind::Clamped));
        let other = "AH10028: WARNING: the directive is deprecated";
        assert_eq!(said(&["as before", other]), Some(ObjectionKind::Warned));
    }
}
