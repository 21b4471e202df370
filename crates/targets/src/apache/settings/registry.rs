//! The table of settings. Defaults are those compiled into httpd 2.4.68, read in the source file named with each; a
//! distribution's own files may set others.

use super::Context::{self, Host, Members, Pass, Path, Server, Variable};
use super::value::{FACTOR, INTERVAL, MILLISECONDS};
use super::{Mpm, Setting};
use crate::settings::Kind::{self, Bytes, Count, Line, Seconds, Word};
use crate::settings::{SourcedValue, Table};

const MPMS: &str = "httpd server/mpm/event/event.c: event_pre_config, worker.c, prefork.c";
const COMMON: &str = "httpd include/mpm_common.h";
const CORE: &str = "httpd server/core.c: core_commands, include/http_core.h";
const HTTP: &str = "httpd modules/http/http_core.c, include/httpd.h";
const PROXY: &str = "httpd modules/proxy/mod_proxy.c: create_proxy_config";
const WORKER: &str = "httpd modules/proxy/mod_proxy.c: set_worker_param, proxy_util.c: ap_proxy_initialize_worker";
const HTTP2: &str = "httpd modules/http2/h2_config.c";
const RATELIMIT: &str = "httpd modules/filters/mod_ratelimit.c: rate_limit_filter";
const REQTIMEOUT: &str = "httpd modules/filters/mod_reqtimeout.c";

const MANY: u64 = i32::MAX as u64;

const FLAG: Kind = Word(&["On", "Off"]);

/// Workers, of all children together.
pub const MAX_REQUEST_WORKERS: Setting =
    Setting::new("MaxRequestWorkers", Server, Count(1, MANY), "400", MPMS).once_called(&["MaxClients"]);
/// Most children that there can be.
pub const SERVER_LIMIT: Setting = Setting::new("ServerLimit", Server, Count(1, 200_000), "16", MPMS);
/// Threads of a child.
pub const THREADS_PER_CHILD: Setting = Setting::new("ThreadsPerChild", Server, Count(1, 100_000), "25", MPMS);
/// Most threads that a child can have.
pub const THREAD_LIMIT: Setting = Setting::new("ThreadLimit", Server, Count(1, 100_000), "64", MPMS);
/// Children at the start.
pub const START_SERVERS: Setting = Setting::new("StartServers", Server, Count(0, MANY), "3", MPMS);
/// Idle threads beyond which a child is ended.
pub const MAX_SPARE_THREADS: Setting = Setting::new("MaxSpareThreads", Server, Count(1, MANY), "250", MPMS);
/// Idle children of prefork below which further ones are forked.
pub const MIN_SPARE_SERVERS: Setting = Setting::new("MinSpareServers", Server, Count(1, MANY), "", MPMS);
/// Idle children of prefork beyond which one is ended.
pub const MAX_SPARE_SERVERS: Setting = Setting::new("MaxSpareServers", Server, Count(1, MANY), "", MPMS);
/// Connections after which a child is ended; 0: none.
pub const MAX_CONNECTIONS_PER_CHILD: Setting =
    Setting::new("MaxConnectionsPerChild", Server, Count(0, MANY), "0", MPMS).once_called(&["MaxRequestsPerChild"]);
/// Idle connections that event lets a child hold for each idle thread.
pub const ASYNC_REQUEST_WORKER_FACTOR: Setting = Setting::new("AsyncRequestWorkerFactor", Server, FACTOR, "2", MPMS);
/// Threads by which a child answers requests of HTTP/2, at most.
pub const H2_MAX_WORKERS: Setting = Setting::new("H2MaxWorkers", Server, Count(1, 100_000), "", HTTP2);
/// The same, at least.
pub const H2_MIN_WORKERS: Setting = Setting::new("H2MinWorkers", Server, Count(1, 100_000), "", HTTP2);
/// Length of a listener's accept queue.
pub const LISTEN_BACKLOG: Setting =
    Setting::new("ListenBacklog", Server, Count(1, MANY), "511", "httpd include/mpm_common.h:63");
/// How long a peer may be silent.
pub const TIMEOUT: Setting = Setting::new("Timeout", Host, Seconds, "60", "httpd include/httpd.h: DEFAULT_TIMEOUT");
/// Whether connections are kept.
pub const KEEP_ALIVE: Setting = Setting::new("KeepAlive", Host, FLAG, "On", HTTP);
/// How long a kept connection may be idle.
pub const KEEP_ALIVE_TIMEOUT: Setting = Setting::new("KeepAliveTimeout", Host, INTERVAL, "5", HTTP);
/// How long a backend may be silent.
pub const PROXY_TIMEOUT: Setting = Setting::new("ProxyTimeout", Host, INTERVAL, "", PROXY);
/// Whether mod_proxy_wstunnel hands over to mod_proxy_http.
pub const PROXY_WEBSOCKET_FALLBACK_TO_PROXY_HTTP: Setting =
    Setting::new("ProxyWebsocketFallbackToProxyHttp", Host, FLAG, "On", "httpd modules/proxy/mod_proxy_wstunnel.c");
/// Whether backends are spoken to with TLS.
pub const SSL_PROXY_ENGINE: Setting =
    Setting::new("SSLProxyEngine", Host, FLAG, "Off", "httpd modules/ssl/ssl_engine_config.c: modssl_ctx_init_proxy");
/// Whether clients keep TLS sessions themselves.
pub const SSL_SESSION_TICKETS: Setting = Setting::new(
    "SSLSessionTickets",
    Host,
    FLAG,
    "On",
    "httpd modules/ssl/ssl_engine_config.c: ssl_cmd_SSLSessionTickets",
);
/// How long a request may take to arrive.
pub const REQUEST_READ_TIMEOUT: Setting =
    Setting::new("RequestReadTimeout", Host, Line, "header=20-40,MinRate=500 body=20,MinRate=500", REQTIMEOUT);
/// Largest body of a request.
pub const LIMIT_REQUEST_BODY: Setting = Setting::new(
    "LimitRequestBody",
    Path,
    Bytes(1 << 62),
    "1073741824",
    "httpd server/core.c: AP_DEFAULT_LIMIT_REQ_BODY (since 2.4.54)",
);
/// Kilobytes of a response that are sent in a second (mod_ratelimit); 0: no cap.
pub const RATE_LIMIT: Setting = Setting::new("rate-limit", Variable, Count(0, MANY), "", RATELIMIT);
/// Kilobytes of a response that go before it counts.
pub const RATE_INITIAL_BURST: Setting = Setting::new("rate-initial-burst", Variable, Count(0, MANY), "", RATELIMIT);
/// Connections of a child to a backend at once.
pub const PROXY_PASS_MAX: Setting = Setting::new("ProxyPass.max", Pass, Count(1, MANY), "", WORKER).held_by("max");
/// Connections of a child to each member of a balancer at once: of those members that have a cap, or of all where none has.
pub const BALANCER_MEMBER_MAX: Setting =
    Setting::new("BalancerMember.max", Members, Count(1, MANY), "", WORKER).held_by("max");
/// How long a request waits for a free connection.
pub const PROXY_PASS_ACQUIRE: Setting =
    Setting::new("ProxyPass.acquire", Pass, MILLISECONDS, "", WORKER).held_by("acquire");
/// How long a backend that failed is not asked again.
pub const PROXY_PASS_RETRY: Setting = Setting::new("ProxyPass.retry", Pass, Seconds, "60", WORKER).held_by("retry");
/// How long the backend of a pass may be silent.
pub const PROXY_PASS_TIMEOUT: Setting =
    Setting::new("ProxyPass.timeout", Pass, INTERVAL, "", WORKER).held_by("timeout");
/// The multi-processing module.
pub const MPM: Setting =
    Setting::new("mpm", Context::Mpm, Word(&["event", "worker", "prefork"]), "event", "httpd configure.in: --with-mpm")
        .held_by("LoadModule");

/// Every setting of httpd that genkai knows. Defaults are those of event and worker.
pub static TABLE: Table<Context> = Table {
    product: "Apache",
    settings: &[
        MAX_REQUEST_WORKERS,
        SERVER_LIMIT,
        THREADS_PER_CHILD,
        THREAD_LIMIT,
        START_SERVERS,
        Setting::new("MinSpareThreads", Server, Count(1, MANY), "75", MPMS),
        MAX_SPARE_THREADS,
        MIN_SPARE_SERVERS,
        MAX_SPARE_SERVERS,
        MAX_CONNECTIONS_PER_CHILD,
        ASYNC_REQUEST_WORKER_FACTOR,
        H2_MAX_WORKERS,
        H2_MIN_WORKERS,
        LISTEN_BACKLOG,
        Setting::new("GracefulShutdownTimeout", Server, Count(0, MANY), "0", COMMON),
        Setting::new("SendBufferSize", Server, Bytes(1 << 31), "0", COMMON),
        Setting::new("ReceiveBufferSize", Server, Bytes(1 << 31), "0", COMMON),
        TIMEOUT,
        KEEP_ALIVE,
        KEEP_ALIVE_TIMEOUT,
        Setting::new("MaxKeepAliveRequests", Host, Count(0, MANY), "100", HTTP),
        PROXY_TIMEOUT,
        Setting::new("ProxyIOBufferSize", Host, Bytes(1 << 31), "8192", PROXY),
        Setting::new("ProxyReceiveBufferSize", Host, Bytes(1 << 31), "0", PROXY),
        PROXY_WEBSOCKET_FALLBACK_TO_PROXY_HTTP,
        SSL_PROXY_ENGINE,
        SSL_SESSION_TICKETS,
        Setting::new("LimitRequestLine", Host, Bytes(1 << 20), "8190", CORE),
        Setting::new("LimitRequestFields", Host, Count(0, 32767), "100", CORE),
        Setting::new("LimitRequestFieldSize", Host, Bytes(1 << 20), "8190", CORE),
        REQUEST_READ_TIMEOUT,
        LIMIT_REQUEST_BODY,
        Setting::new("ReadBufferSize", Path, Bytes(1 << 31), "8192", CORE),
        Setting::new("EnableSendfile", Path, FLAG, "Off", CORE),
        RATE_LIMIT,
        RATE_INITIAL_BURST,
        PROXY_PASS_MAX,
        BALANCER_MEMBER_MAX,
        Setting::new("ProxyPass.smax", Pass, Count(0, MANY), "", WORKER).held_by("smax"),
        Setting::new("ProxyPass.ttl", Pass, Seconds, "", WORKER).held_by("ttl"),
        PROXY_PASS_ACQUIRE,
        PROXY_PASS_TIMEOUT,
        Setting::new("ProxyPass.connectiontimeout", Pass, INTERVAL, "", WORKER).held_by("connectiontimeout"),
        PROXY_PASS_RETRY,
        Setting::new("ProxyPass.disablereuse", Pass, FLAG, "Off", WORKER).held_by("disablereuse"),
        Setting::new("ProxyPass.upgrade", Pass, Line, "", WORKER).held_by("upgrade"),
        MPM,
    ],
};

/// Defaults of prefork where they are others; empty: it has none.
static PREFORK: &[(&str, &str)] = &[
    (MAX_REQUEST_WORKERS.name, "256"),
    (SERVER_LIMIT.name, "256"),
    (THREADS_PER_CHILD.name, "1"),
    (THREAD_LIMIT.name, "1"),
    (START_SERVERS.name, "5"),
    ("MinSpareThreads", ""),
    ("MaxSpareThreads", ""),
    (MIN_SPARE_SERVERS.name, "5"),
    ("MaxSpareServers", "10"),
    (ASYNC_REQUEST_WORKER_FACTOR.name, ""),
];

/// A setting's default with its source; `(not set)` where it has none of its own.
pub fn default_of(setting: &Setting, mpm: Mpm) -> SourcedValue<()> {
    let prefork = PREFORK.iter().find(|(name, _)| mpm == Mpm::Prefork && *name == setting.name);
    Setting { default: prefork.map_or(setting.default, |(_, default)| default), ..*setting }.default_value()
}

/// The directive of a setting and its older names, in lower case.
pub(super) fn directives(setting: &Setting) -> Vec<String> {
    std::iter::once(&setting.directive).chain(setting.aliases).map(|n| n.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::apache::settings::SettingError;

    fn lookup(name: &str) -> Result<&'static Setting, SettingError> {
        TABLE.lookup(name)
    }

    #[test]
    fn names_have_no_case_and_old_ones_will_do() {
        assert_eq!(lookup("maxrequestworkers").unwrap().name, "MaxRequestWorkers");
        assert_eq!(lookup("MaxClients").unwrap().name, "MaxRequestWorkers");
        let message = lookup("MaxRequestWorker").unwrap_err().to_string();
        assert!(message.contains("did you mean MaxRequestWorkers"), "{message}");
        assert!(lookup("xyzzy").unwrap_err().to_string().contains("none of those"));
    }

    #[test]
    fn every_default_is_acceptable() {
        for setting in TABLE.settings.iter().filter(|s| !s.default.is_empty()) {
            assert!(setting.kind.written(&[setting.default]).is_some(), "{}", setting.name);
        }
        for (name, default) in PREFORK.iter().filter(|(_, d)| !d.is_empty()) {
            assert!(lookup(name).unwrap().kind.written(&[default]).is_some(), "{name}");
        }
    }
}
