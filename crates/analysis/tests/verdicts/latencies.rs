//! Servers compared: what may be said of made-up records, and what may not.

use std::collections::BTreeMap;

use genkai_analysis::latencies::findings;
use genkai_model::event::{Event, RunEnded, RunStarted, SCHEMA, TrialStarted, What};
use genkai_model::finding::Outcome;
use genkai_model::finding::latencies::{CaseFinding, LatencyCaveat, LatencyFinding};
use genkai_model::histogram::Payload;
use genkai_model::latencies::{
    Case, Collection, Consumption, Contender, ContenderRecord, LatencyComparison, Round, RoundClock, RoundWorker,
};
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit};
use genkai_model::plan::{Plan, Study};
use genkai_model::record::Record;
use genkai_model::setting::Setting;
use genkai_model::units::{Bytes, Span};
use genkai_model::websocket::CloseCount;
use rand::{Rng, SeedableRng};
use rand_distr::LogNormal;
use rand_pcg::Pcg64Mcg;

use crate::world::parts::{plan, users};

const LARGE: Case = Case::Give { bytes: 1 << 20, binary: true };

fn comparison(names: &[&str], starts: u32) -> LatencyComparison {
    let contender = |name: &&str| Contender {
        name: (*name).to_owned(),
        server: (*name).to_owned(),
        settings: BTreeMap::new(),
        variant: false,
        reference: false,
    };
    LatencyComparison {
        contenders: names.iter().map(contender).collect(),
        clients: 100,
        message: Bytes(128),
        sizes: vec![Bytes(1 << 20)],
        rounds: 10,
        warm_up: 1,
        starts,
        timeout: Span::from_secs(10),
        seed: 1,
    }
}

/// A record in the making; every event comes a second after the one before.
struct Story {
    record: Record,
    at_us: u64,
}

impl Story {
    fn new(comparison: LatencyComparison) -> Story {
        let mut story = Story { record: Record::default(), at_us: 0 };
        let head = RunStarted {
            schema: SCHEMA.to_owned(),
            version: "1".to_owned(),
            started: "2025-11-21T11:00:00Z".to_owned(),
            command: Vec::new(),
            environment: Default::default(),
            plan: Plan { study: Study::Latencies(comparison), ..plan(users(1, 1.0), "errors < 0.1%") },
            rewrites: Vec::new(),
        };
        story.push(None, What::RunStarted(Box::new(head)));
        story
    }

    fn push(&mut self, trial: Option<u32>, what: What) {
        self.record.push(Event { at_us: self.at_us, trial, what });
        self.at_us += 1_000_000;
    }

    fn start(&mut self, number: u32) {
        let started = TrialStarted::measure(users(1, 1.0));
        self.push(Some(number), What::TrialStarted(Box::new(started)));
    }

    fn round(&mut self, start: u32, round: Round) {
        self.push(Some(start), What::Round(Box::new(round)));
    }

    fn findings(mut self) -> LatencyFinding {
        let end = RunEnded { interrupted: false, failure: None, diff: String::new(), files: Vec::new() };
        self.push(None, What::RunEnded(end));
        findings(&self.record).unwrap()
    }
}

fn round(name: &str, number: u32, case: Case, ms: f64) -> Round {
    Round {
        contender: name.to_owned(),
        round: number,
        warm_up: false,
        case,
        figure_ns: Some((ms * 1e6) as u64),
        delays: Payload::default(),
        due: 1,
        missing: 0,
        closes: Vec::new(),
        reopened: Vec::new(),
        lasted: Span::from_millis(500),
        client_busy: 0.3,
        used: Consumption { cpu_us: 1000, ..Consumption::default() },
        workers: Vec::new(),
    }
}

/// A round of clients on another machine, whose clock may be wrong by so much, and of others here.
fn far(round: Round, wrong_ms: f64) -> Round {
    let clock = RoundClock {
        offset_ns: 2_000_000_000,
        uncertainty_ns: (wrong_ms * 0.75e6) as u64,
        drift_ns: -((wrong_ms * 0.25e6) as i64),
    };
    let worker =
        |place: &str, clock| RoundWorker { place: place.to_owned(), node: None, clients: 50, clock, busy: 0.2 };
    Round { workers: vec![worker("here", None), worker("load1", Some(clock))], ..round }
}

/// Two servers of 1 ms and 1.5 ms, in rounds whose clocks may be wrong by so much.
fn clocked(wrong_ms: f64, case: Case, starts: u32) -> LatencyFinding {
    let mut story = Story::new(comparison(&["a", "b"], starts));
    for start in 1..=starts {
        story.start(start);
        for number in 1..=10 {
            for (name, ms) in [("a", 1.0), ("b", 1.5)] {
                let ms = ms + f64::from(number) * 0.001 + f64::from(start) * 0.0001;
                story.round(start, far(round(name, number, case, ms), wrong_ms));
            }
        }
    }
    story.findings()
}

#[test]
fn what_clocks_of_other_machines_may_have_made_of_it_is_no_difference() {
    for (starts, wrong, certain) in [(1, 0.2, true), (1, 0.3, false), (3, 0.2, true), (3, 0.3, false), (1, 2.0, false)]
    {
        let finding = clocked(wrong, Case::Receive, starts);
        let case = &finding.cases[0];
        assert_eq!((case.pairs[0].certain, case.told_apart), (certain, certain), "{wrong} {:?}", case.pairs);
        assert_eq!(case.within_clocks, u32::from(!certain), "{wrong}");
        let near = |told: Option<f64>, ms: f64| told.is_some_and(|told| (told * 1e3 - ms).abs() < 1e-4);
        assert!(case.standings.iter().all(|one| near(one.clock_uncertainty, wrong)), "{:?}", case.standings);
        assert!(near(case.pairs[0].clock_uncertainty, 2.0 * wrong), "{:?}", case.pairs);
        assert_eq!(ranks(case), if certain { [("a", 1, 1), ("b", 2, 2)] } else { [("a", 1, 2), ("b", 1, 2)] });
        let told = finding.caveats.iter().find_map(|caveat| match caveat {
            LatencyCaveat::Clocks { case: Case::Receive, uncertainty, undecided } => Some((*uncertainty, *undecided)),
            _ => None,
        });
        let (uncertainty, undecided) = told.unwrap_or_else(|| panic!("{:?}", finding.caveats));
        assert!(near(Some(uncertainty), wrong) && undecided == u32::from(!certain));
        let far = &finding.processes[1];
        assert!(near(far.clock_uncertainty, wrong * 0.75) && near(far.clock_drift, wrong * 0.25), "{far:?}");
        assert!(finding.processes[0].clock_uncertainty.is_none());
    }
    // A large message is one client's of the first process, which is here.
    let finding = clocked(2.0, LARGE, 1);
    let case = &finding.cases[0];
    assert!(case.pairs[0].certain && case.pairs[0].clock_uncertainty.is_none() && case.within_clocks == 0);
    assert!(finding.caveats.iter().all(|caveat| !matches!(caveat, LatencyCaveat::Clocks { .. })));
}

/// Rounds of one case: what each contender takes in the median, ms, with a spread of so much (standard deviation of the
/// logarithm), and drift that meets all of a round.
fn measured(medians: &[(&str, f64)], spread: f64, starts: u32, seed: u64, case: Case) -> LatencyFinding {
    let names: Vec<&str> = medians.iter().map(|(name, _)| *name).collect();
    let mut story = Story::new(comparison(&names, starts));
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let noise = LogNormal::new(0.0, spread).unwrap();
    let drift = LogNormal::new(0.0, 0.3).unwrap();
    for start in 1..=starts {
        story.start(start);
        for number in 1..=10 {
            let shared: f64 = random.sample(drift);
            for (name, median) in medians {
                story.round(start, round(name, number, case, median * shared * random.sample(noise)));
            }
        }
    }
    story.findings()
}

fn ranks(case: &CaseFinding) -> Vec<(&str, u32, u32)> {
    case.standings.iter().map(|one| (one.name.as_str(), one.best, one.worst)).collect()
}

#[test]
fn the_reference_is_measured_and_takes_no_rank() {
    let mut all = comparison(&["a", "own", "b"], 1);
    all.contenders[1].reference = true;
    let mut story = Story::new(all);
    story.start(1);
    for number in 1..=10 {
        for (name, ms) in [("own", 1.0), ("a", 2.0), ("b", 4.0)] {
            story.round(1, round(name, number, Case::Receive, ms + f64::from(number) / 100.0));
        }
    }
    let finding = story.findings();
    assert_eq!(ranks(&finding.cases[0]), [("own", 0, 0), ("a", 1, 1), ("b", 2, 2)]);
    assert_eq!(finding.cases[0].pairs.len(), 3, "it is compared with each");
}

#[test]
fn what_differs_is_ranked_and_what_does_not_is_not() {
    let finding = measured(&[("c", 10.0), ("a", 1.0), ("b", 1.02)], 0.1, 1, 3, Case::Receive);
    let case = &finding.cases[0];
    assert_eq!(finding.outcome, Outcome::Holds);
    let of = |name: &str| ranks(case).into_iter().find(|one| one.0 == name).unwrap();
    assert_eq!((of("a"), of("b"), of("c")), (("a", 1, 2), ("b", 1, 2), ("c", 3, 3)));
    let certain: Vec<bool> = case.pairs.iter().map(|pair| pair.certain).collect();
    assert_eq!(certain.iter().filter(|certain| **certain).count(), 2, "{:?}", case.pairs);
    let pair = case.pairs.iter().find(|pair| pair.faster == "a" && pair.slower == "c").unwrap();
    assert!((8.0..12.0).contains(&pair.ratio.value) && pair.ratio.interval.low > 8.0, "{pair:?}");
    assert_eq!(pair.ratio.n, 10);
}

/// Drift of 30 % meets all of a round; differences within rounds are what is compared.
#[test]
fn drift_that_meets_all_does_not_hide_a_difference() {
    let finding = measured(&[("a", 1.0), ("b", 1.1)], 0.02, 1, 5, Case::Send);
    let case = &finding.cases[0];
    assert!(case.pairs[0].certain && case.told_apart, "{:?}", case.pairs);
    let [a, b] = [0, 1].map(|n| case.standings[n].figure.unwrap().interval);
    assert!(a.high > b.low, "each by itself could not be told apart: {a:?} {b:?}");
}

/// Six pairs of four alike: in at most one comparison of twenty may any pair seem to differ.
#[test]
fn alike_servers_seldom_seem_to_differ() {
    let wrong = (0..300)
        .filter(|seed| {
            let alike = [("a", 2.0), ("b", 2.0), ("c", 2.0), ("d", 2.0)];
            measured(&alike, 0.2, 1, 1000 + seed, Case::Receive).cases[0].told_apart
        })
        .count();
    // Bonferroni: at most 5 % of 300, and within three standard errors of that.
    assert!(wrong <= 26, "{wrong} of 300");
}

#[test]
fn with_several_starts_a_start_is_an_observation() {
    let finding = measured(&[("a", 1.0), ("b", 3.0)], 0.05, 5, 9, Case::Receive);
    let case = &finding.cases[0];
    assert!(case.standings.iter().all(|one| one.figure.unwrap().n == 5 && one.rounds.len() == 50));
    assert!(case.pairs[0].certain && case.pairs[0].ratio.n == 5);
    assert!(!finding.caveats.contains(&LatencyCaveat::OneStart));
}

#[test]
fn where_the_client_is_the_limit_nothing_is_told_apart() {
    let mut story = Story::new(comparison(&["a", "b"], 1));
    story.start(1);
    for number in 1..=10 {
        for (name, ms) in [("a", 1.0), ("b", 5.0)] {
            let ms = ms + f64::from(number) * 0.001;
            story.round(1, Round { client_busy: 0.97, ..round(name, number, LARGE, ms) });
            story.round(1, Round { client_busy: 0.97, ..round(name, number, Case::Receive, ms) });
        }
    }
    let finding = story.findings();
    assert_eq!(finding.cases.iter().map(|case| case.told_apart).collect::<Vec<_>>(), [false, true]);
    let busy = finding.caveats.iter().filter(|caveat| matches!(caveat, LatencyCaveat::ClientBusy { case: LARGE, .. }));
    assert_eq!(busy.count(), 2, "{:?}", finding.caveats);
}

#[test]
fn a_warm_up_that_was_too_short_is_seen() {
    let mut story = Story::new(comparison(&["a", "b"], 1));
    story.start(1);
    for number in 1..=10 {
        let jitter = 1.0 + f64::from(number % 3) * 0.01;
        story.round(1, round("a", number, Case::Receive, 2.0 * jitter));
        story.round(1, round("b", number, Case::Receive, jitter * if number <= 5 { 9.0 } else { 4.0 }));
        story.round(1, Round { warm_up: true, ..round("a", number, Case::Send, 1000.0) });
    }
    let finding = story.findings();
    assert_eq!(finding.cases.len(), 1, "a warm-up makes no case");
    let drifts: Vec<&LatencyCaveat> =
        finding.caveats.iter().filter(|caveat| matches!(caveat, LatencyCaveat::Drift { .. })).collect();
    let [LatencyCaveat::Drift { name, ratio, .. }] = drifts[..] else { panic!("{drifts:?}") };
    assert!(name == "b" && (0.4..0.5).contains(&ratio.value), "{ratio:?}");
}

#[test]
fn a_server_that_does_not_answer_fails_and_is_named() {
    let mut story = Story::new(comparison(&["a", "b"], 1));
    story.start(1);
    for number in 1..=10 {
        story.round(1, round("a", number, Case::Receive, 2.0 + f64::from(number) * 0.01));
        let mut lost = round("b", number, Case::Receive, 1.0 + f64::from(number) * 0.01);
        if number > 7 {
            lost.figure_ns = None;
            lost.closes = vec![CloseCount { code: 1001, count: 3 }];
        }
        story.round(1, lost);
    }
    let finding = story.findings();
    assert_eq!(finding.outcome, Outcome::Fails);
    let told = LatencyCaveat::Unanswered { name: "b".to_owned(), case: Case::Receive, rounds: 3, code: Some(1001) };
    assert!(finding.caveats.contains(&told), "{:?}", finding.caveats);
    assert_eq!(finding.cases[0].pairs[0].ratio.n, 7, "rounds that both answered");
}

#[test]
fn connections_that_end_while_nobody_asks_are_told() {
    let mut story = Story::new(comparison(&["a", "b"], 1));
    story.start(1);
    for number in 1..=4 {
        let mut again = round("a", number, Case::Receive, 2.0 + f64::from(number) * 0.01);
        again.reopened = vec![CloseCount { code: 1001, count: 99 }, CloseCount { code: 1006, count: 1 }];
        story.round(1, again);
        story.round(1, round("b", number, Case::Receive, 3.0 + f64::from(number) * 0.01));
    }
    let finding = story.findings();
    let told: Vec<&LatencyCaveat> =
        finding.caveats.iter().filter(|caveat| matches!(caveat, LatencyCaveat::Reopened { .. })).collect();
    assert_eq!(told, [&LatencyCaveat::Reopened { name: "a".to_owned(), connections: 400, code: 1001 }]);
    assert_eq!(finding.outcome, Outcome::Holds, "they were opened again");
}

#[test]
fn pauses_belong_to_the_round_in_which_they_were() {
    let mut story = Story::new(comparison(&["a", "b"], 1));
    story.start(1);
    for number in 1..=3 {
        for name in ["a", "b"] {
            story.round(1, round(name, number, Case::Receive, 2.0));
            if (number, name) == (2, "a") {
                // 0.3 s before the end of the round that lasted half a second; told afterwards.
                let pause = Collection {
                    contender: "a".to_owned(),
                    kind: "Pause Young".to_owned(),
                    cause: String::new(),
                    lasted_ns: 20_000_000,
                    before: None,
                    after: None,
                };
                let at_us = story.at_us - 1_300_000;
                story.record.push(Event { at_us, trial: Some(1), what: What::Collection(pause) });
            }
        }
    }
    story.push(Some(1), What::Contender(Box::new(entry("a", None))));
    let finding = story.findings();
    let paused = |name: &str| -> Vec<f64> {
        let standing = finding.cases[0].standings.iter().find(|one| one.name == name).unwrap();
        standing.rounds.iter().map(|round| round.paused).collect()
    };
    assert_eq!((paused("a"), paused("b")), (vec![0.0, 0.02, 0.0], vec![0.0; 3]));
    let pause = &finding.contenders[0].pauses[0];
    assert_eq!((pause.kind.as_str(), pause.count, pause.longest), ("Pause Young", 1, 0.02));
}

fn entry(name: &str, largest: Option<u64>) -> ContenderRecord {
    let limit = |bytes: u64| Limit {
        law: Law::BodySize { value: bytes as f64 },
        value: format!("{bytes}"),
        origin: Origin::Default("its source".to_owned()),
        remedy: Some(Remedy {
            setting: "largest".to_owned(),
            unit: RemedyUnit::Bytes,
            step: 1.0,
            ceiling: None,
            note: None,
            parts: 1.0,
            processes: 0.0,
            onward: false,
            queues: false,
            word: None,
        }),
        ..Limit::named("x.largest", name, "largest")
    };
    ContenderRecord {
        contender: name.to_owned(),
        version: "1.0".to_owned(),
        settings: vec![Setting { name: "largest".to_owned(), value: "1k".to_owned(), default: true }],
        rewrites: Vec::new(),
        largest: largest.map(limit),
        compression: false,
        started: Span::from_secs(1),
    }
}

/// What is said of a server with this limit that took messages up to `takes` and ended the others with `code`.
fn limits(limit: u64, takes: u64, code: u16, sizes: &[u64]) -> Vec<(Option<u64>, u64, bool)> {
    let mut story = Story::new(comparison(&["a", "b"], 1));
    story.start(1);
    story.push(Some(1), What::Contender(Box::new(entry("a", Some(limit)))));
    story.round(1, round("a", 1, Case::Receive, 1.0));
    for (bytes, binary) in sizes.iter().flat_map(|bytes| [(*bytes, false), (*bytes, true)]) {
        let mut take = round("a", 1, Case::Take { bytes, binary }, 1.0);
        if bytes > takes {
            take.figure_ns = None;
            take.closes = vec![CloseCount { code, count: 1 }];
        }
        story.round(1, take);
    }
    let found = story.findings().limits;
    assert!(found.iter().all(|one| one.kinds == ["text", "binary"] && one.setting.as_deref() == Some("largest")));
    found.iter().map(|one| (one.taken, one.refused, one.proved)).collect()
}

#[test]
fn a_refused_message_is_the_limits_only_where_it_says_so() {
    let sizes = [1000, 8128, 8192, 8193, 70_000];
    assert_eq!(limits(8192, 8192, 1009, &sizes), [(Some(8192), 8193, true)]);
    assert_eq!(limits(8192, 70_000, 1009, &sizes), [], "everything was taken");
    assert_eq!(limits(8192, 8192, 1011, &sizes), [(Some(8192), 8193, false)], "another code");
    assert_eq!(limits(8192, 1000, 1009, &sizes), [(Some(1000), 8128, false)], "below the limit");
    assert_eq!(limits(8192, 8193, 1009, &sizes), [(Some(8193), 70_000, false)], "above it");
    assert_eq!(limits(8192, 8128, 1009, &sizes), [(Some(8128), 8192, true)], "with an envelope");
    assert_eq!(limits(20_000_000, 1000, 1009, &[1000, 70_000]), [(Some(1000), 70_000, false)], "far from it");
}
