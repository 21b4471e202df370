//! WebSocket servers that break the rules, or never come to an end: a kind, and where it is due the right close code; never
//! a hang.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::server::{Seen, Server, load, make, make_until};
use genkai_engine::StopFlag;
use genkai_model::error::ErrorKind;
use genkai_model::load::{Load, Protocol, Stop};
use genkai_model::rooms::Rooms;
use genkai_model::units::Span;
use genkai_model::websocket::{Deflate, Message, WebSocket};
use genkai_wire::http1::RequestHead;
use genkai_wire::websocket::deflate::Settings;
use genkai_wire::websocket::handshake::Upgrade;
use genkai_wire::websocket::{Decoder, Event, MAX_MESSAGE, Role, Scratch};

/// Close codes that clients sent, in order; 1005 for a close frame without one, 1006 for none.
type Codes = Arc<Mutex<Vec<u16>>>;

/// Accepts each WebSocket, waits for its first bytes and then does what `act` says.
fn server(deflate: bool, act: impl Fn(&mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> (Server, Codes) {
    let codes = Codes::default();
    let seen = Arc::clone(&codes);
    let server = Server::start(move |stream, _| {
        let mut first = vec![0; 65_536];
        let _ = accept(stream, deflate).and_then(|()| stream.read(&mut first)).and_then(|n| {
            first.truncate(n);
            act(stream)?;
            let code = last_words(stream, first);
            seen.lock().unwrap().push(code);
            Ok(())
        });
    });
    (server, codes)
}

fn accept(stream: &mut TcpStream, deflate: bool) -> io::Result<()> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    let head = RequestHead::parse(&bytes).unwrap().unwrap();
    let upgrade = Upgrade::check(&bytes, &head).expect("the engine asks correctly");
    let (mut out, settings) = (Vec::new(), Settings::default());
    upgrade.accept(&mut out, None, deflate.then_some(&settings), &[]).unwrap();
    stream.write_all(&out)
}

/// What the client says at last: `first` is what it said before, uncompressed.
fn last_words(stream: &mut TcpStream, first: Vec<u8>) -> u16 {
    let (mut decoder, mut scratch) = (Decoder::new(Role::Server, MAX_MESSAGE), Scratch::default());
    let mut part = first;
    loop {
        let mut at = 0;
        loop {
            match decoder.decode(&mut part[at..], &mut scratch).expect("the client keeps to the rules") {
                (_, None) => break,
                (_, Some(Event::Close(close))) => return close.code_or_none(),
                (used, Some(_)) => at += used,
            }
        }
        part.resize(65_536, 0);
        match stream.read(&mut part) {
            Ok(n @ 1..) => part.truncate(n),
            _ => return 1006,
        }
    }
}

/// One message of 24 bytes to `server`.
fn say(server: &Server, timeout_ms: u64, change: impl FnOnce(&mut WebSocket)) -> Seen {
    let message = Some(Message { size: 24, binary: false });
    let mut websocket = WebSocket { message, ..WebSocket::default() };
    change(&mut websocket);
    let protocol = Protocol::WebSocket(websocket);
    make(&Load { protocol, timeout: Span::from_millis(timeout_ms), ..load(server.address, 1) })
}

/// A frame of a server: first byte, length in as few bytes as possible, payload.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        n @ ..=125 => frame.push(n as u8),
        n @ 126..=0xffff => frame.extend([&[126][..], &(n as u16).to_be_bytes()].concat()),
        n => frame.extend([&[127][..], &(n as u64).to_be_bytes()].concat()),
    }
    [frame, payload.to_vec()].concat()
}

#[test]
fn frames_that_must_not_be() {
    let rows: Vec<(&str, Vec<u8>, u16)> = vec![
        ("masked", vec![0x81, 0x82, 1, 2, 3, 4, b'a' ^ 1, b'b' ^ 2], 1002),
        ("RSV1 without compression", frame(0xc1, b"hello"), 1002),
        ("RSV2", frame(0xa1, b"hello"), 1002),
        ("RSV3", frame(0x91, b"hello"), 1002),
        ("opcode 3", frame(0x83, b""), 1002),
        ("opcode 11", frame(0x8b, b""), 1002),
        ("a long ping", frame(0x89, &[b'x'; 126]), 1002),
        ("a long pong", frame(0x8a, &[b'x'; 126]), 1002),
        ("a long close", frame(0x88, &[&[3, 232][..], &[b'x'; 124]].concat()), 1002),
        ("a fragmented ping", frame(0x09, b""), 1002),
        ("a fragmented close", frame(0x08, &[3, 232]), 1002),
        ("a continuation of nothing", frame(0x80, b"hello"), 1002),
        ("a message inside a message", [frame(0x01, b"a"), frame(0x81, b"b")].concat(), 1002),
        ("a length of two bytes for five", vec![0x81, 126, 0, 5, b'h', b'e', b'l', b'l', b'o'], 1002),
        ("a length of eight bytes for five", [&[0x81, 127, 0, 0, 0, 0, 0, 0, 0, 5][..], b"hello"].concat(), 1002),
        ("a negative length", vec![0x81, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002),
        ("a length of 2^62", vec![0x82, 127, 0x40, 0, 0, 0, 0, 0, 0, 0], 1009),
        ("a message over the bound", [&[0x82, 127][..], &(MAX_MESSAGE + 1).to_be_bytes()].concat(), 1009),
        ("text that is not UTF-8", frame(0x81, b"a\xff"), 1007),
        ("a surrogate", frame(0x81, b"\xed\xa0\x80"), 1007),
        ("text that ends inside a character", frame(0x81, b"a\xc3"), 1007),
        ("a character that goes wrong in the next frame", [frame(0x01, b"\xc3"), frame(0x80, b"(")].concat(), 1007),
        ("a close frame of one byte", frame(0x88, b"x"), 1002),
        ("close code 0", frame(0x88, &[0, 0]), 1002),
        ("close code 1005", frame(0x88, &1005_u16.to_be_bytes()), 1002),
        ("close code 1006", frame(0x88, &1006_u16.to_be_bytes()), 1002),
        ("close code 5000", frame(0x88, &5000_u16.to_be_bytes()), 1002),
        ("a reason that is not UTF-8", frame(0x88, b"\x03\xe8\xff"), 1007),
        ("HTTP", b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), 1002),
        ("ones", vec![0xff; 100], 1002),
    ];
    let mut wrong = Vec::new();
    for (what, bytes, code) in rows {
        let (server, codes) = server(false, move |stream| stream.write_all(&bytes));
        let seen = say(&server, 5_000, |_| ());
        if (seen.kinds().as_slice(), seen.codes().as_slice()) != (&[ErrorKind::Frame], &[(1006, 1)]) {
            wrong.push(format!("{what}: {:?} {:?}", seen.kinds(), seen.codes()));
        }
        let told = eventually(&codes);
        if told != [code] {
            wrong.push(format!("{what}: the server was told {told:?}, not {code}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The codes, when there are some.
fn eventually(codes: &Codes) -> Vec<u16> {
    for _ in 0..1_000 {
        let codes = codes.lock().unwrap().clone();
        if !codes.is_empty() {
            return codes;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Vec::new()
}

#[test]
fn compressed_frames_that_must_not_be() {
    for (what, bytes) in [
        ("garbage", frame(0xc1, &[0xff; 20])),
        ("a compressed ping", frame(0xc9, b"x")),
        ("RSV1 on a continuation", [frame(0x41, b"\xf2\x48"), frame(0xc0, b"\xcd\xc9\xc9\x07\0")].concat()),
    ] {
        let (server, _codes) = server(true, move |stream| stream.write_all(&bytes));
        let seen = say(&server, 5_000, |websocket| websocket.deflate = Some(Deflate::Takeover));
        assert_eq!(seen.kinds(), [ErrorKind::Frame], "{what}");
    }
}

/// What a server says at first, what it says for ever then, and how long it pauses in between.
fn endless(first: &'static [u8], again: &'static [u8], pause_ms: Option<u64>) {
    let (server, _codes) = server(false, move |stream| {
        stream.write_all(first)?;
        loop {
            stream.write_all(again)?;
            pause_ms.into_iter().for_each(|ms| std::thread::sleep(Duration::from_millis(ms)));
        }
    });
    let seen = say(&server, 150, |_| ());
    assert_eq!((seen.ok(), seen.kinds()), (0, vec![ErrorKind::Timeout]), "{first:?} {again:?} {pause_ms:?}");
    assert!(seen.end.lasted < Span::from_secs(5));
}

#[test]
fn what_never_ends_times_out() {
    std::thread::scope(|scope| {
        let wholes: [&[u8]; 4] = [b"\x89\0", b"\x8a\0", b"\x81\x05hello", b"\x82\0"];
        for again in wholes {
            scope.spawn(move || endless(b"", again, Some(10)));
        }
        scope.spawn(|| endless(b"", b"\x81\x05hello", None));
        // One message, for ever: its fragments are empty, or what they add up to stays below the bound.
        let parts: [(&[u8], &[u8]); 3] =
            [(b"\x01\0", b"\0\0"), (b"\x01\x01a", b"\0\x01a"), (b"\x82\x7f\0\0\0\0\0\xff\xff\xff", b"x")];
        for (first, again) in parts {
            scope.spawn(move || endless(first, again, Some(2)));
        }
    });
}

#[test]
fn a_flood_of_pings_does_not_eat_the_memory() {
    // The server never reads: what the client would answer has nowhere to go.
    let (server, _codes) = server(false, move |stream| {
        let pings = frame(0x89, &[b'x'; 125]).repeat(500);
        loop {
            stream.write_all(&pings)?;
        }
    });
    let seen = say(&server, 400, |_| ());
    assert_eq!(seen.kinds(), [ErrorKind::Timeout]);
    assert!(seen.sum(|t| t.bytes_in) > 1 << 20, "{} bytes of pings", seen.sum(|t| t.bytes_in));
    let pongs = seen.messages().pings * (125 + 6);
    let waiting = pongs.saturating_sub(seen.sum(|t| t.bytes_out));
    assert!(waiting <= 128 << 10, "{waiting} bytes of pongs wait");
}

#[test]
fn after_a_close_frame_nothing_counts() {
    // More frames behind it, or nothing and an open connection.
    for more in [&b"\x81\x05hello\xff\xff\xff"[..], b""] {
        let (server, codes) =
            server(false, move |stream| stream.write_all(&[&frame(0x88, &[3, 233])[..], more].concat()));
        let seen = say(&server, 5_000, |_| ());
        assert_eq!((seen.kinds(), seen.codes()), (vec![ErrorKind::Closed], vec![(1001, 1)]));
        assert_eq!((seen.messages().foreign, eventually(&codes)), (0, vec![1001]));
    }
}

#[test]
fn connections_that_end_inside_a_frame() {
    let whole = [frame(0x89, b"ping"), frame(0x81, b"hello"), frame(0x88, &[3, 232])].concat();
    for at in 0..whole.len() {
        let bytes = whole[..at].to_vec();
        let (server, _codes) = server(false, move |stream| {
            stream.write_all(&bytes)?;
            stream.shutdown(std::net::Shutdown::Write)
        });
        let seen = say(&server, 5_000, |_| ());
        assert_eq!((seen.kinds(), seen.codes()), (vec![ErrorKind::ClosedAbnormally], vec![(1006, 1)]), "{at}");
    }
}

#[test]
fn a_socket_io_entry_that_fails_is_no_connection_that_was_cut() {
    let stop = StopFlag::new();
    let ends = stop.clone();
    let server = Server::start(move |stream, _| {
        // Engine.IO's packet of an end, before anything was opened; the load ends when the client has gone.
        let _ = accept(stream, false).and_then(|()| stream.write_all(&frame(0x81, b"1")));
        while stream.read(&mut [0; 1024]).is_ok_and(|n| n > 0) {}
        ends.stop();
    });
    let every = Span::from_millis(10);
    let rooms = Rooms { rooms: 1, messages: 1, every, retries: 0, pause: every, socketio: true };
    let protocol = Protocol::WebSocket(WebSocket {
        message: Some(Message { size: 24, binary: false }),
        rooms: Some(rooms),
        ..WebSocket::default()
    });
    let lasts = Stop { after: Span::from_secs(10), requests: None };
    let seen = make_until(&Load { protocol, stop: lasts, ..load(server.address, 1) }, &stop);
    assert_eq!(seen.sum(|t| t.handshakes.as_ref().map_or(0, |h| h.failed)), 1, "{:?}", seen.kinds());
    assert_eq!(seen.sum(|t| t.handshakes.as_ref().map_or(0, |h| h.upgraded)), 0);
    assert_eq!(seen.sum(|t| t.disconnects.as_ref().map_or(0, |d| d.count())), 0, "it was never open");
}

#[test]
fn handshakes_that_never_end() {
    let drip = |start: &'static str, again: &'static str, pause: Option<Duration>| {
        let again = again.repeat(if pause.is_none() { 1000 } else { 1 });
        let server = Server::start(move |stream, _| {
            crate::server::read_request(stream);
            let _ = stream.write_all(start.as_bytes());
            while stream.write_all(again.as_bytes()).is_ok() {
                pause.into_iter().for_each(std::thread::sleep);
            }
        });
        say(&server, if pause.is_none() { 5_000 } else { 200 }, |_| ()).kinds()
    };
    let slow = Some(Duration::from_millis(5));
    assert_eq!(drip("HTTP/1.1 101 S\r\nA: ", "x", slow), [ErrorKind::Timeout]);
    assert_eq!(drip("HTTP/1.1 101 S\r\nA: ", "x", None), [ErrorKind::TooLarge], "a head without end");
    assert_eq!(drip("", "HTTP/1.1 100 Continue\r\n\r\n", None), [ErrorKind::Protocol]);
    // A refusal counts by its status, however long its reason is.
    assert_eq!(drip("HTTP/1.1 403 No\r\n\r\n", "x", None), [ErrorKind::Status4xx]);
    assert_eq!(drip("HTTP/1.1 101 S\r\n\r\n", "x", None), [ErrorKind::UpgradeInvalid]);
}
