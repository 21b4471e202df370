//! A cache as genkai writes it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use genkai_model::event::{Change, Environment};
use genkai_model::limit::{Limit, Origin};
use genkai_model::setting::Setting;

use super::lifecycle::{Cache, Start};
use super::sandbox::{Budget, Sandbox, Setup};
use super::tested::Tested;
use crate::error::TargetError;
use crate::product::{Lookup, Prepare, Prepared, Program, Rejection, Running, located};

/// What is known of it.
#[derive(Debug)]
pub struct Preset {
    /// Its name, as `--contenders` has it.
    pub name: &'static str,
    /// Where it keeps objects, in words.
    pub store: &'static str,
    /// Its program.
    pub(crate) lookup: &'static Lookup,
    /// Writes what it needs and says how it is started.
    pub(crate) setup: fn(&Sandbox<'_>) -> Result<Setup, TargetError>,
}

impl Preset {
    /// Its program on this machine.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn installed(&self) -> Result<PathBuf, TargetError> {
        located(self.lookup, None)
    }

    /// Sets it up in `dir`, empty, before `origin`, and waits until it listens at `listen`. Reports call it `name`.
    ///
    /// # Errors
    /// When it is missing, refuses its configuration, or does not start.
    pub fn start(
        &self,
        name: &str,
        origin: SocketAddr,
        listen: Ipv4Addr,
        budget: Budget,
        cpus: Option<&[usize]>,
        dir: &Path,
    ) -> Result<Cache, TargetError> {
        let (program, backend) = (self.program(dir)?, Some(origin));
        let start = Start {
            name,
            store: self.store,
            program: &program,
            backend,
            moves: &[],
            allowed: &[],
            budget,
            cpus,
            dir,
            listen,
        };
        Cache::start(&start, &self.setup)
    }

    /// Has the product test it, before what is to stand behind it.
    ///
    /// # Errors
    /// When there is nothing behind it, something is to be set, or the product is missing or refuses it.
    pub(crate) fn prepare(&'static self, what: &Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
        if !what.settings.is_empty() {
            return Err(self.fixed());
        }
        let hint = "--backend embedded, or a configuration file of your own";
        let none = || format!("{}: a cache needs something behind it\n  hint: {hint}", self.name);
        let origin = what.backend.ok_or_else(|| TargetError::usage(self.name, none()))?;
        Ok(Box::new(Written::made(self, origin, what.listen, &what.dir)?))
    }

    /// Its program with its version; `dir` is made, and takes what that prints.
    fn program(&self, dir: &Path) -> Result<Program, TargetError> {
        fs::create_dir_all(dir).map_err(TargetError::files(dir))?;
        Program::find(self.lookup, None, dir)
    }

    fn fixed(&self) -> TargetError {
        let hint = "name a configuration file of your own to set something";
        let text = format!("{} runs as genkai writes it, without settings\n  hint: {hint}", self.name);
        TargetError::usage(self.name, text)
    }
}

/// A preset that was tested. There is nothing to set, and no file of the user's.
struct Written {
    preset: &'static Preset,
    origin: SocketAddr,
    listen: Ipv4Addr,
    dir: PathBuf,
    version: String,
    settings: Vec<Setting>,
}

impl Written {
    fn made(preset: &'static Preset, origin: SocketAddr, listen: Ipv4Addr, dir: &Path) -> Result<Written, TargetError> {
        let Preset { name, store, setup, .. } = *preset;
        let (program, backend, budget) = (preset.program(dir)?, Some(origin), Budget::USUAL);
        let start = Start {
            name,
            store,
            program: &program,
            backend,
            moves: &[],
            allowed: &[],
            budget,
            cpus: None,
            dir,
            listen,
        };
        let tested = Tested::of(&start, |at| setup(at).map(|setup| (setup.settings.clone(), setup)))?;
        // What a check of genkai's own configuration prints is nothing to tell.
        tested.verdict(name, |_| Vec::new(), &str::to_owned)?;
        Ok(Written {
            preset,
            origin,
            listen,
            dir: dir.to_owned(),
            version: program.version().to_owned(),
            settings: tested.copy,
        })
    }
}

impl Prepared for Written {
    fn product(&self) -> &'static str {
        self.preset.name
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn with(&self, changes: &[Change], dir: &Path) -> Result<Box<dyn Prepared>, TargetError> {
        match changes {
            [] => Ok(Box::new(Written::made(self.preset, self.origin, self.listen, dir)?)),
            _ => Err(self.preset.fixed()),
        }
    }

    fn value_of(&self, _: &str) -> Result<(String, Origin), TargetError> {
        Err(self.preset.fixed())
    }

    /// They are told with its settings.
    fn limits(&self, _: &Environment) -> Vec<Limit> {
        Vec::new()
    }

    fn rejects(&self, _: &str) -> Result<Option<Rejection>, TargetError> {
        Err(self.preset.fixed())
    }

    fn written(&self) -> &[Setting] {
        &self.settings
    }

    fn start(&self, cpus: Option<&[usize]>) -> Result<Box<dyn Running>, TargetError> {
        Ok(Box::new(self.preset.start(self.preset.name, self.origin, self.listen, Budget::USUAL, cpus, &self.dir)?))
    }
}
