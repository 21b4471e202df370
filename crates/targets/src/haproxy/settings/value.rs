//! Values as HAProxy reads them (sizes: src/tools.c, `parse_size_err`).

pub use crate::files::number::{count, size};

use crate::files::number::leading;
use crate::settings::Kind;

/// A time with a unit (`us`, `ms`, `s`, `m`, `h`, `d`); a plain number counts milliseconds.
pub(super) const TIME: Kind = Kind::Form(
    |words| matches!(words, [one] if time(one).is_some()),
    "a time such as 500ms, 30s or 1h; a plain number counts milliseconds",
);

/// What of a server is observed (src/server.c: srv_parse_observe).
pub(super) const OBSERVED: Kind =
    Kind::Form(|words| matches!(words, ["none" | "layer4" | "layer7"]), "none, layer4 or layer7");

/// Milliseconds of a time with nothing after its unit.
pub fn time(text: &str) -> Option<u64> {
    lenient_time(text).filter(|(_, rest)| rest.is_empty()).map(|(milliseconds, _)| milliseconds)
}

/// Milliseconds of a time as HAProxy 2.6 reads it, and what stands after the unit, which it passes over with a warning (src/tools.c:
/// `parse_time_err`). None where it does not start: no digit, no such unit, or more than 24.8 days.
pub fn lenient_time(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = (count(&text[..digits])?, &text[digits..]);
    let units = [("us", 0), ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let (rest, factor) = match unit {
        "" => ("", 1),
        _ => units.iter().find_map(|(name, factor)| Some((unit.strip_prefix(name)?, *factor)))?,
    };
    let milliseconds = if factor == 0 { number.div_ceil(1_000) } else { number.checked_mul(factor)? };
    (milliseconds < 1 << 31).then_some((milliseconds, rest))
}

/// A number as HAProxy reads most of them, with atol(3): what it begins with, and 0 for what is none.
pub fn whole(text: &str) -> Option<u64> {
    u64::try_from(leading(text)).ok()
}

/// A number as strtoul(3) reads it with any base: `0x1f` and `017`, too; none where anything follows.
pub fn unsigned(text: &str) -> Option<u64> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hex {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8).ok(),
        None => count(text),
    }
}

/// Bytes of a buffer: a plain number until 3.1, which takes units (src/cfgparse-global.c), rounded up to two pointers.
pub fn buffer(text: &str, version: (u32, u32, u32)) -> Option<u64> {
    let bytes = if version >= SIZES { size(text)? } else { whole(text)? };
    Some(bytes.next_multiple_of(16))
}

/// The version since which sizes of buffers have units.
const SIZES: (u32, u32, u32) = (3, 1, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_haproxy_reads_them() {
        assert_eq!(
            (time("50"), time("50s"), time("2m"), time("1500us")),
            (Some(50), Some(50_000), Some(120_000), Some(2))
        );
        assert_eq!((time("1min"), time("s"), time(""), time("25d")), (None, None, None, None));
        assert_eq!(
            (lenient_time("1min"), lenient_time("5ss"), lenient_time("5x")),
            (Some((60_000, "in")), Some((5_000, "s")), None)
        );
        assert_eq!(
            (buffer("16k", (2, 6, 12)), buffer("16k", (3, 2, 0)), buffer("100", (2, 6, 12))),
            (Some(16), Some(16_384), Some(112))
        );
        assert_eq!((size("16k"), size("16384"), size("x")), (Some(16_384), Some(16_384), None));
    }
}
