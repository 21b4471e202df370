//! Records of every kind, made before today, still give the verdicts that were given then.
//!
//! `records/KIND/` is a run folder as genkai left it (without the pages). `records/exits.json` has the exit code of `genkai report` for
//! each folder with a verdict. Nothing here is written by hand: a record that reads differently is a record of a user that does, too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::recorded::{copy, judged, read, records};
use crate::harness::{finish, genkai};

/// Words that are plainer today, wherever they stood then: (then, now).
const REWORDED: [(&str, &str); 44] = [
    // It is the mean of turns' longest, and few turns tell no agreement.
    ("longest latency", "a turn's longest latency"),
    (
        "shows no difference, as it must.",
        "shows no difference for certain, as it must; not all figures can be told apart.",
    ),
    // An interval does not tell which request failed first.
    ("From the first request on", "From the start of the load on"),
    ("The load was felt: ", ""),
    ("made no difference", "made no measurable difference"),
    // Others may be predicted beyond what the test sent.
    (" No further limit was predicted within the load sent.", ""),
    // What a request takes of it is often a setting: that there is no more of it is no reason to change nothing.
    ("No: processor time is the limit", "Cannot tell: processor time is the limit"),
    (
        ", and no nginx setting gives more of it.",
        ": no nginx setting gives more of it here, and whether one would make a request take less of it was not tried.",
    ),
    (
        ", and no apache setting gives more of it.",
        ": no apache setting gives more of it here, and whether one would make a request take less of it was not tried.",
    ),
    (
        ", and no haproxy setting gives more of it.",
        ": no haproxy setting gives more of it here, and whether one would make a request take less of it was not tried.",
    ),
    // Nothing says that they would.
    ("a longer --hold would give other figures", "a longer --hold might give other figures"),
    // Rates of caches were cut off at the point; now they are rounded, as the ends of their intervals are.
    ("nginx 4,749/s", "nginx 4,750/s"),
    ("3,242 (457-22,985)", "3,243 (457-22,985)"),
    ("nginx 421/s", "nginx 422/s"),
    ("nginx 689/s", "nginx 690/s"),
    ("It was met ", "It was reached "),
    ("took the break at", "removed the break at"),
    (" users away: the load held", " users: the load held"),
    (" connections away: the load held", " connections: the load held"),
    ("was at work already, although the objective held", "had been reached, but the objective still held"),
    // Of users who wait for their responses, throughput follows from latency, which was decided.
    (
        "what differs in throughput is what was asked, not what they can do. A higher --users or --rate would tell.",
        "throughput is what this load asks for, and of users who wait for their responses follows from latency; what they can do at most, a \
         higher --users or --rate would tell.",
    ),
    ("Nobody was stressed (", "No contender was stressed ("),
    ("95 % interval", "95 % confidence interval"),
    ("Intervals hold together with", "The confidence intervals hold together with"),
    (
        "haproxy connections reached 48 of 48 (haproxy maxconn)",
        "haproxy connections reached 48 (48 or more tells, a mark set by haproxy maxconn)",
    ),
    ("to decide the rest would take", "to decide every deciding figure would take"),
    (
        "What was offered was the limit: no cache was busy, and differences say nothing of them. Offer more: --clients, no --rate; a machine",
        "The offered load was the limit: no cache was busy, so the differences say nothing about them. Raise --clients or drop --rate; use a machine",
    ),
    ("what was offered was the limit.", "the offered load was the limit."),
    ("Nobody was stressed: nobody is ranked.", "No cache was busy: none is ranked."),
    (
        "pairs can be told apart; a rank is a range where they cannot.",
        "pairs differ; a rank is a range where they do not differ measurably.",
    ),
    // Nothing broke any more with the setting changed: it moved nowhere.
    (
        "The cause is proved: changing that setting alone moved the break, but not to where the formula puts it.",
        "The cause is confirmed: changing that setting alone removed the break.",
    ),
    // Of a cause, beside a proof in pairs, "proved" had two meanings.
    ("The cause is proved", "The cause is confirmed"),
    // A load changes nothing, so that no change is spoken of.
    ("No change needed: `errors < 0.1%` held at 10 users.", "Held: `errors < 0.1%` at 10 users."),
    (
        "No change needed: `errors < 0.1%` held at 100 planned requests/s.",
        "Held: `errors < 0.1%` at 100 planned requests/s.",
    ),
    (
        "Cannot tell: `p99 < 1ms, errors < 1%` failed, but nothing in the evidence names a cause.",
        "Failed: `p99 < 1ms, errors < 1%` did not hold at 60 planned requests/s.",
    ),
    (
        "Cannot tell: `errors < 1%, p95 < 500ms` failed, but nothing in the evidence names a cause.",
        "Failed: `errors < 1%, p95 < 500ms` did not hold at 30 users.",
    ),
    // No interval is narrower than what was counted can be told apart.
    ("+37.2/s to +37.9/s", "+35/s to +40.2/s"),
    // No request was in flight at that instant: that says nothing of how many clients there were.
    (" (0 clients at once)", ""),
    // Users who do not think are one client each, also while they are not in flight.
    (" (5 clients at once)", ""),
    (" (29 clients at once)", ""),
    // No more was tried, or the generator was at its end.
    ("the load held up to", "the objective held as far as the test can tell, up to"),
    ("None can be told apart from another.", "No two of them differ measurably."),
    // A load of WebSockets at a rate plans messages.
    ("At 100 planned requests/s, 0 of 400 messages", "At 100 planned messages/s, 0 of 400 messages"),
    ("Held: `errors < 0.1%` at 100 planned requests/s.", "Held: `errors < 0.1%` at 100 planned messages/s."),
];

/// Fields that verdicts have since, wherever they stand.
const NEW: [&str; 14] = [
    // Where the next limit was met.
    ".next_met",
    ".or_fewer",
    ".decision",
    ".value",
    ".waits",
    ".waiting",
    ".unanswered",
    ".known",
    ".later",
    ".retried",
    ".over",
    ".until",
    ".at_least",
    ".p99_at_least",
];

/// What comparisons said first where nobody was stressed, whatever they had decided.
const UNSTRESSED: &str = "Nobody was stressed: the load offered was the limit";

/// What is said of a limit at which requests wait, of which nothing was said.
const WAITS: &str = " Requests wait there, which no condition on latency judges.";

/// The sections of each kind's page, in their order: figures, what they rest on, the change, how sure that is, where it ran.
const SECTIONS: [(&str, &[&str]); 8] = [
    ("tune", &["ladder", "time", "proof", "limits", "evidence", "trials", "change", "caveats", "environment"]),
    ("load", &["time", "trials", "caveats", "environment"]),
    ("rooms-http", &["search", "limits", "environment"]),
    ("rooms", &["sweep", "rooms", "way", "time", "caveats", "environment"]),
    ("compare", &["pairs", "figures", "blocks", "caveats", "systems", "environment"]),
    ("reverse-proxy-cache", &["costs", "figures", "rates", "pairs", "rules", "caveats", "caches", "environment"]),
    ("websocket-servers", &["cases", "rounds", "limits", "caveats", "servers", "environment"]),
    ("apache-websocket", &["troubles", "parts", "environment"]),
];

fn reworded(then: &str) -> String {
    REWORDED.iter().fold(then.to_owned(), |text, (then, now)| text.replace(then, now))
}

/// Where two values differ: a line each, at most a few.
fn differences(at: &str, then: &Value, now: &Value, lines: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(a), Value::Object(b)) => {
            // Verdicts of then have no list of their figures, and no ladder; what they must be is in figures.rs beside this, by the second computation.
            let added =
                |key: &str| key == "ladder" || at.is_empty() && matches!(key, "build" | "statements" | "doubts");
            let new = |key: &&String| a.contains_key(*key) || !added(key);
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))).filter(new) {
                let null = &Value::Null;
                differences(&format!("{at}.{key}"), a.get(key).unwrap_or(null), b.get(key).unwrap_or(null), lines);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() + 1 && said_first(a) => {
            differences(at, &Value::Array(a[1..].to_vec()), now, lines);
        }
        // What a change takes of memory was not looked at, and that is said.
        (Value::Array(a), Value::Array(b)) if at == ".says" && a.len() < b.len() && b.iter().any(unmeasured) => {
            let others = b.iter().filter(|one| !unmeasured(one)).cloned().collect();
            differences(at, then, &Value::Array(others), lines);
        }
        // What waited was told as failed by a timeout.
        (Value::Array(a), Value::Array(b)) if a.len() > b.len() && a.iter().any(waited) => {
            let others = a.iter().filter(|one| !waited(one)).cloned().collect();
            differences(at, &Value::Array(others), now, lines);
        }
        // Of a full accept queue it was told that it makes slow what came sooner than a connection is tried again: it stood before others.
        (Value::Array(a), Value::Array(b))
            if at.ends_with(".others") && named(a) != named(b) && named(&by_name(a)) == named(&by_name(b)) =>
        {
            differences(at, &Value::Array(by_name(a)), &Value::Array(by_name(b)), lines);
        }
        (Value::Number(_), Value::Number(now)) if at.ends_with(".broke.seen") && now.as_f64() == Some(0.0) => {}
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| differences(&format!("{at}[{i}]"), a, b, lines));
        }
        (Value::String(then), Value::String(now)) if reworded(then) == answered(&now.replace(WAITS, "")) => {}
        (Value::String(then), Value::String(now))
            if then.contains("left requests unanswered") && waiting(then, now) => {}
        // Of nothing there are no figures, not even zeros; and users who ask as soon as they are answered are late for nothing.
        (Value::Object(then), Value::Null) if then.get("count") == Some(&0.into()) || at.ends_with(".lateness") => {}
        (Value::String(then), Value::String(now)) if *now == unplanned(then) => {}
        // Nothing broke any more: nothing was seen where the formula puts it. And what an interval does not exclude is not told as better.
        (Value::String(then), Value::String(now)) if *now == removed(&reworded(then)) => {}
        (Value::String(then), Value::String(now)) if reworded(&unrated(then)) == *now => {}
        // Where processor time is the limit, a setting may use it.
        (Value::String(then), Value::String(now))
            if at.ends_with("must_change") && (then.as_str(), now.as_str()) == ("no", "cannot_tell") => {}
        // What differs for certain is decided, also where it was not to decide (memory, in the record of this kind).
        (Value::String(then), Value::String(now))
            if at == ".outcome" && (then.as_str(), now.as_str()) == ("invalid", "fails") => {}
        // Processor time that other programs used was told as a sign of the cause.
        (Value::String(then), Value::String(now))
            if at.contains(".against[") && (then.as_str(), now.as_str()) == ("explained", "other_programs") => {}
        // Users who do not think are one client each, and nobody had counted before the first interval ended.
        (Value::Number(then), Value::Number(now))
            if [".in_flight", ".connections"].iter().any(|name| at.ends_with(name))
                && (at.contains("broke") || at.contains("observed"))
                && now.as_f64() >= then.as_f64() => {}
        // Where nothing was answered before it, the load at which responses were late is a bound.
        (Value::String(then), Value::String(now))
            if answered(now) == then.replacen(" (0 clients at once)", " or fewer", 1) => {}
        (Value::Null, _) if NEW.iter().any(|name| at.ends_with(name)) => {}
        // Intervals of a proof were narrower than what was counted could be told apart; and one figure had two.
        (Value::Number(then), Value::Number(now))
            if at.contains(".proof.") && wider(at, then.as_f64(), now.as_f64()) => {}
        // Failures behind the break of a plain load were those up to its end, and are those until it was certain.
        (Value::Number(then), Value::Number(now)) if at.contains(".broke.errors[") && now.as_u64() <= then.as_u64() => {
        }
        _ if then == now => {}
        _ => lines.push(format!("{at}\n    then {then:.300}\n    now  {now:.300}")),
    }
}

/// As it was said when requests that had no answer in time were told as failed.
fn answered(now: &str) -> String {
    let now = now.replace(" failed or had no answer in time", " failed");
    let now = now.replace("failed or unanswered requests", "failed requests");
    // A plain load goes on: of which time a share of failures is, is told.
    let now = now.replace(" from there on until that was certain", " there");
    // What a share of failures is beside their number; and up to which level something was seen that was told as seen at one.
    let now = now.replace("mean of the runs ", "").replace(" as the load rose on", "");
    let risen = |at: usize| now[at + 4..].find([',', '(']).map(|end| (at, at + 4 + end));
    match now.find("from there to ").and_then(risen) {
        Some((from, to)) => {
            let end = if now[to..].starts_with('(') { " " } else { "" };
            [&now[..from], "there", end, &now[to..]].concat()
        }
        None => now,
    }
}

/// The same sentence without the rate that so many clients were said to make, however long each waits by then.
fn unrated(then: &str) -> String {
    let rate = then.find(" users; ").map(|at| at + 6);
    let end = rate.and_then(|at| Some((at, at + then[at..].find(" requests/s)")? + 11)));
    end.map_or_else(|| then.to_owned(), |(from, to)| [&then[..from], &then[to..]].concat())
}

/// The same sentence of a break that did not come again.
fn removed(then: &str) -> String {
    then.replace("moved the break as its formula says", "removed the break")
}

/// The same sentence without how late the generator was.
fn unplanned(then: &str) -> String {
    let end = " of their planned instant";
    match (then.find("; 99 % of "), then.find(end)) {
        (Some(from), Some(to)) => [&then[..from], &then[to + end.len()..]].concat(),
        _ => then.to_owned(),
    }
}

/// Whether it is the same sentence, but that it says how many waited, where it had said what share failed.
fn waiting(then: &str, now: &str) -> bool {
    let same = then.bytes().zip(now.bytes()).take_while(|(a, b)| a == b).count();
    then[same..].contains("of requests failed there") && now[same..].starts_with("None failed, but ")
}

/// The limits of a list of candidates.
fn named(all: &[Value]) -> Vec<&Value> {
    all.iter().map(|one| &one["limit"]).collect()
}

/// Candidates but queues of connections that wait to be accepted, by name.
fn by_name(all: &[Value]) -> Vec<Value> {
    let mut all: Vec<Value> = all.iter().filter(|one| !is_queue(one)).cloned().collect();
    all.sort_by_key(|one| one["limit"].to_string());
    all
}

/// Whether a candidate is a queue of connections that wait to be accepted.
fn is_queue(one: &Value) -> bool {
    one["limit"].as_str().is_some_and(|id| id.ends_with("backlog") || id.ends_with("accept_queue"))
}

fn said_first(says: &[Value]) -> bool {
    says.first().and_then(Value::as_str).is_some_and(|said| said.starts_with(UNSTRESSED))
}

/// Whether these are errors, or evidence of errors, that are timeouts only.
fn waited(one: &Value) -> bool {
    let timeout = |error: &Value| error["kind"] == "timeout";
    timeout(one) || one["evidence"] == "errors" && one["errors"].as_array().is_some_and(|all| all.iter().all(timeout))
}

/// Whether this says that memory was not measured.
fn unmeasured(says: &Value) -> bool {
    says.as_str().is_some_and(|text| text.ends_with("was not measured, so memory bounds nothing here."))
}

/// Whether the end of an interval moved outwards.
fn wider(at: &str, then: Option<f64>, now: Option<f64>) -> bool {
    match (at.ends_with(".interval.low"), at.ends_with(".interval.high")) {
        (true, _) => now <= then,
        (_, true) => now >= then,
        _ => false,
    }
}

/// Reports a copy of one folder again: what its verdict says otherwise, and the exit code.
fn again(folder: &Path) -> (Vec<String>, Option<i32>) {
    let dir = tempfile::tempdir().unwrap();
    let copied = dir.path().join("run");
    copy(folder, &copied);
    fs::remove_file(copied.join("verdict.json")).unwrap();
    let output = finish(genkai("report --quiet").arg(&copied), std::time::Duration::from_secs(60));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = Vec::new();
    match copied.join("verdict.json").exists() {
        true => {
            differences("", &read(&folder.join("verdict.json")), &read(&copied.join("verdict.json")), &mut lines);
            assert!(copied.join("report.html").exists(), "{}: no page: {said}", folder.display());
        }
        false => lines.push(format!("no verdict: {said}")),
    }
    (lines, output.status.code())
}

#[test]
fn records_of_every_kind_give_the_verdict_that_they_gave_before() {
    let exits: BTreeMap<String, i32> = serde_json::from_value(read(&records().join("exits.json"))).unwrap();
    let mut folders = judged(&records());
    folders.sort();
    let name = |folder: &PathBuf| folder.strip_prefix(records()).unwrap().display().to_string();
    assert_eq!(folders.iter().map(name).collect::<Vec<_>>(), exits.keys().cloned().collect::<Vec<_>>());
    let mut wrong = String::new();
    for folder in &folders {
        let (lines, code) = again(folder);
        let before = exits[&name(folder)];
        if code != Some(before) {
            wrong += &format!("{}: exit code {code:?}, before {before}\n", name(folder));
        }
        wrong.extend(lines.iter().take(8).map(|line| format!("{}: {line}\n", name(folder))));
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// What a page carries.
fn page(file: &Path) -> Value {
    let page = fs::read_to_string(file).unwrap();
    let data = page.split_once("id=\"genkai-data\"").and_then(|(_, rest)| rest.split_once('>')).unwrap().1;
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn every_page_has_its_parts_in_one_order() {
    let mut kinds = std::collections::BTreeSet::new();
    for folder in fs::read_dir(records()).unwrap().flatten().map(|entry| entry.path()) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let Some((kind, wanted)) = SECTIONS.iter().find(|(kind, _)| name.starts_with(kind)) else { continue };
        kinds.insert(*kind);
        let dir = tempfile::tempdir().unwrap();
        let copied = dir.path().join("run");
        copy(&folder, &copied);
        finish(genkai("report --quiet").arg(&copied), std::time::Duration::from_secs(60));
        let page = page(&copied.join("report.html"));
        let sections = page["document"]["sections"].as_array().unwrap();
        let seen: Vec<&str> = sections.iter().filter_map(|section| section["id"].as_str()).collect();
        let order: Vec<&str> = wanted.iter().copied().filter(|id| seen.contains(id)).collect();
        assert_eq!(seen, order, "{name}");
        assert_eq!(seen.last(), Some(&"environment"), "{name}");
        assert!(seen.len() > 2 && page["document"]["headline"] != "", "{name}: {seen:?}");
    }
    assert_eq!(kinds.len(), SECTIONS.len(), "of each kind there is a record: {kinds:?}");
}

#[test]
fn claims_are_told_again_as_they_were() {
    let folder = records().join("claims");
    let output = finish(genkai("claims --json --from").arg(&folder), std::time::Duration::from_secs(60));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines = Vec::new();
    let now = serde_json::from_slice(&output.stdout).unwrap();
    differences("", &read(&folder.join("claims.json")), &now, &mut lines);
    assert!(lines.is_empty(), "\n{}", lines.join("\n"));
}
