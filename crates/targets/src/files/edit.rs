//! Changes as values: replace a span of one file by other bytes. Everything else stays as it is, byte for byte.

use std::ops::Range;

use super::{File, FileId};

/// Replaces a span of a file. Made against one configuration and applied to the same one, together with others.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edit {
    /// The file it touches.
    pub file: FileId,
    /// First byte that goes away.
    pub from: usize,
    /// The byte after the last that goes away; `from` for an insertion.
    pub to: usize,
    /// Bytes that come.
    pub with: Vec<u8>,
}

impl Edit {
    /// Replaces `span` of `file`.
    pub fn new(file: FileId, span: &Range<usize>, with: impl Into<Vec<u8>>) -> Edit {
        Edit { file, from: span.start, to: span.end, with: with.into() }
    }
}

/// The text of `file`, whose name is `id`, with the edits that concern it; none when none does.
///
/// # Errors
/// The offset of the second of two edits that overlap.
pub(crate) fn edited<Directive>(file: &File<Directive>, id: FileId, edits: &[Edit]) -> Result<Option<Vec<u8>>, usize> {
    let mine = ordered(edits.iter().filter(|e| e.file == id).collect());
    if let Some(pair) = mine.windows(2).find(|pair| pair[1].from < pair[0].to) {
        return Err(pair[1].from);
    }
    if mine.is_empty() {
        return Ok(None);
    }
    let mut out = Vec::with_capacity(file.text.len() + 64);
    let mut at = 0;
    for edit in mine {
        out.extend_from_slice(&file.text[at..edit.from]);
        out.extend_from_slice(&edit.with);
        at = edit.to;
    }
    out.extend_from_slice(&file.text[at..]);
    Ok(Some(out))
}

/// In the order of their places, those made twice only once. Insertions at the same place stay in the order in which they were made.
fn ordered(mut edits: Vec<&Edit>) -> Vec<&Edit> {
    edits.sort_by_key(|e| (e.from, e.to));
    let mut once: Vec<&Edit> = Vec::with_capacity(edits.len());
    for edit in edits {
        let here = once.iter().rev().take_while(|other| (other.from, other.to) == (edit.from, edit.to));
        if !here.into_iter().any(|other| other.with == edit.with) {
            once.push(edit);
        }
    }
    once
}

impl<Directive> File<Directive> {
    /// How its lines end.
    pub fn line_end(&self) -> &'static str {
        match memchr::memchr(b'\n', &self.text) {
            Some(at) if at > 0 && self.text[at - 1] == b'\r' => "\r\n",
            _ => "\n",
        }
    }

    /// A new line at the end.
    pub(crate) fn line_at_end(&self, id: FileId, text: &str) -> Edit {
        let (at, end) = (self.text.len(), self.line_end());
        let before = if self.text.is_empty() || self.text.ends_with(b"\n") { "" } else { end };
        Edit::new(id, &(at..at), format!("{before}{text}{end}"))
    }

    /// A new line after the one that holds the byte before `end`, indented like the line that `like` is on.
    pub(crate) fn line_after(&self, id: FileId, like: usize, end: usize, text: &str) -> Edit {
        let start = self.text[..like].iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let blank = |b: &&u8| matches!(**b, b' ' | b'\t');
        let indent =
            String::from_utf8_lossy(&self.text[start..start + self.text[start..like].iter().take_while(blank).count()]);
        let line_end = self.line_end();
        match memchr::memchr(b'\n', &self.text[end..]).map(|n| end + n + 1) {
            Some(at) => Edit::new(id, &(at..at), format!("{indent}{text}{line_end}")),
            None => {
                let at = self.text.len();
                Edit::new(id, &(at..at), format!("{line_end}{indent}{text}{line_end}"))
            }
        }
    }
}
