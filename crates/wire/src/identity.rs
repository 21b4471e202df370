//! Who a message is, inside the message: 24 characters at its start.
//!
//! Six bits a character, from `0` (0x30) to `o` (0x6f): text that needs no escaping, and a shift and an addition to read or
//! write. Connection (30 bits), sequence number on it (48), planned instant in nanoseconds (54: half a year), check (12).
//! Whoever generates load writes it; a server that wants to account for messages reads it.

/// Length of an identity.
pub const LENGTH: usize = 24;

/// Most connections that can be told apart.
pub const CONNECTIONS: u32 = 1 << 30;

/// Which message, and when it was planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the connection that sent it, below [`CONNECTIONS`].
    pub connection: u32,
    /// Its number on that connection, from 0; below 2^48.
    pub sequence: u64,
    /// When it was planned, nanoseconds since the load began; below 2^54.
    pub planned: u64,
}

impl Identity {
    /// Writes it. What does not fit in its bits is cut off.
    #[inline]
    pub fn write(self, out: &mut [u8; LENGTH]) {
        put(&mut out[..5], u64::from(self.connection));
        put(&mut out[5..13], self.sequence);
        put(&mut out[13..22], self.planned);
        let check = check(&out[..22]);
        put(&mut out[22..], check);
    }

    /// Reads it back; none if it is not one.
    #[inline]
    pub fn read(text: &[u8; LENGTH]) -> Option<Identity> {
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
    }
}
