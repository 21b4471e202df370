//! The figures of a plain load, in the words that users of other load testers know: counts, rates, transfer, the latency
//! distribution from the planned instant and from the write, statuses, failures with their side, thresholds.

use genkai_model::error::ErrorKind;
use genkai_model::finding::{Because, Findings, Outcome, TrialFinding};
use genkai_model::record::Record;
use genkai_model::summary::{Counted, Distribution, Known, Summary};
use genkai_model::websocket::Messages;

use super::{client, flows, sentences, thresholds};
use crate::document::{Block, Section, Table, Tone};
use crate::figure::{bytes, count, number, percent, seconds};
use crate::study::machines;
use crate::{clean, figure, words};

/// Labels with a text beside each.
type Facts = Vec<(&'static str, String)>;

/// What a load on something that already runs showed.
pub(super) fn sections(record: &Record, findings: &Findings) -> Vec<Section> {
    let verdict = &findings.verdict;
    let (Some(load), Some(trial)) = (&verdict.load, verdict.trials.first()) else {
        let why = sentences(findings, record).into_iter().map(Block::text);
        let none = if record.end.is_some() { "No load was sent." } else { "The record has no load." };
        return vec![short("").with([Block::toned(Tone::Doubtful, none)].into_iter().chain(why))];
    };
    let scenario = record.head.as_ref().and_then(|head| head.plan.load.scenario.as_ref());
    let follows = scenario.is_some_and(|scenario| scenario.follows());
    let http1 = record.head.as_ref().is_none_or(|head| head.plan.load.protocol.is_http1());
    let patience = record.head.as_ref().map(|head| head.plan.load.patience()).unwrap_or_default();
    let never = trial.messages.as_ref().map_or(0, |messages| messages.unanswered);
    let facts = counts(load, follows, never).into_iter().chain(connections(load, trial, http1));
    let unfinished = verdict.outcome() == Outcome::Unfinished;
    let silent = unfinished || matches!(verdict.because(), Because::Unanswered | Because::Outpaced);
    let ended = if silent { sentences(findings, record) } else { Vec::new() };
    let said =
        verdict.because() == Because::Unanswered || load.thresholds.iter().any(|threshold| threshold.waiting > 0);
    let hung = if said { None } else { hung(load) };
    let ended =
        ended.into_iter().take(1).chain(unserved(load)).chain(hung).map(|said| Block::toned(Tone::Doubtful, said));
    let figures = [short("").with(ended.chain([Block::facts(facts)])), latency(load)];
    let came = [
        messages(trial),
        flows::section(trial),
        statuses(load),
        failures(load, trial),
        thresholds::section(load, trial, unit(load.counted), patience),
    ];
    let mut generator = generator(load, findings, record);
    generator.extend(trial.used.as_ref().map(|used| Block::fact("took", client::used(used))));
    generator.extend(machines::of_load(&trial.workers).into_iter().map(|text| Block::fact("on", text)));
    figures.into_iter().chain(came.into_iter().flatten()).chain([short("").with(generator)]).collect()
}

/// That not one request succeeded, where some failed; that no answer came, where none of the failures is one.
fn unserved(load: &Summary) -> Option<String> {
    let nothing = load.counted == Counted::Requests && load.ok == 0 && load.failed > 0;
    let waiting = load.in_flight - load.unsent.unwrap_or(0).min(load.in_flight);
    nothing.then(|| {
        // A part of an answer, or one that is not valid, is more than none.
        let silent = |kind: ErrorKind| kind.is_silent() || (kind == ErrorKind::Timeout && load.bytes_in == 0);
        let none = load.statuses.is_empty() && load.errors.iter().all(|error| silent(error.kind));
        let what = if none { "No answer came" } else { "No request succeeded" };
        let waits = match waiting {
            0 => String::new(),
            waiting => format!(", {} still waited when the load ended", count(waiting)),
        };
        format!("{what}: {} failed{waits}.", figure::plural(load.failed, "request", "requests"))
    })
}

/// That some hung at the end, whether or not that decides anything.
fn hung(load: &Summary) -> Option<String> {
    (load.hung > 0 && load.ok > 0).then(|| {
        format!(
            "{} without an answer when the load ended, for more than twice as long as any that ended took.",
            figure::plural(load.hung, "request was", "requests were")
        )
    })
}

/// A section of terminal and Markdown.
fn short(title: &str) -> Section {
    Section::terminal(title).and_markdown()
}

/// What a load counts.
fn unit(counted: Counted) -> &'static str {
    match counted {
        Counted::Requests => "requests",
        Counted::Messages => "messages",
        Counted::Openings => "openings",
    }
}

/// Counts; `follows`: redirects are followed, so that more may have been sent than was planned.
fn counts(load: &Summary, follows: bool, never: u64) -> Facts {
    let unit = unit(load.counted);
    let share = if load.failed == 0 { 0.0 } else { load.failed as f64 / (load.ok + load.failed) as f64 };
    let mut ended = format!("{} ok, {} failed ({})", count(load.ok), count(load.failed), percent(share));
    let unsent = load.unsent.unwrap_or(0).min(load.in_flight);
    if load.in_flight > unsent {
        ended += &format!(", {} in flight at the end", count(load.in_flight - unsent));
        match never {
            0 => {}
            n if n == load.in_flight => ended += ", whose echoes never came",
            n => ended += &format!(" (the echoes of {} of them never came)", count(n)),
        }
    }
    if unsent > 0 {
        ended += &format!(", {} never sent: all connections of the generator were busy", count(unsent));
    }
    let mut facts = vec![(unit, format!("{} planned in {}: {ended}", count(load.planned), seconds(load.lasted)))];
    let follows = follows && load.redirected != Some(0);
    if !follows && load.failed > 0 && load.sent < load.ok + load.failed {
        let waiting = if load.in_flight > 0 { ", or were still waiting to be" } else { "" };
        facts.push(("sent", format!("{} of them; the others failed before they could be{waiting}", count(load.sent))));
    }
    if follows {
        let redirects = match load.redirected {
            Some(1) => "1 redirect was followed, and counts".to_owned(),
            Some(redirected) => format!("{} redirects were followed, and count", count(redirected)),
            None => "where redirects were followed, they count".to_owned(),
        };
        facts.push((
            "sent",
            format!("{} requests: {redirects} as one with what they lead to, as its status", count(load.sent)),
        ));
    }
    let mut rate = format!("{} {unit}/s ok", number(load.ok_rate));
    if load.failed > 0 {
        rate += &format!(", {} {unit}/s in all", number(load.rate));
    }
    if let Some(each) = load.seconds.filter(|each| each.count > 1) {
        let (low, high, stdev) = (number(each.min), number(each.max), number(each.stdev));
        rate += &format!("; second by second {low} to {high}, standard deviation {stdev}");
    }
    // Bytes are of all that was sent or came, also for requests that did not finish; of what failed, some may have brought none.
    let came = if load.in_flight == 0 && load.failed == 0 && !follows { load.ok } else { 0 };
    let [received, sent] =
        [(load.bytes_in, came), (load.bytes_out, load.sent)].map(|(amount, of)| transfer(load, amount, of));
    facts.extend([("rate", rate), ("received", received), ("sent out", sent)]);
    facts
}

/// Bytes, and how many each of so many are; nothing of each where it is not known of how many they are.
fn transfer(load: &Summary, amount: u64, of: u64) -> String {
    let second = if load.lasted > 0.0 { amount as f64 / load.lasted } else { 0.0 };
    let each = if of > 0 { format!(", {} each", bytes(amount as f64 / of as f64)) } else { String::new() };
    format!("{}, {}/s{each}", bytes(amount as f64), bytes(second))
}

/// Why connections were closed that could have been kept.
fn surplus(load: &Summary) -> Option<(&'static str, String)> {
    let (answers, were) =
        (figure::plural(load.surplus, "answer", "answers"), if load.surplus == 1 { "was" } else { "were" });
    let told =
        || format!("{answers} {were} followed by bytes that no request asked for; their connections were closed");
    (load.surplus > 0).then(|| ("surplus", told()))
}

/// How connections were made; `http1`: each carries one request at a time.
fn connections(load: &Summary, trial: &TrialFinding, http1: bool) -> Facts {
    let all = &load.connections;
    let mut text = format!("{} opened", count(all.opened));
    if let Some(most) = all.most.filter(|most| *most > 0) {
        text += &match all.known {
            Known::Seen => format!(", {} at once seen", count(most)),
            Known::Counted => format!(", at most {} at once", count(most)),
            Known::AtMost => format!(", at most {} at once in all processes together", count(most)),
        };
        let upgraded = trial.handshakes.as_ref().is_some_and(|made| made.upgraded > 0);
        text += closed_here(load, http1 && !upgraded);
    }
    if all.closed_idle > 0 {
        text += &format!(", {} closed by the server while idle", count(all.closed_idle));
    }
    if all.connect.count > 0 {
        text += &format!("; connecting took {}", brief(&all.connect));
    }
    let mut facts = vec![("connections", text)];
    if load.retried > 0 {
        facts.push(("retried", words::retried(load.retried)));
    }
    facts.extend(surplus(load));
    if let Some(goaways) = &trial.goaways {
        let (connections, retried) = (count(goaways.connections), count(goaways.retried));
        facts.push(("GOAWAY", format!("on {connections} connections; {retried} requests made again on another")));
    }
    let Some(made) = &trial.handshakes else { return facts };
    if made.full + made.resumed > 0 {
        facts.push(("TLS", format!("{} full handshakes, {} resumed", count(made.full), count(made.resumed))));
    }
    if made.upgraded > 0 {
        facts.push(("opened", format!("{} WebSockets", count(made.upgraded))));
    }
    if made.took.count > 0 {
        facts.push(("handshakes", format!("took {}", quantiles(made.took.p50, made.took.p99, made.took.max))));
    }
    facts
}

/// Whose count of connections at once it is, where some requests were given up. `each`: the connection of each was closed then, so that to the server
/// it is open until it notices. Otherwise that is not certain: a stream of HTTP/2 is reset and a WebSocket goes on, and the connection stays.
fn closed_here(load: &Summary, each: bool) -> &'static str {
    let given_up = |kind| {
        use ErrorKind::{Frame, Protocol, Timeout, TooLarge, Unasked};
        matches!(kind, Timeout | Protocol | TooLarge | Frame | Unasked)
    };
    match (load.errors.iter().any(|error| given_up(error.kind)), each) {
        (false, _) => "",
        (true, false) => " on this side",
        (true, true) => {
            " on this side (the connection of a request that was given up is closed here first: the server may count it a while longer)"
        }
    }
}

fn brief(times: &Distribution) -> String {
    quantiles(times.p50, times.p99, times.max)
}

fn quantiles(p50: f64, p99: f64, max: f64) -> String {
    format!("{} (p50), {} (p99), {} (max)", seconds(p50), seconds(p99), seconds(max))
}

fn latency(load: &Summary) -> Section {
    let title = match load.counted {
        Counted::Requests => "Time of successful responses",
        Counted::Messages => "Round trips",
        Counted::Openings => "Time to open",
    };
    if load.latency.count == 0 {
        return short(title).with([Block::toned(Tone::Doubtful, "none succeeded")]);
    }
    let names =
        ["min", "mean", "stdev", "50 %", "75 %", "90 %", "95 %", "99 %", "99.9 %", "99.99 %", "max"].map(str::to_owned);
    let all = |d: &Distribution| {
        [d.min, d.mean, d.stdev, d.p50, d.p75, d.p90, d.p95, d.p99, d.p999, d.p9999, d.max].map(seconds)
    };
    let rows = names.into_iter().zip(all(&load.latency)).zip(all(&load.service));
    let rows = rows.map(|((name, planned), written)| [name, planned, written]);
    let table = Table::new(title, &["           ", "from the plan", "from the write"], rows);
    short(title).with([Block::Table(table)])
}

/// What became of WebSocket messages.
fn messages(trial: &TrialFinding) -> Option<Section> {
    let messages = trial.messages.as_ref()?;
    let mut section = short("WebSocket");
    if messages.sent > 0 || messages.foreign > 0 {
        let sent = format!("{} sent, {} echoed", count(messages.sent), count(messages.delivered));
        let incidents = messages.incidents.iter().map(|one| Block::toned(Tone::Doubtful, words::incident(one)));
        let more = messages.wrong().saturating_sub(messages.incidents.len() as u64);
        let more = (more > 0).then(|| Block::toned(Tone::Doubtful, format!("and {} more", count(more))));
        section =
            section.with([Block::facts([("messages", sent), ("fates", fates(messages))])]).with(incidents).with(more);
    }
    let pings = joined("pings", pings(messages).into_iter());
    let closes = messages.closes.iter().map(|c| format!("{} x {}", count(c.count), words::close(c.code)));
    Some(section.with(pings).with(joined("closed", closes)))
}

/// What went wrong with messages, and of how many is not known what becomes of them.
fn fates(messages: &Messages) -> String {
    let late = if messages.late > 0 { "late (echoed after their timeout)" } else { "late" };
    let all = [
        ("lost", messages.lost),
        ("duplicated", messages.duplicated),
        ("reordered", messages.reordered),
        (late, messages.late),
        ("changed", messages.changed),
        ("foreign", messages.foreign),
    ];
    let all = all.map(|(what, n)| format!("{} {what}", count(n))).join(", ");
    match messages.sent.saturating_sub(messages.delivered + messages.lost + messages.changed) {
        0 => all,
        open => format!("{all}; of {} no echo had come when the load ended", count(open)),
    }
}

/// What became of pings: the server's, and the load's own. An unanswered one is the last of its connection.
fn pings(messages: &Messages) -> Vec<String> {
    let (theirs, pinged, pongs) = (messages.pings, messages.pinged, messages.pongs);
    let mut all = Vec::new();
    if theirs > 0 {
        all.push(format!("{} of the server answered", count(theirs)));
    }
    match pinged {
        // Of records that did not count them.
        0 if pongs > 0 => all.push(format!("{} answered by the server", count(pongs))),
        0 => {}
        _ => all.push(format!("{} sent, {} answered by the server", count(pinged), count(pongs))),
    }
    let open = pinged.saturating_sub(pongs);
    if open > 0 {
        all.push(format!("{} without an answer (a connection sends no other until it has one)", count(open)));
    }
    all
}

/// A label with all of these; none for none.
fn joined(label: &str, all: impl Iterator<Item = String>) -> Option<Block> {
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| Block::fact(label, all.join(", ")))
}

fn statuses(load: &Summary) -> Option<Section> {
    let all = load.statuses.iter().map(|s| format!("{} x {}", count(s.count), s.status));
    short("").with(joined("statuses", all)).filled()
}

/// What failed: how often, what, whose side it is on.
fn failures(load: &Summary, trial: &TrialFinding) -> Option<Section> {
    let kinds = load.errors.iter().map(|error| {
        let (kind, side) = (words::error(error.kind), words::side(error.side));
        Block::toned(Tone::Bad, format!("{} x {kind}; side: {side}", count(error.count)))
    });
    let after = (load.failed_after.count > 0).then(|| Block::fact("after", brief(&load.failed_after)));
    let since = trial.broke.as_ref().filter(|broke| broke.waiting.is_none() && broke.unsent == 0).map(|broke| {
        let condition = clean::line(&broke.condition);
        let since = match broke.later {
            Some(later) => {
                format!(
                    "{condition} first failed at {}, for what was planned at {}",
                    seconds(later.at),
                    seconds(broke.at)
                )
            }
            // The failure itself came somewhat later: only the plan's instant is known.
            None => format!("{condition} first failed for what was planned at {}", seconds(broke.at)),
        };
        Block::fact("first", since)
    });
    let paced = (load.paced > 0).then(|| Block::fact("pauses", words::paced(load.paced)));
    let refusal = load.refusal.as_ref().map(|one| Block::text(words::refusal(one)));
    let blocks = kinds.chain(refusal).chain(after).chain(paced).chain(since);
    (load.failed > 0).then(|| short("Failures").with(blocks))
}

fn generator(load: &Summary, findings: &Findings, record: &Record) -> Vec<Block> {
    let (cores, busiest) = (number(load.cpu), percent(load.cpu_busiest));
    let used = format!("used {cores} cores, its busiest thread {busiest} of one; {}", bytes(load.memory as f64));
    let late = &load.lateness;
    let late = (late.count > 0).then(|| {
        (
            "lateness",
            format!("{} requests that had nothing else to wait for sent {} late", count(late.count), brief(late)),
        )
    });
    let mut blocks = vec![Block::facts([("generator", used)].into_iter().chain(late))];
    if !findings.verdict.client.valid {
        blocks.extend(sentences(findings, record).into_iter().map(|said| Block::toned(Tone::Doubtful, said)));
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(theirs: u64, pinged: u64, pongs: u64) -> String {
        pings(&Messages { pings: theirs, pinged, pongs, ..Messages::default() }).join(", ")
    }

    /// What timed out was closed here first: to the server, which notices later, more are open than were here.
    #[test]
    fn connections_at_once_are_this_sides_where_requests_were_given_up() {
        let told = |kind: ErrorKind, http1: bool| {
            let errors: &[_] = &[serde_json::json!({"kind": kind, "side": kind.side(), "count": 6})];
            closed_here(&serde_json::from_value(summary(errors)).unwrap(), http1)
        };
        assert!(told(ErrorKind::Timeout, true).contains("closed here first"), "{}", told(ErrorKind::Timeout, true));
        assert_eq!(told(ErrorKind::EofNew, true), "", "the server closed it");
        // A stream is reset, a WebSocket goes on.
        assert_eq!(told(ErrorKind::Timeout, false), " on this side");
    }

    /// Of a message whose echo had not come when the load was over, "0 lost" alone reads as if it had.
    #[test]
    fn messages_without_an_echo_when_the_load_ended_are_told() {
        let open = Messages { sent: 600, delivered: 350, late: 250, ..Messages::default() };
        assert_eq!(
            fates(&open),
            "0 lost, 0 duplicated, 0 reordered, 250 late (echoed after their timeout), 0 changed, 0 foreign; \
             of 250 no echo had come when the load ended"
        );
        let all = Messages { sent: 600, delivered: 590, lost: 8, changed: 2, ..Messages::default() };
        assert_eq!(fates(&all), "8 lost, 0 duplicated, 0 reordered, 0 late, 2 changed, 0 foreign");
    }

    /// "No answer came" is said only where not a byte of one did.
    #[test]
    fn an_answer_that_was_cut_or_not_taken_is_an_answer() {
        let told = |kind: ErrorKind, bytes: u64| {
            let errors: &[_] = &[serde_json::json!({"kind": kind, "side": kind.side(), "count": 6})];
            let mut load: Summary = serde_json::from_value(summary(errors)).unwrap();
            load.bytes_in = bytes;
            unserved(&load).unwrap()
        };
        for kind in ErrorKind::ALL {
            let said = told(*kind, 600);
            assert_eq!(said.starts_with("No answer came"), kind.is_silent(), "{kind:?}: {said}");
        }
        let part =
            [ErrorKind::Truncated, ErrorKind::Protocol, ErrorKind::TooLarge, ErrorKind::Check, ErrorKind::WrongBody];
        assert!(part.iter().all(|kind| !kind.is_silent()));
        assert!(told(ErrorKind::Timeout, 0).starts_with("No answer came"));
        assert!(told(ErrorKind::Timeout, 1).starts_with("No request succeeded"));
    }

    /// Why connections were opened that a kept one would have saved.
    #[test]
    fn bytes_behind_answers_are_told() {
        let mut load: Summary = serde_json::from_value(summary(&[])).unwrap();
        assert_eq!(surplus(&load), None);
        load.surplus = 40;
        let text = "40 answers were followed by bytes that no request asked for; their connections were closed";
        assert_eq!(surplus(&load), Some(("surplus", text.to_owned())));
    }

    /// Of 80 requests 40 were redirected, and no response has the bytes of two.
    #[test]
    fn redirects_that_were_followed_are_told() {
        let mut load: Summary = serde_json::from_value(summary(&[])).unwrap();
        (load.ok, load.failed, load.planned, load.sent, load.bytes_in) = (40, 0, 40, 80, 8_000);
        load.redirected = Some(40);
        let told = counts(&load, true, 0);
        let of = |label| told.iter().find(|(name, _)| *name == label).map(|(_, text)| text.clone()).unwrap_or_default();
        assert!(of("sent").starts_with("80 requests: 40 redirects were followed, and count as one"), "{told:?}");
        assert!(!of("received").contains("each") && of("sent out").contains("each"), "{told:?}");
        // Then the server went: how many of the others were sent is not known from the sum.
        (load.failed, load.planned) = (100, 140);
        for redirected in [Some(40), None] {
            load.redirected = redirected;
            let told = counts(&load, true, 0);
            let sent: Vec<&String> = told.iter().filter(|(name, _)| *name == "sent").map(|(_, text)| text).collect();
            assert!(sent.len() == 1 && sent[0].starts_with("80 requests: ") && !sent[0].contains("others"), "{told:?}");
        }
        (load.failed, load.planned, load.sent, load.redirected) = (0, 40, 40, None);
        let told = counts(&load, false, 0);
        assert!(
            told.iter().all(|(name, _)| *name != "sent") && told.iter().any(|(_, text)| text.contains("200 B each")),
            "{told:?}"
        );
    }

    fn summary(errors: &[serde_json::Value]) -> serde_json::Value {
        serde_json::json!({
            "counted": "requests", "lasted": 1.0, "planned": 6, "sent": 6, "ok": 0, "failed": 6, "in_flight": 0, "rate": 6.0, "ok_rate": 0.0,
            "seconds": null, "bytes_in": 0, "bytes_out": 600, "statuses": [], "errors": errors, "connections": {"opened": 6, "closed_idle": 0},
            "cpu": 0.0, "cpu_busiest": 0.0, "memory": 0, "thresholds": []
        })
    }

    #[test]
    fn a_ping_that_nobody_answered_is_told() {
        assert_eq!(said(0, 0, 0), "");
        assert_eq!(said(3, 0, 0), "3 of the server answered");
        assert_eq!(said(0, 270, 270), "270 sent, 270 answered by the server");
        let open =
            "10 sent, 0 answered by the server, 10 without an answer (a connection sends no other until it has one)";
        assert_eq!(said(0, 10, 0), open);
        assert_eq!(said(0, 0, 5), "5 answered by the server", "of a record that did not count those sent");
    }
}
