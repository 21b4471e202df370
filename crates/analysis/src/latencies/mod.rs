//! Servers compared: which is faster at what, and how sure that is; which messages they did not take, and why.
//!
//! A contender is a name: nothing here knows a server. What a server caps arrives as a
//! [`Limit`](genkai_model::limit::Limit).

mod caveat;
mod compare;
mod contender;
mod limits;
mod worker;

use genkai_model::finding::Outcome;
use genkai_model::finding::latencies::{CaseFinding, LatencyFinding};
use genkai_model::latencies::{Case, LatencyComparison, Round};
use genkai_model::record::{Record, Trial};

/// What the comparison of a record showed; none when there was none.
pub fn findings(record: &Record) -> Option<LatencyFinding> {
    let comparison = record.head.as_ref()?.plan.latencies()?.clone();
    if record.trials.iter().all(|trial| trial.rounds.is_empty()) {
        return None;
    }
    let counted = Counted::of(record);
    let cases: Vec<CaseFinding> =
        counted.cases().into_iter().map(|case| compare::case(&comparison, &counted, case)).collect();
    Some(LatencyFinding {
        contenders: contender::all(&comparison, record),
        limits: limits::of(&comparison, record),
        processes: worker::all(&counted),
        caveats: caveat::of(&comparison, record, &counted, &cases),
        outcome: outcome(record, &comparison, &cases),
        cases,
        comparison,
    })
}

/// Rounds that count, with the start they belong to and when they ended.
struct Counted<'r>(Vec<(&'r Trial, i64, &'r Round)>);

impl<'r> Counted<'r> {
    fn of(record: &'r Record) -> Counted<'r> {
        let counts = |round: &Round| !round.warm_up && !matches!(round.case, Case::Take { .. });
        let all =
            record.trials.iter().flat_map(|trial| trial.rounds.iter().map(move |(at, round)| (trial, *at, round)));
        Counted(all.filter(|(_, _, round)| counts(round)).collect())
    }

    /// The cases, in the order in which they were asked first in a round.
    fn cases(&self) -> Vec<Case> {
        let mut all = Vec::new();
        for (_, _, round) in &self.0 {
            if !all.contains(&round.case) {
                all.push(round.case);
            }
        }
        all
    }

    /// Rounds of one contender in one case, in order.
    fn of_one<'a>(&'a self, name: &'a str, case: Case) -> impl Iterator<Item = (&'r Trial, i64, &'r Round)> + 'a {
        self.0.iter().copied().filter(move |(_, _, round)| round.case == case && round.contender == name)
    }
}

fn outcome(record: &Record, comparison: &LatencyComparison, cases: &[CaseFinding]) -> Outcome {
    let standings = || cases.iter().flat_map(|case| &case.standings);
    let short = standings().any(|standing| standing.figure.is_none() && standing.failed == 0);
    if record.end.is_none() || cases.is_empty() || short || comparison.contenders.is_empty() {
        return Outcome::Unfinished;
    }
    if standings().any(|standing| standing.failed > 0) { Outcome::Fails } else { Outcome::Holds }
}
