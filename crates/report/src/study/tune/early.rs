//! A run that ended before there was an answer.

use genkai_model::finding::Verdict;
use genkai_model::summary::Summary;

use super::asked::{at_asked, quoted};
use crate::context::Context;
use crate::figure;

/// That it did, with what is known of the load that was made until then.
pub(super) fn told(context: Context<'_>, v: &Verdict) -> String {
    let objective = quoted(&context.objective());
    match &v.load {
        Some(load) if load.thresholds.iter().any(|t| t.seen.is_none()) => {
            format!("Cannot tell: nothing came by which {objective} could be judged{}.", at_asked(context))
        }
        Some(load) => {
            let lasted = figure::seconds(load.lasted);
            let ended = match context.cut_off {
                true => format!("the record ends {lasted} into the load"),
                false => format!("the load ended after {lasted}, before its time"),
            };
            let held = load.thresholds.iter().all(|t| t.holds).then(|| held(context, (v, load), &objective));
            format!("Cannot tell: {ended}{}.", held.unwrap_or_default())
        }
        None => "Cannot tell: the run ended before an answer.".to_owned(),
    }
}

/// That nothing was violated until then, and how many had no answer yet: of these it depends where they hung.
fn held(context: Context<'_>, (v, load): (&Verdict, &Summary), objective: &str) -> String {
    let (counted, count) = (context.counted(), figure::count);
    match (hung(v), load.in_flight - load.unsent.unwrap_or(0).min(load.in_flight)) {
        (Some(hung), _) => {
            format!("; of {counted} {} hung by then, which decides whether {objective} held", count(hung))
        }
        (None, 0) => format!("; until then {objective} held"),
        (None, waiting) => {
            format!("; until then {objective} held, and of {counted} {} had no answer yet", count(waiting))
        }
    }
}

/// Requests of a plain load that hung at its end, where they decide.
pub(super) fn hung(v: &Verdict) -> Option<u64> {
    v.load.as_ref()?.thresholds.iter().map(|threshold| threshold.undecided).max().filter(|hung| *hung > 0)
}
