//! What is known of a cache.

use std::path::PathBuf;

use super::{Ground, Setup};
use crate::error::TargetError;
use genkai_place::program;

/// A cache.
#[derive(Debug)]
pub struct Product {
    /// Its name, as `--contenders` has it.
    pub name: &'static str,
    /// Where it keeps objects, in words.
    pub store: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The package that has it.
    pub package: &'static str,
    /// Writes what it needs and says how it is started.
    pub(crate) setup: fn(&Ground<'_>) -> Result<Setup, TargetError>,
}

impl Product {
    /// Its program on this machine.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn installed(&self) -> Result<PathBuf, TargetError> {
        located((self.program, self.package))
    }
}

/// A program on this machine, which a package has.
///
/// # Errors
/// When it is not installed.
pub(crate) fn located((name, package): (&'static str, &'static str)) -> Result<PathBuf, TargetError> {
    program::find(name).ok_or_else(|| TargetError::not_installed(name, package))
}
