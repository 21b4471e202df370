//! The smallest set that is enough: delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
//! Transactions on Software Engineering 28(2), 2002).
//!
//! What is made smaller is the set of things that are left out; it is enough where the failure is then gone. A set of which that cannot be
//! told (it is not accepted, it means something else) is not enough, so nothing is assumed of sets between others.

/// A subset of `all` that is enough and of which no element can be spared; none where no set that is tried is. `first` are those of it that are tried
/// first; none: the first half. `is_enough` is asked for one set at a time, and never again for the same one if it remembers.
///
/// # Errors
/// Those of `is_enough`, at once.
pub fn smallest<E>(
    all: &[u32],
    first: &[u32],
    mut is_enough: impl FnMut(&[u32]) -> Result<bool, E>,
) -> Result<Option<Vec<u32>>, E> {
    let apart = apart(all, first);
    let Some(begin) = any(all, &apart, &mut is_enough)? else { return Ok(None) };
    let (mut set, mut parts) = (begin, 2);
    if set == all
        && let Some((smaller, next)) = reduced(&set, &apart, &mut is_enough)?
    {
        (set, parts) = (smaller, next);
    }
    while set.len() > 1 {
        let chunks = split(&set, parts);
        match reduced(&set, &chunks, &mut is_enough)? {
            Some((smaller, next)) => (set, parts) = (smaller, next),
            None if parts >= set.len() => break,
            None => parts = (parts * 2).min(set.len()),
        }
    }
    Ok(Some(set))
}

/// Those that are tried first, and the others; nothing where that is no division.
fn apart(all: &[u32], first: &[u32]) -> Vec<Vec<u32>> {
    let (begin, others): (Vec<u32>, Vec<u32>) = all.iter().partition(|one| first.contains(one));
    if begin.is_empty() || others.is_empty() { Vec::new() } else { vec![begin, others] }
}

/// A set to begin with: all; else one of those `apart`; else a part of them, or all but a part, of ever smaller parts.
fn any<E>(
    all: &[u32],
    apart: &[Vec<u32>],
    is_enough: &mut impl FnMut(&[u32]) -> Result<bool, E>,
) -> Result<Option<Vec<u32>>, E> {
    if all.is_empty() {
        return Ok(None);
    }
    if is_enough(all)? {
        return Ok(Some(all.to_vec()));
    }
    for set in apart {
        if is_enough(set)? {
            return Ok(Some(set.clone()));
        }
    }
    let mut parts = 2;
    while all.len() > 1 {
        for chunk in split(all, parts) {
            for set in [chunk.clone(), without(all, &chunk)] {
                if is_enough(&set)? {
                    return Ok(Some(set));
                }
            }
        }
        if parts >= all.len() {
            break;
        }
        parts = (parts * 2).min(all.len());
    }
    Ok(None)
}

/// The first part that is enough, or the first rest without one; with the number of parts to go on with.
fn reduced<E>(
    set: &[u32],
    chunks: &[Vec<u32>],
    is_enough: &mut impl FnMut(&[u32]) -> Result<bool, E>,
) -> Result<Option<(Vec<u32>, usize)>, E> {
    for chunk in chunks {
        if is_enough(chunk)? {
            return Ok(Some((chunk.clone(), 2)));
        }
    }
    // Of two parts each is the rest of the other.
    for chunk in chunks.iter().filter(|_| chunks.len() > 2) {
        let rest = without(set, chunk);
        if is_enough(&rest)? {
            return Ok(Some((rest, (chunks.len() - 1).max(2))));
        }
    }
    Ok(None)
}

/// `parts` parts in order, as equal as they can be.
fn split(set: &[u32], parts: usize) -> Vec<Vec<u32>> {
    let parts = parts.clamp(1, set.len().max(1));
    let cut = |i: usize| i * set.len() / parts;
    (0..parts).map(|i| set[cut(i)..cut(i + 1)].to_vec()).collect()
}

fn without(set: &[u32], part: &[u32]) -> Vec<u32> {
    set.iter().copied().filter(|one| !part.contains(one)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    /// What a search finds where all of `culprits` must be left out and none of `needed` may be; with how often something was tried.
    fn found(all: u32, first: &[u32], culprits: &[u32], needed: &[u32]) -> (Option<Vec<u32>>, usize) {
        let all: Vec<u32> = (0..all).collect();
        let mut tried: BTreeMap<Vec<u32>, bool> = BTreeMap::new();
        let found = smallest(&all, first, |set| {
            let enough = culprits.iter().all(|one| set.contains(one)) && !needed.iter().any(|one| set.contains(one));
            tried.insert(set.to_vec(), enough);
            Ok::<_, ()>(enough)
        });
        (found.unwrap(), tried.len())
    }

    #[test]
    fn one_of_a_hundred_is_found_in_few_steps() {
        for culprit in 0..128 {
            let (named, tried) = found(128, &[], &[culprit], &[]);
            assert_eq!(named, Some(vec![culprit]));
            assert!(tried <= 15, "{culprit}: {tried} steps");
        }
    }

    #[test]
    fn those_that_are_tried_first_are_found_in_fewer() {
        let (named, tried) = found(128, &[20, 50, 90], &[50], &[]);
        assert_eq!((named, tried), (Some(vec![50]), 5), "all, these three, the first, the others, one of them");
        // What is not among them costs one or two steps more.
        let (named, tried) = found(128, &[20, 50, 90], &[51], &[]);
        assert!(named == Some(vec![51]) && tried <= 17, "{tried} steps");
        // Nor does it matter that all of them together are not accepted.
        assert_eq!(found(128, &[20, 50, 90], &[50], &[3]).0, Some(vec![50]));
    }

    #[test]
    fn nothing_is_found_where_nothing_helps() {
        let all: Vec<u32> = (0..9).collect();
        assert_eq!(smallest(&all, &[3, 4], |_| Ok::<_, ()>(false)), Ok(None));
        assert_eq!(smallest(&[], &[], |_| Ok::<_, ()>(true)), Ok(None));
    }

    #[test]
    fn an_error_ends_it_at_once() {
        let mut asked = 0;
        let ended = smallest(&[1, 2, 3], &[], |set| {
            asked += 1;
            if set.len() == 3 { Ok(true) } else { Err(set.to_vec()) }
        });
        assert_eq!((ended, asked), (Err(vec![1]), 2));
    }

    proptest! {
        #[test]
        fn all_that_are_needed_together_are_named_and_nothing_else(
            all in 1_u32..120,
            culprits in prop::collection::btree_set(0_u32..120, 1..4),
            first in prop::collection::btree_set(0_u32..120, 0..9),
        ) {
            let culprits: Vec<u32> = culprits.into_iter().map(|one| one % all).collect::<BTreeSet<_>>().into_iter().collect();
            let first: Vec<u32> = first.into_iter().collect();
            prop_assert_eq!(found(all, &first, &culprits, &[]).0, Some(culprits));
        }

        #[test]
        fn one_that_must_stay_does_not_hide_another(all in 2_u32..120, culprit in 0_u32..120, needed in 0_u32..120) {
            let (culprit, needed) = (culprit % all, needed % all);
            prop_assume!(culprit != needed);
            prop_assert_eq!(found(all, &[], &[culprit], &[needed]).0, Some(vec![culprit]));
        }

        /// Whatever the oracle says, what is named is enough, and no element of it could be spared.
        #[test]
        fn what_is_named_is_enough_and_nothing_of_it_can_be_spared(all in 1_u32..40, seed in proptest::num::u64::ANY) {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let says = |set: &[u32]| {
                let mut hasher = DefaultHasher::new();
                (seed, set).hash(&mut hasher);
                hasher.finish().is_multiple_of(3)
            };
            let ids: Vec<u32> = (0..all).collect();
            if let Some(named) = smallest(&ids, &[0, 7, 30], |set| Ok::<_, ()>(says(set))).unwrap() {
                prop_assert!(says(&named));
                if named.len() > 1 {
                    for one in &named {
                        prop_assert!(!says(&without(&named, &[*one])));
                    }
                }
            }
        }
    }
}
