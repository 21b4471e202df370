//! A configuration explained, for a terminal.

use genkai_model::explain::{Explanation, Remark, RemarkKind, Timer};
use genkai_model::finding::Predicted;
use genkai_model::limit::{Law, Limit, Origin};

use super::Style;
use super::page::Page;
use crate::document::Tone;
use crate::{clean, figure, words};

/// The explanation: what is wrong, the limits (what bites first first), the timers.
pub fn explain(explanation: &Explanation, style: Style) -> String {
    let mut page = Page::new(style);
    let main = explanation.files.first().map(|f| clean::line(&f.display().to_string())).unwrap_or_default();
    let files = figure::plural(explanation.files.len() as u64, "file", "files");
    page.paragraph(
        Tone::Strong,
        &format!("{}: {main} ({files} read, nothing started)", clean::line(&explanation.product)),
    );
    remarks(&mut page, &explanation.remarks);
    limits(&mut page, explanation);
    timers(&mut page, &explanation.timers);
    page.finish()
}

fn remarks(page: &mut Page, all: &[Remark]) {
    if all.is_empty() {
        page.gap();
        page.paragraph(Tone::Good, "Nothing is wrong with what genkai knows of it.");
        return;
    }
    page.heading("What is not as it seems");
    for remark in all {
        let place = remark.place.as_deref().map(|p| format!(" ({})", clean::line(p))).unwrap_or_default();
        let hint = remark.hint.as_deref().map(|h| format!("; {}", clean::line(h))).unwrap_or_default();
        let text = format!("{} {}{place}{hint}", clean::line(&remark.setting), clean::line(&remark.text));
        page.labelled(kind(remark.kind), &text);
    }
}

/// A kind of remark in a word.
fn kind(kind: RemarkKind) -> &'static str {
    match kind {
        RemarkKind::Unknown => "wrong",
        RemarkKind::Contradiction => "contradicts",
        RemarkKind::Clamped => "clamped",
        RemarkKind::Ignored => "no effect",
    }
}

fn limits(page: &mut Page, explanation: &Explanation) {
    page.heading("Limits, what bites first first");
    for predicted in &explanation.predictions {
        let Some(limit) = explanation.limits.iter().find(|l| l.id == predicted.limit) else { continue };
        let name = format!("{} {}", words::whose(&limit.subject), words::setting(&limit.setting, &limit.value));
        page.paragraph(Tone::Strong, &format!("{}: {}", clean::line(&name), reach(limit, predicted)));
        page.labelled("", &format!("{}; {}", clean::line(&limit.caps), place(&limit.origin)));
        page.labelled("", &clean::line(&formula(limit)));
    }
}

fn formula(limit: &Limit) -> String {
    match &limit.remedy {
        Some(remedy) => match &remedy.ceiling {
            Some(ceiling) => format!("{}; at most {} ({})", limit.formula, figure::whole(ceiling.value), ceiling.by),
            None => limit.formula.clone(),
        },
        None => limit.formula.clone(),
    }
}

/// What a limit means for clients.
fn reach(limit: &Limit, predicted: &Predicted) -> String {
    if let Law::Backlog { value } = limit.law {
        return format!("{} new connections in one moment", figure::whole(value));
    }
    if let Some(clients) = predicted.clients {
        return format!("{} clients at once", figure::range(clients, figure::whole));
    }
    if let Some(bytes) = predicted.bytes {
        return format!("bodies of up to {}", figure::bytes(bytes));
    }
    match predicted.rate {
        Some(rate) => format!("{} requests/s", figure::range(rate, figure::number)),
        None => "no number from the configuration alone".to_owned(),
    }
}

/// Where a value comes from.
fn place(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line } => format!("{}:{line}", clean::line(&path.display().to_string())),
        Origin::Default(source) => format!("default ({})", clean::line(source)),
        Origin::Given => "as given".to_owned(),
        Origin::Machine(what) => format!("this machine: {}", clean::line(what)),
    }
}

fn timers(page: &mut Page, all: &[Timer]) {
    if all.is_empty() {
        return;
    }
    page.heading("Timers: what ends, and after how long");
    for timer in all {
        let span = timer.span.map_or_else(|| clean::line(&timer.value), |s| s.to_string());
        let text =
            format!("{} ends {}; {}", clean::line(&timer.setting), clean::line(&timer.ends), place(&timer.origin));
        page.labelled(&span, &text);
    }
}
