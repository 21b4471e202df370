//! Faults that are not the product's but those of what stands behind it.

use super::Behind::Origin;
use super::Expect::Cause;
use super::{Case, PAGE, PLAIN, SLOW};

pub(super) const CASES: &[Case] = &[
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
        fault: "WordPress with pm.max_children 1, whose pages wait 200 ms for another service, behind nginx",
        flags: "--backend wordpress --fpm-children 1 --backend-time 200ms --users 12 --spawn-rate 2",
        objective: Some("errors < 0.1%, p99 < 1s"),
        expect: Cause(&["backend.php_fpm.max_children"]),
        off: PAGE,
        ..PLAIN
    },
    Case {
        name: "php-fpm-apache",
        fault: "the same behind Apache",
        product: "apache",
        flags: "--backend wordpress --fpm-children 1 --backend-time 200ms --users 12 --spawn-rate 2",
        objective: Some("errors < 0.1%, p99 < 1s"),
        expect: Cause(&["backend.php_fpm.max_children"]),
        off: PAGE,
        ..PLAIN
    },
    Case {
        name: "php-fpm-haproxy",
        fault: "the same behind HAProxy",
        product: "haproxy",
        flags: "--backend wordpress --fpm-children 1 --backend-time 200ms --users 12 --spawn-rate 2",
        objective: Some("errors < 0.1%, p99 < 1s"),
        expect: Cause(&["backend.php_fpm.max_children"]),
        off: PAGE,
        ..PLAIN
    },
];
