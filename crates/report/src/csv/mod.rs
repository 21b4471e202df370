//! A load interval by interval as CSV (RFC 4180, lines end with LF): one header, one line an interval.
//!
//! Times of the load are seconds, times of responses milliseconds, sizes bytes. A percentile is that of the interval's own
//! histogram: percentiles of several lines must not be averaged. An interval without values leaves them empty.

mod cache;
mod plot;

use std::io::{self, Write};

use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparisonFinding, TurnFinding};
use genkai_model::summary::{Distribution, Interval};

pub use cache::cache;
pub(crate) use plot::plot;

/// A column: its name, and what a line has there.
type Column<T> = (&'static str, fn(&T) -> String);

/// The columns of intervals, in order. Columns are only ever added at the end.
const INTERVALS: [Column<Interval>; 30] = [
    ("from_s", |i| plain(i.from)),
    ("to_s", |i| plain(i.to)),
    ("level", |i| plain(i.level)),
    ("planned", |i| i.planned.to_string()),
    ("sent", |i| i.sent.to_string()),
    ("ok", |i| i.ok.to_string()),
    ("failed", |i| i.failed.to_string()),
    ("in_flight", |i| i.in_flight.to_string()),
    ("connections", |i| i.connections.to_string()),
    ("opened", |i| i.opened.to_string()),
    ("bytes_in", |i| i.bytes_in.to_string()),
    ("bytes_out", |i| i.bytes_out.to_string()),
    ("latency_min_ms", |i| ms(&i.latency, i.latency.min)),
    ("latency_mean_ms", |i| ms(&i.latency, i.latency.mean)),
    ("latency_p50_ms", |i| ms(&i.latency, i.latency.p50)),
    ("latency_p75_ms", |i| ms(&i.latency, i.latency.p75)),
    ("latency_p90_ms", |i| ms(&i.latency, i.latency.p90)),
    ("latency_p95_ms", |i| ms(&i.latency, i.latency.p95)),
    ("latency_p99_ms", |i| ms(&i.latency, i.latency.p99)),
    ("latency_p999_ms", |i| ms(&i.latency, i.latency.p999)),
    ("latency_max_ms", |i| ms(&i.latency, i.latency.max)),
    ("service_p50_ms", |i| ms(&i.service, i.service.p50)),
    ("service_p99_ms", |i| ms(&i.service, i.service.p99)),
    ("service_max_ms", |i| ms(&i.service, i.service.max)),
    ("connect_p50_ms", |i| ms(&i.connect, i.connect.p50)),
    ("connect_max_ms", |i| ms(&i.connect, i.connect.max)),
    ("lateness_p50_ms", |i| ms(&i.lateness, i.lateness.p50)),
    ("lateness_p99_ms", |i| ms(&i.lateness, i.lateness.p99)),
    ("cpu_cores", |i| plain(i.cpu)),
    ("retried", |i| i.retried.to_string()),
];

/// Writes the header and a line an interval.
///
/// # Errors
/// When `out` cannot be written.
pub fn intervals(out: &mut impl Write, all: impl IntoIterator<Item = Interval>) -> io::Result<()> {
    writeln!(out, "{}", head(&INTERVALS))?;
    for interval in all {
        writeln!(out, "{}", line(&INTERVALS, &interval))?;
    }
    Ok(())
}

fn head<T>(columns: &[Column<T>]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")
}

fn line<T>(columns: &[Column<T>], of: &T) -> String {
    columns.iter().map(|(_, cell)| cell(of)).collect::<Vec<_>>().join(",")
}

/// The columns of turns before those of their figures.
const TURNS: [Column<TurnFinding>; 10] = [
    ("trial", |turn| turn.trial.to_string()),
    ("block", |turn| turn.block.to_string()),
    ("place", |turn| turn.place.to_string()),
    ("contender", |turn| quoted(&turn.contender)),
    ("control", |turn| turn.control.to_string()),
    ("counts", |turn| turn.counts.to_string()),
    ("finished", |turn| turn.finished.to_string()),
    ("failed", |turn| turn.failed.to_string()),
    ("steady_after", |turn| exact(turn.steady_after)),
    ("busy", |turn| exact(turn.busy)),
];

/// A line a turn of a comparison of systems, with a header: seconds, requests a second, bytes; empty where there is nothing.
pub fn turns(finding: &ComparisonFinding) -> String {
    let names = Figure::ALL.iter().map(|(_, name)| *name);
    let mut text = std::iter::once(head(&TURNS).as_str()).chain(names).collect::<Vec<_>>().join(",") + "\n";
    for turn in &finding.turns {
        let values = turn.values.iter().map(|value| exact(*value));
        text += &(std::iter::once(line(&TURNS, turn)).chain(values).collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

fn exact(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Text as a field (RFC 4180, section 2).
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

/// A figure of a distribution in milliseconds; an empty cell where there were no values.
fn ms(of: &Distribution, figure: f64) -> String {
    if of.count == 0 { String::new() } else { plain(figure * 1e3) }
}

/// A number without exponent, at most six decimals.
fn plain(x: f64) -> String {
    let text = format!("{x:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"no\"\n"), "\"say \"\"no\"\"\n\"");
    }

    #[test]
    fn a_line_has_a_cell_for_each_name() {
        let some = Distribution { count: 3, min: 0.001, p50: 0.0025, p99: 0.25, max: 1.5, ..Distribution::default() };
        let none = Distribution::default();
        let interval = Interval {
            from: 0.2,
            to: 0.4,
            level: 100.0,
            planned: -1,
            sent: 5,
            ok: 3,
            failed: 1,
            in_flight: 2,
            connections: 100,
            retried: 0,
            opened: 4,
            bytes_in: 6,
            bytes_out: 7,
            latency: some,
            service: some,
            connect: none,
            lateness: some,
            cpu: 0.123_456_789,
        };
        let mut out = Vec::new();
        intervals(&mut out, [interval]).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
        assert_eq!((lines.len(), lines[0].len(), lines[1].len()), (2, INTERVALS.len(), INTERVALS.len()));
        let cell = |name: &str| lines[1][lines[0].iter().position(|h| *h == name).unwrap()];
        let seen =
            ["to_s", "planned", "ok", "bytes_out", "latency_p50_ms", "latency_max_ms", "connect_p50_ms", "cpu_cores"]
                .map(cell);
        assert_eq!(seen, ["0.4", "-1", "3", "7", "2.5", "1500", "", "0.123457"]);
        assert_eq!(cell("service_p99_ms"), "250");
        assert_eq!(cell("lateness_p99_ms"), "250");
    }
}
