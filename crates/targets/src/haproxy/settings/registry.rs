//! The table of settings. Defaults are those compiled into HAProxy 2.6, read in the source file or manual section named with
//! each; a distribution's own file may set others.

use super::Context::{self, Back, Front, Global, Server};
use super::Setting;
use super::value::{OBSERVED, TIME};
use crate::settings::Kind::{Count, Line};
use crate::settings::Table;

const MANY: u64 = i32::MAX as u64;
const MANUAL: &str = "HAProxy configuration manual 4.2";
const GLOBAL: &str = "HAProxy configuration manual 3.2";
const SERVER: &str = "HAProxy configuration manual 5.2";

/// Connections of the process.
pub const MAXCONN: Setting =
    Setting::new("maxconn", Global, Count(1, MANY), "", "HAProxy src/haproxy.c: compute_ideal_maxconn");
/// Descriptors of the process.
pub const ULIMIT_N: Setting = Setting::new("ulimit-n", Global, Count(1, MANY), "", "HAProxy src/haproxy.c: init");
/// Threads.
pub const NBTHREAD: Setting =
    Setting::new("nbthread", Global, Count(1, 64), "", "HAProxy src/thread.c: thread_cpus_enabled_at_boot");
/// TLS connections of the process, of clients and to servers.
pub const MAXSSLCONN: Setting = Setting::new("maxsslconn", Global, Count(0, MANY), "0", GLOBAL);
/// Connections a second of the process.
pub const MAXCONNRATE: Setting = Setting::new("maxconnrate", Global, Count(0, MANY), "0", GLOBAL);
/// Sessions a second of the process.
pub const MAXSESSRATE: Setting = Setting::new("maxsessrate", Global, Count(0, MANY), "0", GLOBAL);
/// TLS connections of clients a second of the process.
pub const MAXSSLRATE: Setting = Setting::new("maxsslrate", Global, Count(0, MANY), "0", GLOBAL);
/// Bytes of one buffer.
pub const TUNE_BUFSIZE: Setting =
    Setting::new("tune.bufsize", Global, Count(1, 1 << 30), "16384", "HAProxy include/haproxy/defaults.h: BUFSIZE");
/// TLS sessions that are kept, to be resumed, in blocks of which most take one.
pub const TUNE_SSL_CACHESIZE: Setting = Setting::new(
    "tune.ssl.cachesize",
    Global,
    Count(0, MANY),
    "20000",
    "HAProxy include/haproxy/defaults.h: SSLCACHESIZE",
);
/// Connections of the frontend.
pub const FRONTEND_MAXCONN: Setting =
    Setting::new("frontend.maxconn", Front, Count(0, MANY), "", "HAProxy src/cfgparse.c: check_config_validity")
        .held_by("maxconn");
/// Length of a listener's accept queue.
pub const BACKLOG: Setting =
    Setting::new("backlog", Front, Count(0, MANY), "", "HAProxy src/listener.c: listener_backlog");
/// Sessions a second of the frontend.
pub const RATE_LIMIT_SESSIONS: Setting =
    Setting::new("rate-limit.sessions", Front, Count(0, MANY), "0", MANUAL).held_by("rate-limit sessions");
/// How long a client may be silent.
pub const TIMEOUT_CLIENT: Setting = Setting::new("timeout.client", Front, TIME, "", MANUAL).held_by("timeout client");
/// How long a request may take to arrive.
pub const TIMEOUT_HTTP_REQUEST: Setting =
    Setting::new("timeout.http-request", Front, TIME, "", MANUAL).held_by("timeout http-request");
/// How long a kept connection may be idle.
pub const TIMEOUT_HTTP_KEEP_ALIVE: Setting =
    Setting::new("timeout.http-keep-alive", Front, TIME, "", MANUAL).held_by("timeout http-keep-alive");
/// How long a server may take to accept.
pub const TIMEOUT_CONNECT: Setting = Setting::new("timeout.connect", Back, TIME, "", MANUAL).held_by("timeout connect");
/// How long a server may be silent.
pub const TIMEOUT_SERVER: Setting = Setting::new("timeout.server", Back, TIME, "", MANUAL).held_by("timeout server");
/// How long a request may wait for a server.
pub const TIMEOUT_QUEUE: Setting = Setting::new("timeout.queue", Back, TIME, "", MANUAL).held_by("timeout queue");
/// How long a tunnel may be silent in both directions.
pub const TIMEOUT_TUNNEL: Setting = Setting::new("timeout.tunnel", Back, TIME, "", MANUAL).held_by("timeout tunnel");
/// How often a server is tried again.
pub const RETRIES: Setting = Setting::new("retries", Back, Count(0, MANY), "3", MANUAL);
/// Whether connections to servers are shared.
pub const HTTP_REUSE: Setting = Setting::new("http-reuse", Back, Line, "safe", MANUAL);
/// Requests that a server gets at once.
pub const SERVER_MAXCONN: Setting =
    Setting::new("server.maxconn", Server, Count(0, MANY), "0", SERVER).held_by("maxconn");
/// The same under little load.
pub const SERVER_MINCONN: Setting =
    Setting::new("server.minconn", Server, Count(0, MANY), "0", SERVER).held_by("minconn");
/// Requests that may wait for one server.
pub const SERVER_MAXQUEUE: Setting =
    Setting::new("server.maxqueue", Server, Count(0, MANY), "0", SERVER).held_by("maxqueue");

/// Whether errors of requests count against a server.
pub const SERVER_OBSERVE: Setting = Setting::new("server.observe", Server, OBSERVED, "none", SERVER).held_by("observe");

/// Every setting of HAProxy that genkai knows.
pub static TABLE: Table<Context> = Table {
    product: "HAProxy",
    settings: &[
        MAXCONN,
        MAXSSLCONN,
        ULIMIT_N,
        NBTHREAD,
        MAXCONNRATE,
        MAXSESSRATE,
        MAXSSLRATE,
        TUNE_BUFSIZE,
        TUNE_SSL_CACHESIZE,
        Setting::new("tune.maxaccept", Global, Count(1, MANY), "4", "HAProxy src/haproxy.c: MAX_ACCEPT"),
        FRONTEND_MAXCONN,
        BACKLOG,
        RATE_LIMIT_SESSIONS,
        TIMEOUT_CLIENT,
        TIMEOUT_HTTP_REQUEST,
        TIMEOUT_HTTP_KEEP_ALIVE,
        TIMEOUT_CONNECT,
        TIMEOUT_SERVER,
        TIMEOUT_QUEUE,
        TIMEOUT_TUNNEL,
        RETRIES,
        Setting::new("fullconn", Back, Count(1, MANY), "", MANUAL),
        Setting::new("balance", Back, Line, "roundrobin", MANUAL),
        HTTP_REUSE,
        SERVER_MAXCONN,
        SERVER_MINCONN,
        SERVER_MAXQUEUE,
        SERVER_OBSERVE,
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::haproxy::settings::SettingError;

    fn lookup(name: &str) -> Result<&'static Setting, SettingError> {
        TABLE.lookup(name)
    }

    #[test]
    fn names_are_found_and_near_ones_are_told() {
        assert_eq!(lookup("timeout server").unwrap().name, "timeout.server");
        assert!(lookup("maxcon").unwrap_err().to_string().contains("did you mean maxconn"));
        assert!(lookup("worker_connections").unwrap_err().to_string().contains("unknown HAProxy setting"));
    }

    #[test]
    fn every_default_is_acceptable() {
        for setting in TABLE.settings.iter().filter(|s| !s.default.is_empty()) {
            assert!(setting.kind.written(&[setting.default]).is_some(), "{}", setting.name);
        }
    }
}
