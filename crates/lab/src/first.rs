//! What the product answers to one request before any load: a load on a redirect, on an error page, or on the wrong
//! `server` block measures something, but not what was meant.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use genkai_analysis::capacity::demand;
use genkai_engine::{Asked, StopFlag, ask, ask_upgrade, ask_whole};
use genkai_model::evidence::metric;
use genkai_model::limit::{BACKEND_BY_ITSELF, Law, Limit, Origin, Symptom};
use genkai_model::load::{Arrivals, Load, Protocol, Request};
use genkai_model::text::shortened;
use genkai_model::transport::Transport;
use genkai_model::units::{Span, Spread};
use genkai_place::observation::Observation;
use genkai_targets::product::{OwnAnswer, Running};

use crate::answerer::{Answerer, Followed};
use crate::backend::Backend;

/// How long the answer may take. A backend may be slow; one that is slower than this is not waited for.
pub(crate) const WITHIN: Duration = Duration::from_secs(5);
/// Backends tell their counters at intervals not longer than this.
const TOLD: Duration = Duration::from_millis(400);

/// How long a server may take to write to its log that it has answered.
const WRITTEN: Duration = Duration::from_millis(100);
/// What helps where another part of the configuration was meant.
const CHOOSE: &str = "--header \"Host: NAME\" or --path chooses another server or location";

/// Identity of the note in the record.
pub const NOTE: &str = "first-answer";

/// What one request before any load showed.
#[derive(Debug, Default)]
pub struct First {
    /// A sentence about the answer, where it is not what a load is usually meant to measure.
    pub told: Option<String>,
    /// The directive by which the product answers such requests itself.
    pub by: Option<OwnAnswer>,
    /// What the product wrote to its log until then, and what became of it.
    pub seen: Observation,
    /// Whether it failed, as an error of the server: a product may treat what stands behind otherwise from then on (nginx leaves a server alone for
    /// `fail_timeout`), so a load should meet one that was not asked yet.
    pub failed: bool,
    /// What it did where that is no answer that a load is meant to measure: `answers 403`.
    pub failing: Option<String>,
}

/// Makes the load's request once and follows it: what came back, and from whom: `answers` are those that the product may give itself. Nothing
/// is told where it cannot be asked so.
pub fn answer(
    product: &str,
    answers: &[OwnAnswer],
    load: &Load,
    server: &mut dyn Running,
    backend: &mut Backend,
) -> First {
    let talks = load.scenario.as_ref().is_some_and(|scenario| scenario.talks());
    if talks || matches!(load.transport, Transport::Unix { .. }) {
        return First::default();
    }
    let opens = opens_sockets(load);
    let mut seen = server.observe();
    seen.samples.clear();
    // A backend that has not told anything yet has not been asked anything yet.
    let before = done(backend).unwrap_or(0.0);
    let asked = match opens {
        true => ask_upgrade(load, server.address(), WITHIN),
        false => ask(&alike(load), server.address(), WITHIN),
    };
    let Some(asked) = asked else { return First { seen, ..First::default() } };
    // A backend of ours counts requests, not what opens WebSockets.
    let ours = backend.is_ours() && !opens;
    std::thread::sleep(if ours { TOLD } else { WRITTEN });
    let passed = done(backend).filter(|_| ours).map(|after| after > before);
    let Observation { logs, states, .. } = server.observe();
    let logged: Vec<String> = logs.iter().filter_map(|line| line.signature.clone()).collect();
    let followed = Followed { answers, asked: &asked, logged: &logged, passed };
    let by = followed.by();
    let told = told(product, load, &asked, &by, passed);
    let by = if let Answerer::Directive(one) = by { Some(one.clone()) } else { None };
    seen.logs.extend(logs);
    seen.states.extend(states);
    let failed = matches!(asked, Asked::Answered { status: 500.., .. });
    // The user's own server is asked for a page, not for a WebSocket.
    First { told, by, seen, failed, failing: failing(&asked).filter(|_| !opens) }
}

/// Whether a load opens WebSockets.
fn opens_sockets(load: &Load) -> bool {
    matches!(load.protocol, Protocol::WebSocket(_))
}

/// What a server did that failed at a request.
fn failing(asked: &Asked) -> Option<String> {
    match asked {
        Asked::Answered { status: ..400, .. } => None,
        Asked::Answered { status, .. } => Some(format!("answers {status}")),
        Asked::Closed => Some("closes the connection".to_owned()),
        Asked::Refused { why, .. } => Some(format!("refuses the TLS handshake ({why})")),
        Asked::NotOffered { instead } => Some(format!("does not offer HTTP/2 ({instead})")),
        Asked::Garbled => Some("answers with something that is not HTTP/1.1".to_owned()),
        Asked::Nothing => Some(format!("does not answer within {} s", WITHIN.as_secs())),
    }
}

/// The load with its request asked as users of its scenario ask.
pub(crate) fn alike(load: &Load) -> Load {
    let protocol = load.http2().map_or_else(|| load.protocol.clone(), Protocol::Http2);
    Load { protocol, scenario: None, ..load.clone() }
}

/// A sentence about an answer; none where it is what a load is meant to measure.
fn told(product: &str, load: &Load, asked: &Asked, by: &Answerer<'_>, passed: Option<bool>) -> Option<String> {
    let Request { method, path, host, .. } = &load.request;
    let what = format!("{method} {} (Host: {host})", short(path));
    let who = by.told(product);
    // Another name or path helps only where nothing says why it is answered so.
    let choose = match by {
        Answerer::Itself | Answerer::Unknown => format!("; {CHOOSE}"),
        _ => String::new(),
    };
    Some(match asked {
        Asked::Closed => format!("before any load, the connection is closed on {what} without an answer{who}{choose}"),
        Asked::Refused { why, .. } => format!("before any load, the TLS handshake for {what} is refused ({why}){who}"),
        Asked::NotOffered { instead } => format!("before any load, HTTP/2 is not offered ({instead})"),
        Asked::Garbled => format!(
            "before any load, {what} is answered with something that is not HTTP/1.1 (a listener of HTTP/2 without TLS does so; --http2 speaks it){who}"
        ),
        Asked::Nothing => {
            format!("before any load, there is no answer to {what} within {} s{who}", WITHIN.as_secs())
        }
        Asked::Answered { status: 101, .. } => return None,
        Asked::Answered { status, location } if opens_sockets(load) => {
            let to = location.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
            format!("before any load, a WebSocket is not opened: {what} is answered {status}{to}{who}{choose}")
        }
        Asked::Answered { status: status @ 300..400, location } => {
            let to = location.as_ref().map(|to| format!(" to {to}")).unwrap_or_default();
            format!("{what} is answered {status}{to}{who}: the load measures this redirect, not the page behind it")
        }
        Asked::Answered { status: status @ 400.., .. } => {
            format!("before any load, {what} is answered {status}{who}{choose}")
        }
        Asked::Answered { .. } if passed != Some(false) => return None,
        Asked::Answered { .. } => match by {
            Answerer::Directive(one) => {
                format!("{what} is answered by {product} itself: {} ({})", one.named(), one.when)
            }
            _ => format!("{what} is answered without the backend: {product} serves it itself; {CHOOSE}"),
        },
    })
}

/// A path as it is told: one of thousands of bytes is not.
fn short(path: &str) -> String {
    shortened(path, 100)
}

/// A question every so long is planned while the backend is asked alone, at the soonest, ...
const EVERY: Duration = Duration::from_millis(20);
/// ... and at the latest: between, as often as a user of the load asks, so that of its pauses it meets as large a share.
const SELDOM: Duration = Duration::from_millis(200);
/// How long it is asked: long enough to see that it pauses now and then.
const WHILE: Duration = Duration::from_secs(2);
/// ... and at most so long, where it was slow once and may be again, or is slow always.
const ENOUGH: Duration = Duration::from_secs(6);
/// How much longer than twice the shortest time an answer may take before what came earlier is in its way.
const REST: Duration = Duration::from_millis(30);
/// How much longer than the median an answer is slow by itself.
const SLOW: (u32, Duration) = (3, Duration::from_millis(100));
/// Fewest answers by which it is told whether it only warms up.
const FEWEST: usize = 10;

/// What asking the backend showed when nothing stands before it and nothing else is asked.
#[derive(Debug, Default)]
pub struct Unloaded {
    /// What it takes for the load's request, as a limit on everything before it; and that it has a limit by itself, which is asked for under load.
    pub limits: Vec<Limit>,
    /// A sentence about the requests that were made for that: the backend has seen them, too.
    pub told: Option<String>,
    /// Whether it ended the handshake because it was shown no certificate.
    pub uncertified: bool,
}

/// Asks it so. It shows nothing where the plan says what it takes, where it is not known where it is, or where asking is not safe. An answer that is
/// a failure now and then tells no time, but the backend is there.
pub fn unloaded(load: &Load, backend: &Backend) -> Unloaded {
    let none = Unloaded::default();
    let Some(address) = backend.alone().filter(|_| !matches!(backend, Backend::Embedded(_))) else { return none };
    // Other machines do not reach what is this machine's own.
    let reached = !(load.scale.is_spread() && address.ip().is_loopback());
    if opens_sockets(load) {
        return if reached && offers(load, address) { Unloaded { limits: vec![by_itself()], ..none } } else { none };
    }
    let Some(Answers { took, failed, closed, uncertified, silent, statuses }) = asked(load, address) else {
        return none;
    };
    if silent {
        let within = WITHIN.as_secs();
        let told = format!("{address}, asked before the load by itself, gave no answer within {within} s");
        return Unloaded { told: Some(told), ..none };
    }
    if uncertified {
        let told = format!(
            "{address}, asked before the load without a certificate of a client, ended the handshake for want of one (TLS alert certificate_required)"
        );
        return Unloaded { told: Some(told), uncertified, ..none };
    }
    // What a configuration leads to may be asked by it for something else, or in another language: an answer shows that it is not.
    if took.is_empty() && (failed == 0 || matches!(backend, Backend::Kept(..))) {
        return Unloaded { told: (failed > 0).then(|| only_failures(address, (failed, closed), &statuses)), ..none };
    }
    let failed = failed + closed;
    let told = format!(
        "{address} was asked {} times before the load, one request after another; {failed} of these failed",
        took.len() + failed
    );
    let (warm, took) = warmed_up(&took);
    let alone = if failed * 2 <= took.len() { alone(load, took, failed, warm) } else { None };
    let limits = alone.into_iter().chain(reached.then(by_itself)).collect();
    Unloaded { limits, told: Some(told), ..none }
}

/// That whatever it was asked for failed: then what is in front of it need not be why. So many answers were failures, so many connections closed.
fn only_failures(address: SocketAddr, (failed, closed): (usize, usize), statuses: &BTreeSet<u16>) -> String {
    let statuses: Vec<String> = statuses.iter().map(u16::to_string).collect();
    let closed_too = if closed > 0 { format!(", {closed} closed without an answer") } else { String::new() };
    format!(
        "{address} was asked {} times before the load, one request after another, by itself; all of these failed: {failed} answered {}{closed_too}",
        failed + closed,
        statuses.join(" or ")
    )
}

/// Whether the load's WebSocket is to be had there: that it is opened, or refused for want of something.
fn offers(load: &Load, address: SocketAddr) -> bool {
    matches!(ask_upgrade(load, address, WITHIN), Some(Asked::Answered { status: 101 | 500.., .. }))
}

/// How long answers take without a load, a handshake of TLS included where there is one, those left out that are failures, and those of a backend that only warms up. None where it cannot
/// be asked.
pub fn took(load: &Load, address: SocketAddr) -> Option<Vec<Duration>> {
    if matches!(load.transport, Transport::Unix { .. }) || matches!(load.protocol, Protocol::WebSocket(_)) {
        return None;
    }
    let all = asked(&alike(load), address).filter(|all| !all.uncertified && !all.silent)?;
    Some(warmed_up(&all.took).1.to_vec())
}

/// What came of asking.
#[derive(Default)]
struct Answers {
    /// How long each good answer took, in order.
    took: Vec<Duration>,
    /// Answers that were failures.
    failed: usize,
    /// Connections that were closed without an answer.
    closed: usize,
    /// Whether a handshake was ended for want of a client's certificate: then nothing else was asked.
    uncertified: bool,
    /// Whether it took the first request and did not answer it: then nothing else was asked.
    silent: bool,
    /// The statuses of the failures.
    statuses: BTreeSet<u16>,
}

/// Asks for a while. None where it cannot be asked, or is not there.
fn asked(load: &Load, address: SocketAddr) -> Option<Answers> {
    let (begun, mut all) = (Instant::now(), Answers::default());
    let every = every(load);
    // What is slow at first only may be warming up.
    let unsure = |took: &[Duration]| slow(took).1.len() == 1 || took.len() < FEWEST;
    while begun.elapsed() < WHILE || begun.elapsed() < ENOUGH && unsure(&all.took) && !all.took.is_empty() {
        let asked = Instant::now();
        match ask_whole(load, address, WITHIN)? {
            Asked::Answered { status: ..400, .. } => all.took.push(asked.elapsed()),
            Asked::Answered { status, .. } => {
                all.failed += 1;
                all.statuses.insert(status);
            }
            Asked::Closed => all.closed += 1,
            Asked::Refused { uncertified: true, .. } => {
                return Some(Answers { uncertified: true, ..Answers::default() });
            }
            Asked::Nothing if all.took.is_empty() && all.failed == 0 && all.closed == 0 => {
                return Some(Answers { silent: true, ..Answers::default() });
            }
            _ => return None,
        }
        std::thread::sleep(every.saturating_sub(asked.elapsed()));
    }
    Some(all)
}

/// Answers that were slow before any was not, and those from then on: a backend that has just been started, or was not asked for long, is
/// slow at first, which says nothing of what it takes later.
fn warmed_up(took: &[Duration]) -> (&[Duration], &[Duration]) {
    let (_, slow) = slow(took);
    let bound = slow.first().copied().unwrap_or(Duration::MAX);
    took.split_at(took.iter().position(|t| *t < bound).unwrap_or(0))
}

/// How often it is asked.
fn every(load: &Load) -> Duration {
    Duration::from_secs_f64(think(load)).clamp(EVERY, SELDOM)
}

/// Mean pause of a user of the load, seconds; none in the open model.
fn think(load: &Load) -> f64 {
    match &load.arrivals {
        Arrivals::Users { think, .. } => demand::mean(think),
        Arrivals::Rate { .. } => 0.0,
    }
}

fn alone(load: &Load, took: &[Duration], failed: usize, warm: &[Duration]) -> Option<Limit> {
    let (least, most) = (took.iter().min()?, took.iter().max()?);
    let time = spread(load, took)?;
    let often = match (slow(took).1.len(), time) {
        (many, Spread::Bimodal(_, other, _)) => format!("; {many} of these took {other} and more"),
        _ => String::new(),
    };
    let failing = if failed > 0 { format!("; {failed} more were answered by a failure") } else { String::new() };
    let warming = match (warm.len(), warm.iter().max()) {
        (1, Some(most)) => format!("; the first before them took {}", rounded(*most)),
        (many, Some(most)) => format!("; the first {many} before them took up to {}", rounded(*most)),
        (_, None) => String::new(),
    };
    Some(Limit {
        value: match time {
            Spread::Bimodal(..) => format!("{} to {}", rounded(*least), rounded(*most)),
            _ => rounded(*least),
        },
        origin: Origin::Machine("asked before any load".to_owned()),
        caps: "time the backend takes for a request, however few there are".to_owned(),
        law: Law::Delay { time },
        formula: format!(
            "asked {} times directly, without any load: {} to {}{often}{failing}{warming}",
            took.len(),
            rounded(*least),
            rounded(*most)
        ),
        source: match load.transport {
            Transport::Tls(_) => {
                "from the connection, with the handshake of TLS, up to the end of the response, or of its first 4 MiB"
                    .to_owned()
            }
            _ => "up to the end of the response, or of its first 4 MiB".to_owned(),
        },
        symptom: Symptom { errors: Vec::new(), slow: true },
        ..Limit::named("backend.alone", "backend", "time for one request alone")
    })
}

/// Waits until the backend answers as fast again as it did alone: what an earlier load left in its queues is gone then. For at most so
/// long; gives whether it does. Nothing to wait for where it was not asked alone.
pub fn rested(load: &Load, backend: &Backend, alone: &[Limit], most: Duration, stop: &StopFlag) -> bool {
    let least = alone.iter().find_map(|limit| match &limit.law {
        Law::Delay { time: Spread::Constant(least) | Spread::Bimodal(least, ..) } => Some(least.duration()),
        _ => None,
    });
    let Some((address, least)) = backend.alone().zip(least) else { return true };
    let begun = Instant::now();
    while begun.elapsed() < most && !stop.is_stopped() {
        let asked = Instant::now();
        let answered = matches!(ask_whole(load, address, WITHIN), Some(Asked::Answered { .. }));
        if answered && asked.elapsed() <= 2 * least + REST {
            return true;
        }
        std::thread::sleep(EVERY);
    }
    false
}

/// The limit that a backend has by itself under load, whatever it is: not known before it was asked directly, under the same load.
fn by_itself() -> Limit {
    Limit {
        origin: Origin::Machine("asked directly, where nothing else is named".to_owned()),
        caps: "the load that the backend bears by itself".to_owned(),
        ..Limit::named(BACKEND_BY_ITSELF, "backend", "load it bears by itself")
    }
}

/// The median, and the answers that are slow beside it.
fn slow(took: &[Duration]) -> (Duration, Vec<Duration>) {
    let mut sorted = took.to_vec();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or_default();
    let bound = (median * SLOW.0).max(median + SLOW.1);
    (median, sorted.into_iter().filter(|t| *t > bound).collect())
}

/// What it takes: the shortest answer, always; or, where it was slow more than once, that and the shortest slow one, with the
/// share of requests that certainly meet it, whichever kind it is: answers that are slow at random are as many as were seen; pauses in which
/// everything waits meet each user once, and the others only between them.
fn spread(load: &Load, took: &[Duration]) -> Option<Spread> {
    let least = *took.iter().min()?;
    let (_, slow) = slow(took);
    let [first, _, ..] = slow[..] else { return Some(Spread::Constant(Span::from(least))) };
    let at_random = slow.len() as f64 / took.len() as f64;
    let usual = (took.len() - slow.len()) as f64;
    let between = usual * every(load).max(least).as_secs_f64() / slow.len() as f64;
    let in_pauses = 1.0 / (1.0 + between / (least.as_secs_f64() + think(load)).max(1e-6));
    Some(Spread::Bimodal(Span::from(least), Span::from(first), at_random.min(in_pauses)))
}

/// Three digits are enough for a time that varies.
fn rounded(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 10.0 { format!("{ms:.2}ms") } else { format!("{ms:.0}ms") }
}

/// Requests the backend has answered, where it tells.
fn done(backend: &mut Backend) -> Option<f64> {
    backend.observe().samples.iter().find_map(|s| s.metrics.get(metric::BACKEND_DONE).copied())
}

#[cfg(test)]
mod tests;
