//! The caches as genkai writes them.

use crate::cache::Preset;
use crate::error::TargetError;
use crate::squid::Store;
use crate::{apache, haproxy, nginx, squid, trafficserver, varnish};

/// The name of the contender that is no cache: the origin itself.
pub const ALONE: &str = "origin";

/// Every cache, in the order in which reports list them before anything is measured.
pub const CACHES: &[Preset] = &[
    Preset {
        name: "nginx",
        store: "disk: a file an object (proxy_cache)",
        lookup: &nginx::lifecycle::LOOKUP,
        setup: nginx::cache::setup,
    },
    Preset {
        name: "apache-disk",
        store: "disk: two files an object (mod_cache_disk)",
        lookup: &apache::lifecycle::LOOKUP,
        setup: apache::cache::disk,
    },
    Preset {
        name: "apache-socache",
        store: "memory: shared (mod_cache_socache, shmcb)",
        lookup: &apache::lifecycle::LOOKUP,
        setup: apache::cache::socache,
    },
    Preset {
        name: "squid-ufs",
        store: "disk: a file an object (ufs), no objects in memory",
        lookup: &squid::LOOKUP,
        setup: |at| squid::setup(at, Store::Ufs),
    },
    Preset {
        name: "squid-aufs",
        store: "disk: a file an object, by threads (aufs), no objects in memory",
        lookup: &squid::LOOKUP,
        setup: |at| squid::setup(at, Store::Aufs),
    },
    Preset {
        name: "squid-rock",
        store: "disk: one file with slots (rock), no objects in memory",
        lookup: &squid::LOOKUP,
        setup: |at| squid::setup(at, Store::Rock),
    },
    Preset {
        name: "squid-memory",
        store: "memory (cache_mem), no disk",
        lookup: &squid::LOOKUP,
        setup: |at| squid::setup(at, Store::Memory),
    },
    Preset { name: "varnish-malloc", store: "memory (malloc)", lookup: &varnish::LOOKUP, setup: varnish::malloc },
    Preset {
        name: "varnish-file",
        store: "disk: one file, mapped (file)",
        lookup: &varnish::LOOKUP,
        setup: varnish::file,
    },
    Preset {
        name: "trafficserver",
        store: "disk: one file with stripes, no objects in memory",
        lookup: &trafficserver::LOOKUP,
        setup: trafficserver::setup,
    },
    Preset {
        name: "haproxy",
        store: "memory (small-object cache)",
        lookup: &haproxy::lifecycle::LOOKUP,
        setup: haproxy::cache::setup,
    },
];

/// Names of all contenders, the origin first.
pub fn names() -> Vec<&'static str> {
    std::iter::once(ALONE).chain(CACHES.iter().map(|preset| preset.name)).collect()
}

/// The cache called `name`; none for the origin.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<Option<&'static Preset>, TargetError> {
    if name == ALONE {
        return Ok(None);
    }
    let found = CACHES.iter().find(|preset| preset.name == name);
    found.map(Some).ok_or_else(|| unknown(name))
}

/// There is no such contender.
fn unknown(name: &str) -> TargetError {
    TargetError::usage("", format!("there is no cache `{name}` to compare; there are: {}", names().join(", ")))
}

/// The cache that a comparison of systems calls `word`: its name, and `-cache` behind it where the name alone is a plain reverse proxy.
pub fn contender(word: &str) -> Option<&'static Preset> {
    CACHES.iter().find(|preset| self::word(preset) == word)
}

/// What a comparison of systems calls the caches.
pub fn compared() -> Vec<String> {
    CACHES.iter().map(word).collect()
}

/// What a comparison of systems calls one.
fn word(preset: &Preset) -> String {
    let plain = super::proxies().any(|name| name == preset.name);
    if plain { format!("{}-cache", preset.name) } else { preset.name.to_owned() }
}
