//! What the lines of a drawing stand for.

use super::canvas::{Anchor, Canvas, PAPER, Sign, Stroke, colour};
use super::{UNDER_TITLE, WIDTH};

const ROW: f64 = 20.0;
/// Of a letter, about.
const LETTER: f64 = 6.6;

/// A line with its name.
pub(super) struct Key {
    pub(super) stroke: Stroke,
    pub(super) sign: Option<Sign>,
    pub(super) name: String,
}

/// Where each stands: as many beside each other as there is room for. Beneath them the drawing begins.
pub(super) fn places(keys: &[Key]) -> (Vec<(f64, f64)>, f64) {
    let (mut x, mut y) = (18.0, UNDER_TITLE + 4.0);
    let mut all = Vec::new();
    for key in keys {
        let width = 37.0 + LETTER * key.name.chars().count() as f64 + 24.0;
        if x > 18.0 && x + width > WIDTH {
            (x, y) = (18.0, y + ROW);
        }
        all.push((x, y));
        x += width;
    }
    (all, if keys.is_empty() { UNDER_TITLE } else { y + ROW })
}

/// Draws them.
pub(super) fn draw(canvas: &mut Canvas, keys: &[Key]) {
    for (key, (x, y)) in keys.iter().zip(places(keys).0) {
        canvas.line((x, y), (x + 30.0, y), key.stroke);
        if let Some(sign) = key.sign {
            canvas.sign(sign, (x + 15.0, y), 4.0, key.stroke.colour, key.stroke.colour);
        }
        canvas.text((x + 37.0, y + 4.0), Anchor::Start, "", &key.name);
    }
}

/// Colour, dash and sign of the contender at this place of the legend, as on the page: none depends on colour alone.
pub(super) fn of(place: usize) -> (Stroke, Sign) {
    let colours = ["server-1", "server-2", "server-3", "server-4", "server-5", "server-6"];
    let dashes = ["", "7 4", "2 3", "9 3 2 3"];
    let signs = [Sign::Circle, Sign::Square, Sign::Triangle, Sign::Diamond];
    let dash = dashes[(place + place / colours.len()) % dashes.len()];
    (Stroke { colour: colour(colours[place % colours.len()]), width: 2.0, dash }, signs[place % signs.len()])
}

/// Text on white, so that it stays readable where a line passes.
pub(super) fn halo() -> String {
    format!(" font-weight=\"bold\" stroke=\"{PAPER}\" stroke-width=\"3\" paint-order=\"stroke\"")
}
