//! Settings of servers, changes of them, and where a private copy differs from the user's configuration.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::UnitError;

/// A setting of a contender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Its name, as `--set` has it.
    pub name: String,
    /// Its value, as it is written.
    pub value: String,
    /// Whether that is the server's own default.
    pub default: bool,
}

/// One setting changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Product, e.g. `nginx`.
    pub product: String,
    /// Setting, as `--set` names it.
    pub setting: String,
    /// Value before, as written (or the default).
    pub from: String,
    /// Value after.
    pub to: String,
}

/// One place where the private copy differs from the user's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rewrite {
    /// `path:line` in the user's files.
    pub place: String,
    /// As the user wrote it.
    pub from: String,
    /// As it runs.
    pub to: String,
}

/// A change as people write it: `worker_connections 512 -> 1024`, `worker_connections -> 1024`, `worker_connections=1024`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedChange {
    /// The setting.
    pub setting: String,
    /// What it is before, where that is said.
    pub from: Option<String>,
    /// What it is to be.
    pub to: String,
}

impl FromStr for RequestedChange {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<RequestedChange, UnitError> {
        let bad = || UnitError {
            seen: text.to_owned(),
            what: "change",
            example: "\"worker_connections 512 -> 1024\" or \"worker_connections=1024\"",
        };
        let (left, to) = match text.split_once("->") {
            Some((left, to)) => (left.trim(), to.trim()),
            None => text.split_once('=').map(|(name, to)| (name.trim(), to.trim())).ok_or_else(bad)?,
        };
        let (setting, from) = match left.split_once(char::is_whitespace) {
            Some((setting, from)) if text.contains("->") => (setting, Some(from.trim().to_owned())),
            Some(_) => return Err(bad()),
            None => (left, None),
        };
        if setting.is_empty() || to.is_empty() || [Some(to), from.as_deref()].contains(&Some("->")) {
            return Err(bad());
        }
        Ok(RequestedChange { setting: setting.to_owned(), from, to: to.to_owned() })
    }
}

impl fmt::Display for RequestedChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.from {
            Some(from) => write!(f, "{} {from} -> {}", self.setting, self.to),
            None => write!(f, "{} -> {}", self.setting, self.to),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_read_as_people_write_them() {
        let asked = |setting: &str, from: Option<&str>, to: &str| RequestedChange {
            setting: setting.to_owned(),
            from: from.map(str::to_owned),
            to: to.to_owned(),
        };
        assert_eq!("ProxyTimeout 60 -> 300".parse(), Ok(asked("ProxyTimeout", Some("60"), "300")));
        assert_eq!("proxy_buffers 8 4k->16 8k".parse(), Ok(asked("proxy_buffers", Some("8 4k"), "16 8k")));
        assert_eq!("gzip -> on".parse(), Ok(asked("gzip", None, "on")));
        assert_eq!(" worker_connections=1024 ".parse(), Ok(asked("worker_connections", None, "1024")));
        for bad in ["", "worker_connections", "a ->", "-> 3", "= 3", "a b = 3"] {
            let error = bad.parse::<RequestedChange>().unwrap_err().to_string();
            assert!(error.contains("512 -> 1024"), "{bad}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(setting in "[A-Za-z_.]{1,12}", from in proptest::option::of("[a-z0-9]{1,6}( [a-z0-9]{1,4})?"), to in "[a-z0-9]{1,6}( [a-z0-9]{1,4})?") {
            let asked = RequestedChange { setting, from, to };
            prop_assert_eq!(asked.to_string().parse::<RequestedChange>(), Ok(asked));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<RequestedChange>();
        }
    }
}
