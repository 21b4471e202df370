//! A configuration with settings applied to it: what differs from the user's files, and where each line was written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use genkai_model::event::{Change, Directive, Rewrite};
use genkai_model::limit::Origin;
use genkai_model::plan::ConfigSource;

use super::{Backup, Edit, Finished, Origins, Pair, Removable, SaveError, diff, finished, removable, write_back};
use crate::error::TargetError;

/// The requests that are looked at: they decide which virtual server and path count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Host header; empty: the default server answers.
    pub host: String,
    /// Request target.
    pub path: String,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
    /// They come by HTTP/2: most of them at once on a connection, as the load has it. None: by HTTP/1.1.
    pub streams: Option<u32>,
    /// All headers that they have, beside Host and what tells of their body; none: not known.
    pub headers: Option<Vec<(String, String)>>,
    /// The fewest and the most bytes that their bodies have.
    pub body: (u64, u64),
    /// Further paths that are asked for (a scenario's): directives in force for any of them may be left out.
    pub also: Vec<String>,
}

impl Requests {
    /// Plain requests to this host for this path.
    pub fn to(host: &str, path: &str) -> Requests {
        Requests { host: host.to_owned(), path: path.to_owned(), ..Requests::default() }
    }

    /// The port in their Host header: of several listeners those on it are meant.
    pub fn port(&self) -> Option<u16> {
        port_of(&self.host)
    }
}

/// The port in a Host header (RFC 9110, 7.2).
pub fn port_of(host: &str) -> Option<u16> {
    let (name, port) = host.rsplit_once(':')?;
    port.parse().ok().filter(|_| !name.contains(':') || name.ends_with(']'))
}

/// A product's configuration: files in which settings can be changed.
pub trait Configuration: Sized {
    /// The same with one setting changed, where it is in force for these requests. Where it is written already it is changed there;
    /// else it is added. Nothing is written to files.
    ///
    /// # Errors
    /// When there is no such setting, it does not take that value, or has no place.
    fn set(&self, setting: &str, value: &str, requests: &Requests) -> Result<Self, TargetError>;

    /// The value of a setting in force for these requests, and where it is written.
    ///
    /// # Errors
    /// When there is no such setting, or nothing here that it could be set on.
    fn value_of(&self, setting: &str, requests: &Requests) -> Result<(String, Origin), TargetError>;

    /// Directives in force for these requests that may be left out, in the order in which they are written; none where genkai cannot tell.
    fn removable(&self, _requests: &Requests) -> Vec<Removable> {
        Vec::new()
    }

    /// The path of a file of it.
    fn path_of(&self, _of: &Removable) -> PathBuf {
        PathBuf::new()
    }

    /// The same without what `edits` take out.
    ///
    /// # Errors
    /// When two of them overlap, or what is left cannot be read.
    fn without(&self, _edits: &[Edit]) -> Result<Self, TargetError> {
        Err(TargetError::usage("", "directives of this product's configuration cannot be left out"))
    }

    /// Whether two names are of the same setting.
    fn is_same(one: &str, other: &str) -> bool;

    /// Each file with what `edited` (made from this one) made of it.
    fn pairs<'a>(&'a self, edited: &'a Self) -> impl Iterator<Item = Pair<'a>>;

    /// Unified diff from this one to `edited` (made from it): [`diff`].
    fn diff(&self, edited: &Self) -> String {
        diff(self.pairs(edited))
    }

    /// Writes `edited` (made from this one) over the user's files: [`write_back`].
    ///
    /// # Errors
    /// When a file changed since it was read, or cannot be replaced; then all files are as they were.
    fn write_back(&self, edited: &Self) -> Result<Vec<Backup>, SaveError> {
        write_back(self.pairs(edited))
    }
}

/// What is asked of the user's files by whoever does not know what they are written in.
pub trait Edited {
    /// The value of a setting in force, and where it stands.
    ///
    /// # Errors
    /// When there is no such setting, or nothing that it could be set on.
    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError>;

    /// Unified diff that changes make to the files.
    fn diff(&self, changes: &[Change]) -> String;

    /// The files that changes make another, finished.
    fn finished(&self, changes: &[Change]) -> Vec<Finished>;

    /// Writes changes into the files, all or none.
    ///
    /// # Errors
    /// When a file was changed by somebody else, or cannot be replaced.
    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError>;
}

impl<C: Configuration + Clone> Edited for Applied<C> {
    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        let (value, origin) = self.config.value_of(setting, self.requests())?;
        Ok((value, self.origin_of(setting, origin)))
    }

    fn diff(&self, changes: &[Change]) -> String {
        Applied::diff(self, changes)
    }

    fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        Applied::finished(self, changes)
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        Applied::write_back(self, changes)
    }
}

/// A configuration as the user wrote it, and as it is with settings.
#[derive(Clone, Debug)]
pub(crate) struct Applied<C: Configuration> {
    base: Arc<Base<C>>,
    config: C,
    origins: Origins,
    /// Names of the settings that were given or changed.
    given: BTreeSet<String>,
    changed: bool,
}

/// What a configuration and its variants share.
#[derive(Debug)]
struct Base<C: Configuration> {
    source: ConfigSource,
    /// As the user wrote it; as rendered, where there is no user's file.
    original: C,
    requests: Requests,
}

impl<C: Configuration + Clone> Applied<C> {
    /// A configuration, as it is written, with `settings`.
    pub(crate) fn new(
        source: ConfigSource,
        written: C,
        requests: Requests,
        settings: &BTreeMap<String, String>,
    ) -> Result<Self, TargetError> {
        let set = |config: C, (name, value): (&String, &String)| config.set(name, value, &requests);
        let config = settings.iter().try_fold(written.clone(), set)?;
        let original = if source == ConfigSource::Generated { config.clone() } else { written };
        Ok(Applied::of(
            Arc::new(Base { source, original, requests }),
            config,
            settings.keys().cloned().collect(),
            false,
        ))
    }

    fn of(base: Arc<Base<C>>, config: C, given: BTreeSet<String>, changed: bool) -> Self {
        let origins = Origins::new(base.original.pairs(&config));
        Applied { base, config, origins, given, changed }
    }

    /// The same with more settings changed.
    pub(crate) fn with(&self, changes: &[Change]) -> Result<Self, TargetError> {
        let given = self.given.iter().chain(changes.iter().map(|change| &change.setting)).cloned().collect();
        Ok(Applied::of(Arc::clone(&self.base), self.after(changes)?, given, true))
    }

    /// What may be left out for any of the paths.
    fn removables(&self) -> Vec<Removable> {
        let requests = self.requests();
        let others = requests.also.iter().map(|path| Requests { path: path.clone(), ..requests.clone() });
        let of_others: Vec<Removable> = others.flat_map(|one| self.config.removable(&one)).collect();
        let mut all = removable::once(self.config.removable(requests).into_iter().chain(of_others));
        all.sort_by_key(|one| (one.file, one.line));
        all
    }

    /// Directives that may be left out; nothing of a generated configuration.
    pub(crate) fn removable(&self) -> Vec<Directive> {
        let told = |one: Removable| one.told(self.origin(&self.config.path_of(&one), one.line));
        match self.base.source {
            ConfigSource::Generated => Vec::new(),
            ConfigSource::File(_) | ConfigSource::Cluster(_) => self.removables().into_iter().map(told).collect(),
        }
    }

    /// The same without some of the directives that may be left out.
    pub(crate) fn without(&self, which: &[u32]) -> Result<Self, TargetError> {
        let all = self.removables();
        let edits: Vec<Edit> =
            which.iter().filter_map(|at| all.get(*at as usize)).map(|one| one.edit.clone()).collect();
        Ok(Applied::of(Arc::clone(&self.base), self.config.without(&edits)?, self.given.clone(), self.changed))
    }

    fn after(&self, changes: &[Change]) -> Result<C, TargetError> {
        let mut config = self.config.clone();
        for change in changes {
            config = config.set(&change.setting, &change.to, &self.base.requests)?;
        }
        Ok(config)
    }

    /// Whether a setting was changed ([`Applied::with`]).
    pub(crate) fn is_changed(&self) -> bool {
        self.changed
    }

    /// As the user wrote it.
    pub(crate) fn original(&self) -> &C {
        &self.base.original
    }

    /// With settings applied.
    pub(crate) fn config(&self) -> &C {
        &self.config
    }

    /// The requests for which the settings are meant.
    pub(crate) fn requests(&self) -> &Requests {
        &self.base.requests
    }

    /// Unified diff that `changes` (and the settings given) make to the user's files; to the rendered configuration where
    /// there are none.
    pub(crate) fn diff(&self, changes: &[Change]) -> String {
        let before = match self.base.source {
            ConfigSource::Generated => &self.config,
            ConfigSource::File(_) | ConfigSource::Cluster(_) => &self.base.original,
        };
        // The changes ran; what cannot be applied was never proposed.
        self.after(changes).map(|after| before.diff(&after)).unwrap_or_default()
    }

    /// The same of the user's files but for those of which `except` says so.
    pub(crate) fn diff_but(&self, changes: &[Change], except: &dyn Fn(&Path) -> bool) -> String {
        let after = self.after(changes);
        after.map(|after| diff(self.base.original.pairs(&after).filter(|pair| !except(pair.path)))).unwrap_or_default()
    }

    /// The user's files that `changes` (and the settings given) make another, finished; none of a configuration that genkai wrote, which
    /// belongs nowhere.
    pub(crate) fn finished(&self, changes: &[Change]) -> Vec<Finished> {
        match self.base.source {
            ConfigSource::Generated => Vec::new(),
            ConfigSource::File(_) | ConfigSource::Cluster(_) => {
                let after = self.after(changes);
                after.map(|after| finished(self.base.original.pairs(&after))).unwrap_or_default()
            }
        }
    }

    /// Writes `changes` (and the settings given) into the user's files: [`write_back`]. Nothing for a generated
    /// configuration.
    pub(crate) fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        let after = self.after(changes)?;
        match self.base.source {
            // What is in a cluster is the user's to change.
            ConfigSource::Generated | ConfigSource::Cluster(_) => Ok(Vec::new()),
            ConfigSource::File(_) => Ok(self.base.original.write_back(&after)?),
        }
    }

    /// Whether a setting was given or changed, under whatever name it has.
    pub(crate) fn is_given(&self, setting: &str) -> bool {
        self.given.iter().any(|given| C::is_same(given, setting))
    }

    /// Where the value of a setting comes from, of which `origin` is the place in the configuration with settings.
    pub(crate) fn origin_of(&self, setting: &str, origin: Origin) -> Origin {
        match origin {
            _ if self.is_given(setting) => Origin::Given,
            Origin::File { path, line } => self.origin(&path, line),
            other => other,
        }
    }

    /// Where a line of the configuration with settings comes from.
    pub(crate) fn origin(&self, path: &Path, line: usize) -> Origin {
        match self.base.source {
            ConfigSource::Generated => Origin::Default("genkai's plain reverse proxy".to_owned()),
            ConfigSource::File(_) | ConfigSource::Cluster(_) => self.origins.of(path, line),
        }
    }

    /// Differences of a private copy with their places in the user's files; nothing for a generated configuration.
    pub(crate) fn rewrites(&self, all: impl IntoIterator<Item = Rewrite>) -> Vec<Rewrite> {
        match self.base.source {
            ConfigSource::Generated => Vec::new(),
            ConfigSource::File(_) | ConfigSource::Cluster(_) => {
                all.into_iter().map(|rewrite| self.origins.rewrite(rewrite)).collect()
            }
        }
    }

    /// A message with the user's line numbers: [`Origins::translate`].
    pub(crate) fn translate(&self, message: &str) -> String {
        self.origins.translate(message)
    }
}
