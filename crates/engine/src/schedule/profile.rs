//! The level of a load over time: piecewise linear, whatever it counts (users, or arrivals a second).
//!
//! In a piece that begins at `t0` with level `a` and slope `s`, the level is `a + s x` and what a rate has planned since the
//! piece began is `a x + s x^2 / 2`, with `x = t - t0`. Its inverse, in the form that loses no digits when `s` is small or `a`
//! is zero (Press et al., *Numerical Recipes*, 3rd edition, equation 5.6.4), is `x = 2 d / (a + sqrt(a^2 + 2 s d))`.

use std::sync::Arc;

use genkai_model::load::{Arrivals, Load};
use genkai_model::stage::Stage;

use crate::clock::{Moment, NEVER};

const SECOND: f64 = 1e9;
/// Less than any part of an arrival that matters, more than what a sum of a thousand pieces strays.
const STRAY: f64 = 1e-7;

/// A level over time. Before its first piece and after its last it is zero.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    pieces: Arc<[Piece]>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    begin: Moment,
    end: Moment,
    /// Level at its beginning and at its end.
    from: f64,
    to: f64,
    /// Change of the level a second.
    slope: f64,
    /// The integral of the level up to its beginning.
    before: f64,
}

impl Profile {
    /// What `load` asks for.
    pub(crate) fn of(load: &Load) -> Profile {
        match load.arrivals {
            _ if !load.stages.is_empty() => Profile::stages(&load.stages),
            Arrivals::Users { count, spawn_rate, .. } => Profile::users(count, spawn_rate),
            Arrivals::Rate { per_second, ramp, .. } => Profile::rate(per_second, ramp.0),
        }
    }

    /// A rate that rises from zero over `ramp` and stays.
    pub(crate) fn rate(per_second: f64, ramp: Moment) -> Profile {
        let mut profile = Build::default();
        profile.piece(ramp, 0.0, per_second, per_second * SECOND / ramp.max(1) as f64);
        profile.stay(per_second)
    }

    /// Users of whom one starts after the other, and who stay.
    pub(crate) fn users(count: u32, spawn_rate: f64) -> Profile {
        let mut profile = Build::default();
        let all = f64::from(count);
        // One nanosecond at least: the users of a burst have an order too.
        profile.piece(((all / spawn_rate * SECOND) as Moment).max(1), 0.0, all, spawn_rate);
        profile.stay(all)
    }

    /// Stages in a row.
    pub(crate) fn stages(stages: &[Stage]) -> Profile {
        let mut profile = Build::default();
        for stage in stages {
            let slope = (stage.to - stage.from) * SECOND / stage.lasts.0.max(1) as f64;
            profile.piece(stage.lasts.0, stage.from, stage.to, slope);
        }
        profile.done()
    }

    /// The level just before `t`; at the very beginning, the one it begins with.
    pub(crate) fn level(&self, t: Moment) -> f64 {
        let piece = self.pieces.partition_point(|piece| piece.end < t);
        self.pieces.get(piece).map_or(0.0, |piece| piece.level(t))
    }

    /// When a rate plans its `n`-th (from 0; need not be whole); none if it never does. `piece` is where to begin to look: 0,
    /// or what it was left at for a smaller `n`.
    pub(crate) fn planned(&self, piece: &mut usize, n: f64) -> Option<Moment> {
        // Sums of fractions stray a little: what is planned for the very end of a piece belongs to the next.
        while n + STRAY >= self.pieces.get(*piece)?.after() {
            *piece += 1;
        }
        Some(self.pieces[*piece].planned(n))
    }

    /// Number of pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.len()
    }

    /// The users who start in a piece: the `n`-th user of a load is there while the level is above `n`.
    pub(crate) fn starting(&self, piece: usize) -> std::ops::Range<u32> {
        let before = piece.checked_sub(1).map_or(0.0, |before| self.pieces[before].to);
        let Piece { from, to, .. } = self.pieces[piece];
        before.min(from).ceil() as u32..from.max(to).ceil() as u32
    }

    /// When user `n`, who starts in `piece`, does so.
    pub(crate) fn start(&self, piece: usize, n: u32) -> Moment {
        let Piece { begin, from, slope, .. } = self.pieces[piece];
        let above = f64::from(n) - from;
        if above <= 0.0 { begin } else { begin + (above / slope * SECOND).round() as Moment }
    }

    /// When user `n`, who started in `piece`, is to leave.
    pub(crate) fn leave(&self, piece: usize, n: u32) -> Moment {
        let n = f64::from(n);
        for (i, one) in self.pieces.iter().enumerate().skip(piece) {
            if i > piece && one.from <= n {
                return one.begin;
            }
            if one.from > n && one.to <= n {
                return one.begin + ((n - one.from) / one.slope * SECOND).round() as Moment;
            }
        }
        self.pieces.last().map_or(0, |last| last.end)
    }
}

impl Piece {
    fn level(&self, t: Moment) -> f64 {
        if self.end == t {
            return self.to;
        }
        self.from + t.saturating_sub(self.begin) as f64 * self.slope / SECOND
    }

    /// The integral of the level up to its end.
    fn after(&self) -> f64 {
        if self.end == NEVER && self.to > 0.0 {
            return f64::INFINITY;
        }
        self.before + (self.from + self.to) / 2.0 * (self.end - self.begin) as f64 / SECOND
    }

    fn planned(&self, n: f64) -> Moment {
        let more = n - self.before;
        if more <= 0.0 {
            return self.begin;
        }
        let root = (self.from * self.from + 2.0 * self.slope * more).max(0.0).sqrt();
        let seconds = 2.0 * more / (self.from + root);
        // `as` saturates: a schedule beyond the range of the clock is never.
        self.begin.saturating_add((seconds * SECOND).round() as Moment).min(self.end)
    }
}

/// A profile in the making.
#[derive(Default)]
struct Build {
    pieces: Vec<Piece>,
}

impl Build {
    fn piece(&mut self, length: Moment, from: f64, to: f64, slope: f64) {
        let (begin, before) = self.pieces.last().map_or((0, 0.0), |last| (last.end, last.after()));
        if length > 0 {
            self.pieces.push(Piece { begin, end: begin.saturating_add(length), from, to, slope, before });
        }
    }

    /// Ends with a level that stays for ever.
    fn stay(mut self, level: f64) -> Profile {
        self.piece(NEVER, level, level, 0.0);
        self.done()
    }

    fn done(self) -> Profile {
        Profile { pieces: self.pieces.into() }
    }
}
