//! Whether what is reported is what the server did, by the server's own account of the same run. No bound rests on how fast this machine is.

mod server;

use std::io::Write;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use genkai_engine::{StopFlag, run};
use genkai_model::load::{Arrivals, Load, Spacing};
use genkai_model::units::Span;
use server::{HELLO, Seen, Server, load, make, read_request, users};

const STALL: Duration = Duration::from_millis(500);
const RATE: f64 = 400.0;
const REQUESTS: u64 = 800;

/// A server that stands still once, half a second after its first request, and tells when it answered each, and from when to when
/// it stood still.
fn stalling() -> (Server, Receiver<Instant>, Receiver<(Instant, Instant)>) {
    let gate = Arc::new(Mutex::new(()));
    let (first, begun) = channel();
    let (tell, answers) = channel();
    let (stood, stall) = channel();
    let stops = Arc::clone(&gate);
    thread::spawn(move || {
        if begun.recv().is_ok() {
            thread::sleep(STALL);
            let _closed = stops.lock();
            let from = Instant::now();
            thread::sleep(STALL);
            let _ = stood.send((from, Instant::now()));
        }
    });
    let server = Server::start(move |stream, _| {
        while read_request(stream) {
            let _ = first.send(());
            drop(gate.lock());
            let _ = tell.send(Instant::now());
            let _ = stream.write_all(HELLO);
        }
    });
    (server, answers, stall)
}

fn seconds(span: Duration) -> f64 {
    span.as_secs_f64()
}

#[test]
fn a_stall_is_felt_by_all_who_were_planned_in_it() {
    let (server, answers, stall) = stalling();
    let arrivals = Arrivals::Rate { per_second: RATE, ramp: Span(0), spacing: Spacing::Uniform, connections: 16 };
    let load = Load { arrivals, ..load(server.address, REQUESTS) };
    let (mut zero, mut ticks) = (None, Vec::new());
    let end = run(&load, None, &StopFlag::new(), |at| zero = Some(at), |tick| ticks.push(tick)).unwrap();
    let seen = Seen { end, ticks };
    assert_eq!((seen.ok(), seen.errors()), (REQUESTS, 0));
    let latency = seen.merged(|tick| &tick.latency);

    // Who is planned between the stall's beginning and 100 ms before its end waits for 100 ms at least. 16 connections carry 16 of them
    // at a time: a generator that waits with the others would not have sent them, and would report 16.
    let zero = zero.expect("a start");
    let (from, to) = stall.recv().unwrap();
    let planned_until = Duration::from_secs_f64(REQUESTS as f64 / RATE);
    let met = to.duration_since(zero).min(planned_until).saturating_sub(from.duration_since(zero));
    let sure = ((seconds(met) - 0.1) * RATE).floor() - 2.0;
    let slow = latency.count_between(99_900_000, u64::MAX);
    assert!(sure > 100.0, "the stall was inside of the load: {met:?}");
    assert!(slow as f64 >= sure, "{slow} slow ones, at least {sure} were planned into the stall");
    assert!(latency.max() as f64 / 1e9 >= seconds(met) - 2.0 / RATE);

    // The mean needs no pairing of requests and answers: it is that of the answers less that of the plan.
    let answered: Vec<f64> = answers.try_iter().map(|at| seconds(at.saturating_duration_since(zero))).collect();
    assert_eq!(answered.len() as u64, REQUESTS);
    let mean_of_plan = (REQUESTS - 1) as f64 / 2.0 / RATE;
    let truth = answered.iter().sum::<f64>() / REQUESTS as f64 - mean_of_plan;
    let said = latency.mean() / 1e9;
    assert!(said >= truth * 0.998, "{said} s said, {truth} s true: some of the waiting was left out");
    assert!(said <= truth * 1.5 + 0.1, "{said} s said, {truth} s true");
}

#[test]
fn the_kernel_tells_how_long_responses_lay_there() {
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            thread::sleep(Duration::from_millis(2));
            let _ = stream.write_all(HELLO);
        }
    });
    let plain = Load { arrivals: users(4), ..load(server.address, 200) };
    assert!(make(&plain).merged(|tick| &tick.receipt).is_empty());
    let seen = make(&Load { kernel_timestamps: true, ..plain });
    let receipt = seen.merged(|tick| &tick.receipt);
    assert_eq!(seen.ok(), 200);
    // The kernel begins to stamp a moment after it was asked for the first time, as soon as it finds the time.
    assert!((1..=200).contains(&receipt.len()), "{} stamps", receipt.len());
    assert!(receipt.max() <= seen.end.lasted.0);
    assert!(seen.merged(|tick| &tick.service).min() as f64 >= 2e6 * 0.999, "no response arrives before it was sent");
}
