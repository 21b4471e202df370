//! Ladders over two servers: nginx or HAProxy before an Apache, whose workers are tried on a copy of it.

use super::super::Behind::Server;
use super::super::{Between, Case, Expect, HANGS};

pub(super) fn cases() -> Vec<Case> {
    [nginx(), haproxy()].into_iter().flatten().collect()
}

/// Users who come slowly and wait for a second: who finds no worker is seen to fail soon.
const USERS: &str = "--users 100 --spawn-rate 5 --timeout 1s --max-limits 5";

/// Connections of a worker and of an address, before workers.
fn nginx() -> Vec<Case> {
    let [worker, address, behind] = ["nginx.worker_connections", "nginx.limit_conn", "apache.MaxRequestWorkers"];
    let case = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [of_worker, of_address] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, before an Apache");
        Case {
            expect: Expect::Ladder { ids: ids.to_vec() },
            ..Case::of("nginx", format!("ladder-nginx-apache-{name}"), fault)
                .flags(USERS)
                .config(format!(
                    "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  \
                     limit_conn_zone $binary_remote_addr zone=a:1m;\n  server {{\n    listen 8080;\n    \
                     location / {{ limit_conn a {of_address}; proxy_pass http://{{backend}}; }}\n  }}\n}}\n"
                ))
                .behind(Server(server, "--service-time 200ms"))
                .off(HANGS)
        }
    };
    vec![
        case("worker-address-behind", [60, 45], APACHE_OF_60, &[worker, address, behind]),
        case("address-behind-worker", [160, 25], APACHE_OF_40, &[address, behind, worker]),
        case("behind-address-worker", [160, 50], APACHE_OF_20, &[behind, address, worker]),
    ]
}

/// All connections and those to a server, before workers.
fn haproxy() -> Vec<Case> {
    let [all, server, behind] = ["haproxy.maxconn", "haproxy.server.maxconn", "apache.MaxRequestWorkers"];
    let case = |name: &str, of: [u32; 2], between: Between, ids: &[&'static str]| {
        let [of_all, of_server] = of;
        let fault = format!("maxconn {of_all} of global, {of_server} of the server, before an Apache");
        Case {
            expect: Expect::Ladder { ids: ids.to_vec() },
            ..Case::of("haproxy", format!("ladder-haproxy-apache-{name}"), fault)
                .flags(USERS)
                .config(format!(
                    "global\n  maxconn {of_all}\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  \
                     timeout queue 50ms\nfrontend f\n  bind :80\n  default_backend b\nbackend b\n  server s {{backend}} maxconn {of_server}\n"
                ))
                .behind(Server(between, "--service-time 200ms"))
                .off(HANGS)
        }
    };
    vec![
        case("all-server-behind", [25, 40], APACHE_OF_60, &[all, server, behind]),
        case("server-behind-all", [60, 25], APACHE_OF_40, &[server, behind, all]),
    ]
}

/// One child of the worker MPM with so many threads.
macro_rules! apache {
    ($workers:literal) => {
        Between {
            command: &["apache2", "-DFOREGROUND", "-f", "{dir}/behind.conf"],
            file: concat!(
                "ServerRoot {dir}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {dir}/apache.pid\nErrorLog {dir}/error.log\n\
                 LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so\n\
                 LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
                 LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\n\
                 LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\nUser www-data\nGroup www-data\n\
                 StartServers 1\nServerLimit 1\nThreadsPerChild ",
                $workers,
                "\nMaxRequestWorkers ",
                $workers,
                "\nProxyPass / http://{origin}/\n"
            ),
        }
    };
}

const APACHE_OF_20: Between = apache!(20);
const APACHE_OF_40: Between = apache!(40);
const APACHE_OF_60: Between = apache!(60);
