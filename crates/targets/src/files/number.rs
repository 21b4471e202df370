//! Numbers as configurations write them.

/// A whole number.
pub fn count(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// The number that a text begins with, as atol(3) reads it: 0 where there is none.
pub fn leading(text: &str) -> i64 {
    let text = text.trim_start();
    let signed = usize::from(text.starts_with(['-', '+']));
    let digits = text[signed..].bytes().take_while(u8::is_ascii_digit).count();
    let number = text[signed..signed + digits].parse::<i64>().unwrap_or(if digits > 0 { i64::MAX } else { 0 });
    if text.starts_with('-') { -number } else { number }
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
        assert_eq!(["7", "16k", "k", "", "-3x", "+4"].map(leading), [7, 16, 0, 0, -3, 4]);
    }
}
