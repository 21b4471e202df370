//! Figures for a paper: the drawings of every document as SVG, their numbers as CSV.

use genkai_report::document::Document;
use genkai_report::{study, svg};

use super::files::tuned;
use super::{cache, compare, latencies};
use crate::fixture;

/// A document of each study that draws something.
fn studies() -> Vec<(&'static str, Document)> {
    vec![
        ("tune", tuned(&fixture::experiment(2.0))),
        ("rooms", study::rooms(&fixture::experiment(2.0).record, &fixture::rooms::finding())),
        ("idle requests", study::idle_requests(&fixture::experiment(2.0).record, &fixture::idle_requests::finding())),
        ("compare", compare::document(&compare::finding())),
        ("latencies", latencies::document()),
        ("cache", cache::document(&cache::finding(false))),
    ]
}

#[test]
fn the_figure_is_well_formed_and_marks_the_break() {
    for (name, s) in fixture::stories::all() {
        let figures = svg::figures(s.record.head.as_ref(), &tuned(&s));
        let parsed: Vec<_> = figures.iter().map(|figure| roxmltree::Document::parse(&figure.svg)).collect();
        let all: Vec<String> =
            parsed.iter().map(|doc| words(doc.as_ref().unwrap_or_else(|e| panic!("{name}: {e}")))).collect();
        let load = all.iter().position(|words| words.contains("Requests and failures over time")).unwrap();
        assert_eq!(
            all[load].contains("break: 243 users"),
            !["holds", "no_headroom"].contains(&name),
            "{name}: {all:?}"
        );
        for wanted in ["failures/s", "time since the load began (s)", "users (right axis)"] {
            assert!(all[load].contains(wanted), "{name}: {wanted}");
        }
        let doc = parsed[load].as_ref().unwrap();
        let dashes: Vec<_> = doc.descendants().filter_map(|n| n.attribute("stroke-dasharray")).collect();
        assert!(dashes.len() >= 4, "{name}: lines are told apart by dash: {dashes:?}");
        let numbers = figures[load].csv.as_ref().unwrap();
        assert!(numbers.starts_with("seconds,successful/s,failures/s,users\n"), "{name}: {numbers}");
        let limits =
            all.iter().find(|words| words.contains("worker_connections = ") && words.contains("load asked for"));
        assert!(limits.is_some(), "{name}: limits are drawn: {all:?}");
    }
}

fn words(doc: &roxmltree::Document<'_>) -> String {
    doc.descendants().filter_map(|n| n.text()).collect::<Vec<_>>().join("\n")
}

/// Whatever a study draws, each drawing is a well-formed file that says what it shows, and what is doubtful stands on top of each.
#[test]
fn every_study_has_its_figures() {
    for (name, document) in studies() {
        let doubtful = Document { doubts: vec!["the record was cut off".to_owned()], ..document };
        let figures = svg::figures(None, &doubtful);
        assert!(!figures.is_empty(), "{name}");
        for figure in figures {
            let doc = roxmltree::Document::parse(&figure.svg).unwrap_or_else(|e| panic!("{name}: {e}"));
            let said = words(&doc);
            assert!(said.contains("the record was cut off"), "{name}: {said}");
            assert!(!figure.svg.contains("NaN"), "{name}");
        }
    }
}

#[test]
fn a_hostile_or_empty_record_still_makes_a_figure() {
    let mut s = fixture::experiment(2.0);
    let head = s.record.head.as_mut().unwrap();
    head.plan.title = "<script>&\"\u{0}\u{fffe}]]></script>".into();
    let well_formed = |s: &fixture::Sample| {
        let figures = svg::figures(s.record.head.as_ref(), &tuned(s));
        figures.iter().for_each(|figure| drop(roxmltree::Document::parse(&figure.svg).unwrap()));
        figures.len()
    };
    assert!(well_formed(&s) > 0);
    s.findings.series[0].points.iter_mut().for_each(|p| p.ok = f64::NAN);
    assert!(well_formed(&s) > 0);
    s.findings.series.clear();
    well_formed(&s);
}
