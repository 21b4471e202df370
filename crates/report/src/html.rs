//! The report as one HTML file that works offline: the page built from `page/` with this record's data inside.
//!
//! The data are the record's events and the findings, plus their words, so that the page words nothing itself and could
//! be fed the same events live. Left out is what would only be weight: the histograms of ticks, whose figures
//! `findings.series` carries, and most of a long trial's samples ([`thinned`]). The record has them all.

use std::collections::BTreeMap;

use genkai_model::event::{Event, RunStarted, Tick, What};
use genkai_model::evidence::Sample;
use genkai_model::finding::Findings;
use genkai_model::finding::cache::CacheFinding;
use genkai_model::finding::comparison::ComparisonFinding;
use genkai_model::finding::contest::ContestFinding;
use genkai_model::finding::idle_requests::{IdleFinding, IdleLimit, IdleTrial};
use genkai_model::finding::rooms::{RoomsFinding, RoomsRun};
use genkai_model::histogram::Payload;
use genkai_model::record::{Record, Trial};
use genkai_model::suite::SuiteFinding;
use serde_json::{Value, json};

use crate::says::way;
use crate::{says, words};

/// The built page; `build.rs` puts it there.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// What the data replace in it.
const PLACE: &str = "\"genkai-data-goes-here\"";

/// Version of the data inside the page.
pub const SCHEMA: &str = "genkai.page/1";

/// The whole report. Foreign text inside cannot end the script element it stands in.
pub fn page(record: &Record, findings: &Findings) -> String {
    PAGE.replacen(PLACE, &embedded(&data(record, findings)), 1)
}

/// The whole report of chat rooms.
pub fn rooms(record: &Record, findings: &Findings, rooms: &RoomsFinding) -> String {
    PAGE.replacen(PLACE, &embedded(&rooms_data(record, findings, rooms)), 1)
}

/// The data of the page of chat rooms: as [`data`], with `"rooms": {"finding", "said", "runs"}`; a run has its figures in words
/// and the stations of its messages.
pub fn rooms_data(record: &Record, findings: &Findings, rooms: &RoomsFinding) -> Value {
    let run = |run: &RoomsRun| {
        let stations = way::stations(run);
        json!({
            "trial": run.trial,
            "title": says::rooms::nodes(run.nodes),
            "score": says::rooms::score(run),
            "entries": says::rooms::entries(run),
            "generator": says::rooms::generator(run),
            "router": run.router.as_ref().map(says::rooms::router),
            "refused": words::errors(&run.refused),
            "way": way::line(&stations),
            "stations": stations,
            "missing": run.missing.iter().map(|placed| json!({ "count": placed.count, "place": says::rooms::place(placed) })).collect::<Vec<_>>(),
        })
    };
    let said = says::rooms::answer_first(rooms);
    let runs: Vec<Value> = rooms.runs.iter().map(run).collect();
    let mut data = data(record, findings);
    data["rooms"] = json!({ "finding": rooms, "said": said, "runs": runs });
    data
}

/// The whole report of requests held open.
pub fn held(record: &Record, findings: &Findings, held: &IdleFinding) -> String {
    PAGE.replacen(PLACE, &embedded(&held_data(record, findings, held)), 1)
}

/// The data of such a page: as [`data`], with `"held": {"finding", "said", "trials", "limits"}`; a trial has its refusals in words, a
/// limit what it is, its formula and its signs.
pub fn held_data(record: &Record, findings: &Findings, held: &IdleFinding) -> Value {
    let trial = |trial: &IdleTrial| {
        json!({
            "trial": trial.trial,
            "refused": says::held::refused(trial),
            "told": says::rooms::refusals(&trial.told),
        })
    };
    let limit = |found: &IdleLimit| {
        json!({
            "title": says::held::limit(found),
            "caps": found.limit.caps,
            "formula": found.limit.formula,
            "source": found.limit.source,
            "evidence": found.evidence.iter().map(says::evidence).collect::<Vec<_>>(),
        })
    };
    let mut data = data(record, findings);
    data["held"] = json!({
        "finding": held,
        "said": says::held::sentences(held),
        "trials": held.trials.iter().map(trial).collect::<Vec<_>>(),
        "limits": held.limits.iter().map(limit).collect::<Vec<_>>(),
    });
    data
}

/// The data of the page: `{"schema", "events", "findings", "said", "causes", "words", "metrics", "counted"}`; `counted` is what the load
/// counts and what failed of it, in words.
pub fn data(record: &Record, findings: &Findings) -> Value {
    json!({
        "counted": says::counted(findings, record),
        "schema": SCHEMA,
        "events": events(record),
        "findings": findings,
        "said": says::said(findings, record),
        "causes": says::causes(findings, record),
        "words": words::table(),
        "metrics": metrics(record),
    })
}

/// The report of a comparison of servers.
pub fn contest(record: &Record, finding: &ContestFinding) -> String {
    PAGE.replacen(PLACE, &embedded(&contest_data(record, finding)), 1)
}

/// The data of such a page: `{"schema", "head", "notes", "contest", "words"}`; `contest` is the finding.
pub fn contest_data(record: &Record, finding: &ContestFinding) -> Value {
    json!({
        "schema": SCHEMA,
        "head": record.head,
        "notes": record.remarks.iter().filter_map(note).collect::<Vec<_>>(),
        "contest": finding,
        "words": says::contest::words(finding),
    })
}

/// The report of a comparison of systems.
pub fn comparison(record: &Record, finding: &ComparisonFinding) -> String {
    PAGE.replacen(PLACE, &embedded(&comparison_data(record, finding)), 1)
}

/// The data of such a page: `{"schema", "head", "notes", "comparison", "words"}`; `comparison` is the finding.
pub fn comparison_data(record: &Record, finding: &ComparisonFinding) -> Value {
    json!({
        "schema": SCHEMA,
        "head": record.head,
        "notes": record.remarks.iter().filter_map(note).collect::<Vec<_>>(),
        "comparison": finding,
        "words": says::compare::words(finding),
    })
}

/// The report of a comparison of caches.
pub fn cache(record: &Record, finding: &CacheFinding) -> String {
    PAGE.replacen(PLACE, &embedded(&cache_data(record, finding)), 1)
}

/// The data of such a page: `{"schema", "head", "notes", "cache", "words"}`; `cache` is the finding.
pub fn cache_data(record: &Record, finding: &CacheFinding) -> Value {
    json!({
        "schema": SCHEMA,
        "head": record.head,
        "notes": record.remarks.iter().filter_map(note).collect::<Vec<_>>(),
        "cache": finding,
        "words": says::cache::words(finding),
    })
}

/// The report of an experiment of several runs; `head` is what its runs began with.
pub fn suite(head: &RunStarted, finding: &SuiteFinding) -> String {
    PAGE.replacen(PLACE, &embedded(&suite_data(head, finding)), 1)
}

/// The data of such a page: `{"schema", "head", "notes", "outcome", "suite", "words"}`; `suite` is the finding, `outcome` what it comes to.
/// What loads and objectives of single parts were is in their own reports.
pub fn suite_data(head: &RunStarted, finding: &SuiteFinding) -> Value {
    json!({
        "schema": SCHEMA,
        "head": head,
        "notes": [],
        "outcome": finding.outcome(),
        "suite": finding,
        "words": says::suite::words(finding),
    })
}

fn note(event: &Event) -> Option<&str> {
    if let What::Note(note) = &event.what { Some(&note.text) } else { None }
}

/// Words for every metric that was sampled.
fn metrics(record: &Record) -> BTreeMap<&str, String> {
    let samples = record.trials.iter().flat_map(|t| &t.samples);
    samples.flat_map(|(_, s)| s.metrics.keys()).map(|name| (name.as_str(), words::metric(name))).collect()
}

/// JSON that is inert inside a `<script>` element: no `<` (so no `</script` or `<!--`), no U+2028 or U+2029.
fn embedded(value: &Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// A record as events again, as far as the page shows them.
fn events(record: &Record) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    let event = |at_us, trial, what| Event { at_us, trial, what };
    all.extend(record.head.iter().map(|h| event(0, None, What::RunStarted(Box::new(h.clone())))));
    all.extend(record.remarks.iter().cloned());
    for t in &record.trials {
        trial_events(t, &mut all);
    }
    all.sort_by_key(|e| e.at_us);
    let last = all.last().map_or(0, |e| e.at_us);
    all.extend(record.end.iter().map(|e| event(last, None, What::RunEnded(e.clone()))));
    all
}

fn trial_events(t: &Trial, all: &mut Vec<Event>) {
    let mut push = |since: i64, what| {
        let at_us = t.at_us.saturating_add_signed(since);
        all.push(Event { at_us, trial: Some(t.number), what });
    };
    push(0, What::Limits(t.limits.clone()));
    push(0, What::TrialStarted(Box::new(t.started.clone())));
    for (since, sample) in thinned(&t.samples) {
        push(*since, What::Sample(sample.clone()));
    }
    for (since, line) in &t.logs {
        push(*since, What::Log(line.clone()));
    }
    for (since, state) in &t.states {
        push(*since, What::State(state.clone()));
    }
    for tick in &t.ticks {
        push(i64::try_from(tick.to_us).unwrap_or(i64::MAX), What::Tick(Box::new(without_histograms(tick))));
    }
    if let Some(ended) = &t.ended {
        push(i64::try_from(ended.lasted.0 / 1000).unwrap_or(i64::MAX), What::TrialEnded(ended.clone()));
    }
}

fn without_histograms(tick: &Tick) -> Tick {
    let none = Payload::default;
    Tick {
        latency: none(),
        service: none(),
        failed_after: none(),
        receipt: none(),
        connect: none(),
        lateness: none(),
        errors: tick.errors.clone(),
        statuses: tick.statuses.clone(),
        handshakes: None,
        flows: None,
        messages: tick.messages.clone(),
        deliveries: None,
        disconnects: None,
        ..*tick
    }
}

/// Most samples of one subject and trial that the page gets; a line has no more points to show.
const SAMPLES: usize = 100;

/// Every so many samples of each subject, the first and the last always: counters need both.
fn thinned(samples: &[(i64, Sample)]) -> Vec<&(i64, Sample)> {
    let mut of: BTreeMap<&str, Vec<&(i64, Sample)>> = BTreeMap::new();
    for sample in samples {
        of.entry(&sample.1.subject).or_default().push(sample);
    }
    of.into_values().flat_map(thin).collect()
}

fn thin(all: Vec<&(i64, Sample)>) -> Vec<&(i64, Sample)> {
    let (step, last) = (all.len().div_ceil(SAMPLES), all.len() - 1);
    all.into_iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, s)| s).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_exactly_one_place_for_data() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
    }

    #[test]
    fn long_trials_are_thinned_to_their_ends() {
        let sample =
            |i: i64| (i, Sample { subject: if i % 2 == 0 { "a" } else { "b" }.into(), metrics: BTreeMap::new() });
        let all: Vec<_> = (0..2001).map(sample).collect();
        let times: Vec<i64> = thinned(&all).iter().map(|s| s.0).collect();
        assert!(times.len() <= 2 * (SAMPLES + 1), "{}", times.len());
        for end in [0, 1, 1999, 2000] {
            assert!(times.contains(&end), "{end}");
        }
        assert_eq!(thinned(&all[..5]).len(), 5);
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn embedded_text_cannot_leave_its_element() {
        let out = embedded(&json!({ "log": "</script><script>alert(1)</script><!--\u{2028}" }));
        assert!(!out.contains('<') && !out.contains('\u{2028}'), "{out}");
        let back: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(back["log"], "</script><script>alert(1)</script><!--\u{2028}");
    }
}
