//! The first event that does not fit those before it.

use std::collections::BTreeSet;

use genkai_model::seal::{Fit, Seal};
use genkai_model::statement::Unfit;
use serde_json::Value as Json;

use crate::events::{Events, Line, Trial, all_failed, failed, sum};

/// The first line of a record that does not fit; none where each follows from those before.
///
/// Seen are: a line that is no event, an event that was changed, left out or put in (where lines are sealed), a trial without an end,
/// events of a trial that is not there, intervals that do not follow each other, counters of one interval that contradict each other,
/// and a missing end. Not seen is what somebody changes who seals the lines anew, and keeps all of that.
pub(crate) fn first_unfit(events: &Events, lines: &str) -> Option<Unfit> {
    let mut all: Vec<Unfit> =
        [sealed(lines), structure(events), intervals(events), end(events)].into_iter().flatten().collect();
    all.sort_by_key(|unfit| unfit.line);
    all.into_iter().next()
}

fn unfit(line: usize, why: impl Into<String>) -> Option<Unfit> {
    Some(Unfit { line, why: why.into() })
}

/// The first line whose seal is not that of the lines up to it.
fn sealed(lines: &str) -> Option<Unfit> {
    let mut seal = Seal::default();
    for (i, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        if seal.read(line) == Fit::Differs {
            return unfit(i + 1, "this line, or the one before it, is not as it was written: its checksum differs");
        }
    }
    None
}

/// Trials begin one after the other and end; their events are theirs.
fn structure(events: &Events) -> Option<Unfit> {
    let (mut known, mut open) = (BTreeSet::new(), None::<u64>);
    for line in &events.lines {
        let trial = line.json.get("trial").and_then(serde_json::Value::as_u64);
        match (line.kind(), trial) {
            ("run_started", _) if line.number != events.head().number => {
                return unfit(line.number, "a second beginning of the run");
            }
            ("trial_started", Some(number)) => {
                if let Some(before) = open {
                    return unfit(line.number, format!("trial {number} begins, and trial {before} has no end"));
                }
                if number != known.len() as u64 + 1 {
                    return unfit(line.number, format!("trial {number} begins after trial {}", known.len()));
                }
                known.insert(number);
                open = Some(number);
            }
            ("trial_ended", Some(number)) if open != Some(number) => {
                return unfit(line.number, format!("trial {number} ends, and is not running"));
            }
            ("trial_ended", _) => open = None,
            ("tick", number) if open.is_none() || open != number => {
                return unfit(line.number, "an interval of a trial that is not running");
            }
            (_, Some(number)) if !known.contains(&number) && line.kind() != "turn" => {
                return unfit(line.number, format!("an event of trial {number}, which has not begun"));
            }
            _ => {}
        }
    }
    None
}

/// Intervals follow each other without a gap, and their counters agree.
fn intervals(events: &Events) -> Option<Unfit> {
    for trial in events.trials() {
        let mut end = 0.0;
        let (mut planned, mut waiting) = (0.0, 0.0);
        let locust = trial.start.json.pointer("/load/locust").is_some();
        for tick in trial.ticks() {
            let (from, to) = (tick.number("/from_us"), tick.number("/to_us"));
            if from != end {
                return unfit(
                    tick.number,
                    format!("the interval begins at {from} µs, and the one before ended at {end} µs"),
                );
            }
            if to < from {
                return unfit(tick.number, "the interval ends before it begins");
            }
            end = to;
            if let Some(why) = counters(tick, locust) {
                return unfit(tick.number, why);
            }
            waiting = tick.number("/in_flight");
            planned += tick.number("/ok") + failed(tick);
        }
        if let Some(why) = sums(&trial) {
            return unfit(trial.start.number, why);
        }
        if let Some(ended) =
            trial.end().filter(|end| end.text("/reason") == "completed" && end.number("/abandoned") > waiting + planned)
        {
            return unfit(ended.number, "more requests were left without an answer than there were");
        }
    }
    None
}

/// Why the counters of one interval contradict each other. Of what Locust tells, failed requests have a latency, too.
fn counters(tick: &Line, locust: bool) -> Option<String> {
    let values = crate::events::merged(&[tick], "/latency").count() as f64;
    let ok = tick.number("/ok");
    if locust {
        let ended = ok + failed(tick);
        return (values > ended).then(|| format!("{ended} requests ended, and {values} have a latency"));
    }
    if values > 0.0 && values != ok {
        return Some(format!("{ok} requests ended well, and {values} have a latency"));
    }
    None
}

/// Why the sums of a trial contradict each other: a request that was written has ended or waits, and each pause that a failure makes has its
/// failure (one of WebSockets is also made where an open one is closed soon). Of scenarios, WebSockets and HTTP/2 (where GOAWAY has requests made again) what is written is not counted so. A load without a word about its
/// protocol is one of HTTP/1.1.
fn sums(trial: &Trial<'_>) -> Option<String> {
    let ticks = trial.ticks();
    let bad = all_failed(&ticks);
    let load = trial.start.json.get("load")?;
    let other = load.get("protocol").is_some()
        || load.get("scenario").is_some_and(Json::is_object)
        || load.get("locust").is_some_and(Json::is_object);
    if other {
        return None;
    }
    let paced: f64 = ticks.iter().filter_map(|tick| tick.found("/paced")).sum();
    if paced > bad {
        return Some(format!("{paced} pauses after failures, and {bad} requests failed"));
    }
    // Of a load that was cut off, or lost a worker, it is not known how many waited.
    if trial.end().is_none_or(|end| end.text("/reason") != "completed") {
        return None;
    }
    let written = sum(&ticks, "/sent");
    let known = sum(&ticks, "/ok") + bad + trial.waiting() + sum(&ticks, "/retried");
    (written > known).then(|| format!("{written} requests were written, and {known} ended, wait or were made again"))
}

/// The end of the record.
fn end(events: &Events) -> Option<Unfit> {
    if let Some((line, why)) = &events.broken {
        return unfit(*line, format!("not an event: {why}"));
    }
    let last = events.lines.last()?;
    if let Some(end) = events.of("run_ended").next() {
        return if end.number == last.number { None } else { unfit(last.number, "an event after the end of the run") };
    }
    unfit(last.number, "the record ends here, and the run has no end: it was cut off")
}
