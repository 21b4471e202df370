//! The main figure as a standalone SVG for a paper: requests and failures a second over time, the load beside them.

mod axis;
mod canvas;

use genkai_model::finding::{Break, Findings, Series};
use genkai_model::record::Record;

use self::axis::{Scale, marks};
use self::canvas::{Anchor, Canvas, Stroke};
use crate::context::Context;
use crate::{clean, figure, words};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 430.0;
/// Edges of the plotting area.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 694.0;
const TOP: f64 = 86.0;
const BOTTOM: f64 = 376.0;

const GRID: Stroke = Stroke { colour: "#e3e3e3", width: 1.0, dash: "" };
const AXIS: Stroke = Stroke { colour: "#1a1a1a", width: 1.0, dash: "" };
const OK: Stroke = Stroke { colour: "#1f5fa8", width: 2.0, dash: "" };
const FAILED: Stroke = Stroke { colour: "#c0392b", width: 2.0, dash: "7 4" };
const LEVEL: Stroke = Stroke { colour: "#6b6b6b", width: 1.5, dash: "1.5 3.5" };
const BREAK: Stroke = Stroke { colour: "#1a1a1a", width: 1.2, dash: "10 3 2 3" };

/// The trial in which the break was found (else the first trial) as a figure. A record without a point gives a figure
/// that says so.
pub fn figure(record: &Record, findings: &Findings) -> String {
    let context = Context::of(record);
    let broken = findings.verdict.trials.iter().find(|t| t.broke.is_some());
    let number = broken.map(|t| t.trial).or_else(|| findings.series.first().map(|s| s.trial));
    let broke = broken.and_then(|t| t.broke.as_ref());
    let title = context.head.map_or_else(|| "genkai".to_owned(), |h| clean::line(&h.plan.title));
    match findings.series.iter().find(|s| Some(s.trial) == number).filter(|s| !s.points.is_empty()) {
        Some(series) => Figure::new(context, series, broke).draw(&title),
        None => empty(&title),
    }
}

fn empty(title: &str) -> String {
    let mut canvas = Canvas::new(WIDTH, HEIGHT, title, "The record holds no load.");
    canvas.text((WIDTH / 2.0, HEIGHT / 2.0), Anchor::Middle, "", "The record holds no load.");
    canvas.finish()
}

struct Figure<'a> {
    context: Context<'a>,
    series: &'a Series,
    broke: Option<&'a Break>,
    time: Vec<f64>,
    rate: Vec<f64>,
    level: Vec<f64>,
    x: Scale,
    y: Scale,
    z: Scale,
}

fn largest(marks: &[f64]) -> f64 {
    marks.last().copied().unwrap_or(1.0)
}

impl<'a> Figure<'a> {
    fn new(context: Context<'a>, series: &'a Series, broke: Option<&'a Break>) -> Figure<'a> {
        let points = &series.points;
        let time = marks(points.iter().map(|p| p.at).fold(0.0, f64::max), 8);
        let rate = marks(points.iter().map(|p| p.ok.max(p.failed)).fold(0.0, f64::max), 5);
        let level = marks(points.iter().map(|p| p.level).fold(0.0, f64::max), 5);
        let end = points.last().map_or(1.0, |p| p.at).max(1e-9);
        Figure {
            x: Scale { from: 0.0, to: end, start: LEFT, end: RIGHT },
            y: Scale { from: 0.0, to: largest(&rate), start: BOTTOM, end: TOP },
            z: Scale { from: 0.0, to: largest(&level), start: BOTTOM, end: TOP },
            context,
            series,
            broke,
            time,
            rate,
            level,
        }
    }

    fn draw(&self, title: &str) -> String {
        let mut canvas = Canvas::new(WIDTH, HEIGHT, title, &self.description());
        canvas.text((LEFT, 26.0), Anchor::Start, " font-size=\"15\" font-weight=\"bold\"", title);
        self.axes(&mut canvas);
        self.lines(&mut canvas);
        self.mark(&mut canvas);
        self.legend(&mut canvas);
        canvas.finish()
    }

    fn description(&self) -> String {
        let base = format!(
            "Successful requests a second, failures a second and {} over {} of trial {}.",
            self.context.unit(),
            figure::seconds(self.x.to),
            self.series.trial
        );
        self.broke.map_or(base.clone(), |b| format!("{base} {}.", self.words(b)))
    }

    fn words(&self, b: &Break) -> String {
        format!(
            "Break at {}, {} into the load: {}",
            self.context.place(b),
            figure::seconds(b.at),
            clean::line(&b.condition)
        )
    }

    fn axes(&self, canvas: &mut Canvas) {
        for m in &self.rate {
            let y = self.y.at(*m);
            canvas.line((LEFT, y), (RIGHT, y), GRID);
            canvas.text((LEFT - 8.0, y + 4.0), Anchor::End, "", &figure::number(*m));
        }
        for m in &self.level {
            let y = self.z.at(*m);
            canvas.line((RIGHT, y), (RIGHT + 4.0, y), AXIS);
            canvas.text((RIGHT + 8.0, y + 4.0), Anchor::Start, "", &figure::number(*m));
        }
        for m in self.time.iter().filter(|m| **m <= self.x.to * 1.000_001) {
            let x = self.x.at(*m);
            canvas.line((x, BOTTOM), (x, BOTTOM + 4.0), AXIS);
            canvas.text((x, BOTTOM + 18.0), Anchor::Middle, "", &figure::number(*m));
        }
        canvas.path(&[(LEFT, TOP), (LEFT, BOTTOM), (RIGHT, BOTTOM), (RIGHT, TOP)], AXIS);
        canvas.text(((LEFT + RIGHT) / 2.0, BOTTOM + 40.0), Anchor::Middle, "", "time since the load began (s)");
        let middle = f64::midpoint(TOP, BOTTOM);
        canvas.sideways((18.0, middle), -90, "requests and failures (1/s)");
        canvas.sideways((WIDTH - 14.0, middle), -90, self.context.unit());
    }

    fn lines(&self, canvas: &mut Canvas) {
        let points = &self.series.points;
        let through = |scale: &Scale, value: fn(&genkai_model::finding::Point) -> f64| -> Vec<(f64, f64)> {
            points.iter().map(|p| (self.x.at(p.at), scale.at(value(p)))).collect()
        };
        canvas.path(&through(&self.z, |p| p.level), LEVEL);
        canvas.path(&through(&self.y, |p| p.failed), FAILED);
        canvas.path(&through(&self.y, |p| p.ok), OK);
    }

    fn mark(&self, canvas: &mut Canvas) {
        let Some(b) = self.broke else { return };
        let x = self.x.at(b.at);
        canvas.line((x, TOP - 8.0), (x, BOTTOM), BREAK);
        let (anchor, at) =
            if x > f64::midpoint(LEFT, RIGHT) { (Anchor::End, x - 5.0) } else { (Anchor::Start, x + 5.0) };
        let text = format!("break at {}", self.context.place(b));
        // White behind the letters keeps them readable where a line passes.
        let halo = " font-weight=\"bold\" stroke=\"#ffffff\" stroke-width=\"3\" paint-order=\"stroke\"";
        canvas.text((at, TOP + 6.0), anchor, halo, &text);
        let most = b.errors.iter().max_by_key(|e| e.count);
        if let Some(e) = most {
            canvas.text((at, TOP + 22.0), anchor, &halo.replace(" font-weight=\"bold\"", ""), words::error(e.kind));
        }
    }

    fn legend(&self, canvas: &mut Canvas) {
        let mut x = LEFT;
        let y = 52.0;
        for (stroke, text) in [
            (OK, "successful requests/s".to_owned()),
            (FAILED, "failures/s".to_owned()),
            (LEVEL, format!("{} (right axis)", self.context.unit())),
        ] {
            canvas.line((x, y), (x + 30.0, y), stroke);
            canvas.text((x + 37.0, y + 4.0), Anchor::Start, "", &text);
            x += 37.0 + 6.6 * text.chars().count() as f64 + 24.0;
        }
    }
}
