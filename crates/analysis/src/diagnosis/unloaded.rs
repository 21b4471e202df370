//! What a part of the system takes by itself, against what is allowed: where that is too much already, nothing before it
//! can help.

use genkai_model::finding::Evidence;
use genkai_model::limit::{Law, Limit};
use genkai_model::objective::Condition;

use super::case::Case;
use super::onset;
use crate::capacity::demand;

/// Evidence that `limit` takes longer alone than the violated condition of `case` allows; none for other laws, or where it
/// does not.
///
/// A latency is judged at its quantile; errors, at the quantile that the errors allowed leave, against the request's
/// deadline. A rate needs `clients / rate - think` a request at most (Little's law).
pub(super) fn evidence(limit: &Limit, case: &Case<'_>) -> Option<Evidence> {
    let Law::Delay { time } = &limit.law else { return None };
    let demand = &case.demand;
    let (takes, allowed) = match onset::condition(&case.broke)? {
        Condition::LatencyBelow(q, bound) => (demand::quantile(time, q), bound.at.as_secs_f64()),
        Condition::ErrorsBelow(fraction) => {
            (demand::quantile(time, 1.0 - fraction.at.max(demand::RARE)), case.trial.started.load.timeout.as_secs_f64())
        }
        Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) | Condition::DisconnectsBelow(_) => return None,
        Condition::RateAbove(rate) => {
            let clients = if demand.is_open() { demand.most } else { demand.asked };
            (demand::mean(time), (clients / rate.at - demand.think).max(0.0))
        }
    };
    (takes >= allowed).then_some(Evidence::Alone { takes, allowed })
}
