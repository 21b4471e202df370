//! What smaller values than the proposed one did, in words.

use genkai_model::finding::{TriedValue, Verdict};

use crate::context::Context;
use crate::{clean, figure};

/// The smallest value that held, in users and requests a second, and the largest that did not; nothing where none were tried.
pub(super) fn told(context: Context<'_>, v: &Verdict) -> Option<String> {
    let found = v.smaller.as_ref()?;
    let at = |tried: &TriedValue| v.trials.iter().find(|one| one.trial == tried.trial);
    let held = at(&found.holds)?;
    let number = |tried: &TriedValue| tried.value.parse::<f64>().unwrap_or_default();
    let next = number(&found.holds) - number(&found.fails) <= 1.0;
    let between = if next { "" } else { "; what lies between was not tried" };
    let asked = context.asked()?;
    // A trial that went beyond the load asked for has another rate.
    let rate = match held.asked <= asked {
        true => format!(": {} requests/s, its ramp included", figure::number(held.rate)),
        false => format!(", which went on to {}", context.level(held.asked)),
    };
    Some(format!(
        "{} = {} is the smallest value tried that held {} (trial {}{rate}); {} failed (trial {}){between}.",
        clean::line(&found.setting),
        clean::line(&found.holds.value),
        context.level(asked),
        found.holds.trial,
        clean::line(&found.fails.value),
        found.fails.trial,
    ))
}
