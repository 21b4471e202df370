//! Failures that a server behind the product answered itself.

use genkai_model::finding::{Evidence, Failures};
use genkai_model::limit::{Answers, Strength};

use crate::statistics::{self, ALPHA};

/// Part of the failures that clients saw in these seconds that it must have answered: looks at counters and at clients are not of the same
/// instants.
const LEAST: f64 = 0.5;
/// Part of the failures answered by several servers that one of them must have answered to be the one.
const NEARLY_ALL: f64 = 0.9;

/// That a server gave the failures that clients saw; of several (`others`), that it alone did: where is counted how many each was asked, for
/// certain a larger part of its own. `count` tells by how much a metric grew, `seen` how many failures clients saw.
pub(super) fn evidence(
    own: &Answers,
    others: &[Answers],
    strength: Strength,
    count: impl Fn(&str) -> Option<u64>,
    seen: u64,
) -> Option<Evidence> {
    let sum = |all: &[&Answers]| {
        let failed = all.iter().map(|one| count(&one.failed)).sum::<Option<u64>>()?;
        let of = all.iter().map(|one| one.all.as_deref().and_then(&count)).sum::<Option<u64>>();
        Some((failed, of))
    };
    let (mine, theirs) = (sum(&[own])?, sum(&others.iter().collect::<Vec<_>>())?);
    let all = mine.0 + theirs.0;
    if mine.0 == 0 || (mine.0 as f64) < LEAST * seen as f64 || (mine.0 as f64) < NEARLY_ALL * all as f64 {
        return None;
    }
    let rates = match (mine.1, theirs.1) {
        (Some(of), Some(others)) => Some([Failures { failed: mine.0, of }, Failures { failed: theirs.0, of: others }]),
        _ => None,
    };
    let rates = rates.filter(|_| !others.is_empty());
    if rates.is_some_and(|rates| !is_more(rates)) {
        return None;
    }
    Some(Evidence::Answered { metric: own.failed.clone(), failed: mine.0, of: all, rates, strength })
}

/// Whether the first fails for certain a larger part.
fn is_more([own, others]: [Failures; 2]) -> bool {
    let rate = |f: Failures| {
        let part = if f.of == 0 { 0.0 } else { f.failed as f64 / f.of as f64 };
        (part, statistics::clopper_pearson(f.failed, f.of, ALPHA))
    };
    statistics::newcombe(rate(others), rate(own)).low > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_answers_do_not_tell_servers_apart() {
        let of = |failed, of| Failures { failed, of };
        assert!(is_more([of(17, 83), of(0, 85)]));
        assert!(!is_more([of(17, 83), of(0, 3)]), "the other was hardly asked");
        assert!(!is_more([of(2, 20), of(0, 20)]));
        assert!(!is_more([of(90, 900), of(1, 10)]), "it is asked more often, and fails as often");
        assert!(!is_more([of(5, 9), of(0, 0)]), "the other was not asked");
    }
}
