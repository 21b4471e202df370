//! What is said on one open connection and what is heard, counted: frames, Socket.IO where that is spoken, messages matched with
//! those that were sent. It has no socket.

use genkai_model::error::ErrorKind;
use genkai_model::websocket::{Fate, Incident};
use genkai_wire::websocket::deflate::{Agreed, Effort};
use genkai_wire::websocket::{Chunk, Close, Decoder, Encoder, Event, Kind, MAX_MESSAGE, Role, Scratch};

use super::identity::Incoming;
use super::inbox::Inbox;
use super::plan::Plan;
use super::window::{How, Window};
use crate::clock::Moment;
use crate::measure::ledger::Ledger;
use crate::protocol::attendance::{Attendee, Came};
use crate::protocol::socketio::{self, Dialect};

/// What came out of a slice of bytes.
pub(super) type Heard = Result<(), ErrorKind>;

/// What is said on an open connection, and what is heard.
pub(super) struct Codec {
    pub(super) encoder: Encoder,
    pub(super) decoder: Decoder,
    pub(super) incoming: Incoming,
    pub(super) window: Window,
    /// Whether a ping is unanswered.
    pub(super) pinged: bool,
    /// When something was last said.
    pub(super) said: Moment,
    /// Whether it is closed on purpose.
    pub(super) leaving: bool,
    /// Messages kept, where they are.
    pub(super) inbox: Option<Box<Inbox>>,
    /// Socket.IO, where that is spoken.
    pub(super) dialect: Option<Box<Dialect>>,
    /// Whether messages can be sent: with Socket.IO only in its namespace.
    pub(super) ready: bool,
}

/// What hearing needs besides the connection's own state.
pub(super) struct Ear<'a> {
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
            said: 0,
            leaving: false,
            inbox: None,
            dialect: None,
            ready: true,
        }
    }

    /// Encodes a message to `out`.
    pub(super) fn say(
        &mut self,
        out: &mut Vec<u8>,
        kind: Kind,
        payload: &[u8],
        scratch: &mut Scratch,
        key: impl Fn() -> u32,
    ) -> Result<(), ErrorKind> {
        let Codec { encoder, dialect, .. } = self;
        let mut said = Ok(());
        let mut frame = |kind, data: &[u8]| said = encoder.message(out, kind, data, key(), scratch);
        match dialect {
            None => frame(kind, payload),
            Some(dialect) => dialect.speak(kind, payload, frame),
        }
        said.map_err(|_| ErrorKind::Closed)
    }

    /// Decodes and counts; answers go to `out`.
    pub(super) fn hear(
        &mut self,
        bytes: &mut [u8],
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
        ear: &mut Ear<'_>,
        key: impl Fn() -> u32,
    ) -> Heard {
        let Codec { encoder, decoder, incoming, window, pinged, inbox, dialect, ready, .. } = self;
        let mut at = 0;
        loop {
            // Answers fail only when a close frame has been sent: then none are due.
            match decoder.decode(&mut bytes[at..], scratch) {
                Ok((_, None)) => return Ok(()),
                Ok((used, Some(event))) => {
                    match event {
                        Event::Data(chunk) => match (inbox.as_deref_mut(), dialect.as_deref_mut()) {
                            (None, None) => ear.data(&chunk, incoming, window),
                            (Some(inbox), _) => inbox.take(chunk, ear.now, ear.ledger),
                            (None, Some(dialect)) => match dialect.hear(&chunk) {
                                socketio::Came::Nothing => {}
                                socketio::Came::Message(kind, data) => {
                                    ear.data(&Chunk { kind, data: &data, first: true, last: true }, incoming, window);
                                }
                                socketio::Came::Open => *ready = true,
                                socketio::Came::Answer(_) if out.len() >= ear.room => {}
                                socketio::Came::Answer(text) => {
                                    let _ = encoder.message(out, Kind::Text, text.as_bytes(), key(), scratch);
                                }
                                socketio::Came::End => return Err(ErrorKind::ClosedAbnormally),
                            },
                        },
                        Event::Ping(_) if out.len() >= ear.room => {}
                        Event::Ping(payload) => {
                            let _ = encoder.pong(out, payload, key());
                            ear.ledger.messages().pings += 1;
                        }
                        Event::Pong(_) => {
                            *pinged = false;
                            ear.ledger.messages().pongs += 1;
                        }
                        Event::Close(close) => {
                            let _ = encoder.close(out, Close::answer(&close), key());
                            ear.ledger.messages().closed(close.code_or_none(), 1);
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

impl Ear<'_> {
    /// A part of a message.
    #[inline]
    fn data(&mut self, chunk: &Chunk<'_>, incoming: &mut Incoming, window: &mut Window) {
        let Some(spoken) = &self.plan.message else {
            // On a held connection the server may say what it likes.
            return;
        };
        let Some(whole) = incoming.push(chunk, &spoken.template, spoken.kind) else { return };
        if let (Some(attendee), Some(identity)) = (&mut self.attendee, whole) {
            match attendee.hears(identity.connection, identity.sequence) {
                Came::New { .. } => self.ledger.delivered(self.now, identity.planned),
                Came::Again => {}
                Came::Foreign => return self.foreign(identity.connection, identity.sequence),
            }
            if identity.connection != self.number {
                return;
            }
        }
        let Some(identity) = whole.filter(|identity| identity.connection == self.number) else {
            let (connection, sequence) = whole.map_or((self.number, window.next()), |i| (i.connection, i.sequence));
            return self.foreign(connection, sequence);
        };
        let came = window.came(identity.sequence);
        let connection = self.number;
        let incident = |what| Incident {
            what,
            connection,
            sequence: identity.sequence,
            planned_us: Some(identity.planned / 1_000),
        };
        match came.how {
            How::InTime { planned, written } => {
                self.ledger.succeeded(self.now, planned, written);
                self.ledger.messages().delivered += 1;
            }
            How::Late { .. } => {
                let messages = self.ledger.messages();
                (messages.delivered, messages.late) = (messages.delivered + 1, messages.late + 1);
                messages.incident(incident(Fate::Late));
            }
            How::Again => {
                let messages = self.ledger.messages();
                messages.duplicated += 1;
                messages.incident(incident(Fate::Duplicated));
            }
            How::Never => self.foreign(identity.connection, identity.sequence),
        }
        if came.reordered {
            let messages = self.ledger.messages();
            messages.reordered += 1;
            messages.incident(incident(Fate::Reordered));
        }
    }

    fn foreign(&mut self, connection: u32, sequence: u64) {
        let messages = self.ledger.messages();
        messages.foreign += 1;
        messages.incident(Incident { what: Fate::Foreign, connection, sequence, planned_us: None });
    }
}
