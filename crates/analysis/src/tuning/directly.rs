//! A backend asked directly, beside what it does behind the product.
//!
//! Where a load breaks is a place only if it breaks there because of the load. Failures at random (one answer in a hundred) have no level: they
//! come sooner or later at any load, and the first ones that are enough to be noticed are a draw. So where failures are what is judged, their
//! *rates* are compared, and places only where the rates say that the place matters.

use genkai_model::event::Tick;
use genkai_model::finding::Failures;
use genkai_model::objective::Condition;
use genkai_model::units::Range;

use super::judged_trial::JudgedTrial;
use crate::capacity::TOLERANCE;
use crate::diagnosis::{attribute, onset};
use crate::statistics::{self, ALPHA};
use crate::window::Tally;

/// From which part of the load that broke the product on a backend must break by itself to be its cause. Where requests queue, how soon a
/// percentile passes its bound depends on who waits behind whom: four workers broke at 14 users directly and at 22 behind nginx (measured).
/// What breaks far earlier by itself is asked otherwise than by the product.
const LEAST: f64 = 0.5;

/// What a backend asked directly says of a break behind the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directly {
    /// It broke in the same way, at no more load.
    AsEarly,
    /// It fails as often by itself, as far as can be told.
    AsOften,
    /// It bore more.
    Bore,
    /// It broke in another way, or so early that it was asked otherwise than by the product.
    Otherwise,
    /// It failed, too, and what comes of which cannot be told: which fails more often is not certain; or it failed in the same way at more load,
    /// which may as well be another time (failures that come in bursts are at a moment, not at a load).
    FailedToo { directly: Failures, through: Failures },
}

impl Directly {
    /// Compares the break of `at` with what `direct` did.
    pub(crate) fn of(at: &JudgedTrial<'_>, direct: &JudgedTrial<'_>) -> Directly {
        let Some(through) = &at.broke else { return Directly::Otherwise };
        let by_level = by_level(at, direct);
        match failures(at, direct).filter(|_| !at.is_steep() && !direct.is_steep()) {
            Some([own, behind]) if by_level != Directly::AsEarly => {
                by_rate([own, below(direct, through.level)], behind, direct, by_level).unwrap_or_else(|| {
                    if alike(at, direct) { Directly::FailedToo { directly: own, through: behind } } else { by_level }
                })
            }
            _ => by_level,
        }
    }
}

fn by_level(at: &JudgedTrial<'_>, direct: &JudgedTrial<'_>) -> Directly {
    let Some(through) = &at.broke else { return Directly::Otherwise };
    let Some(own) = &direct.broke else { return Directly::Bore };
    let steep = at.is_steep() || direct.is_steep();
    let range = Range { low: through.level * LEAST, high: through.level };
    let there = steep || attribute::is_near(range, own.level);
    if there && onset::condition(own) == onset::condition(through) {
        Directly::AsEarly
    } else if direct.held_to() > through.level * (1.0 + TOLERANCE) + 1.0 {
        Directly::Bore
    } else {
        Directly::Otherwise
    }
}

/// Failures directly and through the product, where failures are what was violated and there were some on both ways.
pub(crate) fn failures(at: &JudgedTrial<'_>, direct: &JudgedTrial<'_>) -> Option<[Failures; 2]> {
    let condition = onset::condition(at.broke.as_ref()?)?;
    let both = [sum(&direct.trial.ticks), sum(&at.trial.ticks)];
    let failed = both.iter().all(|one| one.failed > 0);
    (failed && matches!(condition, Condition::ErrorsBelow(_))).then_some(both)
}

pub(crate) fn sum<'t>(ticks: impl IntoIterator<Item = &'t Tick>) -> Failures {
    let tally = Tally::of(ticks);
    Failures { failed: tally.failed, of: tally.finished() }
}

/// Whether the backend broke by itself as well, and gave the very answer then that most failures through the product are.
fn alike(at: &JudgedTrial<'_>, direct: &JudgedTrial<'_>) -> bool {
    let (Some(through), Some(own)) = (&at.broke, &direct.broke) else { return false };
    let most = through.errors.first().filter(|most| most.kind.is_status());
    most.is_some_and(|most| own.errors.iter().any(|error| error.kind == most.kind))
}

/// Failures while the load was at most as large as the one that broke the product.
pub(super) fn below(direct: &JudgedTrial<'_>, level: f64) -> Failures {
    sum(direct.trial.ticks.iter().filter(|t| t.level <= level * (1.0 + TOLERANCE) + 1.0))
}

/// What the rates say: of the backend's failures in `all` and in those at levels that the product bore, against those `through` it. None where
/// it fails for certain less often at these levels, so that the place matters.
fn by_rate(
    [all, low]: [Failures; 2],
    through: Failures,
    direct: &JudgedTrial<'_>,
    by_level: Directly,
) -> Option<Directly> {
    let less = |f: Failures| certainly(f, through);
    // Where nothing came to an end at these levels, nothing is known of them.
    if low.of == 0 {
        return None;
    }
    match (less(low), less(all)) {
        ((true, _), _) => None,
        (_, (false, false)) if direct.broke.is_some() => Some(Directly::AsOften),
        (_, (false, false)) => Some(Directly::FailedToo { directly: all, through }),
        (_, (false, true)) if by_level == Directly::Bore => Some(Directly::FailedToo { directly: all, through }),
        _ => None,
    }
}

/// Whether it is certain that less fail than of `others`, and that more do.
fn certainly(one: Failures, others: Failures) -> (bool, bool) {
    let interval = |f: Failures| statistics::clopper_pearson(f.failed, f.of, ALPHA);
    let rate = |f: Failures| if f.of == 0 { 0.0 } else { f.failed as f64 / f.of as f64 };
    let difference = statistics::newcombe((rate(one), interval(one)), (rate(others), interval(others)));
    (difference.low > 0.0, difference.high < 0.0)
}

/// Whether it is certain that less fail than of `others`.
pub(crate) fn fails_less(one: Failures, others: Failures) -> bool {
    certainly(one, others).0
}
