//! Quantities with units, as people write them: `500ms`, `10s`, `2m`, `64k`, `0.1%`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text that is not the quantity asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{seen}` is not a valid {what}; write it like {example}")]
pub struct UnitError {
    /// The text given.
    pub seen: String,
    /// What was expected, e.g. "duration".
    pub what: &'static str,
    /// An example that works.
    pub example: &'static str,
}

/// A span of time, in nanoseconds; reads and prints as `250us`, `500ms`, `1.5s`, `2m`, `1h`. A bare number is seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

const SPAN_UNITS: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9)];

impl Span {
    /// From milliseconds; more than fit (584 years) are the longest span.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms.saturating_mul(1_000_000))
    }
    /// From whole seconds; more than fit (584 years) are the longest span.
    pub const fn from_secs(s: u64) -> Span {
        Span(s.saturating_mul(1_000_000_000))
    }
    /// From seconds; negative and non-finite values become zero.
    pub fn from_secs_f64(s: f64) -> Span {
        Span(if s.is_finite() && s > 0.0 { (s * 1e9) as u64 } else { 0 })
    }
    /// No time at all.
    pub const fn is_zero(&self) -> bool {
        self.0 == 0
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// As a standard duration.
    pub fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl From<Duration> for Span {
    fn from(d: Duration) -> Span {
        Span(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        let err = || UnitError { seen: text.to_owned(), what: "duration", example: "500ms, 10s or 2m" };
        let text_ = text.trim();
        let split = text_.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text_.len());
        let (number, unit) = (&text_[..split], text_[split..].trim());
        let number: f64 = number.trim().parse().map_err(|_| err())?;
        let unit = if unit.is_empty() { "s" } else { unit };
        let factor = SPAN_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, f)| *f).ok_or_else(err)?;
        let ns = number * factor;
        if !(0.0..=1e18).contains(&ns) {
            return Err(err());
        }
        Ok(Span(ns.round() as u64))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0;
        if ns == 0 {
            return f.write_str("0s");
        }
        let (name, factor) = match ns {
            n if n.is_multiple_of(3_600_000_000_000) => ("h", 3600e9),
            n if n.is_multiple_of(60_000_000_000) => ("m", 60e9),
            n if n >= 1_000_000_000 => ("s", 1e9),
            n if n >= 1_000_000 => ("ms", 1e6),
            n if n >= 1_000 => ("us", 1e3),
            _ => ("ns", 1.0),
        };
        write!(f, "{}{name}", ns as f64 / factor)
    }
}

/// An amount of bytes; reads `512`, `64k`, `1m`, `2g` (powers of 1024, either case, optional `b`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let err = || UnitError { seen: text.to_owned(), what: "size", example: "512, 64k or 1m" };
        let lower = text.trim().to_ascii_lowercase();
        let lower = lower.strip_suffix('b').unwrap_or(&lower);
        let (digits, shift) = match lower.as_bytes().last() {
            Some(b'k') => (&lower[..lower.len() - 1], 10),
            Some(b'm') => (&lower[..lower.len() - 1], 20),
            Some(b'g') => (&lower[..lower.len() - 1], 30),
            _ => (lower, 0),
        };
        let n: u64 = digits.trim().parse().map_err(|_| err())?;
        n.checked_mul(1 << shift).map(Bytes).ok_or_else(err)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        for (shift, name) in [(30, "g"), (20, "m"), (10, "k")] {
            if n >= 1 << shift && n.is_multiple_of(1 << shift) {
                return write!(f, "{}{name}", n >> shift);
            }
        }
        write!(f, "{n}")
    }
}

/// How long something takes, as a distribution; reads `50ms`, `uniform(20ms,80ms)`, `exp(50ms)`, `lognormal(50ms,0.5)`
/// (median and sigma of the underlying normal), `bimodal(1ms,20ms,0.05)` (usually 1 ms; of a share of 0.05, 20 ms).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Always the same.
    Constant(Span),
    /// Evenly between two bounds.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Log-normal: median, sigma.
    LogNormal(Span, f64),
    /// One of two: the first, or, of this share, the second.
    Bimodal(Span, Span, f64),
}

impl Default for Spread {
    fn default() -> Self {
        Spread::Constant(Span(0))
    }
}

impl FromStr for Spread {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Spread, UnitError> {
        let err = || UnitError {
            seen: text.to_owned(),
            what: "time distribution",
            example: "50ms, uniform(20ms,80ms), exp(50ms), lognormal(50ms,0.5) or bimodal(1ms,20ms,0.05)",
        };
        let text_ = text.trim();
        let Some(inner) = text_.strip_suffix(')') else {
            return text_.parse().map(Spread::Constant).map_err(|_| err());
        };
        let (name, args) = inner.split_once('(').ok_or_else(err)?;
        let args: Vec<&str> = args.split(',').map(str::trim).collect();
        let span = |i: usize| args.get(i).ok_or_else(err)?.parse::<Span>().map_err(|_| err());
        let spread = match (name.trim(), args.len()) {
            ("constant", 1) => Spread::Constant(span(0)?),
            ("uniform", 2) => Spread::Uniform(span(0)?, span(1)?),
            ("exp" | "exponential", 1) => Spread::Exponential(span(0)?),
            ("lognormal", 2) => {
                let sigma: f64 = args[1].parse().map_err(|_| err())?;
                if !(0.0..=3.0).contains(&sigma) {
                    return Err(err());
                }
                Spread::LogNormal(span(0)?, sigma)
            }
            ("bimodal", 3) => {
                let share: f64 = args[2].parse().map_err(|_| err())?;
                if !(0.0..=1.0).contains(&share) {
                    return Err(err());
                }
                Spread::Bimodal(span(0)?, span(1)?, share)
            }
            _ => return Err(err()),
        };
        match spread {
            Spread::Uniform(a, b) if a > b => Err(err()),
            s => Ok(s),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spread::Constant(s) => write!(f, "{s}"),
            Spread::Uniform(a, b) => write!(f, "uniform({a},{b})"),
            Spread::Exponential(m) => write!(f, "exp({m})"),
            Spread::LogNormal(m, sigma) => write!(f, "lognormal({m},{sigma})"),
            Spread::Bimodal(a, b, share) => write!(f, "bimodal({a},{b},{share})"),
        }
    }
}

/// A range of numbers, both ends included. A point is a range with equal ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// Smallest.
    pub low: f64,
    /// Largest.
    pub high: f64,
}

macro_rules! as_text {
    ($($name:ident: $pattern:literal),+) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> { s.collect_str(self) }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = String::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    )+};
}
as_text!(Span: "^[0-9.]+(ns|us|ms|s|m|h)?$", Bytes: "^[0-9]+[kmg]?$", Spread: "^[a-z0-9.,() ]+$");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!("500ms".parse(), Ok(Span::from_millis(500)));
        assert_eq!("1.5s".parse(), Ok(Span::from_millis(1500)));
        assert_eq!("3".parse(), Ok(Span::from_secs(3)));
        assert_eq!((Span::from_millis(u64::MAX), Span::from_secs(u64::MAX)), (Span(u64::MAX), Span(u64::MAX)));
        assert_eq!("64k".parse(), Ok(Bytes(65536)));
        assert_eq!("1MB".parse(), Ok(Bytes(1 << 20)));
        assert_eq!("lognormal(50ms, 0.5)".parse(), Ok(Spread::LogNormal(Span::from_millis(50), 0.5)));
        let bimodal = Spread::Bimodal(Span::from_millis(1), Span::from_millis(20), 0.05);
        assert_eq!("bimodal(1ms, 20ms, 0.05)".parse(), Ok(bimodal));
        assert_eq!(bimodal.to_string().parse(), Ok(bimodal));
        assert!("bimodal(1ms,2ms,1.5)".parse::<Spread>().is_err());
        assert!("uniform(9s,1s)".parse::<Spread>().is_err());
        assert!("-1s".parse::<Span>().is_err());
        assert!("5 parsecs".parse::<Span>().is_err());
    }

    proptest! {
        #[test]
        fn span_prints_what_it_reads(ns in 0u64..1_000_000_000_000) {
            let span = Span(ns);
            let back: Span = span.to_string().parse().unwrap();
            prop_assert!(back.0.abs_diff(ns) <= 1 + ns / 1_000_000_000_000);
        }

        #[test]
        fn bytes_print_what_they_read(n in 0u64..(1 << 40)) {
            prop_assert_eq!(Bytes(n).to_string().parse(), Ok(Bytes(n)));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Span>();
            let _ = text.parse::<Bytes>();
            let _ = text.parse::<Spread>();
        }
    }
}
