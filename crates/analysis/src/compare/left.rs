//! Requests that a turn leaves without an answer. Those on their way at its end are as those before them, and are left out; those that had
//! waited for longer than any took that ended are not: they may never be answered, and what ended tells nothing of them.

use genkai_model::event::Tick;
use genkai_model::objective::Bound;
use genkai_model::record::Trial;
use genkai_model::units::Span;
use hdrhistogram::Histogram;

use crate::window::{self, Tally};

/// Nanoseconds in a second.
pub(super) const NS: f64 = 1e9;

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
    pub(super) fn longest(&self) -> Option<u64> {
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

/// How many requests were planned in a turn.
pub(super) fn planned(trial: &Trial) -> u64 {
    Tally::of(&trial.ticks).finished() + trial.ticks.last().map_or(0, |tick| tick.in_flight)
}
