//! Limits on clients at once of whom it is known how many come at most.

use genkai_model::limit::{Law, Limit};

/// Whether all who can come are let in, where a limit's law lets so many in: the least and the most.
pub(crate) fn is_never_full(limit: &Limit, lets: Option<(f64, f64)>) -> bool {
    let by_slots = matches!(limit.law, Law::Slots { .. });
    by_slots && limit.comes.zip(lets).is_some_and(|(come, (least, _))| come <= least)
}
