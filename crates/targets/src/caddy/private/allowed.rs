//! What may stay in a private copy: directives and options that are known to reach nobody and to write nothing (Caddy's standard
//! modules, 2.6 to 2.11).

/// Directives that only look at a request or make an answer.
pub(super) const DIRECTIVES: &[&str] = &[
    "abort",
    "basic_auth",
    "basicauth",
    "copy_response",
    "copy_response_headers",
    "encode",
    "error",
    "file_server",
    "header",
    "invoke",
    "log_append",
    "log_skip",
    "map",
    "method",
    "metrics",
    "push",
    "redir",
    "request_body",
    "request_header",
    "respond",
    "rewrite",
    "root",
    "skip_log",
    "templates",
    "timeouts",
    "try_files",
    "uri",
    "vars",
];

/// Directives with directives inside.
pub(super) const AROUND: &[&str] = &["handle", "handle_errors", "handle_path", "route"];

/// Directives that write, listen, or tell others, and without which requests are answered alike.
pub(super) const DROPPED: &[&str] = &["acme_server", "bind", "log", "log_name", "tracing"];

/// Global options.
pub(super) const OPTIONS: &[&str] =
    &["default_sni", "fallback_sni", "grace_period", "key_type", "metrics", "order", "servers"];

/// Options of `servers`.
pub(super) const SERVERS: &[&str] = &[
    "client_ip_headers",
    "enable_full_duplex",
    "keepalive_count",
    "keepalive_idle",
    "keepalive_interval",
    "max_header_size",
    "metrics",
    "name",
    "protocols",
    "strict_sni_host",
    "timeouts",
    "trusted_proxies_strict",
];

/// Parameters of `tls` in a block.
pub(super) const TLS: &[&str] = &["alpn", "ciphers", "curves", "key_type", "load", "protocols"];

/// Parameters of `reverse_proxy` that reach nobody.
pub(super) const PROXY: &[&str] = &[
    "buffer_requests",
    "buffer_responses",
    "fail_duration",
    "flush_interval",
    "header_down",
    "header_up",
    "lb_policy",
    "lb_retries",
    "lb_retry_match",
    "lb_try_duration",
    "lb_try_interval",
    "max_buffer_size",
    "max_fails",
    "method",
    "replace_status",
    "request_buffers",
    "response_buffers",
    "rewrite",
    "stream_buffer_size",
    "stream_close_delay",
    "stream_timeout",
    "trusted_proxies",
    "unhealthy_latency",
    "unhealthy_request_count",
    "unhealthy_status",
    "verbose_logs",
];

/// Parameters of `transport http` that concern no other host.
pub(super) const TRANSPORT: &[&str] = &[
    "compression",
    "dial_fallback_delay",
    "dial_timeout",
    "expect_continue_timeout",
    "keepalive",
    "keepalive_idle_conns",
    "keepalive_idle_conns_per_host",
    "keepalive_interval",
    "max_conns_per_host",
    "max_response_header",
    "read_buffer",
    "read_timeout",
    "response_header_timeout",
    "write_buffer",
    "write_timeout",
];

/// Those that concern how the upstream is spoken to: kept as long as it is the user's own.
pub(super) const SPEECH: &[&str] = &[
    "proxy_protocol",
    "tls",
    "tls_client_auth",
    "tls_curves",
    "tls_except_ports",
    "tls_insecure_skip_verify",
    "tls_renegotiation",
    "tls_server_name",
    "tls_timeout",
    "tls_trusted_ca_certs",
    "versions",
];
