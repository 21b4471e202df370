//! What a Caddyfile looks like.

use std::path::Path;

use crate::product::looks::{Grammar, Looks, Statement, first, lines};

/// How its files are called and written.
pub(super) const LOOKS: Looks = Looks {
    named: is_caddyfile,
    grammar: Some(Grammar { names: include_str!("explain/directives.txt"), more: &["{"], statements }),
};

/// `Caddyfile`, `NAME.caddyfile`, `Caddyfile.NAME`.
fn is_caddyfile(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name == "Caddyfile" || name.ends_with(".caddyfile") || name.starts_with("Caddyfile.")
}

/// Sites and the options in braces, directives in them.
fn statements(text: &str) -> Vec<Statement> {
    let mut depth = 0_usize;
    let mut all = Vec::new();
    for line in lines(text) {
        depth = depth.saturating_sub(usize::from(line.starts_with('}')));
        all.extend(match line {
            _ if line.starts_with('}') => None,
            _ if line.ends_with(';') => Some(Statement::foreign(1)),
            _ if depth == 0 && line.ends_with('{') || line.starts_with('@') => Some(Statement::of("{")),
            _ if depth == 0 && first(line) != "import" => Some(Statement::foreign(1)),
            _ => Some(Statement::of(first(line))),
        });
        depth += usize::from(line.ends_with('{'));
    }
    all
}
