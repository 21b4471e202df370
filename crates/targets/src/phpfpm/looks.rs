//! What a configuration of php-fpm looks like.

use crate::product::looks::{Grammar, Looks, Statement, lines, unnamed};

/// How its files are called and written.
pub(super) const LOOKS: Looks =
    Looks { named: unnamed, grammar: Some(Grammar { names: include_str!("keys.txt"), more: &["["], statements }) };

/// Pools in brackets, keys with a value.
fn statements(text: &str) -> Vec<Statement> {
    let one = |line: &str| match line.split_once('=') {
        _ if line.starts_with('[') && line.ends_with(']') => Statement::of("["),
        Some((name, _)) => Statement::of(name.split('[').next().unwrap_or(name).trim()),
        None => Statement::foreign(1),
    };
    let plain = |line: &&str| !line.starts_with(';');
    lines(text).filter(plain).map(|line| one(line.split(" ;").next().unwrap_or(line).trim())).collect()
}
