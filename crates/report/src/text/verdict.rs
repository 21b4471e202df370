//! The verdict for a terminal.

use genkai_model::event::What;
use genkai_model::finding::{Caveat, Findings, Outcome, Predicted, Proof, Verdict};
use genkai_model::record::Record;

use super::Style;
use super::page::Page;
use crate::context::Context;
use crate::document::Tone;
use crate::study::tune::{self, About, Measure};
use crate::{clean, figure, words};

/// Most predicted limits that are listed.
const LIMITS: usize = 12;

/// The verdict: the answer first, then why, before and after, the limits, the change as a diff.
pub fn verdict(record: &Record, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    let (context, v) = (Context::of(record), &findings.verdict);
    if let Some(head) = &record.head {
        page.paragraph(Tone::Quiet, &format!("genkai {}: {}", head.version, clean::line(&head.plan.title)));
        page.gap();
    }
    let (mut last, table) = (None, v.proof.is_some());
    for sentence in tune::said(findings, record) {
        if sentence.about == About::Answer {
            page.paragraph(tone(v.outcome), &sentence.text);
            page.gap();
            continue;
        }
        // The table below says the rest of the proof.
        if table && sentence.about == About::Proof && last == Some(About::Proof) {
            continue;
        }
        let label = if last == Some(sentence.about) { "" } else { sentence.about.label() };
        page.labelled(label, &sentence.text);
        last = Some(sentence.about);
    }
    for note in notes(record) {
        page.labelled("Note", &note);
    }
    if let Some(proof) = &v.proof {
        before_after(&mut page, context, v, proof);
    }
    limits(&mut page, context.closed(), &v.predictions, Tense::After, &v.caveats);
    if let Some(end) = record.end.as_ref().filter(|e| !e.diff.trim().is_empty()) {
        page.heading("The change");
        page.diff(&end.diff);
    }
    page.finish()
}

/// What the run noted for the reader, each once.
fn notes(record: &Record) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for event in &record.remarks {
        if let What::Note(note) = &event.what
            && !all.contains(&note.text)
        {
            all.push(note.text.clone());
        }
    }
    all
}

fn tone(outcome: Outcome) -> Tone {
    match outcome {
        Outcome::Holds => Tone::Good,
        Outcome::Fails => Tone::Bad,
        Outcome::Invalid | Outcome::Unfinished => Tone::Doubtful,
    }
}

fn before_after(page: &mut Page, context: Context<'_>, v: &Verdict, p: &Proof) {
    let [before, after] = tune::names(v, tune::Side::Before);
    let pairs = figure::plural(p.pairs.into(), "pair", "pairs");
    page.heading(&format!("Before ({before}) and after ({after}), {pairs} in the order {}", clean::line(&p.order)));
    let rows: Vec<Vec<String>> = tune::measures(context, p).iter().map(Measure::in_short).collect();
    page.table(&["", "before", "after", "difference (95 % interval)"], &rows);
}

/// Whether limits are listed before a run or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tense {
    Before,
    After,
}

/// Predicted limits, first to bite first; after a run with where each was seen.
pub(super) fn limits(page: &mut Page, closed: bool, predictions: &[Predicted], tense: Tense, caveats: &[Caveat]) {
    if predictions.is_empty() {
        return;
    }
    page.heading("Limits, predicted from the configuration");
    let (near, far) = tune::near(predictions, caveats);
    let rows: Vec<Vec<String>> = near
        .iter()
        .take(LIMITS)
        .map(|p| {
            vec![
                format!("{} {}", words::subject(&p.subject), words::setting(&p.setting, &p.value)),
                tune::short_place(p, closed),
                if tune::is_at_work(p, caveats) { "at work, but held".to_owned() } else { outcome(p, closed, tense) },
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.table(&["limit", "predicted at", if tense == Tense::After { "seen" } else { "reach" }], &rows);
    }
    if near.len() > LIMITS {
        page.paragraph(Tone::Quiet, &format!("({} more, further away)", near.len() - LIMITS));
    }
    if let Some(far) = far {
        let what = match tense {
            Tense::Before => "Far beyond this load, or not to be told beforehand",
            Tense::After => "No sign of, and far beyond this load or not to be told beforehand",
        };
        page.paragraph(Tone::Quiet, &format!("{what}: {far}."));
    }
}

/// Whether nothing could be said beforehand about where a limit bites.
fn unplaced(p: &Predicted) -> bool {
    p.clients.is_none() && p.users.is_none() && p.rate.is_none() && p.bytes.is_none()
}

fn outcome(p: &Predicted, closed: bool, tense: Tense) -> String {
    // Users reach a rate at a response time that only the run tells.
    let depends = unplaced(p) || (closed && p.clients.is_none() && p.users.is_none() && p.bytes.is_none());
    match (p.observed, p.within_load, tense) {
        // What counts neither clients nor users was only seen at them.
        (Some(_), _, Tense::After) if p.clients.is_none() && p.users.is_none() => "yes".to_owned(),
        (Some(seen), _, Tense::After) => format!("at {}", figure::whole(seen)),
        (_, true, Tense::Before) => "within this load".to_owned(),
        (None, _, Tense::Before) if unplaced(p) => "depends".to_owned(),
        (None, _, Tense::Before) if depends => "depends on the response time".to_owned(),
        (None, true, Tense::After) => "not seen".to_owned(),
        (None, false, Tense::After) if unplaced(p) => "not seen".to_owned(),
        (_, false, Tense::Before) => "beyond this load".to_owned(),
        (None, false, Tense::After) => "not reached".to_owned(),
    }
}
