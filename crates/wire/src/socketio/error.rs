//! What is not Socket.IO.

/// Why a text is no packet, or comes at the wrong time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Its first digit is no kind of Engine.IO packet, or it is empty.
    #[error("not an Engine.IO packet")]
    Frame,
    /// Its second digit is no kind of Socket.IO packet.
    #[error("not a Socket.IO packet")]
    Kind,
    /// No number of attachments where there must be one, or more than [`MOST_ATTACHMENTS`](super::MOST_ATTACHMENTS).
    #[error("a binary packet with a wrong number of attachments")]
    Attachments,
    /// A namespace that does not end.
    #[error("a packet whose namespace does not end")]
    Namespace,
    /// An acknowledgement id that is too large.
    #[error("a packet with an acknowledgement id that is no number")]
    Id,
    /// Data that begin as no JSON array, object or string.
    #[error("a packet with data that are no JSON array, object or string")]
    Data,
    /// A binary message that no packet announced, or a packet while attachments of another were due.
    #[error("an attachment that does not belong to a packet")]
    Order,
}
