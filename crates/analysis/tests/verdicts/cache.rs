//! Caches compared: what may be said of made-up records, and what may not.

use genkai_analysis::cache::{findings, loads, next};
use genkai_model::cache::{Aim, CachePass, Caching, Contender, DeviceUse, OwnCounts, RateSearch, Side, Spent, Warmth};
use genkai_model::content::{Content, Mix, Sizes};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{
    EndReason, Environment, Event, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded, TrialStarted, What,
};
use genkai_model::finding::Outcome;
use genkai_model::finding::cache::{CacheCaveat, CacheFinding, PassFinding, Trouble};
use genkai_model::histogram::{Payload, empty};
use genkai_model::plan::{Plan, Study};
use genkai_model::record::Record;
use genkai_model::units::{Bytes, Span};
use rand::SeedableRng;
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64Mcg;

use crate::world::parts::{plan, users};

const REQUESTS: u64 = 1_000;

fn caching(names: &[&str], rounds: u32, rate: Option<f64>) -> Caching {
    let contender = |name: &&str| Contender { name: (*name).to_owned(), server: (*name).to_owned() };
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
    /// Part of its core that the client used.
    client: f64,
    /// Intervals in which it is told.
    ticks: u64,
    /// Whether latency rises to the end.
    slowing: bool,
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
        client: 0.3,
        ticks: 4,
        slowing: false,
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
            plan: Plan { study: Study::Cache(Box::new(caching)), ..plan(users(16, 1.0), "errors < 0.1%, p99 < 100ms") },
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
        let started = TrialStarted::measure(users(16, 1.0));
        self.push(number, What::TrialStarted(Box::new(started)));
        let seconds = REQUESTS as f64 / load.rate;
        for n in 0..load.ticks {
            self.push(number, What::Tick(Box::new(tick(load, n, (seconds * 1e6) as u64))));
        }
        let (reason, lasted) = (EndReason::Completed, Span::from_millis(1));
        self.push(
            number,
            What::TrialEnded(TrialEnded {
                reason,
                lasted,
                abandoned: 0,
                client_rss: 0,
                client: None,
                workers: Vec::new(),
            }),
        );
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
        self.push(
            None,
            What::RunEnded(RunEnded { interrupted: false, failure: None, diff: String::new(), files: Vec::new() }),
        );
        findings(&self.record).unwrap()
    }
}

/// An interval of a load; failures are in the first.
fn tick(load: &Load<'_>, n: u64, lasts_us: u64) -> Tick {
    let each = REQUESTS / load.ticks;
    let errors = if n == 0 { load.errors.clone() } else { Vec::new() };
    let failed: u64 = errors.iter().map(|error| error.count).sum();
    let slower = if load.slowing { 1.0 + n as f64 } else { 1.0 };
    let mut latency = empty();
    latency.saturating_record_n((load.latency_ms * slower * 1e6) as u64, each - failed);
    Tick {
        from_us: lasts_us * n / load.ticks,
        to_us: lasts_us * (n + 1) / load.ticks,
        sent: each,
        ok: each - failed,
        errors,
        latency: Payload::encode(&latency),
        cpu_max_us: (load.client * lasts_us as f64 / load.ticks as f64) as u64,
        ..Tick::default()
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

/// Rates that were offered and answered, but for what was under way at the end: one is busier, and nobody the faster.
#[test]
fn where_all_of_a_rate_was_answered_nobody_is_ranked() {
    let mut story = Story::new(caching(&["a", "b"], 8, Some(1_000.0)));
    for round in 1..=8 {
        for (name, rate, busy) in [("a", 990.0, 0.9), ("b", 999.0, 0.3)] {
            for warmth in [Warmth::Cold, Warmth::Warm] {
                story.load(&Load { busy, ..pass(name, round, warmth, rate + f64::from(round % 2)) });
            }
        }
    }
    let finding = story.findings();
    let pass = warm(&finding);
    assert!(pass.pairs.iter().all(|pair| pair.ratio.interval.low > 1.0 && !pair.certain), "{:?}", pass.pairs);
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

/// A story in which every round passes and searches as the record asks for; capacities by contender, round and warmth.
fn searched(names: &[&str], rounds: u32, capacity: impl Fn(&str, u32, Warmth) -> f64) -> Story {
    let search = Some(RateSearch { steps: 5, hold: Span::from_secs(1), precision: 1.06 });
    let mut story = Story::new(Caching { search, ..caching(names, rounds, None) });
    for round in 1..=rounds {
        for name in names {
            for warmth in [Warmth::Cold, Warmth::Warm] {
                let own = capacity(name, round, warmth);
                assert_eq!(next(&story.record, "nobody", warmth, round), None, "nothing is known to begin with");
                story.load(&pass(name, round, warmth, own * 1.1));
                for loads in 0.. {
                    let Some(rate) = next(&story.record, name, warmth, round) else { break };
                    let latency_ms = if rate <= own { 5.0 } else { 400.0 };
                    story.load(&Load {
                        aim: Aim::Search { round, rate },
                        latency_ms,
                        ..pass(name, round, warmth, rate)
                    });
                    assert!(loads < 10, "a search ends");
                }
            }
        }
    }
    story
}

/// The record alone says what to offer next, to whom, and when it is known.
#[test]
fn the_search_follows_from_the_record() {
    let capacity = |_: &str, round: u32, warmth| {
        (if warmth == Warmth::Cold { 450.0 } else { 950.0 }) * (1.0 + 0.01 * f64::from(round))
    };
    let story = searched(&["a"], 3, capacity);
    let loads = loads(&story.record).len() as u32;
    let finding = story.findings();
    assert_eq!(finding.best_rates.iter().map(|one| one.warmth).collect::<Vec<_>>(), [Warmth::Cold, Warmth::Warm]);
    assert_eq!(finding.best_rates.iter().map(|one| one.loads).sum::<u32>() + 6, loads, "every load is told");
    for found in &finding.best_rates {
        let one = &found.standings[0];
        assert_eq!(one.repeats.iter().map(|repeat| repeat.round).collect::<Vec<_>>(), [1, 2, 3]);
        for repeat in &one.repeats {
            let own = capacity("a", repeat.round, found.warmth);
            let (holds, fails) = (repeat.holds.unwrap(), repeat.fails.unwrap());
            assert!(holds <= own && own < fails && fails / holds < 1.07, "{repeat:?}");
        }
        let later: u32 = one.repeats[1..].iter().map(|repeat| repeat.loads).sum();
        assert!(later < 2 * one.repeats[0].loads, "later rounds know the neighbourhood: {one:?}");
        let rate = one.rate.unwrap();
        let own = capacity("a", 2, found.warmth);
        assert!(rate.n == 3 && rate.interval.low < own && own < rate.interval.high, "{rate:?}");
    }
}

/// Rates that differ by more than the steps and the rounds leave open are ranked, others share a rank, and it is said how many rounds
/// would tell them apart.
#[test]
fn highest_rates_are_ranked_by_what_rounds_carry() {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let noise: Vec<f64> = LogNormal::new(0.0, 0.06).unwrap().sample_iter(&mut random).take(64).collect();
    let capacity = |name: &str, round: u32, warmth: Warmth| {
        let base = match name {
            "a" => 5_000.0,
            "b" => 4_500.0,
            _ => 1_000.0,
        };
        base * noise[(round as usize * 8
            + name.len()
            + usize::from(name == "b") * 3
            + usize::from(warmth == Warmth::Warm))
            % 64]
    };
    let finding = searched(&["a", "b", "c"], 4, capacity).findings();
    let warm = finding.best_rates.iter().find(|one| one.warmth == Warmth::Warm).unwrap();
    let ranks: Vec<(&str, u32, u32)> =
        warm.standings.iter().map(|one| (one.name.as_str(), one.best, one.worst)).collect();
    assert_eq!(ranks, [("a", 1, 2), ("b", 1, 2), ("c", 3, 3)], "{warm:?}");
    let pair = |faster: &str, slower: &str| {
        warm.pairs.iter().find(|pair| (&*pair.faster, &*pair.slower) == (faster, slower)).unwrap()
    };
    assert!(pair("a", "c").certain && pair("a", "c").more.is_none());
    assert!(!pair("a", "b").certain && pair("a", "b").more.is_some_and(|more| (1..200).contains(&more)), "{warm:?}");
}

/// Clients that were at their own limit say nothing against a contender.
#[test]
fn who_was_held_up_by_the_client_is_not_ranked_behind_others() {
    let busy = |load: &mut Load<'_>| load.client = 0.97;
    let finding = run(&[("a", 10_000.0), ("b", 9_000.0)], 8, 0.002, 1, busy);
    let pass = warm(&finding);
    assert!(pass.pairs.iter().all(|pair| !pair.certain && pair.more.is_none()), "{:?}", pass.pairs);
    assert!(pass.standings.iter().all(|one| (one.best, one.worst, one.client_limited) == (1, 2, 8)));
    let told = |caveat: &CacheCaveat| matches!(caveat, CacheCaveat::Client { rounds: 8, of: 8, used, .. } if (0.96..0.98).contains(used));
    assert_eq!(finding.caveats.iter().filter(|caveat| told(caveat)).count(), 4, "{:?}", finding.caveats);
    let first = |load: &mut Load<'_>| load.client = if load.name == "a" { 0.97 } else { 0.4 };
    let finding = run(&[("a", 10_000.0), ("b", 5_000.0)], 8, 0.002, 1, first);
    assert!(warm(&finding).pairs[0].certain, "who is ahead although the client held it up is ahead");
}

/// A pass that is on its way to another rate to its end is said to be.
#[test]
fn what_never_settles_is_told() {
    let on_its_way = |load: &mut Load<'_>| (load.ticks, load.slowing) = (40, load.name == "b");
    let finding = run(&[("a", 900.0), ("b", 900.0)], 3, 0.01, 1, on_its_way);
    let pass = warm(&finding);
    let of = |name: &str| pass.standings.iter().find(|one| one.name == name).unwrap().settling;
    assert_eq!((of("a").settled, of("a").never, of("b").settled, of("b").never), (3, 0, 0, 3));
    assert!(of("a").after.is_some() && of("a").rate.is_some() && of("b").rate.is_none());
    let told = CacheCaveat::NotSettled { name: "b".to_owned(), warmth: Warmth::Warm, rounds: 3, of: 3 };
    assert!(finding.caveats.contains(&told), "{:?}", finding.caveats);
    assert!(!finding.caveats.iter().any(|one| matches!(one, CacheCaveat::NotSettled { name, .. } if name == "a")));
}

/// A rate at which requests pile up does not hold, however patient the objective is.
#[test]
fn a_rate_at_which_requests_pile_up_does_not_hold() {
    let search = Some(RateSearch { steps: 4, hold: Span::from_secs(1), precision: 1.06 });
    let mut story = Story::new(Caching { search, ..caching(&["a"], 1, None) });
    story.load(&pass("a", 1, Warmth::Warm, 1_000.0));
    assert_eq!(next(&story.record, "a", Warmth::Warm, 1), Some(800.0));
    // 800 were offered and 700 came, each within the objective.
    story.load(&Load {
        aim: Aim::Search { round: 1, rate: 800.0 },
        latency_ms: 5.0,
        ..pass("a", 1, Warmth::Warm, 700.0)
    });
    assert_eq!(next(&story.record, "a", Warmth::Warm, 1), Some(615.0), "lower");
}

#[test]
fn a_run_that_was_cut_off_has_no_answer() {
    let mut story = Story::new(caching(&["a", "b"], 2, None));
    assert!(findings(&story.record).is_none());
    story.load(&pass("a", 1, Warmth::Cold, 500.0));
    assert_eq!(story.findings().outcome, Outcome::Unfinished);
}
