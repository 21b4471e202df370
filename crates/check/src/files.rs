//! The files beside a record: whether they are what the record gives. What must stand in them is handed in; here it is only held against what
//! does.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use genkai_model::seal::checksum;
use genkai_model::statement::{FileDiffers, Unheld, UnheldWhy};
use serde_json::Value as Json;

/// `report.html`.
const PAGE: &str = "report.html";

/// What is wrong with files of a run, and which of them could not be held against the record.
#[derive(Debug, Default)]
pub struct Held {
    /// Files that are not what the record gives.
    pub differing: Vec<FileDiffers>,
    /// Files that could not be compared, or not as a whole.
    pub unheld: Vec<Unheld>,
}

impl Held {
    fn differs(&mut self, file: &str, address: Option<String>, stated: impl Into<String>, record: impl Into<String>) {
        let (stated, record) = (stated.into(), record.into());
        self.differing.push(FileDiffers { file: file.to_owned(), address, stated, record });
    }

    fn not(&mut self, file: &str, why: UnheldWhy) {
        self.unheld.push(Unheld { file: file.to_owned(), why });
    }

    /// A file of text that must be just this.
    pub fn text(&mut self, file: &str, stored: &str, made: &str) {
        let line = stored.lines().zip(made.lines()).position(|(a, b)| a != b);
        let line = line.unwrap_or_else(|| stored.lines().count().min(made.lines().count()));
        if stored != made {
            let at = |text: &str| text.lines().nth(line).map_or_else(|| "no such line".to_owned(), shortened);
            self.differs(file, None, format!("line {}: {}", line + 1, at(stored)), at(made));
        }
    }

    /// A verdict beside the record, and the one that the record gives. Places that were named already (`known`) are not named again.
    pub fn verdict(&mut self, stored: &Json, made: &Json, known: &BTreeSet<String>) {
        let mut all = Vec::new();
        leaves("", stored, made, &mut all);
        for (address, stated, record) in all {
            // The list of statements was held against the events, one by one.
            if !known.contains(&address) && !address.starts_with("/statements") {
                self.differs("verdict.json", Some(address), stated, record);
            }
        }
    }

    /// The page beside a record: `made` is the one that the record gives. One by another build may have other words: its outcome and headline
    /// are held against the verdict that was written with it.
    pub fn page(&mut self, stored: &str, made: &str, verdict: &Json) {
        if stored == made {
            return;
        }
        let (Some(here), Some(there)) = (data(stored), data(made)) else {
            return self.differs(PAGE, None, "its data cannot be read", "a page with data");
        };
        if here.get("build") == there.get("build") {
            let mut all = Vec::new();
            leaves("", &here, &there, &mut all);
            if all.is_empty() {
                self.differs(PAGE, None, "the page around its data is another", "the page of genkai");
            }
            return all.into_iter().for_each(|(address, stated, record)| {
                self.differs(PAGE, Some(address), stated, record);
            });
        }
        if here.get("build") != verdict.get("build") {
            // Both are written together.
            if verdict.get("build").is_some() && verdict.get("build") == there.get("build") {
                return self.differs(
                    PAGE,
                    Some("/build".to_owned()),
                    shown(here.get("build")),
                    shown(there.get("build")),
                );
            }
            return self.not(PAGE, UnheldWhy::OtherBuilds);
        }
        self.not(PAGE, UnheldWhy::AnotherBuild);
        let says: Vec<&Json> = verdict.get("says").and_then(Json::as_array).into_iter().flatten().collect();
        let (headline, outcome) = (here.pointer("/document/headline"), here.pointer("/document/outcome"));
        if !headline.is_some_and(|headline| says.contains(&headline)) {
            let first = says.first().map_or_else(|| "nothing".to_owned(), |first| first.to_string());
            self.differs(PAGE, Some("/document/headline".to_owned()), shown(headline), first);
        }
        let decided = verdict.get("outcome");
        if decided.is_some() && decided != outcome {
            self.differs(PAGE, Some("/document/outcome".to_owned()), shown(outcome), shown(decided));
        }
    }

    /// The files of a proposal, as the last line of the record tells them. `read` gives a file's bytes by its path in the run's folder, `list`
    /// all files below a folder of it.
    pub fn proposal(
        &mut self,
        lines: &str,
        read: impl Fn(&Path) -> Option<Vec<u8>>,
        list: impl Fn(&Path) -> Vec<PathBuf>,
    ) {
        let end = lines.lines().rev().filter_map(|line| serde_json::from_str::<Json>(line).ok());
        let end = end.into_iter().find(|event| event.get("event").is_some_and(|event| event == "run_ended"));
        let files = end.as_ref().and_then(|end| end.get("files")).and_then(Json::as_array);
        let mut told = BTreeSet::new();
        for one in files.into_iter().flatten() {
            let text = |name: &str| one.get(name).and_then(Json::as_str);
            let Some(copy) = text("copy").map(PathBuf::from).filter(|copy| is_within(copy)) else { continue };
            let name = copy.display().to_string();
            match (read(&copy), text("sum")) {
                (None, _) => self.not(&name, UnheldWhy::NotThere),
                (Some(_), None) => self.not(&name, UnheldWhy::NoChecksum),
                (Some(bytes), Some(sum)) if checksum(&bytes) == sum => {}
                (Some(bytes), Some(sum)) => {
                    let is = format!("a file with the checksum {}", checksum(&bytes));
                    self.differs(&name, None, is, format!("the proposal for {}, {sum}", text("path").unwrap_or("?")));
                }
            }
            told.insert(copy);
        }
        let tops: BTreeSet<PathBuf> = told.iter().filter_map(|copy| copy.components().next()).map(top).collect();
        for file in tops.iter().flat_map(|folder| list(folder)).filter(|file| !told.contains(file)) {
            self.differs(&file.display().to_string(), None, "a file", "no such file in the proposal");
        }
    }
}

fn top(first: Component<'_>) -> PathBuf {
    PathBuf::from(first.as_os_str())
}

/// Whether a path stays within the folder that it is seen from.
fn is_within(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_))) && path.components().count() > 1
}

/// The data inside a page.
fn data(page: &str) -> Option<Json> {
    let (_, rest) = page.split_once("<script id=\"genkai-data\"")?;
    let (data, _) = rest.split_once('>')?.1.split_once("</script>")?;
    serde_json::from_str(data).ok()
}

/// Where two trees differ: the address, what stands in the one and what in the other.
fn leaves(at: &str, here: &Json, there: &Json, all: &mut Vec<(String, String, String)>) {
    let inner = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match (here, there) {
        (Json::Object(a), Json::Object(b)) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => leaves(&inner(name), a, b, all),
                    (a, b) => all.push((inner(name), shown(a), shown(b))),
                }
            }
        }
        (Json::Array(a), Json::Array(b)) => {
            if a.len() != b.len() {
                all.push((at.to_owned(), format!("a list of {}", a.len()), format!("a list of {}", b.len())));
            }
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| leaves(&inner(&i.to_string()), a, b, all));
        }
        (a, b) if a == b => {}
        (a, b) => all.push((at.to_owned(), shown(Some(a)), shown(Some(b)))),
    }
}

fn shown(value: Option<&Json>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| shortened(&value.to_string()))
}

/// The first characters of a text.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 160;
    let short: String = text.chars().take(LONGEST).collect();
    if short.len() < text.len() { short + "..." } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(data: &Json) -> String {
        format!("<html><script id=\"genkai-data\" type=\"application/json\">{data}</script></html>")
    }

    fn built(build: &str, headline: &str) -> Json {
        json!({ "build": build, "document": { "outcome": "fails", "headline": headline, "answer": [1, 2] } })
    }

    fn places(held: &Held) -> Vec<String> {
        held.differing.iter().map(|one| one.address.clone().unwrap_or_default()).collect()
    }

    #[test]
    fn a_page_of_this_build_is_the_one_that_the_record_gives() {
        let (made, verdict) = (page(&built("a", "Yes")), Json::Null);
        let on = |stored: &str| {
            let mut held = Held::default();
            held.page(stored, &made, &verdict);
            held
        };
        assert!(places(&on(&made)).is_empty());
        assert_eq!(places(&on(&page(&built("a", "No")))), ["/document/headline"]);
        assert_eq!(places(&on(&made.replace("[1,2]", "[1,2,3]"))), ["/document/answer"]);
        assert_eq!(places(&on(&made.replace("<html>", "<html><p>No</p>"))), [""], "around the data");
        assert_eq!(places(&on("<html></html>")), [""]);
    }

    #[test]
    fn a_page_of_another_build_says_what_the_verdict_beside_it_says() {
        let made = page(&built("b", "Yes, so it is"));
        let verdict = |build: &str| json!({ "build": build, "outcome": "fails", "says": ["Yes"] });
        let on = |stored: &Json, verdict: &Json| {
            let mut held = Held::default();
            held.page(&page(stored), &made, verdict);
            (places(&held), held.unheld.iter().map(|one| one.why).collect::<Vec<_>>())
        };
        let of_another =
            |places: &[&str], why: UnheldWhy| (places.iter().map(ToString::to_string).collect(), vec![why]);
        assert_eq!(on(&built("a", "Yes"), &verdict("a")), of_another(&[], UnheldWhy::AnotherBuild));
        assert_eq!(on(&built("a", "No"), &verdict("a")), of_another(&["/document/headline"], UnheldWhy::AnotherBuild));
        // Nothing that was written with it is here.
        assert_eq!(on(&built("c", "No"), &verdict("a")), of_another(&[], UnheldWhy::OtherBuilds));
        assert_eq!(on(&built("c", "No"), &Json::Null), of_another(&[], UnheldWhy::OtherBuilds));
        // A verdict of this build was written with a page of this build.
        assert_eq!(on(&built("c", "No"), &verdict("b")), (vec!["/build".to_owned()], vec![]));
    }

    #[test]
    fn files_of_a_proposal_are_those_of_the_record() {
        let files = json!([
            { "path": "/etc/a", "copy": "proposal/etc/a", "sum": checksum(b"a") },
            { "path": "/etc/b", "copy": "proposal/etc/b", "sum": checksum(b"b") },
            { "path": "/etc/c", "copy": "proposal/etc/c" },
            { "path": "/etc/d", "copy": "proposal/etc/d", "sum": checksum(b"d") },
            { "path": "/etc/e", "copy": "../../etc/e", "sum": checksum(b"e") },
            { "path": "/etc/s", "copy": null },
        ]);
        let lines = json!({ "event": "run_ended", "files": files }).to_string();
        let mut held = Held::default();
        let there = [("proposal/etc/a", "a"), ("proposal/etc/b", "x"), ("proposal/etc/c", "?"), ("proposal/new", "")];
        let read = |path: &Path| {
            assert!(path.starts_with("proposal"), "outside of the run's folder");
            let (_, bytes) = there.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(bytes.as_bytes().to_vec())
        };
        held.proposal(&lines, read, |_| there.iter().map(|(name, _)| PathBuf::from(name)).collect());
        let names: Vec<&str> = held.differing.iter().map(|one| one.file.as_str()).collect();
        assert_eq!(names, ["proposal/etc/b", "proposal/new"]);
        let why: Vec<UnheldWhy> = held.unheld.iter().map(|one| one.why).collect();
        assert_eq!(why, [UnheldWhy::NoChecksum, UnheldWhy::NotThere]);
    }

    #[test]
    fn a_verdict_is_the_one_that_the_record_gives_word_by_word() {
        let made = json!({ "says": ["Yes", "So"], "n": 3, "statements": [1] });
        let stored = json!({ "says": ["Yes", "Not so"], "n": 4, "statements": [2] });
        let mut held = Held::default();
        held.verdict(&stored, &made, &BTreeSet::from(["/n".to_owned()]));
        assert_eq!(places(&held), ["/says/1"]);
    }
}
