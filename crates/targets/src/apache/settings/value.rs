//! Values as httpd reads them, and what each setting accepts.

pub use crate::files::number::{count, size};

/// What a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number within bounds, both allowed.
    Count(u64, u64),
    /// A number of at least one, maybe with a fraction.
    Factor,
    /// Bytes; `8k`, `1m`, `2g` are written out, as httpd takes plain numbers only.
    Size(u64),
    /// A time in whole seconds.
    Seconds,
    /// A time with a unit: `ms`, `s`, `min`, `h`; a plain number counts seconds (server/util.c: ap_timeout_parameter_parse).
    Interval,
    /// The same, where a plain number counts milliseconds.
    Milliseconds,
    /// `On` or `Off`.
    Flag,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// Words; httpd itself checks them.
    Words,
}

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

impl Kind {
    /// The value as httpd wants it written; none when it does not accept it.
    pub fn written(&self, text: &str) -> Option<String> {
        let kept = || Some(text.to_owned());
        match *self {
            Kind::Count(least, most) => count(text).filter(|n| (least..=most).contains(n)).and_then(|_| kept()),
            Kind::Factor => factor(text).and_then(|_| kept()),
            Kind::Size(most) => size(text).filter(|n| *n <= most).map(|n| n.to_string()),
            Kind::Seconds => count(text.strip_suffix('s').unwrap_or(text)).map(|n| n.to_string()),
            Kind::Interval => interval(text, 1_000).and_then(|_| kept()),
            Kind::Milliseconds => interval(text, 1).and_then(|_| kept()),
            Kind::Flag => match text.to_ascii_lowercase().as_str() {
                "on" => Some("On".to_owned()),
                "off" => Some("Off".to_owned()),
                _ => None,
            },
            Kind::Enum(allowed) => allowed.iter().find(|w| w.eq_ignore_ascii_case(text)).map(|w| (*w).to_owned()),
            Kind::Words => (!text.trim().is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned()),
        }
    }

    /// What it accepts, in words.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Factor => "a number of at least 1, such as 2 or 1.5".to_owned(),
            Kind::Size(most) => format!("bytes from 0 to {most}, also as 8k or 1m"),
            Kind::Seconds => "whole seconds, such as 60".to_owned(),
            Kind::Interval => "a time such as 60, 500ms, 5min or 1h".to_owned(),
            Kind::Milliseconds => "milliseconds, or a time such as 2s".to_owned(),
            Kind::Flag => "On or Off".to_owned(),
            Kind::Enum(words) => format!("one of {}", words.join(", ")),
            Kind::Words => "words on one line".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_written_as_httpd_wants_them() {
        assert_eq!(Kind::Size(1 << 40).written("1m").as_deref(), Some("1048576"));
        assert_eq!(Kind::Size(100).written("1k"), None);
        assert_eq!(Kind::Seconds.written("60s").as_deref(), Some("60"));
        assert_eq!(Kind::Seconds.written("1m"), None);
        assert_eq!(Kind::Flag.written("ON").as_deref(), Some("On"));
        assert_eq!(Kind::Count(1, 9).written("10"), None);
        assert_eq!((interval("500ms", 1000), interval("5", 1000), interval("5", 1)), (Some(500), Some(5000), Some(5)));
        assert_eq!((interval("1min", 1), interval("x", 1), interval("5 s", 1)), (Some(60_000), None, None));
        assert_eq!(Kind::Words.written("a\nLoadModule b"), None);
        assert!(Kind::Factor.written("0.5").is_none() && Kind::Factor.written("1.5").is_some());
    }
}
