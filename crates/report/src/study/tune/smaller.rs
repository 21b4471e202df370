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
    Some(format!(
        "{} = {} is the smallest value tried that held {} (trial {}: {} requests/s, its ramp included); {} failed (trial {}){between}.",
        clean::line(&found.setting),
        clean::line(&found.holds.value),
        context.level(held.asked),
        found.holds.trial,
        figure::number(held.rate),
        clean::line(&found.fails.value),
        found.fails.trial,
    ))
}
