//! Claims and what came of them, on a terminal.

use genkai_model::finding::claim::ClaimFinding;

use super::Style;
use super::page::{Page, Tone};
use crate::clean;
use crate::says::claim as says;

/// Each claim: verdict, what was measured, what that rests on.
pub fn claims(all: &[ClaimFinding], style: Style) -> String {
    let mut page = Page::new(style);
    for finding in all {
        claim(&mut page, finding);
    }
    page.finish()
}

/// One claim.
pub(super) fn claim(page: &mut Page, finding: &ClaimFinding) {
    page.gap();
    page.paragraph(Tone::Strong, &format!("{}: {}", clean::line(&finding.claim.name), says::verdict(finding.verdict)));
    page.labelled("advice", &clean::line(&finding.claim.advice));
    page.labelled("tested", &says::tested(&finding.claim));
    page.labelled("measured", &says::measured(finding));
    page.labelled("rests on", &says::evidence(finding));
}
