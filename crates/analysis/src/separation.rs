//! Certainty without an interval: every trial of one side failed, and every trial of the other held.
//!
//! Suppose the change does nothing. Both trials of a pair then fail with the same chance q, whatever that is and however it drifts from
//! pair to pair, and each was started anew, so one does not depend on the other. That the baseline fails and the proposal holds has the
//! chance q (1 - q), which is at most 1/4 (at q = 1/2); that it happens in all n pairs, at most 4^-n. Of three pairs: 1.6 %. Nothing is
//! assumed about how many requests fail, which is what makes intervals of three pairs wide.
//!
//! It is the sign test (Dixon, Mood, The statistical sign test, Journal of the American Statistical Association 41, 1946) with the pairs in
//! which both do the same counted against it, instead of left out. It rests on independent trials alone: the orders of pairs
//! come from a seed that is usually fixed (balanced, and the same each time), so they are no randomisation that could stand in for it.
//!
//! Looks need no share of the error rate here: who is apart at a later look was so at the first, so all looks together have its chance.

use crate::statistics::ALPHA;

/// Fewest pairs that are told apart by this: so few that it may use up at most half of the error rate.
pub const FEWEST: u32 = 3;

/// The chance, at most, that a change that does nothing looks so in `pairs` pairs.
pub fn chance(pairs: u32) -> f64 {
    0.25_f64.powf(f64::from(pairs))
}

/// The first of `looks` (ascending) at which it can decide; none where all have too few pairs.
pub fn first(looks: &[u32]) -> Option<u32> {
    looks.iter().copied().find(|pairs| *pairs >= FEWEST)
}

/// What is left of the error rate for intervals, where sides are looked at for being apart as well.
pub fn left(looks: &[u32]) -> f64 {
    ALPHA - first(looks).map_or(0.0, chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_that_of_the_worst_failure_rate() {
        for pairs in 1..=6 {
            let of = |q: f64| (q * (1.0 - q)).powi(pairs);
            let worst = (0..=1000).map(|n| of(f64::from(n) / 1000.0)).fold(0.0, f64::max);
            assert!((worst - chance(pairs as u32)).abs() < 1e-12, "{pairs}: {worst}");
        }
        assert_eq!(chance(3), 1.0 / 64.0);
    }

    #[test]
    fn it_uses_at_most_half_of_the_error_rate() {
        assert!(chance(FEWEST) <= ALPHA / 2.0 && chance(FEWEST - 1) > ALPHA / 2.0);
        assert_eq!((first(&[2]), first(&[2, 3, 4]), first(&[5, 8])), (None, Some(3), Some(5)));
        assert_eq!((left(&[2]), left(&[3, 4])), (ALPHA, ALPHA - 1.0 / 64.0));
    }
}
