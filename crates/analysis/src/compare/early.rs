//! Failures of turns that leave requests without an answer: of those that were planned early enough for it to be known what became of them.

use genkai_model::event::Tick;
use genkai_model::load::Protocol;
use genkai_model::objective::Bound;
use genkai_model::record::Record;
use genkai_model::units::Span;

use super::left::{self, NS};
use super::turn::{self, Seen};
use crate::statistics::Counts;
use crate::window::{self, Tally};

/// Every turn of a record, in order.
pub(crate) fn all(record: &Record) -> Vec<Seen<'_>> {
    let mut turns = turn::all(record);
    settle(&mut turns);
    turns
}

/// Tells the failures of turns that leave requests, or whose contender does so in others, of the requests that were planned early enough: so
/// long before the end as anything was waited for, up to the patience. Over the whole turn those planned late would be taken for successes.
fn settle(turns: &mut [Seen<'_>]) {
    let early: Vec<Option<(Counts, f64)>> = turns.iter().map(|seen| early(seen, turns)).collect();
    for (seen, early) in turns.iter_mut().zip(early) {
        if let Some(((failed, all), due)) = early {
            (seen.finding.failed, seen.finding.finished, seen.finding.due) = (failed, all, Some(due));
            seen.finding.values[0] = (all > 0).then(|| failed as f64 / all as f64);
        }
    }
}

fn early(seen: &Seen<'_>, turns: &[Seen<'_>]) -> Option<(Counts, f64)> {
    let load = &seen.trial.started.load;
    if matches!(load.protocol, Protocol::WebSocket(_)) {
        return None;
    }
    let patience = load.patience().0;
    let own = turns.iter().filter(|one| one.finding.counts && one.finding.contender == seen.finding.contender);
    let longest = own.filter(|one| one.left.noted).filter_map(|one| one.left.longest()).max()?.min(patience);
    let lasted = seen.trial.ticks.last().map_or(0, |tick| tick.to_us * 1_000);
    // A turn that was not long enough for that has its own: it was held for longer where anything seemed to hang.
    let due = match lasted > longest {
        true => longest,
        false => seen.left.longest().filter(|_| seen.left.noted)?.min(patience),
    };
    Some((planned_before(&seen.trial.ticks, due), due as f64 / NS))
}

/// Whether a turn was too short to tell a part of failures: whoever waits had not done so for as long as is patient, and fewer than half were
/// planned before.
pub(super) fn is_short(seen: &Seen<'_>) -> bool {
    let patience = seen.trial.started.load.patience().as_secs_f64();
    seen.finding.due.is_some_and(|due| due < patience) && seen.finding.finished * 2 < left::planned(seen.trial)
}

/// Failed and all of the requests that were planned `due` nanoseconds before the end, or earlier. Those that waited for all of this time have
/// failed.
fn planned_before(ticks: &[Tick], due: u64) -> Counts {
    let end = ticks.last().map_or(0, |tick| tick.to_us);
    let until = end.saturating_sub(due.div_ceil(1_000));
    let (before, after) = ticks.split_at(ticks.partition_point(|tick| tick.to_us <= until));
    let Some(last) = before.last() else { return (0, 0) };
    let tally = Tally::of(before);
    let all = tally.finished() + last.in_flight;
    // When in an interval one failed is not known: in its middle, on average.
    let late = after.iter().map(|tick| {
        let ago = (tick.from_us + tick.to_us) / 2 - last.to_us;
        window::reaching(&window::decode(&tick.failed_after), ago * 1_000)
    });
    let hung = window::left(ticks, Bound::excluding(Span((end - last.to_us) * 1_000)));
    ((tally.failed + late.sum::<u64>() + hung).min(all), all)
}
