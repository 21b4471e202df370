//! Innocent look-alikes: links, pauses, other programs, a busy client, nothing at all.

use super::Behind::{Link, Origin};
use super::Expect::{Cause, Client, Crowded, Holds};
use super::{Case, NO_NUMBER, PATIENCE, PLAIN, SLOW};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "late-link",
        fault: "a link of 2 x 200 ms between nginx and its backend",
        flags: "--users 20 --spawn-rate 20",
        objective: Some("p99 < 300ms"),
        behind: Link("--service-time 10ms", "--delay 200ms"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "lossy-link",
        fault: "a link on which one piece in ten comes 200 ms later",
        flags: "--users 40 --spawn-rate 20",
        objective: Some("errors < 0.1%, p99 < 150ms"),
        behind: Link("--service-time 10ms", "--loss 0.1"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "resetting-link",
        fault: "a link that resets one connection in ten",
        flags: "--users 40 --spawn-rate 20",
        behind: Link("--service-time 10ms", "--reset 0.1"),
        expect: Cause(&["nginx.upstream"]),
        off: NO_NUMBER,
        ..PLAIN
    },
    Case {
        name: "narrow-link",
        fault: "a link of 1 MB/s under bodies of 20 kB",
        flags: "--users 60 --spawn-rate 15",
        objective: Some("errors < 0.1%, p99 < 500ms"),
        behind: Link("--service-time 10ms --body 20k", "--rate 1m"),
        expect: Cause(&["backend.by_itself"]),
        off: NO_NUMBER,
        ..PLAIN
    },
    Case {
        name: "gc-pauses",
        fault: "a backend that stands still for 900 ms every 3 s",
        // Without pauses a closed load asks so often between two stalls that those who meet one are less than one in a hundred.
        flags: "--users 40 --spawn-rate 20 --think 100ms",
        objective: Some("errors < 0.1%, p99 < 300ms"),
        behind: Origin("--service-time 20ms --stall 900ms --stall-every 3s"),
        expect: Cause(&["backend.alone"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "cpu-hog",
        fault: "another program takes every core",
        flags: "--set worker_connections=4096 --users 800 --spawn-rate 160 --backend-time 20ms --think 20ms",
        objective: Some("errors < 0.1%, p99 < 60ms"),
        hog: true,
        expect: Crowded(&["machine.cpu", "machine.servers_cpu", "nginx.cpu"]),
        off: "what a request costs is not in the configuration",
        ..PLAIN
    },
    Case {
        name: "busy-client",
        fault: "1000 requests/s over 50 connections that are all busy",
        flags: "--rate 1000 --ramp 2s --connections 50 --backend-time 300ms",
        expect: Client,
        ..PLAIN
    },
    Case {
        name: "healthy-nginx",
        fault: "nothing",
        flags: "--set worker_connections=4096 --users 100 --spawn-rate 40 --backend-time 100ms",
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "healthy-apache",
        fault: "nothing",
        product: "apache",
        flags: "--set MaxRequestWorkers=400 --users 100 --spawn-rate 40 --backend-time 100ms",
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "healthy-haproxy",
        fault: "nothing",
        product: "haproxy",
        flags: "--users 100 --spawn-rate 40 --backend-time 100ms",
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "waiting-in-haproxy",
        fault: "requests wait in HAProxy's queue, and nobody minds",
        product: "haproxy",
        flags: "--set server.maxconn=20 --users 60 --spawn-rate 30 --backend-time 50ms",
        expect: Holds,
        off: PATIENCE,
        ..PLAIN
    },
];
