//! What the screen shows, at three sizes.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect, Size};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::dashboard;
use super::pen::{bars, dim, put, strong};
use super::view::View;
use crate::figure;

/// Widest the screen gets, in columns: longer lines are harder to read.
const WIDEST: u16 = 100;
/// Lines of the whole screen.
const FULL: u16 = 9;
/// Lines where there is no room for charts.
const COMPACT: u16 = 3;
/// Columns of the charts' labels.
const LABEL: u16 = 18;

/// Room taken on a terminal of this size: one column is left free, and some lines above. A plain load takes nearly all.
pub(super) fn room(columns: u16, rows: u16, view: &View) -> Size {
    if view.load.is_some() && rows > dashboard::LEAST && columns >= 24 {
        return Size::new((columns - 1).min(dashboard::WIDEST), (rows - 1).min(dashboard::MOST));
    }
    let width = columns.saturating_sub(1).clamp(1, WIDEST);
    let height = match (rows, width) {
        (r, w) if r >= FULL + 6 && w >= 43 => FULL,
        (r, w) if r >= 2 * COMPACT && w >= 24 => COMPACT,
        _ => 1,
    };
    Size::new(width, height)
}

/// Draws the view over the whole frame.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View) {
    let area = frame.area();
    if let Some(load) = view.load.as_ref().filter(|_| area.height >= dashboard::LEAST) {
        return dashboard::draw(frame, view, load);
    }
    match area.height {
        0 => {}
        1 | 2 => put(frame, area, figures(view, area.width)),
        h if h < FULL => compact(frame, area, view),
        _ => full(frame, area, view),
    }
}

fn compact(frame: &mut Frame<'_>, area: Rect, view: &View) {
    let rows = Layout::vertical([Constraint::Length(1); 3]).split(area);
    put(frame, rows[0], Line::from(Span::styled(view.step.as_str(), strong())));
    put(frame, rows[1], figures(view, area.width));
    put(frame, rows[2], log(view));
}

fn full(frame: &mut Frame<'_>, area: Rect, view: &View) {
    // The first line stays empty, apart from what scrolls by above.
    let heights = [1, 1, 1, 2, 2, 1].map(Constraint::Length);
    let rows = Layout::vertical(heights).split(Rect { y: area.y + 1, height: area.height - 1, ..area });
    let trial = view.trial.map_or_else(String::new, |n| format!("trial {n}  "));
    let clock = format!("{trial}{}", figure::clock(view.at_us));
    let width = u16::try_from(clock.len()).unwrap_or(0).min(area.width);
    let head = Layout::horizontal([Constraint::Min(0), Constraint::Length(width)]).split(rows[0]);
    put(frame, head[0], Line::from(Span::styled(format!("genkai  {}", view.title), dim())));
    put(frame, head[1], Line::from(Span::styled(clock, dim())));
    put(frame, rows[1], Line::from(Span::styled(view.step.as_str(), strong())));
    put(frame, rows[2], figures(view, area.width));
    chart(frame, rows[3], "ok/s", view, |h| h.0, Color::Green);
    chart(frame, rows[4], "failed/s", view, |h| h.1, Color::Red);
    put(frame, rows[5], log(view));
}

/// As many figures as fit, most important first.
fn figures(view: &View, width: u16) -> Line<'static> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut used = 0;
    for (i, text) in view.figures().into_iter().enumerate() {
        let gap = if i == 0 { 0 } else { 3 };
        used += gap + text.chars().count();
        if i > 0 && used > usize::from(width) {
            break;
        }
        let failing = i == 2 && view.now().failed > 0;
        let style = if failing { Style::new().fg(Color::Red).add_modifier(Modifier::BOLD) } else { Style::new() };
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(text, style));
    }
    Line::from(spans)
}

fn log(view: &View) -> Line<'_> {
    if view.log.is_empty() {
        return Line::from(Span::styled("no server log lines yet", dim()));
    }
    Line::from(vec![Span::styled("log  ", dim()), Span::raw(view.log.as_str())])
}

/// A label, the largest value, and the history as bars that end at the latest interval.
fn chart(frame: &mut Frame<'_>, area: Rect, name: &str, view: &View, pick: fn(&(f64, f64)) -> f64, colour: Color) {
    let columns = Layout::horizontal([Constraint::Length(LABEL), Constraint::Min(0)]).split(area);
    let shown = view.history.len().min(usize::from(columns[1].width));
    let recent: Vec<f64> = view.history[view.history.len() - shown..].iter().map(pick).collect();
    let largest = recent.iter().copied().fold(0.0, f64::max);
    put(frame, columns[0], Line::from(name.to_owned()));
    let scale = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..columns[0] };
    put(frame, scale, Line::from(Span::styled(format!("up to {}", figure::number(largest.round())), dim())));
    bars(frame, columns[1], &recent, colour);
}
