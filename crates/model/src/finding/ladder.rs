//! The ladder: all limits between a system as it is and the load asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cause, Confidence, MeasuredPrice, Price, Scale};
use crate::event::Change;
use crate::limit::Origin;
use crate::units::Range;

/// All limits between a system as it is and the load asked for, in the order in which they bite. A view of what the search met and
/// changed, and of what the laws of the other limits say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ladder {
    /// The load asked for: users, or requests a second.
    pub asked: f64,
    /// The first to bite first: those whose change moved the break, the one that stands, those that are only predicted.
    pub rungs: Vec<Rung>,
    /// What all changes of its proved rungs did in one trial; none where none is proved.
    pub together: Option<Together>,
}

impl Ladder {
    /// Where the break was foretold to move when the limit of `cause` alone was lifted: what a sentence about that test may compare with. None
    /// where the ladder tells no load for that limit or for the next one, or has the next one at another load: two places for one limit are none.
    /// Nor where the break came sooner, by the next limit and where the ladder has that: what was foretold was another limit beyond it.
    pub fn foretold(&self, cause: &Cause) -> Option<Range> {
        let test = cause.counterfactual.as_ref()?;
        let range = test.predicted?;
        let is_its = |rung: &Rung| match rung {
            Rung::Proved(rung) => rung.limit.limit == cause.limit.id && rung.tested == test.trial,
            _ => false,
        };
        let Some(at) = self.rungs.iter().position(is_its) else { return Some(range) };
        let own = self.rungs[at].limit().and_then(|limit| limit.predicted);
        let Some(next) = self.rungs.get(at + 1) else { return own.map(|_| range) };
        let level = match next {
            Rung::Proved(rung) => rung.met.level,
            Rung::Measured(rung) => rung.met.level,
            Rung::Predicted(_) => None,
        };
        let there = next.limit().and_then(|limit| limit.predicted);
        let agrees =
            there.is_some_and(|one| test.scale == Scale::Clients || one.low <= range.high && range.low <= one.high);
        // Fewer users than that are fewer clients at once, too.
        let beyond = test.observed.as_ref().is_none_or(|broke| test.place_of(broke) > range.high);
        let fewer = beyond && level.is_some_and(|level| level < range.low);
        let sooner = test.observed.as_ref().is_some_and(|broke| test.place_of(broke) < range.low);
        let met_there = there.zip(level).is_some_and(|(one, level)| (one.low - 1.0..=one.high + 1.0).contains(&level));
        (own.is_some() && agrees && !fewer && !(sooner && met_there)).then_some(range)
    }
}

/// A limit on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "rung")]
pub enum Rung {
    /// It was met, and changing its setting alone moved the break.
    Proved(Box<ProvedRung>),
    /// It was met, and stands.
    Measured(MeasuredRung),
    /// It was not met: the load never came so far.
    Predicted(PredictedRung),
}

impl Rung {
    /// Whose limit it is; none for a break that nothing explains.
    pub fn limit(&self) -> Option<&RungLimit> {
        match self {
            Rung::Proved(rung) => Some(&rung.limit),
            Rung::Measured(rung) => rung.limit.as_ref(),
            Rung::Predicted(rung) => Some(&rung.limit),
        }
    }
}

/// A limit that was met and lifted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProvedRung {
    /// The limit as it was met.
    pub limit: RungLimit,
    /// Where it was met.
    pub met: MetAt,
    /// The change that moved the break, from the value then in force.
    pub change: Change,
    /// Where that setting is written; none where nothing tells.
    pub place: Option<Origin>,
    /// The trial in which it alone was changed, beside the changes of the rungs before.
    pub tested: u32,
    /// What it takes; none where nobody looked, or it takes nothing that is counted.
    pub price: Option<Price>,
    /// What was taken as it was met and with the change, of a setting of which no formula tells; none where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredPrice>,
}

/// A limit that was met and not lifted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredRung {
    /// The limit; none where nothing that was seen names one.
    pub limit: Option<RungLimit>,
    /// How sure it is that it is this one; none where nothing is named.
    pub confidence: Option<Confidence>,
    /// Where it was met.
    pub met: MetAt,
}

/// A limit that was not met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PredictedRung {
    /// The limit, whose law puts it between what stands and the load asked for, or tells no load.
    pub limit: RungLimit,
    /// The setting by which it would be lifted; none where no setting does.
    pub remedy: Option<String>,
}

/// A limit in a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RungLimit {
    /// The limit.
    pub limit: String,
    /// Whose.
    pub subject: String,
    /// Its setting.
    pub setting: String,
    /// Its value then.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// The load at which it should bite by its law, in the unit of [`Ladder::asked`]; none: no load can be told beforehand.
    pub predicted: Option<Range>,
}

/// Where a limit was met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetAt {
    /// The trial.
    pub trial: u32,
    /// The load at the break, in the unit of [`Ladder::asked`], as [`Break::level`](super::Break::level) has it; none of a load that came all at once.
    pub level: Option<f64>,
    /// Requests that were completed a second around it.
    pub rate: f64,
}

/// All changes in one trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// The trial of the search with all of them.
    pub trial: u32,
    /// The largest level that it reached without a violation.
    pub held_to: f64,
    /// Proposals with all of them in the pairs of the proof, each at the load asked for.
    pub pairs: u32,
    /// Of these, those in which the objective failed.
    pub failed: u32,
}
