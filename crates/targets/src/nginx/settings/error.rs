//! Why a setting cannot be made.

use crate::nginx::config::EditError;

/// A setting that cannot be made. Each message says what was seen and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    /// No setting of that name.
    #[error("unknown nginx setting \"{name}\"{}", nearest(near))]
    Unknown {
        /// As given.
        name: String,
        /// The most similar names, best first.
        near: Vec<&'static str>,
    },
    /// A value of the wrong kind or out of its range.
    #[error("{name}={value}: nginx wants {allowed}")]
    Value {
        /// The setting.
        name: String,
        /// As given.
        value: String,
        /// What it accepts.
        allowed: String,
    },
    /// nginx's own rule: each listening socket takes a connection, and the channel to the master one.
    #[error(
        "worker_connections={value}: must be at least {least}, as this configuration has {listeners} listening socket(s) \
         and nginx needs one more for itself"
    )]
    TooFewConnections {
        /// As given.
        value: u64,
        /// The smallest value nginx starts with.
        least: u64,
        /// Listening sockets.
        listeners: u64,
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
    Edit(#[from] EditError),
}

fn nearest(near: &[&str]) -> String {
    match near {
        [] => "; it is none of those genkai may change".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [many @ .., last] => format!("; did you mean {} or {last}?", many.join(", ")),
    }
}
