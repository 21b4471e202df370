//! Plans in virtual time.

use super::*;
use genkai_model::stage::{Stage, Stages};
use genkai_model::units::Span;
use proptest::prelude::*;

const S: Moment = 1_000_000_000;

fn all(profile: &Profile, spacing: Spacing, threads: u32, until: Moment) -> Vec<Moment> {
    let of = |j| Pacer::rate(profile.clone(), spacing, 7, (j, threads), u64::MAX);
    let mut all: Vec<Moment> = (0..threads).flat_map(|j| of(j).map(|a| a.at).take_while(move |t| *t < until)).collect();
    all.sort_unstable();
    all
}

fn users(profile: &Profile, threads: u32) -> Vec<Arrival> {
    let mut all: Vec<Arrival> = (0..threads).flat_map(|j| Pacer::users(profile.clone(), (j, threads))).collect();
    all.sort_unstable();
    all
}

fn stages(text: &str) -> Profile {
    Profile::stages(&text.parse::<Stages>().unwrap().stages)
}

#[test]
fn users_start_one_after_the_other() {
    let profile = Profile::users(4, 10.0);
    let starts = |j, of| -> Vec<Moment> { Pacer::users(profile.clone(), (j, of)).map(|a| a.at).collect() };
    assert_eq!(starts(0, 1), [0, S / 10, S / 5, 3 * S / 10]);
    assert_eq!(starts(1, 2), [S / 10, 3 * S / 10]);
    assert!(users(&profile, 1).iter().all(|user| user.until == NEVER));
    let level = Level::Users(Profile::users(300, 10.0));
    assert_eq!(
        [level.at(0), level.at(1), level.at(S), level.at(S + 1), level.at(60 * S)],
        [0.0, 1.0, 10.0, 11.0, 300.0]
    );
    let at_once = users(&Profile::users(1000, 1e6), 3);
    assert_eq!((at_once.len(), at_once[0].at, at_once[999].at), (1000, 0, 999_000));
}

#[test]
fn a_ramp_is_half_the_rate() {
    let profile = Profile::rate(100.0, 10 * S);
    assert_eq!(all(&profile, Spacing::Uniform, 1, 10 * S).len(), 500);
    assert_eq!(all(&profile, Spacing::Uniform, 1, 12 * S).len(), 700);
    let level = Level::Rate(profile);
    assert_eq!([level.at(0), level.at(5 * S), level.at(20 * S)], [0.0, 50.0, 100.0]);
    assert_eq!(Level::Rate(Profile::rate(100.0, 0)).at(0), 100.0);
}

#[test]
fn users_come_go_and_come_again() {
    let profile = stages("2s:0..2, 2s:2, 2s:0, 1s:pause, 1s:1..1");
    let at = |at: u64, until: u64| Arrival { at: at * S, until: until * S };
    assert_eq!(users(&profile, 1), [at(0, 6), at(1, 5), at(7, 8)]);
    let level = Level::Users(profile);
    let levels: Vec<f64> =
        [1, S, S + 1, 4 * S, 5 * S, 6 * S, 7 * S, 7 * S + 1, 8 * S, 9 * S].map(|t| level.at(t)).into();
    assert_eq!(levels, [1.0, 1.0, 2.0, 2.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]);
    // A spike on top of some who stay, and a fall below them.
    let spike = users(&stages("1s:1..1, 1s:3..3, 1s:1..1, 1s:0"), 1);
    assert_eq!(spike, [at(0, 4), at(1, 2), at(1, 2)]);
}

#[test]
fn a_pause_plans_nothing_and_a_spike_much() {
    let profile = stages("2s:10/s, 3s:pause, 1s:1000..1000/s, 2s:0");
    let planned = all(&profile, Spacing::Uniform, 2, NEVER);
    let within = |from: u64, to: u64| planned.iter().filter(|t| (from * S..to * S).contains(*t)).count();
    assert_eq!([within(0, 2), within(2, 5), within(5, 6), within(6, 8), planned.len()], [10, 0, 1000, 1000, 2010]);
    let random = all(&profile, Spacing::Poisson, 2, NEVER);
    assert!(random.iter().all(|t| !(2 * S..5 * S).contains(t)));
}

#[test]
fn a_whole_integral_is_planned_whole() {
    // Its pieces' integrals are not exact in binary: 82.65, 18.45, 34.3, 32.2 and 18.4 are 186.
    let profile = stages("2900ms:24..33/s, 900ms:32..9/s, 1400ms:16..33/s, 2300ms:28..0/s, 800ms:28..18/s");
    for threads in [1, 2, 3] {
        assert_eq!(all(&profile, Spacing::Uniform, threads, NEVER).len(), 186);
    }
}

#[test]
fn a_poisson_process_has_the_rate_and_the_spread_of_one() {
    for threads in [1, 3] {
        let gaps: Vec<f64> = all(&Profile::rate(1000.0, 0), Spacing::Poisson, threads, 100 * S)
            .windows(2)
            .map(|w| (w[1] - w[0]) as f64 / 1e6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // 100,000 exponential gaps of mean 1 ms: standard errors 0.0032 and 0.009.
        assert!((mean - 1.0).abs() < 0.016, "{mean}");
        assert!((variance - 1.0).abs() < 0.045, "{variance}");
    }
}

#[test]
fn a_seed_is_a_schedule() {
    let of = |seed| {
        Pacer::rate(Profile::rate(50.0, S), Spacing::Poisson, seed, (0, 1), u64::MAX).take(20).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

/// Stages of whole tenths of a second, some of them pauses and jumps.
fn some_stages() -> impl Strategy<Value = Vec<Stage>> {
    let stage = (0u64..30, 0u32..40, 0u32..40).prop_map(|(tenths, from, to)| Stage {
        lasts: Span::from_millis(tenths * 100),
        from: f64::from(from / 4 * 4 % 36),
        to: f64::from(to / 3 * 3 % 36),
        name: None,
    });
    proptest::collection::vec(stage, 1..8)
}

fn integral(stages: &[Stage]) -> f64 {
    stages.iter().map(|s| (s.from + s.to) / 2.0 * s.lasts.as_secs_f64()).sum()
}

proptest! {
    #[test]
    fn planned_is_rate_times_time(rate in 0.5f64..5_000.0, ramp in 0u64..5, seconds in 5u64..9, threads in 1u32..5) {
        let until = seconds * S;
        let expected = rate * (seconds as f64 - ramp as f64 / 2.0);
        prop_assume!(expected < 30_000.0);
        let planned = all(&Profile::rate(rate, ramp * S), Spacing::Uniform, threads, until);
        prop_assert!((planned.len() as f64 - expected).abs() < 1.0 + 1e-6, "{} of {}", planned.len(), expected);
    }

    #[test]
    fn planned_is_the_integral_of_stages(stages in some_stages(), threads in 1u32..5) {
        let profile = Profile::stages(&stages);
        let planned = all(&profile, Spacing::Uniform, threads, NEVER);
        let expected = integral(&stages);
        prop_assert!((planned.len() as f64 - expected).abs() < 1.0 + 1e-6, "{} of {}", planned.len(), expected);
        // And so at the end of every stage, not only of the last.
        let mut end = 0;
        for n in 1..=stages.len() {
            end += stages[n - 1].lasts.0;
            let so_far = planned.iter().filter(|t| **t < end).count() as f64;
            prop_assert!((so_far - integral(&stages[..n])).abs() < 1.0 + 1e-6, "{} until stage {}", so_far, n);
        }
    }

    #[test]
    fn threads_together_are_one_sequence(stages in some_stages(), threads in 2u32..6) {
        let profile = Profile::stages(&stages);
        prop_assert_eq!(all(&profile, Spacing::Uniform, threads, NEVER), all(&profile, Spacing::Uniform, 1, NEVER));
        prop_assert_eq!(users(&profile, threads), users(&profile, 1));
    }

    #[test]
    fn instants_never_go_back(stages in some_stages(), poisson: bool) {
        let spacing = if poisson { Spacing::Poisson } else { Spacing::Uniform };
        let profile = Profile::stages(&stages);
        let instants: Vec<Moment> =
            Pacer::rate(profile.clone(), spacing, 3, (0, 1), u64::MAX).take(2_000).map(|a| a.at).collect();
        prop_assert!(instants.is_sorted());
        let starts: Vec<Moment> = Pacer::users(profile, (0, 1)).map(|a| a.at).collect();
        prop_assert!(starts.is_sorted());
    }

    /// Whoever is there at a moment: as many as the level says.
    #[test]
    fn users_present_are_the_level(stages in some_stages(), permille in proptest::collection::vec(1u64..1000, 20)) {
        let profile = Profile::stages(&stages);
        let all = users(&profile, 1);
        prop_assert!(all.iter().all(|user| user.at < user.until), "{:?}", all);
        let length: u64 = stages.iter().map(|s| s.lasts.0).sum();
        prop_assume!(length > 0);
        let level = Level::Users(profile);
        for share in permille {
            // Not at a boundary, where both sides are right.
            let t = length / 1000 * share + 1_357;
            let present = all.iter().filter(|user| user.at < t && t <= user.until).count();
            prop_assert!((present as f64 - level.at(t)).abs() < 1e-6, "{} at {}, not {}", present, t, level.at(t));
        }
    }
}
