//! Where a break was foretold to move: what is said of it is one decision, the ladder's.

use genkai_model::finding::{Cause, Verdict};
use genkai_model::units::Range;

/// Where the next break was foretold when only this setting was changed, in what the test counts; none where that cannot be told.
pub(super) fn foretold(v: &Verdict, cause: &Cause) -> Option<Range> {
    match &v.ladder {
        Some(ladder) => ladder.foretold(cause),
        None => cause.counterfactual.as_ref()?.predicted,
    }
}
