//! What broke, what speaks for the cause, what happened when it was lifted.

use genkai_model::error::ErrorCount;
use genkai_model::finding::{Break, Candidate, Cause, Counterfactual, Evidence, Moved};
use genkai_model::limit::Strength;
use genkai_model::objective::{Condition, Objective};

use super::{CauseSaid, Other};
use crate::scene::{self, Scene};
use crate::{clean, figure, words};

/// Longest log line quoted inside a sentence, in characters.
const QUOTE: usize = 120;

/// What broke and what the servers showed, in one sentence or two.
pub(super) fn broke(scene: Scene<'_>, cause: &Cause, later: bool) -> String {
    let then = if later { "With that lifted, at" } else { "At" };
    let sign = strongest(&cause.evidence).map_or_else(String::new, |e| format!(": {}", sign(scene, cause, e)));
    format!(
        "{then} {} {} {}{sign}. {}.",
        scene.place(&cause.broke),
        scene.product(),
        verb(&cause.broke),
        violated(&cause.broke)
    )
}

/// A break without a cause.
pub(super) fn plain_break(scene: Scene<'_>, broke: &Break) -> String {
    format!("At {} {} {}. {}.", scene.place(broke), scene.product(), verb(broke), violated(broke))
}

fn verb(broke: &Break) -> String {
    let most = broke.errors.iter().max_by_key(|e| e.count);
    match (most, condition(broke)) {
        (_, Some(Condition::LatencyBelow(..))) => "answered slowly".to_owned(),
        (_, Some(Condition::RateAbove(_))) => "answered too few requests".to_owned(),
        (Some(ErrorCount { kind, .. }), _) => words::did(*kind).to_owned(),
        (None, _) => "failed".to_owned(),
    }
}

fn condition(broke: &Break) -> Option<Condition> {
    broke.condition.parse::<Objective>().ok().and_then(|o| o.0.first().copied())
}

/// What was seen against what was asked: `4.2 % of requests failed there (asked for: ...)`.
fn violated(broke: &Break) -> String {
    let asked = clean::line(&broke.condition);
    let seen = match condition(broke) {
        Some(Condition::ErrorsBelow(_)) => format!("{} of requests failed there", figure::percent(broke.seen)),
        Some(Condition::LatencyBelow(q, _)) => {
            let name = if q >= 1.0 { "The largest".to_owned() } else { format!("The p{}", figure::number(q * 100.0)) };
            format!("{name} latency was {} there", figure::seconds(broke.seen))
        }
        Some(Condition::RateAbove(_)) => format!("{} requests/s were completed there", figure::number(broke.seen)),
        None => format!("{} was seen there", figure::number(broke.seen)),
    };
    format!("{seen} (asked for: `{asked}`)")
}

/// The piece of evidence that says most; log lines before counters before gauges, frequent lines before rare ones.
fn strongest(all: &[Evidence]) -> Option<&Evidence> {
    fn rank(e: &Evidence) -> Option<(Strength, u8, u64)> {
        match e {
            Evidence::Log { strength, count, .. } => Some((*strength, 3, *count)),
            Evidence::Grew { strength, .. } => Some((*strength, 2, 0)),
            Evidence::Reached { strength, .. } => Some((*strength, 1, 0)),
            Evidence::Errors { .. } | Evidence::Slow { .. } | Evidence::Place { .. } => None,
        }
    }
    all.iter().filter(|e| rank(e).is_some()).max_by_key(|e| rank(e))
}

fn sign(scene: Scene<'_>, cause: &Cause, evidence: &Evidence) -> String {
    match evidence {
        Evidence::Log { count, text, .. } => {
            let whose = if cause.limit.subject == scene.product() {
                "its log says".to_owned()
            } else {
                format!("the log of {} says", words::subject(&cause.limit.subject))
            };
            format!("{whose} `{}` ({})", clean::cut(clean::gist(text), QUOTE), figure::plural(*count, "line", "lines"))
        }
        Evidence::Grew { metric, from, to, .. } => {
            format!("{} rose from {} to {}", words::metric(metric), figure::whole(*from), figure::whole(*to))
        }
        Evidence::Reached { metric, value, mark, of, .. } => reached(metric, *value, *mark, of),
        Evidence::Errors { .. } | Evidence::Slow { .. } | Evidence::Place { .. } => self::evidence(evidence),
    }
}

/// `processor use of the busiest worker reached 0.993 of 1 (one core)`.
fn reached(metric: &str, value: f64, mark: f64, of: &str) -> String {
    let of = if of.contains('.') { words::metric(of) } else { clean::line(of) };
    let of = if of.is_empty() { String::new() } else { format!(" ({of})") };
    format!("{} reached {} of {}{of}", words::metric(metric), figure::number(value), figure::number(mark))
}

/// One piece of evidence as a clause, with its figures.
pub fn evidence(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Log { count, text, at, strength, .. } => format!(
            "log: `{}` ({}, first {} into the load; {})",
            clean::line(text),
            figure::plural(*count, "line", "lines"),
            figure::seconds(*at),
            words::strength(*strength)
        ),
        Evidence::Grew { metric, from, to, strength } => format!(
            "{} rose from {} to {} ({}; {})",
            words::metric(metric),
            figure::whole(*from),
            figure::whole(*to),
            clean::line(metric),
            words::strength(*strength)
        ),
        Evidence::Reached { metric, value, mark, of, strength } => {
            format!("{}; {}", reached(metric, *value, *mark, of), words::strength(*strength))
        }
        Evidence::Errors { errors } => format!("clients saw: {}", words::errors(errors)),
        Evidence::Slow { seen } => format!("responses became slow: {} around the break", figure::seconds(*seen)),
        Evidence::Place { predicted, observed } => format!(
            "the break came at {} clients, the formula says {}",
            figure::whole(*observed),
            figure::range(*predicted, figure::whole)
        ),
    }
}

/// What happened when only this setting was changed.
pub(super) fn counterfactual(scene: Scene<'_>, cause: &Cause) -> Option<String> {
    let c = cause.counterfactual.as_ref()?;
    let change = format!(
        "{} from {} to {}",
        clean::line(&c.change.setting),
        clean::line(&c.change.from),
        clean::line(&c.change.to)
    );
    let predicted = c.predicted.map_or_else(
        || "no further limit within the load sent".to_owned(),
        |range| format!("{} at once", scene::clients(range)),
    );
    Some(match (&c.observed, c.moved) {
        (Some(after), Moved::AsPredicted) => format!(
            "Changing only {change} moved the break {} (predicted {}).",
            between(scene, cause, after),
            c.predicted.map_or(predicted, |r| figure::range(r, figure::whole))
        ),
        (Some(after), Moved::Elsewhere) => format!(
            "Changing only {change} moved the break {}, not to where it was predicted ({predicted}): another limit stands \
             between.",
            between(scene, cause, after)
        ),
        (Some(after), Moved::Not) => format!(
            "Changing only {change} made no difference: it broke at {}, as it had at {}, although {predicted} was predicted.",
            scene.place(after),
            scene.place(&cause.broke)
        ),
        (None, Moved::Not) => format!("Changing only {change} made no difference."),
        (None, _) => held(scene, cause, c, &change),
    })
}

fn held(scene: Scene<'_>, cause: &Cause, c: &Counterfactual, change: &str) -> String {
    let where_next = match (c.predicted, c.moved) {
        (None, _) => " No further limit was predicted within the load sent.".to_owned(),
        (Some(range), Moved::Elsewhere) => {
            format!(" That is beyond where the formula puts the next limit ({}).", scene::clients(range))
        }
        (Some(range), _) => format!(" The next limit is predicted at {}.", scene::clients(range)),
    };
    format!(
        "Changing only {change} took the break at {} away: the load held up to {}.{where_next}",
        scene.place(&cause.broke),
        scene.level(c.held_to)
    )
}

/// `from 243 to 371 clients`, in clients where the limit counts them, else in the load's unit.
fn between(scene: Scene<'_>, cause: &Cause, after: &Break) -> String {
    if cause.predicted.clients.is_some() {
        format!("from {} to {} clients", figure::whole(cause.broke.in_flight), figure::whole(after.in_flight))
    } else {
        format!("from {} to {}", scene.level(cause.broke.level), scene.level(after.level))
    }
}

/// The whole cause in words.
pub(super) fn said(scene: Scene<'_>, cause: &Cause) -> CauseSaid {
    let l = &cause.limit;
    CauseSaid {
        title: format!("{}: {}", words::subject(&l.subject), words::setting(&l.setting, &l.value)),
        formula: format!("{}: {} ({})", clean::line(&l.caps), clean::line(&l.formula), clean::line(&l.source)),
        broke: broke(scene, cause, false),
        confidence: words::confidence(cause.confidence).to_owned(),
        evidence: cause.evidence.iter().map(evidence).collect(),
        counterfactual: counterfactual(scene, cause),
        others: cause.others.iter().map(other).collect(),
    }
}

fn other(candidate: &Candidate) -> Other {
    let why: Vec<&str> = candidate.against.iter().map(|a| words::against(*a)).collect();
    Other {
        name: format!("{}: {}", words::subject(&candidate.subject), clean::line(&candidate.setting)),
        why: if why.is_empty() { "less speaks for it".to_owned() } else { why.join("; ") },
        evidence: candidate.evidence.iter().map(evidence).collect(),
    }
}
