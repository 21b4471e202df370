//! Facts that contradict the verdict or limit what it says.

use genkai_model::event::{EndReason, Purpose, Tick};
use genkai_model::finding::{Call, Caveat, Evidence, Moved, Predicted, Proof, Scale};
use genkai_model::limit::{Law, Limit, Sign};
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::{Record, Trial};

use super::{answer, cause, changed, down, is_proposal};
use crate::capacity::price::Short;
use crate::capacity::{self, Forecast, TOLERANCE, demand, law, remedy};
use crate::diagnosis::attribute;
use crate::diagnosis::others::Others;
use crate::effect;
use crate::hidden::{self, Grown};
use crate::proof::Trials;
use crate::refusals;
use crate::tuning::attempt;
use crate::tuning::break_step::Test;
use crate::tuning::directly::Directly;
use crate::tuning::judged_trial::JudgedTrial;
use crate::tuning::search_state::{Phase, SearchState};
use crate::tuning::unusable::Tests;
use crate::window;

/// Every caveat.
pub(crate) fn all(
    record: &Record,
    state: Option<&SearchState<'_>>,
    trials: &Trials<'_>,
    proof: Option<&Proof>,
) -> Vec<Caveat> {
    let mut all = Vec::new();
    if let Some(state) = state {
        let objective = &state.plan.objective;
        all.extend(state.first.iter().flat_map(|first| held(first, objective)));
        all.extend(state.lifted().flat_map(|t| held(&t.after, objective)));
        let last = state.lifted().last().map(|t| &t.after).or(state.first.as_ref());
        all.extend(last.iter().flat_map(|judged| at_work(state, judged)));
        all.extend(last.and_then(answered_before));
        all.extend(last.and_then(hidden_errors));
        all.extend(last.and_then(changed::answers));
        all.extend(last.iter().flat_map(|judged| down::members(judged)));
        all.extend(ceilings(state));
        all.extend(refused(record, state));
        all.extend(answer::counts(state));
        all.extend(memory(record, state));
        all.extend(bore(state));
        all.extend(of_search(record).filter_map(|trial| crowded(trial, state)));
        if matches!(state.phase, Phase::Holds) {
            let headroom = state
                .first
                .iter()
                .filter(|first| !first.is_silent())
                .flat_map(|first| no_headroom(state, first, &all))
                .collect::<Vec<_>>();
            all.extend(headroom);
        }
        if matches!(state.phase, Phase::Prove) {
            all.extend(of_proof(state, trials, proof));
        }
    }
    all.extend(of_search(record).flat_map(ends));
    all.extend(cut(record));
    let mut unique: Vec<Caveat> = Vec::new();
    for caveat in all {
        if !unique.contains(&caveat) {
            unique.push(caveat);
        }
    }
    unique
}

/// The trials but those with directives left out, of which only whether they held is told.
fn of_search(record: &Record) -> impl Iterator<Item = &Trial> {
    record.trials.iter().filter(|trial| !matches!(trial.started.purpose, Purpose::Bisect | Purpose::Smaller))
}

/// Limits that should have bitten before the level that was held. (One that is named as the cause of a later break did
/// bite; where, is said with the cause. One that left signs was at work.)
fn held(judged: &JudgedTrial<'_>, objective: &Objective) -> Vec<Caveat> {
    if judged.is_silent() {
        return Vec::new();
    }
    let reached = judged.held_to();
    let weighed = judged.case().map(|case| attribute::attribute(&case, &[])).unwrap_or_default();
    let mut bit: Vec<&str> = weighed.iter().filter(|w| w.is_possible()).map(|w| w.candidate.limit.as_str()).collect();
    let signs = attribute::at_work(judged.trial, &judged.demand);
    bit.extend(signs.iter().map(|(limit, ..)| limit.id.as_str()));
    let forecasts = capacity::forecast(&judged.trial.limits.limits, &judged.demand);
    // What a part takes by itself was measured, not predicted; and a bucket takes its time to fill.
    let has_room = |limit: &Limit| capacity::bucket::has_room(limit, &judged.trial.ticks);
    let passes = |f: &Forecast<'_>| !matches!(f.limit.law, Law::Delay { .. }) && !has_room(f.limit);
    let predicted = forecasts.into_iter().filter(passes);
    let passed = predicted.filter(|f| !bit.contains(&f.limit.id.as_str())).filter_map(|f| {
        // A rate says nothing of clients: how many they are depends on how long responses take by then.
        let (predicted, reached, scale) = match f.predicted.clients.filter(|_| judged.demand.is_open()) {
            Some(clients) => (clients, present(judged, f.limit), Scale::Clients),
            None => (attempt::levels(&f.predicted, &judged.demand)?, reached, Scale::Level),
        };
        let (limit, waits) = (f.predicted.limit, capacity::waits_unjudged(f.limit, objective, scale));
        let over = predicted.high * (1.0 + TOLERANCE) + 1.0 < reached;
        over.then_some(Caveat::PredictedButHeld { limit, predicted, reached, scale, waits })
    });
    passed.collect()
}

/// Most clients that were there, as `limit` counts them, before anything broke.
fn present(judged: &JudgedTrial<'_>, limit: &Limit) -> f64 {
    let until = judged.onset.map(|o| o.at_us);
    let ticks = window::before(&judged.trial.ticks, until);
    let idle = matches!(limit.law, Law::Slots { idle_cost, .. } if idle_cost > 0.0) && judged.demand.keeps;
    let count = |t: &Tick| if idle { t.connections } else { t.in_flight } as f64;
    ticks.iter().map(|t| count(t).min(judged.demand.most)).fold(0.0, f64::max)
}

/// Limits that did not bite, but should at about the load asked for: the next user may be the one too many. (Those that
/// were at work, or were passed by far, are said to.)
fn no_headroom(state: &SearchState<'_>, first: &JudgedTrial<'_>, said: &[Caveat]) -> Vec<Caveat> {
    let named = |id: &str| {
        said.iter().any(|c| match c {
            Caveat::PredictedButHeld { limit, .. } | Caveat::AtWorkButHeld { limit, .. } => limit == id,
            _ => false,
        })
    };
    let near = capacity::forecast(&first.trial.limits.limits, &first.demand)
        .into_iter()
        // What a part takes by itself was measured, and the objective held with it.
        .filter(|f| !matches!(f.limit.law, Law::Delay { .. }))
        .filter(|f| f.bites.is_some_and(|at| at < state.goal()) && !named(&f.limit.id));
    near.filter_map(|f| {
        let predicted = attempt::levels(&f.predicted, &first.demand)?;
        let Predicted { limit, subject, setting, value, .. } = f.predicted;
        Some(Caveat::NoHeadroom { limit, subject, setting, value, predicted, asked: demand::asked(&state.plan.load) })
    })
    .collect()
}

/// Limits that were at work in a trial that held.
fn at_work(state: &SearchState<'_>, judged: &JudgedTrial<'_>) -> Vec<Caveat> {
    if judged.broke.is_some() || judged.is_silent() {
        return Vec::new();
    }
    let is_judged = state.plan.objective.0.iter().any(|c| matches!(c, Condition::LatencyBelow(..)));
    let held =
        attribute::at_work(judged.trial, &judged.demand).into_iter().filter(|(limit, _, sign)| !compares(limit, sign));
    let caveat = |(limit, _, sign): (&Limit, _, _)| Caveat::AtWorkButHeld {
        limit: limit.id.clone(),
        value: limit.value.clone(),
        sign,
        waits: limit.symptom.slow && !is_judged,
    };
    held.map(caveat).collect()
}

/// Whether a sign compares parts with each other (one of several servers is slower than the fastest): nothing is full then, and nobody waits.
fn compares(limit: &Limit, seen: &Evidence) -> bool {
    let Evidence::Reached { of: seen, .. } = seen else { return false };
    let is_it = |sign: &Sign| matches!(sign, Sign::ReachedMetric { of, fraction, .. } if of == seen && *fraction > 1.0);
    limit.signatures.iter().any(|one| is_it(&one.sign))
}

/// Responses below this are too few to compare with the backend's count, which is read a few times a second.
const COMPARED: u64 = 1_000;

/// A trial that held, although the backend answered less than half of the requests: a cache, or an error page that is sent as a good one.
fn answered_before(judged: &JudgedTrial<'_>) -> Option<Caveat> {
    if judged.broke.is_some() || judged.demand.tunnels {
        return None;
    }
    let Grown { responses, by: served } = hidden::served(judged.trial)?;
    let few = responses >= COMPARED && served * 2 < responses;
    few.then_some(Caveat::AnsweredBefore { trial: judged.trial.number, responses, served })
}

/// A trial that held, in which the product sent something else in the place of errors (`error_page 502 =200`).
fn hidden_errors(judged: &JudgedTrial<'_>) -> Option<Caveat> {
    if judged.broke.is_some() {
        return None;
    }
    let Grown { responses, by } = hidden::errors([judged.trial])?;
    Some(Caveat::HiddenErrors { trial: judged.trial.number, responses, hidden: by })
}

/// A break while programs that are no part of the run used most of the machine, where nothing else is named, or where it decides nothing of
/// the setting that was changed.
fn crowded(trial: &Trial, state: &SearchState<'_>) -> Option<Caveat> {
    let (Others { busy, of }, alone) = JudgedTrial::of(trial, state.plan).crowded()?;
    let tests = matches!(trial.started.purpose, Purpose::Counterfactual | Purpose::Repeat);
    let is_test = tests && matches!(state.phase, Phase::Crowded);
    (alone || is_test).then_some(Caveat::OtherPrograms { trial: trial.number, busy, of })
}

/// What the backend by itself says where it is not the cause.
fn bore(state: &SearchState<'_>) -> Option<Caveat> {
    let (direct, step) = (state.direct.as_ref()?, state.steps.last()?);
    let trial = direct.trial.number;
    if !direct.client.finding.valid {
        return Some(Caveat::DirectInvalid { trial });
    }
    if direct.crowded().is_some() || direct.is_silent() {
        return None;
    }
    // Where the backend is what is named, it is so by another way: nobody times it when it is asked directly.
    if step.untested().is_some_and(|w| answer::is_backend(w.forecast.limit, &state.plan.system.product)) {
        return None;
    }
    let (level, through) = (direct.held_to(), step.at.broke.as_ref()?.level);
    let longer = match Directly::of(&step.at, direct) {
        Directly::FailedToo { directly, through } => {
            return Some(Caveat::BackendFailedToo { trial, directly, through });
        }
        Directly::Bore => true,
        Directly::AsOften | Directly::AsEarly | Directly::Otherwise => false,
    };
    let shared = step.weighed.iter().any(|w| w.is_possible() && matches!(w.forecast.limit.law, Law::Cpu { .. }));
    Some(Caveat::BackendBore { trial, level, through, longer, shared })
}

/// Settings that cannot be raised as far as needed.
fn ceilings(state: &SearchState<'_>) -> Vec<Caveat> {
    let capped = |setting: &str, c: &genkai_model::limit::Ceiling| Caveat::CeilingReached {
        setting: setting.to_owned(),
        value: c.value,
        by: c.by.clone(),
    };
    // Only what still stands when everything proved is in place: an earlier step's ceiling may have been raised by a later one.
    let last = state.lifted().last().map_or(&[][..], |t| t.after.trial.limits.limits.as_slice());
    let stands = |id: &str| last.iter().find(|l| l.id == id && remedy::at_ceiling(l));
    let standing = state.lifted().filter(|t| t.attempt.lift.capped.is_some()).filter_map(|t| {
        let ceiling = stands(&t.attempt.limit.id)?.remedy.as_ref()?.ceiling.as_ref()?;
        Some(capped(&t.attempt.lift.setting, ceiling))
    });
    let mut all: Vec<Caveat> = standing.collect();
    if matches!(state.phase, Phase::CannotLift) {
        let limit = cause::named(state).map(|w| w.forecast.limit);
        all.extend(limit.filter(|l| remedy::at_ceiling(l)).and_then(|l: &Limit| {
            let remedy = l.remedy.as_ref()?;
            Some(capped(&remedy.setting, remedy.ceiling.as_ref()?))
        }));
    }
    all
}

/// Settings with a value that the server itself refuses, where that ended the search.
fn refused(record: &Record, state: &SearchState<'_>) -> Vec<Caveat> {
    if !matches!(state.phase, Phase::Refuted | Phase::CannotLift | Phase::NoCause | Phase::Enough) {
        return Vec::new();
    }
    let Some(first) = &state.first else { return Vec::new() };
    let own = first.trial.limits.limits.iter().filter(|limit| matches!(limit.law, Law::Tried { word: None, .. }));
    let numbers = own.filter_map(|limit| Some((&limit.remedy.as_ref()?.setting, law::setting(&limit.law))));
    numbers.filter_map(|(setting, from)| does_not_start(record, setting, from)).collect()
}

/// The least value above all with which the server was measured that it does not start with; `from` is the one it has.
fn does_not_start(record: &Record, setting: &str, from: f64) -> Option<Caveat> {
    let changes = of_search(record).flat_map(|trial| &trial.started.changes).filter(|change| change.setting == setting);
    let most = changes.filter_map(|change| change.to.parse::<f64>().ok()).fold(from, f64::max);
    let values = record.not_started.iter().filter(|(_, one)| one.setting == setting && !one.listens);
    let above = values.filter_map(|(_, one)| Some((one.value.parse::<f64>().ok()?, one)));
    let (value, one) = above.filter(|(value, _)| *value > most).min_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Caveat::DoesNotStart { setting: setting.to_owned(), value, most, said: one.said.clone() })
}

/// Settings whose value the memory does not hold: of each the last that was tried, and the one that could not be raised at all.
fn memory(record: &Record, state: &SearchState<'_>) -> Vec<Caveat> {
    let caveat = |setting: String, short: Short| Caveat::MemoryBound {
        setting,
        value: short.most,
        needed: short.needed,
        bytes: short.bytes,
        left_bytes: short.left,
        group_bytes: short.group,
    };
    // Of what no formula tells also the last that was tried in vain: what the memory holds is told by what was measured before it.
    let counts = |test: &&Test<'_>| test.outcome.moved != Moved::Not || test.attempt.limit.law.is_tried();
    let tests = state.steps.iter().flat_map(|step| &step.tests);
    let lifted: Vec<_> = tests.filter(counts).map(|test| &test.attempt).collect();
    let last = |i: usize| lifted[i + 1..].iter().all(|later| later.lift.setting != lifted[i].lift.setting);
    let tried = lifted.iter().enumerate().filter(|(i, _)| last(*i));
    let mut all: Vec<Caveat> =
        tried.filter_map(|(_, attempt)| Some(caveat(attempt.lift.setting.clone(), attempt.short?))).collect();
    if let (Phase::CannotLift, Some(step), Some(weighed)) = (&state.phase, state.steps.last(), cause::named(state)) {
        let found = attempt::out_of_memory(&weighed.forecast, &step.at, state.plan);
        all.extend(found.map(|(setting, short)| caveat(setting, short)));
    }
    let over =
        matches!(state.phase, Phase::Refuted | Phase::CannotLift | Phase::NoCause | Phase::Enough | Phase::Prove);
    if let Some(step) = state.steps.last().filter(|step| over && step.proved().is_none()) {
        let (tests, changes) = (Tests::of(record), state.changes());
        let tried = step.weighed.iter().filter(|one| one.is_possible());
        let full = tried.filter_map(|one| attempt::no_further(&one.forecast, &step.at, &changes, state.plan, &tests));
        all.extend(full.map(|(setting, short)| caveat(setting, short)));
    }
    all
}

fn of_proof(state: &SearchState<'_>, trials: &Trials<'_>, proof: Option<&Proof>) -> Vec<Caveat> {
    let procedure = &state.plan.procedure;
    let mut all = Vec::new();
    let pairs = trials.pairs.len() as u32;
    let call = proof.map(|proof| proof.decided.call);
    // Where nothing fails on either side, more pairs would not decide either.
    let alike = proof.is_some_and(|p| pairs > 0 && p.proposal_holds)
        && trials.pairs.iter().all(|(a, _)| answer::held(a, state.plan));
    if pairs < procedure.min_pairs || !alike && !call.is_some_and(effect::is_decided) {
        let more = if let Some(Call::CannotTell { more }) = call { more } else { None };
        all.push(Caveat::FewPairs { pairs, more });
    }
    let broke = |t: &Trial| answer::failed(t, state.plan);
    if trials.all.iter().any(|t| !is_proposal(t.started.purpose) && answer::held(t, state.plan)) {
        all.push(Caveat::BaselineHeldInProof);
    }
    if trials.all.iter().any(|t| is_proposal(t.started.purpose) && broke(t)) {
        all.push(Caveat::ProposalFailedInProof);
    }
    // That it failed says little of the proposal where somebody else had the machine.
    let proposals = trials.all.iter().filter(|t| is_proposal(t.started.purpose));
    all.extend(proposals.filter_map(|t| {
        let (Others { busy, of }, _) = JudgedTrial::of(t, state.plan).crowded()?;
        Some(Caveat::OtherPrograms { trial: t.number, busy, of })
    }));
    all
}

/// Servers that ended in a trial, or refused connections.
fn ends(trial: &Trial) -> Vec<Caveat> {
    let gone = trial.states.iter().filter(|(_, s)| refusals::is_death(s)).map(|(_, s)| s.subject.clone());
    let of = refusals::of(trial);
    let dead = of.iter().filter(|one| one.dead).map(|one| one.subject.clone());
    let died = gone.chain(dead).map(|subject| Caveat::ServerDied { subject, trial: trial.number });
    let refused = of.iter().filter(|one| !one.dead).map(|one| Caveat::ServerRefused {
        subject: one.subject.clone(),
        trial: trial.number,
        from: one.from,
        until: one.until,
    });
    died.chain(refused).collect()
}

/// What ended the run before it was done.
fn cut(record: &Record) -> Option<Caveat> {
    let Some(end) = &record.end else { return Some(Caveat::RecordCutOff) };
    let stopped = |t: &&Trial| {
        let reason = t.ended.as_ref().map(|e| e.reason);
        matches!(reason, Some(EndReason::Interrupted | EndReason::EngineFailed))
    };
    let trial = record.trials.iter().find(stopped).map(|t| t.number);
    let failure = end.failure.clone();
    (end.interrupted || failure.is_some() || trial.is_some()).then_some(Caveat::Interrupted { trial, failure })
}
