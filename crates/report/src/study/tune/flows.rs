//! The steps and checks of a scenario.

use genkai_model::finding::{StepFinding, TrialFinding};
use genkai_model::flows::{CheckCount, Flows};

use crate::document::{Block, Section, Table, Tone};
use crate::{clean, figure};

/// What became of a scenario's flows, if the load had one.
pub(super) fn section(trial: &TrialFinding) -> Option<Section> {
    let flows = trial.flows.as_ref()?;
    let counts = &flows.counts;
    let messages = (counts.sent + counts.came > 0).then(|| {
        let unread =
            if counts.unread == 0 { String::new() } else { format!(", {} unread", figure::count(counts.unread)) };
        format!("{} sent, {} received{unread}", figure::count(counts.sent), figure::count(counts.came))
    });
    let facts = [("flows", runs(counts))].into_iter().chain(messages.map(|text| ("messages", text)));
    let head = ["step", "ok", "failed", "p50", "p95", "p99"];
    let table = Table::new("Steps of the scenario", &head, flows.steps.iter().map(step));
    let section = Section::terminal("Scenario").and_markdown();
    Some(section.with([Block::facts(facts), Block::Table(table)]).with(checks(counts)))
}

fn step(step: &StepFinding) -> Vec<String> {
    let failed = if step.failed == 0 { "-".to_owned() } else { figure::count(step.failed) };
    let timed = [step.took.p50, step.took.p95, step.took.p99].map(figure::seconds);
    // Sending has no duration of its own.
    let times = if step.took.count == 0 { ["-", "-", "-"].map(str::to_owned) } else { timed };
    [clean::line(&step.name), figure::count(step.ok), failed].into_iter().chain(times).collect()
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

fn checks(counts: &Flows) -> Vec<Block> {
    let (passed, failed) = counts.checks.iter().fold((0, 0), |(p, f), c| (p + c.passed, f + c.failed));
    let share = || figure::percent(failed as f64 / (passed + failed) as f64);
    let all = || format!("{} passed, {} failed ({})", figure::count(passed), figure::count(failed), share());
    let all = (passed + failed > 0).then(|| Block::fact("checks", all()));
    let one = |check: &CheckCount| {
        let (failed, all) = (figure::count(check.failed), figure::count(check.passed + check.failed));
        format!("{}: failed {failed} of {all} times", clean::line(&check.name))
    };
    let missed = (counts.missed > 0)
        .then(|| format!("{} not found", figure::plural(counts.missed, "value to capture", "values to capture")));
    let bad = counts.checks.iter().filter(|check| check.failed > 0).map(one).chain(missed);
    all.into_iter().chain(bad.map(|text| Block::toned(Tone::Bad, text))).collect()
}
