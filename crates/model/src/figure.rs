//! The figures in which systems are compared, by the names people give them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::UnitError;

/// What is told of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Failed requests by finished ones, of the whole turn; those that hung at its end count as failed, and WebSockets that ended unasked. Where
    /// requests are left without an answer, of those planned early enough to be answered, to fail, or to wait for longer than is patient.
    Failures,
    /// Successful responses a second, once it was steady.
    Throughput,
    /// Median latency of successful responses from the planned instant, seconds, once it was steady. Requests that are left without an answer,
    /// having waited for longer than any took that ended, count as longer than they had waited.
    P50,
    /// 95 %.
    P95,
    /// 99 %.
    P99,
    /// The longest.
    Max,
    /// Processor time of the server's processes by finished requests, seconds, once it was steady.
    Cpu,
    /// Largest resident memory of the server's processes, bytes.
    Memory,
}

impl Figure {
    /// Every figure with its name on the command line, in the order they are told.
    pub const ALL: [(Figure, &'static str); 8] = [
        (Figure::Failures, "failures"),
        (Figure::Throughput, "throughput"),
        (Figure::P50, "p50"),
        (Figure::P95, "p95"),
        (Figure::P99, "p99"),
        (Figure::Max, "max"),
        (Figure::Cpu, "cpu"),
        (Figure::Memory, "memory"),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Figure::ALL.iter().find(|(figure, _)| *figure == self).map_or("", |(_, name)| name)
    }

    /// Whether more of it is better.
    pub fn more_is_better(self) -> bool {
        self == Figure::Throughput
    }

    /// Whether it changes with how long a process has run and how much it has served, the same program under the same load.
    pub fn ages(self) -> bool {
        matches!(self, Figure::Cpu | Figure::Memory)
    }

    /// Whether it is compared by difference; others by ratio.
    pub fn is_fraction(self) -> bool {
        self == Figure::Failures
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Figure {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Figure, UnitError> {
        let found = Figure::ALL.iter().find(|(_, name)| *name == text.trim()).map(|(figure, _)| *figure);
        let example = "failures, throughput, p50, p95, p99, max, cpu or memory";
        found.ok_or_else(|| UnitError { seen: text.to_owned(), what: "figure", example })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_names_and_names_figures() {
        for (figure, name) in Figure::ALL {
            assert_eq!((figure.name(), name.parse()), (name, Ok(figure)));
        }
        assert!("latency".parse::<Figure>().unwrap_err().to_string().contains("throughput"));
    }
}
