//! What a configuration of Redis looks like.

use crate::product::looks::{Grammar, Looks, Statement, first, lines, unnamed};

/// How its files are called and written.
pub(super) const LOOKS: Looks = Looks {
    named: unnamed,
    grammar: Some(Grammar { names: include_str!("explain/directives.txt"), more: &[], statements }),
};

/// A name without case and at least one argument a line.
fn statements(text: &str) -> Vec<Statement> {
    let one = |line: &str| match line.split_ascii_whitespace().count() {
        0 | 1 => Statement::foreign(1),
        _ => Statement::of(&first(line).to_lowercase()),
    };
    lines(text).map(one).collect()
}
