//! Caches in front of an origin, whichever product they are: set up empty in a folder of their own, started, counted, ended.
//!
//! A [`Preset`] is a cache as genkai writes it: data, and one function that writes its configuration; [`crate::catalog::caches`] lists
//! them. A product writes a private copy of the user's configuration instead. Either way a [`Sandbox`] is what it
//! gets and a [`Setup`] what comes of it: [`tested`] has the product check that, [`lifecycle`] starts, looks at and ends it, [`counters`]
//! reads what each counts itself, [`answers`] which server behind answered what.

pub(crate) mod answers;
pub(crate) mod counters;
mod lifecycle;
mod preset;
mod sandbox;
mod tested;

pub(crate) use lifecycle::Start;
pub use lifecycle::{Cache, counts};
pub use preset::Preset;
pub use sandbox::Budget;
pub(crate) use sandbox::{Messages, Sandbox, Setup, largest, listed, run, unseen};
pub(crate) use tested::Tested;
