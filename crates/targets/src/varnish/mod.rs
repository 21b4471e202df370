//! Varnish: settings, configuration, what it counts, what caps it. Of genkai's own making it stands before one origin with the built-in
//! VCL; a user's VCL runs as a private copy. It is started, looked at and ended as every cache is ([`crate::cache`]).

mod by_port;
mod evidence;
pub mod explain;
mod lexer;
mod lifecycle;
mod limits;
mod looks;
mod passed;
mod private;
mod product;
mod recv;
mod removable;
mod settings;
pub mod vcl;

pub(crate) use lifecycle::{file, malloc};
pub(crate) use product::{ENTRY, LOOKUP};
