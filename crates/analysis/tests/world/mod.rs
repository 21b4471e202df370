//! A small world to test in: systems with known limits, and a lab that runs what the analysis asks for, tick by tick,
//! without a clock. Deterministic.

#![allow(dead_code, unreachable_pub, missing_docs)]

use std::collections::BTreeMap;

use genkai_analysis::diagnosis::watch::Watch;
use genkai_analysis::tuning::{self, Next, TrialPlan};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::*;
use genkai_model::evidence::{LogLine, Sample};
use genkai_model::histogram::{self, Payload};
use genkai_model::limit::Limit;
use genkai_model::load::{Arrivals, Load};
use genkai_model::plan::Plan;
use genkai_model::record::Record;
use genkai_model::units::Span;

pub mod lines;
pub mod parts;

/// Microseconds of a tick.
const TICK: u64 = 200_000;

/// One moment of a load, as a system sees it.
pub struct Moment<'a> {
    /// Seconds since the load began.
    pub t: f64,
    /// Users, or requests a second.
    pub level: f64,
    /// Which trial it is, from 1.
    pub trial: u32,
    /// What the trial is for.
    pub purpose: Purpose,
    settings: &'a BTreeMap<String, f64>,
}

impl Moment<'_> {
    /// A setting's value now.
    pub fn value(&self, setting: &str) -> f64 {
        self.settings[setting]
    }
}

/// What is seen of a system in one tick.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Successful responses a second.
    pub ok: f64,
    /// Latency of all of them, seconds.
    pub latency: f64,
    /// Time from write to response, seconds.
    pub service: f64,
    /// Errors a second.
    pub errors: Vec<(ErrorKind, f64)>,
    /// The level from which there are errors.
    pub from_level: f64,
    /// Log signatures with lines in the tick.
    pub logs: Vec<(&'static str, u64)>,
    /// Gauges now.
    pub gauges: Vec<(&'static str, f64)>,
    /// Counters' growth in the tick.
    pub growth: Vec<(&'static str, f64)>,
    /// Requests in flight at the end.
    pub in_flight: f64,
    /// Lateness of the client, seconds.
    pub lateness: f64,
    /// The client's busiest thread, fraction of a core.
    pub cpu: f64,
    /// Requests sent by requests planned.
    pub sent: f64,
    /// Since when the request has waited that waits longest, seconds, and how many are overdue; none as records of older versions have it.
    pub waiting: Option<(f64, u64)>,
    /// Connections opened a second, and full TLS handshakes made on them; none: without TLS.
    pub secured: Option<(f64, f64)>,
    /// A server that died.
    pub died: Option<&'static str>,
}

impl Seen {
    /// `users` in a closed loop without think time, each response taking `service` seconds.
    pub fn closed(users: f64, service: f64) -> Seen {
        Seen {
            ok: users / service,
            latency: service,
            service,
            errors: Vec::new(),
            from_level: 0.0,
            logs: Vec::new(),
            gauges: Vec::new(),
            growth: Vec::new(),
            in_flight: users,
            lateness: 0.000_05,
            cpu: 0.1,
            sent: 1.0,
            waiting: None,
            secured: None,
            died: None,
        }
    }
}

/// How a system answers a load.
pub type Behaviour = Box<dyn Fn(&Moment<'_>) -> Seen>;

/// The limits of a system with given settings.
pub type Configured = Box<dyn Fn(&BTreeMap<String, f64>) -> Vec<Limit>>;

/// A system with a plan for it.
pub struct World {
    pub plan: Plan,
    /// Numbers of the settings as the plan has them.
    pub settings: BTreeMap<String, f64>,
    /// The limits for given settings.
    pub limits: Configured,
    pub behaviour: Behaviour,
}

/// A run in the making.
pub struct Run {
    pub record: Record,
    pub events: Vec<Event>,
    /// What was asked for, in order.
    pub asked: Vec<TrialPlan>,
    now_us: u64,
    counters: BTreeMap<String, f64>,
}

impl Run {
    fn push(&mut self, trial: Option<u32>, what: What) {
        self.at(self.now_us, trial, what);
    }

    fn at(&mut self, at_us: u64, trial: Option<u32>, what: What) {
        let event = Event { at_us, trial, what };
        self.record.push(event.clone());
        self.events.push(event);
    }

    /// `BCAB`...: the purposes of the trials in order.
    pub fn order(&self) -> String {
        let letter = |t: &TrialPlan| match t.purpose {
            Purpose::Break => 'X',
            Purpose::Counterfactual => 'C',
            Purpose::Repeat => 'c',
            Purpose::Direct => 'D',
            Purpose::Bisect => 'R',
            Purpose::Smaller => 'S',
            Purpose::Baseline => 'A',
            Purpose::Proposal => 'B',
            Purpose::Measure => 'M',
        };
        self.asked.iter().map(letter).collect()
    }
}

impl World {
    /// The whole run, as the lab would make it.
    pub fn run(&self) -> Run {
        self.run_until(40)
    }

    /// The run, cut off after so many trials.
    pub fn run_until(&self, most: usize) -> Run {
        let mut run = self.begin();
        while run.asked.len() < most {
            let Next::Trial(what) = tuning::next(&run.record) else { break };
            self.trial(&mut run, &what);
        }
        assert!(most < 40 || run.asked.len() < 40, "the search does not end");
        let end = RunEnded { interrupted: false, failure: None, diff: String::new(), files: Vec::new() };
        run.push(None, What::RunEnded(end));
        run
    }

    /// A run in which nothing has happened yet.
    pub fn begin(&self) -> Run {
        let mut run = Run {
            record: Record::default(),
            events: Vec::new(),
            asked: Vec::new(),
            now_us: 0,
            counters: BTreeMap::new(),
        };
        let head = RunStarted {
            schema: SCHEMA.into(),
            version: "0.0.0".into(),
            started: "2026-01-01T00:00:00Z".into(),
            command: vec!["genkai".into()],
            environment: Environment::default(),
            plan: self.plan.clone(),
            rewrites: Vec::new(),
        };
        run.push(None, What::RunStarted(Box::new(head)));
        run.push(None, What::Limits(Limits { limits: (self.limits)(&self.settings) }));
        run
    }

    /// One trial.
    pub fn trial(&self, run: &mut Run, what: &TrialPlan) {
        let mut settings = self.settings.clone();
        for change in &what.changes {
            let number = change.to.split("r/s").next().unwrap_or_default();
            let bytes = number.trim_end_matches('s').parse::<genkai_model::units::Bytes>().map(|b| b.0 as f64);
            settings.insert(change.setting.clone(), bytes.unwrap_or(0.0));
        }
        let number = run.record.trials.len() as u32 + 1;
        run.asked.push(what.clone());
        run.now_us += 1_000_000;
        run.push(None, What::Limits(Limits { limits: (self.limits)(&settings) }));
        let load = shape(&self.plan.load, what);
        let started = TrialStarted {
            purpose: what.purpose,
            changes: what.changes.clone(),
            limit: what.limit.clone(),
            load: load.clone(),
        };
        run.push(Some(number), What::TrialStarted(Box::new(started)));
        let (reason, lasted) = self.load(run, number, &load, &settings, what);
        run.now_us += lasted;
        let ended = TrialEnded {
            reason,
            lasted: Span(lasted * 1000),
            abandoned: 0,
            client_rss: 1 << 24,
            client: None,
            workers: Vec::new(),
        };
        run.push(Some(number), What::TrialEnded(ended));
    }

    fn load(
        &self,
        run: &mut Run,
        number: u32,
        load: &Load,
        settings: &BTreeMap<String, f64>,
        what: &TrialPlan,
    ) -> (EndReason, u64) {
        let ticks = load.stop.after.0 / 1000 / TICK;
        let begin = run.now_us;
        let mut watch = Watch::new(load, &self.plan.objective, &self.plan.procedure);
        let mut broke = None;
        for i in 0..ticks {
            let (from_us, to_us) = (i * TICK, (i + 1) * TICK);
            let at = |us: u64| level(load, us as f64 / 1e6);
            let moment =
                Moment { t: to_us as f64 / 1e6, level: at(to_us), trial: number, purpose: what.purpose, settings };
            let seen = (self.behaviour)(&moment);
            let tick = tick(&seen, from_us, to_us, &at);
            broke = broke.or(watch.tick(&tick));
            run.at(begin + to_us, Some(number), What::Tick(Box::new(tick)));
            evidence(run, begin + to_us, number, &seen);
            if let Some(subject) = seen.died {
                let state = State { subject: subject.into(), state: ServerState::Died, detail: None };
                run.at(begin + to_us, Some(number), What::State(state));
                return (EndReason::ServerDied, to_us);
            }
            let searching =
                matches!(what.purpose, Purpose::Break | Purpose::Counterfactual | Purpose::Repeat | Purpose::Direct);
            if searching && broke.is_some_and(|broke| tuning::may_end(what.purpose, &broke, to_us)) {
                return (EndReason::BreakSeen, to_us);
            }
        }
        (EndReason::Completed, ticks * TICK)
    }
}

fn shape(load: &Load, what: &TrialPlan) -> Load {
    let mut load = load.clone();
    load.stop.after = Span(what.ramp.0 + what.hold.0);
    match &mut load.arrivals {
        Arrivals::Users { count, spawn_rate, .. } => {
            *count = what.level.round() as u32;
            *spawn_rate = if what.ramp.0 == 0 { 1e6 } else { f64::from(*count) / what.ramp.as_secs_f64() };
        }
        Arrivals::Rate { per_second, ramp, .. } => {
            *per_second = what.level;
            *ramp = what.ramp;
        }
    }
    load
}

fn level(load: &Load, t: f64) -> f64 {
    match load.arrivals {
        Arrivals::Users { count, spawn_rate, .. } => (t * spawn_rate).floor().min(f64::from(count)),
        Arrivals::Rate { per_second, ramp, .. } if ramp.0 > 0 => per_second * (t / ramp.as_secs_f64()).min(1.0),
        Arrivals::Rate { per_second, .. } => per_second,
    }
}

/// `count` values spread a little (5 % around), so that quantiles are not all one number.
fn histogram(count: u64, seconds: f64) -> Payload {
    let mut all = histogram::empty();
    for i in 0..count {
        let off = 0.95 + 0.1 * (i % 11) as f64 / 10.0;
        all.record(((seconds * off * 1e9) as u64).clamp(histogram::LOWEST_NS, histogram::HIGHEST_NS)).unwrap();
    }
    Payload::encode(&all)
}

fn tick(seen: &Seen, from_us: u64, to_us: u64, at: &dyn Fn(u64) -> f64) -> Tick {
    let seconds = (to_us - from_us) as f64 / 1e6;
    let count = |rate: f64| (rate * seconds).round() as u64;
    let mut errors: Vec<ErrorCount> =
        seen.errors.iter().map(|(kind, rate)| ErrorCount { kind: *kind, count: count(*rate) }).collect();
    errors.retain(|e| e.count > 0);
    let failed: u64 = errors.iter().map(|e| e.count).sum();
    let first = (!errors.is_empty()).then(|| (from_us..to_us).step_by(2000).find(|us| at(*us) > seen.from_level));
    let first = first.map(|f| f.unwrap_or(to_us - 1));
    let ok = count(seen.ok);
    Tick {
        from_us,
        to_us,
        level: at(to_us),
        in_flight: seen.in_flight as u64,
        connections: seen.in_flight as u64,
        sent: ((ok + failed) as f64 * seen.sent) as u64,
        ok,
        errors,
        opened: seen.secured.map_or(0, |(opened, _)| count(opened)),
        handshakes: seen.secured.map(|(_, full)| Handshakes { full: count(full), ..Handshakes::default() }),
        latency: histogram(ok, seen.latency),
        service: histogram(ok, seen.service),
        failed_after: histogram(failed, 0.001),
        lateness: histogram(ok + failed, seen.lateness),
        cpu_us: (seen.cpu * seconds * 1e6) as u64,
        cpu_max_us: (seen.cpu * seconds * 1e6) as u64,
        waiting: seen.waiting.map(|(since, overdue)| Waiting {
            since_us: Some((since * 1e6) as u64),
            since_level: Some(at((since * 1e6) as u64)),
            overdue,
            unsent: 0,
        }),
        first_error_us: first,
        first_error_level: first.map(|us| if at(from_us) > seen.from_level { at(us) } else { seen.from_level + 1.0 }),
        ..Tick::default()
    }
}

fn evidence(run: &mut Run, at_us: u64, number: u32, seen: &Seen) {
    for (signature, count) in &seen.logs {
        let line = LogLine {
            subject: "proxy".into(),
            level: "alert".into(),
            text: format!("{signature} happened"),
            signature: Some((*signature).into()),
            count: *count,
        };
        run.at(at_us, Some(number), What::Log(line));
    }
    let mut metrics: BTreeMap<String, f64> = seen.gauges.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
    for (name, by) in &seen.growth {
        *run.counters.entry((*name).to_owned()).or_insert(0.0) += by;
    }
    metrics.extend(run.counters.clone());
    run.at(at_us, Some(number), What::Sample(Sample { subject: "proxy".into(), metrics }));
}
