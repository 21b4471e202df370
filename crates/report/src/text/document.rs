//! A document on a terminal: the answer in sentences, then its sections.

use super::Style;
use super::page::Page;
use crate::document::{Block, Cell, Document, Medium, Section, Table};

/// The document as text.
pub fn document(document: &Document, style: Style) -> String {
    let mut page = Page::new(style);
    for sentence in &document.sentences {
        page.paragraph(document.tone, sentence);
    }
    for one in document.on(Medium::Terminal) {
        section(&mut page, one);
    }
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
        Block::Table(one) => table(page, one),
        _ => {}
    }
}

fn table(page: &mut Page, table: &Table) {
    let head: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let cells = |row: &Vec<Cell>| row.iter().map(|cell| cell.text().to_owned()).collect();
    let rows: Vec<Vec<String>> = table.rows.iter().map(cells).collect();
    page.table(&head, &rows);
}
