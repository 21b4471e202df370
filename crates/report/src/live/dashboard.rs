//! The screen of a plain load: how far it is, the present moment, rates and percentiles over the chosen time, how times are
//! spread, what was answered and what failed.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Axis, Chart, Dataset, GraphType};

use super::load::Load;
use super::pen::{self, dim, put, strong};
use super::slice::{Slice, Times};
use super::view::View;
use crate::unit::Unit;
use crate::{figure, words};

/// Lines above the charts: title, progress, the present moment (two), and a gap.
const HEAD: u16 = 5;
/// Lines of the table of percentiles, its heading included; where there is room, and where there is less.
const TABLES: [u16; 2] = [10, 7];
/// Fewest lines of a chart, its heading included.
const CHART: u16 = 4;
/// Fewest lines of a chart that is two.
const LEAST_OF_TWO: u16 = 6;
/// Columns from which charts stand side by side.
const WIDE: u16 = 70;
/// Fewest lines of this screen.
pub(super) const LEAST: u16 = 8;
/// Most lines: a taller one only stretches bars.
pub(super) const MOST: u16 = 40;
/// Most columns.
pub(super) const WIDEST: u16 = 140;

/// Lines of the table: a name and a quantile; those that it has in any case first.
const QUANTILES: [(&str, f64); 7] =
    [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p75", 0.75), ("p95", 0.95), ("p99.99", 0.9999)];
/// Lines of the chart of percentiles.
const LINES: [(&str, f64, Color); 3] =
    [("p50", 0.5, Color::Green), ("p90", 0.9, Color::Yellow), ("p99", 0.99, Color::Red)];

/// Draws it over the whole frame, which has at least [`LEAST`] lines.
pub(super) fn draw(frame: &mut Frame<'_>, view: &View, load: &Load) {
    let area = frame.area();
    let tail = tail(load, usize::from(area.width), usize::from(area.height.saturating_sub(HEAD + CHART)).min(6));
    let under = tail.len() as u16 + 1;
    let fits = |table: &u16| area.height >= HEAD + CHART + table + under + if *table == TABLES[0] { CHART } else { 0 };
    let table = TABLES.into_iter().find(fits).unwrap_or(0);
    let heights = [HEAD, 0, table, under].map(Constraint::Length);
    let rows = Layout::vertical([heights[0], Constraint::Min(0), heights[2], heights[3]]).split(area);
    head(frame, rows[0], view, load);
    charts(frame, rows[1], load);
    tables(frame, rows[2], load);
    for (i, line) in (0..).zip(tail) {
        put(frame, row(rows[3], i), line);
    }
    let keys = if area.width >= 60 { "- + time scale   a follow the load   q stop" } else { "- + a scale   q stop" };
    put(frame, row(rows[3], under - 1), Line::styled(keys, dim()));
}

/// One line of an area; none below its end.
fn row(area: Rect, i: u16) -> Rect {
    Rect { y: area.y.saturating_add(i).min(area.bottom()), height: u16::from(i < area.height), ..area }
}

fn head(frame: &mut Frame<'_>, area: Rect, view: &View, load: &Load) {
    let at = load.whole.to_us;
    let clock = match load.stop.requests {
        Some(n) => {
            format!("{} of {} {}", figure::count(load.whole.ok + load.whole.failed), figure::count(n), load.unit.many())
        }
        None => format!("{} of {}", figure::clock(at), figure::clock(load.stop.after.0 / 1_000)),
    };
    let width = clock.chars().count() as u16;
    let [title, time] = Layout::horizontal([Constraint::Min(0), Constraint::Length(width)]).areas(row(area, 0));
    let name = crate::clean::cut(&format!("genkai  {}", view.title), usize::from(title.width).saturating_sub(3));
    put(frame, title, Line::styled(name, strong()));
    put(frame, time, Line::styled(clock, dim()));
    progress(frame, row(area, 1), load.done());
    let present = view.figures();
    let (first, second) = fill(&present, usize::from(area.width));
    put(frame, row(area, 2), present_line(first, view));
    put(frame, row(area, 3), present_line(second, view));
}

/// As many figures as fit on a line, then as many as fit on the next.
fn fill(all: &[String], width: usize) -> (&[String], &[String]) {
    let fit = |from: usize| {
        let mut used = 0;
        let over = all[from..].iter().position(|text| {
            used += text.chars().count() + if used == 0 { 0 } else { 3 };
            used > width
        });
        over.map_or(all.len(), |n| from + n)
    };
    let first = fit(0);
    let second = fit(first);
    (&all[..first], &all[first..second])
}

fn present_line(texts: &[String], view: &View) -> Line<'static> {
    let mut spans = Vec::new();
    for text in texts {
        if !spans.is_empty() {
            spans.push(Span::raw("   "));
        }
        let failing = (text.contains("failed") || text.ends_with(" lost")) && view.now().failed > 0;
        let style = if failing { Style::new().fg(Color::Red).add_modifier(Modifier::BOLD) } else { Style::new() };
        spans.push(Span::styled(text.clone(), style));
    }
    Line::from(spans)
}

fn progress(frame: &mut Frame<'_>, area: Rect, done: f64) {
    let percent = format!("{:>4} %", (done * 100.0).floor());
    let width = usize::from(area.width).saturating_sub(percent.len() + 1);
    let full = (done * width as f64).round() as usize;
    let line = vec![
        Span::styled("━".repeat(full), Style::new().fg(Color::Green)),
        Span::styled("─".repeat(width - full), dim()),
        Span::raw(percent),
    ];
    put(frame, area, Line::from(line));
}

fn charts(frame: &mut Frame<'_>, area: Rect, load: &Load) {
    if area.width >= WIDE {
        let [left, _, right] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(3), Constraint::Fill(1)]).areas(area);
        rates(frame, left, load);
        percentiles(frame, right, load);
    } else {
        rates(frame, area, load);
    }
}

/// Successes a second as bars, failures below them once there are some.
fn rates(frame: &mut Frame<'_>, area: Rect, load: &Load) {
    let slices = load.scales.shown().slices();
    let ok: Vec<f64> = slices.iter().map(|s| s.rate(s.ok)).collect();
    let failed: Vec<f64> = slices.iter().map(|s| s.rate(s.failed)).collect();
    let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let two = most(&failed) > 0.0 && area.height >= LEAST_OF_TWO;
    let below = if two { (area.height / 3).max(2) } else { 0 };
    let [above, below] = Layout::vertical([Constraint::Min(0), Constraint::Length(below)]).areas(area);
    let up_to = |all: &[f64]| figure::number(most(all).round());
    let name = format!("{}/s, {}, up to {}", load.unit.many(), load.scales.shown().name(), up_to(&ok));
    bars(frame, above, name, &ok, Color::Green);
    if two {
        bars(frame, below, format!("failed/s, up to {}", up_to(&failed)), &failed, Color::Red);
    }
}

/// Values from left to right over the whole width, under a heading.
fn bars(frame: &mut Frame<'_>, area: Rect, name: String, values: &[f64], colour: Color) {
    put(frame, row(area, 0), Line::styled(name, dim()));
    let area = Rect { y: area.y + u16::from(area.height > 0), height: area.height.saturating_sub(1), ..area };
    let values: Vec<f64> = stretched(values, usize::from(area.width)).collect();
    pen::bars(frame, area, &values, colour);
}

/// The slices of a scale over `width` columns; what has not happened yet is empty.
fn stretched(values: &[f64], width: usize) -> impl Iterator<Item = f64> + '_ {
    (0..width).map(move |x| values.get(x * super::scale::SLICES / width.max(1)).copied().unwrap_or(0.0))
}

/// Percentiles over time.
fn percentiles(frame: &mut Frame<'_>, area: Rect, load: &Load) {
    let slices = load.scales.shown().slices();
    let lines: Vec<Vec<(f64, f64)>> = LINES.map(|(_, q, _)| points(&slices, q)).into();
    let top = lines.iter().flatten().map(|p| p.1).fold(0.0, f64::max);
    let mut name = vec![Span::styled(format!("{} over time ", load.unit.latency().0), dim())];
    name.extend(LINES.iter().map(|(name, _, colour)| Span::styled(format!(" {name}"), Style::new().fg(*colour))));
    put(frame, row(area, 0), Line::from(name));
    let area = Rect { y: area.y + u16::from(area.height > 0), height: area.height.saturating_sub(1), ..area };
    if top <= 0.0 || area.height < 2 {
        return;
    }
    // The highest is drawn first, so that the median is never hidden.
    let sets = LINES.iter().zip(&lines).rev().map(|((_, _, colour), points)| {
        let style = Style::new().fg(*colour);
        Dataset::default().marker(Marker::Braille).graph_type(GraphType::Line).style(style).data(points)
    });
    let labels = [0.0, top / 2.0, top].map(figure::seconds);
    let chart = Chart::new(sets.collect())
        .x_axis(Axis::default().bounds([0.0, (super::scale::SLICES - 1) as f64]))
        .y_axis(Axis::default().bounds([0.0, top * 1.02]).labels(labels).style(dim()));
    frame.render_widget(chart, area);
}

fn points(slices: &[&Slice], q: f64) -> Vec<(f64, f64)> {
    (0..).zip(slices).filter_map(|(x, s)| s.times.quantile(q).map(|y| (f64::from(x), y))).collect()
}

fn tables(frame: &mut Frame<'_>, area: Rect, load: &Load) {
    if area.height == 0 {
        return;
    }
    let recent = load.scales.shown().sum();
    let width = if area.width >= WIDE { area.width / 2 - 1 } else { area.width };
    let [left, _, right] =
        Layout::horizontal([Constraint::Length(width), Constraint::Length(3), Constraint::Min(0)]).areas(area);
    figures(frame, left, load, &recent);
    if right.width > 20 {
        spread(frame, right, load, &recent.times);
    }
}

/// Rates and percentiles: over the chosen time, and over all of it.
fn figures(frame: &mut Frame<'_>, area: Rect, load: &Load, recent: &Slice) {
    let line = |name: &str, cells: [String; 2]| format!("{name:<12}{:>12}{:>12}", cells[0], cells[1]);
    let both = |show: &dyn Fn(&Slice) -> String| [show(recent), show(&load.whole)];
    let head = line("", [load.scales.shown().name(), "whole load".to_owned()]);
    put(frame, row(area, 0), Line::styled(head, dim()));
    let rate = line(&format!("{}/s", load.unit.many()), both(&|s| figure::number(s.rate(s.ok).round())));
    let time = |t: Option<f64>| t.map_or_else(|| "-".to_owned(), figure::seconds);
    let mut lines = vec![rate];
    let mut quantiles: Vec<_> = QUANTILES.iter().take(usize::from(area.height).saturating_sub(3)).collect();
    quantiles.sort_by(|a, b| a.1.total_cmp(&b.1));
    for (name, q) in quantiles {
        lines.push(line(name, both(&|s| time(s.times.quantile(*q)))));
    }
    lines.push(line("max", both(&|s| time(s.times.largest()))));
    for (i, text) in (1..).zip(lines) {
        put(frame, row(area, i), text);
    }
}

/// How the times of the chosen time are spread.
fn spread(frame: &mut Frame<'_>, area: Rect, load: &Load, times: &Times) {
    put(frame, row(area, 0), Line::styled(format!("{}, {}", load.unit.latency().1, load.scales.shown().name()), dim()));
    let ranges = times.ranges(usize::from(area.height.saturating_sub(1)));
    let most = ranges.iter().map(|r| r.1).max().unwrap_or(0).max(1);
    let room = usize::from(area.width).saturating_sub(24);
    for (i, (end, n)) in (1..).zip(ranges) {
        let length = (n as f64 / most as f64 * room as f64).round() as usize;
        let bar = "■".repeat(if n > 0 { length.max(1) } else { 0 });
        let line = vec![
            Span::raw(format!("to {:>8} ", figure::seconds(end))),
            Span::styled(bar, Style::new().fg(Color::Green)),
            Span::styled(format!(" {}", figure::count(n)), dim()),
        ];
        put(frame, row(area, i), Line::from(line));
    }
}

/// What was answered, what became of messages, what failed: at most `most` lines, the most frequent failures first.
fn tail(load: &Load, width: usize, most: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if !load.statuses.is_empty() {
        let all: Vec<String> = load.statuses.iter().map(|(s, n)| format!("{s}: {}", figure::count(*n))).collect();
        lines.push(named("statuses", all.join("   "), Style::new(), width));
    }
    if matches!(load.unit, Unit::Messages | Unit::Deliveries) {
        let m = &load.messages;
        let all = [("lost", m.lost), ("duplicated", m.duplicated), ("reordered", m.reordered), ("late", m.late)];
        let bad = all.iter().any(|(_, n)| *n > 0);
        let text = all.map(|(what, n)| format!("{} {what}", figure::count(n))).join("   ");
        lines.push(named("messages", text, if bad { Style::new().fg(Color::Red) } else { Style::new() }, width));
    }
    for (kind, n) in load.errors() {
        let text = format!("{} x {}", figure::count(n), words::error(kind));
        lines.push(named("failed", text, Style::new().fg(Color::Red), width));
    }
    // What is only good to know comes last: it goes first where there is no room.
    lines.truncate(most.max(1));
    if lines.len() < most {
        lines.push(opened(load, width));
    }
    lines
}

/// Connections and how they were secured.
fn opened(load: &Load, width: usize) -> Line<'static> {
    let opened = figure::count(load.opened);
    let tls = match load.tls {
        (0, 0) => String::new(),
        (full, resumed) => format!("   TLS: {} full, {} resumed", figure::count(full), figure::count(resumed)),
    };
    named("opened", format!("{opened} connections{tls}"), Style::new(), width)
}

fn named(name: &str, text: String, style: Style, width: usize) -> Line<'static> {
    let text = crate::clean::cut(&text, width.saturating_sub(11));
    Line::from(vec![Span::styled(format!("{name:<10}"), dim()), Span::styled(text, style)])
}
