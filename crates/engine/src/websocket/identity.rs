//! Who a message is, inside the message: 24 characters at its start.
//!
//! Six bits a character, from `0` (0x30) to `o` (0x6f): text that needs no escaping, and a shift and an addition to read or
//! write. Connection (30 bits), sequence number on it (48), planned instant in nanoseconds (54: half a year), check (12).

use genkai_wire::websocket::{Chunk, Kind};

use crate::clock::Moment;

/// Length of an identity.
pub(crate) const LENGTH: usize = 24;

/// Most connections that can be told apart.
pub(crate) const CONNECTIONS: u32 = 1 << 30;

/// Which message, and when it was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) connection: u32,
    pub(crate) sequence: u64,
    pub(crate) planned: Moment,
}

impl Identity {
    /// Writes it. What does not fit in its bits is cut off.
    #[inline]
    pub(crate) fn write(self, out: &mut [u8; LENGTH]) {
        put(&mut out[..5], u64::from(self.connection));
        put(&mut out[5..13], self.sequence);
        put(&mut out[13..22], self.planned);
        let check = check(&out[..22]);
        put(&mut out[22..], check);
    }

    /// Reads it back; none if it is not one.
    #[inline]
    pub(crate) fn read(text: &[u8; LENGTH]) -> Option<Identity> {
        if get(&text[22..])? != check(&text[..22]) {
            return None;
        }
        let connection = get(&text[..5])? as u32;
        Some(Identity { connection, sequence: get(&text[5..13])?, planned: get(&text[13..22])? })
    }
}

#[inline]
fn put(out: &mut [u8], value: u64) {
    for (i, place) in out.iter_mut().enumerate() {
        *place = b'0' + (value >> (6 * i) & 63) as u8;
    }
}

#[inline]
fn get(text: &[u8]) -> Option<u64> {
    let mut value = 0;
    for (i, byte) in text.iter().enumerate() {
        let six = byte.wrapping_sub(b'0');
        if six > 63 {
            return None;
        }
        value |= u64::from(six) << (6 * i);
    }
    Some(value)
}

/// Twelve bits of FNV-1a.
#[inline]
fn check(text: &[u8]) -> u64 {
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
    hash >> 52
}

/// A message as it arrives, in parts: its identity, and whether the rest is what was sent. Nothing is kept.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    identity: [u8; LENGTH],
    got: usize,
    /// Whether all so far is as sent.
    intact: bool,
}

impl Incoming {
    /// Takes a chunk. At the end of a message: its identity, if it is whole and as sent, that is, like `template` (whose
    /// first bytes do not matter) and of this `kind`; else `None`.
    #[inline]
    pub(crate) fn push(&mut self, chunk: &Chunk<'_>, template: &[u8], kind: Kind) -> Option<Option<Identity>> {
        if chunk.first {
            (self.got, self.intact) = (0, chunk.kind == kind);
        }
        let mut data = chunk.data;
        if self.got < LENGTH {
            let (head, rest) = data.split_at(data.len().min(LENGTH - self.got));
            self.identity[self.got..self.got + head.len()].copy_from_slice(head);
            self.got += head.len();
            data = rest;
        }
        self.intact &= template.get(self.got..self.got.saturating_add(data.len())) == Some(data);
        self.got = self.got.saturating_add(data.len());
        chunk.last.then(|| {
            let whole = self.intact && self.got == template.len();
            if whole { Identity::read(&self.identity) } else { None }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(connection in 0..CONNECTIONS, sequence in 0u64..1 << 48, planned in 0u64..1 << 54) {
            let identity = Identity { connection, sequence, planned };
            let mut text = [0; LENGTH];
            identity.write(&mut text);
            prop_assert!(text.iter().all(|b| b.is_ascii_graphic()));
            prop_assert_eq!(Identity::read(&text), Some(identity));
        }

        #[test]
        fn a_changed_identity_is_noticed_or_another(at in 0..LENGTH, to in any::<u8>(), sequence in 0u64..1000) {
            let identity = Identity { connection: 7, sequence, planned: 123_456_789 };
            let mut text = [0; LENGTH];
            identity.write(&mut text);
            prop_assume!(text[at] != to);
            text[at] = to;
            prop_assert_ne!(Identity::read(&text), Some(identity));
        }

        #[test]
        fn parts_are_a_whole(cuts in proptest::collection::vec(0usize..60, 0..5), size in LENGTH..60) {
            let mut message = vec![b'x'; size];
            let identity = Identity { connection: 1, sequence: 2, planned: 3 };
            identity.write(message.first_chunk_mut().unwrap());
            let template = vec![b'x'; size];
            let mut places: Vec<usize> = cuts.into_iter().map(|c| c.min(size)).chain([0, size]).collect();
            places.sort_unstable();
            let mut incoming = Incoming::default();
            let parts = places.len() - 1;
            for (i, w) in places.windows(2).enumerate() {
                let (first, last) = (i == 0, i + 1 == parts);
                let chunk = Chunk { kind: Kind::Text, data: &message[w[0]..w[1]], first, last };
                let whole = incoming.push(&chunk, &template, Kind::Text);
                prop_assert_eq!(whole, last.then_some(Some(identity)));
            }
        }
    }

    #[test]
    fn what_was_not_sent_is_nobodys() {
        let template = [b'x'; 40];
        let mut message = template;
        Identity { connection: 1, sequence: 2, planned: 3 }.write(message.first_chunk_mut().unwrap());
        let came = |data: &[u8], kind| {
            let chunk = Chunk { kind, data, first: true, last: true };
            Incoming::default().push(&chunk, &template, Kind::Text).unwrap()
        };
        assert!(came(&message, Kind::Text).is_some());
        assert_eq!(came(&message, Kind::Binary), None);
        assert_eq!(came(&message[..39], Kind::Text), None);
        assert_eq!(came(&[&message[..], b"x"].concat(), Kind::Text), None);
        assert_eq!(came(b"", Kind::Text), None);
        let mut altered = message;
        altered[39] = b'y';
        assert_eq!(came(&altered, Kind::Text), None);
    }
}
