//! A certificate that stands in for the user's, whose key is neither needed nor read.

use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;
use genkai_model::limit::Origin;
use genkai_place::authority::{self, Key, TlsMaterial};
use genkai_place::scratch::Scratch;

use crate::error::TargetError;

/// A certificate of the user's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Names that it is shown for.
    pub names: Vec<String>,
    /// Its file (PEM); none: there is not a single one.
    pub file: Option<PathBuf>,
    /// The setting that names it.
    pub setting: &'static str,
    /// Where it is named, `path:line`.
    pub place: String,
}

impl Certificate {
    /// Where it is named.
    pub(super) fn origin(&self) -> Origin {
        let parts = self.place.rsplit_once(':').and_then(|(path, line)| Some((path, line.parse().ok()?)));
        parts.map_or(Origin::Given, |(path, line)| Origin::File { path: path.into(), line })
    }
}

/// What is shown: genkai's `own`, else what stands in for the user's; what of that could not be alike.
///
/// # Errors
/// When the user's does not exist: `product` would not start with it. One that may not be read is stood in for like any other.
pub(super) fn shown(
    own: Option<TlsMaterial>,
    users: Option<&Certificate>,
    scratch: &Scratch,
    product: &'static str,
) -> Result<(Option<TlsMaterial>, Option<Rewrite>), TargetError> {
    match (own, users) {
        (Some(own), _) => Ok((Some(own), None)),
        (None, Some(users)) => stand_in(scratch, users, product, None).map(|(tls, unlike)| (Some(tls), unlike)),
        (None, None) => Ok((None, None)),
    }
}

/// Whether a file can be read and no certificate is in it: it has no line that begins one (PEM_read_bio_X509_AUX).
fn holds_none(file: &Path) -> bool {
    let is_head = |line: &&str| {
        let begins = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("CERTIFICATE-----"));
        begins.is_some_and(|kind| ["", "X509 ", "TRUSTED "].contains(&kind))
    };
    let text = std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    text.is_ok_and(|text| !text.lines().map(str::trim_end).any(|line| is_head(&line)))
}

/// A certificate of the run's authority like the user's, or with a key of another kind; what could not be alike.
///
/// # Errors
/// As [`shown`].
pub(super) fn stand_in(
    scratch: &Scratch,
    users: &Certificate,
    product: &'static str,
    other: Option<Key>,
) -> Result<(TlsMaterial, Option<Rewrite>), TargetError> {
    let missing = |file: &&PathBuf| std::fs::metadata(file).is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound);
    if let Some(file) = users.file.as_ref().filter(missing) {
        return Err(TargetError::usage(
            product,
            format!(
                "in {}: the certificate {} does not exist, and {product} does not start without it\n  hint: correct its path",
                users.place,
                file.display()
            ),
        ));
    }
    if let Some(file) = users.file.as_ref().filter(|file| holds_none(file)) {
        return Err(TargetError::usage(
            product,
            format!(
                "in {}: {} holds no certificate (PEM), and {product} does not start with it\n  hint: name the file of the certificate",
                users.place,
                file.display()
            ),
        ));
    }
    let of_file = || users.file.as_deref().map_or_else(|| Err("no single file".to_owned()), Key::of);
    let known = other.map_or_else(of_file, Ok);
    let dir = scratch.path().join("tls");
    let made = std::fs::create_dir_all(&dir);
    let made = made.and_then(|()| authority::make_for(&dir, &users.names, known.clone().unwrap_or_default()));
    let unlike = |why| {
        let from = format!("a key of a kind that is not known ({why})");
        let to = format!("{}: handshakes may cost more or less processor time than with yours", Key::default());
        Rewrite { place: users.place.clone(), from, to }
    };
    Ok((made.map_err(TargetError::files(&dir))?, known.err().map(unlike)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_certificate_is_told_from_one_with_a_key_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.pem");
        let begun = |kind: &str| format!("-----BEGIN {kind}-----\nAA==\n-----END {kind}-----\r\n");
        let holds = |text: String| {
            std::fs::write(&file, text).unwrap();
            !holds_none(&file)
        };
        assert!(holds(begun("PRIVATE KEY") + &begun("CERTIFICATE")) && holds(begun("TRUSTED CERTIFICATE")));
        assert!(!holds(begun("PRIVATE KEY")) && !holds(begun("CERTIFICATE REQUEST")) && !holds("garbage\n".to_owned()));
        assert!(!holds_none(dir.path()), "what cannot be read is not judged");
    }
}
