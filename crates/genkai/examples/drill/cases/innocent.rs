//! Innocent look-alikes: links, pauses, other programs, a busy client, nothing at all.

use super::Behind::{Link, Origin, Scripted};
use super::Expect::{Client, Crowded};
use super::{COST, Case, Inside, NO_NUMBER, PATIENCE, PROXIES, SLOW};

pub(super) fn cases() -> Vec<Case> {
    let each = |one: fn(&'static str, &'static str) -> Vec<Case>| {
        PROXIES.into_iter().flat_map(move |(product, bears)| one(product, bears))
    };
    each(links).chain(machine()).chain(each(healthy)).chain(waiting()).collect()
}

fn links(product: &'static str, bears: &'static str) -> Vec<Case> {
    let named = |name: &str| if product == "nginx" { name.to_owned() } else { format!("{name}-{product}") };
    let case = |name: &str, fault: &str| Case::of(product, named(name), fault).flags(bears);
    let refused = ["nginx.upstream", "apache.backend", "haproxy.backend", "caddy.backend"];
    let mut all = vec![
        case("late-link", "a link of 2 x 200 ms between the proxy and its backend")
            .flags("--users 20 --spawn-rate 20")
            .objective("p99 < 300ms")
            .behind(Link("--service-time 10ms", "--delay 200ms"))
            .cause("backend.alone")
            .off(SLOW),
        case("lossy-link", "a link on which one piece in ten comes 200 ms later")
            .flags("--users 40 --spawn-rate 20")
            .objective("errors < 0.1%, p99 < 150ms")
            .behind(Link("--service-time 10ms", "--loss 0.1"))
            .cause("backend.alone")
            .off(SLOW),
        case("gc-pauses", "a backend that stands still for 900 ms every 3 s")
            // Without pauses a closed load asks so often between two stalls that those who meet one are less than one in a hundred.
            .flags("--users 40 --spawn-rate 20 --think 100ms")
            .objective("errors < 0.1%, p99 < 300ms")
            .behind(Origin("--service-time 20ms --stall 900ms --stall-every 3s"))
            .cause("backend.alone")
            .off(SLOW),
    ];
    // HAProxy and Caddy ask again by themselves: nothing fails.
    if matches!(product, "nginx" | "apache") {
        // Where a kept connection is reset, Apache closes its client's, which asks again: nothing fails either.
        let unkept = if product == "apache" { "--set ProxyPass.disablereuse=On --new-connections" } else { "" };
        all.push(
            case("resetting-link", "a link that resets one connection in ten")
                .flags("--users 40 --spawn-rate 20")
                .flags(unkept)
                .behind(Link("--service-time 10ms", "--reset 0.1"))
                .either(&refused, "the id has the name of the product that was refused")
                .off(NO_NUMBER),
        );
    }
    all.push(
        case("narrow-link", "a link of 1 MB/s under bodies of 20 kB")
            .flags("--users 60 --spawn-rate 15")
            .objective("errors < 0.1%, p99 < 500ms")
            .behind(Link("--service-time 10ms --body 20k", "--rate 1m"))
            .cause("backend.by_itself")
            .off(NO_NUMBER),
    );
    all
}

fn machine() -> Vec<Case> {
    let hog = Case::of("nginx", "cpu-hog", "another program takes every core")
        .flags("--set worker_connections=4096 --users 800 --spawn-rate 160 --backend-time 20ms --think 20ms")
        .objective("errors < 0.1%, p99 < 60ms")
        .off(COST);
    let busy = Case::of("nginx", "busy-client", "1000 requests/s over 50 connections that are all busy")
        .flags("--rate 1000 --ramp 2s --connections 50 --backend-time 300ms");
    let ports = Case::of(
        "nginx",
        "client-ports",
        "nothing: an address has 100 local ports, and 150 users stay connected (the generator takes further addresses)",
    )
    .flags("--users 150 --spawn-rate 30")
    .config("events {}\nhttp {\n\tserver {\n\t\tlisten 80;\n\t\treturn 200 ok;\n\t}\n}\n")
    .inside(Inside::Network(&[("ipv4/ip_local_port_range", "40000 40099")]));
    vec![Case { hog: true, expect: Crowded, ..hog }, Case { expect: Client, ..busy }, ports]
}

fn healthy(product: &'static str, bears: &'static str) -> Vec<Case> {
    let case = |name: &str, fault: &str| Case::of(product, format!("{name}-{product}"), fault).flags(bears);
    vec![
        case("healthy", "nothing").flags("--users 100 --spawn-rate 40 --backend-time 100ms"),
        case("healthy-open", "nothing: 200 requests/s").flags("--rate 200 --ramp 2s --backend-time 100ms"),
        case("healthy-new", "nothing: a new connection for each request")
            .flags("--users 60 --spawn-rate 30 --backend-time 100ms --new-connections"),
        case("healthy-late", "nothing: a link of 2 x 30 ms, within the latency allowed")
            .flags("--users 40 --spawn-rate 20")
            .objective("errors < 0.1%, p99 < 500ms")
            .behind(Link("--service-time 10ms", "--delay 30ms")),
        case("healthy-mixed", "nothing: one answer in twenty takes 200 ms, within the latency allowed")
            .flags("--users 40 --spawn-rate 20")
            .objective("errors < 0.1%, p99 < 600ms")
            .behind(Scripted("mixed --share 0.05 --slow 0.2 --time 0.02 --seed 3")),
    ]
}

fn waiting() -> Vec<Case> {
    let wait = |product, name: &str, fault: &str, flags: &str| {
        Case::of(product, name, fault)
            .flags("--users 60 --spawn-rate 30 --backend-time 50ms")
            .flags(flags)
            .off(PATIENCE)
    };
    vec![
        wait(
            "haproxy",
            "waiting-in-haproxy",
            "requests wait in HAProxy's queue, and nobody minds",
            "--set server.maxconn=20",
        ),
        wait(
            "caddy",
            "waiting-in-caddy",
            "requests wait for Caddy's connections, and nobody minds",
            "--set max_conns_per_host=20",
        ),
        wait(
            "nginx",
            "waiting-for-workers",
            "requests wait for the backend's workers, and nobody minds",
            "--backend-workers 20",
        ),
    ]
}
