//! The text of a private copy, line by line with the places they come from.

use crate::caddy::config::{FileId, Line, quote};

/// Text that grows.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) text: String,
    /// The user's file and line of each line; none: it is ours.
    pub(super) origins: Vec<Option<(FileId, usize)>>,
}

impl Text {
    /// A line of our own.
    pub(super) fn own(&mut self, depth: usize, text: &str) {
        self.put(depth, text, None);
    }

    /// A line of the user's with its block.
    pub(super) fn line(&mut self, depth: usize, line: &Line) {
        let words: Vec<String> = line.words.iter().map(|word| quote(&word.value)).collect();
        let at = Some((line.file, line.number));
        match &line.block {
            None => self.put(depth, &words.join(" "), at),
            Some(block) => {
                self.put(depth, &format!("{} {{", words.join(" ")), at);
                block.lines.iter().for_each(|inner| self.line(depth + 1, inner));
                self.put(depth, "}", at);
            }
        }
    }

    /// A site, with lines of our own first.
    pub(super) fn site(&mut self, site: &Line, own: &[String]) {
        let Some(block) = site.block.as_ref().filter(|_| !own.is_empty()) else { return self.line(0, site) };
        let words: Vec<String> = site.words.iter().map(|word| quote(&word.value)).collect();
        let at = Some((site.file, site.number));
        self.put(0, &format!("{} {{", words.join(" ")), at);
        own.iter().for_each(|line| self.own(1, line));
        block.lines.iter().for_each(|inner| self.line(1, inner));
        self.put(0, "}", at);
    }

    fn put(&mut self, depth: usize, text: &str, at: Option<(FileId, usize)>) {
        let text = format!("{}{text}\n", "\t".repeat(depth));
        self.origins.extend(std::iter::repeat_n(at, text.matches('\n').count()));
        self.text.push_str(&text);
    }
}
