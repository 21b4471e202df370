//! Values as httpd reads them, and the forms of its own.

pub use crate::files::number::count;
use crate::settings::Kind;

/// A number of at least one, maybe with a fraction.
pub(super) const FACTOR: Kind =
    Kind::Form(|words| matches!(words, [one] if factor(one).is_some()), "a number of at least 1, such as 2 or 1.5");
/// A time with a unit: `ms`, `s`, `min`, `h`; a plain number counts seconds (server/util.c: ap_timeout_parameter_parse).
pub(super) const INTERVAL: Kind = Kind::Form(
    |words| matches!(words, [one] if interval(one, 1_000).is_some()),
    "a time such as 60, 500ms, 5min or 1h",
);
/// The same, where a plain number counts milliseconds.
pub(super) const MILLISECONDS: Kind =
    Kind::Form(|words| matches!(words, [one] if interval(one, 1).is_some()), "milliseconds, or a time such as 2s");

/// Milliseconds of a time; a plain number counts `plain` of them.
pub fn interval(text: &str, plain: u64) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text[digits..].to_ascii_lowercase().as_str() {
        "" => plain,
        "ms" => 1,
        "s" => 1_000,
        "mi" | "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    count(&text[..digits])?.checked_mul(unit)
}

/// A number with a fraction.
pub fn factor(text: &str) -> Option<f64> {
    text.parse().ok().filter(|f: &f64| f.is_finite() && *f >= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_factors_are_read_as_httpd_reads_them() {
        assert_eq!((interval("500ms", 1000), interval("5", 1000), interval("5", 1)), (Some(500), Some(5000), Some(5)));
        assert_eq!((interval("1min", 1), interval("x", 1), interval("5 s", 1)), (Some(60_000), None, None));
        assert!(FACTOR.written(&["0.5"]).is_none() && FACTOR.written(&["1.5"]).is_some());
    }
}
