//! Sentences, terminal text and plan of several verdicts, as snapshots.

mod fixture;

use genkai_report::text::Style;
use genkai_report::{html, study, text};

fn verdict(s: &fixture::Sample, style: Style) -> String {
    text::document(&study::tune(&s.record, &s.findings), style)
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

#[test]
fn the_plan_at_80_columns() {
    let plan = study::plan(&fixture::plan(), &fixture::limits::predictions(), &fixture::environment());
    insta::assert_snapshot!(text::document(&plan, PLAIN));
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
