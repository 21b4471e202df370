//! Where a cache's configuration comes from: genkai's own hand, or the user's files.

use std::fmt::Debug;

use genkai_model::event::{Change, Environment, Rewrite};
use genkai_model::limit::{Limit, Origin};

use super::product::Product;
use super::{Ground, Setup};
use crate::error::TargetError;
use crate::files::Backup;

/// A configuration that can be set up any number of times.
pub(crate) trait Recipe: Debug + Send + Sync {
    /// The product's name.
    fn product(&self) -> &'static str;

    /// Its program, and the package that has it.
    fn program(&self) -> (&'static str, &'static str);

    /// Writes what it needs into the ground.
    ///
    /// # Errors
    /// When it cannot be written, or not be run privately.
    fn set_up(&self, ground: &Ground<'_>) -> Result<Copied, TargetError>;

    /// The same with settings changed.
    ///
    /// # Errors
    /// When there is no such setting, or it does not take that value.
    fn with(&self, changes: &[Change]) -> Result<Box<dyn Recipe>, TargetError>;

    /// The value of a setting and where it is written.
    ///
    /// # Errors
    /// When there is no such setting.
    fn value_of(&self, setting: &str) -> Result<(String, Origin), TargetError>;

    /// What caps it on this machine.
    fn limits(&self, environment: &Environment) -> Vec<Limit>;

    /// Unified diff that `changes` make to the user's files; empty where there are none.
    fn diff(&self, changes: &[Change]) -> String;

    /// Writes `changes` into the user's files.
    ///
    /// # Errors
    /// When a file was changed by somebody else or cannot be written.
    fn write_back(&self, changes: &[Change]) -> Result<Vec<Backup>, TargetError>;

    /// The log of its folder that its words are in; none: what it prints.
    fn log(&self) -> Option<&'static str>;

    /// The known message that a line of it is.
    fn signature(&self, line: &str) -> Option<&'static str>;
}

/// What its own check says, told in terms of the user's files: each warning, or each reason of a refusal.
pub(crate) type Said = Box<dyn Fn(&str) -> Vec<String>>;

/// A configuration set up in a folder.
pub(crate) struct Copied {
    /// How it is checked and started.
    pub(crate) setup: Setup,
    /// What differs from the user's files.
    pub(crate) rewrites: Vec<Rewrite>,
    /// Reads what its check printed.
    pub(crate) said: Said,
}

/// A cache as genkai writes it.
#[derive(Debug)]
pub(crate) struct Generated(pub(crate) &'static Product);

impl Generated {
    fn fixed(&self) -> TargetError {
        let hint = "name a configuration file of your own to set something";
        TargetError::usage("", format!("{} runs as genkai writes it, without settings\n  hint: {hint}", self.0.name))
    }
}

impl Recipe for Generated {
    fn product(&self) -> &'static str {
        self.0.name
    }

    fn program(&self) -> (&'static str, &'static str) {
        (self.0.program, self.0.package)
    }

    fn set_up(&self, ground: &Ground<'_>) -> Result<Copied, TargetError> {
        let said = |text: &str| vec![text.trim().to_owned()];
        Ok(Copied { setup: (self.0.setup)(ground)?, rewrites: Vec::new(), said: Box::new(said) })
    }

    fn with(&self, changes: &[Change]) -> Result<Box<dyn Recipe>, TargetError> {
        if changes.is_empty() { Ok(Box::new(Generated(self.0))) } else { Err(self.fixed()) }
    }

    fn value_of(&self, _: &str) -> Result<(String, Origin), TargetError> {
        Err(self.fixed())
    }

    /// None beside those of its setup, which are told with its settings.
    fn limits(&self, _: &Environment) -> Vec<Limit> {
        Vec::new()
    }

    fn diff(&self, _: &[Change]) -> String {
        String::new()
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
