//! What clients get of an error.

use genkai_model::error::ErrorKind;

use super::Facts;

/// What clients get where HAProxy answers `status`: in TCP mode, a connection that is closed.
pub(super) fn answer(facts: &Facts, status: ErrorKind) -> ErrorKind {
    if facts.http { status } else { ErrorKind::EofNew }
}
