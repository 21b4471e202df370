//! An experiment of several runs, on a terminal: every answer, the troubles with what is behind them, the loads in figures.

use genkai_model::error::ErrorKind;
use genkai_model::finding::{Cause, Confidence, Evidence};
use genkai_model::suite::{LoadFigures, PartFinding, SuiteFinding};

use super::Style;
use super::page::{Page, Tone};
use crate::{clean, figure, words};

/// The answers, the table of troubles, the table of figures.
pub fn suite(finding: &SuiteFinding, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Tone::Strong, &clean::line(&finding.title));
    for part in &finding.parts {
        page.heading(&clean::line(&part.question));
        page.paragraph(if part.named { Tone::Good } else { Tone::Doubtful }, &clean::line(&part.answer));
    }
    let troubles: Vec<Vec<String>> = finding.parts.iter().filter_map(trouble).collect();
    if !troubles.is_empty() {
        page.heading("The troubles that people report");
        page.table(&["trouble", "what is behind it", "predicted", "seen"], &troubles);
    }
    let loads: Vec<&LoadFigures> =
        finding.parts.iter().filter(|p| p.trouble.is_none()).flat_map(|p| &p.loads).collect();
    if !loads.is_empty() {
        page.heading("In figures");
        figures(&mut page, &loads);
    }
    page.finish()
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
fn figures(page: &mut Page, loads: &[&LoadFigures]) {
    let row = |name: &str, show: &dyn Fn(&LoadFigures) -> String| {
        std::iter::once(name.to_owned()).chain(loads.iter().map(|load| show(load))).collect::<Vec<String>>()
    };
    let time = |pick: fn(&LoadFigures) -> f64| move |load: &LoadFigures| figure::seconds(pick(load));
    let code = |kinds: &'static [ErrorKind]| {
        move |load: &LoadFigures| {
            let count = load.errors.iter().filter(|e| kinds.contains(&e.kind)).map(|e| e.count).sum();
            figure::count(count)
        }
    };
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
        row("ETIMEDOUT", &code(&[ErrorKind::Timeout, ErrorKind::ConnectTimeout, ErrorKind::TlsTimeout])),
        row("ECONNRESET", &code(&[ErrorKind::Reset, ErrorKind::ResetReused, ErrorKind::EofNew])),
        row("closed without a frame (1006)", &code(&[ErrorKind::ClosedAbnormally])),
        row("connection success", &|l| l.connects.map_or_else(|| "-".to_owned(), figure::percent)),
        row("concurrent connections", &|l| figure::count(l.concurrent)),
        row("throughput", &|l| format!("{}/s", figure::bytes(l.throughput))),
    ];
    let names: Vec<String> = loads.iter().map(|l| format!("{} users", figure::count(l.launched))).collect();
    let head: Vec<&str> = std::iter::once("").chain(names.iter().map(String::as_str)).collect();
    page.table(&head, &rows);
}
