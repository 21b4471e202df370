//! Limits of the kernel, in places of the drill's own: no setting of the machine is changed.

use super::Expect::Cause;
use super::{AT_ONCE, Case, Inside, PLAIN, QUOTA};

/// Two hundred local ports for each address and port that is connected to.
const FEW_PORTS: Inside = Inside::Network(&[("ipv4/ip_local_port_range", "40000 40199")]);
/// Eight connections may wait to be accepted, whatever a server asks for.
const SHORT_QUEUE: Inside = Inside::Network(&[("core/somaxconn", "8")]);

/// A load that needs more connections to a backend than there are ports.
macro_rules! many {
    ($rest:literal) => {
        concat!("--users 300 --spawn-rate 40 --backend-time 500ms ", $rest)
    };
}
/// A load whose clients all come at once.
macro_rules! at_once {
    ($rest:literal) => {
        concat!("--users 600 --spawn-rate 100000 --backend-time 20ms --new-connections ", $rest)
    };
}

const SOON: Option<&str> = Some("errors < 0.1%, p99 < 700ms");

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ports-nginx",
        fault: "200 local ports between nginx and its upstream",
        flags: many!("--set worker_connections=4096"),
        inside: FEW_PORTS,
        expect: Cause(&["nginx.upstream.ports"]),
        ..PLAIN
    },
    Case {
        name: "ports-apache",
        fault: "200 local ports between Apache and its backend",
        product: "apache",
        flags: many!("--set mpm=worker --set MaxRequestWorkers=400 --set StartServers=16"),
        inside: FEW_PORTS,
        expect: Cause(&["apache.backend.ports"]),
        ..PLAIN
    },
    Case {
        name: "ports-haproxy",
        fault: "200 local ports between HAProxy and its server",
        product: "haproxy",
        flags: many!("--set maxconn=2000"),
        inside: FEW_PORTS,
        expect: Cause(&["haproxy.server.ports"]),
        ..PLAIN
    },
    Case {
        name: "somaxconn-nginx",
        fault: "net.core.somaxconn 8 below nginx's backlog of 511, 600 clients at once",
        flags: at_once!("--set worker_connections=4096"),
        objective: SOON,
        inside: SHORT_QUEUE,
        expect: Cause(&["nginx.somaxconn"]),
        off: AT_ONCE,
        ..PLAIN
    },
    Case {
        name: "somaxconn-haproxy",
        fault: "net.core.somaxconn 8 below HAProxy's backlog, 600 clients at once",
        product: "haproxy",
        flags: at_once!("--set maxconn=4000"),
        objective: SOON,
        inside: SHORT_QUEUE,
        expect: Cause(&["haproxy.somaxconn"]),
        off: AT_ONCE,
        ..PLAIN
    },
    Case {
        name: "cpu-quota",
        fault: "a control group gives servers and generator 30 % of one core",
        flags: "--users 100 --spawn-rate 20 --backend-time 20ms --think 20ms",
        objective: Some("errors < 0.1%, p99 < 100ms"),
        inside: Inside::Quota(30),
        expect: Cause(&[QUOTA]),
        off: "what a request costs is not in the configuration",
        ..PLAIN
    },
    Case {
        name: "conntrack",
        fault: "a full table of tracked connections (nf_conntrack_max)",
        inside: Inside::Nowhere(
            "nf_conntrack_max is the whole machine's: a network namespace of its own cannot have another",
        ),
        expect: Cause(&[]),
        ..PLAIN
    },
    Case {
        name: "memory-group",
        fault: "a control group with too little memory: the kernel ends a server",
        inside: Inside::Nowhere(
            "which process the kernel ends is its choice: it may be the generator, and then nothing is measured",
        ),
        expect: Cause(&[]),
        ..PLAIN
    },
];
