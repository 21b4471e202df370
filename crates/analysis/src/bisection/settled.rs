//! How a search ends, from what came of its steps. A step of which it cannot be told what came of it tells nothing: it is made again, and
//! nothing is said to be the fewest of which a smaller set was never seen to fail.

use genkai_model::finding::{BisectionEnd, Failures};

use super::{Outcome, smallest};
use crate::tuning::directly::fails_less;

/// How often a set is tried of which it cannot be told what came of it.
const TRIES: usize = 3;
/// How often both are tried again where what fails may fail by chance.
const PAIRS: usize = 3;

/// What was left out, and what came of it.
type Step<'s> = (&'s [u32], Outcome);

/// How the search among the directives `0..all` ends, of which those of `first` are tried first, and whose first step failed. Of each step `failures` are
/// those of its load, where these are what broke it, or it held.
///
/// # Errors
/// What is to be left out next, where it has not ended.
pub(super) fn end(
    steps: &[Step<'_>],
    failures: &[Option<Failures>],
    all: u32,
    first: &[u32],
) -> Result<BisectionEnd, Vec<u32>> {
    let all: Vec<u32> = (0..all).collect();
    let heals = |set: &[u32]| Ok::<_, Vec<u32>>(came(steps, 0, set)?.is_some_and(|at| steps[at].1 == Outcome::Heals));
    let Some(named) = smallest(&all, first, heals)? else {
        let open = steps.iter().any(|(set, _)| matches!(came(steps, 0, set), Ok(None)));
        return Ok(if open { BisectionEnd::Undecided } else { BisectionEnd::Nothing });
    };
    for one in named.iter().filter(|_| named.len() > 1) {
        let fewer: Vec<u32> = named.iter().copied().filter(|other| other != one).collect();
        if came(steps, 0, &fewer)?.is_none() {
            return Ok(BisectionEnd::Undecided);
        }
    }
    proved(steps, failures, &named)
}

/// All in place once more, then without what is named once more. Where a part of the requests fails, that may be by chance, and a load that held is one
/// that was lucky: then both are tried until less fail for certain without it.
fn proved(steps: &[Step<'_>], failures: &[Option<Failures>], named: &[u32]) -> Result<BisectionEnd, Vec<u32>> {
    // With several named, those that were tried alone after it come first.
    let mut healed = came(steps, 0, named)?.unwrap_or(steps.len());
    let (mut with, mut without) = (Failures { failed: 0, of: 0 }, Failures { failed: 0, of: 0 });
    for _ in 0..PAIRS {
        let Some(again) = came(steps, healed, &[])? else { return Ok(BisectionEnd::Untold) };
        match steps[again].1 {
            Outcome::Fails => {}
            Outcome::Altered => return Ok(BisectionEnd::Unsteady),
            _ => return Ok(BisectionEnd::NotReproduced),
        }
        let Some(held) = came(steps, again, named)? else { return Ok(BisectionEnd::Undecided) };
        if steps[held].1 != Outcome::Heals {
            return Ok(BisectionEnd::NotReproduced);
        }
        let of = |at: usize| failures.get(at).copied().flatten();
        let Some((all, less)) = of(again).zip(of(held)) else { return Ok(BisectionEnd::Proved) };
        (without.failed, without.of) = (without.failed + all.failed, without.of + all.of);
        (with.failed, with.of) = (with.failed + less.failed, with.of + less.of);
        if fails_less(with, without) {
            return Ok(BisectionEnd::Proved);
        }
        healed = held;
    }
    Ok(BisectionEnd::Chance)
}

/// The step that tells what comes of a set, of those from `from` on; none: it was tried often enough, and nothing tells.
///
/// # Errors
/// The set, where it is to be tried, or tried again.
fn came(steps: &[Step<'_>], from: usize, set: &[u32]) -> Result<Option<usize>, Vec<u32>> {
    let all: Vec<usize> = (from..steps.len()).filter(|at| steps[*at].0 == set).collect();
    match all.iter().find(|at| steps[**at].1 != Outcome::Untold) {
        Some(at) => Ok(Some(*at)),
        None if all.len() < TRIES => Err(set.to_vec()),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A search to its end, of which `comes` says what comes of each step (how many there were before it, and what was left out).
    fn searched(all: u32, comes: impl Fn(usize, &[u32]) -> Outcome) -> (BisectionEnd, Vec<(Vec<u32>, Outcome)>) {
        failing(all, |_| None, comes)
    }

    /// The same, with what failed in the load of a step by what came of it.
    fn failing(
        all: u32,
        failures: impl Fn(Outcome) -> Option<Failures>,
        comes: impl Fn(usize, &[u32]) -> Outcome,
    ) -> (BisectionEnd, Vec<(Vec<u32>, Outcome)>) {
        let mut done: Vec<(Vec<u32>, Outcome)> = vec![(Vec::new(), Outcome::Fails)];
        loop {
            let steps: Vec<Step<'_>> = done.iter().map(|(set, came)| (set.as_slice(), *came)).collect();
            let failures: Vec<_> = steps.iter().map(|step| failures(step.1)).collect();
            match end(&steps, &failures, all, &[]) {
                Ok(ended) => return (ended, done),
                Err(next) => {
                    let came = comes(done.len(), &next);
                    done.push((next, came));
                }
            }
            assert!(done.len() < 1000, "it ends");
        }
    }

    /// Of three directives only the last is to blame, and the first cannot be left out without it.
    fn truth(set: &[u32]) -> Outcome {
        match (set.contains(&0), set.contains(&2)) {
            (true, false) => Outcome::Refused,
            (_, true) => Outcome::Heals,
            _ => Outcome::Fails,
        }
    }

    #[test]
    fn an_innocent_directive_is_not_named_where_a_step_could_not_be_told() {
        // That without the guilty one alone held, and was not believed: the generator had been late.
        let (ended, done) = searched(3, |at, set| if at == 5 { Outcome::Untold } else { truth(set) });
        assert_eq!(done[5], (vec![2], Outcome::Untold), "{done:?}");
        assert_eq!((ended, &done[6]), (BisectionEnd::Proved, &(vec![2], Outcome::Heals)), "{done:?}");
        assert_eq!(done.last(), Some(&(vec![2], Outcome::Heals)));
    }

    #[test]
    fn what_may_be_more_than_needed_is_not_proved() {
        let (ended, done) = searched(3, |_, set| if set == [2] { Outcome::Untold } else { truth(set) });
        assert_eq!(ended, BisectionEnd::Undecided);
        assert_eq!(done.iter().filter(|(set, _)| set == &[2]).count(), TRIES, "{done:?}");
    }

    #[test]
    fn what_could_not_be_told_is_not_said_to_have_failed() {
        let untold = |set: &[u32]| if set.contains(&2) { Outcome::Untold } else { truth(set) };
        assert_eq!(searched(3, |_, set| untold(set)).0, BisectionEnd::Undecided);
        assert_eq!(searched(3, |_, _| Outcome::Fails).0, BisectionEnd::Nothing);
    }

    #[test]
    fn an_end_that_cannot_be_told_is_tried_again() {
        let late = |at: usize| at == 6;
        let (ended, done) = searched(3, |at, set| if late(at) { Outcome::Untold } else { truth(set) });
        assert_eq!((ended, &done[6]), (BisectionEnd::Proved, &(Vec::new(), Outcome::Untold)), "{done:?}");
    }

    #[test]
    fn what_may_have_held_by_chance_is_tried_until_that_is_excluded() {
        let of = |[held, failed]: [u64; 2]| {
            move |came: Outcome| match came {
                Outcome::Heals => Some(Failures { failed: held, of: 200 }),
                Outcome::Fails => Some(Failures { failed, of: 200 }),
                _ => None,
            }
        };
        let ended = |failures| failing(3, of(failures), |_, set| truth(set));
        let (sure, done) = ended([0, 200]);
        assert_eq!((sure, done.len()), (BisectionEnd::Proved, searched(3, |_, set| truth(set)).1.len()));
        let (later, longer) = ended([0, 4]);
        assert!(later == BisectionEnd::Proved && longer.len() > done.len(), "{later:?}, {longer:?}");
        // One of a hundred is the bound, and of either about as many fail.
        assert_eq!(ended([1, 3]).0, BisectionEnd::Chance);
    }

    /// What ends a search whose last two steps (all in place, without what is named) come so.
    fn ending(again: Outcome, last: Outcome) -> BisectionEnd {
        let comes = |at: usize, set: &[u32]| match set {
            [] => again,
            // After it held, and all were in place again.
            [2] if at > 6 => last,
            set => truth(set),
        };
        searched(3, comes).0
    }

    #[test]
    fn what_did_not_come_again_was_seen() {
        use Outcome::{Altered, Fails, Heals, Refused, Untold};
        assert_eq!(ending(Fails, Heals), BisectionEnd::Proved);
        assert_eq!(ending(Heals, Heals), BisectionEnd::NotReproduced);
        for last in [Fails, Altered, Refused] {
            assert_eq!(ending(Fails, last), BisectionEnd::NotReproduced, "{last:?}");
        }
        assert_eq!(ending(Fails, Untold), BisectionEnd::Undecided, "it was not seen to fail");
        assert_eq!(ending(Altered, Heals), BisectionEnd::Unsteady, "it was not seen to hold with all in place");
        assert_eq!(ending(Untold, Heals), BisectionEnd::Untold);
    }

    proptest! {
        /// Whatever cannot be told: what is proved was seen to hold twice, and without any one of it, it was seen not to hold.
        #[test]
        fn what_is_proved_is_the_fewest(
            all in 1_u32..12,
            culprits in prop::collection::btree_set(0_u32..12, 1..3),
            untold in prop::collection::vec(0_u8..4, 200),
        ) {
            let culprits: Vec<u32> = culprits.into_iter().map(|one| one % all).collect();
            let comes = |at: usize, set: &[u32]| match set {
                _ if untold[at % untold.len()] == 0 => Outcome::Untold,
                [] => Outcome::Fails,
                set if culprits.iter().all(|one| set.contains(one)) => Outcome::Heals,
                _ => Outcome::Fails,
            };
            let (ended, done) = searched(all, comes);
            if ended == BisectionEnd::Proved {
                let (named, came) = done.last().unwrap();
                prop_assert_eq!(*came, Outcome::Heals);
                for one in named.iter().filter(|_| named.len() > 1) {
                    let fewer: Vec<u32> = named.iter().copied().filter(|other| other != one).collect();
                    prop_assert!(done.iter().any(|(set, came)| *set == fewer && *came == Outcome::Fails), "{done:?}");
                }
                let mut guilty = culprits.clone();
                guilty.sort_unstable();
                guilty.dedup();
                prop_assert_eq!(named, &guilty);
            }
        }
    }
}
