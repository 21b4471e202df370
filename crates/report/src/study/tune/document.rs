//! The report of a run that tunes or measures.

use genkai_model::event::FinishedFile;
use genkai_model::finding::{
    Break, Candidate, Cause, Confidence, Evidence, Findings, Outcome, Quantiles, TrialFinding, Verdict,
};
use genkai_model::plan::{ConfigSource, Study};
use genkai_model::record::{Record, Trial};

use super::{About, cause, charts, counterfactual, load, measures, said, sentences, spoilt, terminal, tracks};
use crate::context::{Context, failed, fewer};
use crate::document::{Block, Document, Kind, Line, Mark, Medium, Part, Section, Style, Tab, Table, Tile};
use crate::study::environment::{self, Asked};
use crate::study::over_time;
use crate::{clean, figure, words};

/// The report.
pub fn tune(record: &Record, findings: &Findings) -> Document {
    let (context, verdict) = (Context::judged(record, &findings.verdict), &findings.verdict);
    let mut document = Document::of(verdict.outcome(), words::outcome(verdict.outcome()), sentences(findings, record));
    document.labelled = true;
    document.answer = answer(record, findings, context);
    let measured = verdict.load.is_some() || record.head.as_ref().is_some_and(|head| head.plan.study == Study::Load);
    document.sections = match measured {
        true => load::sections(record, findings),
        false => terminal::sections(record, findings, context),
    };
    document.sections.extend(over(record, findings, context));
    document.sections.extend(
        [proof(findings, context), tracks::section(findings, context), evidence(findings, context)]
            .into_iter()
            .flatten(),
    );
    document.sections.extend([change(record), trials(findings, context), sure(record, findings)].into_iter().flatten());
    document.sections.extend(environment::of(record, Asked::Load));
    document
}

/// Sentences about one of these.
fn about(record: &Record, findings: &Findings, wanted: &[About]) -> Vec<String> {
    said(findings, record).into_iter().filter(|one| wanted.contains(&one.about)).map(|one| one.text).collect()
}

fn answer(record: &Record, findings: &Findings, context: Context<'_>) -> Vec<Block> {
    let lead = about(record, findings, &[About::Broke, About::Test]);
    let next = if findings.verdict.trials.iter().any(|trial| trial.broke.is_some()) {
        "What breaks next"
    } else {
        "What would break first"
    };
    let columns = [
        ("What the proof says", About::Proof),
        ("What the change takes", About::Price),
        ("What was measured", About::Held),
        (next, About::Next),
    ];
    let columns = columns.map(|(title, of)| (title.to_owned(), about(record, findings, &[of])));
    let columns = columns.into_iter().filter(|(_, said)| !said.is_empty()).collect();
    let mut blocks: Vec<Block> = lead.into_iter().map(|text| Block::styled(Style::Lead, text)).collect();
    blocks.extend([Block::Tiles { tiles: tiles(findings, context) }, Block::Columns { columns }]);
    blocks
}

/// How sure it is, and what contradicts or limits it.
fn sure(record: &Record, findings: &Findings) -> Option<Section> {
    crate::document::sure(about(record, findings, &[About::Sure, About::Caveat]))
}

/// The figures that carry the verdict, at most four.
fn tiles(findings: &Findings, context: Context<'_>) -> Vec<Tile> {
    let verdict = &findings.verdict;
    if verdict.outcome() == Outcome::Invalid {
        return Vec::new();
    }
    let cause = verdict.causes.iter().find(|cause| cause.confidence != Confidence::Refuted);
    let mut all = broke(verdict, cause, context);
    all.extend(cause.and_then(|cause| lifted(cause, context)));
    all.extend(verdict.proof.as_ref().map(|proof| {
        let [before, after] = proof.failures.map(figure::count);
        let note = format!("{before} → {after} failures in {}", figure::plural(proof.pairs.into(), "pair", "pairs"));
        let value =
            format!("{} → {}", figure::percent(proof.failed_before.value), figure::percent(proof.failed_after.value));
        Tile::new(&figure::capital(&super::failing(context, proof).0), value, note)
    }));
    all.extend(next(verdict, context));
    all.truncate(4);
    all
}

/// Where it broke, or what it held.
fn broke(verdict: &Verdict, cause: Option<&Cause>, context: Context<'_>) -> Vec<Tile> {
    let first = verdict.trials.iter().find_map(|trial| trial.broke.as_ref());
    if let Some(broke) = cause.map(|cause| &cause.broke).or(first) {
        let clients = cause.and_then(|cause| cause.predicted.clients);
        let asked = || format!("asked for: {}", clean::line(&broke.condition));
        let note = clients.map_or_else(asked, |range| format!("predicted at {}", crate::context::clients(range)));
        let value = if broke.level < 1.5 {
            "the first request".to_owned()
        } else {
            format!("{}{}", least(broke), level(broke.level, context))
        };
        return vec![Tile::new("It broke at", value, note)];
    }
    let held =
        verdict.trials.iter().find(|trial| trial.broke.is_none()).filter(|_| verdict.outcome() != Outcome::Unfinished);
    let Some(held) = held else { return Vec::new() };
    let of = format!("of {} responses", figure::count(held.latency.count));
    vec![
        Tile::new("It held at", level(context.rose_to.unwrap_or(held.asked), context), failed(context, held)),
        Tile::new("p99 latency", figure::seconds(held.latency.p99), of),
    ]
}

/// What stands before the level of a break that fewer may have been too many for.
fn least(broke: &Break) -> &'static str {
    if broke.or_fewer { "at most " } else { "" }
}

/// `243 users`.
fn level(level: f64, context: Context<'_>) -> String {
    format!("{} {}", figure::whole(level), context.unit())
}

/// What lifting the cause alone did.
fn lifted(cause: &Cause, context: Context<'_>) -> Option<Tile> {
    let after = cause.counterfactual.as_ref()?;
    let held = || format!("held to {}", figure::whole(after.held_to));
    let value =
        after.observed.as_ref().map_or_else(held, |broke| format!("{}{}", least(broke), level(broke.level, context)));
    let unit = if after.scale == genkai_model::finding::Scale::Clients { "clients" } else { context.unit() };
    let predicted = after.predicted.map(|range| format!(", predicted {}", crate::context::bites(range, unit)));
    let change = format!("{} {} alone", clean::line(&after.change.setting), clean::line(&after.change.to));
    Some(Tile::new("With one change", value, format!("{change}{}", predicted.unwrap_or_default())))
}

fn next(verdict: &Verdict, context: Context<'_>) -> Option<Tile> {
    let next = verdict.next.as_ref()?;
    let broke = verdict.trials.iter().any(|trial| trial.broke.is_some());
    let name = if broke || next.clients.is_none() { "Next limit" } else { "First limit" };
    // What has no end in clients is told in the unit of the load.
    let users = next.users.filter(|_| next.clients.is_some_and(crate::context::is_wide));
    let users = users.map(|range| crate::context::levels(range, context.unit()));
    let clients = users.or_else(|| next.clients.map(crate::context::clients));
    let value =
        clients.or_else(|| next.rate.map(|rate| format!("{} requests/s", figure::range(rate, figure::number))))?;
    let or = if verdict.next_or.is_empty() { "" } else { ", or another one before it" };
    Some(Tile::new(name, value, words::setting(&next.setting, &next.value) + or))
}

/// Every trial over time; the one that found the break comes first.
fn over(record: &Record, findings: &Findings, context: Context<'_>) -> Option<Section> {
    let verdict = &findings.verdict;
    let found = |trial: &Trial| verdict.trials.iter().find(|one| one.trial == trial.number);
    let points = |trial: &Trial| {
        findings.series.iter().find(|one| one.trial == trial.number).filter(|one| !one.points.is_empty())
    };
    let mut shown: Vec<(&Trial, &genkai_model::finding::Series)> =
        record.trials.iter().filter_map(|trial| Some((trial, points(trial)?))).collect();
    let first = verdict.trials.iter().find(|one| one.broke.is_some()).map(|one| one.trial);
    shown.sort_by_key(|(trial, _)| Some(trial.number) != first);
    let tab = |(trial, series): &(&Trial, &genkai_model::finding::Series)| {
        let found = found(trial);
        let broke = found.and_then(|one| one.broke.as_ref());
        let moment = charts::Moment::of(trial, series, broke, context.counted(), context);
        let gauges = over_time::gauges(trial, moment.last, broke.map(|broke| broke.at));
        let blocks = [
            Block::styled(Style::Facts, facts(trial, found, context)),
            Block::Chart(moment.load()),
            over_time::log_list(trial),
            Block::Chart(moment.latency()),
        ];
        Tab {
            label: format!("{} · {}", trial.number, words::purpose(trial.started.purpose)),
            remark: broke.map(|_| "broke".to_owned()),
            blocks: blocks.into_iter().chain(gauges).collect(),
        }
    };
    let tabs: Vec<Tab> = shown.iter().map(tab).collect();
    let lead = "Each trial is one load on one configuration. The trial that found the break comes first.";
    let views = || Block::Tabs { name: "Trials".to_owned(), tabs: tabs.clone() };
    (!tabs.is_empty()).then(|| Section::page(Part::Figure, "time", "Over time", lead).with([views()]))
}

/// What a trial was, and what came of it.
fn facts(trial: &Trial, found: Option<&TrialFinding>, context: Context<'_>) -> String {
    let changes: Vec<String> = trial.started.changes.iter().map(words::change).collect();
    let with = if changes.is_empty() {
        "With the configuration as it was.".to_owned()
    } else {
        format!("With {}.", changes.join(", "))
    };
    let mut parts = vec![with];
    if let Some(found) = found {
        let (asked, share) = (level(found.asked, context), share(found));
        parts.push(format!(
            "{asked} asked for; {} ({share}) in {}.",
            failed(context, found),
            figure::seconds(found.lasted)
        ));
        parts.extend((!found.errors.is_empty()).then(|| format!("Failures: {}.", words::errors(&found.errors))));
    }
    parts.extend(
        trial
            .ended
            .as_ref()
            .map(|ended| format!("The load {}.", words::ended(ended.reason, trial.started.load.asked_by.is_none()))),
    );
    use genkai_model::event::ServerState::{Died, WorkerDied};
    parts.extend(over_time::states(trial, |state| matches!(state, Died | WorkerDied)));
    parts.join(" ")
}

/// Part of requests that failed.
fn share(trial: &TrialFinding) -> String {
    if trial.finished > 0 { figure::percent(trial.failed as f64 / trial.finished as f64) } else { "0 %".to_owned() }
}

fn proof(findings: &Findings, context: Context<'_>) -> Option<Section> {
    let proof = findings.verdict.proof.as_ref()?;
    let measures = measures(context, proof);
    let [before, after] = super::names(&findings.verdict, super::Side::Before);
    let [short_before, short_after] = match findings.verdict.proposal.as_slice() {
        [one] => [clean::line(&one.change.from), clean::line(&one.change.to)],
        _ => ["before".to_owned(), "after".to_owned()],
    };
    let order: Vec<String> = proof.order.chars().map(String::from).collect();
    let lead = format!(
        "{}, run in the order {} (A {before}, B {after}). Whiskers are 95 % confidence intervals.",
        figure::plural(proof.pairs.into(), "pair", "pairs"),
        clean::line(&order.join(" "))
    );
    let cards = measures.iter().map(|one| one.card(&short_before, &short_after)).collect();
    let total = |i: usize| format!("{} / {}", figure::count(proof.failures[i]), figure::count(proof.finished[i]));
    let totals = ["Failures / finished".to_owned(), total(0), total(1), String::new()];
    let rows = measures.iter().map(super::Measure::row).chain([totals]);
    let head = ["", before.as_str(), after.as_str(), "difference (95 % interval)"];
    let table = Table::new("Before and after", &head, rows).figures();
    let section = Section::page(Part::Evidence, "proof", "Before and after", &lead);
    Some(section.with([Block::Cards { cards, wide: false }, Block::Table(table)]))
}

/// Each cause with its evidence, its test, and the candidates that were set aside.
fn evidence(findings: &Findings, context: Context<'_>) -> Option<Section> {
    let articles = findings.verdict.causes.iter().map(|cause| article(&findings.verdict, cause, context));
    let lead =
        "What the servers and clients showed in the same seconds, and the test that decides: change one setting alone.";
    Section::page(Part::Evidence, "evidence", "Evidence", lead).with(articles).filled()
}

fn article(v: &Verdict, cause: &Cause, context: Context<'_>) -> Block {
    let (style, sign) = match cause.confidence {
        Confidence::Proved => (Style::Proved, "✓"),
        Confidence::Likely => (Style::Likely, "≈"),
        Confidence::Possible => (Style::Possible, "?"),
        Confidence::Refuted => (Style::Refuted, "✕"),
    };
    let heading = |text: &str| Block::Heading { text: text.to_owned(), level: 4 };
    let shown = |all: &[Evidence]| all.iter().map(cause::evidence).collect::<Vec<String>>();
    let limit = &cause.limit;
    let caps = cause::caps(cause);
    let [formula, source] = [&limit.formula, &limit.source].map(|text| clean::line(text));
    let mut blocks = vec![
        Block::heading(format!("{}: {}", words::subject(&limit.subject), words::setting(&limit.setting, &limit.value))),
        Block::styled(style, format!("{sign} {}", spoilt::confidence(v, cause))),
        Block::styled(Style::Formula, format!("{caps}: {formula} ({source})")),
        heading("What speaks for it"),
        Block::Notes { items: shown(&cause.evidence), style: Style::Evidence },
    ];
    let changed = counterfactual::told(context, v, cause);
    blocks.extend(changed.into_iter().flat_map(|text| [heading("What changing it alone did"), Block::text(text)]));
    blocks.extend((!cause.others.is_empty()).then(|| heading("What else it could have been, and why it is not")));
    let name = |one: &Candidate| format!("{}: {}", words::subject(&one.subject), clean::line(&one.setting));
    let (seen, unseen): (Vec<_>, Vec<_>) = cause.others.iter().partition(|other| !other.evidence.is_empty());
    let rows = seen.into_iter().map(|other| [name(other), cause::why_not(other), shown(&other.evidence).join("; ")]);
    let head = ["candidate", "why not", "what spoke for it"];
    blocks.extend(Table::new("Other candidates", &head, rows).kinds(Kind::Prose, [2]).block());
    let names: Vec<String> = unseen.into_iter().map(name).collect();
    blocks
        .extend((!names.is_empty()).then(|| Block::aside(format!("Nothing at all spoke for: {}.", names.join("; ")))));
    Block::Article { blocks }
}

/// The proposal as a unified diff of the user's file.
fn change(record: &Record) -> Option<Section> {
    let diff = record.end.as_ref().map(|end| end.diff.trim_end()).filter(|diff| !diff.is_empty())?;
    let line = |text: &str| {
        let mark = match text.as_bytes() {
            [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] | [b'@', b'@', ..] => Mark::Place,
            [b'+', ..] => Mark::Added,
            [b'-', ..] => Mark::Removed,
            _ => Mark::Same,
        };
        Line { mark, text: text.to_owned() }
    };
    let code = Block::Code { label: "Unified diff".to_owned(), lines: diff.lines().map(line).collect() };
    let lead = "The proposal, as a diff of the configuration that was tested.";
    let files = record.end.iter().flat_map(|end| &end.files).map(finished);
    let section = Section::page(Part::Change, "change", "The change", lead).with([code]);
    let section = section.with(made_for_the_run(record).map(Block::text)).with(files.map(Block::text));
    Some(section.and(Medium::Terminal).and_markdown())
}

/// What to change in the place of a file that nobody has after the run.
fn made_for_the_run(record: &Record) -> Option<String> {
    let system = &record.head.as_ref()?.plan.system;
    let ConfigSource::Cluster(server) = &system.config else { return None };
    let text = || {
        format!(
            "The namespace {} was made for this run and is removed at its end, and its ConfigMap with it: make the same change in your own \
             configuration of {}, or in the ConfigMap that your own Deployment mounts.",
            clean::line(&server.namespace),
            clean::line(&system.product)
        )
    };
    server.made.then(text)
}

/// Where a file with the proposal in it is.
fn finished(file: &FinishedFile) -> String {
    let name = |path: &std::path::Path| clean::line(&path.display().to_string());
    match &file.copy {
        Some(copy) => format!("The finished file for {}: {} in the run's folder.", name(&file.path), name(copy)),
        None => format!(
            "{} holds what looks like a secret, so no finished copy of it was written: apply the diff, or let --write do it.",
            name(&file.path)
        ),
    }
}

/// A figure of times; `-` where there was none to take it of.
fn time(of: &Quantiles, seconds: f64) -> String {
    if of.is_empty() { "-".to_owned() } else { figure::seconds(seconds) }
}

/// Every trial in one table.
fn trials(findings: &Findings, context: Context<'_>) -> Option<Section> {
    let row = |trial: &TrialFinding| {
        let changes: Vec<String> =
            trial.changes.iter().map(|one| clean::line(&format!("{} {}", one.setting, one.to))).collect();
        let broke = trial
            .broke
            .as_ref()
            .map_or_else(|| "no".to_owned(), |broke| format!("at {}{}", figure::whole(broke.level), fewer(broke)));
        [
            format!("{} · {}", trial.trial, words::purpose(trial.purpose)),
            if changes.is_empty() { "as it was".to_owned() } else { changes.join(", ") },
            figure::whole(trial.asked),
            broke,
            figure::count(trial.finished),
            format!("{} ({})", figure::count(trial.failed), share(trial)),
            figure::number(trial.rate),
            time(&trial.latency, trial.latency.p50),
            time(&trial.latency, trial.latency.p99),
        ]
    };
    let head = ["trial", "settings", context.unit(), "broke", context.counted(), "failed", "ok/s", "p50", "p99"];
    let table =
        Table::new("All trials", &head, findings.verdict.trials.iter().map(row)).kinds(Kind::Figure, 2..9).block();
    let lead = "One row for each load that was run.";
    Section::page(Part::Evidence, "trials", "All trials", lead).with(table).filled()
}
