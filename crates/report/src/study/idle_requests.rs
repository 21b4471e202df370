//! Requests held open: the largest number that was borne, every number that was tried, what refuses.

use super::environment::{self, Asked};
use super::machines;
use super::rooms::{nodes, refusals};
use super::tune::client;
use crate::document::{
    Block, Cell, Chart, Document, Drawing, Kind, LimitRow, Part, Plot, Section, StepPoint, Steps, Style, Table, Tile,
    Tone, Tracks, sure,
};
use crate::{figure, words};
use genkai_model::finding::Outcome;
use genkai_model::finding::idle_requests::{IdleFinding, IdleLimit, IdleTrial};
use genkai_model::record::Record;

/// The answer, first sentence first.
fn sentences(finding: &IdleFinding) -> Vec<String> {
    let time = finding.time;
    let requests = |n: u32| figure::plural(u64::from(n), "request", "requests");
    let each = |n: u32| match finding.nodes {
        0 | 1 => String::new(),
        many => format!(" ({} a node)", figure::whole(f64::from(n) / f64::from(many))),
    };
    let on = nodes(finding.nodes);
    let mut all = Vec::new();
    match (finding.largest, finding.refused_from) {
        (Some(n), None) if finding.outcome == Outcome::Holds => {
            all.push(format!(
                "{on}: {} held open for {time} at once{}, none refused; more were not tried.",
                requests(n),
                each(n)
            ));
        }
        (Some(n), Some(m)) => {
            all.push(format!(
                "{on}: {} held open for {time} at once{}, none refused; of {} some are.",
                requests(n),
                each(n),
                figure::count(u64::from(m))
            ));
        }
        (None, Some(m)) => all.push(format!("{on}: even of {} held open for {time} some are refused.", requests(m))),
        _ => all.push("The run was cut off before there was an answer.".to_owned()),
    }
    if let Some(found) = finding.limits.first() {
        all.push(format!("What refuses: {}: {}.", limit(found), found.limit.caps));
    } else if finding.refused_from.is_some() {
        all.push("Nothing that was looked at names what refuses.".to_owned());
    }
    let decides = finding.trials.iter().find(|trial| Some(trial.requests) == finding.refused_from.or(finding.largest));
    if let Some(trial) = decides.filter(|trial| !trial.client.valid) {
        all.push(format!("The load generator was the limit: {}", client::reasons(&trial.client)));
    }
    all
}

/// Whose limit it is, and as what it is set.
fn limit(found: &IdleLimit) -> String {
    let limit = &found.limit;
    format!("{} {}", words::whose(&limit.subject), words::setting(&limit.setting, &limit.value))
}

/// What became of a trial's requests that were not answered.
fn refused(trial: &IdleTrial) -> String {
    if trial.refused.is_empty() { "none".to_owned() } else { words::errors(&trial.refused) }
}

/// The report.
pub fn idle_requests(record: &Record, finding: &IdleFinding) -> Document {
    let turned = match finding.outcome {
        Outcome::Holds => "none was refused",
        Outcome::Fails => "some are refused",
        Outcome::Invalid => "the load generator was the limit",
        Outcome::Unfinished => "unfinished",
    };
    let mut document = Document::of(finding.outcome, turned, sentences(finding));
    document.tone = Tone::of(finding.outcome);
    document.answer = document.beyond_headline(Style::Lead);
    document.answer.push(Block::Tiles { tiles: tiles(finding) });
    document.sections.push(search(finding));
    document.sections.extend(limits(finding));
    document.sections.extend(sure(machines::limited(&finding.processes)));
    document.sections.extend(environment::of(record, Asked::Load));
    document.sections.extend(machines::sections(&finding.processes));
    document.sections.extend(finding.limits.iter().map(limit_in_short));
    document.sections.push(in_short(finding));
    document
}

fn tiles(finding: &IdleFinding) -> Vec<Tile> {
    let count = |n: u32| figure::count(n.into());
    let held = finding.largest.map(|largest| {
        let each = f64::from(largest) / f64::from(finding.nodes.max(1));
        let each = if finding.nodes > 1 { format!("; {} a node", figure::whole(each)) } else { String::new() };
        Tile::new("Held at once", count(largest), format!("for {}, none refused{each}", finding.time))
    });
    let refused = finding.refused_from;
    let refused =
        refused.map(|n| Tile::new("Refused from", count(n), "the smallest number of which some were refused"));
    let trials = figure::count(finding.trials.len() as u64);
    let trials = Tile::new("Trials", trials, format!("on {}", nodes(finding.nodes)));
    held.into_iter().chain(refused).chain([trials]).collect()
}

fn search(finding: &IdleFinding) -> Section {
    let row = |trial: &IdleTrial| {
        let refused = if trial.is_borne() {
            Cell::styled(Style::Proved, "✓ none")
        } else {
            Cell::styled(Style::Refuted, refused(trial))
        };
        let counts = [u64::from(trial.requests), trial.at_once, trial.answered].map(|n| Cell::from(figure::count(n)));
        counts.into_iter().chain([refused, refusals(&trial.told).into()]).collect::<Vec<Cell>>()
    };
    let head = ["requests", "held at once", "answered", "refused or failed", "what the router says"];
    let table = Table::new("Requests held open", &head, finding.trials.iter().map(row)).kinds(Kind::Figure, 0..3);
    let lead = "Each trial holds so many requests open at the same time.";
    let section = Section::page(Part::Figure, "search", "The search", lead);
    section.with([Block::Chart(chart(&finding.trials))]).with(table.block())
}

/// Answered of each number that was tried, by number.
fn chart(trials: &[IdleTrial]) -> Chart {
    let mut sorted: Vec<&IdleTrial> = trials.iter().collect();
    sorted.sort_by_key(|trial| trial.requests);
    let requests = |trial: &IdleTrial| figure::count(trial.requests.into());
    let said = sorted.iter().map(|trial| {
        let answered = if trial.is_borne() { "all".to_owned() } else { figure::count(trial.answered) };
        format!("{}: {answered}", requests(trial))
    });
    let point = |trial: &&IdleTrial| StepPoint {
        x: requests(trial),
        y: trial.answered as f64,
        good: trial.is_borne(),
        label: None,
    };
    let rows = sorted.iter().map(|trial| [requests(trial), figure::count(trial.answered)]);
    let title = "Answered, by requests at once";
    let points = sorted.iter().map(point).collect();
    Chart {
        title: title.to_owned(),
        description: format!("{}.", said.collect::<Vec<_>>().join("; ")),
        numbers: Table::new(title, &["requests", "answered"], rows).kinds(Kind::Figure, 0..2),
        plot: Plot::Steps(Steps { x: "requests at once".to_owned(), y: "answered".to_owned(), most: None, points }),
    }
}

fn limits(finding: &IdleFinding) -> Option<Section> {
    let row = |found: &IdleLimit| LimitRow {
        setting: limit(found),
        met: true,
        notes: vec![found.limit.caps.clone(), format!("{} ({})", found.limit.formula, found.limit.source)],
        evidence: found.evidence.iter().map(super::tune::evidence).collect(),
        ..LimitRow::default()
    };
    let rows: Vec<LimitRow> = finding.limits.iter().map(row).collect();
    if rows.is_empty() {
        let nothing = Block::text("Nothing that was looked at names it.");
        return finding
            .refused_from
            .map(|_| Section::page(Part::Evidence, "limits", "What refuses", "").with([nothing]));
    }
    let lead = "As far as signs name it, the best founded first.";
    let tracks = Tracks { asked: None, key: None, rows, more: None, others: Vec::new() };
    Some(Section::page(Part::Evidence, "limits", "What refuses", lead).with([Block::Drawing(Drawing::Tracks(tracks))]))
}

fn limit_in_short(found: &IdleLimit) -> Section {
    let limit = &found.limit;
    let mut facts = vec![("formula", limit.formula.clone()), ("source", limit.source.clone())];
    facts.extend(found.evidence.iter().map(|evidence| ("evidence", super::tune::evidence(evidence))));
    Section::terminal(&format!("{} = {}", limit.setting, limit.value)).and_markdown().with([Block::facts(facts)])
}

fn in_short(finding: &IdleFinding) -> Section {
    let row = |trial: &IdleTrial| {
        let counts = [u64::from(trial.requests), trial.at_once, trial.answered].map(figure::count);
        counts.into_iter().chain([refused(trial)]).collect::<Vec<String>>()
    };
    let table =
        Table::new("Requests at once", &["requests", "at once", "answered", "refused"], finding.trials.iter().map(row));
    Section::terminal("Requests at once").and_markdown().with(table.block())
}
