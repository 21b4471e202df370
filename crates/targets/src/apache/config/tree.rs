//! Logical lines to directives and sections. The tree holds spans of the text, never text of its own: the text stays the
//! only truth, and printing a file is printing its text.

use std::ops::Range;

use super::lexer::{self, Line, Word};

/// Sections may be nested so deep. (httpd has no such limit; four or five are usual.)
pub const MAX_DEPTH: usize = 100;

/// Sections that may be left open at a file's end: their inside is read as it comes (`EXEC_ON_READ`, server/core.c).
const CONDITIONS: &[&str] = &["ifmodule", "ifdefine", "ifversion", "iffile", "ifdirective", "ifsection"];

/// A directive, or a section with what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Name first (without `<`), then arguments. Never empty.
    pub words: Vec<Word>,
    /// The logical line, or from a section's `<` to its closing `>`.
    pub span: Range<usize>,
    /// The logical line that names it: all of a plain directive, the head of a section.
    pub head: Range<usize>,
    /// What is in it; none: a plain directive.
    pub inside: Option<Vec<Directive>>,
}

impl Directive {
    /// Its name, in lower case: httpd compares names without case.
    pub fn name(&self) -> String {
        self.words[0].value.to_ascii_lowercase()
    }
}

/// A place that is not httpd's syntax. Its message has no file name: the reader of the file adds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct SyntaxError {
    /// Offset of the byte.
    pub offset: usize,
    /// What is wrong there, and what to do.
    pub what: String,
}

/// A section that has begun.
struct Open {
    words: Vec<Word>,
    head: Range<usize>,
    inside: Vec<Directive>,
}

/// The directives of a text. Never panics, whatever the bytes.
///
/// # Errors
/// The first place that httpd could not read.
pub fn parse(text: &[u8]) -> Result<Vec<Directive>, SyntaxError> {
    let mut open: Vec<Open> = Vec::new();
    let mut top = Vec::new();
    for line in lexer::lines(text).iter().filter(|line| !line.is_comment()) {
        let at = line.span().start;
        match line.section() {
            None => {
                let words = line.words();
                let span = line.span();
                let plain = Directive { words, head: span.clone(), span, inside: None };
                open.last_mut().map_or(&mut top, |o| &mut o.inside).push(plain);
            }
            Some(true) => {
                let words = head(line)?;
                if open.len() == MAX_DEPTH {
                    return Err(fail(at, format!("sections are nested more than {MAX_DEPTH} deep")));
                }
                open.push(Open { words, head: line.span(), inside: Vec::new() });
            }
            Some(false) => {
                let section = close(&mut open, line)?;
                open.last_mut().map_or(&mut top, |o| &mut o.inside).push(section);
            }
        }
    }
    ended(open, top, text.len())
}

/// The directives at the end of the text. A section whose end is missing is closed there where httpd takes it so.
fn ended(mut open: Vec<Open>, mut top: Vec<Directive>, end: usize) -> Result<Vec<Directive>, SyntaxError> {
    while let Some(o) = open.pop() {
        let name = &o.words[0].value;
        if !CONDITIONS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(fail(o.head.start, format!("<{name}> has no </{name}>; add it where the section ends")));
        }
        let section = Directive { words: o.words, span: o.head.start..end, head: o.head, inside: Some(o.inside) };
        open.last_mut().map_or(&mut top, |o| &mut o.inside).push(section);
    }
    Ok(top)
}

fn fail(offset: usize, what: String) -> SyntaxError {
    SyntaxError { offset, what }
}

fn head(line: &Line) -> Result<Vec<Word>, SyntaxError> {
    let at = line.span().start;
    let words = line.head().ok_or_else(|| fail(at, "a section's head has no closing \">\"; add it".to_owned()))?;
    if words.is_empty() { Err(fail(at, "a section without a name".to_owned())) } else { Ok(words) }
}

fn close(open: &mut Vec<Open>, line: &Line) -> Result<Directive, SyntaxError> {
    let at = line.span().start;
    let words = head(line)?;
    let name = &words[0].value;
    match open.pop() {
        Some(o) if o.words[0].value.eq_ignore_ascii_case(name) => {
            Ok(Directive { words: o.words, span: o.head.start..line.span().end, head: o.head, inside: Some(o.inside) })
        }
        Some(o) => {
            let expected = &o.words[0].value;
            Err(fail(at, format!("</{name}> closes <{expected}>; write </{expected}>, or close that one first")))
        }
        None => Err(fail(at, format!("</{name}> closes nothing; remove it"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_nest_without_case() {
        let text = b"A 1\n<VirtualHost *:80>\n  B 2\n  <location />\n C 3\n </Location>\n</virtualhost>\n";
        let tree = parse(text).unwrap();
        assert_eq!(tree.len(), 2);
        let inside = tree[1].inside.as_ref().unwrap();
        assert_eq!((inside.len(), inside[1].name().as_str()), (2, "location"));
        assert_eq!(&text[tree[1].span.clone()][..12], b"<VirtualHost");
        assert!(text[tree[1].span.clone()].ends_with(b"</virtualhost>"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let wrong = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert!(wrong("<A>\nB\n").to_string().contains("</A>"));
        assert_eq!(wrong("A\n</B>\n").offset, 2);
        assert!(wrong("<A x>\n</B>").to_string().contains("write </A>"));
        assert!(wrong("<A").to_string().contains("\">\""));
        assert!(wrong("<>\n").to_string().contains("without a name"));
        let deep = "<A>\n".repeat(MAX_DEPTH + 1);
        assert!(wrong(&deep).to_string().contains("nested"));
    }
}
