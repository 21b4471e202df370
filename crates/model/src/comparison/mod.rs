//! Systems compared under the same load: which, in which blocks, what is told of each, and when it is enough.

mod finding;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::Claim;
use crate::event::Change;
use crate::plan::System;
use crate::units::{Span, UnitError};

pub use finding::{
    Call, ComparedPair, ComparisonCaveat, ComparisonFinding, Effect, Ended, Stress, Subject, SubjectFigure, TurnFinding,
};

/// A comparison. In each block every contender is loaded once, one at a time, in an order drawn for that block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Who takes part.
    pub contenders: Vec<Contender>,
    /// The contender all others are compared with; none: each with each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// One more turn of the first contender in each block: against itself it must come out equal.
    pub control: bool,
    /// How long the load rises in a turn.
    pub ramp: Span,
    /// How long it is held.
    pub hold: Span,
    /// Numbers of blocks after which it is judged whether that is enough, ascending; the last is the most there will be. They
    /// are planned before, for each look spends a part of the error rate.
    pub looks: Vec<u32>,
    /// Largest effect that does not matter: 0.05 is a factor of 1.05 either way. Of failures: as a difference of fractions, at
    /// a tenth of this.
    pub margin: f64,
    /// Figures that must be decided before it ends early.
    pub deciding: Vec<Figure>,
    /// Seed of the orders.
    pub seed: u64,
    /// The advice that is put to the test by it, where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Box<Claim>>,
}

/// A system that takes part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ComparedContender")]
pub struct Contender {
    /// What reports call it, unlike any other's.
    pub name: String,
    /// What it is.
    pub runs: Runs,
}

/// What a contender is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    /// A server of ours, started anew for each turn, with settings changed on top of its system.
    Server {
        /// The server. What stands behind it is the same for all contenders.
        system: Box<System>,
        /// Settings changed on top of it.
        changes: Vec<Change>,
    },
    /// Something that already runs on this machine: `http://127.0.0.1:8080`.
    Url(String),
}

/// What is told of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// Failed requests by finished ones, of the whole turn; those that hung at its end count as failed, and WebSockets that ended unasked.
    Failures,
    /// Successful responses a second, once it was steady.
    Throughput,
    /// Median latency of successful responses from the planned instant, seconds, once it was steady.
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

/// A contender is about to be loaded: said before the trial of its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// [`Contender::name`].
    pub contender: String,
    /// Block, from 1.
    pub block: u32,
    /// Place within the block, from 1.
    pub place: u32,
    /// Turns of a block.
    pub of: u32,
    /// Whether it is the first contender's second turn in the block: the control.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
}

/// A contender did not start, and takes no further part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Out {
    /// [`Contender::name`].
    pub contender: String,
    /// The block in which it did not start, from 1.
    pub block: u32,
    /// Why, in the words of who should have started it.
    pub why: String,
}

/// A change as people write it: `worker_connections 512 -> 1024`, `worker_connections -> 1024`, `worker_connections=1024`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The setting.
    pub setting: String,
    /// What it is before, where that is said.
    pub from: Option<String>,
    /// What it is to be.
    pub to: String,
}

impl FromStr for Wish {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Wish, UnitError> {
        let bad = || UnitError {
            seen: text.to_owned(),
            what: "change",
            example: "\"worker_connections 512 -> 1024\" or \"worker_connections=1024\"",
        };
        let (left, to) = match text.split_once("->") {
            Some((left, to)) => (left.trim(), to.trim()),
            None => text.split_once('=').map(|(name, to)| (name.trim(), to.trim())).ok_or_else(bad)?,
        };
        let (setting, from) = match left.split_once(char::is_whitespace) {
            Some((setting, from)) if text.contains("->") => (setting, Some(from.trim().to_owned())),
            Some(_) => return Err(bad()),
            None => (left, None),
        };
        if setting.is_empty() || to.is_empty() || [Some(to), from.as_deref()].contains(&Some("->")) {
            return Err(bad());
        }
        Ok(Wish { setting: setting.to_owned(), from, to: to.to_owned() })
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.from {
            Some(from) => write!(f, "{} {from} -> {}", self.setting, self.to),
            None => write!(f, "{} -> {}", self.setting, self.to),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn changes_are_read_as_people_write_them() {
        let wish = |setting: &str, from: Option<&str>, to: &str| Wish {
            setting: setting.to_owned(),
            from: from.map(str::to_owned),
            to: to.to_owned(),
        };
        assert_eq!("ProxyTimeout 60 -> 300".parse(), Ok(wish("ProxyTimeout", Some("60"), "300")));
        assert_eq!("proxy_buffers 8 4k->16 8k".parse(), Ok(wish("proxy_buffers", Some("8 4k"), "16 8k")));
        assert_eq!("gzip -> on".parse(), Ok(wish("gzip", None, "on")));
        assert_eq!(" worker_connections=1024 ".parse(), Ok(wish("worker_connections", None, "1024")));
        for bad in ["", "worker_connections", "a ->", "-> 3", "= 3", "a b = 3"] {
            let error = bad.parse::<Wish>().unwrap_err().to_string();
            assert!(error.contains("512 -> 1024"), "{bad}: {error}");
        }
    }

    #[test]
    fn figures_have_names_and_names_figures() {
        for (figure, name) in Figure::ALL {
            assert_eq!((figure.name(), name.parse()), (name, Ok(figure)));
        }
        assert!("latency".parse::<Figure>().unwrap_err().to_string().contains("throughput"));
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read(setting in "[A-Za-z_.]{1,12}", from in proptest::option::of("[a-z0-9]{1,6}( [a-z0-9]{1,4})?"), to in "[a-z0-9]{1,6}( [a-z0-9]{1,4})?") {
            let wish = Wish { setting, from, to };
            prop_assert_eq!(wish.to_string().parse::<Wish>(), Ok(wish));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Wish>();
        }
    }
}
