//! The configuration as text.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use super::settings::{ROCK_LARGEST, Settings, Store};

/// Bytes of the megabytes that `cache_dir` and `cache_mem` count in.
const MB: u64 = 1 << 20;

/// An accelerator that listens at `listen` before `origin`, its files in `dir`, its store in `dir/store`.
pub(super) fn render(settings: &Settings, listen: SocketAddr, origin: SocketAddr, dir: &Path) -> String {
    let at = dir.display();
    let mut text = format!(
        "\
# An accelerator, written by genkai.
http_port {listen} accel defaultsite=localhost no-vhost
cache_peer {} parent {} 0 no-query no-digest originserver name=origin
http_access allow localhost manager
http_access deny manager
http_access allow localhost
http_access deny all
visible_hostname localhost
cache_mem {} MB
access_log stdio:{at}/access.log squid
cache_log {at}/cache.log
pid_filename {at}/squid.pid
coredump_dir {at}
pinger_enable off
netdb_filename none
",
        origin.ip(),
        origin.port(),
        settings.memory.0 / MB,
    );
    let disk = settings.disk.0 / MB;
    let store = match settings.store {
        Store::Ufs => format!("cache_dir ufs {at}/store {disk} 16 256"),
        Store::Aufs => format!("cache_dir aufs {at}/store {disk} 16 256"),
        Store::Rock => format!("cache_dir rock {at}/store {disk} max-size={ROCK_LARGEST}"),
        Store::Memory => return text,
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{store}");
    text
}

#[cfg(test)]
mod tests {
    use genkai_model::units::Bytes;

    use super::*;

    #[test]
    fn stores_are_on_disk_or_in_memory() {
        let text = |store| {
            let settings = Settings { store, memory: Bytes(64 << 20), disk: Bytes(256 << 20) };
            render(&settings, "127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap(), Path::new("/x"))
        };
        assert!(text(Store::Ufs).contains("cache_dir ufs /x/store 256 16 256\n"));
        assert!(text(Store::Rock).contains("cache_dir rock /x/store 256 max-size=1048576\n"));
        assert!(!text(Store::Memory).contains("cache_dir") && text(Store::Memory).contains("cache_mem 64 MB\n"));
    }
}
