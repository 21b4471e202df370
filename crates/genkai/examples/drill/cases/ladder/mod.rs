//! Several limits, one behind the other: told in order, each where it is met once the one before it is lifted.

mod apache;
mod caches;
mod caddy;
mod squid;
mod tiers;
mod waits;

use super::Behind::{Alone, Origin};
use super::{Between, Case, Expect};

pub(super) fn cases() -> Vec<Case> {
    let own = [haproxy(), nginx(), nginx_twice(), php_fpm()].into_iter().flatten();
    own.chain(apache::cases())
        .chain(caddy::cases())
        .chain(tiers::cases())
        .chain(waits::cases())
        .chain(caches::cases())
        .chain(squid::cases())
        .collect()
}

fn ladder(product: &'static str, name: &str, fault: String, ids: &[&'static str]) -> Case {
    let case = Case::of(product, format!("ladder-{product}-{name}"), fault).rising("--backend embedded --max-limits 4");
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
}

/// The same before an origin of the user's.
fn before_origin(product: &'static str, name: &str, fault: String, ids: &[&'static str]) -> Case {
    let case = Case::of(product, format!("ladder-{product}-{name}"), fault).flags(USERS);
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case.behind(Origin("--service-time 200ms")) }
}

/// Users that rise slowly enough for each break to show where it is.
const USERS: &str = "--users 160 --spawn-rate 20 --max-limits 4";

/// Global, frontend, server: who waits for the server is refused after 50 ms.
fn haproxy() -> Vec<Case> {
    let [global, front, server] = ["haproxy.maxconn", "haproxy.frontend.maxconn", "haproxy.server.maxconn"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [all, of_front, of_server] = of;
        let fault = format!("maxconn {all} of global, {of_front} of the frontend, {of_server} of the server");
        ladder("haproxy", name, fault, ids).config(format!(
            "global\n  maxconn {all}\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  \
             timeout queue 50ms\nfrontend f\n  bind :80\n  maxconn {of_front}\n  default_backend b\nbackend b\n  \
             server s 127.0.0.1:9 maxconn {of_server}\n"
        ))
    };
    vec![
        case("global-frontend-server", [40, 60, 80], &[global, front, server]),
        case("frontend-global-server", [55, 35, 80], &[front, global, server]),
        case("server-global-frontend", [75, 110, 40], &[server, global, front]),
        case("global-server-frontend", [30, 110, 60], &[global, server, front]),
        case("frontend-server-global", [120, 40, 70], &[front, server, global]),
        case("server-frontend-global", [110, 75, 40], &[server, front, global]),
    ]
}

/// Connections of a worker, of an address, of the server behind. A client takes two connections of a worker.
fn nginx() -> Vec<Case> {
    let [worker, address, behind] = ["nginx.worker_connections", "nginx.limit_conn", "nginx.upstream.max_conns"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [of_worker, of_address, of_server] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, max_conns {of_server}");
        ladder("nginx", name, fault, ids).config(format!(
            "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  \
             limit_conn_zone $binary_remote_addr zone=a:1m;\n  upstream u {{ zone u 64k; server 127.0.0.1:9 max_conns={of_server}; }}\n  \
             server {{\n    listen 8080;\n    location / {{ limit_conn a {of_address}; proxy_pass http://u; }}\n  }}\n}}\n"
        ))
    };
    vec![
        case("worker-address-server", [90, 70, 110], &[worker, address, behind]),
        case("address-server-worker", [220, 30, 60], &[address, behind, worker]),
        case("server-worker-address", [130, 100, 30], &[behind, worker, address]),
        case("address-worker-server", [140, 40, 110], &[address, worker, behind]),
        case("server-address-worker", [230, 70, 40], &[behind, address, worker]),
        case("worker-server-address", [80, 110, 70], &[worker, behind, address]),
    ]
}

/// The same through itself: a client takes four connections of a worker.
fn nginx_twice() -> Vec<Case> {
    let [worker, address, behind] = ["nginx.worker_connections", "nginx.limit_conn", "nginx.upstream.max_conns"];
    let case = |name: &str, of: [u32; 3], ids: &[&'static str]| {
        let [of_worker, of_address, of_server] = of;
        let fault = format!(
            "worker_connections {of_worker}, limit_conn {of_address}, max_conns {of_server}, through a second server of its own"
        );
        before_origin("nginx", &format!("twice-{name}"), fault, ids).config(format!(
            "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  \
             limit_conn_zone $binary_remote_addr zone=a:1m;\n  upstream u {{ zone u 64k; server {{backend}} max_conns={of_server}; }}\n  \
             server {{\n    listen 8080;\n    location / {{ limit_conn a {of_address}; proxy_pass http://unix:{{dir}}/own.sock; }}\n  }}\n  \
             server {{\n    listen unix:{{dir}}/own.sock;\n    location / {{ proxy_pass http://u; }}\n  }}\n}}\n"
        ))
    };
    vec![case("worker-address-server", [180, 70, 110], &[worker, address, behind])]
}

/// nginx before php-fpm, whose pool makes wait: who waits for more than a fifth of what a page takes is late.
fn php_fpm() -> Vec<Case> {
    let [worker, address, pool] = ["nginx.worker_connections", "nginx.limit_conn", "php-fpm.www.pm.max_children"];
    let case = |name: &str, of: [u32; 2], server: &'static Between, ids: &[&'static str]| {
        let [of_worker, of_address] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, before a pool of php-fpm's");
        let case = Case::of("nginx", format!("ladder-fpm-{name}"), fault)
            .flags("--users 60 --spawn-rate 5 --max-limits 4")
            .objective("errors < 0.1%, p99 < 360ms")
            .config(format!(
                "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  \
                 limit_conn_zone $binary_remote_addr zone=a:1m;\n  server {{\n    listen 8080;\n    \
                 location / {{ limit_conn a {of_address}; fastcgi_pass unix:{{dir}}/fpm.sock; fastcgi_param SCRIPT_FILENAME \
                 {{dir}}/index.php; fastcgi_param REQUEST_METHOD GET; fastcgi_param SCRIPT_NAME /index.php; }}\n  }}\n}}\n"
            ))
            .beside("index.php", "<?php usleep(300000); echo 'here';\n")
            .behind(Alone(Between { ..*server }));
        Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
    };
    vec![
        case("worker-address-pool", [30, 24], &POOL_OF_34, &[worker, address, pool]),
        case("address-worker-pool", [50, 12], &POOL_OF_34, &[address, worker, pool]),
        case("pool-worker-address", [50, 34], &POOL_OF_10, &[pool, worker, address]),
        case("pool-address-worker", [76, 22], &POOL_OF_10, &[pool, address, worker]),
        case("worker-pool-address", [24, 34], &POOL_OF_20, &[worker, pool, address]),
        case("address-pool-worker", [76, 10], &POOL_OF_20, &[address, pool, worker]),
    ]
}

/// A static pool of so many children.
const fn pool(file: &'static str) -> Between {
    Between { command: &["php-fpm8.2", "-F", "-y", "{dir}/behind.conf"], file }
}

const POOL_OF_10: Between = pool(
    "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = www-data\n\
     pm = static\npm.max_children = 10\n",
);

const POOL_OF_20: Between = pool(
    "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = www-data\n\
     pm = static\npm.max_children = 20\n",
);

const POOL_OF_34: Between = pool(
    "[global]\nerror_log = {dir}/fpm.log\n[www]\nlisten = {dir}/fpm.sock\nlisten.mode = 0666\nuser = www-data\ngroup = www-data\n\
     pm = static\npm.max_children = 34\n",
);
