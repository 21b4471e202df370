//! What became of the break when one setting was changed: the test of cause.

use genkai_model::finding::{Break, Moved, Scale};
use genkai_model::limit::{RemedyUnit, Strength};
use genkai_model::objective::Condition;
use genkai_model::units::Range;

use super::attempt::{self, Attempt};
use super::counted;
use super::judged_trial::JudgedTrial;
use crate::capacity::TOLERANCE;
use crate::capacity::{Forecast, demand};
use crate::diagnosis::attribute::{self, Weighed};
use crate::diagnosis::onset;
use crate::window::Tally;

/// What part of the failures that most were before may be left of them when they are gone.
const GONE: f64 = 0.1;

/// How many times the load at the break must grow where no formula says by how much: less may be another run of the same break.
const GREW: f64 = 1.25;

/// From so many times where it may begin on, the end of a range in clients is no place where something is to be expected.
const WIDE: f64 = 10.0;

/// The outcome of a counterfactual.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// What became of the break.
    pub(crate) moved: Moved,
    /// Where the next limit was predicted, in `scale`; none: beyond the load sent.
    pub(crate) predicted: Option<Range>,
    pub(crate) scale: Scale,
}

/// Judges the counterfactual `after` of `attempt`, whose limit was met in `before`; the objective must hold up to the level `goal`.
pub(crate) fn judge(before: &JudgedTrial<'_>, attempt: &Attempt<'_>, after: &JudgedTrial<'_>, goal: f64) -> Outcome {
    let Some(broke_before) = &before.broke else {
        return Outcome { moved: Moved::Elsewhere, predicted: None, scale: Scale::default() };
    };
    let sent = after.demand.asked;
    let limits = &after.trial.limits.limits;
    let expected = attempt::expected(limits, &attempt.limit.id, size(before, broke_before), &after.demand)
        .filter(|f| f.bites.is_some_and(|at| at < sent));
    let levels = |f: &Forecast<'_>| attempt::levels(&f.predicted, &after.demand);
    // Users who think are no requests in flight: what counts them is told in users, as the break is. So is what has no end in clients.
    let counts = |clients: &Range| after.demand.think == 0.0 && !is_wide(*clients);
    let counted = |f: &Forecast<'_>| f.predicted.clients.filter(|clients| counts(clients) || levels(f).is_none());
    let clients = expected.as_ref().and_then(counted);
    let scale = if clients.is_some() { Scale::Clients } else { Scale::Level };
    let predicted = clients.or_else(|| expected.as_ref().and_then(levels));
    let moved = match &after.broke {
        _ if attempt.limit.law.is_tried() => match is_later(before, attempt, after, goal) {
            true => Moved::Elsewhere,
            false => Moved::Not,
        },
        None if expected.as_ref().and_then(levels).is_some_and(|l| passed(l, after.held_to())) => Moved::Elsewhere,
        None => Moved::AsPredicted,
        Some(broke) => {
            // A rate at which so many are at once depends on how long responses take by then: arrivals bunch, and the machine is busy.
            let next = clients.filter(|_| after.demand.is_open());
            let clients_near = next.is_some_and(|range| attribute::is_near(range, broke.in_flight));
            place(before, broke_before, attempt, after, broke, expected.as_ref(), clients_near)
        }
    };
    Outcome { moved, predicted, scale }
}

/// Whether `after` broke clearly later than `before`, where no formula says what comes of a change: nothing is as predicted, and signs of another
/// limit at the same load say nothing. Of a setting that has moved the break already (`further`) a step that holds what must hold is enough: it
/// is what was asked for, and the proof tells whether it came of the change. What counts requests in all breaks later by these, whatever the load.
pub(crate) fn is_later(before: &JudgedTrial<'_>, attempt: &Attempt<'_>, after: &JudgedTrial<'_>, goal: f64) -> bool {
    let Some(broke_before) = &before.broke else { return false };
    let Some(broke) = &after.broke else { return true };
    let (now, was) = (size(after, broke), size(before, broke_before));
    let enough = attempt.further && now >= goal && now > was;
    let farther = now > was * GREW + blur(before, broke_before);
    !after.is_steep() && (enough || farther) || counted::moved(attempt.limit, before, after)
}

/// Whether two trials of one and the same configuration broke as far apart as those are that are told apart.
pub(crate) fn are_apart(one: &JudgedTrial<'_>, other: &JudgedTrial<'_>) -> bool {
    let extent = |judged: &JudgedTrial<'_>| judged.broke.as_ref().map_or_else(|| judged.held_to(), |b| size(judged, b));
    let (sooner, later) = if extent(one) <= extent(other) { (one, other) } else { (other, one) };
    let broke = sooner.broke.as_ref().filter(|_| !sooner.is_steep());
    broke.is_some_and(|broke| extent(later) > extent(sooner) * GREW + blur(sooner, broke))
}

/// Whether a trial held up to `goal`.
pub(crate) fn reaches(after: &JudgedTrial<'_>, goal: f64) -> bool {
    after.broke.as_ref().is_none_or(|broke| broke.level >= goal)
}

/// Whether a range in clients only says where they begin to wait, as that of workers with a queue that hardly ends: nothing is met there.
fn is_wide(clients: Range) -> bool {
    clients.high >= WIDE * clients.low.max(1.0)
}

/// Whether a load that held up to `reached` is certainly beyond the levels predicted.
fn passed(levels: Range, reached: f64) -> bool {
    levels.high * (1.0 + TOLERANCE) + 1.0 < reached
}

fn place(
    before: &JudgedTrial<'_>,
    broke_before: &Break,
    attempt: &Attempt<'_>,
    after: &JudgedTrial<'_>,
    broke: &Break,
    expected: Option<&Forecast<'_>>,
    clients_near: bool,
) -> Moved {
    let now = causes(after);
    let first = now.iter().find(|w| w.is_possible());
    let best = first.map(|w| w.candidate.limit.as_str());
    let as_expected = expected.is_some_and(|f| best == Some(f.limit.id.as_str()));
    let another = first.is_some_and(|w| w.candidate.limit != attempt.limit.id && is_new(w, before));
    let steep = after.is_steep();
    let levels = expected.and_then(|f| attempt::levels(&f.predicted, &after.demand));
    let there =
        levels.is_some_and(|range| attribute::is_near(range, size(after, broke))) || as_expected && clients_near;
    let same = size(before, broke_before) * (1.0 + TOLERANCE) + blur(before, broke_before);
    // What kept requests away from servers that fail shows their failures when it is taken away.
    let hid = attempt.limit.remedy.as_ref().is_some_and(|remedy| remedy.unit == RemedyUnit::Zero)
        && !attempt.limit.symptom.errors.is_empty();
    let at_once = steep && !after.demand.tunnels;
    // What breaks earlier is no other break, whichever signs are seen, and whatever is gone: nothing became better.
    let earlier = (size(after, broke) + blur(after, broke)) * (1.0 + TOLERANCE) < size(before, broke_before);
    if earlier && !at_once {
        return Moved::Not;
    }
    if is_gone(before, broke_before, after, broke, hid) {
        return if as_expected && (there || steep) { Moved::AsPredicted } else { Moved::Elsewhere };
    }
    if (at_once || size(after, broke) <= same) && hid {
        return Moved::Not;
    }
    // All at once, or at about the same level: only another limit's signs can tell that it is another break.
    if at_once || size(after, broke) <= same {
        return match (another, as_expected && (there || steep)) {
            (true, true) => Moved::AsPredicted,
            (true, false) => Moved::Elsewhere,
            (false, _) => Moved::Not,
        };
    }
    if there { Moved::AsPredicted } else { Moved::Elsewhere }
}

/// Whether hardly any of the failures are left that most were before: what breaks now, wherever, is another break. (Failures at random have
/// no level: they come as early as what was lifted.) Where what was lifted had `hid` others, hardly any may be left of all.
fn is_gone(before: &JudgedTrial<'_>, broke_before: &Break, after: &JudgedTrial<'_>, broke: &Break, hid: bool) -> bool {
    let condition = |broke: &Break| matches!(onset::condition(broke), Some(Condition::ErrorsBelow(_)));
    let most = broke_before.errors.first().filter(|_| condition(broke_before) && condition(broke));
    let Some(kind) = most.filter(|_| broke_before.waiting.is_none() && broke.waiting.is_none()).map(|e| e.kind) else {
        return false;
    };
    let part = |judged: &JudgedTrial<'_>| {
        let tally = Tally::of(&judged.trial.ticks);
        let failed = if hid { tally.failed } else { tally.count(&[kind]) };
        failed as f64 / tally.finished().max(1) as f64
    };
    // Of nothing that came to an end no part is small.
    Tally::of(&after.trial.ticks).finished() > 0 && part(after) < part(before) * GONE
}

/// How large the load was that broke: its level, or, of WebSockets that stay open, how many were.
pub(crate) fn size(judged: &JudgedTrial<'_>, broke: &Break) -> f64 {
    if judged.demand.tunnels { broke.in_flight } else { broke.level }
}

/// How far two breaks at the same place may be found apart only because of when they are noticed: the ramp goes on by
/// an interval for errors, and by a few until enough responses are slow. WebSockets that are open are counted, whenever.
fn blur(before: &JudgedTrial<'_>, broke: &Break) -> f64 {
    if before.demand.tunnels {
        return 1.0;
    }
    let load = &before.trial.started.load;
    let (ramp, asked) = (demand::ramp(load), demand::asked(load));
    let seconds = if matches!(onset::condition(broke), Some(Condition::ErrorsBelow(_))) { 1.0 } else { 3.0 }
        * load.tick.as_secs_f64();
    if ramp > 0.0 { (asked / ramp * seconds).max(1.0) } else { 1.0 }
}

fn causes<'r>(judged: &JudgedTrial<'r>) -> Vec<Weighed<'r>> {
    judged.case().map(|case| attribute::attribute(&case, &[])).unwrap_or_default()
}

/// Whether a limit showed no sign in the break before, or one that merely fits and now one that says so itself, so that its signs now are those of another
/// break. A limit that was not there before (more children, of which each can be full) showed none.
fn is_new(now: &Weighed<'_>, before: &JudgedTrial<'_>) -> bool {
    let says_so = now.strongest == Some(Strength::Decisive);
    let least = Some(if says_so { Strength::Supports } else { Strength::Consistent });
    !causes(before).iter().any(|w| w.candidate.limit == now.candidate.limit && w.strongest >= least)
}
