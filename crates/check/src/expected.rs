//! What the figures and the words of a verdict must be, by their addresses.

use std::collections::BTreeMap;
use std::fmt;

use genkai_model::statement::Value;
use serde_json::Value as Json;

use crate::intervals::Interval;
use crate::listed::Listed;

/// Part of a value by which two computations of it may differ: the last digits of sums in another order.
const SLACK: f64 = 1e-6;
/// Part of an interval's width by which its ends may differ: two ways to compute a quantile.
const ENDS: f64 = 1e-3;

/// What events say of figures and words, by address.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    figures: BTreeMap<String, Expectation>,
    words: BTreeMap<String, Word>,
    /// What lists must have.
    pub(crate) lists: Listed,
}

/// What events say of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expectation {
    what: What,
    /// The first event concerned, by its line.
    pub(crate) line: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    /// Nothing was there: it must not be a number.
    Nothing,
    /// Anything between two ends, both included; just one value where they are the same.
    Within(f64, f64),
    /// No value was seen, and it is larger than this.
    MoreThan(f64),
    /// No value was seen, and it is smaller than this.
    LessThan(f64),
    /// From one end to the other.
    Between(f64, f64),
    /// An estimate with its interval.
    Estimate(Interval),
}

/// What events say of a word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    wanted: Wanted,
    /// Why, in words.
    pub(crate) why: String,
    /// The first event concerned, by its line.
    pub(crate) line: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum Wanted {
    /// Just this.
    Is(Json),
    /// Something, or nothing.
    There(bool),
}

impl Expected {
    /// What must stand at `address`.
    pub(crate) fn at(&self, address: &str) -> Option<&Expectation> {
        self.figures.get(address)
    }

    /// The figures that are no zero: somewhere they must stand.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (&str, &Expectation)> {
        let there = |what: What| !matches!(what, What::Nothing | What::Within(..=0.0, 0.0..));
        self.figures.iter().filter(move |(_, one)| there(one.what)).map(|(address, one)| (address.as_str(), one))
    }

    /// The words that must stand somewhere, by address.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, &Word)> {
        self.words.iter().map(|(address, word)| (address.as_str(), word))
    }

    /// The figure is just this; none: there is none.
    pub(crate) fn is(&mut self, address: impl Into<String>, value: impl Into<Option<f64>>, line: Option<usize>) {
        let what = value.into().map_or(What::Nothing, |value| What::Within(value, value));
        self.insert(address.into(), what, line);
    }

    /// The figure is in between.
    pub(crate) fn within(&mut self, address: impl Into<String>, low: f64, high: f64, line: Option<usize>) {
        self.insert(address.into(), What::Within(low, high), line);
    }

    /// No figure was seen, and it is larger than this.
    pub(crate) fn more_than(&mut self, address: impl Into<String>, bound: f64, line: Option<usize>) {
        self.insert(address.into(), What::MoreThan(bound), line);
    }

    /// No figure was seen, and it is smaller than this.
    pub(crate) fn less_than(&mut self, address: impl Into<String>, bound: f64, line: Option<usize>) {
        self.insert(address.into(), What::LessThan(bound), line);
    }

    /// The figure is this range; none: there is none.
    pub(crate) fn between(&mut self, address: impl Into<String>, ends: Option<(f64, f64)>, line: Option<usize>) {
        self.insert(address.into(), ends.map_or(What::Nothing, |(low, high)| What::Between(low, high)), line);
    }

    /// The figure is this estimate; none: there is none.
    pub(crate) fn estimate(&mut self, address: impl Into<String>, estimate: Option<Interval>, line: Option<usize>) {
        self.insert(address.into(), estimate.map_or(What::Nothing, What::Estimate), line);
    }

    /// The word there is just this.
    pub(crate) fn word(&mut self, address: impl Into<String>, word: impl Into<Json>, why: &str, line: Option<usize>) {
        let word = Word { wanted: Wanted::Is(word.into()), why: why.to_owned(), line };
        self.words.insert(address.into(), word);
    }

    /// Something is told there, or nothing.
    pub(crate) fn there(&mut self, address: impl Into<String>, there: bool, why: &str, line: Option<usize>) {
        self.words.insert(address.into(), Word { wanted: Wanted::There(there), why: why.to_owned(), line });
    }

    /// Just this stands there, name by name and number by number.
    pub(crate) fn same(&mut self, address: &str, told: &Json, why: &str, line: Option<usize>) {
        match told {
            Json::Object(fields) => {
                let number = |name: &str| fields.get(name).and_then(Json::as_f64);
                match (number("low"), number("high"), number("more_than")) {
                    (Some(low), Some(high), _) => self.between(address, Some((low, high)), line),
                    (_, _, Some(bound)) => self.more_than(address, bound, line),
                    _ => {}
                }
                for (name, value) in fields {
                    self.same(&format!("{address}/{}", name.replace('~', "~0").replace('/', "~1")), value, why, line);
                }
            }
            Json::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    self.same(&format!("{address}/{i}"), item, why, line);
                }
                self.there(format!("{address}/{}", items.len()), false, why, line);
            }
            Json::Number(_) => self.is(address, told.as_f64(), line),
            word => self.word(address, word.clone(), why, line),
        }
    }

    fn insert(&mut self, address: String, what: What, line: Option<usize>) {
        self.figures.insert(address, Expectation { what, line });
    }
}

impl Word {
    /// Whether what stands there follows.
    pub(crate) fn met_by(&self, stated: Option<&Json>) -> bool {
        let stated = stated.filter(|stated| !stated.is_null());
        match &self.wanted {
            Wanted::Is(wanted) if wanted.is_null() => stated.is_none(),
            Wanted::Is(wanted) => stated == Some(wanted),
            Wanted::There(there) => stated.is_some() == *there,
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.wanted {
            Wanted::Is(wanted) => write!(f, "{wanted} ({})", self.why),
            Wanted::There(true) => write!(f, "something is to be told there ({})", self.why),
            Wanted::There(false) => write!(f, "nothing is to be told there ({})", self.why),
        }
    }
}

/// Whether two computations of a value came to the same.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SLACK * a.abs().max(b.abs()).max(1e-6)
}

impl Expectation {
    /// Whether it leaves one value only.
    pub(crate) fn is_exact(&self) -> bool {
        !matches!(self.what, What::Within(low, high) if low != high)
    }

    /// Whether `value` follows.
    pub(crate) fn met_by(&self, value: &Value) -> bool {
        match (self.what, *value) {
            // A zero that is said not to be one.
            (What::Within(low, _), Value::NotSampled) => low == 0.0,
            (What::Nothing, value) => value == Value::NotSampled,
            // What is counted is exact, however large.
            (What::Within(low, high), Value::Count(n)) => (low - 0.5..=high + 0.5).contains(&(n as f64)),
            (What::Within(low, high), Value::Measured(x)) => fits(low, high, x),
            (What::Within(low, high), Value::Estimate { value, .. }) => fits(low, high, value),
            (What::Within(low, high), Value::Between { low: a, high: b }) => fits(low, high, a) && fits(low, high, b),
            (What::MoreThan(bound), Value::MoreThan(x)) | (What::LessThan(bound), Value::LessThan(x)) => same(bound, x),
            (What::Between(low, high), Value::Between { low: a, high: b }) => same(low, a) && same(high, b),
            (What::Estimate(wanted), Value::Estimate { value, low, high, n }) => {
                let width = ENDS * (wanted.high - wanted.low).abs();
                let near = |a: f64, b: f64| same(a, b) || (a - b).abs() <= width;
                wanted.n == n && near(wanted.value, value) && near(wanted.low, low) && near(wanted.high, high)
            }
            _ => false,
        }
    }
}

fn fits(low: f64, high: f64, x: f64) -> bool {
    let slack = SLACK * low.abs().max(high.abs()).max(1e-6);
    x >= low - slack && x <= high + slack
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Nothing => f.write_str("nothing was there to be seen"),
            What::Within(low, high) if low == high => write!(f, "{low}"),
            What::Within(low, high) => write!(f, "between {low} and {high}"),
            What::MoreThan(bound) => write!(f, "more than {bound}, and no value"),
            What::LessThan(bound) => write!(f, "less than {bound}, and no value"),
            What::Between(low, high) => write!(f, "{low} to {high}"),
            What::Estimate(of) => write!(f, "{} ({} to {}, of {})", of.value, of.low, of.high, of.n),
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
        expected.more_than("/d", 0.3, None);
        let met = |address: &str, value: Value| expected.at(address).unwrap().met_by(&value);
        assert!(met("/a", Value::Measured(0.3)) && !met("/a", Value::Measured(0.31)) && !met("/a", Value::NotSampled));
        assert!(!met("/a", Value::MoreThan(0.2)), "a value was seen");
        assert!(met("/b", Value::NotSampled) && !met("/b", Value::MoreThan(9.0)) && !met("/b", Value::Measured(0.0)));
        assert!(met("/c", Value::Count(2)) && !met("/c", Value::Count(3)));
        assert!(
            met("/d", Value::MoreThan(0.3)) && !met("/d", Value::Measured(0.3)) && !met("/d", Value::MoreThan(0.2))
        );
    }

    #[test]
    fn an_estimate_is_held_to_its_value_its_ends_and_its_number() {
        let mut expected = Expected::default();
        expected.estimate("/e", Some(Interval { value: 1.0, low: 0.0, high: 2.0, n: 3 }), None);
        expected.between("/r", Some((1.0, 2.0)), None);
        let met = |address: &str, value: Value| expected.at(address).unwrap().met_by(&value);
        let estimate = |value, low, high, n| Value::Estimate { value, low, high, n };
        assert!(met("/e", estimate(1.0, 0.0, 2.0, 3)));
        for wrong in [estimate(1.04, 0.0, 2.0, 3), estimate(1.0, 0.1, 2.0, 3), estimate(1.0, 0.0, 2.1, 3)] {
            assert!(!met("/e", wrong), "{wrong:?}");
        }
        assert!(!met("/e", estimate(1.0, 0.0, 2.0, 4)));
        assert!(
            met("/r", Value::Between { low: 1.0, high: 2.0 }) && !met("/r", Value::Between { low: 1.0, high: 2.1 })
        );
    }

    #[test]
    fn a_word_is_there_or_not() {
        let mut expected = Expected::default();
        expected.word("/outcome", "holds", "nothing broke", None);
        expected.there("/broke", false, "nothing broke", None);
        let met = |address: &str, stated: Option<&Json>| expected.words[address].met_by(stated);
        assert!(met("/outcome", Some(&"holds".into())) && !met("/outcome", Some(&"fails".into())));
        assert!(met("/broke", None) && met("/broke", Some(&Json::Null)) && !met("/broke", Some(&1.into())));
    }
}
