//! The opening handshake, the client's side.

use genkai_wire::http1::{self, Framing, fields};
use genkai_wire::websocket::deflate::{Agreed, Direction, Settings};
use genkai_wire::websocket::handshake::{Agreement, Handshake, HandshakeError, Opening, Progress, WriteError};
use genkai_wire::websocket::{Decoder, MAX_MESSAGE, Role};

use crate::decoded::{Decoded, hear, raw, text};

const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
pub(crate) const PLAIN: Opening =
    Opening { target: "/chat", host: "example.com", fields: &[], protocols: &[], deflate: None };
pub(crate) const FULL: Opening = Opening {
    protocols: &["chat", "superchat"],
    fields: &[("Origin", "http://example.com")],
    deflate: Some(Settings {
        server: Direction { takeover: true, window_bits: 15 },
        client: Direction { takeover: true, window_bits: 15 },
    }),
    ..PLAIN
};

pub(crate) fn start(opening: &Opening) -> (Vec<u8>, Handshake) {
    let mut out = Vec::new();
    let handshake = opening.write(&mut out, *b"the sample nonce").unwrap();
    (out, handshake)
}

/// What a client makes of a 101 with these fields besides the usual three.
fn answered(opening: &Opening, more: &str) -> Result<Agreement, HandshakeError> {
    let usual = format!("Upgrade: WebSocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n");
    replied(opening, &format!("HTTP/1.1 101 Switching Protocols\r\n{usual}{more}\r\n"))
}

fn replied(opening: &Opening, text: &str) -> Result<Agreement, HandshakeError> {
    match start(opening).1.receive(opening, text.as_bytes())? {
        Progress::Open { agreement, used, .. } => {
            assert_eq!(used, text.len());
            Ok(agreement)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_request() {
    let (bytes, _) = start(&FULL);
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        "GET /chat HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: chat, superchat\r\n\
         Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nOrigin: http://example.com\r\n\r\n"
    );
}

#[test]
fn requests_that_are_not_written() {
    let write = |opening: Opening| {
        let mut out = b"x".to_vec();
        let error = opening.write(&mut out, [0; 16]).unwrap_err();
        assert_eq!(out, b"x");
        error
    };
    for name in ["upgrade", "Connection", "SEC-WEBSOCKET-KEY", "Sec-WebSocket-Protocol", "sec-websocket-extensions"] {
        assert_eq!(write(Opening { fields: &[("A", "b"), (name, "c")], ..PLAIN }), WriteError::Reserved);
    }
    for protocols in [&["a", "b", "a"][..], &["a b"], &[""], &["a,b"]] {
        assert_eq!(write(Opening { protocols, ..PLAIN }), WriteError::Protocol);
    }
    assert_eq!(write(Opening { target: "/a b", ..PLAIN }), WriteError::Http(http1::WriteError::Target));
    assert_eq!(write(Opening { fields: &[("A", "b\r\nC: d")], ..PLAIN }), WriteError::Http(http1::WriteError::Value));
}

#[test]
fn answers_that_open() {
    assert_eq!(answered(&PLAIN, ""), Ok(Agreement::default()));
    assert_eq!(answered(&FULL, ""), Ok(Agreement::default()), "a server may choose nothing");
    let chosen = answered(&FULL, "Sec-WebSocket-Protocol: superchat\r\nSet-Cookie: a=b\r\n").unwrap();
    assert_eq!((chosen.protocol, chosen.deflate), (Some(1), None));
    let deflate = answered(&FULL, "Sec-WebSocket-Extensions: permessage-deflate\r\n").unwrap().deflate;
    assert_eq!(deflate, Some(Agreed::default()));
}

#[test]
fn answers_that_do_not() {
    let head = |fields: &str| replied(&PLAIN, &format!("HTTP/1.1 101 x\r\n{fields}\r\n"));
    let (upgrade, connection) = ("Upgrade: websocket\r\n", "Connection: Upgrade\r\n");
    let accept = format!("Sec-WebSocket-Accept: {ACCEPT}\r\n");
    assert_eq!(head(&format!("{connection}{accept}")), Err(HandshakeError::Upgrade));
    assert_eq!(head(&format!("Upgrade: h2c\r\n{connection}{accept}")), Err(HandshakeError::Upgrade));
    assert_eq!(head(&format!("{upgrade}{accept}")), Err(HandshakeError::Connection));
    assert_eq!(head(&format!("{upgrade}Connection: close\r\n{accept}")), Err(HandshakeError::Connection));
    assert_eq!(head(&format!("{upgrade}{connection}")), Err(HandshakeError::Accept));
    assert_eq!(head(&format!("{upgrade}{connection}{accept}{accept}")), Err(HandshakeError::Accept));
    let lower = accept.replace("s3pP", "S3pP");
    assert_eq!(head(&format!("{upgrade}{connection}{lower}")), Err(HandshakeError::Accept));
    assert_eq!(replied(&PLAIN, "SSH-2.0-x\r\n"), Err(HandshakeError::Http(http1::Error::NotHttp)));
    for wrong in ["other", "chat, superchat", "Chat", "chat\r\nSec-WebSocket-Protocol: chat"] {
        let answer = answered(&FULL, &format!("Sec-WebSocket-Protocol: {wrong}\r\n"));
        assert_eq!(answer, Err(HandshakeError::Protocol), "{wrong}");
    }
    assert_eq!(answered(&PLAIN, "Sec-WebSocket-Protocol: chat\r\n"), Err(HandshakeError::Protocol));
}

#[test]
fn parameters_of_compression_in_answers() {
    let offer = |server: (bool, u8), client: (bool, u8)| {
        let direction = |(takeover, window_bits)| Direction { takeover, window_bits };
        Settings { server: direction(server), client: direction(client) }
    };
    let free = offer((true, 15), (true, 15));
    let tight = offer((false, 10), (false, 11));
    let answer = |settings: Settings, text: &str| {
        let opening = Opening { deflate: Some(settings), ..PLAIN };
        let line = format!("Sec-WebSocket-Extensions: permessage-deflate{text}\r\n");
        answered(&opening, &line).map(|agreement| {
            let Agreed { server, client } = agreement.deflate.unwrap();
            ((server.takeover, server.window_bits), (client.takeover, client.window_bits))
        })
    };
    let bits = "; server_max_window_bits=10";
    assert_eq!(answer(free, bits), Ok(((true, 10), (true, 15))), "a server may do so unasked");
    assert_eq!(answer(free, "; client_max_window_bits=\"9\""), Ok(((true, 15), (true, 9))));
    let none = "; server_no_context_takeover; client_no_context_takeover";
    assert_eq!(answer(free, none), Ok(((false, 15), (false, 15))));
    let confirmed = format!("; server_no_context_takeover{bits}");
    assert_eq!(answer(tight, &confirmed), Ok(((false, 10), (false, 11))), "a client keeps to its own limits");
    assert_eq!(answer(tight, &format!("{confirmed}; client_max_window_bits=8")), Ok(((false, 10), (false, 8))));
    for (settings, wrong) in [
        (tight, ""),
        (tight, "; server_no_context_takeover"),
        (tight, "; server_max_window_bits=10"),
        (tight, "; server_no_context_takeover; server_max_window_bits=11"),
        (tight, "; server_no_context_takeover; server_max_window_bits=10; client_max_window_bits=12"),
        (free, "; client_max_window_bits"),
        (free, "; server_max_window_bits"),
        (free, "; server_max_window_bits=7"),
        (free, "; server_max_window_bits=16"),
        (free, "; server_max_window_bits=08"),
        (free, "; server_max_window_bits=10; server_max_window_bits=10"),
        (free, "; server_no_context_takeover=1"),
        (free, "; server_no_context_takeover; server_no_context_takeover"),
        (free, "; unknown"),
        (free, ", permessage-deflate"),
        (free, ", x-webkit-deflate-frame"),
        (free, ";"),
    ] {
        assert_eq!(answer(settings, wrong), Err(HandshakeError::Extension), "{wrong}");
    }
    let unasked = answered(&PLAIN, "Sec-WebSocket-Extensions: permessage-deflate\r\n");
    assert_eq!(unasked, Err(HandshakeError::Extension));
}

#[test]
fn the_first_frame_with_the_response() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
    let head = format!(
        "HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n\r\n"
    );
    let frames = [raw(0x81, b"first"), raw(0x81, b"second")].concat();
    let all = [interim.as_bytes(), head.as_bytes(), &frames].concat();
    for cut in 0..=all.len() {
        let (mut handshake, mut decoder) = (start(&PLAIN).1, Decoder::new(Role::Client, MAX_MESSAGE));
        let (mut rest, mut opened) = (Vec::new(), false);
        for slice in [&all[..cut], &all[cut..]] {
            if opened {
                rest.extend_from_slice(slice);
                continue;
            }
            if let Progress::Open { used, head: seen, .. } = handshake.receive(&PLAIN, slice).unwrap() {
                assert_eq!(seen, head.as_bytes(), "cut at {cut}");
                rest.extend_from_slice(&slice[used..]);
                opened = true;
            }
        }
        assert!(opened);
        assert_eq!(
            hear(&mut decoder, [rest.as_slice()]),
            Decoded::clean([text("first"), text("second")]),
            "cut at {cut}"
        );
    }
}

#[test]
fn interim_responses_are_skipped_once() {
    // Byte by byte, more often than interim responses are allowed.
    let head = format!("Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {ACCEPT}\r\n\r\n");
    let all = format!("{}HTTP/1.1 101 x\r\n{head}", "HTTP/1.1 100 Continue\r\n\r\n".repeat(3));
    let mut handshake = start(&PLAIN).1;
    for (i, byte) in all.bytes().enumerate() {
        match handshake.receive(&PLAIN, &[byte]).unwrap() {
            Progress::More => assert!(i + 1 < all.len()),
            Progress::Open { used, .. } => assert_eq!((used, i + 1), (1, all.len())),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn another_answer_is_shown_whole() {
    let answer = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\nRetry-After: 3\r\n\r\nbusy";
    for cut in 0..answer.len() - 4 {
        let mut handshake = start(&PLAIN).1;
        assert_eq!(handshake.receive(&PLAIN, &answer.as_bytes()[..cut]), Ok(Progress::More));
        let rest = &answer.as_bytes()[cut..];
        let Ok(Progress::Refused { used, head, response }) = handshake.receive(&PLAIN, rest) else { panic!() };
        assert_eq!((&rest[used..], response.status, response.framing), (&b"busy"[..], 503, Framing::Length(4)));
        assert!(fields(head).any(|field| field == (b"Retry-After", b"3")));
    }
    let endless = "HTTP/1.1 100 Continue\r\n\r\n".repeat(33);
    let error = start(&PLAIN).1.receive(&PLAIN, endless.as_bytes()).map(|_| ());
    assert_eq!(error, Err(HandshakeError::Http(http1::Error::TooManyInterim)));
}
