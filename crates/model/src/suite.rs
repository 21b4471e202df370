//! What an experiment of several runs showed: each part with its answer, and the figures of loads in the words people use.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ErrorCount;
use crate::finding::claim::{ClaimFinding, ClaimVerdict};
use crate::finding::comparison::ComparisonFinding;
use crate::finding::{Outcome, ProcessFinding, Quantiles, Verdict};

/// Version of the finding's format.
pub const SCHEMA: &str = "genkai.suite/1";

/// What an experiment of several runs showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SuiteFinding {
    /// [`SCHEMA`].
    pub schema: String,
    /// The experiment.
    pub title: String,
    /// Its searches, in order.
    pub parts: Vec<PartFinding>,
    /// Changes one at a time and all together, a comparison for each load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangesFinding>,
    /// Advice put to the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<AdviceFinding>,
    /// Each process that made a part of the loads, over the loads of all parts; none where one machine made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<ProcessFinding>,
    /// Whether it was cut off: the user ended it, or the record of one of its runs has no end. Parts may be missing then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

/// Changes compared with the system without them, each alone and all together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangesFinding {
    /// The part's name: that of its folder.
    pub name: String,
    /// What was asked.
    pub question: String,
    /// Each contender's loads in figures, all its turns added up.
    pub loads: Vec<LoadFigures>,
    /// The comparison.
    pub comparison: ComparisonFinding,
}

/// Advice and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AdviceFinding {
    /// The part's name: that of its folder, in which each claim has one.
    pub name: String,
    /// What was asked.
    pub question: String,
    /// The claims that were tested, in order of their names.
    pub claims: Vec<ClaimFinding>,
    /// Those that could not be tested on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untested: Vec<Untested>,
}

/// A claim that could not be tested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Untested {
    /// Its name.
    pub claim: String,
    /// What was in the way.
    pub why: String,
}

/// What a part showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartFinding {
    /// Its name: that of its folder.
    pub name: String,
    /// What was asked.
    pub question: String,
    /// The trouble in people's words, where it is one made on purpose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The answer in a sentence.
    pub answer: String,
    /// Whether what is behind it was named, and not only as possible: the limit that the part was made to meet, and no other. Where it was
    /// made to meet none: whether it held.
    pub named: bool,
    /// Its loads in figures: of the system as it is, and of the proposal, where there is one.
    pub loads: Vec<LoadFigures>,
    /// The verdict of the part's run.
    pub verdict: Verdict,
}

/// A load in the words people use for WebSocket tests. Times in seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadFigures {
    /// What it is of, e.g. `MaxRequestWorkers 300`.
    pub name: String,
    /// Scenarios launched: users who came.
    pub launched: u64,
    /// Scenarios completed: users whose WebSocket opened and did not end unasked.
    pub completed: u64,
    /// Requests completed: messages answered, or openings where nothing is said.
    pub requests: u64,
    /// Requests sent a second.
    pub rate: f64,
    /// Latency from the planned instant.
    #[serde(default, skip_serializing_if = "Quantiles::is_empty")]
    pub latency: Quantiles,
    /// Errors by kind: what failed, and nothing else.
    pub errors: Vec<ErrorCount>,
    /// Requests, or openings, that had no answer when the load ended, although they had waited for long: they have not failed.
    #[serde(default)]
    pub unanswered: u64,
    /// WebSockets opened of those that were to be opened.
    pub connects: Option<f64>,
    /// Most WebSockets open at once.
    pub concurrent: u64,
    /// Bytes received and sent a second.
    pub throughput: f64,
}

impl SuiteFinding {
    /// What it comes to: it holds where everything was named as it should be, and nothing that was to be decided is open. What was cut off
    /// has no answer, and what measured something else than the server has none either, whatever else was seen.
    pub fn outcome(&self) -> Outcome {
        let ended = |wanted: Outcome| self.outcomes().any(|outcome| outcome == wanted);
        match () {
            () if self.interrupted || self.is_empty() => Outcome::Unfinished,
            () if ended(Outcome::Invalid) => Outcome::Invalid,
            () if ended(Outcome::Unfinished) => Outcome::Unfinished,
            () if self.is_decided() => Outcome::Holds,
            () => Outcome::Fails,
        }
    }

    fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.changes.is_empty() && self.advice.is_none()
    }

    /// How each search and comparison turned out.
    fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        let searched = self.parts.iter().map(|part| part.verdict.outcome());
        searched.chain(self.changes.iter().map(|one| one.comparison.outcome))
    }

    /// Whether every limit is named, every change is decided, and so is every claim.
    fn is_decided(&self) -> bool {
        let open = |all: &AdviceFinding| {
            !all.untested.is_empty() || all.claims.iter().any(|c| c.verdict == ClaimVerdict::CannotTell)
        };
        self.parts.iter().all(|part| part.named)
            && self.changes.iter().all(|one| one.comparison.outcome == Outcome::Holds)
            && !self.advice.as_ref().is_some_and(open)
    }
}
