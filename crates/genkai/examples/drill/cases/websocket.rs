//! WebSockets: faults that only tunnels meet, faults that they meet otherwise than requests do, and look-alikes.

use super::{Case, PROXIES, SIZE, SLOW};

const CONNECTS: &str = "connects > 99.9%";
/// What must hold for connections that stay.
const STAYS: &str = "connects > 99.9%, disconnects < 0.1%";
/// WebSockets that are only held, for so long that a time of two seconds ends them.
const IDLE: &str = "--websocket --connections 20 --spawn-rate 20 --hold 5s";

pub(super) fn cases() -> Vec<Case> {
    let each = |one: fn(&'static str, &'static str) -> Vec<Case>| {
        PROXIES.into_iter().flat_map(move |(product, bears)| one(product, bears))
    };
    [held(), silent(), pool()]
        .into_iter()
        .flatten()
        .chain(each(applications))
        .chain(within_time())
        .chain(each(healthy))
        .collect()
}

/// Limits of connections.
fn held() -> Vec<Case> {
    let case = |product, name: String, fault: String| {
        Case::of(product, name, fault).flags("--websocket --spawn-rate 40").objective(CONNECTS)
    };
    let nginx = |n: u32, connections: u32| {
        let name = if n == 200 { "ws-nginx-connections".to_owned() } else { format!("ws-nginx-connections-{n}") };
        case("nginx", name, format!("worker_connections {n} under WebSockets that are only held"))
            .flags(format!("--connections {connections} --set worker_connections={n}"))
            .cause("nginx.worker_connections")
    };
    let apache = |mpm: &str, n: u32, children: u32| {
        let name = if n == 75 { format!("ws-apache-{mpm}") } else { format!("ws-apache-{mpm}-{n}") };
        case("apache", name, format!("MaxRequestWorkers {n} of {mpm}: a tunnel holds a thread"))
            .flags(format!(
                "--connections {} --set mpm={mpm} --set MaxRequestWorkers={n} --set StartServers={children}",
                n + 25
            ))
            .cause("apache.MaxRequestWorkers")
    };
    let haproxy = |n: u32| {
        let name = if n == 100 { "ws-haproxy-maxconn".to_owned() } else { format!("ws-haproxy-maxconn-{n}") };
        case("haproxy", name, format!("maxconn {n} of global under WebSockets that are only held"))
            .flags(format!("--connections {} --set maxconn={n}", n + 40))
            .cause("haproxy.maxconn")
    };
    let front = case(
        "haproxy",
        "ws-haproxy-frontend".to_owned(),
        "maxconn 60 of the frontend under WebSockets that are only held".to_owned(),
    )
    .flags("--connections 100 --set frontend.maxconn=60")
    .cause("haproxy.frontend.maxconn");
    vec![
        nginx(200, 160),
        nginx(100, 90),
        apache("event", 75, 3),
        apache("event", 50, 2),
        apache("worker", 75, 3),
        apache("worker", 50, 2),
        apache("prefork", 40, 40),
        haproxy(100),
        haproxy(60),
        front,
    ]
}

/// Times after which silence ends a tunnel.
fn silent() -> Vec<Case> {
    let case = |product, name: &str, fault: &str| Case::of(product, name, fault).flags(IDLE).objective(STAYS).off(SLOW);
    vec![
        case("nginx", "ws-nginx-idle", "proxy_read_timeout 2s, and nobody says anything for longer")
            .flags("--set proxy_read_timeout=2s")
            .cause("nginx.idle"),
        case("apache", "ws-apache-idle", "Timeout 2 and ProxyTimeout 1 (the longer counts), and nobody says anything for longer")
            .flags("--set Timeout=2 --set ProxyTimeout=1")
            .cause("apache.idle"),
        case("haproxy", "ws-haproxy-idle", "timeout tunnel 2s, and nobody says anything for longer")
            .flags("--set timeout.tunnel=2s")
            .cause("haproxy.idle"),
        case("haproxy", "ws-haproxy-client", "no timeout tunnel, and nobody says anything for longer than timeout client 2s")
            .flags("--backend embedded")
            .config(
                "defaults\n  mode http\n  timeout connect 1s\n  timeout client 2s\n  timeout server 9s\nfrontend f\n  bind :80\n  \
                 default_backend b\nbackend b\n  server s 127.0.0.1:9\n",
            )
            .cause("haproxy.idle"),
    ]
}

/// Pools of connections to the application.
fn pool() -> Vec<Case> {
    let case = |product, name: &str, fault: &str| {
        Case::of(product, name, fault).flags("--websocket --spawn-rate 20").objective(CONNECTS)
    };
    vec![
        case(
            "apache",
            "ws-apache-pool",
            "ProxyPass max=10 acquire=500 of Apache's only child under WebSockets that are only held",
        )
        .flags("--connections 40 --set ProxyPass.max=10 --set ProxyPass.acquire=500")
        .flags("--set ThreadsPerChild=60 --set MaxRequestWorkers=60 --set StartServers=1")
        .cause("apache.ProxyPass.max"),
        case(
            "haproxy",
            "ws-haproxy-server",
            "maxconn 20 of the only server, timeout queue 500ms, under WebSockets that are only held",
        )
        .flags("--connections 60 --set server.maxconn=20 --set timeout.queue=500ms")
        .cause("haproxy.server.maxconn"),
    ]
}

/// Limits of the application: each behind every proxy.
fn applications(product: &'static str, bears: &'static str) -> Vec<Case> {
    let named = |name: &str, known: &str| if product == known { name.to_owned() } else { format!("{name}-{product}") };
    vec![
        Case::of(product, named("ws-large-message", "nginx"), "messages of 128 kB to an application that takes 64 kB")
            .flags("--websocket --users 10 --spawn-rate 10 --think 200ms --message-size 128k --backend-max-message 64k")
            .flags(bears)
            .objective("delivered > 99.99%, disconnects < 0.1%")
            .cause("backend.max_message")
            .off(SIZE),
        Case::of(product, named("ws-slow-application", "haproxy"), "an application that takes 400 ms for a message")
            .flags("--websocket --users 20 --spawn-rate 20 --think 100ms --backend-time 400ms")
            .flags(bears)
            .objective("p99 < 300ms")
            .cause("backend.service_time")
            .off(SLOW),
    ]
}

fn within_time() -> Vec<Case> {
    let case = |product, name: &str, fault: &str| Case::of(product, name, fault).flags(IDLE).objective(STAYS);
    vec![
        case("nginx", "ws-idle-within-time", "nothing: nobody says anything, for less than proxy_read_timeout")
            .flags("--set proxy_read_timeout=9s"),
        case("haproxy", "ws-pings-within-time", "nothing: pings keep tunnels of timeout tunnel 2s open")
            .flags("--set timeout.tunnel=2s --ping 500ms"),
        case("nginx", "ws-pings-within-nginx", "nothing: pings keep tunnels of proxy_read_timeout 2s open")
            .flags("--set proxy_read_timeout=2s --ping 500ms"),
        Case::of(
            "apache",
            "ws-slow-large-message",
            "nothing: messages of 1 MB that take 300 ms, within every time and size",
        )
        .flags("--websocket --users 10 --spawn-rate 10 --think 500ms --message-size 1m --backend-time 300ms")
        .flags("--set MaxRequestWorkers=100 --set Timeout=2 --set ProxyTimeout=2")
        .objective("delivered > 99.99%, disconnects < 0.1%"),
    ]
}

fn healthy(product: &'static str, bears: &'static str) -> Vec<Case> {
    let held = Case::of(product, format!("ws-healthy-{product}"), "nothing: fewer WebSockets than can be")
        .flags("--websocket --connections 80 --spawn-rate 40")
        .flags(bears)
        .objective(STAYS);
    let talking = Case::of(product, format!("ws-talking-{product}"), "nothing: WebSockets that talk")
        .flags("--websocket --users 30 --spawn-rate 30 --think 100ms --backend-time 20ms")
        .flags(bears)
        .objective("delivered > 99.99%, disconnects < 0.1%, p99 < 500ms");
    vec![held, talking]
}
