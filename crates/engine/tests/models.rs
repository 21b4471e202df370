//! Arrivals, stop rules, intervals and accounting.

mod server;

use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use genkai_engine::{EngineError, StopFlag, run};
use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Load, Spacing, Stop};
use genkai_model::stage::Stages;
use genkai_model::units::{Span, Spread};
use server::{HELLO, Seen, Server, load, make, make_until, read_request, users};

fn rate(per_second: f64, connections: u32) -> Arrivals {
    Arrivals::Rate { per_second, ramp: Span(0), spacing: Spacing::Uniform, connections }
}

fn lasting(ms: u64) -> Stop {
    Stop { after: Span::from_millis(ms), requests: None }
}

fn p50_ms(seen: &Seen, what: fn(&genkai_model::event::Tick) -> &genkai_model::histogram::Payload) -> f64 {
    seen.merged(what).value_at_quantile(0.5) as f64 / 1e6
}

#[test]
fn service_time_is_at_least_the_servers_delay() {
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            std::thread::sleep(Duration::from_millis(20));
            let _ = stream.write_all(HELLO);
        }
    });
    let seen = make(&Load { arrivals: users(4), ..load(server.address, 40) });
    assert_eq!(seen.ok(), 40);
    assert!(seen.merged(|t| &t.service).min() as f64 >= 20e6 * 0.999);
    assert!(p50_ms(&seen, |t| &t.latency) >= p50_ms(&seen, |t| &t.service));
}

/// What waits for a connection when the load is over is told as never sent: the server has never heard of it.
#[test]
fn nothing_is_sent_when_the_load_is_over() {
    static READ: AtomicU64 = AtomicU64::new(0);
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            READ.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(1));
            let _ = stream.write_all(HELLO);
        }
    });
    for _ in 0..15 {
        let before = READ.load(Ordering::SeqCst);
        let seen = make(&Load { arrivals: rate(50_000.0, 20), stop: lasting(100), ..load(server.address, 1) });
        std::thread::sleep(Duration::from_millis(50));
        let read = READ.load(Ordering::SeqCst) - before;
        assert!(read > 20 && read <= seen.sent(), "{read} were read, {} sent", seen.sent());
    }
}

#[test]
fn latency_counts_from_the_plan() {
    // One connection, 100 planned a second, the server takes 20 ms: half of them must wait, longer and longer.
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            std::thread::sleep(Duration::from_millis(20));
            let _ = stream.write_all(HELLO);
        }
    });
    let seen = make(&Load { arrivals: rate(100.0, 1), ..load(server.address, 40) });
    assert_eq!((seen.ok(), server.connections()), (40, 1));
    // The last is planned at 390 ms and cannot be answered before 800 ms.
    assert!(seen.merged(|t| &t.latency).max() >= 405_000_000);
    assert!(seen.merged(|t| &t.service).min() < 40_000_000);
    assert!(seen.merged(|t| &t.lateness).len() <= 1, "waiting for a busy connection is not the generator's lateness");
}

#[test]
fn an_open_load_uses_few_connections_when_they_suffice() {
    let server = Server::always(HELLO);
    let seen = make(&Load { arrivals: rate(50.0, 100), ..load(server.address, 20) });
    assert_eq!(seen.ok(), 20);
    assert!(server.connections() < 20, "idle connections are used again: {}", server.connections());
    assert!(!seen.merged(|t| &t.lateness).is_empty());
}

#[test]
fn an_open_load_replaces_connections_closed_while_idle() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(HELLO);
    });
    // So far apart that the server has closed even where it hardly gets a turn.
    let seen = make(&Load { arrivals: rate(3.0, 2), ..load(server.address, 4) });
    assert_eq!((seen.ok(), seen.errors(), server.connections()), (4, 0, 4));
    assert!(seen.sum(|t| t.closed_idle) >= 3);
}

#[test]
fn what_nobody_could_send_is_dropped_by_the_client() {
    let server = Server::start(|stream, _| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // One connection hangs for its timeout; what waited longer than that is not worth sending.
    let load = Load {
        arrivals: rate(1000.0, 1),
        timeout: Span::from_millis(50),
        stop: lasting(400),
        ..load(server.address, 1)
    };
    let seen = make(&load);
    assert_eq!(seen.kinds(), [ErrorKind::Timeout, ErrorKind::Dropped]);
    assert!(seen.end.abandoned > 0);
    let planned = seen.errors() + seen.end.abandoned;
    assert!(planned <= 400, "{planned} planned in 400 ms at 1000 a second");
}

#[test]
fn every_planned_request_is_accounted_for() {
    let server = Server::always(HELLO);
    for (threads, spacing) in [(1, Spacing::Uniform), (3, Spacing::Uniform), (3, Spacing::Poisson)] {
        let arrivals = Arrivals::Rate { per_second: 500.0, ramp: Span::from_millis(200), spacing, connections: 20 };
        let planned = |stop: Stop| {
            let seen = make(&Load { arrivals, threads, stop, ..load(server.address, 1) });
            (seen.ok() + seen.errors() + seen.end.abandoned) as f64
        };
        // So many as there are arrivals, in whatever time they take.
        assert_eq!(planned(Stop { after: Span::from_secs(60), requests: Some(301) }), 301.0);
        // 500/s over 2 s less half a ramp; a Poisson process has the square root of it more or less. The last may be due too
        // late to be taken up, on a slow machine those of half a second.
        let (whole, late) = (950.0, 250.0);
        let chance = if matches!(spacing, Spacing::Poisson) { 5.0 * f64::sqrt(whole) } else { 0.0 };
        let planned = planned(lasting(2000));
        let expected = whole - late - chance..=whole + chance;
        assert!(expected.contains(&planned), "{planned} of {expected:?}, {threads} threads, {spacing:?}");
    }
}

#[test]
fn a_number_of_requests_is_exact() {
    let server = Server::always(HELLO);
    for threads in [1, 2, 3] {
        let seen = make(&Load { arrivals: users(7), threads, ..load(server.address, 100) });
        assert_eq!((seen.ok(), seen.sent(), seen.end.abandoned), (100, 100, 0));
        assert!(seen.end.lasted < Span::from_secs(10) && !seen.end.stopped);
        assert_eq!(seen.ticks.last().unwrap().level, 7.0);
    }
}

#[test]
fn users_start_one_after_the_other_and_levels_say_so() {
    let server = Server::always(HELLO);
    let arrivals = Arrivals::Users { count: 5, spawn_rate: 20.0, think: Spread::Constant(Span::from_millis(10)) };
    let seen = make(&Load { arrivals, threads: 2, stop: lasting(400), ..load(server.address, 1) });
    let levels: Vec<f64> = seen.ticks.iter().map(|t| t.level).collect();
    assert_eq!(levels, [2.0, 4.0, 5.0, 5.0]);
    assert_eq!(seen.ticks.iter().map(|t| t.to_us).collect::<Vec<_>>(), [100_000, 200_000, 300_000, 400_000]);
    assert_eq!(server.connections(), 5);
    assert_eq!(seen.sum(|t| t.opened), 5);
}

#[test]
fn the_first_error_says_when_and_at_which_level() {
    let server = Server::start(|stream, n| {
        if n >= 3 {
            return;
        }
        while read_request(stream) && stream.write_all(HELLO).is_ok() {}
    });
    let arrivals = Arrivals::Users { count: 5, spawn_rate: 20.0, think: Spread::Constant(Span::from_millis(10)) };
    let seen = make(&Load { arrivals, stop: lasting(400), ..load(server.address, 1) });
    let first = seen.ticks.iter().find(|t| t.first_error_us.is_some()).expect("the fourth user fails");
    assert!(first.first_error_us.unwrap() >= 150_000, "not before it started");
    assert!(first.first_error_level.unwrap() >= 4.0);
}

#[test]
fn stopping_ends_a_load_that_hangs() {
    let server = Server::start(|stream, _| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let stop = StopFlag::new();
    let wish = stop.clone();
    let (heard, first) = channel();
    let heard = Mutex::new(heard);
    let load = Load { arrivals: users(20), timeout: Span::from_secs(60), ..load(server.address, 1000) };
    let began = Instant::now();
    let stopper = std::thread::spawn(move || {
        first.recv().expect("a first interval");
        wish.stop();
    });
    let mut ticks = Vec::new();
    let end = run(
        &load,
        None,
        &stop,
        |_| (),
        |tick| {
            let _ = heard.lock().unwrap().send(());
            ticks.push(tick);
        },
    );
    let end = end.unwrap();
    stopper.join().unwrap();
    assert!(end.stopped && end.abandoned == 20);
    assert!(began.elapsed() < Duration::from_secs(8), "before its ten seconds are over");
    assert_eq!(ticks.last().unwrap().in_flight, 20);
    assert_eq!(ticks.last().unwrap().connections, 20);
}

#[test]
fn a_stop_before_the_start_is_a_short_load() {
    let server = Server::always(HELLO);
    let stop = StopFlag::new();
    stop.stop();
    let seen = make_until(&load(server.address, 1000), &stop);
    assert!(seen.end.stopped && seen.end.lasted < Span::from_secs(1));
}

#[test]
fn the_engine_says_what_it_used() {
    let server = Server::always(HELLO);
    let seen = make(&Load { arrivals: users(4), threads: 2, stop: lasting(300), ..load(server.address, 1) });
    assert!(seen.sum(|t| t.cpu_us) > 0);
    for tick in &seen.ticks {
        assert!(tick.cpu_max_us <= tick.cpu_us && tick.cpu_us <= 2 * tick.cpu_max_us);
    }
    assert!(seen.end.client_rss > 1 << 20);
    let request = "GET / HTTP/1.1\r\nHost: test\r\n\r\n".len() as u64;
    assert_eq!(seen.sum(|t| t.bytes_out), seen.sent() * request);
}

#[test]
fn it_starts_once_and_before_the_first_interval() {
    let server = Server::always(HELLO);
    let order = Mutex::new(Vec::new());
    let began = Instant::now();
    let started = |zero: Instant| {
        assert!(zero >= began && zero <= Instant::now());
        order.lock().unwrap().push("start");
    };
    let load = Load { stop: lasting(250), ..load(server.address, 1) };
    run(&load, Some(&[0]), &StopFlag::new(), started, |_| order.lock().unwrap().push("tick")).unwrap();
    assert_eq!(*order.lock().unwrap(), ["start", "tick", "tick", "tick"]);
}

#[test]
fn what_cannot_start_says_why() {
    let server = Server::always(HELLO);
    let fails = |load: &Load, cpus: Option<&[usize]>| {
        run(load, cpus, &StopFlag::new(), |_| panic!("started"), |_| panic!("ticked")).unwrap_err()
    };
    assert!(matches!(fails(&Load { threads: 0, ..load(server.address, 1) }, None), EngineError::Load(_)));
    let mut bad = load(server.address, 1);
    bad.request.path = "a b".into();
    assert!(matches!(fails(&bad, None), EngineError::Request(_)));
    assert!(matches!(fails(&load(server.address, 1), Some(&[100_000])), EngineError::Start(_)));
}

#[test]
fn users_go_up_and_down_with_the_stages() {
    let server = Server::always(HELLO);
    // At the end there is time for the last to let their requests end.
    let stages: Stages = "200ms:0..4, 200ms:4, 200ms:0, 600ms:0".parse().unwrap();
    let arrivals = Arrivals::Users { count: 4, spawn_rate: 1.0, think: Spread::Constant(Span::from_millis(5)) };
    let seen = make(&Load {
        arrivals,
        stages: stages.stages,
        threads: 2,
        stop: lasting(1200),
        ..load(server.address, 100_000)
    });
    let levels: Vec<f64> = seen.ticks.iter().map(|t| t.level).collect();
    assert_eq!((&levels[..6], &levels[6..]), (&[2.0, 4.0, 4.0, 4.0, 2.0, 0.0][..], &[0.0; 6][..]));
    assert_eq!((server.connections(), seen.sum(|t| t.opened)), (4, 4));
    assert_eq!((seen.errors(), seen.end.abandoned), (0, 0), "who leaves lets its request end");
    assert_eq!(seen.ticks[11].connections, 0, "who leaves closes its connection");
}

#[test]
fn a_rate_pauses_and_comes_back() {
    let server = Server::always(HELLO);
    let stages: Stages = "200ms:100..100/s, 200ms:pause, 200ms:200..200/s".parse().unwrap();
    let arrivals = rate(200.0, 50);
    let seen = make(&Load { arrivals, stages: stages.stages, stop: lasting(600), ..load(server.address, 100_000) });
    let levels: Vec<f64> = seen.ticks.iter().map(|t| t.level).collect();
    assert_eq!(levels, [100.0, 100.0, 0.0, 0.0, 200.0, 200.0]);
    let planned = seen.ok() + seen.errors() + seen.end.abandoned;
    assert!((21..=60).contains(&planned), "{planned}: 20 and 40, of which the last may come too late");
}
