//! A client for the tests of the WebSocket servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use genkai_wire::websocket::deflate::{Effort, Settings};
use genkai_wire::websocket::handshake::{Opening, Progress};
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch};

/// A client that may say anything.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    pub(crate) encoder: Encoder,
    decoder: Decoder,
    scratch: Scratch,
    assembler: Assembler,
    bytes: Vec<u8>,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Received {
    Message(Kind, Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
    End,
}

/// A connection that waits no longer than 20 s for bytes.
pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

impl Client {
    /// Opens a WebSocket at `target`.
    pub(crate) fn open(address: SocketAddr, target: &str, deflate: Option<Settings>) -> Client {
        let mut stream = connect(address);
        let opening = Opening { target, host: "a", fields: &[], protocols: &["x", "y"], deflate };
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
        assert_eq!(agreement.protocol, Some(0), "the first asked for");
        assert_eq!(agreement.deflate.is_some(), deflate.is_some());
        let (mut encoder, mut decoder) = (Encoder::new(Role::Client), Decoder::new(Role::Client, MAX_MESSAGE));
        if let Some(agreed) = &agreement.deflate {
            encoder = encoder.deflating(agreed, Effort::default());
            decoder = decoder.inflating(agreed);
        }
        let (scratch, assembler) = (Scratch::default(), Assembler::default());
        Client { stream, encoder, decoder, scratch, assembler, bytes: Vec::new() }
    }

    /// A message as it goes over the wire.
    pub(crate) fn frame(&mut self, kind: Kind, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        self.encoder.message(&mut out, kind, data, 0x0102_0304, &mut self.scratch).unwrap();
        out
    }

    /// Sends a message.
    pub(crate) fn say(&mut self, kind: Kind, data: &[u8]) {
        let frame = self.frame(kind, data);
        self.stream.write_all(&frame).unwrap();
    }

    /// The next thing that comes.
    pub(crate) fn hear(&mut self) -> Received {
        let mut buffer = vec![0; 65_536];
        loop {
            let (used, event) = self.decoder.decode(&mut self.bytes, &mut self.scratch).unwrap();
            let heard = match event {
                Some(Event::Data(chunk)) => {
                    self.assembler.push(chunk).map(|m| Received::Message(m.kind, m.data.to_vec()))
                }
                Some(Event::Pong(data)) => Some(Received::Pong(data.to_vec())),
                Some(Event::Close(close)) => Some(Received::Close(close.code)),
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
                    0 => return Received::End,
                    n => self.bytes.extend_from_slice(&buffer[..n]),
                }
            }
        }
    }
}
