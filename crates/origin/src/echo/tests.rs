use std::io::{Read, Write};
use std::net::SocketAddr;
use std::thread;

use genkai_wire::websocket::Kind;
use genkai_wire::websocket::deflate::Settings;

use super::{Spec, serve};
use crate::aside::Aside;
use crate::peer::{Client, Received, connect};

struct Server {
    address: SocketAddr,
    _aside: Aside,
}

impl Server {
    fn start(spec: Spec) -> Server {
        let aside = Aside::start(move |listener, stop| serve(listener, spec, &stop)).unwrap();
        Server { address: aside.address(), _aside: aside }
    }
}

#[test]
fn messages_come_back_as_they_were() {
    let server = Server::start(Spec::default());
    for deflate in [None, Some(Settings::default())] {
        let mut client = Client::open(server.address, "/", deflate);
        for size in [0, 1, 125, 126, 65_535, 65_536, 3_000_000] {
            for kind in [Kind::Text, Kind::Binary] {
                let data: Vec<u8> = (0..size).map(|i: u32| b'a' + (i % 23) as u8).collect();
                // Written by another thread: large messages fill both sockets.
                let mut writer = client.stream.try_clone().unwrap();
                let frame = client.frame(kind, &data);
                let writing = thread::spawn(move || writer.write_all(&frame).unwrap());
                assert_eq!(client.hear(), Received::Message(kind, data));
                writing.join().unwrap();
            }
        }
        let mut out = Vec::new();
        client.encoder.ping(&mut out, b"hello", 9).unwrap();
        client.encoder.close(&mut out, Some((4321, "bye")), 9).unwrap();
        client.stream.write_all(&out).unwrap();
        assert_eq!(
            [client.hear(), client.hear(), client.hear()],
            [Received::Pong(b"hello".into()), Received::Close(Some(4321)), Received::End]
        );
    }
}

#[test]
fn violations_end_with_their_code() {
    let server = Server::start(Spec { max_message: 1000, deflate: false, ..Spec::default() });
    let ends_with = |bytes: &[u8]| {
        let mut client = Client::open(server.address, "/", None);
        client.stream.write_all(bytes).unwrap();
        (client.hear(), client.hear())
    };
    let code = |code| (Received::Close(Some(code)), Received::End);
    assert_eq!(ends_with(&[0x81, 0x01, b'a']), code(1002), "not masked");
    assert_eq!(ends_with(&[0x83, 0x80, 0, 0, 0, 0]), code(1002), "unknown opcode");
    assert_eq!(ends_with(&[0x81, 0x81, 0, 0, 0, 0, 0xff]), code(1007), "not UTF-8");
    assert_eq!(ends_with(&[0x82, 0xfe, 0x03, 0xe9, 0, 0, 0, 0]), code(1009), "too big");
}

#[test]
fn frames_right_behind_the_request_are_heard() {
    let server = Server::start(Spec::default());
    let mut stream = connect(server.address);
    let request = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let mut bytes = request.as_bytes().to_vec();
    bytes.extend([0x81, 0x82, 0, 0, 0, 0, b'h', b'i', 0x88, 0x80, 0, 0, 0, 0]);
    stream.write_all(&bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 101 "));
    assert!(answer.ends_with(&[0x81, 0x02, b'h', b'i', 0x88, 0x00]), "{answer:?}");
}

#[test]
fn what_is_no_handshake_is_refused() {
    let server = Server::start(Spec::default());
    let status = |request: &str| {
        let mut stream = connect(server.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].parse::<u16>().unwrap()
    };
    assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 426);
    assert_eq!(status("what\r\n\r\n"), 400);
}
