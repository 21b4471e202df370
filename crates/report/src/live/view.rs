//! What a viewer of a running test knows: the step, the latest figures, a short history, the last log line.

use genkai_model::event::{Change, Event, Purpose, ServerState, Tick, TrialStarted, What};
use genkai_model::evidence::LogLine;
use genkai_model::load::Arrivals;

use crate::scene;
use crate::{clean, figure, words};

/// Most intervals kept for the small charts.
const HISTORY: usize = 400;
/// Fewest values from which a p99 is shown.
const FEW: u64 = 10;
/// Most kinds of log lines told apart in one trial.
const SIGNATURES: usize = 64;

/// Figures of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Figures {
    pub(super) level: f64,
    pub(super) in_flight: u64,
    pub(super) ok: f64,
    pub(super) failed: f64,
    /// Seconds.
    pub(super) p99: Option<f64>,
}

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
    pub(super) now: Figures,
    /// Successful and failed requests a second, oldest first.
    pub(super) history: Vec<(f64, f64)>,
    /// The last log line.
    pub(super) log: String,
    finished: u64,
    failed: u64,
    seconds: f64,
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
                ServerState::Died | ServerState::WorkerDied => {
                    let detail = state.detail.as_deref().map_or(String::new(), |d| format!(": {}", clean::line(d)));
                    let who = words::subject(&clean::line(&state.subject));
                    vec![note(format!("{who} {}{detail}", words::state(state.state)))]
                }
                ServerState::Started | ServerState::Ready | ServerState::Stopped => vec![],
            },
            What::TrialEnded(ended) => vec![News { kind: Kind::End, text: self.summary(words::ended(ended.reason)) }],
            What::Note(n) => vec![note(clean::line(&n.text))],
            What::RunEnded(end) => {
                let cut = end.interrupted.then(|| note("interrupted: what was measured is kept".to_owned()));
                cut.into_iter().chain(end.failure.iter().map(|why| note(clean::line(why)))).collect()
            }
            What::Limits(_) | What::Sample(_) | What::Attendance(_) | What::Node(_) => vec![],
        }
    }

    fn begin(&mut self, trial: Option<u32>, started: &TrialStarted) {
        self.trial = trial;
        self.step = tried(started.purpose, &started.changes);
        self.asked = scene::asked(&started.load.arrivals);
        self.closed = matches!(started.load.arrivals, Arrivals::Users { .. });
        self.now = Figures::default();
        (self.finished, self.failed, self.seconds) = (0, 0, 0.0);
        self.history.clear();
        self.log.clear();
        self.heard.clear();
    }

    fn tick(&mut self, tick: &Tick) {
        let seconds = tick.to_us.saturating_sub(tick.from_us) as f64 / 1e6;
        let failed: u64 = tick.errors.iter().map(|e| e.count).sum();
        let per_second = |n: u64| if seconds > 0.0 { n as f64 / seconds } else { 0.0 };
        let latency = tick.latency.decode().ok().filter(|h| h.len() >= FEW);
        self.now = Figures {
            level: tick.level,
            in_flight: tick.in_flight,
            ok: per_second(tick.ok),
            failed: per_second(failed),
            p99: latency.map(|h| h.value_at_quantile(0.99) as f64 / 1e9),
        };
        self.finished += tick.ok + failed;
        self.failed += failed;
        self.seconds = tick.to_us as f64 / 1e6;
        if self.history.len() == HISTORY {
            self.history.remove(0);
        }
        self.history.push((self.now.ok, self.now.failed));
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
        format!(
            "{how}: {}, {} up to {}",
            figure::seconds(self.seconds),
            scene::of(self.failed, self.finished, "failed"),
            self.level(self.now.level)
        )
    }

    /// A load with its unit.
    pub(super) fn level(&self, level: f64) -> String {
        if self.closed {
            figure::plural(level.max(0.0).round() as u64, "user", "users")
        } else {
            format!("{} planned requests/s", figure::number(level))
        }
    }

    /// The latest figures, most important first.
    pub(super) fn figures(&self) -> Vec<String> {
        let f = &self.now;
        let users = if self.closed && self.asked > 0.0 {
            format!("{} of {} users", figure::whole(f.level), figure::whole(self.asked))
        } else {
            self.level(f.level)
        };
        vec![
            users,
            format!("{} ok/s", figure::number(f.ok.round())),
            format!("{} failed/s", figure::number(f.failed.round())),
            format!("p99 {}", f.p99.map_or_else(|| "-".to_owned(), figure::seconds)),
            format!("{} in flight", figure::count(f.in_flight)),
        ]
    }
}

fn note(text: String) -> News {
    News { kind: Kind::Note, text }
}

/// What is being tried, in a line.
fn tried(purpose: Purpose, changes: &[Change]) -> String {
    let each: Vec<String> = changes
        .iter()
        .map(|c| format!("{} from {} to {}", clean::line(&c.setting), clean::line(&c.from), clean::line(&c.to)))
        .collect();
    let what = match purpose {
        Purpose::Break => "find the load at which it breaks",
        other => words::purpose(other),
    };
    if each.is_empty() { what.to_owned() } else { format!("{what}: {}", each.join(", ")) }
}
