//! The table of settings. Defaults are those compiled into Caddy 2.6.2, read in the source file named with each.
//!
//! The directive of a setting is the path of lines that lead to it, from its place on.

use super::Place::{self, Options, Proxy, Site};
use super::Setting;
use super::value::{SIZE, TIME, TIME_OR_OFF, WORDS};
use crate::caddy::CALLED;
use crate::settings::Kind::Count;
use crate::settings::Table;

const MANY: u64 = i32::MAX as u64;
const TRANSPORT: &str = "Caddy modules/caddyhttp/reverseproxy/httptransport.go";
const PROXY: &str = "Caddy modules/caddyhttp/reverseproxy/reverseproxy.go";
const BODY: &str = "Caddy modules/caddyhttp/requestbody/requestbody.go";
const SERVER: &str = "Caddy modules/caddyhttp/app.go";

/// How long a connect to an upstream may last.
pub const DIAL_TIMEOUT: Setting =
    Setting::new("dial_timeout", Proxy, TIME, "3s", TRANSPORT).held_by("transport http/dial_timeout");
/// How long the head of an answer may take.
pub const RESPONSE_HEADER_TIMEOUT: Setting = Setting::new("response_header_timeout", Proxy, TIME, "", TRANSPORT)
    .held_by("transport http/response_header_timeout");
/// How long an upstream may be silent.
pub const READ_TIMEOUT: Setting =
    Setting::new("read_timeout", Proxy, TIME, "", TRANSPORT).held_by("transport http/read_timeout");
/// How long an upstream may not read.
pub const WRITE_TIMEOUT: Setting =
    Setting::new("write_timeout", Proxy, TIME, "", TRANSPORT).held_by("transport http/write_timeout");
/// Connections to an upstream at once; 0: any number.
pub const MAX_CONNS_PER_HOST: Setting = Setting::new("max_conns_per_host", Proxy, Count(0, MANY), "0", TRANSPORT)
    .held_by("transport http/max_conns_per_host");
/// How long a connection to an upstream may be idle.
pub const KEEPALIVE: Setting =
    Setting::new("keepalive", Proxy, TIME_OR_OFF, "2m", TRANSPORT).held_by("transport http/keepalive");
/// Idle connections to an upstream.
pub const KEEPALIVE_IDLE_CONNS_PER_HOST: Setting =
    Setting::new("keepalive_idle_conns_per_host", Proxy, Count(0, MANY), "32", TRANSPORT)
        .held_by("transport http/keepalive_idle_conns_per_host");
/// How long a request tries for an upstream that takes it.
pub const LB_TRY_DURATION: Setting = Setting::new("lb_try_duration", Proxy, TIME, "0", PROXY);
/// How long a failure of an upstream is remembered.
pub const FAIL_DURATION: Setting = Setting::new("fail_duration", Proxy, TIME, "0", PROXY);
/// Failures after which an upstream counts as down.
pub const MAX_FAILS: Setting = Setting::new("max_fails", Proxy, Count(0, MANY), "", PROXY);
/// Requests that an upstream gets at once; 0: any number.
pub const UNHEALTHY_REQUEST_COUNT: Setting = Setting::new("unhealthy_request_count", Proxy, Count(0, MANY), "0", PROXY);
/// Largest request body.
pub const MAX_SIZE: Setting =
    Setting::new("request_body.max_size", Site, SIZE, "", BODY).held_by("request_body/max_size");
/// How long a request may take to come.
pub const READ_BODY: Setting =
    Setting::new("timeouts.read_body", Options, TIME, "", SERVER).held_by("servers/timeouts/read_body");
/// How long the head of a request may take to come.
pub const READ_HEADER: Setting =
    Setting::new("timeouts.read_header", Options, TIME, "", SERVER).held_by("servers/timeouts/read_header");
/// How long an answer may take.
pub const WRITE: Setting = Setting::new("timeouts.write", Options, TIME, "", SERVER).held_by("servers/timeouts/write");
/// How long a kept connection may be idle.
pub const IDLE: Setting = Setting::new("timeouts.idle", Options, TIME, "5m", SERVER).held_by("servers/timeouts/idle");

/// Every setting of Caddy that genkai knows.
pub static TABLE: Table<Place> = Table {
    product: CALLED,
    settings: &[
        DIAL_TIMEOUT,
        RESPONSE_HEADER_TIMEOUT,
        READ_TIMEOUT,
        WRITE_TIMEOUT,
        MAX_CONNS_PER_HOST,
        KEEPALIVE,
        KEEPALIVE_IDLE_CONNS_PER_HOST,
        LB_TRY_DURATION,
        FAIL_DURATION,
        MAX_FAILS,
        UNHEALTHY_REQUEST_COUNT,
        MAX_SIZE,
        READ_BODY,
        READ_HEADER,
        WRITE,
        IDLE,
        Setting::new("keepalive_idle_conns", Proxy, Count(0, MANY), "0", TRANSPORT)
            .held_by("transport http/keepalive_idle_conns"),
        Setting::new("read_buffer", Proxy, SIZE, "4KiB", TRANSPORT).held_by("transport http/read_buffer"),
        Setting::new("write_buffer", Proxy, SIZE, "4KiB", TRANSPORT).held_by("transport http/write_buffer"),
        Setting::new("lb_policy", Proxy, WORDS, "random", PROXY),
        Setting::new("lb_retries", Proxy, Count(0, MANY), "0", PROXY),
        Setting::new("lb_try_interval", Proxy, TIME, "250ms", PROXY),
        Setting::new("unhealthy_latency", Proxy, TIME, "", PROXY),
        Setting::new("flush_interval", Proxy, WORDS, "", PROXY),
        Setting::new("max_header_size", Options, SIZE, "1MiB", "Go net/http: DefaultMaxHeaderBytes")
            .held_by("servers/max_header_size"),
        Setting::new("grace_period", Options, TIME, "", SERVER),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caddy::settings::SettingError;

    fn lookup(name: &str) -> Result<&'static Setting, SettingError> {
        TABLE.lookup(name)
    }

    #[test]
    fn names_are_found_and_near_ones_are_told() {
        assert_eq!(lookup("timeouts idle").unwrap().name, "timeouts.idle");
        assert!(lookup("dial_timout").unwrap_err().to_string().contains("did you mean dial_timeout"));
        assert!(lookup("worker_connections").unwrap_err().to_string().contains("unknown Caddy setting"));
    }

    #[test]
    fn every_default_is_acceptable() {
        for setting in TABLE.settings.iter().filter(|s| !s.default.is_empty()) {
            assert!(setting.kind.written(&[setting.default]).is_some(), "{}", setting.name);
        }
    }
}
