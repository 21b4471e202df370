//! Of what nothing came of nothing is decided.

use genkai_model::event::Tick;
use genkai_model::finding::*;
use genkai_model::record::{Record, Trial};
use proptest::prelude::*;

use crate::{decided, slots_world};

/// The same trial, to its planned end, in which nothing was answered, failed, or waits.
fn blanked(trial: &mut Trial) {
    for tick in &mut trial.ticks {
        let Tick { from_us, to_us, level, .. } = *tick;
        *tick = Tick { from_us, to_us, level, ..Tick::default() };
    }
    trial.samples.clear();
    trial.logs.clear();
}

fn is_blank(record: &Record, number: u32) -> bool {
    let trial = record.trials.iter().find(|trial| trial.number == number).unwrap();
    trial.ticks.iter().all(|tick| tick.ok == 0 && tick.errors.is_empty())
}

/// A run whose limit is found, lifted and proved, with these of its trials without anything in them.
fn without(blank: &[usize]) -> Record {
    let mut record = slots_world(512.0).run().record;
    blank.iter().for_each(|at| blanked(&mut record.trials[*at]));
    record
}

#[test]
fn a_test_in_which_nothing_came_to_an_end_proves_nothing_and_refutes_nothing() {
    let whole = decided(&without(&[]));
    assert_eq!((whole.causes[0].confidence, whole.because()), (Confidence::Proved, Because::ProvedAndHolds));
    let record = without(&[1]);
    assert!(is_blank(&record, 2));
    let v = decided(&record);
    assert_eq!((v.causes.len(), v.causes[0].limit.id.as_str()), (1, "proxy.slots"));
    assert!(v.causes[0].confidence < Confidence::Proved && v.causes[0].counterfactual.is_none(), "{:?}", v.causes[0]);
    assert_eq!((v.because(), v.proposal.len()), (Because::NotTested, 0));
}

#[test]
fn baselines_in_which_nothing_came_to_an_end_are_no_baselines_that_held() {
    // X C A B B A A B
    let record = without(&[2, 5]);
    let v = decided(&record);
    let proof = v.proof.as_ref().unwrap();
    assert!(!matches!(proof.decided.call, Call::Same | Call::Better | Call::Worse), "of one pair: {:?}", proof.decided);
    let said = [
        Because::ProvedAndHolds,
        Because::ChangeMadeNoDifference,
        Because::NotReproduced,
        Because::Contradicted,
        Because::Helps,
    ];
    assert!(!said.contains(&v.because()), "{:?}", v.because());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever trials of a run are empty: what is proved or refuted was seen in trials that are not.
    #[test]
    fn no_decision_is_made_of_nothing(blank in prop::collection::btree_set(0_usize..8, 0..8)) {
        let record = without(&blank.into_iter().collect::<Vec<_>>());
        let v = decided(&record);
        for cause in &v.causes {
            if matches!(cause.confidence, Confidence::Proved | Confidence::Refuted) {
                let test = cause.counterfactual.as_ref().unwrap();
                prop_assert!(!is_blank(&record, cause.trial) && !is_blank(&record, test.trial), "{:?}", cause);
            }
        }
        if let Some(proof) = &v.proof {
            let both = |(a, b): &(&Trial, &Trial)| !is_blank(&record, a.number) && !is_blank(&record, b.number);
            let seen = genkai_analysis::proof::Trials::of(&record).pairs.iter().filter(|pair| both(pair)).count();
            let decided = matches!(proof.decided.call, Call::Same | Call::Better | Call::Worse);
            prop_assert!(!decided || seen >= 2, "{} pairs with anything in them: {:?}", seen, proof.decided);
        }
        let first = is_blank(&record, 1);
        prop_assert!(!first || v.outcome() != Outcome::Holds, "nothing held in the first trial");
    }
}
