//! Writes SVG elements; everything that could break the document is escaped here.

use std::fmt::Write as _;

/// How a line looks; told apart by dash as well as by colour, so that it survives black-and-white print.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub(super) colour: &'static str,
    pub(super) width: f64,
    pub(super) dash: &'static str,
}

/// Where text hangs on its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// An SVG document that grows.
pub(super) struct Canvas {
    out: String,
}

impl Canvas {
    /// A document of this size with a title and a description for those who cannot see it.
    pub(super) fn new(width: f64, height: f64, title: &str, description: &str) -> Canvas {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" role=\"img\" aria-labelledby=\"title description\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"12\" fill=\"#1a1a1a\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
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
        let mut d = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(d, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { "L" });
        }
        let dash =
            if stroke.dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", stroke.dash) };
        let _ = writeln!(
            self.out,
            "<path d=\"{d}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}/>",
            stroke.colour, stroke.width
        );
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

    /// Text that reads upwards (or downwards), around its point.
    pub(super) fn sideways(&mut self, at: (f64, f64), angle: i32, text: &str) {
        let (x, y) = at;
        let turn = format!(" transform=\"rotate({angle} {x:.1} {y:.1})\"");
        self.text(at, Anchor::Middle, &turn, text);
    }
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
