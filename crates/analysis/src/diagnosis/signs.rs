//! What a limit leaves behind: its log lines, the counters it makes grow, the gauges it holds at a mark.

use genkai_model::event::Tick;
use genkai_model::evidence::{LogLine, Sample};
use genkai_model::finding::Evidence;
use genkai_model::limit::{Sign, Signature, Strength};
use genkai_model::record::Trial;

use super::{answers, silence};
use crate::capacity::TOLERANCE;
use crate::window::{self, US};

/// How long before the break signs may begin, microseconds. A limit may bite some clients before so many that the
/// objective fails; and looks at servers come at intervals of their own.
const LEAD_US: i64 = 1_000_000;
/// How long after a violation was certain signs may still come, microseconds (logs are read at intervals).
const TRAIL_US: i64 = 2_000_000;
/// The most that a line says which was written before these seconds.
const BEFORE: Strength = Strength::Supports;
/// How long after the load's end something may still be seen of it: one more look.
const AFTER_LOAD_US: i64 = 500_000;

/// The seconds of a trial in which signs count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds {
    /// First microsecond since the load began.
    pub from: i64,
    /// The break.
    pub broke: i64,
    /// Last microsecond.
    pub to: i64,
}

impl Seconds {
    /// Around a break at `at` seconds that was certain at `certain`.
    pub fn around(trial: &Trial, at: f64, certain: f64) -> Seconds {
        let broke = (at * US) as i64;
        let end = trial.ticks.last().map_or(i64::MAX, |t| (t.to_us as i64).saturating_add(AFTER_LOAD_US));
        let to = ((certain * US) as i64).saturating_add(TRAIL_US).min(end);
        Seconds { from: broke - LEAD_US, broke, to: to.max(broke) }
    }

    /// Around something that happened from one moment to another, microseconds since the load began.
    pub fn during(trial: &Trial, from_us: u64, to_us: u64) -> Seconds {
        Seconds::around(trial, from_us as f64 / US, to_us as f64 / US)
    }

    /// The whole of a trial.
    pub fn all(trial: &Trial) -> Seconds {
        let end = trial.ticks.last().map_or(0, |t| t.to_us as i64);
        Seconds { from: 0, broke: 0, to: end.saturating_add(AFTER_LOAD_US) }
    }

    /// Whether a moment is one of them.
    pub(super) fn hold(&self, at: i64) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// Looks for a sign; none when it was not seen.
pub fn find(signature: &Signature, trial: &Trial, seconds: &Seconds) -> Option<Evidence> {
    let strength = signature.strength;
    match &signature.sign {
        Sign::Log(name) => log(name, trial, seconds).map(|lines| logged(name, lines, strength)),
        Sign::LogOther { before, known, after } => {
            let other = |name: &str| is_other(name, before, known, after);
            let lines = trial.logs.iter().filter(|(at, _)| seconds.hold(*at));
            // The first of them says which number it is.
            let name = lines.filter_map(|(_, line)| line.signature.as_deref()).find(|name| other(name))?;
            log(name, trial, seconds).map(|lines| logged(name, lines, strength))
        }
        Sign::LoggedOnce(name) => {
            let now = log(name, trial, seconds).map(|lines| logged(name, lines, strength));
            // That it is so still follows from the load.
            now.or_else(|| logged_before(name, trial, seconds).map(|lines| logged(name, lines, strength.min(BEFORE))))
        }
        Sign::LoggedUnserved(name) => {
            let ever = Seconds { from: i64::MIN, ..Seconds::all(trial) };
            let nobody = trial.ticks.iter().all(|tick| tick.ok == 0);
            log(name, trial, &ever).filter(|_| nobody).map(|lines| logged(name, lines, strength))
        }
        Sign::LoggedGrown { name, since, metric, grew } => {
            let lines = log(name, trial, seconds)?;
            let by = log(since, trial, seconds).map_or(lines.0, |(at, ..)| at);
            (had_grown(metric, trial, seconds, by) == *grew).then(|| logged(name, lines, strength))
        }
        Sign::Grew(metric) => {
            let (from, to) = growth(metric, trial, seconds)?;
            Some(Evidence::Grew { metric: metric.clone(), from, to, strength })
        }
        Sign::GrewUncounted { metric, own } => {
            let counted = trial.samples.iter().any(|(_, sample)| sample.metrics.contains_key(own));
            let (from, to) = growth(metric, trial, seconds).filter(|_| !counted)?;
            Some(Evidence::Grew { metric: metric.clone(), from, to, strength })
        }
        Sign::Answers { own, others } => {
            let count = |metric: &str| counted(metric, trial, seconds).map(|(before, after)| (after - before) as u64);
            let during = trial.ticks.iter().filter(|t| t.to_us as i64 > seconds.from && t.from_us as i64 <= seconds.to);
            answers::evidence(own, others, strength, count, window::Tally::of(during).failed)
        }
        Sign::Closed(code) => {
            let count = closed(*code, trial);
            (count > 0).then_some(Evidence::Closed { code: *code, count })
        }
        Sign::Paced { rate, after } => paced(*rate, *after, &trial.ticks),
        Sign::Silent { after } => silence::kept(*after, &trial.ticks),
        Sign::GrewAsEnded(metric) => {
            let (from, to) =
                growth(metric, trial, seconds).filter(|_| ended_as_grew(metric, &trial.samples, &trial.ticks))?;
            Some(Evidence::Grew { metric: metric.clone(), from, to, strength })
        }
        Sign::Handshakes { metric, mark, each, cores } => {
            let (value, _) = gauge(metric, trial, seconds, |_| Some(*mark))?;
            let rate = full_handshakes(trial, seconds).filter(|rate| rate * each >= MOST * cores)?;
            let (metric, each, cores) = (metric.clone(), *each, *cores);
            Some(Evidence::Handshakes { metric, value, rate, each, cores, strength })
        }
        Sign::Reached { metric, value } => {
            let seen = gauge(metric, trial, seconds, |_| Some(*value))?;
            let mark = *value;
            Some(Evidence::Reached { metric: metric.clone(), value: seen.0, mark, of: String::new(), strength })
        }
        Sign::ReachedMetric { metric, of, fraction } => {
            let whole = |i: usize| value_near(of, trial, i).filter(|v| *v > 0.0).map(|v| v * fraction);
            let (value, mark) = gauge(metric, trial, seconds, whole)?;
            Some(Evidence::Reached { metric: metric.clone(), value, mark, of: of.clone(), strength })
        }
    }
}

/// From which part of all processor time on it is handshakes that use it up.
const MOST: f64 = 0.5;

/// Full TLS handshakes a second in these seconds; none where no time went by.
fn full_handshakes(trial: &Trial, seconds: &Seconds) -> Option<f64> {
    let during = trial.ticks.iter().filter(|t| t.to_us as i64 > seconds.from && t.from_us as i64 <= seconds.to);
    let (full, lasted) = during.fold((0, 0.0), |(full, lasted), tick| {
        (full + tick.handshakes.as_ref().map_or(0, |made| made.full), lasted + window::length(tick))
    });
    (lasted > 0.0).then(|| full as f64 / lasted)
}

/// WebSockets closed with a code in a trial. (Nothing else closes so, whenever it does.)
fn closed(code: u16, trial: &Trial) -> u64 {
    let closes = trial.ticks.iter().filter_map(|t| t.messages.as_ref()).flat_map(|m| &m.closes);
    closes.filter(|close| close.code == code).map(|close| close.count).sum()
}

/// Least part of the time to send a response that a request must take.
const PACED: f64 = 0.3;
/// What a request takes beside, seconds.
const BESIDE: f64 = 0.05;

/// That requests take about as long as it takes to send their responses at `rate` bytes a second, `after` of which go at once. A second's
/// worth of what is left may go at once, too.
fn paced(rate: f64, after: f64, ticks: &[Tick]) -> Option<Evidence> {
    let sum = |count: fn(&Tick) -> u64| ticks.iter().map(count).sum::<u64>() as f64;
    let bytes = sum(|t| t.bytes_in) / sum(|t| t.ok).max(1.0);
    let seen = window::quantile(&window::merge(ticks, |t| &t.service), 0.5)?;
    let takes = (bytes - after).max(0.0) / rate;
    let least = (takes - 1.0).max(PACED * takes);
    (takes > 0.0 && (least..=takes * (1.0 + TOLERANCE) + BESIDE).contains(&seen)).then_some(Evidence::Paced {
        bytes,
        seen,
        takes,
    })
}

/// How long before a process is gone its connections may have ended, microseconds: it closes what is idle first, lingers for two seconds
/// (httpd server/core: SECONDS_TO_LINGER), and is looked at in intervals.
const LINGERS_US: i64 = 3_500_000;
/// The same after it was seen to be gone: what was closed is noticed by the next request.
const NOTICED_US: i64 = 500_000;
/// Part of the requests that must have met an end while the metric grew.
const NEARLY_ALL: f64 = 0.9;

/// Whether nearly all requests that met the end of a kept connection did so while `metric` grew.
fn ended_as_grew(metric: &str, samples: &[(i64, Sample)], ticks: &[Tick]) -> bool {
    let values: Vec<(i64, f64)> = samples.iter().filter_map(|(at, s)| Some((*at, *s.metrics.get(metric)?))).collect();
    let grew: Vec<i64> = values.windows(2).filter(|pair| pair[1].1 > pair[0].1).map(|pair| pair[1].0).collect();
    let near = |tick: &&Tick| {
        let (from, to) = (tick.from_us as i64 - NOTICED_US, tick.to_us as i64 + LINGERS_US);
        grew.iter().any(|at| (from..=to).contains(at))
    };
    let met: u64 = ticks.iter().map(window::met_end).sum();
    let during: u64 = ticks.iter().filter(near).map(window::met_end).sum();
    met > 0 && during as f64 >= NEARLY_ALL * met as f64
}

/// Lines of a kind: when the first came, how many came, and the first.
type Lines<'t> = (i64, u64, &'t LogLine);

fn logged(name: &str, (at, count, first): Lines<'_>, strength: Strength) -> Evidence {
    Evidence::Log {
        subject: first.subject.clone(),
        signature: name.to_owned(),
        count,
        text: first.text.clone(),
        at: at as f64 / US,
        strength,
    }
}

/// Whether a signature is made of `before`, a number and `after`, and the number is none of `known`.
fn is_other(name: &str, before: &str, known: &[u64], after: &str) -> bool {
    let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).and_then(|text| text.parse().ok());
    number.is_some_and(|number: u64| !known.contains(&number))
}

/// How strong a sign is as it was seen: a line may say less than its kind does.
pub(super) fn strength(signature: &Signature, seen: &Evidence) -> Strength {
    match seen {
        Evidence::Log { strength, .. } => *strength,
        _ => signature.strength,
    }
}

/// Lines of a kind that came while the load ran, before these seconds, and since which the load was never lower than at the first of them.
fn logged_before<'t>(name: &str, trial: &'t Trial, seconds: &Seconds) -> Option<Lines<'t>> {
    let before = Seconds { from: 0, broke: 0, to: seconds.from };
    let (at, count, first) = log(name, trial, &before)?;
    is_kept(&trial.ticks, at, seconds.broke).then_some((at, count, first))
}

/// Whether the load was never lower than at one moment until another.
fn is_kept(ticks: &[Tick], from: i64, until: i64) -> bool {
    let level = window::gauge(ticks, from.unsigned_abs(), |t| t.level);
    let mut since = ticks.iter().filter(|t| t.to_us as i64 > from && t.from_us as i64 <= until);
    since.all(|t| t.level >= level)
}

fn log<'t>(name: &str, trial: &'t Trial, seconds: &Seconds) -> Option<Lines<'t>> {
    let mut lines = trial.logs.iter().filter(|(at, line)| seconds.hold(*at) && line.signature.as_deref() == Some(name));
    let (at, first) = lines.next()?;
    let count = first.count + lines.map(|(_, line)| line.count).sum::<u64>();
    Some((*at, count, first))
}

/// A counter before the seconds in question (or at first sight) and its largest value in them, if that is more.
fn growth(metric: &str, trial: &Trial, seconds: &Seconds) -> Option<(f64, f64)> {
    counted(metric, trial, seconds).filter(|(before, after)| after > before)
}

/// Whether a counter was more at the first look from a moment on (else at the last) than before these seconds (or at first sight).
fn had_grown(metric: &str, trial: &Trial, seconds: &Seconds, by: i64) -> bool {
    let values: Vec<(i64, f64)> =
        trial.samples.iter().filter_map(|(at, s)| Some((*at, *s.metrics.get(metric)?))).collect();
    let before = values.iter().rev().find(|(at, _)| *at < seconds.from).or(values.first());
    let then = values.iter().find(|(at, _)| *at >= by).or(values.last());
    before.zip(then).is_some_and(|((_, before), (_, then))| then > before)
}

/// The same, whether it is more or not; none where there was no look before these seconds or none in them.
fn counted(metric: &str, trial: &Trial, seconds: &Seconds) -> Option<(f64, f64)> {
    let values: Vec<(i64, f64)> =
        trial.samples.iter().filter_map(|(at, s)| Some((*at, *s.metrics.get(metric)?))).collect();
    let before = values.iter().rev().find(|(at, _)| *at < seconds.from).or(values.first())?;
    let within = values.iter().filter(|(at, _)| seconds.hold(*at) && *at > before.0).map(|(_, v)| *v);
    let after = within.max_by(f64::total_cmp)?;
    Some((before.1, after))
}

/// A gauge's largest value, with its mark, when at least half of its values from the break on reach the mark (of all
/// those around it, where there is none from the break on). Half, because a limit that holds clients up keeps its gauge
/// at the mark, and one busy moment does not.
fn gauge(metric: &str, trial: &Trial, seconds: &Seconds, mark: impl Fn(usize) -> Option<f64>) -> Option<(f64, f64)> {
    let values = |from: i64| -> Vec<(f64, f64)> {
        let all = trial.samples.iter().enumerate().filter(|(_, (at, _))| *at >= from && seconds.hold(*at));
        all.filter_map(|(i, (_, s))| Some((*s.metrics.get(metric)?, mark(i)?))).collect()
    };
    let mut seen = values(seconds.broke);
    if seen.is_empty() {
        seen = values(seconds.from);
    }
    let reached: Vec<&(f64, f64)> = seen.iter().filter(|(value, mark)| value >= mark).collect();
    let largest = reached.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (reached.len() * 2 >= seen.len()).then_some(**largest)
}

/// A metric's value in the sample at `index`, or else the last before it, or else the first after.
fn value_near(metric: &str, trial: &Trial, index: usize) -> Option<f64> {
    let value = |(_, s): &(i64, genkai_model::evidence::Sample)| s.metrics.get(metric).copied();
    let (before, after) = trial.samples.split_at((index + 1).min(trial.samples.len()));
    before.iter().rev().find_map(value).or_else(|| after.iter().find_map(value))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use genkai_model::histogram::{self, Payload};

    use super::*;

    #[test]
    fn responses_that_are_sent_at_a_pace_take_the_time_of_their_bytes() {
        let tick = |each: u64, took: f64| {
            let mut service = histogram::empty();
            service.record_n((took * 1e9) as u64, 10).unwrap();
            [Tick { ok: 10, bytes_in: 10 * each, service: Payload::encode(&service), ..Tick::default() }]
        };
        let seen = |each, took, after| paced(20_000.0, after, &tick(each, took)).is_some();
        assert!(seen(10_000, 0.4, 0.0) && seen(60_000, 2.1, 0.0));
        assert!(!seen(10_000, 0.02, 0.0), "sent at once");
        assert!(!seen(10_000, 0.9, 0.0) && !seen(60_000, 1.5, 0.0), "something else");
        assert!(!seen(10_000, 0.4, 10_000.0), "all of it goes before the pace counts");
    }

    #[test]
    fn a_number_is_another_one_where_nobody_has_told_it() {
        let is = |name: &str| is_other(name, "memory.", &[16, 32], "");
        assert!(is("memory.24") && is("memory.160"));
        assert!(!is("memory.16") && !is("memory.") && !is("memory.x") && !is("memory.24.likely"));
        let likely = |name: &str| is_other(name, "memory.", &[16], ".likely");
        assert!(likely("memory.24.likely") && !likely("memory.16.likely") && !likely("memory.24"));
    }

    #[test]
    fn what_was_said_before_is_so_only_while_the_load_is_no_lower() {
        let load = |levels: &[f64]| -> Vec<Tick> {
            let tick = |(n, level): (usize, &f64)| Tick {
                from_us: n as u64 * 1_000_000,
                to_us: (n as u64 + 1) * 1_000_000,
                level: *level,
                ..Tick::default()
            };
            levels.iter().enumerate().map(tick).collect()
        };
        let kept = |levels: &[f64]| is_kept(&load(levels), 2_000_000, 5_000_000);
        assert!(kept(&[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]) && kept(&[20.0, 20.0, 20.0, 20.0, 20.0, 20.0]));
        assert!(kept(&[30.0, 20.0, 30.0, 30.0, 30.0, 30.0, 5.0]), "lower before it, and after the time in question");
        assert!(!kept(&[10.0, 20.0, 30.0, 15.0, 50.0, 60.0]));
    }

    #[test]
    fn what_ends_connections_counts_only_where_requests_met_their_end() {
        let sample = |second: i64, ended: f64| {
            let metrics = BTreeMap::from([("ended".to_owned(), ended)]);
            (second * 1_000_000, Sample { subject: "proxy".into(), metrics })
        };
        let tick = |second: u64, retried: u64| Tick {
            from_us: second * 1_000_000,
            to_us: (second + 1) * 1_000_000,
            retried,
            ..Tick::default()
        };
        let samples: Vec<_> = (0..20).map(|second| sample(second, if second < 10 { 2.0 } else { 3.0 })).collect();
        let met = |seconds: &[u64]| {
            let ticks: Vec<Tick> = (0..20).map(|n| tick(n, u64::from(seconds.contains(&n)))).collect();
            ended_as_grew("ended", &samples, &ticks)
        };
        assert!(met(&[9, 8]), "just before it was seen to be gone");
        assert!(!met(&[]) && !met(&[2, 3]) && !met(&[12]) && !met(&[9, 15]));
        assert!(!ended_as_grew("other", &samples, &[tick(9, 1)]));
    }
}
