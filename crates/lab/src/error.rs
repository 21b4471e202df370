//! What can keep a run from its answer.

use std::path::PathBuf;

use genkai_model::exit::Exit;

/// A run that could not be made. Each message says what was seen and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The plan contradicts itself or names what does not exist.
    #[error("{0}")]
    Plan(String),
    /// The machine cannot do it.
    #[error("{0}")]
    Environment(String),
    /// A worker process of the load was lost: what was measured until then is kept, and says nothing of a server.
    #[error("{0}")]
    Lost(String),
    /// The user ended the run before any load.
    #[error("interrupted before any load was sent")]
    Interrupted,
    /// The run folder cannot be written.
    #[error("cannot write {path}: {source}\n  hint: choose another folder with --out, or free some space")]
    Folder {
        /// What was to be written.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// Another run has the folder.
    #[error("another run is writing into {}\n  hint: choose another folder with --out, or wait for its end", .0.display())]
    Busy(PathBuf),
    /// A server, or its configuration.
    #[error(transparent)]
    Target(#[from] genkai_targets::error::TargetError),
    /// A process of ours.
    #[error(transparent)]
    Local(#[from] genkai_place::PlaceError),
    /// Clients of a comparison.
    #[error(transparent)]
    Broadcast(#[from] genkai_engine::broadcast::BroadcastError),
    /// The generator.
    #[error(transparent)]
    Engine(#[from] genkai_engine::EngineError),
}

impl LabError {
    /// The exit code that tells a caller whose fault it is.
    pub fn exit(&self) -> Exit {
        match self {
            LabError::Plan(_) => Exit::Usage,
            LabError::Lost(_) => Exit::Invalid,
            LabError::Interrupted => Exit::Interrupted,
            LabError::Engine(e) if e.is_usage() => Exit::Usage,
            LabError::Target(e) if e.is_usage() => Exit::Usage,
            _ => Exit::Environment,
        }
    }

    /// For an I/O error on `path` in the run folder.
    pub fn folder(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.into();
        move |source| LabError::Folder { path, source }
    }
}
