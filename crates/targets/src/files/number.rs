//! Numbers as configurations write them.

/// A whole number.
pub fn count(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Bytes of `512`, `8k`, `1m`, `2g`, in either case.
pub fn size(text: &str) -> Option<u64> {
    let unit = match text.as_bytes().last()?.to_ascii_lowercase() {
        b'k' => 1 << 10,
        b'm' => 1 << 20,
        b'g' => 1 << 30,
        _ => return count(text),
    };
    count(&text[..text.len() - 1])?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_digits_are_numbers() {
        assert_eq!((count("50"), count(""), count("+5"), count("99999999999999999999")), (Some(50), None, None, None));
        assert_eq!((size("16k"), size("2G"), size("x"), size("k")), (Some(16_384), Some(2 << 30), None, None));
        assert_eq!(size("9223372036854775807k"), None);
    }
}
