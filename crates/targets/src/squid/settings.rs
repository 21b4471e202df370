//! What can be set, by Squid's own words.

use genkai_model::units::Bytes;

/// How objects are kept (`cache_dir`, `cache_mem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// A file an object, read and written by Squid's only thread.
    Ufs,
    /// The same by threads of their own.
    Aufs,
    /// One file with slots of 16 KiB.
    Rock,
    /// In memory, no disk.
    Memory,
}

/// Settings of an accelerator. What is not here is Squid's own default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Where objects are.
    pub(super) store: Store,
    /// `cache_mem`: memory for objects. Zero where they are on disk: with Squid's default of 256 MB a small set would be served from
    /// memory whatever the disk store is.
    pub(super) memory: Bytes,
    /// Size of `cache_dir`.
    pub(super) disk: Bytes,
}

/// Largest object of a rock store, bytes: `max-size`. Squid's default for it is one slot.
pub(super) const ROCK_LARGEST: u64 = 1 << 20;
