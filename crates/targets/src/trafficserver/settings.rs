//! What can be set, by Traffic Server's own words (records.config).

use std::net::SocketAddr;

use genkai_model::units::Bytes;

/// Settings of a reverse proxy. What is not here is Traffic Server's own default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// `proxy.config.http.server_ports`.
    pub(super) listen: SocketAddr,
    /// Size of the file in storage.config.
    pub(super) disk: Bytes,
    /// `proxy.config.cache.ram_cache.size`.
    pub(super) memory: Bytes,
}

/// `proxy.config.net.connections_throttle` (src/records/RecordsConfig.cc).
pub(super) const THROTTLE: u32 = 30_000;
/// Smallest file that storage.config takes, bytes: a stripe is a multiple of 128 MiB (iocore/cache/P_CacheDisk.h, STORE_BLOCKS).
pub(super) const SMALLEST: u64 = 128 << 20;
