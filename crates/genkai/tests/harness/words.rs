//! Numbers in words, and what they show.

/// A number in a text, with the words around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// The number.
    pub value: f64,
    /// Digits after the point.
    decimals: i32,
    /// Whether it has a sign: a difference.
    signed: bool,
    /// The word after it; of a number without a unit, that of the number before it.
    unit: String,
    /// The word after it.
    next: String,
    /// The word before it.
    before: String,
    /// Where it stands.
    pub text: String,
}

/// Every number of a text that stands by itself: no part of a name, a version or an address.
pub fn numbers(text: &str) -> Vec<Spoken> {
    let words: Vec<&str> =
        text.split([' ', '\n', '\t', '(', ')', '|', '=', '"', '`']).filter(|w| !w.is_empty()).collect();
    let mut all: Vec<Spoken> = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let signed = word.starts_with(['+', '-']);
        let word =
            word.trim_end_matches([',', ';', ':', '.', '!', '?', '*']).trim_start_matches(['+', '<', '>', '~', '×']);
        // A factor: `x1.04`, `1.04×`.
        let word = word.strip_prefix('x').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(word);
        let (body, tail) = match word.find(|c: char| !(c.is_ascii_digit() || ",.-".contains(c))) {
            Some(at) if at > 0 && ["/s", "%", "x", "×", "/s,"].contains(&&word[at..]) => word.split_at(at),
            Some(_) => continue,
            None => (word, ""),
        };
        let unit = if tail.is_empty() { words.get(i + 1).copied().unwrap_or_default() } else { tail };
        let unit = if unit.starts_with(|c: char| c.is_ascii_digit()) { "" } else { unit };
        let unit = unit.split('-').next().unwrap_or_default().trim_end_matches([',', ';', ':', '.']);
        // `0 points (-2.16 to +2.16)`: an interval has the unit of what it is of.
        let before = all.last().map(|one| one.unit.clone()).filter(|_| scales(unit) == [1.0]);
        let (sign, body) = body.strip_prefix('-').map_or((1.0, body), |rest| (-1.0, rest));
        for part in body.split('-') {
            let digits = part.replace(',', "");
            let Ok(value) = digits.parse::<f64>() else { continue };
            let decimals = digits.split_once('.').map_or(0, |(_, rest)| rest.len() as i32);
            let around = words[i.saturating_sub(6)..(i + 4).min(words.len())].join(" ");
            all.push(Spoken {
                value: sign * value,
                decimals,
                signed,
                unit: before.clone().unwrap_or_else(|| unit.to_owned()),
                next: unit.to_owned(),
                before: i.checked_sub(1).map_or("", |i| words[i]).to_owned(),
                text: around,
            });
        }
    }
    all
}

impl Spoken {
    /// Whether it is this, as it is rounded, in a unit of which so many make one.
    fn is(&self, x: f64, scale: f64) -> bool {
        // Three significant digits, or as many as are said.
        let magnitude = self.value.abs().max(1e-12).log10().floor() as i32;
        let slack = 0.5001 * 10f64.powi((-self.decimals).max(magnitude - 2));
        (x * scale - self.value).abs() <= slack || (-x * scale - self.value).abs() <= slack
    }

    /// Whether it reads as the other does.
    pub fn is_same(&self, other: &Spoken) -> bool {
        (self.value, self.decimals, self.signed, &self.unit) == (other.value, other.decimals, other.signed, &other.unit)
    }

    /// How much what stands around it is what stands around the other: the word after it, and those before.
    pub fn alike(&self, other: &Spoken) -> usize {
        let word = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        usize::from(self.next == other.next) + usize::from(word(&self.before) == word(&other.before)) * 2
    }

    /// Whether it shows this, rounded and in its unit.
    pub fn shows(&self, x: f64) -> bool {
        let more: &[f64] = if self.signed { &[100.0] } else { &[] };
        scales(&self.unit).iter().chain(scales(&self.next)).chain(more).any(|scale| self.is(x, *scale))
    }
}

/// How many of a unit make one of the unit that statements have.
fn scales(unit: &str) -> &'static [f64] {
    match unit {
        "%" | "points" => &[100.0],
        "ms" => &[1e3],
        "µs" => &[1e6],
        "min" => &[1.0 / 60.0],
        "KiB" | "KiB/s" => &[1.0 / 1024.0],
        "MiB" | "MiB/s" => &[1.0 / 1_048_576.0],
        "GiB" => &[1.0 / 1_073_741_824.0],
        "s" => &[1.0, 1e-6],
        _ => &[1.0],
    }
}
