//! HTTP/2 servers that break RFC 9113, in bytes: an error kind each time, never a hang or a crash.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::server::{Seen, Server, load, make, users};
use genkai_model::error::ErrorKind;
use genkai_model::http2::Http2;
use genkai_model::load::{Load, Protocol};
use genkai_model::units::Span;
use proptest::prelude::*;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `:status: 200` in HPACK's static table (RFC 7541 appendix A).
const OK: &[u8] = &[0x88];

/// A frame (RFC 9113 section 4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Reads frames until one of requests has come; its stream.
fn await_request(stream: &mut TcpStream) -> Option<u32> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).ok()?;
        if head[3] == HEADERS {
            return Some(u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        }
    }
}

/// Says its settings, and answers each request with `answer`, given its stream.
fn server(answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |stream, _| {
        let mut preface = [0; 24];
        let _ = stream.read_exact(&mut preface);
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
        while let Some(number) = await_request(stream) {
            let _ = stream.write_all(&answer(number));
        }
    })
}

fn http2(server: &Server, requests: u64) -> Load {
    let protocol = Protocol::Http2(Http2 { streams: 3 });
    Load { protocol, timeout: Span::from_millis(500), ..load(server.address, requests) }
}

fn seen(answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Seen {
    let seen = make(&http2(&server(answer), 2));
    assert_eq!(seen.ok() + seen.errors(), 2);
    seen
}

fn kinds(answer: impl Fn(u32) -> Vec<u8> + Send + Sync + 'static) -> Vec<ErrorKind> {
    seen(answer).kinds()
}

#[test]
fn what_is_right_is_answered() {
    let right = seen(|stream| {
        let head = frame(HEADERS, END_HEADERS, stream, OK);
        [head, frame(DATA, END_STREAM, stream, b"hello")].concat()
    });
    let split = seen(|stream| {
        let parts = [frame(HEADERS, END_STREAM, stream, &[]), frame(CONTINUATION, END_HEADERS, stream, OK)];
        parts.concat()
    });
    assert_eq!((right.ok(), split.ok()), (2, 2));
}

#[test]
fn frames_that_break_the_rules() {
    let protocol = vec![ErrorKind::Protocol];
    assert_eq!(kinds(|_| b"\xff".repeat(64)), protocol);
    assert_eq!(kinds(|s| frame(DATA, END_STREAM, s, b"before its head")), protocol);
    assert_eq!(kinds(|s| frame(HEADERS, END_HEADERS, s, &[0xff; 40])), protocol, "no HPACK");
    assert_eq!(kinds(|s| frame(HEADERS, END_HEADERS | END_STREAM, s, &[])), protocol, "no status");
    assert_eq!(kinds(|_| frame(DATA, 0, 0, b"on the connection")), protocol);
    assert_eq!(kinds(|_| frame(HEADERS, END_HEADERS, 2, OK)), protocol, "a stream of the server's");
    assert_eq!(kinds(|s| frame(HEADERS, END_HEADERS, s + 100, OK)), protocol, "never asked for");
    assert_eq!(kinds(|_| frame(WINDOW_UPDATE, 0, 0, &[0; 4])), protocol, "an increment of nothing");
    assert_eq!(kinds(|_| frame(SETTINGS, 0, 0, &[0; 5])), protocol);
    assert_eq!(kinds(|s| frame(PUSH_PROMISE, END_HEADERS, s, &[0, 0, 0, 2, 0x82])), protocol, "push is disabled");
    assert_eq!(kinds(|s| [frame(HEADERS, 0, s, OK), frame(DATA, 0, s, b"between")].concat()), protocol);
    assert_eq!(kinds(|_| frame(GOAWAY, 0, 0, &[0; 3])), protocol);
    assert_eq!(kinds(|s| frame(DATA, 0, s, &[0; 16_400])), protocol, "larger than the client takes");
    let length = |s: u32| {
        // content-length: 3, with five bytes (RFC 9113 section 8.1.1).
        let head = [OK, b"\x0f\x0d\x013"].concat();
        [frame(HEADERS, END_HEADERS, s, &head), frame(DATA, END_STREAM, s, b"hello")].concat()
    };
    assert_eq!(kinds(length), protocol);
}

#[test]
fn codes_of_resets_and_goaways() {
    let reset = |code: u32| kinds(move |s| frame(RST_STREAM, 0, s, &code.to_be_bytes()));
    assert_eq!(reset(7), [ErrorKind::StreamRefused]);
    for code in [0, 1, 2, 8, 11, 0xffff] {
        assert_eq!(reset(code), [ErrorKind::StreamReset], "{code}");
    }
    let away = |code: u32| kinds(move |_| frame(GOAWAY, 0, 0, &[[0; 4], code.to_be_bytes()].concat()));
    assert_eq!(away(1), [ErrorKind::GoAway]);
    assert_eq!(away(0), [ErrorKind::GoAway], "again and again");
}

#[test]
fn servers_that_say_nothing_or_leave() {
    let silent = Server::start(|stream, _| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let seen = make(&Load { timeout: Span::from_millis(80), ..http2(&silent, 1) });
    assert_eq!(seen.kinds(), [ErrorKind::Timeout], "no settings");
    let none_allowed = Server::start(|stream, _| {
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0]));
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let seen = make(&Load { timeout: Span::from_millis(80), ..http2(&none_allowed, 1) });
    assert_eq!(seen.kinds(), [ErrorKind::Timeout], "no stream is allowed");
    let leaves = Server::start(|stream, _| {
        let _ = stream.read(&mut [0; 2000]);
    });
    let kinds = make(&http2(&leaves, 1)).kinds();
    assert!(kinds == [ErrorKind::EofNew] || kinds == [ErrorKind::Reset], "{kinds:?}");
    let early = crate::server::Server::start(|stream, _| {
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
        let _ = await_preface(stream).and_then(|()| await_request(stream));
        crate::server::reset(stream);
    });
    assert_eq!(make(&http2(&early, 1)).kinds(), [ErrorKind::Reset]);
    assert_eq!(self::kinds(|s| frame(HEADERS, END_HEADERS, s, OK)), [ErrorKind::Timeout], "no body comes");
    let cut = Server::start(|stream, _| {
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
        if let Some(number) = await_preface(stream).and_then(|()| await_request(stream)) {
            let _ = stream.write_all(&frame(HEADERS, END_HEADERS, number, OK));
        }
    });
    assert_eq!(make(&http2(&cut, 1)).kinds(), [ErrorKind::Truncated]);
}

fn await_preface(stream: &mut TcpStream) -> Option<()> {
    stream.read_exact(&mut [0; 24]).ok()
}

#[test]
fn settings_may_change_while_requests_are_made() {
    // From three streams at once to one.
    let server = Server::start(|stream, _| {
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
        let _ = await_preface(stream);
        let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]));
        while let Some(number) = await_request(stream) {
            let _ = stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, number, OK));
        }
    });
    let seen = make(&Load { arrivals: users(3), ..http2(&server, 60) });
    assert_eq!((seen.ok(), seen.errors()), (60, 0), "{:?}", seen.kinds());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Frames of any kind with any content, cut anywhere.
    #[test]
    fn any_answer_is_an_outcome(
        frames in prop::collection::vec((0u8..12, any::<u8>(), 0u32..4, prop::collection::vec(any::<u8>(), 0..40)), 1..6),
        cut in 0usize..20,
    ) {
        let answer = move |_| {
            let mut bytes: Vec<u8> = frames.iter().flat_map(|(k, f, s, p)| frame(*k, *f, *s, p)).collect();
            bytes.truncate(bytes.len().saturating_sub(cut));
            bytes
        };
        let server = server(answer);
        let seen = make(&Load { timeout: Span::from_millis(30), ..http2(&server, 1) });
        prop_assert_eq!(seen.ok() + seen.errors(), 1);
    }
}
