//! What was asked for, in words.

use crate::clean;
use crate::context::Context;

pub(super) fn at_asked(context: Context<'_>) -> String {
    context.asked().map_or_else(String::new, |asked| format!(" at {}", context.level(asked)))
}

pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", clean::line(text))
}
