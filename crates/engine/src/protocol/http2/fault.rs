//! What went wrong on a stream or a connection, as a kind of error.

use std::io;

use genkai_model::error::ErrorKind;
use h2::Reason;

use crate::transport::tls;

/// How the bytes of a connection came to an end, as the socket told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// End of stream.
    Eof,
    /// Reset.
    Reset,
    /// What came first is HTTP/1.
    Http1,
    /// A kind of its own: TLS, a timeout of TCP, ...
    Kind(ErrorKind),
}

/// What failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// How the connection was cut, if it was.
    pub(super) cut: Option<Cut>,
    /// Whether the server has ended the connection by GOAWAY with an error.
    pub(super) blamed: bool,
    /// Whether the connection has carried a response before.
    pub(super) reused: bool,
    /// Whether this response had begun.
    pub(super) started: bool,
}

/// The end of an error of the socket.
pub(super) fn cut(error: &io::Error) -> Cut {
    match error.raw_os_error() {
        None => tls::fault(error).map_or(Cut::Eof, Cut::Kind),
        Some(libc::ECONNRESET | libc::EPIPE) => Cut::Reset,
        Some(libc::ETIMEDOUT) => Cut::Kind(ErrorKind::Timeout),
        _ => Cut::Kind(ErrorKind::WriteOther),
    }
}

impl Circumstances {
    /// The kind of what h2 reports.
    pub(super) fn kind(self, error: &h2::Error) -> ErrorKind {
        if error.is_reset() && error.is_remote() {
            let refused = error.reason() == Some(Reason::REFUSED_STREAM);
            return if refused { ErrorKind::StreamRefused } else { ErrorKind::StreamReset };
        }
        if error.is_go_away() && error.is_remote() {
            return ErrorKind::GoAway;
        }
        if self.cut == Some(Cut::Http1) {
            return ErrorKind::Http2NotOffered;
        }
        if error.is_library() {
            return ErrorKind::Protocol;
        }
        self.ended()
    }

    /// The kind of a connection that came to an end.
    pub(super) fn ended(self) -> ErrorKind {
        match self.cut {
            Some(Cut::Http1) => ErrorKind::Http2NotOffered,
            Some(Cut::Kind(kind)) => kind,
            _ if self.blamed => ErrorKind::GoAway,
            _ if self.started => ErrorKind::Truncated,
            Some(Cut::Reset) if self.reused => ErrorKind::ResetReused,
            Some(Cut::Reset) => ErrorKind::Reset,
            // Ended by an error frame of ours, or by nobody.
            None => ErrorKind::Protocol,
            Some(Cut::Eof) if self.reused => ErrorKind::EofReused,
            Some(Cut::Eof) => ErrorKind::EofNew,
        }
    }
}

/// Whether a GOAWAY left out the request without finding fault with it.
pub(super) fn left_out(error: &h2::Error) -> bool {
    error.is_go_away() && error.is_remote() && error.reason() == Some(Reason::NO_ERROR)
}
