//! The table of settings. Defaults are those compiled into nginx 1.22.1, read in the source file named with each; a
//! distribution's own file may set others.

use super::value::Kind;
use super::{Context, Setting};

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
const LOG: &str = "configure arguments: --error-log-path, --http-log-path";

const NOT_SET: &str = "(not set)";

/// What a count can at most be: nginx's own bound is that of a 64-bit number, which no machine reaches.
const MANY: u64 = i32::MAX as u64;
/// A worker needs about 400 bytes of tables for each connection (`ngx_connection_t` and two `ngx_event_t`): beyond this,
/// 4 GB for each worker, a value is a slip of the keys.
const CONNECTIONS: u64 = 10_000_000;
/// `NGX_MAX_PROCESSES` (src/os/unix/ngx_process.h), less the two cache processes.
const PROCESSES: u64 = 1022;

const fn setting(
    name: &'static str,
    context: Context,
    kind: Kind,
    default: &'static str,
    source: &'static str,
) -> Setting {
    Setting { name, directive: name, context, kind, default, source }
}

const fn param(
    name: &'static str,
    directive: &'static str,
    context: Context,
    kind: Kind,
    default: &'static str,
    source: &'static str,
) -> Setting {
    Setting { name, directive, context, kind, default, source }
}

use Context::{Events, Http, HttpZone, Listen, Main, Upstream, UpstreamServer, Zone};
use Kind::{AutoCount, Buffers, Count, Enum, Flag, Offset, Rate, Size, Time, Times, Words, ZoneCount};

const SIZE: Kind = Size(1, i64::MAX as u64);

static SETTINGS: &[Setting] = &[
    setting("worker_processes", Main, AutoCount(1, PROCESSES), "1", CORE),
    setting("worker_rlimit_nofile", Main, Count(1, MANY), NOT_SET, CORE),
    setting("worker_shutdown_timeout", Main, Time(0), "0", CORE),
    setting("error_log", Main, Words(1, 2), NOT_SET, LOG),
    setting("worker_connections", Events, Count(1, CONNECTIONS), "512", EVENT),
    setting("multi_accept", Events, Flag, "off", EVENT),
    setting("accept_mutex", Events, Flag, "off", EVENT),
    setting("accept_mutex_delay", Events, Time(0), "500ms", EVENT),
    param("listen.backlog", "backlog", Listen, Count(1, MANY), "511", "nginx src/os/unix/ngx_linux_config.h:107"),
    setting("access_log", Http, Words(1, 8), NOT_SET, LOG),
    setting("client_body_timeout", Http, Time(0), "60s", HTTP),
    setting("client_header_timeout", Http, Time(0), "60s", SERVER),
    setting("client_max_body_size", Http, Offset, "1m", HTTP),
    setting("client_body_buffer_size", Http, SIZE, "16k", HTTP),
    setting("client_header_buffer_size", Http, SIZE, "1k", SERVER),
    setting("large_client_header_buffers", Http, Buffers(1), "4 8k", SERVER),
    setting("keepalive_requests", Http, Count(0, MANY), "1000", HTTP),
    setting("keepalive_timeout", Http, Times, "75s", HTTP),
    setting("keepalive_time", Http, Time(0), "1h", HTTP),
    setting("open_file_cache", Http, Words(1, 2), "off", HTTP),
    setting("reset_timedout_connection", Http, Flag, "off", HTTP),
    setting("send_timeout", Http, Time(0), "60s", HTTP),
    setting("sendfile", Http, Flag, "off", HTTP),
    setting("tcp_nodelay", Http, Flag, "on", HTTP),
    setting("tcp_nopush", Http, Flag, "off", HTTP),
    setting("gzip", Http, Flag, "off", GZIP),
    setting("gzip_comp_level", Http, Count(1, 9), "1", GZIP),
    setting("gzip_min_length", Http, Size(0, i64::MAX as u64), "20", GZIP),
    setting("limit_conn", Zone, ZoneCount(1, 65535), NOT_SET, CONN),
    setting("limit_conn_zone", HttpZone, Words(2, 2), NOT_SET, CONN),
    setting("limit_req", Zone, Rate, NOT_SET, REQ),
    setting("limit_req_zone", HttpZone, Words(3, 4), NOT_SET, REQ),
    setting("proxy_buffer_size", Http, SIZE, "4k", PROXY),
    setting("proxy_buffering", Http, Flag, "on", PROXY),
    setting("proxy_buffers", Http, Buffers(2), "8 4k", PROXY),
    setting("proxy_busy_buffers_size", Http, SIZE, "8k", PROXY),
    setting("proxy_connect_timeout", Http, Time(0), "60s", PROXY),
    setting("proxy_http_version", Http, Enum(&["1.0", "1.1", "2"]), "1.0", PROXY),
    setting("proxy_read_timeout", Http, Time(0), "60s", PROXY),
    setting("proxy_request_buffering", Http, Flag, "on", PROXY),
    setting("proxy_send_timeout", Http, Time(0), "60s", PROXY),
    setting("fastcgi_connect_timeout", Http, Time(0), "60s", "nginx src/http/modules/ngx_http_fastcgi_module.c"),
    setting("fastcgi_read_timeout", Http, Time(0), "60s", "nginx src/http/modules/ngx_http_fastcgi_module.c"),
    setting("fastcgi_send_timeout", Http, Time(0), "60s", "nginx src/http/modules/ngx_http_fastcgi_module.c"),
    param("upstream.keepalive", "keepalive", Upstream, Count(1, MANY), NOT_SET, KEEPALIVE),
    param("upstream.keepalive_requests", "keepalive_requests", Upstream, Count(1, MANY), "1000", KEEPALIVE),
    param("upstream.keepalive_timeout", "keepalive_timeout", Upstream, Time(0), "60s", KEEPALIVE),
    param("upstream.max_conns", "max_conns", UpstreamServer, Count(0, MANY), "0", UPSTREAM),
    param("upstream.max_fails", "max_fails", UpstreamServer, Count(0, MANY), "1", UPSTREAM),
    param("upstream.fail_timeout", "fail_timeout", UpstreamServer, Time(0), "10s", UPSTREAM),
];

/// Every setting genkai knows.
pub fn all() -> &'static [Setting] {
    SETTINGS
}
