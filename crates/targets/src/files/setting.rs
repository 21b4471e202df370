//! Why a setting cannot be made: what products have in common.

use super::ConfigError;
use super::names::near;
use crate::error::Cause;

/// A setting that cannot be made. Each message says what was seen and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum SettingError {
    /// No setting of that name.
    #[error("unknown {product} setting \"{name}\"{}", nearest(near))]
    Unknown {
        /// The product, as people call it.
        product: &'static str,
        /// As given.
        name: String,
        /// The most similar names, best first.
        near: Vec<&'static str>,
    },
    /// A value of the wrong kind or out of its range.
    #[error("{name}={value}: {product} wants {allowed}")]
    Value {
        /// The product, as people call it.
        product: &'static str,
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
    /// A rule of the product's own that the value breaks.
    #[error("{name}={value}: {rule}")]
    Rule {
        /// The setting.
        name: String,
        /// As given.
        value: String,
        /// What must hold, and why.
        rule: String,
    },
    /// The text cannot be changed that way.
    #[error(transparent)]
    Text(#[from] ConfigError),
}

impl SettingError {
    /// No setting of `product` has this name; `names` are those there are, each with another by which it may be meant.
    pub(crate) fn unknown(
        product: &'static str,
        name: &str,
        names: impl Iterator<Item = (&'static str, &'static str)>,
    ) -> Self {
        SettingError::Unknown { product, name: name.to_owned(), near: near(name, names) }
    }

    /// A value that `product` does not take for it.
    pub(crate) fn value(product: &'static str, name: &str, value: &str, allowed: impl Into<String>) -> Self {
        SettingError::Value { product, name: name.to_owned(), value: value.to_owned(), allowed: allowed.into() }
    }

    /// There is nothing to set it on.
    pub(crate) fn no_place(name: &str, missing: impl Into<String>) -> Self {
        SettingError::NoPlace { name: name.to_owned(), missing: missing.into() }
    }
}

impl Cause for SettingError {
    const PRODUCT: &'static str = "";
}

fn nearest(near: &[&str]) -> String {
    match near {
        [] => "; it is none of those genkai may change".to_owned(),
        [one] => format!("; did you mean {one}?"),
        [many @ .., last] => format!("; did you mean {} or {last}?", many.join(", ")),
    }
}
