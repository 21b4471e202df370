//! Ladders over two servers: nginx or HAProxy before an Apache, whose pool is tried on a copy of it, and nginx before a HAProxy.

use super::super::Behind::Server;
use super::super::{Between, Case, Expect};
use super::apache::{HAPROXY_OF_20, HAPROXY_OF_40, HAPROXY_OF_60};

pub(super) fn cases() -> Vec<Case> {
    [nginx_apache(), haproxy_apache(), nginx_haproxy()].into_iter().flatten().collect()
}

const PAGE: &str = "--service-time 300ms";
const USERS: &str = "--users 80 --spawn-rate 6 --max-limits 5";

fn case(product: &'static str, name: &str, fault: String, config: String, ids: &[&'static str]) -> Case {
    let case = Case::of(product, format!("ladder-{name}"), fault).flags(USERS).config(config);
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
}

/// nginx with so many connections of a worker and of an address.
fn nginx(of_worker: u32, of_address: u32) -> String {
    format!(
        "worker_processes 1;\nevents {{ worker_connections {of_worker}; }}\nhttp {{\n  limit_conn_zone $binary_remote_addr zone=a:1m;\n  \
         server {{\n    listen 8080;\n    location / {{ limit_conn a {of_address}; proxy_pass http://{{backend}}; }}\n  }}\n}}\n"
    )
}

/// Connections of a worker and of an address, before a pool.
fn nginx_apache() -> Vec<Case> {
    let [worker, address, behind] = ["nginx.worker_connections", "nginx.limit_conn", "apache.ProxyPass.max"];
    let one = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [of_worker, of_address] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, before an Apache");
        case("nginx", &format!("nginx-apache-{name}"), fault, nginx(of_worker, of_address), ids)
            .behind(Server(server, PAGE))
    };
    vec![
        one("worker-address-behind", [60, 45], APACHE_OF_60, &[worker, address, behind]),
        one("address-behind-worker", [126, 20], APACHE_OF_40, &[address, behind, worker]),
        one("behind-address-worker", [126, 40], APACHE_OF_20, &[behind, address, worker]),
    ]
}

/// All connections and those to a server, before a pool.
fn haproxy_apache() -> Vec<Case> {
    let [all, server, behind] = ["haproxy.maxconn", "haproxy.server.maxconn", "apache.ProxyPass.max"];
    let one = |name: &str, of: [u32; 2], between: Between, ids: &[&'static str]| {
        let [of_all, of_server] = of;
        let fault = format!("maxconn {of_all} of global, {of_server} of the server, before an Apache");
        let config = format!(
            "global\n  maxconn {of_all}\ndefaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  \
             timeout queue 50ms\nfrontend f\n  bind :80\n  default_backend b\nbackend b\n  server s {{backend}} maxconn {of_server}\n"
        );
        case("haproxy", &format!("haproxy-apache-{name}"), fault, config, ids).behind(Server(between, PAGE))
    };
    vec![
        one("all-server-behind", [20, 40], APACHE_OF_60, &[all, server, behind]),
        one("server-behind-all", [60, 20], APACHE_OF_40, &[server, behind, all]),
        one("behind-all-server", [40, 60], APACHE_OF_20, &[behind, all, server]),
    ]
}

/// Connections of a worker and of an address, before a server that refuses who waits.
fn nginx_haproxy() -> Vec<Case> {
    let [worker, address, behind] = ["nginx.worker_connections", "nginx.limit_conn", "haproxy.server.maxconn"];
    let one = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [of_worker, of_address] = of;
        let fault = format!("worker_connections {of_worker}, limit_conn {of_address}, before a HAProxy");
        case("nginx", &format!("nginx-haproxy-{name}"), fault, nginx(of_worker, of_address), ids)
            .behind(Server(server, PAGE))
    };
    vec![
        one("worker-address-behind", [60, 45], HAPROXY_OF_60, &[worker, address, behind]),
        one("address-behind-worker", [126, 20], HAPROXY_OF_40, &[address, behind, worker]),
        one("behind-address-worker", [126, 40], HAPROXY_OF_20, &[behind, address, worker]),
    ]
}

/// An Apache of one child, with so many connections to its application: who has waited for one for 50 ms is refused.
macro_rules! apache {
    ($connections:literal) => {
        Between {
            command: &["apache2", "-DFOREGROUND", "-f", "{dir}/behind.conf"],
            file: concat!(
                "ServerRoot {dir}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {dir}/apache.pid\nErrorLog {dir}/error.log\n\
                 LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so\n\
                 LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n\
                 LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so\n\
                 LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so\nUser www-data\nGroup www-data\n\
                 StartServers 1\nServerLimit 1\nThreadLimit 120\nThreadsPerChild 120\nMaxRequestWorkers 120\n\
                 ProxyPass / http://{origin}/ acquire=50 max=",
                $connections,
                "\n"
            ),
        }
    };
}

const APACHE_OF_20: Between = apache!(20);
const APACHE_OF_40: Between = apache!(40);
const APACHE_OF_60: Between = apache!(60);
