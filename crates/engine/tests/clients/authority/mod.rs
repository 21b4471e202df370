//! A certificate authority of a test, and a TLS server with a certificate of it.
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, SystemTime};

use genkai_model::transport::Tls;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// Issues certificates.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// Its own certificate, PEM.
    pub(crate) file: PathBuf,
    pub(crate) dir: tempfile::TempDir,
}

/// What a server's certificate says.
#[derive(Clone, Copy)]
pub(crate) struct Paper {
    pub(crate) name: &'static str,
    /// Valid from, until: days from now.
    pub(crate) days: (i64, i64),
    /// Whether the server wants a certificate of the client.
    pub(crate) wants_client: bool,
}

impl Paper {
    /// For localhost, valid.
    pub(crate) fn good() -> Paper {
        Paper { name: "localhost", days: (-1, 10), wants_client: false }
    }
}

fn from_now(days: i64) -> SystemTime {
    let span = Duration::from_secs(days.unsigned_abs() * 86_400);
    if days < 0 { SystemTime::now() - span } else { SystemTime::now() + span }
}

/// A server with a certificate that it signed itself.
pub(crate) struct SelfSigned {
    pub(crate) config: ServerConfig,
    /// The certificate, PEM.
    pub(crate) file: PathBuf,
    dir: tempfile::TempDir,
}

impl Authority {
    /// A certificate signed by itself, which says that it is an authority's, or does not.
    pub(crate) fn self_signed(paper: Paper, is_authority: bool) -> SelfSigned {
        let mut params = CertificateParams::new(vec![paper.name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (from_now(paper.days.0).into(), from_now(paper.days.1).into());
        params.is_ca = if is_authority { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::NoCa };
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("own.pem");
        std::fs::write(&file, certificate.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).unwrap();
        SelfSigned { config, file, dir }
    }

    /// What a client needs that trusts it and asks for localhost.
    pub(crate) fn trusted(&self) -> Tls {
        let ca = Some(self.file.clone());
        Tls { server_name: "localhost".into(), ca, identity: None, insecure: false, resume: true }
    }

    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let dir = tempfile::tempdir().unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("authority of {}", dir.path().display()));
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = dir.path().join("ca.pem");
        std::fs::write(&file, issuer.pem()).unwrap();
        Authority { issuer, file, dir }
    }

    fn issue(&self, paper: Paper) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec![paper.name.to_owned()]).unwrap();
        (params.not_before, params.not_after) = (from_now(paper.days.0).into(), from_now(paper.days.1).into());
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// A valid certificate and its key, as files.
    pub(crate) fn issue_files(&self, name: &'static str) -> (PathBuf, PathBuf) {
        let (certificate, key) = self.issue(Paper { name, ..Paper::good() });
        let path = |what| self.dir.path().join(format!("{name}.{what}.pem"));
        std::fs::write(path("cert"), certificate.pem()).unwrap();
        std::fs::write(path("key"), key.serialize_pem()).unwrap();
        (path("cert"), path("key"))
    }

    /// The configuration of a server with such a certificate.
    pub(crate) fn server(&self, paper: Paper) -> ServerConfig {
        let (certificate, key) = self.issue(paper);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().unwrap();
        let builder = if paper.wants_client {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }
}

/// Answers each request with a body as long as the request's. A thread a connection; ends with the process.
pub(crate) struct TlsServer {
    pub(crate) address: SocketAddr,
}

impl TlsServer {
    pub(crate) fn start(authority: &Authority, paper: Paper) -> TlsServer {
        TlsServer::start_with(authority.server(paper))
    }

    pub(crate) fn start_with(config: ServerConfig) -> TlsServer {
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                thread::spawn(move || serve(stream, config));
            }
        });
        TlsServer { address }
    }
}

fn serve(stream: TcpStream, config: Arc<ServerConfig>) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    let mut stream = StreamOwned::new(ServerConnection::new(config).ok()?, stream);
    let (mut seen, mut buffer) = (Vec::new(), vec![0; 65_536]);
    loop {
        let end = loop {
            if let Some(at) = seen.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            let n = stream.read(&mut buffer).ok().filter(|n| *n > 0)?;
            seen.extend_from_slice(&buffer[..n]);
        };
        let head = String::from_utf8_lossy(&seen[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|l| l.strip_prefix("content-length: ")?.parse::<usize>().ok()).unwrap_or(0);
        while seen.len() < end + length {
            let n = stream.read(&mut buffer).ok().filter(|n| *n > 0)?;
            seen.extend_from_slice(&buffer[..n]);
        }
        seen.drain(..end + length);
        let close = head.contains("connection: close");
        let mut answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
        answer.resize(answer.len() + length, b'y');
        stream.write_all(&answer).ok()?;
        stream.flush().ok()?;
        if close {
            stream.conn.send_close_notify();
            stream.flush().ok()?;
            return None;
        }
    }
}
