use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use genkai_wire::websocket::deflate::{Effort, Settings};
use genkai_wire::websocket::handshake::{Opening, Progress};
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch};

use super::{Spec, serve};

struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    fn start(spec: Spec) -> Server {
        let listener = crate::listen("127.0.0.1:0".parse().unwrap()).unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let ends = Arc::clone(&stop);
        let thread = thread::spawn(move || serve(listener, spec, &ends).unwrap());
        Server { address, stop, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// A client that may say anything.
struct Client {
    stream: TcpStream,
    encoder: Encoder,
    decoder: Decoder,
    scratch: Scratch,
    assembler: Assembler,
    bytes: Vec<u8>,
}

#[derive(Debug, PartialEq)]
enum Heard {
    Message(Kind, Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
    End,
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

impl Client {
    fn open(server: &Server, deflate: Option<Settings>) -> Client {
        let mut stream = connect(server);
        let opening = Opening { target: "/", host: "a", fields: &[], protocols: &["x", "y"], deflate };
        let mut out = Vec::new();
        let mut handshake = opening.write(&mut out, [7; 16]).unwrap();
        stream.write_all(&out).unwrap();
        let mut buffer = [0; 1];
        let agreement = loop {
            stream.read_exact(&mut buffer).unwrap();
            match handshake.receive(&opening, &buffer).unwrap() {
                Progress::More => {}
                Progress::Open { agreement, .. } => break agreement,
                Progress::Refused { response, .. } => panic!("{response:?}"),
            }
        };
        assert_eq!(agreement.protocol, Some(0));
        assert_eq!(agreement.deflate.is_some(), deflate.is_some());
        let (mut encoder, mut decoder) = (Encoder::new(Role::Client), Decoder::new(Role::Client, MAX_MESSAGE));
        if let Some(agreed) = &agreement.deflate {
            encoder = encoder.deflating(agreed, Effort::default());
            decoder = decoder.inflating(agreed);
        }
        let (scratch, assembler) = (Scratch::default(), Assembler::default());
        Client { stream, encoder, decoder, scratch, assembler, bytes: Vec::new() }
    }

    fn say(&mut self, kind: Kind, data: &[u8]) {
        let mut out = Vec::new();
        self.encoder.message(&mut out, kind, data, 0x0102_0304, &mut self.scratch).unwrap();
        self.stream.write_all(&out).unwrap();
    }

    fn hear(&mut self) -> Heard {
        let mut buffer = vec![0; 65_536];
        loop {
            let (used, event) = self.decoder.decode(&mut self.bytes, &mut self.scratch).unwrap();
            let heard = match event {
                Some(Event::Data(chunk)) => self.assembler.push(chunk).map(|m| Heard::Message(m.kind, m.data.to_vec())),
                Some(Event::Pong(data)) => Some(Heard::Pong(data.to_vec())),
                Some(Event::Close(close)) => Some(Heard::Close(close.code)),
                Some(Event::Ping(_)) => panic!("it does not ping"),
                None => None,
            };
            let waiting = event.is_none();
            self.bytes.drain(..used);
            if let Some(heard) = heard {
                return heard;
            }
            if waiting {
                match self.stream.read(&mut buffer).unwrap() {
                    0 => return Heard::End,
                    n => self.bytes.extend_from_slice(&buffer[..n]),
                }
            }
        }
    }
}

#[test]
fn messages_come_back_as_they_were() {
    let server = Server::start(Spec::default());
    for deflate in [None, Some(Settings::default())] {
        let mut client = Client::open(&server, deflate);
        for size in [0, 1, 125, 126, 65_535, 65_536, 3_000_000] {
            for kind in [Kind::Text, Kind::Binary] {
                let data: Vec<u8> = (0..size).map(|i: u32| b'a' + (i % 23) as u8).collect();
                // Written by another thread: large messages fill both sockets.
                let mut writer = Client { stream: client.stream.try_clone().unwrap(), ..client };
                let sent = data.clone();
                let writing = thread::spawn(move || {
                    writer.say(kind, &sent);
                    writer
                });
                client = writing.join().unwrap();
                assert_eq!(client.hear(), Heard::Message(kind, data));
            }
        }
        let mut out = Vec::new();
        client.encoder.ping(&mut out, b"hello", 9).unwrap();
        client.encoder.close(&mut out, Some((4321, "bye")), 9).unwrap();
        client.stream.write_all(&out).unwrap();
        assert_eq!(
            [client.hear(), client.hear(), client.hear()],
            [Heard::Pong(b"hello".into()), Heard::Close(Some(4321)), Heard::End]
        );
    }
}

#[test]
fn violations_end_with_their_code() {
    let server = Server::start(Spec { max_message: 1000, deflate: false });
    let ends_with = |bytes: &[u8]| {
        let mut client = Client::open(&server, None);
        client.stream.write_all(bytes).unwrap();
        (client.hear(), client.hear())
    };
    let code = |code| (Heard::Close(Some(code)), Heard::End);
    assert_eq!(ends_with(&[0x81, 0x01, b'a']), code(1002), "not masked");
    assert_eq!(ends_with(&[0x83, 0x80, 0, 0, 0, 0]), code(1002), "unknown opcode");
    assert_eq!(ends_with(&[0x81, 0x81, 0, 0, 0, 0, 0xff]), code(1007), "not UTF-8");
    assert_eq!(ends_with(&[0x82, 0xfe, 0x03, 0xe9, 0, 0, 0, 0]), code(1009), "too big");
}

#[test]
fn frames_right_behind_the_request_are_heard() {
    let server = Server::start(Spec::default());
    let mut stream = connect(&server);
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
        let mut stream = connect(&server);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].parse::<u16>().unwrap()
    };
    assert_eq!(status("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 426);
    assert_eq!(status("what\r\n\r\n"), 400);
}
