//! Requests that a turn leaves without an answer. Those on their way at its end are as those before them, and are left out; those that had
//! waited for longer than any took that ended are not: they may never be answered, and what ended tells nothing of them.

use genkai_model::event::Tick;
use genkai_model::load::Protocol;
use genkai_model::objective::Bound;
use genkai_model::record::Trial;
use genkai_model::units::Span;
use hdrhistogram::Histogram;

use super::turn::Seen;
use crate::statistics::Counts;
use crate::window::{self, Tally};

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// Those of one turn that had waited for longer than any took that ended.
#[derive(Debug)]
pub(super) struct Left {
    /// For how long each had waited at least, ns.
    pub(super) waited: Histogram<u64>,
    /// Whether each is known, as it was noted how long each had waited.
    pub(super) noted: bool,
}

impl Left {
    pub(super) fn of(trial: &Trial) -> Left {
        let ticks = &trial.ticks;
        let longest = |payload: fn(&Tick) -> &genkai_model::histogram::Payload| window::merge(ticks, payload).max();
        let took = Span(longest(|tick| &tick.latency).max(longest(|tick| &tick.failed_after)));
        let told = window::merge(ticks, |tick| &tick.unanswered);
        let mut waited = genkai_model::histogram::empty();
        for step in told.iter_recorded().filter(|step| step.value_iterated_to() > told.highest_equivalent(took.0)) {
            waited.saturating_record_n(step.value_iterated_to(), step.count_at_value());
        }
        // Of others it is known from counts alone.
        let more = window::left(ticks, Bound::including(took)).saturating_sub(waited.len());
        let since = ticks.last().and_then(|last| Some(last.to_us.saturating_sub(last.waiting?.since_us?) * 1_000));
        let oldest = since.filter(|since| *since > told.highest_equivalent(took.0));
        match oldest.filter(|_| told.is_empty()) {
            Some(oldest) => {
                waited.saturating_record_n(took.0, more.saturating_sub(1));
                waited.saturating_record_n(oldest, 1);
            }
            None => waited.saturating_record_n(took.0, more),
        }
        Left { waited, noted: !told.is_empty() }
    }

    /// How many.
    pub(super) fn count(&self) -> u64 {
        self.waited.len()
    }

    /// How long the one had waited that had waited longest, ns; none where there is none.
    fn longest(&self) -> Option<u64> {
        (!self.waited.is_empty()).then(|| self.waited.max())
    }

    /// The same, seconds.
    pub(super) fn longest_seconds(&self) -> f64 {
        self.longest().unwrap_or(0) as f64 / NS
    }

    /// The latency at a quantile, seconds, of those that ended with `latency` in the last `span` seconds and of these, and whether that is a
    /// bound: whether it would be longer if these waited for ever. Of these count those that were planned in that time (the longest is the
    /// longest of all), unless nothing ended in it, nor was planned.
    pub(super) fn quantile(&self, latency: &Histogram<u64>, q: f64, span: f64) -> Option<(f64, bool)> {
        let (mut all, mut forever) = (latency.clone(), latency.clone());
        let within = |whole: bool| {
            self.waited.iter_recorded().filter(move |one| whole || one.value_iterated_to() as f64 <= span * NS)
        };
        let none = latency.is_empty() && within(false).next().is_none();
        for one in within(none || q >= 1.0) {
            all.saturating_record_n(one.value_iterated_to(), one.count_at_value());
            forever.saturating_record_n(u64::MAX, one.count_at_value());
        }
        let seen = window::quantile(&all, q)?;
        Some((seen, window::quantile(&forever, q)? > seen))
    }
}

/// Tells the failures of turns that leave requests, or whose contender does so in others, of the requests that were planned early enough: so
/// long before the end as anything was waited for, up to the patience. Over the whole turn those planned late would be taken for successes.
pub(super) fn settle(turns: &mut [Seen<'_>]) {
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

/// How many requests were planned in a turn.
pub(super) fn planned(trial: &Trial) -> u64 {
    Tally::of(&trial.ticks).finished() + trial.ticks.last().map_or(0, |tick| tick.in_flight)
}

/// Whether a turn was too short to tell a part of failures: whoever waits had not done so for as long as is patient, and fewer than half were
/// planned before.
pub(super) fn is_short(seen: &Seen<'_>) -> bool {
    let patience = seen.trial.started.load.patience().as_secs_f64();
    seen.finding.due.is_some_and(|due| due < patience) && seen.finding.finished * 2 < planned(seen.trial)
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
