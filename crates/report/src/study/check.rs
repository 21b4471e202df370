//! What a second computation of a verdict's statements found.

use std::collections::BTreeMap;

use genkai_model::finding::Outcome;
use genkai_model::statement::{
    Checked, Contradicted, Difference, FileDiffers, Source, Unheld, UnheldWhy, Value, Window,
};

use crate::document::{Block, Document, Section};
use crate::{clean, figure};

/// What the check of each run found, with the name of its folder.
pub fn check(runs: &[(String, Checked)]) -> Document {
    let all = |pick: fn(&Checked) -> u64| runs.iter().map(|(_, one)| pick(one)).sum::<u64>();
    let wrong = all(|one| (one.differences.len() + one.contradicted.len()) as u64);
    let unfit = runs.iter().filter(|(_, one)| one.unfit.is_some()).count() as u64;
    let files = runs.iter().flat_map(|(_, one)| &one.files).count() as u64;
    let outcome = if wrong + unfit + files == 0 { Outcome::Holds } else { Outcome::Fails };
    let headline = match wrong {
        0 => "Every statement that can be checked follows from the record.".to_owned(),
        n => format!("{} not follow from the record.", figure::plural(n, "statement does", "statements do")),
    };
    let fit = match unfit {
        0 => "Every event fits those before it.".to_owned(),
        _ => format!("{} an event that does not fit.", figure::plural(unfit, "record has", "records have")),
    };
    let counts = format!(
        "{} recomputed from the events, {} only held within bounds; {} decided again.",
        figure::plural(all(|one| one.recomputed), "statement was", "statements were"),
        figure::count(all(|one| one.bounded)),
        figure::plural(all(|one| one.decided), "word was", "words were"),
    );
    let beside = match files {
        0 => None,
        n => Some(format!(
            "The files beside the record are not what it gives: {}.",
            figure::plural(n, "place differs", "places differ"),
        )),
    };
    let unstated = all(|one| one.unstated.len() as u64);
    let unstated = (unstated > 0).then(|| {
        let what = figure::plural(unstated, "thing is", "things are");
        format!("Made by an earlier build of genkai: {what} not stated that this one states.")
    });
    let sections = runs.iter().filter_map(|(name, one)| section(name, one));
    let says = std::iter::once(headline).chain(beside).chain([fit, counts, left(runs)]).chain(unstated);
    Document { sections: sections.collect(), ..Document::of(outcome, "", says.collect()) }
}

/// What was not checked, by what it is made of.
fn left(runs: &[(String, Checked)]) -> String {
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for (of, count) in runs.iter().flat_map(|(_, one)| &one.unchecked_of) {
        *all.entry(source(*of)).or_default() += count;
    }
    let each: Vec<String> = all.iter().map(|(of, count)| format!("{} of {of}", figure::count(*count))).collect();
    match each.as_slice() {
        [] => "Nothing was left unchecked.".to_owned(),
        each => format!("Not checked: {}.", each.join(", ")),
    }
}

fn section(name: &str, checked: &Checked) -> Option<Section> {
    let unfit = checked.unfit.iter();
    let unfit = unfit.map(|one| Block::fact(format!("line {}", one.line), clean::line(&one.why)));
    let differences = checked.differences.iter().map(difference);
    let contradicted = checked.contradicted.iter().map(contradicted);
    let files = checked.files.iter().map(file).chain(checked.unheld.iter().map(unheld));
    let all = unfit.chain(differences).chain(contradicted).chain(files);
    Section::terminal(&clean::line(name)).and_markdown().with(all).filled()
}

/// A place in a file beside the record that is not what the record gives.
fn file(one: &FileDiffers) -> Block {
    let address = one.address.as_deref().map_or_else(String::new, |address| format!(" {}", clean::line(address)));
    let (stated, record) = (clean::line(&one.stated), clean::line(&one.record));
    Block::fact(
        format!("{}{address}", clean::line(&one.file)),
        format!("stands there: {stated}; the record gives: {record}."),
    )
}

/// A file that could not be held against the record.
fn unheld(one: &Unheld) -> Block {
    let why = match one.why {
        UnheldWhy::AnotherBuild => {
            "written by another build of genkai: only its outcome and headline were held against the verdict beside it. `genkai report` on the \
             folder writes it anew."
        }
        UnheldWhy::OtherBuilds => {
            "not compared: another build of genkai wrote it, and not the one that wrote the verdict beside it. `genkai report` on the folder writes \
             it anew."
        }
        UnheldWhy::NoChecksum => "not compared: the record was made by an earlier build and has no checksum of it.",
        UnheldWhy::NotThere => "not compared: the record tells of it, and it is not there.",
        UnheldWhy::NoStatements => {
            "not compared: it lists no statements (an earlier version wrote it, or they were taken out). The verdict that this genkai makes of \
             the record was checked."
        }
    };
    Block::fact(clean::line(&one.file), why)
}

fn contradicted(one: &Contradicted) -> Block {
    let line = one.line.map_or_else(String::new, |line| format!(" First event: line {line} of run.jsonl."));
    let text = format!("stated {}; the events say: {}.{line}", clean::line(&one.stated), clean::line(&one.events));
    Block::fact(one.address.clone(), text)
}

fn difference(one: &Difference) -> Block {
    let stated = &one.statement;
    let line = one.line.map_or_else(String::new, |line| format!(" First event: line {line} of run.jsonl."));
    let text = format!(
        "{} of {}: stated {}; the events say: {}.{line} Made of {}{}.",
        stated.predicate,
        clean::line(&stated.subject),
        value(stated.value),
        clean::line(&one.events),
        source(stated.from),
        stated.window.map_or_else(String::new, window),
    );
    Block::fact(stated.address.clone(), text)
}

/// A value with all its digits: it is held against another.
fn value(value: Value) -> String {
    match value {
        Value::Count(n) => n.to_string(),
        Value::Measured(x) => x.to_string(),
        Value::MoreThan(x) => format!("more than {x}"),
        Value::LessThan(x) => format!("less than {x}"),
        Value::Estimate { value, low, high, n } => format!("{value} ({low} to {high}, of {n})"),
        Value::Between { low, high } => format!("{low} to {high}"),
        Value::NotSampled => "nothing".to_owned(),
    }
}

fn window(window: Window) -> String {
    let at = |us: u64| figure::seconds(us as f64 / 1e6);
    format!(" of trial {}, {} to {}", window.trial, at(window.from_us), at(window.to_us))
}

fn source(from: Source) -> &'static str {
    match from {
        Source::Ticks => "intervals",
        Source::TicksAndSamples => "intervals and samples",
        Source::TrialEnd => "the end of the trial",
        Source::Trial => "the head of the trial",
        Source::Evidence => "log lines, samples and errors",
        Source::Limits => "limits and a formula",
        Source::Trials => "several trials",
        Source::Rounds => "rounds",
        Source::Passes => "loads on caches",
        Source::Attendance => "what members and nodes tell",
        Source::Plan => "the plan",
    }
}
