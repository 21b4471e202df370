//! Listeners with TLS show a certificate of the run's authority: the user's keys are neither read nor copied.

use std::collections::BTreeSet;

use genkai_place::authority::TlsMaterial;

use super::changes::Changes;
use crate::nginx::config::Config;

/// Whether a directive is about a listener's own certificate, in any part of nginx.
pub(super) fn is_about(name: &str) -> bool {
    matches!(name, "ssl_certificate" | "ssl_certificate_key" | "ssl_password_file")
}

/// Puts `papers` in the place of every certificate that a listener shows. A block with several (of RSA and of ECDSA) is left with one.
pub(super) fn replace(config: &Config, changes: &mut Changes<'_>, papers: &TlsMaterial) {
    let mut seen = BTreeSet::new();
    for found in config.walk() {
        let (name, to) = match found.directive.name() {
            b"ssl_certificate" => ("ssl_certificate", &papers.certificate),
            b"ssl_certificate_key" => ("ssl_certificate_key", &papers.key),
            b"ssl_password_file" => {
                changes.drop(&found);
                continue;
            }
            _ => continue,
        };
        let block = found.blocks.last().map(|block| (block.file, block.directive.span.start));
        if seen.insert((name, block)) {
            changes.set(&found, &[to.to_string_lossy().into_owned()]);
        } else {
            changes.drop(&found);
        }
    }
}
