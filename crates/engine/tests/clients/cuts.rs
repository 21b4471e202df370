//! Connections that end, or stall, after any byte; writes and reads that are short.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::server::{Seen, Server, arrived, load, make, make_until, read_request, reset, users};
use genkai_engine::StopFlag;
use genkai_model::error::ErrorKind;
use genkai_model::load::{Body, Load, Stop};
use genkai_model::units::Span;

const RESPONSES: [&str; 4] = [
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    "HTTP/1.0 200 OK\r\nServer: old\r\n\r\nhello",
];

/// One connection for each length that a beginning of `response` can have; `then` is what comes after it.
fn cut(response: &'static str, then: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (Server, Load) {
    let server = Server::start(move |stream, n| {
        read_request(stream);
        let _ = stream.write_all(&response.as_bytes()[..n.min(response.len())]);
        then(stream);
    });
    let count = response.len() as u64 + 1;
    let load = Load { arrivals: users(count as u32), ..load(server.address, count) };
    (server, load)
}

fn counts(seen: &Seen) -> Vec<(ErrorKind, u64)> {
    seen.kinds().into_iter().map(|kind| (kind, seen.error(kind))).collect()
}

/// Beginnings of `response` that are no response, and those that are whole if the server closes then.
fn lengths(response: &str) -> (u64, u64) {
    let head = response.find("\r\n\r\n").unwrap() as u64 + 4;
    let whole = if response.starts_with("HTTP/1.0") { response.len() as u64 + 1 - head } else { 1 };
    (response.len() as u64 + 1 - whole, whole)
}

#[test]
fn closed_after_any_byte() {
    for response in RESPONSES {
        let (_server, load) = cut(response, |_| ());
        let seen = make(&load);
        let (cut, whole) = lengths(response);
        assert_eq!(counts(&seen), [(ErrorKind::EofNew, 1), (ErrorKind::Truncated, cut - 1)], "{response:?}");
        assert_eq!(seen.ok(), whole);
    }
}

#[test]
fn reset_after_any_byte() {
    for response in RESPONSES {
        let (_server, load) = cut(response, |stream| {
            arrived(stream);
            reset(stream);
        });
        let seen = make(&load);
        // A body that lasts until close is not ended by a reset.
        let whole = u64::from(!response.starts_with("HTTP/1.0"));
        let cut = response.len() as u64 + 1 - whole;
        assert_eq!(counts(&seen), [(ErrorKind::Reset, 1), (ErrorKind::Truncated, cut - 1)], "{response:?}");
        assert_eq!(seen.ok(), whole);
    }
}

fn wait(stream: &mut TcpStream) {
    while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {}
}

#[test]
fn stalled_after_any_byte() {
    for response in RESPONSES {
        let (_server, load) = cut(response, wait);
        let whole = u64::from(!response.starts_with("HTTP/1.0"));
        let seen = make(&Load { timeout: Span::from_millis(300), ..load });
        assert_eq!(counts(&seen), [(ErrorKind::Timeout, response.len() as u64 + 1 - whole)], "{response:?}");
        assert_eq!(seen.ok(), whole);
    }
}

#[test]
fn stopped_after_any_byte() {
    for response in RESPONSES {
        let (stalled, all) = (Arc::new(AtomicUsize::new(0)), response.len() + 1);
        let stop = StopFlag::new();
        let (counts, wish) = (Arc::clone(&stalled), stop.clone());
        let (_server, load) = cut(response, move |stream| {
            if counts.fetch_add(1, Ordering::SeqCst) + 1 == all {
                wish.stop();
            }
            wait(stream);
        });
        // One request more than there are answers, so that it ends by the stop alone.
        let requests = Some(all as u64 + 1);
        let seen = make_until(&Load { stop: Stop { requests, ..load.stop }, ..load }, &stop);
        assert!(seen.end.stopped);
        assert_eq!(seen.errors(), 0, "what is cut off is not failed: {:?}", seen.kinds());
        assert!(seen.end.abandoned >= all as u64 - 1 && seen.ok() <= 2, "{:?}", seen.end);
    }
}

#[test]
fn a_reader_of_few_bytes_gets_all_of_them_in_order() {
    const LENGTH: usize = 8_000_000;
    let body: String = (0..LENGTH / 8).map(|n| format!("{n:07} ")).collect();
    let expected = body.clone();
    let server = Server::start(move |stream, _| {
        while read_request(stream) {
            let (mut got, mut part) = (Vec::new(), [0; 2_000]);
            let mut sizes = (1..=2_000).step_by(7).cycle();
            while got.len() < LENGTH {
                let size = sizes.next().unwrap_or(1).min(LENGTH - got.len());
                match stream.read(&mut part[..size]) {
                    Ok(n @ 1..) => got.extend_from_slice(&part[..n]),
                    _ => return,
                }
            }
            let status = if got == expected.as_bytes() { "200 OK" } else { "400 Bad" };
            let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let mut load = load(server.address, 3);
    load.request.method = "POST".into();
    load.request.body = Body::Text(body);
    let seen = make(&load);
    assert_eq!((seen.ok(), server.connections()), (3, 1), "{:?}", seen.kinds());
}
