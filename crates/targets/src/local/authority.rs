//! A certificate authority for one run, and a certificate of it for `localhost`: clients of the run trust it and nobody else does.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// The name that the certificate is for.
pub const NAME: &str = "localhost";

/// Where the files of an authority are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Papers {
    /// The authority's certificate (PEM), which clients trust. Its key was never written.
    pub authority: PathBuf,
    /// The server's certificate (PEM), for [`NAME`] and 127.0.0.1.
    pub certificate: PathBuf,
    /// Its private key (PEM), readable by the owner only.
    pub key: PathBuf,
}

/// Makes an authority and a certificate of it, as files in the existing folder `dir`, which should not outlive the run.
///
/// # Errors
/// When no key can be made or a file not written.
pub fn make(dir: &Path) -> io::Result<Papers> {
    let (authority, certificate, key) = issue().map_err(io::Error::other)?;
    let save = |name: &str, text: &str| {
        let path = dir.join(name);
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).map(|()| path)
    };
    Ok(Papers {
        authority: save("authority.pem", &authority)?,
        certificate: save("certificate.pem", &certificate)?,
        key: save("key.pem", &key)?,
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
    fn only_the_owner_reads_the_key() {
        let dir = tempfile::tempdir().unwrap();
        let papers = make(dir.path()).unwrap();
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(std::fs::metadata(&papers.key).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(text(&papers.key).contains("PRIVATE KEY"));
        for public in [&papers.authority, &papers.certificate] {
            assert!(text(public).contains("BEGIN CERTIFICATE") && !text(public).contains("PRIVATE"));
        }
        assert_ne!(text(&papers.key), text(&make(dir.path()).unwrap().key), "each run has its own");
    }
}
