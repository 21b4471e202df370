//! Limits of the kernel, in places of the drill's own: no setting of the machine is changed.

use super::{AT_ONCE, COST, Case, Group, HANGS, Inside, NO_NUMBER, PROXIES, QUOTA};

/// So many local ports for each address and port that is connected to.
const fn ports(range: &'static [(&'static str, &'static str)]) -> Inside {
    Inside::Network(range)
}

/// Two hundred.
const FEW_PORTS: &[(&str, &str)] = &[("ipv4/ip_local_port_range", "40000 40199")];
/// A hundred.
const FEWER_PORTS: &[(&str, &str)] = &[("ipv4/ip_local_port_range", "40000 40099")];
/// Eight connections may wait to be accepted, whatever a server asks for.
const SHORT_QUEUE: Inside = Inside::Network(&[("core/somaxconn", "8")]);

pub(super) fn cases() -> Vec<Case> {
    let whole = vec![quota("cpu-quota", 30), quota("cpu-quota-20", 20), conntrack(), memory(), processes()];
    [few_ports(), short_queues(), descriptors(), whole].into_iter().flatten().collect()
}

/// A load that needs more connections to a backend than there are ports.
fn few_ports() -> Vec<Case> {
    let ids = ["nginx.upstream.ports", "apache.backend.ports", "haproxy.server.ports", "caddy.upstream.ports"];
    let behind = ["its upstream", "its backend", "its server", "its upstream"];
    let one = |n: u32, range| {
        move |((product, bears), (id, behind)): ((&'static str, &'static str), (&'static str, &'static str))| {
            let name = if n == 200 { format!("ports-{product}") } else { format!("ports-{n}-{product}") };
            Case::of(product, name, format!("{n} local ports between {product} and {behind}"))
                .flags(format!("--users {} --spawn-rate {} --backend-time 500ms", n + n / 2, n / 5))
                .flags(bears)
                .inside(ports(range))
                .cause(id)
        }
    };
    let each = || PROXIES.into_iter().zip(ids.into_iter().zip(behind));
    each().map(one(200, FEW_PORTS)).chain(each().map(one(100, FEWER_PORTS))).collect()
}

/// Clients that all come at once.
fn short_queues() -> Vec<Case> {
    let ids = ["nginx.somaxconn", "apache.somaxconn", "haproxy.somaxconn", "caddy.somaxconn"];
    let one = |((product, bears), id): ((&'static str, &'static str), &'static str)| {
        let fault = format!("net.core.somaxconn 8 below {product}'s backlog, 600 clients at once");
        Case::of(product, format!("somaxconn-{product}"), fault)
            .flags("--users 600 --spawn-rate 100000 --backend-time 20ms --new-connections")
            .flags(bears)
            .objective("errors < 0.1%, p99 < 700ms")
            .inside(SHORT_QUEUE)
            .cause(id)
            .off(AT_ONCE)
    };
    PROXIES.into_iter().zip(ids).map(one).collect()
}

fn quota(name: &str, percent: u32) -> Case {
    Case::of("nginx", name, format!("a control group gives servers and generator {percent} % of one core"))
        .flags("--users 100 --spawn-rate 20 --backend-time 20ms --think 20ms")
        .objective("errors < 0.1%, p99 < 100ms")
        .inside(Inside::Quota(percent))
        .cause(QUOTA)
        .off(COST)
}

fn conntrack() -> Case {
    let why = "nf_conntrack_max is the whole machine's: a network namespace of its own cannot have another";
    Case::of("nginx", "conntrack", "a full table of tracked connections (nf_conntrack_max)")
        .inside(Inside::Nowhere(why))
        .nameless()
}

/// The memory of the server alone: of the generator nothing is limited.
fn memory() -> Case {
    let text = "user root;\nworker_processes 1;\nevents { worker_connections 1024; }\nhttp {\n  client_max_body_size 8m;\n  \
                client_body_buffer_size 8m;\n  server { listen 80; location / { proxy_pass http://127.0.0.1:9; } }\n}\n";
    Case::of("nginx", "memory-group", "a control group with 48 MB for nginx, which holds bodies of 1 MB in memory")
        .flags("--users 80 --spawn-rate 10 --backend embedded --backend-time 500ms --body-size 1m")
        .config(text)
        .inside(Inside::Group(Group {
            controller: "memory",
            settings: &[("memory.limit_in_bytes", "50331648")],
            program: "nginx",
        }))
        .cause("nginx.memory_group")
        .then(&["nginx.worker_died"])
        .off(NO_NUMBER)
}

/// Processes: prefork needs one for each client.
fn processes() -> Case {
    Case::of("apache", "apache-fork", "a control group that takes 25 processes, under a prefork that may have 100")
        .flags("--set mpm=prefork --set MaxRequestWorkers=100 --set StartServers=10")
        .flags("--users 60 --spawn-rate 10 --backend-time 200ms --timeout 8s")
        .inside(Inside::Group(Group { controller: "pids", settings: &[("pids.max", "25")], program: "apache2" }))
        .cause("apache.fork")
        .off(NO_NUMBER)
}

/// Descriptors of each process, which nothing in the configuration says.
fn descriptors() -> Vec<Case> {
    vec![
        Case::of(
            "apache",
            "apache-descriptors",
            "100 descriptors for each process of the worker MPM, which may have 100 threads",
        )
        .flags("--set mpm=worker --set ThreadsPerChild=100 --set MaxRequestWorkers=100 --set StartServers=1")
        .flags("--users 90 --spawn-rate 10 --backend-time 200ms --timeout 8s")
        .inside(Inside::Descriptors(100, false))
        .cause("apache.nofile")
        .off(HANGS),
        Case::of("caddy", "caddy-descriptors", "300 descriptors for each process, the hard limit")
            .flags("--users 200 --spawn-rate 20 --backend-time 200ms")
            .inside(Inside::Descriptors(300, true))
            .cause("caddy.nofile")
            .off(HANGS),
    ]
}
