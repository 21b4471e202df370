//! Why a setting cannot be made.

use crate::apache::config::ConfigError;

/// One clear message each: what was seen and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No setting of that name.
    #[error("unknown Apache setting \"{name}\"{}", nearest(near))]
    Unknown {
        /// As given.
        name: String,
        /// The most similar names, best first.
        near: Vec<&'static str>,
    },
    /// A value of the wrong kind or out of its range.
    #[error("{name}={value}: Apache wants {allowed}")]
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
        missing: String,
    },
    /// The text cannot be changed that way.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

fn nearest(near: &[&str]) -> String {
    match near {
        [] => "; it is none of those genkai may change".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [many @ .., last] => format!("; did you mean {} or {last}?", many.join(", ")),
    }
}
