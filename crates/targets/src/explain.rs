//! Explaining a configuration from its text: what all products have in common.

use std::path::Path;

use genkai_model::explain::{Remark, RemarkKind};
use genkai_model::limit::Origin;

use genkai_place::caps::Machine;

/// The requests that are looked at: they decide which virtual server and path count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Host header.
    pub host: String,
    /// Request target.
    pub path: String,
    /// Whether they open WebSocket connections.
    pub websocket: bool,
}

/// What is to be explained, and where.
#[derive(Debug)]
pub struct Explain<'a> {
    /// The main file, or folder.
    pub main: &'a Path,
    /// The requests that are looked at.
    pub requests: &'a Requests,
    /// The machine.
    pub machine: &'a Machine,
    /// Its memory in bytes.
    pub memory: u64,
}

/// What is to be said of a setting.
pub(crate) fn remark(
    kind: RemarkKind,
    place: Option<String>,
    setting: &str,
    text: String,
    hint: Option<String>,
) -> Remark {
    Remark { kind, place, setting: setting.to_owned(), text, hint }
}

/// `path:line` of a value; none where it is written nowhere.
pub(crate) fn place(origin: &Origin) -> Option<String> {
    match origin {
        Origin::File { path, line } => Some(format!("{}:{line}", path.display())),
        _ => None,
    }
}
