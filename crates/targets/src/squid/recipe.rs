//! A user's configuration as a contender.

use std::path::Path;
use std::sync::Arc;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;

use super::config::Config;
use super::limits::{self, Facts};
use super::private::{self, Options};
use super::{evidence, lifecycle};
use crate::cache::Ground;
use crate::cache::recipe::{Copied, Recipe};
use crate::error::TargetError;
use crate::files::{Applied, Backup, Configuration, Requests};
use crate::product::{Accelerator, Prepare, Prepared};
use genkai_place::caps::Machine;
use genkai_place::machine;

/// A user's Squid.
#[derive(Clone, Debug)]
pub(crate) struct File {
    edition: Applied<Config>,
    backend: Option<std::net::SocketAddr>,
    allowed: Vec<String>,
}

/// Prepares the user's configuration.
///
/// # Errors
/// A file that cannot be read, a setting that cannot be made, or what the product refuses.
pub(super) fn prepare(what: Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
    let ConfigSource::File(path) = &what.source else { unreachable!("asked for with files only") };
    Accelerator::prepare(Arc::new(File::read(path, &what)?), &what)
}

impl File {
    /// Reads the configuration and applies the settings.
    ///
    /// # Errors
    /// A file that cannot be read, a setting that cannot be made.
    pub(crate) fn read(path: &Path, what: &Prepare<'_>) -> Result<File, TargetError> {
        let source = ConfigSource::File(path.to_owned());
        let edition = Applied::new(source, Config::read(path)?, Requests::default(), what.settings)?;
        Ok(File { edition, backend: what.backend, allowed: what.allow_remote.to_vec() })
    }

    fn options<'a>(&'a self, ground: &'a Ground<'_>) -> Options<'a> {
        Options { listen: ground.listen, backend: self.backend, dir: ground.dir, allowed: &self.allowed }
    }
}

impl Recipe for File {
    fn product(&self) -> &'static str {
        "squid"
    }

    fn program(&self) -> (&'static str, &'static str) {
        ("squid", "squid")
    }

    fn set_up(&self, ground: &Ground<'_>) -> Result<Copied, TargetError> {
        let private = private::build(self.edition.config(), &self.options(ground))?;
        let rewrites: Vec<Rewrite> = self.edition.rewrites(private.rewrites.iter().cloned());
        let facts = Facts::of(self.edition.config(), machine::hard_descriptors());
        let setup = lifecycle::copied(ground, &private, facts.workers.value > 1)?;
        let copy = setup.configuration.clone();
        let edition = self.edition.clone();
        let said = move |text: &str| {
            let lines = text.lines().filter(|line| is_told(line)).take(20);
            let said: Vec<String> = lines.map(|line| private.translate(&copy, without_time(line))).collect();
            said.into_iter().map(|line| edition.translate(&line)).collect()
        };
        Ok(Copied { setup: setup.setup, rewrites, said: Box::new(said) })
    }

    fn with(&self, changes: &[Change]) -> Result<Box<dyn Recipe>, TargetError> {
        Ok(Box::new(File { edition: self.edition.with(changes)?, ..self.clone() }))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        let (value, origin) = self.edition.config().value_of(setting, self.edition.requests())?;
        Ok((value, self.origin(origin)))
    }

    fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let facts = Facts::of(self.edition.config(), machine::hard_descriptors());
        let all = limits::of(&facts, &Machine::of(environment)).into_iter();
        all.map(|limit| Limit { origin: self.origin(limit.origin.clone()), ..limit }).collect()
    }

    fn diff(&self, changes: &[Change]) -> String {
        self.edition.diff(changes)
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        self.edition.write_back(changes)
    }

    fn log(&self) -> Option<&'static str> {
        Some("cache.log")
    }

    fn signature(&self, line: &str) -> Option<&'static str> {
        evidence::signature(line)
    }
}

impl File {
    /// Where a value of the configuration with settings comes from.
    fn origin(&self, origin: Origin) -> Origin {
        match origin {
            Origin::File { path, line } => self.edition.origin(&path, line),
            other => other,
        }
    }
}

/// Whether a line of `squid -k parse` is more than what it does.
fn is_told(line: &str) -> bool {
    ["ERROR", "FATAL", "WARNING", "unrecognized", "Bungled", "obsolete"].iter().any(|word| line.contains(word))
}

/// A line without the time before it (`2026/11/22 00:20:47| `).
fn without_time(line: &str) -> &str {
    line.split_once("| ")
        .filter(|(time, _)| time.starts_with(|c: char| c.is_ascii_digit()))
        .map_or(line, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_message_is_left_out() {
        assert_eq!(without_time("2026/11/22 00:20:47| a | b"), "a | b");
        assert_eq!(without_time("FATAL: a | b"), "FATAL: a | b");
        assert!(is_told("t.conf(3): unrecognized: 'foo_bar'") && !is_told("Processing: acl x"));
    }
}
