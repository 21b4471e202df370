//! One client: its socket, what it sends and receives.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use genkai_wire::websocket::deflate::Effort;
use genkai_wire::websocket::handshake::{Handshake, Progress};
use genkai_wire::websocket::{Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch, code};
use rustix::event::epoll::{self, EventData, EventFlags};

use super::dialect::{ClientOptions, Decoded, Dialect, Message};
use super::monotonic;
use crate::transport::stamp;

/// Key by which frames are masked. A server of ours on loopback needs no protection by an unpredictable one (RFC 6455 section
/// 10.3 is about caches in between).
const KEY: u32 = 0x5a17_c3e9;

/// A message with the instant at which it was there.
#[derive(Debug)]
pub(super) struct ReceivedMessage {
    pub(super) content: Message,
    /// CLOCK_MONOTONIC, ns.
    pub(super) at: u64,
}

/// A client, connected or not.
#[derive(Debug, Default)]
pub(super) struct Client {
    open: Option<Box<OpenClient>>,
    /// Code with which the connection ended.
    pub(super) ended: Option<u16>,
    /// Whether that was reported.
    reported: bool,
}

#[derive(Debug)]
struct OpenClient {
    stream: TcpStream,
    options: ClientOptions,
    /// Until it is answered.
    handshake: Option<Handshake>,
    dialect: Dialect,
    /// Whether the application can be spoken to.
    ready: bool,
    encoder: Encoder,
    decoder: Decoder,
    scratch: Scratch,
    unsent: Vec<u8>,
    sent: usize,
    /// Whether the loop knows that it waits for room.
    waits: bool,
    heard: Instant,
}

impl Client {
    /// Connects and asks for a WebSocket; the answer is waited for in the loop, where it is `number`.
    pub(super) fn connect(
        address: SocketAddr,
        options: ClientOptions,
        epoll: &OwnedFd,
        number: u64,
        patience: Duration,
    ) -> io::Result<Client> {
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_nodelay(true)?;
        // What the kernel does not stamp counts from when it was read.
        let _ = stamp::ask(&stream);
        let mut request = Vec::new();
        let nonce = u128::from(number).to_be_bytes();
        let handshake = options.opening().write(&mut request, nonce).map_err(io::Error::other)?;
        stream.write_all(&request)?;
        stream.set_nonblocking(true)?;
        epoll::add(epoll, &stream, EventData::new_u64(number), EventFlags::IN)?;
        let dialect = Dialect::new(options.socketio);
        let open = OpenClient {
            stream,
            options,
            handshake: Some(handshake),
            dialect,
            ready: false,
            encoder: Encoder::new(Role::Client),
            decoder: Decoder::new(Role::Client, MAX_MESSAGE),
            scratch: Scratch::default(),
            unsent: Vec::new(),
            sent: 0,
            waits: false,
            heard: Instant::now(),
        };
        Ok(Client { open: Some(Box::new(open)), ended: None, reported: false })
    }

    /// Whether the application can be spoken to. A server that has been silent for longer than it said is gone.
    pub(super) fn is_open(&self) -> bool {
        self.open.as_ref().is_some_and(|open| {
            let patience = open.dialect.patience_ms();
            open.ready && (patience == 0 || open.heard.elapsed() < Duration::from_millis(patience))
        })
    }

    /// Whether the application could be spoken to when something was last received.
    pub(super) fn is_ready(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.ready)
    }

    /// Whether something waits to be written.
    pub(super) fn has_unsent(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.unsent.is_empty())
    }

    pub(super) fn has_ended(&self) -> bool {
        self.open.is_none()
    }

    /// The code of an end that was not told yet.
    pub(super) fn just_ended(&mut self) -> Option<u16> {
        self.ended.filter(|_| !std::mem::replace(&mut self.reported, true))
    }

    /// Tells the loop whether it waits for room in its socket, where that has changed.
    pub(super) fn register(&mut self, epoll: &OwnedFd, number: u64) {
        let Some(open) = self.open.as_deref_mut().filter(|open| open.waits == open.unsent.is_empty()) else { return };
        open.waits = !open.unsent.is_empty();
        let room = if open.waits { EventFlags::OUT } else { EventFlags::empty() };
        // It fails only for a socket that is not there.
        let _ = epoll::modify(epoll, &open.stream, EventData::new_u64(number), EventFlags::IN | room);
    }

    /// Says a message, as far as the socket takes it; the rest follows when there is room.
    pub(super) fn send(&mut self, kind: Kind, payload: &[u8]) {
        let Some(open) = &mut self.open else { return };
        let OpenClient { dialect, encoder, unsent, scratch, .. } = &mut **open;
        // It fails only after a close frame, and then nobody listens.
        dialect.encode(kind, payload, |kind, data| {
            let _ = encoder.message(unsent, kind, data, KEY, scratch);
        });
        open.flush();
    }

    /// Does what the socket is ready for; messages go to `messages`.
    pub(super) fn serve(&mut self, buffer: &mut [u8], messages: &mut Vec<ReceivedMessage>) {
        let Some(open) = &mut self.open else { return };
        open.flush();
        let ended = match stamp::receive(&open.stream, buffer) {
            Ok((0, _)) => Some(code::ABNORMAL),
            Ok((n, waited)) => {
                open.heard = Instant::now();
                let at = monotonic().saturating_sub(waited.unwrap_or(0));
                open.take(&mut buffer[..n], at, messages)
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
            Err(_) => Some(code::ABNORMAL),
        };
        if let Some(code) = ended {
            open.flush();
            (self.open, self.ended) = (None, Some(code));
        }
    }
}

impl OpenClient {
    /// Writes what the socket takes. A socket that takes nothing any more is found out by reading: there may be a last word.
    fn flush(&mut self) {
        while self.sent < self.unsent.len() {
            match self.stream.write(&self.unsent[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => break,
            }
        }
        self.unsent.clear();
        self.sent = 0;
    }

    /// Takes bytes; the code with which the connection has ended, if it has.
    fn take(&mut self, bytes: &mut [u8], at: u64, messages: &mut Vec<ReceivedMessage>) -> Option<u16> {
        let mut from = 0;
        if let Some(handshake) = &mut self.handshake {
            match handshake.receive(&self.options.opening(), bytes) {
                Ok(Progress::More) => return None,
                Ok(Progress::Open { used, agreement, .. }) => {
                    from = used;
                    if let Some(agreed) = &agreement.deflate {
                        self.encoder = Encoder::new(Role::Client).deflating(agreed, Effort::default());
                        self.decoder = Decoder::new(Role::Client, MAX_MESSAGE).inflating(agreed);
                    }
                }
                Ok(Progress::Refused { .. }) | Err(_) => return Some(code::ABNORMAL),
            }
            self.handshake = None;
            self.ready = self.dialect.is_ready();
        }
        loop {
            let OpenClient { decoder, encoder, scratch, unsent, dialect, .. } = self;
            let came = match decoder.decode(&mut bytes[from..], scratch) {
                Ok((_, None)) => return None,
                Ok((used, Some(event))) => {
                    from += used;
                    match event {
                        Event::Data(chunk) => dialect.decode(&chunk),
                        Event::Ping(payload) => {
                            let _ = encoder.pong(unsent, payload, KEY);
                            Decoded::Nothing
                        }
                        Event::Pong(_) => Decoded::Nothing,
                        Event::Close(close) => {
                            let _ = encoder.close(unsent, close.answer(), KEY);
                            return Some(close.code_or_none());
                        }
                    }
                }
                Err(_) => return Some(code::ABNORMAL),
            };
            match came {
                Decoded::Nothing => {}
                Decoded::Message(heard) => messages.push(ReceivedMessage { content: heard, at }),
                Decoded::Open => self.ready = true,
                Decoded::Answer(text) => {
                    let _ = encoder.message(unsent, Kind::Text, text.as_bytes(), KEY, scratch);
                }
                Decoded::End => return Some(code::ABNORMAL),
            }
            self.flush();
        }
    }
}
