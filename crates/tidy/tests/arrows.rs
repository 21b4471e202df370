//! Arrows go one way: between crates as ARCHITECTURE.md says, between the modules of a crate in no circle.

use std::collections::{BTreeMap, BTreeSet};

use genkai_tidy::{Known, circles, crates, read, root, sources};
use regex::Regex;

#[test]
fn modules_go_in_no_circles() {
    let mut found = BTreeSet::new();
    for room in crates() {
        for circle in circles(&sources(&root(), &room)) {
            found.insert(format!("{}: {}", circle.place, Vec::from_iter(circle.modules).join(" ")));
        }
    }
    Known::read("circles").check(&found);
}

/// What each crate may use, from the table in ARCHITECTURE.md, whose rows stand from the ground up.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let row = Regex::new(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|").expect("a pattern");
    let mut allowed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in read("ARCHITECTURE.md").lines() {
        let Some(row) = row.captures(line) else { continue };
        let above: BTreeSet<String> = allowed.keys().cloned().collect();
        let words: Vec<&str> = row[2].split([',', ' ']).filter(|word| !word.is_empty()).collect();
        let uses = match words.as_slice() {
            ["-"] => BTreeSet::new(),
            ["all"] => above,
            ["all", "above", "but", left_out] => above.into_iter().filter(|name| name != left_out).collect(),
            names => names.iter().map(|name| (*name).to_owned()).collect(),
        };
        allowed.insert(row[1].to_owned(), uses);
    }
    allowed
}

/// The crates of this workspace that a manifest depends on, tests left out.
fn used(room: &str) -> BTreeSet<String> {
    let manifest = read(&format!("crates/{room}/Cargo.toml"));
    let (_, rest) = manifest.split_once("[dependencies]").expect("dependencies");
    let dependencies = rest.split("\n[").next().expect("a section");
    let name = Regex::new(r"(?m)^genkai-(\w+)").expect("a pattern");
    name.captures_iter(dependencies).map(|found| found[1].to_owned()).collect()
}

#[test]
fn crates_use_what_the_architecture_allows() {
    let allowed = allowed();
    assert_eq!(allowed.keys().cloned().collect::<Vec<_>>(), crates(), "the table has every crate, and no other");
    for room in crates() {
        let more: Vec<String> = used(&room).difference(&allowed[&room]).cloned().collect();
        assert!(more.is_empty(), "{room} may not use {more:?}");
    }
}
