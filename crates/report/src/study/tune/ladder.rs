//! The ladder as a table: all limits up to the load asked for, in the order in which they bite.

use std::collections::BTreeSet;

use genkai_model::event::Purpose;
use genkai_model::finding::{
    Because, BisectionEnd, Cause, Confidence, Decision, Evidence, Findings, Ladder, MeasuredRung, MetAt, Pairing,
    ProposedChange, ProvedRung, Rung, RungLimit, Together, Verdict,
};
use genkai_model::limit::Origin;
use genkai_model::setting::Change;
use genkai_model::units::Range;

use super::{again, counted, proof};
use crate::context::Context;
use crate::document::{Block, Drawing, LimitRow, Medium, Part, Section, Table, Tone, Tracks, TracksKey};
use crate::{clean, figure, words};

/// The section; none where nothing was met.
pub(super) fn section(findings: &Findings, context: Context<'_>) -> Option<Section> {
    let ladder = findings.verdict.ladder.as_ref().filter(|ladder| !ladder.rungs.is_empty())?;
    let asked = context.level(ladder.asked);
    let title = format!("Limits up to the load asked for ({asked}), in order");
    let rows = ladder.rungs.iter().enumerate().map(|(i, rung)| row(i + 1, rung, context, &findings.verdict));
    let rows: Vec<[String; 6]> = rows.collect();
    let drawn = drawn(ladder, &rows, context);
    let head = ["", "limit", "predicted at", "met at", "change", "memory"];
    let table = Table::new(&title, &head, rows);
    let said = together(ladder, context, &findings.verdict);
    let quiet = said.map(|text| Block::toned(Tone::Quiet, text));
    let lead = "Each limit between the system as it is and the load asked for: where its law puts it, where it came, what lifted it.";
    let section =
        Section::page(Part::Figure, "ladder", &title, lead).with(drawn).with([Block::Table(table)]).with(quiet);
    Some(section.and(Medium::Terminal).and_markdown())
}

/// The rungs on one axis of the load, with the words of their `rows`; none where no load is known of any.
fn drawn(ladder: &Ladder, rows: &[[String; 6]], context: Context<'_>) -> Option<Block> {
    let drawn = |(rung, [number, limit, predicted, met, ..]): (&Rung, &[String; 6])| {
        let (range, at) = match rung {
            Rung::Proved(one) => (one.limit.predicted, one.met.level),
            Rung::Measured(one) => (one.limit.as_ref().and_then(|limit| limit.predicted), one.met.level),
            Rung::Predicted(one) => (one.limit.predicted, None),
        };
        let words = |label: &str, words: &str| if words == "-" { String::new() } else { format!("{label}{words}") };
        LimitRow {
            subject: format!("{number}."),
            setting: limit.clone(),
            predicted: words("predicted: ", predicted),
            seen: if at.is_some() { words("met: ", met) } else { met.clone() },
            met: at.is_some(),
            near: true,
            range: range.map(|range| (range.low, range.high)),
            at,
            ..LimitRow::default()
        }
    };
    let rows: Vec<LimitRow> = ladder.rungs.iter().zip(rows).map(drawn).collect();
    let known = rows.iter().any(|row| row.range.is_some() || row.at.is_some());
    let key = TracksKey {
        predicted: "where its law puts it".to_owned(),
        seen: "where it was met".to_owned(),
        asked: Some(format!("load asked for ({})", context.level(ladder.asked))),
        beyond: "beyond this axis".to_owned(),
    };
    let tracks = Tracks { asked: Some(ladder.asked), key: Some(key), rows, more: None, others: Vec::new() };
    known.then_some(Block::Drawing(Drawing::Tracks(tracks)))
}

fn row(number: usize, rung: &Rung, context: Context<'_>, verdict: &Verdict) -> [String; 6] {
    let number = number.to_string();
    match rung {
        Rung::Proved(rung) => {
            let [from, to] = [&rung.change.from, &rung.change.to].map(|text| clean::line(text));
            let place =
                rung.place.as_ref().and_then(file).filter(|place| file(&rung.limit.origin).as_ref() != Some(place));
            let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
            let change = match rung.change.setting == rung.limit.setting {
                true => format!("{from} → {to}"),
                false => format!("{} {from} → {to}", clean::line(&rung.change.setting)),
            };
            let memory = memory(rung, verdict);
            let change = format!("{change}{place} ({})", became(rung, verdict));
            [
                number,
                name(&rung.limit),
                predicted(rung.limit.predicted, context),
                met(&rung.met, context, verdict),
                change,
                memory,
            ]
        }
        Rung::Measured(rung) if let Some((named, met)) = ran_out(rung, verdict) => {
            [number, named, "-".to_owned(), met, "not lifted".to_owned(), "-".to_owned()]
        }
        Rung::Measured(rung) => {
            let named = rung.limit.as_ref().map(name);
            let bisected = verdict.bisection.as_ref().filter(|found| !found.named.is_empty());
            let is_bisected = bisected.is_some();
            let is_proved = bisected.is_some_and(|found| found.ended == BisectionEnd::Proved);
            let unnamed = if is_bisected { "the directives named above" } else { "nothing seen names it" };
            let foreseen = rung.limit.as_ref().map(|limit| predicted(limit.predicted, context));
            let change = in_vain(rung, verdict).unwrap_or_else(|| {
                let word = match rung.confidence {
                    Some(Confidence::Likely) => "not lifted (likely this)",
                    Some(_) => "not lifted (possibly this)",
                    None if is_proved && verdict.decision() == Decision::Guarded => {
                        "none proposed: it may protect something (without it it held: proved)"
                    }
                    None if is_proved => "left out (proved)",
                    None => "not lifted",
                };
                word.to_owned()
            });
            let [named, foreseen] = [named.unwrap_or(unnamed.to_owned()), foreseen.unwrap_or("-".to_owned())];
            let met = met(&rung.met, context, verdict);
            let met = if fails_by_itself(rung, verdict) { format!("first failures at {met}") } else { met };
            [number, named, foreseen, met, change, "-".to_owned()]
        }
        Rung::Predicted(rung) => {
            let change = match &rung.remedy {
                Some(setting) => format!("{} (not tried)", clean::line(setting)),
                None => "no setting that genkai changes lifts it".to_owned(),
            };
            let place = predicted(rung.limit.predicted, context);
            [number, name(&rung.limit), place, "not seen".to_owned(), change, "-".to_owned()]
        }
    }
}

/// What a proposal ran out of in the proof, where nothing else is named, and when.
fn ran_out(rung: &MeasuredRung, verdict: &Verdict) -> Option<(String, String)> {
    let trial = verdict.trials.iter().find(|trial| trial.trial == rung.met.trial)?;
    let failed = rung.limit.is_none() && trial.purpose == Purpose::Proposal;
    counted::ran_out(verdict, trial).filter(|_| failed)
}

/// What is known of a change by which a limit was lifted: only pairs prove it, and only where they decided for it.
fn became(rung: &ProvedRung, verdict: &Verdict) -> &'static str {
    let is_its = |cause: &&Cause| {
        let test = cause.counterfactual.as_ref();
        cause.limit.id == rung.limit.limit && test.is_some_and(|test| test.trial == rung.tested)
    };
    let is_gone = verdict.trials.iter().any(|trial| trial.trial == rung.tested && trial.broke.is_none());
    let cause = verdict.causes.iter().find(is_its);
    let of_it = |one: &&ProposedChange| one.change.setting == rung.change.setting;
    let proposed = verdict.proposal.iter().find(of_it);
    match verdict.decision() {
        // A value on the way is in no pair.
        Decision::Carried { .. } if proposed.is_some_and(|one| one.change.to != rung.change.to) => {
            "with it the break moved; changed again below"
        }
        Decision::Carried { pairs: Pairing::Enough } if cause.is_some_and(|one| proof::is_untried(verdict, one)) => {
            "proved with the others; not tried without it"
        }
        Decision::Carried { pairs: Pairing::Enough } => "proved",
        _ if cause.is_some_and(Cause::stays) => "with it signs of another limit instead",
        _ if cause.is_some_and(|one| again::is_once(verdict, one)) => "with it the break moved, once",
        _ if is_gone => "with it the break was gone",
        _ => "with it the break moved",
    }
}

/// What a change takes of memory: as it was told beforehand, or as it was seen.
fn memory(rung: &ProvedRung, verdict: &Verdict) -> String {
    // As it is told of the same change where it is proposed.
    let same = |change: &Change| {
        (&change.setting, &change.from, &change.to) == (&rung.change.setting, &rung.change.from, &rung.change.to)
    };
    let proposed = verdict.proposal.iter().find(|proposed| same(&proposed.change));
    let price = rung.price.or(proposed.and_then(|proposed| proposed.price));
    let measured = rung.measured.or(proposed.and_then(|proposed| proposed.measured));
    let of_it = |one: &&ProposedChange| one.change.setting == rung.change.setting;
    let grew = verdict.proposal.iter().find(of_it).and_then(|one| one.measured?.grew).is_some();
    match (price, measured) {
        (Some(price), _) if price.tested.is_none_or(|tested| !tested.refuted) => {
            format!("+{}", figure::bytes(price.memory.more))
        }
        (Some(_), _) => "not told".to_owned(),
        (None, Some(_)) if grew => "not told: it grew with the requests served".to_owned(),
        (None, Some(seen)) => {
            let [before, after] = [seen.before, seen.after]
                .map(|one| format!("{} with {} clients", figure::bytes(one.memory), figure::whole(one.clients)));
            format!("{before} → {after} (seen)")
        }
        (None, None) => "not measured".to_owned(),
    }
}

/// What was changed of a limit, where the proof does not show that it was one.
fn in_vain(rung: &MeasuredRung, verdict: &Verdict) -> Option<String> {
    let met_in = verdict.trials.iter().find(|trial| trial.trial == rung.met.trial)?;
    if verdict.decision().confirms() || met_in.purpose == Purpose::Proposal {
        return None;
    }
    let limit = &rung.limit.as_ref()?.limit;
    let proposed = verdict.proposal.iter().find(|proposed| proposed.limit == *limit)?;
    let why = match verdict.because() {
        Because::NotReproduced | Because::Contradicted => "it held without it, too",
        _ => "the proof does not confirm it",
    };
    Some(format!("{} (not proved: {why})", words::change(&proposed.change)))
}

/// `nginx worker_connections = 512 (/etc/nginx/nginx.conf:7)`.
fn name(limit: &RungLimit) -> String {
    let place = file(&limit.origin).map(|place| format!(" ({place})")).unwrap_or_default();
    format!("{} {}{place}", words::subject(&limit.subject), words::setting(&limit.setting, &limit.value))
}

fn file(origin: &Origin) -> Option<String> {
    match origin {
        Origin::File { path, line } => Some(format!("{}:{line}", clean::line(&path.display().to_string()))),
        _ => None,
    }
}

fn predicted(range: Option<Range>, context: Context<'_>) -> String {
    match range {
        None => "no load can be told".to_owned(),
        Some(range) if range.high == 0.0 => "the first request".to_owned(),
        Some(range) => format!("{} {}", figure::range(range, figure::level), context.unit()),
    }
}

/// Whether what stands behind, asked directly, fails as it does through the product: what fails by chance has no load at which it is met.
fn fails_by_itself(rung: &MeasuredRung, verdict: &Verdict) -> bool {
    let is_it = |cause: &&Cause| rung.limit.as_ref().is_some_and(|limit| limit.limit == cause.limit.id);
    let directly = |one: &Evidence| matches!(one, Evidence::Directly { failures: Some(_), .. });
    verdict.causes.iter().filter(is_it).any(|cause| cause.evidence.iter().any(directly))
}

fn met(at: &MetAt, context: Context<'_>, verdict: &Verdict) -> String {
    let Some(level) = at.level else { return "all came at once".to_owned() };
    let trial = verdict.trials.iter().find(|trial| trial.trial == at.trial);
    // Where more had come by then, some of them may have been served, or were about to be.
    let all_failed = trial.is_some_and(|trial| trial.failed > 0 && trial.failed == trial.finished);
    if all_failed && level < 1.5 {
        return "the first request".to_owned();
    }
    if context.bare(level) == "0" {
        return "the start of the load".to_owned();
    }
    let rate = if context.closed() {
        format!(", {} requests/s in the second before", figure::whole(at.rate))
    } else {
        String::new()
    };
    format!("{}{rate}", context.level(level))
}

/// What all changes did at once.
fn together(ladder: &Ladder, context: Context<'_>, verdict: &Verdict) -> Option<String> {
    let Together { trial, held_to, pairs, failed } = ladder.together?;
    // What was changed a second time counts once, as it was in that trial.
    let settings: BTreeSet<&str> = (ladder.rungs.iter())
        .filter_map(|rung| if let Rung::Proved(rung) = rung { Some(rung.change.setting.as_str()) } else { None })
        .collect();
    let what = match settings.len() {
        1 => "The change".to_owned(),
        many => format!("All {many} changes together"),
    };
    let silent = match verdict.decision() {
        Decision::Carried { pairs: Pairing::Unanswered { unanswered, of } } => Some((unanswered, of)),
        _ => None,
    };
    let proof = match (pairs, failed) {
        _ if silent.is_some_and(|(unanswered, of)| unanswered >= of) => {
            format!("; nothing was answered by which the objective could be judged at {}", context.level(ladder.asked))
        }
        _ if let Some((unanswered, all)) = silent => format!(
            "; the objective held in {} at {}, and in the other {unanswered} {}",
            of(all - unanswered, all),
            context.level(ladder.asked),
            context.silence()
        ),
        _ if let Decision::Carried { pairs: Pairing::Outpaced { outpaced, of: all } } = verdict.decision() => format!(
            "; the objective was not violated at {}, but that rate was not carried in {}",
            context.level(ladder.asked),
            of(outpaced, all)
        ),
        (0, _) => "; not measured in pairs".to_owned(),
        (pairs, 0) => format!("; the objective held in {} at {}", of(pairs, pairs), context.level(ladder.asked)),
        (pairs, failed) => {
            format!("; the objective failed in {} at {}", of(failed, pairs), context.level(ladder.asked))
        }
    };
    let broke = verdict.trials.iter().any(|one| one.trial == trial && one.broke.is_some());
    let held = match (held_to > 0.0, broke) {
        (true, false) => format!("held up to {} in trial {trial}", context.level(held_to)),
        (true, true) => format!("broke at {} in trial {trial}", context.level(held_to)),
        (false, _) => format!("ran in trial {trial}, whose load came all at once and failed"),
    };
    Some(format!("{what} {held}{proof}."))
}

/// `3 of 3 trials of the proof`.
fn of(some: u32, all: u32) -> String {
    format!("{some} of {}", figure::plural(all.into(), "trial of the proof", "trials of the proof"))
}
