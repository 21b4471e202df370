//! Servers that break the rules, or never come to an end: always a kind, never a hang.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::{HELLO, Server, load, make, read_request};
use genkai_model::error::ErrorKind;
use genkai_model::load::{Arrivals, Load};
use genkai_model::units::{Span, Spread};

/// A response that begins well and has these fields.
fn fields(fields: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nhello").into_bytes()
}

/// A chunked body.
fn chunked(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}").into_bytes()
}

fn is_protocol_error(what: &str, answer: impl Into<Vec<u8>>) -> Option<String> {
    is_error("GET", ErrorKind::Protocol, what, answer)
}

/// More than this client takes is no fault of the server's.
fn is_too_large(what: &str, answer: impl Into<Vec<u8>>) -> Option<String> {
    is_error("GET", ErrorKind::TooLarge, what, answer)
}

/// Sends `answer` to one request, and keeps the connection open: the client must find the fault in the bytes alone.
fn is_error(method: &str, kind: ErrorKind, what: &str, answer: impl Into<Vec<u8>>) -> Option<String> {
    let answer = answer.into();
    let server = Server::start(move |stream, _| {
        read_request(stream);
        let _ = stream.write_all(&answer);
        wait(stream);
    });
    let mut load = load(server.address, 1);
    load.request.method = method.into();
    let seen = make(&load);
    let right = (seen.ok(), seen.kinds().as_slice()) == (0, &[kind]);
    (!right).then(|| format!("{what}: {} ok, {:?}", seen.ok(), seen.kinds()))
}

/// Sends `answer`, with more than a response in it, to one request of each connection: each is good, and needs a connection of its own.
fn surplus(method: &str, what: &str, answer: &str) -> Option<String> {
    let answer = answer.as_bytes().to_vec();
    let server = Server::start(move |stream, _| {
        read_request(stream);
        let _ = stream.write_all(&answer);
        wait(stream);
    });
    let mut load = load(server.address, 2);
    load.request.method = method.into();
    let seen = make(&load);
    let surplus: u64 = seen.ticks.iter().map(|tick| tick.surplus).sum();
    let right = (seen.ok(), surplus, seen.kinds().len()) == (2, 2, 0);
    (!right).then(|| format!("{what}: {} ok, {surplus} with more, {:?}", seen.ok(), seen.kinds()))
}

/// Until the client closes.
fn wait(stream: &mut TcpStream) {
    while matches!(stream.read(&mut [0; 4096]), Ok(1..)) {}
}

/// Fails if any was not found.
fn none(wrong: impl IntoIterator<Item = Option<String>>) {
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "not found:\n{}", wrong.join("\n"));
}

#[test]
fn start_lines() {
    let lines = [
        "HTTP/2 200 OK",
        "HTTP/1.1 200OK",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1 1000 OK",
        "HTTP/1.1 000 OK",
        "HTTP/1.1 -20 OK",
        "HTTP/1.1\t200 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.11 200 OK",
        "http/1.1 200 OK",
        "ICY 200 OK",
        "200 OK",
        "<html><body>hello</body></html>",
        "GET / HTTP/1.1",
        " HTTP/1.1 200 OK",
        "\r\nHTTP/1.1 200 OK",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\rK",
        "\0\0\0\0",
        "\u{15}\u{3}\u{1}\0\u{2}\u{2}\u{46}",
    ];
    none(lines.map(|line| is_protocol_error(line, format!("{line}\r\nContent-Length: 0\r\n\r\n"))));
}

#[test]
fn lengths_and_codings() {
    let heads = [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: gzip\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
        "Content-Length: 5,",
        "Content-Length: -5",
        "Content-Length: +5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: 5;",
        "Content-Length: 5.0",
        "Content-Length: five",
        "Content-Length:",
        "Content-Length: 9223372036854775808",
        "Content-Length: 99999999999999999999999999",
        "Transfer-Encoding:",
        "Transfer-Encoding: chunked, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked; q=1",
        "Transfer-Encoding: \u{b}chunked",
        "Transfer-Encoding: chun ked",
    ];
    none(heads.map(|head| is_protocol_error(head, fields(head))));
    let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    none([is_protocol_error("chunked in HTTP/1.0", old)]);
}

#[test]
fn field_lines() {
    let heads = [
        "Transfer-Encoding : chunked",
        "Content-Length\t: 5",
        " Content-Length: 5",
        "A: b\rContent-Length: 5",
        "A: b\0c",
        "A\0: b",
        ": b",
        "no colon",
        "A b: c",
        "\u{e9}: a",
        "A(b): c",
    ];
    none(heads.map(|head| is_protocol_error(head, fields(head))));
    none([
        is_too_large("a field of 1 MB", fields(&format!("A: {}", "x".repeat(1 << 20)))),
        is_too_large("a name of 1 MB", fields(&"x".repeat(1 << 20))),
        is_too_large("a reason of 1 MB", format!("HTTP/1.1 200 {}", "x".repeat(1 << 20))),
        is_too_large("1 MB of fields", fields(&"A: b\r\n".repeat(200_000))),
    ]);
}

#[test]
fn chunks() {
    let bodies = [
        "\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5h\r\nhello\r\n0\r\n\r\n",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "8000000000000000\r\nhello",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "5\rhello\r0\r\r",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5\r\nhelloo\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nno colon\r\n\r\n",
        "5\r\nhello\r\n0\r\n folded\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\0\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\n\r\n",
        "5\r\nhello\r\n0\r\n\n",
    ];
    none(bodies.map(|body| is_protocol_error(body, chunked(body))));
    none([
        is_too_large("an extension of 1 MB", chunked(&format!("5;{}", "x".repeat(1 << 20)))),
        is_too_large("a size of 1 MB", chunked(&"0".repeat(1 << 20))),
        is_too_large("a trailer of 1 MB", chunked(&format!("0\r\nA: {}", "x".repeat(1 << 20)))),
        is_too_large("1 MB of trailers", chunked(&format!("0\r\n{}\r\n", "A: b\r\n".repeat(200_000)))),
    ]);
}

#[test]
fn what_follows_a_response_is_no_part_of_it_and_ends_its_connection() {
    let hello = String::from_utf8_lossy(HELLO).into_owned();
    let rows = [
        ("GET", "two responses", hello.repeat(2)),
        ("GET", "more than its length", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello".to_owned()),
        ("GET", "a body of no length", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nhello".to_owned()),
        ("GET", "204 with a body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello".to_owned()),
        ("GET", "304 with a body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello".to_owned()),
        ("HEAD", "a body to HEAD", hello),
    ];
    none(rows.map(|(method, what, answer)| surplus(method, what, &answer)));
}

#[test]
fn too_many_responses_and_too_much_of_one() {
    let hello = String::from_utf8_lossy(HELLO).into_owned();
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(100) + &hello;
    let rows = [
        ("GET", "a hundred interim responses", interim.as_str()),
        ("GET", "an interim response with a body", "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhello"),
    ];
    none(rows.map(|(method, what, answer)| is_error(method, ErrorKind::Protocol, what, answer)));
}

#[test]
fn a_switch_of_protocols_that_nobody_asked_for_is_a_failure_of_its_own() {
    let rows = [
        ("GET", "with bytes of the other protocol", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nhello"),
        ("GET", "and nothing", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        ("HEAD", "to HEAD, without Upgrade", "HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    ];
    none(rows.map(|(method, what, answer)| is_error(method, ErrorKind::Unasked, what, answer)));
}

#[test]
fn a_response_before_any_request() {
    // Whether it is taken for the answer depends on when it comes, and so does whether the answer to one request is taken
    // for that to the next; each gets one answer or one error in any case, and the load comes to its end.
    let server = Server::start(|stream, _| {
        let _ = stream.write_all(HELLO);
        while read_request(stream) && stream.write_all(HELLO).is_ok() {}
    });
    let seen = make(&load(server.address, 30));
    assert_eq!((seen.ok() + seen.errors(), seen.end.abandoned), (30, 0));
    assert!(seen.kinds().iter().all(|kind| *kind == ErrorKind::Protocol), "{:?}", seen.kinds());
}

#[test]
fn what_is_left_over_is_not_the_answer_to_the_next_request() {
    // Both are there before the next request, which comes a while later: the connection is not used again.
    let server = Server::start(|stream, connection| {
        if connection == 0 {
            let _ = stream.write_all(HELLO);
        }
        while read_request(stream) && stream.write_all(HELLO).is_ok() {}
    });
    let think = Spread::Constant(Span::from_millis(200));
    let arrivals = Arrivals::Users { count: 1, spawn_rate: 1e6, think };
    let seen = make(&Load { arrivals, ..load(server.address, 5) });
    assert_eq!((seen.ok() + seen.errors(), seen.end.abandoned), (5, 0));
    assert!(seen.kinds().iter().all(|kind| *kind == ErrorKind::Protocol), "{:?}", seen.kinds());
    assert!(server.connections() > 1, "what came unasked was taken for an answer");
}

/// The kinds of two users' requests, when the server sends `start` and then `again` for ever, with a pause or without.
fn endless(start: &[u8], again: &'static [u8], pause: Option<Duration>) -> Vec<ErrorKind> {
    let start = start.to_vec();
    let server = Server::start(move |stream, _| {
        read_request(stream);
        let _ = stream.write_all(&start);
        while stream.write_all(again).is_ok() {
            pause.into_iter().for_each(std::thread::sleep);
        }
    });
    let timeout = Span::from_millis(150);
    let seen = make(&Load { arrivals: crate::server::users(2), timeout, ..load(server.address, 2) });
    assert_eq!((seen.ok(), seen.errors()), (0, 2));
    assert!(seen.end.lasted < Span::from_secs(5), "{}", seen.end.lasted);
    seen.kinds()
}

#[test]
fn a_byte_at_a_time_is_no_way_around_the_timeout() {
    let starts: [(&str, &'static [u8]); 9] = [
        ("", b"H"),
        ("HTTP/1.1 200 ", b"x"),
        ("HTTP/1.1 200 OK\r\nA: ", b"x"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"),
        ("HTTP/1.1 200 OK\r\n\r\n", b"x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", b"x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA:", b"x"),
    ];
    for (start, again) in starts {
        // Two at the same time: the one must not keep the other from its timeout.
        let kinds = endless(start.as_bytes(), again, Some(Duration::from_millis(20)));
        let expected = if start.is_empty() { ErrorKind::Protocol } else { ErrorKind::Timeout };
        assert_eq!(kinds, [expected], "{start:?}");
    }
}

#[test]
fn bodies_without_end_at_full_speed_time_out() {
    static BLOCK: [u8; 65_536] = [b'x'; 65_536];
    for start in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n",
    ] {
        assert_eq!(endless(start.as_bytes(), &BLOCK, None), [ErrorKind::Timeout], "{start:?}");
    }
    let start = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(endless(start, b"1\r\nx\r\n", None), [ErrorKind::Timeout], "many small chunks");
}
