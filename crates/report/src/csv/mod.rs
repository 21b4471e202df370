//! A load interval by interval as CSV (RFC 4180, lines end with LF): one header, one line an interval.
//!
//! Times of the load are seconds, times of responses milliseconds, sizes bytes. A percentile is that of the interval's own
//! histogram: percentiles of several lines must not be averaged. An interval without values leaves them empty.

mod cache;

use std::io::{self, Write};

use genkai_model::figure::Figure;
use genkai_model::finding::comparison::{ComparisonFinding, TurnFinding};
use genkai_model::summary::{Distribution, Interval};

pub use cache::{HEADER as CACHE_HEADER, cache};

/// Names of the columns, in order. Columns are only ever added at the end.
pub const HEADER: &[&str] = &[
    "from_s",
    "to_s",
    "level",
    "planned",
    "sent",
    "ok",
    "failed",
    "in_flight",
    "connections",
    "opened",
    "bytes_in",
    "bytes_out",
    "latency_min_ms",
    "latency_mean_ms",
    "latency_p50_ms",
    "latency_p75_ms",
    "latency_p90_ms",
    "latency_p95_ms",
    "latency_p99_ms",
    "latency_p999_ms",
    "latency_max_ms",
    "service_p50_ms",
    "service_p99_ms",
    "service_max_ms",
    "connect_p50_ms",
    "connect_max_ms",
    "lateness_p50_ms",
    "lateness_p99_ms",
    "cpu_cores",
];

/// Writes the header and a line an interval.
///
/// # Errors
/// When `out` cannot be written.
pub fn intervals(out: &mut impl Write, all: impl IntoIterator<Item = Interval>) -> io::Result<()> {
    writeln!(out, "{}", HEADER.join(","))?;
    for interval in all {
        writeln!(out, "{}", line(&interval).join(","))?;
    }
    Ok(())
}

/// A line a turn of a comparison of systems, with a header: seconds, requests a second, bytes; empty where there is nothing.
pub fn turns(finding: &ComparisonFinding) -> String {
    let figures: Vec<&str> = Figure::ALL.iter().map(|(_, name)| *name).collect();
    let head =
        format!("trial,block,place,contender,control,counts,finished,failed,steady_after,busy,{}", figures.join(","));
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let turn = |turn: &TurnFinding| {
        let mut cells = vec![turn.trial.to_string(), turn.block.to_string(), turn.place.to_string()];
        cells.extend([quoted(&turn.contender), turn.control.to_string(), turn.counts.to_string()]);
        cells.extend([turn.finished.to_string(), turn.failed.to_string()]);
        cells.extend([turn.steady_after, turn.busy].map(number));
        cells.extend(turn.values.iter().map(|value| number(*value)));
        cells.join(",")
    };
    let lines: Vec<String> = std::iter::once(head).chain(finding.turns.iter().map(turn)).collect();
    lines.join("\n") + "\n"
}

/// Text as a field (RFC 4180, section 2).
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

fn line(i: &Interval) -> Vec<String> {
    let whole = [i.sent, i.ok, i.failed, i.in_flight, i.connections, i.opened, i.bytes_in, i.bytes_out];
    let mut cells = vec![plain(i.from), plain(i.to), plain(i.level), i.planned.to_string()];
    cells.extend(whole.map(|n| n.to_string()));
    let l = &i.latency;
    cells.extend(ms(l, &[l.min, l.mean, l.p50, l.p75, l.p90, l.p95, l.p99, l.p999, l.max]));
    cells.extend(ms(&i.service, &[i.service.p50, i.service.p99, i.service.max]));
    cells.extend(ms(&i.connect, &[i.connect.p50, i.connect.max]));
    cells.extend(ms(&i.lateness, &[i.lateness.p50, i.lateness.p99]));
    cells.push(plain(i.cpu));
    cells
}

/// Figures of a distribution in milliseconds; empty cells where there were no values.
fn ms<'a>(of: &Distribution, figures: &'a [f64]) -> impl Iterator<Item = String> + use<'a> {
    let none = of.count == 0;
    figures.iter().map(move |x| if none { String::new() } else { plain(x * 1e3) })
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
        assert_eq!((lines.len(), lines[0].len(), lines[1].len()), (2, HEADER.len(), HEADER.len()));
        let cell = |name: &str| lines[1][lines[0].iter().position(|h| *h == name).unwrap()];
        let seen =
            ["to_s", "planned", "ok", "bytes_out", "latency_p50_ms", "latency_max_ms", "connect_p50_ms", "cpu_cores"]
                .map(cell);
        assert_eq!(seen, ["0.4", "-1", "3", "7", "2.5", "1500", "", "0.123457"]);
        assert_eq!(cell("service_p99_ms"), "250");
        assert_eq!(cell("lateness_p99_ms"), "250");
    }
}
