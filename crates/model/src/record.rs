//! One run, read back: the events in order, grouped by trial.

use crate::cache::{CacheEntry, CachePass, Conformance};
use crate::comparison::Turn;
use crate::event::{
    Bisection, Event, Limits, NotStarted, Purpose, READ, Removal, RunEnded, RunStarted, SCHEMA, Tick, TrialEnded,
    TrialStarted, What,
};
use crate::evidence::{LogLine, Sample};
use crate::latencies::{Collection, ContenderRecord, Round};
use crate::rooms::{Attendance, NodeReport, RouterReport};
use crate::seal::{Fit, Seal};

/// A record in memory. Grows by [`Record::push`], the same whether events come from a live run or from a file.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Head of the record.
    pub head: Option<RunStarted>,
    /// Trials in order.
    pub trials: Vec<Trial>,
    /// Limits announced before the first trial (and those announced since the last one began).
    pub pending_limits: Option<Limits>,
    /// Whose turn the next trial is, in a comparison of systems.
    pub pending_turn: Option<Turn>,
    /// Events outside of what the other fields hold: steps, notes, states, in order.
    pub remarks: Vec<Event>,
    /// Caches compared: contenders as they are, in order of their starts.
    pub caches: Vec<CacheEntry>,
    /// Caches compared: rules of HTTP that were tried.
    pub conformance: Vec<Conformance>,
    /// The search among directives, where there was one.
    pub bisection: Option<Removals>,
    /// Values with which the server does not start, in order; each with the number of trials that had begun.
    pub not_started: Vec<(usize, NotStarted)>,
    /// Tail of the record; none when the run was cut off.
    pub end: Option<RunEnded>,
    /// The first line that is not as it was written, from 1: it, or one before it, was changed, left out or put in.
    pub edited: Option<usize>,
}

/// A reason not to take a record for the whole of what was seen.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// It ends before the run did.
    CutOff {
        /// The trial that has no end, with the seconds of it that are there and the seconds planned; none where it ends between trials.
        within: Option<(u32, f64, f64)>,
    },
    /// It was changed after it was written.
    Edited {
        /// [`Record::edited`].
        line: usize,
    },
    /// Another version made it.
    Version {
        /// The version of genkai.
        version: String,
        /// The format.
        schema: String,
    },
    /// What was loaded is not all that the system has, or not what its server is, in words.
    Apart {
        /// Why.
        why: String,
    },
}

/// Identity of a note that says what of a run went past the private copy, or how that is another server than the user's: it stands before all that is told.
pub const APART: &str = "apart";

/// A search among the directives of a configuration.
#[derive(Clone, Debug)]
pub struct Removals {
    /// How it began.
    pub began: Bisection,
    /// What was left out, in order; each with the number of the trial that was made so.
    pub steps: Vec<(Removal, Option<u32>)>,
}

/// One trial: one load on one configuration.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Number, from 1.
    pub number: u32,
    /// Start of the load, microseconds since the run began.
    pub at_us: u64,
    /// What was done.
    pub started: TrialStarted,
    /// Whose turn it is, in a comparison of systems.
    pub turn: Option<Turn>,
    /// Limits of the system as configured for it.
    pub limits: Limits,
    /// Intervals, in order.
    pub ticks: Vec<Tick>,
    /// Looks at servers: microseconds since the load began (negative: before), sample.
    pub samples: Vec<(i64, Sample)>,
    /// Log lines: microseconds since the load began, line.
    pub logs: Vec<(i64, LogLine)>,
    /// State changes: microseconds since the load began, state.
    pub states: Vec<(i64, crate::event::State)>,
    /// How it ended; none while it runs or when the run was cut off.
    pub ended: Option<TrialEnded>,
    /// Chat rooms: what became of its messages.
    pub attendance: Option<Attendance>,
    /// Chat rooms: what nodes told after it.
    pub nodes: Vec<NodeReport>,
    /// Servers compared: contenders as they are.
    pub entries: Vec<ContenderRecord>,
    /// Servers compared: what was asked: microseconds since the load began at the end of each, round.
    pub rounds: Vec<(i64, Round)>,
    /// Servers compared: pauses of garbage collectors: microseconds since the load began at the end of each, pause.
    pub collections: Vec<(i64, Collection)>,
    /// Chat rooms: what the router told after it.
    pub router: Option<RouterReport>,
    /// Caches compared: what the load came to beside what clients saw.
    pub pass: Option<CachePass>,
}

/// A line that is not part of a record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON of an event.
    #[error("line {line}: not an event: {why}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The parser's words.
        why: String,
    },
    /// Not a record of this version.
    #[error("not a record that this version reads: schema is `{0}`, wanted `{SCHEMA}`")]
    Schema(String),
    /// The first line is not the head of a record.
    #[error("not a record: the first line is not `run_started`")]
    Headless,
}

impl Record {
    /// Reads a record from its lines. An unfinished last line (a crash mid-write) is dropped.
    ///
    /// # Errors
    /// When a line is not an event, or the head is missing or of another version.
    pub fn read<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Record, RecordError> {
        let (mut record, mut seal) = (Record::default(), Seal::default());
        let mut lines = lines.enumerate().filter(|(_, text)| !text.trim().is_empty()).peekable();
        while let Some((i, text)) = lines.next() {
            match serde_json::from_str::<Event>(text) {
                Ok(event) => {
                    let differs = seal.read(text) == Fit::Differs;
                    record.edited = record.edited.or(differs.then_some(i + 1));
                    record.push(event);
                }
                Err(_) if lines.peek().is_none() && i > 0 => break,
                Err(e) => return Err(RecordError::Line { line: i + 1, why: e.to_string() }),
            }
            match &record.head {
                None => return Err(RecordError::Headless),
                Some(h) if !READ.contains(&h.schema.as_str()) => return Err(RecordError::Schema(h.schema.clone())),
                Some(_) => {}
            }
        }
        if record.head.is_none() { Err(RecordError::Headless) } else { Ok(record) }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: Event) {
        let at = event.at_us;
        let owner = event.trial.and_then(|n| self.trials.iter_mut().rev().find(|t| t.number == n));
        match (event.what, owner) {
            (What::RunStarted(head), _) => self.head = Some(*head),
            (What::Limits(limits), _) => self.pending_limits = Some(limits),
            (What::Turn(turn), _) => self.pending_turn = Some(turn),
            (What::TrialStarted(started), _) => {
                let limits = self.pending_limits.clone().unwrap_or(Limits { limits: Vec::new() });
                let number = event.trial.unwrap_or(self.trials.len() as u32 + 1);
                let turn = self.pending_turn.take();
                let step = self.bisection.as_mut().and_then(|search| search.steps.last_mut());
                if let Some((_, trial)) = step.filter(|_| started.purpose == Purpose::Bisect) {
                    *trial = Some(number);
                }
                self.trials.push(Trial { turn, ..Trial::new(number, at, *started, limits) });
            }
            (What::Tick(tick), Some(trial)) => {
                trial.started.load.reach(tick.level);
                if let Some(head) = &mut self.head {
                    head.plan.load.reach(tick.level);
                }
                trial.ticks.push(*tick);
            }
            (What::Sample(sample), Some(trial)) => trial.samples.push((trial.since(at), sample)),
            (What::Log(line), Some(trial)) => trial.logs.push((trial.since(at), line)),
            (What::State(state), Some(trial)) => trial.states.push((trial.since(at), state)),
            (What::TrialEnded(ended), Some(trial)) => trial.ended = Some(ended),
            (What::Attendance(attendance), Some(trial)) => trial.attendance = Some(*attendance),
            (What::Node(node), Some(trial)) => trial.nodes.push(*node),
            (What::Contender(entry), Some(trial)) => trial.entries.push(*entry),
            (What::Round(round), Some(trial)) => trial.rounds.push((trial.since(at), *round)),
            (What::Collection(pause), Some(trial)) => trial.collections.push((trial.since(at), pause)),
            (What::CachePass(pass), Some(trial)) => trial.pass = Some(*pass),
            (What::CacheEntry(entry), _) => self.caches.push(*entry),
            (What::Conformance(one), _) => self.conformance.push(one),
            (What::Router(router), Some(trial)) => trial.router = Some(*router),
            (What::Bisection(began), _) => self.bisection = Some(Removals { began: *began, steps: Vec::new() }),
            (What::Removal(removal), _) => {
                self.bisection.iter_mut().for_each(|search| search.steps.push((*removal.clone(), None)));
            }
            (What::NotStarted(one), _) => self.not_started.push((self.trials.len(), one)),
            (What::RunEnded(end), _) => self.end = Some(end),
            (what, _) => self.remarks.push(Event { at_us: at, trial: event.trial, what }),
        }
    }
}

impl Trial {
    fn new(number: u32, at_us: u64, started: TrialStarted, limits: Limits) -> Trial {
        Trial {
            number,
            at_us,
            started,
            turn: None,
            limits,
            ticks: Vec::new(),
            samples: Vec::new(),
            logs: Vec::new(),
            states: Vec::new(),
            ended: None,
            attendance: None,
            nodes: Vec::new(),
            entries: Vec::new(),
            rounds: Vec::new(),
            collections: Vec::new(),
            router: None,
            pass: None,
        }
    }

    fn since(&self, at_us: u64) -> i64 {
        at_us as i64 - self.at_us as i64
    }
}
