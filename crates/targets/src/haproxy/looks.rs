//! What a configuration of HAProxy looks like.

use std::path::Path;

use super::config::SECTIONS;
use crate::product::looks::{Grammar, Looks, Statement, first, lines};

/// How its files are called and written.
pub(super) const LOOKS: Looks = Looks {
    named: Path::is_dir,
    grammar: Some(Grammar { names: include_str!("explain/directives.txt"), more: SECTIONS, statements }),
};

/// Sections, and keywords in them.
fn statements(text: &str) -> Vec<Statement> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [_, "=", ..] => Statement::foreign(1),
            ["no" | "default", name, ..] | [name, ..] => Statement::of(name),
            [] => Statement::foreign(1),
        }
    };
    let mut before = true;
    let outside = |line: &&str| {
        before &= !SECTIONS.contains(&first(line)) || line.contains('=') || line.ends_with(['{', ';']);
        before
    };
    let (outside, rest): (Vec<&str>, Vec<&str>) = lines(text).partition(outside);
    outside.iter().map(|_| Statement::foreign(1)).chain(rest.into_iter().map(one)).collect()
}
