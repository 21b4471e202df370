//! Tables in Markdown, for a paper or an issue.

mod compare;

use std::fmt::Write as _;

use genkai_model::finding::cache::CacheFinding;

pub use compare::{claims, compare};

use crate::clean;
use crate::says::cache as says;

/// The answer, a table of each pass and one of the highest rates.
pub fn cache(finding: &CacheFinding) -> String {
    let mut text = format!("**{}**\n", says::headline(finding));
    for pass in finding.passes.iter().filter(|pass| !pass.standings.is_empty()) {
        let _ = write!(text, "\n### {} pass\n\n", says::warmth(pass.warmth));
        table(&mut text, says::COLUMNS, pass.standings.iter().map(says::row));
    }
    if !finding.held.is_empty() {
        let _ = write!(text, "\n### Highest rate with `{}`\n\n", finding.objective);
        table(&mut text, says::RATES, says::rates(finding).into_iter());
    }
    let _ = write!(text, "\n{}\n", says::budget(finding));
    let rest = finding.troubles.iter().map(says::trouble).chain(finding.caveats.iter().map(says::caveat));
    let rest: Vec<String> = rest.map(|sentence| format!("- {}\n", clean::line(&sentence))).collect();
    if !rest.is_empty() {
        text.push('\n');
        text.push_str(&rest.concat());
    }
    text
}

/// GitHub's tables: cells between bars, a line of dashes under the head.
fn table(text: &mut String, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&line(columns.iter().map(|name| name.replace('|', "\\|")).collect()));
    text.push_str(&line(columns.iter().map(|_| "---".to_owned()).collect()));
    for row in rows {
        text.push_str(&line(row.iter().map(|cell| clean::line(cell).replace('|', "\\|")).collect()));
    }
}
