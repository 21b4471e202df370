//! New directives, placed and indented as their neighbours are.

use std::ops::Range;

use super::lexer::is_space;
use super::tree::{Directive, End};
use super::{Config, ConfigError, Edit, File, FileId, Found};

/// Where a line's indentation and ending are copied from.
struct Style<'a> {
    eol: &'a [u8],
    indent: Vec<u8>,
}

impl File {
    /// The line that holds `offset`, its ending not included.
    fn line_span(&self, offset: usize) -> Range<usize> {
        let start = self.text[..offset].iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let end = memchr::memchr(b'\n', &self.text[offset..]).map_or(self.text.len(), |at| offset + at);
        let cr = end > offset && self.text[end - 1] == b'\r';
        start..end - usize::from(cr)
    }

    /// How lines end here: as this one does, else as the file's first.
    fn eol(&self, offset: usize) -> &'static [u8] {
        let ending = |at: usize| if at > 0 && self.text[at - 1] == b'\r' { &b"\r\n"[..] } else { &b"\n"[..] };
        let here = memchr::memchr(b'\n', &self.text[offset..]).map(|at| offset + at);
        here.or_else(|| memchr::memchr(b'\n', &self.text)).map_or(b"\n", ending)
    }

    /// White space before `offset` on its line, when there is nothing else before it.
    fn indent(&self, offset: usize) -> Option<&[u8]> {
        let before = &self.text[self.line_span(offset).start..offset];
        before.iter().all(|&b| is_space(b)).then_some(before)
    }

    /// One step of indentation, as the file's first indented directive shows it; else four spaces.
    fn step(&self) -> Vec<u8> {
        fn first(file: &File, directives: &[Directive]) -> Option<Vec<u8>> {
            directives.iter().find_map(|parent| {
                let outer = file.indent(parent.span.start)?;
                let inner = parent.directives().iter().find_map(|d| file.indent(d.span.start));
                let step = inner.and_then(|i| i.strip_prefix(outer)).filter(|s| !s.is_empty());
                step.map(<[u8]>::to_vec).or_else(|| first(file, parent.directives()))
            })
        }
        first(self, &self.tree).unwrap_or_else(|| b"    ".to_vec())
    }

    /// Whether only white space and a comment follow on the line of `offset`.
    fn ends_line(&self, offset: usize) -> bool {
        let rest = &self.text[offset..self.line_span(offset).end];
        rest.iter().find(|b| !is_space(**b)).is_none_or(|&b| b == b'#')
    }

    /// `text` (lines separated by LF, indented with tabs) in this file's style.
    fn styled(&self, text: &str, style: &Style<'_>) -> Vec<u8> {
        let step = self.step();
        let mut out = Vec::new();
        for (i, line) in text.lines().enumerate() {
            if i > 0 {
                out.extend_from_slice(style.eol);
                out.extend_from_slice(&style.indent);
            }
            let depth = line.bytes().take_while(|&b| b == b'\t').count();
            (0..depth).for_each(|_| out.extend_from_slice(&step));
            out.extend_from_slice(&line.as_bytes()[depth..]);
        }
        out
    }

    /// `text` after what ends at `offset`: on a line of its own when that begins its line.
    fn after(&self, id: FileId, neighbour: &Directive, text: &str) -> Edit {
        let Range { start, end } = neighbour.span;
        match self.indent(start) {
            Some(indent) if self.ends_line(end) => {
                let at = self.line_span(end).end;
                let style = Style { eol: self.eol(start), indent: indent.to_vec() };
                let with = [style.eol, indent, &self.styled(text, &style)].concat();
                Edit::new(id, &(at..at), with)
            }
            _ => {
                let style = Style { eol: self.eol(start), indent: self.indent(start).unwrap_or_default().to_vec() };
                Edit::new(id, &(end..end), [b" ", &*self.styled(text, &style)].concat())
            }
        }
    }

    /// `text` as the first thing in a block whose inside is `inner`.
    fn first_in(&self, id: FileId, block: &Directive, inner: &Range<usize>, text: &str) -> Edit {
        let eol = self.eol(inner.start);
        let line = self.line_span(inner.start);
        if self.ends_line(inner.start) && line.end < inner.end {
            let outer = self.indent(block.span.start).unwrap_or_default();
            let style = Style { eol, indent: [outer, &self.step()].concat() };
            let with = [eol, &style.indent, &self.styled(text, &style)].concat();
            return Edit::new(id, &(line.end..line.end), with);
        }
        let style = Style { eol, indent: Vec::new() };
        let blank = self.text[inner.clone()].iter().all(|&b| is_space(b));
        let text = self.styled(text, &style);
        if blank {
            Edit::new(id, inner, [b" ", &*text, b" "].concat())
        } else {
            Edit::new(id, &(inner.start..inner.start), [b" ", &*text].concat())
        }
    }
}

/// After which directive a new one goes: the last simple one before the first block and before the includes that follow
/// all simple ones.
fn neighbour<'d>(directives: &'d [Directive], text: &str) -> Option<&'d Directive> {
    let simple = directives.iter().take_while(|d| !d.is_block());
    let own = |d: &&Directive| !d.is("include");
    // `load_module` must come before everything that uses it; a block goes after all that is simple.
    if text.ends_with('}') { simple.last() } else { simple.filter(own).last() }
}

impl Config {
    /// Adds directives (`text`, ready for nginx; lines separated by LF and indented with tabs) to a block, after its last
    /// simple directive of the same file or at its beginning, indented and ended as the lines around it.
    ///
    /// # Errors
    /// When `block` has no block of directives.
    pub fn insert(&self, block: &Found<'_>, text: &str) -> Result<Edit, ConfigError> {
        let file = self.file(block.file);
        let End::Block { inner, directives } = &block.directive.end else {
            return Err(block.form());
        };
        Ok(match neighbour(directives, text) {
            Some(last) => file.after(block.file, last, text),
            None => file.first_in(block.file, block.directive, inner, text),
        })
    }

    /// Adds directives to the main context, in the main file: after its last simple directive before the first block, or
    /// before its first directive, or at its end.
    pub fn insert_top(&self, text: &str) -> Edit {
        let id = FileId::MAIN;
        let file = self.file(id);
        if let Some(last) = neighbour(&file.tree, text) {
            return file.after(id, last, text);
        }
        let at = file.tree.first().map_or(file.text.len(), |d| d.span.start);
        let style = Style { eol: file.eol(at), indent: Vec::new() };
        let text = file.styled(text, &style);
        let unended = at == file.text.len() && at > 0 && file.text[at - 1] != b'\n';
        let before = if unended { style.eol } else { b"" };
        Edit::new(id, &(at..at), [before, &text, style.eol].concat())
    }

    /// Adds text right behind a block's `{`, on the same line, so that no line gets another number.
    ///
    /// # Errors
    /// When `block` has no block of directives.
    pub fn insert_at_start(&self, block: &Found<'_>, text: &str) -> Result<Edit, ConfigError> {
        self.inner(block).map(|inner| within(block.file, inner.start, text))
    }

    /// Adds text right before a block's `}`, on the same line.
    ///
    /// # Errors
    /// When `block` has no block of directives.
    pub fn insert_at_end(&self, block: &Found<'_>, text: &str) -> Result<Edit, ConfigError> {
        self.inner(block).map(|inner| within(block.file, inner.end, text))
    }

    fn inner(&self, block: &Found<'_>) -> Result<Range<usize>, ConfigError> {
        match &block.directive.end {
            End::Block { inner, .. } => Ok(inner.clone()),
            _ => Err(block.form()),
        }
    }
}

fn within(file: FileId, at: usize, text: &str) -> Edit {
    Edit::new(file, &(at..at), format!(" {text} "))
}
