//! Time scales: the last ten seconds, the last minute..., each in the same number of slices, so that the memory of a
//! viewer does not grow with the load.

use std::collections::VecDeque;

use super::slice::{Slice, sum};

/// Slices of a scale.
pub(super) const SLICES: usize = 50;
/// Seconds that each scale shows.
const SCALES: [u64; 6] = [10, 30, 60, 300, 900, 3600];

/// All scales, and which one is looked at.
pub(super) struct Scales {
    all: [Scale; SCALES.len()],
    /// None: the shortest that holds the whole load.
    chosen: Option<usize>,
    at_us: u64,
}

impl Default for Scales {
    fn default() -> Self {
        Scales { all: SCALES.map(Scale::new), chosen: None, at_us: 0 }
    }
}

impl Scales {
    pub(super) fn push(&mut self, slice: &Slice) {
        self.at_us = slice.to_us;
        self.all.iter_mut().for_each(|scale| scale.push(slice));
    }

    fn index(&self) -> usize {
        let fits = |scale: &Scale| scale.seconds * 1_000_000 >= self.at_us;
        self.chosen.unwrap_or_else(|| self.all.iter().position(fits).unwrap_or(SCALES.len() - 1))
    }

    /// The scale that is looked at.
    pub(super) fn shown(&self) -> &Scale {
        &self.all[self.index()]
    }

    pub(super) fn longer(&mut self) {
        self.chosen = Some((self.index() + 1).min(SCALES.len() - 1));
    }

    pub(super) fn shorter(&mut self) {
        self.chosen = Some(self.index().saturating_sub(1));
    }

    pub(super) fn follow(&mut self) {
        self.chosen = None;
    }
}

/// One scale.
pub(super) struct Scale {
    seconds: u64,
    slices: VecDeque<Slice>,
    /// The one that grows.
    open: Slice,
}

impl Scale {
    fn new(seconds: u64) -> Scale {
        Scale { seconds, slices: VecDeque::new(), open: Slice::default() }
    }

    fn push(&mut self, slice: &Slice) {
        self.open.add(slice);
        // An interval that comes a little early still completes its slice.
        if self.open.length_us() * 20 >= self.seconds * 1_000_000 / SLICES as u64 * 19 {
            if self.slices.len() == SLICES {
                self.slices.pop_front();
            }
            self.slices.push_back(std::mem::take(&mut self.open));
        }
    }

    /// `last 10 s`, `last 5 min`.
    pub(super) fn name(&self) -> String {
        match self.seconds {
            s if s >= 3600 => format!("last {} h", s / 3600),
            s if s >= 60 => format!("last {} min", s / 60),
            s => format!("last {s} s"),
        }
    }

    /// Its slices that are whole, oldest first; at the very beginning the one that grows.
    pub(super) fn slices(&self) -> Vec<&Slice> {
        let first = self.slices.is_empty() && self.open.length_us() > 0;
        self.slices.iter().chain(first.then_some(&self.open)).collect()
    }

    /// All of it as one.
    pub(super) fn sum(&self) -> Slice {
        sum(self.slices.iter().chain(Some(&self.open).filter(|open| open.length_us() > 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scale_keeps_its_time_and_the_shown_one_can_be_changed() {
        let mut scales = Scales::default();
        let push = |scales: &mut Scales, i: u64| {
            scales.push(&Slice { from_us: i * 200_000, to_us: (i + 1) * 200_000, ok: 2, ..Slice::default() });
        };
        (0..45).for_each(|i| push(&mut scales, i));
        assert_eq!((scales.shown().name().as_str(), scales.shown().sum().ok), ("last 10 s", 90));
        (45..200).for_each(|i| push(&mut scales, i));
        assert_eq!((scales.shown().name().as_str(), scales.shown().sum().ok), ("last 1 min", 400));
        scales.shorter();
        let shown = scales.shown();
        assert_eq!((shown.name().as_str(), shown.slices().len()), ("last 30 s", SLICES));
        assert!(shown.sum().length_us().abs_diff(30_000_000) < 1_000_000, "{}", shown.sum().length_us());
        (0..9).for_each(|_| scales.shorter());
        assert_eq!((scales.shown().name().as_str(), scales.shown().sum().ok), ("last 10 s", 100));
        (0..9).for_each(|_| scales.longer());
        assert_eq!(scales.shown().name(), "last 1 h");
        scales.follow();
        assert_eq!(scales.shown().name(), "last 1 min");
    }
}
