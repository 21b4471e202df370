//! One client's connection: the handshake, then messages until one side closes.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use genkai_wire::http1::{Error, RequestHead};
use genkai_wire::websocket::deflate::{Agreed, Effort, Settings};
use genkai_wire::websocket::handshake::Upgrade;
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, Role, Scratch};
use tokio::net::TcpStream;

use super::Spec;
use crate::socket::{self, Buffer, leave, read, write};

/// An encoding buffer larger than this is given back after use.
const KEPT: usize = 1024 * 1024;

/// What all connections share.
pub(super) struct Shared {
    spec: Spec,
    buffer: Buffer,
    /// These two are borrowed only between two waits.
    scratch: RefCell<Scratch>,
    out: RefCell<Vec<u8>>,
}

impl Shared {
    pub(super) fn new(spec: Spec) -> Shared {
        Shared { spec, buffer: socket::buffer(), scratch: RefCell::default(), out: RefCell::default() }
    }
}

/// Serves a connection until it ends. Its errors are its client's to see, nobody else's.
pub(super) async fn serve(stream: TcpStream, shared: Rc<Shared>) {
    let opened = handshake(&stream, &shared).await;
    if let Ok(Some((agreed, first))) = opened {
        let mut talk = Talk::new(&shared.spec, agreed);
        let _ = talk.run(&stream, &shared, first).await;
    }
    let _ = leave(stream, &shared.buffer).await;
}

/// Reads the request and answers it. What was agreed on and the bytes behind the request; none when it was refused.
async fn handshake(stream: &TcpStream, shared: &Shared) -> io::Result<Option<(Option<Agreed>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        let mut out = Vec::new();
        let opened = match RequestHead::parse(&bytes) {
            Ok(None) => {
                read(stream, &shared.buffer, |new| bytes.extend_from_slice(new)).await?;
                continue;
            }
            Ok(Some(head)) => match Upgrade::check(&bytes, &head) {
                Ok(upgrade) => {
                    let deflate = shared.spec.deflate.then(Settings::default);
                    let agreed = upgrade.accept(&mut out, upgrade.protocols().next(), deflate.as_ref(), &[]);
                    let agreed = agreed.map_err(io::Error::other)?;
                    Some((agreed, bytes[head.length..].to_vec()))
                }
                Err(refusal) => {
                    refusal.write(&mut out);
                    None
                }
            },
            Err(error) => {
                out.extend_from_slice(not_a_request(error));
                None
            }
        };
        write(stream, &out).await?;
        return Ok(opened);
    }
}

fn not_a_request(_: Error) -> &'static [u8] {
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
}

/// An open WebSocket.
struct Talk {
    encoder: Encoder,
    decoder: Decoder,
    assembler: Assembler,
}

impl Talk {
    fn new(spec: &Spec, agreed: Option<Agreed>) -> Talk {
        let (mut encoder, mut decoder) = (Encoder::new(Role::Server), Decoder::new(Role::Server, spec.max_message));
        if let Some(agreed) = &agreed {
            encoder = encoder.deflating(agreed, Effort::default());
            decoder = decoder.inflating(agreed);
        }
        Talk { encoder, decoder, assembler: Assembler::default() }
    }

    async fn run(&mut self, stream: &TcpStream, shared: &Shared, mut first: Vec<u8>) -> io::Result<()> {
        let (mut out, mut open) = (shared.out.take(), true);
        if !first.is_empty() {
            open = self.hear(&mut first, shared, &mut out);
        }
        loop {
            if !out.is_empty() {
                if !shared.spec.delay.is_zero() && open {
                    tokio::time::sleep(shared.spec.delay).await;
                }
                // What the socket does not take at once belongs to this connection, and the buffer to all.
                let sent = match stream.try_write(&out) {
                    Ok(n) => n,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
                    Err(e) => return Err(e),
                };
                if sent < out.len() {
                    write(stream, &out[sent..]).await?;
                }
                out.clear();
            }
            give_back(shared, out);
            if !open {
                return Ok(());
            }
            let heard = &mut open;
            let mut answer = Vec::new();
            read(stream, &shared.buffer, |bytes| {
                answer = shared.out.take();
                *heard = self.hear(bytes, shared, &mut answer);
            })
            .await?;
            out = answer;
        }
    }

    /// Takes frames; answers go to `out`. Whether the connection goes on.
    fn hear(&mut self, bytes: &mut [u8], shared: &Shared, out: &mut Vec<u8>) -> bool {
        let mut scratch = shared.scratch.borrow_mut();
        let mut at = 0;
        loop {
            // Encoding fails only after a close frame, and nothing is heard after that.
            let done = match self.decoder.decode(&mut bytes[at..], &mut scratch) {
                Ok((_, None)) => return true,
                Ok((used, Some(event))) => {
                    at += used;
                    match event {
                        Event::Data(chunk) => {
                            let Some(message) = self.assembler.push(chunk) else { continue };
                            let (kind, data) = (message.kind, message.data.to_vec());
                            self.encoder.message(out, kind, &data, 0, &mut scratch).is_err()
                        }
                        Event::Ping(payload) => self.encoder.pong(out, payload, 0).is_err(),
                        Event::Pong(_) => false,
                        Event::Close(close) => {
                            let _ = self.encoder.close(out, close.answer(), 0);
                            true
                        }
                    }
                }
                Err(error) => {
                    let _ = self.encoder.close(out, Some((error.close_code(), "")), 0);
                    true
                }
            };
            if done {
                return false;
            }
        }
    }
}

fn give_back(shared: &Shared, out: Vec<u8>) {
    if out.capacity() <= KEPT && shared.out.borrow().capacity() < out.capacity() {
        shared.out.replace(out);
    }
}
