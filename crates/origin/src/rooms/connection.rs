//! One client's connection: the handshake, then messages until one side ends it.

use std::io;
use std::rc::Rc;
use std::time::Duration;

use genkai_wire::http1::{Length, RequestHead, write_response};
use genkai_wire::websocket::handshake::{Refusal, Upgrade};
use genkai_wire::websocket::{Assembler, Decoder, Encoder, Event, Kind, Role};
use tokio::net::TcpStream;

use super::app::{self, Reply};
use super::house::House;
use super::member::{Member, Standing};
use crate::socket::{leave, read, write};

/// Longest name of a room, bytes.
const NAME: usize = 128;
/// Longest wait until a slow member has taken its close frame.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves a connection until it ends. Its errors are its client's to see, nobody else's.
pub(super) async fn serve(stream: TcpStream, house: Rc<House>) {
    match opening(&stream, &house).await {
        Ok(Some(entry)) => attend(stream, &house, entry).await,
        Ok(None) => drop(leave(stream, &house.buffer).await),
        Err(_) => {}
    }
}

/// Who wants to enter which room.
struct Entry {
    room: String,
    number: Option<u32>,
    /// What opens the WebSocket.
    response: Vec<u8>,
    /// Bytes behind the request.
    first: Vec<u8>,
}

/// Reads the request. None when it was answered and that is all.
async fn opening(stream: &TcpStream, house: &House) -> io::Result<Option<Entry>> {
    let mut bytes = Vec::new();
    let entry = loop {
        match RequestHead::parse(&bytes) {
            Ok(None) => read(stream, &house.buffer, |new| bytes.extend_from_slice(new)).await?,
            Ok(Some(head)) => break answer(&bytes, &head, house),
            Err(_) => break Err(page(400, "Bad Request", "this is not HTTP\n", "text/plain")),
        }
    };
    match entry {
        Ok(entry) => {
            if let Some(backplane) = house.backplane.get() {
                backplane.enter(&entry.room).await;
            }
            Ok(Some(entry))
        }
        Err(response) => write(stream, &response).await.map(|()| None),
    }
}

/// Who enters, or what is answered instead.
fn answer(bytes: &[u8], head: &RequestHead<'_>, house: &House) -> Result<Entry, Vec<u8>> {
    let target = String::from_utf8_lossy(head.target);
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    match path {
        "/counters" => return Err(page(200, "OK", &(house.counters.line() + "\n"), "application/json")),
        "/trace" => return Err(page(200, "OK", &house.trace.borrow().text(), "text/plain")),
        _ => {}
    }
    let named = |name: &&str| !name.is_empty() && name.len() <= NAME && !name.contains('/');
    let room = if path == app::ROOM { Some(path) } else { path.strip_prefix("/rooms/").filter(named) };
    let Some(room) = room else {
        return Err(page(
            404,
            "Not Found",
            "rooms are at /rooms/NAME; see also /app, /counters and /trace\n",
            "text/plain",
        ));
    };
    let refused = |refusal: Refusal| {
        let mut out = Vec::new();
        refusal.write(&mut out);
        out
    };
    let upgrade = Upgrade::check(bytes, head).map_err(refused)?;
    let mut response = Vec::new();
    let accepted = upgrade.accept(&mut response, upgrade.protocols().next(), None, &[]);
    accepted.map_err(|_| page(400, "Bad Request", "this cannot be answered\n", "text/plain"))?;
    let number = query.split('&').find_map(|pair| pair.strip_prefix("member=")).and_then(|number| number.parse().ok());
    Ok(Entry { room: room.to_owned(), number, response, first: bytes[head.length..].to_vec() })
}

fn page(status: u16, reason: &str, text: &str, kind: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let fields = [("Content-Type", kind), ("Connection", "close")];
    // It cannot fail: the fields are in order.
    let _ = write_response(&mut out, status, reason, fields, Length::Known(text.len() as u64));
    out.extend_from_slice(text.as_bytes());
    out
}

/// A member's time in its room.
async fn attend(stream: TcpStream, house: &Rc<House>, entry: Entry) {
    let member = Rc::new(Member::new(stream, entry.number, house.spec.member_queue));
    // Before anything that is said in the room.
    member.control(entry.response);
    house.enter(&entry.room, &member);
    house.list(&member);
    let mut ear = Codec::new(house);
    let mut first = entry.first;
    let open = first.is_empty() || ear.hear(&mut first, house, &entry.room, &member);
    if open {
        let _ = stay(&mut ear, house, &entry.room, &member).await;
    }
    // A close frame, or what else is still to be said.
    let _ = tokio::time::timeout(LAST_WORDS, say_the_rest(house, &member)).await;
    house.leave(&entry.room, &member);
    if let Some(backplane) = house.backplane.get() {
        backplane.leave(&entry.room);
    }
    if let Ok(member) = Rc::try_unwrap(member) {
        let _ = leave(member.stream, &house.buffer).await;
    }
}

/// Hears, and writes what the socket did not take at once, until one side ends it.
async fn stay(ear: &mut Codec, house: &Rc<House>, room: &str, member: &Rc<Member>) -> io::Result<()> {
    loop {
        let waits = member.waits();
        tokio::select! {
            ready = member.stream.readable() => {
                ready?;
                let mut buffer = house.buffer.take();
                let heard = match member.stream.try_read(&mut buffer) {
                    Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(n) => Ok(ear.hear(&mut buffer[..n], house, room, member)),
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(true),
                    Err(e) => Err(e),
                };
                house.buffer.replace(buffer);
                if !heard? {
                    return Ok(());
                }
            }
            ready = member.stream.writable(), if waits => {
                ready?;
                member.write(&house.books())?;
            }
            () = member.changed.notified() => match member.standing() {
                Standing::Present => {}
                Standing::Slow | Standing::Gone => return Ok(()),
            },
        }
    }
}

/// Writes what waits.
async fn say_the_rest(house: &House, member: &Member) -> io::Result<()> {
    while member.standing() != Standing::Gone && !member.write(&house.books())? {
        member.stream.writable().await?;
    }
    Ok(())
}

/// What is heard on a connection.
struct Codec {
    encoder: Encoder,
    decoder: Decoder,
    assembler: Assembler,
}

impl Codec {
    fn new(house: &House) -> Codec {
        Codec {
            encoder: Encoder::new(Role::Server),
            decoder: Decoder::new(Role::Server, house.spec.max_message),
            assembler: Assembler::default(),
        }
    }

    /// Takes frames. Whether the connection goes on.
    fn hear(&mut self, bytes: &mut [u8], house: &Rc<House>, room: &str, member: &Rc<Member>) -> bool {
        let mut scratch = house.scratch.take();
        let open = loop_over(bytes, |rest| {
            let mut out = Vec::new();
            // Encoding fails only after a close frame, and nothing is heard after that.
            let (used, open) = match self.decoder.decode(rest, &mut scratch) {
                Ok((_, None)) => return None,
                Ok((used, Some(event))) => (
                    used,
                    match event {
                        Event::Data(chunk) => {
                            if let Some(message) = self.assembler.push(chunk) {
                                match room {
                                    app::ROOM => match house.app.reply(message.kind, message.data) {
                                        Reply::Everybody(text) => house.deliver(room, Kind::Text, &text, None),
                                        Reply::Sender(frames) => house.answer(member, frames),
                                    },
                                    _ => house.received(room, message.kind, message.data),
                                }
                            }
                            true
                        }
                        Event::Ping(payload) => self.encoder.pong(&mut out, payload, 0).is_ok(),
                        Event::Pong(_) => true,
                        Event::Close(close) => {
                            let _ = self.encoder.close(&mut out, close.answer(), 0);
                            false
                        }
                    },
                ),
                Err(error) => {
                    let _ = self.encoder.close(&mut out, Some((error.close_code(), "")), 0);
                    (0, false)
                }
            };
            if !out.is_empty() {
                member.control(out);
                house.list(member);
            }
            Some((used, open))
        });
        house.scratch.replace(scratch);
        open
    }
}

/// Calls `step` with the rest of `bytes` until it has no use for it, or the connection does not go on.
fn loop_over(bytes: &mut [u8], mut step: impl FnMut(&mut [u8]) -> Option<(usize, bool)>) -> bool {
    let mut at = 0;
    loop {
        match step(&mut bytes[at..]) {
            None => return true,
            Some((_, false)) => return false,
            Some((used, true)) => at += used,
        }
    }
}
