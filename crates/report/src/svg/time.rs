//! Lines over time, one drawing area above the other, log lines beneath on the same axis.

use super::axis::{Scale, marks};
use super::canvas::{AXIS, Anchor, Canvas, GRID, INK, Sign, Stroke, colour};
use super::legend::{self, Key};
use super::{LEFT, RIGHT, Sheet, short};
use crate::document::{Axis, Dash, Lane, Pane, Time, Trace, When};
use crate::figure;

/// Above each drawing area, for the names of its axes.
const ABOVE: f64 = 30.0;
/// Beneath the last one, for the time.
const BENEATH: f64 = 48.0;
/// Height of a lane of log lines.
const LANE: f64 = 22.0;

const BREAK: Stroke = Stroke { colour: INK, width: 1.2, dash: "10 3 2 3" };

/// Where the line of a trace goes on without a gap.
type Run = Vec<(f64, f64)>;

/// The chart.
pub(super) fn draw(sheet: &Sheet<'_>, time: &Time) -> String {
    let keys: Vec<Key> =
        if time.legend { time.panes.iter().flat_map(|pane| &pane.traces).map(key).collect() } else { Vec::new() };
    let mut next = legend::places(&keys).1;
    let areas: Vec<(f64, f64)> = time
        .panes
        .iter()
        .map(|pane| {
            let top = next + ABOVE;
            next = top + f64::from(pane.height.0);
            (top, next)
        })
        .collect();
    let mut canvas = sheet.canvas(next + BENEATH + LANE * time.lanes.len() as f64 + 10.0);
    let x = Scale { from: 0.0, to: time.last.max(1e-9), start: LEFT, end: RIGHT };
    for (pane, area) in time.panes.iter().zip(&areas) {
        drawn(&mut canvas, pane, x, *area);
    }
    clock(&mut canvas, x, next);
    time.lanes
        .iter()
        .enumerate()
        .for_each(|(row, lane)| logged(&mut canvas, lane, x, next + BENEATH + LANE * row as f64));
    if let (Some(mark), Some((top, _))) = (&time.mark, areas.first()) {
        marked(&mut canvas, mark, x, (*top, next));
    }
    legend::draw(&mut canvas, &keys);
    canvas.finish()
}

fn key(trace: &Trace) -> Key {
    let side = if trace.axis > 0 { " (right axis)" } else { "" };
    Key { stroke: stroke(trace), sign: None, name: format!("{}{side}", trace.name) }
}

fn stroke(trace: &Trace) -> Stroke {
    let (dash, width) = match trace.dash {
        Dash::Solid => ("", 2.0),
        Dash::Dashed => ("7 4", 2.0),
        Dash::Dotted => ("2 3", 2.0),
        Dash::Fine => ("1.5 3.5", 1.5),
    };
    Stroke { colour: colour(&trace.tone), width, dash }
}

/// A drawing area with its axes and lines.
fn drawn(canvas: &mut Canvas, pane: &Pane, x: Scale, (top, bottom): (f64, f64)) {
    let largest = |axis: usize| {
        let of = pane.traces.iter().filter(|trace| trace.axis == axis);
        of.flat_map(|trace| &trace.points).filter_map(|(_, value)| *value).filter(|v| v.is_finite()).fold(0.0, f64::max)
    };
    let scales: Vec<Scale> = pane
        .axes
        .iter()
        .enumerate()
        .map(|(i, axis)| {
            let steps = marks(axis.most.unwrap_or_else(|| largest(i)), u32::from(axis.steps));
            let y = Scale { from: 0.0, to: steps.last().copied().unwrap_or(1.0), start: bottom, end: top };
            upright(canvas, axis, i > 0, &steps, y);
            y
        })
        .collect();
    canvas.path(&[(LEFT, top), (LEFT, bottom), (RIGHT, bottom), (RIGHT, top)], AXIS);
    // The first line is the one that matters: it is drawn last.
    for trace in pane.traces.iter().rev() {
        let Some(y) = scales.get(trace.axis) else { continue };
        for run in runs(trace, x, *y) {
            traced(canvas, trace, &run, bottom);
        }
    }
}

fn traced(canvas: &mut Canvas, trace: &Trace, run: &Run, bottom: f64) {
    let stroke = stroke(trace);
    if let ([first, .., last], true) = (&run[..], trace.area > 0.0) {
        let corners: Run = run.iter().copied().chain([(last.0, bottom), (first.0, bottom)]).collect();
        canvas.area(&corners, stroke.colour, trace.area);
    }
    match run[..] {
        [alone] => canvas.sign(Sign::Circle, alone, 2.0, stroke.colour, stroke.colour),
        _ => canvas.path(run, stroke),
    }
}

/// The points of a trace in pixels, from gap to gap; where values hold for an interval, with its steps.
fn runs(trace: &Trace, x: Scale, y: Scale) -> Vec<Run> {
    let known = |point: &&(f64, Option<f64>)| point.1.is_some_and(f64::is_finite);
    let split = trace.points.split(|point| !known(&point));
    let placed =
        split.map(|run| run.iter().filter_map(|(at, value)| Some((x.at(*at), y.at((*value)?)))).collect::<Run>());
    let all = placed.filter(|run| !run.is_empty());
    if !trace.stepped {
        return all.collect();
    }
    let stepped = |run: Run| {
        let between = run.windows(2).flat_map(|pair| {
            let middle = f64::midpoint(pair[0].0, pair[1].0);
            [(middle, pair[0].1), (middle, pair[1].1)]
        });
        let ends = (run[0], run[run.len() - 1]);
        std::iter::once(ends.0).chain(between).chain([ends.1]).collect()
    };
    all.map(stepped).collect()
}

/// A value axis, with its name above.
fn upright(canvas: &mut Canvas, axis: &Axis, right: bool, steps: &[f64], y: Scale) {
    for value in steps {
        let at = y.at(*value);
        if right {
            canvas.line((RIGHT, at), (RIGHT + 4.0, at), AXIS);
            canvas.text((RIGHT + 8.0, at + 4.0), Anchor::Start, "", &figure::number(*value));
        } else {
            canvas.line((LEFT, at), (RIGHT, at), GRID);
            canvas.text((LEFT - 8.0, at + 4.0), Anchor::End, "", &figure::number(*value));
        }
    }
    let (x, anchor) = if right { (RIGHT + 48.0, Anchor::End) } else { (18.0, Anchor::Start) };
    canvas.text((x, y.end - 12.0), anchor, "", &axis.name);
}

fn clock(canvas: &mut Canvas, x: Scale, bottom: f64) {
    for value in marks(x.to, 8).iter().filter(|value| **value <= x.to * 1.000_001) {
        let at = x.at(*value);
        canvas.line((at, bottom), (at, bottom + 4.0), AXIS);
        canvas.text((at, bottom + 18.0), Anchor::Middle, "", &figure::number(*value));
    }
    canvas.text((f64::midpoint(LEFT, RIGHT), bottom + 38.0), Anchor::Middle, "", "time since the load began (s)");
}

/// A lane: who wrote the lines, and when they came.
fn logged(canvas: &mut Canvas, lane: &Lane, x: Scale, top: f64) {
    let middle = top + LANE / 2.0;
    canvas.line((LEFT, middle), (RIGHT, middle), GRID);
    let mild = matches!(lane.level.as_str(), "warn" | "notice");
    let fill = colour(if mild { "doubt" } else { "fail" });
    for mark in &lane.marks {
        let sign = if mild { Sign::Circle } else { Sign::Diamond };
        canvas.sign(sign, (x.at(mark.at), middle), 2.5 + (mark.count as f64).sqrt().min(9.0) / 2.0, fill, fill);
    }
    canvas.text((LEFT + 2.0, middle + 4.0), Anchor::Start, &legend::halo(), &short(&lane.name, 60));
}

/// What happened at one moment, with its words.
fn marked(canvas: &mut Canvas, mark: &When, x: Scale, (top, bottom): (f64, f64)) {
    let at = x.at(mark.at);
    canvas.line((at, top - 8.0), (at, bottom), BREAK);
    let late = at > f64::midpoint(LEFT, RIGHT);
    let (anchor, beside) = if late { (Anchor::End, at - 5.0) } else { (Anchor::Start, at + 5.0) };
    canvas.text((beside, top + 6.0), anchor, &legend::halo(), &mark.words);
}
