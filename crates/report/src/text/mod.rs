//! Documents on a terminal: plain text with optional colour, good at 80 columns, readable at 40.
//!
//! Colour only repeats what words say. All foreign text goes through [`clean`](crate::clean) before a style is put
//! around it, so nothing a server wrote reaches the terminal as a command.

mod page;

use crate::document::{Block, Document, Medium, Section, Tone};
use page::Page;

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use ANSI colours and weights.
    pub color: bool,
    /// Columns to fill at most; values below 20 count as 20.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Style { color: false, width: 80 }
    }
}

/// The document as text: the answer in sentences, then its sections.
pub fn document(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    for doubt in &document.doubts {
        page.paragraph(Tone::Doubtful, doubt);
    }
    page.gap();
    for sentence in document.sentences.iter().filter(|_| !document.labelled) {
        page.paragraph(document.tone, sentence);
    }
    document.on(Medium::Terminal).into_iter().for_each(|one| section(&mut page, one));
    page.finish()
}

fn section(page: &mut Page, section: &Section) {
    if section.title.is_empty() {
        page.gap();
    } else {
        page.heading(&section.title);
    }
    section.blocks.iter().for_each(|one| block(page, one));
}

/// What needs a drawing is not for terminals.
fn block(page: &mut Page, block: &Block) {
    match block {
        Block::Text { text, tone, .. } => page.paragraph(*tone, text),
        Block::Facts { facts } => facts.iter().for_each(|(label, text)| page.labelled(label, text)),
        Block::Table(one) => page.table(one),
        Block::Code { lines, .. } => page.code(lines),
        _ => {}
    }
}
