//! What a verdict must say of a cause.

use std::process::Command;

use genkai_model::finding::{Answer, Because, Confidence, Verdict};

use super::{Run, run};

/// Runs until genkai is sure, three times at most. On a busy machine "the client was the limit" and "the change made no
/// difference that could be seen" are true answers; a wrong one is returned at once, to fail the test.
pub fn told(command: &Command) -> Run {
    let unsure = |run: &Run| {
        let because = run.out.join("verdict.json").exists().then(|| run.verdict().because());
        let unsure =
            [Because::ClientIsLimit, Because::OtherPrograms, Because::ChangeMadeNoDifference, Because::NoCauseFound];
        because.is_some_and(|because| unsure.contains(&because))
    };
    let mut told = run(command);
    for _ in 0..2 {
        if !unsure(&told) {
            break;
        }
        genkai_tidy::noted::asked_again(&format!("{:?}", told.verdict().because()));
        eprintln!("{}", told.story());
        told = run(command);
    }
    told
}

/// Asserts that `limit` and no other is named as the cause.
pub fn only_cause(run: &Run, limit: &str) -> Verdict {
    let verdict = run.verdict();
    let named: Vec<&str> = verdict.causes.iter().map(|c| c.limit.id.as_str()).collect();
    assert_eq!(named, [limit], "{}", run.story());
    verdict
}

/// Asserts a cause that a setting lifts: changing it alone moved the break beyond the load. (Run with `--pairs 0`: that the proof by
/// pairs decides is shown once for each product, see [`proved`].)
pub fn lifted(run: &Run, limit: &str, setting: &str) -> Verdict {
    let verdict = only_cause(run, limit);
    assert_eq!(run.code, Some(1), "{}", run.story());
    assert_eq!(verdict.must_change(), Answer::Yes, "{}", run.story());
    assert_eq!(verdict.because(), Because::ProvedAndHolds, "{}", run.story());
    assert_eq!(verdict.causes[0].confidence, Confidence::Proved, "{}", run.story());
    assert_eq!(verdict.proposal.len(), 1, "{}", run.story());
    assert_eq!(verdict.proposal[0].change.setting, setting, "{}", run.story());
    verdict
}

/// Asserts the same and that baseline and proposal, in pairs, say so for certain.
pub fn proved(run: &Run, limit: &str, setting: &str) -> Verdict {
    let verdict = lifted(run, limit, setting);
    let proof = verdict.proof.as_ref().unwrap_or_else(|| panic!("no proof\n{}", run.story()));
    assert!(proof.baseline_fails && proof.proposal_holds && proof.certain, "{}", run.story());
    assert!(proof.failures[0] > 0 || proof.p99[0].value > proof.p99[1].value, "{}", run.story());
    assert_eq!(proof.order.matches('A').count(), proof.pairs as usize, "{}", proof.order);
    verdict
}
