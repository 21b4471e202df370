//! What can be set, by Squid's own words.

use genkai_model::limit::Origin;
use genkai_model::units::Bytes;

use super::config::Config;
use crate::error::Cause;
use crate::files::ConfigError;
use crate::files::names::{nearest, table};
use crate::settings::SourcedValue;

/// How objects are kept (`cache_dir`, `cache_mem`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// A file an object, read and written by Squid's only thread.
    Ufs,
    /// The same by threads of their own.
    Aufs,
    /// One file with slots of 16 KiB.
    Rock,
    /// In memory, no disk.
    Memory,
}

/// Settings of an accelerator. What is not here is Squid's own default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Where objects are.
    pub(super) store: Store,
    /// `cache_mem`: memory for objects. Zero where they are on disk: with Squid's default of 256 MB a small set would be served from
    /// memory whatever the disk store is.
    pub(super) memory: Bytes,
    /// Size of `cache_dir`.
    pub(super) disk: Bytes,
}

/// Largest object of a rock store, bytes: `max-size`. Squid's default for it is one slot.
pub(super) const ROCK_LARGEST: u64 = 1 << 20;

/// Every directive of Squid 5.7 (src/cf.data.pre) with its default: `-` where that is none, or no single value; `!` where the
/// directive is obsolete and only warned of.
static DIRECTIVES: &str = include_str!("directives.txt");
/// Where the defaults stand.
const SOURCE: &str = "Squid 5.7 src/cf.data.pre";
/// A directive without a single value.
const NONE: &str = "-";
/// A directive that Squid no longer heeds.
const OBSOLETE: &str = "!";

/// A setting that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// There is no such directive.
    #[error("Squid has no directive `{name}`{}", near.map(|near| format!("; did you mean {near}?")).unwrap_or_default())]
    Unknown {
        /// As given.
        name: String,
        /// The most similar.
        near: Option<&'static str>,
    },
    /// It is a list, a place, or obsolete.
    #[error(
        "`{0}` cannot be set here: it has no single value\n  hint: write it into a copy of the file and compare both files"
    )]
    Several(String),
    /// Nothing to set it to, or more than a line.
    #[error("`{0}` needs a value of one line")]
    Value(String),
    /// The configuration cannot be read with it.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Cause for SettingError {
    const PRODUCT: &'static str = "Squid";
}

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
pub(super) fn settable(name: &str, value: &str) -> Result<(), SettingError> {
    match known(name) {
        None => Err(SettingError::Unknown { name: name.to_owned(), near: similar(name) }),
        Some(Known::Default(_)) if value.trim().is_empty() || value.contains(['\n', '\r']) => {
            Err(SettingError::Value(name.to_owned()))
        }
        Some(Known::Default(_)) => Ok(()),
        Some(_) => Err(SettingError::Several(name.to_owned())),
    }
}

/// The value of a directive that has one, as written.
///
/// # Errors
/// When there is no such directive, or it has no single value.
pub(super) fn value_of(config: &Config, name: &str) -> Result<(String, Origin), SettingError> {
    settable(name, "x")?;
    let default = match known(name) {
        Some(Known::Default(value)) => value,
        _ => NONE,
    };
    let held = held(config, name, default, |_| Some(()));
    Ok((held.written, held.origin))
}

/// The value of `name` as `read` understands it; where it does not, or it is not written: the default.
pub(super) fn held<T: Default>(
    config: &Config,
    name: &str,
    default: &str,
    read: fn(&str) -> Option<T>,
) -> SourcedValue<T> {
    let entry = config.value(name).filter(|entry| read(&entry.value()).is_some());
    let written = entry.map_or_else(|| default.to_owned(), |entry| entry.value());
    let origin = entry.map_or_else(|| Origin::Default(SOURCE.to_owned()), |entry| config.entries.origin(entry));
    SourcedValue { value: read(&written).unwrap_or_default(), written, origin }
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
