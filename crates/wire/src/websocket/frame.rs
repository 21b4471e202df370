//! Frame headers (RFC 6455 section 5.2).

use super::Error;

/// Longest header: two bytes, an eight-byte length, a mask.
pub const MAX_HEADER: usize = 14;

/// Longest payload of a control frame (section 5.5).
pub const MAX_CONTROL: usize = 125;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV2_RSV3: u8 = 0x30;
const MASK: u8 = 0x80;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// A further fragment of the current message.
    Continuation = 0,
    /// A text message, or its first fragment.
    Text = 1,
    /// A binary message, or its first fragment.
    Binary = 2,
    /// The closing handshake.
    Close = 8,
    /// Are you there?
    Ping = 9,
    /// I am here.
    Pong = 10,
}

impl Opcode {
    /// The opcode in the low four bits of a frame's first byte.
    fn parse(first: u8) -> Result<Opcode, Error> {
        Ok(match first & 0x0f {
            0 => Opcode::Continuation,
            1 => Opcode::Text,
            2 => Opcode::Binary,
            8 => Opcode::Close,
            9 => Opcode::Ping,
            10 => Opcode::Pong,
            _ => return Err(Error::Opcode),
        })
    }

    /// Close, ping or pong: never fragmented, may come between fragments (section 5.5).
    pub fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// What the state of a connection allows the next frame to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Whether it must be masked: it comes from a client. If not, it must not be (section 5.1).
    pub masked: bool,
    /// Whether a message is unfinished: data frames must continue it (section 5.4).
    pub in_message: bool,
    /// Whether messages may be compressed (RFC 7692 section 6).
    pub compression: bool,
}

/// Header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// FIN: the last frame of its message.
    pub last: bool,
    /// RSV1: the message is compressed (RFC 7692 section 6); on its first frame only.
    pub compressed: bool,
    /// What the frame is.
    pub opcode: Opcode,
    /// The mask of its payload.
    pub mask: Option<[u8; 4]>,
    /// Bytes of its payload, at most 2^63 - 1.
    pub length: u64,
}

impl Header {
    /// Parses the header at the start of `bytes`; also returns its length. `None` when it is not whole yet.
    ///
    /// # Errors
    /// As soon as a byte is wrong, and for the first wrong byte: an error found in a prefix is found in every continuation.
    #[inline]
    pub fn parse(bytes: &[u8], expected: Expected) -> Result<Option<(Header, usize)>, Error> {
        let Some(first) = bytes.first() else { return Ok(None) };
        let opcode = first_byte(*first, expected)?;
        let Some(second) = bytes.get(1) else { return Ok(None) };
        let short = second_byte(*second, opcode, expected)?;
        let Some((length, at)) = length(short, bytes)? else { return Ok(None) };
        let (mask, end) = if expected.masked {
            match bytes[at..].first_chunk::<4>() {
                Some(key) => (Some(*key), at + 4),
                None => return Ok(None),
            }
        } else {
            (None, at)
        };
        let header = Header { last: first & FIN != 0, compressed: first & RSV1 != 0, opcode, mask, length };
        Ok(Some((header, end)))
    }

    /// Appends the header.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let first = self.opcode as u8 | if self.last { FIN } else { 0 } | if self.compressed { RSV1 } else { 0 };
        let masked = if self.mask.is_some() { MASK } else { 0 };
        match self.length {
            length @ 0..=125 => out.extend_from_slice(&[first, masked | length as u8]),
            length @ 126..=0xffff => {
                let [a, b] = (length as u16).to_be_bytes();
                out.extend_from_slice(&[first, masked | 126, a, b]);
            }
            length => {
                out.extend_from_slice(&[first, masked | 127]);
                out.extend_from_slice(&length.to_be_bytes());
            }
        }
        if let Some(key) = self.mask {
            out.extend_from_slice(&key);
        }
    }
}

/// FIN, reserved bits and opcode.
#[inline]
fn first_byte(first: u8, expected: Expected) -> Result<Opcode, Error> {
    if first & RSV2_RSV3 != 0 {
        return Err(Error::ReservedBit);
    }
    let opcode = Opcode::parse(first)?;
    let begins = matches!(opcode, Opcode::Text | Opcode::Binary);
    if first & RSV1 != 0 && !(expected.compression && begins) {
        return Err(Error::ReservedBit);
    }
    if opcode.is_control() {
        return if first & FIN != 0 { Ok(opcode) } else { Err(Error::FragmentedControl) };
    }
    match (begins, expected.in_message) {
        (true, true) => Err(Error::Interleaved),
        (false, false) => Err(Error::Continuation),
        _ => Ok(opcode),
    }
}

/// MASK and the short length.
#[inline]
fn second_byte(second: u8, opcode: Opcode, expected: Expected) -> Result<u8, Error> {
    match (second & MASK != 0, expected.masked) {
        (false, true) => return Err(Error::Unmasked),
        (true, false) => return Err(Error::Masked),
        _ => {}
    }
    let short = second & !MASK;
    if opcode.is_control() && usize::from(short) > MAX_CONTROL { Err(Error::LongControl) } else { Ok(short) }
}

/// The length of the payload, and where in `bytes` what follows it begins. "The minimal number of bytes MUST be used".
#[inline]
fn length(short: u8, bytes: &[u8]) -> Result<Option<(u64, usize)>, Error> {
    match short {
        126 => {
            let Some(long) = bytes[2..].first_chunk::<2>() else { return Ok(None) };
            let length = u16::from_be_bytes(*long);
            if length < 126 { Err(Error::Length) } else { Ok(Some((u64::from(length), 4))) }
        }
        127 => {
            let Some(long) = bytes[2..].first_chunk::<8>() else { return Ok(None) };
            let length = u64::from_be_bytes(*long);
            if (0x1_0000..1 << 63).contains(&length) { Ok(Some((length, 10))) } else { Err(Error::Length) }
        }
        short => Ok(Some((u64::from(short), 2))),
    }
}
