//! A setting's value as it is in force, with the place it comes from.

use genkai_model::limit::Origin;

/// A value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Held<T> {
    /// The number it stands for.
    pub value: T,
    /// As written (`auto`, `1m`), or as the default is documented.
    pub written: String,
    /// Where it is written.
    pub origin: Origin,
}
