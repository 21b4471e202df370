//! Ladders of Apache: places for children, workers, the pool of connections to what stands behind, and what that allows.

use super::super::Behind::Server;
use super::super::{Between, Case, Expect};

pub(super) fn cases() -> Vec<Case> {
    [before_haproxy(), event(), twice()].into_iter().flatten().collect()
}

/// Users who come slowly and wait for a second: who finds no worker is seen to fail soon.
const USERS: &str = "--users 100 --spawn-rate 5 --timeout 1s --max-limits 5";

const MODULES: &str = "/usr/lib/apache2/modules";

/// Apache with these lines, which passes all on.
fn conf(mpm: &str, lines: &str, pass: &str) -> String {
    format!(
        "LoadModule mpm_{mpm}_module {MODULES}/mod_mpm_{mpm}.so\nLoadModule authz_core_module {MODULES}/mod_authz_core.so\n\
         LoadModule proxy_module {MODULES}/mod_proxy.so\nLoadModule proxy_http_module {MODULES}/mod_proxy_http.so\n\
         User www-data\nGroup www-data\nListen 80\nStartServers 1\n{lines}\nProxyPass / http://{{backend}}/ retry=0 {pass}\n"
    )
}

fn case(name: &str, fault: String, config: String, ids: &[&'static str]) -> Case {
    let case = Case::of("apache", format!("ladder-apache-{name}"), fault).flags(USERS).config(config);
    Case { expect: Expect::Ladder { ids: ids.to_vec() }, ..case }
}

/// The worker MPM before a HAProxy whose server refuses who waits.
fn before_haproxy() -> Vec<Case> {
    let [places, workers, pool, behind] =
        ["apache.ServerLimit", "apache.MaxRequestWorkers", "apache.ProxyPass.max", "haproxy.server.maxconn"];
    let clamped = |name: &str, of: [u32; 2], server: Between, ids: &[&'static str]| {
        let [children, all] = of;
        let fault = format!("ServerLimit {children} of 20 threads, MaxRequestWorkers {all}, before a HAProxy");
        let lines = format!("ServerLimit {children}\nThreadsPerChild 20\nMaxRequestWorkers {all}");
        case(name, fault, conf("worker", &lines, ""), ids).behind(Server(server, "--service-time 200ms"))
    };
    let pooled = |name: &str, max: u32, server: Between, ids: &[&'static str]| {
        let fault = format!("a pool of {max} of the one child with 60 threads, before a HAProxy");
        let lines = "ServerLimit 1\nThreadsPerChild 60\nMaxRequestWorkers 60";
        let pass = format!("max={max} acquire=50");
        case(name, fault, conf("worker", lines, &pass), ids).behind(Server(server, "--service-time 200ms"))
    };
    vec![
        clamped("places-workers-behind", [1, 40], HAPROXY_OF_60, &[places, workers, behind]),
        clamped("places-behind-workers", [1, 60], HAPROXY_OF_40, &[places, behind, workers]),
        clamped("behind-places-workers", [2, 60], HAPROXY_OF_20, &[behind, places, workers]),
        pooled("pool-workers-behind", 30, HAPROXY_OF_80, &[pool, workers, behind]),
        pooled("pool-behind-workers", 20, HAPROXY_OF_40, &[pool, behind, workers]),
        pooled("behind-pool-workers", 40, HAPROXY_OF_20, &[behind, pool, workers]),
    ]
}

/// Through a virtual host of its own: a request holds two workers.
fn twice() -> Vec<Case> {
    let [workers, behind] = ["apache.MaxRequestWorkers", "haproxy.server.maxconn"];
    let one = |mpm: &str, of: u32, lines: &str| {
        let fault = format!("MaxRequestWorkers {of} of {mpm}, through a virtual host of its own, before a HAProxy");
        let lines = format!("{lines}\nMaxRequestWorkers {of}");
        let config = conf(mpm, &lines, "").replace("Listen 80\n", "Listen 80\nListen 127.0.0.1:81\n").replace(
            "ProxyPass / http://{backend}/ retry=0 ",
            "<VirtualHost *:80>\nProxyPass / http://127.0.0.1:81/ retry=0\n</VirtualHost>\n<VirtualHost *:81>\nProxyPass / http://{backend}/ retry=0\n\
             </VirtualHost>\n",
        );
        case(&format!("twice-{mpm}"), fault, config, &[workers, behind])
            .behind(Server(HAPROXY_OF_40, "--service-time 200ms"))
    };
    vec![
        one("worker", 60, "ServerLimit 2\nThreadLimit 60\nThreadsPerChild 60"),
        one("prefork", 60, "ServerLimit 200\nMinSpareServers 60\nMaxSpareServers 100"),
    ]
}

/// The event MPM with a pool, before a HAProxy whose frontend takes so many connections.
fn event() -> Vec<Case> {
    let [pool, front, behind] = ["apache.ProxyPass.max", "haproxy.frontend.maxconn", "haproxy.server.maxconn"];
    let one = |name: &str, max: u32, server: Between, ids: &[&'static str]| {
        let fault = format!("a pool of {max} of the event MPM's one child, before a HAProxy");
        let lines = "ServerLimit 1\nThreadLimit 120\nThreadsPerChild 120\nMaxRequestWorkers 120";
        let pass = format!("max={max} acquire=50");
        case(&format!("event-{name}"), fault, conf("event", lines, &pass), ids)
            .behind(Server(server, "--service-time 200ms"))
    };
    vec![
        one("pool-behind-front", 20, HAPROXY_OF_60_40, &[pool, behind, front]),
        one("pool-front-behind", 20, HAPROXY_OF_40_60, &[pool, front, behind]),
        one("front-pool-behind", 40, HAPROXY_OF_20_60, &[front, pool, behind]),
        one("behind-pool-front", 40, HAPROXY_OF_60_20, &[behind, pool, front]),
    ]
}

/// A HAProxy whose server takes so many requests at once, and which refuses who has waited for 50 ms; and so many connections of its frontend.
macro_rules! haproxy {
    ($front:literal, $server:literal) => {
        Between {
            command: &["haproxy", "-db", "-f", "{dir}/behind.conf"],
            file: concat!(
                "defaults\n  mode http\n  timeout connect 1s\n  timeout client 20s\n  timeout server 20s\n  timeout queue 50ms\n\
                 frontend f\n  bind 127.0.0.1:{port}\n  maxconn ",
                $front,
                "\n  default_backend b\nbackend b\n  server s {origin} maxconn ",
                $server,
                "\n"
            ),
        }
    };
    ($server:literal) => {
        haproxy!(2000, $server)
    };
}

pub(super) const HAPROXY_OF_20: Between = haproxy!(20);
pub(super) const HAPROXY_OF_40: Between = haproxy!(40);
pub(super) const HAPROXY_OF_60: Between = haproxy!(60);
const HAPROXY_OF_80: Between = haproxy!(80);
const HAPROXY_OF_60_40: Between = haproxy!(60, 40);
const HAPROXY_OF_60_20: Between = haproxy!(60, 20);
const HAPROXY_OF_40_60: Between = haproxy!(40, 60);
const HAPROXY_OF_20_60: Between = haproxy!(20, 60);
