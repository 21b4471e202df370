//! What became of flows in an interval: runs, steps by name, checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::histogram::{Payload, empty};

/// Runs of flows in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flows {
    /// Runs that began.
    pub started: u64,
    /// Runs that went through all their steps.
    pub completed: u64,
    /// Runs that ended early, because of a failure.
    pub broken: u64,
    /// Runs for which there was no room ([`skip`](crate::scenario::Scenario::skip)).
    #[serde(default)]
    pub skipped: u64,
    /// Values that were to be taken from responses and were not there.
    #[serde(default)]
    pub missed: u64,
    /// WebSocket messages sent.
    #[serde(default)]
    pub sent: u64,
    /// WebSocket messages that came.
    #[serde(default)]
    pub came: u64,
    /// Of these, dropped unread because too many waited on their connection.
    #[serde(default)]
    pub unread: u64,
    /// Steps that were done, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepCount>,
    /// Checks that were made, in the scenario's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckCount>,
}

/// How one step went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepCount {
    /// Its position among the scenario's names.
    pub position: u32,
    /// Its name.
    pub name: String,
    /// Times it went well.
    pub ok: u64,
    /// Times it failed.
    pub failed: u64,
    /// How long it took when it went well, from the planned instant, ns. For messages: from sending to the message
    /// expected.
    pub took: Payload,
}

/// How one check went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckCount {
    /// Its position among the scenario's checks.
    pub position: u32,
    /// Its name.
    pub name: String,
    /// Times it held.
    pub passed: u64,
    /// Times it did not.
    pub failed: u64,
}

impl Flows {
    /// Adds what another process or interval saw of the same scenario. A damaged distribution counts as empty.
    pub fn add(&mut self, other: &Flows) {
        self.started += other.started;
        self.completed += other.completed;
        self.broken += other.broken;
        self.skipped += other.skipped;
        self.missed += other.missed;
        self.sent += other.sent;
        self.came += other.came;
        self.unread += other.unread;
        for step in &other.steps {
            match self.steps.binary_search_by_key(&step.position, |mine| mine.position) {
                Ok(at) => self.steps[at].add(step),
                Err(at) => self.steps.insert(at, step.clone()),
            }
        }
        for check in &other.checks {
            match self.checks.binary_search_by_key(&check.position, |mine| mine.position) {
                Ok(at) => {
                    self.checks[at].passed += check.passed;
                    self.checks[at].failed += check.failed;
                }
                Err(at) => self.checks.insert(at, check.clone()),
            }
        }
    }
}

impl StepCount {
    fn add(&mut self, other: &StepCount) {
        self.ok += other.ok;
        self.failed += other.failed;
        let mut all = empty();
        let both = [&self.took, &other.took].map(|payload| payload.add_to(&mut all));
        if both.iter().any(Result::is_ok) {
            self.took = Payload::encode(&all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_keeps_steps_and_checks_in_order_and_joins_distributions() {
        let step = |position, ns: u64| {
            let mut took = empty();
            took.record(ns).unwrap();
            let took = Payload::encode(&took);
            StepCount { position, name: format!("step {position}"), ok: 1, failed: 2, took }
        };
        let check = |position| CheckCount { position, name: String::new(), passed: 3, failed: 1 };
        let mut sum = Flows { started: 2, steps: vec![step(1, 5_000)], checks: vec![check(4)], ..Flows::default() };
        let more = vec![step(0, 9_000), step(1, 7_000)];
        sum.add(&Flows { started: 3, steps: more, checks: vec![check(4), check(5)], ..Flows::default() });
        assert_eq!((sum.started, sum.steps.len(), sum.steps[0].position), (5, 2, 0));
        assert_eq!((sum.steps[1].ok, sum.steps[1].failed), (2, 4));
        let took = sum.steps[1].took.decode().unwrap();
        assert_eq!((took.len(), took.max() / 1_000), (2, 7));
        assert_eq!((sum.checks.len(), sum.checks[0].passed, sum.checks[1].passed), (2, 6, 3));
    }
}
