//! The steps and checks of a scenario.

use genkai_model::finding::TrialFinding;
use genkai_model::flows::Flows;

use super::page::Page;
use crate::document::Tone;
use crate::{clean, figure};

/// What became of a scenario's flows, if the load had one.
pub(super) fn section(page: &mut Page, trial: &TrialFinding) {
    let Some(flows) = &trial.flows else { return };
    page.heading("Scenario");
    page.labelled("flows", &runs(&flows.counts));
    let counts = &flows.counts;
    if counts.sent + counts.came > 0 {
        let unread =
            if counts.unread == 0 { String::new() } else { format!(", {} unread", figure::count(counts.unread)) };
        let (sent, came) = (figure::count(counts.sent), figure::count(counts.came));
        page.labelled("messages", &format!("{sent} sent, {came} received{unread}"));
    }
    let rows: Vec<Vec<String>> = flows
        .steps
        .iter()
        .map(|step| {
            let failed = if step.failed == 0 { "-".to_owned() } else { figure::count(step.failed) };
            let timed = [step.took.p50, step.took.p95, step.took.p99].map(figure::seconds);
            // Sending has no duration of its own.
            let times = if step.took.count == 0 { ["-", "-", "-"].map(str::to_owned) } else { timed };
            let counts = [clean::line(&step.name), figure::count(step.ok), failed];
            counts.into_iter().chain(times).collect()
        })
        .collect();
    page.table(&["step", "ok", "failed", "p50", "p95", "p99"], &rows);
    checks(page, counts);
}

fn runs(counts: &Flows) -> String {
    let mut text = format!("{} begun, {} completed", figure::count(counts.started), figure::count(counts.completed));
    for (n, what) in [(counts.broken, "broken off"), (counts.skipped, "left out")] {
        if n > 0 {
            text.push_str(&format!(", {} {what}", figure::count(n)));
        }
    }
    text
}

fn checks(page: &mut Page, counts: &Flows) {
    let (passed, failed) = counts.checks.iter().fold((0, 0), |(p, f), c| (p + c.passed, f + c.failed));
    if passed + failed > 0 {
        let share = figure::percent(failed as f64 / (passed + failed) as f64);
        page.labelled(
            "checks",
            &format!("{} passed, {} failed ({share})", figure::count(passed), figure::count(failed)),
        );
    }
    for check in counts.checks.iter().filter(|check| check.failed > 0) {
        let of = figure::count(check.passed + check.failed);
        let text = format!("{}: failed {} of {of} times", clean::line(&check.name), figure::count(check.failed));
        page.paragraph(Tone::Bad, &text);
    }
    if counts.missed > 0 {
        let text = format!("{} not found", figure::plural(counts.missed, "value to capture", "values to capture"));
        page.paragraph(Tone::Bad, &text);
    }
}
