//! What the run decides: the one function of which all that is said of the answer is a view.

use genkai_model::finding::{Call, Caveat, Confidence, Decision, Pairing, Stop};
use genkai_model::limit::{Law, Limit};
use genkai_model::plan::{Plan, Study};
use genkai_model::record::Trial;
use genkai_model::summary::Summary;

use super::cause;
use crate::diagnosis;
use crate::outpaced;
use crate::proof::{self, Trials};
use crate::tuning::counted;
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::{Phase, SearchState};
use crate::window::Tally;

/// The same for a plain load: what does not hold over the whole of it has failed, even if nothing broke for long. What nothing came to be
/// judged by has neither held nor failed; where no request succeeded at all, the load was not carried; and where it would not hold if those failed that
/// hung at its end, it is not known.
pub(crate) fn over(decision: Decision, load: Option<&Summary>) -> Decision {
    let thresholds = load.map(|load| load.thresholds.as_slice()).unwrap_or_default();
    match decision {
        Decision::Holds | Decision::Outpaced if thresholds.iter().any(|t| t.seen.is_some() && !t.holds) => {
            Decision::Unmoved { by: Stop::Unknown }
        }
        Decision::Holds | Decision::Outpaced if thresholds.iter().any(|t| !t.holds) => match load {
            Some(load) if load.ok == 0 && load.failed > 0 => Decision::Unmoved { by: Stop::Unknown },
            Some(load) if load.ok == 0 && load.sent > 0 => Decision::Unanswered,
            _ => Decision::Unfinished,
        },
        Decision::Holds | Decision::Outpaced if thresholds.iter().any(|t| t.undecided > 0) => Decision::Unanswered,
        _ => decision,
    }
}

/// What the search and the proof decide; unfinished where nothing was tried.
pub(crate) fn of(state: Option<&SearchState<'_>>, trials: &Trials<'_>) -> Decision {
    let Some(state) = state else { return Decision::Unfinished };
    let Some(first) = &state.first else { return Decision::Unfinished };
    // What the backend says by itself is more evidence; where it was not asked, the rest stands.
    let phase = match &state.phase {
        Phase::AskBackend(without) => without,
        phase => phase,
    };
    let broken = first.broke.is_some();
    match phase {
        Phase::NeedBreak => Decision::Unfinished,
        Phase::Cut if !broken => Decision::Unfinished,
        Phase::Invalid if !first.client.finding.valid => Decision::Invalid,
        Phase::Holds if is_unanswered(first, state.plan) => Decision::Unanswered,
        Phase::Holds if outpaced::is(first.trial, &first.demand) => Decision::Outpaced,
        Phase::Holds => Decision::Holds,
        Phase::Prove => match pairing(state, trials) {
            // Nothing was seen twice.
            Pairing::None if is_once(state) => Decision::Moved { then: Stop::Unfinished },
            pairs => Decision::Carried { pairs },
        },
        phase => stopped(state, stop(state, phase)),
    }
}

/// Whether too little came back to say that anything held: no request was answered or failed, or fewer than still waited at the end, or none
/// succeeded of which the objective speaks; of WebSockets that stay open, not one was opened. A plain load is judged by what came, condition by
/// condition.
fn is_unanswered(judged: &JudgedTrial<'_>, plan: &Plan) -> bool {
    let ended = Tally::of(&judged.trial.ticks).finished();
    let waiting = judged.trial.ended.as_ref().map_or(0, |end| end.abandoned);
    let opened =
        || judged.trial.ticks.iter().any(|tick| tick.handshakes.as_ref().is_some_and(|made| made.upgraded > 0));
    let little = if judged.demand.tunnels { ended == 0 && !opened() } else { ended == 0 || ended < waiting };
    plan.study != Study::Load && (little || judged.is_silent())
}

fn stopped(state: &SearchState<'_>, stop: Stop) -> Decision {
    let moved = state.lifted().next().is_some();
    // What was seen once, and was to be seen again, is no answer yet.
    let stop = if is_once(state) && !stop.says_nothing() { Stop::Unfinished } else { stop };
    if moved { Decision::Moved { then: stop } } else { Decision::Unmoved { by: stop } }
}

/// Whether a change is believed that was to be tried twice, and was not.
fn is_once(state: &SearchState<'_>) -> bool {
    state.lifted().any(|test| test.once)
}

fn stop(state: &SearchState<'_>, phase: &Phase<'_>) -> Stop {
    match phase {
        Phase::Died => Stop::Died,
        Phase::Refused => Stop::Refused,
        Phase::Invalid => Stop::Generator,
        Phase::Crowded => Stop::OtherPrograms,
        Phase::NoCause => Stop::Unknown,
        // What changed something else than the load was not without effect.
        Phase::Refuted if counts(state).next().is_some() => Stop::Unknown,
        Phase::Refuted => Stop::Refuted,
        Phase::CannotLift => not_lifted(state),
        Phase::Enough => Stop::Untested,
        _ => untested(state),
    }
}

/// What settings count that were changed, where that is not users: of each by the first test that tells.
pub(super) fn counts(state: &SearchState<'_>) -> impl Iterator<Item = Caveat> {
    let tests = state.steps.iter().flat_map(|step| step.tests.iter().map(move |test| (step, test)));
    let mut told: Vec<String> = Vec::new();
    tests.filter_map(move |(step, test)| {
        let setting = &test.attempt.change.setting;
        let found = counted::of(test.attempt.limit, &step.at, &test.after).filter(|_| !told.contains(setting))?;
        told.push(setting.clone());
        Some(found)
    })
}

/// A run that ended before a test: there may be a likely cause.
fn untested(state: &SearchState<'_>) -> Stop {
    let likely = cause::named(state).is_some() && state.lifted().next().is_none();
    if likely { Stop::Untested } else { Stop::Unfinished }
}

/// Whether a limit is the backend's: neither of the product under test nor of the machine between.
pub(crate) fn is_backend(limit: &Limit, product: &str) -> bool {
    limit.subject != product && !["kernel", "machine"].contains(&limit.subject.as_str())
}

fn not_lifted(state: &SearchState<'_>) -> Stop {
    let Some(weighed) = cause::named(state) else { return Stop::Unknown };
    let limit = weighed.forecast.limit;
    // What only fits is no ground for a plain no.
    let likely = cause::confidence(weighed) > Confidence::Possible;
    match limit.law {
        _ if is_backend(limit, &state.plan.system.product) => Stop::Backend { likely },
        Law::Cpu { .. } | Law::Handshakes { .. } => Stop::Processor { likely },
        _ => Stop::Untested,
    }
}

/// Whether the objective held in a trial: of one in which nothing came to an end that is not known.
pub(super) fn held(trial: &Trial, plan: &Plan) -> bool {
    !failed(trial, plan) && !proof::is_silent(trial, &plan.objective)
}

/// Whether the objective failed in a trial of the proof.
pub(crate) fn failed(trial: &Trial, plan: &Plan) -> bool {
    diagnosis::broke(trial, &plan.objective, &plan.procedure).is_some()
}

fn pairing(state: &SearchState<'_>, trials: &Trials<'_>) -> Pairing {
    let (plan, pairs) = (state.plan, &trials.pairs);
    if trials.not_started {
        return Pairing::NotStarted;
    }
    if pairs.is_empty() && plan.procedure.min_pairs == 0 {
        return Pairing::None;
    }
    // A baseline that fails because its client was late fails for nothing.
    let valid = |t: &Trial| JudgedTrial::of(t, plan).client.finding.valid;
    if pairs.len() < plan.procedure.min_pairs as usize {
        return Pairing::Unfinished;
    }
    if pairs.iter().any(|(a, b)| !valid(a) || !valid(b)) {
        return Pairing::Generator;
    }
    let count = |of: &dyn Fn(&Trial, &Trial) -> bool| pairs.iter().filter(|(a, b)| of(a, b)).count() as u32;
    let of = pairs.len() as u32;
    let held = count(&|a, _| held(a, plan));
    let failed = count(&|_, b| failed(b, plan));
    let unanswered = count(&|_, b| proof::is_silent(b, &plan.objective));
    let outpaced = count(&|_, b| outpaced::is(b, &JudgedTrial::of(b, plan).demand));
    let call = proof::of(trials, &plan.objective, &plan.procedure, state.condition()).map(|proof| proof.decided.call);
    match call {
        call if failed > 0 && held > 0 => Pairing::Contradicted { held, failed, of, helps: call == Some(Call::Better) },
        Some(Call::Same) if failed > 0 => Pairing::Same,
        Some(Call::Worse) if failed > 0 => Pairing::Worse,
        call if failed > 0 => Pairing::NotEnough { failed, of, helps: call == Some(Call::Better) },
        _ if unanswered > 0 => Pairing::Unanswered { unanswered, of },
        _ if held == of => Pairing::NotReproduced { of },
        Some(Call::Same) => Pairing::Same,
        Some(Call::Worse) => Pairing::Worse,
        Some(Call::Better) if outpaced > 0 => Pairing::Outpaced { outpaced, of },
        Some(Call::Better) if held > 0 => Pairing::Helps { held, of },
        Some(Call::Better) => Pairing::Enough,
        Some(Call::CannotTell { .. } | Call::Missing | Call::NotJudged) | None => Pairing::Undecided,
    }
}
