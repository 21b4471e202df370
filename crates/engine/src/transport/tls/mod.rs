//! TLS by rustls, without buffers of its own: records are decrypted from the thread's buffer to the thread's buffer. A
//! connection between messages owns its keys and nothing else; the part of a record that was cut off waits in a buffer of its
//! own size.

mod config;
mod fault;
mod trust;

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::HandshakeKind;
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use socket2::Socket;

pub(crate) use config::Plan;
pub(crate) use fault::fault;

use crate::transport::read::ReadOutcome;

/// Bytes of ciphertext read at once.
const INCOMING: usize = 64 * 1024;
/// Most plaintext encrypted at once: one record (RFC 8446 section 5.1).
const RECORD: usize = 16 * 1024;
/// Most bytes a record is longer than its content: header, type, tag, explicit nonce of TLS 1.2 (RFC 8446 section 5.2, RFC
/// 5246 section 6.2.3).
const OVERHEAD: usize = 5 + 256;
/// Sessions kept, of one thread. All connections go to one name; of TLS 1.3 tickets rustls keeps eight a name.
const SESSIONS: usize = 32;

/// What the connections of a thread share.
pub(crate) struct Shared {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    incoming: RefCell<Box<[u8]>>,
    outgoing: RefCell<Vec<u8>>,
    /// Where plaintext goes that comes with the end of a handshake.
    early: RefCell<Box<[u8]>>,
}

/// The TLS of one connection.
pub(crate) struct Tls {
    session: UnbufferedClientConnection,
    shared: Rc<Shared>,
    /// The beginning of a record whose rest has not arrived.
    carry: Vec<u8>,
    /// Plaintext that came with the end of the handshake: an HTTP/2 server speaks first.
    early: Vec<u8>,
    /// Records the socket has not taken.
    unsent: Vec<u8>,
    /// Whether the server has said that it will send no more, or something went wrong: nothing more is read or said.
    ended: bool,
    /// Whether the last operation of a handshake found the socket not ready.
    blocked: bool,
}

/// What a handshake waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Done { resumed: bool },
    Read,
    Write,
}

impl Shared {
    /// For one thread: sessions are kept apart by thread, so that nothing is locked.
    pub(crate) fn new(plan: &Plan) -> Shared {
        let mut config = plan.config.clone();
        let sessions = Resumption::in_memory_sessions(SESSIONS);
        config.resumption = if plan.resume { sessions } else { Resumption::disabled() };
        Shared {
            config: Arc::new(config),
            name: plan.name.clone(),
            incoming: RefCell::new(vec![0; INCOMING].into()),
            outgoing: RefCell::default(),
            early: RefCell::new(vec![0; INCOMING].into()),
        }
    }
}

impl Tls {
    /// A connection that has not said anything yet.
    pub(crate) fn new(shared: &Rc<Shared>) -> io::Result<Tls> {
        let session = UnbufferedClientConnection::new(Arc::clone(&shared.config), shared.name.clone());
        Ok(Tls {
            session: session.map_err(fault::to_io)?,
            shared: Rc::clone(shared),
            carry: Vec::new(),
            early: Vec::new(),
            unsent: Vec::new(),
            ended: false,
            blocked: false,
        })
    }

    /// The protocol the server chose of those offered; empty when it chose none.
    pub(crate) fn agreed(&self) -> Vec<u8> {
        self.session.alpn_protocol().unwrap_or_default().to_vec()
    }

    /// Whether all that was encrypted is with the kernel.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Goes on with the handshake as far as the socket allows. The client's last flight waits for the first data: they go
    /// in one segment.
    pub(crate) fn advance(&mut self, socket: &Socket) -> io::Result<Step> {
        self.blocked = false;
        if self.session.is_handshaking() && self.carry.is_empty() && self.unsent.is_empty() {
            self.open(&mut [], &mut [])?;
        }
        while self.session.is_handshaking() {
            if let Err(e) = self.flush(socket) {
                return self.wait(e, Step::Write);
            }
            let shared = Rc::clone(&self.shared);
            let mut early = shared.early.borrow_mut();
            match self.read_records(socket, &mut early) {
                Ok(ReadOutcome { bytes: 0, emptied: false, .. }) if self.ended => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Ok(ReadOutcome { bytes, .. }) => self.early.extend_from_slice(&early[..bytes]),
                Err(e) => return self.wait(e, Step::Read),
            }
        }
        Ok(Step::Done { resumed: self.session.handshake_kind() == Some(HandshakeKind::Resumed) })
    }

    fn wait(&mut self, error: io::Error, step: Step) -> io::Result<Step> {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error);
        }
        self.blocked = true;
        Ok(step)
    }

    /// Whether the handshake last found the socket not ready; asked once.
    pub(crate) fn take_blocked(&mut self) -> bool {
        std::mem::take(&mut self.blocked)
    }

    /// Reads plaintext.
    pub(crate) fn read(&mut self, socket: &Socket, plain: &mut [u8]) -> io::Result<ReadOutcome> {
        if !self.early.is_empty() {
            let bytes = self.early.len().min(plain.len());
            plain[..bytes].copy_from_slice(&self.early[..bytes]);
            self.early = self.early.split_off(bytes);
            return Ok(ReadOutcome { bytes, emptied: false, waited: None });
        }
        loop {
            if self.ended {
                return Ok(ReadOutcome { bytes: 0, emptied: false, waited: None });
            }
            let got = self.read_records(socket, plain)?;
            if got.bytes > 0 {
                // The end, once known, must be found by the next read, whatever the socket says.
                return Ok(ReadOutcome { emptied: got.emptied && !self.ended, ..got });
            }
            if !self.unsent.is_empty() {
                // An answer of the protocol itself (a key update). If there is no room it goes with the next data.
                let _ = self.flush(socket);
            }
        }
    }

    /// Reads from the socket once and decrypts what that completes. `bytes` are of plaintext.
    fn read_records(&mut self, socket: &Socket, plain: &mut [u8]) -> io::Result<ReadOutcome> {
        let shared = Rc::clone(&self.shared);
        let mut incoming = shared.incoming.borrow_mut();
        let had = self.carry.len();
        incoming[..had].copy_from_slice(&self.carry);
        // Plaintext is shorter than its records, so it fits if they do.
        let most = if plain.is_empty() { incoming.len() } else { incoming.len().min(plain.len().max(had + 1)) };
        let n = (&*socket).read(&mut incoming[had..most])?;
        if n == 0 {
            self.ended = true;
            return Ok(ReadOutcome { bytes: 0, emptied: false, waited: None });
        }
        let opened = self.open(&mut incoming[..had + n], plain);
        if opened.is_err() {
            // The alert that tells the server what was wrong; if there is no room for it, so be it.
            let _ = self.flush(socket);
        }
        let bytes = opened?;
        Ok(ReadOutcome { bytes, emptied: had + n < most, waited: None })
    }

    /// Takes records, whole or not: plaintext goes to `plain`, answers of the protocol to `unsent`, the cut end to `carry`.
    fn open(&mut self, incoming: &mut [u8], plain: &mut [u8]) -> io::Result<usize> {
        let (mut at, mut got) = (0, 0);
        loop {
            let UnbufferedStatus { mut discard, state } = self.session.process_tls_records(&mut incoming[at..]);
            let mut more = true;
            let state = match state {
                Ok(state) => state,
                Err(e) => {
                    self.protest(&mut incoming[at + discard..]);
                    return Err(fault::to_io(e));
                }
            };
            match state {
                ConnectionState::ReadTraffic(mut traffic) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(fault::to_io)?;
                        let room = plain.get_mut(got..got + record.payload.len());
                        room.ok_or(io::ErrorKind::InvalidData)?.copy_from_slice(record.payload);
                        got += record.payload.len();
                        discard += record.discard;
                    }
                }
                ConnectionState::EncodeTlsData(mut data) => encode(&mut self.unsent, |out| data.encode(out)),
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::PeerClosed | ConnectionState::Closed => {
                    self.ended = true;
                    more = false;
                }
                _ => more = false,
            }
            at += discard;
            if !more {
                break;
            }
        }
        self.carry.clear();
        self.carry.extend_from_slice(&incoming[at..]);
        if self.carry.is_empty() {
            self.carry = Vec::new();
        }
        Ok(got)
    }

    /// Encrypts and sends, at most a record.
    pub(crate) fn write(&mut self, socket: &Socket, plain: &[u8]) -> io::Result<usize> {
        if self.unsent.len() > RECORD || plain.is_empty() {
            self.flush(socket)?;
        }
        let plain = &plain[..plain.len().min(RECORD)];
        if plain.is_empty() {
            return Ok(0);
        }
        let shared = Rc::clone(&self.shared);
        let mut outgoing = shared.outgoing.borrow_mut();
        outgoing.clear();
        outgoing.append(&mut self.unsent);
        self.seal(plain, &mut outgoing)?;
        let sent = match (&*socket).write(&outgoing) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(e),
        };
        self.unsent = outgoing[sent..].to_vec();
        Ok(plain.len())
    }

    fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        // What was carried must be shown again: the session may have begun to look at it.
        let mut carry = std::mem::take(&mut self.carry);
        let sealed = loop {
            let UnbufferedStatus { state, .. } = self.session.process_tls_records(&mut carry);
            match state.map_err(fault::to_io) {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let at = out.len();
                    out.resize(at + plain.len() + OVERHEAD, 0);
                    match traffic.encrypt(plain, &mut out[at..]) {
                        Ok(n) => out.truncate(at + n),
                        Err(e) => break Err(io::Error::other(e)),
                    }
                    break Ok(());
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => encode(out, |out| data.encode(out)),
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(_) => break Err(io::ErrorKind::BrokenPipe.into()),
                Err(e) => {
                    self.ended = true;
                    break Err(e);
                }
            }
        };
        self.carry = carry;
        sealed
    }

    /// Sends what is left.
    fn flush(&mut self, socket: &Socket) -> io::Result<()> {
        let mut sent = 0;
        let result = loop {
            if sent == self.unsent.len() {
                break Ok(());
            }
            match (&*socket).write(&self.unsent[sent..]) {
                Ok(n) => sent += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => break Err(e),
            }
        };
        self.unsent.drain(..sent);
        if self.unsent.is_empty() {
            self.unsent = Vec::new();
        }
        result
    }

    /// Takes the alert for what was wrong, to be sent. `rest`: the bytes not used up; the session may look at them again.
    fn protest(&mut self, rest: &mut [u8]) {
        self.ended = true;
        // Without one to take, the session would fail on the same bytes again, which it is not made for.
        if self.session.wants_write()
            && let UnbufferedStatus { state: Ok(ConnectionState::EncodeTlsData(mut data)), .. } =
                self.session.process_tls_records(rest)
        {
            encode(&mut self.unsent, |out| data.encode(out));
        }
    }

    /// Says that nothing more will be sent, if there is room for it.
    pub(crate) fn close_notify(&mut self, socket: &Socket) {
        if self.ended {
            return;
        }
        let mut alert = [0; OVERHEAD];
        let mut carry = std::mem::take(&mut self.carry);
        if let UnbufferedStatus { state: Ok(ConnectionState::WriteTraffic(mut traffic)), .. } =
            self.session.process_tls_records(&mut carry)
            && let Ok(n) = traffic.queue_close_notify(&mut alert)
        {
            self.unsent.extend_from_slice(&alert[..n]);
        }
        self.carry = carry;
        let _ = self.flush(socket);
    }
}

/// Appends what `write` writes, giving it the room it asks for.
fn encode(out: &mut Vec<u8>, mut write: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>) {
    let at = out.len();
    out.resize(at + OVERHEAD, 0);
    let written = loop {
        match write(&mut out[at..]) {
            Ok(n) => break n,
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                out.resize(at + required_size, 0);
            }
            Err(EncodeError::AlreadyEncoded) => break 0,
        }
    };
    out.truncate(at + written);
}
