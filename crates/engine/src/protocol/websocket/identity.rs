//! Messages as they arrive: whose they are (`genkai_wire::identity`), and whether they are whole.

use genkai_wire::websocket::{Chunk, Kind};

pub(super) use genkai_wire::identity::{Identity, LENGTH};

/// A message that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrived {
    /// As it was sent.
    Whole(Identity),
    /// Not as anything that was sent; with the identity at its start, where there is one.
    Altered(Option<Identity>),
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
    /// Takes a chunk. At the end of a message: what it is; as sent is what is like `template` (whose first bytes do not
    /// matter) and of this `kind`.
    #[inline]
    pub(crate) fn push(&mut self, chunk: &Chunk<'_>, template: &[u8], kind: Kind) -> Option<Arrived> {
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
            let identity = if self.got < LENGTH { None } else { Identity::read(&self.identity) };
            let whole = self.intact && self.got == template.len();
            identity.filter(|_| whole).map_or(Arrived::Altered(identity), Arrived::Whole)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
                prop_assert_eq!(whole, last.then_some(Arrived::Whole(identity)));
            }
        }
    }

    #[test]
    fn what_was_not_sent_is_nobodys() {
        let template = [b'x'; 40];
        let mut message = template;
        let identity = Identity { connection: 1, sequence: 2, planned: 3 };
        identity.write(message.first_chunk_mut().unwrap());
        let came = |data: &[u8], kind| {
            let chunk = Chunk { kind, data, first: true, last: true };
            Incoming::default().push(&chunk, &template, Kind::Text).unwrap()
        };
        let (altered, nobodys) = (Arrived::Altered(Some(identity)), Arrived::Altered(None));
        assert_eq!(came(&message, Kind::Text), Arrived::Whole(identity));
        assert_eq!(came(&message, Kind::Binary), altered);
        assert_eq!(came(&message[..39], Kind::Text), altered);
        assert_eq!(came(&message[..LENGTH - 1], Kind::Text), nobodys);
        assert_eq!(came(&[&message[..], b"x"].concat(), Kind::Text), altered);
        assert_eq!(came(b"", Kind::Text), nobodys);
        let mut other = message;
        other[39] = b'y';
        assert_eq!(came(&other, Kind::Text), altered);
        other[0] ^= 1;
        assert_eq!(came(&other, Kind::Text), nobodys);
    }
}
