//! Contenders that leave requests without an answer, as they are told.

use genkai_model::figure::Figure;
use genkai_model::finding::comparison::ComparisonCaveat;
use genkai_model::finding::{Call, Effect, OneSided};
use genkai_report::{html, markdown, text};

use crate::compare::{document, finding, says};

/// A bound is told as one, wherever a figure is told.
#[test]
fn what_has_no_answer_is_told_and_bounds_are_no_measurements() {
    let mut left = finding();
    let other = left.contenders[1].name.clone();
    let bounded = |figure, bound, call| Effect { figure, effect: None, bound, call };
    let effects = &mut left.pairs[0].effects;
    effects[3] = bounded(Figure::P95, Some(OneSided::MoreThan(154.3)), Call::Worse);
    effects[4] = bounded(Figure::P99, Some(OneSided::MoreThan(0.7)), Call::CannotTell { more: None });
    effects[5] = bounded(Figure::Max, None, Call::CannotTell { more: None });
    left.comparison.deciding = vec![Figure::P95, Figure::P99];
    let longest = &mut left.contenders[1].figures[3];
    (longest.value, longest.bound) = (None, Some(OneSided::MoreThan(9.8)));
    left.caveats = vec![
        ComparisonCaveat::LeftUnanswered {
            name: other.clone(),
            unanswered: 969,
            planned: 2_449,
            longest: 12.5,
            patience: 10.0,
            judged: Some(489),
        },
        ComparisonCaveat::NothingAnswered { name: other, turns: 2 },
    ];
    let said = says(&left);
    assert!(said[0].contains("worse in p95 latency more than x154, memory"), "{said:?}");
    assert!(said[0].contains("cannot tell about p50 latency, p99 latency, a turn's longest latency."), "{said:?}");
    assert!(said.iter().any(|one| one.contains("takes longer turns (--hold)")), "{said:?}");
    let unanswered =
        said.iter().find(|one| one.contains("969 of 2,449 requests had no answer when its turns ended")).unwrap();
    assert!(
        unanswered.contains("up to 12.5 s. Its failures are of the 489 that were planned early enough"),
        "{unanswered}"
    );
    assert!(unanswered.contains("wait for longer than 10 s."), "{unanswered}");
    assert!(said.iter().any(|one| one.contains("in 2 turns nothing was answered well")), "{said:?}");
    let document = document(&left);
    let all = [html::page(None, &document), markdown(&document), text::document(&document, text::Style::default())];
    for told in all {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("969 of 2,449 requests had no answer"), "{told}");
        assert!(told.contains("more than 9.8 s") && told.contains("cannot tell: answers are missing"), "{told}");
    }
}
