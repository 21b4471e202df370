//! In which order those that are compared have their turns: drawn for each round from a seed, so that whatever drifts on the machine
//! meets all alike, and none always follows the same other.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// Draws orders; the same for the same seed and round.
#[derive(Clone, Debug)]
pub struct Order(Pcg64Mcg);

impl Order {
    /// The draws of a round, of the `part`th of its parts where it has several.
    pub fn of(seed: u64, round: u32, part: u32) -> Order {
        Order(Pcg64Mcg::seed_from_u64(seed ^ u64::from(round) << 32 ^ u64::from(part)))
    }

    /// Places in the order in which they come.
    pub fn next(&mut self, places: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..places).collect();
        all.shuffle(&mut self.0);
        all
    }
}

/// Places in the order of one round.
pub fn round(places: usize, seed: u64, round: u32) -> Vec<usize> {
    Order::of(seed, round, 0).next(places)
}

/// Places in the order of one of several blocks, from 1: drawn for each odd one, and the next in the reverse order. Whatever a place in the block,
/// or the time since the run began, does to a turn meets any two with the opposite sign in the second, so that it widens intervals and moves none.
pub fn mirrored(places: usize, seed: u64, block: u32) -> Vec<usize> {
    let mut order = round(places, seed, block - u32::from(block.is_multiple_of(2)));
    if block.is_multiple_of(2) {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_block_is_the_reverse_of_the_one_before() {
        for block in [1, 3, 5] {
            let mut order = mirrored(4, 7, block);
            assert_eq!(order, round(4, 7, block));
            order.reverse();
            assert_eq!(mirrored(4, 7, block + 1), order);
        }
        assert_ne!(mirrored(9, 7, 1), mirrored(9, 7, 3));
    }

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
        let rounds = |seed| (1..=9).map(|n| round(4, seed, n)).collect::<Vec<_>>();
        assert_ne!(rounds(7), rounds(8));
        assert_ne!(Order::of(7, 1, 1).next(20), Order::of(7, 1, 2).next(20), "another part, another order");
    }
}
