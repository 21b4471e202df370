//! Systems compared, and advice put to the test.

use genkai_model::finding::claim::ClaimFinding;
use genkai_model::finding::comparison::ComparisonFinding;

use super::table;
use crate::clean;
use crate::says::{claim, compare as says};
use crate::text::compare::{PAIR, effects, figures};

/// The sentence to quote, a table of all figures and one of each pair, then all that is to be said.
pub fn compare(finding: &ComparisonFinding) -> String {
    let mut sentences = says::sentences(finding).into_iter();
    let mut text = format!("**{}**\n\n", plain(&sentences.next().unwrap_or_default()));
    if finding.blocks >= 2 {
        let (head, rows) = figures(finding);
        let head: Vec<String> = head.iter().map(|cell| plain(cell)).collect();
        let columns: Vec<&str> = head.iter().map(String::as_str).collect();
        table(&mut text, &columns, rows.into_iter());
        for pair in &finding.pairs {
            text.push_str(&format!("\n{} beside {}:\n\n", plain(&pair.other), plain(&pair.base)));
            table(&mut text, &PAIR, effects(pair).into_iter());
        }
    }
    text.push('\n');
    let systems = finding.subjects.iter().map(|subject| {
        let (name, version) = (clean::line(&subject.name), clean::line(&subject.version));
        let copy = says::copy(&subject.rewrites).map_or_else(String::new, |copy| format!("; {copy}"));
        format!("{name} is {version}: {}{copy}", says::settings(subject))
    });
    for line in sentences.chain(systems) {
        text.push_str(&format!("- {}\n", plain(&line)));
    }
    text
}

/// The table "advice, measured, verdict", as Markdown.
pub fn claims(all: &[ClaimFinding]) -> String {
    let mut text = "# Advice put to the test\n\nMade by `genkai claims --markdown` from its records: each change was compared with the same \
                    server without it, in shuffled blocks, under the load that its file in `claims/` says. Intervals hold together with 95 % for \
                    all figures of a claim. What was measured holds for that load and machine.\n\n"
        .to_owned();
    let row = |finding: &ClaimFinding| claim::row(finding).iter().map(|cell| plain(cell)).collect();
    table(&mut text, &claim::COLUMNS, all.iter().map(row));
    text
}

/// Text that Markdown takes as it is; bars are the table's to escape.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in clean::line(text).chars() {
        if matches!(c, '\\' | '*' | '_' | '`' | '<' | '[' | ']' | '#') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
