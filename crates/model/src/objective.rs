//! What must hold: `errors < 0.1%, p99 < 500ms`; of WebSockets also `connects > 99.9%, delivered > 99.99%, disconnects < 0.1%`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Span, UnitError};

/// One condition on what clients see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// Failed requests as a fraction of finished ones stays below this (0.001 is 0.1 %).
    ErrorsBelow(f64),
    /// The latency at this quantile (0.99 is p99), counted from the planned instant, stays below this.
    LatencyBelow(f64, Span),
    /// Completed requests per second stay above this.
    RateAbove(f64),
    /// WebSockets opened as a fraction of those that were to be opened stay above this (0.999 is 99.9 %).
    ConnectsAbove(f64),
    /// WebSocket messages that came back whole as a fraction of those that came or will not come any more stay above this.
    DeliveredAbove(f64),
    /// Open WebSockets that end although nobody asked for it, as a fraction of those that were open, stay below this.
    DisconnectsBelow(f64),
}

impl Condition {
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
        Objective(vec![Condition::ErrorsBelow(0.001)])
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

/// `0.1%` or `0.001`: above 0 and at most 1; none for anything else.
fn fraction(value: &str) -> Option<f64> {
    let (number, scale) = value.strip_suffix('%').map_or((value, 1.0), |v| (v.trim(), 0.01));
    let fraction = number.parse::<f64>().ok()? * scale;
    (fraction > 0.0 && fraction <= 1.0).then_some(fraction)
}

fn condition(text: &str) -> Result<Condition, UnitError> {
    let err = || error(text);
    let split = text.find(['<', '>']).ok_or_else(err)?;
    let (name, op, value) =
        (text[..split].trim(), &text[split..=split], text[split + 1..].trim_start_matches('=').trim());
    match (name, op) {
        ("errors", "<") => fraction(value).map(Condition::ErrorsBelow).ok_or_else(err),
        ("disconnects", "<") => fraction(value).map(Condition::DisconnectsBelow).ok_or_else(err),
        // Above everything is nothing.
        ("connects", ">") => fraction(value).filter(|f| *f < 1.0).map(Condition::ConnectsAbove).ok_or_else(err),
        ("delivered", ">") => fraction(value).filter(|f| *f < 1.0).map(Condition::DeliveredAbove).ok_or_else(err),
        ("rate", ">") => {
            let number = value.strip_suffix("/s").unwrap_or(value).trim();
            let rate: f64 = number.parse().map_err(|_| err())?;
            if rate.is_finite() && rate > 0.0 { Ok(Condition::RateAbove(rate)) } else { Err(err()) }
        }
        (name, "<") => {
            let quantile = match name {
                "median" => 0.5,
                "max" => 1.0,
                p => {
                    let digits: f64 = p.strip_prefix('p').ok_or_else(err)?.parse().map_err(|_| err())?;
                    digits / 100.0
                }
            };
            if !(0.0..=1.0).contains(&quantile) || quantile == 0.0 {
                return Err(err());
            }
            // A bare number is seconds elsewhere, but here half of all people mean milliseconds.
            if !value.ends_with(|c: char| c.is_ascii_alphabetic()) {
                return Err(err());
            }
            let span: Span = value.parse().map_err(|_| err())?;
            Ok(Condition::LatencyBelow(quantile, span))
        }
        _ => Err(err()),
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
        let percent = |x: &f64| (x * 100.0 * 1e9).round() / 1e9;
        match self {
            Condition::ErrorsBelow(x) => write!(f, "errors < {}%", percent(x)),
            Condition::ConnectsAbove(x) => write!(f, "connects > {}%", percent(x)),
            Condition::DeliveredAbove(x) => write!(f, "delivered > {}%", percent(x)),
            Condition::DisconnectsBelow(x) => write!(f, "disconnects < {}%", percent(x)),
            Condition::LatencyBelow(q, span) if *q >= 1.0 => write!(f, "max < {span}"),
            Condition::LatencyBelow(q, span) => write!(f, "p{} < {span}", percent(q)),
            Condition::RateAbove(r) => write!(f, "rate > {r}"),
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
        assert!((x - 0.9999).abs() < 1e-12 && o.of_websockets() == Some(o.0[0]));
        assert_eq!("errors<=1%".parse::<Objective>().unwrap().0, vec![Condition::ErrorsBelow(0.01)]);
    }

    #[test]
    fn refuses_nonsense_with_an_example() {
        for bad in [
            "",
            "errors",
            "errors < 0%",
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
