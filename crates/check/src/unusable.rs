//! Values with which the server did not start, as the lines of the record tell.

use genkai_model::limit::{Law, Limit};

use crate::events::{Events, Line};

/// So many of them above the present value of a setting are enough.
const ENOUGH: usize = 4;

/// The values that were known when this line was written; none: at the end.
pub(crate) fn before(events: &Events, line: Option<usize>) -> Vec<&Line> {
    let early = |one: &&Line| line.is_none_or(|line| one.number < line);
    events.of("not_started").filter(|one| is_for(one, "")).filter(early).collect()
}

/// Whether the server did not start with the proposal after this line.
pub(crate) fn proposal_after(events: &Events, line: usize) -> bool {
    events.of("not_started").any(|one| is_for(one, "proposal") && one.number > line)
}

/// Whether that was its purpose; the search's is not written.
fn is_for(one: &Line, purpose: &str) -> bool {
    one.text("/purpose") == purpose
}

/// Whether `setting` has a word, or a number above the present one, left to be tried.
pub(crate) fn leaves_a_value(limit: &Limit, setting: &str, present: f64, values: &[&Line]) -> bool {
    let mine = values.iter().filter(|one| one.text("/setting") == setting).map(|one| one.text("/value"));
    if let Law::Tried { word: Some(word), .. } = &limit.law {
        return !mine.into_iter().any(|value| value == word);
    }
    let above: Vec<f64> = mine.filter_map(|value| value.parse().ok()).filter(|value| *value > present).collect();
    above.len() < ENOUGH && above.iter().all(|value| *value >= present + 2.0)
}
