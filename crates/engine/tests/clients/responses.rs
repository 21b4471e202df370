//! What servers answer, well and badly, and what it counts as.

use std::io::{Read, Write};
use std::time::Duration;

use crate::server::{HELLO, Seen, Server, arrived, load, make, read_request, reset, users};
use genkai_model::error::{ErrorKind, Side};
use genkai_model::load::{Body, Load};
use genkai_model::units::Span;

/// Two requests by one user against a server that always answers so.
fn answered(answer: &[u8]) -> (Seen, usize) {
    let server = Server::always(answer);
    let seen = make(&load(server.address, 2));
    (seen, server.connections())
}

/// The kind that a server which answers so and closes makes.
fn kind_of(answer: &'static [u8]) -> Vec<ErrorKind> {
    let server = Server::start(move |stream, _| {
        read_request(stream);
        let _ = stream.write_all(answer);
    });
    let seen = make(&load(server.address, 1));
    assert_eq!(seen.ok() + seen.errors(), 1);
    seen.kinds()
}

#[test]
fn responses_that_keep_the_connection() {
    let answers: &[&[u8]] = &[
        HELLO,
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
    ];
    for answer in answers {
        let (seen, connections) = answered(answer);
        assert_eq!((seen.ok(), connections), (2, 1), "{}", String::from_utf8_lossy(answer));
        assert_eq!(seen.sum(|t| t.bytes_in), 2 * answer.len() as u64);
    }
}

#[test]
fn responses_that_end_the_connection() {
    let answers: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\n\r\nuntil the very end",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ];
    for answer in answers {
        let server = Server::start(move |stream, _| {
            read_request(stream);
            let _ = stream.write_all(answer);
        });
        let seen = make(&load(server.address, 2));
        assert_eq!((seen.ok(), server.connections()), (2, 2), "{}", String::from_utf8_lossy(answer));
        assert_eq!(seen.sum(|t| t.closed_idle), 0, "announced, not noticed");
    }
}

#[test]
fn an_upgrade_that_was_asked_for_is_an_answer() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n");
    });
    let mut load = load(server.address, 2);
    load.request.headers = vec![("Upgrade".into(), "x".into()), ("Connection".into(), "upgrade".into())];
    let seen = make(&load);
    assert_eq!((seen.ok(), server.connections()), (2, 2), "the connection is not HTTP any more");
}

#[test]
fn a_head_request_has_no_body() {
    let server = Server::always(&b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"[..]);
    let mut load = load(server.address, 3);
    load.request.method = "HEAD".into();
    assert_eq!((make(&load).ok(), server.connections()), (3, 1));
}

#[test]
fn splits_at_every_byte() {
    let answer =
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let server = Server::start(|stream, n| {
        for at in 0.. {
            if !read_request(stream) {
                return;
            }
            let (first, second) = answer.split_at((at + n) % answer.len());
            let _ = stream.write_all(first);
            // Long enough to arrive apart almost always; the outcome must be the same anyway.
            std::thread::sleep(Duration::from_micros(300));
            let _ = stream.write_all(second);
        }
    });
    let seen = make(&load(server.address, answer.len() as u64));
    assert_eq!((seen.ok(), server.connections()), (answer.len() as u64, 1));
}

#[test]
fn one_byte_at_a_time() {
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            for byte in HELLO {
                let _ = stream.write_all(&[*byte]);
            }
        }
    });
    assert_eq!(make(&load(server.address, 20)).ok(), 20);
}

#[test]
fn statuses_are_kinds_and_keep_the_connection() {
    use ErrorKind::*;
    let cases =
        [(404, Status4xx), (413, Status413), (429, Status429), (500, Status500), (502, Status502), (503, Status503)];
    for (status, kind) in cases.into_iter().chain([(504, Status504), (507, Status5xx), (799, Status5xx)]) {
        let (seen, connections) = answered(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").as_bytes());
        assert_eq!((seen.error(kind), seen.kinds(), connections), (2, vec![kind], 1), "{status}");
    }
}

#[test]
fn broken_responses_are_kinds() {
    assert_eq!(kind_of(b""), [ErrorKind::EofNew]);
    assert_eq!(kind_of(b"HTTP/1.1 20"), [ErrorKind::Truncated]);
    assert_eq!(kind_of(b"HTTP/1.1 100 Continue\r\n\r\n"), [ErrorKind::Truncated]);
    assert_eq!(kind_of(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"), [ErrorKind::Truncated]);
    assert_eq!(kind_of(b"SSH-2.0-OpenSSH_9.2\r\n"), [ErrorKind::Protocol]);
    assert_eq!(
        kind_of(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        [ErrorKind::Protocol]
    );
    assert_eq!(kind_of(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nhello"), [], "it came whole, and more with it");
}

#[test]
fn endless_nonsense_ends_here() {
    let endless: [&'static [u8]; 3] = [b"A: b\r\n", b"HTTP/1.1 102 Processing\r\n\r\n", b"x"];
    let starts: [&'static [u8]; 3] = [b"HTTP/1.1 200 OK\r\n", b"", b"HTTP/1.1 200 OK\r\nA:"];
    for (start, again) in starts.into_iter().zip(endless) {
        let server = Server::start(move |stream, _| {
            read_request(stream);
            let _ = stream.write_all(start);
            while stream.write_all(&again.repeat(100)).is_ok() {}
        });
        // A head without end is more than genkai takes; whether it would be one, nobody knows.
        let kind = if start.is_empty() { ErrorKind::Protocol } else { ErrorKind::TooLarge };
        assert_eq!(make(&load(server.address, 1)).kinds(), [kind]);
    }
}

#[test]
fn what_browsers_take_is_taken_and_what_is_too_much_is_no_fault_of_the_server() {
    let head = |fields: usize, long: usize| {
        let fields: String = (0..fields).map(|n| format!("X-{n}: {}\r\n", "a".repeat(long))).collect();
        format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n").into_bytes()
    };
    for (fields, long) in [(300, 1), (10_000, 1), (1, 66_000), (1, 250_000)] {
        let (seen, connections) = answered(&head(fields, long));
        assert_eq!((seen.kinds(), connections), (vec![], 1), "{fields} fields of {long}");
    }
    let too_much = Server::always(head(1, 270_000));
    assert_eq!(make(&load(too_much.address, 1)).kinds(), [ErrorKind::TooLarge]);
    assert_eq!(ErrorKind::TooLarge.side(), Side::Client);
}

#[test]
fn silence_is_a_timeout() {
    let server = Server::start(|stream, n| {
        read_request(stream);
        if n == 1 {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell");
        }
        let _ = stream.read(&mut [0; 9]);
    });
    let load = Load { timeout: Span::from_millis(60), ..load(server.address, 2) };
    let seen = make(&load);
    assert_eq!((seen.error(ErrorKind::Timeout), server.connections()), (2, 2), "half a response is no response");
    assert!(seen.merged(|t| &t.failed_after).min() >= 60_000_000 - 600);
}

/// A load with a body larger than any socket buffer.
fn upload(server: &Server, requests: u64) -> Load {
    let mut load = load(server.address, requests);
    load.request.method = "POST".into();
    load.request.body = Body::Size(64 << 20);
    load
}

#[test]
fn a_large_body_arrives_whole() {
    let server = Server::start(|stream, _| {
        while read_request(stream) {
            let taken = std::io::copy(&mut Read::by_ref(stream).take(64 << 20), &mut std::io::sink());
            let answer = if taken.is_ok_and(|n| n == 64 << 20) { HELLO } else { b"HTTP/1.1 400 Bad\r\n\r\n" };
            let _ = stream.write_all(answer);
        }
    });
    let seen = make(&upload(&server, 2));
    assert_eq!((seen.ok(), server.connections()), (2, 1));
    assert!(seen.sum(|t| t.bytes_out) > 2 * (64 << 20));
}

#[test]
fn an_early_answer_counts_even_if_the_rest_is_refused() {
    let answer = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    // Politely: the server goes on reading for a while.
    let polite = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(answer);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = std::io::copy(stream, &mut std::io::sink());
    });
    assert_eq!(make(&upload(&polite, 2)).kinds(), [ErrorKind::Status413]);
    // Rudely: it closes with the body unread, which makes the kernel answer the rest with RST.
    let rude = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(answer);
        // The client reads nothing before its socket is full: the answer must be there before the reset.
        arrived(stream);
    });
    assert_eq!(make(&upload(&rude, 2)).kinds(), [ErrorKind::Status413]);
}

#[test]
fn a_connection_with_an_unsent_rest_is_not_used_again() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(HELLO);
        let _ = std::io::copy(stream, &mut std::io::sink());
    });
    let seen = make(&upload(&server, 2));
    assert_eq!((seen.ok(), server.connections()), (2, 2));
}

#[test]
fn a_reset_inside_a_response_is_truncation() {
    let server = Server::start(|stream, _| {
        read_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell");
        arrived(stream);
        reset(stream);
    });
    let mut load = load(server.address, 4);
    load.arrivals = users(2);
    assert_eq!(make(&load).error(ErrorKind::Truncated), 4);
}
