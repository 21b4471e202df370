//! What is trusted, who we are.

use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;

use genkai_model::transport::{Identity, Tls};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    StreamOwned, WantsVerifier,
};

use super::trust::Trust;

/// TLS as it will be made, checked before the load begins.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(super) config: ClientConfig,
    pub(super) name: ServerName<'static>,
    pub(super) resume: bool,
}

impl Plan {
    /// Reads the files of `tls`; `protocols` are offered by ALPN (RFC 7301), best first.
    ///
    /// # Errors
    /// A sentence that names the file, or what is wrong with the name.
    pub(crate) fn read(tls: &Tls, protocols: &[&str]) -> Result<Plan, String> {
        let name = ServerName::try_from(tls.server_name.clone())
            .map_err(|_| format!("`{}` is neither a host name nor an address", tls.server_name))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|e| e.to_string())?;
        let builder = if tls.insecure {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anything(provider)))
        } else {
            trusting(builder, provider, tls.ca.as_deref())?
        };
        let mut config = match &tls.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let (chain, key) = own(identity)?;
                let path = identity.certificate.display();
                builder.with_client_auth_cert(chain, key).map_err(|e| {
                    format!("the certificate in {path} and the key in {} do not fit: {e}", identity.key.display())
                })?
            }
        };
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Plan { config, name, resume: tls.resume })
    }

    /// One connection, its handshake made.
    ///
    /// # Errors
    /// Those of the socket, and [`io::ErrorKind::InvalidData`] with what TLS says.
    pub(crate) fn over(&self, stream: TcpStream) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
        let session = ClientConnection::new(Arc::new(self.config.clone()), self.name.clone());
        let mut secured = StreamOwned::new(session.map_err(io::Error::other)?, stream);
        while secured.conn.is_handshaking() {
            secured.conn.complete_io(&mut secured.sock)?;
        }
        Ok(secured)
    }
}

type Trusting = ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>;

fn trusting(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    provider: Arc<CryptoProvider>,
    ca: Option<&Path>,
) -> Result<Trusting, String> {
    let mut roots = RootCertStore::empty();
    let trusted = match ca {
        Some(path) => {
            let named = certificates(path)?;
            for certificate in &named {
                roots.add(certificate.clone()).map_err(|e| format!("{}: {e}", path.display()))?;
            }
            named
        }
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            roots.add_parsable_certificates(found.iter().cloned());
            if roots.is_empty() {
                return Err("this system has no trusted certificates; name some with --cacert".to_owned());
            }
            found
        }
    };
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    let usual = usual.build().map_err(|e| e.to_string())?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(Trust { usual, trusted })))
}

fn own(identity: &Identity) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), String> {
    let key = PrivateKeyDer::from_pem_file(&identity.key);
    let key = key.map_err(|e| format!("no private key (PEM) in {}: {e}", identity.key.display()))?;
    Ok((certificates(&identity.certificate)?, key))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(all) if all.is_empty() => Err(format!("no certificate (PEM) in {}", path.display())),
        Ok(all) => Ok(all),
        Err(e) => Err(format!("no certificates (PEM) can be read from {}: {e}", path.display())),
    }
}

/// Takes any certificate: what `--insecure` asks for.
#[derive(Debug)]
struct Anything(Arc<CryptoProvider>);

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
