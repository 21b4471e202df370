//! A backend asked directly: whether it breaks by itself as it does behind the product.

use genkai_model::objective::Condition;
use serde_json::{Value as Json, json};

use crate::asked::TOLERANCE;
use crate::broken::Judged;
use crate::events::{Line, failed, sum};
use crate::generator::STEEP;
use crate::intervals::{self, Counts};
use crate::weigh;

/// The least part of the load that broke the product at which a backend must break to be its cause.
const LEAST: f64 = 0.5;

/// The evidence that a backend by itself is what breaks; none where it is not.
pub(crate) fn evidence(at: &Judged<'_>, direct: &Judged<'_>) -> Option<Json> {
    let (through, own) = (at.level()?, direct.level()?);
    let steep = at.asked.ramp < STEEP || direct.asked.ramp < STEEP;
    let (a, b) = (at.onset?, direct.onset?);
    let early = (steep || weigh::is_near((through * LEAST, through), own)) && a.condition == b.condition;
    let both = [count(&direct.trial.ticks()), count(&at.trial.ticks())];
    let errors = matches!(a.condition, Some(Condition::ErrorsBelow(_)));
    let failures = (errors && both.iter().all(|(bad, _)| *bad > 0.0)).then_some(both);
    let often = || {
        let low = direct.trial.ticks();
        let low: Vec<&Line> =
            low.into_iter().filter(|tick| tick.number("/level") <= through * (1.0 + TOLERANCE) + 1.0).collect();
        failures.filter(|_| !steep).is_some_and(|[own, behind]| is_as_often(count(&low), own, behind))
    };
    if !early && !often() {
        return None;
    }
    let mut told = json!({ "evidence": "directly", "trial": direct.trial.number, "level": own, "through": through });
    if let Some(both) = failures {
        told["failures"] = both.iter().map(|(bad, all)| json!({ "failed": *bad as u64, "of": *all as u64 })).collect();
    }
    Some(told)
}

fn count(ticks: &[&Line]) -> Counts {
    let bad: f64 = ticks.iter().map(|tick| failed(tick)).sum();
    (bad, bad + sum(ticks, "/ok"))
}

/// Whether it is not certain that fewer requests fail directly, at the levels that the product bore and at all, nor that more do.
fn is_as_often(low: Counts, all: Counts, behind: Counts) -> bool {
    let fewer = |own: Counts| intervals::differ(own, behind, intervals::ALPHA).0 > 0.0;
    let more = |own: Counts| intervals::differ(own, behind, intervals::ALPHA).1 < 0.0;
    low.1 > 0.0 && !fewer(low) && !fewer(all) && !more(all)
}
