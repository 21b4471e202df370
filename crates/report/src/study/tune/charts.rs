//! A trial over time: the load with what came of it, and latencies.

use genkai_model::finding::{Break, Point, Series};
use genkai_model::record::Trial;

use crate::context::{Context, fewer};
use crate::document::{Axis, Chart, Dash, Kind, Pane, Plot, Table, Time, Trace, When};
use crate::figure::{self, number, whole};
use crate::study::over_time::{self, drawn};

/// A trial with what its charts need.
pub(super) struct Moment<'a> {
    trial: &'a Trial,
    points: &'a [Point],
    broke: Option<&'a Break>,
    counted: &'a str,
    unit: &'a str,
    /// Where the axes end, seconds.
    pub(super) last: f64,
}

impl<'a> Moment<'a> {
    pub(super) fn of(
        trial: &'a Trial,
        series: &'a Series,
        broke: Option<&'a Break>,
        counted: &'a str,
        context: Context<'a>,
    ) -> Moment<'a> {
        let points = &series.points[..];
        let last = match points {
            [.., before, last] => last.at + (last.at - before.at) / 2.0,
            [last] => last.at,
            [] => 1.0,
        };
        Moment { trial, points, broke, counted, unit: context.unit(), last: (last * 1e3).round() / 1e3 }
    }

    fn trace(&self, of: impl Fn(&Point) -> Option<f64>) -> Vec<(f64, Option<f64>)> {
        self.points.iter().map(|point| (drawn(point.at), of(point).map(drawn))).collect()
    }

    /// `break: 243 users, 4.2 s`.
    fn broke(&self) -> Option<String> {
        let broke = self.broke?;
        let place = if broke.level < 1.5 {
            "from the first request".to_owned()
        } else {
            format!("{} {}{}", whole(broke.level), self.unit, fewer(broke))
        };
        Some(format!("break: {place}, {} s", number(broke.at)))
    }

    /// Requests and failures a second, the load beside them, log lines beneath.
    pub(super) fn load(&self) -> Chart {
        let [ok, failed] = ["successful/s", "failures/s"];
        let axis = |name: &str| Axis { name: name.to_owned(), most: None, steps: 4 };
        let unit = |name: &str| name.to_owned();
        let good = self.trace(|point| Some(point.ok));
        let good = Trace { area: 0.07, unit: unit(ok), ..Trace::new(ok, "ok", Dash::Solid, good) };
        let bad = self.trace(|point| Some(point.failed));
        let bad = Trace { unit: unit(failed), ..Trace::new(failed, "fail", Dash::Dashed, bad) };
        let level = self.trace(|point| Some(point.level));
        let level = Trace { axis: 1, unit: unit(self.unit), ..Trace::new(self.unit, "level", Dash::Fine, level) };
        let axes = vec![axis(&format!("{}/s", self.counted)), axis(self.unit)];
        let panes = vec![Pane { height: (320, 230), axes, traces: vec![good, bad, level] }];
        let row = |p: &Point| [number(p.at), number(p.ok), number(p.failed), whole(p.level), whole(p.in_flight)];
        let title = format!("{} and failures over time", figure::capital(self.counted));
        let numbers = Table::new(&title, &["seconds", ok, failed, self.unit, "in flight"], self.points.iter().map(row));
        let mark = self.broke.zip(self.broke()).map(|(broke, words)| When { at: broke.at, words });
        Chart {
            description: self.described(),
            numbers: Table { long: true, ..numbers.kinds(Kind::Figure, 0..5) },
            plot: Plot::Time(Time { last: self.last, panes, lanes: over_time::lanes(self.trial), mark, legend: true }),
            title,
        }
    }

    fn described(&self) -> String {
        let most = |of: fn(&Point) -> f64| number(self.points.iter().map(of).fold(0.0, f64::max));
        let level = whole(self.points.last().map_or(0.0, |point| point.level));
        let broke = self.broke().map_or_else(String::new, |words| format!("{words}. "));
        let logs = over_time::described(self.trial).unwrap_or_else(|| "No server wrote to its log.".to_owned());
        format!(
            "The load rises to {level} {}. Successful {} reach {} a second, failures {} a second. {broke}{logs}",
            self.unit,
            self.counted,
            most(|point| point.ok),
            most(|point| point.failed)
        )
    }

    /// Percentiles of each interval.
    pub(super) fn latency(&self) -> Chart {
        let largest = self.points.iter().filter_map(|p| p.p99.or(p.p90).or(p.p50)).fold(0.0, f64::max);
        let (unit, factor) = figure::axis_unit(largest);
        let line = |name: &str, tone: &str, dash, of: fn(&Point) -> Option<f64>| {
            let points = self.trace(|point| of(point).map(|seconds| seconds * factor));
            Trace { unit: unit.to_owned(), ..Trace::new(name, tone, dash, points) }
        };
        let traces = vec![
            line("p99", "p99", Dash::Solid, |point| point.p99),
            line("p90", "p90", Dash::Dashed, |point| point.p90),
            line("p50 (median)", "p50", Dash::Dotted, |point| point.p50),
        ];
        let axes = vec![Axis { name: format!("latency ({unit})"), most: None, steps: 4 }];
        let shown = |value: Option<f64>| value.map_or_else(|| "too few".to_owned(), figure::seconds);
        let row = |p: &Point| [number(p.at), shown(p.p50), shown(p.p90), shown(p.p99)];
        let title = format!("Latency of successful {}, from the planned instant", self.counted);
        let numbers = Table::new(&title, &["seconds", "p50", "p90", "p99"], self.points.iter().map(row))
            .kinds(Kind::Figure, 0..4);
        let mark = self.broke.map(|broke| When { at: broke.at, words: "break".to_owned() });
        let panes = vec![Pane { height: (230, 180), axes, traces }];
        Chart {
            description: self.worst(),
            numbers: Table { long: true, ..numbers },
            plot: Plot::Time(Time { last: self.last, panes, lanes: Vec::new(), mark, legend: true }),
            title,
        }
    }

    fn worst(&self) -> String {
        let worst = self.points.iter().filter_map(|p| Some((p.p99?, p.at))).max_by(|a, b| a.0.total_cmp(&b.0));
        match worst {
            Some((p99, at)) => format!(
                "Median, 90th and 99th percentile of successful {} in each interval. The largest p99 is {}, {} seconds into the load.",
                self.counted,
                figure::seconds(p99),
                number(at)
            ),
            None => format!("No interval had enough successful {} for percentiles.", self.counted),
        }
    }
}
