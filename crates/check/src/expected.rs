//! What the figures of a verdict must be, by their addresses.

use std::collections::BTreeMap;
use std::fmt;

use genkai_model::statement::Value;

/// Part of a value by which two computations of it may differ: the last digits of sums in another order.
const SLACK: f64 = 1e-6;

/// What events say of figures, by address.
#[derive(Debug, Default)]
pub(crate) struct Expected(BTreeMap<String, Expectation>);

/// What events say of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    /// The smallest it can be.
    low: f64,
    /// The largest it can be.
    high: f64,
    /// Nothing was there: it must not be a number.
    nothing: bool,
    /// The first event concerned, by its line.
    pub(crate) line: Option<usize>,
}

impl Expected {
    /// What must stand at `address`.
    pub(crate) fn at(&self, address: &str) -> Option<&Expectation> {
        self.0.get(address)
    }

    /// The figure is just this; none: there is none.
    pub(crate) fn is(&mut self, address: impl Into<String>, value: impl Into<Option<f64>>, line: Option<usize>) {
        let value = value.into();
        let (low, nothing) = (value.unwrap_or(0.0), value.is_none());
        self.0.insert(address.into(), Expectation { low, high: low, nothing, line });
    }

    /// The figure is in between.
    pub(crate) fn within(&mut self, address: impl Into<String>, low: f64, high: f64, line: Option<usize>) {
        self.0.insert(address.into(), Expectation { low, high, nothing: false, line });
    }
}

impl Expectation {
    /// Whether it leaves one value only.
    pub(crate) fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Whether `value` follows.
    pub(crate) fn met_by(&self, value: &Value) -> bool {
        let fits = |x: f64| {
            let slack = SLACK * self.low.abs().max(self.high.abs()).max(1e-6);
            !self.nothing && x >= self.low - slack && x <= self.high + slack
        };
        match *value {
            // A zero that is said not to be one.
            Value::NotSampled => self.nothing || self.low == 0.0,
            // What is counted is exact, however large.
            Value::Count(n) => !self.nothing && (self.low - 0.5..=self.high + 0.5).contains(&(n as f64)),
            Value::Measured(x) => fits(x),
            Value::MoreThan(x) => self.nothing || self.high >= x,
            Value::LessThan(x) => self.nothing || self.low <= x,
            Value::Estimate { value, .. } => fits(value),
            Value::Between { low, high } => fits(low) && fits(high),
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.nothing {
            true => f.write_str("nothing was there to be seen"),
            false if self.is_exact() => write!(f, "{}", self.low),
            false => write!(f, "between {} and {}", self.low, self.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_value_a_bound_and_nothing_are_held_to_different_things() {
        let mut expected = Expected::default();
        expected.is("/a", 0.3, None);
        expected.is("/b", None, None);
        expected.within("/c", 1.0, 2.0, None);
        let met = |address: &str, value: Value| expected.at(address).unwrap().met_by(&value);
        assert!(met("/a", Value::Measured(0.3)) && !met("/a", Value::Measured(0.31)) && !met("/a", Value::NotSampled));
        assert!(met("/a", Value::MoreThan(0.2)) && !met("/a", Value::MoreThan(0.4)));
        assert!(met("/b", Value::NotSampled) && met("/b", Value::MoreThan(9.0)) && !met("/b", Value::Measured(0.0)));
        assert!(met("/c", Value::Count(2)) && !met("/c", Value::Count(3)));
    }
}
