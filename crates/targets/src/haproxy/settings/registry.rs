//! The table of settings. Defaults are those compiled into HAProxy 2.6, read in the source file or manual section named with
//! each; a distribution's own file may set others.

use super::value::Kind::{self, Count, Size, Time, Words};
use super::{PRODUCT, Place, SettingError};

/// A setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Name as `--set` has it.
    pub name: &'static str,
    /// Its keyword, words with one space between; the parameter's name for [`Place::Server`].
    pub keyword: &'static str,
    /// Where it belongs.
    pub place: Place,
    /// What it accepts.
    pub kind: Kind,
    /// Compiled-in default; empty: it has none, or it is computed.
    pub default: &'static str,
    /// Where the default is written down.
    pub source: &'static str,
}

const MANY: u64 = i32::MAX as u64;
const MANUAL: &str = "HAProxy configuration manual 4.2";
const GLOBAL: &str = "HAProxy configuration manual 3.2";
const SERVER: &str = "HAProxy configuration manual 5.2";

const fn of(
    name: &'static str,
    keyword: &'static str,
    place: Place,
    kind: Kind,
    default: &'static str,
    source: &'static str,
) -> Setting {
    Setting { name, keyword, place, kind, default, source }
}

const fn timeout(name: &'static str, keyword: &'static str, place: Place) -> Setting {
    of(name, keyword, place, Time, "", MANUAL)
}

static SETTINGS: &[Setting] = &[
    of("maxconn", "maxconn", Place::Global, Count(1, MANY), "", "HAProxy src/haproxy.c: compute_ideal_maxconn"),
    of("ulimit-n", "ulimit-n", Place::Global, Count(1, MANY), "", "HAProxy src/haproxy.c: init"),
    of("nbthread", "nbthread", Place::Global, Count(1, 64), "", "HAProxy src/thread.c: thread_cpus_enabled_at_boot"),
    of("maxconnrate", "maxconnrate", Place::Global, Count(0, MANY), "0", GLOBAL),
    of("maxsessrate", "maxsessrate", Place::Global, Count(0, MANY), "0", GLOBAL),
    of(
        "tune.bufsize",
        "tune.bufsize",
        Place::Global,
        Size(1 << 30),
        "16384",
        "HAProxy include/haproxy/defaults.h: BUFSIZE",
    ),
    of("tune.maxaccept", "tune.maxaccept", Place::Global, Count(1, MANY), "4", "HAProxy src/haproxy.c: MAX_ACCEPT"),
    of(
        "frontend.maxconn",
        "maxconn",
        Place::Front,
        Count(0, MANY),
        "",
        "HAProxy src/cfgparse.c: check_config_validity",
    ),
    of("backlog", "backlog", Place::Front, Count(0, MANY), "", "HAProxy src/listener.c: listener_backlog"),
    of("rate-limit.sessions", "rate-limit sessions", Place::Front, Count(0, MANY), "0", MANUAL),
    timeout("timeout.client", "timeout client", Place::Front),
    timeout("timeout.http-request", "timeout http-request", Place::Front),
    timeout("timeout.http-keep-alive", "timeout http-keep-alive", Place::Front),
    timeout("timeout.connect", "timeout connect", Place::Back),
    timeout("timeout.server", "timeout server", Place::Back),
    timeout("timeout.queue", "timeout queue", Place::Back),
    timeout("timeout.tunnel", "timeout tunnel", Place::Back),
    of("retries", "retries", Place::Back, Count(0, MANY), "3", MANUAL),
    of("fullconn", "fullconn", Place::Back, Count(1, MANY), "", MANUAL),
    of("balance", "balance", Place::Back, Words, "roundrobin", MANUAL),
    of("http-reuse", "http-reuse", Place::Back, Words, "safe", MANUAL),
    of("server.maxconn", "maxconn", Place::Server, Count(0, MANY), "0", SERVER),
    of("server.minconn", "minconn", Place::Server, Count(0, MANY), "0", SERVER),
    of("server.maxqueue", "maxqueue", Place::Server, Count(0, MANY), "0", SERVER),
];

/// Every setting genkai knows.
pub fn all() -> &'static [Setting] {
    SETTINGS
}

/// Finds a setting by its name, a keyword of several words with dots or spaces.
///
/// # Errors
/// [`SettingError::Unknown`] with the nearest names.
pub fn lookup(name: &str) -> Result<&'static Setting, SettingError> {
    let dotted = name.trim().replace(' ', ".");
    let found = SETTINGS.iter().find(|s| s.name.eq_ignore_ascii_case(&dotted));
    found.ok_or_else(|| SettingError::unknown(PRODUCT, name, SETTINGS.iter().map(|s| (s.name, s.name))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_near_ones_are_told() {
        assert_eq!(lookup("timeout server").unwrap().name, "timeout.server");
        assert!(lookup("maxcon").unwrap_err().to_string().contains("did you mean maxconn"));
        assert!(lookup("worker_connections").unwrap_err().to_string().contains("unknown HAProxy setting"));
    }

    #[test]
    fn every_default_is_acceptable() {
        for setting in SETTINGS.iter().filter(|s| !s.default.is_empty()) {
            assert!(setting.kind.written(setting.default).is_some(), "{}", setting.name);
        }
    }
}
