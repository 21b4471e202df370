//! Files of a Redis, and the setting in them that genkai may change.

use genkai_model::limit::Origin;

use super::config::Lines;
use super::limits::number;
use super::serving::SETTING;
use crate::error::TargetError;
use crate::files::entry::Entries;
use crate::files::{Configuration, Pair, Requests, pairs};

/// The files.
#[derive(Clone, Debug)]
pub(super) struct RedisFiles(pub(super) Entries);

impl Configuration for RedisFiles {
    fn set(&self, setting: &str, value: &str, _: &Requests) -> Result<RedisFiles, TargetError> {
        known(setting)?;
        if number(value.trim()).is_none_or(|n| n == 0) {
            return Err(TargetError::usage(
                super::CALLED,
                format!("{SETTING}={value}: Redis wants a whole number from 1 on"),
            ));
        }
        let line = format!("{SETTING} {}", value.trim());
        Ok(RedisFiles(self.0.with_line(self.0.last(SETTING), line, &Lines)?))
    }

    fn value_of(&self, setting: &str, _: &Requests) -> Result<(String, Origin), TargetError> {
        known(setting)?;
        Ok(match self.0.last(SETTING) {
            Some(entry) => (entry.value(), self.0.origin(entry)),
            None => ("10000".to_owned(), Origin::Default(super::limits::SOURCE.to_owned())),
        })
    }

    fn is_same(one: &str, other: &str) -> bool {
        one == other
    }

    fn pairs<'a>(&'a self, edited: &'a RedisFiles) -> impl Iterator<Item = Pair<'a>> {
        pairs(self.0.files(), edited.0.files())
    }
}

fn known(setting: &str) -> Result<(), TargetError> {
    let what = || format!("`{setting}` is no setting of Redis that genkai changes");
    if setting == SETTING { Ok(()) } else { Err(TargetError::usage(super::CALLED, what())) }
}
