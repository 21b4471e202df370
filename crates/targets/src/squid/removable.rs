//! Lines that may be left out: all but for what makes it an accelerator before these peers. A line counts for every request, or an `acl` of it decides for which.

use super::config::Config;
use super::private::{LEFT_OUT, directive};
use crate::files::entry::Entry;
use crate::files::{Removable, removable};

/// Lines that stay: where it listens, peers, what others name, programs, processes, logs, stores. (What a copy is without in any case stays, too.)
const KEPT: [&str; 31] = [
    "access_log",
    "acl",
    "auth_param",
    "cache_dir",
    "cache_mgr",
    "cache_peer",
    "cache_store_log",
    "client_db",
    "cpu_affinity_map",
    "debug_options",
    "delay_class",
    "delay_pools",
    "dns_nameservers",
    "else",
    "endif",
    "external_acl_type",
    "hosts_file",
    "http_port",
    "icon_directory",
    "if",
    "logfile_rotate",
    "logformat",
    "max_filedescriptors",
    "mime_table",
    "note",
    "paranoid_hack_permissions",
    "shutdown_lifetime",
    "strip_query_terms",
    "unique_hostname",
    "visible_hostname",
    "workers",
];

/// Lists and lines that decide who may ask for what, whose word is taken for who asks, whom it takes for what stands behind, or what may be kept and given
/// to others.
const PROTECTS: [&str; 15] = [
    "acl_uses_indirect_client",
    "adapted_http_access",
    "cache",
    "cache_peer_access",
    "follow_x_forwarded_for",
    "http_access",
    "http_reply_access",
    "miss_access",
    "refresh_pattern",
    "request_header_access",
    "send_hit",
    "ssl_bump",
    "sslproxy_cert_error",
    "store_miss",
    "tls_outgoing_options",
];

/// The lines that may be left out, in the order in which they are written.
pub(super) fn all(config: &Config) -> Vec<Removable> {
    let files = config.entries.files();
    // One that is included twice is one file.
    let first =
        |entry: &&Entry| files.iter().position(|file| file.path == files[entry.file.0].path) == Some(entry.file.0);
    let free = |entry: &&Entry| !KEPT.contains(&directive(entry)) && !LEFT_OUT.contains(&directive(entry));
    let of = |entry: &Entry| {
        let one = Removable::of(entry.file, &files[entry.file.0], &entry.span, &config.written(entry));
        one.protecting(PROTECTS.contains(&directive(entry)))
    };
    let mut all = removable::once(config.entries.all().iter().filter(first).filter(free).map(of));
    all.sort_by_key(|one| (one.file, one.line));
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "http_port 80 accel\ncache_peer a parent 80 0 originserver\nacl bad src 10.0.0.1\nhttp_access deny bad # them\nreply_header_max_size \
                        1 \\\n  KB\nicp_port 3130\nhttp_access allow all\n";

    #[test]
    fn what_is_no_part_of_being_an_accelerator_may_be_left_out() {
        let config = Config::of_text(Path::new("/c"), TEXT.as_bytes().to_vec()).unwrap();
        let all = all(&config);
        let told: Vec<(usize, &str, bool)> =
            all.iter().map(|one| (one.line, one.written.as_str(), one.protects)).collect();
        let expected = [
            (4, "http_access deny bad", true),
            (5, "reply_header_max_size 1 KB", false),
            (8, "http_access allow all", true),
        ];
        assert_eq!(told, expected);
    }
}
