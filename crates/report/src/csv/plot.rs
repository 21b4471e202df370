//! The numbers that a chart draws.

use super::{plain, quoted};
use crate::document::{Plot, Series, Steps, Time, Trace, Trend};

/// Where a line is, and its value there.
type Points<'a> = &'a [(f64, Option<f64>)];

/// A header, and a line a step along the axis of `plot`; empty where a line has no value.
pub(crate) fn plot(plot: &Plot) -> String {
    match plot {
        Plot::Time(time) => over_time(time),
        Plot::Trend(trend) => rounds(trend),
        Plot::Steps(steps) => cases(steps),
    }
}

fn over_time(time: &Time) -> String {
    let name = |trace: &Trace| match trace.unit.as_str() {
        "" => trace.name.clone(),
        unit if unit == trace.name => trace.name.clone(),
        unit => format!("{} ({unit})", trace.name),
    };
    let traces = time.panes.iter().flat_map(|pane| &pane.traces);
    joined("seconds", traces.map(|trace| (name(trace), &trace.points[..])).collect())
}

fn rounds(trend: &Trend) -> String {
    let name = |line: &Series| format!("{} ({})", line.name, trend.unit);
    joined(&trend.step, trend.lines.iter().map(|line| (name(line), &line.points[..])).collect())
}

fn cases(steps: &Steps) -> String {
    let mut text = row([steps.x.clone(), steps.y.clone()]);
    for point in &steps.points {
        text += &row([point.x.clone(), plain(point.y)]);
    }
    text
}

/// Lines side by side, by where their points are.
fn joined(axis: &str, lines: Vec<(String, Points<'_>)>) -> String {
    let mut places: Vec<f64> = lines.iter().flat_map(|(_, points)| points.iter().map(|(at, _)| *at)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let mut text = row(std::iter::once(axis.to_owned()).chain(lines.iter().map(|(name, _)| name.clone())));
    for at in places {
        let value = |points: Points<'_>| points.iter().find(|point| point.0 == at).and_then(|point| point.1);
        let shown =
            lines.iter().map(|(_, points)| value(points).filter(|v| v.is_finite()).map_or_else(String::new, plain));
        text += &row(std::iter::once(plain(at)).chain(shown));
    }
    text
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::StepPoint;

    #[test]
    fn lines_stand_side_by_side_with_gaps_left_empty() {
        let line = |name: &str, points| Series { name: name.to_owned(), tone: 0, points, rings: Vec::new() };
        let lines = vec![line("a, b", vec![(1.0, Some(2.5)), (2.0, None)]), line("c", vec![(2.0, Some(3.0))])];
        let trend = Trend { step: "round".to_owned(), last: 2.0, unit: "ms".to_owned(), lines };
        assert_eq!(plot(&Plot::Trend(trend)), "round,\"a, b (ms)\",c (ms)\n1,2.5,\n2,,3\n");
        let point = StepPoint { x: "1,000".to_owned(), y: 999.0, good: false, label: None };
        let steps = Steps { x: "requests".to_owned(), y: "answered".to_owned(), most: None, points: vec![point] };
        assert_eq!(plot(&Plot::Steps(steps)), "requests,answered\n\"1,000\",999\n");
    }
}
