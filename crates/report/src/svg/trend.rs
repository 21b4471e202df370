//! A figure from round to round: a line a contender, rings where something held it up.

use super::axis::{Scale, marks};
use super::canvas::{AXIS, Anchor, Canvas, GRID, Sign};
use super::legend::{self, Key};
use super::{LEFT, RIGHT, Sheet};
use crate::document::{Series, Trend};
use crate::figure;

const HEIGHT: f64 = 230.0;

/// The chart.
pub(super) fn draw(sheet: &Sheet<'_>, trend: &Trend) -> String {
    let key = |line: &Series| {
        let (stroke, sign) = legend::of(line.tone);
        Key { stroke, sign: Some(sign), name: line.name.clone() }
    };
    let keys: Vec<Key> = trend.lines.iter().map(key).collect();
    let top = legend::places(&keys).1 + 30.0;
    let bottom = top + HEIGHT;
    let mut canvas = sheet.canvas(bottom + 50.0);
    let values = trend.lines.iter().flat_map(|line| &line.points).filter_map(|(_, value)| *value);
    let steps = marks(values.filter(|v| v.is_finite()).fold(0.0, f64::max), 4);
    let x = Scale { from: 1.0, to: trend.last.max(2.0), start: LEFT, end: RIGHT };
    let y = Scale { from: 0.0, to: steps.last().copied().unwrap_or(1.0), start: bottom, end: top };
    for value in &steps {
        canvas.line((LEFT, y.at(*value)), (RIGHT, y.at(*value)), GRID);
        canvas.text((LEFT - 8.0, y.at(*value) + 4.0), Anchor::End, "", &figure::number(*value));
    }
    canvas.text((18.0, top - 12.0), Anchor::Start, "", &trend.unit);
    rounds(&mut canvas, trend, x, bottom);
    trend.lines.iter().for_each(|line| drawn(&mut canvas, line, x, y));
    legend::draw(&mut canvas, &keys);
    canvas.finish()
}

/// The rounds along the axis, whole numbers.
fn rounds(canvas: &mut Canvas, trend: &Trend, x: Scale, bottom: f64) {
    canvas.line((LEFT, bottom), (RIGHT, bottom), AXIS);
    let every = (trend.last / 12.0).ceil().max(1.0) as usize;
    for round in (1..=trend.last as u32).step_by(every) {
        let at = x.at(f64::from(round));
        canvas.line((at, bottom), (at, bottom + 4.0), AXIS);
        canvas.text((at, bottom + 18.0), Anchor::Middle, "", &round.to_string());
    }
    canvas.text((f64::midpoint(LEFT, RIGHT), bottom + 38.0), Anchor::Middle, "", &trend.step);
}

fn drawn(canvas: &mut Canvas, line: &Series, x: Scale, y: Scale) {
    let (stroke, sign) = legend::of(line.tone);
    for run in line.points.split(|(_, value)| !value.is_some_and(f64::is_finite)) {
        let placed: Vec<(f64, f64)> = run.iter().filter_map(|(at, value)| Some((x.at(*at), y.at((*value)?)))).collect();
        if placed.len() > 1 {
            canvas.path(&placed, stroke);
        }
        placed.iter().for_each(|at| canvas.sign(sign, *at, 3.5, stroke.colour, stroke.colour));
    }
    for (at, value, _) in &line.rings {
        canvas.sign(Sign::Circle, (x.at(*at), y.at(*value)), 8.0, "none", stroke.colour);
    }
}
