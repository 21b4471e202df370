//! Values as HAProxy reads them (sizes: src/tools.c, `parse_size_err`).

pub use crate::files::number::{count, size};
use crate::settings::Kind;

/// A time with a unit (`us`, `ms`, `s`, `m`, `h`, `d`); a plain number counts milliseconds.
pub(super) const TIME: Kind = Kind::Form(
    |words| matches!(words, [one] if time(one).is_some()),
    "a time such as 500ms, 30s or 1h; a plain number counts milliseconds",
);

/// Milliseconds of a time (src/tools.c: `parse_time_err`).
pub fn time(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match &text[digits..] {
        "us" => return count(&text[..digits]).map(|us| us.div_ceil(1_000)),
        "" | "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    count(&text[..digits])?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_haproxy_reads_them() {
        assert_eq!(
            (time("50"), time("50s"), time("2m"), time("1500us")),
            (Some(50), Some(50_000), Some(120_000), Some(2))
        );
        assert_eq!((time("1min"), time("s"), time("")), (None, None, None));
        assert_eq!((size("16k"), size("16384"), size("x")), (Some(16_384), Some(16_384), None));
    }
}
