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
    let failed = |one: &Answers| count(&one.failed);
    let mine = failed(own)?;
    let all = mine + others.iter().map(failed).sum::<Option<u64>>()?;
    if mine == 0 || (mine as f64) < LEAST * seen as f64 || (mine as f64) < NEARLY_ALL * all as f64 {
        return None;
    }
    let rate = |one: &Answers| {
        let failed = count(one.failed_of_all.as_ref().unwrap_or(&one.failed))?;
        Some(Failures { failed, of: one.all.as_deref().and_then(&count)? })
    };
    let sum = |all: Failures, one: Failures| Failures { failed: all.failed + one.failed, of: all.of + one.of };
    let theirs = others.iter().map(rate).collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().reduce(sum));
    let rates = rate(own).zip(theirs).map(|(own, others)| [own, others]);
    // Who is asked the most often, and how often, is not known where a share is to tell it and does not.
    let share = own.failed_of_all.is_some();
    if rates.map_or(share, |rates| !is_more(rates)) {
        return None;
    }
    Some(Evidence::Answered { metric: own.failed.clone(), failed: mine, of: all, rates, share, strength })
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

    #[test]
    fn of_a_share_the_failures_of_the_share_count() {
        let of = |name: &str, share: bool| Answers {
            failed: name.to_owned(),
            all: share.then(|| format!("{name} asked")),
            failed_of_all: share.then(|| format!("{name} failed")),
        };
        let told = |asked: [u64; 2], share: bool| {
            let count = |metric: &str| {
                Some(match metric {
                    "own" => 39,
                    "own asked" | "own failed" => asked[0],
                    "other asked" => asked[1],
                    _ => 0,
                })
            };
            evidence(&of("own", share), &[of("other", share)], Strength::Decisive, count, 39)
        };
        let Some(Evidence::Answered { failed: 39, of: 39, rates: Some(rates), share: true, .. }) = told([8, 15], true)
        else {
            panic!("{:?}", told([8, 15], true));
        };
        assert_eq!(rates, [Failures { failed: 8, of: 8 }, Failures { failed: 0, of: 15 }]);
        assert_eq!(told([8, 0], true), None, "the other was not asked: all requests may go to this one");
        assert!(matches!(told([0, 0], false), Some(Evidence::Answered { rates: None, share: false, .. })));
    }
}
