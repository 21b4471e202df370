//! Chunked transfer coding (RFC 9112 section 7.1).

use super::line::is_token_char;
use super::{Error, MAX_CHUNK_LINE, MAX_HEAD};

/// Where in the coding the decoder is. Line ends are CRLF and nothing else: the leniency of RFC 9112 section 2.2 is for
/// the head, and a lone LF here is how two recipients come to see different messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// First digit of a size.
    Size,
    /// Further digits.
    Digits,
    /// White space after the size.
    Padding,
    /// Extension; nothing in it is of interest.
    Extension,
    /// CR of the size line seen.
    SizeLf,
    /// Inside data: `left` bytes to come.
    Data,
    /// CR after data.
    DataCr,
    /// LF after data.
    DataLf,
    /// First byte of a trailer line, or CR of the last line.
    Trailer,
    /// The same after a trailer line, which may go on here (obs-fold).
    TrailerNext,
    /// Name of a trailer field.
    TrailerName,
    /// Value of a trailer field.
    TrailerValue,
    /// CR of a trailer line seen.
    TrailerLf,
    /// CR of the last line seen.
    LastLf,
    /// Past the end.
    Done,
}

/// Decoder of one chunked body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunked {
    at: At,
    /// Bytes of the current chunk still to come.
    left: u64,
    /// Bytes of the current size line, or of the trailer section.
    line: usize,
}

impl Chunked {
    pub(super) fn new() -> Chunked {
        Chunked { at: At::Size, left: 0, line: 0 }
    }

    pub(super) fn done(&self) -> bool {
        self.at == At::Done
    }

    /// Walks over framing; returns how many bytes of `input` it used. Stops at data, at the end, or when input is used up.
    pub(super) fn framing(&mut self, input: &[u8]) -> Result<usize, Error> {
        for (i, c) in input.iter().enumerate() {
            if matches!(self.at, At::Data | At::Done) {
                return Ok(i);
            }
            self.at = self.step(*c)?;
        }
        Ok(input.len())
    }

    /// Takes the data at the start of `input`; returns how many bytes.
    pub(super) fn data(&mut self, input: &[u8]) -> usize {
        if self.at != At::Data {
            return 0;
        }
        let n = usize::try_from(self.left).map_or(input.len(), |left| left.min(input.len()));
        self.left -= n as u64;
        if self.left == 0 {
            self.at = At::DataCr;
        }
        n
    }

    fn step(&mut self, c: u8) -> Result<At, Error> {
        match self.at {
            At::Size | At::Digits | At::Padding | At::Extension | At::SizeLf => self.size(c),
            At::DataCr if c == b'\r' => Ok(At::DataLf),
            At::DataLf if c == b'\n' => {
                self.line = 0;
                Ok(At::Size)
            }
            At::DataCr | At::DataLf => Err(Error::ChunkEnd),
            At::Trailer | At::TrailerNext | At::TrailerName | At::TrailerValue | At::TrailerLf | At::LastLf => {
                self.trailer(c)
            }
            At::Data | At::Done => unreachable!("framing() stops here"),
        }
    }

    /// `1*HEXDIG [BWS] [";" ...] CRLF`. Extensions are skipped as they are (RFC 9112 section 7.1.1).
    fn size(&mut self, c: u8) -> Result<At, Error> {
        self.line += 1;
        if self.line > MAX_CHUNK_LINE {
            return Err(Error::ChunkLineTooLong);
        }
        match (self.at, c) {
            (At::Size | At::Digits, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => self.digit(c),
            (At::Size, _) => Err(Error::ChunkSize),
            (At::Digits | At::Padding | At::Extension, b'\r') => Ok(At::SizeLf),
            (At::Digits | At::Padding, b' ' | b'\t') => Ok(At::Padding),
            (At::Digits | At::Padding, b';') => Ok(At::Extension),
            (At::Digits | At::Padding, _) => Err(Error::ChunkSize),
            (At::Extension, b'\n' | 0) => Err(Error::ChunkEnd),
            (At::Extension, _) => Ok(At::Extension),
            (At::SizeLf, b'\n') if self.left > 0 => Ok(At::Data),
            (At::SizeLf, b'\n') => {
                self.line = 0;
                Ok(At::Trailer)
            }
            _ => Err(Error::ChunkEnd),
        }
    }

    fn digit(&mut self, c: u8) -> Result<At, Error> {
        let digit = u64::from((c as char).to_digit(16).unwrap_or(0));
        self.left = self.left.checked_mul(16).ok_or(Error::ChunkSize)? + digit;
        if self.left > i64::MAX as u64 {
            return Err(Error::ChunkSize);
        }
        Ok(At::Digits)
    }

    /// Trailer fields are checked for form and ignored (RFC 9112 section 7.1.2): none of them may change the framing.
    fn trailer(&mut self, c: u8) -> Result<At, Error> {
        self.line += 1;
        if self.line > MAX_HEAD {
            return Err(Error::HeadTooLong);
        }
        match (self.at, c) {
            (At::Trailer | At::TrailerNext, b'\r') => Ok(At::LastLf),
            (At::TrailerNext, b' ' | b'\t') => Ok(At::TrailerValue),
            (At::Trailer, b' ' | b'\t') => Err(Error::ObsFold),
            (At::TrailerName, b':') => Ok(At::TrailerValue),
            (At::Trailer | At::TrailerNext | At::TrailerName, _) if is_token_char(c) => Ok(At::TrailerName),
            (At::Trailer | At::TrailerNext | At::TrailerName, _) => Err(Error::FieldName),
            (At::TrailerValue, b'\r') => Ok(At::TrailerLf),
            (At::TrailerValue, 0) => Err(Error::Nul),
            (At::TrailerValue, b'\n') => Err(Error::ChunkEnd),
            (At::TrailerValue, _) => Ok(At::TrailerValue),
            (At::TrailerLf, b'\n') => Ok(At::TrailerNext),
            (At::LastLf, b'\n') => Ok(At::Done),
            _ => Err(Error::BareCr),
        }
    }
}
