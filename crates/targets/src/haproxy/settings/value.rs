//! Values as HAProxy reads them, and what each setting accepts (sizes: src/tools.c, `parse_size_err`).

pub use crate::files::number::{count, size};

/// What a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number within bounds, both allowed.
    Count(u64, u64),
    /// Bytes; `8k` and `1m` are written out, as HAProxy takes plain numbers in most places.
    Size(u64),
    /// A time with a unit (`us`, `ms`, `s`, `m`, `h`, `d`); a plain number counts milliseconds.
    Time,
    /// Words; HAProxy itself checks them.
    Words,
}

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

impl Kind {
    /// The value as HAProxy wants it written; none when it does not accept it.
    pub fn written(&self, text: &str) -> Option<String> {
        match *self {
            Kind::Count(least, most) => count(text).filter(|n| (least..=most).contains(n)).map(|n| n.to_string()),
            Kind::Size(most) => size(text).filter(|n| *n <= most).map(|n| n.to_string()),
            Kind::Time => time(text).map(|_| text.to_owned()),
            Kind::Words => (!text.trim().is_empty() && !text.chars().any(char::is_control)).then(|| text.to_owned()),
        }
    }

    /// What it accepts, in words.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::Size(most) => format!("bytes from 0 to {most}, also as 8k or 1m"),
            Kind::Time => "a time such as 500ms, 30s or 1h; a plain number counts milliseconds".to_owned(),
            Kind::Words => "words on one line".to_owned(),
        }
    }
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
        assert_eq!(Kind::Count(1, 9).written("10"), None);
        assert_eq!(Kind::Size(1 << 30).written("32k").as_deref(), Some("32768"));
    }
}
