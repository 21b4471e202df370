//! Scenario files to loads: genkai's own form, and Artillery's; files of systems to be compared, and of claims to be tested.
//!
//! Text goes in, a [`Script`] comes out, or a [`Fault`] with file, line and column. Nothing here opens a socket or looks at the system:
//! files that a scenario names are read through [`World`], so all of it is pure and can be fuzzed. What a file may hold is
//! described once, as data (`shape`, `form`, `artillery::form`): the same description finds mistakes and makes the JSON Schema for
//! editors ([`schema`]). A key that is known and cannot be honoured is refused by name; none is ignored.
//!
//! Reading order: `yaml` (text to a tree with places), `shape` (what may be where), `form` (the keys), `native` and `artillery`
//! (tree to script), `builder` (what both make).

pub mod access;
mod artillery;
mod backend;
mod builder;
mod claim;
mod data;
mod fault;
mod form;
mod native;
pub mod schema;
mod shape;
mod systems;
mod yaml;

use std::io;
use std::path::Path;

use genkai_model::load::Arrivals;
use genkai_model::objective::Objective;
use genkai_model::scenario::Scenario;
use genkai_model::stage::Stage;
use genkai_model::units::Span;

pub use claim::read as claim;
pub use fault::{Fault, Place};
pub use systems::{NamedSystem, Systems, What, read as systems};

/// A scenario file, understood. Its targets have no addresses yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// What people call it.
    pub title: String,
    /// What users do.
    pub scenario: Scenario,
    /// Users or rate, at the highest level.
    pub arrivals: Arrivals,
    /// How the level goes.
    pub stages: Vec<Stage>,
    /// Deadline of a request.
    pub timeout: Span,
    /// What must hold; none: whatever holds by default.
    pub objective: Option<Objective>,
    /// The load ends after so many requests.
    pub requests: Option<u64>,
    /// Certificates are not checked.
    pub insecure: bool,
    /// What is done otherwise than the file says, with its place: `FILE:LINE:COLUMN: ...`.
    pub notes: Vec<String>,
}

/// What a scenario may ask of the world.
pub struct World<'a> {
    /// Reads a file that it names.
    pub read: &'a dyn Fn(&Path) -> io::Result<String>,
    /// An environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Artillery: the environment of the script that is asked for.
    pub chosen: Option<&'a str>,
    /// Addresses given beside the file, with the names of their targets; without a name, the first one's.
    pub targets: &'a [(Option<String>, String)],
}

/// Largest file.
pub const LARGEST: usize = 8 << 20;

/// Reads the scenario in `text`, which is that of `file`.
///
/// # Errors
/// The first mistake.
pub fn read(file: &str, text: &str, world: &World<'_>) -> Result<Script, Fault> {
    if text.len() > LARGEST {
        return Err(Fault::whole(format!("larger than {LARGEST} bytes"), "").within(file));
    }
    let mut notes = Vec::new();
    let made = yaml::read(text.trim_start_matches('\u{feff}')).and_then(|root| {
        if root.has("config") || root.has("scenarios") {
            artillery::read(root, world, &mut notes)
        } else {
            native::read(&root, world, &mut notes)
        }
    });
    let mut script = made.map_err(|fault| fault.within(file))?;
    script.notes = notes.iter().map(|(place, what)| format!("{file}:{place}: {what}")).collect();
    if script.title.is_empty() {
        script.title = file.to_owned();
    }
    Ok(script)
}
