//! An experiment of several runs, on a terminal: every answer, the troubles with what is behind them, the loads in figures, changes, advice.

use genkai_model::suite::{AdviceFinding, ChangesFinding, SuiteFinding};
use genkai_model::units::Range;

use super::Style;
use super::claims;
use super::page::{Page, Tone};
use crate::says::suite::{self as says, Table};
use crate::{clean, figure};

/// The answers, the table of troubles, the table of figures, the changes, the advice.
pub fn suite(finding: &SuiteFinding, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Tone::Strong, &clean::line(&finding.title));
    for said in says::statements(finding) {
        page.paragraph(Tone::Plain, &said);
    }
    for part in &finding.parts {
        page.heading(&clean::line(&part.question));
        page.paragraph(if part.named { Tone::Good } else { Tone::Doubtful }, &clean::line(&part.answer));
    }
    table(&mut page, "The troubles that people report", &says::troubles(finding));
    let loads = says::steps(finding);
    if !loads.is_empty() {
        table(&mut page, "In figures", &says::figures(&loads));
    }
    for one in &finding.changes {
        changes(&mut page, one);
    }
    if let Some(one) = &finding.advice {
        advice(&mut page, one);
    }
    page.finish()
}

fn table(page: &mut Page, title: &str, table: &Table) {
    if !table.rows.is_empty() {
        page.heading(title);
        page.table(&table.head.iter().map(String::as_str).collect::<Vec<_>>(), &table.rows);
    }
}

fn changes(page: &mut Page, one: &ChangesFinding) {
    page.heading(&clean::line(&one.question));
    page.paragraph(Tone::Plain, &says::changed(one));
    if one.comparison.blocks < 2 {
        return;
    }
    table(page, "Each change beside the baseline", &says::effects(one));
    let blocks = figure::plural(one.comparison.blocks.into(), "block", "blocks");
    table(page, &format!("The same in figures, the turns of {blocks} added up"), &says::contenders(one));
}

fn advice(page: &mut Page, one: &AdviceFinding) {
    page.heading(&clean::line(&one.question));
    page.paragraph(Tone::Plain, &says::advised(one));
    for finding in &one.claims {
        claims::claim(page, finding);
    }
    for one in &one.untested {
        page.labelled(&clean::line(&one.claim), &format!("not tested: {}", clean::line(&one.why)));
    }
}

/// How many parts an experiment has, and how long its load takes, `seconds`.
pub fn suite_length(parts: usize, seconds: Range, style: Style) -> String {
    let mut page = Page::new(style);
    let parts = figure::plural(parts as u64, "part", "parts");
    let all = figure::range(seconds, figure::seconds);
    page.paragraph(
        Tone::Strong,
        &format!("{parts}: {all} of load in all, and a second or two to start and stop each server."),
    );
    page.finish()
}
