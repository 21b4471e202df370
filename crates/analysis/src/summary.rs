//! A plain load in sum, and interval by interval: the figures that users of other load testers look for.
//!
//! Everything is added up first and divided afterwards: a percentile is one of the merged histogram, a rate one of the
//! whole time. Thresholds are judged over the whole load, as people who write `p99 < 500ms` into a pipeline mean it; that
//! nothing broke for a while in between is the verdict's to say.

use genkai_model::error::ErrorKind;
use genkai_model::event::{Purpose, StatusCount, Tick};
use genkai_model::histogram::Payload;
use genkai_model::load::{Arrivals, FAILURE_PACE, Load, Protocol};
use genkai_model::objective::{Bound, Condition, Objective};
use genkai_model::record::{Record, Trial};
use genkai_model::summary::{
    Connections, Counted, Distribution, ErrorTotal, Interval, Known, Spread, Summary, Threshold,
};
use genkai_model::units::Span;
use hdrhistogram::Histogram;

use crate::capacity::demand;
use crate::diagnosis::hang;
use crate::series;
use crate::sockets::Share;
use crate::statistics;
use crate::window::{self, Tally, US};

/// Nanoseconds in a second.
const NS: f64 = 1e9;

/// The load of `record`, if it is a plain one.
pub fn of(record: &Record) -> Option<Summary> {
    let trial = record.trials.first().filter(|t| t.started.purpose == Purpose::Measure)?;
    let objective = record.head.as_ref().map(|head| &head.plan.objective);
    Some(sum(trial, objective))
}

/// What a load counts.
pub fn counted(load: &Load) -> Counted {
    match &load.protocol {
        Protocol::Http1 | Protocol::Http2(_) => Counted::Requests,
        Protocol::WebSocket(websocket) if websocket.message.is_some() => Counted::Messages,
        Protocol::WebSocket(_) => Counted::Openings,
    }
}

/// How many redirections were followed, where a scenario follows them and they were counted.
fn redirected(trial: &Trial) -> Option<u64> {
    let follows = trial.started.load.scenario.as_ref().is_some_and(|scenario| scenario.follows());
    let counted: Option<u64> = trial.ticks.iter().map(|tick| tick.redirected).sum();
    counted.filter(|_| follows && !trial.ticks.is_empty())
}

/// From which part of the level asked for on it counts as reached: the last interval of a rise is told by its end.
const REACHED: f64 = 0.999;

/// How far a load rose that ended before it had risen to what was asked for; `planned` requests come of no more users.
fn reached(trial: &Trial, planned: u64) -> Option<f64> {
    let (load, lasted) = (&trial.started.load, series::lasted(trial));
    let most = trial.ticks.iter().map(|tick| tick.level).reduce(f64::max)?;
    let each_asks = matches!(load.arrivals, Arrivals::Users { .. }) && load.scenario.is_none();
    let most = if each_asks && counted(load) == Counted::Requests { most.min(planned as f64) } else { most };
    // A peak may lie between the ends of two intervals.
    let risen = lasted >= demand::ramp(load) && !load.stages.is_empty();
    Some(most).filter(|most| *most < demand::asked(load) * REACHED && !risen)
}

fn sum(trial: &Trial, objective: Option<&Objective>) -> Summary {
    let ticks = &trial.ticks;
    let tally = Tally::of(ticks);
    let total = |pick: fn(&Tick) -> u64| ticks.iter().map(pick).sum::<u64>();
    let merged = |pick: fn(&Tick) -> &Payload| window::merge(ticks, pick);
    let lasted = series::lasted(trial);
    let per_second = |n: u64| if lasted > 0.0 { n as f64 / lasted } else { 0.0 };
    let in_flight = trial.ended.as_ref().map_or_else(|| ticks.last().map_or(0, |t| t.in_flight), |e| e.abandoned);
    let latency = merged(|t| &t.latency);
    let counted = counted(&trial.started.load);
    let patience = (counted == Counted::Requests).then(|| trial.started.load.patience());
    Summary {
        counted,
        lasted,
        reached: reached(trial, tally.finished() + in_flight),
        planned: tally.finished() + in_flight,
        sent: tally.sent,
        ok: tally.ok,
        failed: tally.failed,
        in_flight,
        hung: patience.map_or(0, |_| lasting(ticks, &latency)).min(in_flight),
        unsent: ticks.last().and_then(|t| t.waiting).map(|waiting| waiting.unsent),
        paced: paced(trial),
        redirected: redirected(trial),
        retried: total(|t| t.retried),
        surplus: total(|t| t.surplus),
        rate: per_second(tally.finished()),
        ok_rate: per_second(tally.ok),
        seconds: spread(&seconds(ticks)),
        bytes_in: total(|t| t.bytes_in),
        bytes_out: total(|t| t.bytes_out),
        service: distribution(&merged(|t| &t.service)),
        failed_after: distribution(&merged(|t| &t.failed_after)),
        statuses: statuses(ticks),
        errors: tally.errors.iter().map(|e| total_of(e.kind, e.count)).collect(),
        connections: connections(trial),
        refusal: ticks.iter().filter_map(|t| t.handshakes.as_ref()).find_map(|h| h.refusal.clone()),
        lateness: match demand::is_planned(&trial.started.load) {
            true => distribution(&merged(|t| &t.lateness)),
            false => Distribution::default(),
        },
        cpu: per_second(total(|t| t.cpu_us)) / US,
        cpu_busiest: per_second(total(|t| t.cpu_max_us)) / US,
        memory: trial.ended.as_ref().map_or(0, |e| e.client_rss),
        thresholds: objective
            .map(|o| o.0.iter().map(|c| judge(c, ticks, &tally, &latency, (lasted, patience))).collect())
            .unwrap_or_default(),
        latency: distribution(&latency),
    }
}

/// Judges a condition by `ticks` that lasted so many seconds; where a patience is given, errors also by the requests that had no answer at their end.
pub(crate) fn judge(
    condition: &Condition,
    ticks: &[Tick],
    tally: &Tally,
    latency: &Histogram<u64>,
    (lasted, patience): (f64, Option<Span>),
) -> Threshold {
    let waiting = waiting(condition, ticks, patience);
    let seen = match condition {
        Condition::ErrorsBelow(_) => (tally.finished() > 0).then(|| tally.failed_fraction()),
        Condition::LatencyBelow(q, _) => window::quantile(latency, *q),
        Condition::RateAbove(_) => (lasted > 0.0).then(|| tally.ok as f64 / lasted),
        Condition::DisconnectsBelow(_) | Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) => {
            Share::of(condition, ticks).figure(condition)
        }
    };
    let with = |more| more == 0 || holds_with(condition, more, tally, latency);
    let holds = seen.is_some_and(|seen| condition.holds(seen)) && with(waiting);
    let is_errors = holds && patience.is_some() && matches!(condition, Condition::ErrorsBelow(_));
    let undecided = if is_errors { lasting(ticks, latency) } else { 0 };
    let undecided = if with(undecided) { 0 } else { undecided };
    Threshold { condition: condition.to_string(), seen, waiting, undecided, holds }
}

/// How many of those in flight at the end a condition speaks of all the same.
fn waiting(condition: &Condition, ticks: &[Tick], patience: Option<Span>) -> u64 {
    match condition {
        Condition::LatencyBelow(_, bound) => window::left(ticks, *bound),
        Condition::ErrorsBelow(_) => {
            let never: u64 = ticks.iter().filter_map(|t| t.messages.as_ref()).map(|m| m.unanswered).sum();
            never + patience.map_or(0, |patience| hang::overdue(ticks, patience))
        }
        _ => 0,
    }
}

/// How many of those in flight at the end had waited for far longer than anything took that ended: for twice as long, and a second. Not told
/// where some were never sent, which wait for the generator.
fn lasting(ticks: &[Tick], latency: &Histogram<u64>) -> u64 {
    if ticks.last().and_then(|last| last.waiting).is_some_and(|waiting| waiting.unsent > 0) {
        return 0;
    }
    let took = latency.max().max(window::merge(ticks, |tick| &tick.failed_after).max());
    window::left(ticks, Bound::excluding(Span(took.saturating_mul(2).max(1_000_000_000))))
}

/// Whether a condition holds where so many more were too slow, or failed.
fn holds_with(condition: &Condition, more: u64, tally: &Tally, latency: &Histogram<u64>) -> bool {
    match condition {
        Condition::LatencyBelow(q, bound) => {
            let (bad, all) = (window::beyond(latency, *bound) + more, latency.len() + more);
            bad as f64 <= (1.0 - q) * all as f64 + 1e-9
        }
        _ => condition.holds((tally.failed + more) as f64 / (tally.finished() + more) as f64),
    }
}

fn total_of(kind: ErrorKind, count: u64) -> ErrorTotal {
    ErrorTotal { kind, side: kind.side(), count }
}

/// Pauses of users after failures; none where nobody counted them.
pub(crate) fn pauses(trial: &Trial) -> Option<u64> {
    trial.ticks.iter().map(|tick| tick.paced).sum()
}

/// The same; where nobody counted, failures after which a user may have waited: those of closed users who do not think for longer than that
/// anyway.
fn paced(trial: &Trial) -> u64 {
    if let Some(counted) = pauses(trial) {
        return counted;
    }
    let load = &trial.started.load;
    let pauses = match load.arrivals {
        Arrivals::Users { think, .. } => demand::mean(&think) < FAILURE_PACE.as_secs_f64() && load.is_one_request(),
        Arrivals::Rate { .. } => false,
    };
    let failed = window::merge(&trial.ticks, |t| &t.failed_after);
    if pauses { failed.len() - window::reaching(&failed, FAILURE_PACE.0) } else { 0 }
}

/// Successes a second in each whole second, the intervals nearest to it.
fn seconds(ticks: &[Tick]) -> Vec<f64> {
    let (mut all, mut ok, mut from) = (Vec::new(), 0, 0);
    for tick in ticks {
        ok += tick.ok;
        let long = tick.to_us.saturating_sub(from);
        // A tick that comes a little early still completes its second.
        if long as f64 >= 0.95 * US {
            all.push(ok as f64 / (long as f64 / US));
            (ok, from) = (0, tick.to_us);
        }
    }
    all
}

fn spread(values: &[f64]) -> Option<Spread> {
    let (mean, stdev) = statistics::moments(values)?;
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(0.0, f64::max);
    Some(Spread { count: values.len() as u64, min, mean, stdev: stdev.unwrap_or(0.0), max })
}

fn statuses(ticks: &[Tick]) -> Vec<StatusCount> {
    let mut all = std::collections::BTreeMap::new();
    for one in ticks.iter().flat_map(|t| &t.statuses) {
        *all.entry(one.status).or_insert(0) += one.count;
    }
    all.into_iter().map(|(status, count)| StatusCount { status, count }).collect()
}

fn connections(trial: &Trial) -> Connections {
    let ticks = &trial.ticks;
    let opened = ticks.iter().map(|t| t.opened).sum();
    let counted = ticks.iter().filter_map(|t| t.most).max();
    let seen = ticks.iter().map(|t| t.connections).max().filter(|most| *most > 0 || opened == 0);
    let processes = trial.ended.as_ref().and_then(|ended| ended.client).map_or(0, |client| client.processes);
    Connections {
        opened,
        most: counted.or(seen),
        known: match counted {
            None => Known::Seen,
            Some(_) if processes.max(u32::from(trial.started.load.scale.processes)) > 1 => Known::AtMost,
            Some(_) => Known::Counted,
        },
        closed_idle: ticks.iter().map(|t| t.closed_idle).sum(),
        connect: distribution(&window::merge(ticks, |t| &t.connect)),
    }
}

/// A histogram of nanoseconds in figures, seconds.
pub fn distribution(histogram: &Histogram<u64>) -> Distribution {
    if histogram.is_empty() {
        return Distribution::default();
    }
    let at = |q: f64| histogram.value_at_quantile(q) as f64 / NS;
    Distribution {
        count: histogram.len(),
        min: histogram.min() as f64 / NS,
        mean: histogram.mean() / NS,
        stdev: histogram.stdev() / NS,
        p50: at(0.5),
        p75: at(0.75),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        p9999: at(0.9999),
        max: histogram.max() as f64 / NS,
    }
}

/// A trial interval by interval.
pub fn intervals(trial: &Trial) -> impl Iterator<Item = Interval> + '_ {
    let mut waiting = 0;
    trial.ticks.iter().map(move |tick| {
        let before = std::mem::replace(&mut waiting, tick.in_flight);
        interval(tick, before)
    })
}

fn interval(tick: &Tick, waiting: u64) -> Interval {
    let failed = window::failed(tick);
    let figures = |payload: &Payload| distribution(&window::decode(payload));
    let long = window::length(tick);
    Interval {
        from: tick.from_us as f64 / US,
        to: tick.to_us as f64 / US,
        level: tick.level,
        planned: (tick.ok + failed + tick.in_flight) as i64 - waiting as i64,
        sent: tick.sent,
        ok: tick.ok,
        failed,
        in_flight: tick.in_flight,
        connections: tick.connections,
        opened: tick.opened,
        retried: tick.retried,
        bytes_in: tick.bytes_in,
        bytes_out: tick.bytes_out,
        latency: figures(&tick.latency),
        service: figures(&tick.service),
        connect: figures(&tick.connect),
        lateness: figures(&tick.lateness),
        cpu: if long > 0.0 { tick.cpu_us as f64 / US / long } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use genkai_model::error::ErrorCount;
    use genkai_model::histogram;
    use genkai_model::websocket::Messages;

    fn histogram_of(values: &[u64]) -> Histogram<u64> {
        let mut all = histogram::empty();
        values.iter().for_each(|v| all.record(*v).unwrap());
        all
    }

    fn tick(i: u64, ok: u64, failed: u64, in_flight: u64) -> Tick {
        let latency = histogram_of(&vec![2_000_000; ok as usize]);
        Tick {
            from_us: i * 200_000,
            to_us: (i + 1) * 200_000,
            ok,
            in_flight,
            latency: Payload::encode(&latency),
            errors: vec![ErrorCount { kind: ErrorKind::Reset, count: failed }],
            statuses: vec![StatusCount { status: 200, count: ok }],
            ..Tick::default()
        }
    }

    #[test]
    fn what_was_planned_is_what_ended_and_what_waits() {
        let load: Vec<Tick> = vec![tick(0, 3, 1, 5), tick(1, 6, 0, 2), tick(2, 0, 0, 2)];
        let mut before = 0;
        let planned: Vec<i64> =
            load.iter().map(|t| interval(t, std::mem::replace(&mut before, t.in_flight)).planned).collect();
        assert_eq!(planned, [9, 3, 0]);
        assert_eq!(planned.iter().sum::<i64>(), 9 + 1 + 2, "ok, failed, in flight at the end");
    }

    #[test]
    fn rates_are_of_whole_seconds() {
        let ticks: Vec<Tick> = (0..13).map(|i| tick(i, i, 0, 0)).collect();
        assert_eq!(seconds(&ticks), [10.0, 35.0], "what is left over is no second");
        let spread = spread(&seconds(&ticks)).unwrap();
        assert_eq!((spread.min, spread.mean, spread.max, spread.count), (10.0, 22.5, 35.0, 2));
        assert!((spread.stdev - 17.677_67).abs() < 1e-4, "{}", spread.stdev);
    }

    #[test]
    fn thresholds_are_judged_over_the_whole_and_not_without_figures() {
        let ticks: Vec<Tick> = (0..10).map(|i| tick(i, 90, u64::from(i == 3) * 9, 0)).collect();
        let holds = |text: &str, ticks: &[Tick]| -> Vec<bool> {
            let (tally, latency) = (Tally::of(ticks), window::merge(ticks, |t| &t.latency));
            let objective: Objective = text.parse().unwrap();
            objective.0.iter().map(|c| judge(c, ticks, &tally, &latency, (2.0, None)).holds).collect()
        };
        let text = "errors < 1%, errors < 0.9%, p99 < 2ms, p99 < 3ms, rate > 449, rate > 450";
        assert_eq!(holds(text, &ticks), [true, false, false, true, true, false]);
        assert_eq!(
            holds("rate >= 450, errors <= 1%, errors <= 0.99%", &ticks),
            [true, true, false],
            "9 of 909, as written"
        );
        assert_eq!(holds("errors <= 0%", &ticks[..3]), [true]);
        assert_eq!(holds("errors < 1%, p99 < 1h", &[]), [false, false]);
    }

    /// A server that stopped: its last answers were as fast as all, and who had no answer had waited for longer than was allowed.
    #[test]
    fn who_had_waited_for_longer_than_allowed_at_the_end_counts() {
        // Intervals of 0.2 s; ten clients ask, and nobody is answered from the third on.
        let stopped = |waiting: u64| -> Vec<Tick> {
            (0..10).map(|i| Tick { in_flight: waiting, ..tick(i, if i < 3 { 90 } else { 0 }, 0, 0) }).collect()
        };
        let judged = |text: &str, ticks: &[Tick]| {
            let (tally, latency) = (Tally::of(ticks), window::merge(ticks, |t| &t.latency));
            let objective: Objective = text.parse().unwrap();
            let one = judge(&objective.0[0], ticks, &tally, &latency, (1.0, None));
            (one.waiting, one.holds)
        };
        let ticks = stopped(10);
        assert_eq!(judged("p99 < 300ms", &ticks), (10, false));
        assert_eq!(judged("p90 < 300ms", &ticks), (10, true), "10 of 280 are fewer than one in ten");
        assert_eq!(judged("max < 1600ms", &ticks), (0, true), "as many were answered within that time");
        assert_eq!(judged("p99 < 2s", &ticks), (0, true), "the load did not last as long");
        let mut rising = stopped(10);
        rising[8].in_flight = 25;
        rising[9].in_flight = 25;
        assert_eq!(judged("p99 < 300ms", &rising), (10, false), "those who came since may have waited for less");
    }

    /// Others go on being answered: which of those in flight have waited for long, only they tell.
    #[test]
    fn what_waits_beside_others_that_are_answered_counts_by_its_age() {
        let mut ticks: Vec<Tick> = (0..10).map(|i| Tick { in_flight: 5, ..tick(i, 90, 0, 0) }).collect();
        let judged = |text: &str, ticks: &[Tick]| {
            let (tally, latency) = (Tally::of(ticks), window::merge(ticks, |t| &t.latency));
            let objective: Objective = text.parse().unwrap();
            let one = judge(&objective.0[0], ticks, &tally, &latency, (2.0, None));
            (one.waiting, one.holds)
        };
        assert_eq!(judged("p99 < 300ms", &ticks), (0, true));
        let mut ages = histogram::empty();
        ages.record_n(700_000_000, 36).unwrap();
        ages.record_n(1_000_000, 4).unwrap();
        ticks[9].unanswered = histogram::Payload::encode(&ages);
        assert_eq!(judged("p99 < 300ms", &ticks), (36, false), "36 of 936");
        assert_eq!(judged("p95 < 300ms", &ticks), (36, true));
        assert_eq!(judged("p99 < 1s", &ticks), (0, true), "they had not waited for as long");
    }

    /// Who hangs at the end of a load has failed once an answer was waited for with patience; before, it is not known, where that decides.
    #[test]
    fn who_hangs_at_the_end_fails_or_leaves_it_open() {
        let judged_with = |failed_ms: Option<u64>, age_ms: u64, hung: u64, overdue: u64| {
            let mut ticks: Vec<Tick> = (0..60).map(|i| tick(i, 50, 0, 0)).collect();
            if let Some(ms) = failed_ms {
                ticks[9].failed_after = Payload::encode(&histogram_of(&[ms * 1_000_000]));
            }
            let mut ages = histogram::empty();
            ages.record_n(age_ms * 1_000_000, hung).unwrap();
            let last = ticks.last_mut().unwrap();
            (last.in_flight, last.unanswered) = (hung, histogram::Payload::encode(&ages));
            last.waiting =
                Some(genkai_model::event::Waiting { since_us: Some(0), since_level: None, overdue, unsent: 0 });
            let (tally, latency) = (Tally::of(&ticks), window::merge(&ticks, |t| &t.latency));
            let objective: Objective = "errors < 0.1%".parse().unwrap();
            let one = judge(&objective.0[0], &ticks, &tally, &latency, (12.0, Some(Span::from_secs(10))));
            (one.waiting, one.undecided, one.holds)
        };
        let judged = |age_ms, hung, overdue| judged_with(None, age_ms, hung, overdue);
        let judged_beside = |failed_ms| judged_with(Some(failed_ms), 9_000, 20, 0);
        assert_eq!(judged(9_000, 20, 0), (0, 20, true), "20 of 3,020 may fail");
        assert_eq!(judged(9_000, 2, 0), (0, 0, true), "2 do not decide");
        assert_eq!(judged(900, 20, 0), (0, 0, true), "less than a second is no sign");
        assert_eq!(judged(10_500, 20, 20), (20, 0, false), "they were waited for");
        assert_eq!(judged_beside(5_000), (0, 0, true), "a failure took 5 s");
    }

    /// Echoes that were waited for after the end, and did not come.
    #[test]
    fn messages_that_never_came_are_errors() {
        let mut ticks: Vec<Tick> = (0..4).map(|i| tick(i, 98, 0, 0)).collect();
        let messages = |unanswered| Messages { lost: unanswered, unanswered, ..Messages::default() };
        let judged = |ticks: &[Tick]| {
            let (tally, latency) = (Tally::of(ticks), window::merge(ticks, |t| &t.latency));
            let objective: Objective = "errors < 1%".parse().unwrap();
            let one = judge(&objective.0[0], ticks, &tally, &latency, (1.0, None));
            (one.seen, one.waiting, one.holds)
        };
        ticks[3].messages = Some(messages(8));
        assert_eq!(judged(&ticks), (Some(0.0), 8, false));
        ticks[3].messages = Some(messages(3));
        assert_eq!(judged(&ticks), (Some(0.0), 3, true), "3 of 395");
    }

    #[test]
    fn statuses_are_added_up() {
        let ticks = [tick(0, 2, 0, 0), tick(1, 3, 0, 0)];
        assert_eq!(statuses(&ticks), [StatusCount { status: 200, count: 5 }]);
    }
}
