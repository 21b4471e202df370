//! Bytes to events.

mod control;
mod data;

use control::Carry;

use super::deflate::{Agreed, Inflater};
use super::frame::{Expected, Header, MAX_HEADER, Opcode};
use super::{Chunk, Close, Error, Event, Kind, Role, Scratch, Utf8};

/// Decodes what one peer sends, from slices in any split. Owns no buffer but what a cut header or control frame needs.
#[derive(Debug)]
pub struct Decoder {
    /// Largest message.
    max: u64,
    /// Bytes of the current message so far: announced by frame headers, or decompressed.
    size: u64,
    state: State,
    /// Its current message, control frames in between notwithstanding.
    message: Option<Kind>,
    /// Whether that is compressed.
    compressed: bool,
    /// Whether a chunk of it was given out.
    begun: bool,
    /// Whose frames it decodes: a server decodes masked ones.
    masked: bool,
    utf8: Utf8,
    /// A control frame that arrives in parts.
    carry: Option<Box<Carry>>,
    inflater: Option<Box<Inflater>>,
}

/// Where in a frame the decoder is.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Before or inside a header; its first `len` bytes.
    Header { bytes: [u8; MAX_HEADER], len: u8 },
    /// In the payload of a data frame: bytes to come, mask of the next one, FIN.
    Data { left: u64, mask: [u8; 4], last: bool },
    /// Past the last frame of a compressed message: so many of the four bytes given back to it (RFC 7692 section 7.2.2).
    Tail { fed: u8 },
    /// In the payload of a control frame.
    Control { opcode: Opcode, length: u8, mask: [u8; 4] },
    /// A close frame came: what follows is discarded (RFC 6455 section 1.4).
    Closed,
    /// It went wrong.
    Failed(Error),
}

/// What was found, without borrowing it yet.
enum Found {
    Data { place: Place, kind: Kind, first: bool, last: bool },
    Control(Opcode, Place),
}

/// Where its payload is.
enum Place {
    /// In the caller's bytes, from and to.
    Input(usize, usize),
    /// In [`Decoder::carry`].
    Carry,
    /// At the start of the scratch buffer, so many bytes.
    Output(usize),
}

impl State {
    const START: State = State::Header { bytes: [0; MAX_HEADER], len: 0 };
}

impl Decoder {
    /// For the side `role` of a connection without compression: decodes what the other side sends. `max_message`: largest
    /// message, bytes.
    pub fn new(role: Role, max_message: u64) -> Decoder {
        Decoder {
            max: max_message,
            size: 0,
            state: State::START,
            message: None,
            compressed: false,
            begun: false,
            masked: role == Role::Server,
            utf8: Utf8::default(),
            carry: None,
            inflater: None,
        }
    }

    /// With compression as the handshake agreed on it.
    pub fn inflating(mut self, agreed: &Agreed) -> Decoder {
        let sender = if self.masked { agreed.client } else { agreed.server };
        self.inflater = Some(Box::new(Inflater::new(sender)));
        self
    }

    /// Decodes from the start of `bytes`: how many of them it used, and what they said. `None`: all are used, more must
    /// come. Call again with the rest of `bytes`, unchanged, until then: there may be an event in no bytes at all.
    ///
    /// Payloads are unmasked in place, so bytes that were used are not what they were.
    ///
    /// # Errors
    /// At the first violation. Every later call returns the same error.
    #[inline]
    pub fn decode<'a>(
        &'a mut self,
        bytes: &'a mut [u8],
        scratch: &'a mut Scratch,
    ) -> Result<(usize, Option<Event<'a>>), Error> {
        match self.advance(bytes, scratch) {
            Ok((used, None)) => Ok((used, None)),
            Ok((used, Some(found))) => Ok((used, Some(self.event(&found, bytes, scratch)?))),
            Err(error) => {
                self.state = State::Failed(error);
                Err(error)
            }
        }
    }

    #[inline]
    fn advance(&mut self, bytes: &mut [u8], scratch: &mut Scratch) -> Result<(usize, Option<Found>), Error> {
        let mut at = 0;
        loop {
            let found = match self.state {
                State::Header { bytes: seen, len } => {
                    if at == bytes.len() {
                        return Ok((at, None));
                    }
                    at += self.header(seen, usize::from(len), &bytes[at..])?;
                    None
                }
                State::Data { left, .. } if !self.compressed => {
                    if at == bytes.len() && left > 0 {
                        return Ok((at, None));
                    }
                    self.plain(&mut at, bytes)?
                }
                State::Data { left, .. } => {
                    if at == bytes.len() && left > 0 {
                        return Ok((at, None));
                    }
                    self.expand(&mut at, bytes, scratch)?
                }
                State::Tail { .. } => self.expand(&mut at, bytes, scratch)?,
                State::Control { opcode, length, mask } => {
                    let found = self.control(opcode, usize::from(length), mask, &mut at, bytes)?;
                    if found.is_none() {
                        return Ok((at, None));
                    }
                    found
                }
                State::Closed => return Ok((bytes.len(), None)),
                State::Failed(error) => return Err(error),
            };
            if found.is_some() {
                return Ok((at, found));
            }
        }
    }

    /// Takes a header, or a part of one, from the start of `bytes`; `len` bytes of it were `seen`. Returns how many it used.
    #[inline]
    fn header(&mut self, mut seen: [u8; MAX_HEADER], len: usize, bytes: &[u8]) -> Result<usize, Error> {
        let expected =
            Expected { masked: self.masked, in_message: self.message.is_some(), compression: self.inflater.is_some() };
        if len == 0
            && let Some((header, used)) = Header::parse(bytes, expected)?
        {
            self.begin(&header)?;
            return Ok(used);
        }
        let more = bytes.len().min(MAX_HEADER - len);
        seen[len..len + more].copy_from_slice(&bytes[..more]);
        match Header::parse(&seen[..len + more], expected)? {
            Some((header, length)) => {
                self.begin(&header)?;
                Ok(length - len)
            }
            None => {
                self.state = State::Header { bytes: seen, len: (len + more) as u8 };
                Ok(more)
            }
        }
    }

    /// A frame begins.
    #[inline]
    fn begin(&mut self, header: &Header) -> Result<(), Error> {
        let mask = header.mask.unwrap_or_default();
        let kind = match header.opcode {
            Opcode::Continuation => None,
            Opcode::Text => Some(Kind::Text),
            Opcode::Binary => Some(Kind::Binary),
            opcode => {
                self.carry = None;
                self.state = State::Control { opcode, length: header.length as u8, mask };
                return Ok(());
            }
        };
        if kind.is_some() {
            self.message = kind;
            self.compressed = header.compressed;
            self.begun = false;
            self.size = 0;
        }
        if !self.compressed {
            // Known before it arrives; neither can overflow, both are below 2^63.
            self.grow(header.length)?;
        }
        self.state = State::Data { left: header.length, mask, last: header.last };
        Ok(())
    }

    /// The message gets longer.
    #[inline]
    fn grow(&mut self, by: u64) -> Result<(), Error> {
        self.size += by;
        if self.size > self.max { Err(Error::TooBig) } else { Ok(()) }
    }

    #[inline]
    fn event<'a>(&'a self, found: &Found, bytes: &'a [u8], scratch: &'a Scratch) -> Result<Event<'a>, Error> {
        let payload = |place: &Place| match *place {
            Place::Input(from, to) => &bytes[from..to],
            Place::Carry => self.carry.as_ref().map_or(&[][..], |carry| carry.bytes()),
            Place::Output(len) => scratch.output(len),
        };
        Ok(match found {
            Found::Data { place, kind, first, last } => {
                Event::Data(Chunk { kind: *kind, data: payload(place), first: *first, last: *last })
            }
            Found::Control(Opcode::Ping, place) => Event::Ping(payload(place)),
            Found::Control(Opcode::Pong, place) => Event::Pong(payload(place)),
            Found::Control(_, place) => Event::Close(Close::parse(payload(place))?),
        })
    }
}
