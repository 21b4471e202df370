//! What a setting counts of which no formula tells, where that is not users: requests in all, seconds, requests a second.
//!
//! A load that rises breaks a server that has used up what it had as well as one that has too many users. How many requests were answered before any
//! failed, and how many a second while others did, tells these apart: both are held against the value of the setting in two trials.

use genkai_model::finding::{Break, Caveat, CountedTrial, Counts};
use genkai_model::limit::{Law, Limit};
use genkai_model::objective::Condition;
use genkai_model::record::Trial;

use super::judged_trial::JudgedTrial;
use crate::diagnosis::onset;
use crate::window::{self, US};

/// Fewest requests that failed after the first interval with failures, and shortest time, seconds, by which that is judged.
const FAILED: u64 = 20;
const LASTED: f64 = 0.6;
/// How many may be answered after everything fails: a part of those before, and some that were on their way.
const LEFT: f64 = 0.005;
const ON_THEIR_WAY: f64 = 2.0;
/// How far a count and a rate may be from what they are held against, as a part of it.
const COUNT: f64 = 0.05;
const RATE: f64 = 0.1;
/// Fewest answers by which a rate is told.
const FEWEST: f64 = 10.0;
/// The same of what comes beyond a rate, and the part of it that comes in an interval at most.
const BEYOND: f64 = 0.2;
const BLUR: f64 = 0.5;
/// The same of a count that is a setting's very value.
const VERY: f64 = 0.01;
/// Fewest requests of which the value of a setting may be one by chance.
const FEW: f64 = 50.0;

/// A trial, with what of its failures tells.
#[derive(Clone, Copy)]
struct Seen {
    counted: CountedTrial,
    /// Whether nothing was answered any more.
    over: bool,
    /// The load at the break.
    level: f64,
    /// Requests in flight while others failed, the mean.
    in_flight: f64,
    /// How long an interval is, seconds, and for how long others failed.
    tick: f64,
    seconds: f64,
}

/// What the setting of `limit` counts, by the break of `before` and what came of another value in `after`; none where it may be users.
pub(crate) fn of(limit: &Limit, before: &JudgedTrial<'_>, after: &JudgedTrial<'_>) -> Option<Caveat> {
    let first = seen(limit, before)?;
    let second = seen(limit, after);
    let counts = match &second {
        Some(second) => counts(&first, second)?,
        None => alone(&first, answered(after)).filter(|_| after.broke.is_none())?,
    };
    let setting = limit.remedy.as_ref()?.setting.clone();
    Some(Caveat::Counts { setting, counts, before: first.counted, after: second.map(|second| second.counted) })
}

/// Whether the change moved the break by what it counts, whatever the load was.
pub(crate) fn moved(limit: &Limit, before: &JudgedTrial<'_>, after: &JudgedTrial<'_>) -> bool {
    matches!(of(limit, before, after), Some(Caveat::Counts { counts: Counts::Requests | Counts::Seconds, .. }))
}

fn seen(limit: &Limit, judged: &JudgedTrial<'_>) -> Option<Seen> {
    let broke: &Break = judged.broke.as_ref()?;
    if !matches!(onset::condition(broke), Some(Condition::ErrorsBelow(_))) || judged.demand.tunnels {
        return None;
    }
    let trial: &Trial = judged.trial;
    let own = trial.limits.limits.iter().find(|one| one.id == limit.id)?;
    let Law::Tried { value, word: None } = own.law else { return None };
    let begins = trial.ticks.iter().position(|tick| window::failed(tick) > 0)?;
    let (until, rest) = trial.ticks.split_at(begins + 1);
    let (begin, end) = (until.last()?.to_us as f64 / US, rest.last()?.to_us as f64 / US);
    let (failed, ok) = (rest.iter().map(window::failed).sum::<u64>(), rest.iter().map(|tick| tick.ok).sum::<u64>());
    if failed < FAILED || end - begin < LASTED {
        return None;
    }
    let answered = until.iter().map(|tick| tick.ok).sum::<u64>();
    let rate = ok as f64 / (end - begin);
    Some(Seen {
        counted: CountedTrial { trial: trial.number, value, answered, lasted: begin, rate },
        over: ok as f64 <= answered as f64 * LEFT + ON_THEIR_WAY,
        level: broke.level,
        tick: trial.started.load.tick.as_secs_f64(),
        seconds: end - begin,
        in_flight: rest.iter().map(|tick| tick.in_flight as f64).sum::<f64>() / rest.len() as f64,
    })
}

fn answered(judged: &JudgedTrial<'_>) -> f64 {
    judged.trial.ticks.iter().map(|tick| tick.ok as f64).sum()
}

/// What one trial tells, where another value answered so many and none failed.
fn alone(seen: &Seen, then: f64) -> Option<Counts> {
    let CountedTrial { value, answered, .. } = seen.counted;
    let very = is_near(answered as f64, value, VERY) && value >= FEW;
    (seen.over && very && then > value).then_some(Counts::Requests)
}

fn counts(first: &Seen, second: &Seen) -> Option<Counts> {
    let (one, two) = (&first.counted, &second.counted);
    let times = two.value / one.value;
    if one.value <= 0.0 || times <= 1.0 + RATE {
        return None;
    }
    if first.over && second.over {
        return used_up(first, second, times);
    }
    let very = |seen: &Seen| {
        let value = seen.counted.value;
        // As many at once are no rate: a second is what each takes.
        is_rate(seen, value) && !is_near(seen.in_flight, value, 0.5)
    };
    if very(first) && very(second) {
        return follows(first, second).then_some(Counts::Rate);
    }
    // What came beyond the rate: the rest came of it in the meantime. When failures begin is known to an interval.
    let beyond = (two.answered as f64 - one.answered as f64) - one.rate * (two.lasted - one.lasted);
    let (more, blur) = (two.value - one.value, one.rate * first.tick);
    let near = (beyond - more).abs() <= more * BEYOND + blur && blur <= more * BLUR;
    let same = one.rate > 0.0 && is_rate(second, one.rate);
    (same && near && two.value >= FEW).then_some(Counts::Burst)
}

/// Whether the rate grew with the value, by half of what that did at least, and by more than chance makes of their numbers: a full server answers at a
/// rate that may be near any number.
fn follows(first: &Seen, second: &Seen) -> bool {
    let chance = |seen: &Seen| (seen.counted.rate / seen.seconds).sqrt();
    let grew = second.counted.rate - first.counted.rate;
    2.0 * grew >= second.counted.value - first.counted.value && grew > chance(first) + chance(second)
}

/// Where nothing is answered any more in both.
fn used_up(first: &Seen, second: &Seen, times: f64) -> Option<Counts> {
    let (one, two) = (&first.counted, &second.counted);
    let by = |figure: &dyn Fn(&Seen) -> f64, of: f64| is_near(figure(second), figure(first) * times, of);
    let (count, time) = (by(&|seen| seen.counted.answered as f64, COUNT), by(&|seen| seen.counted.lasted, RATE));
    let (level, alike) = (by(&|seen| seen.level, RATE), second.level <= first.level * (1.0 + RATE));
    match (count, time) {
        (true, false) if !level => Some(Counts::Requests),
        (false, true) if alike => Some(Counts::Seconds),
        _ if alike && two.answered as f64 > one.answered as f64 * (1.0 + RATE) => Some(Counts::Either),
        _ => None,
    }
}

/// Whether about so many a second were answered, as far as their number tells.
fn is_rate(seen: &Seen, of: f64) -> bool {
    let expected = of * seen.seconds;
    (seen.counted.rate - of).abs() * seen.seconds <= expected * RATE + expected.sqrt() && expected >= FEWEST
}

fn is_near(seen: f64, of: f64, part: f64) -> bool {
    (seen - of).abs() <= of * part
}
