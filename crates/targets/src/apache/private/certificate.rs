//! Listeners with TLS show a certificate of the run's authority: the user's keys are neither read nor copied.

use std::collections::BTreeSet;

use genkai_place::authority::TlsMaterial;

use super::changes::Changes;
use crate::apache::config::Config;

/// Directives about a listener's own certificate that the run's needs none of.
const DROPPED: [&str; 3] = ["sslcertificatechainfile", "sslpassphrasedialog", "sslcacertificatechainfile"];

/// Puts `papers` in the place of every certificate that a listener shows. A virtual host with several (of RSA and of ECDSA) is left with one.
pub(super) fn replace(config: &Config, changes: &mut Changes<'_>, papers: &TlsMaterial) {
    let mut seen = BTreeSet::new();
    for found in config.found() {
        let to = match found.name.as_str() {
            // With the key: it may have been in the user's file, too.
            "sslcertificatefile" => &papers.both,
            "sslcertificatekeyfile" => &papers.key,
            name if DROPPED.contains(&name) => {
                changes.drop(found);
                continue;
            }
            _ => continue,
        };
        if seen.insert((found.name.as_str(), found.host())) {
            changes.set(found, &[to.to_string_lossy().into_owned()]);
        } else {
            changes.drop(found);
        }
    }
}
