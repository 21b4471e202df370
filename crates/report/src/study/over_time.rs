//! A trial over time: log lines by what they say, gauges and counters, what happened to servers.

use std::collections::BTreeMap;

use genkai_model::event::{ServerState, State};
use genkai_model::evidence::{LogLine, Sample};
use genkai_model::record::Trial;

use crate::document::{Block, Cell, Drawing, Kind, Lane, LaneMark, Spark, Style, Table};
use crate::{clean, figure, words};

/// Most kinds of log lines that are shown; the others are one kind together.
const KINDS: usize = 6;
/// Severities, the loudest first.
const LEVELS: [&str; 8] = ["emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"];
/// Most points of a gauge; a line has no more to show.
const SAMPLES: usize = 100;

/// Log lines that say the same.
struct LogGroup {
    key: String,
    name: String,
    level: String,
    text: String,
    marks: Vec<LaneMark>,
}

impl LogGroup {
    fn count(&self) -> u64 {
        self.marks.iter().map(|mark| mark.count).sum()
    }

    /// When the first and the last came, seconds.
    fn span(&self) -> (f64, f64) {
        (self.marks.first().map_or(0.0, |mark| mark.at), self.marks.last().map_or(0.0, |mark| mark.at))
    }
}

/// Seconds with the digits that a drawing shows.
pub(super) fn seconds(us: i64) -> f64 {
    (us as f64 / 1e3).round() / 1e3
}

/// A value with the digits that a drawing shows.
pub(super) fn drawn(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    let unit = 10f64.powi(4 - value.abs().log10().floor() as i32);
    (value * unit).round() / unit
}

/// Log lines by what they say, the most severe first.
fn said(logs: &[(i64, LogLine)]) -> Vec<LogGroup> {
    let mut all: Vec<LogGroup> = Vec::new();
    for (since, line) in logs {
        let text = clean::line(clean::message(&line.text));
        let key = line
            .signature
            .clone()
            .unwrap_or_else(|| format!("{} {} {}", line.subject, line.level, without_numbers(&line.text)));
        let mark = LaneMark { at: seconds(*since), count: line.count, text: clean::cut(&text, 90) };
        match all.iter_mut().find(|one| one.key == key) {
            Some(known) => known.marks.push(mark),
            None => all.push(LogGroup {
                key,
                name: clean::line(&format!("{} {}", line.subject, line.level)),
                level: clean::line(&line.level),
                text,
                marks: vec![mark],
            }),
        }
    }
    let rank = |one: &LogGroup| LEVELS.iter().position(|level| *level == one.level).unwrap_or(LEVELS.len());
    all.sort_by_key(|one| (rank(one), std::cmp::Reverse(one.count())));
    gathered(all)
}

/// What servers wrote most often of what they call errors, of a kind that no limit is known by, where it may be what failed: once for each fourth
/// of `failed` requests at least.
pub(super) fn unexplained(trial: &Trial, failed: u64) -> Option<String> {
    let unknown: Vec<(i64, LogLine)> =
        trial.logs.iter().filter(|(_, line)| line.signature.is_none()).cloned().collect();
    let is_error = |one: &LogGroup| ["emerg", "alert", "crit", "error"].contains(&one.level.as_str());
    let most = said(&unknown).into_iter().filter(is_error).max_by_key(LogGroup::count)?;
    (failed > 0 && most.count() * 4 >= failed).then_some(most.text)
}

/// Which number it is makes no other kind of line; whether there is one does.
fn without_numbers(text: &str) -> String {
    let numbers = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c });
    let mut kind = String::with_capacity(text.len());
    numbers.for_each(|c| {
        if c != '0' || !kind.ends_with('0') {
            kind.push(c);
        }
    });
    kind
}

/// The kinds beyond the first few as one.
fn gathered(mut all: Vec<LogGroup>) -> Vec<LogGroup> {
    if all.len() <= KINDS {
        return all;
    }
    let rest = all.split_off(KINDS - 1);
    let text = format!("{} other kinds of lines", rest.len());
    let mut marks: Vec<LaneMark> = rest.into_iter().flat_map(|one| one.marks).collect();
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    let others = "others".to_owned();
    all.push(LogGroup { key: others.clone(), name: others, level: String::new(), text, marks });
    all
}

/// The lanes of a chart.
pub(super) fn lanes(trial: &Trial) -> Vec<Lane> {
    said(&trial.logs).into_iter().map(|one| Lane { name: one.name, level: one.level, marks: one.marks }).collect()
}

/// The same in one sentence; none without log lines.
pub(super) fn described(trial: &Trial) -> Option<String> {
    let one = |one: &LogGroup| {
        format!(
            "{}: {}, {} lines from second {}",
            one.name,
            one.text,
            figure::count(one.count()),
            figure::number(one.span().0)
        )
    };
    let all: Vec<String> = said(&trial.logs).iter().map(one).collect();
    (!all.is_empty()).then(|| format!("Log lines: {}.", all.join("; ")))
}

/// The log lines of the lanes, in the same order.
pub(super) fn log_list(trial: &Trial) -> Block {
    let row = |one: LogGroup| {
        let sign = match one.level.as_str() {
            "emerg" | "alert" | "crit" => "▲",
            "error" => "◆",
            "warn" => "●",
            _ => "■",
        };
        let style = if matches!(one.level.as_str(), "warn" | "notice") { Style::Likely } else { Style::Refuted };
        let (first, last) = one.span();
        [
            Cell::styled(style, format!("{sign} {}", one.name)),
            Cell::styled(Style::Code, one.text.clone()),
            figure::count(one.count()).into(),
            format!("{} s", figure::number(first)).into(),
            format!("{} s", figure::number(last)).into(),
        ]
    };
    let rows = said(&trial.logs).into_iter().map(row);
    let table =
        Table::new("Server log lines", &["log", "line", "lines", "first", "last"], rows).kinds(Kind::Figure, 2..5);
    table.block().unwrap_or_else(|| Block::aside("No server wrote to its log in this trial."))
}

/// What the servers showed: every gauge and counter that moved from nothing, by name; `last` and `broke` are seconds.
pub(super) fn gauges(trial: &Trial, last: f64, broke: Option<f64>) -> Option<Block> {
    let mut of: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (since, sample) in thinned(&trial.samples) {
        for (name, value) in &sample.metrics {
            let value = if counts(name, *value) { *value } else { drawn(*value) };
            of.entry(name).or_default().push((seconds(*since), value));
        }
    }
    of.retain(|_, points| points.iter().any(|(_, value)| *value != 0.0));
    let sparks: Vec<Spark> = of.into_iter().map(spark).collect();
    let summary = format!("What the servers showed ({} gauges and counters)", sparks.len());
    (!sparks.is_empty()).then_some(Block::Drawing(Drawing::Sparks { summary, last, broke, sparks }))
}

fn spark((metric, points): (&str, Vec<(f64, f64)>)) -> Spark {
    let low = points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let high = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
    let first = points.first().map_or(0.0, |point| point.1);
    let last = points.last().map_or(0.0, |point| point.1);
    // A counter that rose by little beside what it was is told to the last digit.
    let number = |value: f64| if counts(metric, value) { figure::whole(value) } else { figure::number(value) };
    let words = match metric {
        metric if metric.ends_with("_total") && last > first => {
            format!("rose from {} to {}", number(first), number(last))
        }
        _ if low == high => format!("{} throughout", number(high)),
        _ => format!("{} to {}, last {}", number(low), number(high), number(last)),
    };
    let subject = metric.split('.').next().unwrap_or_default();
    Spark {
        metric: clean::line(metric),
        subject: clean::line(subject),
        name: clean::line(&words::metric(metric)),
        words,
        points,
    }
}

/// Whether a value is a count of what happened.
fn counts(metric: &str, value: f64) -> bool {
    metric.ends_with("_total") && value.fract() == 0.0
}

/// Every so many samples of each subject, the first and the last always: counters need both.
fn thinned(samples: &[(i64, Sample)]) -> Vec<&(i64, Sample)> {
    let mut of: BTreeMap<&str, Vec<&(i64, Sample)>> = BTreeMap::new();
    for sample in samples {
        of.entry(&sample.1.subject).or_default().push(sample);
    }
    of.into_values().flat_map(thin).collect()
}

fn thin(all: Vec<&(i64, Sample)>) -> Vec<&(i64, Sample)> {
    let (step, last) = (all.len().div_ceil(SAMPLES), all.len() - 1);
    all.into_iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, s)| s).collect()
}

/// `At 4.2 s nginx lost a worker process (signal 9).`: each change of a server's state that `shown` picks.
pub(super) fn states(trial: &Trial, shown: impl Fn(ServerState) -> bool) -> Vec<String> {
    let one = |(since, state): &(i64, State)| {
        let detail = state.detail.as_deref().map_or_else(String::new, |detail| format!(" ({})", clean::line(detail)));
        let (at, subject) = (figure::number(seconds(*since)), clean::line(&state.subject));
        format!("At {at} s {subject} {}{detail}.", words::state(state.state))
    };
    trial.states.iter().filter(|(_, state)| shown(state.state)).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_stood_still_did_not_rise() {
        let said = |points: &[f64]| {
            let points = points.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
            spark(("kernel.listen_drops_total", points)).words
        };
        assert_eq!(said(&[25_963.0, 25_963.0]), "25,963 throughout");
        assert_eq!(said(&[25_963.0, 25_999.0]), "rose from 25,963 to 25,999");
        assert_eq!(said(&[25_963.0, 4.0]), "4 to 25,963, last 4");
    }

    fn line(level: &str, text: &str) -> LogLine {
        LogLine { subject: "nginx".into(), level: level.into(), text: text.into(), signature: None, count: 2 }
    }

    #[test]
    fn log_lines_are_gathered_by_what_they_say_and_the_loudest_come_first() {
        let logs = vec![
            (1_000_000, line("warn", "2026/11/21 12:00:00 [warn] 1#1: slow 17")),
            (2_000_000, line("alert", "512 worker_connections are not enough")),
            (3_000_000, line("warn", "2026/11/21 12:00:03 [warn] 1#1: slow 18")),
        ];
        let found = said(&logs);
        let seen: Vec<(&str, &str, u64)> =
            found.iter().map(|one| (one.name.as_str(), one.text.as_str(), one.count())).collect();
        assert_eq!(seen, [("nginx alert", "512 worker_connections are not enough", 2), ("nginx warn", "slow 17", 4)]);
        assert_eq!(found[1].span(), (1.0, 3.0));
        let many: Vec<_> = (0..9).map(|i| (i, line("error", &"x".repeat(i as usize + 1)))).collect();
        assert_eq!(said(&many).last().map(|one| one.text.as_str()), Some("4 other kinds of lines"));
    }

    #[test]
    fn lines_that_differ_by_a_number_at_an_end_are_two_kinds() {
        let kinds = ["pool www", "pool www2", "pool www17", "3 pool www"].map(without_numbers);
        assert_eq!(kinds, ["pool www", "pool www0", "pool www0", "0 pool www"]);
        let logs = [line("warn", "busy: pool www"), line("warn", "busy: pool www2")].map(|line| (0, line));
        assert_eq!(said(&logs).len(), 2);
    }

    #[test]
    fn long_trials_are_thinned_to_their_ends() {
        let sample =
            |i: i64| (i, Sample { subject: if i % 2 == 0 { "a" } else { "b" }.into(), metrics: BTreeMap::new() });
        let all: Vec<_> = (0..2001).map(sample).collect();
        let times: Vec<i64> = thinned(&all).iter().map(|s| s.0).collect();
        assert!(times.len() <= 2 * (SAMPLES + 1), "{}", times.len());
        for end in [0, 1, 1999, 2000] {
            assert!(times.contains(&end), "{end}");
        }
        assert!(thinned(&[]).is_empty());
    }

    #[test]
    fn a_drawing_has_the_digits_that_can_be_seen() {
        assert_eq!(
            (drawn(1_234.567_89), drawn(-0.001_234_567), drawn(0.0), drawn(f64::NAN)),
            (1_234.6, -0.001_234_6, 0.0, 0.0)
        );
    }
}
