//! Why a setting cannot be made.

use crate::haproxy::config::ConfigError;

/// One clear message each: what was seen and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No setting of that name.
    #[error("unknown HAProxy setting \"{name}\"{}", near.map_or_else(|| "; it is none of those genkai may change".to_owned(), |n| format!("; did you mean {n}?")))]
    Unknown {
        /// As given.
        name: String,
        /// The most similar name.
        near: Option<&'static str>,
    },
    /// A value of the wrong kind or out of its range.
    #[error("{name}={value}: HAProxy wants {allowed}")]
    Value {
        /// The setting.
        name: String,
        /// As given.
        value: String,
        /// What it accepts.
        allowed: String,
    },
    /// There is nothing to set it on.
    #[error("{name}: {missing}")]
    NoPlace {
        /// The setting.
        name: String,
        /// What is missing, and what to do.
        missing: &'static str,
    },
    /// The text cannot be changed that way.
    #[error(transparent)]
    Config(#[from] ConfigError),
}
