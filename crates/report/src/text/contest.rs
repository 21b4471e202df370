//! Servers compared, on a terminal.

use genkai_model::finding::Outcome;
use genkai_model::finding::contest::{CaseFinding, ContestContender, ContestFinding, ContestStanding};

use super::Style;
use super::page::{Page, Tone};
use crate::says::contest as says;
use crate::{clean, figure};

/// The answer, each case with its figures, and the servers as they ran.
pub fn contest(finding: &ContestFinding, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = if finding.outcome == Outcome::Holds { Tone::Plain } else { Tone::Doubtful };
    for sentence in says::sentences(finding) {
        page.paragraph(tone, &sentence);
    }
    for case in &finding.cases {
        table(&mut page, finding, case);
    }
    page.heading("Servers");
    for entrant in &finding.entrants {
        server(&mut page, entrant);
    }
    page.finish()
}

fn table(page: &mut Page, finding: &ContestFinding, case: &CaseFinding) {
    page.heading(&says::title(&finding.contest, case.case));
    let best = case.standings.first().map(|standing| standing.name.clone()).unwrap_or_default();
    let row = |standing: &ContestStanding| {
        let pair = case.pairs.iter().find(|pair| pair.faster == best && pair.slower == standing.name);
        let ratio = pair.map_or_else(String::new, |pair| {
            let interval = figure::range(pair.ratio.interval, figure::number);
            format!("{}x ({interval}){}", figure::number(pair.ratio.value), if pair.certain { "" } else { " ?" })
        });
        vec![clean::line(&standing.name), says::rank(standing), says::of(standing.figure), ratio]
    };
    let rows: Vec<Vec<String>> = case.standings.iter().map(row).collect();
    page.table(&["server", "rank", "figure", "times the fastest"], &rows);
}

fn server(page: &mut Page, entrant: &ContestContender) {
    page.gap();
    let listened = figure::seconds(entrant.started);
    page.labelled(
        &clean::line(&entrant.name),
        &format!("{}; listened after {listened}", clean::line(&entrant.version)),
    );
    page.labelled("settings", &says::settings(entrant));
    page.labelled("used", &says::usage(entrant));
    if let Some(pauses) = says::pauses(entrant) {
        page.labelled("collector", &pauses);
    }
}
