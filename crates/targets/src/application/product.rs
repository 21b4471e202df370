//! What is known of each server.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, RemedyUnit};
use genkai_model::setting::Setting;
use genkai_model::units::Bytes;

use super::settings::{Knob, MAX_MESSAGE, Settings};
use crate::error::TargetError;
use crate::limits::{errors, raised};
use genkai_place::program;

/// A server that runs the application.
#[derive(Debug)]
pub struct Product {
    /// Its name, as `--servers` has it.
    pub name: &'static str,
    /// Whether it is spoken to by Socket.IO.
    pub socketio: bool,
    /// Settings it has.
    pub knobs: &'static [Knob],
    /// What must be installed.
    pub(super) needs: &'static [Need],
    /// The file below `apps` that there is once its application is built; none: nothing is to be built.
    pub(super) built: Option<&'static str>,
    /// Writes what it needs into a folder and gives its command line.
    pub(super) command: fn(&Place, &Settings, &Path) -> Result<Command, TargetError>,
    /// Its log of garbage collections, in that folder.
    pub(super) gc_log: Option<&'static str>,
    /// Connections that it takes at most, as it is started here; none: as many as it has descriptors for.
    pub most: Option<Most>,
}

/// A bound of a server's own.
#[derive(Debug)]
pub struct Most {
    /// The number.
    pub connections: u32,
    /// What sets it.
    pub by: &'static str,
}

/// What a server needs beside its application.
#[derive(Debug)]
pub(super) struct Need {
    /// A program, or the path of a file.
    pub(super) found: &'static str,
    /// What messages call it.
    pub(super) what: &'static str,
    /// The package that has it.
    pub(super) package: &'static str,
}

impl Need {
    fn is_there(&self) -> bool {
        if self.found.starts_with('/') { Path::new(self.found).exists() } else { program::find(self.found).is_some() }
    }
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
        if let Some(Need { what, package, .. }) = self.needs.iter().find(|need| !need.is_there()) {
            let text = format!("{} needs {what}: install it (Debian, Ubuntu: apt-get install {package})", self.name);
            return Err(TargetError::missing(self.name, text));
        }
        self.built.map_or(Ok(()), |file| place.built(self.name, file).map(drop))
    }

    /// Its cap on a message of a client.
    pub fn largest(&self, in_force: &[Setting]) -> Option<Limit> {
        let knob = self.knobs.iter().find(|knob| knob.name == MAX_MESSAGE)?;
        let setting = in_force.iter().find(|setting| setting.name == MAX_MESSAGE)?;
        let value = setting.value.parse::<Bytes>().ok()?.0;
        let id = format!("{}.{MAX_MESSAGE}", self.name);
        let origin = if setting.default { Origin::Default(knob.source.to_owned()) } else { Origin::Given };
        Some(Limit {
            value: setting.value.clone(),
            origin,
            caps: "bytes of a message from a client".to_owned(),
            law: Law::BodySize { value: value as f64 },
            formula: format!("{value} bytes"),
            source: knob.source.to_owned(),
            symptom: errors(&[ErrorKind::Closed]),
            remedy: Some(raised(MAX_MESSAGE, RemedyUnit::Bytes, 1.0)),
            ..Limit::named(&id, self.name, MAX_MESSAGE)
        })
    }
}
