//! Claims and what came of them, on a terminal and as Markdown.

use genkai_model::claim::ClaimFinding;

use super::Style;
use super::compare::table;
use super::page::{Page, Tone};
use crate::clean;
use crate::says::claim as says;

/// Each claim: verdict, what was measured, what that rests on.
pub fn claims(all: &[ClaimFinding], style: Style) -> String {
    let mut page = Page::new(style);
    for finding in all {
        page.gap();
        page.paragraph(
            Tone::Strong,
            &format!("{}: {}", clean::line(&finding.claim.name), says::verdict(finding.verdict)),
        );
        page.labelled("advice", &clean::line(&finding.claim.advice));
        page.labelled("tested", &says::tested(&finding.claim));
        page.labelled("measured", &says::measured(finding));
        page.labelled("rests on", &says::evidence(finding));
    }
    page.finish()
}

/// The table "advice, measured, verdict" as Markdown, for docs/claims.md.
pub fn claims_markdown(all: &[ClaimFinding]) -> String {
    let head = ["advice", "tested", "measured", "verdict", "rests on", "read"].map(str::to_owned);
    let row = |finding: &ClaimFinding| {
        vec![
            clean::line(&finding.claim.advice),
            says::tested(&finding.claim).replace('`', ""),
            says::measured(finding),
            says::verdict(finding.verdict).to_owned(),
            says::evidence(finding),
            clean::line(&finding.claim.read),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    format!(
        "# Advice put to the test\n\nMade by `genkai claims --markdown` from its records: each change was compared with the same server without it, \
         in shuffled blocks under the load that its file in `claims/` says. Intervals hold together with 95 % for all figures of a \
         claim. What was measured holds for that load and machine.\n\n{}",
        table(&head, &rows)
    )
}
