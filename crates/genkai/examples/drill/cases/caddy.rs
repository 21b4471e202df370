//! Faults of Caddy.

use super::Behind::Nobody;
use super::Expect::Cause;
use super::{Case, NO_NUMBER, PLAIN, SLOW, rising};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "caddy-connections",
        fault: "max_conns_per_host 20",
        product: "caddy",
        flags: rising!("--set max_conns_per_host=20"),
        expect: Cause(&["caddy.max_conns_per_host"]),
        ..PLAIN
    },
    Case {
        name: "caddy-requests",
        fault: "unhealthy_request_count 20",
        product: "caddy",
        flags: rising!("--set unhealthy_request_count=20 --set max_fails=1"),
        expect: Cause(&["caddy.unhealthy_request_count"]),
        ..PLAIN
    },
    Case {
        name: "caddy-timeout",
        fault: "a backend of 1.5 s behind response_header_timeout 1s",
        product: "caddy",
        flags: "--set response_header_timeout=1s --users 20 --spawn-rate 20 --backend-time 1500ms",
        expect: Cause(&["caddy.response_header_timeout", "backend.service_time"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "caddy-refused",
        fault: "nobody listens where the upstream should be",
        product: "caddy",
        flags: "--users 20 --spawn-rate 20",
        config: Some("http://:80 {\n\treverse_proxy {backend}\n}\n"),
        behind: Nobody,
        expect: Cause(&["caddy.backend"]),
        off: NO_NUMBER,
        ..PLAIN
    },
];
