//! Faults that are not the product's but those of what stands behind it: each behind every proxy.

use super::Behind::{Origin, Scripted, Server};
use super::{Between, Case, DIED, NO_NUMBER, PAGE, PATIENCE, PROXIES, REFUSED, SLOW};

/// What every proxy can stand before.
type Family = fn(&'static str, &'static str) -> Vec<Case>;

pub(super) fn cases() -> Vec<Case> {
    let families: [Family; 9] = [pools, queues, slow, users, php_fpm, database, at_random, gone, servers];
    let family = |family: Family| PROXIES.into_iter().flat_map(move |(product, bears)| family(product, bears));
    families.into_iter().flat_map(family).collect()
}

fn pools(product: &'static str, bears: &'static str) -> Vec<Case> {
    let one = |workers: u32, took: u32| {
        let name =
            if workers == 10 { format!("backend-pool-{product}") } else { format!("backend-pool-{workers}-{product}") };
        Case::of(product, name, format!("a backend with {workers} workers of {took} ms behind {product}"))
            .flags("--users 100 --spawn-rate 15")
            .flags(format!("--backend-time {took}ms --backend-workers {workers}"))
            .flags(bears)
            .objective("errors < 0.1%, p99 < 500ms")
            .cause("backend.workers")
    };
    vec![one(10, 100), one(5, 50), one(20, 150)]
}

fn queues(product: &'static str, bears: &'static str) -> Vec<Case> {
    let one = |workers: u32, queue: u32| {
        let name = if product == "haproxy" && queue == 30 {
            "backend-queue".to_owned()
        } else {
            format!("backend-queue-{queue}-{product}")
        };
        Case::of(product, name, format!("a backend that answers 503 beyond {workers} in service and {queue} waiting"))
            .flags("--users 100 --spawn-rate 15 --backend-time 200ms")
            .flags(format!("--backend-workers {workers} --backend-queue {queue}"))
            .flags(bears)
            .either(
                &["backend.queue", "backend.workers"],
                "the queue is full because all workers are busy: one limit of two numbers",
            )
    };
    vec![one(20, 30), one(10, 10)]
}

fn slow(product: &'static str, bears: &'static str) -> Vec<Case> {
    let one = |name: String, time: &str| {
        Case::of(product, name, format!("a backend that takes {time} alone"))
            .flags("--users 40 --spawn-rate 25")
            .flags(format!("--backend-time {time}"))
            .flags(bears)
            .objective("p99 < 500ms")
            .cause("backend.service_time")
            .off(SLOW)
    };
    let name = if product == "nginx" { "slow-backend".to_owned() } else { format!("slow-backend-{product}") };
    vec![one(name, "700ms"), one(format!("random-backend-{product}"), "exp(300ms)")]
}

/// Backends that genkai did not start: all that it knows of them is how they answer.
fn users(product: &'static str, bears: &'static str) -> Vec<Case> {
    let name = if product == "haproxy" {
        "slow-backend-of-users".to_owned()
    } else {
        format!("slow-backend-of-users-{product}")
    };
    let slow = Case::of(product, name, format!("a backend of the user's that takes 400 ms alone, behind {product}"))
        .flags("--users 20 --spawn-rate 20")
        .flags(bears)
        .objective("p99 < 300ms")
        .behind(Origin("--service-time 400ms"))
        .cause("backend.alone")
        .off(SLOW);
    let pool =
        Case::of(product, format!("pool-of-users-{product}"), "a backend of the user's with 8 workers of 100 ms")
            .flags("--users 80 --spawn-rate 15")
            .flags(bears)
            .objective("errors < 0.1%, p99 < 400ms")
            .behind(Origin("--service-time 100ms --workers 8"))
            .cause("backend.by_itself")
            .off(NO_NUMBER);
    let lock = Case::of(
        product,
        format!("lock-of-users-{product}"),
        "a backend of the user's with a lock that is held for 10 ms",
    )
    .flags("--users 80 --spawn-rate 15")
    .flags(bears)
    .objective("errors < 0.1%, p99 < 300ms")
    .behind(Scripted("lock --held 0.01 --time 0.001"))
    .cause("backend.by_itself")
    .off(NO_NUMBER);
    vec![slow, pool, lock]
}

fn php_fpm(product: &'static str, _: &'static str) -> Vec<Case> {
    let one = |children: u32| {
        let name = if children == 1 { format!("php-fpm-{product}") } else { format!("php-fpm-{children}-{product}") };
        let fault = format!(
            "WordPress with pm.max_children {children}, whose pages wait 200 ms for another service, behind {product}"
        );
        Case::of(product, name, fault)
            .flags("--backend wordpress --backend-time 200ms")
            .flags(format!("--fpm-children {children} --users {} --spawn-rate {}", 12 * children, 2 * children))
            .objective("errors < 0.1%, p99 < 1s")
            .cause("backend.php_fpm.max_children")
            .off(PAGE)
    };
    if product == "caddy" { vec![one(1)] } else { [1, 2].map(one).into() }
}

/// A database that takes fewer connections than there are children that work with it.
fn database(product: &'static str, bears: &'static str) -> Vec<Case> {
    let fault = format!("WordPress with 30 children before a MariaDB with max_connections 12, behind {product}");
    vec![
        Case::of(product, format!("mariadb-{product}"), fault)
            .flags("--backend wordpress --backend-time 500ms --fpm-children 30 --db-connections 12")
            .flags("--users 30 --spawn-rate 4")
            .flags(bears)
            .cause("backend.mariadb.max_connections")
            .off(PAGE),
    ]
}

/// Failures that have no level: whoever looks for the first of them finds another place each time.
fn at_random(product: &'static str, bears: &'static str) -> Vec<Case> {
    let one = |share: &str, status: u32| {
        Case::of(
            product,
            format!("random-{status}-{product}"),
            format!("a backend that answers {status} to {share} of requests at random"),
        )
        .flags("--users 40 --spawn-rate 20")
        .flags(bears)
        .behind(Scripted(match status {
            500 => "errors --share 0.03 --status 500 --time 0.02 --seed 7",
            _ => "errors --share 0.02 --status 503 --time 0.02 --seed 9",
        }))
        .cause("backend.by_itself")
        .off(NO_NUMBER)
    };
    vec![one("3 %", 500), one("2 %", 503)]
}

/// Backends that end, or refuse for a while.
fn gone(product: &'static str, bears: &'static str) -> Vec<Case> {
    let dies = Case::of(product, format!("dies-{product}"), "a backend that ends after 400 requests")
        // It is called dead where it refuses for five seconds, to the end.
        .flags("--users 40 --spawn-rate 20 --hold 9s")
        .flags(bears)
        .behind(Scripted("die --after 400 --time 0.05"))
        .cause(DIED)
        .off(NO_NUMBER);
    let refuses = Case::of(
        product,
        format!("refuses-{product}"),
        "a backend that refuses for 1 s every 6 s, in the same process",
    )
    .flags("--users 40 --spawn-rate 10 --hold 8s")
    .flags(bears)
    .behind(Scripted("restart --every 6 --down 1 --time 0.05"))
    .off(NO_NUMBER);
    let refuses = match product {
        // It asks again for three seconds: nothing fails.
        "haproxy" => refuses,
        _ => refuses.cause(REFUSED),
    };
    vec![dies, refuses]
}

/// Real servers between the proxy and an origin, each with a limit of its own that genkai is not told of.
fn servers(product: &'static str, bears: &'static str) -> Vec<Case> {
    if product == "caddy" {
        return Vec::new();
    }
    let one = |name: &str, fault: &str, between: Between| {
        Case::of(product, format!("{name}-{product}"), format!("{fault}, behind {product}"))
            .flags("--users 60 --spawn-rate 15")
            .flags(bears)
            .objective("errors < 0.1%, p99 < 500ms")
            .behind(Server(between, "--service-time 100ms"))
            .cause("backend.by_itself")
            .off(PATIENCE)
    };
    vec![
        one("nginx-behind", "an nginx whose limit_conn is 10", NGINX),
        one("varnish-behind", "a Varnish that gives its backend 8 connections", VARNISH),
        one("squid-behind", "a Squid that gives its parent 8 connections, none of them kept", SQUID),
    ]
}

const NGINX: Between = Between {
    command: &["nginx", "-p", "{dir}", "-c", "{dir}/behind.conf", "-e", "{dir}/behind.err", "-g", "daemon off;"],
    file: "worker_processes 1;\npid {dir}/behind.pid;\nerror_log {dir}/behind.err;\nevents { worker_connections 512; }\nhttp {\n  \
           access_log off;\n  limit_conn_zone $server_port zone=z:1m;\n  server {\n    listen 127.0.0.1:{port};\n    location / { \
           limit_conn z 10; proxy_pass http://{origin}; }\n  }\n}\n",
};

const VARNISH: Between = Between {
    command: &[
        "varnishd",
        "-F",
        "-n",
        "{dir}/varnish",
        "-a",
        "127.0.0.1:{port}",
        "-f",
        "{dir}/behind.conf",
        "-s",
        "malloc,16m",
    ],
    file: "vcl 4.1;\nbackend web { .host = \"{origin host}\"; .port = \"{origin port}\"; .max_connections = 8; }\nsub vcl_recv { return \
           (pass); }\n",
};

/// Without kept connections: one that is kept and idle counts as one of the 8, so that after a load every request is refused, whatever comes.
const SQUID: Between = Between {
    command: &["squid", "-N", "-f", "{dir}/behind.conf"],
    file: "http_port 127.0.0.1:{port} accel defaultsite=localhost no-vhost\ncache_peer {origin host} parent {origin port} 0 no-query \
           originserver max-conn=8 connect-fail-limit=1000\nserver_persistent_connections off\nhttp_access allow all\ncache deny all\npid_filename {dir}/squid.pid\n\
           cache_log {dir}/cache.log\naccess_log none\ncoredump_dir {dir}\nshutdown_lifetime 1 second\nnever_direct allow all\n\
           cache_effective_user proxy\n",
};
