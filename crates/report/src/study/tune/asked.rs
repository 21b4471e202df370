//! What was asked for, in words.

use crate::clean;
use crate::context::Context;

pub(super) fn at_asked(context: Context<'_>) -> String {
    let Some(asked) = context.asked() else { return String::new() };
    match context.rose_to {
        Some(level) => {
            format!(" at {}, as far as the load rose ({} were asked for)", context.level(level), context.bare(asked))
        }
        None => format!(" at {}", context.level(asked)),
    }
}

pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", clean::line(text))
}
