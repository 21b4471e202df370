//! The opening handshake, the server's side, and what both sides make of each other.

use genkai_wire::http1::{Framing, RequestHead, ResponseHead, fields};
use genkai_wire::websocket::deflate::{Agreed, Direction, Effort, Settings};
use genkai_wire::websocket::handshake::{Opening, Progress, Refusal, Upgrade, WriteError};
use genkai_wire::websocket::{Decoder, Encoder, Kind, MAX_MESSAGE, Role, Scratch};

use crate::decoded::{Decoded, hear, text};
use crate::handshake::{FULL, start};

const REQUEST: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

fn checked(request: &str) -> Result<(), Refusal> {
    let head = RequestHead::parse(request.as_bytes()).unwrap().unwrap();
    Upgrade::check(request.as_bytes(), &head).map(|_| ())
}

#[test]
fn requests_that_are_refused() {
    assert_eq!(checked(REQUEST), Ok(()));
    assert_eq!(
        checked(&REQUEST.replace("websocket", "WebSocket").replace(": Upgrade", ": keep-alive, uPGRADE")),
        Ok(())
    );
    let version = "Sec-WebSocket-Version: 13\r\n";
    for (from, to, refusal, status) in [
        ("GET", "POST", Refusal::Method, 405),
        ("HTTP/1.1", "HTTP/1.0", Refusal::Version, 400),
        ("Upgrade: websocket\r\n", "", Refusal::Upgrade, 426),
        ("Upgrade: websocket", "Upgrade: h2c", Refusal::Upgrade, 426),
        ("Connection: Upgrade\r\n", "", Refusal::Connection, 426),
        ("Connection: Upgrade", "Connection: close", Refusal::Connection, 426),
        (version, "", Refusal::WebSocketVersion, 426),
        ("Version: 13", "Version: 8", Refusal::WebSocketVersion, 426),
        (version, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 13\r\n", Refusal::WebSocketVersion, 426),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", Refusal::Key, 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "", Refusal::Key, 400),
        (version, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: a b\r\n", Refusal::Protocol, 400),
        (version, "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: a;\r\n", Refusal::Extensions, 400),
        (version, "Sec-WebSocket-Version: 13\r\nContent-Length: 1\r\n", Refusal::Body, 400),
    ] {
        let request = REQUEST.replacen(from, to, 1);
        assert_ne!(request, REQUEST);
        assert_eq!(checked(&request), Err(refusal));
        let mut out = Vec::new();
        refusal.write(&mut out);
        let head = ResponseHead::parse(&out, false).unwrap().unwrap();
        assert_eq!((head.status, head.persistent), (status, false));
        assert_eq!(head.framing, Framing::Length((out.len() - head.length) as u64));
        let has = |name: &[u8], value: &[u8]| fields(&out).any(|field| field == (name, value));
        assert_eq!(has(b"Sec-WebSocket-Version", b"13") && has(b"Upgrade", b"websocket"), status == 426);
        assert_eq!(has(b"Allow", b"GET"), status == 405);
    }
}

/// What both sides make of an offer, by writing and reading each other.
fn negotiated(offered: Settings, allowed: Option<Settings>) -> Option<Agreed> {
    let opening = Opening { deflate: Some(offered), ..FULL };
    let (request, mut handshake) = start(&opening);
    let head = RequestHead::parse(&request).unwrap().unwrap();
    let upgrade = Upgrade::check(&request, &head).unwrap();
    assert_eq!(upgrade.protocols().collect::<Vec<_>>(), ["chat", "superchat"]);
    let mut response = Vec::new();
    let server = upgrade.accept(&mut response, Some("superchat"), allowed.as_ref(), &[("Server", "x")]).unwrap();
    let Ok(Progress::Open { agreement, head, .. }) = handshake.receive(&opening, &response) else { panic!() };
    assert!(fields(head).any(|field| field == (b"Server", b"x")));
    assert_eq!(agreement.protocol, Some(1));
    assert_eq!(agreement.deflate.is_some(), server.is_some());
    let (Some(client), Some(server)) = (agreement.deflate, server) else { return None };
    assert_eq!(client, server, "{offered:?} {allowed:?}");
    Some(client)
}

#[test]
fn both_sides_agree_on_the_same() {
    let sides = || {
        [true, false]
            .into_iter()
            .flat_map(|takeover| [8, 9, 12, 15].map(|window_bits| Direction { takeover, window_bits }))
    };
    let all = || sides().flat_map(|server| sides().map(move |client| Settings { server, client }));
    for offered in all() {
        for allowed in all() {
            let agreed = negotiated(offered, Some(allowed)).unwrap();
            let less = |a: Direction, b: Direction| Direction {
                takeover: a.takeover && b.takeover,
                window_bits: a.window_bits.min(b.window_bits),
            };
            assert_eq!(agreed.server, less(offered.server, allowed.server));
            assert_eq!(agreed.client, less(offered.client, allowed.client));
        }
        assert_eq!(negotiated(offered, None), None);
    }
}

#[test]
fn offers_of_other_clients() {
    let answer = |offer: &str, allowed: Settings| {
        let version = "Sec-WebSocket-Version: 13\r\n";
        let request = REQUEST.replace(version, &format!("{version}Sec-WebSocket-Extensions: {offer}\r\n"));
        let head = RequestHead::parse(request.as_bytes()).unwrap().unwrap();
        let upgrade = Upgrade::check(request.as_bytes(), &head).unwrap();
        let mut out = Vec::new();
        let agreed = upgrade.accept(&mut out, None, Some(&allowed), &[]).unwrap();
        let named = |(name, _): &(&[u8], &[u8])| *name == b"Sec-WebSocket-Extensions";
        let text = fields(&out).find(named).map(|(_, value)| String::from_utf8(value.to_vec()).unwrap());
        assert_eq!(agreed.is_some(), text.is_some());
        text
    };
    let tight = Direction { takeover: false, window_bits: 10 };
    let tight = Settings { server: tight, client: tight };
    let free = Settings::default();
    // RFC 7692 section 7.1.2.2: a client that does not say it can must not be asked to limit its window.
    let own = "permessage-deflate; server_no_context_takeover; client_no_context_takeover; server_max_window_bits=10";
    assert_eq!(answer("permessage-deflate", tight).as_deref(), Some(own));
    assert_eq!(answer("permessage-deflate", free).as_deref(), Some("permessage-deflate"));
    // Section 5.2: the first acceptable offer; unknown extensions and offers that are not understood are declined.
    let several = "x-other; a=b, permessage-deflate; server_max_window_bits=7, permessage-deflate; what, \
                   permessage-deflate; client_max_window_bits; server_max_window_bits=\"12\", permessage-deflate";
    assert_eq!(answer(several, free).as_deref(), Some("permessage-deflate; server_max_window_bits=12"));
    for declined in ["x-webkit-deflate-frame", "permessage-deflate; server_max_window_bits", "permessage-bzip2", ""] {
        assert_eq!(answer(declined, free), None, "{declined}");
    }
}

#[test]
fn a_protocol_not_asked_for_is_not_chosen() {
    let head = RequestHead::parse(REQUEST.as_bytes()).unwrap().unwrap();
    let upgrade = Upgrade::check(REQUEST.as_bytes(), &head).unwrap();
    let mut out = Vec::new();
    assert_eq!(upgrade.accept(&mut out, Some("chat"), None, &[]), Err(WriteError::Protocol));
    assert_eq!(upgrade.accept(&mut out, None, None, &[("Upgrade", "x")]), Err(WriteError::Reserved));
    assert!(out.is_empty());
}

#[test]
fn what_was_agreed_works() {
    let side = |takeover, window_bits| Direction { takeover, window_bits };
    for (server, client) in [(side(true, 15), side(false, 9)), (side(false, 8), side(true, 12))] {
        let agreed = negotiated(Settings { server, client }, Some(Settings::default())).unwrap();
        for (from, to) in [(Role::Client, Role::Server), (Role::Server, Role::Client)] {
            let mut encoder = Encoder::new(from).deflating(&agreed, Effort::default());
            let mut decoder = Decoder::new(to, MAX_MESSAGE).inflating(&agreed);
            let (mut out, mut scratch) = (Vec::new(), Scratch::default());
            for _ in 0..3 {
                encoder.message(&mut out, Kind::Text, b"hello hello hello", 7, &mut scratch).unwrap();
            }
            let expected =
                Decoded::clean([text("hello hello hello"), text("hello hello hello"), text("hello hello hello")]);
            assert_eq!(hear(&mut decoder, out.chunks(3)), expected);
        }
    }
}
