//! What must hold: `errors < 0.1%, p99 < 500ms`; of WebSockets also `connects > 99.9%, delivered > 99.99%, disconnects < 0.1%`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Span, UnitError};

/// A value that a figure is held against. Whether the value itself is allowed is a part of it, and judged here and nowhere else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound<T> {
    /// The value.
    pub at: T,
    /// Whether the value itself is allowed: `<=` and `>=`.
    pub included: bool,
}

impl<T: PartialOrd + Copy> Bound<T> {
    /// `< at` or `> at`.
    pub fn excluding(at: T) -> Bound<T> {
        Bound { at, included: false }
    }

    /// `<= at` or `>= at`.
    pub fn including(at: T) -> Bound<T> {
        Bound { at, included: true }
    }

    /// Whether `seen` is below it, as written.
    pub fn is_above(&self, seen: T) -> bool {
        seen < self.at || self.included && seen == self.at
    }

    /// Whether `seen` is above it, as written.
    pub fn is_below(&self, seen: T) -> bool {
        seen > self.at || self.included && seen == self.at
    }
}

/// One condition on what clients see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// Failed requests as a fraction of finished ones stays below this (0.001 is 0.1 %).
    ErrorsBelow(Bound<f64>),
    /// The latency at this quantile (0.99 is p99), counted from the planned instant, stays below this.
    LatencyBelow(f64, Bound<Span>),
    /// Completed requests per second stay above this.
    RateAbove(Bound<f64>),
    /// WebSockets opened as a fraction of those that were to be opened stay above this (0.999 is 99.9 %).
    ConnectsAbove(Bound<f64>),
    /// WebSocket messages that came back whole as a fraction of those that came or will not come any more stay above this.
    DeliveredAbove(Bound<f64>),
    /// Open WebSockets that end although nobody asked for it, as a fraction of those that were open, stay below this.
    DisconnectsBelow(Bound<f64>),
}

impl Condition {
    /// Whether a figure holds it, as it is written: a fraction, seconds, or a rate a second.
    pub fn holds(&self, seen: f64) -> bool {
        match self {
            Condition::ErrorsBelow(bound) | Condition::DisconnectsBelow(bound) => bound.is_above(seen),
            Condition::LatencyBelow(_, bound) => {
                Bound { at: bound.at.as_secs_f64(), included: bound.included }.is_above(seen)
            }
            Condition::RateAbove(bound) | Condition::ConnectsAbove(bound) | Condition::DeliveredAbove(bound) => {
                bound.is_below(seen)
            }
        }
    }

    /// Whether it speaks of WebSockets only.
    pub fn is_of_websockets(&self) -> bool {
        matches!(self, Condition::ConnectsAbove(_) | Condition::DeliveredAbove(_) | Condition::DisconnectsBelow(_))
    }
}

impl Objective {
    /// The first condition that speaks of WebSockets only.
    pub fn of_websockets(&self) -> Option<Condition> {
        self.0.iter().copied().find(Condition::is_of_websockets)
    }
}

/// Conditions that must all hold. Reads and prints `errors < 0.1%, p99 < 500ms, rate > 100`.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective(pub Vec<Condition>);

impl Default for Objective {
    fn default() -> Self {
        Objective(vec![Condition::ErrorsBelow(Bound::excluding(0.001))])
    }
}

fn error(seen: &str) -> UnitError {
    UnitError {
        seen: seen.to_owned(),
        what: "objective",
        example: "\"errors < 0.1%, p99 < 500ms, rate > 100\"; of WebSockets also \"connects > 99.9%, delivered > 99.99%, disconnects < \
                  0.1%\"",
    }
}

/// `0.1%` or `0.001`: from 0 to 1; none for anything else.
fn fraction(value: &str) -> Option<f64> {
    let fraction: f64 = match value.strip_suffix('%') {
        // Shifted as text: 0.7 times a hundredth is not the double that 7 of 1000 give.
        Some(percent) => format!("{}e-2", percent.trim()).parse().ok()?,
        None => value.parse().ok()?,
    };
    (0.0..=1.0).contains(&fraction).then_some(fraction)
}

/// A fraction that some figure can be below: less than nothing is none.
fn at_most(value: &str, included: bool) -> Option<Bound<f64>> {
    fraction(value).filter(|at| *at > 0.0 || included).map(|at| Bound { at, included })
}

/// A fraction above nothing that some figure can be above: more than everything is none.
fn at_least(value: &str, included: bool) -> Option<Bound<f64>> {
    fraction(value).filter(|at| *at > 0.0 && (*at < 1.0 || included)).map(|at| Bound { at, included })
}

/// `100` or `100/s`: above 0.
fn rate(value: &str, included: bool) -> Option<Bound<f64>> {
    let at: f64 = value.strip_suffix("/s").unwrap_or(value).trim().parse().ok()?;
    (at.is_finite() && at > 0.0).then_some(Bound { at, included })
}

/// `p99.9`, `median`, `max`.
fn quantile(name: &str) -> Option<f64> {
    let quantile = match name {
        "median" => 0.5,
        "max" => 1.0,
        p => p.strip_prefix('p')?.parse::<f64>().ok()? / 100.0,
    };
    (quantile > 0.0 && quantile <= 1.0).then_some(quantile)
}

/// A time with its unit: a bare number is seconds elsewhere, but here half of all people mean milliseconds.
fn time(value: &str) -> Option<Span> {
    value.ends_with(|c: char| c.is_ascii_alphabetic()).then(|| value.parse().ok())?
}

fn condition(text: &str) -> Result<Condition, UnitError> {
    read(text).ok_or_else(|| error(text))
}

fn read(text: &str) -> Option<Condition> {
    let split = text.find(['<', '>'])?;
    let (name, op, rest) = (text[..split].trim(), &text[split..=split], &text[split + 1..]);
    let included = rest.starts_with('=');
    let value = rest[usize::from(included)..].trim();
    match (name, op) {
        ("errors", "<") => at_most(value, included).map(Condition::ErrorsBelow),
        ("disconnects", "<") => at_most(value, included).map(Condition::DisconnectsBelow),
        ("connects", ">") => at_least(value, included).map(Condition::ConnectsAbove),
        ("delivered", ">") => at_least(value, included).map(Condition::DeliveredAbove),
        ("rate", ">") => rate(value, included).map(Condition::RateAbove),
        (name, "<") => Some(Condition::LatencyBelow(quantile(name)?, Bound { at: time(value)?, included })),
        _ => None,
    }
}

impl FromStr for Objective {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Objective, UnitError> {
        let all: Result<Vec<_>, _> = text.split(',').map(|part| condition(part.trim())).collect();
        Ok(Objective(all?))
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |x: f64| (x * 100.0 * 1e9).round() / 1e9;
        let equal = |included: bool| if included { "=" } else { "" };
        match self {
            Condition::ErrorsBelow(x) => write!(f, "errors <{} {}%", equal(x.included), percent(x.at)),
            Condition::ConnectsAbove(x) => write!(f, "connects >{} {}%", equal(x.included), percent(x.at)),
            Condition::DeliveredAbove(x) => write!(f, "delivered >{} {}%", equal(x.included), percent(x.at)),
            Condition::DisconnectsBelow(x) => write!(f, "disconnects <{} {}%", equal(x.included), percent(x.at)),
            Condition::LatencyBelow(q, x) if *q >= 1.0 => write!(f, "max <{} {}", equal(x.included), x.at),
            Condition::LatencyBelow(q, x) => write!(f, "p{} <{} {}", percent(*q), equal(x.included), x.at),
            Condition::RateAbove(x) => write!(f, "rate >{} {}", equal(x.included), x.at),
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, c) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{c}")?;
        }
        Ok(())
    }
}

impl Serialize for Objective {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Objective {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Objective {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Objective".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "examples": ["errors < 0.1%, p99 < 500ms"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints() {
        let text = "errors < 0.1%, p99 < 500ms, p99.9 < 2s, max < 1m, rate > 100";
        let o: Objective = text.parse().unwrap();
        assert_eq!(o.0.len(), 5);
        assert_eq!(o.to_string(), text);
        let text = "connects > 99.9%, delivered > 99.99%, disconnects < 0.1%";
        let o: Objective = text.parse().unwrap();
        assert_eq!(o.to_string(), text);
        let Condition::DeliveredAbove(x) = o.0[1] else { panic!("{o}") };
        assert!((x.at - 0.9999).abs() < 1e-12 && o.of_websockets() == Some(o.0[0]));
        assert_eq!("errors<=1%".parse::<Objective>().unwrap().0, vec![Condition::ErrorsBelow(Bound::including(0.01))]);
        let text =
            "errors <= 0%, p99 <= 500ms, max <= 1m, rate >= 100, connects >= 100%, delivered >= 99%, disconnects <= 0%";
        assert_eq!(text.parse::<Objective>().unwrap().to_string(), text);
    }

    #[test]
    fn a_bound_is_judged_as_it_is_written() {
        let holds = |text: &str, seen: f64| text.parse::<Objective>().unwrap().0[0].holds(seen);
        for (text, below, at, above) in [
            ("errors < 1%", true, false, false),
            ("errors <= 1%", true, true, false),
            ("disconnects <= 1%", true, true, false),
            ("p99 < 10ms", true, false, false),
            ("p99 <= 10ms", true, true, false),
            ("connects > 1%", false, false, true),
            ("delivered >= 1%", false, true, true),
        ] {
            assert_eq!([0.009, 0.01, 0.011].map(|seen| holds(text, seen)), [below, at, above], "{text}");
        }
        assert!(holds("errors <= 0%", 0.0) && !holds("errors <= 0%", 1e-9));
        assert!(holds("rate >= 100", 100.0) && !holds("rate > 100", 100.0) && !holds("rate >= 100", 99.9));
    }

    #[test]
    fn refuses_nonsense_with_an_example() {
        for bad in [
            "",
            "errors",
            "errors < 0%",
            "errors <== 1%",
            "errors =< 1%",
            "errors < = 1%",
            "errors <= -1%",
            "rate >= 0",
            "connects >= 0%",
            "p99 >= 1s",
            "errors < 200%",
            "p0 < 1s",
            "p101 < 1s",
            "latency < 1s",
            "p99 > 1s",
            "p99 < 5",
            "connects < 99%",
            "connects > 100%",
            "delivered > 0%",
            "disconnects > 1%",
        ] {
            let e = bad.parse::<Objective>().unwrap_err();
            assert!(e.to_string().contains("errors < 0.1%"), "{bad}: {e}");
        }
    }
}
