//! Limits of the kernel, in places of the drill's own: no setting of the machine is changed.

use super::{AT_ONCE, COST, Case, Inside, PROXIES, QUOTA};

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
    let whole = vec![quota("cpu-quota", 30), quota("cpu-quota-20", 20), conntrack(), memory()];
    [few_ports(), short_queues(), whole].into_iter().flatten().collect()
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

fn memory() -> Case {
    let why = "which process the kernel ends is its choice: it may be the generator, and then nothing is measured";
    Case::of("nginx", "memory-group", "a control group with too little memory: the kernel ends a server")
        .inside(Inside::Nowhere(why))
        .nameless()
}
