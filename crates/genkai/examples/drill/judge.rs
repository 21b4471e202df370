//! What a diagnosis said of a case, against what it should have said.

use genkai_model::finding::{Cause, Confidence, Outcome, Verdict};
use genkai_model::limit::Law;
use genkai_model::units::Range;

use crate::cases::{Case, Expect};

/// How a diagnosis did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It named what it was.
    Right,
    /// It named nothing, or said that it cannot tell.
    CannotTell,
    /// It named something else.
    Wrong,
}

/// A break against its formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// Where the formula puts it.
    pub(crate) predicted: Range,
    /// Where it came.
    pub(crate) observed: f64,
}

impl Place {
    /// How far the break was from the nearer end of what was predicted: 1 is there.
    pub(crate) fn ratio(&self) -> f64 {
        let Range { low, high } = self.predicted;
        if self.observed < low {
            self.observed / low
        } else if self.observed > high {
            self.observed / high
        } else {
            1.0
        }
    }

    /// Whether it was within a tenth.
    pub(crate) fn is_near(&self) -> bool {
        (0.9..=1.1).contains(&self.ratio())
    }
}

/// What is known of one case.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// How the diagnosis did.
    pub(crate) mark: Mark,
    /// What it named: limits, or how it ended.
    pub(crate) named: String,
    /// Break and formula, where the law counts clients.
    pub(crate) place: Option<Place>,
}

/// Judges a verdict.
pub(crate) fn judge(case: &Case, verdict: &Verdict) -> Judged {
    let causes: Vec<&str> = verdict.causes.iter().map(|c| c.limit.id.as_str()).collect();
    let sure = |c: &Cause| if is_possible(c) { " (possible)" } else { "" };
    let all: Vec<String> = verdict.causes.iter().map(|c| format!("{}{}", c.limit.id, sure(c))).collect();
    let named = if causes.is_empty() { outcome(verdict.outcome).to_owned() } else { all.join(", then ") };
    let mark = match (&case.expect, verdict.outcome, causes.as_slice()) {
        (Expect::Cause(allowed) | Expect::Crowded(allowed), Outcome::Fails, [first, ..]) if allowed.contains(first) => {
            Mark::Right
        }
        (Expect::Holds, Outcome::Holds, []) => Mark::Right,
        (Expect::Client | Expect::Crowded(_), Outcome::Invalid, []) => Mark::Right,
        // Nothing can be named of it: to say so is right.
        (Expect::Cause([]), Outcome::Fails, []) => Mark::Right,
        (Expect::Cause(_), Outcome::Holds, _) => Mark::Wrong,
        // What the verdict calls possible, and not more, it has not named.
        (_, _, [_, ..]) if !verdict.causes.iter().all(is_possible) => Mark::Wrong,
        _ => Mark::CannotTell,
    };
    Judged { mark, named, place: verdict.causes.first().and_then(place) }
}

fn is_possible(cause: &Cause) -> bool {
    matches!(cause.confidence, Confidence::Possible | Confidence::Refuted)
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails => "fails, no cause named",
        Outcome::Invalid => "the client was the limit",
        Outcome::Unfinished => "unfinished",
    }
}

/// Break and formula in the unit of the law; every load of the drill is closed and without pauses where it is asked.
fn place(cause: &Cause) -> Option<Place> {
    let predicted = match cause.limit.law {
        Law::Slots { .. } => cause.predicted.clients,
        Law::Workers { .. } | Law::Rate { .. } => cause.predicted.users,
        _ => None,
    };
    Some(Place { predicted: predicted?, observed: cause.broke.level })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_break_is_compared_with_the_nearer_end() {
        let place = |observed| Place { predicted: Range { low: 90.0, high: 100.0 }, observed };
        assert_eq!((place(95.0).ratio(), place(45.0).ratio(), place(110.0).ratio()), (1.0, 0.5, 1.1));
        assert!(place(82.0).is_near() && !place(112.0).is_near());
    }
}
