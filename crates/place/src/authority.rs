//! A certificate authority for one run, and a certificate of it: clients of the run trust it and nobody else does. Where it stands in
//! for one of a user's, it is for the same names and has a key of the same kind, as what a handshake costs depends on the key.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use genkai_model::transport::{Tls, Transport};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rsa::pkcs8::EncodePrivateKey;
use x509_parser::extensions::GeneralName;
use x509_parser::pem::{Pem, parse_x509_pem};
use x509_parser::public_key::PublicKey;

/// A name that every certificate is for.
pub const NAME: &str = "localhost";

/// Where the files of an authority are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsMaterial {
    /// The authority's certificate (PEM), which clients trust. Its key was never written.
    pub authority: PathBuf,
    /// The server's certificate (PEM), for [`NAME`], 127.0.0.1 and the names asked for.
    pub certificate: PathBuf,
    /// The names asked for.
    pub names: Vec<String>,
    /// Its private key (PEM), readable by the owner only.
    pub key: PathBuf,
    /// The certificate with its key in one file, as HAProxy reads them, readable by the owner only.
    pub both: PathBuf,
}

/// A kind of key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Key {
    /// ECDSA on P-256: what certbot makes since version 2.0.
    #[default]
    P256,
    /// ECDSA on P-384.
    P384,
    /// RSA, with so many bits.
    Rsa(usize),
}

/// The sizes of RSA keys that are made in a second or two. Longer ones are rare and take minutes.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=4096;

impl Key {
    /// The kind of the key of the first certificate in a file (PEM).
    ///
    /// # Errors
    /// Why it is not known: the file cannot be read, holds no certificate, or one with a key of which genkai makes none.
    pub fn of(certificate: &Path) -> Result<Key, String> {
        let text = std::fs::read(certificate).map_err(|e| e.to_string())?;
        let (_, pem) = parse_x509_pem(&text).map_err(|_| "no certificate (PEM) in it".to_owned())?;
        let read = pem.parse_x509().map_err(|_| "no certificate (X.509) in it".to_owned())?;
        match read.public_key().parsed() {
            Ok(PublicKey::EC(point)) if point.key_size() == 256 => Ok(Key::P256),
            Ok(PublicKey::EC(point)) if point.key_size() == 384 => Ok(Key::P384),
            Ok(PublicKey::RSA(key)) if RSA_BITS.contains(&key.key_size()) => Ok(Key::Rsa(key.key_size())),
            _ => Err("a key that is neither RSA of 2048 to 4096 bits nor ECDSA on P-256 or P-384".to_owned()),
        }
    }

    /// The kind of this name, of those that are made at once.
    pub fn named(name: &str) -> Option<Key> {
        [Key::P256, Key::P384].into_iter().find(|key| key.to_string() == name)
    }

    fn pair(self) -> Result<KeyPair, rcgen::Error> {
        match self {
            Key::P256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
            Key::P384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
            Key::Rsa(bits) => {
                let made = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, bits);
                let der = made.map_err(|_| rcgen::Error::KeyGenerationUnavailable)?.to_pkcs8_der();
                let der = der.map_err(|_| rcgen::Error::KeyGenerationUnavailable)?;
                KeyPair::from_pkcs8_der_and_sign_algo(&der.as_bytes().into(), &rcgen::PKCS_RSA_SHA256)
            }
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::P256 => f.write_str("ECDSA P-256"),
            Key::P384 => f.write_str("ECDSA P-384"),
            Key::Rsa(bits) => write!(f, "RSA {bits}"),
        }
    }
}

/// What carries connections to a listener of a product for requests with this Host header. A certificate of `papers`, which genkai
/// made, is checked against its authority; one of the user's is not: it may be for any name, and the server is genkai's own child on
/// this machine.
pub fn transport(papers: Option<&TlsMaterial>, host: &str, is_tls: bool) -> Transport {
    let host = bare(host);
    let known = |papers: &TlsMaterial| papers.names.contains(&host);
    let server_name = if papers.is_none_or(known) { host } else { NAME.to_owned() };
    let ca = papers.map(|papers| papers.authority.clone());
    let tls = Tls { server_name, insecure: ca.is_none(), ca, identity: None, resume: true };
    if is_tls { Transport::Tls(tls) } else { Transport::Tcp }
}

/// The DNS names that the first certificate of a file (PEM) is for, and the common names of its subject.
///
/// # Errors
/// Why they are not known: the file cannot be read, or holds no certificate.
pub fn dns_names(certificate: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read(certificate).map_err(|e| e.to_string())?;
    let mut all = Pem::iter_from_buffer(&text).filter_map(Result::ok);
    let pem = all.find(|pem| pem.label.ends_with("CERTIFICATE")).ok_or("no certificate (PEM) in it")?;
    let read = pem.parse_x509().map_err(|_| "no certificate (X.509) in it".to_owned())?;
    let others = read.subject_alternative_name().map_err(|_| "names that cannot be read".to_owned())?;
    let others = others.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    let common = read.subject().iter_common_name().filter_map(|name| name.as_str().ok().map(str::to_owned));
    Ok(others.chain(common).collect())
}

/// A Host header without its port.
pub fn bare(host: &str) -> String {
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    name.trim_start_matches('[').trim_end_matches(']').to_owned()
}

/// Makes an authority and a certificate of it, as files in the existing folder `dir`, which should not outlive the run.
///
/// # Errors
/// When no key can be made or a file not written.
pub fn make(dir: &Path) -> io::Result<TlsMaterial> {
    make_for(dir, &[], Key::default())
}

/// The same for more names, of which those that no certificate can be for are left out, with a key of this kind.
///
/// # Errors
/// As [`make`].
pub fn make_for(dir: &Path, names: &[String], key: Key) -> io::Result<TlsMaterial> {
    let mut names: Vec<String> = names.iter().filter(|name| is_name(name)).cloned().collect();
    names.sort();
    names.dedup();
    let (authority, certificate, key) = issue(&names, key).map_err(io::Error::other)?;
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
        names,
    })
}

/// Whether it is a DNS name as certificates have them (RFC 5280, 4.2.1.6), with or without a first label `*`.
fn is_name(text: &str) -> bool {
    let label = |label: &str| {
        let known = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty() && label.len() < 64 && label.bytes().all(known) && !label.starts_with('-')
    };
    text.len() < 254 && text.strip_prefix("*.").unwrap_or(text).split('.').all(label)
}

/// The authority's certificate, the server's and its key, as PEM.
fn issue(more: &[String], kind: Key) -> Result<(String, String, String), rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.distinguished_name.push(DnType::CommonName, "authority of a genkai run");
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
    let key = kind.pair()?;
    let names = [NAME.to_owned(), "127.0.0.1".to_owned()].into_iter().chain(more.iter().cloned());
    let certificate = CertificateParams::new(names.collect::<Vec<_>>())?.signed_by(&key, &issuer)?;
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
    fn it_stands_in_for_a_users_with_its_names_and_a_key_of_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let asked = ["shop.example", "*.shop.example", "_", "~^a.*$", "", "shop.example"].map(str::to_owned);
        for kind in [Key::P256, Key::P384, Key::Rsa(2048)] {
            let papers = make_for(dir.path(), &asked, kind).unwrap();
            assert_eq!(papers.names, ["*.shop.example", "shop.example"]);
            assert_eq!(Key::of(&papers.certificate), Ok(kind));
            let Transport::Tls(tls) = transport(Some(&papers), "shop.example:443", true) else { panic!("TLS") };
            assert_eq!((tls.server_name.as_str(), tls.insecure), ("shop.example", false), "{kind}");
        }
        let missing = Key::of(&dir.path().join("none.pem")).unwrap_err();
        assert!(missing.contains("No such file"), "{missing}");
        assert_eq!(Key::of(&dir.path().join("key.pem")).unwrap_err(), "no certificate (X.509) in it");
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
