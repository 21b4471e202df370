//! Before against after: baseline and proposal in pairs, in an order drawn for each, so that whatever drifts on the machine meets both.
//!
//! A pair is what a block is to [`compare`](crate::compare): the unit of observation. It is looked at after planned numbers of pairs
//! ([`looks`]), and `decide` says what they are enough for.

mod decide;

use genkai_model::event::{EndReason, NotStarted, Purpose, Tick};
use genkai_model::finding::{Call, Estimate, Proof, TrialVerdict};
use genkai_model::objective::{Condition, Objective};
use genkai_model::plan::Procedure;
use genkai_model::record::{Record, Trial};
use genkai_model::units::{Range, Span};

use crate::capacity::demand;
use crate::diagnosis::{self, hang};
use crate::effect::Paired;
use crate::order;
use crate::sockets::{self, Share};
use crate::statistics::{self, ALPHA, Counts};
use crate::window::{self, Tally};

pub use decide::Pairs;

/// Latencies are told to three digits: a step is so much of one.
const DIGITS: f64 = 0.001;

/// The proof trials of a run.
#[derive(Clone, Debug, Default)]
pub struct Trials<'r> {
    /// In the order they ran.
    pub all: Vec<&'r Trial>,
    /// Each baseline with the proposal of the same pair.
    pub pairs: Vec<(&'r Trial, &'r Trial)>,
    /// Whether the server once did not start with the proposal, which ends the proof.
    pub not_started: bool,
}

/// Whether a trial ran as it should (a server that dies is a result, an interrupt is none).
pub fn is_whole(trial: &Trial) -> bool {
    let reason = trial.ended.as_ref().map(|e| e.reason);
    matches!(reason, Some(EndReason::Completed | EndReason::BreakSeen | EndReason::ServerDied))
}

/// Whether there is nothing by which a trial could have held: not one request came to an end; of WebSockets that stay open, not one was opened;
/// or all that came to an end failed, and a condition of the objective speaks of others alone.
pub(crate) fn is_silent(trial: &Trial, objective: &Objective) -> bool {
    let opened = trial.ticks.iter().any(|tick| tick.handshakes.as_ref().is_some_and(|made| made.upgraded > 0));
    let tally = Tally::of(&trial.ticks);
    match (tally.ok, tally.failed) {
        (0, 0) => !(demand::tunnels(&trial.started.load) && opened),
        (0, _) => objective.0.iter().any(|condition| is_of_success(condition, &trial.ticks)),
        _ => false,
    }
}

/// Whether a condition says nothing of `ticks` in which nothing succeeded.
fn is_of_success(condition: &Condition, ticks: &[Tick]) -> bool {
    match condition {
        Condition::LatencyBelow(..) => true,
        Condition::DeliveredAbove(_) | Condition::DisconnectsBelow(_) => Share::of(condition, ticks).all == 0.0,
        Condition::ErrorsBelow(_) | Condition::RateAbove(_) | Condition::ConnectsAbove(_) => false,
    }
}

impl<'r> Trials<'r> {
    /// The whole proof trials of `record`, of its last proposal: a search that goes on after a failed proof ends in another.
    pub fn of(record: &'r Record) -> Trials<'r> {
        let proof = |t: &&Trial| matches!(t.started.purpose, Purpose::Baseline | Purpose::Proposal);
        let after = record.trials.iter().rposition(|t| !proof(&t)).map_or(0, |last| last + 1);
        let all: Vec<&Trial> = record.trials[after..].iter().filter(|t| proof(t) && is_whole(t)).collect();
        let side = |purpose| all.iter().copied().filter(move |t| t.started.purpose == purpose);
        let pairs = side(Purpose::Baseline).zip(side(Purpose::Proposal)).collect();
        let proposed = |one: &NotStarted| one.purpose == Purpose::Proposal;
        let not_started = record.not_started.iter().any(|(begun, one)| proposed(one) && *begun >= after);
        Trials { pairs, all, not_started }
    }

    /// What the next proof trial is for: the other half of a pair that was begun, or the first of the next, drawn from `seed`.
    pub fn next(&self, seed: u64) -> Purpose {
        const SIDES: [Purpose; 2] = [Purpose::Baseline, Purpose::Proposal];
        let ran = |side: &Purpose| self.all.iter().filter(|t| t.started.purpose == *side).count();
        let drawn = SIDES[order::round(SIDES.len(), seed, self.pairs.len() as u32 + 1)[0]];
        SIDES.into_iter().find(|side| ran(side) * 2 < self.all.len()).unwrap_or(drawn)
    }

    /// `A` for a baseline, `B` for a proposal, in order.
    pub fn order(&self) -> String {
        self.all.iter().map(|t| if t.started.purpose == Purpose::Baseline { 'A' } else { 'B' }).collect()
    }
}

/// After which numbers of pairs it is judged whether that is enough, ascending: from the fewest that the plan has to the most. A spread takes
/// two.
pub fn looks(procedure: &Procedure) -> Vec<u32> {
    let fewest = procedure.min_pairs.max(2);
    (fewest..=procedure.max_pairs.max(fewest)).collect()
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
    let failed_difference = Paired::Failures(counts.clone()).effect(ALPHA)?;
    let allowed = demand::tightest(objective);
    let rates = both(&|t| Tally::of(&t.ticks).rate());
    let rate = || three(&rates, &both(&edge));
    let failed = [statistics::failures(&before)?, statistics::failures(&after)?, failed_difference];
    let bounds = |q: f64| {
        let either = |side: &dyn Fn(&(&Trial, &Trial)) -> bool| pairs.iter().any(side);
        [either(&|(a, _)| is_bound(a, q, allowed)), either(&|(_, b)| is_bound(b, q, allowed))]
    };
    let mut at_least = [false; 2];
    let (figures, figure) = match condition {
        Some(Condition::LatencyBelow(q, _)) => {
            at_least = bounds(q);
            let latencies = both(&|t| latency(t, q, allowed));
            let told = three(&latencies, &both(&|t| DIGITS * latency(t, q, allowed)))?;
            // Bounds have no ratio.
            (told, Paired::Ratios(if at_least == [false; 2] { latencies } else { Vec::new() }))
        }
        Some(Condition::RateAbove(_)) => (rate()?, Paired::Ratios(paced(pairs))),
        // A side of which nothing came to an end has no failures, and no successes either.
        _ => (failed, Paired::Failures(counts.into_iter().filter(|(a, b)| a.1 > 0 && b.1 > 0).collect())),
    };
    let fails = |t: &Trial| diagnosis::broke(t, objective, procedure).is_some();
    // A proposal of which nothing came to an end is not known to hold.
    let holds = |t: &Trial| !fails(t) && !is_silent(t, objective);
    let outcomes = pairs.iter().map(|(a, b)| (fails(a), !holds(b))).collect();
    let decided = Pairs { figure, outcomes, condition }.decide(&looks(procedure));
    // One figure has one interval: that by which it is decided.
    let told = |all: [Estimate; 3]| [all[0], all[1], decided.effect.unwrap_or(all[2])];
    let is_ratio = matches!(condition, Some(Condition::LatencyBelow(..) | Condition::RateAbove(_)));
    let (failed, figures) = if is_ratio { (failed, figures) } else { (told(failed), told(figures)) };
    let p99 = both(&|t| latency(t, 0.99, allowed));
    let sum = |side: &[Counts]| side.iter().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let (sum_before, sum_after) = (sum(&before), sum(&after));
    Some(Proof {
        order: trials.order(),
        pairs: pairs.len() as u32,
        failed_before: failed[0],
        failed_after: failed[1],
        failed_difference: failed[2],
        rate: rate()?,
        p99: three(&p99, &p99.iter().map(|(a, b)| (DIGITS * a, DIGITS * b)).collect::<Vec<_>>())?,
        p99_at_least: bounds(0.99),
        failures: [sum_before.0, sum_after.0],
        unanswered: [unanswered(pairs.iter().map(|(a, _)| *a)), unanswered(pairs.iter().map(|(_, b)| *b))],
        finished: [sum_before.1, sum_after.1],
        proposal_holds: pairs.iter().all(|(_, b)| holds(b)),
        baseline_fails: pairs.iter().all(|(a, _)| fails(a)),
        judged: condition.map(|c| TrialVerdict { condition: c.to_string(), figures, at_least }),
        certain: decided.call == Call::Better,
        decided,
    })
}

/// Successful responses a second of both sides of each pair of which both lasted.
fn paced(pairs: &[(&Trial, &Trial)]) -> Vec<(f64, f64)> {
    let both = pairs.iter().map(|(a, b)| (Tally::of(&a.ticks), Tally::of(&b.ticks)));
    both.filter(|(a, b)| a.seconds > 0.0 && b.seconds > 0.0).map(|(a, b)| (some(&a), some(&b))).collect()
}

/// Successful responses a second. What did not answer once is taken for half an answer, so that it can be compared by ratio.
fn some(tally: &Tally) -> f64 {
    tally.rate().max(0.5 / tally.seconds.max(1e-9))
}

/// Failures and all that ended, of what the violated condition counts: requests, or openings, messages, connections of WebSockets. Those
/// that still hung at the end count as failed.
pub fn count(trial: &Trial, condition: Option<Condition>) -> Counts {
    if let Some(condition) = condition.filter(Condition::is_of_websockets) {
        let share = Share::of(&condition, &trial.ticks);
        let hung = if matches!(condition, Condition::ConnectsAbove(_)) { sockets::left_out(trial).0 } else { 0 };
        return (share.bad as u64 + hung, share.all.ceil() as u64 + hung);
    }
    let tally = Tally::of(&trial.ticks);
    let (hung, _) = hang::unanswered(&trial.ticks, trial.started.load.patience());
    (tally.failed + hung, tally.finished() + hung)
}

/// Requests without an answer at the ends of trials, which count like failed ones.
fn unanswered<'t>(trials: impl Iterator<Item = &'t Trial>) -> u64 {
    trials.map(|trial| hang::unanswered(&trial.ticks, trial.started.load.patience()).0).sum()
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

/// Whether the latency at a quantile is only a bound: it would be another if those that still hung had waited forever.
fn is_bound(trial: &Trial, q: f64, allowed: Option<f64>) -> bool {
    let Some(bound) = allowed else { return false };
    let mut all = window::merge(&trial.ticks, |t| &t.latency);
    all.saturating_record_n(u64::MAX, hang::at_end(&trial.ticks, bound));
    window::quantile(&all, q).is_some_and(|forever| forever > latency(trial, q, allowed))
}

/// Resolution of a rate over a trial: what was in flight at its end came a moment too late to be counted, requests a second.
fn edge(trial: &Trial) -> f64 {
    let seconds = Tally::of(&trial.ticks).seconds;
    let open = trial.ticks.last().map_or(0.0, |t| (t.in_flight as f64).min(demand::most(&trial.started.load)));
    if seconds > 0.0 { open.max(1.0) / seconds } else { 0.0 }
}

/// Before, after, and the paired difference, each interval no narrower than the resolution of what is compared: values that are told in steps
/// can be equal by chance, which is no certainty.
fn three(pairs: &[(f64, f64)], steps: &[(f64, f64)]) -> Option<[Estimate; 3]> {
    let side = |all: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { all.iter().copied().unzip() };
    let ((before, after), (steps_before, steps_after)) = (side(pairs), side(steps));
    let largest = |steps: &[f64]| steps.iter().copied().fold(0.0, f64::max) / 2.0;
    let (a, b) = (largest(&steps_before), largest(&steps_after));
    let difference = Paired::Differences(pairs.to_vec()).effect(ALPHA)?;
    let means = [statistics::mean(&before)?, statistics::mean(&after)?];
    Some([resolved(means[0], a), resolved(means[1], b), resolved(difference, a.hypot(b))])
}

/// An estimate whose interval is at least `half` wide either way.
fn resolved(e: Estimate, half: f64) -> Estimate {
    let interval = Range { low: e.interval.low.min(e.value - half), high: e.interval.high.max(e.value + half) };
    Estimate { interval, ..e }
}
