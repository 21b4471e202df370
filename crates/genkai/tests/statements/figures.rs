//! Every figure of every kind of record is a statement with an address, and follows from the record; a record that is not whole says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genkai_model::statement::{Statement, Unit, Value};
use serde_json::Value as Json;

use crate::harness;
use crate::harness::checked::check;
use crate::harness::loads::show;
use crate::harness::recorded::{copy, judged, read, records};
use crate::harness::{finish, genkai};

/// A committed run folder's verdict as it is made today.
fn verdict(folder: &Path) -> Json {
    let dir = tempfile::tempdir().unwrap();
    let copied = dir.path().join("run");
    copy(folder, &copied);
    finish(genkai("report --quiet").arg(&copied), Duration::from_secs(60));
    read(&copied.join("verdict.json"))
}

/// The figures of a finding: the address of each number.
fn numbers(tree: &Json, address: &str, all: &mut BTreeSet<String>) {
    match tree {
        Json::Object(fields) => {
            fields.iter().for_each(|(name, value)| numbers(value, &format!("{address}/{name}"), all));
        }
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| numbers(item, &format!("{address}/{i}"), all));
        }
        Json::Number(_) => drop(all.insert(address.to_owned())),
        _ => {}
    }
}

/// The folders, each with a verdict of today.
fn all() -> Vec<(PathBuf, Json)> {
    judged(&records()).into_iter().map(|folder| (folder.clone(), verdict(&folder))).collect()
}

#[test]
fn every_number_of_every_verdict_is_a_statement() {
    let mut nowhere = BTreeSet::new();
    for (folder, mut verdict) in all() {
        let stated = verdict.as_object_mut().unwrap().remove("statements").unwrap();
        let stated: Vec<Statement> = serde_json::from_value(stated).unwrap();
        let mut found = BTreeSet::new();
        numbers(&verdict, "", &mut found);
        for address in found {
            let of = |one: &&Statement| one.address == address || address.starts_with(&format!("{}/", one.address));
            if !stated.iter().any(|one| of(&one)) {
                nowhere.insert(format!("{}: {address}", folder.display()));
            }
        }
        for one in &stated {
            let seen = verdict.pointer(&one.address).unwrap_or_else(|| panic!("{}: leads nowhere", one.address));
            let same = match one.value {
                Value::Count(n) => seen.as_u64() == Some(n),
                Value::Measured(x) => seen.as_f64() == Some(x),
                Value::Estimate { value, .. } => seen["value"].as_f64() == Some(value),
                Value::Between { low, high } => {
                    (seen["low"].as_f64(), seen["high"].as_f64()) == (Some(low), Some(high))
                }
                Value::NotSampled => seen.is_null() || seen.as_f64() == Some(0.0) || seen == "not_sampled",
                Value::MoreThan(_) | Value::LessThan(_) => seen.is_object(),
            };
            assert!(same, "{}: {one:?} and {seen}", folder.display());
        }
    }
    assert!(nowhere.is_empty(), "without an address: {nowhere:#?}");
}

#[test]
fn every_statement_of_every_kind_of_record_follows_from_its_events() {
    let (mut recomputed, mut wrong) = (0, String::new());
    for folder in judged(&records()).iter().filter(|folder| folder.join("run.jsonl").exists()) {
        let dir = tempfile::tempdir().unwrap();
        let copied = dir.path().join("run");
        copy(folder, &copied);
        finish(genkai("report --quiet").arg(&copied), Duration::from_secs(60));
        let checked = check(&copied).unwrap();
        recomputed += checked.recomputed;
        if !checked.holds() {
            wrong += &format!("{}: {:?} {:#?}\n", folder.display(), checked.unfit, checked.differences);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(recomputed > 2_000, "{recomputed}");
}

/// A copy of a committed run folder with its record changed, and its verdict as `genkai report` makes it before the change.
fn changed(kind: &str, change: impl Fn(&[&str]) -> String) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    copy(&records().join(kind), &run);
    finish(genkai("report --quiet").arg(&run), Duration::from_secs(60));
    let text = fs::read_to_string(run.join("run.jsonl")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    fs::write(run.join("run.jsonl"), change(&lines)).unwrap();
    dir
}

/// What `genkai report DIR` prints with these words.
fn report(dir: &Path, words: &str) -> (Option<i32>, String) {
    let shown = show(genkai(&format!("report {words}")).arg(dir.join("run")));
    (shown.code, shown.stdout)
}

#[test]
fn an_edited_count_is_named_with_its_statement_and_the_first_event_concerned() {
    let dir = changed("load-http-failing", |lines| {
        let at = lines.iter().position(|line| line.contains("\"status503\"") || line.contains("\"count\"")).unwrap();
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let edited = lines[at].replacen("\"bytes_in\":", "\"bytes_in\":9", 1);
        assert_ne!(edited, lines[at]);
        lines[at] = edited;
        lines.join("\n") + "\n"
    });
    let (code, text) = report(dir.path(), "--check");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("1 statement does not follow from the record"), "{text}");
    assert!(text.contains("/load/bytes_in") && text.contains("of run.jsonl"), "{text}");
    let (code, json) = report(dir.path(), "--check --json");
    let json: Json = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (code, &json[0]["checked"]["differences"][0]["statement"]["predicate"]),
        (Some(1), &"load.bytes_in".into())
    );
}

#[test]
fn the_first_event_that_does_not_fit_is_named() {
    let nth = |lines: &[&str], kind: &str, n: usize| {
        lines.iter().enumerate().filter(|(_, line)| line.contains(kind)).nth(n).unwrap().0
    };
    let left_out = [
        ("\"event\":\"tick\"", 2, "the one before ended at"),
        ("\"event\":\"trial_ended\"", 0, "has no end"),
        ("\"event\":\"trial_started\"", 1, "not begun"),
        ("\"event\":\"run_ended\"", 0, "cut off"),
    ];
    for (kind, n, said) in left_out {
        let dir = changed("tune-nginx", |lines| {
            let without = nth(lines, kind, n);
            [&lines[..without], &lines[without + 1..]].concat().join("\n") + "\n"
        });
        let (code, text) = report(dir.path(), "--check");
        assert_eq!(code, Some(1), "{kind}: {text}");
        assert!(text.contains("\nline ") && text.contains(said), "{kind}: {text}");
    }
}

#[test]
fn sums_of_a_trial_that_contradict_each_other_are_named_whatever_was_made_anew() {
    let edits = [
        ("\"sent\":12,", "\"sent\":13,", "241 requests were written, and 240 ended, wait or were made again"),
        ("\"sent\":12,", "\"sent\":12,\"paced\":999,", "999 pauses after failures"),
    ];
    for (was, now, said) in edits {
        let dir = changed("load-http-failing", |lines| {
            let text = lines.join("\n") + "\n";
            let edited = text.replacen(was, now, 1);
            assert_ne!(edited, text);
            edited
        });
        // The record has no checksums, and its verdict is made of the record as it is now.
        finish(genkai("report --quiet").arg(dir.path().join("run")), Duration::from_secs(60));
        let (code, text) = report(dir.path(), "--check");
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// The top of every form of a report.
fn tops(dir: &Path) -> [String; 4] {
    let text = report(dir, "").1;
    let markdown = report(dir, "--markdown").1;
    let json = report(dir, "--json").1;
    let page = fs::read_to_string(dir.join("run/report.html")).unwrap();
    let data = page.split_once("id=\"genkai-data\"").unwrap().1;
    let answer = data.split_once("\"answer\":").unwrap().1;
    [text, markdown, json, answer.to_owned()].map(|form| form.chars().take(400).collect())
}

#[test]
fn a_record_that_was_cut_off_says_so_at_the_top_of_every_form() {
    let dir = changed("load-http", |lines| lines[..8].join("\n") + "\n");
    for top in tops(dir.path()) {
        let words: String = top.split_whitespace().collect::<Vec<_>>().join(" ").replace("> ", "");
        assert!(words.contains("The record is cut off: it ends"), "{top}");
        assert!(words.contains("planned for 4 s."), "{top}");
    }
}

#[test]
fn a_record_that_was_edited_says_so_at_the_top_of_every_form() {
    let dir = tempfile::tempdir().unwrap();
    let (_server, address) = harness::servers::serve("origin --listen 127.0.0.1:0");
    let run = dir.path().join("run");
    let output = finish(
        genkai(&format!("load http://{address}/ --users 2 -n 20 --quiet --out")).arg(&run),
        Duration::from_secs(60),
    );
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        !fs::read_to_string(run.join("verdict.json")).unwrap().contains("\"doubts\""),
        "a record as it was written"
    );
    let text = fs::read_to_string(run.join("run.jsonl")).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("\"event\":\"tick\"")).unwrap();
    fs::write(run.join("run.jsonl"), text.replacen("\"connections\":", "\"connections\":1", 1)).unwrap();
    let changed = 1 + text.lines().position(|line| line.contains("\"connections\":")).unwrap();
    assert!(changed <= line);
    for top in tops(dir.path()) {
        let words: String = top.split_whitespace().collect::<Vec<_>>().join(" ").replace("> ", "");
        assert!(words.contains(&format!("was changed after it was written: line {changed} of run.jsonl")), "{top}");
    }
    let (code, text) = report(dir.path(), "--check");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == Some(1) && words.contains("its checksum differs"), "{code:?} {text}");
}

/// A committed run's folder with its outputs as they are made today.
fn written(kind: &str) -> tempfile::TempDir {
    changed(kind, |lines| lines.join("\n") + "\n")
}

/// Puts `to` in the place of `from` in a file of the run, once.
fn edit(dir: &Path, file: &str, from: &str, to: &str) {
    let file = dir.join("run").join(file);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{from} is not in {}", file.display());
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
}

/// What the check says, on one line.
fn checked(dir: &Path) -> (Option<i32>, String) {
    let (code, text) = report(dir, "--check");
    (code, text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn outputs_that_were_edited_are_named() {
    let whole = written("tune-nginx");
    let (code, said) = checked(whole.path());
    assert!(code == Some(0) && !said.contains("beside the record"), "{said}");
    let edits = [
        ("report.html", "\"outcome\":\"fails\"", "\"outcome\":\"holds\"", "report.html /document/outcome"),
        ("report.html", "\"headline\":\"", "\"headline\":\"No change needed. ", "report.html /document/headline"),
        ("report.html", "worker_connections", "worker_processes", "report.html /document/"),
        ("report.html", "</body>", "<p>All is well.</p></body>", "the page around its data is another"),
        ("verdict.json", "  \"says\": [\n    \"", "  \"says\": [\n    \"Not so: ", "verdict.json /says/0"),
    ];
    for (file, from, to, named) in edits {
        let dir = written("tune-nginx");
        edit(dir.path(), file, from, to);
        let (code, said) = checked(dir.path());
        assert!(code == Some(1) && said.contains(named), "{to}: {code:?} {said}");
        assert!(said.contains("The files beside the record are not what it gives: 1 place"), "{said}");
    }
    let dir = written("compare-changes");
    edit(dir.path(), "turns.csv", "\n", "\n1,2,3\n");
    let (code, said) = checked(dir.path());
    assert!(code == Some(1) && said.contains("turns.csv stands there: line 2: 1,2,3"), "{code:?} {said}");
}

#[test]
fn what_an_earlier_build_did_not_state_is_no_objection() {
    let build = |dir: &Path| read(&dir.join("run/verdict.json"))["build"].as_str().unwrap().to_owned();
    let (dir, field) = (written("tune-nginx"), "\"because\"");
    edit(dir.path(), "verdict.json", field, "\"was_because\"");
    let (code, said) = checked(dir.path());
    assert!(code == Some(1) && said.contains("stated nothing; the events say"), "by this build: {said}");
    edit(dir.path(), "verdict.json", &build(dir.path()), "0.1.0");
    let (code, said) = checked(dir.path());
    assert!(code == Some(0) && said.contains("Made by an earlier build of genkai: 1 thing is not stated"), "{said}");
    assert!(!said.contains("stated nothing"), "{said}");
    // What it says, it still has to say as it is; and so has the page that was written with it.
    let (this, headline) = (build(written("tune-nginx").path()), "\"headline\":\"");
    edit(dir.path(), "report.html", &this, "0.1.0");
    let (code, said) = checked(dir.path());
    assert!(code == Some(0) && said.contains("report.html written by another build of genkai"), "{said}");
    edit(dir.path(), "report.html", headline, "\"headline\":\"No change needed. ");
    let (code, said) = checked(dir.path());
    assert!(code == Some(1) && said.contains("report.html /document/headline"), "{said}");
}

#[test]
fn any_figure_that_is_recomputed_cannot_be_changed_unseen() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    copy(&records().join("load-http-failing"), &run);
    finish(genkai("report --quiet").arg(&run), Duration::from_secs(60));
    let (verdict, lines) = (read(&run.join("verdict.json")), fs::read_to_string(run.join("run.jsonl")).unwrap());
    let mut statements: Vec<Statement> = serde_json::from_value(verdict["statements"].clone()).unwrap();
    let mut falsified = verdict.clone();
    for one in &mut statements {
        let place = falsified.pointer_mut(&one.address).unwrap();
        match &mut one.value {
            // With another trial's number, or another status, it is another statement.
            _ if one.unit == Unit::Name => {}
            Value::Count(n) => {
                *n += 1;
                *place = (*n).into();
            }
            Value::Measured(x) => {
                *x = *x * 1.01 + 0.001;
                *place = (*x).into();
            }
            _ => {}
        }
    }
    let before = check(&run).unwrap();
    let after = genkai_check::check(&lines, &falsified, &statements).unwrap();
    let told = statements.iter().filter(|one| one.value != Value::NotSampled && one.unit != Unit::Name).count() as u64;
    assert!(before.recomputed > 100 && before.recomputed + before.bounded + before.unchecked >= told);
    // What says that there was nothing stays as it was, and so do names.
    let kept = statements.len() as u64 - told;
    let seen = after.differences.len() as u64;
    assert!(seen + kept >= before.recomputed, "{seen} of {} seen: {:#?}", before.recomputed, after.recomputed);
    assert!(after.recomputed <= kept, "{} are said to follow", after.recomputed);
}
