//! What is told where a place or an order is not known.

use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::Purpose;
use genkai_model::finding::{Again, Answered, Caveat, Confidence, Decision, MoreTries, Moved, Stop, Unchanged};
use genkai_report::{html, study};

use super::files::tuned;
use crate::fixture;
use crate::words::with;

#[test]
fn which_of_two_limits_comes_first_is_not_told_where_nobody_knows() {
    let text = with(Vec::new(), |s| {
        let v = &mut s.findings.verdict;
        let mut other = v.next.clone().expect("a next limit");
        (other.setting, other.value) = ("buffers".to_owned(), "15".to_owned());
        v.next_or = vec![other];
    });
    assert!(text.contains("It cannot be told whether nginx's buffers = 15 (predicted at"), "{text}");
    assert!(text.contains("may be met before it."), "{text}");
    assert!(!with(Vec::new(), |_| {}).contains("may be met before it"));
}

#[test]
fn a_break_before_which_nothing_was_answered_is_told_with_so_many_or_fewer() {
    let told = |or_fewer: bool| with(Vec::new(), move |s| s.findings.verdict.causes[0].broke.or_fewer = or_fewer);
    assert!(told(true).contains("243 users or fewer"), "{}", told(true));
    assert!(!told(false).contains("or fewer"));
}

#[test]
fn failures_of_which_the_objective_says_nothing_stand_beside_the_answer() {
    let told = |objective: &str, failed: u64| {
        let mut sample = fixture::stories::holds();
        sample.record.head.as_mut().unwrap().plan.objective = objective.parse().unwrap();
        let trial = &mut sample.findings.verdict.trials[0];
        (trial.failed, trial.finished) = (failed, 1_000);
        tuned(&sample).headline
    };
    let said = told("p99 < 300ms", 410);
    assert_eq!(
        said,
        "No change needed: `p99 < 300ms` held at 300 users, but 410 of 1,000 requests failed, of which that says nothing.",
        "{said}"
    );
    assert!(!told("p99 < 300ms", 3).contains("failed"));
    assert!(!told("p99 < 300ms, errors < 50%", 410).contains("failed"));
}

/// A proxy between the clients and who speaks WebSocket passes frames on, and makes none.
#[test]
fn close_frames_are_not_said_to_be_the_proxys() {
    let told = |kind: ErrorKind| {
        with(Vec::new(), move |s| {
            let broke = &mut s.findings.verdict.causes[0].broke;
            broke.condition = "disconnects < 0.1%".to_owned();
            broke.errors = vec![ErrorCount { kind, count: 40 }];
        })
    };
    let closed = told(ErrorKind::Closed);
    assert!(closed.contains("saw open WebSockets closed by close frames") && !closed.contains("cut"), "{closed}");
    let cut = told(ErrorKind::ClosedAbnormally);
    assert!(cut.contains("cut open WebSockets"), "{cut}");
}

/// The status that a limit answers is told of it, and not one that more requests were answered with by somebody else.
#[test]
fn what_a_limit_answers_is_told_of_it_although_more_failed_otherwise() {
    let text = with(Vec::new(), |s| {
        let cause = &mut s.findings.verdict.causes[0];
        cause.limit.symptom.errors = vec![ErrorKind::Status503];
        let count = |kind, count| ErrorCount { kind, count };
        cause.broke.errors = vec![count(ErrorKind::Status500, 176), count(ErrorKind::Status503, 59)];
    });
    assert!(text.contains("nginx answered 503 (Service Unavailable)"), "{text}");
    assert!(text.contains("More failed otherwise: 176 x status 500"), "{text}");
}

#[test]
fn a_limit_whose_test_was_spoilt_is_told_to_have_been_tried() {
    let told = |valid: bool, others: bool| {
        let mut s = fixture::experiment(1.0);
        let v = &mut s.findings.verdict;
        v.answer = Answered(Decision::Unmoved { by: Stop::OtherPrograms });
        v.causes.truncate(1);
        (v.causes[0].confidence, v.causes[0].counterfactual) = (Confidence::Likely, None);
        let trial = v.trials.iter_mut().find(|one| one.purpose == Purpose::Counterfactual).expect("a test");
        trial.client.valid = valid;
        let of = Caveat::OtherPrograms { trial: trial.trial, busy: 1.5, of: 2.0 };
        v.caveats = if others { vec![of] } else { Vec::new() };
        html::page(None, &study::tune(&s.record, &s.findings))
    };
    let begins = "likely: the evidence speaks for it; it was put to the test in trial 2, which says nothing of it";
    for (valid, others, why) in [
        (true, true, ": other programs used most of the machine's processor time then"),
        (false, false, ": the generator was the limit then"),
        (true, false, ""),
    ] {
        let page = told(valid, others);
        assert!(page.contains(&format!("{begins}{why}")) && !page.contains("was not put to the test"), "{why}");
    }
}

#[test]
fn why_a_change_was_tried_on_is_told_with_how_often() {
    let mut s = fixture::experiment(1.0);
    let cause = &mut s.findings.verdict.causes[0];
    cause.confidence = Confidence::Refuted;
    let test = cause.counterfactual.as_mut().expect("a test");
    let more = MoreTries { ended: true, apart: false, with: 3, without: 4 };
    let (unchanged, failures) = (Some(Unchanged { trial: 1 }), None);
    (test.moved, test.again) =
        (Moved::Not, Some(Again { trial: 2, unchanged, later: false, failures, more: Some(more) }));
    let page = html::page(None, &study::tune(&s.record, &s.findings));
    let said = "; both were tried on, since failures ended by themselves while the load was no smaller, as what fails at moments of its own does: of 3 \
                trials with it and 4 without, not each one with it broke later than each one without.";
    assert!(page.contains(said), "{:?}", study::sentences(&s.findings, &s.record));
}
