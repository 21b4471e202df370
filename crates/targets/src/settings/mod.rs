//! Settings of products: tables of what each has, what a value may be, and a value in force with the place it comes from.
//!
//! A product has a [`Table`] of its [`Setting`]s. Where in a configuration a setting is written is the product's affair.

mod kind;
mod sourced;

pub use kind::Kind;
pub(crate) use kind::within;
pub use sourced::SourcedValue;

use genkai_model::limit::Origin;

use crate::files::SettingError;

/// Shown for a setting that is not written and has no default of its own.
const NOT_SET: &str = "(not set)";

/// A setting that genkai knows.
#[derive(Clone, Copy, Debug)]
pub struct Setting<Context: 'static> {
    /// As `--set` names it.
    pub name: &'static str,
    /// The directive, the keyword or the parameter that holds it.
    pub directive: &'static str,
    /// Older names of the same directive.
    pub aliases: &'static [&'static str],
    /// Where it is written.
    pub context: Context,
    /// What it accepts.
    pub kind: Kind,
    /// Value in force where it is not written; empty: it has none, or it is computed.
    pub default: &'static str,
    /// Where the default is written down.
    pub source: &'static str,
}

impl<Context: Copy> Setting<Context> {
    /// A setting that has its directive's name.
    pub(crate) const fn new(
        name: &'static str,
        context: Context,
        kind: Kind,
        default: &'static str,
        source: &'static str,
    ) -> Self {
        Setting { name, directive: name, aliases: &[], context, kind, default, source }
    }

    /// The same, held by a directive, keyword or parameter with a name of its own.
    pub(crate) const fn held_by(self, directive: &'static str) -> Self {
        Setting { directive, ..self }
    }

    /// The same with older names.
    pub(crate) const fn once_called(self, aliases: &'static [&'static str]) -> Self {
        Setting { aliases, ..self }
    }

    /// Its default with the place where that is written down.
    pub(crate) fn default_value(&self) -> SourcedValue<()> {
        let written = if self.default.is_empty() { NOT_SET } else { self.default };
        SourcedValue { value: (), written: written.to_owned(), origin: Origin::Default(self.source.to_owned()) }
    }
}

/// The settings of a product.
#[derive(Debug)]
pub struct Table<Context: 'static> {
    /// The product, as people call it.
    pub product: &'static str,
    /// Every setting that genkai knows.
    pub settings: &'static [Setting<Context>],
}

impl<Context> Table<Context> {
    /// The setting of this name, whatever its case, with spaces for dots; an older name will do.
    pub fn find(&self, name: &str) -> Option<&'static Setting<Context>> {
        let dotted = name.trim().replace(' ', ".");
        let is = |known: &str| known.eq_ignore_ascii_case(&dotted);
        self.settings.iter().find(|setting| is(setting.name) || setting.aliases.iter().any(|alias| is(alias)))
    }

    /// The same.
    ///
    /// # Errors
    /// [`SettingError::Unknown`] with the nearest names.
    pub fn lookup(&self, name: &str) -> Result<&'static Setting<Context>, SettingError> {
        let names = || self.settings.iter().map(|setting| (setting.name, setting.name));
        self.find(name).ok_or_else(|| SettingError::unknown(self.product, name, names()))
    }

    /// Whether two names are of the same setting.
    pub(crate) fn is_same(&self, one: &str, other: &str) -> bool {
        matches!((self.find(one), self.find(other)), (Some(one), Some(other)) if one.name == other.name)
    }

    /// The setting of this name, with `value` as the product wants it written.
    ///
    /// # Errors
    /// [`SettingError::Unknown`], or [`SettingError::Value`] with what it accepts.
    pub(crate) fn value(&self, name: &str, value: &str) -> Result<(&'static Setting<Context>, String), SettingError> {
        let setting = self.lookup(name)?;
        let written = setting.kind.written(&[value.trim()]).map(|words| words.join(" "));
        let refused = || SettingError::value(self.product, name, value, setting.kind.allowed());
        Ok((setting, written.ok_or_else(refused)?))
    }
}
