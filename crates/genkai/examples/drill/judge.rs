//! What a diagnosis said of a case, against what it should have said.

use genkai_model::finding::rooms::RoomsFinding;
use genkai_model::finding::{Cause, ClientLimit, Confidence, Outcome, Verdict};
use genkai_model::limit::Law;
use genkai_model::units::Range;

use crate::cases::{Case, Expect, QUOTA, ROOMS};

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
    /// Break and formula, where the law counts clients or requests.
    pub(crate) place: Option<Place>,
}

/// What a diagnosis says, whatever was diagnosed.
struct Said {
    outcome: Outcome,
    /// The limits named, the first first, and whether each is claimed and not only possible.
    causes: Vec<(String, bool)>,
    place: Option<Place>,
}

/// Judges a verdict, as it was written.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn judge(case: &Case, text: &str) -> Result<Judged, String> {
    let said = if case.product == ROOMS { of_rooms(text) } else { of_tune(text) }.map_err(|e| e.to_string())?;
    let sure = |(id, claimed): &(String, bool)| format!("{id}{}", if *claimed { "" } else { " (possible)" });
    let named = match &said.causes[..] {
        [] => outcome(said.outcome).to_owned(),
        causes => causes.iter().map(sure).collect::<Vec<_>>().join(", then "),
    };
    Ok(Judged { mark: mark(case, &said), named, place: said.place })
}

fn of_tune(text: &str) -> serde_json::Result<Said> {
    let verdict: Verdict = serde_json::from_str(text)?;
    let quota = verdict.client.reasons.iter().any(|reason| matches!(reason, ClientLimit::Throttled { .. }));
    let quota = quota.then(|| (QUOTA.to_owned(), true)).filter(|_| verdict.outcome == Outcome::Invalid);
    let claimed = |c: &Cause| !matches!(c.confidence, Confidence::Possible | Confidence::Refuted);
    let causes = verdict.causes.iter().map(|c| (c.limit.id.clone(), claimed(c))).chain(quota).collect();
    Ok(Said { outcome: verdict.outcome, causes, place: verdict.causes.first().and_then(place) })
}

fn of_rooms(text: &str) -> serde_json::Result<Said> {
    let finding: RoomsFinding = serde_json::from_str(text)?;
    let causes = finding.runs.iter().flat_map(|run| &run.causes).map(|cause| (cause.limit.id.clone(), true)).collect();
    Ok(Said { outcome: finding.outcome, causes, place: None })
}

fn mark(case: &Case, said: &Said) -> Mark {
    let named = |allowed: &[&str]| said.causes.first().is_some_and(|(id, _)| allowed.contains(&id.as_str()));
    match (&case.expect, said.outcome) {
        (Expect::Cause(allowed) | Expect::Crowded(allowed), Outcome::Fails) if named(allowed) => Mark::Right,
        // It stops the client too: that the measurement is not valid is said with the reason.
        (Expect::Cause(allowed), Outcome::Invalid) if allowed.contains(&QUOTA) && named(allowed) => Mark::Right,
        (Expect::Holds, Outcome::Holds) if said.causes.is_empty() => Mark::Right,
        (Expect::Client | Expect::Crowded(_), Outcome::Invalid) if said.causes.is_empty() => Mark::Right,
        // Nothing can be named of it: to say so is right.
        (Expect::Cause([]), Outcome::Fails) if said.causes.is_empty() => Mark::Right,
        (Expect::Cause(_), Outcome::Holds) => Mark::Wrong,
        // What the verdict calls possible, and not more, it has not named.
        _ if said.causes.iter().any(|(_, claimed)| *claimed) => Mark::Wrong,
        _ => Mark::CannotTell,
    }
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
        Law::Workers { .. } | Law::Growing { .. } | Law::Rate { .. } | Law::NewConnections { .. } => {
            cause.predicted.users
        }
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
