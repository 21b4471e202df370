//! What became of a break when one setting was changed, told once more.

use genkai_model::limit::{Limit, RemedyUnit, Strength};
use genkai_model::objective::Condition;

use crate::asked::TOLERANCE;
use crate::broken::{self, Judged};
use crate::events::{failed, sum_where};
use crate::generator::STEEP;
use crate::met::{Ends, Met};
use crate::predictions::met;
use crate::weigh::{self, Weighed};

/// What became of the break of `before`, as large as the first of `sizes`, when `lifted` was, of which a formula tells: it came again, as large as
/// the second. `levels` is where the next limit is foretold, with its name and the clients at once that are foretold, too.
pub(crate) fn place(
    before: &Judged<'_>,
    lifted: &Limit,
    (after, own): (&Judged<'_>, &Met),
    [size, now]: [f64; 2],
    levels: Option<Ends>,
    next: Option<(&str, Option<Ends>)>,
) -> &'static str {
    let best = weigh::all(after, own, &[]);
    let first = best.iter().find(|one| one.is_possible());
    let best = first.map(|one| one.limit.id.as_str());
    let expected = next.is_some_and(|(id, _)| Some(id) == best);
    let clients = next.and_then(|(_, clients)| clients).filter(|_| own.spawn.is_none());
    let at_once = clients.zip(after.in_flight()).is_some_and(|(ends, seen)| weigh::is_near(ends, seen));
    let there = levels.is_some_and(|ends| weigh::is_near(ends, now)) || expected && at_once;
    let steep = after.asked.ramp < STEEP;
    let elsewhere = |fits: bool| if fits { "as_predicted" } else { "elsewhere" };
    let kept_away = lifted.remedy.as_ref().is_some_and(|remedy| remedy.unit == RemedyUnit::Zero)
        && !lifted.symptom.errors.is_empty();
    let all_came = steep && !after.asked.tunnels;
    let smaller = (now + blur(after)) * (1.0 + TOLERANCE) < size;
    if smaller && !all_came {
        return "not";
    }
    if is_gone(before, after, kept_away) {
        return elsewhere(expected && (there || steep));
    }
    if !all_came && now > size * (1.0 + TOLERANCE) + blur(before) {
        return elsewhere(there);
    }
    // Other signs are no other break where they show what the setting had kept away.
    let another = first.is_some_and(|one| one.limit.id != lifted.id && is_new(one, before));
    if !another || kept_away { "not" } else { elsewhere(expected && (there || steep)) }
}

/// Whether a limit had left no sign in a break; and where it has left one now that names it, none but what merely fits.
fn is_new(limit: &Weighed, before: &Judged<'_>) -> bool {
    let of_before = weigh::all(before, &met(before), &[]);
    let strongest = of_before.iter().filter(|one| one.limit.id == limit.limit.id).filter_map(|one| one.strongest).max();
    match strongest {
        None => true,
        Some(Strength::Consistent) => limit.strongest == Some(Strength::Decisive),
        Some(_) => false,
    }
}

/// Whether of the failures that most were in one break less than a tenth are left in another; of every kind, where others had been kept away.
fn is_gone(before: &Judged<'_>, after: &Judged<'_>, every: bool) -> bool {
    let onset = |judged: &Judged<'_>| {
        let onset = judged.onset?;
        let errors = matches!(onset.condition, Some(Condition::ErrorsBelow(_)));
        (errors && broken::waits(&onset) == 0.0).then_some(onset)
    };
    let (Some(broke), Some(_)) = (onset(before), onset(after)) else { return false };
    let Some((kind, _)) = broken::failures(before, &broke).first().copied() else { return false };
    let Ok(kind) = serde_json::to_value(kind) else { return false };
    let part = |judged: &Judged<'_>| {
        let ticks = judged.trial.ticks();
        let all: f64 = ticks.iter().map(|tick| tick.number("/ok") + failed(tick)).sum();
        let failures = match every {
            true => ticks.iter().map(|tick| failed(tick)).sum(),
            false => sum_where(&ticks, "/errors", ("kind", &kind), "count"),
        };
        failures / all.max(1.0)
    };
    let ticks = after.trial.ticks();
    let ended: f64 = ticks.iter().map(|tick| tick.number("/ok") + failed(tick)).sum();
    ended > 0.0 && part(after) < 0.1 * part(before)
}

/// How large the load was that broke: its level; of WebSockets that stay open, how many were.
pub(crate) fn size(judged: &Judged<'_>) -> Option<f64> {
    if judged.asked.tunnels { judged.in_flight() } else { judged.level() }
}

/// Whether two trials of one configuration broke at loads of which the larger would be called another's.
pub(crate) fn are_apart(one: &Judged<'_>, other: &Judged<'_>) -> bool {
    let reached = |judged: &Judged<'_>| size(judged).unwrap_or_else(|| judged.held_to());
    let (sooner, later) = if reached(other) < reached(one) { (other, one) } else { (one, other) };
    let rises = sooner.asked.ramp >= STEEP && sooner.onset.is_some();
    rises && reached(later) > 1.25 * reached(sooner) + blur(sooner)
}

/// How far apart two breaks at the same place can be noticed: the load rises on until they are.
pub(crate) fn blur(before: &Judged<'_>) -> f64 {
    if before.asked.tunnels {
        return 1.0;
    }
    let errors = matches!(before.onset.and_then(|onset| onset.condition), Some(Condition::ErrorsBelow(_)));
    let seconds = before.asked.load.tick.as_secs_f64() * if errors { 1.0 } else { 3.0 };
    if before.asked.ramp > 0.0 { (before.asked.level / before.asked.ramp * seconds).max(1.0) } else { 1.0 }
}
