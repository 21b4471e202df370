//! A second opinion: every statement of a verdict, recomputed from the raw events by somebody who does not know how it was made.
//!
//! Nothing here is shared with `analysis` but the reading of events (its dependencies forbid it). It is written plainly and may be
//! slow: sums over intervals, quantiles by a walk over merged histograms, means over pairs. What cannot be recomputed without the same
//! method (the ends of a bootstrapped interval) is held within bounds: the estimate lies inside, the ends are in order.
//!
//! Reading order: [`events`] (the record as lines), [`order`] (the first event that does not fit), [`expected`] (what a figure must be),
//! then a module for each kind of study.

mod again;
mod answer;
mod answered;
mod asked;
mod before;
mod broken;
mod bucket;
mod cache;
mod caveats;
mod changed;
mod comes;
mod compare;
mod compared;
mod counted;
mod directives;
mod directly;
mod distribution;
mod effects;
mod events;
mod expected;
mod files;
mod flat;
mod following;
mod generator;
mod hanging;
mod idle_requests;
mod instants;
mod intervals;
mod kept;
mod ladder;
mod latencies;
mod laws;
mod left;
mod listed;
mod load;
mod looked;
mod met;
mod moved;
mod onward;
mod order;
mod others;
mod outpaced;
mod overdue;
mod predictions;
mod price;
mod proof;
mod quoted;
mod rooms;
mod scan;
mod score;
mod search;
mod served;
mod servers;
mod smaller;
mod steady;
mod suite;
mod trails;
mod trials;
mod turns;
mod unusable;
mod weigh;
mod weighed;
mod workers;

use std::collections::BTreeSet;

use genkai_model::statement::{Checked, Contradicted, Difference, Statement, Unfit, Unit, Value};
use serde_json::Value as Json;

pub use files::Held;
pub use suite::{Part, joined};

use events::Events;
use expected::{Expectation, Expected};

/// Parts of a distribution that some are told without.
const OPTIONAL: [&str; 3] = ["/p75", "/p9999", "/stdev"];

/// What stands where nothing is told.
const NOTHING: &str = "nothing";

/// What the events of a record say of everything that a verdict states, whatever it says itself.
#[derive(Debug)]
pub struct Opinion {
    expected: Expected,
    unfit: Option<Unfit>,
}

impl Opinion {
    /// Of a verdict on the record in `lines`. Of `verdict` only the shape is read: what is stated of which trial, limit and contender, and where.
    ///
    /// # Errors
    /// When the lines are no record at all.
    pub fn of(lines: &str, verdict: &Json) -> Result<Opinion, String> {
        let events = Events::read(lines)?;
        Ok(Opinion { expected: expect(&events, verdict), unfit: order::first_unfit(&events, lines) })
    }

    /// Holds `statements` of `verdict` against it.
    pub fn on(&self, verdict: &Json, statements: &[Statement]) -> Checked {
        let mut checked = Checked { unfit: self.unfit.clone(), ..Checked::default() };
        hold(&self.expected, verdict, statements, &mut checked);
        checked.contradicted.extend(self.unsaid(verdict));
        let (objections, found) = self.expected.lists.objections(verdict);
        checked.contradicted.extend(objections);
        checked.decided += found;
        checked
    }

    /// Figures that were seen, of which a verdict says nothing.
    fn unsaid(&self, verdict: &Json) -> impl Iterator<Item = Contradicted> {
        let optional = |address: &str| OPTIONAL.iter().any(|name| address.ends_with(name));
        let silent = move |address: &str| !optional(address) && verdict.pointer(address).is_none_or(Json::is_null);
        self.expected.figures().filter(move |(address, _)| silent(address)).map(|(address, figure)| Contradicted {
            address: address.to_owned(),
            stated: NOTHING.to_owned(),
            events: figure.to_string(),
            line: figure.line,
        })
    }
}

/// Holds `statements` of `verdict`, and its words, against what is expected of them.
fn hold(expected: &Expected, verdict: &Json, statements: &[Statement], checked: &mut Checked) {
    for statement in statements {
        judge(statement, verdict, expected.at(&statement.address), checked);
    }
    for (address, word) in expected.words() {
        let stated = verdict.pointer(address);
        if word.met_by(stated) {
            checked.decided += 1;
            continue;
        }
        let stated = stated.map_or_else(|| NOTHING.to_owned(), Json::to_string);
        let (address, events) = (address.to_owned(), word.to_string());
        checked.contradicted.push(Contradicted { address, stated, events, line: word.line });
    }
}

/// Checks `statements` of a verdict against the record in `lines`. `verdict` is the verdict itself, in which they stand.
///
/// # Errors
/// When the lines are no record at all.
pub fn check(lines: &str, verdict: &Json, statements: &[Statement]) -> Result<Checked, String> {
    Ok(Opinion::of(lines, verdict)?.on(verdict, statements))
}

/// The same of a verdict that another build of genkai wrote: what it says nothing of anywhere, it may not have known of.
pub fn of_another_build(checked: Checked, verdict: &Json) -> Checked {
    let mut stated = BTreeSet::new();
    predicates(verdict, String::new(), &mut stated);
    let unknown = |one: &Contradicted| one.stated == NOTHING && !stated.contains(&predicate(&one.address));
    let (unstated, contradicted) = checked.contradicted.into_iter().partition(unknown);
    let unstated: Vec<Contradicted> = unstated;
    Checked { contradicted, unstated: unstated.into_iter().map(|one| one.address).collect(), ..checked }
}

/// An address without positions.
fn predicate(address: &str) -> String {
    let is_position = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
    address.split('/').skip(1).filter(|part| !is_position(part)).collect::<Vec<_>>().join("/")
}

/// Everything that a verdict says something of.
fn predicates(tree: &Json, at: String, all: &mut BTreeSet<String>) {
    let inner = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}/{name}") };
    match tree {
        Json::Object(fields) => fields.iter().for_each(|(name, value)| predicates(value, inner(name), all)),
        Json::Array(items) => items.iter().for_each(|item| predicates(item, at.clone(), all)),
        _ => {}
    }
    all.insert(at);
}

/// What the events say of everything that a verdict of any kind states.
fn expect(events: &Events, verdict: &Json) -> Expected {
    let mut expected = Expected::default();
    load::expect(events, verdict, &mut expected);
    trials::expect(events, verdict, &mut expected);
    quoted::expect(events, verdict, &mut expected);
    compare::expect(events, verdict, &mut expected);
    cache::expect(events, verdict, &mut expected);
    latencies::expect(events, verdict, &mut expected);
    workers::over_all(events, verdict, &mut expected);
    rooms::expect(events, verdict, &mut expected);
    idle_requests::expect(events, verdict, &mut expected);
    expected
}

fn judge(statement: &Statement, verdict: &Json, expected: Option<&Expectation>, checked: &mut Checked) {
    let mut differs = |events: String, line: Option<usize>| {
        checked.differences.push(Difference { statement: statement.clone(), events, line });
    };
    if !stands(statement, verdict.pointer(&statement.address)) {
        return differs("the verdict has another value at this address".to_owned(), None);
    }
    if let Some(why) = impossible(statement) {
        return differs(why, None);
    }
    match expected {
        Some(expectation) if !expectation.met_by(&statement.value) => {
            differs(expectation.to_string(), expectation.line);
        }
        Some(expectation) if expectation.is_exact() => checked.recomputed += 1,
        Some(_) => checked.bounded += 1,
        None if matches!(statement.value, Value::Estimate { .. } | Value::Between { .. }) => checked.bounded += 1,
        None => {
            checked.unchecked += 1;
            *checked.unchecked_of.entry(statement.from).or_default() += 1;
        }
    }
}

/// Whether the verdict has the statement's value where it says.
fn stands(statement: &Statement, there: Option<&Json>) -> bool {
    let Some(there) = there else { return false };
    let number = |name: &str| there.get(name).and_then(Json::as_f64);
    match statement.value {
        Value::Count(n) => there.as_u64() == Some(n),
        Value::Measured(x) => there.as_f64().or_else(|| number("measured")) == Some(x),
        Value::MoreThan(x) => number("more_than") == Some(x),
        Value::LessThan(x) => number("less_than") == Some(x),
        Value::Estimate { value, .. } => number("value") == Some(value),
        Value::Between { low, high } => (number("low"), number("high")) == (Some(low), Some(high)),
        Value::NotSampled => there.is_null() || there.as_f64() == Some(0.0) || there == "not_sampled",
    }
}

/// Why no record could say so.
fn impossible(statement: &Statement) -> Option<String> {
    let outside =
        |low: f64, high: f64| (low > high).then(|| format!("the lower end {low} is above the upper end {high}"));
    match statement.value {
        Value::Estimate { value, low, high, .. } => outside(low, high).or_else(|| {
            let slack = 1e-9 * value.abs().max(1e-9);
            (value < low - slack || value > high + slack).then(|| format!("the estimate is outside of {low} to {high}"))
        }),
        Value::Between { low, high } => outside(low, high),
        // A line of a log may be older than the load that it speaks of: one request is asked before any.
        _ if statement.predicate.ends_with("evidence.at") => None,
        Value::Measured(x) if statement.unit == Unit::Seconds && x < 0.0 => Some("a time below zero".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_an_earlier_build_says_nothing_of_anywhere_is_no_objection() {
        let one = |address: &str, stated: &str| Contradicted {
            address: address.to_owned(),
            stated: stated.to_owned(),
            events: "true".to_owned(),
            line: None,
        };
        let objections = vec![
            one("/trials/1/new", NOTHING),
            one("/trials/1/broke", NOTHING),
            one("/trials/0/new", "false"),
            one("/decision", NOTHING),
        ];
        let verdict = json!({ "trials": [{ "broke": { "at": 3 } }, { "number": 2 }] });
        let checked = of_another_build(Checked { contradicted: objections.clone(), ..Checked::default() }, &verdict);
        assert_eq!(checked.unstated, ["/trials/1/new", "/decision"]);
        assert_eq!(checked.contradicted, objections[1..3], "that build says it elsewhere, or says something else");
    }
}
