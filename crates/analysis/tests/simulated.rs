//! What is said of systems whose truth is known: `simulation` draws them, `make truth` prints more of them.

mod simulation;

use genkai_analysis::order;

use simulation::again::Habit;
use simulation::{Family, MOODS, Mood, Noise, again, coverage, coverage_of_failures, equal_rivals, families, proofs};

/// Standard errors that a count of so many draws may be off.
fn slack(times: u32) -> f64 {
    3.5 * (0.05_f64 * 0.95 / f64::from(times)).sqrt()
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    for blocks in [3, 5, 12] {
        let held = coverage(Noise::Normal, blocks, 4000);
        assert!((held - 0.95).abs() <= slack(4000), "{blocks} blocks: {held}");
    }
}

#[test]
fn tails_and_skewness_cost_little() {
    // Differences of two alike distributions are symmetric, and Student's interval is careful with heavy tails (Benjamini, Is the
    // t test really conservative when the parent distribution is long-tailed?, Technometrics 25, 1983).
    for noise in [Noise::Heavy, Noise::Skewed] {
        let held = coverage(noise, 8, 4000);
        assert!((0.94..=0.985).contains(&held), "{noise:?}: {held}");
    }
}

#[test]
fn failures_that_come_in_bursts_are_covered() {
    let held = coverage_of_failures(6, 2000);
    assert!(held >= 0.95 - slack(2000), "{held}");
}

#[test]
fn equal_systems_are_seldom_called_different() {
    // 8 figures of 3 pairs, looked at four times: 96 chances to find something.
    let family = Family { figures: 8, pairs: 3, ratio: 1.0, margin: 0.05 };
    let said = families(Noise::Normal, family, 2000);
    assert!(said.differs <= 0.05 + slack(2000), "{said:?}");
    let careless = simulated_without_care();
    assert!(careless > 0.5, "without care for looks and figures it would be {careless}");
}

#[test]
fn equal_rivals_are_seldom_told_apart() {
    for (rivals, rounds) in [(2, 3), (8, 5)] {
        let told = equal_rivals(Noise::Normal, rivals, rounds, 2000);
        assert!(told <= 0.05 + slack(2000), "{rivals} rivals, {rounds} rounds: {told}");
    }
    assert!(equal_rivals(Noise::Normal, 2, 5, 2000) > 0.02, "two are told apart as often as is said, not never");
}

#[test]
fn a_system_beside_itself_is_seldom_said_to_differ_whatever_time_and_place_do_to_its_turns() {
    for looks in [&[4, 6][..], &[5, 8, 12, 16]] {
        for habit in again::HABITS {
            let told = again::alike(habit, looks, 1500, order::mirrored);
            assert!(told <= 0.05 + slack(1500), "{habit:?}, looks {looks:?}: {told}");
        }
    }
    // Orders drawn for each block by itself let the place in it speak now and then.
    let [by_itself, mirrored] =
        [order::round, order::mirrored].map(|orders| again::alike(Habit::Place, &[4, 6], 1500, orders));
    assert!(by_itself > 0.03 && mirrored == 0.0, "{by_itself} and {mirrored}");
}

/// The same with every interval at 95 %: what the care is good for, and that this test can fail.
fn simulated_without_care() -> f64 {
    use genkai_analysis::effect::{self, Paired};
    use rand::{Rng, SeedableRng};
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(5);
    let times = 400;
    let mut differ = 0;
    for _ in 0..times {
        let any = (0..24).any(|_| {
            let pairs =
                (0..16).map(|_| (1.0 + 0.1 * random.random::<f64>(), 1.0 + 0.1 * random.random::<f64>())).collect();
            effect::excludes(Paired::Ratios(pairs).effect(0.05).unwrap(), 1.0)
        });
        differ += u32::from(any);
    }
    f64::from(differ) / f64::from(times)
}

#[test]
fn systems_at_the_margin_are_seldom_called_equal() {
    let family = Family { figures: 8, pairs: 1, ratio: 1.05, margin: 0.05 };
    let said = families(Noise::Normal, family, 2000);
    assert!(said.same <= 0.05 + slack(2000), "{said:?}");
}

#[test]
fn systems_that_differ_are_told_apart_before_the_last_look() {
    let far = families(Noise::Normal, Family { figures: 8, pairs: 1, ratio: 1.5, margin: 0.05 }, 300);
    assert!(far.decided > 0.99 && far.blocks < 6.0, "{far:?}");
    let near = families(Noise::Normal, Family { figures: 8, pairs: 1, ratio: 1.15, margin: 0.05 }, 300);
    assert!(near.blocks > far.blocks, "{near:?}");
}

/// Looks of the proofs that are run: quick, usual, full.
const PROOFS: [&[u32]; 3] = [&[3], &[3, 4, 5], &[3, 4, 5, 6]];

#[test]
fn a_change_that_does_nothing_is_seldom_proved() {
    for looks in PROOFS {
        for (mood, name) in MOODS {
            let said = proofs(mood, looks, 4000);
            assert!(said.differs <= 0.05 + slack(4000), "{name}, looks {looks:?}: {said:?}");
            assert!(said.proved <= 1.0 / 64.0 + 0.007, "{name}, looks {looks:?}: {said:?}");
        }
    }
    let moody = proofs(Mood::Moody, PROOFS[0], 4000);
    assert!(moody.proved > 0.008, "the worst case comes close to what is promised: {moody:?}");
}

#[test]
fn two_pairs_are_fooled_more_often_by_what_fails_every_other_time() {
    let said = proofs(Mood::Moody, &[2], 4000);
    assert!(said.proved > 0.04 && said.proved <= 1.0 / 16.0 + 0.014, "{said:?}");
}
