//! Connections: refused, closed under our feet, used once, shared out.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::{HELLO, Seen, Server, load, make, read_request, reset, users};
use genkai_engine::FAILURE_PACE;
use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Load, Reuse, Stop};
use genkai_model::units::{Span, Spread};
use hdrhistogram::Histogram;

#[test]
fn nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let seen = make(&load(address, 3));
    assert_eq!((seen.error(ErrorKind::ConnectRefused), seen.sent(), seen.sum(|t| t.opened)), (3, 0, 0));
    assert_eq!(seen.sum(|t| t.paced.unwrap()), 2, "after the last failure nobody waits");
    assert!(seen.end.lasted.0 >= 2 * FAILURE_PACE.0, "a refused user does not hammer: {}", seen.end.lasted);
}

#[test]
fn an_accept_queue_that_is_full_is_a_connect_timeout() {
    // Nobody accepts; backlog 0 leaves room for one connection (listen(2)): its request is never answered, the others' SYN is dropped.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let load = Load { arrivals: users(3), timeout: Span::from_millis(100), ..load(address, 3) };
    let seen = make(&load);
    assert_eq!(seen.kinds(), [ErrorKind::ConnectTimeout, ErrorKind::Timeout]);
    assert_eq!((seen.error(ErrorKind::Timeout), seen.errors()), (1, 3));
}

/// The first SYN is dropped, the next one comes after a second (RFC 6298): what the server takes then is more than is left of the timeout.
#[test]
fn connecting_is_a_part_of_what_a_request_may_take() {
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let listener: TcpListener = listener.into();
    let address = listener.local_addr().unwrap();
    let first = std::net::TcpStream::connect(address).unwrap();
    let server = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&mut stream);
        std::thread::sleep(std::time::Duration::from_millis(900));
        let _ = stream.write_all(HELLO);
    });
    let timeout = Span::from_millis(1_500);
    let seen = make(&Load { arrivals: users(1), timeout, ..load(address, 1) });
    server.join().unwrap();
    drop(first);
    assert_eq!((seen.kinds(), seen.ok()), (vec![ErrorKind::Timeout], 0));
    let took = seen.merged(|t| &t.failed_after);
    assert!(took.max() >= timeout.0 - timeout.0 / 100, "{} ns", took.max());
}

/// What has no answer at the end has not failed; how long it has waited is told.
#[test]
fn how_long_requests_had_waited_when_the_load_ended_is_told() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        std::thread::sleep(std::time::Duration::from_millis(1_500));
    });
    let stop = Stop { after: Span::from_millis(500), requests: None };
    let seen = make(&Load { arrivals: users(4), stop, ..load(server.address, 4) });
    assert_eq!((seen.ok(), seen.errors(), seen.end.abandoned), (0, 0, 4));
    let waited = seen.merged(|t| &t.unanswered);
    assert_eq!(waited.len(), 4);
    assert!(waited.max() <= 510_000_000, "{} ns", waited.max());
    assert!(waited.min() > 0);
    let before = seen.ticks.len() - 1;
    assert!(seen.ticks[..before].iter().all(|tick| tick.unanswered.is_empty()), "in the last interval alone");
}

#[test]
fn a_server_slow_to_accept_does_not_make_the_generator_late() {
    // As above; the wait of those who get in at last is long, the generator's own part of it is not.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let timeout = Span::from_millis(700);
    let load = Load { arrivals: users(3), reuse: Reuse::PerRequest, timeout, ..load(address, 3) };
    let seen = make(&load);
    assert_eq!(seen.errors(), 3);
    let lateness = seen.merged(|t| &t.lateness);
    assert_eq!(lateness.len(), 3);
    assert!(lateness.max() < timeout.0, "{} ns", lateness.max());
}

#[test]
fn an_open_load_of_new_connections_is_checked_too() {
    let server = Server::always(HELLO);
    let arrivals = Arrivals::Rate {
        per_second: 200.0,
        ramp: Span(0),
        spacing: genkai_model::load::Spacing::Uniform,
        connections: 50,
    };
    let seen = make(&Load { reuse: Reuse::PerRequest, arrivals, ..load(server.address, 20) });
    assert_eq!(seen.ok(), 20);
    assert_eq!(seen.merged(|t| &t.lateness).len(), 20);
}

/// What comes behind an answer while its user thinks is no closing by the server.
#[test]
fn bytes_behind_an_answer_that_come_late_are_counted_as_such() {
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            let _ = stream.write_all(HELLO);
            std::thread::sleep(std::time::Duration::from_millis(100));
            let _ = stream.write_all(b"more");
        }
    });
    let think = Spread::Constant(Span::from_millis(400));
    let load = Load { arrivals: Arrivals::Users { count: 1, spawn_rate: 1.0, think }, ..load(server.address, 3) };
    let seen = make(&load);
    let sums = [seen.ok(), seen.sum(|t| t.surplus), seen.sum(|t| t.closed_idle), seen.sum(|t| t.opened)];
    assert_eq!(sums, [3, 2, 0, 3]);
}

#[test]
fn a_connection_closed_while_its_user_thinks_is_replaced_in_silence() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(HELLO);
    });
    let think = Spread::Constant(Span::from_millis(400));
    let load = Load { arrivals: Arrivals::Users { count: 1, spawn_rate: 1.0, think }, ..load(server.address, 3) };
    let seen = make(&load);
    assert_eq!((seen.ok(), seen.errors(), server.connections()), (3, 0, 3));
    assert_eq!(seen.sum(|t| t.closed_idle), 2);
    assert_eq!(seen.merged(|t| &t.lateness).len(), 2, "counted to the attempt to connect, but for a user's first");
}

#[test]
fn an_unasked_answer_while_idle_ends_the_connection() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(HELLO);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let _ = stream.write_all(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
        let _ = stream.read(&mut [0; 9]);
    });
    let think = Spread::Constant(Span::from_millis(600));
    let load = Load { arrivals: Arrivals::Users { count: 1, spawn_rate: 1.0, think }, ..load(server.address, 2) };
    let seen = make(&load);
    assert_eq!((seen.ok(), seen.errors(), seen.sum(|t| t.closed_idle)), (2, 0, 1));
}

/// The first `good` requests of a connection are answered, the next one is read and then `end` happens.
fn gives_up_after(good: usize, rst: bool) -> Server {
    Server::start(move |stream, _| {
        for _ in 0..good {
            if !read_request(stream) {
                return;
            }
            let _ = stream.write_all(HELLO);
        }
        if read_request(stream) && rst {
            reset(stream);
        }
    })
}

#[test]
fn a_connection_that_ends_instead_of_answering() {
    for (good, rst, kind) in [
        (0, false, ErrorKind::EofNew),
        (0, true, ErrorKind::Reset),
        (2, false, ErrorKind::EofReused),
        (2, true, ErrorKind::ResetReused),
    ] {
        let server = gives_up_after(good, rst);
        let requests = good as u64 + 1;
        let seen = make(&load(server.address, requests));
        assert_eq!((seen.kinds(), seen.errors(), seen.ok()), (vec![kind], 1, good as u64));
    }
}

/// How long nothing had been said on kept connections before the server ended them.
fn silences(seen: &Seen) -> Histogram<u64> {
    let mut all = genkai_model::histogram::empty();
    seen.ticks.iter().for_each(|tick| tick.kept_silent.add_to(&mut all).unwrap());
    all
}

/// Answers so many requests of a connection, reads another, counts it, and closes.
fn closes_after(good: usize, asked: &Arc<AtomicUsize>) -> Server {
    let asked = Arc::clone(asked);
    Server::start(move |stream, _| {
        for _ in 0..good {
            if !read_request(stream) {
                return;
            }
            asked.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(HELLO);
        }
        asked.fetch_add(usize::from(read_request(stream)), Ordering::SeqCst);
    })
}

#[test]
fn a_request_that_meets_the_end_of_a_kept_connection_is_made_again_and_has_not_failed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = closes_after(2, &asked);
    let seen = make(&Load { retry: true, ..load(server.address, 9) });
    assert_eq!((seen.ok(), seen.errors(), seen.sum(|t| t.retried), seen.sent()), (9, 0, 4, 9));
    assert_eq!((asked.load(Ordering::SeqCst), server.connections()), (9 + 4, 5), "as the server counts");
    assert_eq!(silences(&seen).len(), 4, "each end of a kept connection is told with the silence before it");
    let server = gives_up_after(2, true);
    let seen = make(&Load { retry: true, ..load(server.address, 3) });
    assert_eq!((seen.ok(), seen.errors(), seen.sum(|t| t.retried)), (3, 0, 1), "a reset is an end, too");
}

#[test]
fn what_may_not_be_done_twice_or_fails_twice_has_failed() {
    let asked = Arc::new(AtomicUsize::new(0));
    let server = closes_after(2, &asked);
    let mut post = Load { retry: true, ..load(server.address, 3) };
    post.request.method = "POST".into();
    let seen = make(&post);
    assert_eq!((seen.kinds(), seen.sum(|t| t.retried)), (vec![ErrorKind::EofReused], 0), "POST is not idempotent");
    assert_eq!(asked.load(Ordering::SeqCst), 3);
    // Every connection but the first is closed without an answer.
    let server = Server::start(|stream, n| {
        if read_request(stream) && n == 0 {
            let _ = stream.write_all(HELLO);
            read_request(stream);
        }
    });
    let seen = make(&Load { retry: true, ..load(server.address, 2) });
    assert_eq!((seen.kinds(), seen.sum(|t| t.retried)), (vec![ErrorKind::EofNew], 1), "once, not again and again");
    assert_eq!(server.connections(), 2);
}

#[test]
fn what_waits_is_told_with_since_when_and_what_was_not_sent_beside_it() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let stop = Stop { after: Span::from_millis(1_200), requests: None };
    let arrivals = Arrivals::Users { count: 3, spawn_rate: 10.0, think: Spread::default() };
    let timeout = Span::from_secs(1);
    let seen = make(&Load { arrivals, timeout, stop, ..load(server.address, 99) });
    let first = seen.ticks[3].waiting.unwrap();
    assert!(first.since_us.is_some_and(|since| since < 50_000), "{first:?}");
    assert_eq!((first.since_level, first.overdue, first.unsent), (Some(1.0), 0, 0));
    assert_eq!(seen.errors(), seen.error(ErrorKind::Timeout));
    let arrivals = Arrivals::Rate {
        per_second: 100.0,
        ramp: Span(0),
        spacing: genkai_model::load::Spacing::Uniform,
        connections: 5,
    };
    let stop = Stop { after: Span::from_millis(500), requests: None };
    let seen = make(&Load { arrivals, stop, ..load(server.address, 99) });
    let last = seen.ticks.last().unwrap();
    assert_eq!((last.in_flight, last.waiting.unwrap().unsent, seen.sent()), (50, 45, 5));
}

#[test]
fn a_load_that_is_held_gets_no_further_users_and_ends_later() {
    let server = Server::always(HELLO);
    let stop = Stop { after: Span::from_millis(1_000), requests: None };
    let think = Spread::Constant(Span::from_millis(50));
    let arrivals = Arrivals::Users { count: 40, spawn_rate: 50.0, think };
    let held = Load { arrivals, stop, ..load(server.address, 99) };
    let (hold, mut ticks) = (genkai_engine::Hold::new(), Vec::new());
    let end = genkai_engine::run_held(
        &held,
        None,
        (&genkai_engine::StopFlag::new(), &hold),
        |_| (),
        |tick| {
            match tick.to_us {
                200_000 => hold.begin(),
                1_200_000 => hold.end(),
                _ => {}
            }
            ticks.push(tick);
        },
    );
    let lasted = end.unwrap().lasted.as_secs_f64();
    assert!((1.9..2.2).contains(&lasted), "a second of a pause: {lasted}");
    let level = |us: u64| ticks.iter().find(|t| t.to_us == us).unwrap();
    assert_eq!(level(400_000).level, level(1_200_000).level, "nobody came");
    assert!((10.0..20.0).contains(&level(400_000).level), "{}", level(400_000).level);
    assert_eq!(level(400_000).connections as f64, level(400_000).level, "as many as there are");
    assert_eq!((level(1_900_000).level, level(1_900_000).connections), (40.0, 40), "then all of them");
}

#[test]
fn one_request_a_connection() {
    let asked_to_close = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked_to_close);
    let server = Server::start(move |stream, _| {
        let mut head = [0; 200];
        let n = stream.read(&mut head).unwrap_or(0);
        counts.fetch_add(
            usize::from(String::from_utf8_lossy(&head[..n]).contains("Connection: close")),
            Ordering::SeqCst,
        );
        // It keeps the connection nevertheless: the client closes it.
        let _ = stream.write_all(HELLO);
        assert!(stream.read(&mut head).is_ok_and(|n| n == 0), "closed without another request");
    });
    let seen = make(&Load { reuse: Reuse::PerRequest, arrivals: users(2), ..load(server.address, 10) });
    assert_eq!((seen.ok(), server.connections(), asked_to_close.load(Ordering::SeqCst)), (10, 10, 10));
    assert_eq!(seen.sum(|t| t.opened), 10);
    assert_eq!(seen.merged(|t| &t.lateness).len(), 10, "the generator checks itself without keep-alive too");
    assert_eq!(seen.sum(|t| t.closed_idle), 0);
}

#[test]
fn addresses_take_turns() {
    let servers = [Server::always(HELLO), Server::always(HELLO), Server::always(HELLO)];
    let mut load = load(servers[0].address, 12);
    load.addresses = servers.iter().map(|s| s.address).collect();
    load.reuse = Reuse::PerRequest;
    assert_eq!(make(&load).ok(), 12);
    assert_eq!(servers.each_ref().map(Server::connections), [4, 4, 4]);
}

#[test]
fn when_descriptors_run_out_it_is_the_clients_doing() {
    // In a process of its own: the limit is the process's.
    const ASKED: &str = "GENKAI_TEST_FEW_DESCRIPTORS";
    if let Ok(address) = std::env::var(ASKED) {
        let few = nix::sys::resource::Resource::RLIMIT_NOFILE;
        nix::sys::resource::setrlimit(few, 30, 30).unwrap();
        let stop = Stop { after: Span::from_millis(300), requests: None };
        let seen = make(&Load { arrivals: users(100), stop, ..load(address.parse().unwrap(), 1) });
        assert_eq!(seen.kinds(), [ErrorKind::DescriptorsExhausted]);
        assert!(seen.ok() > 0, "the others go on");
        return;
    }
    let server = Server::always(HELLO);
    let name = "when_descriptors_run_out_it_is_the_clients_doing";
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(ASKED, server.address.to_string())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}
