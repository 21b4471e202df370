//! Was it the generator? A measurement that its own client limited says nothing about the server.
//!
//! Only what happened up to the break counts: a client that is overrun by a storm of failures *after* the server broke
//! did its part, one that was out of breath before did not.
//!
//! The bounds, and why:
//! * Processor: a thread that is busy for 97 % of a second has no time left; from 90 % on (a queue of a single server is
//!   then ten service times long) it is at its end if it also sends late, or does not tell (Locust, which itself warns of 90 %). Shorter bursts are normal at a ramp's start.
//! * Lateness: what is late is added to every latency, so it must stay small beside what is judged: a tenth of the
//!   median latency or of the latency allowed, whichever is more, and never less than 10 ms, because on a machine whose
//!   cores are shared the scheduler alone makes a few of a hundred requests that late (CFS gives a rival up to a few
//!   periods of 4 ms). It counts when 1 % of all requests were later, or half of those of any one second.
//!   Where WebSockets stay open and only counts are judged (how many open, are cut, are answered at all), nothing that is judged has
//!   the lateness in it: up to a second it does not matter.
//! * Standing still: users who ask as soon as they are answered are never late, but a generator that is not let run finds their answers
//!   late. It counts when that took half of the latency allowed, and 50 ms, of more than 1 % of all requests, or, where
//!   a latency was violated, of those of any one second.
//! * Rate: 99 % of the planned requests must have been sent, unless the server was the reason: all connections busy
//!   because responses are slow, or new ones not accepted. A request whose connection waits for the server in the handshake of TLS was begun.

use genkai_model::error::ErrorKind;
use genkai_model::event::Tick;
use genkai_model::evidence::metric;
use genkai_model::finding::{ClientCheck, ClientLimit, LateOver, Quantiles};
use genkai_model::load::{Arrivals, Spacing};
use genkai_model::objective::{Condition, Objective};
use genkai_model::record::Trial;
use genkai_model::transport::Transport;
use genkai_model::units::Span;
use hdrhistogram::Histogram;

use crate::capacity::demand;
use crate::diagnosis::attribute::STEEP;
use crate::window::{self, Tally, US};
use crate::workers;

/// Fraction of a core from which a thread has nothing left.
const SPENT: f64 = 0.97;
/// Fraction of a core from which a thread that also sends late is at its end.
const BUSY: f64 = 0.90;
/// Least bound on lateness, seconds.
const LATE: f64 = 0.010;
/// The same where only counts of WebSockets are judged, seconds.
const LATE_COUNTED: f64 = 1.0;
/// Lateness allowed as a part of what is judged.
const PART: f64 = 0.10;
/// Part of a latency allowed for which it must not stand still.
const HALF: f64 = 0.5;
/// Least time that counts as standing still, seconds.
const STILL: f64 = 0.050;
/// Least fraction of planned requests that must be sent.
const SENT: f64 = 0.99;
/// Least fraction of a control group's periods in which its quota was used up that says why a client was late: more than an odd burst.
const STALLED: f64 = 0.2;
/// Fewest planned or late requests to judge by.
const ENOUGH: u64 = 100;
/// A second, microseconds: the shortest time that is judged.
const SECOND_US: u64 = 1_000_000;
/// Connections that take this long (nanoseconds) were not accepted at once: the first SYN is repeated after 1 s.
const SLOW_CONNECT_NS: u64 = 500_000_000;

/// The check with the moment from which the client was the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The finding.
    pub finding: ClientCheck,
    /// Since when, microseconds since the load began; none while it was good enough.
    pub since_us: Option<u64>,
}

/// Checks the client of `trial` up to `until` microseconds (the break; all of it for none).
pub fn check(trial: &Trial, objective: &Objective, until: Option<u64>) -> Check {
    checked(trial, objective, until, !counts_only(trial, objective))
}

/// The same for a whole trial whose latencies are judged, whatever the objective says.
pub fn check_timed(trial: &Trial, objective: &Objective) -> Check {
    checked(trial, objective, None, true)
}

/// The processes of a load, from 1, that had no processor time left or sent late over all of it, by the bounds of the study that made it.
pub(crate) fn limiting(trial: &Trial, objective: &Objective) -> Vec<u16> {
    let timed = trial.turn.is_some() || !counts_only(trial, objective);
    let bound = if timed { bound(&trial.ticks, objective) } else { LATE_COUNTED };
    workers::all_at_end(trial, SPENT, bound).map(|one| one.worker).collect()
}

/// Checks the client; `timed` is whether anything is judged that a late message changes.
fn checked(trial: &Trial, objective: &Objective, until: Option<u64>, timed: bool) -> Check {
    let up_to = window::before(&trial.ticks, until);
    // The break's own interval is already full of its consequences.
    let ticks = match until {
        Some(us) => &up_to[..up_to.partition_point(|t| t.to_us < us)],
        None => up_to,
    };
    let bound = if timed { bound(ticks, objective) } else { LATE_COUNTED };
    let looked: Vec<Late<'_>> = ticks.iter().map(|t| Late::of(t, bound)).collect();
    let most = seconds(&looked).map(used).reduce(f64::max);
    let mut found: Vec<(ClientLimit, u64)> = [
        spent(&looked, trial.started.load.locust.is_some()),
        late(settled(trial, &looked), bound),
        timed.then(|| stalled(trial, &looked, objective, until).or_else(|| stood(trial, objective, until?))).flatten(),
        short(trial, ticks),
        exhausted(up_to, ErrorKind::PortsExhausted, |count| ClientLimit::Ports { count }),
        exhausted(up_to, ErrorKind::DescriptorsExhausted, |count| ClientLimit::Descriptors { count }),
        too_large(up_to),
        // Of a process it is known over the whole load only, which may be full of the consequences of a break.
        until.is_none().then(|| workers::at_end(trial, SPENT, bound)).flatten().map(|limit| (limit, 0)),
    ]
    .into_iter()
    .flatten()
    .collect();
    // Why it was, where that is known, comes first.
    let since_us = found.iter().map(|(_, since)| *since).min();
    found.splice(0..0, since_us.and_then(|since| Some((throttled(trial, until)?, since))));
    Check {
        finding: ClientCheck {
            valid: found.is_empty(),
            reasons: found.iter().map(|(reason, _)| *reason).collect(),
            lateness: lateness(trial, if most.is_some() { ticks } else { &trial.ticks }),
            receipt: receipt(ticks),
            cpu_max: most.unwrap_or_else(|| used(&whole(trial, bound))),
        },
        since_us,
    }
}

/// How late requests left. Users who ask as soon as they are answered have no planned instants to be late for.
fn lateness(trial: &Trial, ticks: &[Tick]) -> Quantiles {
    match demand::is_planned(&trial.started.load) {
        true => window::quantiles(&window::merge(ticks, |t| &t.lateness)),
        false => Quantiles::default(),
    }
}

/// The whole trial: what is told where less than a second came before the break.
fn whole(trial: &Trial, bound: f64) -> Vec<Late<'_>> {
    trial.ticks.iter().map(|t| Late::of(t, bound)).collect()
}

/// The checks of all trials as one. Lateness is that of all requests of all trials.
pub fn overall<'t>(checks: impl IntoIterator<Item = (&'t ClientCheck, &'t Trial)>) -> ClientCheck {
    let lateness = Quantiles::default();
    let mut all = ClientCheck { valid: true, reasons: Vec::new(), lateness, receipt: None, cpu_max: 0.0 };
    let mut lateness = genkai_model::histogram::empty();
    let mut ticks = Vec::new();
    for (check, trial) in checks {
        all.valid &= check.valid;
        all.cpu_max = all.cpu_max.max(check.cpu_max);
        for reason in &check.reasons {
            let same = |r: &ClientLimit| std::mem::discriminant(r) == std::mem::discriminant(reason);
            if !all.reasons.iter().any(same) {
                all.reasons.push(*reason);
            }
        }
        if demand::is_planned(&trial.started.load) {
            lateness.add(window::merge(&trial.ticks, |t| &t.lateness)).expect("histograms have common bounds");
        }
        ticks.extend(&trial.ticks);
    }
    all.receipt = receipt(ticks);
    all.lateness = window::quantiles(&lateness);
    all
}

/// How long responses lay in their sockets, where the kernel was asked.
fn receipt<'t>(ticks: impl IntoIterator<Item = &'t Tick>) -> Option<Quantiles> {
    let merged = window::merge(ticks, |t| &t.receipt);
    (!merged.is_empty()).then(|| window::quantiles(&merged))
}

/// Ticks without the first second of a load that begins all at once: that many connections to open in one moment make
/// everyone late once.
fn settled<'s, 't>(trial: &Trial, ticks: &'s [Late<'t>]) -> &'s [Late<'t>] {
    let steep = demand::ramp(&trial.started.load) < STEEP;
    if steep { &ticks[ticks.partition_point(|t| t.tick.from_us < SECOND_US)..] } else { ticks }
}

/// Every run of ticks that lasts about a second, ending at each tick in turn.
fn seconds<'s, 't>(ticks: &'s [Late<'t>]) -> impl Iterator<Item = &'s [Late<'t>]> {
    (0..ticks.len()).filter_map(|last| {
        let from = ticks[last].tick.to_us.checked_sub(SECOND_US)?;
        let first = ticks[..=last].partition_point(|t| t.tick.from_us <= from).saturating_sub(1);
        (ticks[first].tick.from_us <= from).then(|| &ticks[first..=last])
    })
}

/// Fraction of a core that the busiest thread used.
fn used(ticks: &[Late<'_>]) -> f64 {
    let wall: f64 = ticks.iter().map(|t| window::length(t.tick)).sum();
    let busy: u64 = ticks.iter().map(|t| t.tick.cpu_max_us).sum();
    if wall > 0.0 { busy as f64 / window::US / wall } else { 0.0 }
}

/// Whether nothing is judged by an objective that a late message changes: how many WebSockets there are, and what becomes of them.
fn counts_only(trial: &Trial, objective: &Objective) -> bool {
    let timed = |c: &Condition| matches!(c, Condition::LatencyBelow(..) | Condition::RateAbove(_));
    demand::tunnels(&trial.started.load) && !objective.0.iter().any(timed)
}

/// How late is too late, seconds.
fn bound(ticks: &[Tick], objective: &Objective) -> f64 {
    let median = window::quantile(&window::merge(ticks, |t| &t.latency), 0.5).unwrap_or(0.0);
    let allowed = demand::tightest(objective).unwrap_or(0.0);
    (median.max(allowed) * PART).max(LATE)
}

/// A tick's lateness against the bound.
#[derive(Clone, Copy, Debug)]
struct Late<'t> {
    tick: &'t Tick,
    /// Requests whose lateness is known.
    all: u64,
    /// Of these, later than the bound.
    over: u64,
}

impl Late<'_> {
    fn of(tick: &Tick, bound: f64) -> Late<'_> {
        let lateness = window::decode(&tick.lateness);
        let over = window::reaching(&lateness, Span::from_secs_f64(bound).0);
        Late { tick, all: lateness.len(), over }
    }
}

/// Whether more than `share` of the requests in `ticks` were too late.
fn more_than(ticks: &[Late<'_>], share: f64) -> bool {
    let (all, over) = ticks.iter().fold((0, 0), |sum, t| (sum.0 + t.all, sum.1 + t.over));
    over as f64 > share * all as f64
}

/// Where in `ticks` it began to be so: the first tick that is; or else the beginning.
fn begin(ticks: &[Late<'_>], is: impl Fn(&Late<'_>) -> bool) -> u64 {
    ticks.iter().find(|t| is(t)).or(ticks.first()).map_or(0, |t| t.tick.from_us)
}

/// Whether the busiest thread had no time left. Where nobody tells how late it sent, it counts as late: Locust warns of 90 %, too.
fn spent(ticks: &[Late<'_>], untold: bool) -> Option<(ClientLimit, u64)> {
    let at_end = |s: &&[Late<'_>]| used(s) >= SPENT || (used(s) >= BUSY && (untold || more_than(s, 0.01)));
    let first = seconds(ticks).find(at_end)?;
    let most = seconds(ticks).filter(at_end).map(used).fold(0.0, f64::max);
    let limit = if untold { ClientLimit::LocustCpu { used: most } } else { ClientLimit::Cpu { used: most } };
    Some((limit, begin(first, |t| used(std::slice::from_ref(t)) >= BUSY)))
}

/// Whether a CPU quota stopped it: by itself no reason, as it is who is late or at its end that a measurement suffers from.
fn throttled(trial: &Trial, until: Option<u64>) -> Option<ClientLimit> {
    let during = trial.samples.iter().filter(|(at, _)| *at > 0 && until.is_none_or(|us| *at <= us as i64));
    let seen: Vec<f64> = during.filter_map(|(_, sample)| sample.metrics.get(metric::THROTTLED).copied()).collect();
    let fraction = seen.iter().sum::<f64>() / seen.len().max(1) as f64;
    (fraction >= STALLED).then_some(ClientLimit::Throttled { fraction })
}

fn late(ticks: &[Late<'_>], bound: f64) -> Option<(ClientLimit, u64)> {
    let all: u64 = ticks.iter().map(|t| t.all).sum();
    let many = (all >= ENOUGH && more_than(ticks, 0.01)).then_some(ticks);
    let second = seconds(ticks).find(|s| more_than(s, 0.5));
    let found = second.or(many)?;
    let judged = many.unwrap_or(found).iter().map(|t| t.tick);
    let p99 = window::quantile(&window::merge(judged, |t| &t.lateness), 0.99)?;
    let begins = ticks.first().map_or(0, |t| t.tick.from_us);
    let over = match many {
        None => LateOver::Second,
        Some(_) if begins > 0 => LateOver::Settled,
        Some(_) => LateOver::All,
    };
    Some((ClientLimit::Late { p99, bound, over }, begin(found, |t| t.over * 100 > t.all)))
}

/// Whether it did not run for long enough, and often enough, to be in the latencies of users who have no planned instants to be late for.
/// Where it broke, one second in which it was so is enough: a violation is one of a second.
fn stalled(trial: &Trial, ticks: &[Late<'_>], objective: &Objective, until: Option<u64>) -> Option<(ClientLimit, u64)> {
    if demand::is_planned(&trial.started.load) {
        return None;
    }
    let bound = (demand::tightest(objective)? * HALF).max(STILL);
    let reaching = |all: &Histogram<u64>| window::reaching(all, Span::from_secs_f64(bound).0);
    let merged = |ticks: &[Late<'_>]| window::merge(ticks.iter().map(|t| t.tick), |t| &t.stalled);
    let many = |ticks: &[Late<'_>]| {
        let finished = Tally::of(ticks.iter().map(|t| t.tick)).finished();
        reaching(&merged(ticks)) as f64 > 0.01 * finished as f64
    };
    let found = match until {
        Some(_) => seconds(ticks).find(|second| many(second)),
        None => Some(ticks).filter(|all| many(all)),
    }?;
    let all = merged(ticks);
    let since = begin(found, |t| reaching(&window::decode(&t.tick.stalled)) > 0);
    Some((ClientLimit::Stalled { longest: window::quantile(&all, 1.0)?, requests: reaching(&all), bound }, since))
}

/// Whether it did not run when it broke, for as long as an answer may take: it noted that when it ran again, maybe after the break.
fn stood(trial: &Trial, objective: &Objective, until: u64) -> Option<(ClientLimit, u64)> {
    let allowed = demand::tightest(objective).unwrap_or(f64::INFINITY).min(trial.started.load.timeout.as_secs_f64());
    let bound = allowed.max(STILL);
    let latest = until as f64 + bound * US;
    // That a latency is violated is certain after a second of it.
    let earliest = until as f64 - bound * US - 1.5 * SECOND_US as f64;
    let near = trial.ticks.iter().filter(|tick| tick.to_us as f64 >= earliest);
    let broke = near.clone().take_while(|tick| tick.from_us <= until);
    // What fails otherwise than by its time does so for another reason.
    if broke.flat_map(|tick| &tick.errors).any(|error| error.count > 0 && error.kind != ErrorKind::Timeout) {
        return None;
    }
    // Of users that are in flight then it is to be more than one in a hundred requests; whatever is planned meanwhile is late.
    let planned = demand::is_planned(&trial.started.load);
    let second = |last: &Tick| {
        let inside = |tick: &&Tick| tick.to_us <= last.to_us && tick.to_us + SECOND_US > last.to_us;
        Tally::of(trial.ticks.iter().filter(inside)).finished()
    };
    near.into_iter().find_map(|tick| {
        let all = window::decode(&tick.stalled);
        let longest = window::quantile(&all, 1.0).filter(|longest| *longest >= bound)?;
        let began = (tick.from_us as f64 - longest * US).max(0.0);
        let requests = window::reaching(&all, Span::from_secs_f64(bound).0);
        let many = planned || requests * 100 > second(tick);
        (many && began <= latest).then_some((ClientLimit::Stalled { longest, requests, bound }, began as u64))
    })
}

/// Kinds of errors in the place of which TLS would have been made on a connection.
const UNSECURED: &[ErrorKind] = &[
    ErrorKind::TlsExpired,
    ErrorKind::TlsUntrusted,
    ErrorKind::TlsSelfSigned,
    ErrorKind::TlsWrongName,
    ErrorKind::TlsCertificate,
    ErrorKind::TlsRefused,
    ErrorKind::TlsUnknownName,
    ErrorKind::TlsVersion,
    ErrorKind::TlsHandshakeFailure,
    ErrorKind::TlsClientWanted,
    ErrorKind::TlsClientRefused,
    ErrorKind::TlsFailed,
    ErrorKind::TlsClosed,
    ErrorKind::TlsTimeout,
];

/// Kinds of errors, beside [`UNSECURED`], that stand for a planned request which never got as far as being written.
const UNSENT: &[ErrorKind] = &[
    ErrorKind::ConnectRefused,
    ErrorKind::ConnectTimeout,
    ErrorKind::ConnectOther,
    ErrorKind::PortsExhausted,
    ErrorKind::DescriptorsExhausted,
    ErrorKind::UpgradeRefused,
    ErrorKind::UpgradeInvalid,
];

fn short(trial: &Trial, ticks: &[Tick]) -> Option<(ClientLimit, u64)> {
    let Arrivals::Rate { connections, spacing, .. } = trial.started.load.arrivals else { return None };
    let tally = Tally::of(ticks);
    let full = |t: &Tick| t.connections.max(t.in_flight) >= u64::from(connections);
    let refused = tally.count(&[ErrorKind::ConnectTimeout, ErrorKind::ConnectRefused, ErrorKind::ConnectOther]) > 0;
    let hung = window::merge(ticks, |t| &t.connect).max() >= SLOW_CONNECT_NS;
    if refused || hung || ticks.iter().any(full) {
        return None;
    }
    if !trial.started.load.is_one_request() {
        // What is planned are runs of flows, of many requests each; one that found no room counts as dropped.
        return None;
    }
    let at_first = if demand::ramp(&trial.started.load) > 0.0 { 0.0 } else { ticks.first()?.level };
    let planned = match trial.started.load.stages.as_slice() {
        [] => planned(ticks, at_first),
        stages => ticks.iter().map(|t| demand::integral(stages, t.from_us, t.to_us)).collect(),
    };
    let total: f64 = planned.iter().sum();
    // The count of a Poisson process strays by its root: three of them hold 99.7 % of all cases.
    let stray = if spacing == Spacing::Poisson { 3.0 * total.sqrt() } else { 0.0 };
    let begun =
        (tally.sent + tally.count(UNSENT) + tally.count(UNSECURED) + shaking(&trial.started.load.transport, ticks))
            as f64;
    if total < ENOUGH as f64 || begun >= total * SENT - stray - 2.0 {
        return None;
    }
    let since = ticks.iter().zip(&planned).find(|(t, planned)| (t.sent as f64) < **planned * 0.9 - 1.0);
    Some((ClientLimit::Short { fraction: begun / total }, since.map_or(0, |(t, _)| t.from_us)))
}

/// Connections that are in the handshake of TLS at the end of `ticks`: opened, and neither secured nor failed.
fn shaking(over: &Transport, ticks: &[Tick]) -> u64 {
    if !matches!(over, Transport::Tls(_)) {
        return 0;
    }
    let ended = |t: &Tick| {
        let secured = t.handshakes.as_ref().map_or(0, |made| made.full + made.resumed);
        let failed = t.errors.iter().filter(|e| UNSECURED.contains(&e.kind)).map(|e| e.count).sum::<u64>();
        secured + failed
    };
    let opened: u64 = ticks.iter().map(|t| t.opened).sum();
    opened.saturating_sub(ticks.iter().map(ended).sum())
}

/// Requests planned in each of `ticks`: the integral of the level, which is that of the end of a tick.
fn planned(ticks: &[Tick], at_first: f64) -> Vec<f64> {
    let before = std::iter::once(at_first).chain(ticks.iter().map(|t| t.level));
    ticks.iter().zip(before).map(|(t, before)| (before + t.level) / 2.0 * window::length(t)).collect()
}

fn exhausted(ticks: &[Tick], kind: ErrorKind, limit: impl Fn(u64) -> ClientLimit) -> Option<(ClientLimit, u64)> {
    let count = Tally::of(ticks).count(&[kind]);
    let first = ticks.iter().find(|t| t.errors.iter().any(|e| e.kind == kind && e.count > 0))?;
    Some((limit(count), first.first_error_us.unwrap_or(first.from_us)))
}

/// That all that failed are responses larger than it takes: what the server does is not judged by these.
fn too_large(ticks: &[Tick]) -> Option<(ClientLimit, u64)> {
    let others = ticks.iter().flat_map(|t| &t.errors).any(|e| e.kind != ErrorKind::TooLarge && e.count > 0);
    if others { None } else { exhausted(ticks, ErrorKind::TooLarge, |count| ClientLimit::TooLarge { count }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_of_tls_is_one_of_a_connection_without_it() {
        let is_of_tls = |kind: &&ErrorKind| format!("{kind:?}").starts_with("Tls");
        let all: Vec<ErrorKind> = ErrorKind::ALL.iter().filter(is_of_tls).copied().collect();
        assert!(all.iter().all(|kind| UNSECURED.contains(kind)), "{all:?}");
        assert_eq!(all.len(), UNSECURED.len());
    }
}
