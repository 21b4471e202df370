//! The drawings of a document as standalone SVG files for a paper, in black and colours that survive print.
//!
//! What a drawing shows, and every word in it, is the document's; here it is laid out. Gauges over time, rooms and the way of messages are
//! drawings of the page alone.

mod axis;
mod canvas;
mod intervals;
mod legend;
mod steps;
mod time;
mod tracks;
mod trend;

use genkai_model::event::RunStarted;

use self::canvas::{Anchor, Canvas, colour};
use crate::clean;
use crate::csv::plot;
use crate::document::{Block, Chart, Document, Drawing, Medium, Plot};

const WIDTH: f64 = 760.0;
/// Edges of the plotting area.
const LEFT: f64 = 66.0;
const RIGHT: f64 = 694.0;
/// Where what follows the title begins.
const UNDER_TITLE: f64 = 64.0;
/// A line of doubt above the title.
const DOUBT: f64 = 18.0;

/// A drawing as files.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The drawing.
    pub svg: String,
    /// The numbers of a chart (RFC 4180), as they are drawn.
    pub csv: Option<String>,
}

/// Every chart of `document`, its limits and its intervals, in the order of its page. `head` has the title of the run.
pub fn figures(head: Option<&RunStarted>, document: &Document) -> Vec<Figure> {
    let title = head.map_or_else(|| "genkai".to_owned(), |head| clean::line(&head.plan.title));
    let run = Run { title, doubts: &document.doubts };
    let mut all = Vec::new();
    walk(&document.answer, &run, "Answer", &mut all);
    for section in document.on(Medium::Page) {
        walk(&section.blocks, &run, &section.title, &mut all);
    }
    all
}

/// What stands above every drawing of a run.
struct Run<'a> {
    title: String,
    /// Why the record may not be the whole of what was seen.
    doubts: &'a [String],
}

/// `under`: the title of what holds `blocks`.
fn walk(blocks: &[Block], run: &Run<'_>, under: &str, all: &mut Vec<Figure>) {
    for block in blocks {
        match block {
            Block::Chart(chart) => all.push(charted(run, under, chart)),
            Block::Drawing(drawing) => all.extend(drawn(run, under, drawing).map(|svg| Figure { svg, csv: None })),
            Block::Cards { cards, .. } => cards.iter().for_each(|card| walk(&card.blocks, run, &card.title, all)),
            Block::Details { blocks, .. } | Block::Multiples { blocks } | Block::Article { blocks } => {
                walk(blocks, run, under, all);
            }
            Block::Tabs { tabs, .. } => {
                tabs.iter().for_each(|tab| walk(&tab.blocks, run, &format!("{under}{IN}{}", tab.label), all));
            }
            _ => {}
        }
    }
}

/// Stands before the name of a view.
const IN: &str = ", in: ";

/// A chart; of one of several views with the name of that.
fn charted(run: &Run<'_>, under: &str, chart: &Chart) -> Figure {
    let view = under.split_once(IN).map_or_else(String::new, |(_, view)| format!(" ({view})"));
    let title = format!("{}{view}", chart.title);
    let sheet = Sheet { run, title: &title, description: &chart.description };
    let svg = match &chart.plot {
        Plot::Time(one) => time::draw(&sheet, one),
        Plot::Trend(one) => trend::draw(&sheet, one),
        Plot::Steps(one) => steps::draw(&sheet, one),
    };
    Figure { svg, csv: Some(plot(&chart.plot)) }
}

fn drawn(run: &Run<'_>, title: &str, drawing: &Drawing) -> Option<String> {
    let sheet = |description| Sheet { run, title, description };
    match drawing {
        Drawing::Intervals { entries } => Some(intervals::draw(&sheet(title), entries)),
        Drawing::Effects { margin, label, rows } => Some(intervals::effects(&sheet(label), *margin, rows)),
        Drawing::Tracks(one) => Some(tracks::draw(&sheet(title), one)),
        Drawing::Sparks { .. } | Drawing::Rooms { .. } | Drawing::Way { .. } => None,
    }
}

/// A drawing with the words above it.
struct Sheet<'a> {
    run: &'a Run<'a>,
    title: &'a str,
    description: &'a str,
}

impl Sheet<'_> {
    /// An empty drawing of this height, with its title.
    fn canvas(&self, height: f64) -> Canvas {
        let above = DOUBT * self.run.doubts.len() as f64;
        let name = format!("{}: {}", self.run.title, self.title);
        let mut canvas = Canvas::new((WIDTH, height, above), &name, self.description);
        for (i, doubt) in self.run.doubts.iter().enumerate() {
            let bold = format!(" font-weight=\"bold\" fill=\"{}\"", colour("fail"));
            canvas.text((18.0, 18.0 - above + DOUBT * i as f64), Anchor::Start, &bold, doubt);
        }
        canvas.text((18.0, 26.0), Anchor::Start, " font-size=\"15\" font-weight=\"bold\"", &self.run.title);
        canvas.text((18.0, 46.0), Anchor::Start, " font-size=\"13\"", self.title);
        canvas
    }
}

/// Text that ends with `…` where it is longer than `most` characters.
fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}
