//! Settings written into a configuration, and lines left out of it.

use std::path::PathBuf;

use genkai_model::limit::Origin;

use super::config::{Config, MAX_CONN, acl_of, no_cap};
use super::{removable, settings};
use crate::error::TargetError;
use crate::files::{Configuration, Edit, Pair, Removable, Requests, pairs};

impl Configuration for Config {
    fn set(&self, setting: &str, value: &str, _: &Requests) -> Result<Config, TargetError> {
        if let Some(name) = acl_of(setting) {
            return self.with_maxconn(name, value);
        }
        if setting == MAX_CONN {
            return self.with_max_conn(value);
        }
        settings::settable(setting, value)?;
        Ok(self.with(setting, value.trim())?)
    }

    fn value_of(&self, setting: &str, _: &Requests) -> Result<(String, Origin), TargetError> {
        if let Some(name) = acl_of(setting) {
            let entry = self.maxconn(name)?;
            return Ok((entry.values.get(2).cloned().unwrap_or_default(), self.entries.origin(entry)));
        }
        if setting == MAX_CONN {
            return Ok(self.max_conn().ok_or_else(no_cap)?.in_words());
        }
        settings::settable(setting, "x")?;
        Ok(self.sourced(setting, |_| Some(())).in_words())
    }

    fn removable(&self, _: &Requests) -> Vec<Removable> {
        removable::all(self)
    }

    fn path_of(&self, of: &Removable) -> PathBuf {
        self.entries.files()[of.file.0].path.clone()
    }

    fn without(&self, edits: &[Edit]) -> Result<Config, TargetError> {
        Ok(self.edited(edits)?)
    }

    fn is_same(one: &str, other: &str) -> bool {
        one == other
    }

    fn pairs<'a>(&'a self, edited: &'a Config) -> impl Iterator<Item = Pair<'a>> {
        pairs(self.entries.files(), edited.entries.files())
    }
}
