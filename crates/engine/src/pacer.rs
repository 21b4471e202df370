//! When things are planned: pure functions of a load, no clock, no sleep.
//!
//! One formula serves users and requests, even and random spacing, with and without a ramp. Let `N(t)` be the number planned
//! until `t`: with rate `R` rising linearly from zero over a ramp `W`,
//!
//! ```text
//! N(t) = R t^2 / (2 W)        for t <= W
//! N(t) = R (t - W/2)          after
//! ```
//!
//! The n-th is planned at the inverse of `N`. Evenly spaced, n is 0, 1, 2, ...; a Poisson process is a unit-rate Poisson
//! process run through the same inverse (time change of a non-homogeneous process: Cinlar, *Introduction to Stochastic
//! Processes*, 1975, section 4.7).
//!
//! Of several threads, thread j of T plans j, j + T, j + 2T, ...: together exactly the sequence of one. Random spacing gives each
//! thread an independent process of rate R / T; their superposition is a Poisson process of rate R.

use genkai_model::load::Spacing;
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use crate::clock::Moment;

const SECOND: f64 = 1e9;

/// A rate over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    /// A second, once the ramp is over.
    pub(crate) rate: f64,
    /// Nanoseconds over which it rises from zero; zero for none.
    pub(crate) ramp: Moment,
}

impl Curve {
    /// When the `n`-th is planned (from 0; need not be whole).
    pub(crate) fn at(&self, n: f64) -> Moment {
        let ramp = self.ramp as f64 / SECOND;
        let planned_in_ramp = self.rate * ramp / 2.0;
        let seconds =
            if n < planned_in_ramp { (2.0 * ramp * n / self.rate).sqrt() } else { n / self.rate + ramp / 2.0 };
        // `as` saturates: a schedule beyond the range of the clock is never.
        (seconds * SECOND).round() as Moment
    }

    /// The rate at `t`, a second.
    pub(crate) fn rate_at(&self, t: Moment) -> f64 {
        if t < self.ramp { self.rate * t as f64 / self.ramp as f64 } else { self.rate }
    }
}

/// The level of a load as a function of time, for reports.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Level {
    /// Users started before that time, of so many.
    Users(Curve, u32),
    /// Planned requests a second at that time.
    Rate(Curve),
}

impl Level {
    /// The level at `t`.
    pub(crate) fn at(&self, t: Moment) -> f64 {
        match self {
            Level::Users(curve, count) => (t as f64 * curve.rate / SECOND).ceil().min(f64::from(*count)),
            Level::Rate(curve) => curve.rate_at(t),
        }
    }
}

/// The planned instants of one thread, in order, without end unless limited.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    curve: Curve,
    /// Number of the next one.
    n: f64,
    /// Mean distance between two numbers of this thread.
    step: f64,
    random: Option<Pcg64Mcg>,
    left: u64,
}

impl Pacer {
    /// For thread `thread` of `threads`, at most `most` instants.
    pub(crate) fn new(curve: Curve, spacing: Spacing, seed: u64, thread: u32, threads: u32, most: u64) -> Pacer {
        let step = f64::from(threads);
        let mut pacer = Pacer { curve, n: f64::from(thread), step, random: None, left: most };
        if spacing == Spacing::Poisson {
            pacer.random = Some(Pcg64Mcg::seed_from_u64(seed ^ (u64::from(thread) << 32)));
            pacer.n = pacer.gap();
        }
        pacer
    }

    fn gap(&mut self) -> f64 {
        match &mut self.random {
            None => self.step,
            Some(random) => {
                let unit: f64 = Exp1.sample(random);
                self.step * unit
            }
        }
    }
}

impl Iterator for Pacer {
    type Item = Moment;

    fn next(&mut self) -> Option<Moment> {
        self.left = self.left.checked_sub(1)?;
        let at = self.curve.at(self.n);
        self.n += self.gap();
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: Moment = 1_000_000_000;

    fn all(curve: Curve, spacing: Spacing, threads: u32, until: Moment) -> Vec<Moment> {
        let mut all: Vec<Moment> = (0..threads)
            .flat_map(|j| Pacer::new(curve, spacing, 7, j, threads, u64::MAX).take_while(move |t| *t < until))
            .collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn users_start_one_after_the_other() {
        let curve = Curve { rate: 10.0, ramp: 0 };
        let starts: Vec<Moment> = Pacer::new(curve, Spacing::Uniform, 0, 0, 1, 4).collect();
        assert_eq!(starts, [0, S / 10, S / 5, 3 * S / 10]);
        let second: Vec<Moment> = Pacer::new(curve, Spacing::Uniform, 0, 1, 2, 2).collect();
        assert_eq!(second, [S / 10, 3 * S / 10]);
        let level = Level::Users(curve, 300);
        assert_eq!(
            [level.at(0), level.at(1), level.at(S), level.at(S + 1), level.at(60 * S)],
            [0.0, 1.0, 10.0, 11.0, 300.0]
        );
    }

    #[test]
    fn a_ramp_is_half_the_rate() {
        let curve = Curve { rate: 100.0, ramp: 10 * S };
        assert_eq!(all(curve, Spacing::Uniform, 1, 10 * S).len(), 500);
        assert_eq!(all(curve, Spacing::Uniform, 1, 12 * S).len(), 700);
        let level = Level::Rate(curve);
        assert_eq!([level.at(0), level.at(5 * S), level.at(20 * S)], [0.0, 50.0, 100.0]);
    }

    #[test]
    fn a_poisson_process_has_the_rate_and_the_spread_of_one() {
        for threads in [1, 3] {
            let gaps: Vec<f64> = all(Curve { rate: 1000.0, ramp: 0 }, Spacing::Poisson, threads, 100 * S)
                .windows(2)
                .map(|w| (w[1] - w[0]) as f64 / 1e6)
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // 100,000 exponential gaps of mean 1 ms: standard errors 0.0032 and 0.009.
            assert!((mean - 1.0).abs() < 0.016, "{mean}");
            assert!((variance - 1.0).abs() < 0.045, "{variance}");
        }
    }

    #[test]
    fn a_seed_is_a_schedule() {
        let curve = Curve { rate: 50.0, ramp: S };
        let of = |seed| Pacer::new(curve, Spacing::Poisson, seed, 0, 1, 20).collect::<Vec<_>>();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    proptest! {
        #[test]
        fn planned_is_rate_times_time(rate in 0.5f64..5_000.0, ramp in 0u64..5, seconds in 5u64..9, threads in 1u32..5) {
            let curve = Curve { rate, ramp: ramp * S };
            let until = seconds * S;
            let expected = rate * (seconds as f64 - ramp as f64 / 2.0);
            prop_assume!(expected < 30_000.0);
            let planned = all(curve, Spacing::Uniform, threads, until);
            prop_assert!((planned.len() as f64 - expected).abs() <= 1.0, "{} of {}", planned.len(), expected);
        }

        #[test]
        fn threads_together_are_one_sequence(rate in 1.0f64..500.0, ramp in 0u64..3, threads in 2u32..6) {
            let curve = Curve { rate, ramp: ramp * S };
            prop_assert_eq!(all(curve, Spacing::Uniform, threads, 4 * S), all(curve, Spacing::Uniform, 1, 4 * S));
        }

        #[test]
        fn instants_never_go_back(rate in 0.5f64..5_000.0, ramp in 0u64..5, poisson: bool) {
            let spacing = if poisson { Spacing::Poisson } else { Spacing::Uniform };
            let instants: Vec<Moment> = Pacer::new(Curve { rate, ramp: ramp * S }, spacing, 3, 0, 1, 500).collect();
            prop_assert!(instants.is_sorted());
        }
    }
}
