//! Numbers in words: each must be that of a statement, or quoted from what was decided before the load.

use genkai_model::statement::Statement;
use serde_json::Value as Json;

/// A number in a text, with the words around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Spoken {
    /// The number.
    pub value: f64,
    /// Digits after the point.
    decimals: i32,
    /// Whether it has a sign: a difference.
    signed: bool,
    /// The word after it.
    unit: String,
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
        let (body, tail) = match word.find(|c: char| !(c.is_ascii_digit() || ",.-".contains(c))) {
            Some(at) if at > 0 && ["/s", "%", "x", "/s,"].contains(&&word[at..]) => word.split_at(at),
            Some(_) => continue,
            None => (word, ""),
        };
        let unit = if tail.is_empty() { words.get(i + 1).copied().unwrap_or_default() } else { tail };
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
                text: around,
            });
        }
    }
    all
}

/// What numbers may come from.
pub struct Known {
    stated: Vec<f64>,
    given: Vec<f64>,
}

impl Known {
    /// The statements of a verdict, and what stands in the events of its record that say what was decided, configured or written by servers.
    pub fn of(statements: &[Statement], lines: &str) -> Known {
        let stated = statements.iter().flat_map(|one| one.value.numbers()).chain(derived(statements)).collect();
        let (mut given, mut begin) = (Vec::new(), 0.0);
        for line in lines.lines() {
            let event: Json = serde_json::from_str(line).unwrap();
            let at = event["at_us"].as_f64().unwrap_or_default();
            if event["event"] == "trial_started" {
                begin = at;
            }
            // When it happened, since the load began.
            given.push((at - begin) / 1e6);
            if !["tick", "sample"].contains(&event["event"].as_str().unwrap_or_default()) {
                quoted(&event, &mut given);
            }
        }
        Known { stated, given }
    }

    /// Whether a number is one of these, as it is rounded and in its unit.
    pub fn has(&self, spoken: &Spoken) -> bool {
        // Three significant digits, or as many as are said.
        let magnitude = spoken.value.abs().max(1e-12).log10().floor() as i32;
        let slack = 0.5001 * 10f64.powi((-spoken.decimals).max(magnitude - 2));
        let near = |x: f64| (x - spoken.value).abs() <= slack;
        let quantile = spoken.unit == "%" && QUANTILES.contains(&spoken.value);
        let scaled = |x: f64| {
            quantile
                || near(x)
                || (spoken.signed && near(x * 100.0))
                || scales(&spoken.unit).iter().any(|scale| near(x * scale) || near(-x * scale))
        };
        self.stated.iter().chain(&self.given).any(|x| scaled(*x))
    }
}

/// Names of quantiles that stand by themselves.
const QUANTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];
/// The most further observations that are told: above it they are called more than that.
const MOST_MORE: f64 = 1_000.0;

/// Figures that the words of a load make of two others: bytes a second and each, processor time in all, parts of checks; and the
/// confidence of every interval.
fn derived(statements: &[Statement]) -> Vec<f64> {
    let at = |address: &str| {
        let found = statements.iter().find(|one| one.address == address);
        found.and_then(|one| one.value.numbers().first().copied()).unwrap_or(f64::NAN)
    };
    let (lasted, planned) = (at("/load/lasted"), at("/load/planned"));
    let ended = at("/load/ok") + at("/load/failed");
    let mut all = vec![0.95, MOST_MORE, at("/load/cpu") * lasted, at("/load/cpu_busiest") * lasted];
    for bytes in [at("/load/bytes_in"), at("/load/bytes_out")] {
        all.extend([bytes / lasted, bytes / planned, bytes / ended, bytes / at("/load/ok"), bytes / at("/load/sent")]);
    }
    // What failed of what finished, of each trial; and the processor time that the generator took.
    let of = |name: &'static str| {
        statements.iter().filter(move |one| one.predicate == name).flat_map(|one| one.value.numbers())
    };
    all.extend(of("trials.failed").zip(of("trials.finished")).map(|(failed, finished)| failed / finished));
    all.extend(of("trials.used.cpu_us").map(|us| us / 1e6));
    let more = statements.iter().filter(|one| one.predicate.ends_with(".more"));
    all.extend(more.flat_map(|one| one.value.numbers()).map(|more| more + at("/blocks")));
    let sum = |name: &str| {
        let of = statements.iter().filter(|one| one.predicate == format!("trials.flows.counts.checks.{name}"));
        of.flat_map(|one| one.value.numbers()).sum::<f64>()
    };
    let (passed, failed) = (sum("passed"), sum("failed"));
    all.extend([passed, failed, failed / (passed + failed)]);
    all
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

/// Every number in an event, and in the texts of it.
fn quoted(value: &Json, all: &mut Vec<f64>) {
    match value {
        Json::Object(fields) => fields.values().for_each(|value| quoted(value, all)),
        Json::Array(items) => items.iter().for_each(|value| quoted(value, all)),
        Json::Number(number) => all.extend(number.as_f64()),
        Json::String(text) => {
            let number = |part: &str| part.parse::<f64>().ok();
            let parts = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
            all.extend(parts.filter_map(|part| number(part.trim_matches('.'))));
            all.extend(
                text.split(|c: char| c.is_whitespace() || c == ',')
                    .filter_map(|word| Some(word.parse::<genkai_model::units::Span>().ok()?.0 as f64 / 1e9)),
            );
        }
        _ => {}
    }
}
