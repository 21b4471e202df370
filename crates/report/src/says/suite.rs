//! An experiment of several runs, in words: the answer, the tables that its terminal output and its page share.

use genkai_model::error::ErrorKind;
use genkai_model::figure::Figure;
use genkai_model::finding::claim::ClaimVerdict;
use genkai_model::finding::comparison::{ComparisonCaveat, ComparisonFinding};
use genkai_model::finding::{Cause, Confidence, Evidence, Outcome};
use genkai_model::suite::{AdviceFinding, ChangesFinding, LoadFigures, PartFinding, SuiteFinding};
use serde::Serialize;

use super::{claim, compare};
use crate::{clean, figure, words};

/// A table in words.
#[derive(Serialize)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    fn of(head: &[&str], rows: Vec<Vec<String>>) -> Table {
        Table { head: head.iter().map(|cell| (*cell).to_owned()).collect(), rows }
    }
}

/// The answer, then that of each part.
pub(crate) fn sentences(finding: &SuiteFinding) -> Vec<String> {
    let parts = finding.parts.iter().map(|part| format!("{}: {}", clean::line(&part.name), clean::line(&part.answer)));
    let changes = finding.changes.iter().map(|one| format!("{}: {}", clean::line(&one.name), changed(one)));
    let advice = finding.advice.iter().map(|one| format!("{}: {}", clean::line(&one.name), advised(one)));
    std::iter::once(statements(finding).join(" ")).chain(parts).chain(changes).chain(advice).collect()
}

/// What is said first of what did not come to its end.
const CUT_OFF: &str = "It was cut off before its end: parts may be missing.";

/// What it comes to, the first first: of the searches, each comparison of changes, the advice.
pub(crate) fn statements(finding: &SuiteFinding) -> Vec<String> {
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
pub(crate) fn changed(one: &ChangesFinding) -> String {
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
pub(crate) fn advised(one: &AdviceFinding) -> String {
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
pub(crate) fn troubles(finding: &SuiteFinding) -> Table {
    let rows = finding.parts.iter().filter_map(trouble).collect();
    Table::of(&["trouble", "what is behind it", "predicted", "seen"], rows)
}

/// A change a row: what it does to each figure that people speak of.
pub(crate) fn effects(one: &ChangesFinding) -> Table {
    const SHOWN: [Figure; 4] = [Figure::Failures, Figure::Throughput, Figure::P95, Figure::P99];
    let cell = |pair: &genkai_model::finding::comparison::ComparedPair, figure: Figure| {
        let effect = pair.effects.iter().find(|effect| effect.figure == figure);
        effect.map_or_else(String::new, |effect| {
            format!("{}: {} ({})", compare::call(effect.call), compare::size(effect), compare::interval(effect))
        })
    };
    let row = |pair: &genkai_model::finding::comparison::ComparedPair| {
        std::iter::once(clean::line(&pair.other)).chain(SHOWN.map(|figure| cell(pair, figure))).collect()
    };
    let head: Vec<&str> = std::iter::once("change").chain(SHOWN.map(compare::title)).collect();
    Table::of(&head, one.comparison.pairs.iter().map(row).collect())
}

/// A contender a row, in the words of the original.
pub(crate) fn contenders(one: &ChangesFinding) -> Table {
    let head = ["settings", "completed", "p95", "p99", "ETIMEDOUT", "ECONNRESET"];
    let row = |load: &LoadFigures| {
        vec![
            clean::line(&load.name),
            format!("{} of {}", figure::count(load.completed), figure::count(load.launched)),
            figure::seconds(load.latency.p95),
            figure::seconds(load.latency.p99),
            errors(load, TIMED_OUT),
            errors(load, RESET),
        ]
    };
    Table::of(&head, one.loads.iter().map(row).collect())
}

/// Advice, what was measured, the verdict.
pub(crate) fn advice(one: &AdviceFinding) -> Table {
    let untested = one.untested.iter().map(|one| {
        let why = clean::cut(&one.why, 200);
        vec![clean::line(&one.claim), String::new(), why, "not tested".to_owned(), String::new(), String::new()]
    });
    Table::of(&claim::COLUMNS, one.claims.iter().map(claim::row).chain(untested).collect())
}

const TIMED_OUT: &[ErrorKind] = &[ErrorKind::Timeout, ErrorKind::ConnectTimeout, ErrorKind::TlsTimeout];
const RESET: &[ErrorKind] = &[ErrorKind::Reset, ErrorKind::ResetReused, ErrorKind::EofNew];

fn errors(load: &LoadFigures, kinds: &[ErrorKind]) -> String {
    figure::count(load.errors.iter().filter(|e| kinds.contains(&e.kind)).map(|e| e.count).sum())
}

fn connects(load: &LoadFigures) -> String {
    load.connects.map_or_else(|| "-".to_owned(), figure::percent)
}

/// A trouble, what is behind it, and where the formula puts it.
pub(crate) fn trouble(part: &PartFinding) -> Option<Vec<String>> {
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

/// Where the formula puts a limit and where it was met, in its own unit.
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
        None => (clean::line(&cause.limit.formula), format!("{} users", figure::whole(cause.broke.level))),
    }
}

/// A row for each figure, in the words of the tools that people come from, a column for each load.
pub(crate) fn figures(loads: &[&LoadFigures]) -> Table {
    let row = |name: &str, show: &dyn Fn(&LoadFigures) -> String| {
        std::iter::once(name.to_owned()).chain(loads.iter().map(|load| show(load))).collect::<Vec<String>>()
    };
    let time = |pick: fn(&LoadFigures) -> f64| move |load: &LoadFigures| figure::seconds(pick(load));
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
        row("closed without a frame (1006)", &code(&[ErrorKind::ClosedAbnormally])),
        row("connection success", &connects),
        row("concurrent connections", &|l| figure::count(l.concurrent)),
        row("throughput", &|l| format!("{}/s", figure::bytes(l.throughput))),
    ];
    let names = loads.iter().map(|l| format!("{} users", figure::count(l.launched)));
    Table { head: std::iter::once(String::new()).chain(names).collect(), rows }
}

/// Everything the page of such an experiment says.
#[derive(Serialize)]
pub(crate) struct Words {
    headline: String,
    /// What else it comes to.
    answers: Vec<String>,
    parts: Vec<PartWords>,
    troubles: Table,
    figures: Table,
    changes: Vec<ChangesWords>,
    advice: Option<AdviceWords>,
}

#[derive(Serialize)]
struct PartWords {
    name: String,
    question: String,
    answer: String,
    named: bool,
}

#[derive(Serialize)]
struct ChangesWords {
    name: String,
    question: String,
    headline: String,
    effects: Table,
    contenders: Table,
    words: compare::Words,
}

#[derive(Serialize)]
struct AdviceWords {
    name: String,
    headline: String,
    table: Table,
}

pub(crate) fn words(finding: &SuiteFinding) -> Words {
    let part = |part: &PartFinding| PartWords {
        name: part.name.clone(),
        question: clean::line(&part.question),
        answer: clean::line(&part.answer),
        named: part.named,
    };
    let changes = |one: &ChangesFinding| ChangesWords {
        name: one.name.clone(),
        question: clean::line(&one.question),
        headline: changed(one),
        effects: effects(one),
        contenders: contenders(one),
        words: compare::words(&one.comparison),
    };
    let advice =
        |one: &AdviceFinding| AdviceWords { name: one.name.clone(), headline: advised(one), table: advice(one) };
    let mut said = statements(finding).into_iter();
    Words {
        headline: said.next().unwrap_or_default(),
        answers: said.collect(),
        parts: finding.parts.iter().map(part).collect(),
        troubles: troubles(finding),
        figures: figures(&steps(finding)),
        changes: finding.changes.iter().map(changes).collect(),
        advice: finding.advice.as_ref().map(advice),
    }
}

/// The loads that are told in full: those of parts that are no trouble made on purpose.
pub(crate) fn steps(finding: &SuiteFinding) -> Vec<&LoadFigures> {
    finding.parts.iter().filter(|p| p.trouble.is_none()).flat_map(|p| &p.loads).collect()
}
