//! The figures of a plain load, in the words that users of other load testers know: counts, rates, transfer, the latency
//! distribution from the planned instant and from the write, statuses, failures with their side, thresholds.

use genkai_model::finding::{Findings, TrialFinding};
use genkai_model::record::Record;
use genkai_model::summary::{Counted, Distribution, Summary, Threshold};

use super::page::Page;
use super::{Style, steps};
use crate::document::Tone;
use crate::figure::{bytes, count, number, percent, seconds};
use crate::study::tune;
use crate::{clean, words};

/// What a load on something that already runs showed.
pub fn measure(record: &Record, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    let verdict = &findings.verdict;
    let (Some(load), Some(trial)) = (&verdict.load, verdict.trials.first()) else {
        page.paragraph(Tone::Doubtful, "No load was sent.");
        return page.finish();
    };
    counts(&mut page, load);
    connections(&mut page, load, trial);
    latency(&mut page, load);
    messages(&mut page, trial);
    steps::section(&mut page, trial);
    failures(&mut page, load, trial);
    thresholds(&mut page, load, trial);
    generator(&mut page, load, findings, record);
    if let Some(used) = &trial.used {
        page.labelled("took", &tune::used(used));
    }
    page.finish()
}

/// What a load counts.
fn unit(counted: Counted) -> &'static str {
    match counted {
        Counted::Requests => "requests",
        Counted::Messages => "messages",
        Counted::Openings => "openings",
    }
}

fn counts(page: &mut Page, load: &Summary) {
    let unit = unit(load.counted);
    let share = if load.failed == 0 { 0.0 } else { load.failed as f64 / (load.ok + load.failed) as f64 };
    let mut ended = format!("{} ok, {} failed ({})", count(load.ok), count(load.failed), percent(share));
    if load.in_flight > 0 {
        ended += &format!(", {} in flight at the end", count(load.in_flight));
    }
    page.labelled(unit, &format!("{} planned in {}: {ended}", count(load.planned), seconds(load.lasted)));
    if load.failed > 0 && load.sent < load.ok + load.failed {
        page.labelled("sent", &format!("{} of them; the others failed before they could be", count(load.sent)));
    }
    let mut rate = format!("{} {unit}/s ok", number(load.ok_rate));
    if load.failed > 0 {
        rate += &format!(", {} {unit}/s in all", number(load.rate));
    }
    if let Some(each) = load.seconds.filter(|each| each.count > 1) {
        let (low, high, stdev) = (number(each.min), number(each.max), number(each.stdev));
        rate += &format!("; second by second {low} to {high}, standard deviation {stdev}");
    }
    page.labelled("rate", &rate);
    page.labelled("received", &transfer(load, load.bytes_in));
    page.labelled("sent out", &transfer(load, load.bytes_out));
}

fn transfer(load: &Summary, amount: u64) -> String {
    let finished = load.ok + load.failed;
    let second = if load.lasted > 0.0 { amount as f64 / load.lasted } else { 0.0 };
    let each = if finished > 0 { format!(", {} each", bytes(amount as f64 / finished as f64)) } else { String::new() };
    format!("{}, {}/s{each}", bytes(amount as f64), bytes(second))
}

/// How connections were made.
fn connections(page: &mut Page, load: &Summary, trial: &TrialFinding) {
    let all = &load.connections;
    let mut text = format!("{} opened", count(all.opened));
    if all.most > 0 {
        text += &format!(", at most {} at once", count(all.most));
    }
    if all.closed_idle > 0 {
        text += &format!(", {} closed by the server while idle", count(all.closed_idle));
    }
    if all.connect.count > 0 {
        text += &format!("; connecting took {}", brief(all.connect.p50, all.connect.p99, all.connect.max));
    }
    page.labelled("connections", &text);
    if let Some(goaways) = &trial.goaways {
        let (connections, retried) = (count(goaways.connections), count(goaways.retried));
        page.labelled("GOAWAY", &format!("on {connections} connections; {retried} requests made again on another"));
    }
    let Some(made) = &trial.handshakes else { return };
    if made.full + made.resumed > 0 {
        page.labelled("TLS", &format!("{} full handshakes, {} resumed", count(made.full), count(made.resumed)));
    }
    if made.upgraded > 0 {
        page.labelled("opened", &format!("{} WebSockets", count(made.upgraded)));
    }
    if made.took.count > 0 {
        page.labelled("handshakes", &format!("took {}", brief(made.took.p50, made.took.p99, made.took.max)));
    }
}

fn brief(p50: f64, p99: f64, max: f64) -> String {
    format!("{} (p50), {} (p99), {} (max)", seconds(p50), seconds(p99), seconds(max))
}

fn latency(page: &mut Page, load: &Summary) {
    page.heading(match load.counted {
        Counted::Requests => "Time of successful responses",
        Counted::Messages => "Round trips",
        Counted::Openings => "Time to open",
    });
    if load.latency.count == 0 {
        return page.paragraph(Tone::Doubtful, "none succeeded");
    }
    let row = |name: &str, pick: fn(&Distribution) -> f64| {
        vec![name.to_owned(), seconds(pick(&load.latency)), seconds(pick(&load.service))]
    };
    let rows = [
        row("min", |d| d.min),
        row("mean", |d| d.mean),
        row("stdev", |d| d.stdev),
        row("50 %", |d| d.p50),
        row("75 %", |d| d.p75),
        row("90 %", |d| d.p90),
        row("95 %", |d| d.p95),
        row("99 %", |d| d.p99),
        row("99.9 %", |d| d.p999),
        row("99.99 %", |d| d.p9999),
        row("max", |d| d.max),
    ];
    page.table(&["           ", "from the plan", "from the write"], &rows);
}

/// What became of WebSocket messages.
fn messages(page: &mut Page, trial: &TrialFinding) {
    let Some(messages) = &trial.messages else { return };
    page.heading("WebSocket");
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

/// Statuses, and what failed: how often, what, whose side it is on.
fn failures(page: &mut Page, load: &Summary, trial: &TrialFinding) {
    let statuses: Vec<String> = load.statuses.iter().map(|s| format!("{} x {}", count(s.count), s.status)).collect();
    if !statuses.is_empty() {
        page.gap();
        page.labelled("statuses", &statuses.join(", "));
    }
    if load.failed == 0 {
        return;
    }
    page.heading("Failures");
    for error in &load.errors {
        let said = format!("{} x {}; side: {}", count(error.count), words::error(error.kind), words::side(error.side));
        page.paragraph(Tone::Bad, &said);
    }
    if let Some(refusal) = &load.refusal {
        page.paragraph(Tone::Plain, &words::refusal(refusal));
    }
    if load.failed_after.count > 0 {
        let after = &load.failed_after;
        page.labelled("after", &brief(after.p50, after.p99, after.max));
    }
    if let Some(broke) = &trial.broke {
        let text = format!("at {} it stopped to hold that {}", seconds(broke.at), clean::line(&broke.condition));
        page.labelled("since", &text);
    }
}

fn thresholds(page: &mut Page, load: &Summary, trial: &TrialFinding) {
    if load.thresholds.is_empty() {
        return;
    }
    page.heading("Thresholds");
    for one in &load.thresholds {
        let tone = if one.holds { Tone::Good } else { Tone::Bad };
        let mark = if one.holds { "pass" } else { "FAIL" };
        page.paragraph(tone, &format!("{mark}  {}: {}", clean::line(&one.condition), seen(one)));
    }
    let whole = load.thresholds.iter().all(|t| t.holds);
    if let Some(broke) = trial.broke.as_ref().filter(|_| whole) {
        let text = format!(
            "FAIL  over the whole load, but from {} on not: {} did not hold for a second and more.",
            seconds(broke.at),
            clean::line(&broke.condition)
        );
        page.paragraph(Tone::Bad, &text);
    }
}

/// What was seen of a condition, in its unit.
fn seen(threshold: &Threshold) -> String {
    match threshold.seen {
        None => "nothing to judge by".to_owned(),
        Some(x) if threshold.condition.starts_with("errors") => percent(x),
        Some(x) if threshold.condition.starts_with("rate") => format!("{}/s", number(x)),
        Some(x) => seconds(x),
    }
}

fn generator(page: &mut Page, load: &Summary, findings: &Findings, record: &Record) {
    let client = &findings.verdict.client;
    page.gap();
    let text = format!(
        "used {} cores, its busiest thread {} of one; {}",
        number(load.cpu),
        percent(load.cpu_busiest),
        bytes(load.memory as f64)
    );
    page.labelled("generator", &text);
    let late = &load.lateness;
    if late.count > 0 {
        page.labelled("lateness", &format!("sent {} late", brief(late.p50, late.p99, late.max)));
    }
    if !client.valid {
        for sentence in tune::sentences(findings, record) {
            page.paragraph(Tone::Doubtful, &sentence);
        }
    }
}
