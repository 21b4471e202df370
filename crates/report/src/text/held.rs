//! Requests held open, on a terminal.

use genkai_model::finding::Outcome;
use genkai_model::finding::idle_requests::IdleFinding;

use super::Style;
use super::page::{Page, Tone};
use crate::figure;
use crate::says::{self, held};

/// The answer, what refuses and how that is known, every number that was tried.
pub fn held(finding: &IdleFinding, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = match finding.outcome {
        Outcome::Holds => Tone::Good,
        Outcome::Fails => Tone::Bad,
        Outcome::Invalid | Outcome::Unfinished => Tone::Doubtful,
    };
    for sentence in held::sentences(finding) {
        page.paragraph(tone, &sentence);
    }
    for found in &finding.limits {
        page.heading(&format!("{} = {}", found.limit.setting, found.limit.value));
        page.labelled("formula", &found.limit.formula);
        page.labelled("source", &found.limit.source);
        for evidence in &found.evidence {
            page.labelled("evidence", &says::evidence(evidence));
        }
    }
    page.heading("Requests at once");
    let row = |trial: &genkai_model::finding::idle_requests::IdleTrial| {
        let count = |n: u64| figure::count(n);
        vec![count(trial.requests.into()), count(trial.at_once), count(trial.answered), held::refused(trial)]
    };
    let rows: Vec<Vec<String>> = finding.trials.iter().map(row).collect();
    page.table(&["requests", "at once", "answered", "refused"], &rows);
    page.finish()
}
