//! The conditions of a plain load.

use genkai_model::finding::TrialFinding;
use genkai_model::objective::Condition;
use genkai_model::summary::{Counted, Summary, Threshold};
use genkai_model::units::Span;

use super::condition;
use crate::document::{Block, Section, Tone};
use crate::figure::{count, number, percent, seconds};
use crate::{clean, words};

/// Each condition with what was seen of it, over the whole load, of which an answer is waited for with `patience`; `unit` is what it counts.
pub(super) fn section(load: &Summary, trial: &TrialFinding, unit: &str, patience: Span) -> Option<Section> {
    let one = |threshold: &Threshold| {
        let (tone, mark) = match (threshold.holds, threshold.seen) {
            (true, _) if threshold.undecided > 0 => (Tone::Doubtful, "open"),
            (true, _) => (Tone::Good, "pass"),
            (false, Some(_)) => (Tone::Bad, "FAIL"),
            (false, None) => (Tone::Doubtful, "none"),
        };
        // In a scenario messages are waited for besides, for another time.
        let only_requests = load.counted == Counted::Requests && trial.messages.is_none();
        let seen = seen(threshold, unit, only_requests.then_some(patience));
        Block::toned(tone, format!("{mark}  {}: {seen}", clean::line(&threshold.condition)))
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
fn seen(threshold: &Threshold, unit: &str, patience: Option<Span>) -> String {
    let Some(x) = threshold.seen else { return "nothing to judge by".to_owned() };
    let condition = condition(&threshold.condition);
    let (waiting, undecided) = (threshold.waiting, threshold.undecided);
    let more = match (waiting, undecided) {
        (0, 0) => return figure_of(condition, x),
        (0, more) => format!(
            "{} more {unit} hung when the load ended: each had waited for more than twice as long as any that ended took",
            count(more)
        ),
        (more, _) => in_vain(condition, more, patience, unit),
    };
    format!("{} of those that ended; {more}", figure_of(condition, x))
}

/// Those in flight at the end that a condition speaks of all the same; of requests alone with the patience with which an answer is waited for.
fn in_vain(condition: Option<Condition>, waiting: u64, patience: Option<Span>, unit: &str) -> String {
    let longer = match condition {
        Some(Condition::LatencyBelow(_, bound)) => Some(bound.at),
        _ => patience,
    };
    match longer.map(|longer| seconds(longer.as_secs_f64())) {
        Some(longer) => {
            format!("{} more {unit} had waited for longer than {longer} when the load ended", count(waiting))
        }
        None => format!(
            "{} more {unit} were waited for when the load ended, or after that, and no echo of them came",
            count(waiting)
        ),
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
