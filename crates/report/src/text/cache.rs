//! Caches compared, on a terminal.

use genkai_model::cache::Conformance;
use genkai_model::finding::Outcome;
use genkai_model::finding::cache::{CacheContender, CacheFinding, CacheStanding, PassFinding};

use super::Style;
use super::page::{Page, Tone};
use crate::says::cache as says;
use crate::{clean, figure};

/// The answer, each pass with its figures and costs, the highest rates, and the caches as they ran.
pub fn cache(finding: &CacheFinding, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = if finding.outcome == Outcome::Holds { Tone::Plain } else { Tone::Doubtful };
    for sentence in says::sentences(finding) {
        page.paragraph(tone, &sentence);
    }
    for pass in finding.passes.iter().filter(|pass| !pass.standings.is_empty()) {
        speed(&mut page, pass);
        cost(&mut page, pass);
    }
    rates(&mut page, finding);
    page.heading("Caches");
    page.labelled("budget", &says::budget(finding));
    for one in &finding.participants {
        participant(&mut page, one);
    }
    page.finish()
}

fn speed(page: &mut Page, pass: &PassFinding) {
    page.heading(&format!("{} pass", says::warmth(pass.warmth)));
    let row = |one: &CacheStanding| {
        vec![
            clean::line(&one.name),
            says::rank(one),
            says::spread(one),
            figure::seconds(one.latency.p50),
            figure::seconds(one.latency.p99),
            says::hits(one),
            figure::count(one.origin),
        ]
    };
    let rows: Vec<Vec<String>> = pass.standings.iter().map(row).collect();
    page.table(&["cache", "rank", "requests/s (95 %)", "p50", "p99", "hits", "at origin"], &rows);
}

fn cost(page: &mut Page, pass: &PassFinding) {
    page.gap();
    let bytes = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure::bytes);
    let row = |one: &CacheStanding| {
        let cost = &one.cost;
        vec![
            clean::line(&one.name),
            figure::seconds(cost.cpu),
            figure::seconds(cost.origin_cpu),
            bytes(cost.read),
            bytes(cost.written),
            figure::bytes(cost.memory),
            bytes(cost.page_cache),
        ]
    };
    let rows: Vec<Vec<String>> = pass.standings.iter().map(row).collect();
    let columns = ["cache", "CPU/req.", "origin's", "read/req.", "written", "memory", "page cache"];
    page.table(&columns, &rows);
}

fn rates(page: &mut Page, finding: &CacheFinding) {
    if finding.held.is_empty() {
        return;
    }
    page.heading(&format!("Highest rate with {}", finding.objective));
    page.table(says::RATES, &says::rates(finding));
}

fn participant(page: &mut Page, one: &CacheContender) {
    page.gap();
    let up = figure::seconds(one.started);
    page.labelled(&clean::line(&one.name), &format!("{}; {}; up after {up}", clean::line(&one.version), one.store));
    if !one.settings.is_empty() {
        page.labelled("settings", &says::settings(one));
    }
    if let Some(limits) = says::limits(one) {
        page.labelled("limits", &limits);
    }
    let rule = |rule: &Conformance| format!("{}: {}", says::rule(rule.rule), says::kept(rule));
    let rules: Vec<String> = one.conformance.iter().map(rule).collect();
    if !rules.is_empty() {
        page.labelled("HTTP", &rules.join("; "));
    }
}
