//! What is known of each server.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Symptom};
use genkai_model::setting::Setting;
use genkai_model::units::Bytes;

use super::settings::{Knob, Name, Settings};
use crate::error::TargetError;

/// A server that runs the application.
#[derive(Debug)]
pub struct Product {
    /// Its name, as `--servers` has it.
    pub name: &'static str,
    /// Whether it is spoken to by Socket.IO.
    pub socketio: bool,
    /// Settings it has.
    pub knobs: &'static [Knob],
    /// What it needs.
    pub(super) check: fn(&Place) -> Result<(), TargetError>,
    /// Writes what it needs into a folder and gives its command line.
    pub(super) command: fn(&Place, &Settings, &Path) -> Result<Command, TargetError>,
    /// Its log of garbage collections, in that folder.
    pub(super) gc_log: Option<&'static str>,
}

/// Where things are.
#[derive(Clone, Debug)]
pub struct Place {
    /// genkai's own executable.
    pub program: PathBuf,
    /// The folder `apps` of genkai's source; none: not found.
    pub apps: Option<PathBuf>,
}

impl Place {
    /// A file that the application of `server` needs, below `apps`.
    pub(super) fn built(&self, server: &'static str, file: &str) -> Result<PathBuf, TargetError> {
        let path = self.apps.as_deref().unwrap_or(Path::new("apps")).join(file);
        if path.exists() {
            return path.canonicalize().map_err(unwritten(server, &path));
        }
        let nowhere = " in genkai's source folder and start genkai there, or name its apps folder with --apps";
        let how = if self.apps.is_some() { "" } else { nowhere };
        let what = format!("the application is not built ({} is not there)", path.display());
        Err(TargetError::missing(server, format!("{server}: {what}: run `make apps`{how}")))
    }
}

/// A program that a server needs is not installed.
pub(super) fn needs(server: &'static str, what: &str, package: &str) -> TargetError {
    let text = format!("{server} needs {what}: install it (Debian, Ubuntu: apt-get install {package})");
    TargetError::missing(server, text)
}

/// For an I/O error on a file of a server's that was to be written.
pub(super) fn unwritten(server: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TargetError {
    move |source| TargetError::machine(server, format!("{server}: cannot prepare {}: {source}", path.display()))
}

impl Product {
    /// Whether it can run here.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, place: &Place) -> Result<(), TargetError> {
        (self.check)(place)
    }

    /// Its cap on a message of a client.
    pub fn largest(&self, in_force: &[Setting]) -> Option<Limit> {
        let name = Name::MaxMessage;
        let knob = self.knobs.iter().find(|knob| knob.name == name)?;
        let setting = in_force.iter().find(|setting| setting.name == name.text())?;
        let value = setting.value.parse::<Bytes>().ok()?.0;
        let id = format!("{}.{}", self.name, name.text());
        let origin = if setting.default { Origin::Default(knob.source.to_owned()) } else { Origin::Given };
        Some(Limit {
            value: setting.value.clone(),
            origin,
            caps: "bytes of a message from a client".to_owned(),
            law: Law::BodySize { value: value as f64 },
            formula: format!("{value} bytes"),
            source: knob.source.to_owned(),
            symptom: Symptom { errors: vec![ErrorKind::Closed], slow: false },
            remedy: Some(Remedy {
                setting: name.text().to_owned(),
                unit: RemedyUnit::Bytes,
                step: 1.0,
                ceiling: None,
                note: None,
            }),
            ..Limit::named(&id, self.name, name.text())
        })
    }
}
