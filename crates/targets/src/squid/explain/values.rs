//! Values that Squid refuses: it does not start.

use genkai_model::explain::{Remark, RemarkKind};

use crate::explain::about;
use crate::files::entry::Entry;
use crate::files::names::table;
use crate::squid::config::Config;
use crate::squid::settings::{bytes, integer, kilobytes, seconds};

/// What Squid 5.7 reads the value of a directive as (src/cf.data.pre, `TYPE`), where that is a number, a size, a time or a switch.
static TYPES: &str = include_str!("../types.txt");

pub(super) fn of(config: &Config) -> Vec<Remark> {
    config.entries.all().iter().filter_map(|entry| refused(config, entry)).collect()
}

fn refused(config: &Config, entry: &Entry) -> Option<Remark> {
    let kind = table(TYPES).find(|(name, _)| *name == entry.name)?.1;
    let value = entry.value();
    // `${name}` is replaced where it stands, if it is a macro of Squid's.
    let (takes, wants) = match kind {
        _ if value.contains("${") => return None,
        "int" => (integer(&value).is_some(), "a whole number"),
        "onoff" => (is_switch(&value, &[]), "on or off"),
        "tristate" => (is_switch(&value, &["warn"]), "on, off or warn"),
        "time_t" => (seconds(&value).is_some(), "a time with its unit, such as 30 seconds"),
        "kb_int64_t" => (kilobytes(&value).is_some(), "a size of whole kilobytes, such as 16 KB"),
        _ => (bytes(&value).is_some(), "a size with its unit, such as 512 KB"),
    };
    (!takes).then(|| {
        let text = format!("cannot be `{value}`: Squid does not start");
        about(&config.entries, entry, RemarkKind::Unknown, text, Some(wants.to_owned()))
    })
}

/// src/cache_cf.cc: `parse_onoff`, `parse_tristate`.
fn is_switch(value: &str, more: &[&str]) -> bool {
    let first = value.split_ascii_whitespace().next().unwrap_or_default();
    ["on", "off", "enable", "disable"].contains(&first) || more.contains(&first)
}
