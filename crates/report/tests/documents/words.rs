//! Sentences, terminal text and plan of several verdicts, as snapshots.

use std::collections::BTreeSet;

use genkai_model::event::{Change, Purpose, ServerState, State};
use genkai_model::finding::{
    Answered, Break, Caveat, Confidence, Decision, Ladder, MeasuredPrice, MeasuredRung, MetAt, Moved, Pairing,
    Predicted, PredictedRung, ProvedRung, Rung, RungLimit, Stop, Taken, Together,
};
use genkai_model::limit::Origin;
use genkai_model::load::{Arrivals, Spacing};
use genkai_model::units::{Range, Span};
use genkai_report::text::Style;
use genkai_report::{html, markdown, study, text};

use crate::fixture;

fn verdict(s: &fixture::Sample, style: Style) -> String {
    text::document(&study::tune(&s.record, &s.findings), style)
}

fn sentences(s: &fixture::Sample) -> String {
    study::said(&s.findings, &s.record).into_iter().map(|x| x.text + "\n").collect()
}

const PLAIN: Style = Style { color: false, width: 80 };

#[test]
fn every_story_in_sentences() {
    for (name, s) in fixture::stories::all() {
        let said: Vec<String> =
            study::said(&s.findings, &s.record).iter().map(|x| format!("{}: {}", x.about.label(), x.text)).collect();
        insta::assert_snapshot!(format!("says_{name}"), said.join("\n"));
    }
}

/// A limit that would be raised, if the memory held a larger value.
#[test]
fn a_limit_of_which_memory_holds_no_larger_value_is_told_with_that_reason() {
    let mut s = fixture::experiment(1.0);
    let limit = s.findings.verdict.causes.last().unwrap().limit.clone();
    let bound = |setting: &str| Caveat::MemoryBound {
        setting: setting.to_owned(),
        value: 512.0,
        needed: 771.0,
        bytes: 5e6,
        left_bytes: 1e6,
        group_bytes: Some(64e6),
    };
    s.findings.verdict.answer = Answered(Decision::Unmoved { by: Stop::Untested });
    s.findings.verdict.caveats = vec![bound("another")];
    let headline = |s: &fixture::Sample| study::said(&s.findings, &s.record)[0].text.clone();
    assert!(headline(&s).ends_with("put to the test."), "{}", headline(&s));
    s.findings.verdict.caveats = vec![bound(&limit.setting)];
    assert!(
        headline(&s).ends_with("put to the test: the memory that is left holds no larger value."),
        "{}",
        headline(&s)
    );
}

/// Who is ended by the kernel for want of memory needs more of it, and not another server.
#[test]
fn how_a_server_ended_is_told_where_that_was_seen() {
    let mut s = fixture::stories::died();
    let plain = sentences(&s);
    assert!(plain.contains("In trial 1 the backend died.\n"), "{plain}");
    let detail = "process 7 has ended; the kernel ended processes of its control group, whose memory was used up";
    let state = |state| State { subject: "backend".to_owned(), state, detail: Some(detail.to_owned()) };
    s.record.trials[0].states.push((1_000_000, state(ServerState::Died)));
    let told = sentences(&s);
    assert!(told.contains(&format!("In trial 1 the backend died: {detail}.\n")), "{told}");
    assert!(told.contains(&format!("died under load: {detail}.\n")), "in the headline, too: {told}");
    s.record.trials[0].states[0].1 = state(ServerState::Ready);
    assert_eq!(sentences(&s), plain);
}

/// The place where the next limit was met is that of the trial which the finding names.
#[test]
fn where_the_next_limit_was_reached_is_told_of_the_trial_that_met_it() {
    let mut s = fixture::experiment(1.0);
    let v = &mut s.findings.verdict;
    let next = v.predictions[0].clone();
    v.next = Some(Predicted { value: "768".to_owned(), observed: Some(371.0), ..next });
    let met = |trial: u32, level: f64| Some(MetAt { trial, level: Some(level), rate: 1000.0 });
    v.next_met = met(2, 371.0);
    let told = sentences(&s);
    assert!(told.contains("It was reached at 371 users, beyond the load asked for."), "{told}");
    let v = &mut s.findings.verdict;
    let last = v.trials.iter_mut().rfind(|trial| trial.purpose == Purpose::Proposal).unwrap();
    last.broke = Some(Break { level: 50.0, ..v.causes[0].broke.clone() });
    let number = last.trial;
    s.findings.verdict.next_met = met(number, 50.0);
    let told = sentences(&s);
    assert!(told.contains("It was reached at 50 users (243 clients at once), within the"), "{told}");
}

/// A change that left the system broken at the same load is proposed together with the one that carried it.
#[test]
fn whether_a_change_is_needed_that_carried_nothing_alone_is_not_known() {
    let mut s = fixture::experiment(1.0);
    let v = &mut s.findings.verdict;
    let mut first = v.causes[0].clone();
    let test = first.counterfactual.as_mut().unwrap();
    test.change.setting = "max_fails".to_owned();
    (test.predicted, test.observed) = (None, Some(first.broke.clone()));
    let mut proposed = v.proposal[0].clone();
    proposed.change = test.change.clone();
    v.proposal.insert(0, proposed);
    v.causes.insert(0, first);
    let said = "max_fails put the signs of another limit in its place, at no larger load (whether it is needed beside the other \
                changes was not tried)";
    assert!(sentences(&s).contains(said), "{}", sentences(&s));
    s.findings.verdict.proposal.remove(0);
    assert!(!sentences(&s).contains("was not tried"), "{}", sentences(&s));
}

/// What broke before where it was foretold need not have met another limit: what it met is told of that break.
#[test]
fn of_a_break_before_where_it_was_foretold_no_other_limit_is_said_to_stand_between() {
    let mut s = fixture::experiment(1.0);
    let test = |s: &mut fixture::Sample, at: f64| {
        let test = s.findings.verdict.causes[0].counterfactual.as_mut().unwrap();
        test.moved = Moved::Elsewhere;
        test.observed.as_mut().unwrap().in_flight = at;
    };
    test(&mut s, 300.0);
    assert!(
        sentences(&s).contains("but not as far as to where the formula puts the next limit (359"),
        "{}",
        sentences(&s)
    );
    test(&mut s, 358.9);
    assert!(!sentences(&s).contains("not as far"), "as told, 359 are where 359 were foretold: {}", sentences(&s));
}

/// What was met next where the ladder has it is not denied because the test was held against another limit beyond it.
#[test]
fn of_a_break_where_the_ladder_has_the_next_limit_no_other_place_is_told() {
    let told = |predicted: f64| {
        let mut next = changed("limit_conn.c", ["300", "400"], 300.0);
        if let Rung::Proved(rung) = &mut next {
            rung.limit.predicted = Some(Range { low: predicted, high: predicted });
        }
        let text = with(vec![changed("worker_connections", ["512", "768"], 243.0), next], |s| {
            let test = s.findings.verdict.causes[0].counterfactual.as_mut().unwrap();
            test.moved = Moved::Elsewhere;
            let broke = test.observed.as_mut().unwrap();
            (broke.level, broke.in_flight) = (300.0, 300.0);
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let denied = "but not as far as to where the formula puts the next limit";
    assert!(told(370.0).contains(denied), "{}", told(370.0));
    assert!(!told(299.0).contains("where the formula puts"), "{}", told(299.0));
}

#[test]
fn causes_with_their_evidence() {
    let s = fixture::experiment(1.0);
    let data: serde_json::Value =
        serde_json::from_str(&html::data(None, &study::tune(&s.record, &s.findings))).unwrap();
    let sections = data["document"]["sections"].as_array().unwrap();
    insta::assert_json_snapshot!(sections.iter().find(|section| section["id"] == "evidence").unwrap());
}

#[test]
fn the_verdict_at_80_and_at_40_columns() {
    let s = fixture::experiment(1.0);
    insta::assert_snapshot!("verdict_80", verdict(&s, PLAIN));
    insta::assert_snapshot!("verdict_40", verdict(&s, Style { width: 40, ..PLAIN }));
}

/// A limit of a ladder, `setting = 512`, and where it was met.
fn rung(setting: &str, predicted: Option<f64>) -> RungLimit {
    let range = predicted.map(|at| Range { low: at, high: at });
    let origin = Origin::File { path: "/etc/nginx/sites-enabled/shop.example.conf".into(), line: 7 };
    RungLimit {
        limit: format!("nginx.{setting}"),
        subject: "nginx".to_owned(),
        setting: setting.to_owned(),
        value: "512".to_owned(),
        origin,
        predicted: range,
    }
}

pub(super) fn changed(setting: &str, [from, to]: [&str; 2], level: f64) -> Rung {
    Rung::Proved(Box::new(ProvedRung {
        limit: rung(setting, Some(level)),
        met: MetAt { trial: 1, level: Some(level), rate: 2.5 },
        change: Change {
            product: "nginx".to_owned(),
            setting: setting.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        },
        place: None,
        tested: 2,
        price: None,
        measured: None,
    }))
}

/// The verdict of experiment 1 with this ladder.
pub(super) fn with(rungs: Vec<Rung>, of: impl FnOnce(&mut fixture::Sample)) -> String {
    let mut s = fixture::experiment(1.0);
    let together = Some(Together { trial: 2, held_to: 300.0, pairs: 4, failed: 0 });
    s.findings.verdict.ladder = Some(Ladder { asked: 300.0, rungs, together });
    of(&mut s);
    let text = verdict(&s, PLAIN);
    assert!(text.lines().all(|line| line.chars().count() <= 80 || line.starts_with(['+', '-', ' '])), "{text}");
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
}

#[test]
fn a_ladder_counts_settings_and_says_what_nobody_tried() {
    let beyond = Rung::Predicted(PredictedRung { limit: rung("buffers", Some(250.0)), remedy: None });
    let twice = [changed("slots", ["512", "640"], 243.0), changed("slots", ["640", "768"], 260.0)];
    let second =
        |s: &mut fixture::Sample| s.findings.verdict.trials.iter().position(|one| one.trial == 2).expect("it ran");
    let held = |s: &mut fixture::Sample| {
        let at = second(s);
        s.findings.verdict.trials[at].broke = None;
    };
    let text = with(twice.into_iter().chain([beyond]).collect(), held);
    assert!(text.contains("The change held up to 300 users in trial 2"), "{text}");
    assert!(text.contains("no setting that genkai changes lifts it"), "{text}");
    let two = || vec![changed("slots", ["512", "640"], 243.0), changed("buffers", ["512", "768"], 260.0)];
    assert!(with(two(), held).contains("All 2 changes together held up to 300 users in trial 2"));
    // A trial that broke did not hold there.
    let text = with(two(), |s| {
        let at = second(s);
        s.findings.verdict.trials[at].broke = s.findings.verdict.trials[0].broke.clone();
    });
    assert!(text.contains("All 2 changes together broke at 300 users in trial 2"), "{text}");
}

#[test]
fn a_ladder_says_what_was_seen_of_memory_where_no_formula_tells() {
    let Rung::Proved(mut rung) = changed("workers", ["2", "8"], 20.0) else { panic!("it is proved") };
    let taken = |trial, memory| Taken { trial, clients: 20.0, memory, descriptors: 40.0 };
    let (before, after) = (taken(1, 64.0 * 1_048_576.0), taken(2, 160.0 * 1_048_576.0));
    rung.measured = Some(MeasuredPrice { before, after, left: 4e9, grew: None });
    let text = with(vec![Rung::Proved(rung)], |_| {});
    assert!(text.contains("memory: 64 MiB with 20 clients → 160 MiB with 20 clients (seen)"), "{text}");
}

#[test]
fn a_limit_that_did_not_come_again_is_told_with_what_was_changed_of_it() {
    let limit = Some(rung("worker_connections", Some(243.0)));
    let met = MetAt { trial: 1, level: Some(243.0), rate: 2.5 };
    let met = || Rung::Measured(MeasuredRung { limit: limit.clone(), confidence: Some(Confidence::Possible), met });
    let text = with(vec![met()], |s| {
        s.findings.verdict.answer = Answered(Decision::Carried { pairs: Pairing::NotReproduced { of: 4 } });
    });
    let said = "worker_connections from 512 to 768 (not proved: it held without it, too)";
    assert!(text.contains(said) && !text.contains("not lifted"), "{text}");
    assert!(with(vec![met()], |_| {}).contains("not lifted (possibly this)"));
}

#[test]
fn what_the_proof_contradicts_is_neither_confirmed_nor_said_to_help() {
    let contradicted = Pairing::Contradicted { held: 2, failed: 2, of: 3, helps: false };
    let not_enough = Pairing::NotEnough { failed: 3, of: 3, helps: false };
    let first = "in the proof the objective held without it in 2 of 3 trials and failed with it in 2 of 3.";
    let second = "carried the load in the search, but not in the proof: the objective failed in 3 of 3 trials with it";
    for (pairs, said) in [(contradicted, first), (not_enough, second)] {
        let text = with(vec![changed("slots", ["512", "640"], 243.0)], |s| {
            s.findings.verdict.answer = Answered(Decision::Carried { pairs });
            let cause = &mut s.findings.verdict.causes[0];
            cause.confidence = Confidence::Possible;
            if let Some(test) = &mut cause.counterfactual {
                test.observed = None;
            }
        });
        assert!(!text.contains("held without the change"), "{text}");
        assert!(text.contains(said) && text.contains("The cause is not confirmed: in the proof"), "{text}");
        for words in ["is confirmed", "is not enough", "(proved)", "helps"] {
            assert!(!text.contains(words), "{words}: {text}");
        }
    }
}

/// What stands behind is said to be the limit where more than chance speaks for it.
#[test]
fn what_is_only_possible_behind_the_server_is_not_said_to_be_the_limit() {
    let said = |confidence: Confidence| {
        with(vec![changed("slots", ["512", "640"], 243.0)], |s| {
            s.findings.verdict.answer =
                Answered(Decision::Unmoved { by: Stop::Backend { likely: confidence == Confidence::Likely } });
            let cause = &mut s.findings.verdict.causes[0];
            cause.evidence.clear();
            (cause.confidence, cause.limit.subject, cause.limit.law) =
                (confidence, "redis".to_owned(), genkai_model::limit::Law::Unknown);
        })
    };
    let (likely, possible) = (said(Confidence::Likely), said(Confidence::Possible));
    assert!(likely.contains("nginx is not the limit, "), "{likely}");
    assert!(!possible.contains("is not the limit") && !possible.contains("Probably not"), "{possible}");
    assert!(possible.contains("may be the limit, and nothing tells that it is"), "{possible}");
}

#[test]
fn a_small_rate_is_not_called_the_first_request() {
    let small = |level: f64| vec![changed("rate", ["20r/m", "60r/m"], level)];
    let open = |s: &mut fixture::Sample| {
        let Some(head) = &mut s.record.head else { panic!("it has one") };
        head.plan.load.arrivals =
            Arrivals::Rate { per_second: 2.0, ramp: Span::from_secs(60), spacing: Spacing::Uniform, connections: 10 };
    };
    let text = with(small(1.0 / 3.0), open);
    assert!(text.contains("predicted at: 0.333 planned requests/s met at: 0.333 planned requests/s"), "{text}");
    // What lets nobody pass fails from the first request on; so does a trial of which all failed.
    assert!(with(small(0.0), open).contains("predicted at: the first request met at: the start of the load"));
    let text = with(small(1.0), |s| {
        let first = &mut s.findings.verdict.trials[0];
        first.failed = first.finished;
    });
    assert!(text.contains("met at: the first request"), "{text}");
}

#[test]
fn what_broke_later_at_the_same_load_did_not_begin_with_it() {
    let said = |at: f64| {
        let mut s = fixture::experiment(1.0);
        let broke = &mut s.findings.verdict.causes[0].broke;
        (broke.level, broke.in_flight, broke.at, broke.later) = (1.0, 1.0, at, None);
        verdict(&s, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(said(0.0).contains("From the start of the load on"), "{}", said(0.0));
    assert!(said(5.0).contains("At 1 user") && !said(5.0).contains("start of the load on"), "{}", said(5.0));
}

#[test]
fn the_plan_at_80_columns() {
    let plan = study::plan(&fixture::plan(), &fixture::limits::predictions(), &fixture::environment());
    insta::assert_snapshot!(text::document(&plan, PLAIN));
}

#[test]
fn markdown_has_every_figure_of_the_terminal() {
    let numbers = |text: &str| -> BTreeSet<String> {
        let parts = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
        parts.map(|part| part.trim_matches(['.', ',']).to_owned()).filter(|part| !part.is_empty()).collect()
    };
    let all = fixture::stories::all().into_iter().chain([("experiment", fixture::experiment(1.0))]);
    for (name, s) in all {
        let shown = numbers(&markdown(&study::tune(&s.record, &s.findings)).replace('\\', ""));
        let terminal = verdict(&s, Style { width: 10_000, ..PLAIN });
        let titled = terminal.split_once('\n').map_or("", |(_, rest)| rest);
        let lacking: Vec<String> = numbers(titled).difference(&shown).cloned().collect();
        assert!(lacking.is_empty(), "{name}: {lacking:?}");
    }
    let s = fixture::experiment(1.0);
    let noted = "The private copy listens on 127.0.0.1 only";
    assert!(markdown(&study::tune(&s.record, &s.findings)).contains(noted));
}

#[test]
fn no_story_is_wider_than_asked_or_carries_a_control_character() {
    for (name, s) in fixture::stories::all() {
        for width in [20, 40, 60, 80, 132] {
            let shown = verdict(&s, Style { color: false, width });
            for line in shown.lines() {
                assert!(line.chars().count() <= width.max(20) || line.starts_with(['+', '-', ' ']), "{name}: {line}");
                assert!(!line.chars().any(char::is_control), "{name}: {line:?}");
            }
        }
    }
}

#[test]
fn colour_says_nothing_that_words_do_not() {
    let s = fixture::experiment(1.0);
    let coloured = verdict(&s, Style { color: true, width: 80 });
    assert!(coloured.contains('\x1b'));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some(i) = rest.find('\x1b') {
        plain.push_str(&rest[..i]);
        rest = &rest[i + rest[i..].find('m').expect("a style ends") + 1..];
    }
    plain.push_str(rest);
    // A painted label may keep spaces that a bare one has trimmed.
    let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
    assert_eq!(trimmed.join("\n") + "\n", verdict(&s, PLAIN));
}

/// The processes that made the loads of all parts of an experiment are told once, in every form, and who was a load's limit.
#[test]
fn an_experiment_that_several_machines_loaded_names_them() {
    let one = serde_json::json!({"place": "load1", "loads": 9, "saturated": 2, "clock_uncertainty": 0.0005, "clock_drift": 0.000004,
        "began": 0.001, "busiest": 0.97});
    let value = serde_json::json!({"schema": genkai_model::suite::SCHEMA, "title": "apache-websocket", "parts": [], "processes": [one]});
    let all: genkai_model::suite::SuiteFinding = serde_json::from_value(value).unwrap();
    let document = study::suite(&fixture::experiment(2.0).record.head.unwrap(), &all);
    let text = text::document(&document, PLAIN).split_whitespace().collect::<Vec<_>>().join(" ");
    let page = html::data(None, &document);
    for part in ["had begun at most 1.5 ms after its start", "process 1 on load1: 9 loads", "its clock known to 500 µs"]
    {
        assert!(text.contains(part) && page.contains(part), "{part}\n{text}");
    }
    assert!(page.contains("Process 1 on load1 was the limit of 2 of 9 loads that it had a part in"), "{page}");
    assert!(serde_json::to_string(&all).unwrap().contains("\"place\":\"load1\""));
}
