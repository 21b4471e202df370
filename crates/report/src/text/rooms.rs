//! Chat rooms on a terminal.

use genkai_model::finding::Outcome;
use genkai_model::finding::rooms::{RoomsFinding, RoomsRun};

use super::Style;
use super::page::{Page, Tone};
use crate::figure;
use crate::says::rooms as says;

/// The answer and the figures of every run.
pub fn rooms(finding: &RoomsFinding, style: Style) -> String {
    let mut page = Page::new(style);
    let tone = match finding.outcome {
        Outcome::Holds => Tone::Good,
        Outcome::Fails => Tone::Bad,
        Outcome::Invalid | Outcome::Unfinished => Tone::Doubtful,
    };
    for sentence in says::sentences(finding) {
        page.paragraph(tone, &sentence);
    }
    if finding.runs.len() > 1 {
        sweep(&mut page, &finding.runs);
    }
    for run in &finding.runs {
        one(&mut page, run);
    }
    page.finish()
}

fn sweep(page: &mut Page, runs: &[RoomsRun]) {
    page.heading("Nodes and score");
    let row = |run: &RoomsRun| {
        vec![
            run.nodes.to_string(),
            figure::count(run.score),
            figure::percent(run.score as f64 / run.planned.max(1) as f64),
            figure::count(run.never_entered),
            figure::count(run.cuts.len() as u64),
            figure::seconds(run.latency.p99),
        ]
    };
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    page.table(&["nodes", "score", "of full", "never entered", "cut off", "p99 delivery"], &rows);
}

fn one(page: &mut Page, run: &RoomsRun) {
    page.heading(&format!("With {}", says::nodes(run.nodes)));
    let full = run.rooms.iter().filter(|score| **score == run.full).count() as u64;
    let (least, most) = (run.rooms.iter().min().copied(), run.rooms.iter().max().copied());
    let spread = format!("from {} to {}", figure::count(least.unwrap_or(0)), figure::count(most.unwrap_or(0)));
    let rooms = figure::count(run.rooms.len() as u64);
    page.labelled("rooms", &format!("{} of {rooms} full; scores {spread}", figure::count(full)));
    page.labelled("entered", &says::entries(run));
    page.labelled("sent", &format!("{} of {}", figure::count(run.sent), figure::count(run.planned)));
    let heard = [
        ("lost", run.lost),
        ("duplicated", run.duplicated),
        ("out of order", run.reordered),
        ("in a wrong room", run.foreign),
    ];
    let heard = heard.map(|(what, n)| format!("{} {what}", figure::count(n))).join(", ");
    page.labelled("heard", &format!("{} deliveries, {heard}", figure::count(run.delivered)));
    let latency = &run.latency;
    let [p50, p99, max] = [latency.p50, latency.p99, latency.max].map(figure::seconds);
    page.labelled("delivery", &format!("{p50} (p50), {p99} (p99), {max} (max), from the planned instant"));
    if !run.cuts.is_empty() {
        page.labelled("cut off", &format!("{} connections before the end", figure::count(run.cuts.len() as u64)));
    }
    for placed in &run.losses {
        page.labelled("lost", &format!("{} deliveries {}", figure::count(placed.count), says::place(placed)));
    }
    if let Some(router) = &run.router {
        page.labelled("router", &says::router(router));
    }
    page.labelled("generator", &says::generator(run));
}
