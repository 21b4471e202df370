//! When things are planned: pure functions of a load, no clock, no sleep.
//!
//! Arrivals at a rate: let `N(t)` be the number planned until `t`, the integral of the [`Profile`]. The n-th is planned at the
//! inverse of `N`. Evenly spaced, n is 0, 1, 2, ...; a Poisson process is a unit-rate Poisson process run through the same inverse
//! (time change of a non-homogeneous process: Cinlar, *Introduction to Stochastic Processes*, 1975, section 4.7).
//!
//! Users: the n-th (from 0) is there while the profile is above n. It starts when the level rises above n, and leaves when it falls
//! to n; when the level rises again, another takes its number.
//!
//! Of several threads, thread j of T plans j, j + T, j + 2T, ...: together exactly the sequence of one. Random spacing gives each
//! thread an independent process of rate R / T; their superposition is a Poisson process of rate R.

use genkai_model::load::{Arrivals, Load, Spacing};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64Mcg;

use super::profile::Profile;
use crate::clock::{Moment, NEVER};
use crate::hold::Pauses;
use crate::live_users::LiveUsers;

/// The level of a load as a function of time, for reports.
#[derive(Clone, Debug)]
pub(crate) enum Level {
    /// Users who started before that time and have not been asked to leave.
    Users(Profile),
    /// Planned arrivals a second at that time.
    Rate(Profile),
    /// Users who were asked for before that time.
    Asked(LiveUsers),
}

impl Level {
    /// The level of `load`.
    pub(crate) fn of(load: &Load) -> Level {
        let profile = Profile::of(load);
        match load.arrivals {
            Arrivals::Users { .. } => Level::Users(profile),
            Arrivals::Rate { .. } => Level::Rate(profile),
        }
    }

    /// The level at `now` of a load that was held.
    pub(crate) fn held(&self, now: Moment, pauses: &Pauses) -> f64 {
        match self {
            Level::Users(_) => self.at(pauses.planned(now)),
            Level::Rate(_) | Level::Asked(_) => self.at(now),
        }
    }

    /// The level at `t` of the plan.
    pub(crate) fn at(&self, t: Moment) -> f64 {
        match self {
            // A little less, so that a whole number stays one.
            Level::Users(profile) => (profile.level(t) - 1e-11).max(0.0).ceil(),
            Level::Rate(profile) => profile.level(t),
            Level::Asked(live) => live.level(t),
        }
    }
}

/// Something that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrival {
    /// When it begins.
    pub(crate) at: Moment,
    /// When it is to end by itself: a user whom the level no longer has room for.
    pub(crate) until: Moment,
}

/// The arrivals of one thread, in order, without end unless the profile has one.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    profile: Profile,
    piece: usize,
    pace: Pace,
    left: u64,
}

#[derive(Clone, Debug)]
enum Pace {
    Rate {
        /// Number of the next one.
        n: f64,
        /// Mean distance between two numbers of this thread.
        step: f64,
        random: Option<Pcg64Mcg>,
    },
    Users {
        /// Number of the next one in the piece; none when the piece has not begun.
        next: Option<u32>,
        thread: u32,
        threads: u32,
    },
}

impl Pacer {
    /// Arrivals at the rate of `profile`, for thread `thread` of `threads`, at most `most`.
    pub(crate) fn rate(
        profile: Profile,
        spacing: Spacing,
        seed: u64,
        (thread, threads): (u32, u32),
        most: u64,
    ) -> Pacer {
        let step = f64::from(threads);
        let mut pace = Pace::Rate { n: f64::from(thread), step, random: None };
        if spacing == Spacing::Poisson {
            let mut random = Pcg64Mcg::seed_from_u64(seed ^ (u64::from(thread) << 32));
            let n = gap(&mut random, step);
            pace = Pace::Rate { n, step, random: Some(random) };
        }
        Pacer { profile, piece: 0, pace, left: most }
    }

    /// Whether users arrive, who stay.
    pub(crate) fn is_of_users(&self) -> bool {
        matches!(self.pace, Pace::Users { .. })
    }

    /// The users of `profile`, for thread `thread` of `threads`.
    pub(crate) fn users(profile: Profile, (thread, threads): (u32, u32)) -> Pacer {
        Pacer { profile, piece: 0, pace: Pace::Users { next: None, thread, threads }, left: u64::MAX }
    }
}

fn gap(random: &mut Pcg64Mcg, step: f64) -> f64 {
    let unit: f64 = Exp1.sample(random);
    step * unit
}

impl Iterator for Pacer {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        self.left = self.left.checked_sub(1)?;
        let Pacer { profile, piece, pace, .. } = self;
        match pace {
            Pace::Rate { n, step, random } => {
                let at = profile.planned(piece, *n)?;
                *n += random.as_mut().map_or(*step, |random| gap(random, *step));
                Some(Arrival { at, until: NEVER })
            }
            Pace::Users { next, thread, threads } => {
                while *piece < profile.len() {
                    let starting = profile.starting(*piece);
                    // The first of this thread among those who start.
                    let first = starting.start + (*thread + *threads - starting.start % *threads) % *threads;
                    let n = next.unwrap_or(first);
                    if n < starting.end {
                        *next = Some(n + *threads);
                        return Some(Arrival { at: profile.start(*piece, n), until: profile.leave(*piece, n) });
                    }
                    (*piece, *next) = (*piece + 1, None);
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
