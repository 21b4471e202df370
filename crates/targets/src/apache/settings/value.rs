//! Values as httpd reads them, and the forms of its own.

pub use crate::files::number::count;
use crate::settings::Kind;

/// A number above zero, maybe with a fraction.
pub(super) const FACTOR: Kind =
    Kind::Form(|words| matches!(words, [one] if factor(one).is_some()), "a number above 0, such as 2 or 1.5");
/// A time with a unit: `ms`, `s`, `min`, `h`; a plain number counts seconds (server/util.c: ap_timeout_parameter_parse).
pub(super) const INTERVAL: Kind = Kind::Form(
    |words| matches!(words, [one] if interval(one, 1_000).is_some()),
    "a time such as 60, 500ms, 5min or 1h",
);
/// The same, where a plain number counts milliseconds.
pub(super) const MILLISECONDS: Kind =
    Kind::Form(|words| matches!(words, [one] if interval(one, 1).is_some()), "milliseconds, or a time such as 2s");

/// Milliseconds of a time; a plain number counts `plain` of them. Of a unit only the first letters are read, in lower case: `5sec`
/// is `5s`, `5min30` is `5min`, and `5S` is nothing (asked of httpd 2.4.71).
pub fn interval(text: &str, plain: u64) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text.as_bytes()[digits..] {
        [] => plain,
        [b'm', b's', ..] => 1,
        [b's', ..] => 1_000,
        [b'm', b'i', ..] => 60_000,
        [b'h', ..] => 3_600_000,
        _ => return None,
    };
    count(&text[..digits])?.checked_mul(unit)
}

/// A whole number as C's `atoi` reads it, which many directives use: what follows the digits is not read, and without digits it is 0. What
/// does not fit into 64 bits is the largest that does, and of that the lower 32 bits count.
pub fn atoi(text: &str) -> i32 {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let digit = |sum: i64, b: u8| sum.saturating_mul(10).saturating_add(i64::from(b - b'0'));
    let size = digits.bytes().take_while(u8::is_ascii_digit).fold(0, digit);
    (if negative { -size } else { size }) as i32
}

/// A number with a fraction, above zero.
pub fn factor(text: &str) -> Option<f64> {
    text.parse().ok().filter(|f: &f64| f.is_finite() && *f > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_factors_are_read_as_httpd_reads_them() {
        assert_eq!((interval("500ms", 1000), interval("5", 1000), interval("5", 1)), (Some(500), Some(5000), Some(5)));
        assert_eq!((interval("1min", 1), interval("x", 1), interval("5 s", 1)), (Some(60_000), None, None));
        assert_eq!((interval("5sec", 1), interval("5min30", 1), interval("5S", 1)), (Some(5000), Some(300_000), None));
        assert!(FACTOR.written(&["0"]).is_none() && FACTOR.written(&["0.5"]).is_some());
    }

    #[test]
    fn whole_numbers_are_read_as_c_reads_them() {
        let all = ["7", "7x", " 7", "+7", "-7", "x", "", "0x20", "500ms", "4294967297", "99999999999999999999"];
        assert_eq!(all.map(atoi), [7, 7, 7, 7, -7, 0, 0, 0, 500, 1, -1]);
    }
}
