//! What is said of caches: sentences, tables, and files that are what their schemas say.

use genkai_model::cache::{Conformance, Kept, OwnCounts, Rule, Warmth};
use genkai_model::content::WrongBody;
use genkai_model::event::Pinning;
use genkai_model::finding::cache::{
    BestRate, CacheCaveat, CacheContender, CacheFinding, CacheRound, CacheStanding, Cost, Flow, PassFinding,
    RateFinding, RateRepeat, Settling, Trouble,
};
use genkai_model::finding::{Estimate, Outcome, Quantiles, RankedPair};
use genkai_model::record::Record;
use genkai_model::units::{Bytes, Range};
use genkai_report::document::Document;
use genkai_report::{html, json, markdown, schema, study, text};

fn estimate(value: f64) -> Estimate {
    Estimate { value, interval: Range { low: value * 0.9, high: value * 1.1 }, n: 3 }
}

fn standing(name: &str, rate: f64, (best, worst): (u32, u32)) -> CacheStanding {
    CacheStanding {
        name: name.to_owned(),
        rate: Some(estimate(rate)),
        best,
        worst,
        rounds: vec![CacheRound { round: 1, trial: 1, rate }],
        latency: Quantiles { count: 1_500, p50: 0.002, p99: 0.01, ..Quantiles::default() },
        requests: 1_500,
        within_second: 1_499,
        errors: vec![],
        own: Some(OwnCounts { hits: 1_200, misses: 300 }),
        origin: 300,
        connects: 16,
        bytes_in: 1,
        bytes_out: 1,
        busy: 0.9,
        client: 0.4,
        client_limited: 0,
        settling: Settling { settled: 3, never: 1, short: 0, after: Some(0.04), rate: None },
        flow: Flow { received: 3e6, sent: 1e5 },
        cost: Cost { cpu: 0.000_12, memory: 5e6, ..Cost::default() },
    }
}

/// Two that cannot be told apart, the second of which the client held up in the last round.
fn rates() -> RateFinding {
    let repeat = |round, client_limited: bool| RateRepeat {
        round,
        holds: Some(3_000.0),
        fails: (!client_limited).then_some(3_300.0),
        loads: 3,
        client_limited,
    };
    let held = |name: &str, rate: f64, limited: bool| BestRate {
        name: name.to_owned(),
        rate: Some(estimate(rate)),
        best: 1,
        worst: 2,
        repeats: vec![repeat(1, false), repeat(2, false), repeat(3, limited)],
    };
    let pair = RankedPair {
        faster: "a|b".into(),
        slower: "\u{1b}[2Jc".into(),
        ratio: estimate(1.05),
        certain: false,
        more: Some(7),
        clock_uncertainty: None,
    };
    let standings = vec![held("a|b", 3_150.0, false), held("\u{1b}[2Jc", 3_000.0, true)];
    RateFinding { warmth: Warmth::Warm, standings, pairs: vec![pair], loads: 18, unsettled: 9 }
}

pub(crate) fn finding(stressed: bool) -> CacheFinding {
    let ranks = if stressed { [(1, 1), (2, 2)] } else { [(1, 2), (1, 2)] };
    let standings = vec![standing("a|b", 4_000.0, ranks[0]), standing("\u{1b}[2Jc", 2_000.0, ranks[1])];
    let pair = RankedPair {
        faster: "a|b".into(),
        slower: "c".into(),
        ratio: estimate(2.0),
        certain: stressed,
        more: None,
        clock_uncertainty: None,
    };
    let conformance = Conformance {
        contender: "c".to_owned(),
        rule: Rule::Freshness,
        verdict: Kept::Broken,
        seen: "the same again".to_owned(),
    };
    let participant = |name: &str| CacheContender {
        name: name.to_owned(),
        version: "1.2".to_owned(),
        store: "memory".to_owned(),
        settings: vec![],
        limits: vec![],
        started: 0.1,
        conformance: vec![conformance.clone()],
    };
    let wrong = WrongBody { asked: 3, came: Some(5), due: 10, bytes: 12 };
    CacheFinding {
        objects: 1_500,
        requests: 500,
        clients: 16,
        offered: None,
        objective: "p99 < 100ms".to_owned(),
        memory: Bytes(64 << 20),
        disk: Bytes(256 << 20),
        pinning: Some(Pinning { servers: vec![0], client: vec![1] }),
        contenders: vec![participant("a|b"), participant("\u{1b}[2Jc")],
        passes: vec![PassFinding { warmth: Warmth::Warm, standings, pairs: vec![pair], stressed }],
        best_rates: vec![rates()],
        mounts: vec![],
        processes: vec![],
        troubles: vec![
            Trouble::WrongBodies { name: "c".to_owned(), count: 2, first: Some(wrong), trial: 4 },
            Trouble::Rule(conformance),
        ],
        caveats: vec![CacheCaveat::SharedCores { cores: 1 }],
        outcome: Outcome::Fails,
    }
}

pub(crate) fn document(finding: &CacheFinding) -> Document {
    study::cache(&Record::default(), finding)
}

fn schema(name: &str) -> serde_json::Value {
    let all = schema::all();
    serde_json::from_str(&all.iter().find(|(known, _)| *known == name).unwrap().1).unwrap()
}

#[test]
fn the_sentences_say_who_is_faster_and_what_went_wrong() {
    let shown = text::document(&document(&finding(true)), text::Style { width: 400, ..text::Style::default() });
    for said in [
        "a|b is the fastest for certain with 500 requests and 16 clients, warm (4,000 requests/s).",
        "gave 2 wrong bodies, first in trial 4: object 3 was asked for, and the body of object 5 came.",
        "c breaks a rule of HTTP: nothing is given unasked after its max-age (the same again).",
        "Origin and cache share 1 core",
        "3,150 (2,835-3,465)",
        "load generator at its limit in 1 of 3",
        "If spread and means stay as they are, 7 more rounds would tell a|b from",
        "80 %",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "nothing foreign reaches the terminal");
    let idle = text::document(&document(&finding(false)), text::Style::default());
    assert!(idle.starts_with("The offered load was the limit"), "{idle}");
}

/// The fastest may be the one whose rate no search found.
#[test]
fn one_cache_alone_is_not_the_fastest() {
    let mut finding = finding(true);
    assert!(document(&finding).sentences[1].ends_with("(1), ·[2Jc 2,000/s (2). They differ."), "two of them");
    let pass_of_one = &mut finding.passes[0];
    pass_of_one.standings.truncate(1);
    pass_of_one.pairs.clear();
    finding.contenders.truncate(1);
    finding.outcome = Outcome::Holds;
    let told = document(&finding);
    assert_eq!(
        told.sentences[..2],
        [
            "With 500 requests and 16 clients, warm, a|b alone was measured (4,000 requests/s): how it compares with others is not known.",
            "Warm: a|b 4,000/s.",
        ]
    );
    assert_eq!(told.turned, "it answered every request, correctly");
}

#[test]
fn who_was_too_fast_for_the_search_comes_first() {
    let mut finding = finding(true);
    let standing = &mut finding.best_rates[0].standings[1];
    standing.rate = None;
    for repeat in &mut standing.repeats {
        (repeat.fails, repeat.client_limited) = (None, true);
    }
    let wide = text::Style { width: 400, ..text::Style::default() };
    let shown = text::document(&document(&finding), wide);
    let said = "is not known: ·[2Jc bears 3,000/s or more: all that this load generator can offer. The highest of the others: 3,150 \
                (2,835-3,465) requests/s with a|b.";
    assert!(shown.contains(said), "{shown}");

    let standings = &mut finding.best_rates[0].standings;
    for repeat in standings.iter_mut().flat_map(|one| &mut one.repeats) {
        (repeat.holds, repeat.fails, repeat.client_limited) = (None, Some(50.0), false);
    }
    let shown = text::document(&document(&finding), wide);
    assert!(!shown.contains("is not known"), "too slow is not too fast\n{shown}");
}

#[test]
fn what_no_number_of_rounds_tells_has_no_reason_made_up() {
    let mut finding = finding(true);
    finding.best_rates[0].pairs[0].more = None;
    let shown = text::document(&document(&finding), text::Style { width: 400, ..text::Style::default() });
    assert!(shown.contains("No number of rounds up to 1,000 would tell them, as it stands."), "{shown}");
}

#[test]
fn tables_for_an_issue_hold_together() {
    let shown = markdown(&document(&finding(true)));
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with('|')).collect();
    let bars = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.len() > 6 && rows.iter().take(4).all(|row| bars(row) == bars(rows[0])), "{shown}");
    assert!(shown.contains("a\\|b") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn what_is_written_is_what_the_schema_says() {
    let validator = jsonschema::draft202012::new(&schema("reverse-proxy-cache")).unwrap();
    let mut value: serde_json::Value =
        serde_json::from_str(&json::finding(&finding(true), &document(&finding(true)).sentences, &[])).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(serde_json::from_value::<CacheFinding>(value.clone()).unwrap(), finding(true));
    value["passes"][0]["warmth"] = "lukewarm".into();
    assert!(!validator.is_valid(&value));
    let page = html::data(None, &document(&finding(true)));
    assert!(page.contains("3,150 (2,835-3,465)"), "{page}");
}
