//! What a setting counts, where that is not users, in words.

use genkai_model::event::Purpose;
use genkai_model::finding::{
    Answered, Caveat, CountedTrial, Counts, Decision, Ladder, MeasuredRung, MetAt, Pairing, Rung, Stop,
};
use genkai_report::{study, text};

use crate::fixture;

const BEFORE: CountedTrial = CountedTrial { trial: 1, value: 2000.0, answered: 1998, lasted: 5.0, rate: 0.0 };
const AFTER: CountedTrial = CountedTrial { trial: 2, value: 4000.0, answered: 3999, lasted: 7.2, rate: 0.0 };

/// The sentences of an experiment whose first change has this caveat and decision.
fn said(counts: Counts, after: Option<CountedTrial>, decision: Decision) -> Vec<String> {
    let mut s = fixture::experiment(1.0);
    let proposed = &mut s.findings.verdict.proposal[0];
    (proposed.change.from, proposed.change.to) = ("2000".to_owned(), "8000".to_owned());
    let setting = proposed.change.setting.clone();
    s.findings.verdict.caveats = vec![Caveat::Counts { setting, counts, before: BEFORE, after }];
    s.findings.verdict.answer = Answered(decision);
    study::sentences(&s.findings, &s.record)
}

#[test]
fn a_change_that_is_used_up_is_told_so_in_the_answer() {
    let enough = Decision::Carried { pairs: Pairing::Enough };
    let all = said(Counts::Requests, Some(AFTER), enough);
    let used =
        "counts requests answered in all, and not users: 8000 is used up after about 7,992 of them, at any load.";
    assert!(all[0].starts_with("Yes: change ") && all[0].ends_with(used), "{}", all[0]);
    let both = "1,998 had been answered within 5 s when everything failed with ";
    let note = all.last().unwrap();
    assert!(note.contains(both) && note.ends_with("By that no value of it lasts for good."), "{note}");
    assert!(said(Counts::Seconds, Some(AFTER), enough)[0].ends_with("8000 is over after about 20 s, at any load."));
    let alone = said(Counts::Requests, None, enough);
    assert!(alone.last().unwrap().contains("nothing failed with the value that was tried"), "{alone:?}");
}

#[test]
fn a_rate_is_told_by_the_second() {
    let rate = |counted: CountedTrial, rate: f64| CountedTrial { rate, ..counted };
    let mut s = fixture::experiment(1.0);
    let setting = s.findings.verdict.proposal[0].change.setting.clone();
    let caveat = |counts| Caveat::Counts {
        setting: setting.clone(),
        counts,
        before: rate(BEFORE, 100.0),
        after: Some(rate(AFTER, 201.0)),
    };
    s.findings.verdict.caveats = vec![caveat(Counts::Rate)];
    let all = study::sentences(&s.findings, &s.record);
    assert!(all[0].ends_with("counts requests a second, and not users."), "{}", all[0]);
    assert!(all.last().unwrap().contains("100 a second were answered with "), "{all:?}");
    s.findings.verdict.caveats = vec![caveat(Counts::Burst)];
    let all = study::sentences(&s.findings, &s.record);
    assert!(all.last().unwrap().contains("1,998 had been answered, and 3,999 with the other value"), "{all:?}");
}

#[test]
fn what_moved_when_failures_begin_did_not_make_no_difference() {
    let all = said(Counts::Burst, Some(AFTER), Decision::Unmoved { by: Stop::Unknown });
    assert!(all[0].contains("carried no larger load, but more requests were answered before they failed"), "{all:?}");
}

#[test]
fn a_proposal_that_is_used_up_had_not_held_before_and_is_what_fails() {
    let mut s = fixture::experiment(1.0);
    let v = &mut s.findings.verdict;
    let setting = v.proposal[0].change.setting.clone();
    (v.proposal[0].change.from, v.proposal[0].change.to) = ("2000".to_owned(), "4000".to_owned());
    let counts =
        Caveat::Counts { setting: setting.clone(), counts: Counts::Requests, before: BEFORE, after: Some(AFTER) };
    v.caveats = vec![counts, Caveat::ProposalFailedInProof];
    v.answer = Answered(Decision::Carried { pairs: Pairing::NotEnough { failed: 3, of: 3, helps: true } });
    let broke = v.causes[0].broke.clone();
    let test = v.causes[0].counterfactual.as_mut().unwrap();
    (test.trial, test.change.setting, test.observed) = (AFTER.trial, setting.clone(), Some(broke.clone()));
    let proposal = v.trials.iter_mut().find(|trial| trial.purpose == Purpose::Proposal).unwrap();
    (proposal.finished, proposal.failed, proposal.broke) = (4_000, 10, Some(broke.clone()));
    let proposed = proposal.trial;
    let met = MetAt { trial: proposed, level: Some(broke.level), rate: 300.0 };
    let rungs = vec![Rung::Measured(MeasuredRung { limit: None, confidence: None, met })];
    v.ladder = Some(Ladder { asked: 1.0, rungs, together: None });
    let all = study::sentences(&s.findings, &s.record);
    let note = all.iter().find(|one| one.contains("The proposal failed in at least one trial of the proof")).unwrap();
    assert!(!note.contains("had held before"), "{note}");
    let shown = text::document(&study::tune(&s.record, &s.findings), text::Style { color: false, width: 200 });
    assert!(shown.contains("= 4000, used up") && shown.contains("after about 3,996 requests, at any load"), "{shown}");
    assert!(!shown.contains("nothing seen names it"), "{shown}");
    // It failed long before.
    let verdict = &mut s.findings.verdict;
    verdict.trials.iter_mut().find(|trial| trial.trial == proposed).unwrap().finished = 500;
    let shown = text::document(&study::tune(&s.record, &s.findings), text::Style { color: false, width: 200 });
    assert!(!shown.contains("= 4000, used up") && shown.contains("nothing seen names it"), "{shown}");
}
