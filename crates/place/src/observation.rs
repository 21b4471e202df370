//! What one look at a running server brought: the same shape for every product.

use std::process::ExitStatus;

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::{LogLine, Sample};

use crate::process::Child;

/// Everything new since the look before. Gauges are as of now; log lines and state changes are told once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observation {
    /// Metrics, one sample a subject.
    pub samples: Vec<Sample>,
    /// New log lines, alike ones of the interval as one.
    pub logs: Vec<LogLine>,
    /// State changes.
    pub states: Vec<State>,
}

impl Observation {
    /// Of a server that is one process: a sample for as long as it runs, and once that it has ended (`called` is put before how).
    pub fn of(child: &mut Child, subject: &str, called: &str, sample: impl FnOnce() -> Sample) -> Observation {
        let states = child.death().map(|status| died(subject, called, status)).into_iter().collect();
        let samples = if child.try_exited().is_none() { vec![sample()] } else { Vec::new() };
        Observation { samples, states, logs: Vec::new() }
    }

    /// Adds what another look brought (a product and its backend are looked at together).
    pub fn merge(&mut self, other: Observation) {
        self.samples.extend(other.samples);
        self.logs.extend(other.logs);
        self.states.extend(other.states);
    }
}

/// That the process of `subject` has ended; `called` is put before how.
pub fn died(subject: &str, called: &str, status: ExitStatus) -> State {
    State { subject: subject.to_owned(), state: ServerState::Died, detail: Some(format!("{called}{status}")) }
}
