//! A page of text that grows downwards: wrapped paragraphs, labelled paragraphs, tables, code.

use anstyle::{AnsiColor, Style as Ansi};
use textwrap::{Options, WordSplitter};
use unicode_width::UnicodeWidthStr;

use super::Style;
use crate::clean;
use crate::document::{Cell, Line, Mark, Table, Tone};

/// Width of the label column, and of the margin of everything else.
const LABEL: usize = 13;
/// Below this many columns labels stand on lines of their own and tables become lists.
const NARROW: usize = 60;
/// Columns that a table's first column needs at least.
const FIRST_COLUMN: usize = 22;
/// Most lines of code that are shown; the rest is counted.
const CODE_LINES: usize = 120;
/// Longest line of code, in characters.
const CODE_COLUMNS: usize = 240;

fn ansi(tone: Tone) -> Ansi {
    let colour = |c: AnsiColor| Ansi::new().bold().fg_color(Some(c.into()));
    match tone {
        Tone::Plain => Ansi::new(),
        Tone::Strong => Ansi::new().bold(),
        Tone::Quiet => Ansi::new().dimmed(),
        Tone::Good => colour(AnsiColor::Green),
        Tone::Bad => colour(AnsiColor::Red),
        Tone::Doubtful => colour(AnsiColor::Yellow),
    }
}

pub(super) struct Page {
    style: Style,
    out: String,
}

impl Page {
    pub(super) fn new(style: Style) -> Page {
        Page { style: Style { width: style.width.max(20), ..style }, out: String::new() }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    fn narrow(&self) -> bool {
        self.style.width < NARROW
    }

    fn painted(&self, tone: Tone, text: &str) -> String {
        let ansi = ansi(tone);
        if self.style.color && ansi != Ansi::new() { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
    }

    fn put(&mut self, indent: &str, tone: Tone, text: &str) {
        let painted = if text.is_empty() { String::new() } else { self.painted(tone, text) };
        let line = format!("{indent}{painted}");
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    pub(super) fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A paragraph from the left edge.
    pub(super) fn paragraph(&mut self, tone: Tone, text: &str) {
        for line in wrapped(text, self.style.width) {
            self.put("", tone, &line);
        }
    }

    /// A heading with a blank line before it.
    pub(super) fn heading(&mut self, text: &str) {
        self.gap();
        self.paragraph(Tone::Strong, text);
    }

    /// A label with a paragraph beside it (beneath it, where narrow).
    pub(super) fn labelled(&mut self, label: &str, text: &str) {
        if self.narrow() {
            self.put("", Tone::Quiet, label);
            for line in wrapped(text, self.style.width - 2) {
                self.put("  ", Tone::Plain, &line);
            }
            return;
        }
        let fits = label.width() < LABEL;
        if !fits {
            self.put("", Tone::Quiet, label);
        }
        for (i, line) in wrapped(text, self.style.width - LABEL).iter().enumerate() {
            let label = format!("{:LABEL$}", if i == 0 && fits { label } else { "" });
            let label = if i == 0 { self.painted(Tone::Quiet, &label) } else { label };
            self.put(&label, Tone::Plain, line);
        }
    }

    /// A table, all columns to the left; the first is wrapped where the page is too narrow for it. Where even that
    /// does not fit: one block a row, `head: cell`.
    pub(super) fn table(&mut self, table: &Table) {
        let head: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let rows: Vec<Vec<&str>> = table.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        let mut widths: Vec<usize> = (0..head.len())
            .map(|c| rows.iter().map(|r| r[c].width()).chain([head[c].width()]).max().unwrap_or(0))
            .collect();
        let rest = widths.iter().skip(1).map(|w| w + 2).sum::<usize>();
        if rest + widths[0] > self.style.width {
            widths[0] = self.style.width.saturating_sub(rest);
        }
        if widths[0] < FIRST_COLUMN.min(self.style.width) && rows.iter().any(|r| r[0].width() > widths[0]) {
            return self.list(&head, &rows);
        }
        self.row(&head, &widths, Tone::Quiet);
        rows.iter().for_each(|row| self.row(row, &widths, Tone::Plain));
    }

    fn row(&mut self, cells: &[&str], widths: &[usize], tone: Tone) {
        for (i, first) in wrapped(cells[0], widths[0]).iter().enumerate() {
            let others = if i == 0 { &cells[1..] } else { &[] };
            let all: Vec<String> = std::iter::once(&first.as_str())
                .chain(others)
                .zip(widths)
                .map(|(cell, w)| format!("{cell}{}", " ".repeat(w.saturating_sub(cell.width()))))
                .collect();
            self.put("", tone, all.join("  ").trim_end());
        }
    }

    fn list(&mut self, head: &[&str], rows: &[Vec<&str>]) {
        for row in rows {
            self.paragraph(Tone::Plain, row[0]);
            for (name, cell) in head.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty()) {
                for line in wrapped(&format!("{name}: {cell}"), self.style.width - 2) {
                    self.put("  ", Tone::Plain, &line);
                }
            }
        }
    }

    /// Lines of code, bounded; of a diff, added and removed ones keep their `+` and `-`.
    pub(super) fn code(&mut self, lines: &[Line]) {
        for line in lines.iter().take(CODE_LINES) {
            let tone = match line.mark {
                Mark::Added => Tone::Good,
                Mark::Removed => Tone::Bad,
                Mark::Place => Tone::Quiet,
                Mark::None | Mark::Same => Tone::Plain,
            };
            self.put("", tone, &clean::cut(&line.text.replace('\t', "    "), CODE_COLUMNS));
        }
        if lines.len() > CODE_LINES {
            self.paragraph(Tone::Quiet, &format!("({} more lines)", lines.len() - CODE_LINES));
        }
    }
}

/// Characters that change how wide others beside them are (variation selectors, the joiner): a line would be wider than its words.
const WIDENING: [char; 3] = ['\u{fe0e}', '\u{fe0f}', '\u{200d}'];

/// Lines of at most `width` columns, at least one; words longer than a line are broken, a number stays with its unit.
/// Foreign control characters are gone.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let text: String = bound(&clean::cut(text, 4 * clean::LONGEST)).chars().filter(|c| !WIDENING.contains(c)).collect();
    let lines =
        textwrap::wrap(&text, Options::new(width.max(1)).break_words(true).word_splitter(WordSplitter::NoHyphenation));
    lines.into_iter().map(|l| l.trim_end().replace('\u{a0}', " ")).collect()
}

/// Units that must not be parted from their number; nor are the two sides of a comparison.
const UNITS: &[&str] = &["%", "s", "ms", "µs", "min", "B", "KiB", "MiB", "GiB"];

fn bound(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, word) in text.split(' ').enumerate() {
        let unit = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
        let after_number = UNITS.contains(&unit) && out.ends_with(|c: char| c.is_ascii_digit());
        let glue = after_number || matches!(word, "<" | ">" | "=") || out.ends_with(['<', '>', '=']);
        if i > 0 {
            out.push(if glue { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_page(text in "\\PC{0,300}", width in 20usize..100) {
            let mut page = Page::new(Style { color: false, width });
            page.paragraph(Tone::Strong, &text);
            page.labelled("What broke", &text);
            page.table(&Table::new("", &["a", "b"], [[text.clone(), text.clone()]]));
            for line in page.finish().lines() {
                prop_assert!(line.width() <= width, "{} > {width}: {line:?}", line.width());
            }
        }
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(wrapped("used at most 42 % of it", 15), ["used at most", "42 % of it"]);
        assert_eq!(wrapped("within 310 ms.", 10), ["within", "310 ms."]);
    }

    #[test]
    fn colour_is_only_added() {
        let draw = |color| {
            let mut page = Page::new(Style { color, width: 60 });
            page.heading("Yes");
            page.labelled("Proof", "0 of 12,345");
            page.code(&[Line { mark: Mark::Added, text: "+b".to_owned() }]);
            page.finish()
        };
        let plain = draw(false);
        assert!(!plain.contains('\x1b'));
        let stripped: String = strip(&draw(true));
        assert_eq!(stripped, plain);
    }

    fn strip(text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\x1b' {
                chars.by_ref().find(char::is_ascii_alphabetic);
            } else {
                out.push(c);
            }
        }
        out
    }
}
