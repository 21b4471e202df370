//! What is wrong in a file, and where.

use std::fmt;

/// A place in a file: line and column, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

/// Something in a file that cannot be done. Shows as `FILE:LINE:COLUMN: what`, and `hint: ...` on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// The file.
    pub file: String,
    /// The place in it; none when it is about the whole file.
    pub place: Option<Place>,
    /// What was seen.
    pub what: String,
    /// What to do; empty for nothing more to say.
    pub hint: String,
}

impl Fault {
    /// At a place; the file is named later.
    pub(crate) fn at(place: Place, what: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault { file: String::new(), place: Some(place), what: what.into(), hint: hint.into() }
    }

    /// About the whole file.
    pub(crate) fn whole(what: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault { file: String::new(), place: None, what: what.into(), hint: hint.into() }
    }

    /// In `file`, unless it is in another already.
    pub(crate) fn within(self, file: &str) -> Fault {
        if self.file.is_empty() { Fault { file: file.to_owned(), ..self } } else { self }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(place) = self.place {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}", self.what)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "\n  hint: {}", self.hint) }
    }
}
