//! Requests held open, in words.

use genkai_model::finding::Outcome;
use genkai_model::finding::idle_requests::{IdleFinding, IdleLimit, IdleTrial};

use super::client;
use super::rooms::nodes;
use crate::{figure, words};

/// The answer, first sentence first.
pub(crate) fn sentences(finding: &IdleFinding) -> Vec<String> {
    let time = finding.time;
    let requests = |n: u32| figure::plural(u64::from(n), "request", "requests");
    let each = |n: u32| match finding.nodes {
        0 | 1 => String::new(),
        many => format!(" ({} a node)", figure::whole(f64::from(n) / f64::from(many))),
    };
    let on = nodes(finding.nodes);
    let mut all = Vec::new();
    match (finding.largest, finding.refused_from) {
        (Some(n), None) if finding.outcome == Outcome::Holds => {
            all.push(format!(
                "{on}: {} held open for {time} at once{}, none refused; more were not tried.",
                requests(n),
                each(n)
            ));
        }
        (Some(n), Some(m)) => {
            all.push(format!(
                "{on}: {} held open for {time} at once{}, none refused; of {} some are.",
                requests(n),
                each(n),
                figure::count(u64::from(m))
            ));
        }
        (None, Some(m)) => all.push(format!("{on}: even of {} held open for {time} some are refused.", requests(m))),
        _ => all.push("The run was cut off before there was an answer.".to_owned()),
    }
    if let Some(found) = finding.limits.first() {
        all.push(format!("What refuses: {}: {}.", limit(found), found.limit.caps));
    } else if finding.refused_from.is_some() {
        all.push("Nothing that was looked at names what refuses.".to_owned());
    }
    let decides = finding.trials.iter().find(|trial| Some(trial.requests) == finding.refused_from.or(finding.largest));
    if let Some(trial) = decides.filter(|trial| !trial.client.valid) {
        all.push(format!("The client was the limit: {}", client::reasons(&trial.client)));
    }
    all
}

/// Whose limit it is, and as what it is set.
pub(crate) fn limit(found: &IdleLimit) -> String {
    let limit = &found.limit;
    format!("{} {}", words::whose(&limit.subject), words::setting(&limit.setting, &limit.value))
}

/// What became of a trial's requests that were not answered.
pub(crate) fn refused(trial: &IdleTrial) -> String {
    if trial.refused.is_empty() { "none".to_owned() } else { words::errors(&trial.refused) }
}
