//! The servers that `genkai doctor` looks for.

use genkai_place::survey::Known;

const fn testable(program: &'static str, version: &'static [&'static str]) -> Known {
    Known { program, version, testable: true }
}

const fn known(program: &'static str, version: &'static [&'static str]) -> Known {
    Known { program, version, testable: false }
}

/// Servers genkai knows; those that `genkai tune` can run come first.
pub const KNOWN: &[Known] = &[
    testable("nginx", &["-v"]),
    testable("apache2", &["-v"]),
    testable("haproxy", &["-v"]),
    known("caddy", &["version"]),
    known("lighttpd", &["-v"]),
    known("varnishd", &["-V"]),
    known("squid", &["-v"]),
    known("node", &["--version"]),
    known("redis-server", &["--version"]),
];
