//! A user's configuration folder as a contender.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use genkai_model::event::{Change, Environment};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;

use super::private::{self, Options};
use super::records::{CONNECTIONS, Records};
use super::{lifecycle, limits};
use crate::cache::Ground;
use crate::cache::recipe::{Copied, Recipe};
use crate::error::TargetError;
use crate::files::{Applied, Backup, Configuration, Requests};
use crate::product::{Accelerator, Prepare, Prepared};
use genkai_place::machine;

/// A user's Traffic Server.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    folder: PathBuf,
    records: Applied<Records>,
    backend: Option<SocketAddr>,
    allowed: Vec<String>,
}

/// The file that every configuration folder has.
pub(super) const RECORDS: &str = "records.config";

/// Whether a folder is a configuration of Traffic Server.
pub(crate) fn is(folder: &Path) -> bool {
    folder.join(RECORDS).is_file()
}

/// Prepares the user's configuration.
///
/// # Errors
/// A file that cannot be read, a setting that cannot be made, or what the product refuses.
pub(super) fn prepare(what: Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
    let ConfigSource::File(path) = &what.source else { unreachable!("asked for with files only") };
    Accelerator::prepare(Arc::new(Folder::read(path, &what)?), &what)
}

impl Folder {
    /// Reads the folder, or the one that the given file is in, and applies the settings.
    ///
    /// # Errors
    /// When there is no records.config, or a setting cannot be made.
    pub(crate) fn read(path: &Path, what: &Prepare<'_>) -> Result<Folder, TargetError> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let file = folder.join(RECORDS);
        if !file.is_file() {
            let hint = "name the folder with records.config and remap.config (Traffic Server 9)";
            return Err(TargetError::usage(
                "Traffic Server",
                format!("there is no {}\n  hint: {hint}", file.display()),
            ));
        }
        let records =
            Applied::new(ConfigSource::File(file.clone()), Records::read(&file)?, Requests::default(), what.settings)?;
        Ok(Folder { folder, records, backend: what.backend, allowed: what.allow_remote.to_vec() })
    }

    fn origin(&self, origin: Origin) -> Origin {
        match origin {
            Origin::File { path, line } => self.records.origin(&path, line),
            other => other,
        }
    }
}

impl Recipe for Folder {
    fn product(&self) -> &'static str {
        "trafficserver"
    }

    fn program(&self) -> (&'static str, &'static str) {
        ("traffic_server", "trafficserver")
    }

    fn set_up(&self, ground: &Ground<'_>) -> Result<Copied, TargetError> {
        let options = Options { listen: ground.listen, backend: self.backend, dir: ground.dir, allowed: &self.allowed };
        let setup = lifecycle::served(ground)?;
        let rewrites = self.records.rewrites(private::build(&self.folder, self.records.config(), &options)?);
        let (copy, folder) = (ground.dir.join("etc"), self.folder.clone());
        let said = move |text: &str| {
            let told = |line: &&str| ["ERROR", "WARNING", "FATAL"].iter().any(|word| line.contains(word));
            let users = |line: &str| line.replace(&*copy.to_string_lossy(), &folder.to_string_lossy());
            text.lines().filter(told).take(20).map(users).collect()
        };
        Ok(Copied { setup, rewrites, said: Box::new(said) })
    }

    fn with(&self, changes: &[Change]) -> Result<Box<dyn Recipe>, TargetError> {
        Ok(Box::new(Folder { records: self.records.with(changes)?, ..self.clone() }))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        let (value, origin) = self.records.config().value_of(setting, self.records.requests())?;
        Ok((value, self.origin(origin)))
    }

    fn limits(&self, _: &Environment) -> Vec<Limit> {
        let written = self.records.config().value(CONNECTIONS);
        let asked = written.and_then(|(value, origin)| Some((value.parse().ok()?, self.origin(origin))));
        limits::with(asked, machine::hard_descriptors())
    }

    fn diff(&self, changes: &[Change]) -> String {
        self.records.diff(changes)
    }

    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError> {
        self.records.write_back(changes)
    }

    fn log(&self) -> Option<&'static str> {
        Some("log/diags.log")
    }

    fn signature(&self, line: &str) -> Option<&'static str> {
        line.contains("too many connections, throttling").then_some(limits::THROTTLING)
    }
}
