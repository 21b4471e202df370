//! Faults of HAProxy.

use super::Behind::Nobody;
use super::Expect::Cause;
use super::{AT_ONCE, Case, NO_NUMBER, PLAIN, SLOW, rising};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "haproxy-maxconn",
        fault: "maxconn 100 of global",
        product: "haproxy",
        flags: rising!("--set maxconn=100"),
        expect: Cause(&["haproxy.maxconn"]),
        ..PLAIN
    },
    Case {
        name: "haproxy-frontend",
        fault: "maxconn 100 of the frontend",
        product: "haproxy",
        flags: rising!("--set frontend.maxconn=100"),
        expect: Cause(&["haproxy.frontend.maxconn"]),
        ..PLAIN
    },
    Case {
        name: "haproxy-server",
        fault: "maxconn 20 of the only server, timeout queue 500ms",
        product: "haproxy",
        flags: rising!("--set server.maxconn=20 --set timeout.queue=500ms"),
        expect: Cause(&["haproxy.server.maxconn"]),
        ..PLAIN
    },
    Case {
        name: "haproxy-backlog",
        fault: "backlog 4, 600 clients at once",
        product: "haproxy",
        flags: "--set backlog=4 --set maxconn=4000 --users 600 --spawn-rate 100000 --backend-time 20ms --new-connections",
        objective: Some("errors < 0.1%, p99 < 700ms"),
        expect: Cause(&["haproxy.backlog"]),
        off: AT_ONCE,
        ..PLAIN
    },
    Case {
        name: "haproxy-timeout",
        fault: "a backend of 1.5 s behind timeout server 1s",
        product: "haproxy",
        flags: "--set timeout.server=1s --users 20 --spawn-rate 20 --backend-time 1500ms",
        expect: Cause(&["haproxy.timeout.server", "backend.service_time"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "haproxy-refused",
        fault: "nobody listens where the server should be",
        product: "haproxy",
        flags: "--users 20 --spawn-rate 20",
        config: Some(
            "defaults\n  mode http\n  timeout connect 1s\n  timeout client 9s\n  timeout server 9s\nfrontend f\n  bind :80\n  \
             default_backend b\nbackend b\n  server s {backend}\n",
        ),
        behind: Nobody,
        expect: Cause(&["haproxy.backend"]),
        off: NO_NUMBER,
        ..PLAIN
    },
];
