//! What a limit leaves behind: its log lines, the counters it makes grow, the gauges it holds at a mark.

use genkai_model::evidence::LogLine;
use genkai_model::finding::Evidence;
use genkai_model::limit::{Sign, Signature};
use genkai_model::record::Trial;

use crate::window::US;

/// How long before the break signs may begin, microseconds. A limit may bite some clients before so many that the
/// objective fails; and looks at servers come at intervals of their own.
const LEAD_US: i64 = 1_000_000;
/// How long after a violation was certain signs may still come, microseconds (logs are read at intervals).
const TRAIL_US: i64 = 2_000_000;
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

    fn hold(&self, at: i64) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// Looks for a sign; none when it was not seen.
pub fn find(signature: &Signature, trial: &Trial, seconds: &Seconds) -> Option<Evidence> {
    let strength = signature.strength;
    match &signature.sign {
        Sign::Log(name) => log(name, trial, seconds).map(|(at, count, first)| Evidence::Log {
            subject: first.subject.clone(),
            signature: name.clone(),
            count,
            text: first.text.clone(),
            at: at as f64 / US,
            strength,
        }),
        Sign::Grew(metric) => {
            let (from, to) = growth(metric, trial, seconds)?;
            Some(Evidence::Grew { metric: metric.clone(), from, to, strength })
        }
        Sign::Closed(code) => {
            let count = closed(*code, trial);
            (count > 0).then_some(Evidence::Closed { code: *code, count })
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

/// WebSockets closed with a code in a trial. (Nothing else closes so, whenever it does.)
fn closed(code: u16, trial: &Trial) -> u64 {
    let closes = trial.ticks.iter().filter_map(|t| t.messages.as_ref()).flat_map(|m| &m.closes);
    closes.filter(|close| close.code == code).map(|close| close.count).sum()
}

/// When the first line came, how many came, and the first.
fn log<'t>(name: &str, trial: &'t Trial, seconds: &Seconds) -> Option<(i64, u64, &'t LogLine)> {
    let mut lines = trial.logs.iter().filter(|(at, line)| seconds.hold(*at) && line.signature.as_deref() == Some(name));
    let (at, first) = lines.next()?;
    let count = first.count + lines.map(|(_, line)| line.count).sum::<u64>();
    Some((*at, count, first))
}

/// A counter before the seconds in question (or at first sight) and its largest value in them, if that is more.
fn growth(metric: &str, trial: &Trial, seconds: &Seconds) -> Option<(f64, f64)> {
    let values: Vec<(i64, f64)> =
        trial.samples.iter().filter_map(|(at, s)| Some((*at, *s.metrics.get(metric)?))).collect();
    let before = values.iter().rev().find(|(at, _)| *at < seconds.from).or(values.first())?;
    let within = values.iter().filter(|(at, _)| seconds.hold(*at) && *at > before.0).map(|(_, v)| *v);
    let after = within.max_by(f64::total_cmp)?;
    (after > before.1).then_some((before.1, after))
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
