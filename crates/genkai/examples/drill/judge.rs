//! What a diagnosis said of a case, against what it should have said. Counted strictly: what is only possible, or was tried in vain,
//! is not named; every name claimed must be true, the first and those after it.

use genkai_model::event::Directive;
use genkai_model::finding::rooms::RoomsFinding;
use genkai_model::finding::{Because, BisectionEnd, Cause, Caveat, ClientLimit, Confidence, Outcome, Rung, Verdict};
use genkai_model::limit::{Law, Limit, Origin};
use genkai_model::units::Range;
use serde::{Deserialize, Serialize};

use crate::cases::{Case, DIED, Expect, QUOTA, REFUSED, ROOMS};

/// How a diagnosis did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mark {
    /// It named what it was, and nothing else.
    Right,
    /// It claimed nothing, or said that it cannot tell.
    CannotTell,
    /// It claimed something that is not so.
    Wrong,
}

/// A break against its formula.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// A limit that was named, how surely, and whether it is one of those that are true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Named {
    /// The limit.
    pub(crate) id: String,
    /// What is said of it.
    pub(crate) confidence: Confidence,
    /// Whether it is so.
    pub(crate) is_true: bool,
}

/// What is known of one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Judged {
    /// How the diagnosis did.
    pub(crate) mark: Mark,
    /// How it ended.
    pub(crate) outcome: Outcome,
    /// The limits it named, the first first.
    pub(crate) causes: Vec<Named>,
    /// Break and formula, where the law counts clients or requests; of a ladder, of each rung that it claims, the first first.
    pub(crate) places: Vec<Place>,
}

impl Judged {
    /// What it said, in a few words.
    pub(crate) fn named(&self) -> String {
        let one = |cause: &Named| match cause.confidence {
            Confidence::Proved | Confidence::Likely => cause.id.clone(),
            Confidence::Possible => format!("{} (possible)", cause.id),
            Confidence::Refuted => format!("{} (tried in vain)", cause.id),
        };
        match &self.causes[..] {
            [] => outcome(self.outcome).to_owned(),
            causes => causes.iter().map(one).collect::<Vec<_>>().join(", then "),
        }
    }

    /// The first limit that it claims.
    pub(crate) fn claimed(&self) -> Option<&str> {
        self.causes.iter().find(|cause| claims(cause.confidence)).map(|cause| cause.id.as_str())
    }
}

/// What a diagnosis says, whatever was diagnosed.
struct Answer {
    outcome: Outcome,
    causes: Vec<(String, Confidence)>,
    places: Vec<Place>,
}

/// Judges a verdict, as it was written.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn judge(case: &Case, text: &str) -> Result<Judged, String> {
    let said = if case.product == ROOMS { of_rooms(text) } else { of_tune(case, text) }.map_err(|e| e.to_string())?;
    let named = |(id, confidence): (String, Confidence)| Named { is_true: is_true(case, &id), id, confidence };
    let causes: Vec<Named> = said.causes.into_iter().map(named).collect();
    Ok(Judged { mark: mark(&case.expect, said.outcome, &causes), outcome: said.outcome, causes, places: said.places })
}

fn of_tune(case: &Case, text: &str) -> serde_json::Result<Answer> {
    let verdict: Verdict = serde_json::from_str(text)?;
    let quota = verdict.client.reasons.iter().any(|reason| matches!(reason, ClientLimit::Throttled { .. }));
    let quota = quota.then(|| (QUOTA.to_owned(), Confidence::Likely)).filter(|_| verdict.outcome() == Outcome::Invalid);
    let died = (verdict.because() == Because::ServerDied).then(|| (DIED.to_owned(), Confidence::Likely));
    // That it took connections again must be said too: else nobody knows whether it lives.
    let back = |caveat: &Caveat| matches!(caveat, Caveat::ServerRefused { until: Some(_), .. });
    let refused = verdict.because() == Because::ServerRefused && verdict.caveats.iter().any(back);
    let refused = refused.then(|| (REFUSED.to_owned(), Confidence::Likely));
    let named = verdict.causes.iter().map(|c| (by_line(&c.limit), c.confidence));
    let left_out = verdict.bisection.iter().filter(|found| found.ended == BisectionEnd::Proved);
    let left_out = left_out.map(|found| (lines(case, &found.named), Confidence::Proved));
    let causes = named.chain(quota).chain(died).chain(refused).chain(left_out).collect();
    let mut claimed = verdict.causes.iter().filter(|cause| claims(cause.confidence));
    let places = match case.expect {
        Expect::Ladder { .. } => verdict.ladder.iter().flat_map(|ladder| &ladder.rungs).filter_map(met).collect(),
        _ => claimed.next().and_then(place).into_iter().collect(),
    };
    Ok(Answer { outcome: verdict.outcome(), causes, places })
}

/// Where a rung came, and where its law puts it; none of one that was not met, or is not claimed.
fn met(rung: &Rung) -> Option<Place> {
    let (limit, met) = match rung {
        Rung::Proved(rung) => (&rung.limit, rung.met),
        Rung::Measured(rung) if rung.confidence.is_some_and(claims) => (rung.limit.as_ref()?, rung.met),
        Rung::Measured(_) | Rung::Predicted(_) => return None,
    };
    Some(Place { predicted: limit.predicted.filter(|range| range.high > 0.0)?, observed: met.level? })
}

/// What a limit is called; with the line of a server in place of its address, which is another each time.
fn by_line(limit: &Limit) -> String {
    let (rest, last) = limit.id.rsplit_once(".127.0.0.1:").unwrap_or((&limit.id, ""));
    match limit.origin {
        Origin::File { line, .. } if !last.is_empty() => format!("{rest}.{line}"),
        _ => limit.id.clone(),
    }
}

/// What stands on the lines of these directives in the case's configuration, joined by ` + `.
fn lines(case: &Case, named: &[Directive]) -> String {
    let config: Vec<&str> = case.config.iter().flat_map(|text| text.lines()).collect();
    let line = |directive: &Directive| match &directive.origin {
        Origin::File { line, .. } => config.get(line.saturating_sub(1)).map_or("no such line", |text| text.trim()),
        _ => "nowhere",
    };
    named.iter().map(line).collect::<Vec<_>>().join(" + ")
}

fn of_rooms(text: &str) -> serde_json::Result<Answer> {
    let finding: RoomsFinding = serde_json::from_str(text)?;
    let causes =
        finding.runs.iter().flat_map(|run| &run.causes).map(|cause| (cause.limit.id.clone(), Confidence::Likely));
    Ok(Answer { outcome: finding.outcome, causes: causes.collect(), places: Vec::new() })
}

/// Whether that is more than a possibility, and not one that was tried in vain.
fn claims(confidence: Confidence) -> bool {
    matches!(confidence, Confidence::Proved | Confidence::Likely)
}

/// Whether this limit was the fault, or is true besides.
fn is_true(case: &Case, id: &str) -> bool {
    match &case.expect {
        Expect::Cause { ids, further, .. } => ids.contains(&id) || further.contains(&id),
        Expect::Ladder { ids } => ids.contains(&id),
        Expect::Holds | Expect::Client | Expect::Crowded => false,
    }
}

fn mark(expect: &Expect, outcome: Outcome, causes: &[Named]) -> Mark {
    let claimed: Vec<&Named> = causes.iter().filter(|cause| claims(cause.confidence)).collect();
    if claimed.iter().any(|cause| !cause.is_true) {
        return Mark::Wrong;
    }
    let first = |ids: &[&str]| claimed.first().is_some_and(|cause| ids.contains(&cause.id.as_str()));
    match (expect, outcome) {
        (Expect::Cause { ids, .. }, Outcome::Fails) if first(ids) => Mark::Right,
        // It stops the client too: that the measurement is not valid is said with the reason.
        (Expect::Cause { ids, .. }, Outcome::Invalid) if ids.contains(&QUOTA) && first(ids) => Mark::Right,
        (Expect::Ladder { ids }, Outcome::Fails) => {
            // One that could be raised only as far as another let it is met again.
            let mut told: Vec<&str> = Vec::new();
            for cause in &claimed {
                if !told.contains(&cause.id.as_str()) {
                    told.push(&cause.id);
                }
            }
            match told == *ids {
                true => Mark::Right,
                // What is told is so as far as it goes.
                false if ids.starts_with(&told) => Mark::CannotTell,
                false => Mark::Wrong,
            }
        }
        (Expect::Ladder { .. }, Outcome::Holds) => Mark::Wrong,
        (Expect::Holds, Outcome::Holds) | (Expect::Client | Expect::Crowded, Outcome::Invalid) => Mark::Right,
        // Nothing can be named of it: to say so is right.
        (Expect::Cause { ids, .. }, Outcome::Fails) if ids.is_empty() => Mark::Right,
        // A fault that was overlooked, and a failure that did not happen.
        (Expect::Cause { .. }, Outcome::Holds) | (Expect::Holds, Outcome::Fails) => Mark::Wrong,
        // What is told of the server there is the generator's, or another program's.
        (Expect::Client | Expect::Crowded, Outcome::Holds | Outcome::Fails) => Mark::Wrong,
        _ => Mark::CannotTell,
    }
}

/// How a diagnosis ended, in words.
pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Holds => "holds",
        Outcome::Fails => "fails, no cause named",
        Outcome::Invalid => "says nothing of the server",
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
    // What lets nobody pass has no level.
    let predicted = predicted.filter(|range| range.high > 0.0)?;
    Some(Place { predicted, observed: cause.broke.level })
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

    #[test]
    fn only_what_is_claimed_and_true_counts_as_right() {
        use Confidence::{Likely, Possible, Proved, Refuted};
        let expect = Expect::Cause { ids: vec!["a.x"], why: "", further: vec!["a.y"] };
        let marked = |outcome, causes: &[(&str, Confidence)]| {
            let named = |(id, confidence): &(&str, Confidence)| {
                let is_true = ["a.x", "a.y"].contains(id);
                Named { id: (*id).to_owned(), confidence: *confidence, is_true }
            };
            mark(&expect, outcome, &causes.iter().map(named).collect::<Vec<_>>())
        };
        assert_eq!(marked(Outcome::Fails, &[("a.x", Proved)]), Mark::Right);
        assert_eq!(marked(Outcome::Fails, &[("b.z", Refuted), ("a.x", Likely), ("a.y", Likely)]), Mark::Right);
        assert_eq!(marked(Outcome::Fails, &[("a.x", Possible)]), Mark::CannotTell);
        assert_eq!(marked(Outcome::Fails, &[("a.x", Refuted)]), Mark::CannotTell);
        assert_eq!(marked(Outcome::Fails, &[("a.y", Likely)]), Mark::CannotTell);
        assert_eq!(marked(Outcome::Fails, &[("a.x", Proved), ("b.z", Likely)]), Mark::Wrong);
        assert_eq!(marked(Outcome::Holds, &[]), Mark::Wrong);
        assert_eq!(mark(&Expect::Holds, Outcome::Fails, &[]), Mark::Wrong);
        assert_eq!(mark(&Expect::Holds, Outcome::Invalid, &[]), Mark::CannotTell);
        assert_eq!(mark(&Expect::Client, Outcome::Fails, &[]), Mark::Wrong);
        assert_eq!(mark(&Expect::Crowded, Outcome::Holds, &[]), Mark::Wrong);
        assert_eq!(mark(&Expect::Client, Outcome::Invalid, &[]), Mark::Right);
    }
}
