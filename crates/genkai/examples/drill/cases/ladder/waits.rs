//! Ladders with a server behind that makes wait and refuses nobody: an Apache, whose workers are all busy. Where that is met is where the objective
//! allows no longer wait: at as many users for each worker as a page may take of its time.

use super::super::Behind::Server;
use super::super::{Between, Case, Expect};

pub(super) fn cases() -> Vec<Case> {
    [nginx(), haproxy()].into_iter().flatten().collect()
}

const PAGE: &str = "--service-time 300ms";
/// A page may take three times as long as it does alone.
const LATE: &str = "errors < 0.1%, p99 < 900ms";

fn case(product: &'static str, name: &str, fault: String, config: String, ids: &[&'static str]) -> Case {
    let case = Case::of(product, format!("ladder-waits-{name}"), fault)
        .flags("--users 70 --spawn-rate 5 --max-limits 4")
        .objective(LATE)
        .config(config);
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
}

const WORKERS: &str = "apache.MaxRequestWorkers";

/// nginx, which opens a connection for each request.
fn nginx() -> Vec<Case> {
    let [worker, address] = ["nginx.worker_connections", "nginx.limit_conn"];
    let one = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [of_worker, of_address] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, before workers of an Apache");
        let config = format!(
            "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  \
             limit_conn_zone $binary_remote_addr zone=a:1m;\n  server {{\n    listen 8080;\n    \
             location / {{ limit_conn a {of_address}; proxy_pass http://{{backend}}; }}\n  }}\n}}\n"
        );
        case("nginx", &format!("nginx-{name}"), fault, config, ids).behind(Server(server, PAGE))
    };
    vec![
        one("prefork-address-behind-worker", [110, 15], PREFORK_OF_10, &[address, WORKERS, worker]),
        one("prefork-behind-address-worker", [110, 40], PREFORK_OF_10, &[WORKERS, address, worker]),
        one("event-address-behind-worker", [110, 15], EVENT_OF_10, &[address, WORKERS, worker]),
        one("event-behind-worker-address", [80, 54], EVENT_OF_10, &[WORKERS, worker, address]),
    ]
}

/// HAProxy, which keeps its connections: those on which nothing is asked take no worker of the event MPM.
fn haproxy() -> Vec<Case> {
    let [all, server] = ["haproxy.maxconn", "haproxy.server.maxconn"];
    let one = |name: &str, of: [u32; 2], between: Between, ids: &[&'static str]| {
        let [of_all, of_server] = of;
        let fault = format!("maxconn {of_all} of global, {of_server} of the server, before workers of an Apache");
        let config = format!(
            "global\n  maxconn {of_all}\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 20s\n  timeout server 20s\n  \
             timeout queue 50ms\nfrontend f\n  bind :80\n  default_backend b\nbackend b\n  server s {{backend}} maxconn {of_server}\n"
        );
        case("haproxy", &format!("haproxy-{name}"), fault, config, ids).behind(Server(between, PAGE))
    };
    vec![
        one("event-behind-server-all", [54, 40], EVENT_OF_10, &[WORKERS, server, all]),
        one("event-server-behind-all", [50, 12], EVENT_OF_10, &[server, WORKERS, all]),
    ]
}

/// An Apache of these workers.
macro_rules! apache {
    ($mpm:literal, $lines:literal) => {
        Between {
            command: &["apache2", "-DFOREGROUND", "-f", "{dir}/behind.conf"],
            file: concat!(
                "ServerRoot {dir}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {dir}/apache.pid\nErrorLog {dir}/error.log\n\
                 LoadModule mpm_",
                $mpm,
                "_module /usr/lib/apache2/modules/mod_mpm_",
                $mpm,
                ".so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
                 LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\n\
                 LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\nUser www-data\nGroup www-data\n",
                $lines,
                "\nProxyPass / http://{origin}/\n"
            ),
        }
    };
}

const PREFORK_OF_10: Between =
    apache!("prefork", "StartServers 10\nMinSpareServers 100\nMaxSpareServers 150\nMaxRequestWorkers 10");
const EVENT_OF_10: Between =
    apache!("event", "StartServers 1\nServerLimit 1\nThreadLimit 200\nThreadsPerChild 10\nMaxRequestWorkers 10");
