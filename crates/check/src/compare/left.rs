//! Requests without an answer at the end of a turn, of those that had waited for longer than anything took that ended.

use super::Turn;
use crate::distribution::Distribution;
use crate::events::{Line, all_failed, merged, sum};

/// Those of a turn.
#[derive(Debug)]
pub(super) struct Left {
    /// For how long at least, and how many, ns.
    waited: Vec<(u64, u64)>,
    /// Whether it was noted how long each waited.
    pub(super) noted: bool,
}

impl Left {
    pub(super) fn of(ticks: &[&Line]) -> Left {
        let longest = |name: &str| merged(ticks, name).steps().map(|(highest, _)| highest).max().unwrap_or(0);
        let took = longest("/latency").max(longest("/failed_after"));
        let told = merged(ticks, "/unanswered");
        let noted = told.count() > 0;
        let mut waited: Vec<(u64, u64)> = told.steps().filter(|(highest, _)| *highest > took).collect();
        let known: u64 = waited.iter().map(|(_, count)| count).sum();
        let mut more = (there(ticks, took.div_ceil(1_000)) as u64).saturating_sub(known);
        let oldest = ticks.last().and_then(|last| Some(last.number("/to_us") - last.found("/waiting/since_us")?));
        if let Some(oldest) = oldest.map(|us| (us * 1e3) as u64).filter(|oldest| !noted && *oldest > took) {
            waited.push((oldest, 1));
            more = more.saturating_sub(1);
        }
        waited.push((took, more));
        waited.retain(|(_, count)| *count > 0);
        Left { waited, noted }
    }

    pub(super) fn count(&self) -> f64 {
        self.waited.iter().map(|(_, count)| *count as f64).sum()
    }

    /// The longest, seconds.
    pub(super) fn longest(&self) -> Option<f64> {
        let mut all = Distribution::default();
        self.waited.iter().for_each(|(waited, count)| all.record(*waited, *count));
        all.quantile(1.0)
    }

    /// A latency of those that ended in the last seconds, and of these; or what it is more than, where the place of that quantile is behind all
    /// that ended. Those planned before these seconds count for the longest only, or where nothing else is there.
    pub(super) fn quantile(&self, ended: &Distribution, q: f64, span: f64) -> (Option<f64>, Option<f64>) {
        let inside = |one: &&(u64, u64)| one.0 as f64 <= span * 1e9;
        let whole = q >= 1.0 || ended.count() == 0 && !self.waited.iter().any(|one| inside(&one));
        let mut all = ended.clone();
        self.waited.iter().filter(|one| whole || inside(one)).for_each(|(waited, count)| all.record(*waited, *count));
        let place = (q * all.count() as f64 - 1e-6).ceil().max(1.0) as u64;
        let seen = all.quantile(q);
        if place > ended.count() { (None, seen) } else { (seen, None) }
    }
}

/// Requests in flight when the interval ended that had ended so many microseconds before the end, less all that ended since.
fn there(ticks: &[&Line], ago: u64) -> f64 {
    let until = ticks.last().map_or(0.0, |tick| tick.number("/to_us")) - ago as f64;
    let early = ticks.iter().filter(|tick| tick.number("/to_us") <= until).count();
    let before = early.checked_sub(1).map_or(0.0, |last| ticks[last].number("/in_flight"));
    (before - sum(&ticks[early..], "/ok") - all_failed(&ticks[early..])).max(0.0)
}

/// Failures of turns with requests that were left, of those that were planned early enough.
pub(super) fn settle(turns: &mut [Turn<'_>]) {
    let longest = |of: &Turn<'_>| {
        let own = turns.iter().filter(|one| one.counts && one.contender == of.contender && one.left.noted);
        own.filter_map(|one| one.left.longest()).reduce(f64::max)
    };
    let all: Vec<Option<f64>> = turns.iter().map(longest).collect();
    for (turn, longest) in turns.iter_mut().zip(all) {
        let patience = turn.judged.asked.patience_us as f64 / 1e6;
        let ticks = turn.judged.trial.ticks();
        let lasted = ticks.last().map_or(0.0, |tick| tick.number("/to_us") / 1e6);
        let own = turn.left.longest().filter(|_| turn.left.noted).map(|own| own.min(patience));
        let due =
            longest.map(|longest| longest.min(patience)).and_then(|due| if lasted > due { Some(due) } else { own });
        if let Some(due) = due.filter(|_| turn.judged.trial.start.json.pointer("/load/protocol/web_socket").is_none()) {
            (turn.failed, turn.finished) = early(&ticks, due);
            turn.values[super::FAILURES] = (turn.finished > 0.0).then(|| turn.failed / turn.finished);
            turn.due = Some(due);
        }
    }
}

/// All requests that a turn planned.
pub(super) fn planned(turn: &Turn<'_>) -> f64 {
    let ticks = turn.judged.trial.ticks();
    ticks.last().map_or(0.0, |tick| tick.number("/in_flight")) + sum(&ticks, "/ok") + all_failed(&ticks)
}

/// Whether too few of them were planned early to tell how many fail.
pub(super) fn is_short(turn: &Turn<'_>) -> bool {
    let patience = turn.judged.asked.patience_us as f64 / 1e6;
    turn.due.is_some_and(|due| due < patience) && 2.0 * turn.finished < planned(turn)
}

/// Failed, and all, of the requests planned `due` seconds before the end and earlier.
fn early(ticks: &[&Line], due: f64) -> (f64, f64) {
    let end = ticks.last().map_or(0.0, |tick| tick.number("/to_us"));
    let until = end - (due * 1e6 - 1e-3).ceil();
    let count = ticks.iter().filter(|tick| tick.number("/to_us") <= until).count();
    let Some(last) = count.checked_sub(1).map(|last| ticks[last]) else { return (0.0, 0.0) };
    let at = last.number("/to_us");
    let failed = all_failed(&ticks[..count]);
    let all = sum(&ticks[..count], "/ok") + failed + last.number("/in_flight");
    let late = ticks[count..].iter().map(|tick| {
        let middle = ((tick.number("/from_us") + tick.number("/to_us")) / 2.0).floor();
        merged(&[tick], "/failed_after").over(((middle - at) * 1e3) as u64, false)
    });
    let ago = (end - at) as u64;
    let hung = merged(ticks, "/unanswered").over(ago * 1_000, false).max(there(ticks, ago));
    ((failed + late.sum::<f64>() + hung).min(all), all)
}
