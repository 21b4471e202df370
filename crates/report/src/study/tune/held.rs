//! The answer where the objective held, with what it does not judge.

use genkai_model::finding::{Caveat, Verdict};
use genkai_model::load::Arrivals;
use genkai_model::objective::Condition;

use super::asked::{at_asked, quoted};
use crate::context::Context;
use crate::{clean, figure, words};

/// Where fewer than one in so many requests have no answer at a load's end, nothing is said of them beside the answer.
const FEW: u64 = 20;

/// That a server was down all the time.
fn out_of_use(caveat: &Caveat) -> Option<String> {
    let Caveat::MemberDown { subject, server, down, looks, .. } = caveat else { return None };
    (down == looks).then(|| format!(", with {} server {} down", words::whose(subject), clean::line(server)))
}

/// One in so many that fail is told beside an objective that says nothing of failures.
const MANY: u64 = 100;

/// That a part of the load failed, of which the objective says nothing, as a clause.
fn unjudged(context: Context<'_>, v: &Verdict) -> Option<String> {
    let head = context.head?;
    let is_of_errors = |condition: &Condition| matches!(condition, Condition::ErrorsBelow(_));
    let (failed, all) = match (&v.load, v.trials.first()) {
        (Some(load), _) => (load.failed, load.ok + load.failed),
        (None, trial) => trial.map(|trial| (trial.failed, trial.finished))?,
    };
    let many = failed * MANY >= all && failed > 0 && !head.plan.objective.0.iter().any(is_of_errors);
    many.then(|| {
        let [failed, all] = [failed, all].map(figure::count);
        format!("{failed} of {all} {} failed, of which that says nothing", context.counted())
    })
}

/// That the objective holds, and what it does not judge.
pub(super) fn held(context: Context<'_>, v: &Verdict) -> String {
    let objective = quoted(&context.objective());
    if let Some(load) = &v.load {
        let waiting = load.in_flight - load.unsent.unwrap_or(0).min(load.in_flight);
        // Of users one request each is always on its way.
        let open = context.head.is_some_and(|head| matches!(head.plan.load.arrivals, Arrivals::Rate { .. }));
        let left = (open && waiting * FEW > load.planned).then(|| {
            format!(
                "; {} of {} {} had no answer when the load ended",
                figure::count(waiting),
                figure::count(load.planned),
                context.counted()
            )
        });
        let failed = unjudged(context, v).map(|failed| format!("; {failed}")).unwrap_or_default();
        return format!("Held: {objective}{}{}{failed}.", at_asked(context), left.unwrap_or_default());
    }
    let seen = v.caveats.iter().find_map(|c| match c {
        Caveat::AtWorkButHeld { limit, waits: true, .. } => Some(format!("requests wait at {}", clean::line(limit))),
        _ => None,
    });
    let refused = v.caveats.iter().find_map(|c| match c {
        Caveat::AtWorkButHeld { limit, waits: false, .. } => Some(limit),
        _ => None,
    });
    let answered = v.caveats.iter().find_map(|c| match c {
        Caveat::AnsweredBefore { responses, served, .. } => Some((*responses, *served)),
        _ => None,
    });
    // Where a limit was reached, and hardly anything came to the backend, good answers say little.
    if let (Some(limit), Some((responses, served))) = (refused, answered) {
        return format!(
            "{objective} held{}, but the backend answered only {} of {} requests, and {} had been reached.",
            at_asked(context),
            figure::count(served),
            figure::count(responses),
            clean::line(limit)
        );
    }
    if let Some(failed) = unjudged(context, v) {
        return format!("No change needed: {objective} held{}, but {failed}.", at_asked(context));
    }
    if let Some(but) = super::client::but(v, answered.is_some()) {
        return format!("{objective} held{}, but {but}.", at_asked(context));
    }
    let told = v.caveats.iter().find_map(|c| match c {
        Caveat::PredictedButHeld { limit, waits: true, .. } => {
            Some(format!("requests wait at {} by its formula", clean::line(limit)))
        }
        _ => None,
    });
    let waits = seen
        .or(told)
        .map_or_else(String::new, |waits| format!("; but {waits}, and no condition on latency judges that"));
    let few = answered.map(|(responses, served)| {
        format!(", with {} of {} requests answered by the backend", figure::count(served), figure::count(responses))
    });
    let gone: Vec<String> = v.caveats.iter().filter_map(out_of_use).chain(few).collect();
    format!("No change needed: {objective} held{}{}{waits}.", at_asked(context), gone.concat())
}
