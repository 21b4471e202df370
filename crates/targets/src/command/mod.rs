//! A server that genkai does not know, started by a command of the user's with parameters in braces. Nothing is known of it but what
//! the kernel shows of any process; which parameter is its limit, trials tell.

mod evidence;
mod lifecycle;
mod limits;
mod line;
mod secrets;

pub use lifecycle::Started;
pub use line::{Prepared, prepare};

use genkai_model::system::System;

/// What metrics and limits call it.
pub(crate) const SUBJECT: &str = System::COMMAND;
