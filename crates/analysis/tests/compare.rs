//! Systems compared: what may be said of made-up records, and what may not.

mod world;

use genkai_analysis::compare::{findings, is_enough};
use genkai_model::claim::{Claim, LoadTest, Promise, Promised, Test};
use genkai_model::comparison::{Comparison, Contender, DroppedContender, Runs, Turn};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{
    Disconnects, EndReason, Event, Note, Rewrite, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded, TrialStarted, What,
};
use genkai_model::evidence::Sample;
use genkai_model::figure::Figure;
use genkai_model::finding::claim::ClaimVerdict;
use genkai_model::finding::comparison::{ComparisonCaveat, ComparisonFinding, Ended};
use genkai_model::finding::{Call, Outcome};
use genkai_model::histogram::{self, Payload};
use genkai_model::latencies::ContenderRecord;
use genkai_model::load::{Load, Protocol};
use genkai_model::plan::{Plan, Study};
use genkai_model::record::Record;
use genkai_model::units::Span;
use genkai_model::websocket::WebSocket;
use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

use world::parts::{plan, users};

/// What a contender does in a turn.
#[derive(Clone, Copy)]
struct Does {
    /// Responses a tick of 50 ms.
    rate: f64,
    /// Latency, ms.
    latency: f64,
    /// Failures a tick.
    failed: u64,
    /// Cores used.
    cpu: f64,
    /// The first so many ticks are half as fast.
    warm_up: usize,
    /// Busy fraction of the generator's thread.
    client: f64,
}

const PLAIN: Does = Does { rate: 100.0, latency: 10.0, failed: 0, cpu: 0.9, warm_up: 0, client: 0.1 };

fn comparison(names: &[&str], base: bool) -> Comparison {
    let contender =
        |name: &&str| Contender { name: (*name).to_owned(), runs: Runs::Url("http://127.0.0.1:1".to_owned()) };
    Comparison {
        contenders: names.iter().map(contender).collect(),
        base: base.then(|| names[0].to_owned()),
        control: true,
        ramp: Span(0),
        hold: Span::from_secs(2),
        looks: vec![5, 10],
        margin: 0.05,
        deciding: vec![Figure::Failures, Figure::Throughput],
        seed: 1,
        claim: None,
    }
}

/// A record in the making.
struct Story {
    record: Record,
    random: Pcg64Mcg,
    at_us: u64,
    load: Load,
    /// What else there is to a tick.
    touch: fn(&mut Tick),
}

impl Story {
    fn new(comparison: Comparison) -> Story {
        let random = Pcg64Mcg::seed_from_u64(3);
        let mut story = Story { record: Record::default(), random, at_us: 0, load: users(50, 1e9), touch: |_| {} };
        let head = RunStarted {
            schema: SCHEMA.to_owned(),
            version: "1".to_owned(),
            started: "2026-11-21T11:00:00Z".to_owned(),
            command: Vec::new(),
            environment: genkai_model::event::Environment { cores: 1, ..Default::default() },
            plan: Plan { study: Study::Compare(comparison), ..plan(users(50, 1e9), "errors < 0.1%") },
            rewrites: Vec::new(),
        };
        story.push(None, What::RunStarted(Box::new(head)));
        story
    }

    fn push(&mut self, trial: Option<u32>, what: What) {
        self.record.push(Event { at_us: self.at_us, trial, what });
    }

    fn turn(&mut self, contender: &str, block: u32, control: bool, does: Does) {
        let number = self.record.trials.len() as u32 + 1;
        let turn = Turn { contender: contender.to_owned(), block, place: 1, of: 3, control };
        self.push(None, What::Turn(turn));
        let load = self.load.clone();
        let started = TrialStarted::measure(load);
        self.push(Some(number), What::TrialStarted(Box::new(started)));
        let began = self.at_us;
        // What drifts on the machine, and the turn's own.
        let noise: f64 = self.random.sample(StandardNormal);
        let level = (0.1 * f64::from(block % 3) + 0.005 * noise).exp();
        for n in 0..25_u64 {
            let slow = if (n as usize) < does.warm_up { 0.5 } else { 1.0 };
            let wobble = 1.0 + 0.02 * f64::from(n as u32 % 3);
            self.at_us = began + (n + 1) * 50_000;
            let mut tick = tick(n, does, level * slow * wobble);
            (self.touch)(&mut tick);
            self.push(Some(number), What::Tick(Box::new(tick)));
            if n % 4 == 0 {
                let metrics = [("nginx.cpu".to_owned(), does.cpu), ("nginx.rss".to_owned(), 1e7)].into();
                self.push(Some(number), What::Sample(Sample { subject: "nginx".to_owned(), metrics }));
            }
        }
        let lasted = Span::from_secs(2);
        let ended = TrialEnded {
            reason: EndReason::Completed,
            lasted,
            abandoned: 0,
            client_rss: 0,
            client: None,
            workers: Vec::new(),
        };
        self.push(Some(number), What::TrialEnded(ended));
    }

    /// Blocks of all contenders, each doing what it does, and the first one's control.
    fn blocks(&mut self, count: u32, all: &[(&str, Does)]) {
        for block in 1..=count {
            for (name, does) in all {
                self.turn(name, block, false, *does);
            }
            self.turn(all[0].0, block, true, all[0].1);
        }
    }

    fn findings(mut self) -> ComparisonFinding {
        let end = RunEnded { interrupted: false, failure: None, diff: String::new() };
        self.push(None, What::RunEnded(end));
        findings(&self.record).unwrap()
    }
}

fn tick(n: u64, does: Does, level: f64) -> Tick {
    let ok = (does.rate * level).round() as u64;
    let mut latency = histogram::empty();
    latency.record_n((does.latency * 1e6 / level) as u64, ok).unwrap();
    let errors =
        if does.failed > 0 { vec![ErrorCount { kind: ErrorKind::Status503, count: does.failed }] } else { Vec::new() };
    Tick {
        from_us: n * 50_000,
        to_us: (n + 1) * 50_000,
        level: 50.0,
        in_flight: (does.rate * does.latency / 50.0) as u64,
        connections: 50,
        sent: ok + does.failed,
        ok,
        errors,
        latency: Payload::encode(&latency),
        service: Payload::encode(&latency),
        cpu_us: (does.client * 50_000.0) as u64,
        cpu_max_us: (does.client * 50_000.0) as u64,
        ..Tick::default()
    }
}

fn call(finding: &ComparisonFinding, figure: Figure) -> Call {
    finding.pairs[0].effects.iter().find(|effect| effect.figure == figure).unwrap().call
}

#[test]
fn what_a_private_copy_differs_in_stays_with_its_contender() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    let rewrite = Rewrite { place: "/u/squid.conf:3".to_owned(), from: "http_port 80".to_owned(), to: String::new() };
    let entry = ContenderRecord {
        contender: "more".to_owned(),
        version: "squid 5.7".to_owned(),
        settings: Vec::new(),
        rewrites: vec![rewrite.clone()],
        largest: None,
        started: Span(0),
    };
    story.push(None, What::Contender(Box::new(entry)));
    story.blocks(5, &[("base", PLAIN), ("more", PLAIN)]);
    let subjects = story.findings().contenders;
    assert_eq!((subjects[0].rewrites.as_slice(), subjects[1].rewrites.as_slice()), (&[][..], &[rewrite][..]));
}

#[test]
fn what_differs_and_what_does_not() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    story.blocks(5, &[("base", PLAIN), ("more", Does { rate: 130.0, failed: 30, ..PLAIN })]);
    let finding = story.findings();
    assert_eq!(call(&finding, Figure::Throughput), Call::Better);
    assert_eq!(call(&finding, Figure::Failures), Call::Worse);
    assert_eq!(call(&finding, Figure::Memory), Call::Same);
    assert_eq!((finding.outcome, finding.ended), (Outcome::Holds, Ended::Early));
    let throughput = finding.pairs[0].effects[1].effect.unwrap();
    assert!((throughput.value / 1.3 - 1.0).abs() < 0.02, "{throughput:?}");
    let worse = ComparisonCaveat::Survivors { name: "more".to_owned() };
    assert!(finding.caveats.contains(&worse), "{:?}", finding.caveats);
    assert!(
        (finding.each - 0.05 * 0.5 / 8.0).abs() < 1e-12,
        "half of the error rate at the first of two looks, 8 figures"
    );
}

#[test]
fn equal_contenders_are_equal_and_their_control_too() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", PLAIN), ("b", PLAIN)]);
    let finding = story.findings();
    for effect in finding.pairs.iter().chain(&finding.control).flat_map(|pair| &pair.effects) {
        assert_eq!(effect.call, Call::Same, "{effect:?}");
    }
    assert_eq!((finding.outcome, finding.ended), (Outcome::Holds, Ended::Early));
    assert_eq!(finding.contenders[0].warm_up, Some(0.0));
}

#[test]
fn it_is_enough_at_a_look_and_not_between() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    let more = Does { rate: 130.0, ..PLAIN };
    story.blocks(4, &[("base", PLAIN), ("more", more)]);
    assert!(!is_enough(&story.record), "no look is planned after four blocks, however clear it is");
    story.turn("base", 5, false, PLAIN);
    story.turn("more", 5, false, more);
    story.turn("base", 5, true, PLAIN);
    assert!(is_enough(&story.record));
    let mut open = Story::new(comparison(&["base", "more"], true));
    for block in 1..=5 {
        // As often better as worse: nobody can tell.
        let rate = if block % 2 == 0 { 60.0 } else { 140.0 };
        open.turn("base", block, false, PLAIN);
        open.turn("more", block, false, Does { rate, ..PLAIN });
    }
    assert!(!is_enough(&open.record));
    let finding = open.findings();
    assert!(matches!(call(&finding, Figure::Throughput), Call::CannotTell { more: Some(1..) | None }), "{finding:?}");
    assert_eq!(finding.outcome, Outcome::Fails);
}

#[test]
fn a_contender_that_differs_from_itself_spoils_it() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    for block in 1..=5 {
        story.turn("a", block, false, PLAIN);
        story.turn("b", block, false, PLAIN);
        story.turn("a", block, true, Does { rate: 150.0, ..PLAIN });
    }
    let finding = story.findings();
    assert_eq!(finding.outcome, Outcome::Invalid);
    assert!(
        matches!(&finding.caveats[0], ComparisonCaveat::ControlDiffers { figures } if figures.contains(&Figure::Throughput))
    );
}

#[test]
fn a_figure_that_decides_nothing_and_differs_from_itself_is_not_spoken_of() {
    let mut plan = comparison(&["a", "b"], true);
    plan.deciding = vec![Figure::Throughput];
    let mut story = Story::new(plan);
    let slow = Does { latency: 2.0 * PLAIN.latency, ..PLAIN };
    for block in 1..=5 {
        story.turn("a", block, false, PLAIN);
        story.turn("b", block, false, slow);
        story.turn("a", block, true, slow);
    }
    let finding = story.findings();
    assert_eq!(finding.outcome, Outcome::Holds, "{finding:?}");
    assert!(
        matches!(&finding.caveats[0], ComparisonCaveat::ControlStrays { figures } if figures.contains(&Figure::P95))
    );
    assert_eq!(call(&finding, Figure::P95), Call::CannotTell { more: None });
    assert_eq!(call(&finding, Figure::Throughput), Call::Same);
}

#[test]
fn where_nobody_is_stressed_throughput_decides_nothing() {
    let idle = Does { cpu: 0.1, ..PLAIN };
    let mut only = comparison(&["a", "b"], false);
    only.deciding = vec![Figure::Throughput];
    let mut story = Story::new(only);
    story.blocks(5, &[("a", idle), ("b", Does { rate: 108.0, ..idle })]);
    let finding = story.findings();
    assert!(!finding.stress.anybody);
    assert_eq!(finding.outcome, Outcome::Invalid);
    let mut slower = Story::new(comparison(&["a", "b"], false));
    slower.blocks(5, &[("a", idle), ("b", Does { latency: 1.2 * PLAIN.latency, rate: 84.0, ..idle })]);
    let told = slower.findings();
    assert_eq!((told.outcome, call(&told, Figure::P95)), (Outcome::Holds, Call::Worse), "latency is decided: {told:?}");
    let busiest = finding.stress.busiest.unwrap();
    assert!((0.09..0.11).contains(&busiest), "{busiest}");
    let mut busy = Story::new(comparison(&["a", "b"], false));
    busy.blocks(5, &[("a", PLAIN), ("b", Does { rate: 108.0, ..PLAIN })]);
    let finding = busy.findings();
    assert!(finding.stress.anybody);
    let throughput = |n: usize| (finding.contenders[n].figures[1].best, finding.contenders[n].figures[1].worst);
    assert_eq!((throughput(0), throughput(1)), ((2, 2), (1, 1)), "the second is first for certain");
}

#[test]
fn two_that_answer_nothing_are_not_equal() {
    let silent = Does { rate: 0.0, failed: 30, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", silent), ("b", silent)]);
    assert!(!is_enough(&story.record), "nothing is decided");
    let finding = story.findings();
    assert_eq!((finding.blocks, finding.outcome), (5, Outcome::Invalid));
    assert!(finding.pairs[0].effects.iter().all(|effect| effect.call == Call::Missing), "{:?}", finding.pairs);
    let unanswered = ComparisonCaveat::Unanswered { base: "a".to_owned(), other: "b".to_owned() };
    assert!(finding.caveats.contains(&unanswered), "{:?}", finding.caveats);
    let mut one = Story::new(comparison(&["a", "b", "c"], true));
    one.blocks(5, &[("a", silent), ("b", silent), ("c", PLAIN)]);
    let finding = one.findings();
    assert_eq!(finding.outcome, Outcome::Fails, "one pair is open, the other is not");
    assert!(finding.caveats.contains(&unanswered), "{:?}", finding.caveats);
    assert_eq!(finding.pairs[1].effects[0].call, Call::Better, "{:?}", finding.pairs[1]);
}

#[test]
fn a_figure_that_decides_and_is_missing_is_open() {
    let deciding = vec![Figure::P95, Figure::Failures];
    let mut story = Story::new(Comparison { deciding, ..comparison(&["a", "b"], true) });
    story.blocks(5, &[("a", PLAIN), ("b", Does { rate: 0.0, failed: 30, ..PLAIN })]);
    let finding = story.findings();
    assert_eq!((call(&finding, Figure::P95), call(&finding, Figure::Failures)), (Call::Missing, Call::Worse));
    assert_eq!(finding.outcome, Outcome::Fails);
}

fn sockets() -> Load {
    Load { protocol: Protocol::WebSocket(WebSocket::default()), ..users(50, 1e9) }
}

#[test]
fn latencies_of_websockets_need_a_client_that_is_in_time() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.load = sockets();
    story.touch = |tick| {
        let mut late = histogram::empty();
        late.record_n(300_000_000, 100).unwrap();
        tick.lateness = Payload::encode(&late);
    };
    story.blocks(2, &[("a", PLAIN), ("b", PLAIN)]);
    let finding = story.findings();
    assert_eq!((finding.blocks, finding.outcome), (0, Outcome::Invalid), "300 ms late, beside latencies of 10 ms");
}

#[test]
fn a_websocket_that_is_cut_with_a_message_under_way_is_one_failure() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.load = sockets();
    story.touch = |tick| {
        // Two are cut that wait for an answer, a third with nothing under way, and one is closed.
        tick.errors = vec![ErrorCount { kind: ErrorKind::ClosedAbnormally, count: 2 }];
        tick.disconnects = Some(Disconnects { closed: 1, cut: 3, ..Disconnects::default() });
    };
    story.blocks(2, &[("a", PLAIN), ("b", PLAIN)]);
    let turn = story.findings().turns[0].clone();
    assert_eq!(turn.failed, 25 * 4, "{turn:?}");
    let ok = |turn: &genkai_model::finding::comparison::TurnFinding| turn.finished - turn.failed;
    assert!(ok(&turn) > 2_000, "{turn:?}");
}

#[test]
fn turns_of_a_spent_generator_do_not_count() {
    let spent = Does { client: 1.0, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", spent), ("b", spent)]);
    let finding = story.findings();
    assert_eq!((finding.blocks, finding.outcome), (0, Outcome::Invalid));
    assert!(
        finding.caveats.iter().any(|c| matches!(c, ComparisonCaveat::ClientLimit { turns: 10, .. })),
        "{:?}",
        finding.caveats
    );
}

#[test]
fn a_warm_up_is_seen_and_left_out() {
    let slow = Does { warm_up: 10, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", PLAIN), ("b", slow)]);
    let finding = story.findings();
    assert_eq!(finding.contenders[1].warm_up, Some(0.5));
    assert_eq!(call(&finding, Figure::Throughput), Call::Same, "only what is steady counts");
}

#[test]
fn one_block_is_no_comparison() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(1, &[("a", PLAIN), ("b", PLAIN)]);
    let cut = findings(&story.record).unwrap();
    assert_eq!((cut.outcome, cut.ended), (Outcome::Unfinished, Ended::CutOff));
    assert!(cut.caveats.contains(&ComparisonCaveat::RecordCutOff));
}

#[test]
fn advice_is_judged_by_what_it_promises() {
    let promises = [(Figure::Throughput, Promised::Better), (Figure::Failures, Promised::Same)];
    let test = LoadTest {
        changes: vec!["x 1 -> 2".to_owned()],
        load: users(50, 1e9),
        hold: None,
        objective: Default::default(),
        promises: promises.into_iter().map(|(figure, becomes)| Promise { figure, becomes }).collect(),
    };
    let claim = |test| Claim {
        name: "x".to_owned(),
        advice: "more x is faster".to_owned(),
        read: String::new(),
        system: plan(users(1, 1.0), "errors < 0.1%").system,
        test,
    };
    let with = |rate: f64, does: Does| {
        let with = Comparison {
            claim: Some(Box::new(claim(Test::Load(Box::new(test.clone()))))),
            ..comparison(&["a", "b"], true)
        };
        let mut story = Story::new(with);
        story.blocks(5, &[("a", does), ("b", Does { rate, ..does })]);
        *story.findings().claim.unwrap()
    };
    let verdict = |rate: f64| with(rate, PLAIN).verdict;
    let idle = with(108.0, Does { cpu: 0.1, ..PLAIN });
    assert_eq!(idle.verdict, ClaimVerdict::CannotTell, "what was asked is not what they can do: {:?}", idle.kept);
    assert_eq!((idle.kept[0].kept, idle.kept[1].kept), (None, Some(true)), "nobody fails all the same");
    let silent = with(0.0, Does { rate: 0.0, failed: 30, ..PLAIN });
    assert_eq!(silent.verdict, ClaimVerdict::CannotTell, "{:?}", silent.kept);
    assert_eq!((verdict(130.0), verdict(100.0)), (ClaimVerdict::Confirmed, ClaimVerdict::Partly));
    let line =
        Comparison { claim: Some(Box::new(claim(Test::Line("Nonsense On".to_owned())))), ..comparison(&["a"], true) };
    let mut story = Story::new(line);
    let note = Note { id: genkai_analysis::claims::UNKNOWN.to_owned(), text: "Invalid command 'Nonsense'".to_owned() };
    story.push(None, What::Note(note));
    let finding = *story.findings().claim.unwrap();
    assert_eq!((finding.verdict, finding.said.len()), (ClaimVerdict::DoesNotExist, 1));
}

#[test]
fn who_is_out_is_compared_with_nobody_and_the_others_go_on() {
    let plays = |base| {
        let mut story = Story::new(comparison(&["a", "b", "c"], base));
        story.blocks(2, &[("a", PLAIN), ("b", Does { rate: 130.0, ..PLAIN }), ("c", PLAIN)]);
        story.push(
            None,
            What::Dropped(Box::new(DroppedContender { contender: "c".to_owned(), block: 3, why: "no".to_owned() })),
        );
        for block in 3..=5 {
            story.turn("a", block, false, PLAIN);
            story.turn("a", block, true, PLAIN);
            story.turn("b", block, false, Does { rate: 130.0, ..PLAIN });
        }
        story.findings()
    };
    let finding = plays(false);
    assert_eq!((finding.blocks, finding.pairs.len()), (5, 1));
    assert_eq!(call(&finding, Figure::Throughput), Call::Better);
    let ranks: Vec<(bool, u32, u32)> =
        finding.contenders.iter().map(|one| (one.dropped, one.figures[1].best, one.figures[1].worst)).collect();
    assert_eq!(ranks[..2], [(false, 2, 2), (false, 1, 1)], "ranks are those of who plays");
    assert!(ranks[2].0);
    assert_eq!(finding.outcome, Outcome::Fails, "a contender is missing");
    let expected = ComparisonCaveat::Dropped { name: "c".to_owned(), block: 3, why: "no".to_owned() };
    assert!(finding.caveats.contains(&expected), "{:?}", finding.caveats);

    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(1, &[("a", PLAIN), ("b", PLAIN)]);
    assert!(!is_enough(&story.record));
    story.push(
        None,
        What::Dropped(Box::new(DroppedContender { contender: "a".to_owned(), block: 2, why: "no".to_owned() })),
    );
    assert!(is_enough(&story.record), "there is nobody to compare with");
    let finding = story.findings();
    assert!(finding.pairs.is_empty() && finding.control.is_none() && finding.outcome == Outcome::Unfinished);
}
