//! The figures of a proof: before, after, and the difference.

use genkai_model::finding::{Estimate, Proof};
use genkai_model::objective::Condition;

use super::{condition, failing, percentage_points};
use crate::context::Context;
use crate::document::{Block, Card, Drawing, Entry, Interval};
use crate::figure;

/// A figure of baseline and proposal.
pub(crate) struct Measure {
    name: String,
    /// Before, after, the difference.
    all: [Estimate; 3],
    show: fn(f64) -> String,
    /// Whether it is a latency.
    latency: bool,
    /// Of before and after: whether it is only a bound.
    at_least: [bool; 2],
    /// The difference of two percentages is in points, which is no percentage.
    points: bool,
}

/// Those of a proof, that of the violated condition last where it is not always shown.
pub(crate) fn measures(context: Context<'_>, proof: &Proof) -> Vec<Measure> {
    let measure =
        |name: String, all, show| Measure { name, all, show, latency: false, at_least: [false; 2], points: false };
    let latency = |q, all, at_least| {
        let name = format!("{} latency", figure::quantile(q));
        Measure { latency: true, at_least, ..measure(name, all, figure::seconds) }
    };
    let failed = [proof.failed_before, proof.failed_after, proof.failed_difference];
    let mut all = vec![
        Measure { points: true, ..measure(failing(context, proof).0, failed, figure::percent) },
        measure(format!("successful {}/s", context.counted()), proof.rate, figure::number),
        latency(0.99, proof.p99, proof.p99_at_least),
    ];
    // Another quantile than the one that is always shown decided.
    if let Some(judged) = &proof.judged
        && let Some(Condition::LatencyBelow(q, _)) = condition(&judged.condition)
        && q != 0.99
    {
        all.push(latency(q, judged.figures, judged.at_least));
    }
    all
}

impl Measure {
    /// Its name at the beginning of a line.
    fn title(&self) -> String {
        // The name of a quantile stays as it is: `p99`.
        if self.latency && self.name.starts_with('p') { self.name.clone() } else { figure::capital(&self.name) }
    }

    /// The figure before (0) or after (1): a latency is not 0, but of nothing; of requests that still waited only a bound is known.
    fn of(&self, side: usize) -> String {
        let estimate = self.all[side];
        match () {
            () if self.is_missing(estimate) => "none succeeded".to_owned(),
            () if self.at_least[side] => format!("more than {}", (self.show)(estimate.value)),
            () => (self.show)(estimate.value),
        }
    }

    /// Whether it is a latency of a side without one successful response.
    fn is_missing(&self, estimate: Estimate) -> bool {
        self.latency && estimate.value == 0.0
    }

    fn has_difference(&self) -> bool {
        self.at_least == [false; 2] && !self.all[..2].iter().any(|estimate| self.is_missing(*estimate))
    }

    fn signed(&self, x: f64) -> String {
        if self.points {
            return format!("{} points", figure::signed(x * 100.0, figure::number));
        }
        figure::signed(x, self.show)
    }

    /// The bounds of the difference.
    fn bounds(&self) -> String {
        let interval = self.all[2].interval;
        format!("{} to {}", self.signed(interval.low), self.signed(interval.high))
    }

    fn difference(&self) -> String {
        if !self.has_difference() {
            return "-".to_owned();
        }
        format!("{} ({})", self.signed(self.all[2].value), self.bounds())
    }

    /// As a row of the page's table.
    pub(super) fn row(&self) -> [String; 4] {
        let one = |side: usize| match self.all[side] {
            e if self.is_missing(e) || self.at_least[side] => self.of(side),
            e => format!("{} ({}, n={})", (self.show)(e.value), figure::range(e.interval, self.show), e.n),
        };
        [self.title(), one(0), one(1), self.difference()]
    }

    /// As a row on a terminal.
    pub(crate) fn in_short(&self) -> Vec<String> {
        let bounds = match self.points {
            true => percentage_points(self.all[2]),
            false if !self.has_difference() => "-".to_owned(),
            false => self.bounds(),
        };
        vec![self.name.clone(), self.of(0), self.of(1), bounds]
    }

    /// Drawn, with what baseline and proposal are called.
    pub(super) fn card(&self, before: &str, after: &str) -> Card {
        let drawn = |side: usize| Some(self.all[side]).filter(|one| !self.is_missing(*one) && !self.at_least[side]);
        let entry = |name: String, side: usize, filled| Entry {
            name,
            marks: vec![Interval::new(drawn(side), filled, self.of(side))],
        };
        let entries = vec![entry(format!("○ {before}"), 0, false), entry(format!("● {after}"), 1, true)];
        let drawn = Block::Drawing(Drawing::intervals(entries));
        Card::new(self.title(), [drawn, Block::aside(self.difference())])
    }
}
