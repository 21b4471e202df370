//! What a product's configurations look like: how they are called, and which statements the product knows.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::names::table;

/// What a product's configurations look like.
#[derive(Debug)]
pub struct Looks {
    /// Whether a file or folder is called as its configurations are.
    pub named: fn(&Path) -> bool,
    /// How its files are written; none: they are known by their names only.
    pub grammar: Option<Grammar>,
}

/// No file name tells the product.
pub fn unnamed(_: &Path) -> bool {
    false
}

/// A piece of text that a product reads at once.
#[derive(Debug)]
pub struct Statement {
    /// How it begins; none: it is nothing that the product could read.
    pub name: Option<String>,
    /// The lines it has.
    pub lines: usize,
}

impl Statement {
    /// One of a line.
    pub fn of(name: &str) -> Statement {
        Statement { name: Some(name.to_owned()), lines: 1 }
    }

    /// So many lines that the product cannot read.
    pub fn foreign(lines: usize) -> Statement {
        Statement { name: None, lines }
    }
}

/// How the files of a product are written.
#[derive(Debug)]
pub struct Grammar {
    /// Table of the names with which its statements begin.
    pub names: &'static str,
    /// Names that are not in the table.
    pub more: &'static [&'static str],
    /// Its statements in a text.
    pub statements: fn(&str) -> Vec<Statement>,
}

impl Grammar {
    /// Part of a text's lines that stand in statements the product knows; 0 for a text without any.
    pub fn share(&self, text: &str) -> f64 {
        let known: BTreeSet<String> =
            table(self.names).map(|(name, _)| name).chain(self.more.iter().copied()).map(str::to_lowercase).collect();
        let statements = (self.statements)(text);
        let lines = |all: &mut dyn Iterator<Item = &Statement>| all.map(|s| s.lines).sum::<usize>() as f64;
        let mine = |s: &&Statement| s.name.as_ref().is_some_and(|name| known.contains(name));
        let all = lines(&mut statements.iter());
        if all > 0.0 { lines(&mut statements.iter().filter(mine)) / all } else { 0.0 }
    }
}

/// The lines of a text without comments behind `#`, space around, and empty ones.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let bare = |line: &'_ str| line.split(" #").next().unwrap_or_default().trim().len();
    let text = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    text.map(move |line| &line[..bare(line)]).filter(|line| !line.is_empty())
}

/// The first word of a line.
pub fn first(line: &str) -> &str {
    line.split_ascii_whitespace().next().unwrap_or_default()
}

/// A name and its arguments a line.
pub fn plain(text: &str) -> Vec<Statement> {
    lines(text).map(|line| Statement::of(first(line))).collect()
}
