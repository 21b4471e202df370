//! A certificate authority for one run, and a certificate of it for `localhost`: clients of the run trust it and nobody else does.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use genkai_model::transport::{Tls, Transport};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// The name that the certificate is for.
pub const NAME: &str = "localhost";

/// Where the files of an authority are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsMaterial {
    /// The authority's certificate (PEM), which clients trust. Its key was never written.
    pub authority: PathBuf,
    /// The server's certificate (PEM), for [`NAME`] and 127.0.0.1.
    pub certificate: PathBuf,
    /// Its private key (PEM), readable by the owner only.
    pub key: PathBuf,
    /// The certificate with its key in one file, as HAProxy reads them, readable by the owner only.
    pub both: PathBuf,
}

/// What carries connections to a listener of a product for requests with this Host header. A certificate of `papers`, which genkai
/// made, is checked against its authority; one of the user's is not: it may be for any name, and the server is genkai's own child on
/// this machine.
pub fn transport(papers: Option<&TlsMaterial>, host: &str, is_tls: bool) -> Transport {
    let server_name = if papers.is_some() { NAME.to_owned() } else { bare(host) };
    let ca = papers.map(|papers| papers.authority.clone());
    let tls = Tls { server_name, insecure: ca.is_none(), ca, identity: None, resume: true };
    if is_tls { Transport::Tls(tls) } else { Transport::Tcp }
}

/// A Host header without its port.
fn bare(host: &str) -> String {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    name.trim_start_matches('[').trim_end_matches(']').to_owned()
}

/// Makes an authority and a certificate of it, as files in the existing folder `dir`, which should not outlive the run.
///
/// # Errors
/// When no key can be made or a file not written.
pub fn make(dir: &Path) -> io::Result<TlsMaterial> {
    let (authority, certificate, key) = issue().map_err(io::Error::other)?;
    let save = |name: &str, text: &str| {
        let path = dir.join(name);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map(|()| path)
    };
    Ok(TlsMaterial {
        authority: save("authority.pem", &authority)?,
        certificate: save("certificate.pem", &certificate)?,
        key: save("key.pem", &key)?,
        both: save("both.pem", &format!("{certificate}{key}"))?,
    })
}

/// The authority's certificate, the server's and its key, as PEM.
fn issue() -> Result<(String, String, String), rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.distinguished_name.push(DnType::CommonName, "authority of a genkai run");
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let names = vec![NAME.to_owned(), "127.0.0.1".to_owned()];
    let certificate = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    Ok((issuer.pem(), certificate.pem(), key.serialize_pem()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_a_certificate_of_its_own_is_checked() {
        let papers = make(tempfile::tempdir().unwrap().path()).unwrap();
        let Transport::Tls(own) = transport(Some(&papers), "shop.example:443", true) else { panic!("TLS") };
        assert_eq!((own.server_name.as_str(), own.insecure, own.ca), (NAME, false, Some(papers.authority.clone())));
        let Transport::Tls(users) = transport(None, "[::1]:443", true) else { panic!("TLS") };
        assert_eq!((users.server_name.as_str(), users.insecure, users.ca), ("::1", true, None));
        assert!(transport(Some(&papers), "x", false).is_tcp());
    }

    #[test]
    fn only_the_owner_reads_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let papers = make(dir.path()).unwrap();
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        for private in [&papers.key, &papers.both] {
            assert_eq!(std::fs::metadata(private).unwrap().permissions().mode() & 0o777, 0o600);
            assert!(text(private).contains("PRIVATE KEY"));
        }
        for public in [&papers.authority, &papers.certificate] {
            assert!(text(public).contains("BEGIN CERTIFICATE") && !text(public).contains("PRIVATE"));
        }
        assert_ne!(text(&papers.key), text(&make(dir.path()).unwrap().key), "each run has its own");
    }
}
