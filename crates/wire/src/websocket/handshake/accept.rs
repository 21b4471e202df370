//! The proof that the server understood (RFC 6455 section 4.2.2, item 5.4).

use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use sha1::{Digest as _, Sha1};

/// Appended to the key before hashing (RFC 6455 section 1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Base64 with padding. Bits left over in the last character are ignored: the RFC asks that a key decodes to 16 bytes,
/// and simple clients make them of random characters.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Sec-WebSocket-Key of a nonce (RFC 6455 section 4.1, item 7).
pub fn key(nonce: [u8; 16]) -> [u8; 24] {
    let mut text = [0; 24];
    let length = BASE64.encode_slice(nonce, &mut text);
    debug_assert_eq!(length, Ok(24));
    text
}

/// Sec-WebSocket-Accept for a key as it was sent.
pub fn accept(key: &[u8]) -> [u8; 28] {
    let digest = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut text = [0; 28];
    let length = BASE64.encode_slice(digest, &mut text);
    debug_assert_eq!(length, Ok(28));
    text
}

/// Whether `key` decodes to 16 bytes (RFC 6455 section 4.2.1, item 5).
pub(super) fn is_key(key: &[u8]) -> bool {
    let mut nonce = [0; 18];
    key.len() == 24 && BASE64.decode_slice(key, &mut nonce) == Ok(16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        // RFC 6455 section 1.3.
        assert_eq!(&key(*b"the sample nonce"), b"dGhlIHNhbXBsZSBub25jZQ==");
        assert_eq!(&accept(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn keys_are_sixteen_bytes() {
        assert!(is_key(b"dGhlIHNhbXBsZSBub25jZQ=="));
        assert!(is_key(b"AAAAAAAAAAAAAAAAAAAAAB=="), "bits left over");
        for wrong in [
            "",
            "dGhlIHNhbXBsZSBub25jZQ",
            "dGhlIHNhbXBsZSBub25jZS0=",
            "dGhlIHNhbXBsZSBub25jZS0h",
            "dGhlIHNh*XBsZSBub25jZQ==",
        ] {
            assert!(!is_key(wrong.as_bytes()), "{wrong}");
        }
    }
}
