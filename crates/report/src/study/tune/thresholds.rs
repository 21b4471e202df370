//! The conditions of a plain load.

use genkai_model::finding::TrialFinding;
use genkai_model::objective::Condition;
use genkai_model::summary::{Summary, Threshold};

use super::condition;
use crate::document::{Block, Section, Tone};
use crate::figure::{count, number, percent, seconds};
use crate::{clean, words};

/// Each condition with what was seen of it, over the whole load; `unit` is what it counts.
pub(super) fn section(load: &Summary, trial: &TrialFinding, unit: &str) -> Option<Section> {
    let one = |threshold: &Threshold| {
        let (tone, mark) = match (threshold.holds, threshold.seen) {
            (true, _) => (Tone::Good, "pass"),
            (false, Some(_)) => (Tone::Bad, "FAIL"),
            (false, None) => (Tone::Doubtful, "none"),
        };
        Block::toned(tone, format!("{mark}  {}: {}", clean::line(&threshold.condition), seen(threshold, unit)))
    };
    let whole = load.thresholds.iter().all(|t| t.holds);
    let broke = trial.broke.as_ref().filter(|_| whole).map(|broke| {
        let (at, condition) = (seconds(broke.at), clean::line(&broke.condition));
        let text = match words::unanswered(broke, unit) {
            Some(waited) => format!("FAIL  from {at} on: {waited} (asked for: {condition})."),
            None => {
                format!(
                    "FAIL  {condition} holds over the whole load, but did not for a second and more, first at {at}."
                )
            }
        };
        Block::toned(Tone::Bad, text)
    });
    (!load.thresholds.is_empty())
        .then(|| Section::terminal("Thresholds").and_markdown().with(load.thresholds.iter().map(one)).with(broke))
}

/// What was seen of a condition, in its unit.
fn seen(threshold: &Threshold, unit: &str) -> String {
    let Some(x) = threshold.seen else { return "nothing to judge by".to_owned() };
    let condition = condition(&threshold.condition);
    let waiting = (threshold.waiting > 0).then(|| waiting(condition, threshold.waiting, unit));
    let of_ended = if waiting.is_some() { " of those that ended; " } else { "" };
    figure_of(condition, x) + of_ended + &waiting.unwrap_or_default()
}

/// Those in flight at the end that a condition speaks of all the same.
fn waiting(condition: Option<Condition>, waiting: u64, unit: &str) -> String {
    match condition {
        Some(Condition::LatencyBelow(_, bound)) => {
            let longer = seconds(bound.at.as_secs_f64());
            format!("{} more {unit} had waited for longer than {longer} when the load ended", count(waiting))
        }
        _ => format!("{} more {unit} were waited for after the load had ended, and did not come", count(waiting)),
    }
}

fn figure_of(condition: Option<Condition>, x: f64) -> String {
    match condition {
        Some(Condition::LatencyBelow(..)) => seconds(x),
        Some(Condition::RateAbove(_)) => format!("{}/s", number(x)),
        Some(
            Condition::ErrorsBelow(_)
            | Condition::ConnectsAbove(_)
            | Condition::DeliveredAbove(_)
            | Condition::DisconnectsBelow(_),
        ) => percent(x),
        None => number(x),
    }
}
