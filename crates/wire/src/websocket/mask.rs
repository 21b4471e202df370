//! Masking (RFC 6455 section 5.3).

/// Masks or unmasks `bytes`, the first of them with the first byte of `key`; returns the key for the byte after them.
///
/// Eight bytes at a time in a form that compilers turn into vector instructions.
#[inline]
pub fn apply(bytes: &mut [u8], key: [u8; 4]) -> [u8; 4] {
    let [a, b, c, d] = key;
    let wide = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    for (byte, k) in rest.iter_mut().zip(key.iter().cycle()) {
        *byte ^= k;
    }
    advance(key, rest.len())
}

/// The key for the byte that comes `by` bytes after the one `key` is for.
#[inline]
pub fn advance(mut key: [u8; 4], by: usize) -> [u8; 4] {
    key.rotate_left(by % 4);
    key
}

/// Appends `bytes` to `out`, masked.
#[inline]
pub(super) fn extend(out: &mut Vec<u8>, bytes: &[u8], key: [u8; 4]) {
    /// So much is still in the first-level cache when it is masked; a multiple of 4, so that the key stays.
    const AT_ONCE: usize = 8 * 1024;
    out.reserve(bytes.len());
    for part in bytes.chunks(AT_ONCE) {
        let at = out.len();
        out.extend_from_slice(part);
        apply(&mut out[at..], key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_rfc_defines_it() {
        let key = [0x37, 0xfa, 0x21, 0x3d];
        let plain: Vec<u8> = (0..100).map(|i: u8| i.wrapping_mul(7)).collect();
        for from in 0..9 {
            for to in from..plain.len() {
                let expected: Vec<u8> = (from..to).map(|i| plain[i] ^ key[(i - from) % 4]).collect();
                let mut masked = plain[from..to].to_vec();
                assert_eq!(apply(&mut masked, key), advance(key, to - from));
                assert_eq!(masked, expected);
            }
        }
    }

    #[test]
    fn parts_join() {
        let key = [1, 2, 4, 8];
        let whole: Vec<u8> = (0..20_000).map(|i| i as u8).collect();
        let mut expected = whole.clone();
        apply(&mut expected, key);
        let mut out = b"x".to_vec();
        extend(&mut out, &whole, key);
        assert_eq!(out[1..], expected);
        for at in [0, 1, 2, 3, 5, 8191, 19_999] {
            let mut parts = whole.clone();
            let (a, b) = parts.split_at_mut(at);
            let next = apply(a, key);
            apply(b, next);
            assert_eq!(parts, expected);
        }
    }
}
