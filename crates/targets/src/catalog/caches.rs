//! The caches as genkai writes them.

use std::sync::Arc;

use crate::cache::{Generated, Product};
use crate::error::TargetError;
use crate::product::{Accelerator, Prepare, Prepared};
use crate::{apache, haproxy, nginx, squid, trafficserver, varnish};

/// The name of the contender that is no cache: the origin itself.
pub const ALONE: &str = "origin";

/// Every cache, in the order in which reports list them before anything is measured.
pub const CACHES: &[Product] = &[
    Product {
        name: "nginx",
        store: "disk: a file an object (proxy_cache)",
        program: "nginx",
        package: "nginx",
        setup: nginx::cache::setup,
    },
    Product {
        name: "apache-disk",
        store: "disk: two files an object (mod_cache_disk)",
        program: "apache2",
        package: "apache2-bin",
        setup: apache::cache::disk,
    },
    Product {
        name: "apache-socache",
        store: "memory: shared (mod_cache_socache, shmcb)",
        program: "apache2",
        package: "apache2-bin",
        setup: apache::cache::socache,
    },
    Product {
        name: "squid-ufs",
        store: "disk: a file an object (ufs), no objects in memory",
        program: "squid",
        package: "squid",
        setup: squid::ufs,
    },
    Product {
        name: "squid-aufs",
        store: "disk: a file an object, by threads (aufs), no objects in memory",
        program: "squid",
        package: "squid",
        setup: squid::aufs,
    },
    Product {
        name: "squid-rock",
        store: "disk: one file with slots (rock), no objects in memory",
        program: "squid",
        package: "squid",
        setup: squid::rock,
    },
    Product {
        name: "squid-memory",
        store: "memory (cache_mem), no disk",
        program: "squid",
        package: "squid",
        setup: squid::memory,
    },
    Product {
        name: "varnish-malloc",
        store: "memory (malloc)",
        program: "varnishd",
        package: "varnish",
        setup: varnish::malloc,
    },
    Product {
        name: "varnish-file",
        store: "disk: one file, mapped (file)",
        program: "varnishd",
        package: "varnish",
        setup: varnish::file,
    },
    Product {
        name: "trafficserver",
        store: "disk: one file with stripes, no objects in memory",
        program: "traffic_server",
        package: "trafficserver",
        setup: trafficserver::setup,
    },
    Product {
        name: "haproxy",
        store: "memory (small-object cache)",
        program: "haproxy",
        package: "haproxy",
        setup: haproxy::cache::setup,
    },
];

/// Names of all contenders, the origin first.
pub fn names() -> Vec<&'static str> {
    std::iter::once(ALONE).chain(CACHES.iter().map(|product| product.name)).collect()
}

/// The cache called `name`; none for the origin.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<Option<&'static Product>, TargetError> {
    if name == ALONE {
        return Ok(None);
    }
    let found = CACHES.iter().find(|product| product.name == name);
    found.map(Some).ok_or_else(|| unknown(name))
}

/// There is no such contender.
fn unknown(name: &str) -> TargetError {
    TargetError::usage("", format!("there is no cache `{name}` to compare; there are: {}", names().join(", ")))
}

/// The cache that a comparison of systems calls `word`: its name, and `-cache` behind it where the name alone is a plain reverse proxy.
pub fn contender(word: &str) -> Option<&'static Product> {
    CACHES.iter().find(|product| self::word(product) == word)
}

/// What a comparison of systems calls the caches.
pub fn compared() -> Vec<String> {
    CACHES.iter().map(word).collect()
}

/// What a comparison of systems calls one.
fn word(product: &Product) -> String {
    let plain = super::proxies().any(|name| name == product.name);
    if plain { format!("{}-cache", product.name) } else { product.name.to_owned() }
}

/// Prepares a cache as genkai writes it.
pub(super) fn prepare(product: &'static Product, what: Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError> {
    let name = product.name;
    if !what.settings.is_empty() {
        let hint = "name a configuration file of your own to set something";
        return Err(TargetError::usage(
            name,
            format!("{name} runs as genkai writes it, without settings\n  hint: {hint}"),
        ));
    }
    if what.backend.is_none() {
        let hint = "--backend embedded, or a configuration file of your own";
        return Err(TargetError::usage(name, format!("{name}: a cache needs something behind it\n  hint: {hint}")));
    }
    Accelerator::prepare(Arc::new(Generated(product)), &what)
}
