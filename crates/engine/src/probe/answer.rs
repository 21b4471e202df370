//! Answers to one request.

/// What a server answered to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A response.
    Answered {
        /// Its status.
        status: u16,
        /// Its Location field (RFC 9110, 10.2.2).
        location: Option<String>,
    },
    /// The connection was closed without one.
    Closed,
    /// The load speaks HTTP/2, the server does not.
    NotOffered {
        /// What it did instead.
        instead: String,
    },
    /// There is no connection with TLS.
    Refused {
        /// Why, in the words of TLS.
        why: String,
        /// Whether it is that the client showed no certificate (RFC 8446, 6.2: certificate_required).
        uncertified: bool,
    },
    /// Something came that is not HTTP/1.1.
    Garbled,
    /// None came in time.
    Nothing,
}
