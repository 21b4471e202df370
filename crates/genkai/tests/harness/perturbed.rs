//! Findings of records with one value changed, and what is said of them then.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;

use genkai_analysis::{cache, compare, findings, idle_requests, latencies, rooms};
use genkai_model::finding::{Findings, Series, Verdict};
use genkai_model::record::{Record, Trial};
use genkai_report::document::Document;
use genkai_report::study;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value as Json};

use super::words::{Spoken, numbers};

/// A record, what was found in it, and how that is said.
pub struct Outputs {
    /// The record.
    record: Record,
    /// The finding, as it is written into `verdict.json`.
    pub finding: Json,
    words: Words,
}

/// A finding in words; none where a changed finding is none any more.
type Words = Box<dyn Fn(&Record, &Json) -> Option<Document>>;

/// A text of a document: where it stands, the texts that belong to it (titles, heads of columns, the row), the words.
#[derive(Clone, Debug)]
pub struct Text {
    /// The texts that belong to it.
    pub over: String,
    /// The words.
    pub words: String,
    /// Its numbers.
    pub numbers: Vec<Spoken>,
}

/// What is told of the record in a folder; none where nothing was seen.
pub fn told(folder: &Path) -> Option<Outputs> {
    let lines = std::fs::read_to_string(folder.join("run.jsonl")).unwrap();
    of(&lines)
}

/// What is told of the record of these lines.
pub fn of(lines: &str) -> Option<Outputs> {
    let mut record = Record::read(lines.lines()).unwrap();
    let (finding, words) = rooms::findings(&record)
        .map(|found| pair(&found, study::rooms))
        .or_else(|| idle_requests::findings(&record).map(|found| pair(&found, study::idle_requests)))
        .or_else(|| latencies::findings(&record).map(|found| pair(&found, study::latencies)))
        .or_else(|| compare::findings(&record).map(|found| pair(&found, study::compare)))
        .or_else(|| cache::findings(&record).map(|found| pair(&found, study::cache)))
        .unwrap_or_else(|| tuned(findings(&record)));
    record.trials.iter_mut().for_each(shorten);
    Some(Outputs { record, finding, words })
}

/// Of what is quoted from the record again and again, the first: all of it is worded alike.
const FIRST: usize = 12;

fn shorten(trial: &mut Trial) {
    let last = trial.samples.len().saturating_sub(1);
    let mut at = 0..;
    trial.samples.retain(|_| at.next().is_some_and(|i| i < FIRST || i == last));
    trial.logs.truncate(FIRST);
}

fn pair<T: Serialize + DeserializeOwned + 'static>(found: &T, words: fn(&Record, &T) -> Document) -> (Json, Words) {
    let of = move |record: &Record, json: &Json| {
        let found: T = serde_json::from_value(json.clone()).ok()?;
        Some(words(record, &found))
    };
    (serde_json::to_value(found).unwrap(), Box::new(of))
}

/// A search or a load: its verdict, and beside it what is drawn of it over time.
fn tuned(found: Findings) -> (Json, Words) {
    let Findings { verdict, mut series } = found;
    series.iter_mut().for_each(|one| one.points.truncate(FIRST));
    let mut tree = serde_json::to_value(verdict).unwrap();
    tree[OVER_TIME] = serde_json::to_value(series).unwrap();
    let of = move |record: &Record, json: &Json| {
        let verdict: Verdict = serde_json::from_value(json.clone()).ok()?;
        let series: Vec<Series> = serde_json::from_value(json[OVER_TIME].clone()).ok()?;
        Some(study::tune(record, &Findings { verdict, series }))
    };
    (tree, Box::new(of))
}

/// What is drawn over time, which is no part of a verdict.
const OVER_TIME: &str = "series";

impl Outputs {
    /// Every text of the document of `finding`, by its place; none where such a finding cannot be.
    fn texts(&self, record: &Record, finding: &Json) -> Option<BTreeMap<String, Text>> {
        let document = panic::catch_unwind(AssertUnwindSafe(|| (self.words)(record, finding))).ok()??;
        Some(texts(&document))
    }

    /// The document of the finding as it is.
    pub fn document(&self) -> Document {
        (self.words)(&self.record, &self.finding).unwrap()
    }
}

/// Every text of a document.
pub fn texts(document: &Document) -> BTreeMap<String, Text> {
    let mut tree = serde_json::to_value(document).unwrap();
    tree["sentences"] = document.sentences.clone().into();
    let mut all = BTreeMap::new();
    walk(&tree, "", "", &mut all);
    all
}

/// Fields that hold no words.
const SILENT: [&str; 12] =
    ["style", "kind", "mark", "block", "drawing", "plot", "href", "id", "tone", "dash", "call", "outcome"];
/// Fields that hold what is drawn.
const DRAWN: [&str; 4] = ["panes", "lanes", "points", "lines"];

fn walk(tree: &Json, path: &str, over: &str, all: &mut BTreeMap<String, Text>) {
    match tree {
        Json::String(words) => {
            let text = Text { over: over.to_owned(), words: words.clone(), numbers: numbers(words) };
            all.insert(path.to_owned(), text);
        }
        Json::Array(items) => {
            // Cells of a row, a label with its text: they belong to each other. Sentences beside each other do not.
            let row = items.iter().any(Json::is_string) && !path.ends_with("/items") && !path.ends_with("/sentences");
            let row: Vec<&str> = items.iter().filter(|_| row).filter_map(cell).collect();
            let over = format!("{over} | {}", row.join(" | "));
            for (i, item) in items.iter().enumerate() {
                let place = place(item).map_or_else(|| format!("{i:04}"), str::to_owned);
                walk(item, &format!("{path}/{place}"), &over, all);
            }
        }
        Json::Object(fields) => {
            let heads = fields.get("columns").map(heads).unwrap_or_default();
            let own = fields.iter().filter(|(name, _)| !SILENT.contains(&name.as_str()));
            let own: Vec<&str> = own.clone().filter_map(|(_, value)| value.as_str()).collect();
            let over = format!("{over} | {} | {heads}", own.join(" | "));
            let drawn = fields.get("plot").is_some();
            for (name, value) in fields {
                let skip = SILENT.contains(&name.as_str()) || DRAWN.contains(&name.as_str()) || drawn && name == "plot";
                if !skip {
                    walk(value, &format!("{path}/{name}"), &over, all);
                }
            }
        }
        _ => {}
    }
}

/// What a section or a gauge is called: others before it may come and go.
fn place(item: &Json) -> Option<&str> {
    let named = ["id", "metric", "title"].iter().filter_map(|name| item.get(name)?.as_str());
    named.filter(|_| item.get("blocks").is_some() || item.get("metric").is_some()).find(|name| !name.is_empty())
}

fn cell(item: &Json) -> Option<&str> {
    item.as_str().or_else(|| item.get("text")?.as_str())
}

/// The heads of a table's columns.
fn heads(columns: &Json) -> String {
    let all = columns.as_array().into_iter().flatten();
    all.filter_map(|one| one.get("name")?.as_str()).collect::<Vec<_>>().join(" | ")
}

/// A change of a finding or its record.
pub struct Change {
    /// Of what.
    pub address: String,
    /// What was there; none where it is no number.
    pub before: Option<f64>,
    /// What is there now.
    pub after: Option<f64>,
    /// Whether it is a text that changes.
    pub quotes: bool,
    finding: Json,
    record: Option<Record>,
}

impl Outputs {
    /// Each number changed, a little and much; each list without its last; each kind of event that words quote from.
    pub fn changes(&self) -> impl Iterator<Item = Change> + '_ {
        let mut all = Vec::new();
        leaves(&self.finding, "", &mut all);
        all.into_iter().flat_map(|(address, value)| self.changed(&address, &value)).chain(self.quoted())
    }

    fn changed(&self, address: &str, value: &Json) -> Vec<Change> {
        let change = |other: Json, before, after| Change {
            address: address.to_owned(),
            before,
            after,
            quotes: value.is_string(),
            finding: with(&self.finding, address, other),
            record: None,
        };
        match value {
            Json::Number(number) => {
                let others = others(number).into_iter().filter(|other| other != value);
                others.map(|other| change(other.clone(), number.as_f64(), other.as_f64())).collect()
            }
            Json::Array(items) => vec![change(items[..items.len() - 1].into(), None, None)],
            Json::String(text) if text.contains(|c: char| c.is_ascii_digit()) => {
                [2, 1].map(|times| change(counted_on(text, times).into(), None, None)).into()
            }
            Json::Bool(is) => vec![change((!is).into(), None, None)],
            _ => Vec::new(),
        }
    }

    /// The record with another plan, and other samples, log lines, states and notes.
    fn quoted(&self) -> Vec<Change> {
        let kinds: [(&str, Changing); 8] = [
            ("record: plan", |record| record.head = record.head.take().map(|head| bumped(&head))),
            ("record: notes", |record| record.remarks = record.remarks.iter().map(bumped).collect()),
            ("record: samples", |record| {
                let all = record.trials.iter_mut().flat_map(|trial| &mut trial.samples);
                all.flat_map(|one| one.1.metrics.values_mut()).for_each(|x| *x *= 1.5);
            }),
            ("record: samples, shifted", |record| {
                let all = record.trials.iter_mut().flat_map(|trial| &mut trial.samples);
                all.flat_map(|one| one.1.metrics.values_mut()).for_each(|x| *x += 1.0);
            }),
            ("record: samples, without one", |record| {
                let all = record.trials.iter_mut().flat_map(|trial| &mut trial.samples);
                all.for_each(|one| drop(one.1.metrics.pop_first()));
            }),
            ("record: log lines", |record| {
                let all = record.trials.iter_mut().flat_map(|trial| &mut trial.logs);
                all.for_each(|one| *one = (one.0 * 3 / 2 + 70_000, bumped(&one.1)));
            }),
            ("record: states", |record| {
                let all = record.trials.iter_mut().flat_map(|trial| &mut trial.states);
                all.for_each(|one| *one = (one.0 * 3 / 2 + 70_000, bumped(&one.1)));
            }),
            ("record: trials", |record| {
                for trial in &mut record.trials {
                    trial.started.changes = bumped(&trial.started.changes);
                    trial.number += 70;
                }
            }),
        ];
        let change = |(address, of): (&str, Changing)| {
            let mut record = self.record.clone();
            of(&mut record);
            let finding = self.finding.clone();
            Change {
                address: address.to_owned(),
                before: None,
                after: None,
                quotes: true,
                finding,
                record: Some(record),
            }
        };
        kinds.into_iter().map(change).collect()
    }
}

/// Changes what words quote of a record.
type Changing = fn(&mut Record);

/// The same with every number another one, also those in texts, as far as it can be so.
fn bumped<T: Serialize + DeserializeOwned>(one: &T) -> T {
    let mut tree = serde_json::to_value(one).unwrap();
    let mut all = Vec::new();
    leaves(&tree, "", &mut all);
    for (address, value) in all {
        let others: Vec<Json> = match &value {
            Json::Number(number) => others(number).into(),
            Json::String(text) => [2, 1].map(|times| counted_on(text, times).into()).into(),
            _ => continue,
        };
        let can =
            |other: Json| Some(with(&tree, &address, other)).filter(|t| serde_json::from_value::<T>(t.clone()).is_ok());
        tree = others.into_iter().find_map(can).unwrap_or(tree);
    }
    serde_json::from_value(tree).unwrap()
}

/// A text in which every number is another one.
fn counted_on(text: &str, times: u64) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(|c: char| !c.is_ascii_digit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_digit());
        let other = digits.parse::<u64>().ok().map(|n| n * times + times * 2 - 1);
        out += &other.map_or_else(|| digits.to_owned(), |n| n.to_string());
        out += &part[digits.len()..];
    }
    out
}

impl Change {
    /// What is said then; none where such a finding cannot be.
    pub fn said(&self, told: &Outputs) -> Option<BTreeMap<String, Text>> {
        told.texts(self.record.as_ref().unwrap_or(&told.record), &self.finding)
    }
}

/// Other numbers of the same kind, that look different however they are rounded.
fn others(number: &Number) -> [Json; 3] {
    match (number.as_u64(), number.as_f64()) {
        (Some(n), _) => [(n * 2 + 3).into(), (n + 1).into(), (n / 3).into()],
        (None, x) => {
            let x = x.unwrap_or_default();
            [(x * 1.5 + if x == 0.0 { 0.7 } else { 0.0 }).into(), (x * 1.013).into(), (x * 0.6).into()]
        }
    }
}

/// Where each number of a finding stands, each list, and each string.
pub fn leaves(tree: &Json, address: &str, all: &mut Vec<(String, Json)>) {
    match tree {
        Json::Object(fields) => {
            for (name, value) in fields {
                leaves(value, &format!("{address}/{}", name.replace('~', "~0").replace('/', "~1")), all);
            }
        }
        // What is drawn over time changes at all times at once.
        Json::Array(points) if address.ends_with("/points") => {
            let fields = points.first().and_then(Json::as_object).into_iter().flat_map(|one| one.keys());
            all.extend(fields.map(|name| (format!("{address}/*/{name}"), 1.into())));
        }
        Json::Array(items) => {
            all.extend((!items.is_empty()).then(|| (address.to_owned(), tree.clone())));
            items.iter().enumerate().for_each(|(i, item)| leaves(item, &format!("{address}/{i}"), all));
        }
        Json::Number(_) | Json::String(_) | Json::Bool(_) => all.push((address.to_owned(), tree.clone())),
        _ => {}
    }
}

/// The finding with another value at an address.
pub fn with(finding: &Json, address: &str, value: Json) -> Json {
    let mut changed = finding.clone();
    match address.split_once("/*/") {
        Some((points, field)) => {
            for one in changed.pointer_mut(points).and_then(Json::as_array_mut).into_iter().flatten() {
                if let Some(x) = one[field].as_f64() {
                    one[field] = (x * 1.5 + 0.7).into();
                }
            }
        }
        None => *changed.pointer_mut(address).unwrap() = value,
    }
    changed
}
