//! Writes SVG elements; everything that could break the document is escaped here.

use std::fmt::Write as _;

/// How a line looks; told apart by dash as well as by colour, so that it survives black-and-white print.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub(super) colour: &'static str,
    pub(super) width: f64,
    pub(super) dash: &'static str,
}

impl Stroke {
    /// An unbroken line.
    pub(super) const fn solid(colour: &'static str, width: f64) -> Stroke {
        Stroke { colour, width, dash: "" }
    }
}

pub(super) const GRID: Stroke = Stroke::solid("#e3e3e3", 1.0);
pub(super) const AXIS: Stroke = Stroke::solid("#1a1a1a", 1.0);
pub(super) const INK: &str = "#1a1a1a";
pub(super) const PAPER: &str = "#ffffff";

/// The colour of a tone of the document, as on a light page.
pub(super) fn colour(tone: &str) -> &'static str {
    match tone {
        "ok" | "server-1" => "#1f5fa8",
        "fail" | "server-2" => "#b8371f",
        "good" | "server-3" => "#1f6b45",
        "p99" | "server-4" => "#6a3d8f",
        "doubt" | "server-5" => "#8a5f00",
        "server-6" => "#0f7284",
        "p50" => "#4c8a6d",
        "p90" => "#2d6f9e",
        "level" | "muted" => "#6b6b6b",
        "bar" => "#c9d7e8",
        "near" => "#7fa6d1",
        _ => INK,
    }
}

/// Where text hangs on its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The sign of a point.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    Circle,
    Square,
    Triangle,
    Diamond,
}

/// An SVG document that grows.
pub(super) struct Canvas {
    out: String,
}

impl Canvas {
    /// A document of this width, height and room above it, with a title and a description for those who cannot see it.
    pub(super) fn new((width, beneath, above): (f64, f64, f64), title: &str, description: &str) -> Canvas {
        let (height, top) = (beneath + above, -above);
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {top} {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"12\" fill=\"{INK}\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <rect y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{PAPER}\"/>\n",
            escaped(title),
            escaped(description)
        );
        Canvas { out }
    }

    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.path(&[from, to], stroke);
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[(f64, f64)], stroke: Stroke) {
        let dash =
            if stroke.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", stroke.dash) };
        let _ = writeln!(
            self.out,
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
            through(points),
            stroke.colour,
            stroke.width
        );
    }

    /// An area with these corners, `opacity` of 1 dark.
    pub(super) fn area(&mut self, corners: &[(f64, f64)], fill: &str, opacity: f64) {
        let _ = writeln!(self.out, "<path d=\"{}Z\" fill=\"{fill}\" fill-opacity=\"{opacity}\"/>", through(corners));
    }

    /// A point of about this radius, hollow where `fill` is that of the paper.
    pub(super) fn sign(&mut self, sign: Sign, (x, y): (f64, f64), r: f64, fill: &str, edge: &str) {
        let corners = match sign {
            Sign::Circle => {
                let _ = writeln!(
                    self.out,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"1.75\"/>"
                );
                return;
            }
            Sign::Square => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            Sign::Triangle => vec![(x, y - r), (x + r, y + r), (x - r, y + r)],
            Sign::Diamond => vec![(x, y - r), (x + r, y), (x, y + r), (x - r, y)],
        };
        let _ = writeln!(self.out, "<path d=\"{}Z\" fill=\"{fill}\" stroke=\"{edge}\"/>", through(&corners));
    }

    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, attributes: &str, text: &str) {
        let _ = writeln!(
            self.out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\"{attributes}>{}</text>",
            at.0,
            at.1,
            name(anchor),
            escaped(text)
        );
    }
}

fn through(points: &[(f64, f64)]) -> String {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        let _ = write!(d, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
    }
    d
}

fn name(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    }
}

/// Text as XML character data; what XML 1.0 forbids is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in crate::clean::line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
