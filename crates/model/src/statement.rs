//! What a report states, before it is put into words: who, what, how much, when, and where in the record that is seen.
//!
//! A figure has an *address*: where it stands in `verdict.json`, as a JSON Pointer (RFC 6901). What the record says of it is
//! recomputed by somebody who does not know how it was computed (`genkai report --check`).
//! (A *claim* is something else: a published opinion that is put to the test, see [`crate::claim`].)

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One figure that is stated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Statement {
    /// Where it stands in `verdict.json`: `/trials/2/latency/p99`.
    pub address: String,
    /// Of whom: `trial 3`, `limit worker_connections`, a contender's name, or `run`.
    pub subject: String,
    /// What of it: the address without positions, `trials.latency.p99`.
    pub predicate: String,
    /// How much.
    pub value: Value,
    /// What the value counts.
    pub unit: Unit,
    /// When; none: over the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The events that it is made of.
    pub from: Source,
}

/// How much, and how that is known. A measured value, a bound and a figure that nobody sampled are three different things.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StatedValue")]
pub enum Value {
    /// Counted, exactly.
    Count(u64),
    /// Measured or computed of what was measured.
    Measured(f64),
    /// No value was seen; it is larger than this (so long was waited, and no response had come).
    MoreThan(f64),
    /// No value was seen; it is smaller than this.
    LessThan(f64),
    /// The best estimate of so many observations, with its confidence interval.
    Estimate {
        /// Best estimate.
        value: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end of the interval.
        high: f64,
        /// Observations.
        n: u32,
    },
    /// Between two ends, both included: what a formula predicts.
    Between {
        /// Smallest.
        low: f64,
        /// Largest.
        high: f64,
    },
    /// Nobody looked, or there was nothing to be seen: no figure, and not zero.
    NotSampled,
}

impl Value {
    /// The numbers in it.
    pub fn numbers(&self) -> Vec<f64> {
        match *self {
            Value::Count(n) => vec![n as f64],
            Value::Measured(x) | Value::MoreThan(x) | Value::LessThan(x) => vec![x],
            Value::Estimate { value, low, high, n } => vec![value, low, high, f64::from(n)],
            Value::Between { low, high } => vec![low, high],
            Value::NotSampled => Vec::new(),
        }
    }
}

/// What a value counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StatedUnit")]
pub enum Unit {
    /// Things: requests, connections, messages, lines.
    Number,
    /// Seconds.
    Seconds,
    /// Microseconds.
    Microseconds,
    /// Things a second.
    PerSecond,
    /// A part of one: 0.01 is 1 %.
    Fraction,
    /// One value by another: 1.05 is 5 % more.
    Ratio,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Cores' worth of processor time.
    Cores,
    /// Users, or planned requests a second: what the load counts.
    Level,
    /// What the condition, the metric or the compared figure beside it counts.
    Named,
    /// A name that is a number: of a trial, a block, a status, a seed.
    Name,
}

/// A stretch of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StatedWindow")]
pub struct Window {
    /// The trial.
    pub trial: u32,
    /// Begin, microseconds since its load began.
    pub from_us: u64,
    /// End.
    pub to_us: u64,
}

/// The events of a record that a figure is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "StatedFrom")]
pub enum Source {
    /// Intervals of load.
    Ticks,
    /// Intervals of load, and looks at servers.
    TicksAndSamples,
    /// The end of a trial.
    TrialEnd,
    /// The head of a trial, and its number.
    Trial,
    /// Log lines, samples and errors: what speaks for a cause.
    Evidence,
    /// Limits as configured, and the load that is planned: a formula.
    Limits,
    /// Several trials, in pairs, blocks or rounds.
    Trials,
    /// What contenders were asked (latency comparison).
    Rounds,
    /// Loads on caches, with what they used.
    Passes,
    /// What became of the messages of chat rooms, as members and nodes tell it.
    Attendance,
    /// What was decided before anything started.
    Plan,
}

/// What a second computation of every statement of a verdict found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Statements recomputed from the events.
    pub recomputed: u64,
    /// Statements held within bounds only: in order, within what was counted, an estimate inside its interval.
    pub bounded: u64,
    /// Statements that the check cannot judge: quoted from the plan, or a formula's.
    pub unchecked: u64,
    /// The same by what they are made of.
    #[serde(default)]
    pub unchecked_of: BTreeMap<Source, u64>,
    /// Words that were decided again from the events, and came out as they stand: whether a trial broke and by what, what an effect means,
    /// what a run decides.
    #[serde(default)]
    pub decided: u64,
    /// The first event that does not fit the others, if any.
    pub unfit: Option<Unfit>,
    /// Statements that do not follow from the events.
    pub differences: Vec<Difference>,
    /// Words that do not follow from the events.
    #[serde(default)]
    pub contradicted: Vec<Contradicted>,
    /// Where the verdict says nothing that an earlier build of genkai did not say yet, by their addresses: no objection.
    #[serde(default)]
    pub unstated: Vec<String>,
    /// Files of the run that are not what the record gives.
    #[serde(default)]
    pub files: Vec<FileDiffers>,
    /// Files of the run that could not be held against the record, or not as a whole.
    #[serde(default)]
    pub unheld: Vec<Unheld>,
}

/// A file of a run that is not what the record gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDiffers {
    /// The file, seen from the run's folder.
    pub file: String,
    /// Where in the data inside it, as a JSON Pointer; none: the file as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// What stands there.
    pub stated: String,
    /// What the record gives.
    pub record: String,
}

/// A file of a run that could not be held against the record, or not as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unheld {
    /// The file, seen from the run's folder.
    pub file: String,
    /// Why.
    pub why: UnheldWhy,
}

/// Why a file could not be held against the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnheldWhy {
    /// Another build of genkai wrote it, which may word and order things otherwise: only its outcome and headline were compared.
    AnotherBuild,
    /// Another build of genkai wrote it, and yet another the verdict beside it, or there is none: nothing of it was compared.
    OtherBuilds,
    /// The record has no checksum of it: an earlier build wrote it.
    NoChecksum,
    /// The record tells of it, and it is not there (any more).
    NotThere,
    /// It has no list of its statements, so that the verdict was made anew and that one was checked.
    NoStatements,
}

/// An event that does not fit those before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unfit {
    /// Its line in run.jsonl, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// A statement that does not follow from the events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The statement, with the value it has in the verdict.
    pub statement: Statement,
    /// What the events say.
    pub events: String,
    /// The first event concerned, its line in run.jsonl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// A word of a verdict that does not follow from the events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contradicted {
    /// Where it stands in `verdict.json`, as a JSON Pointer.
    pub address: String,
    /// What stands there, as JSON.
    pub stated: String,
    /// What the events say.
    pub events: String,
    /// The first event concerned, its line in run.jsonl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

impl Checked {
    /// Whether everything follows and every event fits.
    pub fn holds(&self) -> bool {
        let stated = self.differences.is_empty() && self.contradicted.is_empty();
        self.unfit.is_none() && stated && self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_bound_and_not_sampled_are_three_things() {
        let words = |value: Value| serde_json::to_string(&value).unwrap();
        assert_eq!(words(Value::Measured(0.3)), r#"{"measured":0.3}"#);
        assert_eq!(words(Value::MoreThan(0.3)), r#"{"more_than":0.3}"#);
        assert_eq!(words(Value::NotSampled), r#""not_sampled""#);
        assert!(Value::NotSampled.numbers().is_empty(), "what nobody sampled is no number, and not 0");
        for value in [Value::Count(3), Value::LessThan(1.5), Value::Between { low: 1.0, high: 2.0 }, Value::NotSampled]
        {
            assert_eq!(serde_json::from_str::<Value>(&words(value)).unwrap(), value);
        }
    }
}
