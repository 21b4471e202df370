//! Caches compared: what may be said of made-up records, and what may not.

mod world;

use genkai_analysis::cache::{findings, loads, next};
use genkai_model::cache::{
    Aim, CacheCaveat, CacheFinding, CachePass, Caching, Contestant, DeviceUse, OwnCounts, PassFinding, RateSearch,
    Side, Spent, Trouble, Warmth,
};
use genkai_model::content::{Content, Mix, Sizes};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{
    EndReason, Environment, Event, Purpose, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded, TrialStarted, What,
};
use genkai_model::finding::Outcome;
use genkai_model::histogram::{Payload, empty};
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_model::units::{Bytes, Span};
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

use world::parts::{plan, users};

const REQUESTS: u64 = 1_000;

fn caching(names: &[&str], rounds: u32, rate: Option<f64>) -> Caching {
    let contender = |name: &&str| Contestant { name: (*name).to_owned(), server: (*name).to_owned() };
    let sizes = Sizes::LogNormal { median: Bytes(3_000), sigma: 0.5 };
    Caching {
        contenders: names.iter().map(contender).collect(),
        content: Content { objects: 3_000, sizes, seed: 1 },
        mix: Mix::Sweep,
        requests: REQUESTS as u32,
        clients: 16,
        rate,
        rounds,
        memory: Bytes(1 << 26),
        disk: Bytes(1 << 28),
        search: None,
        access_times: false,
        seed: 1,
    }
}

/// A record in the making. Servers have one core.
struct Story {
    record: Record,
    trials: u32,
}

/// What one load came to.
#[derive(Clone)]
struct Load<'n> {
    name: &'n str,
    aim: Aim,
    warmth: Warmth,
    rate: f64,
    /// Part of the servers' core that the contender used.
    busy: f64,
    own: Option<OwnCounts>,
    origin: u64,
    errors: Vec<ErrorCount>,
    latency_ms: f64,
}

fn pass(name: &str, round: u32, warmth: Warmth, rate: f64) -> Load<'_> {
    let cold = warmth == Warmth::Cold;
    let (hits, misses) = if cold { (0, REQUESTS) } else { (REQUESTS, 0) };
    let own = Some(OwnCounts { hits, misses });
    Load {
        name,
        aim: Aim::Pass { round },
        warmth,
        rate,
        busy: 0.9,
        own,
        origin: misses,
        errors: vec![],
        latency_ms: 2.0,
    }
}

impl Story {
    fn new(caching: Caching) -> Story {
        let mut story = Story { record: Record::default(), trials: 0 };
        let head = RunStarted {
            schema: SCHEMA.to_owned(),
            version: "1".to_owned(),
            started: String::new(),
            command: Vec::new(),
            environment: Environment { cores: 1, ..Environment::default() },
            plan: Plan { caching: Some(Box::new(caching)), ..plan(users(16, 1.0), "errors < 0.1%, p99 < 100ms") },
            rewrites: Vec::new(),
        };
        story.push(None, What::RunStarted(Box::new(head)));
        story
    }

    fn push(&mut self, trial: Option<u32>, what: What) {
        self.record.push(Event { at_us: 0, trial, what });
    }

    fn load(&mut self, load: &Load<'_>) {
        self.trials += 1;
        let number = Some(self.trials);
        let started = TrialStarted { purpose: Purpose::Measure, changes: vec![], limit: None, load: users(16, 1.0) };
        self.push(number, What::TrialStarted(Box::new(started)));
        let seconds = REQUESTS as f64 / load.rate;
        let failed: u64 = load.errors.iter().map(|error| error.count).sum();
        let mut latency = empty();
        latency.saturating_record_n((load.latency_ms * 1e6) as u64, REQUESTS - failed);
        let tick = Tick {
            to_us: (seconds * 1e6) as u64,
            sent: REQUESTS,
            ok: REQUESTS - failed,
            errors: load.errors.clone(),
            latency: Payload::encode(&latency),
            ..Tick::default()
        };
        self.push(number, What::Tick(Box::new(tick)));
        let (reason, lasted) = (EndReason::Completed, Span::from_millis(1));
        self.push(number, What::TrialEnded(TrialEnded { reason, lasted, abandoned: 0, client_rss: 0, client: None }));
        let cpu_us = (seconds * load.busy * 1e6) as u64;
        let spent =
            Spent { side: Side::Cache, cpu_us, rss: 1 << 20, pss: None, read: Some(REQUESTS * 10), written: None };
        let pass = CachePass {
            contender: load.name.to_owned(),
            aim: load.aim,
            warmth: load.warmth,
            own: load.own,
            origin: load.origin,
            spent: vec![spent],
            store_resident: None,
            store_bytes: Some(5),
            content_before: Some(0),
            content_after: None,
            device: Some(DeviceUse { name: "vda".to_owned(), read: 0, written: 0, busy_us: 0 }),
            wrong: None,
        };
        self.push(number, What::CachePass(Box::new(pass)));
    }

    fn findings(mut self) -> CacheFinding {
        self.push(None, What::RunEnded(RunEnded { interrupted: false, failure: None, diff: String::new() }));
        findings(&self.record).unwrap()
    }
}

/// Rounds of everybody: their median rate, and a spread of so much.
fn run(medians: &[(&str, f64)], rounds: u32, spread: f64, seed: u64, change: impl Fn(&mut Load<'_>)) -> CacheFinding {
    let names: Vec<&str> = medians.iter().map(|(name, _)| *name).collect();
    let mut story = Story::new(caching(&names, rounds, None));
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for round in 1..=rounds {
        for (name, median) in medians {
            for warmth in [Warmth::Cold, Warmth::Warm] {
                let rate = LogNormal::new(median.ln(), spread).unwrap().sample(&mut random);
                let mut load = pass(name, round, warmth, rate);
                change(&mut load);
                story.load(&load);
            }
        }
    }
    story.findings()
}

fn warm(finding: &CacheFinding) -> &PassFinding {
    finding.passes.iter().find(|pass| pass.warmth == Warmth::Warm).unwrap()
}

#[test]
fn who_differs_is_ranked_and_who_does_not_shares_a_rank() {
    let finding = run(&[("a", 1_000.0), ("b", 1_005.0), ("c", 500.0)], 6, 0.02, 3, |_| {});
    let pass = warm(&finding);
    let ranks: Vec<(&str, u32, u32)> =
        pass.standings.iter().map(|one| (one.name.as_str(), one.best, one.worst)).collect();
    assert_eq!(ranks.last(), Some(&("c", 3, 3)), "{ranks:?}");
    assert!(ranks[..2].iter().all(|(_, best, worst)| (*best, *worst) == (1, 2)), "{ranks:?}");
    assert!(pass.stressed && finding.outcome == Outcome::Holds && finding.troubles.is_empty(), "{finding:?}");
    let one = &pass.standings[0];
    assert_eq!((one.requests, one.within_second, one.origin), (6 * REQUESTS, 6 * REQUESTS, 0));
    assert!((one.busy - 0.9).abs() < 0.01 && one.cost.read == Some(10.0), "{one:?}");
}

/// The same against itself is told apart in no more than about one run of twenty.
#[test]
fn the_same_against_itself_comes_out_equal() {
    let told = (0..120).filter(|seed| {
        let finding = run(&[("a", 1_000.0), ("b", 1_000.0)], 5, 0.1, *seed, |_| {});
        warm(&finding).pairs.iter().any(|pair| pair.certain)
    });
    let told = told.count();
    // 6 are expected; none, or 15 and more, have a probability below 0.3 % each.
    assert!((1..15).contains(&told), "{told} of 120");
}

/// The original's differences: some percent, at a load that nobody noticed.
#[test]
fn where_nobody_was_busy_nobody_is_ranked() {
    let idle = |load: &mut Load<'_>| load.busy = 0.1;
    let finding = run(&[("a", 54.9), ("b", 51.0)], 8, 0.002, 1, idle);
    let pass = warm(&finding);
    assert!(!pass.stressed && pass.pairs.iter().all(|pair| !pair.certain && pair.ratio.interval.low > 1.0), "{pass:?}");
    assert!(pass.standings.iter().all(|one| (one.best, one.worst) == (1, 2)));
    let offered = |caveat: &CacheCaveat| matches!(caveat, CacheCaveat::OfferedLoad { .. });
    assert_eq!(finding.caveats.iter().filter(|caveat| offered(caveat)).count(), 2, "{:?}", finding.caveats);
    let far = run(&[("a", 110.0), ("b", 51.0)], 8, 0.002, 1, idle);
    assert!(warm(&far).stressed, "clients that get half the answers have met a limit, whoever was busy");
}

#[test]
fn counters_that_disagree_and_failures_are_told() {
    // Its own word: all were hits; the origin was asked for ten.
    let lying = |load: &mut Load<'_>| {
        if load.name == "b" && load.warmth == Warmth::Warm && load.aim == (Aim::Pass { round: 2 }) {
            load.origin = 10;
        }
    };
    let finding = run(&[("a", 900.0), ("b", 900.0)], 2, 0.01, 1, lying);
    assert_eq!(finding.outcome, Outcome::Fails);
    let expected = Trouble::Disagree { name: "b".to_owned(), trial: 8, warmth: Warmth::Warm, misses: 0, origin: 10 };
    assert_eq!(finding.troubles, [expected]);

    let errors =
        vec![ErrorCount { kind: ErrorKind::Truncated, count: 3 }, ErrorCount { kind: ErrorKind::WrongBody, count: 1 }];
    let broken = |load: &mut Load<'_>| load.errors.clone_from(&errors);
    let finding = run(&[("a", 900.0)], 2, 0.01, 1, broken);
    let kinds: Vec<bool> = finding
        .troubles
        .iter()
        .map(|trouble| matches!(trouble, Trouble::WrongBodies { count: 4, trial: 1, .. } | Trouble::Failed { .. }))
        .collect();
    assert_eq!(kinds, [true, true], "{:?}", finding.troubles);
}

/// The record alone says what to offer next, to whom, and when it is known.
#[test]
fn the_search_follows_from_the_record() {
    let search = Some(RateSearch { steps: 6, hold: Span::from_secs(1) });
    let mut story = Story::new(Caching { search, ..caching(&["a"], 1, None) });
    assert_eq!(next(&story.record, "a", Warmth::Warm), None, "nothing is known to begin with");
    story.load(&pass("a", 1, Warmth::Cold, 500.0));
    story.load(&pass("a", 1, Warmth::Warm, 1_000.0));
    let capacity = |warmth| if warmth == Warmth::Cold { 450.0 } else { 950.0 };
    let mut steps = Vec::new();
    for warmth in [Warmth::Warm, Warmth::Cold] {
        while let Some(rate) = next(&story.record, "a", warmth) {
            steps.push((warmth, rate));
            let latency_ms = if rate <= capacity(warmth) { 5.0 } else { 400.0 };
            story.load(&Load { aim: Aim::Search { rate }, latency_ms, ..pass("a", 1, warmth, rate) });
            assert!(steps.len() <= 12);
        }
    }
    assert_eq!((steps[0], steps[1]), ((Warmth::Warm, 800.0), (Warmth::Warm, 1_040.0)));
    assert_eq!(loads(&story.record).len(), 2 + steps.len());
    for held in story.findings().held {
        let (holds, fails) = (held.holds.unwrap(), held.fails.unwrap());
        assert!(holds <= capacity(held.warmth) && capacity(held.warmth) < fails && fails / holds < 1.1, "{held:?}");
    }
}

#[test]
fn a_run_that_was_cut_off_has_no_answer() {
    let mut story = Story::new(caching(&["a", "b"], 2, None));
    assert!(findings(&story.record).is_none());
    story.load(&pass("a", 1, Warmth::Cold, 500.0));
    assert_eq!(story.findings().outcome, Outcome::Unfinished);
}
