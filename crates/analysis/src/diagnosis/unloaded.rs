//! What a part of the system takes by itself, against what is allowed: where that is too much already, nothing before it
//! can help.

use genkai_model::finding::Evidence;
use genkai_model::limit::{Law, Limit};
use genkai_model::objective::Condition;
use genkai_model::units::Spread;

use super::case::Case;
use super::onset;
use crate::capacity::demand;

/// Evidence that `limit` takes longer alone than the violated condition of `case` allows, or that what stands behind it takes longer
/// alone than `limit` lets it; none for other limits, or where it does not.
pub(super) fn evidence(limit: &Limit, case: &Case<'_>) -> Option<Evidence> {
    match (&limit.law, limit.patience) {
        (Law::Delay { time }, _) => itself(time, case),
        (_, Some(allowed)) => behind(allowed, case),
        _ => None,
    }
}

/// A latency is judged at its quantile; errors, at the quantile that the errors allowed leave, against the request's
/// deadline. A rate allows no time: how many users, or connections, it takes at that time is the load's part.
fn itself(time: &Spread, case: &Case<'_>) -> Option<Evidence> {
    match onset::condition(&case.broke)? {
        Condition::LatencyBelow(q, bound) => longer(time, q, bound.at.as_secs_f64()),
        Condition::ErrorsBelow(fraction) => {
            longer(time, judged(fraction.at), case.trial.started.load.timeout.as_secs_f64())
        }
        Condition::RateAbove(_)
        | Condition::ConnectsAbove(_)
        | Condition::DeliveredAbove(_)
        | Condition::DisconnectsBelow(_) => None,
    }
}

/// Requests that take longer than `allowed` are ended, as errors.
fn behind(allowed: f64, case: &Case<'_>) -> Option<Evidence> {
    let Condition::ErrorsBelow(fraction) = onset::condition(&case.broke)? else { return None };
    let delays = case.trial.limits.limits.iter().filter_map(|limit| match &limit.law {
        Law::Delay { time } => Some(time),
        _ => None,
    });
    delays.filter_map(|time| longer(time, judged(fraction.at), allowed)).next()
}

/// The quantile that so many errors allowed leave.
fn judged(errors: f64) -> f64 {
    1.0 - errors.max(demand::RARE)
}

/// That `time` is not less than `allowed` at this quantile.
fn longer(time: &Spread, quantile: f64, allowed: f64) -> Option<Evidence> {
    let takes = demand::quantile(time, quantile);
    let quantile = Some(quantile).filter(|_| !matches!(time, Spread::Constant(_)));
    (takes >= allowed).then_some(Evidence::Alone { takes, allowed, quantile })
}
