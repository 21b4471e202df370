//! Which caches there are.

use std::path::PathBuf;

use super::{Ground, Setup};
use crate::error::TargetError;
use crate::{apache, haproxy, nginx, squid, trafficserver, varnish};
use genkai_place::program;

/// The name of the contender that is no cache: the origin itself.
pub const ALONE: &str = "origin";

/// A cache.
#[derive(Debug)]
pub struct Product {
    /// Its name, as `--contenders` has it.
    pub name: &'static str,
    /// Where it keeps objects, in words.
    pub store: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The package that has it.
    pub package: &'static str,
    /// Writes what it needs and says how it is started.
    pub(super) setup: fn(&Ground<'_>) -> Result<Setup, TargetError>,
}

/// Every cache, in the order in which reports list them before anything is measured.
pub const PRODUCTS: &[Product] = &[
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
    std::iter::once(ALONE).chain(PRODUCTS.iter().map(|product| product.name)).collect()
}

/// The cache called `name`; none for the origin.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<Option<&'static Product>, TargetError> {
    if name == ALONE {
        return Ok(None);
    }
    let found = PRODUCTS.iter().find(|product| product.name == name);
    found.map(Some).ok_or_else(|| unknown(name))
}

/// There is no such contender.
pub(super) fn unknown(name: &str) -> TargetError {
    TargetError::usage("", format!("there is no cache `{name}` to compare; there are: {}", names().join(", ")))
}

/// The cache that a comparison of systems calls `word`: its name, and `-cache` behind it where the name alone is a plain reverse proxy.
pub fn contender(word: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.word() == word)
}

/// What a comparison of systems calls the caches.
pub fn compared() -> Vec<String> {
    PRODUCTS.iter().map(Product::word).collect()
}

impl Product {
    /// What a comparison of systems calls it.
    fn word(&self) -> String {
        let plain = ["nginx", "haproxy"].contains(&self.name);
        if plain { format!("{}-cache", self.name) } else { self.name.to_owned() }
    }

    /// Its program on this machine.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn installed(&self) -> Result<PathBuf, TargetError> {
        located((self.program, self.package))
    }
}

/// A program on this machine, which a package has.
///
/// # Errors
/// When it is not installed.
pub(crate) fn located((name, package): (&'static str, &'static str)) -> Result<PathBuf, TargetError> {
    program::find(name).ok_or_else(|| TargetError::not_installed(name, package))
}
