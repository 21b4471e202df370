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
    let value = table(DIRECTIVES).find(|(known, _)| *known == name)?.1;
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

/// Bytes of `512 KB`, `4 MB`, `10 bytes` (src/cache_cf.cc: `parseBytesUnits`). A size needs its unit.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), "bytes"));
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "bytes" | "byte" => 1.0,
        "kb" => 1024.0,
        "mb" => 1024.0 * 1024.0,
        "gb" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    let number: f64 = number.parse().ok().filter(|n: &f64| *n >= 0.0)?;
    Some((number * unit) as u64)
}

/// Seconds of `15 minutes`, `1 day` (src/cache_cf.cc: `parseTimeUnit`); without a unit they are seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), "seconds"));
    let unit = match unit.trim().trim_end_matches('s') {
        "second" => 1,
        "minute" => 60,
        "hour" => 3600,
        "day" => 86_400,
        "week" => 604_800,
        "fortnight" => 1_209_600,
        "month" => 2_592_000,
        "year" => 31_557_600,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
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
    fn sizes_and_times_have_units() {
        assert_eq!(
            (bytes("4 MB"), bytes("512 KB"), bytes("10"), bytes("4 MX")),
            (Some(4 << 20), Some(512 << 10), Some(10), None)
        );
        assert_eq!(
            (seconds("15 minutes"), seconds("1 day"), seconds("7"), seconds("x")),
            (Some(900), Some(86_400), Some(7), None)
        );
    }
}
