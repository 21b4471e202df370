//! What leaving out directives showed, in words.

use genkai_model::event::{Directive, Trying};
use genkai_model::finding::{Answer, Answered, Bisected, BisectionEnd, Decision};
use genkai_model::limit::Origin;
use genkai_model::units::Span;
use genkai_report::text::Style;
use genkai_report::{study, text};

use crate::fixture;

fn verdict(s: &fixture::Sample) -> String {
    let text = text::document(&study::tune(&s.record, &s.findings), Style { color: false, width: 80 });
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A search that ended so, with these named, and whether they protect something.
fn bisected<'n>(ended: BisectionEnd, named: impl IntoIterator<Item = (&'n str, bool)>) -> Bisected {
    let one = |(text, protects): (&str, bool)| Directive { text: text.into(), origin: Origin::Given, protects };
    Bisected {
        directives: 9,
        tried: 5,
        refused: 0,
        altered: 1,
        kept: 0,
        tried_by: Trying::Load { level: 5.0, ramp: Span::from_millis(500), hold: Span::from_secs(2), within: None },
        budget: Span::from_secs(60),
        named: named.into_iter().map(one).collect(),
        ended,
        compared: true,
    }
}

/// That a set failed again, or that all held, is said only where it was seen.
#[test]
fn how_a_search_ended_is_told_as_it_was_seen() {
    let said = |ended: BisectionEnd, named: &[&str]| {
        let mut s = fixture::experiment(1.0);
        s.findings.verdict.bisection = Some(bisected(ended, named.iter().map(|text| (*text, false))));
        verdict(&s)
    };
    let (one, two) = (&["gzip on"][..], &["gzip on", "sub_filter a b"][..]);
    let again = |named| said(BisectionEnd::NotReproduced, named);
    assert!(
        again(one).contains("it did not fail with all in place, or did not hold without it: nothing is proved"),
        "{}",
        again(one)
    );
    assert!(
        again(two).contains("it did not fail with all in place, or did not hold without them: nothing is proved"),
        "{}",
        again(two)
    );
    let open = |named| said(BisectionEnd::Undecided, named);
    assert!(open(one).contains("whether it does so again could not be told"), "{}", open(one));
    assert!(open(one).contains("it may be innocent, and nothing is proved"), "{}", open(one));
    assert!(
        open(two).contains("whether it does so again, or all of them are needed for that, could not be told"),
        "{}",
        open(two)
    );
    let unsteady = said(BisectionEnd::Unsteady, &[]);
    assert!(unsteady.contains("a request alone was not answered as it should be, where others had been"), "{unsteady}");
    assert!(unsteady.contains("(1 not answered as requests should be)"), "{unsteady}");
}

/// What a short load does not tell is said beside what it does.
#[test]
fn what_was_not_compared_and_how_long_was_waited_is_told_in_the_answer() {
    let said = |compared: bool, within: Option<Span>| {
        let mut s = fixture::experiment(1.0);
        let found = bisected(BisectionEnd::Proved, [("rewrite ^/$ /slow break", false)]);
        let tried_by = Trying::Load { level: 5.0, ramp: Span(0), hold: Span::from_secs(2), within };
        s.findings.verdict.bisection = Some(Bisected { compared, tried_by, ..found });
        s.findings.verdict.answer = Answered(Decision::Bisected);
        verdict(&s)
    };
    let text = said(false, Some(Span::from_secs(2)));
    assert!(text.contains("Whether without it the same page is answered is not certain"), "{text}");
    assert!(text.contains("with it it fails at 5 users, each answer waited for 2s at most."), "{text}");
    let text = said(true, None);
    assert!(!text.contains("is not certain") && !text.contains("waited for"), "{text}");
    let mut s = fixture::experiment(1.0);
    s.findings.verdict.bisection = Some(bisected(BisectionEnd::Chance, [("gzip on", false)]));
    let text = verdict(&s);
    assert!(text.contains("may have by chance: nothing is proved") && !text.contains("Yes: change `gzip"), "{text}");
}

/// Whoever is let in by a change is let in to what was protected: that is named, and never proposed.
#[test]
fn an_access_control_is_named_and_not_proposed_to_be_taken_out() {
    let said = |guards: [bool; 2], decision: Decision| {
        let mut s = fixture::experiment(1.0);
        let named = ["auth_request /auth", "gzip on"].into_iter().zip(guards);
        s.findings.verdict.bisection = Some(bisected(BisectionEnd::Proved, named));
        s.findings.verdict.answer = Answered(decision);
        (decision.must_change(), verdict(&s))
    };
    let (answer, text) = said([true, false], Decision::Guarded);
    assert_eq!(answer, Answer::CannotTell);
    assert!(
        text.contains(
            "Cannot tell what to change: what requests meet is `auth_request /auth`, beside `gzip on`: without them"
        ),
        "{text}"
    );
    assert!(text.contains("But it may protect something, and genkai does not propose to take that out"), "{text}");
    assert!(!text.contains("Yes: change"), "{text}");
    let (answer, text) = said([false, false], Decision::Bisected);
    assert!(answer == Answer::Yes && text.contains("Yes: change these 2 directives"), "{text}");
}
