//! Figures with their intervals, and effects as factors, one under the other.

use super::axis::Scale;
use super::canvas::{AXIS, Anchor, Canvas, INK, PAPER, Sign, Stroke, colour};
use super::{Sheet, UNDER_TITLE, WIDTH, short};
use crate::document::{Entry, Factor, Interval};

const ROW: f64 = 24.0;
/// Where bars begin and end; words stand on either side.
const FROM: f64 = 210.0;
const TO: f64 = 540.0;

/// All entries on one scale that starts at zero, so that lengths can be compared.
pub(super) fn draw(sheet: &Sheet<'_>, entries: &[Entry]) -> String {
    let marks = || entries.iter().flat_map(|entry| &entry.marks);
    let ends = marks().filter_map(|mark| mark.estimate).map(|of| of.interval.high.max(of.value));
    let largest = ends.filter(|end| end.is_finite()).fold(0.0, f64::max);
    let x = Scale { from: 0.0, to: if largest > 0.0 { largest * 1.04 } else { 1.0 }, start: FROM, end: TO };
    let mut canvas = sheet.canvas(UNDER_TITLE + ROW * marks().count() as f64 + 20.0);
    let mut y = UNDER_TITLE + ROW / 2.0;
    for entry in entries {
        canvas.text((FROM - 10.0, y + 4.0), Anchor::End, "", &short(&entry.name, 32));
        for mark in &entry.marks {
            bar(&mut canvas, mark, x, y);
            y += ROW;
        }
    }
    canvas.finish()
}

fn bar(canvas: &mut Canvas, mark: &Interval, x: Scale, y: f64) {
    canvas.line((FROM, y - ROW / 2.0), (FROM, y + ROW / 2.0), AXIS);
    canvas.text((TO + 14.0, y + 4.0), Anchor::Start, "", &short(&mark.value, 34));
    let Some(of) = mark.estimate else { return };
    canvas.line((FROM, y), (x.at(of.value), y), Stroke::solid(colour("bar"), 8.0));
    whisker(canvas, (x.at(of.interval.low), x.at(of.interval.high)), y, INK);
    canvas.sign(Sign::Circle, (x.at(of.value), y), 4.5, if mark.filled { INK } else { PAPER }, INK);
}

fn whisker(canvas: &mut Canvas, (low, high): (f64, f64), y: f64, colour: &'static str) {
    let stroke = Stroke::solid(colour, 1.5);
    canvas.line((low, y), (high, y), stroke);
    [low, high].into_iter().for_each(|end| canvas.line((end, y - 4.0), (end, y + 4.0), stroke));
}

/// Effects on an axis of factors, what does not matter as a band around "no effect".
pub(super) fn effects(sheet: &Sheet<'_>, margin: f64, rows: &[Factor]) -> String {
    let ends = rows.iter().flat_map(|row| [row.ratio.interval.low, row.ratio.interval.high, row.ratio.value]);
    let far = ends.filter(|end| *end > 0.0 && end.is_finite()).map(|end| end.max(1.0 / end));
    let span = far.fold((1.0 + 2.0 * margin).max(1.1), f64::max).min(10.0) * 1.04;
    let scale = Scale { from: -span.ln(), to: span.ln(), start: FROM, end: WIDTH - 40.0 };
    let x = |factor: f64| scale.at(factor.max(1e-9).ln());
    let (top, bottom) = (UNDER_TITLE, UNDER_TITLE + ROW * rows.len() as f64);
    let mut canvas = sheet.canvas(bottom + 32.0);
    let band = [x(1.0 / (1.0 + margin)), x(1.0 + margin)];
    canvas.area(&[(band[0], top), (band[1], top), (band[1], bottom), (band[0], bottom)], "#e3e3e3", 0.6);
    canvas.line((x(1.0), top), (x(1.0), bottom), Stroke::solid(colour("level"), 1.0));
    for (i, row) in rows.iter().enumerate() {
        let y = top + ROW * (i as f64 + 0.5);
        let (edge, filled) = match row.call.as_str() {
            "better" => (colour("good"), true),
            "worse" => (colour("fail"), true),
            "same" => (colour("level"), true),
            _ => (colour("level"), false),
        };
        canvas.text((FROM - 10.0, y + 4.0), Anchor::End, "", &short(&row.name, 32));
        whisker(&mut canvas, (x(row.ratio.interval.low), x(row.ratio.interval.high)), y, edge);
        canvas.sign(Sign::Circle, (x(row.ratio.value), y), 5.0, if filled { edge } else { PAPER }, edge);
    }
    for factor in [1.0 / span, 1.0, span] {
        canvas.text((x(factor), bottom + 18.0), Anchor::Middle, "", &format!("×{factor:.2}"));
    }
    canvas.finish()
}
