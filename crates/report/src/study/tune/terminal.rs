//! The verdict in short, for a terminal: the answer first, then why, the ladder, before and after, the limits.

use genkai_model::event::What;
use genkai_model::finding::{Cause, Caveat, Findings, Predicted, Proof, Verdict};
use genkai_model::record::Record;

use super::limits::{is_at_work, is_named, near, short_place, told_from};
use super::measures::{Measure, measures};
use super::proof::{Side, names};
use super::{About, said};
use crate::context::Context;
use crate::document::{Block, Section, Table, Tone};
use crate::{clean, figure, words};

/// Most predicted limits that are listed.
const LIMITS: usize = 12;

/// All but the change.
pub(super) fn sections(record: &Record, findings: &Findings, context: Context<'_>) -> Vec<Section> {
    let v = &findings.verdict;
    let title = |text: String| Section::terminal("").with([Block::toned(Tone::Quiet, text)]);
    let head = record.head.as_ref();
    let head = head.map(|head| title(format!("genkai {}: {}", head.version, clean::line(&head.plan.title))));
    let (mut last, mut facts) = (About::Answer, Vec::new());
    let mut sentences = said(findings, record).into_iter();
    let answer = sentences.next().map(|answer| Block::toned(Tone::of(v.outcome()), answer.text));
    for sentence in sentences {
        // The table below says the rest of the proof.
        if v.proof.is_some() && sentence.about == About::Proof && last == About::Proof {
            continue;
        }
        facts.push((if last == sentence.about { "" } else { sentence.about.label() }, sentence.text));
        last = sentence.about;
    }
    let noted = notes(record);
    let listed: Vec<_> = noted.iter().map(|note| ("Note", note.clone())).collect();
    let listed = (!noted.is_empty()).then(|| Section::markdown("Noted in the run").with([Block::facts(listed)]));
    facts.extend(noted.into_iter().map(|note| ("Note", note)));
    let proof = v.proof.as_ref().map(|proof| before_after(context, v, proof));
    let limits = predicted(context.closed(), &v.predictions, Tense::After, (&v.caveats, &v.causes));
    let first = [Section::terminal("").with(answer), Section::terminal("").with([Block::facts(facts)])];
    head.into_iter()
        .chain(first)
        .chain(super::ladder::section(findings, context))
        .chain(proof)
        .chain(limits)
        .chain(listed)
        .collect()
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

fn before_after(context: Context<'_>, v: &Verdict, p: &Proof) -> Section {
    let [before, after] = names(v, Side::Before);
    let pairs = figure::plural(p.pairs.into(), "pair", "pairs");
    let title = format!("Before ({before}) and after ({after}), {pairs} in the order {}", clean::line(&p.order));
    let rows = measures(context, p);
    let head = ["", "before", "after", "difference (95 % interval)"];
    let table = Table::new(&title, &head, rows.iter().map(Measure::in_short));
    Section::terminal(&title).and_markdown().with([Block::Table(table)])
}

/// Of a limit that was not met as it was predicted: others had been lifted before.
pub(super) const LATER: &str = "yes, with changes in place";

/// Whether limits are listed before a run or after it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tense {
    Before,
    After,
}

/// Predicted limits, the tightest first; after a run with where each was seen.
pub(crate) fn predicted(
    closed: bool,
    all: &[Predicted],
    tense: Tense,
    (caveats, causes): (&[Caveat], &[Cause]),
) -> Option<Section> {
    let (near, far) = near(all, caveats, causes);
    let row = |p: &&Predicted| {
        let name = format!("{} {}", words::subject(&p.subject), words::setting(&p.setting, &p.value));
        let held = p.observed.is_none() && is_at_work(p, caveats);
        let seen = match p.observed {
            None if held => "reached, but held".to_owned(),
            None if is_named(p, causes) => LATER.to_owned(),
            _ => outcome(p, closed, tense),
        };
        [name, short_place(p, closed), seen]
    };
    let (seen, what) = match tense {
        Tense::Before => ("reach", "Far beyond this load, or not predictable"),
        Tense::After => ("seen", "Not named, and far beyond this load or not predictable"),
    };
    let title = "Limits, predicted from the configuration";
    let table = Table::new(title, &["limit", "predicted at", seen], near.iter().take(LIMITS).map(row)).block();
    let more = (near.len() > LIMITS).then(|| format!("({} more, further away)", near.len() - LIMITS));
    let measured = near
        .iter()
        .take(LIMITS)
        .filter_map(|p| Some(format!("{}: {}.", words::setting(&p.setting, &p.value), told_from(p)?)));
    let quiet = measured.chain(more).chain(far.map(|far| format!("{what}: {far}.")));
    let quiet = quiet.map(|text| Block::toned(Tone::Quiet, text));
    Section::terminal(title).and_markdown().with(table).with(quiet).filled()
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
        // The prediction is shown as a rate, and what was seen is not one.
        (Some(seen), _, Tense::After) if closed && p.clients.is_none() && p.rate.is_some() => {
            format!("at {} users", figure::whole(seen))
        }
        (Some(seen), _, Tense::After) if p.users.is_none() && p.rate.is_none() => {
            format!("with {} in flight", figure::whole(seen))
        }
        (Some(seen), _, Tense::After) => format!("at {}", figure::whole(seen)),
        (_, true, Tense::Before) => "within this load".to_owned(),
        (None, _, Tense::Before) if unplaced(p) => "depends".to_owned(),
        (None, _, Tense::Before) if depends => "depends on the response time".to_owned(),
        (_, false, Tense::Before) => "beyond this load".to_owned(),
        // What was not found to be what broke may have been full all the same.
        (None, _, Tense::After) => "not named".to_owned(),
    }
}
