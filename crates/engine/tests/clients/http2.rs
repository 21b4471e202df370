//! HTTP/2 with a real server, Node's: what it may allow, refuse, break off and send away.

use std::time::Duration;

use crate::authority::Authority;
use crate::http2_node::Node;
use crate::server::{Seen, Server, load, make, users};
use genkai_engine::{Asked, NotOffered, ask, http2_offered};
use genkai_model::error::ErrorKind;
use genkai_model::http2::{GoAways, Http2};
use genkai_model::load::{Arrivals, Body, Load, Protocol, Reuse, Spacing};
use genkai_model::transport::Transport;
use genkai_model::units::Span;

const WITHIN: Duration = Duration::from_secs(10);

/// So many users, so many of them on a connection, ask for `path`.
fn http2(node: &Node, path: &str, count: u32, streams: u32, requests: u64) -> Load {
    let mut load = load(node.address, requests);
    load.protocol = Protocol::Http2(Http2 { streams });
    load.request.path = path.into();
    load.arrivals = users(count);
    load
}

fn goaways(seen: &Seen) -> GoAways {
    let mut all = GoAways::default();
    seen.ticks.iter().filter_map(|tick| tick.goaways.as_ref()).for_each(|some| all.add(some));
    all
}

/// Every request succeeded, on so many connections.
fn all_well(load: &Load, requests: u64, connections: u64) -> Seen {
    let seen = make(load);
    assert_eq!((seen.ok(), seen.errors()), (requests, 0), "{:?}", seen.kinds());
    assert_eq!(seen.sum(|t| t.opened), connections);
    seen
}

#[test]
fn users_share_connections() {
    let node = Node::start("{}");
    for (count, streams, connections) in [(1, 1, 1), (10, 10, 1), (10, 3, 4), (5, 1, 5)] {
        all_well(&http2(&node, "/", count, streams, 200), 200, connections);
    }
    // As many at once as there are users on the connection.
    all_well(&http2(&node, "/together?7", 7, 7, 70), 70, 1);
}

#[test]
fn threads_have_connections_of_their_own() {
    let node = Node::start("{}");
    all_well(&Load { threads: 2, ..http2(&node, "/", 12, 3, 240) }, 240, 4);
    // Nobody shares a connection with another thread.
    all_well(&Load { threads: 2, ..http2(&node, "/", 5, 5, 50) }, 50, 1);
}

#[test]
fn no_more_streams_than_the_server_allows() {
    // Node refuses what is above its limit, so every request that succeeds was within it.
    for (allowed, connections) in [(1, 6), (2, 3), (4, 2), (6, 1), (100, 1)] {
        let node = Node::start(&format!("{{\"maxConcurrentStreams\": {allowed}}}"));
        all_well(&http2(&node, "/", 6, 6, 120), 120, connections);
    }
}

/// At a rate, what waits since the server allows no more streams has not been sent.
#[test]
fn what_waits_for_a_stream_at_a_rate_is_not_sent() {
    let node = Node::start("{\"maxConcurrentStreams\": 2}");
    let mut load = http2(&node, "/silent", 1, 10, 1_000);
    load.arrivals = Arrivals::Rate { per_second: 200.0, ramp: Span(0), spacing: Spacing::Uniform, connections: 2 };
    load.stop.after = Span::from_secs(1);
    load.threads = 1;
    let seen = make(&load);
    let last = seen.ticks.last().unwrap();
    assert_eq!(last.in_flight - last.waiting.unwrap().unsent, 4, "{last:?}");
    assert!(last.in_flight > 150 && seen.sum(|t| t.sent) == 4, "{last:?}");
    assert_eq!(last.unanswered.decode().unwrap().len(), 4, "who was not asked leaves nothing unanswered");
}

#[test]
fn bodies_and_answers_of_every_shape() {
    let node = Node::start("{}");
    for path in ["/", "/early", "/nothing", "/large?0", "/large?1", "/large?70000", "/ping"] {
        all_well(&http2(&node, path, 4, 2, 24), 24, 2);
    }
    for (method, path) in [("HEAD", "/"), ("HEAD", "/large?70000"), ("OPTIONS", "/nothing"), ("DELETE", "/")] {
        let mut load = http2(&node, path, 2, 2, 10);
        load.request.method = method.into();
        all_well(&load, 10, 1);
    }
    let seen = make(&http2(&node, "/busy", 1, 1, 2));
    assert_eq!((seen.ok(), seen.error(ErrorKind::Status503)), (0, 2));
}

#[test]
fn large_bodies_through_small_windows() {
    let megabyte = 1 << 20;
    let node = Node::start("{\"initialWindowSize\": 1000}");
    let seen = all_well(&http2(&node, &format!("/large?{}", 8 * megabyte), 4, 2, 8), 8, 2);
    assert!(seen.sum(|t| t.bytes_in) > 64 * megabyte);
    for size in [1, 999, 1000, 1001, 65_536, 3 * megabyte] {
        let mut load = http2(&node, &format!("/upload?{size}"), 3, 3, 6);
        load.request.method = "POST".into();
        load.request.body = Body::Size(size);
        let seen = all_well(&load, 6, 1);
        assert!(seen.sum(|t| t.bytes_out) > 6 * size);
    }
    let mut load = http2(&node, "/upload?6", 1, 1, 3);
    load.request.method = "PUT".into();
    load.request.body = Body::Text("grüße".into());
    load.request.path = "/upload?7".into();
    all_well(&load, 3, 1);
}

#[test]
fn an_answer_before_the_body_is_done_counts() {
    let node = Node::start("{\"initialWindowSize\": 1000}");
    let mut load = http2(&node, "/refuse-body", 2, 2, 6);
    load.request.method = "POST".into();
    load.request.body = Body::Size(1_000_000);
    let seen = make(&load);
    assert_eq!((seen.error(ErrorKind::Status413), seen.kinds()), (6, vec![ErrorKind::Status413]));
}

#[test]
fn what_servers_do_to_streams_has_a_name() {
    let node = Node::start("{}");
    let kinds = |path: &str, requests: u64| {
        let seen = make(&Load { timeout: Span::from_millis(400), ..http2(&node, path, 1, 1, requests) });
        assert_eq!(seen.ok() + seen.errors(), requests);
        (seen.ok(), seen.kinds())
    };
    assert_eq!(kinds("/refuse", 6), (3, vec![ErrorKind::StreamRefused]));
    assert_eq!(kinds("/break", 2), (0, vec![ErrorKind::StreamReset]));
    assert_eq!(kinds("/silent", 2), (0, vec![ErrorKind::Timeout]));
    assert_eq!(kinds("/drop", 2), (0, vec![ErrorKind::Truncated]));
    assert_eq!(kinds("/calm", 2), (0, vec![ErrorKind::GoAway]));
}

#[test]
fn a_connection_that_is_given_up_was_not_closed_by_the_server() {
    let node = Node::start("{}");
    let seen = make(&Load { timeout: Span::from_millis(300), ..http2(&node, "/silent", 4, 4, 12) });
    assert_eq!((seen.error(ErrorKind::Timeout), seen.sum(|t| t.closed_idle)), (12, 0));
    assert!(seen.sum(|t| t.opened) > 1, "it was given up");
    let once = make(&Load { reuse: Reuse::PerRequest, ..http2(&node, "/", 2, 1, 10) });
    assert_eq!((once.ok(), once.sum(|t| t.closed_idle)), (10, 0), "each was for one request");
}

#[test]
fn a_reset_stream_does_not_cost_its_neighbours_the_connection() {
    let node = Node::start("{}");
    let seen = make(&http2(&node, "/refuse", 8, 8, 40));
    assert_eq!((seen.kinds(), seen.sum(|t| t.opened)), (vec![ErrorKind::StreamRefused], 1));
}

#[test]
fn what_goaway_leaves_out_is_made_again_and_is_no_failure() {
    let node = Node::start("{}");
    // Five users; when all have asked, the connection goes away, having processed the first only.
    let seen = all_well(&http2(&node, "/goaway?5", 5, 5, 50), 50, 2);
    assert_eq!(goaways(&seen), GoAways { connections: 1, retried: 4 });
    assert_eq!(seen.sent(), 50, "each is counted once");
}

#[test]
fn connections_that_go_away_again_and_again() {
    let node = Node::start("{}");
    let seen = make(&http2(&node, "/few?10", 4, 4, 200));
    assert_eq!((seen.ok(), seen.errors()), (200, 0), "{:?}", seen.kinds());
    let away = goaways(&seen);
    assert!((13..=20).contains(&away.connections), "{away:?}");
    assert!(seen.sum(|t| t.opened) >= away.connections);
}

#[test]
fn a_connection_for_each_request() {
    let node = Node::start("{}");
    let seen = all_well(&Load { reuse: Reuse::PerRequest, ..http2(&node, "/", 3, 10, 60) }, 60, 60);
    assert_eq!(seen.merged(|t| &t.connect).len(), 60);
}

#[test]
fn at_a_rate() {
    let node = Node::start("{\"maxConcurrentStreams\": 2}");
    let mut load = http2(&node, "/", 1, 4, 300);
    load.arrivals = Arrivals::Rate { per_second: 500.0, ramp: Span(0), spacing: Spacing::Uniform, connections: 5 };
    let seen = make(&load);
    assert_eq!((seen.ok(), seen.errors()), (300, 0), "{:?}", seen.kinds());
    assert!((1..=5).contains(&seen.sum(|t| t.opened)));
    // More at once than all connections carry: they wait, and those that wait too long were the client's to drop.
    load.request.path = "/silent".into();
    load.timeout = Span::from_millis(200);
    load.arrivals = Arrivals::Rate { per_second: 500.0, ramp: Span(0), spacing: Spacing::Uniform, connections: 1 };
    let seen = make(&load);
    assert_eq!(seen.kinds(), [ErrorKind::Timeout, ErrorKind::Dropped]);
}

#[test]
fn latency_counts_from_the_plan_and_covers_the_making_anew() {
    let node = Node::start("{}");
    let seen = all_well(&http2(&node, "/goaway?3", 3, 3, 3), 3, 2);
    let (latency, service) = (seen.merged(|t| &t.latency), seen.merged(|t| &t.service));
    assert!(latency.max() >= service.max() && latency.min() >= service.min());
    assert_eq!(seen.merged(|t| &t.lateness).len(), 0, "no connection stood ready");
}

fn over_tls(address: std::net::SocketAddr, authority: &Authority) -> Load {
    let tls = authority.trusted();
    let protocol = Protocol::Http2(Http2 { streams: 5 });
    let request = genkai_model::load::Request { host: "localhost".into(), ..load(address, 1).request };
    Load { transport: Transport::Tls(tls), protocol, request, arrivals: users(10), ..load(address, 200) }
}

#[test]
fn agreed_by_alpn_over_tls() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue_files("localhost");
    let node = Node::secure(&certificate, &key);
    let mut load = over_tls(node.address, &authority);
    all_well(&load, 200, 2);
    assert_eq!(http2_offered(&load, WITHIN), Ok(()));
    for size in [1, 16_384, 2_000_000] {
        load.request.path = format!("/upload?{size}");
        load.request.method = "POST".into();
        load.request.body = Body::Size(size);
        load.stop.requests = Some(10);
        all_well(&load, 10, 2);
    }
    load.request.body = Body::Empty;
    load.request.method = "GET".into();
    load.request.path = "/large?1000000".into();
    all_well(&load, 10, 2);
}

#[test]
fn a_server_that_does_not_speak_it_is_told_before_the_load() {
    let authority = Authority::new();
    let plain = crate::authority::TlsServer::start(&authority, crate::authority::Paper::good());
    let load = over_tls(plain.address, &authority);
    let says = |instead: &str, server: std::net::SocketAddr| {
        Err(NotOffered { server: server.to_string(), instead: instead.to_owned() })
    };
    assert_eq!(http2_offered(&load, WITHIN), says("ALPN chose nothing", plain.address));
    assert_eq!(
        make(&Load { stop: crate::server::load(plain.address, 2).stop, ..load }).kinds(),
        [ErrorKind::Http2NotOffered]
    );
    let http1 = Server::start(|stream, _| {
        use std::io::Write;
        let _ = crate::server::read_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    });
    let mut load = crate::server::load(http1.address, 1);
    load.protocol = Protocol::Http2(Http2 { streams: 5 });
    assert_eq!(http2_offered(&load, WITHIN), says("it answered in HTTP/1", http1.address));
    assert_eq!(make(&load).kinds(), [ErrorKind::Http2NotOffered]);
    // Nobody there is for the load to find out.
    drop(http1);
    assert_eq!(http2_offered(&load, WITHIN), Ok(()));
}

#[test]
fn one_question_before_the_load() {
    let node = Node::start("{}");
    let answered = |status| Some(Asked::Answered { status, location: None });
    assert_eq!(ask(&http2(&node, "/early", 1, 1, 1), node.address, WITHIN), answered(200));
    assert_eq!(ask(&http2(&node, "/busy", 1, 1, 1), node.address, WITHIN), answered(503));
    let silent = http2(&node, "/silent", 1, 1, 1);
    assert_eq!(ask(&silent, node.address, Duration::from_millis(200)), Some(Asked::Nothing));
}
