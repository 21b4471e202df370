//! What happened when one setting was changed to put a cause to the test.

use genkai_model::finding::{Break, Cause, Confidence, Counterfactual, Moved, Scale, Verdict};

use super::foretold::foretold;
use super::proof::unconfirmed;
use super::{again, counted};
use crate::context::{self, Context};
use crate::words;

/// What happened when only this setting was changed.
pub(super) fn told(context: Context<'_>, v: &Verdict, cause: &Cause) -> Option<String> {
    // One place decides what was foretold: beside a ladder that tells no such load, nothing is compared with one.
    let c = &Counterfactual { predicted: foretold(v, cause), ..cause.counterfactual.clone()? };
    // The load need not have come to where the next one is foretold.
    let unforeseen =
        c.predicted.is_none() && cause.counterfactual.as_ref().is_some_and(|test| test.predicted.is_some());
    if let Some(told) = again::told(context, v, cause, c) {
        return Some(told);
    }
    let change = words::change(&c.change);
    let only = only(v, c);
    let predicted = predicted(context, c).unwrap_or_else(|| "no further limit within the load sent".to_owned());
    let told = match (&c.observed, c.moved) {
        (Some(_), Moved::Elsewhere) if counted::is_used_up(v, c) => {
            format!("{only} {change} moved the break by what was answered before it: {}.", counted::moved(v, c))
        }
        // The proof saw something else.
        (None, moved) if moved != Moved::Not && cause.confidence != Confidence::Proved => format!(
            "With only {change} changed, the load held up to {} in the search; {}.",
            context.level(c.held_to),
            unconfirmed(v.because())
        ),
        (Some(after), Moved::AsPredicted) if unforeseen => {
            format!("{only} {change} {}.", became(context, cause, after))
        }
        (Some(after), Moved::AsPredicted) => {
            format!("{only} {change} {} (predicted: {predicted}).", became(context, cause, after))
        }
        (Some(after), Moved::Elsewhere) if cause.limit.law.is_tried() => {
            format!("{only} {change} {}; no formula says where to.", became(context, cause, after))
        }
        (Some(after), Moved::Not) if is_earlier(after, &cause.broke) => format!(
            "{only} {change} did not move the break to a larger load: it broke at {}, before at {}.",
            context.place(after),
            context.place(&cause.broke)
        ),
        (Some(after), Moved::Not) if cause.limit.law.is_tried() => format!(
            "{only} {change} did not move the break by more than chance and this ramp may: it broke at {}, before at {}.",
            context.place(after),
            context.place(&cause.broke)
        ),
        (Some(after), Moved::Elsewhere) => {
            format!("{only} {change} {}{}.", became(context, cause, after), off(context, c, after))
        }
        (Some(after), Moved::Not) => format!(
            "{only} {change} did not move the break by more than chance and this ramp may: it broke at {}, before at {}{}.",
            context.place(after),
            context.place(&cause.broke),
            self::predicted(context, c).map(|at| format!(", although {at} was predicted")).unwrap_or_default()
        ),
        (None, Moved::Not) => format!("{only} {change} made no measurable difference."),
        (None, _) => held(context, cause, c, &format!("{only} {change}")),
    };
    Some(told + &again::repeated(context, v, c))
}

/// `Changing only`; where the same change was tried without those that were in place by then, too, with these.
fn only(v: &Verdict, c: &Counterfactual) -> String {
    let same = |cause: &&Cause| cause.counterfactual.as_ref().is_some_and(|test| test.change == c.change);
    let trial = v.trials.iter().find(|one| one.trial == c.trial);
    let besides = trial.map(|one| one.changes.iter().filter(|change| change.setting != c.change.setting));
    let besides: Vec<String> = besides.into_iter().flatten().map(words::change).collect();
    match v.causes.iter().filter(same).count() > 1 && !besides.is_empty() {
        true => format!("With {} in place, changing only", besides.join(" and ")),
        false => "Changing only".to_owned(),
    }
}

/// Whether the break with a cause's change came at a load that is smaller by more than a tenth.
pub(super) fn broke_earlier(cause: &Cause) -> bool {
    let after = cause.counterfactual.as_ref().and_then(|test| test.observed.as_ref());
    after.is_some_and(|after| is_earlier(after, &cause.broke))
}

/// Whether a break came at a load that is smaller by more than a tenth.
fn is_earlier(after: &Break, before: &Break) -> bool {
    after.level * 1.1 < before.level && after.in_flight * 1.1 < before.in_flight
}

/// Where a break came that is not where the next limit was predicted: before it, or beyond. What stopped the load there is told of that break.
fn off(context: Context<'_>, c: &Counterfactual, after: &Break) -> String {
    let (Some(range), Some(predicted)) = (c.predicted, predicted(context, c)) else {
        return String::new();
    };
    // Told in whole clients, it is compared in them.
    let at = c.place_of(after);
    let at = if c.scale == Scale::Clients { at.round() } else { at };
    match () {
        () if at > range.high => format!(", beyond where the formula puts the next limit ({predicted})"),
        () if at < range.low => {
            format!(", but not as far as to where the formula puts the next limit ({predicted})")
        }
        () => format!(", where {predicted} were predicted, but by the signs of another limit than that"),
    }
}

fn held(context: Context<'_>, cause: &Cause, c: &Counterfactual, changed: &str) -> String {
    let where_next = match (predicted(context, c), c.moved) {
        (None, _) => String::new(),
        (Some(next), Moved::Elsewhere) => {
            format!(" That is beyond where the formula puts the next limit ({next}).")
        }
        // What was not met although the load went beyond it is no next limit.
        (Some(next), _) if c.scale == Scale::Level && c.predicted.is_some_and(|range| c.held_to > range.high) => {
            format!(" By its formula a limit is predicted at {next}: it was not met in this test.")
        }
        (Some(next), _) => format!(" The next limit is predicted at {next}."),
    };
    format!(
        "{changed} removed the break at {}: the objective held as far as the test can tell, up to {}.{where_next}",
        context.place(&cause.broke),
        context.level(c.held_to)
    )
}

/// Where the next limit was predicted: `359-383 clients at once`, `40-50 users`.
fn predicted(context: Context<'_>, c: &Counterfactual) -> Option<String> {
    let range = c.predicted?;
    Some(match c.scale {
        Scale::Clients => format!("{} at once", context::clients(range)),
        Scale::Level => context::levels(range, context.unit()),
    })
}

/// What became of the break when one setting was changed (`moved the break from 243 to 371 users`), in the unit of the load, as everything that is
/// said of where it broke.
fn became(context: Context<'_>, cause: &Cause, after: &Break) -> String {
    let before = context.bare(cause.broke.level) + context::fewer(&cause.broke);
    let now = context.level(after.level) + context::fewer(after);
    match cause.stays() {
        true => format!("left it broken at {now} (before at {before}), by what was seen then of another limit",),
        false => format!("moved the break from {before} to {now}"),
    }
}
