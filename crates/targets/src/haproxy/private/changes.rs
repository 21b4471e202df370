//! The changes of a private copy while they are collected.

use genkai_model::event::Rewrite;

use crate::files;
use crate::haproxy::config::{Config, Edit, FileId, Found, Section, quote};

/// Collects edits and what they mean.
pub(super) type Changes<'c> = files::Changes<'c, Config>;

impl Changes<'_> {
    /// Leaves a line out.
    pub(super) fn drop(&mut self, found: &Found) {
        self.replace(found, String::new());
    }

    /// Other words for a line; nothing when they are the same.
    pub(super) fn set(&mut self, found: &Found, words: &[String]) {
        if found.words.iter().map(|w| &w.value).ne(words) {
            // Words that stay are as the user wrote them: what a variable stands for may be a secret.
            let as_written = |word: &String| {
                let same = found.words.iter().find(|w| w.value == *word);
                same.map_or_else(|| quote(word).into_owned(), |w| self.config.text(found, &w.span))
            };
            let words: Vec<String> = words.iter().map(as_written).collect();
            self.replace(found, words.join(" "));
        }
    }

    fn replace(&mut self, found: &Found, with: String) {
        let rewrite =
            Rewrite { place: self.config.place(found), from: self.config.text(found, &found.span), to: with.clone() };
        self.list(rewrite);
        self.edits.push(Edit::new(found.file, &found.span, with));
    }

    /// New lines at the beginning of a section.
    pub(super) fn add(&mut self, section: &Section, lines: &[&str]) {
        let head = &self.config.found()[section.lines.start];
        let text = lines.iter().map(|l| format!("    {l}")).collect::<Vec<_>>().join("\n");
        let edit = self.config.file(head.file).line_after(head.file, head.span.start, head.span.end, &text);
        self.edits.push(edit);
    }

    /// A new section at the beginning of the main file: what later sections refer to must stand before them.
    pub(super) fn prepend(&mut self, text: &str) {
        self.edits.push(Edit::new(FileId::MAIN, &(0..0), text));
    }
}

/// The words of a line without some parameters: each a name, and how many words come after it.
pub(super) fn without(words: &[String], from: usize, parameters: &[(&str, usize)]) -> Vec<String> {
    let mut kept: Vec<String> = words.iter().take(from).cloned().collect();
    let mut at = from;
    while let Some(word) = words.get(at) {
        match parameters.iter().find(|(name, _)| name == word) {
            Some((_, more)) => at += 1 + more,
            None => {
                kept.push(word.clone());
                at += 1;
            }
        }
    }
    kept
}
