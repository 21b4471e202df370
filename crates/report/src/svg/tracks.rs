//! Limits as bars on one axis of clients, with where each was seen and the load asked for.

use super::axis::{Scale, marks};
use super::canvas::{Anchor, Canvas, GRID, INK, Sign, Stroke, colour};
use super::{LEFT, RIGHT, Sheet, UNDER_TITLE, short};
use crate::document::{LimitRow, Tracks};
use crate::figure;

/// A line of words, and a track beneath.
const LINE: f64 = 24.0;
const TRACK: f64 = 26.0;
/// Most letters of a name and of its figures in one line.
const LETTERS: usize = 104;

const ASKED: Stroke = Stroke { colour: "#6b6b6b", width: 1.75, dash: "6 4" };

/// The limits that matter for the load, in order.
pub(super) fn draw(sheet: &Sheet<'_>, tracks: &Tracks) -> String {
    let x = scale(tracks);
    let is_drawn = |row: &LimitRow| x.is_some() && (row.range.is_some() || row.at.is_some());
    let height = |row: &LimitRow| LINE * lines(row) as f64 + if is_drawn(row) { TRACK } else { 0.0 };
    let bottom = UNDER_TITLE + tracks.rows.iter().map(height).sum::<f64>();
    let mut canvas = sheet.canvas(bottom + 62.0);
    if let Some(x) = x {
        ruler(&mut canvas, x, tracks, bottom);
    }
    let mut top = UNDER_TITLE;
    for row in &tracks.rows {
        named(&mut canvas, row, top);
        if let Some(x) = x {
            track(&mut canvas, row, x, top + LINE * lines(row) as f64 + 6.0);
        }
        top += height(row);
    }
    canvas.finish()
}

/// From zero to about twice the load asked for (or what was seen, if more); none where nothing counts clients.
fn scale(tracks: &Tracks) -> Option<Scale> {
    tracks.key.as_ref()?;
    let seen = tracks.rows.iter().filter_map(|row| row.at).chain(tracks.asked).filter(|at| *at > 0.0);
    let near = seen.fold(0.0, f64::max);
    let ends = tracks.rows.iter().filter_map(|row| row.range).map(|range| range.1).filter(|end| *end > 0.0);
    let far = ends.fold(f64::INFINITY, f64::min);
    let largest = if near > 0.0 { near } else { far };
    let to = marks(largest.is_finite().then_some(2.0 * largest)?, 5).last().copied()?;
    Some(Scale { from: 0.0, to, start: LEFT, end: RIGHT })
}

fn ruler(canvas: &mut Canvas, x: Scale, tracks: &Tracks, bottom: f64) {
    for value in marks(x.to, 5) {
        canvas.line((x.at(value), UNDER_TITLE), (x.at(value), bottom), GRID);
        canvas.text((x.at(value), bottom + 18.0), Anchor::Middle, "", &figure::whole(value));
    }
    if let Some(asked) = tracks.asked {
        canvas.line((x.at(asked), UNDER_TITLE), (x.at(asked), bottom), ASKED);
    }
    let Some(key) = &tracks.key else { return };
    let asked = key.asked.as_ref().map_or_else(String::new, |asked| format!("; dashed line: {asked}"));
    let words = format!("bar: {}; ◆ {}{asked}; ▸ {}", key.predicted, key.seen, key.beyond);
    canvas.text((18.0, bottom + 44.0), Anchor::Start, " font-size=\"11\"", &words);
}

/// Whose it is, and what is told of it.
fn words(row: &LimitRow) -> [String; 2] {
    let figures = [&row.predicted, &row.seen].into_iter().filter(|words| !words.is_empty()).cloned();
    let name = format!("{} {}", row.subject, row.setting);
    [short(name.trim(), LETTERS), short(&figures.collect::<Vec<_>>().join(", "), LETTERS)]
}

/// Lines that these take: figures stand beneath a name that leaves them no room.
fn lines(row: &LimitRow) -> usize {
    let letters: usize = words(row).iter().map(|words| words.chars().count()).sum();
    if letters <= LETTERS { 1 } else { 2 }
}

fn named(canvas: &mut Canvas, row: &LimitRow, top: f64) {
    let [name, figures] = words(row);
    canvas.text((18.0, top + 16.0), Anchor::Start, "", &name);
    let beneath = LINE * (lines(row) - 1) as f64;
    canvas.text((RIGHT, top + beneath + 16.0), Anchor::End, "", &figures);
}

fn track(canvas: &mut Canvas, row: &LimitRow, x: Scale, top: f64) {
    if row.range.is_some_and(|(low, _)| low > x.to) {
        canvas.text((RIGHT + 4.0, top + 9.0), Anchor::Start, "", "▸");
    } else if let Some((low, high)) = row.range {
        let (from, to) = (x.at(low), x.at(high).max(x.at(low) + 4.0));
        let fill = colour(if row.near { "near" } else { "bar" });
        canvas.area(&[(from, top), (to, top), (to, top + 10.0), (from, top + 10.0)], fill, 1.0);
    }
    if let Some(at) = row.at.filter(|at| *at <= x.to) {
        canvas.sign(Sign::Diamond, (x.at(at), top + 5.0), 5.0, INK, INK);
    }
}
