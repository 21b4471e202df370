//! Which of two limits that were both at work stands before the other, and what the likeliest one explains, put down plainly once more.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Strength};
use genkai_model::objective::Condition;

use crate::asked::TOLERANCE;
use crate::broken::{self, Judged};
use crate::events::merged;
use crate::instants;
use crate::laws::of_limit;
use crate::met::Met;
use crate::weighed::{Weighed, is_near, place};

/// Brings to the front what others wait for.
pub(crate) fn order(all: &mut [Weighed], judged: &Judged<'_>, met: &Met) {
    ended_by_a_timeout(all);
    filled_later(all, judged, met);
    longer_in_vain(all, judged, met);
    if nobody_was_late(judged) {
        without_a_connection(all, judged, met);
    }
}

/// Marks what is weaker than the best, and what left no sign that the best did not.
pub(crate) fn explained(all: &mut [Weighed]) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    let (strongest, signs) = (all[best].strongest, all[best].names());
    for (i, other) in all.iter_mut().enumerate() {
        let same = other.names().iter().all(|name| signs.contains(name));
        let untried = matches!(other.limit.law, Law::Tried { .. });
        if i != best && !untried && other.is_possible() && (other.strongest < strongest || same) {
            other.against.push("explained");
        }
    }
}

/// Where the best is a proxy's timeout, and a pool that left a sign of being full was found, the pool is what was waited for; where it is a pool, that explains
/// timeouts.
fn ended_by_a_timeout(all: &mut [Weighed]) {
    let Some(first) = all.iter().position(Weighed::is_possible) else { return };
    let pool = |one: &Weighed| matches!(one.limit.law, Law::Workers { .. } | Law::Growing { .. }) && one.left_a_sign();
    let timeout = |one: &Weighed| one.limit.patience.is_some() && one.strongest != Some(Strength::Decisive);
    let best = if timeout(&all[first]) { all.iter().position(pool) } else { Some(first).filter(|i| pool(&all[*i])) };
    let Some(at) = best else { return };
    for one in all.iter_mut() {
        if timeout(one) && one.is_possible() {
            one.against.push("explained");
        }
    }
    all[first..=at].rotate_right(1);
}

/// Whether it is a queue behind what is served, and neither it nor workers at all.
fn kind(one: &Weighed) -> (bool, bool) {
    match one.limit.law {
        Law::Slots { reserved, .. } => (reserved < 0.0, false),
        Law::Workers { .. } => (false, true),
        _ => (false, false),
    }
}

/// Whether fewer were there than it lets through, by more than a tenth and one.
fn not_due(one: &Weighed, judged: &Judged<'_>, met: &Met) -> bool {
    place(&one.limit, judged, met).is_some_and(|(ends, seen)| ends.1 > seen * (1.0 + TOLERANCE) + 1.0)
}

/// A queue that was not due yet gives way to whatever else left a sign where responses were late.
fn filled_later(all: &mut [Weighed], judged: &Judged<'_>, met: &Met) {
    let Some(first) = all.iter().position(Weighed::is_possible) else { return };
    let late = judged.onset.is_some_and(|onset| matches!(onset.condition, Some(Condition::LatencyBelow(..))));
    if !late || !kind(&all[first]).0 || !not_due(&all[first], judged, met) {
        return;
    }
    if let Some(at) = all.iter().position(|one| one.left_a_sign() && !kind(one).0) {
        all[first].against.push("explained");
        all[first..=at].rotate_right(1);
    }
}

/// Workers of whom more are waited for than they can serve in time come before a queue that has no room left for them.
fn longer_in_vain(all: &mut [Weighed], judged: &Judged<'_>, met: &Met) {
    let Some(first) = all.iter().position(Weighed::is_possible) else { return };
    let (waits, _) = kind(&all[first]);
    let Some(level) = judged.level().filter(|_| waits || matches!(all[first].limit.law, Law::Backlog { .. })) else {
        return;
    };
    let late = |limit: &Limit| {
        let mut endless = limit.clone();
        match &mut endless.law {
            Law::Workers { queue, .. } => *queue = None,
            Law::Growing { .. } => {}
            _ => return false,
        }
        let ends = of_limit(&endless, met).levels(met);
        ends.is_some_and(|(_, high)| high <= level * (1.0 + TOLERANCE) + 1.0)
    };
    let whose = all[first].limit.subject.clone();
    let workers = |one: &Weighed| {
        // The queue refuses those who come for them.
        let spoken_for = one.against.iter().all(|why| ["wrong_place", "wrong_symptom"].contains(why));
        let full = matches!(one.strongest, Some(Strength::Supports | Strength::Decisive)) && !one.out_of_reach;
        full && spoken_for && one.limit.subject == whose && late(&one.limit)
    };
    if let Some(at) = all.iter().position(workers) {
        all[first].against.push("explained");
        all[at].against.retain(|why| *why != "wrong_symptom");
        if first < at {
            all[first..=at].rotate_right(1);
        }
    }
}

/// Where all possible ones before it are workers or a queue of the same server, which the load had not come to yet, its connections come first.
fn without_a_connection(all: &mut [Weighed], judged: &Judged<'_>, met: &Met) {
    let Some(first) = all.iter().position(Weighed::is_possible) else { return };
    let taken = |one: &Weighed| {
        let there = place(&one.limit, judged, met).is_some_and(|(ends, seen)| ends.1 <= seen || is_near(ends, seen));
        let Law::Slots { reserved, idle_cost, .. } = one.limit.law else { return false };
        reserved >= 0.0 && idle_cost > 0.0 && there && one.left_a_sign()
    };
    let Some(at) = all.iter().position(taken) else { return };
    let whose = all[at].limit.subject.clone();
    let behind = |one: &Weighed| {
        let own = kind(one) != (false, false) && one.limit.subject == whose;
        own && not_due(one, judged, met)
    };
    if at < first || (first..at).any(|i| all[i].is_possible() && !behind(&all[i])) {
        return;
    }
    let others = all.iter_mut().enumerate().filter(|(i, one)| *i != at && one.is_possible() && behind(one));
    others.for_each(|(_, one)| one.against.push("explained"));
    all[at].against.clear();
    all[first..=at].rotate_right(1);
}

/// Whether what broke was that some had no answer, and none was late.
fn nobody_was_late(judged: &Judged<'_>) -> bool {
    let Some(onset) = judged.onset else { return false };
    match onset.condition {
        Some(Condition::LatencyBelow(q, bound)) => {
            let part = instants::between(&judged.trial.ticks(), onset.at_us as f64, onset.certain_us as f64 - 1.0);
            merged(&part, "/latency").quantile(q).is_none_or(|seen| seen < bound.at.as_secs_f64())
        }
        Some(Condition::ErrorsBelow(_)) => {
            let all = broken::troubles(&broken::failures(judged, &onset), judged, &onset);
            !all.is_empty() && all.iter().all(|(kind, _)| *kind == ErrorKind::Timeout)
        }
        _ => false,
    }
}
