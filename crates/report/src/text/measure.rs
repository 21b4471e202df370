//! The figures of a plain load, in the words users of other load testers know.

use genkai_model::finding::{Findings, Quantiles, TrialFinding};
use genkai_model::load::{Load, Protocol};
use genkai_model::record::Record;

use super::page::{Page, Tone};
use super::{Style, steps};
use crate::{figure, says, words};

/// What a load on something that already runs showed.
pub fn measure(record: &Record, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    let Some(trial) = findings.verdict.trials.first() else {
        page.paragraph(Tone::Doubtful, "No load was sent.");
        return page.finish();
    };
    let kind = record.trials.first().map_or(Kind::Requests, |trial| Kind::of(&trial.started.load));
    figures(&mut page, trial, kind);
    latency(&mut page, trial, kind);
    messages(&mut page, trial);
    steps::section(&mut page, trial);
    handshakes(&mut page, trial);
    if trial.failed > 0 {
        page.heading("Failures");
        page.paragraph(Tone::Bad, &words::errors(&trial.errors));
    }
    client(&mut page, findings, record);
    page.finish()
}

/// What a load counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Requests,
    Messages,
    /// Opened connections.
    Openings,
}

impl Kind {
    fn of(load: &Load) -> Kind {
        match &load.protocol {
            Protocol::Http1 => Kind::Requests,
            Protocol::WebSocket(websocket) if websocket.message.is_some() => Kind::Messages,
            Protocol::WebSocket(_) => Kind::Openings,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Kind::Requests => "requests",
            Kind::Messages => "messages",
            Kind::Openings => "openings",
        }
    }
}

/// What became of WebSocket messages.
fn messages(page: &mut Page, trial: &TrialFinding) {
    let Some(messages) = &trial.messages else { return };
    page.heading("WebSocket");
    let count = figure::count;
    if messages.sent > 0 || messages.foreign > 0 {
        page.labelled("messages", &format!("{} sent, {} echoed", count(messages.sent), count(messages.delivered)));
        let fates = [
            ("lost", messages.lost),
            ("duplicated", messages.duplicated),
            ("reordered", messages.reordered),
            ("late", messages.late),
            ("foreign", messages.foreign),
        ];
        page.labelled("fates", &fates.map(|(what, n)| format!("{} {what}", count(n))).join(", "));
        for incident in &messages.incidents {
            page.paragraph(Tone::Doubtful, &words::incident(incident));
        }
    }
    if messages.pings + messages.pongs > 0 {
        let (pings, pongs) = (count(messages.pings), count(messages.pongs));
        page.labelled("pings", &format!("{pings} answered, {pongs} answered by the server"));
    }
    let codes: Vec<String> =
        messages.closes.iter().map(|c| format!("{} x {}", count(c.count), words::close(c.code))).collect();
    if !codes.is_empty() {
        page.labelled("closed", &codes.join(", "));
    }
}

/// How connections were made ready.
fn handshakes(page: &mut Page, trial: &TrialFinding) {
    let Some(handshakes) = &trial.handshakes else { return };
    if handshakes.full + handshakes.resumed > 0 {
        let (full, resumed) = (figure::count(handshakes.full), figure::count(handshakes.resumed));
        page.labelled("TLS", &format!("{full} full handshakes, {resumed} resumed"));
    }
    if handshakes.upgraded > 0 {
        page.labelled("opened", &format!("{} WebSockets", figure::count(handshakes.upgraded)));
    }
    let (p50, p99) = (figure::seconds(handshakes.took.p50), figure::seconds(handshakes.took.p99));
    page.labelled("handshakes", &format!("took {p50} (p50), {p99} (p99)"));
}

fn figures(page: &mut Page, trial: &TrialFinding, kind: Kind) {
    let word = kind.word();
    let failed = if trial.finished == 0 { 0.0 } else { trial.failed as f64 / trial.finished as f64 };
    page.labelled(word, &format!("{} in {}", figure::count(trial.finished), figure::seconds(trial.lasted)));
    page.labelled("successful", &format!("{} {word}/s", figure::number(trial.rate)));
    page.labelled("failed", &format!("{} ({})", figure::count(trial.failed), figure::percent(failed)));
}

fn latency(page: &mut Page, trial: &TrialFinding, kind: Kind) {
    page.heading(match kind {
        Kind::Requests => "Time of successful responses",
        Kind::Messages => "Round trips",
        Kind::Openings => "Time to open",
    });
    let row = |name: &str, q: &Quantiles| -> Vec<String> {
        let cells = [q.min, q.p50, q.p90, q.p95, q.p99, q.p999, q.max].map(figure::seconds);
        std::iter::once(name.to_owned()).chain(cells).collect()
    };
    let rows = [row("latency from the plan", &trial.latency), row("service from the write", &trial.service)];
    page.table(&["", "min", "p50", "p90", "p95", "p99", "p99.9", "max"], &rows);
}

fn client(page: &mut Page, findings: &Findings, record: &Record) {
    let client = &findings.verdict.client;
    page.gap();
    let late = figure::seconds(client.lateness.p99);
    let used = figure::percent(client.cpu_max);
    page.labelled("generator", &format!("sent at most {late} late (p99); its busiest thread used {used} of a core"));
    if !client.valid {
        for sentence in says::sentences(findings, record) {
            page.paragraph(Tone::Doubtful, &sentence);
        }
    }
}
