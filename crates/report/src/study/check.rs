//! What a second computation of a verdict's statements found.

use std::collections::BTreeMap;

use genkai_model::finding::Outcome;
use genkai_model::statement::{Checked, Contradicted, Difference, Source, Value, Window};

use crate::document::{Block, Document, Section};
use crate::{clean, figure};

/// What the check of each run found, with the name of its folder.
pub fn check(runs: &[(String, Checked)]) -> Document {
    let all = |pick: fn(&Checked) -> u64| runs.iter().map(|(_, one)| pick(one)).sum::<u64>();
    let wrong = all(|one| (one.differences.len() + one.contradicted.len()) as u64);
    let unfit = runs.iter().filter(|(_, one)| one.unfit.is_some()).count() as u64;
    let outcome = if wrong + unfit == 0 { Outcome::Holds } else { Outcome::Fails };
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
    let sections = runs.iter().filter_map(|(name, one)| section(name, one));
    Document { sections: sections.collect(), ..Document::of(outcome, "", vec![headline, fit, counts, left(runs)]) }
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
    Section::terminal(&clean::line(name)).and_markdown().with(unfit.chain(differences).chain(contradicted)).filled()
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
