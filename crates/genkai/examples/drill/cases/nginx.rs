//! Faults of nginx.

use super::Behind::Nobody;
use super::Expect::Cause;
use super::{AT_ONCE, Case, HANGS, NO_NUMBER, PLAIN, SIZE, SLOW, rising};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "nginx-worker-connections",
        fault: "worker_connections 200",
        flags: rising!("--set worker_connections=200"),
        expect: Cause(&["nginx.worker_connections"]),
        ..PLAIN
    },
    Case {
        name: "nginx-odd-slots",
        fault: "worker_connections 201: one slot is left for a client and none for its upstream",
        flags: rising!("--set worker_connections=201"),
        expect: Cause(&["nginx.worker_connections"]),
        ..PLAIN
    },
    Case {
        name: "nginx-descriptors",
        fault: "worker_rlimit_nofile 200",
        flags: rising!("--set worker_rlimit_nofile=200"),
        expect: Cause(&["nginx.worker_rlimit_nofile"]),
        off: HANGS,
        ..PLAIN
    },
    Case {
        name: "nginx-body",
        fault: "client_max_body_size 8k, bodies of 20k",
        flags: "--set client_max_body_size=8k --body-size 20k --users 10 --spawn-rate 10 --backend-time 50ms",
        expect: Cause(&["nginx.client_max_body_size"]),
        off: SIZE,
        ..PLAIN
    },
    Case {
        name: "nginx-limit-conn",
        fault: "limit_conn of 80 for an address",
        flags: rising!("--backend embedded"),
        config: Some(
            "worker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  limit_conn_zone $binary_remote_addr zone=z:1m;\n  \
             server {\n    listen 8080;\n    location / {\n      limit_conn z 80;\n      proxy_pass http://127.0.0.1:9;\n    }\n  }\n}\n",
        ),
        expect: Cause(&["nginx.limit_conn"]),
        ..PLAIN
    },
    Case {
        name: "nginx-limit-req",
        fault: "limit_req of 400 requests/s for an address",
        flags: rising!("--backend embedded"),
        config: Some(
            "worker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  limit_req_zone $binary_remote_addr zone=z:1m \
             rate=400r/s;\n  server {\n    listen 8080;\n    location / {\n      limit_req zone=z burst=20 nodelay;\n      \
             proxy_pass http://127.0.0.1:9;\n    }\n  }\n}\n",
        ),
        expect: Cause(&["nginx.limit_req"]),
        off: "users come back together, so a burst is full before the mean rate is reached",
        ..PLAIN
    },
    Case {
        name: "nginx-backlog",
        fault: "listen backlog=4, 600 clients at once",
        flags: "--set listen.backlog=4 --set worker_connections=4096 --users 600 --spawn-rate 100000 --backend-time 20ms \
                --new-connections",
        objective: Some("errors < 0.1%, p99 < 700ms"),
        expect: Cause(&["nginx.listen.backlog"]),
        off: AT_ONCE,
        ..PLAIN
    },
    Case {
        name: "nginx-max-conns",
        fault: "max_conns=80 of the upstream's only server",
        flags: rising!("--backend embedded"),
        config: Some(
            "worker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  upstream app { zone app 64k; server 127.0.0.1:9 \
             max_conns=80; }\n  server { listen 8080; location / { proxy_pass http://app; } }\n}\n",
        ),
        expect: Cause(&["nginx.upstream.max_conns"]),
        ..PLAIN
    },
    Case {
        name: "nginx-cpu",
        fault: "a regular expression that backtracks: one worker has no processor time left",
        flags: concat!(
            "--backend embedded --backend-time 1ms --backend-body 1k --users 100 --spawn-rate 50 --path ",
            "/aaaaaaaaaaaaaaaaaaaaaaaa!"
        ),
        objective: Some("errors < 0.1%, p99 < 200ms"),
        config: Some(
            "worker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  server {\n    listen 8080;\n    location ~ \
             \"^/(a|aa)+$\" { return 204; }\n    location / { proxy_pass http://127.0.0.1:9; }\n  }\n}\n",
        ),
        expect: Cause(&["nginx.cpu"]),
        off: "what a request costs is not in the configuration",
        ..PLAIN
    },
    Case {
        name: "nginx-read-timeout",
        fault: "a backend of 1.5 s behind proxy_read_timeout 1s",
        flags: "--set proxy_read_timeout=1s --users 20 --spawn-rate 20 --backend-time 1500ms",
        expect: Cause(&["nginx.proxy_timeouts", "backend.service_time"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "nginx-refused",
        fault: "nobody listens where the upstream should be",
        flags: "--users 20 --spawn-rate 20",
        config: Some("events { }\nhttp { server { listen 80; location / { proxy_pass http://{backend}; } } }\n"),
        behind: Nobody,
        expect: Cause(&["nginx.upstream"]),
        off: NO_NUMBER,
        ..PLAIN
    },
];
