//! The same experiment on several platforms: every answer, and the figures of each beside those of the others.

use super::tune::estimate;
use crate::document::{Block, Document, Kind, Medium, Part, Section, Style, Table, Tone};
use crate::{clean, figure, words};
use genkai_model::event::Purpose;
use genkai_model::finding::{Confidence, Outcome, Quantiles, TrialFinding, Verdict};
use genkai_model::platforms::{PlatformFinding, PlatformsFinding};

/// What is said first of what did not come to its end.
const CUT_OFF: &str = "It was cut off before its end: a platform may be missing.";
/// What is said first of answers that are not the same.
const DIFFER: &str = "The platforms do not give the same answer.";
/// What two runs are not.
const NO_COMPARISON: &str = "One run of each, one after the other: this shows whether both name the same limit, and is no comparison of the platforms' speed.";

/// The answer of all platforms, where they say the same; else that of each.
fn sentences(finding: &PlatformsFinding) -> Vec<String> {
    let cut_off = finding.interrupted.then(|| CUT_OFF.to_owned());
    let all = &finding.platforms;
    if let [first, second] = &all[..]
        && !finding.interrupted
        && first.answer == second.answer
    {
        let both =
            format!("So it was on both platforms: {} and {}.", clean::line(&first.name), clean::line(&second.name));
        return vec![clean::line(&first.answer), both];
    }
    let differ = (cut_off.is_none() && all.len() > 1).then(|| DIFFER.to_owned());
    let each = all.iter().map(|one| format!("{}: {}", clean::line(&one.name), clean::line(&one.answer)));
    cut_off.into_iter().chain(differ).chain(each).collect()
}

/// The trial of the system as it is, by which the search began.
fn first(v: &Verdict) -> Option<&TrialFinding> {
    v.trials.iter().find(|trial| matches!(trial.purpose, Purpose::Break | Purpose::Measure))
}

/// The last trial of what is proposed.
fn last(v: &Verdict) -> Option<&TrialFinding> {
    v.trials.iter().rfind(|trial| trial.purpose == Purpose::Proposal)
}

/// A level of the load: experiments ask for users.
fn users(level: f64) -> String {
    format!("{} users", figure::level(level))
}

/// Where the system as it is broke, or what it held: only where that was decided (a run may be cut off, or say nothing of the server).
fn broke(v: &Verdict) -> String {
    match first(v) {
        Some(TrialFinding { broke: Some(broke), .. }) => users(broke.level),
        Some(trial) if v.outcome() == Outcome::Holds => format!("held {}", users(trial.asked)),
        _ => "-".to_owned(),
    }
}

fn latency(trial: Option<&TrialFinding>, pick: fn(&Quantiles) -> f64) -> String {
    let seen = trial.map(|trial| &trial.latency).filter(|latency| !latency.is_empty());
    seen.map_or_else(|| "-".to_owned(), |latency| figure::seconds(pick(latency)))
}

/// What was named, and how sure that is.
fn named(v: &Verdict) -> String {
    let causes = v.causes.iter().filter(|cause| cause.confidence != Confidence::Refuted);
    let each: Vec<String> = causes
        .map(|cause| {
            let limit = &cause.limit;
            let sure = match cause.confidence {
                Confidence::Possible => "possible",
                Confidence::Likely => "likely",
                Confidence::Proved => "proved",
                Confidence::Refuted => "refuted",
            };
            format!("{} {} ({sure})", words::subject(&limit.subject), words::setting(&limit.setting, &limit.value))
        })
        .collect();
    if each.is_empty() { "none".to_owned() } else { each.join(", ") }
}

fn moved(v: &Verdict) -> String {
    let counterfactual = v.causes.iter().find_map(|cause| cause.counterfactual.as_ref());
    counterfactual.map_or_else(
        || "-".to_owned(),
        |one| match &one.observed {
            Some(broke) => format!("{}: {}", words::change(&one.change), users(broke.level)),
            None => format!("{}: held {}", words::change(&one.change), users(one.held_to)),
        },
    )
}

/// A row for each figure, a column for each platform.
fn beside(finding: &PlatformsFinding) -> Table {
    let row = |name: &str, show: &dyn Fn(&Verdict) -> String| {
        std::iter::once(name.to_owned())
            .chain(finding.platforms.iter().map(|one| show(&one.verdict)))
            .collect::<Vec<String>>()
    };
    let proposed = |v: &Verdict| {
        let each: Vec<String> = v.proposal.iter().map(|one| words::change(&one.change)).collect();
        if each.is_empty() { "nothing".to_owned() } else { each.join(", ") }
    };
    let failed = |v: &Verdict, after: bool| {
        let proof = v.proof.as_ref();
        proof.map_or_else(
            || "-".to_owned(),
            |proof| estimate(if after { proof.failed_after } else { proof.failed_before }, figure::percent),
        )
    };
    let rows = vec![
        row("broke at", &broke),
        row("limit", &named),
        row("proposed", &proposed),
        row("with this alone, broke at", &moved),
        row("proof: failed before", &|v| failed(v, false)),
        row("proof: failed after", &|v| failed(v, true)),
        row("latency p50 as it is (first load)", &|v| latency(first(v), |l| l.p50)),
        row("latency p99 as it is (first load)", &|v| latency(first(v), |l| l.p99)),
        row("latency p50 as proposed (last load)", &|v| latency(last(v), |l| l.p50)),
        row("latency p99 as proposed (last load)", &|v| latency(last(v), |l| l.p99)),
    ];
    let head: Vec<String> =
        std::iter::once(String::new()).chain(finding.platforms.iter().map(|one| clean::line(&one.name))).collect();
    let prose = 1..=finding.platforms.len();
    Table::new("Both platforms", &head, rows).kinds(Kind::Prose, prose)
}

fn turned(finding: &PlatformsFinding) -> String {
    let all = finding.platforms.len();
    let failed = finding.platforms.iter().filter(|one| one.verdict.outcome() == Outcome::Fails).count();
    match finding.outcome() {
        Outcome::Holds => "the objective holds on every platform".to_owned(),
        Outcome::Fails if failed == all => "the objective holds on no platform".to_owned(),
        Outcome::Fails => format!("the objective does not hold on {failed} of {all} platforms"),
        Outcome::Invalid => "some of this says nothing of the server".to_owned(),
        Outcome::Unfinished => "cut off before there was an answer".to_owned(),
    }
}

/// The report. Commands and machines are in that of each.
pub fn platforms(finding: &PlatformsFinding) -> Document {
    let mut document = Document::of(finding.outcome(), &turned(finding), sentences(finding));
    document.tone = Tone::Plain;
    document.record = "in the folder of each platform";
    document.answer = document.beyond_headline(Style::Plain);
    let section = Section::page(Part::Figure, "platforms", "Both platforms", "");
    let runs: Vec<Block> = finding.platforms.iter().map(ran).collect();
    document.sections.extend(
        section
            .and_markdown()
            .and(Medium::Terminal)
            .with(beside(finding).block())
            .with([Block::aside(NO_COMPARISON)])
            .with(runs)
            .filled(),
    );
    let links = finding.platforms.iter().map(|one| Block::link(&one.name));
    document.sections.push(Section::page(Part::Evidence, "runs", "The report of each", "").with(links));
    document
}

/// What ran, and when.
fn ran(one: &PlatformFinding) -> Block {
    Block::fact(clean::line(&one.name), format!("{}, begun {}", clean::line(&one.title), clean::line(&one.started)))
}
