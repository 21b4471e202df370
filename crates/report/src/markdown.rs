//! Tables in Markdown, for a paper or an issue.

use std::fmt::Write as _;

use genkai_model::cache::{CacheFinding, CacheStanding, Held, Warmth};

use crate::says::cache as says;
use crate::{clean, figure};

/// The answer, a table of each pass and one of the highest rates.
pub fn cache(finding: &CacheFinding) -> String {
    let mut text = format!("**{}**\n", says::headline(finding));
    for pass in finding.passes.iter().filter(|pass| !pass.standings.is_empty()) {
        let _ = write!(text, "\n### {} pass\n\n", says::warmth(pass.warmth));
        let columns = [
            "cache",
            "rank",
            "requests/s (95 % interval)",
            "p50",
            "p99",
            "within 1 s",
            "hits",
            "at origin",
            "CPU/request",
            "origin's CPU",
            "read/request",
            "written/request",
            "memory",
        ];
        table(&mut text, &columns, pass.standings.iter().map(standing));
    }
    if !finding.held.is_empty() {
        let _ = write!(text, "\n### Highest rate with `{}`\n\n", finding.objective);
        let of = |name: &str, warmth| {
            let found = finding.held.iter().find(|held: &&Held| held.name == name && held.warmth == warmth);
            found.map_or_else(|| "-".to_owned(), says::held)
        };
        let rows = finding
            .participants
            .iter()
            .map(|one| vec![one.name.clone(), of(&one.name, Warmth::Cold), of(&one.name, Warmth::Warm)]);
        table(&mut text, &["cache", "cold", "warm"], rows);
    }
    let rest = finding.troubles.iter().map(says::trouble).chain(finding.caveats.iter().map(says::caveat));
    let rest: Vec<String> = rest.map(|sentence| format!("- {}\n", clean::line(&sentence))).collect();
    if !rest.is_empty() {
        text.push('\n');
        text.push_str(&rest.concat());
    }
    text
}

fn standing(one: &CacheStanding) -> Vec<String> {
    let bytes = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), figure::bytes);
    vec![
        one.name.clone(),
        says::rank(one),
        says::of(one),
        figure::seconds(one.latency.p50),
        figure::seconds(one.latency.p99),
        format!("{} of {}", figure::count(one.within_second), figure::count(one.requests)),
        says::hits(one),
        figure::count(one.origin),
        figure::seconds(one.cost.cpu),
        figure::seconds(one.cost.origin_cpu),
        bytes(one.cost.read),
        bytes(one.cost.written),
        figure::bytes(one.cost.memory),
    ]
}

/// GitHub's tables: cells between bars, a line of dashes under the head.
fn table(text: &mut String, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&line(columns.iter().map(|name| (*name).to_owned()).collect()));
    text.push_str(&line(columns.iter().map(|_| "---".to_owned()).collect()));
    for row in rows {
        text.push_str(&line(row.iter().map(|cell| clean::line(cell).replace('|', "\\|")).collect()));
    }
}
