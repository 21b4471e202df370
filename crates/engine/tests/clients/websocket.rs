//! WebSocket load on a server that does as told: echoes, and all that can happen to them.

use std::time::Duration;

use crate::echo::{Echo, Next};
use crate::server::{Seen, load, make, read_request, users};
use genkai_engine::{EngineError, StopFlag, run};
use genkai_model::error::ErrorKind;
use genkai_model::event::Handshakes;
use genkai_model::load::{Arrivals, Load, Protocol, Reuse, Spacing, Stop};
use genkai_model::transport::Transport;
use genkai_model::units::{Span, Spread};
use genkai_model::websocket::{Deflate, Fate, Message, WebSocket};

fn talk(server: &Echo, messages: u64) -> Load {
    let message = Some(Message { size: 64, binary: false });
    let protocol = Protocol::WebSocket(WebSocket { message, ..WebSocket::default() });
    Load { protocol, ..load(server.address, messages) }
}

fn websocket(load: &mut Load) -> &mut WebSocket {
    match &mut load.protocol {
        Protocol::WebSocket(websocket) => websocket,
        other => panic!("it speaks {other:?}"),
    }
}

fn fates(seen: &Seen) -> Vec<Fate> {
    seen.messages().incidents.iter().map(|i| i.what).collect()
}

fn rate(per_second: f64, connections: u32) -> Arrivals {
    Arrivals::Rate { per_second, ramp: Span(0), spacing: Spacing::Uniform, connections }
}

fn lasting(ms: u64) -> Stop {
    Stop { after: Span::from_millis(ms), requests: None }
}

#[test]
fn messages_come_back_and_connections_close() {
    let server = Echo::faithful();
    for (size, binary) in [(24, false), (64, true), (125, false), (126, true), (70_000, false), (300_000, true)] {
        let mut load = Load { arrivals: users(3), threads: 2, ..talk(&server, 30) };
        websocket(&mut load).message = Some(Message { size, binary });
        let seen = make(&load);
        assert_eq!((seen.ok(), seen.errors(), seen.end.abandoned), (30, 0, 0), "{size}: {:?}", seen.kinds());
        let messages = seen.messages();
        assert_eq!((messages.sent, messages.delivered, messages.lost, messages.foreign), (30, 30, 0, 0));
        assert_eq!(seen.codes(), [(1000, 3)]);
        assert!(seen.sum(|t| t.bytes_in) > 30 * size && seen.sum(|t| t.bytes_out) > 30 * size);
    }
}

#[test]
fn connections_of_one_message_each_are_counted_when_they_go() {
    let server = Echo::faithful();
    let seen = make(&Load { arrivals: users(3), reuse: Reuse::PerRequest, ..talk(&server, 30) });
    let handshakes = |count: fn(&Handshakes) -> u64| seen.sum(|t| t.handshakes.as_ref().map_or(0, count));
    let (opened, left) = (handshakes(|h| h.upgraded), handshakes(|h| h.left));
    assert_eq!((seen.ok(), seen.errors(), opened), (30, 0, 30), "{:?}", seen.kinds());
    // The load ends with the last echo: what closes then, at most one of each user, is no longer counted.
    assert!((27..30).contains(&left), "{left}");
}

#[test]
fn compressed_both_ways() {
    for deflate in [Deflate::Takeover, Deflate::NoTakeover] {
        let server = Echo::faithful();
        let mut load = Load { arrivals: users(3), ..talk(&server, 30) };
        websocket(&mut load).message = Some(Message { size: 5000, binary: false });
        websocket(&mut load).deflate = Some(deflate);
        let seen = make(&load);
        assert_eq!((seen.ok(), seen.messages().delivered, seen.codes()), (30, 30, vec![(1000, 3)]));
        assert!(seen.sum(|t| t.bytes_out) < 30 * 5000 / 2, "{}", seen.sum(|t| t.bytes_out));
        assert!(seen.sum(|t| t.bytes_in) < 30 * 5000 / 2);
    }
}

#[test]
fn an_open_load_has_many_messages_on_a_connection() {
    // Every echo takes 50 ms; 400 messages a second on 2 connections: about ten on their way on each.
    let server = Echo::start(|_| Next::After(Duration::from_millis(50)));
    let seen = make(&Load { arrivals: rate(400.0, 2), stop: lasting(500), ..talk(&server, 1) });
    let messages = seen.messages();
    assert_eq!((seen.errors(), messages.lost, messages.reordered, messages.duplicated), (0, 0, 0, 0));
    assert_eq!(messages.sent, messages.delivered, "what was on its way at the end came before the close frame");
    assert!(seen.end.abandoned > 0 && seen.ok() + seen.end.abandoned == messages.sent);
    assert!(seen.merged(|t| &t.service).min() >= 49_000_000);
    // One after the other, two connections would carry 40 messages a second.
    assert!(messages.sent > 60, "messages do not wait for each other: {messages:?}");
    assert_eq!((server.connections(), seen.codes()), (2, vec![(1000, 2)]));
}

#[test]
fn connections_open_at_a_rate() {
    let server = Echo::faithful();
    let mut load = Load { arrivals: rate(200.0, 100), stop: lasting(400), ..talk(&server, 1) };
    websocket(&mut load).open_rate = Some(20.0);
    let seen = make(&load);
    let levels: Vec<u64> = seen.ticks.iter().map(|t| t.connections).collect();
    // 20 a second for 0.4 s, where all could be opened at once.
    assert!(server.connections() <= 9 && levels.is_sorted(), "{levels:?}");
    assert!(seen.ok() > 0 && seen.errors() == 0);
}

#[test]
fn the_first_message_may_come_with_the_handshake() {
    // The server says its first word in the same segment as the 101, and is not an echo at all before it.
    let server = Echo::start(|_| Next::Echo).greeting(true);
    let seen = make(&talk(&server, 5));
    assert_eq!((seen.ok(), seen.messages().delivered, seen.messages().foreign), (5, 5, 1));
    assert_eq!(fates(&seen), [Fate::Foreign]);
}

#[test]
fn a_servers_own_messages_are_no_failures_of_those_on_their_way() {
    // Each user has one message on its way when the server says something of its own, and is echoed all the same.
    let server = Echo::start(|n| if n < 2 { Next::Heralded } else { Next::Echo });
    let seen = make(&Load { arrivals: users(5), ..talk(&server, 60) });
    let messages = seen.messages();
    assert_eq!((seen.ok(), seen.errors(), messages.delivered), (60, 0, 60), "{:?}", seen.kinds());
    assert_eq!((messages.changed, messages.duplicated, messages.lost), (0, 0, 0));
    // Two on each connection, of which the quick may have left the slow no message.
    assert!((2..=10).contains(&messages.foreign), "{}", messages.foreign);
}

#[test]
fn what_comes_instead_of_an_echo_is_counted_once() {
    let server = Echo::start(|n| if n == 1 { Next::Replaced } else { Next::Echo });
    let seen = make(&Load { timeout: Span::from_millis(400), ..talk(&server, 5) });
    let messages = seen.messages();
    assert_eq!((seen.ok(), seen.kinds(), seen.errors()), (4, vec![ErrorKind::Timeout], 1));
    assert_eq!((messages.changed, messages.duplicated, messages.lost, messages.foreign), (1, 0, 0, 0));
    assert_eq!(fates(&seen), [Fate::Changed]);
}

#[test]
fn nobody_waits_after_an_echo_that_came_altered() {
    let server = Echo::start(|_| Next::Altered);
    let seen = make(&talk(&server, 5));
    assert_eq!((seen.errors(), seen.error(ErrorKind::EchoChanged)), (5, 5), "{:?}", seen.kinds());
    assert_eq!(seen.sum(|t| t.paced.unwrap()), 0);
}

#[test]
fn each_fate_is_counted_and_named() {
    // The timeout is so long that only those pass it that are made to.
    let fate = |next: fn(u64) -> Next| {
        let server = Echo::start(next);
        let arrivals = rate(50.0, 1);
        let seen = make(&Load { arrivals, timeout: Span::from_secs(1), stop: lasting(1500), ..talk(&server, 1) });
        (seen.messages(), fates(&seen), seen)
    };
    let (sums, fates, _) = fate(|n| if n == 3 { Next::Twice } else { Next::Echo });
    assert_eq!((sums.duplicated, sums.delivered, fates), (1, sums.sent, vec![Fate::Duplicated]));
    let (sums, fates, seen) = fate(|n| if n == 3 { Next::Nothing } else { Next::Echo });
    assert_eq!((sums.lost, sums.delivered, fates), (1, sums.sent - 1, vec![Fate::Lost]));
    assert_eq!((seen.kinds(), sums.incidents[0].sequence), (vec![ErrorKind::Timeout], 3));
    let (sums, fates, _) = fate(|n| if n == 3 { Next::Swapped } else { Next::Echo });
    assert_eq!((sums.reordered, sums.delivered, fates), (1, sums.sent, vec![Fate::Reordered]));
    let (sums, fates, seen) = fate(|n| if n == 3 { Next::After(Duration::from_millis(1250)) } else { Next::Echo });
    // The server answers in order, so those behind are late too.
    assert!(sums.late >= 1 && fates[0] == Fate::Late && sums.lost == 0, "{sums:?}");
    assert_eq!((sums.delivered, seen.error(ErrorKind::Timeout)), (sums.sent, sums.late));
    let (sums, fates, _) = fate(|n| if n == 3 { Next::Altered } else { Next::Echo });
    assert_eq!((sums.changed, sums.foreign, sums.lost), (1, 0, 0), "what was altered is one failure");
    assert_eq!(fates, [Fate::Changed]);
}

#[test]
fn messages_on_their_way_when_the_load_ends_are_waited_for_and_not_lost() {
    // It answers everything, later than the load ends, and nothing after it was told to close.
    for arrivals in [users(5), rate(100.0, 5)] {
        let server = Echo::start(|_| Next::After(Duration::from_millis(150))).curt();
        let seen = make(&Load { arrivals, stop: lasting(400), ..talk(&server, 1000) });
        let messages = seen.messages();
        assert_eq!((messages.lost, messages.delivered, seen.errors()), (0, messages.sent, 0), "{messages:?}");
        assert!(messages.sent > seen.ok(), "some came after the load: {messages:?}");
        assert_eq!((seen.codes(), fates(&seen)), (vec![(1000, 5)], vec![]));
    }
    // What has been waited for in vain as long as the load is patient is lost.
    let server = Echo::start(|n| if n < 2 { Next::Echo } else { Next::Nothing }).curt();
    let patient =
        Load { arrivals: rate(50.0, 1), timeout: Span::from_millis(800), stop: lasting(300), ..talk(&server, 1) };
    let messages = make(&patient).messages();
    assert_eq!((messages.lost, messages.delivered), (messages.sent - 2, 2), "{messages:?}");
}

#[test]
fn messages_on_their_way_when_the_load_is_stopped_are_neither_lost_nor_waited_for() {
    let server = Echo::start(|n| if n < 3 { Next::Echo } else { Next::Nothing }).curt();
    let stop = StopFlag::new();
    let load = Load { arrivals: rate(50.0, 1), stop: lasting(60_000), ..talk(&server, 1) };
    let stopper = stop.clone();
    // Stopped once the three have come back and others have gone out since.
    let seen = crate::server::make_while(&load, &stop, move |tick| {
        if tick.from_us > 200_000 {
            stopper.stop();
        }
    });
    let messages = seen.messages();
    assert!(messages.sent > messages.delivered && messages.delivered == 3, "{messages:?}");
    assert_eq!((messages.lost, seen.errors()), (0, 0), "{messages:?}");
}

#[test]
fn connections_that_end() {
    for (next, kind, code) in [
        (Next::Close(1001), ErrorKind::Closed, 1001),
        (Next::Close(1005), ErrorKind::Closed, 1005),
        (Next::Reset, ErrorKind::ClosedAbnormally, 1006),
        (Next::Nonsense, ErrorKind::Frame, 1006),
    ] {
        let server = Echo::start(move |n| if n == 2 { next } else { Next::Echo });
        let seen = make(&talk(&server, 5));
        // The third message of each connection ends it: 2 good, 1 lost, 2 good on the next connection.
        assert_eq!((seen.ok(), seen.kinds(), seen.errors()), (4, vec![kind], 1), "{next:?}");
        assert_eq!((seen.messages().lost, server.connections()), (1, 2));
        assert_eq!(
            seen.codes(),
            [(1000, 1), (code, 1)]
                .into_iter()
                .collect::<std::collections::BTreeMap<_, _>>()
                .into_iter()
                .collect::<Vec<_>>()
        );
    }
}

/// What the server closes is counted when it is noticed, though nothing failed, and with the last echo of the load, too.
#[test]
fn connections_that_end_with_an_echo_are_counted_and_nobody_pauses() {
    let server = Echo::start(|n| if n == 4 { Next::Last(1001) } else { Next::Echo });
    let seen = make(&Load { arrivals: users(1), ..talk(&server, 20) });
    assert_eq!((seen.ok(), seen.errors(), seen.codes()), (20, 0, vec![(1001, 4)]), "{:?}", seen.kinds());
    let closed = seen.sum(|t| t.disconnects.as_ref().map_or(0, |d| d.closed));
    assert_eq!((server.connections(), closed, seen.sum(|t| t.closed_idle)), (4, 4, 4));
    assert_eq!(seen.sum(|t| t.paced.unwrap_or(0)), 0);
}

#[test]
fn held_connections_answer_pings_send_their_own_and_cost_nothing_else() {
    let server = Echo::faithful().pinging(Duration::from_millis(40));
    let arrivals = Arrivals::Users { count: 20, spawn_rate: 200.0, think: Spread::default() };
    let mut load = Load { arrivals, stop: lasting(1500), ..talk(&server, 1) };
    *websocket(&mut load) = WebSocket { ping: Some(Span::from_millis(50)), ..WebSocket::default() };
    let seen = make(&load);
    assert_eq!((seen.ok(), seen.errors(), seen.sent(), server.connections()), (20, 0, 20, 20));
    let messages = seen.messages();
    assert_eq!((messages.sent, seen.codes()), (0, vec![(1000, 20)]));
    assert!(messages.pings >= 20 && messages.pongs >= 20, "{messages:?}");
    assert!(messages.pinged >= messages.pongs, "{messages:?}");
    assert_eq!(seen.ticks.iter().map(|t| t.connections).max(), Some(20));
}

#[test]
fn pings_that_nobody_answers_are_counted_once_a_connection() {
    let server = Echo::faithful().without_pongs();
    let arrivals = Arrivals::Users { count: 3, spawn_rate: 200.0, think: Spread::default() };
    let mut load = Load { arrivals, stop: lasting(600), ..talk(&server, 1) };
    *websocket(&mut load) = WebSocket { ping: Some(Span::from_millis(50)), ..WebSocket::default() };
    let messages = make(&load).messages();
    assert_eq!((messages.pinged, messages.pongs), (3, 0), "a connection sends no other until it has an answer");
}

#[test]
fn a_held_connection_that_is_closed_is_opened_again() {
    let server = Echo::faithful().closing_after(Duration::from_millis(50));
    let mut load = Load { stop: lasting(1000), ..talk(&server, 1) };
    *websocket(&mut load) = WebSocket::default();
    let seen = make(&load);
    assert!(seen.ok() >= 2 && seen.errors() == 0);
    assert!((2..=11).contains(&server.connections()), "not faster than failures go: {}", server.connections());
    let idle = seen.sum(|t| t.closed_idle);
    // One that the server closes while the load ends is not counted as closed in it.
    assert!(
        seen.codes().iter().any(|(code, n)| *code == 1001 && (idle..=idle + 1).contains(n)),
        "{idle}: {:?}",
        seen.codes()
    );
}

#[test]
fn handshakes_that_fail_say_how() {
    let says = |answer: &'static str| {
        let server = crate::server::Server::start(move |stream, _| {
            use std::io::Write;
            if read_request(stream) {
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        let message = Some(Message { size: 64, binary: false });
        let protocol = Protocol::WebSocket(WebSocket { message, ..WebSocket::default() });
        let load = Load { protocol, ..load(server.address, 1) };
        let mut kinds = Vec::new();
        let tick = |t: genkai_model::event::Tick| kinds.extend(t.errors.iter().map(|e| e.kind));
        run(&load, None, &StopFlag::new(), |_| (), tick).unwrap();
        kinds
    };
    assert_eq!(says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), [ErrorKind::UpgradeRefused]);
    assert_eq!(says("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), [ErrorKind::Status503]);
    assert_eq!(says("HTTP/1.1 401 Who\r\nContent-Length: 0\r\n\r\n"), [ErrorKind::Status4xx]);
    let wrong = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                 Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n";
    assert_eq!(says(wrong), [ErrorKind::UpgradeInvalid]);
    assert_eq!(says("what?\r\n\r\n"), [ErrorKind::Protocol]);
    assert_eq!(says(""), [ErrorKind::EofNew]);
}

#[test]
fn the_handshake_carries_what_was_asked_for() {
    let server = Echo::faithful();
    let mut load = talk(&server, 1);
    load.request.headers = vec![("Cookie".into(), "a=b".into()), ("Origin".into(), "http://x".into())];
    load.request.path = "/room?id=3".into();
    websocket(&mut load).subprotocols = vec!["chat".into(), "superchat".into()];
    assert_eq!(make(&load).ok(), 1);
    let head = server.last_head();
    assert!(head.starts_with("GET /room?id=3 HTTP/1.1\r\n"), "{head}");
    for field in ["Cookie: a=b\r\n", "Origin: http://x\r\n", "Sec-WebSocket-Protocol: chat, superchat\r\n"] {
        assert!(head.contains(field), "{head}");
    }
}

#[test]
fn over_tls() {
    let authority = crate::authority::Authority::new();
    let server = Echo::start(|_| Next::Echo).secured(authority.server(crate::authority::Paper::good()));
    let tls = authority.trusted();
    for size in [64, 100_000] {
        let mut load = Load { arrivals: users(4), ..talk(&server, 100) };
        load.transport = Transport::Tls(tls.clone());
        websocket(&mut load).message = Some(Message { size, binary: false });
        let seen = make(&load);
        assert_eq!((seen.ok(), seen.errors(), seen.codes()), (100, 0, vec![(1000, 4)]), "{:?}", seen.kinds());
    }
}

#[test]
fn what_cannot_be_asked_is_refused_before() {
    let server = Echo::faithful();
    let refused = |change: &dyn Fn(&mut Load)| {
        let mut load = talk(&server, 1);
        change(&mut load);
        run(&load, None, &StopFlag::new(), |_| panic!("started"), |_| ()).unwrap_err()
    };
    let short = |load: &mut Load| websocket(load).message = Some(Message { size: 23, binary: false });
    assert!(refused(&short).to_string().contains("at least 24"));
    let silent = |load: &mut Load| {
        websocket(load).message = None;
        load.arrivals = rate(1.0, 1);
    };
    assert!(matches!(refused(&silent), EngineError::Load(_)));
    let own = |load: &mut Load| load.request.headers.push(("Upgrade".into(), "h2c".into()));
    assert!(matches!(refused(&own), EngineError::Handshake(_)));
    let twice = |load: &mut Load| websocket(load).subprotocols = vec!["a".into(), "a".into()];
    assert!(matches!(refused(&twice), EngineError::Handshake(_)));
}

#[test]
fn a_number_of_messages_is_exact_and_stopping_closes() {
    let server = Echo::faithful();
    let seen = make(&Load { arrivals: users(7), threads: 3, ..talk(&server, 100) });
    assert_eq!((seen.ok(), seen.messages().sent, seen.end.abandoned), (100, 100, 0));
    let stop = StopFlag::new();
    let (wish, mut ticks) = (stop.clone(), Vec::new());
    let end = run(
        &Load { arrivals: users(5), ..talk(&server, 1_000_000) },
        None,
        &stop,
        |_| (),
        |tick| {
            wish.stop();
            ticks.push(tick);
        },
    )
    .unwrap();
    let seen = Seen { end, ticks };
    assert!(seen.end.stopped && seen.ok() > 0);
    assert_eq!(seen.codes(), [(1000, 5)]);
}
