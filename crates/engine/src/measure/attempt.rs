//! A request that was made, as it is counted.

use genkai_model::error::ErrorKind;
use genkai_wire::http1::Received;

use crate::clock::Moment;

/// A request that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// When it was written; where it came to nothing before, when it was planned.
    pub(crate) written: Moment,
    /// When it ended.
    pub(crate) at: Moment,
    /// The present moment: it may have ended before it was noticed.
    pub(crate) now: Moment,
    /// How.
    pub(crate) outcome: Result<Received, ErrorKind>,
}
