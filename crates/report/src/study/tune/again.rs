//! What came of it when a change of which no formula tells, and the system without it, were tried once more.

use genkai_model::finding::{Again, Break, Cause, Confidence, Counterfactual, MoreTries, Moved, Verdict};

use super::cause::failures;
use crate::context::Context;
use crate::{figure, words};

/// Why what was seen once is not believed.
pub(super) const ONCE: &str = "that was seen in one trial only: what fails by chance, or at times, would look the same";

/// Whether a change moved the break in the search, and was to be tried again and was not.
pub(super) fn is_once(v: &Verdict, cause: &Cause) -> bool {
    let moved = cause.counterfactual.as_ref().is_some_and(|test| test.moved != Moved::Not);
    moved && cause.confidence == Confidence::Possible && v.decision().confirms()
}

/// A change that moved the break the first time, and of which that is not believed.
pub(super) fn told(context: Context<'_>, v: &Verdict, cause: &Cause, test: &Counterfactual) -> Option<String> {
    let change = words::change(&test.change);
    let first = match &test.observed {
        Some(after) => {
            format!("moved the break from {} to {}", context.bare(cause.broke.level), context.level(after.level))
        }
        None => format!("removed the break at {}", context.level(cause.broke.level)),
    };
    let Some(again) = &test.again else {
        return is_once(v, cause).then(|| format!("Changing only {change} {first}, but {ONCE}."));
    };
    match again.failures {
        _ if test.moved != Moved::Not => None,
        Some([with, without]) if again.later => Some(format!(
            "Changing only {change} {first}, and did so again, but failures are not certainly rarer with it: at no larger load than broke it without, \
             {}; without it, {}. What fails by chance breaks now sooner and now later.",
            failures(context, &with),
            failures(context, &without)
        )),
        _ => {
            let came = came(context, v, again);
            Some(format!("Changing only {change} {first} once, and not for certain when it was tried again: {came}."))
        }
    }
}

/// How a change that stands did when it was tried again.
pub(super) fn repeated(context: Context<'_>, v: &Verdict, test: &Counterfactual) -> String {
    test.again.as_ref().map_or_else(String::new, |again| format!(" Tried again, {}.", came(context, v, again)))
}

/// `it broke at 24 users with it, and at 23 users without it`; and what came of trying both on.
fn came(context: Context<'_>, v: &Verdict, again: &Again) -> String {
    let broke = |trial: u32| v.trials.iter().find(|one| one.trial == trial).and_then(|one| one.broke.as_ref());
    let place = |broke: Option<&Break>| {
        broke.map_or_else(|| "did not break".to_owned(), |broke| format!("broke at {}", context.level(broke.level)))
    };
    let with = place(broke(again.trial));
    let more = again.more.map_or_else(String::new, |more| tried_on(again, more));
    match again.unchanged {
        Some(unchanged) => format!("it {with} with it, and {} without it{more}", place(broke(unchanged.trial))),
        None => format!("it {with} then"),
    }
}

/// `; both were tried on, since failures ended by themselves while the load was no smaller, ...: of 5 trials with it and 5 without, each ...`.
fn tried_on(again: &Again, more: MoreTries) -> String {
    let why = match (more.ended, more.apart) {
        (true, true) => {
            "failures ended by themselves while the load was no smaller, and with one and the same value it broke at loads that far apart"
        }
        (true, false) => "failures ended by themselves while the load was no smaller",
        (false, _) => "with one and the same value it broke at loads that far apart",
    };
    let each = match again.later {
        true => "each one with it broke later than each one without",
        false => "not each one with it broke later than each one without",
    };
    format!(
        "; both were tried on, since {why}, as what fails at moments of its own does: of {} with it and {} without, {each}",
        figure::plural(u64::from(more.with), "trial", "trials"),
        more.without
    )
}

/// What came of changes that lifted nothing, where some moved the break at first; none where none did.
pub(super) fn in_vain(v: &Verdict) -> Option<&'static str> {
    let refuted = v.causes.iter().filter(|one| one.confidence == Confidence::Refuted);
    let mut again = refuted.filter_map(|one| one.counterfactual.as_ref()?.again).peekable();
    let all = v.causes.iter().filter(|one| one.confidence == Confidence::Refuted).count();
    again.peek()?;
    let later = again.clone().any(|again| again.later);
    Some(match (later, again.count() == all) {
        (true, _) => "did not make failures certainly rarer: what fails by chance breaks now sooner and now later",
        (false, true) => "moved the break once, and not for certain when it was tried again",
        (false, false) => "moved the break at most once, and not for certain when it was tried again",
    })
}
