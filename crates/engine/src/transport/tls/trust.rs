//! Which certificates of servers are taken: those that chain to a trusted one, as usual, and those that are trusted themselves.
//!
//! A test server's certificate is mostly signed by itself, and made by `openssl req -x509` it says that it is an authority's, which a
//! server must not show (RFC 5280 section 4.2.1.9; webpki refuses it). Who names just that certificate as trusted means it: curl
//! takes it, too (X509_V_FLAG_PARTIAL_CHAIN). Its time and its name must be right all the same.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use webpki::EndEntityCert;

/// A certificate that is signed by itself and not trusted.
#[derive(Debug)]
pub(super) struct SelfSigned;

impl fmt::Display for SelfSigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a self-signed certificate that is not trusted")
    }
}

impl std::error::Error for SelfSigned {}

/// Takes what chains to a trusted certificate, and what is one.
#[derive(Debug)]
pub(super) struct Trust {
    /// Chains of certificates.
    pub(super) usual: Arc<WebPkiServerVerifier>,
    /// The trusted certificates.
    pub(super) trusted: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let refused = match self.usual.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(error) if is_about_issuer(&error) => error,
            other => return other,
        };
        // Its time was found right before anybody asked for its issuer (webpki: check_issuer_independent_properties).
        if self.trusted.iter().any(|one| one == certificate) {
            verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        let own = EndEntityCert::try_from(certificate).is_ok_and(|read| read.issuer() == read.subject());
        Err(if own { CertificateError::Other(OtherError(Arc::new(SelfSigned))).into() } else { refused })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}

/// Whether nothing but its issuer speaks against a certificate: nobody trusted, or itself in the part of an authority.
fn is_about_issuer(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(CertificateError::UnknownIssuer) => true,
        Error::InvalidCertificate(CertificateError::Other(OtherError(why))) => {
            matches!(why.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
        }
        _ => false,
    }
}
