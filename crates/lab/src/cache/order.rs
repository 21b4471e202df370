//! In which order contenders have their turns.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Places of `contenders` in the order of round `round`: drawn for that round, so that what drifts on the machine meets all alike and
/// none always follows the same other.
pub(super) fn round(contenders: usize, seed: u64, round: u32) -> Vec<usize> {
    let mut all: Vec<usize> = (0..contenders).collect();
    all.shuffle(&mut Pcg64Mcg::seed_from_u64(seed ^ u64::from(round) << 32));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_has_a_turn_a_round_and_orders_repeat_with_the_seed() {
        let mut first = [0; 4];
        for n in 1..=40 {
            let mut all = round(4, 7, n);
            assert_eq!(all, round(4, 7, n));
            first[all[0]] += 1;
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
        }
        assert!(first.iter().all(|n| (2..=20).contains(n)), "{first:?}");
        assert_ne!(
            (1..=9).map(|n| round(4, 7, n)).collect::<Vec<_>>(),
            (1..=9).map(|n| round(4, 8, n)).collect::<Vec<_>>()
        );
    }
}
