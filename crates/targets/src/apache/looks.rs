//! What a configuration of Apache looks like.

use crate::product::looks::{Grammar, Looks, Statement, first, lines, unnamed};

/// How its files are called and written.
pub(super) const LOOKS: Looks = Looks {
    named: unnamed,
    grammar: Some(Grammar { names: include_str!("explain/directives.txt"), more: &[], statements }),
};

/// A directive a line, or what opens or closes a section; names have no case.
fn statements(text: &str) -> Vec<Statement> {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let name = |line: &str| first(line).trim_start_matches(['<', '/']).trim_end_matches('>').to_lowercase();
    lines(&joined).map(|line| Statement::of(&name(line))).collect()
}
