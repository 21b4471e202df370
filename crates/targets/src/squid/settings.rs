//! What can be set, by Squid's own words.

use crate::error::TargetError;
use crate::files::names::{nearest, table};

/// Every directive of Squid 5.7 (src/cf.data.pre) with its default: `-` where that is none, or no single value; `!` where the
/// directive is obsolete and only warned of.
static DIRECTIVES: &str = include_str!("directives.txt");
/// Where the defaults stand.
pub(super) const SOURCE: &str = "Squid 5.7 src/cf.data.pre";
/// A directive without a single value.
const NONE: &str = "-";
/// A directive that Squid no longer heeds.
const OBSOLETE: &str = "!";

/// What is known of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its default.
    Default(&'static str),
    /// It has no single value.
    Several,
    /// It is not heeded any more.
    Obsolete,
}

/// What is known of `name`; none: Squid does not know it.
pub(super) fn known(name: &str) -> Option<Known> {
    let value = table(DIRECTIVES).find(|(known, _)| *known == canonical(name))?.1;
    Some(match value {
        NONE => Known::Several,
        OBSOLETE => Known::Obsolete,
        value => Known::Default(value),
    })
}

/// The directive most like `name`.
pub(super) fn similar(name: &str) -> Option<&'static str> {
    nearest(name, table(DIRECTIVES).map(|(name, _)| name))
}

/// Whether `name` can be set to `value`: it has one value, and that is a line.
///
/// # Errors
/// Why not.
pub(super) fn settable(name: &str, value: &str) -> Result<(), TargetError> {
    let why = match known(name) {
        None => {
            let near = similar(name).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            format!("Squid has no directive `{name}`{near}")
        }
        Some(Known::Default(_)) if value.trim().is_empty() || value.contains(['\n', '\r']) => {
            format!("`{name}` needs a value of one line")
        }
        Some(Known::Default(_)) => return Ok(()),
        Some(_) => {
            let hint = "write it into a copy of the file and compare both files";
            format!("`{name}` cannot be set here: it has no single value\n  hint: {hint}")
        }
    };
    Err(TargetError::usage("Squid", why))
}

/// The default of a directive that has a single one.
pub(super) fn default(name: &str) -> &'static str {
    match known(name) {
        Some(Known::Default(value)) => value,
        _ => NONE,
    }
}

/// Other names of directives that are asked for here (src/cf.data.pre, `NAME`), with the first.
const ALIASES: [(&str, &str); 3] = [
    ("max_filedesc", "max_filedescriptors"),
    ("pconn_timeout", "server_idle_pconn_timeout"),
    ("persistent_request_timeout", "client_idle_pconn_timeout"),
];

/// The first name of a directive.
pub(super) fn canonical(name: &str) -> &str {
    ALIASES.into_iter().find(|(alias, _)| *alias == name).map_or(name, |(_, first)| first)
}

/// A whole number of `10`, `0x10` or `010` (src/Parsing.cc: `GetInteger`); what follows it is not read.
pub(super) fn integer(text: &str) -> Option<i32> {
    let word = text.split_ascii_whitespace().next()?;
    let (negative, digits) = match word.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, base) = match (hex, digits.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ => (digits, 10),
    };
    let number = i64::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with(['+', '-']))?;
    i32::try_from(if negative { -number } else { number }).ok()
}

/// The same where it is not below zero.
pub(super) fn number(text: &str) -> Option<u64> {
    integer(text).and_then(|number| u64::try_from(number).ok())
}

/// What stands for no limit among sizes.
pub(super) const UNLIMITED: u64 = u64::MAX;

/// Bytes of `512 KB`, `4 MB`, `10 bytes`, `10` (src/cache_cf.cc: `parseBytesLine64`, `parseBytesUnits`: a unit is what it begins with);
/// [`UNLIMITED`] of `none` and `-1`.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?;
    if ["none", "-1"].contains(&number) {
        return Some(UNLIMITED);
    }
    let number: f64 = number.parse().ok().filter(|n: &f64| *n >= 0.0)?;
    let unit = match words.next().filter(|_| number > 0.0) {
        None => 1.0,
        Some(word) => unit(word, &[("bytes", 1.0), ("KB", 1024.0), ("MB", 1_048_576.0), ("GB", 1_073_741_824.0)])?,
    };
    whole(number * unit)
}

/// Kilobytes of `16 KB`, `1 MB`, `16`, of the directives that count in them: their unit, where none is written, and a part of one is
/// refused (src/cache_cf.cc: `parse_kb_int64_t`).
pub(super) fn kilobytes(text: &str) -> Option<u64> {
    let alone = text.split_ascii_whitespace().nth(1).is_none();
    match bytes(text)? {
        UNLIMITED => Some(UNLIMITED),
        bytes if alone => Some(bytes),
        bytes => (bytes % 1024 == 0).then_some(bytes / 1024),
    }
}

/// A number without a fraction.
fn whole(number: f64) -> Option<u64> {
    (number.fract() == 0.0).then_some(number as u64)
}

/// The unit that a word begins with, in any case.
fn unit(word: &str, units: &[(&str, f64)]) -> Option<f64> {
    let begins = |name: &str| word.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    units.iter().find(|(name, _)| begins(name)).map(|(_, value)| *value)
}

/// Seconds of `15 minutes`, `1.5 day` (src/cache_cf.cc: `parseTimeLine`, `parseTimeUnit`); only 0 needs no unit.
pub(super) fn seconds(text: &str) -> Option<u64> {
    const UNITS: [(&str, f64); 9] = [
        ("second", 1.0),
        ("minute", 60.0),
        ("hour", 3_600.0),
        ("day", 86_400.0),
        ("week", 604_800.0),
        ("fortnight", 1_209_600.0),
        ("month", 2_592_000.0),
        ("year", 31_557_600.0),
        ("decade", 315_576_000.0),
    ];
    let mut words = text.split_ascii_whitespace();
    let number: f64 = words.next()?.parse().ok().filter(|n: &f64| *n >= 0.0)?;
    let scale = if number == 0.0 { 1.0 } else { unit(words.next()?, &UNITS)? };
    Some((number * scale) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_are_known_with_their_defaults() {
        assert_eq!(known("cache_mem"), Some(Known::Default("256 MB")));
        assert_eq!((known("acl"), known("hierarchy_stoplist")), (Some(Known::Several), Some(Known::Obsolete)));
        assert_eq!(known("cache_men"), None);
        let said = settable("cache_men", "1 MB").unwrap_err().to_string();
        assert!(said.contains("did you mean cache_mem?"), "{said}");
        assert!(settable("cache_mem", "1 MB\nacl x").is_err() && settable("cache_dir", "x").is_err());
    }

    #[test]
    fn numbers_are_read_as_c_does() {
        let all = ["10", "0x10", "010", "-1", "7 of 8", "1k", "08", "", "4294967296"].map(integer);
        assert_eq!(all, [Some(10), Some(16), Some(8), Some(-1), Some(7), None, None, None, None]);
        assert_eq!((bytes("none"), bytes("1 kBytes"), bytes("-2 KB")), (Some(UNLIMITED), Some(1024), None));
        assert_eq!((kilobytes("16 bytes"), kilobytes("1 MB"), kilobytes("16")), (None, Some(1024), Some(16)));
        assert_eq!((seconds("1.5 MINUTES"), seconds("0"), seconds("5 milliseconds")), (Some(90), Some(0), None));
    }

    #[test]
    fn sizes_and_times_have_units() {
        assert_eq!(
            (bytes("4 MB or so"), bytes("512 KB"), bytes("10"), bytes("4 MX")),
            (Some(4 << 20), Some(512 << 10), Some(10), None)
        );
        assert_eq!(
            (seconds("15 minutes"), seconds("1 day"), seconds("7"), seconds("x")),
            (Some(900), Some(86_400), None, None)
        );
    }
}
