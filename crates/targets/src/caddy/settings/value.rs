//! Values as Caddy reads them, and what each setting accepts.

use std::time::Duration;

use crate::settings::Kind;

/// A time.
pub(super) const TIME: Kind =
    Kind::Form(|words| matches!(words, [text] if time(text).is_some()), "a time such as 500ms, 30s or 1h30m");
/// A time, or `off`.
pub(super) const TIME_OR_OFF: Kind = Kind::Form(
    |words| matches!(words, [text] if *text == "off" || time(text).is_some()),
    "a time such as 500ms, 30s or 1h30m, or off",
);
/// Bytes.
pub(super) const SIZE: Kind =
    Kind::Form(|words| matches!(words, [text] if size(text).is_some()), "bytes, also as 10MB (10,000,000) or 10MiB");
/// Words that neither end the line nor open a block; Caddy itself checks them.
pub(super) const WORDS: Kind = Kind::Form(
    |words| matches!(words, [text] if !text.trim().is_empty() && !text.contains(|c: char| c.is_control() || "{}#\"`\\".contains(c))),
    "words on one line",
);

/// Units of Go's times, in seconds, and Caddy's `d` (caddy.go: `ParseDuration`).
const UNITS: [(&str, f64); 8] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];

/// Units of sizes, in bytes (humanize: `ParseBytes`).
const SIZES: [(&str, f64); 24] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", 1e3),
    ("kb", 1e3),
    ("ki", 1024.0),
    ("kib", 1024.0),
    ("m", 1e6),
    ("mb", 1e6),
    ("mi", 1_048_576.0),
    ("mib", 1_048_576.0),
    ("g", 1e9),
    ("gb", 1e9),
    ("gi", 1_073_741_824.0),
    ("gib", 1_073_741_824.0),
    ("t", 1e12),
    ("tb", 1e12),
    ("ti", 1_099_511_627_776.0),
    ("tib", 1_099_511_627_776.0),
    ("p", 1e15),
    ("pb", 1e15),
    ("pi", 1_125_899_906_842_624.0),
    ("pib", 1_125_899_906_842_624.0),
    ("e", 1e18),
    ("eb", 1e18),
];

/// A time such as `1h30m`, `500ms` or `2d`; `0` is the only plain number. Times below zero are taken for none.
pub fn time(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let (number, after) = number(rest)?;
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &after[..letters])?;
        seconds += number * unit;
        rest = &after[letters..];
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

/// Bytes of `512`, `10MB` (10 x 1000 x 1000), `10MiB` (10 x 1024 x 1024), in either case; commas in the number are passed over.
pub fn size(text: &str) -> Option<u64> {
    let text = text.replace(',', "");
    let (number, unit) = number(&text)?;
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, each) = SIZES.iter().find(|(name, _)| *name == unit)?;
    Some((number * each) as u64)
}

/// A number at the beginning, and what comes after it.
fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_caddy_reads_them() {
        let seconds = |text: &str| time(text).map(|t| t.as_secs_f64());
        assert_eq!(
            (seconds("1h30m"), seconds("500ms"), seconds("2d"), seconds("0")),
            (Some(5400.0), Some(0.5), Some(172_800.0), Some(0.0))
        );
        assert_eq!((seconds("1.5s"), seconds("50"), seconds(""), seconds("1x")), (Some(1.5), None, None, None));
        assert_eq!(
            (size("1KB"), size("1MiB"), size("10 mb"), size("7")),
            (Some(1000), Some(1 << 20), Some(10_000_000), Some(7))
        );
        assert_eq!((size("1x"), size("MB")), (None, None));
        assert_eq!((WORDS.written(&["a } b"]), WORDS.written(&["first"]).is_some()), (None, true));
    }
}
