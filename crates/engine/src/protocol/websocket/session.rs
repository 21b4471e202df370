//! One WebSocket connection: opening, sending, receiving, closing. It does what the socket allows and never waits by
//! itself; who waits, and for what, is in `loops`.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use genkai_model::error::ErrorKind;
use genkai_model::event::Refusal;
use genkai_model::websocket::{Fate, Incident};
use genkai_wire::http1::fields;
use genkai_wire::websocket::handshake::{Handshake, HandshakeError, Progress};
use genkai_wire::websocket::{Kind, code};

use super::codec::{Codec, MessageReceiver, SessionResult};
use super::identity::Identity;
use super::inbox::Inbox;
use super::plan::Plan;
use super::window::Missing;
use crate::clock::Moment;
use crate::measure::ledger::Ledger;
use crate::protocol::attendance::Attendee;
use crate::protocol::connection::Connection;
use crate::protocol::core::Core;
use crate::protocol::http1::{fault, reset, write_error};
use crate::protocol::request::Channel;
use crate::protocol::socketio::SocketIo;
use crate::transport::read::ReadOutcome;
use crate::transport::tls;

/// Most bytes of pongs that wait for the socket. A server that sends pings and does not read would fill the memory with answers; one of
/// many may be answered instead of all (RFC 6455 section 5.5.3).
const MOST_PONGS: usize = 64 * 1024;

/// A connection of its own number, open or not.
pub(crate) struct Session {
    pub(super) connection: Connection,
    pub(super) plan: Rc<Plan>,
    number: u32,
    /// Who it is in its chat room, where there is one.
    attendee: Option<Rc<RefCell<Attendee>>>,
    /// What was encoded and not taken by the socket.
    unsent: Vec<u8>,
    /// Bytes of answers among them.
    pongs: usize,
    /// While it is open: what is sent and received on it.
    codec: Option<Box<Codec>>,
    /// When something was last received.
    last_received: Moment,
}

impl Session {
    /// A connection that is not open yet.
    pub(crate) fn new(core: Rc<Core>, plan: Rc<Plan>, number: u32) -> Session {
        Session::on(Connection::new(core), plan, number)
    }

    /// The same, on a connection of the caller's.
    pub(crate) fn on(connection: Connection, plan: Rc<Plan>, number: u32) -> Session {
        Session {
            connection,
            plan,
            number,
            attendee: None,
            unsent: Vec::new(),
            pongs: 0,
            codec: None,
            last_received: 0,
        }
    }

    /// The connection of a member of a chat room.
    pub(crate) fn of_member(mut self, attendee: Rc<RefCell<Attendee>>) -> Session {
        self.attendee = Some(attendee);
        self
    }

    pub(super) fn core(&self) -> &Rc<Core> {
        &self.connection.core
    }

    pub(crate) fn is_open(&self) -> bool {
        self.codec.is_some()
    }

    /// Whether a message would be given to the kernel at once.
    pub(crate) fn is_prompt(&self) -> bool {
        self.is_open() && self.unsent.is_empty()
    }

    /// Whether the connection can take another message.
    pub(super) fn has_room(&self) -> bool {
        self.codec.as_ref().is_some_and(|codec| !codec.window.is_full())
    }

    pub(super) fn waiting(&self) -> usize {
        self.codec.as_ref().map_or(0, |codec| codec.window.waiting())
    }

    /// Remembers whom to wake when its deadline has passed.
    pub(crate) fn attend(&self, waker: &Waker) {
        self.connection.slot().attend(waker);
    }

    /// Takes its deadline away.
    pub(crate) fn disarm(&self) {
        self.connection.slot().disarm();
    }

    /// When something was last received.
    pub(super) fn received_at(&self) -> Moment {
        self.last_received
    }

    /// Connects and opens the WebSocket. `asked` gets the moment at which the request was written.
    pub(crate) async fn open(&mut self, asked: impl FnOnce(Moment)) -> Result<(), ErrorKind> {
        // Boxed: what opening needs must not be a part of every open connection's task.
        let opened = Box::pin(self.handshake(asked)).await;
        self.connection.slot().disarm();
        if opened.is_err() && !self.is_open() {
            self.connection.close();
        }
        if opened.is_err() {
            let core = self.core();
            core.ledger.borrow_mut().unopened(core.clock.now());
        }
        opened
    }

    async fn handshake(&mut self, asked: impl FnOnce(Moment)) -> Result<(), ErrorKind> {
        let address = self.attendee.as_ref().map(|attendee| attendee.borrow().address());
        let core = Rc::clone(self.core());
        let began = core.clock.now();
        self.connection.slot().ask(began, began.saturating_add(core.timeout));
        self.connection.open_to(address).await?;
        let began = core.clock.now();
        self.connection.slot().ask(began, began.saturating_add(core.timeout));
        let mut request = Vec::with_capacity(512);
        let nonce = core.random_bytes();
        let mut handshake =
            self.plan.open(self.number, nonce, &mut request, |handshake| handshake).expect("written before");
        asked(began);
        self.write(&request)?;
        poll_fn(|cx| {
            self.connection.slot().attend(cx.waker());
            while !self.codec.as_ref().is_some_and(|codec| codec.ready) {
                if self.connection.slot().expired() {
                    return Poll::Ready(Err(ErrorKind::Timeout));
                }
                let unanswered = (!self.is_open()).then_some(&mut handshake);
                ready!(self.poll_io(cx, unanswered))?;
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        let now = core.clock.now();
        core.ledger.borrow_mut().upgraded(now, now.saturating_sub(began));
        Ok(())
    }

    /// Does one thing that the socket is ready for: writes what is unsent, or reads and takes it. Ready when something was
    /// done; an error ends the connection.
    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<SessionResult> {
        self.poll_io(cx, None)
    }

    fn poll_io(&mut self, cx: &mut Context<'_>, handshake: Option<&mut Handshake>) -> Poll<SessionResult> {
        let Some(stream) = &self.connection.stream else { return Poll::Pending };
        while !self.unsent.is_empty() || !stream.is_flushed() {
            let Poll::Ready(mut guard) = stream.poll_write_ready(cx) else { break };
            match stream.write(&self.unsent) {
                Ok(n) => {
                    self.connection.core.ledger.borrow_mut().wrote(n);
                    self.unsent.drain(..n);
                    if self.unsent.is_empty() {
                        (self.unsent, self.pongs) = (Vec::new(), 0);
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(e) => return Poll::Ready(Err(write_error(&e, self.is_open()))),
            }
        }
        let mut guard = ready!(stream.poll_read_ready(cx));
        let core = Rc::clone(&self.connection.core);
        let mut buffer = core.buffer.borrow_mut();
        let read = stream.read(&mut buffer);
        match read {
            Ok(ReadOutcome { bytes: 0, .. }) => Poll::Ready(Err(self.ended())),
            Ok(ReadOutcome { bytes, emptied, waited }) => {
                if emptied {
                    guard.clear_ready();
                }
                self.last_received = core.clock.now();
                let mut ledger = core.ledger.borrow_mut();
                ledger.read(bytes);
                if let Some(waited) = waited {
                    ledger.received(self.last_received, waited);
                    self.last_received = self.last_received.saturating_sub(waited);
                }
                drop(ledger);
                Poll::Ready(match handshake {
                    None => self.receive(&mut buffer[..bytes]),
                    Some(handshake) => self.answered(handshake, &mut buffer[..bytes]),
                })
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                guard.clear_ready();
                Poll::Ready(Ok(()))
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Poll::Ready(Ok(())),
            Err(e) => Poll::Ready(Err(tls::fault(&e).unwrap_or_else(|| self.broken()))),
        }
    }

    /// The kind of an end of stream.
    fn ended(&self) -> ErrorKind {
        if self.is_open() { ErrorKind::ClosedAbnormally } else { ErrorKind::EofNew }
    }

    /// The kind of a reset.
    fn broken(&self) -> ErrorKind {
        if self.is_open() { ErrorKind::ClosedAbnormally } else { reset(false) }
    }

    /// Takes bytes of the handshake's answer. What follows it are frames.
    fn answered(&mut self, handshake: &mut Handshake, bytes: &mut [u8]) -> SessionResult {
        let plan = Rc::clone(&self.plan);
        let answer = plan.opening(self.number, |opening| match handshake.receive(opening, bytes) {
            Ok(Progress::More) => Ok(None),
            Ok(Progress::Open { used, agreement, .. }) => Ok(Some((used, agreement.deflate))),
            Ok(Progress::Refused { used, head, response }) => {
                let refusal = || refusal(response.status, head, &bytes[used..]);
                self.core().ledger.borrow_mut().refused(self.last_received, response.status, refusal);
                Err(ErrorKind::of_status(response.status.min(599)).unwrap_or(ErrorKind::UpgradeRefused))
            }
            Err(HandshakeError::Http(error)) => Err(fault(error)),
            Err(_) => Err(ErrorKind::UpgradeInvalid),
        })?;
        let Some((used, deflate)) = answer else { return Ok(()) };
        let inbox = plan.keeps.then(Box::default);
        let socketio = plan.namespace(self.number).map(|namespace| Box::new(SocketIo::new(namespace)));
        let ready = socketio.is_none();
        self.codec = Some(Box::new(Codec { inbox, socketio, ready, ..Codec::new(deflate) }));
        self.core().count_session(1);
        self.receive(&mut bytes[used..])
    }

    /// Takes frames.
    #[inline]
    fn receive(&mut self, bytes: &mut [u8]) -> SessionResult {
        let core = Rc::clone(&self.connection.core);
        let Some(codec) = self.codec.as_deref_mut() else { return Ok(()) };
        let mut out = core.out.take();
        out.clear();
        let received = {
            let (mut scratch, mut ledger) = (core.scratch.borrow_mut(), core.ledger.borrow_mut());
            let room = MOST_PONGS.saturating_sub(self.pongs);
            let mut attendee = self.attendee.as_ref().map(|attendee| attendee.borrow_mut());
            let attendee = attendee.as_deref_mut();
            let (now, number, plan, ledger) = (self.last_received, self.number, &self.plan, &mut ledger);
            let mut receiver = MessageReceiver { now, number, plan, ledger, room, attendee };
            codec.receive(bytes, &mut scratch, &mut out, &mut receiver, || core.random_key())
        };
        // When the connection ends, what it is told last may fail to be sent.
        let written = if out.is_empty() { Ok(()) } else { self.write(&out) };
        if !self.unsent.is_empty() {
            self.pongs += out.len();
        }
        core.out.replace(out);
        received.and(written)
    }

    /// Sends the next message; whether it could have been sent at its planned instant is told by `prompt`.
    pub(crate) fn send(&mut self, planned: Moment, prompt: bool) -> SessionResult {
        let core = Rc::clone(&self.connection.core);
        let plan = Rc::clone(&self.plan);
        let (Some(codec), Some(template)) = (self.codec.as_deref_mut(), &plan.message) else { return Ok(()) };
        let now = core.clock.now();
        if let Some(attendee) = &self.attendee {
            attendee.borrow_mut().sent.push(now);
        }
        codec.last_sent = now;
        let identity = Identity { connection: self.number, sequence: codec.window.next(), planned };
        let mut out = core.out.take();
        out.clear();
        {
            let mut payload = core.payload.borrow_mut();
            if payload.len() != template.bytes.len() {
                payload.clone_from(&template.bytes);
            }
            identity.write(payload.first_chunk_mut().expect("messages are long enough"));
            let mut scratch = core.scratch.borrow_mut();
            codec.encode(&mut out, template.kind, &payload, &mut scratch, || core.random_key())?;
        }
        let mut ledger = core.ledger.borrow_mut();
        if let Some(given_up) = codec.window.push(planned, now) {
            missing(&mut ledger, self.number, &given_up);
        }
        ledger.sent(now, prompt.then(|| now.saturating_sub(planned)));
        ledger.messages().sent += 1;
        drop(ledger);
        let written = self.write(&out);
        core.out.replace(out);
        written
    }

    /// Gives bytes to the socket, or keeps them until it takes them.
    fn write(&mut self, bytes: &[u8]) -> SessionResult {
        let mut rest = bytes;
        if let (true, Some(stream)) = (self.unsent.is_empty(), &self.connection.stream) {
            while !rest.is_empty() {
                match stream.write(rest) {
                    Ok(n) => {
                        self.connection.core.ledger.borrow_mut().wrote(n);
                        rest = &rest[n..];
                    }
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(write_error(&e, self.is_open())),
                }
            }
        }
        self.unsent.extend_from_slice(rest);
        Ok(())
    }

    /// Sends a message of the caller's.
    pub(crate) fn send_message(&mut self, kind: Kind, payload: &[u8]) -> SessionResult {
        let core = Rc::clone(&self.connection.core);
        let Some(codec) = self.codec.as_deref_mut() else { return Err(ErrorKind::Closed) };
        codec.last_sent = core.clock.now();
        let mut out = core.out.take();
        out.clear();
        let written = codec.encoder.message(&mut out, kind, payload, core.random_key(), &mut core.scratch.borrow_mut());
        let written = if written.is_ok() { self.write(&out) } else { Err(ErrorKind::Closed) };
        core.out.replace(out);
        written
    }

    /// Whether everything sent has been taken by the socket.
    pub(super) fn is_flushed(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Messages kept, while the connection is open.
    pub(super) fn inbox(&mut self) -> Option<&mut Inbox> {
        self.codec.as_deref_mut().and_then(|codec| codec.inbox.as_deref_mut())
    }

    /// Sends a ping.
    pub(super) fn ping(&mut self) -> SessionResult {
        let mut out = Vec::new();
        let (key, now) = (self.core().random_key(), self.core().clock.now());
        if let Some(codec) = self.codec.as_deref_mut() {
            (codec.pinged, codec.last_sent) = (true, now);
            // It fails only after a close frame: then there is nothing to ask any more.
            let _ = codec.encoder.ping(&mut out, b"", key);
        }
        self.write(&out)?;
        self.core().ledger.borrow_mut().messages().pinged += 1;
        Ok(())
    }

    /// Whether a ping is unanswered.
    pub(super) fn awaits_pong(&self) -> bool {
        self.codec.as_ref().is_some_and(|codec| codec.pinged)
    }

    /// Sends a close frame.
    pub(super) fn send_close(&mut self) -> SessionResult {
        let mut out = Vec::new();
        let key = self.core().random_key();
        if let Some(codec) = self.codec.as_deref_mut() {
            codec.leaving = true;
            let _ = codec.encoder.close(&mut out, Some((code::NORMAL, "")), key);
        }
        self.write(&out)
    }

    /// Sets the deadline of the message that waits longest.
    pub(crate) fn arm(&mut self) {
        let timeout = self.core().timeout;
        let oldest = self.codec.as_deref_mut().and_then(|codec| codec.window.oldest());
        match oldest {
            Some(written) => self.connection.slot().ask(written, written.saturating_add(timeout)),
            None => self.connection.slot().disarm(),
        }
    }

    /// Whether the message that waits longest is overdue. Those that are have failed.
    pub(crate) fn expire(&mut self) -> bool {
        if !self.connection.slot().expired() {
            return false;
        }
        let core = Rc::clone(self.core());
        let now = core.clock.now();
        if let Some(codec) = self.codec.as_deref_mut() {
            let mut ledger = core.ledger.borrow_mut();
            let limit = now.saturating_sub(core.timeout);
            codec.window.overdue(limit, |planned| match ledger.over(now) {
                true => ledger.messages().unanswered += 1,
                false => ledger.failed(now, planned, ErrorKind::Timeout),
            });
        }
        self.arm();
        true
    }

    /// Counts the end of the connection, because of `kind`, when it is noticed: what follows, waiting for the server to close, is no part of it.
    pub(super) fn count_end(&mut self, kind: ErrorKind) {
        let core = Rc::clone(self.core());
        let received = self.last_received;
        let Some(codec) = self.codec.as_deref_mut() else { return };
        // One that Socket.IO had not opened yet is a failed opening.
        if std::mem::replace(&mut codec.counted, true) || !codec.ready || core.is_ending() {
            return;
        }
        let by_frame = kind == ErrorKind::Closed;
        // A close frame came with what was received last, which may have been the last echo of the load.
        let now = if by_frame { received } else { core.clock.now() };
        let mut ledger = core.ledger.borrow_mut();
        if codec.leaving {
            ledger.left(now);
        } else {
            ledger.disconnected(now, by_frame, now.saturating_sub(received.max(codec.last_sent)));
        }
    }

    /// The connection has ended, because of `kind`: what is on its way will not come. Closes the socket.
    pub(crate) fn end(&mut self, kind: ErrorKind) {
        self.count_end(kind);
        let Some(mut codec) = self.codec.take() else { return self.connection.close() };
        let core = Rc::clone(self.core());
        let now = core.clock.now();
        {
            let mut ledger = core.ledger.borrow_mut();
            // Closed by this side before it has waited as long as it must: such a message is still in flight, and nobody lost it.
            let early = |message: &Missing| message.waiting && now.saturating_sub(message.written) < core.patience;
            codec.window.end(|message| {
                if codec.leaving && early(&message) {
                    return;
                }
                missing(&mut ledger, self.number, &message);
                if message.waiting && ledger.over(now) {
                    ledger.messages().unanswered += 1;
                }
                if message.waiting {
                    ledger.failed(now, message.planned, kind);
                }
            });
            if kind != ErrorKind::Closed {
                ledger.messages().closed(code::ABNORMAL, 1);
            }
        }
        core.count_session(-1);
        self.unsent = Vec::new();
        self.connection.slot().disarm();
        self.connection.close();
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.codec.take().is_some() {
            self.core().count_session(-1);
        }
    }
}

/// What is kept of a refusal.
fn refusal(status: u16, head: &[u8], body: &[u8]) -> Refusal {
    let location = fields(head).find(|(name, _)| name.eq_ignore_ascii_case(b"location")).map(|(_, value)| value);
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(Refusal::LONGEST)]).into_owned();
    Refusal { status, location: location.map(text), body: text(body) }
}

/// A message will not come: it is lost, unless something else came in its place.
fn missing(ledger: &mut Ledger, connection: u32, message: &Missing) {
    let messages = ledger.messages();
    let what = if message.stand_in { Fate::Changed } else { Fate::Lost };
    *(if message.stand_in { &mut messages.changed } else { &mut messages.lost }) += 1;
    let planned_us = Some(message.planned / 1_000);
    messages.incident(Incident { what, connection, sequence: message.sequence, planned_us });
}
