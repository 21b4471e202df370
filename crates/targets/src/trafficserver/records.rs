//! records.config: `CONFIG NAME TYPE VALUE` a line (records.config, trafficserver 9.2).

use std::path::{Path, PathBuf};

use genkai_model::limit::Origin;

use crate::error::TargetError;
use crate::files::entry::{Entries, Entry, Line, Syntax};
use crate::files::{Configuration, Pair, Requests, pairs};

/// The file that every configuration folder has.
pub(super) const FILE: &str = "records.config";
/// How names of settings begin.
const PREFIX: &str = "proxy.config.";
/// The setting of most connections.
pub(super) const CONNECTIONS: &str = "proxy.config.net.connections_throttle";
/// Its default.
pub(super) const THROTTLE: u32 = 30_000;

/// Where defaults stand.
pub(super) fn default() -> Origin {
    Origin::Default("trafficserver 9.2 src/records/RecordsConfig.cc".to_owned())
}

/// The syntax.
struct Lines;

impl Syntax for Lines {
    fn line(&self, line: &[u8]) -> Result<Line, &'static str> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.split_ascii_whitespace().map(str::to_owned);
        match words.next() {
            Some(first) if first == "CONFIG" || first == "LOCAL" => {
                let name = words.next().ok_or("a name must follow CONFIG")?;
                Ok(Line::Entry(name, words.collect()))
            }
            _ => Ok(Line::Nothing),
        }
    }

    fn include(&self, _: &Entry) -> Option<PathBuf> {
        None
    }
}

/// A records.config.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Records(pub(super) Entries);

impl Records {
    /// Reads the records of a folder, or of the one that the given file is in.
    ///
    /// # Errors
    /// When there are none, or they cannot be read.
    pub(super) fn read(path: &Path) -> Result<Records, TargetError> {
        let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
        let file = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).join(FILE);
        if !file.is_file() {
            let hint = "name the folder with records.config and remap.config (Traffic Server 9)";
            let text = format!("there is no {}\n  hint: {hint}", file.display());
            return Err(TargetError::usage("Traffic Server", text));
        }
        Ok(Records(Entries::read(&file, &Lines)?))
    }

    /// The folder that they are in.
    pub(super) fn folder(&self) -> &Path {
        self.0.main().parent().unwrap_or(Path::new("/"))
    }

    /// The value of a setting as written.
    pub(super) fn value(&self, name: &str) -> Option<(String, Origin)> {
        let entry = self.0.last(name)?;
        Some((entry.values.get(1..)?.join(" "), self.0.origin(entry)))
    }
}

impl Configuration for Records {
    fn set(&self, setting: &str, value: &str, _: &Requests) -> Result<Records, TargetError> {
        let (name, value) = (named(setting)?, value.trim());
        if value.is_empty() || value.contains(['\n', '\r']) {
            return Err(TargetError::usage("Traffic Server", format!("`{name}` needs a value of one line")));
        }
        let entry = self.0.last(&name);
        let kind = entry.and_then(|entry| entry.values.first()).map_or_else(|| kind(value), String::as_str);
        Ok(Records(self.0.with_line(entry, format!("CONFIG {name} {kind} {value}"), &Lines)?))
    }

    fn value_of(&self, setting: &str, _: &Requests) -> Result<(String, Origin), TargetError> {
        let name = named(setting)?;
        Ok(self.value(&name).unwrap_or_else(|| {
            let value = if name == CONNECTIONS { THROTTLE.to_string() } else { "its default".to_owned() };
            (value, default())
        }))
    }

    fn is_same(one: &str, other: &str) -> bool {
        matches!((named(one), named(other)), (Ok(one), Ok(other)) if one == other)
    }

    fn pairs<'a>(&'a self, edited: &'a Records) -> impl Iterator<Item = Pair<'a>> {
        pairs(self.0.files(), edited.0.files())
    }
}

/// The whole name of a setting, which may be given without what all begin with.
///
/// # Errors
/// When it cannot be one.
pub(super) fn named(setting: &str) -> Result<String, TargetError> {
    let rest = setting.strip_prefix(PREFIX).unwrap_or(setting);
    let is_name =
        rest.contains('.') && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    match is_name {
        true => Ok(format!("{PREFIX}{rest}")),
        false => {
            let hint = "a name of records.config, e.g. proxy.config.net.connections_throttle";
            Err(TargetError::usage(
                "Traffic Server",
                format!("Traffic Server has no setting `{setting}`\n  hint: {hint}"),
            ))
        }
    }
}

/// The type that a value has where the file says none.
fn kind(value: &str) -> &'static str {
    match value {
        _ if value.parse::<i64>().is_ok()
            || value.strip_suffix(['K', 'M', 'G']).is_some_and(|n| n.parse::<i64>().is_ok()) =>
        {
            "INT"
        }
        _ if value.parse::<f64>().is_ok() => "FLOAT",
        _ => "STRING",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_changes_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("records.config");
        let text = "# c\nCONFIG proxy.config.a.b INT 3\nCONFIG proxy.config.c.d STRING x y\n";
        std::fs::write(&path, text).unwrap();
        let records = Records::read(&path).unwrap();
        assert_eq!(records.value("proxy.config.c.d").map(|(value, _)| value).as_deref(), Some("x y"));
        let set = |name: &str, value: &str| {
            let changed = records.set(name, value, &Requests::default()).unwrap();
            String::from_utf8(changed.0.files()[0].text.clone()).unwrap()
        };
        assert_eq!(set("a.b", "7"), text.replace("INT 3", "INT 7"));
        assert_eq!(set("proxy.config.e.f", "0.5"), format!("{text}CONFIG proxy.config.e.f FLOAT 0.5\n"));
        assert!(records.set("throttle", "1", &Requests::default()).is_err());
    }
}
