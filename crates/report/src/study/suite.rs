//! An experiment of several runs: every answer, the troubles with what is behind them, the loads in figures, changes, advice.

use super::comparison::{call, interval, size, title};
use super::environment::{self, Asked};
use super::{claim, compare, machines};
use crate::context::fewer;
use crate::document::{Block, Cell, Document, Kind, Part, Section, Style, Table, Tone, sure};
use crate::{clean, figure, words};
use genkai_model::error::ErrorKind;
use genkai_model::event::RunStarted;
use genkai_model::figure::Figure;
use genkai_model::finding::claim::ClaimVerdict;
use genkai_model::finding::comparison::{ComparisonCaveat, ComparisonFinding};
use genkai_model::finding::{Cause, Confidence, Evidence, Outcome};
use genkai_model::suite::{AdviceFinding, ChangesFinding, LoadFigures, PartFinding, SuiteFinding};

/// The answer, then that of each part.
pub fn sentences(finding: &SuiteFinding) -> Vec<String> {
    let parts = finding.parts.iter().map(|part| format!("{}: {}", clean::line(&part.name), clean::line(&part.answer)));
    let changes = finding.changes.iter().map(|one| format!("{}: {}", clean::line(&one.name), changed(one)));
    let advice = finding.advice.iter().map(|one| format!("{}: {}", clean::line(&one.name), advised(one)));
    std::iter::once(statements(finding).join(" ")).chain(parts).chain(changes).chain(advice).collect()
}

/// What is said first of what did not come to its end.
const CUT_OFF: &str = "It was cut off before its end: parts may be missing.";

/// What it comes to, the first first: of the searches, each comparison of changes, the advice.
fn statements(finding: &SuiteFinding) -> Vec<String> {
    let all = finding.parts.len();
    let open: Vec<String> =
        finding.parts.iter().filter(|part| !part.named).map(|part| clean::line(&part.name)).collect();
    let mut said = Vec::new();
    said.extend(finding.interrupted.then(|| CUT_OFF.to_owned()));
    match (all, open.len()) {
        (0, _) => {}
        (_, 0) => said.push(format!("{} named what is behind it.", parts(all, all))),
        (_, missed) => {
            said.push(format!("{} named what is behind it; not: {}.", parts(all - missed, all), open.join(", ")))
        }
    }
    said.extend(finding.changes.iter().map(made));
    said.extend(finding.advice.iter().map(advised));
    if said.is_empty() { vec!["Nothing was run to its end.".to_owned()] } else { said }
}

fn parts(some: usize, all: usize) -> String {
    match (some, all) {
        (1, 1) => "The search".to_owned(),
        (some, all) if some == all => format!("Each of {all} searches"),
        (some, all) => format!("{some} of {all} searches"),
    }
}

/// Which changes made a difference, in short.
fn made(one: &ChangesFinding) -> String {
    let name = clean::line(&one.name);
    if let Some(void) = void(&one.comparison) {
        return format!("{name}: {void}");
    }
    let pairs = &one.comparison.pairs;
    let names: Vec<String> = pairs.iter().filter(|p| compare::differs(p)).map(|p| clean::line(&p.other)).collect();
    if names.is_empty() {
        return format!("{name}: no difference was found.");
    }
    let rest = pairs.len() - names.len();
    let others = match rest {
        0 => String::new(),
        rest => format!("; {} made none that was found", figure::plural(rest as u64, "other", "others")),
    };
    format!("{name}: {} made a difference{others}.", names.join(" and "))
}

/// Which changes made a difference, and in what.
fn changed(one: &ChangesFinding) -> String {
    void(&one.comparison).unwrap_or_else(|| compare::headline(&one.comparison))
}

/// Why a comparison says nothing of the changes, where it does not: too few blocks, nobody who answered, a control that differs.
fn void(comparison: &ComparisonFinding) -> Option<String> {
    let answered = matches!(comparison.outcome, Outcome::Holds | Outcome::Fails);
    if comparison.blocks >= 2 && answered {
        return None;
    }
    let differs = |caveat: &&ComparisonCaveat| matches!(caveat, ComparisonCaveat::ControlDiffers { .. });
    let control = comparison.caveats.iter().find(differs).filter(|_| comparison.blocks >= 2);
    Some(control.map_or_else(|| compare::headline(comparison), compare::caveat))
}

/// How many claims came to what.
fn advised(one: &AdviceFinding) -> String {
    let count = |wanted: ClaimVerdict| one.claims.iter().filter(|claim| claim.verdict == wanted).count();
    let told = ClaimVerdict::ALL.iter().filter(|verdict| count(**verdict) > 0);
    let told = told.map(|verdict| counted(count(*verdict), *verdict));
    let untested = (!one.untested.is_empty()).then(|| format!("{} could not be tested", one.untested.len()));
    let told: Vec<String> = told.chain(untested).collect();
    let all = figure::plural((one.claims.len() + one.untested.len()) as u64, "piece", "pieces");
    format!("Of {all} of advice: {}.", told.join("; "))
}

/// `2 confirmed`, `3 do not exist`.
fn counted(count: usize, verdict: ClaimVerdict) -> String {
    match verdict {
        ClaimVerdict::DoesNotExist if count > 1 => format!("{count} do not exist"),
        ClaimVerdict::CannotTell => format!("{count} not decided"),
        ClaimVerdict::Clamped => format!("{count} without effect, as the server takes another value"),
        other => format!("{count} {}", claim::verdict(other)),
    }
}

/// The troubles with what is behind them.
fn troubles(finding: &SuiteFinding) -> Table {
    let rows = finding.parts.iter().filter_map(trouble);
    Table::new("Troubles", &["trouble", "what is behind it", "predicted", "seen"], rows).kinds(Kind::Prose, 1..4)
}

/// A change a row: what it does to each figure that people speak of.
fn effects(one: &ChangesFinding) -> Table {
    const SHOWN: [Figure; 4] = [Figure::Failures, Figure::Throughput, Figure::P95, Figure::P99];
    let cell = |pair: &genkai_model::finding::comparison::ComparedPair, figure: Figure| {
        let effect = pair.effects.iter().find(|effect| effect.figure == figure);
        effect.map_or_else(String::new, |effect| format!("{}: {} ({})", call(effect), size(effect), interval(effect)))
    };
    let row = |pair: &genkai_model::finding::comparison::ComparedPair| {
        std::iter::once(clean::line(&pair.other)).chain(SHOWN.map(|figure| cell(pair, figure))).collect::<Vec<String>>()
    };
    let head: Vec<&str> = std::iter::once("change").chain(SHOWN.map(title)).collect();
    Table::new("Each change", &head, one.comparison.pairs.iter().map(row)).kinds(Kind::Prose, 1..5)
}

/// A contender a row, in the words of the original.
fn contenders(one: &ChangesFinding) -> Table {
    let head = ["settings", "completed", "p95", "p99", "ETIMEDOUT", "ECONNRESET"];
    let row = |load: &LoadFigures| {
        vec![
            clean::line(&load.name),
            format!("{} of {}", figure::count(load.completed), figure::count(load.launched)),
            time(load, load.latency.p95),
            time(load, load.latency.p99),
            errors(load, TIMED_OUT),
            errors(load, RESET),
        ]
    };
    Table::new("In figures", &head, one.loads.iter().map(row)).figures()
}

/// Advice, what was measured, the verdict.
fn advice(one: &AdviceFinding) -> Table {
    let untested = one.untested.iter().map(|one| {
        let why = clean::cut(&one.why, 200);
        vec![clean::line(&one.claim), String::new(), why, "not tested".to_owned(), String::new(), String::new()]
    });
    Table::new("Advice", &claim::COLUMNS, one.claims.iter().map(claim::row).chain(untested)).kinds(Kind::Prose, 1..5)
}

const TIMED_OUT: &[ErrorKind] = &[ErrorKind::Timeout, ErrorKind::ConnectTimeout, ErrorKind::TlsTimeout];
const RESET: &[ErrorKind] = &[ErrorKind::Reset, ErrorKind::ResetReused, ErrorKind::EofNew];

/// A figure of its latency; `-` where nothing came back.
fn time(load: &LoadFigures, seconds: f64) -> String {
    if load.latency.is_empty() { "-".to_owned() } else { figure::seconds(seconds) }
}

fn errors(load: &LoadFigures, kinds: &[ErrorKind]) -> String {
    figure::count(load.errors.iter().filter(|e| kinds.contains(&e.kind)).map(|e| e.count).sum())
}

fn connects(load: &LoadFigures) -> String {
    load.connects.map_or_else(|| "-".to_owned(), figure::percent)
}

/// A trouble, what is behind it, and where the formula puts it.
fn trouble(part: &PartFinding) -> Option<Vec<String>> {
    let trouble = clean::line(part.trouble.as_ref()?);
    let causes = &part.verdict.causes;
    let Some(cause) = causes.iter().find(|c| c.confidence != Confidence::Refuted).or(causes.first()) else {
        return Some(vec![trouble, "not named".to_owned(), String::new(), String::new()]);
    };
    let limit = &cause.limit;
    let behind = format!("{} {}", words::subject(&limit.subject), words::setting(&limit.setting, &limit.value));
    let (predicted, seen) = places(cause);
    Some(vec![trouble, if part.named { behind } else { format!("{behind} (?)") }, predicted, seen])
}

/// Where the formula puts a limit and where it was reached, in its own unit.
fn places(cause: &Cause) -> (String, String) {
    for evidence in &cause.evidence {
        match evidence {
            Evidence::Silence { seen, allowed, .. } => {
                return (format!("{} of silence", figure::seconds(*allowed)), figure::seconds(*seen));
            }
            Evidence::Closed { code, count } => {
                return (clean::line(&cause.limit.formula), format!("{} x {}", count, words::close(*code)));
            }
            _ => {}
        }
    }
    let clients = cause.predicted.clients.map(|range| format!("{} at once", figure::range(range, figure::whole)));
    let seen = format!("{} at once", figure::whole(cause.broke.in_flight));
    match clients {
        Some(clients) => (clients, seen),
        None => (
            clean::line(&cause.limit.formula),
            format!("{} users{}", figure::whole(cause.broke.level), fewer(&cause.broke)),
        ),
    }
}

/// A row for each figure, in the words of the tools that people come from, a column for each load.
fn figures(loads: &[&LoadFigures]) -> Table {
    let row = |name: &str, show: &dyn Fn(&LoadFigures) -> String| {
        std::iter::once(name.to_owned()).chain(loads.iter().map(|load| show(load))).collect::<Vec<String>>()
    };
    let time = |pick: fn(&LoadFigures) -> f64| move |load: &LoadFigures| time(load, pick(load));
    let code = |kinds: &'static [ErrorKind]| move |load: &LoadFigures| errors(load, kinds);
    let rows = vec![
        row("settings", &|l| clean::line(&l.name)),
        row("scenarios launched", &|l| figure::count(l.launched)),
        row("scenarios completed", &|l| figure::count(l.completed)),
        row("requests completed", &|l| figure::count(l.requests)),
        row("rate sent", &|l| format!("{}/s", figure::number(l.rate))),
        row("latency min", &time(|l| l.latency.min)),
        row("latency median", &time(|l| l.latency.p50)),
        row("latency p95", &time(|l| l.latency.p95)),
        row("latency p99", &time(|l| l.latency.p99)),
        row("latency max", &time(|l| l.latency.max)),
        row("ETIMEDOUT", &code(TIMED_OUT)),
        row("ECONNRESET", &code(RESET)),
        row("no answer yet at the end", &|l| figure::count(l.unanswered)),
        row("closed without a frame (1006)", &code(&[ErrorKind::ClosedAbnormally])),
        row("connection success", &connects),
        row("concurrent connections", &|l| figure::count(l.concurrent)),
        row("throughput", &|l| format!("{}/s", figure::bytes(l.throughput))),
    ];
    let names = loads.iter().map(|l| format!("{} users", figure::count(l.launched)));
    let head: Vec<String> = std::iter::once(String::new()).chain(names).collect();
    Table::new("In figures", &head, rows).figures()
}

/// The loads that are told in full: those of parts that are no trouble made on purpose.
fn steps(finding: &SuiteFinding) -> Vec<&LoadFigures> {
    finding.parts.iter().filter(|p| p.trouble.is_none()).flat_map(|p| &p.loads).collect()
}

/// The report.
pub fn suite(head: &RunStarted, finding: &SuiteFinding) -> Document {
    let mut document = Document::of(finding.outcome(), turned(finding), statements(finding));
    document.tone = Tone::Plain;
    document.record = "in the folder of each part";
    document.answer = document.beyond_headline(Style::Plain);
    document.sentences.insert(0, clean::line(&finding.title));
    let figures = figures(&steps(finding));
    document.sections.extend(troubles_section(finding));
    document.sections.extend(figures_section(&figures));
    document.sections.extend(finding.changes.iter().map(changes_section));
    document.sections.extend(finding.advice.iter().map(advice_section));
    document.sections.extend(parts_section(finding));
    document.sections.extend(sure(machines::limited(&finding.processes)));
    document.sections.push(environment::section(head, Vec::new(), Asked::Versions));
    document.sections.extend(machines::sections(&finding.processes));
    document.sections.extend(in_short(finding, figures));
    document
}

/// How it turned out; that something searched for was named, or was not, comes first.
fn turned(finding: &SuiteFinding) -> &'static str {
    let missed = finding.parts.iter().any(|part| !part.named);
    match finding.outcome() {
        Outcome::Holds if finding.parts.len() == 1 => "the search named what is behind it",
        Outcome::Holds if !finding.parts.is_empty() => "every search named what is behind it",
        Outcome::Fails if missed => "not everything was named",
        Outcome::Holds => "what was asked is decided",
        Outcome::Fails => "not everything is decided",
        Outcome::Invalid => "some of this says nothing of the server",
        Outcome::Unfinished => "cut off before there was an answer",
    }
}

fn troubles_section(finding: &SuiteFinding) -> Option<Section> {
    let lead = "Each made on purpose. Where the formula puts the limit, and where it was reached.";
    let table = troubles(finding).block();
    Section::page(Part::Figure, "troubles", "The troubles that people report", lead).with(table).filled()
}

fn figures_section(figures: &Table) -> Option<Section> {
    let lead = "In the words of the tools that people come from. Who still waits when the load ends, and whose own time is not over, is in a row of its own.";
    let table = (figures.columns.len() > 1).then(|| figures.clone().block()).flatten();
    Section::page(Part::Figure, "figures", "In figures", lead).with(table).filled()
}

/// Changes one at a time and all together.
fn changes_section(one: &ChangesFinding) -> Section {
    let lead = format!(
        "{} Each change alone and all together, beside the system without them, in shuffled blocks.",
        clean::line(&one.question)
    );
    let added = Block::details("In figures, all turns added up", contenders(one).block());
    let drawn = [effects(one).block(), Some(compare::cards(&one.comparison)), Some(added)];
    let drawn = drawn.into_iter().flatten().filter(|_| one.comparison.blocks > 1);
    let how = [Block::aside(compare::sure(&one.comparison)), Block::link(&one.name)];
    let section = Section::page(Part::Change, &one.name, "One change at a time", &lead);
    section.with([Block::text(changed(one))]).with(drawn).with(how)
}

/// Advice, what was measured, the verdict.
fn advice_section(one: &AdviceFinding) -> Section {
    let lead = "What was measured holds for that load and machine.";
    let section = Section::page(Part::Change, &one.name, "Advice put to the test", lead);
    section.with([Block::text(advised(one))]).with(advice(one).block())
}

/// Every part with its answer; its report lies beside this page.
fn parts_section(finding: &SuiteFinding) -> Option<Section> {
    let row = |part: &PartFinding| {
        let named = if part.named { "yes" } else { "no" };
        [Cell::link(&part.name), clean::line(&part.question).into(), clean::line(&part.answer).into(), named.into()]
    };
    let head = ["part", "question", "answer", "named"];
    let table = Table::new("Every answer", &head, finding.parts.iter().map(row)).kinds(Kind::Prose, [2]).block();
    let lead = "Each is a run of its own, in a folder beside this page.";
    Section::page(Part::Evidence, "parts", "Every answer", lead).with(table).filled()
}

/// What a terminal shows.
fn in_short(finding: &SuiteFinding, figures: Table) -> Vec<Section> {
    let titled = |title: &str, table: Table| Section::terminal(title).with(table.block()).filled();
    let part = |part: &PartFinding| {
        let tone = if part.named { Tone::Good } else { Tone::Doubtful };
        Section::terminal(&clean::line(&part.question)).with([Block::toned(tone, clean::line(&part.answer))])
    };
    let changes = |one: &ChangesFinding| {
        let answer = Section::terminal(&clean::line(&one.question)).with([Block::text(changed(one))]);
        let blocks = figure::plural(one.comparison.blocks.into(), "block", "blocks");
        let added = format!("The same in figures, the turns of {blocks} added up");
        let tables = [titled("Each change beside the baseline", effects(one)), titled(&added, contenders(one))];
        let tables = tables.into_iter().flatten().filter(|_| one.comparison.blocks >= 2);
        std::iter::once(answer).chain(tables).collect::<Vec<Section>>()
    };
    let mut all: Vec<Section> = finding.parts.iter().map(part).collect();
    all.extend(titled("The troubles that people report", troubles(finding)));
    all.extend(titled("In figures", figures).filter(|_| !steps(finding).is_empty()));
    all.extend(finding.changes.iter().flat_map(changes));
    all.extend(finding.advice.iter().flat_map(advice_in_short));
    all
}

fn advice_in_short(one: &AdviceFinding) -> Vec<Section> {
    let answer = Section::terminal(&clean::line(&one.question)).with([Block::text(advised(one))]);
    let untested = one.untested.iter();
    let untested =
        untested.map(|one| Block::fact(clean::line(&one.claim), format!("not tested: {}", clean::line(&one.why))));
    let mut all = vec![answer];
    all.extend(one.claims.iter().map(claim::section));
    if let Some(last) = all.pop() {
        all.push(last.with(untested));
    }
    all
}
