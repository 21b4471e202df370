//! Where each line stands in its file, as it is written: what an `import` puts in its place has words of other places.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Config, FileId, Line, lexer, tree};

/// The bytes of lines, their blocks among them, by the file and where the first word begins.
#[derive(Debug, Default)]
pub(in crate::caddy) struct Spans(BTreeMap<(FileId, usize), Range<usize>>);

impl Spans {
    /// Those of a line that may have come by an `import`; none where it is not written by itself.
    pub(in crate::caddy) fn of(&self, line: &Line) -> Option<&Range<usize>> {
        let first = line.words.first()?;
        self.0.get(&(first.file, first.span.start))
    }

    /// Adds lines of a block, or of a file. Of two that share a word (a variable of the environment that stands for the end of one and the beginning of
    /// the other) neither is by itself.
    fn add(&mut self, lines: &[Line]) {
        let spans: Vec<Option<Range<usize>>> = lines.iter().map(span).collect();
        let at = |index: usize| spans.get(index).cloned().flatten();
        for (index, line) in lines.iter().enumerate() {
            let before = index.checked_sub(1).and_then(at);
            if let Some(own) = at(index)
                && before.is_none_or(|before| before.end <= own.start)
                && at(index + 1).is_none_or(|next| own.end <= next.start)
            {
                self.0.insert((line.file, own.start), own);
            }
            self.add(line.inside());
        }
    }
}

/// From the first word of a line to its last, or to the end of its block.
fn span(line: &Line) -> Option<Range<usize>> {
    let open = line.block.as_ref().map(|block| block.open.start);
    let start = line.words.first().map(|word| word.span.start).or(open)?;
    let end = line.words.last().map(|word| word.span.end);
    let end = line.block.as_ref().map(|block| block.close.end).or(end)?;
    Some(start..end)
}

impl Config {
    /// Where its lines stand, as they are written.
    pub(in crate::caddy) fn spans(&self) -> Spans {
        let known = |name: &str| self.variables.get(name).cloned();
        let mut all = Spans::default();
        for (id, file) in self.files() {
            let tokens = lexer::tokens(id, &file.text, &known);
            // They were read before.
            let lines = tokens.and_then(|tokens| tree::lines(id, tokens, &|offset| file.line(offset)));
            all.add(&lines.unwrap_or_default());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::super::Variables;
    use super::*;

    #[test]
    fn a_line_stands_where_it_is_written() {
        let text = "(p) {\n\theader {args[0]} x\n\t{args[1]} gzip\n}\n:80 {\n\timport p X-A encode\n\thandle /a { # why\n\t\trespond \
                    hi\n\t}\n\theader X-V {$VALUE}\n\theader Z z\n}\n";
        let variables = Variables::from([("VALUE".to_owned(), "v\nheader Y y".to_owned())]);
        let config = Config::of_texts(vec![("/x".into(), text.into())], variables).unwrap();
        let spans = config.spans();
        let told = |line: &Line| spans.of(line).map(|span| text[span.clone()].to_owned());
        let all: Vec<_> = config.sites()[0].lines.iter().map(told).collect();
        let is = |text: &str| Some(text.to_owned());
        let expected = [
            is("header {args[0]} x"),
            None,
            is("handle /a { # why\n\t\trespond hi\n\t}"),
            None,
            None,
            is("header Z z"),
        ];
        assert_eq!(all, expected);
    }
}
