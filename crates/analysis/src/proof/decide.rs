//! What the pairs of a proof decide.

use genkai_model::finding::{Call, Decided, Rule};
use genkai_model::objective::Condition;
use genkai_model::units::Range;

use crate::effect::{self, Paired};
use crate::{separation, spending};

/// Largest factor between latencies, and between rates, that does not matter: as comparisons have it.
const MARGIN: f64 = 0.05;
/// Failures that do not matter where no condition says so: as the default objective has it.
const FAILURES: f64 = 0.001;

/// The pairs of a proof.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// The figure of the condition that was violated.
    pub figure: Paired,
    /// Whether the objective failed with the baseline, and whether it is not known to have held with the proposal.
    pub outcomes: Vec<(bool, bool)>,
    /// The condition.
    pub condition: Option<Condition>,
}

impl Pairs {
    /// What they decide, where `looks` were planned. Two rules share the error rate of 5 %: all baselines failed and all proposals held
    /// ([`separation`]), which takes three pairs and then 4^-n of it; and the interval of the figure, which has the rest, spread over
    /// the looks ([`spending`]).
    pub fn decide(&self, looks: &[u32]) -> Decided {
        let pairs = self.outcomes.len() as u32;
        let left = separation::left(looks);
        let part = |pairs| spending::part(looks, pairs, left).unwrap_or(left);
        let parts = (part(pairs.max(1)), part(looks.last().copied().unwrap_or(1)));
        let more = matches!(self.condition, Some(Condition::RateAbove(_)));
        let (effect, call) = self.figure.judge(self.margin(), more, parts);
        let apart = pairs > 0 && self.outcomes.iter().all(|one| *one == (true, false));
        let separated = apart && separation::first(looks).is_some_and(|first| pairs >= first);
        let (call, by) = match call {
            _ if separated => (Call::Better, Rule::Separation),
            // As many more make it certain that way, if they are like those so far.
            Call::CannotTell { more } if apart => {
                let missing = separation::first(looks).unwrap_or(separation::FEWEST).saturating_sub(pairs);
                (Call::CannotTell { more: Some(more.unwrap_or(missing).min(missing)) }, Rule::Interval)
            }
            call => (call, Rule::Interval),
        };
        Decided {
            call,
            by,
            effect,
            each: parts.0,
            looks: looks.to_vec(),
            alpha: crate::statistics::ALPHA,
            chance: apart.then(|| separation::chance(pairs)),
        }
    }

    /// What does not matter: of fractions as much as the condition allows.
    fn margin(&self) -> Range {
        match self.condition {
            Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)) => effect::ratio_margin(MARGIN),
            Some(Condition::ErrorsBelow(most) | Condition::DisconnectsBelow(most)) => {
                effect::difference_margin(most.at)
            }
            Some(Condition::ConnectsAbove(least) | Condition::DeliveredAbove(least)) => {
                effect::difference_margin(1.0 - least.at)
            }
            None => effect::difference_margin(FAILURES),
        }
    }
}
