//! Which of two limits that were both at work stands before the other: a timeout only ends what waits elsewhere, and who waits for a connection waits
//! for no worker.

use genkai_model::error::ErrorKind;
use genkai_model::finding::{Against, Break, Seen};
use genkai_model::limit::{Law, Limit, Strength};
use genkai_model::objective::Condition;

use super::case::Case;
use super::onset;
use super::weighed::{Weighed, is_near, observed};
use crate::capacity::{self, TOLERANCE};

/// Puts what others wait for before them. Those are told to be explained by it.
pub(super) fn put(all: &mut [Weighed<'_>], case: &Case<'_>) {
    timed(all);
    overtaken(all, case);
    no_better(all, case);
    connected(all, case);
}

/// A timeout of a proxy is no cause where a pool behind it was full: requests waited there until it ended them.
fn timed(all: &mut [Weighed<'_>]) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    let is_timeout = |w: &Weighed<'_>| w.forecast.limit.patience.is_some() && w.strongest <= Some(Strength::Supports);
    let is_pool =
        |w: &Weighed<'_>| matches!(w.forecast.limit.law, Law::Workers { .. } | Law::Growing { .. }) && w.is_shown();
    if is_timeout(&all[best])
        && let Some(at) = all.iter().position(is_pool)
    {
        all[best..=at].rotate_right(1);
    }
    if is_pool(&all[best]) {
        let ended = all.iter_mut().filter(|w| w.is_possible() && is_timeout(w));
        ended.for_each(|w| w.candidate.against.push(Against::Explained));
    }
}

/// Whether a limit is of a queue that fills only once so many are served.
fn is_queue(w: &Weighed<'_>) -> bool {
    matches!(w.forecast.limit.law, Law::Slots { reserved, .. } if reserved < 0.0)
}

/// Whether more than were there when it broke come to a limit before it is met.
fn is_later(w: &Weighed<'_>, case: &Case<'_>) -> bool {
    let at = observed(&w.forecast, &case.broke, &case.demand);
    at.is_some_and(|(lets, seen)| lets.high > seen * (1.0 + TOLERANCE) + 1.0)
}

/// A queue that was full only after responses had been late for a while is not why they were.
fn overtaken(all: &mut [Weighed<'_>], case: &Case<'_>) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    let is_slow = matches!(onset::condition(&case.broke), Some(Condition::LatencyBelow(..)));
    if !is_slow || !is_queue(&all[best]) || !is_later(&all[best], case) {
        return;
    }
    if let Some(at) = all.iter().position(|w| !is_queue(w) && w.is_shown()) {
        all[best].candidate.against.push(Against::Explained);
        all[best..=at].rotate_right(1);
    }
}

/// A full queue comes behind the workers that it waits for, where those who wait would wait too long by then had it no end: a longer one
/// would serve nobody more in time.
fn no_better(all: &mut [Weighed<'_>], case: &Case<'_>) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    if !is_queue(&all[best]) && !matches!(all[best].forecast.limit.law, Law::Backlog { .. }) {
        return;
    }
    let whose = all[best].forecast.limit.subject.clone();
    // What clients see of them is what the queue does.
    let fits = |against: &Against| matches!(against, Against::WrongPlace | Against::WrongSymptom);
    let slow = |w: &Weighed<'_>| {
        let full = w.strongest > Some(Strength::Consistent) && w.candidate.against.iter().all(fits) && !w.out_of_reach;
        full && w.forecast.limit.subject == whose && is_late_without_end(w.forecast.limit, case)
    };
    if let Some(at) = all.iter().position(slow) {
        all[best].candidate.against.push(Against::Explained);
        all[at].candidate.against.retain(|against| *against != Against::WrongSymptom);
        if at > best {
            all[best..=at].rotate_right(1);
        }
    }
}

/// Whether so many as were there when it broke wait too long for a pool of workers, however many may wait.
fn is_late_without_end(limit: &Limit, case: &Case<'_>) -> bool {
    let law = match limit.law {
        Law::Workers { workers, service, wait, .. } => Law::Workers { workers, queue: None, service, wait },
        Law::Growing { .. } => limit.law.clone(),
        _ => return false,
    };
    let endless = Limit { law, ..limit.clone() };
    let predicted = capacity::of(&endless, &case.demand).predicted;
    let level = if case.demand.is_open() { predicted.rate } else { predicted.users };
    level.is_some_and(|level| level.high <= case.broke.level * (1.0 + TOLERANCE) + 1.0)
}

/// Connections of a server are before its workers and its accept queue where all were taken, and the others let more through than were there: whoever
/// got none waits until one is given up, and no answer comes late.
fn connected(all: &mut [Weighed<'_>], case: &Case<'_>) {
    let Some(best) = all.iter().position(Weighed::is_possible) else { return };
    if !waits_for_ever(&case.broke) {
        return;
    }
    let reached = |w: &Weighed<'_>| {
        let counts = matches!(w.forecast.limit.law, Law::Slots { idle_cost, .. } if idle_cost > 0.0);
        let at = observed(&w.forecast, &case.broke, &case.demand);
        let held = at.is_some_and(|(lets, seen)| lets.high <= seen || is_near(lets, seen));
        counts && held && w.is_shown() && !is_queue(w)
    };
    let Some(full) = (0..all.len()).find(|i| reached(&all[*i])) else { return };
    let whose = all[full].forecast.limit.subject.clone();
    let behind = |w: &Weighed<'_>| {
        let own = is_queue(w) || matches!(w.forecast.limit.law, Law::Workers { .. });
        !w.is_possible() || own && w.forecast.limit.subject == whose && is_later(w, case)
    };
    if full < best || !all[best..full].iter().all(behind) {
        return;
    }
    let others = all.iter_mut().enumerate().filter(|(i, w)| *i != full && behind(w) && w.is_possible());
    others.for_each(|(_, w)| w.candidate.against.push(Against::Explained));
    // Those who wait began to where it is; others were served meanwhile.
    all[full].candidate.against.clear();
    all[best..=full].rotate_right(1);
}

/// Whether those for whom it broke had no answer at all, late or not.
fn waits_for_ever(broke: &Break) -> bool {
    match onset::condition(broke) {
        Some(Condition::LatencyBelow(..)) => matches!(broke.seen, Seen::Bound { .. }),
        Some(Condition::ErrorsBelow(_)) => {
            let troubles = broke.troubles();
            !troubles.is_empty() && troubles.iter().all(|error| error.kind == ErrorKind::Timeout)
        }
        _ => false,
    }
}
