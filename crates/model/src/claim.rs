//! Advice as data: what somebody recommends, for which system and load, what it promises, and what came of it.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::load::Load;
use crate::objective::Objective;
use crate::system::System;
use crate::units::{Span, UnitError};

/// A piece of advice and how it is put to the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Claim {
    /// Its short name: that of its file, or as it says.
    pub name: String,
    /// The advice as it is given.
    pub advice: String,
    /// Where it was read.
    pub read: String,
    /// The system it is about, as it is before.
    pub system: System,
    /// How it is tested.
    pub test: Test,
}

/// How advice is put to the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The server's own check is asked whether there is such a line.
    Line(String),
    /// Baseline and changes are compared under a load.
    Load(Box<LoadTest>),
}

/// Changes under a load, and what they are said to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadTest {
    /// The changes, as [`RequestedChange`](crate::setting::RequestedChange) reads them. Of several each is tested alone, and all together.
    pub changes: Vec<String>,
    /// The load.
    pub load: Load,
    /// How long the load is held in a turn; none: as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<Span>,
    /// What must hold in each turn; told beside the comparison.
    pub objective: Objective,
    /// What the advice promises.
    pub promises: Vec<Promise>,
}

/// What advice promises of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// The figure.
    pub figure: Figure,
    /// What becomes of it.
    pub becomes: Promised,
}

/// What a figure is promised to become.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Promised {
    /// Better.
    Better,
    /// Worse.
    Worse,
    /// No different.
    Same,
    /// So many times what it was, or farther from it; of figures that are compared by ratio.
    Times(f64),
}

impl Promised {
    const WORDS: [(Promised, &'static str); 3] =
        [(Promised::Better, "better"), (Promised::Worse, "worse"), (Promised::Same, "same")];
}

impl fmt::Display for Promised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Promised::Times(times) => write!(f, "x{times}"),
            word => f.write_str(Promised::WORDS.iter().find(|(one, _)| one == word).map_or("", |(_, text)| text)),
        }
    }
}

impl FromStr for Promised {
    type Err = UnitError;

    /// `better`, `worse`, `same`, or a factor other than 1: `x0.5`.
    fn from_str(text: &str) -> Result<Promised, UnitError> {
        let word = Promised::WORDS.iter().find(|(_, word)| *word == text).map(|(promised, _)| *promised);
        let times = || {
            text.strip_prefix('x')?.parse().ok().filter(|times: &f64| (0.01..=100.0).contains(times) && *times != 1.0)
        };
        let wrong = || UnitError { seen: text.to_owned(), what: "promise", example: "better, worse, same or x0.5" };
        word.or_else(|| times().map(Promised::Times)).ok_or_else(wrong)
    }
}
