//! Flows of a scenario in sum.

use genkai_model::finding::{FlowFinding, StepFinding};
use genkai_model::flows::StepCount;
use genkai_model::histogram;
use genkai_model::record::Trial;

use crate::window;

/// What became of a trial's flows, if any interval had them; the trial lasted so many seconds.
pub fn finding(trial: &Trial, lasted: f64) -> Option<FlowFinding> {
    let mut all = trial.ticks.iter().filter_map(|tick| tick.flows.as_deref());
    let mut counts = all.next()?.clone();
    all.for_each(|more| counts.add(more));
    let steps = counts.steps.iter().map(|step| found(step, lasted)).collect();
    Some(FlowFinding { counts, steps })
}

fn found(step: &StepCount, lasted: f64) -> StepFinding {
    let mut took = histogram::empty();
    // A damaged payload counts as empty, as everywhere.
    let _ = step.took.add_to(&mut took);
    StepFinding {
        name: step.name.clone(),
        ok: step.ok,
        failed: step.failed,
        rate: if lasted > 0.0 { step.ok as f64 / lasted } else { 0.0 },
        took: window::quantiles(&took),
    }
}
