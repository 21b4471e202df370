//! A cache that is installed.

use std::path::{Path, PathBuf};

use super::sandbox::version;
use crate::error::TargetError;
use crate::product::{Entry, Prepare};
use genkai_model::plan::ConfigSource;
use genkai_place::program;

/// What is installed of a product.
#[derive(Debug)]
pub(crate) struct Installed {
    /// Its program.
    pub(crate) program: PathBuf,
    /// Its version.
    pub(crate) version: String,
}

impl Installed {
    /// Takes the program given, or finds one, and asks for its version, as [`Sandbox::version`](super::Sandbox::version) does. `dir` takes
    /// what it prints.
    ///
    /// # Errors
    /// When it is not there, or is to listen with TLS.
    pub(crate) fn find(
        of: &'static Entry,
        what: &Prepare<'_>,
        asked: (&str, &str),
        dir: &Path,
    ) -> Result<Installed, TargetError> {
        if what.tls.is_some() {
            let text = format!("{}: genkai speaks plain HTTP to caches\n  hint: leave --tls out", of.name);
            return Err(TargetError::usage(of.name, text));
        }
        let program = match what.program {
            Some(program) => program.to_owned(),
            None => located(of.program.0, of.name)?,
        };
        Ok(Installed { version: version(&program, dir, asked)?, program })
    }
}

/// A program on this machine, which a package has.
///
/// # Errors
/// When it is not installed.
pub(super) fn located(name: &'static str, package: &str) -> Result<PathBuf, TargetError> {
    program::find(name).ok_or_else(|| TargetError::not_installed(name, package))
}

/// The user's configuration.
///
/// # Errors
/// When there is none.
pub(crate) fn file<'a>(of: &'static Entry, what: &'a Prepare<'_>) -> Result<&'a Path, TargetError> {
    match &what.source {
        ConfigSource::File(path) => Ok(path),
        ConfigSource::Generated => Err(TargetError::no_backend(of.called)),
    }
}
