//! Values as nginx reads them: numbers, sizes, times (`src/core/ngx_parse.c`), and what each setting accepts.

use crate::files::number;

/// What a setting accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number within bounds, both allowed.
    Count(u64, u64),
    /// A whole number within bounds, or `auto`.
    AutoCount(u64, u64),
    /// Bytes, with `k` or `m` (`ngx_parse_size`), within bounds.
    Size(u64, u64),
    /// Bytes, with `k`, `m` or `g` (`ngx_parse_offset`).
    Offset,
    /// A time, kept in milliseconds (`ngx_parse_time`), at least so many.
    Time(u64),
    /// One or two times: what the server does, and what it tells the client.
    Times,
    /// `on` or `off`.
    Flag,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// A number of buffers (at least so many) and their size.
    Buffers(u64),
    /// `NUMBER`, or `ZONE NUMBER`.
    ZoneCount(u64, u64),
    /// A rate (`NUMBER`, `NUMBERr/s`, `NUMBERr/m`), maybe with `burst=NUMBER`, or `zone=NAME` with its parameters.
    Rate,
    /// Words; nginx itself checks them. So many at least and at most.
    Words(usize, usize),
}

/// Largest value of nginx's signed types on 64 bits.
const MAX: u64 = i64::MAX as u64;

/// A whole number (`ngx_atoi`).
pub fn count(text: &str) -> Option<u64> {
    number::count(text).filter(|&n| n <= MAX)
}

/// Bytes of `512`, `8k`, `1m` (`ngx_parse_size`).
pub fn size(text: &str) -> Option<u64> {
    match text.as_bytes().last()? {
        b'g' | b'G' => None,
        _ => offset(text),
    }
}

/// Bytes of `512`, `8k`, `1m`, `2g` (`ngx_parse_offset`).
pub fn offset(text: &str) -> Option<u64> {
    number::size(text).filter(|&n| n <= MAX)
}

/// Milliseconds of `500ms`, `30s`, `1m30s`, `2h`, `1d`, `1w`, `1M`; a number without a unit is seconds
/// (`ngx_parse_time(.., 0)`). Units must come from large to small.
pub fn time(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 7] = [
        ("M", 30 * 86_400_000),
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("ms", 1),
        ("m", 60_000),
        ("s", 1_000),
    ];
    let mut rest = text;
    let (mut total, mut last, mut ended) = (0u64, u64::MAX, false);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        if ended || digits == 0 {
            return None;
        }
        let (name, scale) = UNITS.into_iter().find(|(u, _)| after.starts_with(u)).unwrap_or(("", 1_000));
        if scale >= last || (name.is_empty() && !after.is_empty() && !after.starts_with(' ')) {
            return None;
        }
        total = count(number)?.checked_mul(scale)?.checked_add(total)?;
        (last, ended) = (scale, name.is_empty());
        rest = after[name.len()..].trim_start_matches(' ');
    }
    (last != u64::MAX && total <= MAX).then_some(total)
}

/// Requests a minute, of `10r/s`, `30r/m` or `10` (a second). nginx's own bare number in `rate=` means a second too.
pub fn rate(text: &str) -> Option<u64> {
    let (digits, scale) = match (text.strip_suffix("r/s"), text.strip_suffix("r/m")) {
        (Some(digits), _) => (digits, 60),
        (_, Some(digits)) => (digits, 1),
        _ => (text, 60),
    };
    count(digits).filter(|&n| n > 0)?.checked_mul(scale)
}

impl Kind {
    /// Whether nginx accepts these words.
    pub fn accepts(&self, words: &[&str]) -> bool {
        let within = |n: Option<u64>, least: u64, most: u64| n.is_some_and(|n| (least..=most).contains(&n));
        match (*self, words) {
            (Kind::Count(least, most), [one]) => within(count(one), least, most),
            (Kind::AutoCount(least, most), [one]) => *one == "auto" || within(count(one), least, most),
            (Kind::Size(least, most), [one]) => within(size(one), least, most),
            (Kind::Offset, [one]) => offset(one).is_some(),
            (Kind::Time(least), [one]) => within(time(one), least, MAX),
            (Kind::Times, [_] | [_, _]) => words.iter().all(|w| time(w).is_some()),
            (Kind::Flag, [one]) => matches!(*one, "on" | "off"),
            (Kind::Enum(allowed), [one]) => allowed.contains(one),
            (Kind::Buffers(least), [number, bytes]) => within(count(number), least, MAX) && within(size(bytes), 1, MAX),
            (Kind::ZoneCount(least, most), [n] | [_, n]) => within(count(n), least, most),
            (Kind::Rate, [first, rest @ ..]) => {
                let burst = |w: &&str| w.strip_prefix("burst=").and_then(count).is_some();
                let alone = rest.len() <= 1 && rest.iter().all(burst);
                (alone && rate(first).is_some()) || words.iter().any(|w| w.starts_with("zone="))
            }
            (Kind::Words(least, most), _) => (least..=most).contains(&words.len()),
            _ => false,
        }
    }

    /// What it accepts, in words.
    pub fn allowed(&self) -> String {
        match *self {
            Kind::Count(least, most) => format!("a whole number from {least} to {most}"),
            Kind::AutoCount(least, most) => format!("\"auto\" or a whole number from {least} to {most}"),
            Kind::Size(least, most) => format!("bytes from {least} to {most}, also as 8k or 1m"),
            Kind::Offset => "bytes, also as 8k, 1m or 2g; 0 for no limit".to_owned(),
            Kind::Time(0) => "a time such as 500ms, 30s, 1m30s or 2h".to_owned(),
            Kind::Time(least) => format!("a time such as 500ms, 30s, 1m30s or 2h, at least {least}ms"),
            Kind::Times => "one or two times such as 75s or \"75s 60s\"".to_owned(),
            Kind::Flag => "\"on\" or \"off\"".to_owned(),
            Kind::Enum(words) => format!("one of {}", words.join(", ")),
            Kind::Buffers(least) => format!("a number (at least {least}) and a size, such as \"{} 8k\"", least.max(4)),
            Kind::ZoneCount(least, most) => format!("a whole number from {least} to {most}, or a zone's name and one"),
            Kind::Rate => {
                "a rate such as 10r/s or 30r/m, maybe with burst=N, or \"zone=NAME burst=N nodelay\"".to_owned()
            }
            Kind::Words(least, most) if least == most => format!("{least} word{}", if least == 1 { "" } else { "s" }),
            Kind::Words(least, most) => format!("{least} to {most} words"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_offsets() {
        assert_eq!(size("512"), Some(512));
        assert_eq!(size("8k"), Some(8192));
        assert_eq!(size("1M"), Some(1 << 20));
        assert_eq!(size("1g"), None);
        assert_eq!(offset("2G"), Some(2 << 30));
        for bad in ["", "k", "-1", "1.5m", "1kb", "9223372036854775807k", "99999999999999999999"] {
            assert_eq!((size(bad), offset(bad)), (None, None), "{bad}");
        }
    }

    #[test]
    fn times_as_nginx_reads_them() {
        let cases = [("60", 60_000), ("500ms", 500), ("1m30s", 90_000), ("1m 30s", 90_000), ("1M", 2_592_000_000)];
        for (text, expected) in cases {
            assert_eq!(time(text), Some(expected), "{text}");
        }
        assert_eq!(time("1d12h"), Some(129_600_000));
        assert_eq!(time("1h 30"), Some(3_630_000));
        for bad in ["", "s", "1y", "30s1m", "1s1s", "1.5s", "10x", "-1s", "30 s"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn kinds_keep_their_bounds() {
        assert!(Kind::Count(1, 9).accepts(&["9"]) && !Kind::Count(1, 9).accepts(&["10"]));
        assert!(!Kind::Count(1, 9).accepts(&["0"]) && !Kind::Count(1, 9).accepts(&["1", "2"]));
        assert!(Kind::AutoCount(1, 9).accepts(&["auto"]) && !Kind::AutoCount(1, 9).accepts(&["automatic"]));
        assert!(Kind::Flag.accepts(&["off"]) && !Kind::Flag.accepts(&["yes"]));
        assert!(Kind::Buffers(2).accepts(&["8", "4k"]) && !Kind::Buffers(2).accepts(&["1", "4k"]));
        assert!(!Kind::Buffers(2).accepts(&["8", "0"]) && !Kind::Buffers(2).accepts(&["8"]));
        assert!(Kind::Rate.accepts(&["10r/s"]) && Kind::Rate.accepts(&["zone=a", "burst=5"]));
        assert!(Kind::Rate.accepts(&["10r/s", "burst=5"]) && !Kind::Rate.accepts(&["10r/s", "burst=x"]));
        assert!(!Kind::Rate.accepts(&["10r/h"]) && !Kind::Rate.accepts(&["0"]) && !Kind::Rate.accepts(&["burst=5"]));
        assert!(Kind::ZoneCount(1, 65535).accepts(&["perip", "7"]) && !Kind::ZoneCount(1, 65535).accepts(&["65536"]));
        assert!(!Kind::Words(1, 2).accepts(&[]) && Kind::Words(1, 2).accepts(&["a", "b"]));
    }
}
