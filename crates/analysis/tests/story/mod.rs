//! Records of comparisons of systems, made up turn by turn.

use std::collections::BTreeMap;

use genkai_analysis::compare::findings;
use genkai_model::comparison::{Comparison, Contender, Runs, Turn};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{EndReason, Event, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded, TrialStarted, What};
use genkai_model::evidence::{Sample, metric};
use genkai_model::figure::Figure;
use genkai_model::finding::comparison::ComparisonFinding;
use genkai_model::histogram::{self, Payload};
use genkai_model::load::Load;
use genkai_model::plan::{Plan, Study, System};
use genkai_model::record::Record;
use genkai_model::units::Span;
use rand::{Rng, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

use crate::world::parts::{plan, users};

/// What a contender does in a turn.
#[derive(Clone, Copy)]
pub(crate) struct Does {
    /// Responses a tick of 50 ms.
    pub(crate) rate: f64,
    /// Latency, ms.
    pub(crate) latency: f64,
    /// Failures a tick.
    pub(crate) failed: u64,
    /// Bytes of a response.
    pub(crate) size: u64,
    /// Cores used.
    pub(crate) cpu: f64,
    /// The first so many ticks are half as fast.
    pub(crate) warm_up: usize,
    /// Busy fraction of the generator's thread.
    pub(crate) client: f64,
    /// Answers in the place of errors a tick, as the server counts them.
    pub(crate) hidden: u64,
    /// Requests a tick that get no answer.
    pub(crate) held: u64,
    /// Requests a tick that take 16 ticks, beside the others.
    pub(crate) late: u64,
    /// After so many ticks nothing is answered any more.
    pub(crate) until: u64,
}

pub(crate) const PLAIN: Does = Does {
    rate: 100.0,
    latency: 10.0,
    failed: 0,
    size: 1000,
    cpu: 0.9,
    warm_up: 0,
    client: 0.1,
    hidden: 0,
    held: 0,
    late: 0,
    until: 99,
};

pub(crate) fn comparison(names: &[&str], base: bool) -> Comparison {
    let runs = || Runs::Server { system: Box::new(System::generated("nginx")), changes: Vec::new() };
    let contender = |name: &&str| Contender { name: (*name).to_owned(), runs: runs() };
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

/// Ticks of a turn.
const TICKS: u64 = 25;

/// A record in the making.
pub(crate) struct Story {
    pub(crate) record: Record,
    pub(crate) random: Pcg64Mcg,
    pub(crate) at_us: u64,
    pub(crate) load: Load,
    /// What else there is to a tick.
    pub(crate) touch: fn(&mut Tick),
}

impl Story {
    pub(crate) fn new(comparison: Comparison) -> Story {
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

    pub(crate) fn push(&mut self, trial: Option<u32>, what: What) {
        self.record.push(Event { at_us: self.at_us, trial, what });
    }

    pub(crate) fn turn(&mut self, contender: &str, block: u32, control: bool, does: Does) {
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
        for n in 0..TICKS {
            let slow = if (n as usize) < does.warm_up { 0.5 } else { 1.0 };
            let wobble = 1.0 + 0.02 * f64::from(n as u32 % 3);
            self.at_us = began + (n + 1) * 50_000;
            let now = if n < does.until { does } else { Does { rate: 0.0, ..does } };
            let mut tick = tick(n, now, level * slow * wobble);
            tick.in_flight += does.held * (n + 1).min(does.until);
            if n + 1 == TICKS {
                leaves(&mut tick, does);
            }
            (self.touch)(&mut tick);
            self.push(Some(number), What::Tick(Box::new(tick)));
            if n % 4 == 0 {
                let mut metrics: BTreeMap<_, _> =
                    [("nginx.cpu".to_owned(), does.cpu), ("nginx.rss".to_owned(), 1e7)].into();
                if does.hidden > 0 {
                    metrics.insert(metric::HIDDEN_ERRORS.to_owned(), (does.hidden * (n + 1)) as f64);
                }
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
    pub(crate) fn blocks(&mut self, count: u32, all: &[(&str, Does)]) {
        for block in 1..=count {
            for (name, does) in all {
                self.turn(name, block, false, *does);
            }
            self.turn(all[0].0, block, true, all[0].1);
        }
    }

    pub(crate) fn findings(mut self) -> ComparisonFinding {
        let end = RunEnded { interrupted: false, failure: None, diff: String::new(), files: Vec::new() };
        self.push(None, What::RunEnded(end));
        findings(&self.record).unwrap()
    }
}

fn tick(n: u64, does: Does, level: f64) -> Tick {
    let soon = (does.rate * level).round() as u64;
    let mut latency = histogram::empty();
    latency.record_n((does.latency * 1e6 / level) as u64, soon).unwrap();
    let late = if n < 16 { 0 } else { does.late };
    latency.record_n(800_000_000, late).unwrap();
    let ok = soon + late;
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
        bytes_in: ok * does.size,
        errors,
        latency: Payload::encode(&latency),
        service: Payload::encode(&latency),
        cpu_us: (does.client * 50_000.0) as u64,
        cpu_max_us: (does.client * 50_000.0) as u64,
        ..Tick::default()
    }
}

/// The last tick tells how long each has waited that has no answer.
fn leaves(tick: &mut Tick, does: Does) {
    if does.held == 0 && does.until >= TICKS {
        return;
    }
    let mut waited = histogram::empty();
    (0..TICKS.min(does.until)).for_each(|n| waited.record_n((TICKS - n) * 50_000_000 - 25_000_000, does.held).unwrap());
    if does.until < TICKS {
        // All users wait since the tick after the last answer.
        waited.record_n((TICKS - does.until) * 50_000_000, 50).unwrap();
        tick.in_flight += 50;
    }
    tick.unanswered = Payload::encode(&waited);
}
