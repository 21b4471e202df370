//! Whether good answers became longer or shorter in the course of a load: a server may answer otherwise once it is busy, with a good status.

use genkai_model::event::Tick;
use genkai_model::finding::{Answers, Caveat};
use genkai_model::load::Protocol;

use crate::tuning::judged_trial::JudgedTrial;
use crate::window;

/// Fewer answers than this have no mean.
const ANSWERS: u64 = 50;
/// The part of all answers that is looked at in the end.
const PART: u64 = 10;
/// Answers for each request under way: bytes of answers that are not whole yet may then make a mean a quarter wrong, and no more.
const FOR_EACH: u64 = 4;
/// Part of the requests that may have failed: the bytes of their answers are among the others'.
const FAILED: f64 = 0.01;
/// How many times as long answers are unlike.
const UNLIKE: f64 = 2.0;

/// That they did, in a trial that held. Of one request over and over, by HTTP/1.1: the heads of HTTP/2 become shorter by themselves.
pub(super) fn answers(judged: &JudgedTrial<'_>) -> Option<Caveat> {
    let load = &judged.trial.started.load;
    let one = load.is_one_request() && load.pages.is_none() && load.protocol == Protocol::Http1;
    if judged.broke.is_some() || !one {
        return None;
    }
    let ticks = &judged.trial.ticks;
    let all: u64 = ticks.iter().map(|tick| tick.ok).sum();
    let begun = (1..=ticks.len()).find(|n| is_enough(&ticks[..*n], 0, ANSWERS))?;
    let before = |n: usize| n.checked_sub(1).map_or(0, |n| ticks[n].in_flight);
    let ended = (begun..ticks.len()).rev().find(|n| is_enough(&ticks[*n..], before(*n), ANSWERS.max(all / PART)))?;
    let (first, last) = (mean(&ticks[..begun])?, mean(&ticks[ended..])?);
    let times = last.bytes / first.bytes;
    let unlike = !(1.0 / UNLIKE..=UNLIKE).contains(&times);
    unlike.then_some(Caveat::AnswersChanged { trial: judged.trial.number, first, last })
}

/// Whether these intervals have so many answers, and so many beside what was under way (`before` them, and in them).
fn is_enough(ticks: &[Tick], before: u64, least: u64) -> bool {
    let answers: u64 = ticks.iter().map(|tick| tick.ok).sum();
    let most = ticks.iter().map(|tick| tick.in_flight).fold(before, u64::max);
    answers >= least.max(FOR_EACH * most)
}

/// The mean of these intervals; none where too many failed.
fn mean(ticks: &[Tick]) -> Option<Answers> {
    let all = window::Tally::of(ticks);
    let bytes = ticks.iter().map(|tick| tick.bytes_in).sum::<u64>() as f64 / all.finished() as f64;
    let told = bytes > 0.0 && all.failed as f64 <= FAILED * all.finished() as f64;
    told.then_some(Answers { count: all.ok, bytes, level: ticks.last()?.level })
}
