//! A limit that was lifted in a trial which does not tell what that did.

use genkai_model::event::Purpose;
use genkai_model::finding::{Cause, Caveat, Confidence, TrialFinding, Verdict};

use crate::words;

/// How sure a cause is, in words; that it was put to the test, where a trial did that and does not tell.
pub(super) fn confidence(v: &Verdict, cause: &Cause) -> String {
    let sure = match cause.confidence {
        Confidence::Possible => "possible: it fits, and nothing more",
        Confidence::Likely => "likely: the evidence speaks for it",
        Confidence::Proved | Confidence::Refuted => return words::confidence(cause.confidence).to_owned(),
    };
    let Some(trial) = test(v, cause) else { return words::confidence(cause.confidence).to_owned() };
    let others = |caveat: &Caveat| matches!(caveat, Caveat::OtherPrograms { trial: of, .. } if *of == trial.trial);
    let why = match () {
        () if !trial.client.valid => ": the generator was the limit then",
        () if v.caveats.iter().any(others) => ": other programs used most of the machine's processor time then",
        () if trial.finished == 0 => ": no request came to an end in it",
        () => "",
    };
    format!("{sure}; it was put to the test in trial {}, which says nothing of it{why}", trial.trial)
}

/// The last trial after the break in which the setting of a cause was changed, of which nothing is told.
fn test<'v>(v: &'v Verdict, cause: &Cause) -> Option<&'v TrialFinding> {
    let setting = &cause.limit.remedy.as_ref().filter(|_| cause.counterfactual.is_none())?.setting;
    let told = |trial: u32| v.causes.iter().any(|c| c.counterfactual.as_ref().is_some_and(|test| test.trial == trial));
    let is_it = |trial: &&TrialFinding| {
        let changes = trial.changes.iter().any(|change| change.setting == *setting);
        trial.purpose == Purpose::Counterfactual && trial.trial > cause.trial && changes && !told(trial.trial)
    };
    v.trials.iter().rev().find(is_it)
}
