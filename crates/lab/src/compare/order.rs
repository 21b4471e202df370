//! In which order contenders are loaded.

use genkai_analysis::order;
use genkai_model::comparison::{Comparison, Turn};

/// The turns of one block. With a control, the first contender has two.
pub(super) fn block(comparison: &Comparison, number: u32) -> Vec<(usize, Turn)> {
    let contenders = comparison.contenders.len();
    let order = order::mirrored(contenders + usize::from(comparison.control), comparison.seed, number);
    let of = order.len() as u32;
    let turn = |(place, who): (usize, usize)| {
        let control = who == contenders;
        let n = if control { 0 } else { who };
        let contender = comparison.contenders[n].name.clone();
        (n, Turn { contender, block: number, place: place as u32 + 1, of, control })
    };
    order.into_iter().enumerate().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use genkai_model::comparison::{Contender, Runs};
    use genkai_model::figure::Figure;
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
}
