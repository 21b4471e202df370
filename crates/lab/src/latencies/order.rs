//! In which order contenders are asked.

use genkai_model::latencies::{Case, LatencyComparison};

use genkai_analysis::order::Order;

/// Bytes that a protocol on top may add to a message.
const ENVELOPE: u64 = 64;

/// The questions of one round, each of which contender (its place in the comparison): case by case, since only figures of one case are compared, the contenders in an order drawn for
/// that case and round. Whatever drifts on the machine meets all of them alike, and none always follows the same other.
pub(super) fn round(comparison: &LatencyComparison, start: u32, round: u32) -> Vec<(usize, Case)> {
    let mut order = Order::of(comparison.seed, start, round);
    let mut all = Vec::new();
    for case in cases(comparison) {
        let asked: Vec<usize> = (0..comparison.contenders.len())
            .filter(|n| !comparison.contenders[*n].variant || matches!(case, Case::Give { .. }))
            .collect();
        all.extend(order.next(asked.len()).into_iter().map(|place| (asked[place], case)));
    }
    all
}

/// What is asked in every round.
fn cases(comparison: &LatencyComparison) -> Vec<Case> {
    let mut all = vec![Case::Receive, Case::Send];
    for binary in [false, true] {
        all.extend(comparison.sizes.iter().map(|size| Case::Give { bytes: size.0, binary }));
    }
    all
}

/// Sizes of messages that a client sends to a contender to see which it takes, in ascending order: those of the comparison, and
/// where its limit is known, the largest message that it should take, one byte more, and a few less: a protocol on top adds
/// some before the server counts.
pub(super) fn probes(comparison: &LatencyComparison, limit: Option<u64>) -> Vec<Case> {
    let mut sizes: Vec<u64> = comparison.sizes.iter().map(|size| size.0).collect();
    let largest = sizes.last().copied().unwrap_or(0);
    if let Some(limit) = limit.filter(|limit| *limit <= largest) {
        sizes.extend([limit.saturating_sub(ENVELOPE).max(1), limit, limit + 1]);
    }
    sizes.sort_unstable();
    sizes.dedup();
    let both = |bytes: u64| [false, true].map(|binary| Case::Take { bytes, binary });
    sizes.into_iter().flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use genkai_model::latencies::Contender;
    use genkai_model::units::{Bytes, Span};

    use super::*;

    fn comparison(seed: u64) -> LatencyComparison {
        let contender = |name: &str, variant| Contender {
            name: name.to_owned(),
            server: "x".to_owned(),
            settings: BTreeMap::new(),
            variant,
            reference: false,
        };
        LatencyComparison {
            contenders: vec![
                contender("a", false),
                contender("b", false),
                contender("c", false),
                contender("a2", true),
            ],
            clients: 5,
            message: Bytes(64),
            sizes: vec![Bytes(1000), Bytes(100_000)],
            rounds: 10,
            warm_up: 2,
            starts: 1,
            timeout: Span::from_secs(5),
            seed,
        }
    }

    #[test]
    fn everybody_is_asked_everything_once_a_round() {
        let comparison = comparison(1);
        for number in 1..=20 {
            let mut all = round(&comparison, 1, number);
            assert_eq!(all.len(), 3 * 2 + 4 * 4);
            assert!(
                all.iter().all(|(who, case)| *who != 3 || matches!(case, Case::Give { .. })),
                "variants are given only"
            );
            let mut in_turn = all.clone();
            in_turn.dedup_by_key(|(_, case)| *case);
            assert_eq!(in_turn.len(), 6, "case by case");
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 22);
        }
    }

    #[test]
    fn orders_differ_between_rounds_and_repeat_with_the_seed() {
        let firsts = |seed| -> Vec<usize> { (1..=40).map(|n| round(&comparison(seed), 1, n)[0].0).collect() };
        assert_eq!(firsts(7), firsts(7));
        assert_ne!(firsts(7), firsts(8));
        assert_ne!(round(&comparison(7), 1, 3), round(&comparison(7), 2, 3), "another start, another order");
        for who in 0..3 {
            let first = firsts(7).iter().filter(|n| **n == who).count();
            assert!((4..=26).contains(&first), "contender {who} is first {first} times of 40");
        }
    }

    #[test]
    fn a_limit_is_probed_at_both_sides() {
        let sizes = |limit| -> Vec<u64> {
            let all = probes(&comparison(1), limit);
            all.iter().map(|case| if let Case::Take { bytes, .. } = case { *bytes } else { 0 }).collect()
        };
        assert_eq!(sizes(Some(8192)), [1000, 1000, 8128, 8128, 8192, 8192, 8193, 8193, 100_000, 100_000]);
        assert_eq!(sizes(Some(100_000_000)), [1000, 1000, 100_000, 100_000], "beyond what is looked at");
    }
}
