//! Contenders that leave requests without an answer: what may be said of them, and what may not.

use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparedFigure, ComparisonCaveat, ComparisonFinding};
use genkai_model::finding::{Call, Effect, OneSided};
use genkai_model::load::Arrivals;
use genkai_model::units::Span;

use crate::story::{Does, PLAIN, Story, comparison};
use crate::world::parts::rate;

/// Twice as fast as [`PLAIN`], as far as it answers.
const FAST: Does = Does { latency: 5.0, ..PLAIN };

/// Turns of 1.25 s beside the base, of which an answer is waited for as long.
fn beside(base: Does, other: Does, patience_ms: u64) -> ComparisonFinding {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.load.timeout = Span::from_millis(patience_ms);
    story.blocks(5, &[("a", base), ("b", other)]);
    story.findings()
}

fn effect(finding: &ComparisonFinding, figure: Figure) -> &Effect {
    finding.pairs[0].effects.iter().find(|effect| effect.figure == figure).unwrap()
}

fn shown(finding: &ComparisonFinding, figure: Figure) -> &ComparedFigure {
    finding.contenders[1].figures.iter().find(|one| one.figure == figure).unwrap()
}

fn left(finding: &ComparisonFinding) -> Option<(u64, u64, Option<u64>)> {
    finding.caveats.iter().find_map(|caveat| match caveat {
        ComparisonCaveat::LeftUnanswered { unanswered, planned, judged, .. } => Some((*unanswered, *planned, *judged)),
        _ => None,
    })
}

/// Whatever part gets no answer: its interval of failures holds that part, and no latency is better that these alone could make worse.
#[test]
fn the_part_without_an_answer_is_in_the_interval_and_decides_latencies() {
    for held in [1, 2, 5, 11, 25, 67] {
        let part = held as f64 / (100.0 + held as f64);
        let finding = beside(PLAIN, Does { held, ..FAST }, 500);
        let failures = shown(&finding, Figure::Failures).value.unwrap();
        let inside = failures.interval.low <= 1.15 * part && 0.85 * part <= failures.interval.high;
        assert!(inside, "{held} held of {}: {failures:?}", 100 + held);
        let seen = effect(&finding, Figure::Failures).effect.unwrap().interval;
        assert!(seen.low <= 1.15 * part && 0.85 * part <= seen.high, "{held}: {seen:?}");
        for (figure, behind) in [(Figure::P50, 0.5), (Figure::P95, 0.05), (Figure::P99, 0.01), (Figure::Max, 0.0)] {
            let (effect, shown) = (effect(&finding, figure), shown(&finding, figure));
            if part > 1.3 * behind {
                assert_eq!((effect.call, effect.effect), (Call::Worse, None), "{figure} with {held}");
                assert!(matches!(effect.bound, Some(OneSided::MoreThan(ratio)) if ratio > 1.5), "{effect:?}");
                assert!(shown.value.is_none() && matches!(shown.bound, Some(OneSided::MoreThan(_))), "{shown:?}");
            } else if part < 0.7 * behind {
                assert_eq!((effect.call, effect.bound), (Call::Better, None), "{figure} with {held}");
            } else {
                assert!(effect.call != Call::Same, "{figure} with {held}: {effect:?}");
            }
        }
        let (unanswered, planned, judged) = left(&finding).unwrap();
        assert_eq!(unanswered, 5 * 25 * held);
        assert!(planned > 5 * 25 * (80 + held) && judged.is_some_and(|judged| judged < planned * 2 / 3), "{finding:?}");
        assert!(
            finding.turns.iter().all(|turn| turn.due == (turn.contender == "b").then_some(0.5)),
            "{:?}",
            finding.turns
        );
    }
}

/// The same from the side of the base: it cannot be better to be beside one whose answers are missing than they allow.
#[test]
fn a_base_whose_answers_are_missing_is_slower_than_its_bound() {
    let finding = beside(Does { held: 11, ..PLAIN }, PLAIN, 500);
    let p95 = effect(&finding, Figure::P95);
    assert_eq!(p95.call, Call::Better);
    assert!(matches!(p95.bound, Some(OneSided::LessThan(ratio)) if ratio < 0.7), "{p95:?}");
    let both = beside(Does { held: 11, ..PLAIN }, Does { held: 5, ..PLAIN }, 500);
    assert_eq!(effect(&both, Figure::Max).call, Call::CannotTell { more: None }, "nothing is known of two bounds");
}

/// A turn that is shorter than patience: whether they fail is not known, that they are late is.
#[test]
fn of_turns_shorter_than_patience_no_failures_are_told() {
    let finding = beside(PLAIN, Does { held: 67, ..FAST }, 10_000);
    assert!(!matches!(effect(&finding, Figure::Failures).call, Call::Better | Call::Worse | Call::Same), "{finding:?}");
    assert_eq!(shown(&finding, Figure::Failures).value, None);
    assert_eq!(effect(&finding, Figure::P95).call, Call::Worse);
    assert_eq!(left(&finding).unwrap().0, 5 * 25 * 67);
}

/// A part of the answers of a contender that carries the rate takes more than half of a turn: at the end as many are on their way as came too late
/// to be seen at the beginning, and it does no less for that.
#[test]
fn what_takes_half_of_a_turn_of_a_rate_is_no_less_throughput() {
    let of = |is_open: bool| {
        let mut story = Story::new(comparison(&["a", "b"], true));
        if is_open {
            story.load = rate(2_000.0, 0, 1_000);
            if let Arrivals::Rate { ramp, .. } = &mut story.load.arrivals {
                *ramp = Span::from_millis(400);
            }
        }
        story.blocks(5, &[("a", Does { cpu: 0.2, ..PLAIN }), ("b", Does { rate: 75.0, late: 25, cpu: 0.2, ..PLAIN })]);
        let told = effect(&story.findings(), Figure::Throughput).clone();
        (told.call == Call::Worse, told.effect.unwrap().value)
    };
    let (worse, ratio) = of(true);
    assert!(!worse && ratio > 0.96, "{ratio}");
    assert!(of(false).1 < 0.94, "users ask again only once they were answered: {}", of(false).1);
}

/// Requests on their way are as those before them.
#[test]
fn who_is_on_the_way_is_not_left() {
    let finding = beside(PLAIN, FAST, 500);
    assert_eq!(left(&finding), None);
    assert!(finding.turns.iter().all(|turn| turn.due.is_none() && turn.bounds.is_empty()));
    assert_eq!(effect(&finding, Figure::P99).call, Call::Better);
}

#[test]
fn nothing_answered_is_no_ratio() {
    let finding = beside(PLAIN, Does { until: 0, ..PLAIN }, 500);
    let throughput = effect(&finding, Figure::Throughput);
    assert_eq!((throughput.call, throughput.effect), (Call::Missing, None));
    assert_eq!(shown(&finding, Figure::Throughput).value, None);
    let told = ComparisonCaveat::NothingAnswered { name: "b".to_owned(), turns: 5 };
    assert!(finding.caveats.contains(&told), "{:?}", finding.caveats);
    assert!(finding.turns.iter().filter(|turn| turn.contender == "b").all(|turn| turn.values[1] == Some(0.0)));
    assert_eq!(effect(&finding, Figure::P50).call, Call::Worse);
    assert!(matches!(shown(&finding, Figure::P50).bound, Some(OneSided::MoreThan(bound)) if bound > 1.0));
}
