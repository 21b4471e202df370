//! What smaller values than the proposed ones did, in words.

use genkai_model::finding::{Smaller, TriedValue, Verdict};

use crate::context::Context;
use crate::{clean, figure};

/// Of each setting the smallest value that held, in users and requests a second, and the largest that did not.
pub(super) fn told(context: Context<'_>, v: &Verdict) -> Vec<String> {
    v.smaller.iter().filter_map(|found| of(found, context, v)).collect()
}

fn of(found: &Smaller, context: Context<'_>, v: &Verdict) -> Option<String> {
    let at = |tried: &TriedValue| v.trials.iter().find(|one| one.trial == tried.trial);
    let held = at(&found.holds)?;
    let number = |tried: &TriedValue| tried.value.trim_end_matches('s').parse::<f64>().ok();
    let next = number(&found.holds).zip(number(&found.fails)).is_some_and(|(holds, fails)| holds - fails <= 1.0);
    // A formula tells from where on a value is enough, and rarely that none below it is.
    let between = if next { "" } else { "; what lies between was not tried" };
    let beside = if v.proposal.len() > 1 { ", with the other changes in place" } else { "" };
    let asked = context.asked()?;
    // A trial that went beyond the load asked for has another rate.
    let rate = match held.asked <= asked {
        true => format!(": {} {}/s, its ramp included", figure::number(held.rate), context.counted()),
        false => format!(", which went on to {}", context.level(held.asked)),
    };
    Some(format!(
        "{} = {} is the smallest value tried that held {}{beside} (trial {}{rate}); {} failed (trial {}){between}.",
        clean::line(&found.setting),
        clean::line(&found.holds.value),
        context.level(asked),
        found.holds.trial,
        clean::line(&found.fails.value),
        found.fails.trial,
    ))
}
