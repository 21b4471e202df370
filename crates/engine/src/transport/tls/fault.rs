//! What went wrong in TLS, as a kind of error.

use std::{fmt, io};

use genkai_model::error::ErrorKind;
use rustls::{AlertDescription, CertificateError, Error, OtherError};

use super::trust::SelfSigned;

/// An error of TLS, inside an [`io::Error`].
#[derive(Debug)]
struct Fault {
    kind: ErrorKind,
    source: Error,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for Fault {}

/// As an I/O error that knows its kind.
pub(super) fn to_io(source: Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Fault { kind: kind(&source), source })
}

/// The kind of an error that came from TLS; none for those of the socket.
pub(crate) fn fault(error: &io::Error) -> Option<ErrorKind> {
    Some(error.get_ref()?.downcast_ref::<Fault>()?.kind)
}

fn kind(error: &Error) -> ErrorKind {
    match error {
        Error::InvalidCertificate(problem) => match problem {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => ErrorKind::TlsExpired,
            CertificateError::UnknownIssuer => ErrorKind::TlsUntrusted,
            CertificateError::Other(OtherError(why)) if why.is::<SelfSigned>() => ErrorKind::TlsSelfSigned,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ErrorKind::TlsWrongName
            }
            _ => ErrorKind::TlsCertificate,
        },
        Error::AlertReceived(alert) => of_alert(*alert),
        _ => ErrorKind::TlsFailed,
    }
}

/// The kind of what the server says when it ends the connection (RFC 8446 section 6.2).
fn of_alert(alert: AlertDescription) -> ErrorKind {
    match alert {
        AlertDescription::CertificateRequired => ErrorKind::TlsClientWanted,
        AlertDescription::BadCertificate
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::CertificateRevoked
        | AlertDescription::CertificateExpired
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnknownCA => ErrorKind::TlsClientRefused,
        AlertDescription::UnrecognisedName => ErrorKind::TlsUnknownName,
        AlertDescription::ProtocolVersion => ErrorKind::TlsVersion,
        AlertDescription::HandshakeFailure => ErrorKind::TlsHandshakeFailure,
        _ => ErrorKind::TlsRefused,
    }
}
