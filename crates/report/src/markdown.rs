//! A document as Markdown, for a paper or an issue.

use crate::clean;
use crate::document::{Block, Cell, Document, Medium, Section, Table};

/// The sentence to quote, the tables, then all else that is to be said. A document without sentences has a title instead.
pub fn markdown(document: &Document) -> String {
    let mut text: String = document.doubts.iter().map(|doubt| format!("> {}\n\n", plain(doubt))).collect();
    text += &match document.sentences.is_empty() {
        true => format!("# {}\n", plain(&document.headline)),
        false => format!("**{}**\n", plain(&document.headline)),
    };
    for one in document.on(Medium::Markdown) {
        section(&mut text, one);
    }
    let rest = document.sentences.iter().filter(|sentence| **sentence != document.headline);
    let rest: String = rest.map(|sentence| format!("- {}\n", plain(sentence))).collect();
    if !rest.is_empty() {
        text.push('\n');
        text.push_str(&rest);
    }
    text
}

fn section(text: &mut String, section: &Section) {
    if !section.title.is_empty() {
        text.push_str(&format!("\n### {}\n", plain(&section.title)));
    }
    for block in &section.blocks {
        match block {
            Block::Table(one) => table(text, one),
            Block::Heading { text: title, .. } => text.push_str(&format!("\n#### {}\n", plain(title))),
            Block::Text { text: words, .. } => text.push_str(&format!("\n{}\n", spoken(words))),
            Block::Facts { facts } => {
                text.push('\n');
                facts.iter().for_each(|(label, fact)| text.push_str(&format!("- {}: {}\n", plain(label), plain(fact))));
            }
            Block::Code { lines, .. } => {
                text.push('\n');
                lines.iter().for_each(|line| text.push_str(&format!("    {}\n", clean::whole(&line.text))));
            }
            _ => {}
        }
    }
}

/// GitHub's tables: cells between bars, a line of dashes under the head.
fn table(text: &mut String, table: &Table) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let cell = |text: &str| plain(text).replace('|', "\\|");
    text.push('\n');
    text.push_str(&line(table.columns.iter().map(|column| cell(&column.name)).collect()));
    text.push_str(&line(table.columns.iter().map(|_| "---".to_owned()).collect()));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(|one: &Cell| cell(one.text())).collect()));
    }
}

/// A paragraph, in which what stands between backticks is code.
fn spoken(text: &str) -> String {
    let part = |(i, part): (usize, &str)| if i % 2 == 0 { plain(part) } else { format!("`{}`", clean::whole(part)) };
    text.split('`').enumerate().map(part).collect()
}

/// Text that Markdown takes as it is; bars are the table's to escape.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean::whole(text).chars() {
        if matches!(c, '\\' | '*' | '_' | '`' | '<' | '[' | ']' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::finding::Outcome;

    #[test]
    fn a_long_sentence_is_not_cut() {
        let long = format!("{}the end.", "Every word counts. ".repeat(40));
        let document = Document::of(Outcome::Holds, "", vec!["Short.".to_owned(), long.clone()]);
        assert!(markdown(&document).contains(&long));
    }

    #[test]
    fn code_in_a_paragraph_stays_code() {
        assert_eq!(spoken("set `worker_x` to *any* <b>"), "set `worker_x` to \\*any\\* \\<b>");
    }
}
