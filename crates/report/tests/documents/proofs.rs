//! What is said of a proof that decides nothing, or not all.

use genkai_model::finding::*;
use genkai_model::units::Range;

use super::words::{changed, with};

#[test]
fn a_change_with_which_nobody_got_an_answer_proves_nothing() {
    let text = with(vec![changed("slots", ["512", "640"], 243.0)], |s| {
        s.findings.verdict.answer = Answered(Decision::Carried { pairs: Pairing::Unanswered { unanswered: 3, of: 3 } });
    });
    assert!(
        text.contains("Cannot tell: changing")
            && text.contains("in 3 of 3 trials of the proof with it no request succeeded"),
        "{text}"
    );
    for words in ["(proved)", "held with every proposal", "the objective held in", "Yes: change"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
}

/// Two of three could be judged, and are told.
#[test]
fn a_proof_of_which_one_trial_was_not_answered_tells_of_the_others() {
    let text = with(vec![changed("slots", ["512", "640"], 243.0)], |s| {
        s.findings.verdict.answer = Answered(Decision::Carried { pairs: Pairing::Unanswered { unanswered: 1, of: 3 } });
    });
    let told = [
        "in 1 of 3 trials of the proof with it no request succeeded; `",
        "held in the other 2, which is too few to prove it",
        "not decided, because in 1 of 3 trials with the proposal no request succeeded; with those counted, ",
    ];
    for words in told {
        assert!(text.contains(words), "{words}: {text}");
    }
    let untold = ["nothing by which", "(proved)", "held with every proposal", "Yes: change", "nothing was answered by"];
    for words in untold {
        assert!(!text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_proposal_whose_rate_was_not_carried_is_not_enough() {
    let text = with(vec![changed("slots", ["512", "640"], 243.0)], |s| {
        s.findings.verdict.answer = Answered(Decision::Carried { pairs: Pairing::Outpaced { outpaced: 2, of: 3 } });
    });
    let told = [
        "Cannot tell: changing",
        "was not violated with it",
        "in 2 of 3 trials of the proof with it that rate was not carried",
    ];
    for words in told {
        assert!(text.contains(words), "{words}: {text}");
    }
    for words in ["(proved)", "held with every proposal", "the objective held in", "Yes: change"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
}

#[test]
fn only_pairs_that_decided_for_a_change_prove_it() {
    let text = |decision: Decision, gone: bool| {
        with(vec![changed("slots", ["512", "640"], 243.0)], |s| {
            let verdict = &mut s.findings.verdict;
            verdict.answer = Answered(decision);
            let broke = verdict.trials[0].broke.clone();
            verdict.trials.iter_mut().filter(|one| one.trial == 2).for_each(|one| one.broke.clone_from(&broke));
            if gone {
                verdict.trials.iter_mut().filter(|one| one.trial == 2).for_each(|one| one.broke = None);
            }
        })
    };
    let carried = |pairs| Decision::Carried { pairs };
    assert!(text(carried(Pairing::Enough), true).contains("512 → 640 (proved)"));
    let not_enough = Pairing::NotEnough { failed: 5, of: 5, helps: false };
    for decision in [carried(not_enough), carried(Pairing::None), Decision::Moved { then: Stop::Unknown }] {
        let said = text(decision, false);
        assert!(said.contains("512 → 640 (with it the break moved)") && !said.contains("(proved)"), "{said}");
    }
    let said = text(carried(Pairing::None), true);
    assert!(said.contains("512 → 640 (with it the break was gone)"), "{said}");
}

/// Workers whose queue hardly ends: "6 users and more" is foretold of them, which is met by whatever comes later.
#[test]
fn a_bound_that_was_kept_is_no_prediction_that_came_true() {
    let told = |high: f64| {
        with(vec![changed("acceptCount", ["1", "64"], 40.0)], |s| {
            let test = s.findings.verdict.causes[0].counterfactual.as_mut().unwrap();
            test.predicted = Some(Range { low: 6.0, high });
        })
    };
    assert!(told(59.0).contains("moved the break as its formula says"), "{}", told(59.0));
    let bound = told(70.0);
    assert!(!bound.contains("as its formula says"), "{bound}");
    assert!(
        bound.contains("moved the break (the formula tells only from which load on the next one may come)"),
        "{bound}"
    );
}
