//! The drill's cases: faults that are put into a system on purpose, and what a diagnosis must say of each. This is the one list;
//! the test suite runs some of it.

/// One fault, or an innocent look-alike.
pub(crate) struct Case {
    /// Short name.
    pub(crate) name: &'static str,
    /// What is done to the system.
    pub(crate) fault: &'static str,
    /// Product under test.
    pub(crate) product: &'static str,
    /// Flags of `genkai tune`, split at spaces.
    pub(crate) flags: &'static str,
    /// `--objective`, where it is not the default.
    pub(crate) objective: Option<&'static str>,
    /// Configuration; `{backend}` is the address of what stands behind.
    pub(crate) config: Option<&'static str>,
    /// What stands behind.
    pub(crate) behind: Behind,
    /// Whether another program takes all processor time there is.
    pub(crate) hog: bool,
    /// What must be said.
    pub(crate) expect: Expect,
    /// Why the break need not come where the formula puts it; empty: it must.
    pub(crate) off: &'static str,
}

/// What stands behind the product.
pub(crate) enum Behind {
    /// What the flags say (`--backend-...`).
    Flags,
    /// An origin of the user's with these flags.
    Origin(&'static str),
    /// The same behind a link with these flags.
    Link(&'static str, &'static str),
    /// Nobody: a port that refuses, named in the configuration.
    Nobody,
}

/// What must be said.
pub(crate) enum Expect {
    /// One of these limits is the cause, and no other.
    Cause(&'static [&'static str]),
    /// The objective holds.
    Holds,
    /// The client was the limit: nothing is said of the servers.
    Client,
    /// One of these limits, or that the client was the limit: both sides had no processor time.
    Crowded(&'static [&'static str]),
}

use Behind::{Flags, Link, Nobody, Origin};
use Expect::{Cause, Client, Crowded, Holds};

const PLAIN: Case = Case {
    name: "",
    fault: "",
    product: "nginx",
    flags: "",
    objective: None,
    config: None,
    behind: Flags,
    hog: false,
    expect: Holds,
    off: "",
};

const AT_ONCE: &str = "all clients come at once: there is no level at which it begins";
const NO_NUMBER: &str = "no number predicts it: the law is unknown";
const SIZE: &str = "it counts bytes, not clients";
const SLOW: &str = "a time, not a number of clients";
const HANGS: &str = "who is not accepted hangs in the accept queue: that is seen only when it has lasted";
const PAGE: &str = "what a page takes is measured before the load, when it has the processors to itself";
const PATIENCE: &str = "requests wait first: it fails where the wait exceeds what is allowed, not where waiting begins";

/// A load whose level rises slowly enough for the break to show where it is.
macro_rules! rising {
    ($rest:literal) => {
        concat!("--users 160 --spawn-rate 20 --backend-time 200ms ", $rest)
    };
}

pub(crate) const CASES: &[Case] = &[
    // nginx
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
    // Apache
    Case {
        name: "apache-workers",
        fault: "MaxRequestWorkers 75 of the worker MPM",
        product: "apache",
        flags: "--set MaxRequestWorkers=75 --users 120 --spawn-rate 15 --backend-time 200ms --timeout 8s",
        expect: Cause(&["apache.MaxRequestWorkers"]),
        off: HANGS,
        ..PLAIN
    },
    Case {
        name: "apache-prefork",
        fault: "MaxRequestWorkers 60 of prefork",
        product: "apache",
        flags: "--set mpm=prefork --set MaxRequestWorkers=60 --set StartServers=60 --users 100 --spawn-rate 15 \
                --backend-time 200ms --timeout 8s",
        expect: Cause(&["apache.MaxRequestWorkers"]),
        off: HANGS,
        ..PLAIN
    },
    Case {
        name: "apache-clamped",
        fault: "MaxRequestWorkers 400 that ServerLimit 3 clamps to 75",
        product: "apache",
        flags: "--set ServerLimit=3 --set MaxRequestWorkers=75 --set ThreadsPerChild=25 --users 120 --spawn-rate 15 \
                --backend-time 200ms --timeout 8s",
        expect: Cause(&["apache.MaxRequestWorkers"]),
        off: HANGS,
        ..PLAIN
    },
    Case {
        name: "apache-backlog",
        fault: "ListenBacklog 4, 250 clients at once",
        product: "apache",
        flags: "--set ListenBacklog=4 --set MaxRequestWorkers=400 --set StartServers=12 --users 250 --spawn-rate 100000 \
                --backend-time 20ms --new-connections",
        objective: Some("errors < 0.1%, p99 < 700ms"),
        expect: Cause(&["apache.ListenBacklog"]),
        off: AT_ONCE,
        ..PLAIN
    },
    Case {
        name: "apache-pool",
        fault: "ProxyPass max=10 acquire=200 of each of Apache's 4 children",
        product: "apache",
        flags: "--set ProxyPass.max=10 --set ProxyPass.acquire=200 --set MaxRequestWorkers=100 --set StartServers=4 \
                --users 120 --spawn-rate 15 --backend-time 300ms",
        expect: Cause(&["apache.ProxyPass.max"]),
        off: "connections spread unevenly over the children, so the first pool is full before all are",
        ..PLAIN
    },
    Case {
        name: "apache-refused",
        fault: "nobody listens where the backend should be",
        product: "apache",
        flags: "--users 20 --spawn-rate 20",
        config: Some(
            "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n\
             LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
             LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\n\
             LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\n\
             User www-data\nGroup www-data\nListen 80\nProxyPass / http://{backend}/ retry=0\n",
        ),
        behind: Nobody,
        expect: Cause(&["apache.backend"]),
        off: NO_NUMBER,
        ..PLAIN
    },
    Case {
        name: "apache-timeout",
        fault: "a backend of 2.5 s behind ProxyTimeout 1",
        product: "apache",
        flags: "--set ProxyTimeout=1 --users 20 --spawn-rate 20 --backend-time 2500ms",
        expect: Cause(&["apache.ProxyTimeout", "backend.service_time"]),
        off: SLOW,
        ..PLAIN
    },
    // HAProxy
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
    // Not the product: the backend.
    Case {
        name: "backend-pool-nginx",
        fault: "a backend with 10 workers of 100 ms behind nginx",
        flags: "--users 100 --spawn-rate 15 --backend-time 100ms --backend-workers 10",
        objective: Some("errors < 0.1%, p99 < 500ms"),
        expect: Cause(&["backend.workers"]),
        ..PLAIN
    },
    Case {
        name: "backend-pool-apache",
        fault: "the same behind Apache",
        product: "apache",
        flags: "--set MaxRequestWorkers=200 --users 100 --spawn-rate 15 --backend-time 100ms --backend-workers 10",
        objective: Some("errors < 0.1%, p99 < 500ms"),
        expect: Cause(&["backend.workers"]),
        ..PLAIN
    },
    Case {
        name: "backend-pool-haproxy",
        fault: "the same behind HAProxy",
        product: "haproxy",
        flags: "--users 100 --spawn-rate 15 --backend-time 100ms --backend-workers 10",
        objective: Some("errors < 0.1%, p99 < 500ms"),
        expect: Cause(&["backend.workers"]),
        ..PLAIN
    },
    Case {
        name: "backend-queue",
        fault: "a backend that answers 503 beyond 20 in service and 30 waiting",
        product: "haproxy",
        flags: "--users 100 --spawn-rate 15 --backend-time 200ms --backend-workers 20 --backend-queue 30",
        expect: Cause(&["backend.queue", "backend.workers"]),
        ..PLAIN
    },
    Case {
        name: "slow-backend",
        fault: "a backend that takes 700 ms alone",
        flags: "--users 40 --spawn-rate 25 --backend-time 700ms",
        objective: Some("p99 < 500ms"),
        expect: Cause(&["backend.service_time"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "slow-backend-of-users",
        fault: "a backend of the user's that takes 400 ms alone, behind HAProxy",
        product: "haproxy",
        flags: "--users 20 --spawn-rate 20",
        objective: Some("p99 < 300ms"),
        behind: Origin("--service-time 400ms"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "php-fpm-nginx",
        fault: "WordPress with pm.max_children 1 behind nginx",
        flags: "--backend wordpress --fpm-children 1 --users 20 --spawn-rate 10",
        objective: Some("errors < 0.1%, p99 < 1s"),
        expect: Cause(&["backend.php_fpm.max_children"]),
        off: PAGE,
        ..PLAIN
    },
    Case {
        name: "php-fpm-apache",
        fault: "the same behind Apache",
        product: "apache",
        flags: "--backend wordpress --fpm-children 1 --users 20 --spawn-rate 10",
        objective: Some("errors < 0.1%, p99 < 1s"),
        expect: Cause(&["backend.php_fpm.max_children"]),
        off: PAGE,
        ..PLAIN
    },
    Case {
        name: "php-fpm-haproxy",
        fault: "the same behind HAProxy",
        product: "haproxy",
        flags: "--backend wordpress --fpm-children 1 --users 20 --spawn-rate 10",
        objective: Some("errors < 0.1%, p99 < 1s"),
        expect: Cause(&["backend.php_fpm.max_children"]),
        off: PAGE,
        ..PLAIN
    },
    // Innocent look-alikes.
    Case {
        name: "late-link",
        fault: "a link of 2 x 200 ms between nginx and its backend",
        flags: "--users 20 --spawn-rate 20",
        objective: Some("p99 < 300ms"),
        behind: Link("--service-time 10ms", "--delay 200ms"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "lossy-link",
        fault: "a link on which one piece in ten comes 200 ms later",
        flags: "--users 40 --spawn-rate 20",
        objective: Some("errors < 0.1%, p99 < 150ms"),
        behind: Link("--service-time 10ms", "--loss 0.1"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "resetting-link",
        fault: "a link that resets one connection in ten",
        flags: "--users 40 --spawn-rate 20",
        behind: Link("--service-time 10ms", "--reset 0.1"),
        expect: Cause(&["nginx.upstream"]),
        off: NO_NUMBER,
        ..PLAIN
    },
    Case {
        name: "narrow-link",
        fault: "a link of 1 MB/s under bodies of 20 kB",
        flags: "--users 60 --spawn-rate 15",
        objective: Some("errors < 0.1%, p99 < 500ms"),
        behind: Link("--service-time 10ms --body 20k", "--rate 1m"),
        expect: Cause(&[]),
        off: NO_NUMBER,
        ..PLAIN
    },
    Case {
        name: "gc-pauses",
        fault: "a backend that stands still for 900 ms every 3 s",
        flags: "--users 40 --spawn-rate 20",
        objective: Some("errors < 0.1%, p99 < 300ms"),
        behind: Origin("--service-time 20ms --stall 900ms --stall-every 3s"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "cpu-hog",
        fault: "another program takes every core",
        flags: "--users 100 --spawn-rate 20 --backend-time 20ms --think 20ms",
        objective: Some("errors < 0.1%, p99 < 60ms"),
        hog: true,
        expect: Crowded(&["machine.cpu", "machine.servers_cpu", "nginx.cpu"]),
        off: "what a request costs is not in the configuration",
        ..PLAIN
    },
    Case {
        name: "busy-client",
        fault: "1000 requests/s over 50 connections that are all busy",
        flags: "--rate 1000 --ramp 2s --connections 50 --backend-time 300ms",
        expect: Client,
        ..PLAIN
    },
    Case {
        name: "healthy-nginx",
        fault: "nothing",
        flags: "--set worker_connections=4096 --users 100 --spawn-rate 40 --backend-time 100ms",
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "healthy-apache",
        fault: "nothing",
        product: "apache",
        flags: "--set MaxRequestWorkers=400 --users 100 --spawn-rate 40 --backend-time 100ms",
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "healthy-haproxy",
        fault: "nothing",
        product: "haproxy",
        flags: "--users 100 --spawn-rate 40 --backend-time 100ms",
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "waiting-in-haproxy",
        fault: "requests wait in HAProxy's queue, and nobody minds",
        product: "haproxy",
        flags: "--set server.maxconn=20 --users 60 --spawn-rate 30 --backend-time 50ms",
        expect: Holds,
        off: PATIENCE,
        ..PLAIN
    },
];
