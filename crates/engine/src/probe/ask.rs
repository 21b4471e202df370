//! One request before any load, to know what the load will be answered.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use genkai_model::load::{Load, Protocol, Reuse};
use genkai_model::transport::{Tls, Transport};
use genkai_wire::http1::{Ending, Memo, Progress, ResponseHead, ResponseReader, fields};
use genkai_wire::websocket::{Encoder, Role, Scratch};

use super::answer::Asked;
use super::fetch::LARGEST;
use super::http2;
use crate::protocol::http1::Message;
use crate::protocol::websocket::{MessageTemplate, Plan};
use crate::transport::tls;

/// The mask of a message that is sent once.
const MASK: u32 = 0x5eed_0001;

/// A longer head is not waited for.
const LONGEST_HEAD: usize = 64 * 1024;

/// Sends the load's request to `address` once, on a connection of its own, and waits at most `within` for each step. None
/// where asking is not safe (RFC 9110, 9.2.1: only GET and HEAD are).
pub fn ask(load: &Load, address: SocketAddr, within: Duration) -> Option<Asked> {
    asked(load, address, within, Read::Head)
}

/// The same, until the response has ended (of HTTP/2: its head), or its first 4 MiB have come, all of it within `within`.
pub fn ask_whole(load: &Load, address: SocketAddr, within: Duration) -> Option<Asked> {
    asked(load, address, within, Read::Whole(&mut |_| ()))
}

/// The same, with its content (without transfer coding), of HTTP/1.1 and where it came whole.
pub fn ask_page(load: &Load, address: SocketAddr, within: Duration) -> Option<(Asked, Option<Vec<u8>>)> {
    let mut content = Vec::new();
    let asked = asked(load, address, within, Read::Whole(&mut |run| content.extend_from_slice(run)))?;
    let is_whole = matches!(asked, Asked::Answered { .. }) && content.len() < LARGEST && load.protocol.is_http1();
    Some((asked, is_whole.then_some(content)))
}

/// How much of a response is read.
enum Read<'r> {
    /// Its head.
    Head,
    /// All of it; the runs of its content go there.
    Whole(&'r mut dyn FnMut(&[u8])),
}

/// Asks `address` for the load's WebSocket once and gives the answer, 101 where it is opened. None where the load opens none, or no handshake can be
/// written.
pub fn ask_upgrade(load: &Load, address: SocketAddr, within: Duration) -> Option<Asked> {
    upgrade(load, address, within, false)
}

/// The same; where it is opened and the load sends messages, one of these is sent. Where nothing comes back, it is closed or nothing.
pub fn ask_echo(load: &Load, address: SocketAddr, within: Duration) -> Option<Asked> {
    upgrade(load, address, within, true)
}

fn upgrade(load: &Load, address: SocketAddr, within: Duration, talks: bool) -> Option<Asked> {
    let Protocol::WebSocket(websocket) = &load.protocol else { return None };
    let plan = Plan::read(load, websocket).ok()?;
    let mut request = Vec::new();
    plan.open(0, [0; 16], &mut request, |_| ()).ok()?;
    let message = plan.message.filter(|_| talks);
    let connect = || connected(address, within);
    Some(match &load.transport {
        Transport::Tls(tls) => {
            let plan = tls::Plan::read(tls, &["http/1.1"]).ok()?;
            connect()
                .and_then(|stream| upgraded(plan.over(stream)?, &request, message.as_ref()))
                .unwrap_or_else(|e| refused(&e))
        }
        _ => connect().and_then(|stream| upgraded(stream, &request, message.as_ref())).unwrap_or_else(|e| ended(&e)),
    })
}

/// Makes one handshake of TLS at `address`, and closes the connection.
///
/// # Errors
/// Why there is none, in words.
pub fn handshake(tls: &Tls, address: SocketAddr, within: Duration) -> Result<(), String> {
    let plan = tls::Plan::read(tls, &["http/1.1"]).map_err(|e| e.to_string())?;
    let failed = connected(address, within).and_then(|stream| plan.over(stream)).err();
    let is_no_tls = |e: &io::Error| {
        let cause = e.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        matches!(cause, Some(rustls::Error::InvalidMessage(_)))
    };
    match failed.map(|e| (refused(&e), e)) {
        None => Ok(()),
        Some((_, e)) if is_no_tls(&e) => Err(format!("what it answers is no TLS ({e})")),
        Some((Asked::Refused { why, .. }, _)) => Err(why),
        Some((_, e)) => Err(e.to_string()),
    }
}

/// What came of connections with TLS, each with a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connected {
    /// On how many of them a session was resumed.
    pub resumed: u32,
    /// With what the requests were answered.
    pub statuses: BTreeSet<u16>,
}

/// Makes so many connections with TLS one after the other, each with the load's request. Sessions are offered again where the load does so, by
/// HTTP/1.1 whatever the load speaks; where it does not, it is asked by the load's protocol. None where asking is not safe, or a connection comes to
/// nothing.
pub fn connect(load: &Load, address: SocketAddr, times: u32, within: Duration) -> Option<Connected> {
    let Transport::Tls(tls) = &load.transport else { return None };
    if !["GET", "HEAD"].contains(&load.request.method.as_str()) {
        return None;
    }
    let mut all = Connected::default();
    if matches!(load.protocol, Protocol::Http2(_)) && !tls.resume {
        for _ in 0..times {
            let Asked::Answered { status, .. } = asked(load, address, within, Read::Head)? else { return None };
            all.statuses.insert(status);
        }
        return Some(all);
    }
    let message = Message::render(&load.request, Reuse::PerRequest).ok()?;
    let mut plan = tls::Plan::read(tls, &["http/1.1"]).ok()?;
    for _ in 0..times {
        if !tls.resume {
            plan = tls::Plan::read(tls, &["http/1.1"]).ok()?;
        }
        let mut stream = plan.over(connected(address, within).ok()?).ok()?;
        all.resumed += u32::from(stream.conn.handshake_kind() == Some(rustls::HandshakeKind::Resumed));
        match exchange(&message, &mut stream, within, Read::Whole(&mut |_| ())) {
            Ok(Asked::Answered { status, .. }) => drop(all.statuses.insert(status)),
            _ => return None,
        }
    }
    Some(all)
}

/// The answer to a handshake of a WebSocket; 101 is a final one here.
fn upgraded(mut stream: impl io::Read + Write, request: &[u8], message: Option<&MessageTemplate>) -> io::Result<Asked> {
    match stream.write_all(request) {
        Err(e) if is_end(e.kind()) => {}
        written => written?,
    }
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while head.len() < LONGEST_HEAD {
        let n = match stream.read(&mut buffer) {
            Ok(0) => return Ok(Asked::Closed),
            Err(e) if is_end(e.kind()) => return Ok(Asked::Closed),
            read => read?,
        };
        head.extend_from_slice(&buffer[..n]);
        match ResponseHead::parse(&head, false) {
            Ok(Some(found)) => {
                let answered = Asked::Answered { status: found.status, location: location(&head[..found.length]) };
                return match message.filter(|_| found.status == 101) {
                    Some(message) if !is_echoed(&mut stream, message, head.split_off(found.length))? => {
                        Ok(Asked::Closed)
                    }
                    _ => Ok(answered),
                };
            }
            Ok(None) => {}
            Err(_) => break,
        }
    }
    Ok(Asked::Garbled)
}

/// Sends a message on an open WebSocket and waits for one that comes back; `came`: what has come already. Not: it is closed first.
fn is_echoed(stream: &mut (impl io::Read + Write), message: &MessageTemplate, mut came: Vec<u8>) -> io::Result<bool> {
    let (mut out, mut buffer) = (Vec::new(), [0; 4096]);
    let sent =
        Encoder::new(Role::Client).message(&mut out, message.kind, &message.bytes, MASK, &mut Scratch::default());
    if sent.is_err() {
        return Ok(false);
    }
    stream.write_all(&out)?;
    loop {
        if let Some(is_message) = comes(&came) {
            return Ok(is_message);
        }
        match stream.read(&mut buffer)? {
            0 => return Ok(false),
            n => came.extend_from_slice(&buffer[..n]),
        }
    }
}

/// Whether a message comes first in these frames, and not a close (RFC 6455, 5.2); none: it is not to be seen yet.
fn comes(mut frames: &[u8]) -> Option<bool> {
    loop {
        let (first, second) = (*frames.first()?, *frames.get(1)?);
        match first & 0x0f {
            0x8 => return Some(false),
            // A ping or a pong has at most 125 bytes.
            0x9 | 0xa => frames = frames.get(2 + usize::from(second & 0x7f)..)?,
            _ => return Some(true),
        }
    }
}

/// The Location field of a head.
fn location(head: &[u8]) -> Option<String> {
    let found = fields(head).find(|(name, _)| name.eq_ignore_ascii_case(b"location"));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

fn asked(load: &Load, address: SocketAddr, within: Duration, read: Read<'_>) -> Option<Asked> {
    if !["GET", "HEAD"].contains(&load.request.method.as_str()) {
        return None;
    }
    if let Protocol::Http2(_) = load.protocol {
        return Some(http2::ask(&Load { addresses: vec![address], ..load.clone() }, within));
    }
    let message = Message::render(&load.request, Reuse::PerRequest).ok()?;
    let connect = || connected(address, within);
    let asked = match &load.transport {
        Transport::Tls(tls) => {
            let plan = tls::Plan::read(tls, &["http/1.1"]).ok()?;
            connect()
                .and_then(|stream| exchange(&message, plan.over(stream)?, within, read))
                .unwrap_or_else(|e| refused(&e))
        }
        _ => connect().and_then(|stream| exchange(&message, stream, within, read)).unwrap_or_else(|e| ended(&e)),
    };
    Some(asked)
}

/// What became of a connection with TLS on which there was no answer: an error of TLS says why, and a connection that ends in the handshake
/// is one.
fn refused(error: &io::Error) -> Asked {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let uncertified = cause == Some(&rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired));
    match error.kind() {
        ErrorKind::InvalidData => Asked::Refused { why: error.to_string(), uncertified },
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            Asked::Refused { why: "the connection ended in it".to_owned(), uncertified }
        }
        _ => Asked::Nothing,
    }
}

/// The same without TLS: who ends a connection may do so while it is made.
fn ended(error: &io::Error) -> Asked {
    if is_end(error.kind()) { Asked::Closed } else { Asked::Nothing }
}

fn connected(address: SocketAddr, within: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, within)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    Ok(stream)
}

fn exchange(
    message: &Message,
    mut stream: impl io::Read + Write,
    within: Duration,
    mut read: Read<'_>,
) -> io::Result<Asked> {
    let mut sent = 0;
    while sent < message.len() {
        let part = message.from(sent);
        // Who closes at once may still have answered: that is read.
        match stream.write_all(part) {
            Err(e) if is_end(e.kind()) => break,
            written => written?,
        }
        sent += part.len() as u64;
    }
    let (mut head, mut buffer, begun) = (Vec::new(), [0; 4096], Instant::now());
    let (mut reader, mut memo) = (ResponseReader::new(message.is_head), Memo::default());
    let (mut answer, mut came) = (None, 0);
    // An answer that comes byte by byte is waited for no longer, either.
    while head.len() < LONGEST_HEAD && begun.elapsed() < within {
        let n = match stream.read(&mut buffer) {
            Ok(0) => return Ok(answer.filter(|_| matches!(reader.close(), Ending::Done(_))).unwrap_or(Asked::Closed)),
            Err(e) if is_end(e.kind()) => return Ok(Asked::Closed),
            read => read?,
        };
        if answer.is_none() {
            head.extend_from_slice(&buffer[..n]);
            answer = answered(&mut head, message.is_head);
        }
        came += n;
        let ended = match &mut read {
            Read::Head => true,
            Read::Whole(seen) => !matches!(reader.receive_into(&buffer[..n], &mut memo, seen), Ok(Progress::More)),
        };
        match answer.take() {
            Some(asked) if ended || came > LARGEST => return Ok(asked),
            open => answer = open,
        }
    }
    Ok(Asked::Garbled)
}

/// Whether an error is the other side's end of the connection; with TLS also one that is not said.
fn is_end(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof)
}

/// The final answer in what came so far; interim ones (1xx) are skipped.
fn answered(came: &mut Vec<u8>, to_head: bool) -> Option<Asked> {
    loop {
        let found = match ResponseHead::parse(came, to_head) {
            Ok(found) => found?,
            Err(_) => return Some(Asked::Garbled),
        };
        if (100..200).contains(&found.status) {
            came.drain(..found.length);
            continue;
        }
        return Some(Asked::Answered { status: found.status, location: location(&came[..found.length]) });
    }
}

#[cfg(test)]
mod tests {
    use genkai_wire::websocket::Kind;

    use super::*;

    #[test]
    fn interim_answers_are_skipped_and_redirects_tell_where() {
        let mut came =
            b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 301 Moved\r\nlocation: https://a/\r\nContent-Length: 0\r\n"
                .to_vec();
        assert_eq!(answered(&mut came, false), None, "not whole yet");
        came.extend_from_slice(b"\r\n");
        let moved = Asked::Answered { status: 301, location: Some("https://a/".to_owned()) };
        assert_eq!(answered(&mut came, false), Some(moved));
        assert_eq!(answered(&mut b"SSH-2.0-OpenSSH".to_vec(), false), Some(Asked::Garbled));
    }

    /// A server that says this, whatever it is told.
    struct Peer(io::Cursor<Vec<u8>>);

    impl io::Read for Peer {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0.read(buffer)
        }
    }

    impl Write for Peer {
        fn write(&mut self, told: &[u8]) -> io::Result<usize> {
            Ok(told.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_websocket_is_served_where_a_message_comes_back() {
        let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
        let message = MessageTemplate { kind: Kind::Text, bytes: b"hello".to_vec() };
        let asked = |after: &[u8], message| {
            upgraded(Peer(io::Cursor::new([&head[..], after].concat())), b"GET / HTTP/1.1", message).unwrap()
        };
        let served = Asked::Answered { status: 101, location: None };
        assert_eq!(asked(b"\x81\x02hi", Some(&message)), served);
        assert_eq!(asked(b"\x89\x01p\x82\x7e\x01\x00", Some(&message)), served, "after a ping");
        for closed in [&b""[..], b"\x88\x02\x03\xe8", b"\x89\x01p"] {
            assert_eq!(asked(closed, Some(&message)), Asked::Closed, "{closed:?}");
            assert_eq!(asked(closed, None), served, "nothing is sent");
        }
    }
}
