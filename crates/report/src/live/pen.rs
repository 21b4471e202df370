//! What both screens are drawn with.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Sparkline;

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(super) fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A line at the top of an area; none where that has no height.
pub(super) fn put<'l>(frame: &mut Frame<'_>, area: Rect, line: impl Into<Line<'l>>) {
    frame.render_widget(line.into(), Rect { height: area.height.min(1), ..area });
}

/// Values as bars. One above nothing shows at least the smallest bar, so that a few failures among many are not lost.
pub(super) fn bars(frame: &mut Frame<'_>, area: Rect, values: &[f64], colour: Color) {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let height = u64::from(area.height) * 8;
    let bar = |v: &f64| if *v > 0.0 { ((v / largest * height as f64).round() as u64).max(1) } else { 0 };
    let data: Vec<u64> = values.iter().map(bar).collect();
    frame.render_widget(Sparkline::default().data(&data).max(height.max(1)).style(Style::new().fg(colour)), area);
}
