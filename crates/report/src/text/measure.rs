//! The figures of a plain load, in the words users of other load testers know.

use genkai_model::finding::{Findings, Quantiles, TrialFinding};
use genkai_model::record::Record;

use super::Style;
use super::page::{Page, Tone};
use crate::{figure, says, words};

/// What a load on something that already runs showed.
pub fn measure(record: &Record, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    let Some(trial) = findings.verdict.trials.first() else {
        page.paragraph(Tone::Doubtful, "No load was sent.");
        return page.finish();
    };
    figures(&mut page, trial);
    latency(&mut page, trial);
    if trial.failed > 0 {
        page.heading("Failures");
        page.paragraph(Tone::Bad, &words::errors(&trial.errors));
    }
    client(&mut page, findings, record);
    page.finish()
}

fn figures(page: &mut Page, trial: &TrialFinding) {
    let failed = if trial.finished == 0 { 0.0 } else { trial.failed as f64 / trial.finished as f64 };
    page.labelled("requests", &format!("{} in {}", figure::count(trial.finished), figure::seconds(trial.lasted)));
    page.labelled("successful", &format!("{} requests/s", figure::number(trial.rate)));
    page.labelled("failed", &format!("{} ({})", figure::count(trial.failed), figure::percent(failed)));
}

fn latency(page: &mut Page, trial: &TrialFinding) {
    page.heading("Time of successful responses");
    let row = |name: &str, q: &Quantiles| -> Vec<String> {
        let cells = [q.min, q.p50, q.p90, q.p95, q.p99, q.p999, q.max].map(figure::seconds);
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let rows = [row("latency from the plan", &trial.latency), row("service from the write", &trial.service)];
    page.table(&["", "min", "p50", "p90", "p95", "p99", "p99.9", "max"], &rows);
}

fn client(page: &mut Page, findings: &Findings, record: &Record) {
    let client = &findings.verdict.client;
    page.gap();
    let late = figure::seconds(client.lateness.p99);
    let used = figure::percent(client.cpu_max);
    page.labelled("generator", &format!("sent at most {late} late (p99); its busiest thread used {used} of a core"));
    if !client.valid {
        for sentence in says::sentences(findings, record) {
            page.paragraph(Tone::Doubtful, &sentence);
        }
    }
}
