//! In which order contenders are loaded.

use genkai_model::comparison::{Comparison, Turn};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

/// The turns of one block, in an order drawn for it: whatever drifts on the machine meets all contenders alike, and none always
/// follows the same other. With a control, the first contender has two.
pub(super) fn block(comparison: &Comparison, number: u32) -> Vec<(usize, Turn)> {
    let mut random = Pcg64Mcg::seed_from_u64(comparison.seed ^ (u64::from(number) << 32));
    let mut who: Vec<(usize, bool)> = (0..comparison.contenders.len()).map(|n| (n, false)).collect();
    who.extend(comparison.control.then_some((0, true)));
    who.shuffle(&mut random);
    let of = who.len() as u32;
    let turn = |(place, (n, control)): (usize, (usize, bool))| {
        let contender = comparison.contenders[n].name.clone();
        (n, Turn { contender, block: number, place: place as u32 + 1, of, control })
    };
    who.into_iter().enumerate().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use genkai_model::comparison::{Contender, Figure, Runs};
    use genkai_model::units::Span;

    use super::*;

    fn comparison(control: bool, seed: u64) -> Comparison {
        let contender = |n: u32| Contender { name: format!("c{n}"), runs: Runs::Url(format!("http://127.0.0.1:{n}")) };
        Comparison {
            contenders: (1..=3).map(contender).collect(),
            base: None,
            control,
            ramp: Span::default(),
            hold: Span::from_secs(1),
            looks: vec![4],
            margin: 0.05,
            deciding: vec![Figure::Throughput],
            seed,
            claim: None,
        }
    }

    #[test]
    fn everybody_has_one_turn_and_the_first_a_control() {
        for number in 1..=30 {
            let turns = block(&comparison(true, 5), number);
            let mut who: Vec<(usize, bool)> = turns.iter().map(|(n, turn)| (*n, turn.control)).collect();
            who.sort_unstable();
            assert_eq!(who, [(0, false), (0, true), (1, false), (2, false)]);
            let places: Vec<u32> = turns.iter().map(|(_, turn)| turn.place).collect();
            assert_eq!(places, [1, 2, 3, 4]);
        }
        assert_eq!(block(&comparison(false, 5), 1).len(), 3);
    }

    #[test]
    fn orders_differ_between_blocks_and_repeat_with_the_seed() {
        let firsts = |seed| -> Vec<usize> { (1..=60).map(|n| block(&comparison(false, seed), n)[0].0).collect() };
        assert_eq!(firsts(7), firsts(7));
        assert_ne!(firsts(7), firsts(8));
        for who in 0..3 {
            let first = firsts(7).iter().filter(|n| **n == who).count();
            assert!((8..=34).contains(&first), "contender {who} is first {first} times of 60");
        }
    }
}
