//! Varnish: settings, configuration, what it counts, what caps it. Of genkai's own making it stands before one origin with the built-in
//! VCL; a user's VCL runs as a private copy. It is started, looked at and ended as every cache is ([`crate::cache`]).

mod evidence;
pub mod explain;
mod lexer;
mod lifecycle;
mod limits;
mod private;
pub(crate) mod recipe;
mod render;
mod settings;
pub mod vcl;

pub(crate) use lifecycle::{file, malloc};

use crate::product::{Entry, Likeness, Looks, Role, first};

/// What the catalogue knows of it.
pub(crate) const ENTRY: Entry = Entry {
    name: "varnish",
    called: "Varnish",
    program: ("varnishd", &["-V"]),
    role: Role::Cache,
    prepare: Some(recipe::prepare),
    explain: Some(explain::explain),
    looks,
    clamps: &[],
    unknown: "",
};

/// VCL says its version before anything else.
fn looks(file: &Looks<'_>) -> Likeness {
    match file.lines.first() {
        _ if file.name().ends_with(".vcl") => Likeness::Name,
        Some(line) => Likeness::text(first(line) == "vcl" && line.contains(';')),
        None => Likeness::None,
    }
}
