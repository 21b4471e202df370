//! Words are made of statements: every number that is said changes with the figures that it shows, and stands beside the name of whom
//! it is of.
//!
//! Findings of committed records are changed, one figure at a time, and told again. A few small records by a seed; all of them with
//! `GENKAI_SAID=all` (minutes).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use genkai_report::{markdown, text};
use serde_json::Value as Json;

use crate::harness;
use crate::harness::perturbed::{Outputs, of, texts, told};
use crate::harness::recorded::{judged, records};
use crate::harness::sources::{self, Follows, Number};
use crate::harness::words::numbers;

/// Largest record of the sample, bytes.
const SMALL: u64 = 100_000;
/// Records in the sample.
const SAMPLE: usize = 4;

/// The committed records with events.
fn all() -> Vec<PathBuf> {
    let mut all = judged(&records());
    all.retain(|folder| folder.join("run.jsonl").exists());
    all.sort();
    all
}

/// Those that are looked at: a few small ones that the seed of the property tests picks, or all.
fn chosen() -> Vec<PathBuf> {
    if std::env::var("GENKAI_SAID").is_ok_and(|said| said == "all") {
        return all();
    }
    let small = |folder: &PathBuf| fs::metadata(folder.join("run.jsonl")).unwrap().len() < SMALL;
    let mut some: Vec<PathBuf> = all().into_iter().filter(small).collect();
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse::<usize>().ok()).unwrap_or(1);
    let from = seed % some.len();
    some.rotate_left(from);
    some.truncate(SAMPLE);
    some
}

/// Fields of a finding that quote numbers: what is configured, computed by a formula from that, or was written by a server or its user.
const QUOTED: [&str; 30] = [
    "advice",
    "caps",
    "changes",
    "condition",
    "example",
    "expect",
    "failure",
    "formula",
    "from",
    "kind",
    "limit",
    "minimum",
    "name",
    "names",
    "note",
    "objective",
    "order",
    "other",
    "place",
    "read",
    "said",
    "seen",
    "server",
    "setting",
    "source",
    "text",
    "to",
    "value",
    "version",
    "who",
];

fn field(address: &str) -> &str {
    address.rsplit('/').find(|part| !part.chars().all(|c| c.is_ascii_digit())).unwrap_or_default()
}

#[test]
fn every_number_that_is_said_changes_with_the_figures_that_it_shows() {
    // A finding that cannot be, which a changed one may be, may be told by nobody: no news.
    std::panic::set_hook(Box::new(|_| {}));
    let (mut counts, mut wrong) = (BTreeMap::<Follows, usize>::new(), BTreeSet::new());
    for folder in chosen() {
        let told = told(&folder).unwrap();
        let name = folder.file_name().unwrap().display().to_string();
        for one in sources::of(&told) {
            let follows = one.follows();
            *counts.entry(follows).or_default() += 1;
            let from = || one.effects.iter().map(|e| e.address.as_str()).collect::<BTreeSet<_>>();
            let ready = || one.effects.iter().filter(|e| e.quotes).all(|e| !QUOTED.contains(&field(&e.address)));
            if matches!(follows, Follows::Loose | Follows::Unmoved) || follows == Follows::Quoted && ready() {
                wrong.insert(format!(
                    "{name}: {follows:?} {} in `{}` of {} from {:?}",
                    one.spoken.value,
                    one.spoken.text,
                    one.path,
                    from()
                ));
            }
            if follows == Follows::Shown && !names_its_subject(&told, &one) && !one.derived() {
                let from: Vec<&str> = one.shown().map(|e| e.address.as_str()).collect();
                wrong.insert(format!("{name}: of whom {} is, {} in `{}`", from[0], one.spoken.value, one.over));
            }
        }
    }
    drop(std::panic::take_hook());
    println!("{counts:?}");
    assert!(counts.values().sum::<usize>() > 500, "{counts:?}");
    assert!(wrong.is_empty(), "{} of {counts:?}: {wrong:#?}", wrong.len());
}

/// Whether the text, its row or its heading names whom one of the figures is of that the number shows.
fn names_its_subject(told: &Outputs, one: &Number) -> bool {
    one.shown().any(|effect| {
        let subject = subject(&told.finding, &effect.address);
        subject.is_empty() || subject.iter().any(|names| names.iter().all(|name| one.over.contains(name.as_str())))
    })
}

/// The names of the innermost object around an address that has any: either of these groups will do.
fn subject(finding: &Json, address: &str) -> Vec<Vec<String>> {
    let mut at = address;
    while let Some((above, _)) = at.rsplit_once('/') {
        at = above;
        let Some(Json::Object(fields)) = finding.pointer(at) else { continue };
        let text = |name: &&str| fields.get(*name).and_then(Json::as_str).map(str::to_owned);
        let groups: [&[&str]; 6] =
            [&["name"], &["contender"], &["setting"], &["limit"], &["base", "other"], &["faster", "slower"]];
        let known = groups.into_iter().filter_map(|group| group.iter().map(text).collect::<Option<Vec<String>>>());
        let known: Vec<Vec<String>> = known.collect();
        if !known.is_empty() {
            return known;
        }
    }
    Vec::new()
}

#[test]
fn no_form_says_a_number_that_the_document_does_not_say() {
    for folder in all() {
        let document = told(&folder).unwrap().document();
        let said: BTreeSet<u64> =
            texts(&document).values().flat_map(|t| &t.numbers).map(|n| n.value.to_bits()).collect();
        let wide = text::Style { color: false, width: 10_000 };
        for form in [text::document(&document, wide), markdown(&document)] {
            // Where a change of a file begins is no sentence.
            for line in form.lines().filter(|line| !line.trim_start().starts_with("@@")) {
                let more: Vec<f64> =
                    numbers(line).iter().map(|n| n.value).filter(|n| !said.contains(&n.to_bits())).collect();
                assert!(more.is_empty(), "{}: {more:?} in `{line}`", folder.display());
            }
        }
    }
}

#[test]
fn whoever_has_another_name_is_called_so_everywhere() {
    for folder in chosen() {
        let lines = fs::read_to_string(folder.join("run.jsonl")).unwrap();
        let base = of(&lines).unwrap();
        let mut found = Vec::new();
        harness::perturbed::leaves(&base.finding, "", &mut found);
        let named = found.iter().filter(|(address, _)| ["name", "contender", "setting"].contains(&field(address)));
        let names: BTreeSet<&str> =
            named.filter_map(|(_, value)| value.as_str()).filter(|name| name.len() > 5).collect();
        // As long and of the same letters, so that it sorts and breaks like the other one.
        let Some(old) = names.into_iter().max_by_key(|name| name.len()) else { continue };
        let new: String = old.chars().rev().collect();
        let Some(renamed) = of(&lines.replace(old, &new)) else { continue };
        let said = texts(&renamed.document());
        let left: Vec<&str> =
            said.values().map(|text| text.words.as_str()).filter(|words| words.contains(old)).collect();
        assert!(old == new || left.is_empty(), "{}: {old} is still {left:#?}", folder.display());
    }
}
