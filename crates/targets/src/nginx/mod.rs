//! nginx: read, edit and render its configuration, run it in a private copy, watch it, know its limits.

pub mod evidence;
pub mod limits;
