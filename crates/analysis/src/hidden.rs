//! What a server counts besides what clients see: requests that the backend answered, errors in whose place a good answer was sent.

use genkai_model::event::Tick;
use genkai_model::evidence::{Sample, metric};
use genkai_model::record::Trial;

use crate::window::Tally;

/// Good answers up to the last look at a counter, and how much that had grown by then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grown {
    pub(crate) responses: u64,
    pub(crate) by: u64,
}

/// How a counter of the servers' grew over a trial; none where nobody counts, or nobody looked since the load began.
pub(crate) fn grown(trial: &Trial, name: &str) -> Option<Grown> {
    let counted = |(us, sample): &(i64, Sample)| Some((*us, *sample.metrics.get(name)?));
    let counted: Vec<(i64, f64)> = trial.samples.iter().filter_map(counted).collect();
    let (at, last) = counted.last().filter(|(us, _)| *us > 0)?;
    // What was answered after the last look is nobody's yet.
    let by_then = trial.ticks.partition_point(|tick: &Tick| tick.to_us as i64 <= *at);
    let before = counted.iter().rev().find(|(us, _)| *us <= 0).map_or(0.0, |(_, before)| *before);
    Some(Grown { responses: Tally::of(&trial.ticks[..by_then]).ok, by: (last - before).max(0.0) as u64 })
}

/// How many requests came to what is behind: by its own account, else by that of the product before it.
pub(crate) fn served(trial: &Trial) -> Option<Grown> {
    grown(trial, metric::BACKEND_DONE).or_else(|| grown(trial, metric::SERVERS_DONE))
}

/// Good answers that were sent in the place of errors (`error_page 502 =200`), of all good ones, over trials; none where there was none.
pub(crate) fn errors<'t>(trials: impl IntoIterator<Item = &'t Trial>) -> Option<Grown> {
    let each = trials.into_iter().filter_map(|trial| grown(trial, metric::HIDDEN_ERRORS));
    // The look came within an interval, whose answers are not among those that are counted; nor are those to requests that no client waited for.
    let sum = each.fold(Grown::default(), |all, Grown { responses, by }| Grown {
        responses: all.responses + responses,
        by: all.by + by.min(responses),
    });
    (sum.by > 0).then_some(sum)
}
