//! WebSockets: faults that only tunnels meet, faults that they meet otherwise than requests do, and look-alikes.

use super::Expect::{Cause, Holds};
use super::{Case, PLAIN, SIZE, SLOW};

const CONNECTS: Option<&str> = Some("connects > 99.9%");
/// What must hold for connections that stay.
const STAYS: Option<&str> = Some("connects > 99.9%, disconnects < 0.1%");

/// WebSockets that are only held, for so long that a time of two seconds ends them.
macro_rules! idle {
    ($rest:literal) => {
        concat!("--websocket --connections 20 --spawn-rate 20 --hold 5s ", $rest)
    };
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ws-nginx-connections",
        fault: "worker_connections 200 under WebSockets that are only held",
        flags: "--websocket --connections 160 --spawn-rate 40 --set worker_connections=200",
        expect: Cause(&["nginx.worker_connections"]),
        ..PLAIN
    },
    Case {
        name: "ws-nginx-idle",
        fault: "proxy_read_timeout 2s, and nobody says anything for longer",
        flags: idle!("--set proxy_read_timeout=2s"),
        objective: STAYS,
        expect: Cause(&["nginx.idle"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "ws-apache-idle",
        fault: "Timeout 2 and ProxyTimeout 1 (the longer counts), and nobody says anything for longer",
        product: "apache",
        flags: idle!("--set Timeout=2 --set ProxyTimeout=1"),
        objective: STAYS,
        expect: Cause(&["apache.idle"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "ws-haproxy-idle",
        fault: "timeout tunnel 2s, and nobody says anything for longer",
        product: "haproxy",
        flags: idle!("--set timeout.tunnel=2s"),
        objective: STAYS,
        expect: Cause(&["haproxy.idle"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "ws-haproxy-client",
        fault: "no timeout tunnel, and nobody says anything for longer than timeout client 2s",
        product: "haproxy",
        flags: idle!("--backend embedded"),
        config: Some(
            "defaults\n  mode http\n  timeout connect 1s\n  timeout client 2s\n  timeout server 9s\nfrontend f\n  bind :80\n  \
             default_backend b\nbackend b\n  server s 127.0.0.1:9\n",
        ),
        objective: STAYS,
        expect: Cause(&["haproxy.idle"]),
        off: SLOW,
        ..PLAIN
    },
    Case {
        name: "ws-apache-event",
        fault: "MaxRequestWorkers 75 of event: a tunnel holds a thread",
        product: "apache",
        flags: "--websocket --connections 100 --spawn-rate 40 --set mpm=event --set MaxRequestWorkers=75 --set StartServers=3",
        objective: CONNECTS,
        expect: Cause(&["apache.MaxRequestWorkers"]),
        ..PLAIN
    },
    Case {
        name: "ws-apache-worker",
        fault: "MaxRequestWorkers 75 of worker: a tunnel holds a thread",
        product: "apache",
        flags: "--websocket --connections 100 --spawn-rate 40 --set mpm=worker --set MaxRequestWorkers=75 --set StartServers=3",
        objective: CONNECTS,
        expect: Cause(&["apache.MaxRequestWorkers"]),
        ..PLAIN
    },
    Case {
        name: "ws-apache-pool",
        fault: "ProxyPass max=10 acquire=500 of Apache's only child under WebSockets that are only held",
        product: "apache",
        flags: "--websocket --connections 40 --spawn-rate 20 --set ProxyPass.max=10 --set ProxyPass.acquire=500 \
                --set ThreadsPerChild=60 --set MaxRequestWorkers=60 --set StartServers=1",
        objective: CONNECTS,
        expect: Cause(&["apache.ProxyPass.max"]),
        ..PLAIN
    },
    Case {
        name: "ws-haproxy-maxconn",
        fault: "maxconn 100 of global under WebSockets that are only held",
        product: "haproxy",
        flags: "--websocket --connections 140 --spawn-rate 40 --set maxconn=100",
        objective: CONNECTS,
        expect: Cause(&["haproxy.maxconn"]),
        ..PLAIN
    },
    Case {
        name: "ws-haproxy-server",
        fault: "maxconn 20 of the only server, timeout queue 500ms, under WebSockets that are only held",
        product: "haproxy",
        flags: "--websocket --connections 60 --spawn-rate 20 --set server.maxconn=20 --set timeout.queue=500ms",
        objective: CONNECTS,
        expect: Cause(&["haproxy.server.maxconn"]),
        ..PLAIN
    },
    Case {
        name: "ws-large-message",
        fault: "messages of 128 kB to an application that takes 64 kB",
        flags: "--websocket --users 10 --spawn-rate 10 --think 200ms --message-size 128k --backend-max-message 64k",
        objective: Some("delivered > 99.99%, disconnects < 0.1%"),
        expect: Cause(&["backend.max_message"]),
        off: SIZE,
        ..PLAIN
    },
    Case {
        name: "ws-slow-application",
        fault: "an application that takes 400 ms for a message",
        product: "haproxy",
        flags: "--websocket --users 20 --spawn-rate 20 --think 100ms --backend-time 400ms",
        objective: Some("p99 < 300ms"),
        expect: Cause(&["backend.service_time"]),
        off: SLOW,
        ..PLAIN
    },
    // Innocent look-alikes.
    Case {
        name: "ws-idle-within-time",
        fault: "nothing: nobody says anything, for less than proxy_read_timeout",
        flags: idle!("--set proxy_read_timeout=9s"),
        objective: STAYS,
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "ws-pings-within-time",
        fault: "nothing: pings keep tunnels of timeout tunnel 2s open",
        product: "haproxy",
        flags: idle!("--set timeout.tunnel=2s --ping 500ms"),
        objective: STAYS,
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "ws-slow-large-message",
        fault: "nothing: messages of 1 MB that take 300 ms, within every time and size",
        product: "apache",
        flags: "--websocket --users 10 --spawn-rate 10 --think 500ms --message-size 1m --backend-time 300ms \
                --set MaxRequestWorkers=100 --set Timeout=2 --set ProxyTimeout=2",
        objective: Some("delivered > 99.99%, disconnects < 0.1%"),
        expect: Holds,
        ..PLAIN
    },
    Case {
        name: "ws-healthy-apache",
        fault: "nothing: fewer WebSockets than workers",
        product: "apache",
        flags: "--websocket --connections 80 --spawn-rate 40 --set MaxRequestWorkers=200 --set StartServers=8",
        objective: STAYS,
        expect: Holds,
        ..PLAIN
    },
];
