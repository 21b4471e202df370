//! Systems compared, as they are told.

use genkai_model::claim::{Claim, LoadTest, Promise, Promised, Test};
use genkai_model::comparison::{Comparison, Contender, Runs};
use genkai_model::event::Rewrite;
use genkai_model::figure::Figure;
use genkai_model::finding::claim::{ClaimFinding, ClaimVerdict, KeptPromise};
use genkai_model::finding::comparison::{
    ComparedContender, ComparedFigure, ComparedPair, ComparisonCaveat, ComparisonFinding, Ended, Stress, TurnFinding,
};
use genkai_model::finding::{Call, Effect, Estimate, Outcome};
use genkai_model::plan::System;
use genkai_model::record::Record;
use genkai_model::setting::Setting;
use genkai_model::units::{Range, Span};
use genkai_report::document::Document;
use genkai_report::{csv, html, json, markdown, schema, study, text};

use crate::fixture;

fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, interval: Range { low, high }, n: 6 }
}

pub(crate) fn effects() -> Vec<Effect> {
    let seen =
        |figure, value, low, high, call| Effect { figure, effect: Some(estimate(value, low, high)), bound: None, call };
    vec![
        seen(Figure::Failures, -0.173, -0.194, -0.153, Call::Better),
        seen(Figure::Throughput, 1.82, 1.52, 2.18, Call::Better),
        seen(Figure::P50, 1.1, 0.923, 1.32, Call::CannotTell { more: Some(5) }),
        seen(Figure::P95, 1.01, 0.98, 1.04, Call::Same),
        seen(Figure::P99, 1.2, 0.7, 2.1, Call::CannotTell { more: None }),
        seen(Figure::Max, 1.0, 0.99, 1.01, Call::Same),
        Effect { figure: Figure::Cpu, effect: None, bound: None, call: Call::Missing },
        seen(Figure::Memory, 1.07, 1.05, 1.09, Call::Worse),
    ]
}

fn subject(name: &str, values: [f64; 8]) -> ComparedContender {
    let figures = Figure::ALL.iter().zip(values).map(|((figure, _), value)| ComparedFigure {
        figure: *figure,
        value: Some(estimate(value, value * 0.9, value * 1.1)),
        bound: None,
        best: 1,
        worst: 2,
    });
    ComparedContender {
        name: name.to_owned(),
        version: "nginx 1.22.1".to_owned(),
        settings: vec![Setting { name: "worker_connections".to_owned(), value: "64".to_owned(), default: false }],
        rewrites: Vec::new(),
        figures: figures.collect(),
        errors: Vec::new(),
        held: 3,
        turns: 6,
        warm_up: Some(0.2),
        dropped: false,
    }
}

pub(crate) fn finding() -> ComparisonFinding {
    let runs = || Runs::Server { system: Box::new(System::generated("nginx")), changes: Vec::new() };
    let contender = |name: &str| Contender { name: name.to_owned(), runs: runs() };
    let other = "w|\u{1b}[31m";
    let turn = |contender: &str, block, control| TurnFinding {
        trial: block,
        contender: contender.to_owned(),
        block,
        place: 1,
        control,
        counts: true,
        finished: 1000,
        failed: 10,
        due: None,
        paced: 0,
        steady_after: Some(0.1),
        busy: None,
        values: vec![Some(0.01), Some(100.0), None, None, None, None, None, None],
        bounds: Vec::new(),
    };
    ComparisonFinding {
        comparison: Comparison {
            contenders: vec![contender("baseline"), contender(other)],
            base: Some("baseline".to_owned()),
            control: true,
            ramp: Span::from_millis(500),
            hold: Span::from_secs(2),
            looks: vec![4, 6],
            margin: 0.05,
            deciding: vec![Figure::Failures, Figure::Throughput, Figure::P50],
            seed: 1,
            claim: None,
        },
        blocks: 6,
        alpha: 0.05,
        each: 0.002,
        processes: Vec::new(),
        ended: Ended::Planned,
        contenders: vec![
            subject("baseline", [0.173, 1310.0, 0.0221, 0.0268, 0.0315, 0.0347, 56e-6, 11e6]),
            subject(other, [0.0, 2380.0, 0.0244, 0.0314, 0.0382, 0.0429, 50e-6, 12e6]),
        ],
        pairs: vec![ComparedPair { base: "baseline".to_owned(), other: other.to_owned(), effects: effects() }],
        control: Some(ComparedPair { base: "baseline".to_owned(), other: "baseline".to_owned(), effects: Vec::new() }),
        stress: Stress { anybody: true, busiest: Some(0.23), who: Some("baseline".to_owned()) },
        turns: vec![turn("baseline", 1, false), turn("a,\"b\"", 1, true)],
        caveats: vec![ComparisonCaveat::NotSteady { name: "baseline".to_owned(), turns: 4, of: 6 }],
        claim: None,
        outcome: Outcome::Fails,
    }
}

pub(crate) fn document(finding: &ComparisonFinding) -> Document {
    study::compare(&Record::default(), finding)
}

fn file(finding: &ComparisonFinding) -> serde_json::Value {
    serde_json::from_str(&json::finding(finding, &document(finding).sentences, &[])).unwrap()
}

pub(crate) fn schema(name: &str) -> serde_json::Value {
    let all = schema::all();
    serde_json::from_str(&all.iter().find(|(known, _)| *known == name).unwrap().1).unwrap()
}

pub(crate) fn says(finding: &ComparisonFinding) -> Vec<String> {
    let value = file(finding);
    serde_json::from_value(value["says"].clone()).unwrap()
}

#[test]
fn sentences_are_to_quote() {
    assert_eq!(
        says(&finding()),
        [
            "w|·[31m beside baseline: better in failures -17.3 points (interval -19.4 to -15.3), throughput x1.82 (interval \
             1.52-2.18); worse in memory x1.07 (interval 1.05-1.09); no measurable difference in p95 latency, a turn's longest latency; \
             cannot tell about p50 latency, p99 latency.",
            "Control: baseline against itself shows no difference, as it must.",
            "After 6 blocks, as many as were planned. The confidence intervals hold together with 95 %, all 7 statements and every look at the data \
             counted; less than 5 % either way is no difference that matters; to decide every deciding figure would take about --blocks 11.",
            "baseline was busiest: 23 % of the servers' cores, or of the one that a worker can use.",
            "baseline: in 4 of 6 turns no steady state was reached; a longer --hold might give other figures.",
        ]
    );
    let mut idle = finding();
    idle.comparison.base = None;
    idle.stress.anybody = false;
    let said = says(&idle);
    assert!(
        !said[0].contains("stressed") && said.iter().any(|one| one.starts_with("No contender was stressed")),
        "{said:?}"
    );
    let mut silent = finding();
    let effects = silent.pairs.iter_mut().flat_map(|pair| &mut pair.effects);
    effects.for_each(|effect| (effect.effect, effect.call) = (None, Call::Missing));
    silent.caveats = vec![ComparisonCaveat::Unanswered { base: "a".to_owned(), other: "b".to_owned() }];
    let said = says(&silent);
    assert!(said[0].starts_with("No request of any of them succeeded"), "{said:?}");
    assert!(said.iter().any(|one| one.contains("neither of a nor of b")), "{said:?}");
    let mut cut = finding();
    (cut.blocks, cut.outcome) = (1, Outcome::Unfinished);
    assert!(says(&cut)[0].contains("nothing to compare"), "{:?}", says(&cut));
}

#[test]
fn addresses_are_told_as_what_they_are() {
    let mut stand = finding();
    for one in &mut stand.comparison.contenders {
        one.runs = Runs::Url("http://127.0.0.1:1".to_owned());
    }
    for effect in stand.pairs[0].effects.iter_mut().filter(|effect| effect.figure.ages()) {
        (effect.effect, effect.call) = (None, Call::NotJudged);
    }
    let names = vec!["one".to_owned(), "two".to_owned()];
    stand.caveats = vec![
        ComparisonCaveat::NotRestarted { names },
        ComparisonCaveat::Paced { name: "two".to_owned(), paced: 1_200 },
        ComparisonCaveat::Retried { name: "two".to_owned(), retried: 2_100 },
        ComparisonCaveat::HiddenErrors { name: "two".to_owned(), responses: 5_000, hidden: 1_250 },
    ];
    let said = says(&stand);
    assert!(said[0].contains("; not judged: CPU per request, memory."), "{said:?}");
    let standing = said.iter().find(|one| one.starts_with("one, two: genkai did not start them")).expect("said");
    assert!(standing.contains("CPU per request and memory change with age and are not judged"), "{standing}");
    let paced = "two: after 1,200 failures the user waited until 100 ms after the request was planned; without these pauses \
                 users ask more often.";
    assert!(said.iter().any(|one| one == paced), "{said:?}");
    let again = "two: in its turns that count, 2,100 requests made again on a new connection: ";
    assert!(said.iter().any(|one| one.starts_with(again)), "{said:?}");
    let hidden = said.iter().find(|one| one.contains("in the place of an error")).expect("said");
    assert!(hidden.starts_with("Of 5,000 requests") && hidden.contains("two sent 1,250 another answer"), "{hidden}");
    assert!(hidden.ends_with("Failures are compared as clients saw them."), "{hidden}");
    let together = said.iter().find(|one| one.contains("hold together")).expect("said");
    assert!(together.contains("all 6 statements"), "only what has an interval is one: {together}");
    let page = html::page(None, &document(&stand));
    assert!(!page.contains("started anew") && page.contains("of servers that were not restarted"));
}

#[test]
fn the_terminal_shows_every_figure_and_no_command_of_a_name() {
    let shown = text::document(&document(&finding()), text::Style::default());
    assert!(!shown.contains('\u{1b}'), "{shown}");
    for part in [
        "1,310/s",
        "2,380/s",
        "56 µs",
        "cannot tell (about 5 more blocks needed)",
        "worker_connections 64",
        "nothing to compare",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}

#[test]
fn markdown_is_a_table_that_no_name_breaks() {
    let shown = markdown(&document(&finding()));
    assert!(shown.starts_with("**w|·\\[31m beside baseline"), "{shown}");
    assert!(shown.contains("| throughput | 1,310/s | 2,380/s |\n"), "{shown}");
    assert!(shown.contains("| p95 latency | x1.01 | 0.98-1.04 | no measurable difference |\n"), "{shown}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(shown.lines().filter(|l| l.starts_with('|')).all(|l| [4, 5].contains(&bars(l))), "{shown}");
}

#[test]
fn what_a_private_copy_differs_in_is_in_every_form() {
    let mut finding = finding();
    let (place, from, to) = ("/u/squid.conf:3".to_owned(), "http_port 80 accel".to_owned(), String::new());
    finding.contenders[0].rewrites = vec![Rewrite { place, from, to }];
    let said = "1 line of squid.conf differs in its private copy";
    let shown = text::document(&document(&finding), text::Style::default());
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches(&format!("{said}: see the report")).count(), 1, "{shown}");
    let shown = markdown(&document(&finding));
    assert!(shown.contains(&format!("- copy: {said}\n")), "{shown}");
    assert!(shown.contains("| /u/squid.conf:3 | http\\_port 80 accel |"), "{shown}");
    let value: serde_json::Value = file(&finding);
    assert_eq!(value["subjects"][0]["rewrites"][0]["from"], "http_port 80 accel");
    assert!(value["subjects"][1].get("rewrites").is_none(), "{value}");
}

#[test]
fn raw_data_are_a_line_a_turn() {
    let shown = csv::turns(&finding());
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[0],
        "trial,block,place,contender,control,counts,finished,failed,steady_after,busy,failures,throughput,p50,p95,p99,max,cpu,memory"
    );
    assert_eq!(lines[1], "1,1,1,baseline,false,true,1000,10,0.1,,0.01,100,,,,,,");
    assert!(lines[2].contains(",\"a,\"\"b\"\"\",true,"), "{}", lines[2]);
}

#[test]
fn the_file_follows_its_schema() {
    let validator = jsonschema::draft202012::new(&schema("comparison")).unwrap();
    let mut value: serde_json::Value = file(&finding());
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let back: ComparisonFinding = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(back, finding());
    value["pairs"][0]["effects"][0]["call"] = "perhaps".into();
    assert!(!validator.is_valid(&value));
}

pub(crate) fn claim(test: Test, verdict: ClaimVerdict, kept: Vec<KeptPromise>, said: &[&str]) -> ClaimFinding {
    let system = fixture::plan().system;
    ClaimFinding {
        claim: Claim {
            name: "n".to_owned(),
            advice: "Raise X | Y.".to_owned(),
            read: "an article".to_owned(),
            system,
            test,
        },
        verdict,
        kept,
        said: said.iter().map(|words| (*words).to_owned()).collect(),
        server: "apache 2.4.71".to_owned(),
        blocks: 6,
    }
}

#[test]
fn claims_are_told_with_promise_measurement_and_verdict() {
    let promise = Promise { figure: Figure::P95, becomes: Promised::Better };
    let effect = effects().into_iter().find(|effect| effect.figure == Figure::P95);
    let test = LoadTest {
        changes: vec!["X 1 -> 2".to_owned()],
        load: fixture::plan().load,
        hold: None,
        objective: Default::default(),
        promises: vec![promise],
    };
    let refuted = claim(
        Test::Load(Box::new(test)),
        ClaimVerdict::Refuted,
        vec![KeptPromise { promise, effect, kept: Some(false) }],
        &["AH00515: decreasing to 400"],
    );
    let open = KeptPromise { kept: None, ..refuted.kept[0].clone() };
    let open = ClaimFinding { verdict: ClaimVerdict::CannotTell, kept: vec![open], ..refuted.clone() };
    let shown = markdown(&study::claims(&[open]));
    assert!(shown.contains("which does not decide it: nobody was stressed"), "{shown}");
    let odd = claim(Test::Line("Z On".to_owned()), ClaimVerdict::Warned, Vec::new(), &["Z is old"]);
    let shown = markdown(&study::claims(&[odd]));
    assert!(shown.contains("The server's own check says: Z is old | accepted with a warning |"), "{shown}");
    let gone = claim(Test::Line("Y On".to_owned()), ClaimVerdict::DoesNotExist, Vec::new(), &["Invalid command 'Y'"]);
    let shown = markdown(&study::claims(&[refuted.clone(), gone]));
    assert!(shown.contains("| Raise X \\| Y. | X 1 -> 2 | p95 latency: promised better, measured x1.01 (interval 0.98-1.04), no measurable difference. | refuted | apache 2.4.71, 6 blocks of baseline and change; the server warns: AH00515: decreasing to 400 | an article |"), "{shown}");
    assert!(shown.contains("| Y On | The server's own check says: Invalid command 'Y' | does not exist |"), "{shown}");
    let shown = text::document(&study::claims(&[refuted]), text::Style::default());
    assert!(shown.contains("n: refuted") && shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
}
