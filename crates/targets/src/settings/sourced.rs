//! A setting's value as it is in force, with the place it comes from.

use genkai_model::explain::Timer;
use genkai_model::limit::Origin;
use genkai_model::units::Span;

/// A value in force.
#[derive(Clone, Debug, PartialEq)]
pub struct SourcedValue<T> {
    /// The number it stands for.
    pub value: T,
    /// As written (`auto`, `1m`), or as the default is documented.
    pub written: String,
    /// Where it is written.
    pub origin: Origin,
}

impl<T> SourcedValue<T> {
    /// A number that is written as it is.
    pub(crate) fn plain(value: T, origin: Origin) -> SourcedValue<T>
    where
        T: ToString,
    {
        SourcedValue { written: value.to_string(), value, origin }
    }

    /// The same value as another number or type.
    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U) -> SourcedValue<U> {
        SourcedValue { value: f(self.value), written: self.written, origin: self.origin }
    }

    /// The value as written, and where that is.
    pub(crate) fn in_words(self) -> (String, Origin) {
        (self.written, self.origin)
    }

    /// What `parse` reads in it as written; none where it does not understand that.
    pub(crate) fn parsed<U>(self, parse: impl FnOnce(&str) -> Option<U>) -> Option<SourcedValue<U>> {
        Some(SourcedValue { value: parse(&self.written)?, written: self.written, origin: self.origin })
    }
}

impl SourcedValue<Option<Span>> {
    /// It as a time of `setting` after which something ends; none: the time is not one number.
    pub(crate) fn timer(self, setting: &str, ends: &str) -> Timer {
        let SourcedValue { value, written, origin } = self;
        Timer { setting: setting.to_owned(), value: written, origin, span: value, ends: ends.to_owned() }
    }
}
