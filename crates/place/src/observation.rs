//! What one look at a running server brought: the same shape for every product.

use genkai_model::event::State;
use genkai_model::evidence::{LogLine, Sample};

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
    /// Adds what another look brought (a product and its backend are looked at together).
    pub fn merge(&mut self, other: Observation) {
        self.samples.extend(other.samples);
        self.logs.extend(other.logs);
        self.states.extend(other.states);
    }
}
