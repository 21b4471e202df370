//! Values as nginx reads them: numbers, sizes, times (`src/core/ngx_parse.c`), and the forms of its own.

use crate::files::number;
use crate::settings::{Kind, within};

/// `worker_processes`; NGX_MAX_PROCESSES (src/os/unix/ngx_process.h), less the two cache processes.
pub(super) const AUTO_PROCESSES: Kind = Kind::Form(
    |words| matches!(words, ["auto"]) || Kind::Count(1, 1022).written(words).is_some(),
    "\"auto\" or a whole number from 1 to 1022",
);
/// Bytes, with `k`, `m` or `g` (`ngx_parse_offset`).
pub(super) const OFFSET: Kind =
    Kind::Form(|words| matches!(words, [one] if offset(one).is_some()), "bytes, also as 8k, 1m or 2g; 0 for no limit");
/// A time, kept in milliseconds (`ngx_parse_time`).
pub(super) const TIME: Kind =
    Kind::Form(|words| matches!(words, [one] if time(one).is_some()), "a time such as 500ms, 30s, 1m30s or 2h");
/// One or two times: what the server does, and what it tells the client.
pub(super) const TIMES: Kind = Kind::Form(
    |words| matches!(words, [_] | [_, _]) && words.iter().all(|word| time(word).is_some()),
    "one or two times such as 75s or \"75s 60s\"",
);
/// A number of buffers and their size.
pub(super) const BUFFERS: Kind =
    Kind::Form(|words| is_buffers(words, 1), "a number (at least 1) and a size, such as \"4 8k\"");
/// The same for responses of an upstream, of which nginx wants two at least.
pub(super) const PROXY_BUFFERS: Kind =
    Kind::Form(|words| is_buffers(words, 2), "a number (at least 2) and a size, such as \"4 8k\"");
/// `NUMBER`, or `ZONE NUMBER`.
pub(super) const ZONE_COUNT: Kind = Kind::Form(
    |words| matches!(words, [n] | [_, n] if within(count(n), 1, 65_535).is_some()),
    "a whole number from 1 to 65535, or a zone's name and one",
);
/// A rate (`NUMBER`, `NUMBERr/s`, `NUMBERr/m`), maybe with `burst=NUMBER`, or `zone=NAME` with its parameters.
pub(super) const RATE: Kind =
    Kind::Form(is_rate, "a rate such as 10r/s or 30r/m, maybe with burst=N, or \"zone=NAME burst=N nodelay\"");

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

/// Milliseconds of `500ms`, `30s`, `1m30s`, `2h`, `1d`, `1w`; a number without a unit is seconds (`ngx_parse_time(.., 0)`: it begins
/// with weeks). Units must come from large to small.
pub fn time(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 6] =
        [("w", 7 * 86_400_000), ("d", 86_400_000), ("h", 3_600_000), ("ms", 1), ("m", 60_000), ("s", 1_000)];
    parsed(text, &UNITS)
}

/// Seconds of `30s`, `1m30s`, `1M`, `1y` (`ngx_parse_time(.., 1)`): no milliseconds.
pub fn seconds(text: &str) -> Option<u64> {
    const UNITS: [(&str, u64); 7] = [
        ("y", 365 * 86_400_000),
        ("M", 30 * 86_400_000),
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
    ];
    parsed(text, &UNITS).map(|ms| ms / 1_000)
}

/// A time in these units, milliseconds.
fn parsed(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let mut rest = text;
    let (mut total, mut last, mut ended) = (0u64, u64::MAX, false);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(digits);
        if ended || digits == 0 {
            return None;
        }
        let (name, scale) = units.iter().find(|(u, _)| after.starts_with(u)).copied().unwrap_or(("", 1_000));
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

fn is_buffers(words: &[&str], least: u64) -> bool {
    let [number, bytes] = words else { return false };
    within(count(number), least, MAX).is_some() && within(size(bytes), 1, MAX).is_some()
}

fn is_rate(words: &[&str]) -> bool {
    let [first, rest @ ..] = words else { return false };
    let burst = |w: &&str| w.strip_prefix("burst=").and_then(count).is_some();
    let alone = rest.len() <= 1 && rest.iter().all(burst);
    (alone && rate(first).is_some()) || words.iter().any(|w| w.starts_with("zone="))
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
        let cases = [("60", 60_000), ("500ms", 500), ("1m30s", 90_000), ("1m 30s", 90_000), ("1w", 604_800_000)];
        for (text, expected) in cases {
            assert_eq!(time(text), Some(expected), "{text}");
        }
        assert_eq!(time("1d12h"), Some(129_600_000));
        assert_eq!(time("1h 30"), Some(3_630_000));
        assert_eq!((seconds("1M"), seconds("1y1s"), seconds("500ms")), (Some(2_592_000), Some(31_536_001), None));
        for bad in ["", "s", "1y", "1M", "30s1m", "1s1s", "1.5s", "10x", "-1s", "30 s"] {
            assert_eq!(time(bad), None, "{bad}");
        }
    }

    #[test]
    fn forms_keep_their_bounds() {
        let accepts = |kind: Kind, words: &[&str]| kind.written(words).is_some();
        assert!(accepts(AUTO_PROCESSES, &["auto"]) && !accepts(AUTO_PROCESSES, &["automatic"]));
        assert!(accepts(AUTO_PROCESSES, &["9"]) && !accepts(AUTO_PROCESSES, &["1023"]));
        assert!(accepts(PROXY_BUFFERS, &["8", "4k"]) && !accepts(PROXY_BUFFERS, &["1", "4k"]));
        assert!(!accepts(PROXY_BUFFERS, &["8", "0"]) && !accepts(PROXY_BUFFERS, &["8"]));
        assert!(accepts(RATE, &["10r/s"]) && accepts(RATE, &["zone=a", "burst=5"]));
        assert!(accepts(RATE, &["10r/s", "burst=5"]) && !accepts(RATE, &["10r/s", "burst=x"]));
        assert!(!accepts(RATE, &["10r/h"]) && !accepts(RATE, &["0"]) && !accepts(RATE, &["burst=5"]));
        assert!(accepts(ZONE_COUNT, &["perip", "7"]) && !accepts(ZONE_COUNT, &["65536"]));
    }
}
