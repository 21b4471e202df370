//! What the catalogue knows of a product.

use std::path::Path;

use genkai_model::explain::Explanation;

use super::{Prepare, Prepared};
use crate::error::TargetError;
use crate::explain::Explain;

/// Prepares a product.
pub type PrepareFn = fn(Prepare<'_>) -> Result<Box<dyn Prepared>, TargetError>;
/// Explains a configuration of a product.
pub type ExplainFn = fn(&Explain<'_>) -> Result<Explanation, TargetError>;

/// What is known of a product beforehand.
#[derive(Debug)]
pub struct Entry {
    /// Its name, as plans and the command line have it.
    pub name: &'static str,
    /// What people call it.
    pub called: &'static str,
    /// Its program, and how that is asked for its version; empty: it is not.
    pub program: (&'static str, &'static [&'static str]),
    /// What it can be under test.
    pub role: Role,
    /// Prepares it; none: it is not put under test alone.
    pub prepare: Option<PrepareFn>,
    /// Explains its configuration; none: it does not.
    pub explain: Option<ExplainFn>,
    /// How much a file or folder looks like its configuration.
    pub looks: fn(&Looks<'_>) -> Likeness,
    /// Words of a warning of its own check that it takes another value than the one written.
    pub clamps: &'static [&'static str],
    /// Words of its own check for a setting that it does not know.
    pub unknown: &'static str,
}

/// What is known of a plain reverse proxy: what the command line says of it.
#[derive(Debug)]
pub struct Proxy {
    /// Its whole name.
    pub title: &'static str,
    /// What distributions call its program.
    pub programs: &'static [&'static str],
    /// Whether it listens with TLS where genkai writes its configuration.
    pub tls: bool,
    /// Whether there are several ways in which it passes WebSocket connections on.
    pub upgrades: bool,
    /// Flags of `genkai tune` to begin with.
    pub examples: &'static [&'static str],
}

impl Entry {
    /// What is known of it as a plain reverse proxy; none: it is none.
    pub fn proxy(&self) -> Option<&Proxy> {
        if let Role::Proxy(proxy) = &self.role { Some(proxy) } else { None }
    }
}

/// What a product can be under test.
#[derive(Debug)]
pub enum Role {
    /// A plain reverse proxy, which genkai can write by itself.
    Proxy(Proxy),
    /// A cache with a configuration of the user's.
    Cache,
    /// Something behind a server.
    Behind,
}

/// A file or folder that may be a configuration.
#[derive(Debug)]
pub struct Looks<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// Its lines without comments, space at their ends and empty ones.
    pub lines: Vec<String>,
}

/// How much a file looks like a product's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// Not at all.
    None,
    /// Where it looks like no other's.
    Perhaps,
    /// By what it says.
    Text,
    /// By its name.
    Name,
}

impl Likeness {
    /// By what it says, where that `is` so.
    pub fn text(is: bool) -> Likeness {
        if is { Likeness::Text } else { Likeness::None }
    }
}

impl Looks<'_> {
    /// Reads it; what cannot be read has no lines.
    pub fn of(path: &Path) -> Looks<'_> {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let plain = |line: &str| line.split(" #").next().unwrap_or(line).trim_end().to_owned();
        let lines = text.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with('#')).map(plain);
        Looks { path, lines: lines.collect() }
    }

    /// The name of the file or folder.
    pub fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Whether a line begins with one of `words` and does not end as lines of nginx do.
    pub fn begins(&self, words: &[&str], ends: &[char]) -> bool {
        self.lines.iter().any(|line| words.contains(&first(line)) && !line.ends_with(ends))
    }

    /// Lines that end as those of nginx do: with `;` or braces.
    pub fn ended(&self) -> usize {
        self.lines.iter().filter(|line| line.ends_with([';', '{', '}'])).count()
    }
}

/// The first word of a line.
pub fn first(line: &str) -> &str {
    line.split_ascii_whitespace().next().unwrap_or_default()
}
