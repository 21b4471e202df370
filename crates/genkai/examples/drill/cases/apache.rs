//! Faults of Apache.

use super::Behind::Nobody;
use super::Expect::Cause;
use super::{AT_ONCE, Case, HANGS, NO_NUMBER, PLAIN, SLOW};

pub(super) const CASES: &[Case] = &[
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
        flags: "--users 120 --spawn-rate 15 --backend-time 200ms --timeout 8s",
        config: Some(
            "LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so\n\
             LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
             LoadModule status_module /usr/lib/apache2/modules/mod_status.so\n\
             LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\n\
             LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\n\
             User www-data\nGroup www-data\nListen 80\nThreadsPerChild 25\nServerLimit 3\nMaxRequestWorkers 400\n\
             ProxyPass / http://{backend}/ retry=0\n",
        ),
        expect: Cause(&["apache.ServerLimit"]),
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
];
