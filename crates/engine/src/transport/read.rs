//! What one read of a socket gave.

use crate::clock::Moment;

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadOutcome {
    /// Bytes; none at the end of the stream.
    pub(crate) bytes: usize,
    /// Whether nothing is left for now: the next read would find nothing. A short read has emptied the socket (epoll(7),
    /// question 9).
    pub(crate) emptied: bool,
    /// How long the last of the bytes had been in the socket, where the kernel says so.
    pub(crate) waited: Option<Moment>,
}
