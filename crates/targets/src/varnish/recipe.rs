//! A user's VCL as a contender.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use genkai_model::event::{Change, Environment};
use genkai_model::limit::{Limit, Origin};
use genkai_model::plan::ConfigSource;

use super::lifecycle;
use super::limits;
use super::private::{self, Options};
use super::settings::{self, DEFAULT_STORAGE, Given, STORAGE};
use super::vcl::Vcl;
use crate::cache::Ground;
use crate::cache::recipe::{Copied, Recipe};
use crate::error::TargetError;
use crate::files::Backup;
use crate::product::{Accelerator, Prepare, Prepared};
use genkai_place::caps::Machine;

/// Where a parameter's default comes from.
const SOURCE: &str = "varnishd -x parameter";

/// A user's Varnish.
#[derive(Clone, Debug)]
pub(crate) struct File {
    vcl: Vcl,
    given: Given,
    /// Every parameter that it knows with its default.
    parameters: std::collections::BTreeMap<String, String>,
    backend: Option<SocketAddr>,
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
    /// Reads the VCL and takes the settings.
    ///
    /// # Errors
    /// A file that cannot be read, a setting that there is not.
    pub(crate) fn read(path: &Path, what: &Prepare<'_>) -> Result<File, TargetError> {
        let vcl = Vcl::read(path)?;
        let program = what.program.map_or_else(|| crate::cache::located(PROGRAM), |program| Ok(program.to_owned()))?;
        let parameters = settings::parameters(&program)?;
        let (backend, allowed) = (what.backend, what.allow_remote.to_vec());
        let file = File { vcl, given: Given::new(), parameters, backend, allowed };
        what.settings.iter().try_fold(file, |file, (name, value)| file.set(name, value))
    }

    fn set(mut self, name: &str, value: &str) -> Result<File, TargetError> {
        self.value(name)?;
        if name == STORAGE && !settings::is_storage(value) {
            let hint = "malloc,SIZE; varnish-file among the contenders keeps objects in a file";
            return Err(TargetError::usage("Varnish", format!("storage `{value}` is not in memory\n  hint: {hint}")));
        }
        self.given.insert(name.to_owned(), value.to_owned());
        Ok(self)
    }

    fn value(&self, name: &str) -> Result<(String, Origin), TargetError> {
        if let Some(value) = self.given.get(name) {
            return Ok((value.clone(), Origin::Given));
        }
        let default = || Origin::Default(SOURCE.to_owned());
        match self.parameters.get(name) {
            _ if name == STORAGE => Ok((DEFAULT_STORAGE.to_owned(), default())),
            Some(value) => Ok((value.clone(), default())),
            None => {
                let hint = "`storage`, or a parameter of varnishd (varnishd -x parameter lists them)";
                Err(TargetError::usage("Varnish", format!("Varnish has no parameter `{name}`\n  hint: {hint}")))
            }
        }
    }
}

/// varnishd, and the package that has it.
const PROGRAM: (&str, &str) = ("varnishd", "varnish");

impl Recipe for File {
    fn product(&self) -> &'static str {
        "varnish"
    }

    fn program(&self) -> (&'static str, &'static str) {
        PROGRAM
    }

    fn set_up(&self, ground: &Ground<'_>) -> Result<Copied, TargetError> {
        let options = Options { backend: self.backend, dir: ground.dir, allowed: &self.allowed };
        let private = private::build(&self.vcl, &options)?;
        let setup = lifecycle::copied(ground, &private, &settings::arguments(&self.given))?;
        let rewrites = private.rewrites.clone();
        // A VCL that compiles prints the program it becomes.
        let said = move |text: &str| {
            let from = text.find("Message from VCC-compiler:").map(|at| &text[at..]);
            let lines = from.unwrap_or_default().lines().skip(1).filter(|line| !line.trim().is_empty()).take(12);
            lines.map(|line| private.translate(line)).collect()
        };
        Ok(Copied { setup, rewrites, said: Box::new(said) })
    }

    fn with(&self, changes: &[Change]) -> Result<Box<dyn Recipe>, TargetError> {
        let changed = changes.iter().try_fold(self.clone(), |file, change| file.set(&change.setting, &change.to))?;
        Ok(Box::new(changed))
    }

    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError> {
        self.value(setting)
    }

    fn limits(&self, environment: &Environment) -> Vec<Limit> {
        let value = |name: &str| self.value(name).unwrap_or_else(|_| (String::new(), Origin::Given));
        limits::all(&self.vcl, &value, &Machine::of(environment))
    }

    /// Parameters are in no file.
    fn diff(&self, changes: &[Change]) -> String {
        changes
            .iter()
            .map(|one| format!("-varnishd -p {0}={1}\n+varnishd -p {0}={2}\n", one.setting, one.from, one.to))
            .collect()
    }

    fn write_back(&self, _: &[Change]) -> Result<Vec<Backup>, TargetError> {
        Ok(Vec::new())
    }

    fn log(&self) -> Option<&'static str> {
        None
    }

    fn signature(&self, _: &str) -> Option<&'static str> {
        None
    }
}
