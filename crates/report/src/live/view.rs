//! What a viewer of a running test knows: the step, the latest figures, a short history, the last log line.

use genkai_model::event::{Change, Event, Purpose, ServerState, Tick, TrialStarted, What};
use genkai_model::evidence::LogLine;
use genkai_model::load::Arrivals;

use super::directives;
use super::load::Load;
use super::slice::{Present, Slice};
use crate::context;
use crate::unit::Unit;
use crate::{clean, figure, words};

/// Most intervals kept for the small charts.
const HISTORY: usize = 400;
/// Every so many-th round of a comparison is told.
const ROUNDS: u32 = 5;
/// Most kinds of log lines told apart in one trial.
const SIGNATURES: usize = 64;

/// A line worth keeping, and how it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct News {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// What a piece of news is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A step began.
    Step,
    /// A load ended.
    End,
    /// A server wrote this.
    Log,
    /// Something to take note of.
    Note,
}

#[derive(Default)]
pub(super) struct View {
    pub(super) title: String,
    /// What is being tried.
    pub(super) step: String,
    /// Microseconds since the run began.
    pub(super) at_us: u64,
    pub(super) trial: Option<u32>,
    closed: bool,
    pub(super) asked: f64,
    /// Whether that, and the end, is planned; else who asks for users says it meanwhile.
    planned: bool,
    /// The highest level so far.
    reached: f64,
    unit: Unit,
    /// What the level counts, where requests are.
    level_unit: &'static str,
    present: Present,
    now: Slice,
    /// A plain load in more detail.
    pub(super) load: Option<Box<Load>>,
    /// Successful and failed requests a second, oldest first.
    pub(super) history: Vec<(f64, f64)>,
    /// The last log line.
    pub(super) log: String,
    finished: u64,
    failed: u64,
    seconds: f64,
    /// Number of the last round of a comparison.
    rounds: u32,
    heard: Vec<String>,
}

impl View {
    /// Takes the next event; returns what is worth keeping of it.
    pub(super) fn take(&mut self, event: &Event) -> Vec<News> {
        self.at_us = self.at_us.max(event.at_us);
        match &event.what {
            What::RunStarted(head) => {
                self.title = clean::line(&head.plan.title);
                self.closed = matches!(head.plan.load.arrivals, Arrivals::Users { .. });
                vec![]
            }
            What::Step(step) => {
                self.step = tried(step.purpose, &step.changes);
                vec![News { kind: Kind::Step, text: self.step.clone() }]
            }
            What::TrialStarted(started) => {
                self.begin(event.trial, started);
                vec![]
            }
            What::Tick(tick) => {
                self.tick(tick);
                vec![]
            }
            What::Log(line) => self.log(line).into_iter().collect(),
            What::State(state) => match state.state {
                ServerState::Died | ServerState::Refuses | ServerState::WorkerDied => {
                    let detail = state.detail.as_deref().map_or(String::new(), |d| format!(": {}", clean::line(d)));
                    let who = words::subject(&clean::line(&state.subject));
                    vec![note(format!("{who} {}{detail}", words::state(state.state)))]
                }
                ServerState::Started | ServerState::Ready | ServerState::Stopped => vec![],
            },
            What::Contender(_) | What::Turn(_) | What::Dropped(_) => contender(&event.what).into_iter().collect(),
            What::Round(round) => self.round(round.round, round.warm_up).into_iter().collect(),
            What::TrialEnded(_) if self.rounds > 0 => vec![],
            What::TrialEnded(ended) => {
                vec![News { kind: Kind::End, text: self.summary(words::ended(ended.reason, self.planned)) }]
            }
            What::Bisection(began) => vec![News { kind: Kind::Step, text: directives::begins(began) }],
            What::Removal(step) => {
                self.step = directives::without(step);
                vec![News { kind: Kind::Step, text: self.step.clone() }]
            }
            What::Note(n) => vec![note(clean::line(&n.text))],
            What::RunEnded(end) => {
                let cut = end.interrupted.then(|| note("interrupted: what was measured is kept".to_owned()));
                cut.into_iter().chain(end.failure.iter().map(|why| note(clean::line(why)))).collect()
            }
            What::Limits(_)
            | What::Sample(_)
            | What::Attendance(_)
            | What::Node(_)
            | What::Router(_)
            | What::NotStarted(_)
            | What::Collection(_)
            | What::CacheEntry(_)
            | What::CachePass(_)
            | What::Conformance(_) => vec![],
        }
    }

    /// Rounds of a comparison, told now and then.
    fn round(&mut self, round: u32, warm_up: bool) -> Option<News> {
        let known = std::mem::replace(&mut self.rounds, round) == round;
        let text = if warm_up { format!("round {round}, to warm up") } else { format!("round {round}") };
        (!known && (round == 1 || round.is_multiple_of(ROUNDS))).then_some(News { kind: Kind::Step, text })
    }

    fn begin(&mut self, trial: Option<u32>, started: &TrialStarted) {
        self.trial = trial;
        if started.purpose != Purpose::Bisect {
            self.step = tried(started.purpose, &started.changes);
        }
        self.asked = context::asked(&started.load.arrivals);
        self.planned = started.load.asked_by.is_none();
        self.closed = matches!(started.load.arrivals, Arrivals::Users { .. });
        self.unit = Unit::of(&started.load.protocol);
        self.level_unit = context::unit(&started.load);
        (self.present, self.now) = (Present::default(), Slice::default());
        self.load = (started.purpose == Purpose::Measure).then(|| Box::new(Load::new(started)));
        (self.finished, self.failed, self.seconds, self.reached) = (0, 0, 0.0, 0.0);
        self.history.clear();
        self.log.clear();
        self.heard.clear();
    }

    fn tick(&mut self, tick: &Tick) {
        let slice = Slice::of(tick);
        self.finished += slice.ok + slice.failed;
        self.failed += slice.failed;
        self.seconds = tick.to_us as f64 / 1e6;
        self.reached = self.reached.max(tick.level);
        if !self.planned {
            self.asked = tick.level;
        }
        if self.history.len() == HISTORY {
            self.history.remove(0);
        }
        self.history.push((slice.rate(slice.ok), slice.rate(slice.failed)));
        if let Some(load) = &mut self.load {
            load.tick(tick, &slice);
        }
        self.present.push(slice);
        self.now = self.present.sum();
    }

    /// The present moment: the last two seconds, with gauges as they are now.
    pub(super) fn now(&self) -> &Slice {
        &self.now
    }

    /// Changes what is looked at; whether the key means something.
    pub(super) fn key(&mut self, key: char) -> bool {
        self.load.as_mut().is_some_and(|load| load.key(key))
    }

    /// Remembers the line for the screen; news the first time its kind is seen in a trial.
    fn log(&mut self, line: &LogLine) -> Option<News> {
        let times = if line.count > 1 { format!(" ({} lines)", figure::count(line.count)) } else { String::new() };
        let who = words::subject(&clean::line(&line.subject));
        self.log = format!("{who} {}: {}{times}", clean::line(&line.level), clean::line(clean::gist(&line.text)));
        let key = line.signature.clone().unwrap_or_else(|| line.text.clone());
        if self.heard.len() >= SIGNATURES || self.heard.contains(&key) {
            return None;
        }
        self.heard.push(key);
        Some(News { kind: Kind::Log, text: self.log.clone() })
    }

    fn summary(&self, how: &str) -> String {
        if self.unit == Unit::Deliveries {
            let (heard, lost) = (figure::count(self.finished - self.failed), figure::count(self.failed));
            let took = figure::seconds(self.seconds);
            return format!(
                "{how}: {took}, {heard} deliveries, {lost} seen to be lost by then, up to {}",
                self.level(self.reached)
            );
        }
        let many = self.unit.many();
        let all = format!("{} of {} {many} failed", figure::count(self.failed), figure::count(self.finished));
        let share = if self.failed == 0 {
            String::new()
        } else {
            format!(" ({})", figure::percent(self.failed as f64 / self.finished as f64))
        };
        format!("{how}: {}, {all}{share} up to {}", figure::seconds(self.seconds), self.level(self.reached))
    }

    /// A load with its unit.
    pub(super) fn level(&self, level: f64) -> String {
        let (one, many) = self.unit.who();
        match (self.closed, self.unit) {
            (true, _) => figure::plural(level.max(0.0).round() as u64, one, many),
            (false, Unit::Requests) => format!("{} {}", figure::number(level), self.level_unit),
            (false, unit) => format!("{} planned {}/s", figure::number(level), unit.many()),
        }
    }

    /// The figures of the present, most important first.
    pub(super) fn figures(&self) -> Vec<String> {
        let now = &self.now;
        let of = |name: &str| format!("{} of {} {name}", figure::whole(now.level), figure::whole(self.asked));
        let level = match self.unit {
            _ if !self.closed || self.asked <= 0.0 => self.level(now.level),
            unit => of(unit.who().1),
        };
        let rate = |n: u64| figure::number(now.rate(n).round());
        let ok = match self.unit {
            Unit::Requests => format!("{} ok/s", rate(now.ok)),
            unit => format!("{} {}/s", rate(now.ok), unit.many()),
        };
        let said = (self.unit == Unit::Deliveries).then(|| format!("{} messages/s", rate(now.sent)));
        let failed = match self.unit {
            // What they said and did not hear.
            Unit::Deliveries => format!("{} lost", figure::count(self.failed)),
            _ => format!("{} failed/s", rate(now.failed)),
        };
        let mut all: Vec<String> = [Some(level), said, Some(ok), Some(failed)].into_iter().flatten().collect();
        all.push(format!("p99 {}", now.times.tail(0.99).map_or_else(|| "-".to_owned(), figure::seconds)));
        if self.load.is_some() {
            all.push(format!("{}/s in", figure::bytes(now.rate(now.bytes_in))));
            all.push(format!("{} open", figure::plural(now.connections, "connection", "connections")));
        }
        all.push(format!("{} in flight", figure::count(now.in_flight)));
        if self.load.is_some() {
            all.push(format!("generator {} of a core", figure::percent((now.busy() * 100.0).round() / 100.0)));
        }
        all
    }
}

/// What a comparison tells of one that takes part.
fn contender(what: &What) -> Option<News> {
    match what {
        What::Contender(entry) => {
            let text = format!("{}: {}", clean::line(&entry.contender), clean::line(&entry.version));
            Some(News { kind: Kind::Step, text })
        }
        What::Turn(turn) => {
            let control = if turn.control { ", control" } else { "" };
            let who = clean::line(&turn.contender);
            let text = format!("block {}, turn {} of {}: {who}{control}", turn.block, turn.place, turn.of);
            Some(News { kind: Kind::Step, text })
        }
        What::Dropped(out) => {
            let (who, why) = (clean::line(&out.contender), clean::line(&out.why));
            Some(note(format!("{who} did not start and takes no further part: {why}")))
        }
        _ => None,
    }
}

fn note(text: String) -> News {
    News { kind: Kind::Note, text }
}

/// What is being tried, in a line.
fn tried(purpose: Purpose, changes: &[Change]) -> String {
    let each: Vec<String> = changes.iter().map(words::change).collect();
    let what = match purpose {
        Purpose::Break => "find the load at which it breaks",
        other => words::purpose(other),
    };
    if each.is_empty() { what.to_owned() } else { format!("{what}: {}", each.join(", ")) }
}
