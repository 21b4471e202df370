//! A figure of each of a few cases, by whether it is as it should be.

use super::axis::{Scale, marks};
use super::canvas::{AXIS, Anchor, GRID, PAPER, Sign, Stroke, colour};
use super::{LEFT, RIGHT, Sheet, UNDER_TITLE};
use crate::document::Steps;
use crate::figure;

const HEIGHT: f64 = 240.0;

/// The chart: filled points are as they should be, hollow ones are not.
pub(super) fn draw(sheet: &Sheet<'_>, steps: &Steps) -> String {
    let (top, bottom) = (UNDER_TITLE + 30.0, UNDER_TITLE + 30.0 + HEIGHT);
    let mut canvas = sheet.canvas(bottom + 52.0);
    let largest = steps.points.iter().map(|point| point.y).filter(|y| y.is_finite()).fold(0.0, f64::max);
    let values = marks(steps.most.unwrap_or(largest).max(largest), 4);
    let y = Scale { from: 0.0, to: values.last().copied().unwrap_or(1.0), start: bottom, end: top };
    for value in &values {
        canvas.line((LEFT, y.at(*value)), (RIGHT, y.at(*value)), GRID);
        canvas.text((LEFT - 8.0, y.at(*value) + 4.0), Anchor::End, "", &figure::whole(*value));
    }
    canvas.line((LEFT, bottom), (RIGHT, bottom), AXIS);
    canvas.text((18.0, top - 12.0), Anchor::Start, "", &steps.y);
    let room = (RIGHT - LEFT) / steps.points.len().max(1) as f64;
    let placed: Vec<(f64, f64)> =
        steps.points.iter().enumerate().map(|(i, point)| (LEFT + room * (i as f64 + 0.5), y.at(point.y))).collect();
    if placed.len() > 1 {
        canvas.path(&placed, Stroke::solid(colour("ok"), 2.0));
    }
    for (point, at) in steps.points.iter().zip(&placed) {
        let edge = colour(if point.good { "good" } else { "fail" });
        canvas.sign(Sign::Circle, *at, 5.0, if point.good { edge } else { PAPER }, edge);
        canvas.text((at.0, bottom + 18.0), Anchor::Middle, "", &point.x);
        if let Some(label) = &point.label {
            canvas.text((at.0, (at.1 + 20.0).min(bottom - 4.0)), Anchor::Middle, "", label);
        }
    }
    canvas.text((f64::midpoint(LEFT, RIGHT), bottom + 40.0), Anchor::Middle, "", &steps.x);
    canvas.finish()
}
