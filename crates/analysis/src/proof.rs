//! Before against after: baseline and proposal in turn, so that whatever drifts on the machine meets both.

use genkai_model::event::{EndReason, Purpose};
use genkai_model::finding::{Estimate, Judged, Proof};
use genkai_model::objective::{Condition, Objective};
use genkai_model::plan::Procedure;
use genkai_model::record::{Record, Trial};
use genkai_model::units::Span;

use crate::capacity::demand;
use crate::diagnosis::{self, hang};
use crate::effect::Paired;
use crate::sockets::{self, Share};
use crate::statistics::{self, ALPHA, Counts};
use crate::window::{self, Tally};

/// The proof trials of a run.
#[derive(Clone, Debug, Default)]
pub struct Trials<'r> {
    /// In the order they ran.
    pub all: Vec<&'r Trial>,
    /// Each baseline with the proposal that followed it.
    pub pairs: Vec<(&'r Trial, &'r Trial)>,
}

/// Whether a trial ran as it should (a server that dies is a result, an interrupt is none).
pub fn is_whole(trial: &Trial) -> bool {
    let reason = trial.ended.as_ref().map(|e| e.reason);
    matches!(reason, Some(EndReason::Completed | EndReason::BreakSeen | EndReason::ServerDied))
}

impl<'r> Trials<'r> {
    /// The whole proof trials of `record`, of its last proposal: a search that goes on after a failed proof ends in another.
    pub fn of(record: &'r Record) -> Trials<'r> {
        let proof = |t: &&Trial| matches!(t.started.purpose, Purpose::Baseline | Purpose::Proposal);
        let after = record.trials.iter().rposition(|t| !proof(&t)).map_or(0, |last| last + 1);
        let all: Vec<&Trial> = record.trials[after..].iter().filter(|t| proof(t) && is_whole(t)).collect();
        let side = |purpose| all.iter().copied().filter(move |t| t.started.purpose == purpose);
        let pairs = side(Purpose::Baseline).zip(side(Purpose::Proposal)).collect();
        Trials { pairs, all }
    }

    /// What the next proof trial is for: baseline and proposal in turn.
    pub fn next(&self) -> Purpose {
        let baselines = self.all.iter().filter(|t| t.started.purpose == Purpose::Baseline).count();
        if baselines * 2 > self.all.len() { Purpose::Proposal } else { Purpose::Baseline }
    }

    /// `A` for a baseline, `B` for a proposal, in order.
    pub fn order(&self) -> String {
        self.all.iter().map(|t| if t.started.purpose == Purpose::Baseline { 'A' } else { 'B' }).collect()
    }
}

/// The proof that `trials` give; none for fewer than two pairs, which have no spread. `condition` is the condition of the
/// objective that was violated: its figure decides whether the difference is certain.
pub fn of(
    trials: &Trials<'_>,
    objective: &Objective,
    procedure: &Procedure,
    condition: Option<Condition>,
) -> Option<Proof> {
    let pairs = &trials.pairs;
    let both = |f: &dyn Fn(&Trial) -> f64| -> Vec<(f64, f64)> { pairs.iter().map(|(a, b)| (f(a), f(b))).collect() };
    let counts: Vec<(Counts, Counts)> = pairs.iter().map(|(a, b)| (count(a, condition), count(b, condition))).collect();
    let (before, after): (Vec<Counts>, Vec<Counts>) = counts.iter().copied().unzip();
    let failed_difference = Paired::Failures(counts).effect(ALPHA)?;
    let allowed = demand::tightest(objective);
    let rates = both(&|t| Tally::of(&t.ticks).rate());
    let failed = [statistics::failures(&before)?, statistics::failures(&after)?, failed_difference];
    let figures = match condition {
        Some(Condition::LatencyBelow(q, _)) => three(&both(&|t| latency(t, q, allowed)))?,
        Some(Condition::RateAbove(_)) => three(&rates)?,
        _ => failed,
    };
    let certain = match condition {
        Some(Condition::RateAbove(_)) => figures[2].interval.low > 0.0,
        _ => figures[2].interval.high < 0.0,
    };
    let fails = |t: &Trial| diagnosis::broke(t, objective, procedure).is_some();
    let sum = |side: &[Counts]| side.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let (sum_before, sum_after) = (sum(&before), sum(&after));
    Some(Proof {
        order: trials.order(),
        pairs: pairs.len() as u32,
        failed_before: failed[0],
        failed_after: failed[1],
        failed_difference,
        rate: three(&rates)?,
        p99: three(&both(&|t| latency(t, 0.99, allowed)))?,
        failures: [sum_before.0, sum_after.0],
        finished: [sum_before.1, sum_after.1],
        proposal_holds: !pairs.iter().any(|(_, b)| fails(b)),
        baseline_fails: pairs.iter().all(|(a, _)| fails(a)),
        judged: condition.map(|c| Judged { condition: c.to_string(), figures }),
        certain,
    })
}

/// Failures and all that ended, of what the violated condition counts: requests, or openings, messages, connections of WebSockets. Those
/// that still hung at the end count as failed.
pub fn count(trial: &Trial, condition: Option<Condition>) -> Counts {
    if let Some(condition) = condition.filter(Condition::is_of_websockets) {
        let share = Share::of(&condition, &trial.ticks);
        let hung = if matches!(condition, Condition::ConnectsAbove(_)) { sockets::left_out(&trial.ticks).0 } else { 0 };
        return (share.bad as u64 + hung, share.all.ceil() as u64 + hung);
    }
    let tally = Tally::of(&trial.ticks);
    let (hung, _) = hang::unanswered(&trial.ticks);
    (tally.failed + hung, tally.finished() + hung)
}

/// Latency at a quantile over the whole trial, seconds; 0 when nothing came back. Requests that still hung at the end
/// count as having taken `allowed` (all that is known is that it was longer).
fn latency(trial: &Trial, q: f64, allowed: Option<f64>) -> f64 {
    let mut all = window::merge(&trial.ticks, |t| &t.latency);
    if let Some(bound) = allowed {
        all.saturating_record_n(Span::from_secs_f64(bound).0, hang::at_end(&trial.ticks, bound));
    }
    window::quantile(&all, q).unwrap_or(0.0)
}

/// Before, after, and the paired difference.
fn three(pairs: &[(f64, f64)]) -> Option<[Estimate; 3]> {
    let (before, after): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    Some([statistics::mean(&before)?, statistics::mean(&after)?, Paired::Differences(pairs.to_vec()).effect(ALPHA)?])
}
