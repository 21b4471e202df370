//! Servers compared, as they are told.

use std::collections::BTreeMap;

use genkai_model::finding::latencies::{
    CaseFinding, LatencyCaveat, LatencyContender, LatencyFinding, LatencyStanding, LatencyWorker, MessageLimit, Pause,
    Usage,
};
use genkai_model::finding::{Estimate, Outcome, RankedPair};
use genkai_model::latencies::{Case, Contender, LatencyComparison};
use genkai_model::record::Record;
use genkai_model::setting::Setting;
use genkai_model::units::{Bytes, Range, Span};
use genkai_report::document::Document;
use genkai_report::{json, schema, study, text};

fn estimate(value: f64) -> Estimate {
    Estimate { value, interval: Range { low: value * 0.9, high: value * 1.1 }, n: 10 }
}

fn standing(name: &str, seconds: f64, best: u32, worst: u32) -> LatencyStanding {
    LatencyStanding {
        name: name.to_owned(),
        figure: Some(estimate(seconds)),
        best,
        worst,
        rounds: Vec::new(),
        failed: 0,
        median: None,
        p99: None,
        clock_uncertainty: None,
    }
}

fn pair(faster: &str, slower: &str, ratio: f64, certain: bool) -> RankedPair {
    RankedPair {
        faster: faster.to_owned(),
        slower: slower.to_owned(),
        ratio: estimate(ratio),
        certain,
        more: None,
        clock_uncertainty: None,
    }
}

fn finding() -> LatencyFinding {
    let contender = |name: &str| Contender {
        name: name.to_owned(),
        server: name.to_owned(),
        settings: BTreeMap::new(),
        variant: false,
        reference: false,
    };
    let comparison = LatencyComparison {
        contenders: ["a", "b\u{1b}[31m", "c"].map(contender).to_vec(),
        clients: 1200,
        message: Bytes(128),
        sizes: vec![Bytes(4 << 20)],
        rounds: 10,
        warm_up: 10,
        starts: 1,
        timeout: Span::from_secs(10),
        seed: 1,
    };
    let receive = CaseFinding {
        case: Case::Receive,
        standings: vec![standing("a", 0.001, 1, 1), standing("b\u{1b}[31m", 0.002, 2, 3), standing("c", 0.0021, 2, 3)],
        pairs: vec![
            pair("a", "b\u{1b}[31m", 2.0, true),
            pair("a", "c", 2.1, true),
            pair("b\u{1b}[31m", "c", 1.05, false),
        ],
        told_apart: true,
        within_clocks: 0,
    };
    let large = CaseFinding {
        case: Case::Give { bytes: 4 << 20, binary: true },
        standings: vec![standing("a", 0.01, 1, 3), standing("c", 0.011, 1, 3)],
        pairs: vec![pair("a", "c", 1.1, false)],
        told_apart: false,
        within_clocks: 0,
    };
    LatencyFinding {
        comparison,
        contenders: vec![LatencyContender {
            name: "c".to_owned(),
            version: "C 1.2".to_owned(),
            settings: vec![Setting { name: "heap".to_owned(), value: "1g".to_owned(), default: false }],
            started: 1.5,
            pauses: vec![Pause { kind: "Pause Young".to_owned(), count: 3, total: 0.03, longest: 0.02 }],
            usage: Usage { cpu: 1.5, rss: 64 << 20, heap: Some(32 << 20), threads: 40, descriptors: Some(1210) },
        }],
        cases: vec![receive, large],
        limits: vec![MessageLimit {
            name: "c".to_owned(),
            kinds: vec!["text".to_owned(), "binary".to_owned()],
            taken: Some(8192),
            refused: 8193,
            code: Some(1009),
            proved: true,
            setting: Some("max-message".to_owned()),
            value: Some("8k".to_owned()),
            source: Some("Constants.java".to_owned()),
        }],
        caveats: vec![
            LatencyCaveat::OneStart,
            LatencyCaveat::Unanswered { name: "c".to_owned(), case: Case::Send, rounds: 1, code: Some(1001) },
        ],
        processes: Vec::new(),
        outcome: Outcome::Holds,
    }
}

pub(crate) fn document() -> Document {
    study::latencies(&Record::default(), &finding())
}

fn file() -> serde_json::Value {
    serde_json::from_str(&json::finding(&finding(), &document().sentences, &[])).unwrap()
}

fn schema(name: &str) -> serde_json::Value {
    let all = schema::all();
    serde_json::from_str(&all.iter().find(|(known, _)| *known == name).unwrap().1).unwrap()
}

#[test]
fn sentences_are_to_quote() {
    let value = file();
    let says: Vec<&str> = value["says"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert_eq!(
        says[..4],
        [
            "a is the fastest for certain in 1 of 2 cases; 1 not decided.",
            "One message to 1,200 clients, until the last has it: a 1 ms (1), b·[31m 2 ms (2-3), c 2.1 ms (2-3). No \
             measurable difference: b·[31m and c.",
            "4 MiB of binary to one client, until it has all: a 10 ms (1-3), c 11 ms (1-3). No two of them differ \
             measurably.",
            "c takes text and binary messages of 8,192 bytes; one of 8,193 bytes ends the connection with 1009, message too \
             big. That is its max-message, 8k (Constants.java); --server-set c.max-message=SIZE lifts it.",
        ]
    );
    assert_eq!(says[5], "c, send: 1 round without a whole answer (connections ended with 1001).");
}

/// The quotable sentences of a comparison.
fn sentences(finding: &LatencyFinding) -> Vec<String> {
    study::latencies(&Record::default(), finding).sentences
}

#[test]
fn one_server_beside_a_reference_is_not_the_fastest() {
    let mut finding = finding();
    finding.cases.truncate(1);
    let case = &mut finding.cases[0];
    case.standings = vec![standing("raw", 0.001, 0, 0), standing("a", 0.002, 1, 1)];
    case.pairs = vec![pair("raw", "a", 2.0, true)];
    let says = sentences(&finding);
    assert_eq!(says[0], "The only server that is ranked is a: how it compares with others is not known.");
    let told =
        "One message to 1,200 clients, until the last has it: raw 1 ms (reference), a 2 ms (no rank). They differ.";
    assert_eq!(says[1], told);
    let page = serde_json::to_string(&study::latencies(&Record::default(), &finding)).unwrap();
    assert!(!page.contains("fastest for certain") && !page.contains("2 ms (1)"), "{page}");
}

#[test]
fn of_one_case_none_is_counted() {
    let mut finding = finding();
    finding.cases.truncate(1);
    assert_eq!(sentences(&finding)[0], "a is the fastest for certain.");
    finding.cases[0].standings.iter_mut().for_each(|one| (one.best, one.worst) = (1, 3));
    assert_eq!(sentences(&finding)[0], "No server is the fastest for certain.");
}

#[test]
fn what_clocks_of_other_machines_leave_open_stands_beside_every_delay() {
    let mut finding = finding();
    let worker = |place: &str, clock: Option<f64>| LatencyWorker {
        place: place.to_owned(),
        node: None,
        clients: 600,
        clock_uncertainty: clock,
        clock_drift: clock.map(|_| 0.000_002),
        busy: 0.25,
    };
    finding.processes = vec![worker("load1\u{1b}[2J", Some(0.000_3)), worker("here", None)];
    let receive = &mut finding.cases[0];
    receive.standings.iter_mut().for_each(|one| one.clock_uncertainty = Some(0.000_3));
    receive.pairs.iter_mut().for_each(|pair| pair.clock_uncertainty = Some(0.000_6));
    receive.within_clocks = 1;
    finding.caveats = vec![LatencyCaveat::Clocks { case: Case::Receive, uncertainty: 0.000_3, undecided: 1 }];
    let document = study::latencies(&Record::default(), &finding);
    let answer = "a 1 ms (1), b·[31m 2 ms (2-3), c 2.1 ms (2-3); each may be wrong by up to 300 µs for the clocks of other machines.";
    assert!(document.sentences[1].contains(answer), "{:?}", document.sentences);
    let caveat = "receive: delays are between the server's clock and those of other machines, which may make a figure wrong by up to 300 µs. \
                  One pair of servers that differs by its figures is not told apart for that.";
    assert_eq!(document.sentences.last().map(String::as_str), Some(caveat));
    let shown = text::document(&document, text::Style::default());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["1 ms (900 µs-1.1 ms), n=10, clocks ± 300 µs", "clock known to 300 µs", "2 on this machine: 600 clients"]
    {
        assert!(words.contains(part), "{part}\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let page = serde_json::to_string(&document).unwrap();
    assert!(
        page.contains("clocks leave open") && page.contains("± 600 µs") && page.contains("2.1 ms ± 300 µs (2-3)"),
        "{page}"
    );
}

#[test]
fn the_terminal_shows_every_figure_and_no_command_of_a_server() {
    let shown = text::document(&document(), text::Style::default());
    assert!(!shown.contains('\u{1b}'), "{shown}");
    for part in
        ["2.1x (1.89-2.31)", "1.1x (0.99-1.21) ?", "C 1.2; listened after 1.5 s", "heap 1g", "Pause Young: 3 pauses"]
    {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn the_file_follows_its_schema() {
    let validator = jsonschema::draft202012::new(&schema("contest")).unwrap();
    let value = file();
    assert!(
        validator.is_valid(&value),
        "{:?}",
        validator.iter_errors(&value).map(|e| e.to_string()).collect::<Vec<_>>()
    );
    let mut other = value.clone();
    other["outcome"] = "magic".into();
    assert!(!validator.is_valid(&other));
}

#[test]
fn without_an_answer_that_is_said_first() {
    let unfinished = LatencyFinding { outcome: Outcome::Unfinished, ..finding() };
    let shown = text::document(&study::latencies(&Record::default(), &unfinished), text::Style::default());
    assert!(shown.starts_with("The run was cut off"), "{shown}");
}
