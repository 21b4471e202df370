//! Systems compared: what may be said of made-up records, and what may not.

use genkai_analysis::compare::{findings, is_enough};
use genkai_model::claim::{Claim, LoadTest, Promise, Promised, Test};
use genkai_model::comparison::{Comparison, DroppedContender, Runs};
use genkai_model::error::{ErrorCount, ErrorKind};
use genkai_model::event::{Disconnects, Note, Rewrite, StatusCount, What};
use genkai_model::figure::Figure;
use genkai_model::finding::claim::ClaimVerdict;
use genkai_model::finding::comparison::{ComparisonCaveat, ComparisonFinding, Ended};
use genkai_model::finding::{Call, Outcome};
use genkai_model::histogram::{self, Payload};
use genkai_model::latencies::ContenderRecord;
use genkai_model::load::{Load, Protocol};
use genkai_model::units::Span;
use genkai_model::websocket::WebSocket;

use crate::story::{Does, PLAIN, Story, comparison};
use crate::world::parts::{plan, users};

fn call(finding: &ComparisonFinding, figure: Figure) -> Call {
    finding.pairs[0].effects.iter().find(|effect| effect.figure == figure).unwrap().call
}

#[test]
fn what_a_private_copy_differs_in_stays_with_its_contender() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    let rewrite = Rewrite { place: "/u/squid.conf:3".to_owned(), from: "http_port 80".to_owned(), to: String::new() };
    let entry = ContenderRecord {
        contender: "more".to_owned(),
        version: "squid 5.7".to_owned(),
        settings: Vec::new(),
        rewrites: vec![rewrite.clone()],
        largest: None,
        compression: false,
        started: Span(0),
    };
    story.push(None, What::Contender(Box::new(entry)));
    story.blocks(2, &[("base", PLAIN), ("more", PLAIN)]);
    let subjects = story.findings().contenders;
    assert_eq!((subjects[0].rewrites.as_slice(), subjects[1].rewrites.as_slice()), (&[][..], &[rewrite][..]));
}

/// One that runs already has served more in every block than the one that is not its own control.
#[test]
fn of_what_is_not_restarted_nothing_is_said_that_grows_with_age() {
    for standing in [[true, true], [true, false], [false, true]] {
        let mut plan = comparison(&["a", "b"], false);
        for (one, stands) in plan.contenders.iter_mut().zip(standing) {
            if stands {
                one.runs = Runs::Url("http://127.0.0.1:1".to_owned());
            }
        }
        let mut story = Story::new(plan);
        story.blocks(2, &[("a", PLAIN), ("b", Does { cpu: 1.8, ..PLAIN })]);
        let finding = story.findings();
        for effect in &finding.pairs[0].effects {
            assert_eq!(effect.call == Call::NotJudged, effect.figure.ages(), "{effect:?}");
            assert!(!effect.figure.ages() || effect.effect.is_none(), "{effect:?}");
        }
        let names: Vec<String> =
            ["a", "b"].iter().zip(standing).filter(|(_, stands)| *stands).map(|(name, _)| (*name).to_owned()).collect();
        let told = ComparisonCaveat::NotRestarted { names };
        assert!(finding.caveats.contains(&told), "{:?}", finding.caveats);
        let shown = finding.contenders[1].figures.iter().find(|one| one.figure == Figure::Cpu).unwrap();
        assert!(shown.value.is_some(), "what was seen is shown");
        if standing[0] {
            let control = finding.control.unwrap();
            assert!(control.effects.iter().any(|effect| effect.call == Call::NotJudged), "{control:?}");
        }
    }
}

#[test]
fn pauses_after_failures_are_told_of_who_fails() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    story.touch = |tick| tick.paced = Some(tick.errors.iter().map(|error| error.count).sum());
    story.blocks(2, &[("base", PLAIN), ("more", Does { failed: 3, ..PLAIN })]);
    let finding = story.findings();
    // 25 intervals of each of 2 turns, 3 failures in each.
    let told = ComparisonCaveat::Paced { name: "more".to_owned(), paced: 150 };
    let paced = |caveat: &&ComparisonCaveat| matches!(caveat, ComparisonCaveat::Paced { .. });
    assert_eq!(finding.caveats.iter().filter(paced).collect::<Vec<_>>(), [&told]);
    let own = finding.turns.iter().filter(|turn| turn.contender == "more");
    assert!(own.clone().count() == 2 && own.clone().all(|turn| turn.paced == 75), "{:?}", finding.turns);
}

/// Whoever closes kept connections has no failures by that: how many requests were made again is told beside "no difference in failures".
#[test]
fn requests_that_were_made_again_are_told_of_who_closed_connections() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    story.touch = |tick| tick.retried = tick.errors.iter().map(|error| error.count).sum();
    story.blocks(2, &[("base", PLAIN), ("more", Does { failed: 3, ..PLAIN })]);
    let finding = story.findings();
    let told = ComparisonCaveat::Retried { name: "more".to_owned(), retried: 150 };
    let again = |caveat: &&ComparisonCaveat| matches!(caveat, ComparisonCaveat::Retried { .. });
    assert_eq!(finding.caveats.iter().filter(again).collect::<Vec<_>>(), [&told]);
}

/// Good statuses that stand for errors are no failures for clients: who sent them, and how many, is told beside "no difference in failures".
#[test]
fn good_answers_in_the_place_of_errors_are_told_of_who_sent_them() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    story.blocks(2, &[("base", PLAIN), ("more", Does { hidden: 2, ..PLAIN })]);
    let finding = story.findings();
    let hidden = finding.caveats.iter().filter_map(|caveat| match caveat {
        ComparisonCaveat::HiddenErrors { name, responses, hidden } => Some((name.as_str(), *responses, *hidden)),
        _ => None,
    });
    // 25 intervals of each of 2 turns, and as many responses as the turns have.
    let own = finding.turns.iter().filter(|turn| turn.contender == "more").map(|turn| turn.finished).sum();
    assert_eq!(hidden.collect::<Vec<_>>(), [("more", own, 100)]);
}

/// Who answers otherwise does other work: a redirection, or a page a third as large. Where many requests fail, their bytes tell nothing.
#[test]
fn good_answers_that_are_unlike_are_told_with_their_figures() {
    let told = |small: Does, redirects: bool| {
        let mut story = Story::new(comparison(&["base", "more"], true));
        story.touch = if redirects {
            |tick| {
                let status = if tick.bytes_in < 1_000 * tick.ok { 302 } else { 200 };
                tick.statuses = vec![StatusCount { status, count: tick.ok }];
            }
        } else {
            |tick| tick.statuses = vec![StatusCount { status: 200, count: tick.ok }]
        };
        story.blocks(2, &[("base", PLAIN), ("more", small)]);
        story.findings().caveats.into_iter().find_map(|caveat| match caveat {
            ComparisonCaveat::AnswersUnlike { answers } => {
                Some(answers.into_iter().map(|one| (one.name, one.status, one.bytes)).collect::<Vec<_>>())
            }
            _ => None,
        })
    };
    let sized = |size| Does { size, ..PLAIN };
    let both = |status, bytes| {
        Some(vec![("base".to_owned(), Some(200), Some(1_000.0)), ("more".to_owned(), Some(status), bytes)])
    };
    assert_eq!(told(sized(400), false), both(200, Some(400.0)));
    assert_eq!(told(sized(700), true), both(302, Some(700.0)));
    assert_eq!((told(sized(600), false), told(sized(1_000), true)), (None, None));
    // Of every hundred more than one fails.
    assert_eq!(told(Does { failed: 5, ..sized(400) }, false), None);
    assert_eq!(told(Does { failed: 5, ..sized(400) }, true), both(302, None));
}

/// Responses are as large with the change as without.
#[test]
fn a_compression_that_compresses_nothing_is_no_comparison_of_it() {
    let told = |compression: bool, bytes: [u64; 2]| {
        let mut story = Story::new(comparison(&["base", "more"], true));
        let entry = ContenderRecord {
            contender: "more".to_owned(),
            version: String::new(),
            settings: Vec::new(),
            rewrites: Vec::new(),
            largest: None,
            compression,
            started: Span(0),
        };
        story.push(None, What::Contender(Box::new(entry)));
        story.blocks(2, &[("base", Does { size: bytes[0], ..PLAIN }), ("more", Does { size: bytes[1], ..PLAIN })]);
        story.findings().caveats.into_iter().find(|one| matches!(one, ComparisonCaveat::NotCompressed { .. }))
    };
    let Some(ComparisonCaveat::NotCompressed { name, base, bytes, asked }) = told(true, [1000, 1001]) else { panic!() };
    assert_eq!((name.as_str(), base.as_str(), asked), ("more", "base", false));
    assert!((bytes - 1001.0).abs() < 1.0, "{bytes}");
    assert_eq!((told(true, [1000, 300]), told(false, [1000, 1000])), (None, None));
}

#[test]
fn what_differs_and_what_does_not() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    story.blocks(5, &[("base", PLAIN), ("more", Does { rate: 130.0, failed: 30, ..PLAIN })]);
    let finding = story.findings();
    assert_eq!(call(&finding, Figure::Throughput), Call::Better);
    assert_eq!(call(&finding, Figure::Failures), Call::Worse);
    assert_eq!(call(&finding, Figure::Memory), Call::Same);
    assert_eq!((finding.outcome, finding.ended), (Outcome::Holds, Ended::Early));
    let throughput = finding.pairs[0].effects[1].effect.unwrap();
    assert!((throughput.value / 1.3 - 1.0).abs() < 0.02, "{throughput:?}");
    let worse = ComparisonCaveat::Survivors { name: "more".to_owned() };
    assert!(finding.caveats.contains(&worse), "{:?}", finding.caveats);
    assert!(
        (finding.each - 0.05 * 0.5 / 8.0).abs() < 1e-12,
        "half of the error rate at the first of two looks, 8 figures"
    );
}

#[test]
fn equal_contenders_are_equal_and_their_control_too() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", PLAIN), ("b", PLAIN)]);
    let finding = story.findings();
    for effect in finding.pairs.iter().chain(&finding.control).flat_map(|pair| &pair.effects) {
        assert_eq!(effect.call, Call::Same, "{effect:?}");
    }
    assert_eq!((finding.outcome, finding.ended), (Outcome::Holds, Ended::Early));
    assert_eq!(finding.contenders[0].warm_up, Some(0.0));
}

#[test]
fn it_is_enough_at_a_look_and_not_between() {
    let mut story = Story::new(comparison(&["base", "more"], true));
    let more = Does { rate: 130.0, ..PLAIN };
    story.blocks(4, &[("base", PLAIN), ("more", more)]);
    assert!(!is_enough(&story.record), "no look is planned after four blocks, however clear it is");
    story.turn("base", 5, false, PLAIN);
    story.turn("more", 5, false, more);
    story.turn("base", 5, true, PLAIN);
    assert!(is_enough(&story.record));
    let mut open = Story::new(comparison(&["base", "more"], true));
    for block in 1..=5 {
        // As often better as worse: nobody can tell.
        let rate = if block % 2 == 0 { 60.0 } else { 140.0 };
        open.turn("base", block, false, PLAIN);
        open.turn("more", block, false, Does { rate, ..PLAIN });
    }
    assert!(!is_enough(&open.record));
    let finding = open.findings();
    assert!(matches!(call(&finding, Figure::Throughput), Call::CannotTell { more: Some(1..) | None }), "{finding:?}");
    assert_eq!(finding.outcome, Outcome::Fails);
}

#[test]
fn a_contender_that_differs_from_itself_spoils_it() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    for block in 1..=5 {
        story.turn("a", block, false, PLAIN);
        story.turn("b", block, false, PLAIN);
        story.turn("a", block, true, Does { rate: 150.0, ..PLAIN });
    }
    let finding = story.findings();
    assert_eq!(finding.outcome, Outcome::Invalid);
    assert!(
        matches!(&finding.caveats[0], ComparisonCaveat::ControlDiffers { figures } if figures.contains(&Figure::Throughput))
    );
}

#[test]
fn a_figure_that_decides_nothing_and_differs_from_itself_is_not_spoken_of() {
    let mut plan = comparison(&["a", "b"], true);
    plan.deciding = vec![Figure::Throughput];
    let mut story = Story::new(plan);
    let slow = Does { latency: 2.0 * PLAIN.latency, ..PLAIN };
    for block in 1..=5 {
        story.turn("a", block, false, PLAIN);
        story.turn("b", block, false, slow);
        story.turn("a", block, true, slow);
    }
    let finding = story.findings();
    assert_eq!(finding.outcome, Outcome::Holds, "{finding:?}");
    assert!(
        matches!(&finding.caveats[0], ComparisonCaveat::ControlStrays { figures } if figures.contains(&Figure::P95))
    );
    assert_eq!(call(&finding, Figure::P95), Call::NotJudged);
    assert_eq!(call(&finding, Figure::Throughput), Call::Same);
}

#[test]
fn where_nobody_is_stressed_throughput_decides_nothing() {
    let idle = Does { cpu: 0.1, ..PLAIN };
    let mut only = comparison(&["a", "b"], false);
    only.deciding = vec![Figure::Throughput];
    let mut story = Story::new(only);
    story.blocks(5, &[("a", idle), ("b", Does { rate: 108.0, cpu: 0.108, ..idle })]);
    let finding = story.findings();
    assert!(!finding.stress.anybody);
    assert_eq!(finding.outcome, Outcome::Invalid);
    // What differs for certain is decided, whether it was to decide or not.
    let mut only = comparison(&["a", "b"], false);
    only.deciding = vec![Figure::Throughput];
    let mut slow = Story::new(only);
    slow.blocks(5, &[("a", idle), ("b", Does { latency: 1.3 * PLAIN.latency, ..idle })]);
    let told = slow.findings();
    assert_eq!((told.outcome, call(&told, Figure::P95)), (Outcome::Fails, Call::Worse), "{told:?}");
    let mut slower = Story::new(comparison(&["a", "b"], false));
    slower.blocks(5, &[("a", idle), ("b", Does { latency: 1.2 * PLAIN.latency, rate: 84.0, ..idle })]);
    let told = slower.findings();
    assert_eq!((told.outcome, call(&told, Figure::P95)), (Outcome::Holds, Call::Worse), "latency is decided: {told:?}");
    let busiest = finding.stress.busiest.unwrap();
    assert!((0.09..0.11).contains(&busiest), "{busiest}");
    let mut busy = Story::new(comparison(&["a", "b"], false));
    busy.blocks(5, &[("a", PLAIN), ("b", Does { rate: 108.0, ..PLAIN })]);
    let finding = busy.findings();
    assert!(finding.stress.anybody);
    let throughput = |n: usize| (finding.contenders[n].figures[1].best, finding.contenders[n].figures[1].worst);
    assert_eq!((throughput(0), throughput(1)), ((2, 2), (1, 1)), "the second is first for certain");
}

#[test]
fn two_that_answer_nothing_are_not_equal() {
    let silent = Does { rate: 0.0, failed: 30, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", silent), ("b", silent)]);
    assert!(!is_enough(&story.record), "nothing is decided");
    let finding = story.findings();
    assert_eq!((finding.blocks, finding.outcome), (5, Outcome::Invalid));
    assert!(finding.pairs[0].effects.iter().all(|effect| effect.call == Call::Missing), "{:?}", finding.pairs);
    let unanswered = ComparisonCaveat::Unanswered { base: "a".to_owned(), other: "b".to_owned() };
    assert!(finding.caveats.contains(&unanswered), "{:?}", finding.caveats);
    let mut one = Story::new(comparison(&["a", "b", "c"], true));
    one.blocks(5, &[("a", silent), ("b", silent), ("c", PLAIN)]);
    let finding = one.findings();
    assert_eq!(finding.outcome, Outcome::Fails, "one pair is open, the other is not");
    assert!(finding.caveats.contains(&unanswered), "{:?}", finding.caveats);
    assert_eq!(finding.pairs[1].effects[0].call, Call::Better, "{:?}", finding.pairs[1]);
}

#[test]
fn a_figure_that_decides_and_is_missing_is_open() {
    let deciding = vec![Figure::P95, Figure::Failures];
    let mut story = Story::new(Comparison { deciding, ..comparison(&["a", "b"], true) });
    story.blocks(5, &[("a", PLAIN), ("b", Does { rate: 0.0, failed: 30, ..PLAIN })]);
    let finding = story.findings();
    assert_eq!((call(&finding, Figure::P95), call(&finding, Figure::Failures)), (Call::Missing, Call::Worse));
    assert_eq!(finding.outcome, Outcome::Fails);
}

fn sockets() -> Load {
    Load { protocol: Protocol::WebSocket(WebSocket::default()), ..users(50, 1e9) }
}

#[test]
fn latencies_of_websockets_need_a_client_that_is_in_time() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.load = sockets();
    story.touch = |tick| {
        let mut late = histogram::empty();
        late.record_n(300_000_000, 100).unwrap();
        tick.lateness = Payload::encode(&late);
    };
    story.blocks(2, &[("a", PLAIN), ("b", PLAIN)]);
    let finding = story.findings();
    assert_eq!((finding.blocks, finding.outcome), (0, Outcome::Invalid), "300 ms late, beside latencies of 10 ms");
}

#[test]
fn a_websocket_that_is_cut_with_a_message_under_way_is_one_failure() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.load = sockets();
    story.touch = |tick| {
        // Two are cut that wait for an answer, a third with nothing under way, and one is closed.
        tick.errors = vec![ErrorCount { kind: ErrorKind::ClosedAbnormally, count: 2 }];
        tick.disconnects = Some(Disconnects { closed: 1, cut: 3, ..Disconnects::default() });
    };
    story.blocks(2, &[("a", PLAIN), ("b", PLAIN)]);
    let turn = story.findings().turns[0].clone();
    assert_eq!(turn.failed, 25 * 4, "{turn:?}");
    let ok = |turn: &genkai_model::finding::comparison::TurnFinding| turn.finished - turn.failed;
    assert!(ok(&turn) > 2_000, "{turn:?}");
}

#[test]
fn turns_of_a_spent_generator_do_not_count() {
    let spent = Does { client: 1.0, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", spent), ("b", spent)]);
    let finding = story.findings();
    assert_eq!((finding.blocks, finding.outcome), (0, Outcome::Invalid));
    assert!(
        finding.caveats.iter().any(|c| matches!(c, ComparisonCaveat::ClientLimit { turns: 10, .. })),
        "{:?}",
        finding.caveats
    );
}

#[test]
fn a_warm_up_is_seen_and_left_out() {
    let slow = Does { warm_up: 10, ..PLAIN };
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(5, &[("a", PLAIN), ("b", slow)]);
    let finding = story.findings();
    assert_eq!(finding.contenders[1].warm_up, Some(0.5));
    assert_eq!(call(&finding, Figure::Throughput), Call::Same, "only what is steady counts");
}

#[test]
fn one_block_is_no_comparison() {
    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(1, &[("a", PLAIN), ("b", PLAIN)]);
    let cut = findings(&story.record).unwrap();
    assert_eq!((cut.outcome, cut.ended), (Outcome::Unfinished, Ended::CutOff));
    assert!(cut.caveats.contains(&ComparisonCaveat::RecordCutOff));
}

#[test]
fn advice_is_judged_by_what_it_promises() {
    let promises = [(Figure::Throughput, Promised::Better), (Figure::Failures, Promised::Same)];
    let test = LoadTest {
        changes: vec!["x 1 -> 2".to_owned()],
        load: users(50, 1e9),
        hold: None,
        objective: Default::default(),
        promises: promises.into_iter().map(|(figure, becomes)| Promise { figure, becomes }).collect(),
    };
    let claim = |test| Claim {
        name: "x".to_owned(),
        advice: "more x is faster".to_owned(),
        read: String::new(),
        system: plan(users(1, 1.0), "errors < 0.1%").system,
        test,
    };
    let with = |rate: f64, does: Does| {
        let with = Comparison {
            claim: Some(Box::new(claim(Test::Load(Box::new(test.clone()))))),
            ..comparison(&["a", "b"], true)
        };
        let mut story = Story::new(with);
        story.blocks(5, &[("a", does), ("b", Does { rate, ..does })]);
        *story.findings().claim.unwrap()
    };
    let verdict = |rate: f64| with(rate, PLAIN).verdict;
    let idle = with(108.0, Does { cpu: 0.1, ..PLAIN });
    assert_eq!(idle.verdict, ClaimVerdict::CannotTell, "what was asked is not what they can do: {:?}", idle.kept);
    assert_eq!((idle.kept[0].kept, idle.kept[1].kept), (None, Some(true)), "nobody fails all the same");
    let silent = with(0.0, Does { rate: 0.0, failed: 30, ..PLAIN });
    assert_eq!(silent.verdict, ClaimVerdict::CannotTell, "{:?}", silent.kept);
    assert_eq!((verdict(130.0), verdict(100.0)), (ClaimVerdict::Confirmed, ClaimVerdict::Partly));
    let line =
        Comparison { claim: Some(Box::new(claim(Test::Line("Nonsense On".to_owned())))), ..comparison(&["a"], true) };
    let mut story = Story::new(line);
    let note = Note { id: genkai_analysis::claims::UNKNOWN.to_owned(), text: "Invalid command 'Nonsense'".to_owned() };
    story.push(None, What::Note(note));
    let finding = *story.findings().claim.unwrap();
    assert_eq!((finding.verdict, finding.said.len()), (ClaimVerdict::DoesNotExist, 1));
}

#[test]
fn who_is_out_is_compared_with_nobody_and_the_others_go_on() {
    let plays = |base| {
        let mut story = Story::new(comparison(&["a", "b", "c"], base));
        story.blocks(2, &[("a", PLAIN), ("b", Does { rate: 130.0, ..PLAIN }), ("c", PLAIN)]);
        story.push(
            None,
            What::Dropped(Box::new(DroppedContender { contender: "c".to_owned(), block: 3, why: "no".to_owned() })),
        );
        for block in 3..=5 {
            story.turn("a", block, false, PLAIN);
            story.turn("a", block, true, PLAIN);
            story.turn("b", block, false, Does { rate: 130.0, ..PLAIN });
        }
        story.findings()
    };
    let finding = plays(false);
    assert_eq!((finding.blocks, finding.pairs.len()), (5, 1));
    assert_eq!(call(&finding, Figure::Throughput), Call::Better);
    let ranks: Vec<(bool, u32, u32)> =
        finding.contenders.iter().map(|one| (one.dropped, one.figures[1].best, one.figures[1].worst)).collect();
    assert_eq!(ranks[..2], [(false, 2, 2), (false, 1, 1)], "ranks are those of who plays");
    assert!(ranks[2].0);
    assert_eq!(finding.outcome, Outcome::Fails, "a contender is missing");
    let expected = ComparisonCaveat::Dropped { name: "c".to_owned(), block: 3, why: "no".to_owned() };
    assert!(finding.caveats.contains(&expected), "{:?}", finding.caveats);

    let mut story = Story::new(comparison(&["a", "b"], true));
    story.blocks(1, &[("a", PLAIN), ("b", PLAIN)]);
    assert!(!is_enough(&story.record));
    story.push(
        None,
        What::Dropped(Box::new(DroppedContender { contender: "a".to_owned(), block: 2, why: "no".to_owned() })),
    );
    assert!(is_enough(&story.record), "there is nobody to compare with");
    let finding = story.findings();
    assert!(finding.pairs.is_empty() && finding.control.is_none() && finding.outcome == Outcome::Unfinished);
}
