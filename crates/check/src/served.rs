//! Whether a server's memory grew by what it served, so that two trials tell nothing of what a setting takes.

use crate::broken::Judged;
use crate::expected::Expected;
use crate::instants::gauge;
use crate::looked::{of_clients, surely_over};

/// A mebibyte: less is no growth.
const LEAST: f64 = 1_048_576.0;

/// The trials of a price that was seen.
pub(crate) struct Trials<'a, 'e> {
    pub(crate) before: &'a Judged<'e>,
    pub(crate) after: &'a Judged<'e>,
    pub(crate) proposals: &'a [&'a Judged<'e>],
}

/// At one look: how many had been answered well, clients, bytes.
type Seen = (f64, f64, f64);

fn seen(judged: &Judged<'_>, subject: &str) -> Vec<Seen> {
    let (ticks, began) = (judged.trial.ticks(), judged.trial.start.number("/at_us"));
    let mut all = Vec::new();
    for line in surely_over(judged, subject) {
        let us = line.number("/at_us") - began;
        let bytes = line.json.get("metrics").and_then(|all| all.get(format!("{subject}.pss"))?.as_f64());
        let Some(bytes) = bytes.filter(|_| us >= 0.0) else { continue };
        let answered = ticks.iter().filter(|tick| tick.number("/to_us") <= us).map(|tick| tick.number("/ok")).sum();
        let clients = gauge(&ticks, us, of_clients(judged));
        if clients > 0.0 {
            all.push((answered, clients, bytes));
        }
    }
    all
}

/// The last look with most clients.
fn peak(all: &[Seen]) -> Option<Seen> {
    all.iter().copied().reduce(|best, one| if one.1 >= best.1 { one } else { best })
}

/// What each answer left behind, at a number of clients that did not change.
fn left_by_each(all: &[Seen]) -> Option<f64> {
    let (_, most, _) = peak(all)?;
    let level: Vec<Seen> = all.iter().copied().filter(|one| one.1 >= 0.99 * most).collect();
    let [(from, _, low), (_, _, half), (to, _, high)] = [0, level.len() / 2, level.len() - 1].map(|i| level[i]);
    let quarter = (high - low) / 4.0;
    let steady = half - low >= quarter && high - half >= quarter;
    (level.len() > 3 && steady && high - low >= LEAST && to - from >= 10.0).then(|| (high - low) / (to - from))
}

/// Whether by what a trial shows so many answers left at least half of what memory grew by.
pub(crate) fn leaves(judged: &Judged<'_>, subject: &str, answers: f64, grown: f64) -> bool {
    grown > 0.0 && left_by_each(&seen(judged, subject)).is_some_and(|bytes| 2.0 * bytes * answers >= grown)
}

/// Requests that had been answered by the last look with most clients.
pub(crate) fn answered_by_peak(judged: &Judged<'_>, subject: &str) -> f64 {
    peak(&seen(judged, subject)).map_or(0.0, |(answered, ..)| answered)
}

impl<'e> Trials<'_, 'e> {
    /// The trial that shows it, if one.
    pub(crate) fn named(&self, subject: &str) -> Option<&Judged<'e>> {
        let of = |judged: &Judged<'_>| seen(judged, subject);
        let [first, last] = [self.before, self.after].map(|judged| peak(&of(judged)));
        let (first, last) = first.zip(last).filter(|(first, last)| last.2 > first.2)?;
        let mut trials = std::iter::once(&self.after).chain(self.proposals);
        let shows = |one: &&&Judged<'e>| leaves(one, subject, last.0, last.2 - first.2);
        trials.find(shows).copied()
    }

    /// Which trial a verdict must name, if one.
    pub(crate) fn expect(&self, address: &str, subject: &str, expected: &mut Expected) {
        let named = self.named(subject);
        let line = named.map(|one| one.trial.start.number);
        match named {
            Some(one) => expected.is(format!("{address}/trial"), f64::from(one.trial.number), line),
            None => expected.there(address, false, "memory did not grow with what was served", line),
        }
    }
}
