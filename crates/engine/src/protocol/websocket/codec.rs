//! What is sent and received on one open connection, counted: frames, Socket.IO where that is spoken, messages matched with
//! those that were sent. It has no socket.

use genkai_model::error::ErrorKind;
use genkai_model::websocket::{Fate, Incident};
use genkai_wire::websocket::deflate::{Agreed, Effort};
use genkai_wire::websocket::{Chunk, Close, Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch};

use super::identity::{Arrived, Identity, Incoming};
use super::inbox::Inbox;
use super::plan::Plan;
use super::window::{EchoKind, Window};
use crate::clock::Moment;
use crate::measure::ledger::Ledger;
use crate::protocol::attendance::{Attendee, RoomMessage};
use crate::protocol::socketio::{SocketIo, SocketIoEvent};

/// What came out of a slice of bytes.
pub(super) type SessionResult = Result<(), ErrorKind>;

/// What is sent and received on an open connection.
pub(super) struct Codec {
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) incoming: Incoming,
    pub(super) window: Window,
    /// Whether a ping is unanswered.
    pub(super) pinged: bool,
    /// When something was last sent.
    pub(super) last_sent: Moment,
    /// Whether it is closed on purpose.
    pub(super) leaving: bool,
    /// Whether its end has been counted.
    pub(super) counted: bool,
    /// Messages kept, where they are.
    pub(super) inbox: Option<Box<Inbox>>,
    /// Socket.IO, where that is spoken.
    pub(super) socketio: Option<Box<SocketIo>>,
    /// Whether messages can be sent: with Socket.IO only in its namespace.
    pub(super) ready: bool,
}

/// What receiving needs besides the connection's own state.
pub(super) struct MessageReceiver<'a> {
    pub(super) now: Moment,
    pub(super) number: u32,
    pub(super) plan: &'a Plan,
    pub(super) ledger: &'a mut Ledger,
    /// Bytes of answers that may be added to those that wait.
    pub(super) room: usize,
    pub(super) attendee: Option<&'a mut Attendee>,
}

impl Codec {
    pub(super) fn new(deflate: Option<Agreed>) -> Codec {
        let (mut encoder, mut decoder) = (Encoder::new(Role::Client), Decoder::new(Role::Client, MAX_MESSAGE));
        if let Some(agreed) = &deflate {
            encoder = encoder.deflating(agreed, Effort::default());
            decoder = decoder.inflating(agreed);
        }
        Codec {
            encoder,
            decoder,
            incoming: Incoming::default(),
            window: Window::default(),
            pinged: false,
            last_sent: 0,
            leaving: false,
            counted: false,
            inbox: None,
            socketio: None,
            ready: true,
        }
    }

    /// Encodes a message to `out`.
    pub(super) fn encode(
        &mut self,
        out: &mut Vec<u8>,
        kind: Kind,
        payload: &[u8],
        scratch: &mut Scratch,
        key: impl Fn() -> u32,
    ) -> Result<(), ErrorKind> {
        let Codec { encoder, socketio, .. } = self;
        let mut said = Ok(());
        let mut frame = |kind, data: &[u8]| said = encoder.message(out, kind, data, key(), scratch);
        match socketio {
            None => frame(kind, payload),
            Some(socketio) => socketio.encode(kind, payload, frame),
        }
        said.map_err(|_| ErrorKind::Closed)
    }

    /// Decodes and counts; answers go to `out`.
    pub(super) fn receive(
        &mut self,
        bytes: &mut [u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
        receiver: &mut MessageReceiver<'_>,
        key: impl Fn() -> u32,
    ) -> SessionResult {
        let Codec { encoder, decoder, incoming, window, pinged, inbox, socketio, ready, .. } = self;
        let mut at = 0;
        loop {
            // Answers fail only when a close frame has been sent: then none are due.
            match decoder.decode(&mut bytes[at..], scratch) {
                Ok((_, None)) => return Ok(()),
                Ok((used, Some(event))) => {
                    match event {
                        Event::Data(chunk) => match (inbox.as_deref_mut(), socketio.as_deref_mut()) {
                            (None, None) => receiver.data(&chunk, incoming, window),
                            (Some(inbox), _) => inbox.take(chunk, receiver.now, receiver.ledger),
                            (None, Some(socketio)) => match socketio.decode(&chunk) {
                                SocketIoEvent::Nothing => {}
                                SocketIoEvent::Message(kind, data) => {
                                    receiver.data(
                                        &Chunk { kind, data: &data, first: true, last: true },
                                        incoming,
                                        window,
                                    );
                                }
                                SocketIoEvent::Open => *ready = true,
                                SocketIoEvent::Answer(_) if out.len() >= receiver.room => {}
                                SocketIoEvent::Answer(text) => {
                                    let _ = encoder.message(out, Kind::Text, text.as_bytes(), key(), scratch);
                                }
                                SocketIoEvent::End => return Err(ErrorKind::ClosedAbnormally),
                            },
                        },
                        Event::Ping(_) if out.len() >= receiver.room => {}
                        Event::Ping(payload) => {
                            let _ = encoder.pong(out, payload, key());
                            receiver.ledger.messages().pings += 1;
                        }
                        // A pong that nobody asked for is a heartbeat (RFC 6455 section 5.5.3).
                        Event::Pong(_) => receiver.ledger.messages().pongs += u64::from(std::mem::take(pinged)),
                        Event::Close(close) => {
                            let _ = encoder.close(out, Close::answer(&close), key());
                            receiver.ledger.messages().closed(close.code_or_none(), 1);
                            return Err(ErrorKind::Closed);
                        }
                    }
                    at += used;
                }
                Err(e) => {
                    let _ = encoder.close(out, Some((e.close_code(), "")), key());
                    return Err(ErrorKind::Frame);
                }
            }
        }
    }
}

impl MessageReceiver<'_> {
    /// A part of a message.
    #[inline]
    fn data(&mut self, chunk: &Chunk<'_>, incoming: &mut Incoming, window: &mut Window) {
        let Some(template) = &self.plan.message else {
            // On a held connection the server may send what it likes.
            return;
        };
        let Some(arrived) = incoming.push(chunk, &template.bytes, template.kind) else { return };
        let identity = match arrived {
            Arrived::Whole(identity) => identity,
            Arrived::Altered(claimed) => return self.altered(claimed, window),
        };
        if let Some(attendee) = &mut self.attendee {
            match attendee.receives(identity.connection, identity.sequence) {
                RoomMessage::New { .. } => self.ledger.delivered(self.now, identity.planned),
                RoomMessage::Again => {}
                RoomMessage::Foreign => return self.foreign(identity.connection, identity.sequence),
            }
            if identity.connection != self.number {
                return;
            }
        }
        if identity.connection != self.number {
            return self.foreign(identity.connection, identity.sequence);
        }
        let came = window.came(identity.sequence);
        let connection = self.number;
        let incident = |what| Incident {
            what,
            connection,
            sequence: identity.sequence,
            planned_us: Some(identity.planned / 1_000),
        };
        match came.how {
            EchoKind::InTime { planned, written } => {
                self.ledger.succeeded(self.now, planned, written);
                self.ledger.messages().delivered += 1;
            }
            EchoKind::Late { .. } => {
                let messages = self.ledger.messages();
                (messages.delivered, messages.late) = (messages.delivered + 1, messages.late + 1);
                messages.incident(incident(Fate::Late));
            }
            EchoKind::Again => {
                let messages = self.ledger.messages();
                messages.duplicated += 1;
                messages.incident(incident(Fate::Duplicated));
            }
            EchoKind::Never => self.foreign(identity.connection, identity.sequence),
        }
        if came.stand_in {
            self.foreign(self.number, identity.sequence);
        }
        if came.reordered {
            let messages = self.ledger.messages();
            messages.reordered += 1;
            messages.incident(incident(Fate::Reordered));
        }
    }

    /// A message that is not as any that was sent. One that says which it is has come back changed. Any other may be the server's own:
    /// it stands for the only message on its way until that comes.
    fn altered(&mut self, claimed: Option<Identity>, window: &mut Window) {
        let claimed = claimed.filter(|_| self.attendee.is_none());
        match claimed {
            Some(identity) if identity.connection == self.number => self.changed(identity.sequence, window),
            Some(identity) => self.foreign(identity.connection, identity.sequence),
            None if self.attendee.is_none() && window.stand_in() => {}
            None => self.foreign(self.number, window.next()),
        }
    }

    /// A message came back as something else: it has failed, and is not waited for any more.
    fn changed(&mut self, sequence: u64, window: &mut Window) {
        let came = window.came(sequence);
        let planned = match came.how {
            EchoKind::InTime { planned, .. } => {
                self.ledger.failed(self.now, planned, ErrorKind::EchoChanged);
                planned
            }
            EchoKind::Late { planned } => planned,
            EchoKind::Again | EchoKind::Never => return self.foreign(self.number, sequence),
        };
        let messages = self.ledger.messages();
        messages.changed += 1;
        let planned_us = Some(planned / 1_000);
        messages.incident(Incident { what: Fate::Changed, connection: self.number, sequence, planned_us });
        if came.stand_in {
            self.foreign(self.number, sequence);
        }
    }

    fn foreign(&mut self, connection: u32, sequence: u64) {
        let messages = self.ledger.messages();
        messages.foreign += 1;
        messages.incident(Incident { what: Fate::Foreign, connection, sequence, planned_us: None });
    }
}
