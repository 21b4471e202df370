//! The distribution carried by events: HdrHistogram V2, compressed, base64.
//!
//! Values are nanoseconds. The payload is the format of the HdrHistogram family
//! (<https://github.com/HdrHistogram/HdrHistogram>, "V2 compressed encoding", as in its interval logs), so any implementation
//! reads it. Records of the first versions have it uncompressed; both are read.

use std::cell::RefCell;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compress, Compression, FlushCompress, Status};
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use hdrhistogram::{Counter, Histogram};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Smallest value told apart, in nanoseconds.
pub const LOWEST_NS: u64 = 1_000;
/// Largest value kept, in nanoseconds (one hour); larger ones are recorded as this.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Significant decimal digits.
pub const DIGITS: u8 = 3;

/// An empty histogram with the bounds every genkai histogram has, so that any two can be merged.
pub fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, DIGITS).expect("constant bounds are valid")
}

/// A histogram as it travels in an event: base64 of the V2 compressed encoding (or the V2 encoding). Empty string: no values.
/// Copies share one text: a record keeps many of these for as long as a run lasts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Payload(pub Arc<str>);

/// A payload that is not a histogram.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    /// Not base64.
    #[error("histogram payload is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not an HdrHistogram V2 encoding.
    #[error("histogram payload is not an HdrHistogram V2 encoding: {0}")]
    Format(String),
}

impl Payload {
    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Encodes `histogram`.
    pub fn encode<C: Counter>(histogram: &Histogram<C>) -> Payload {
        if histogram.is_empty() {
            return Payload::default();
        }
        ENCODER.with_borrow_mut(|encoder| Payload(STANDARD.encode(encoder.encode(histogram)).into()))
    }

    /// Decodes into a histogram with the common bounds.
    ///
    /// # Errors
    /// When the text is not base64 of an HdrHistogram V2 encoding.
    pub fn decode(&self) -> Result<Histogram<u64>, PayloadError> {
        let Some(one) = self.read()? else { return Ok(empty()) };
        if (one.low(), one.high(), one.sigfig()) == (LOWEST_NS, HIGHEST_NS, DIGITS) {
            return Ok(one);
        }
        let mut all = empty();
        all.add(&one).map_err(|e| PayloadError::Format(format!("{e:?}")))?;
        Ok(all)
    }

    /// Decodes and adds to `all`, which has the common bounds: how many payloads become one distribution.
    ///
    /// # Errors
    /// When the text is not base64 of an HdrHistogram V2 encoding, or a count exceeds the counters of `all`; `all` is as it
    /// was.
    pub fn add_to<C: Counter>(&self, all: &mut Histogram<C>) -> Result<(), PayloadError> {
        let Some(one) = self.read()? else { return Ok(()) };
        all.add(&one).map_err(|e| PayloadError::Format(format!("{e:?}")))
    }

    /// The histogram as it was encoded, with its own bounds; none for an empty payload.
    fn read<C: Counter>(&self) -> Result<Option<Histogram<C>>, PayloadError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let bytes = STANDARD.decode(&*self.0)?;
        let one = Deserializer::new().deserialize(&mut bytes.as_slice());
        one.map(Some).map_err(|e| PayloadError::Format(format!("{e:?}")))
    }
}

thread_local! {
    static ENCODER: RefCell<Encoder> = RefCell::new(Encoder::new());
}

/// First word of the V2 compressed encoding (`V2CompressedEncodingCookieBase | 0x10` of HdrHistogram's AbstractHistogram.java); the
/// length of what follows comes next, in network order, then a zlib stream of the V2 encoding.
const COMPRESSED: u32 = 0x1c84_9304 | 0x10;
/// Window of the compression, as a power of two: an encoding has some kilobytes.
const WINDOW: u8 = 12;

/// What makes payloads, with its memory: some hundred kilobytes that would otherwise be asked for anew several times a second.
/// (`V2DeflateSerializer` of the library keeps the serializer, but makes a new compressor each time.)
struct Encoder {
    serializer: V2Serializer,
    compress: Compress,
    plain: Vec<u8>,
    bytes: Vec<u8>,
}

impl Encoder {
    fn new() -> Encoder {
        let compress = Compress::new_with_window_bits(Compression::default(), true, WINDOW);
        Encoder { serializer: V2Serializer::new(), compress, plain: Vec::new(), bytes: Vec::new() }
    }

    /// The V2 compressed encoding.
    fn encode<C: Counter>(&mut self, histogram: &Histogram<C>) -> &[u8] {
        self.plain.clear();
        self.serializer.serialize(histogram, &mut self.plain).expect("writing to memory");
        self.bytes.clear();
        self.bytes.extend_from_slice(&COMPRESSED.to_be_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.compress.reset();
        loop {
            self.bytes.reserve(self.plain.len() / 2 + 64);
            let rest = &self.plain[self.compress.total_in() as usize..];
            let status = self.compress.compress_vec(rest, &mut self.bytes, FlushCompress::Finish);
            if status.expect("a new stream") == Status::StreamEnd {
                break;
            }
        }
        let length = (self.bytes.len() - 8) as u32;
        self.bytes[4..8].copy_from_slice(&length.to_be_bytes());
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn payload_round_trips(values in proptest::collection::vec(LOWEST_NS..HIGHEST_NS, 0..50)) {
            let mut h = empty();
            for v in &values { h.record(*v).unwrap(); }
            let back = Payload::encode(&h).decode().unwrap();
            prop_assert_eq!(back.len(), h.len());
            prop_assert_eq!(back.value_at_quantile(0.5), h.value_at_quantile(0.5));
            prop_assert_eq!(back.max(), h.max());
        }

        #[test]
        fn others_read_it(values in proptest::collection::vec(LOWEST_NS..HIGHEST_NS, 1..500)) {
            let mut h = empty();
            for v in &values { h.record(*v).unwrap(); }
            let bytes = STANDARD.decode(&*Payload::encode(&h).0).unwrap();
            let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            prop_assert_eq!(&read, &h);
        }

        #[test]
        fn one_that_is_not_compressed_is_read_too(values in proptest::collection::vec(LOWEST_NS..HIGHEST_NS, 1..50)) {
            let mut h = empty();
            for v in &values { h.record(*v).unwrap(); }
            let mut bytes = Vec::new();
            hdrhistogram::serialization::V2Serializer::new().serialize(&h, &mut bytes).unwrap();
            let old = Payload(STANDARD.encode(bytes).into());
            prop_assert_eq!(old.decode().unwrap(), Payload::encode(&h).decode().unwrap());
        }

        #[test]
        fn nonsense_is_an_error_not_a_panic(text in "[ -~]{1,60}") {
            let _ = Payload(text.into()).decode();
        }
    }
}
