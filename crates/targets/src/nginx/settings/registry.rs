//! The table of settings. Defaults are those compiled into nginx 1.22.1, read in the source file named with each; a
//! distribution's own file may set others.

use super::Context::{self, Events, Http, HttpZone, Listen, Main, Upstream, UpstreamServer, Zone};
use super::Setting;
use super::value::{AUTO_PROCESSES, BUFFERS, OFFSET, PROXY_BUFFERS, RATE, TIME, TIMES, ZONE_COUNT};
use crate::settings::Kind::{self, Count, Size, Word, Words};
use crate::settings::Table;

const CORE: &str = "nginx src/core/nginx.c: ngx_core_module_init_conf";
const EVENT: &str = "nginx src/event/ngx_event.c: ngx_event_core_init_conf";
const HTTP: &str = "nginx src/http/ngx_http_core_module.c: ngx_http_core_merge_loc_conf";
const SERVER: &str = "nginx src/http/ngx_http_core_module.c: ngx_http_core_merge_srv_conf";
const PROXY: &str = "nginx src/http/modules/ngx_http_proxy_module.c: ngx_http_proxy_merge_loc_conf";
const GZIP: &str = "nginx src/http/modules/ngx_http_gzip_filter_module.c: ngx_http_gzip_merge_conf";
const CONN: &str = "nginx src/http/modules/ngx_http_limit_conn_module.c";
const REQ: &str = "nginx src/http/modules/ngx_http_limit_req_module.c";
const UPSTREAM: &str = "nginx src/http/ngx_http_upstream.c: ngx_http_upstream_server";
const KEEPALIVE: &str = "nginx src/http/modules/ngx_http_upstream_keepalive_module.c (off before 1.29.7, then 32)";
const SSL: &str = "nginx src/http/modules/ngx_http_ssl_module.c: ngx_http_ssl_merge_srv_conf";
const LOG: &str = "configure arguments: --error-log-path, --http-log-path";

/// What a count can at most be: nginx's own bound is that of a 64-bit number, which no machine reaches.
const MANY: u64 = i32::MAX as u64;
/// A worker needs about 400 bytes of tables for each connection (`ngx_connection_t` and two `ngx_event_t`): beyond this,
/// 4 GB for each worker, a value is a slip of the keys.
const CONNECTIONS: u64 = 10_000_000;
const SIZE: Kind = Size(1, i64::MAX as u64);
const FLAG: Kind = Word(&["on", "off"]);

/// Worker processes.
pub const WORKER_PROCESSES: Setting = Setting::new("worker_processes", Main, AUTO_PROCESSES, "1", CORE);
/// Descriptors of a worker.
pub const WORKER_RLIMIT_NOFILE: Setting = Setting::new("worker_rlimit_nofile", Main, Count(1, MANY), "", CORE);
/// Where errors are logged, and from which level on.
pub const ERROR_LOG: Setting = Setting::new("error_log", Main, Words(1, 2), "", LOG);
/// Slots of a worker.
pub const WORKER_CONNECTIONS: Setting = Setting::new("worker_connections", Events, Count(1, CONNECTIONS), "512", EVENT);
/// Whether a worker accepts all that wait at once.
pub const MULTI_ACCEPT: Setting = Setting::new("multi_accept", Events, FLAG, "off", EVENT);
/// Whether workers take turns at accepting.
pub const ACCEPT_MUTEX: Setting = Setting::new("accept_mutex", Events, FLAG, "off", EVENT);
/// How long a worker waits for its turn.
pub const ACCEPT_MUTEX_DELAY: Setting = Setting::new("accept_mutex_delay", Events, TIME, "500ms", EVENT);
/// Length of a listener's accept queue.
pub const LISTEN_BACKLOG: Setting =
    Setting::new("listen.backlog", Listen, Count(1, MANY), "511", "nginx src/os/unix/ngx_linux_config.h:107")
        .held_by("backlog");
/// Where requests are logged.
pub const ACCESS_LOG: Setting = Setting::new("access_log", Http, Words(1, 8), "", LOG);
/// Largest body of a request.
pub const CLIENT_MAX_BODY_SIZE: Setting = Setting::new("client_max_body_size", Http, OFFSET, "1m", HTTP);
/// Requests in flight for one value of a key.
pub const LIMIT_CONN: Setting = Setting::new("limit_conn", Zone, ZONE_COUNT, "", CONN);
/// Where they are counted.
pub const LIMIT_CONN_ZONE: Setting = Setting::new("limit_conn_zone", HttpZone, Words(2, 2), "", CONN);
/// Requests a second for one value of a key.
pub const LIMIT_REQ: Setting = Setting::new("limit_req", Zone, RATE, "", REQ);
/// Where they are counted.
pub const LIMIT_REQ_ZONE: Setting = Setting::new("limit_req_zone", HttpZone, Words(3, 4), "", REQ);
/// The buffer that the head of a response must fit.
pub const PROXY_BUFFER_SIZE: Setting = Setting::new("proxy_buffer_size", Http, SIZE, "4k", PROXY);
/// Bytes of a response that are sent in a second.
pub const LIMIT_RATE: Setting = Setting::new("limit_rate", Http, Size(0, i64::MAX as u64), "0", HTTP);
/// How long a connection is kept for a next request.
pub const KEEPALIVE_TIMEOUT: Setting = Setting::new("keepalive_timeout", Http, TIMES, "75s", HTTP);
/// Where TLS sessions are kept, to be resumed.
pub const SSL_SESSION_CACHE: Setting = Setting::new("ssl_session_cache", Http, Words(1, 2), "none", SSL);
/// Whether clients keep TLS sessions themselves.
pub const SSL_SESSION_TICKETS: Setting = Setting::new("ssl_session_tickets", Http, FLAG, "on", SSL);
/// How long an upstream may take to accept.
pub const PROXY_CONNECT_TIMEOUT: Setting = Setting::new("proxy_connect_timeout", Http, TIME, "60s", PROXY);
/// Version of HTTP towards an upstream.
pub const PROXY_HTTP_VERSION: Setting =
    Setting::new("proxy_http_version", Http, Word(&["1.0", "1.1", "2"]), "1.0", PROXY);
/// How long an upstream may be silent.
pub const PROXY_READ_TIMEOUT: Setting = Setting::new("proxy_read_timeout", Http, TIME, "60s", PROXY);
/// Idle connections that a worker keeps to a group.
pub const UPSTREAM_KEEPALIVE: Setting =
    Setting::new("upstream.keepalive", Upstream, Count(1, MANY), "", KEEPALIVE).held_by("keepalive");
/// Connections to a server of a group at once.
pub const UPSTREAM_MAX_CONNS: Setting =
    Setting::new("upstream.max_conns", UpstreamServer, Count(0, MANY), "0", UPSTREAM).held_by("max_conns");

/// Failures after which a server of a group is left alone for `fail_timeout`; 0: never.
pub const UPSTREAM_MAX_FAILS: Setting =
    Setting::new("upstream.max_fails", UpstreamServer, Count(0, MANY), "1", UPSTREAM).held_by("max_fails");

/// Every setting of nginx that genkai knows.
pub static TABLE: Table<Context> = Table {
    product: "nginx",
    settings: &[
        WORKER_PROCESSES,
        WORKER_RLIMIT_NOFILE,
        Setting::new("worker_shutdown_timeout", Main, TIME, "0", CORE),
        ERROR_LOG,
        WORKER_CONNECTIONS,
        MULTI_ACCEPT,
        ACCEPT_MUTEX,
        ACCEPT_MUTEX_DELAY,
        LISTEN_BACKLOG,
        ACCESS_LOG,
        Setting::new("client_body_timeout", Http, TIME, "60s", HTTP),
        Setting::new("client_header_timeout", Http, TIME, "60s", SERVER),
        CLIENT_MAX_BODY_SIZE,
        Setting::new("client_body_buffer_size", Http, SIZE, "16k", HTTP),
        Setting::new("client_header_buffer_size", Http, SIZE, "1k", SERVER),
        Setting::new("large_client_header_buffers", Http, BUFFERS, "4 8k", SERVER),
        Setting::new("keepalive_requests", Http, Count(0, MANY), "1000", HTTP),
        KEEPALIVE_TIMEOUT,
        Setting::new("keepalive_time", Http, TIME, "1h", HTTP),
        Setting::new("open_file_cache", Http, Words(1, 2), "off", HTTP),
        Setting::new("reset_timedout_connection", Http, FLAG, "off", HTTP),
        Setting::new("send_timeout", Http, TIME, "60s", HTTP),
        Setting::new("sendfile", Http, FLAG, "off", HTTP),
        Setting::new("tcp_nodelay", Http, FLAG, "on", HTTP),
        Setting::new("tcp_nopush", Http, FLAG, "off", HTTP),
        Setting::new("gzip", Http, FLAG, "off", GZIP),
        Setting::new("gzip_comp_level", Http, Count(1, 9), "1", GZIP),
        Setting::new("gzip_min_length", Http, Size(0, i64::MAX as u64), "20", GZIP),
        Setting::new("gzip_types", Http, Words(1, 64), "text/html", GZIP),
        LIMIT_CONN,
        LIMIT_CONN_ZONE,
        LIMIT_REQ,
        LIMIT_REQ_ZONE,
        LIMIT_RATE,
        SSL_SESSION_CACHE,
        SSL_SESSION_TICKETS,
        PROXY_BUFFER_SIZE,
        Setting::new("proxy_buffering", Http, FLAG, "on", PROXY),
        Setting::new("proxy_buffers", Http, PROXY_BUFFERS, "8 4k", PROXY),
        Setting::new("proxy_busy_buffers_size", Http, SIZE, "8k", PROXY),
        PROXY_CONNECT_TIMEOUT,
        PROXY_HTTP_VERSION,
        PROXY_READ_TIMEOUT,
        Setting::new("proxy_request_buffering", Http, FLAG, "on", PROXY),
        Setting::new("proxy_send_timeout", Http, TIME, "60s", PROXY),
        Setting::new("fastcgi_connect_timeout", Http, TIME, "60s", "nginx src/http/modules/ngx_http_fastcgi_module.c"),
        Setting::new("fastcgi_read_timeout", Http, TIME, "60s", "nginx src/http/modules/ngx_http_fastcgi_module.c"),
        Setting::new("fastcgi_send_timeout", Http, TIME, "60s", "nginx src/http/modules/ngx_http_fastcgi_module.c"),
        UPSTREAM_KEEPALIVE,
        Setting::new("upstream.keepalive_requests", Upstream, Count(1, MANY), "1000", KEEPALIVE)
            .held_by("keepalive_requests"),
        Setting::new("upstream.keepalive_timeout", Upstream, TIME, "60s", KEEPALIVE).held_by("keepalive_timeout"),
        UPSTREAM_MAX_CONNS,
        UPSTREAM_MAX_FAILS,
        Setting::new("upstream.fail_timeout", UpstreamServer, TIME, "10s", UPSTREAM).held_by("fail_timeout"),
    ],
};
