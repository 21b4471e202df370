//! Everything a finding states, figure by figure: of whom, how much, when, and what of the record it is made of.
//!
//! The list is made once, from the finding itself, so a figure that a report can show has an address, and a field that is added to
//! a finding without a unit ([`table`]) has none, which a test finds. Nothing is computed here.

mod table;

use genkai_model::record::Record;
use genkai_model::statement::{Source, Statement, Unit, Value, Window};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::series;
use crate::window::US;

/// Every figure of `finding`, in its order; with the windows of the trials of `record`, where there is one.
pub fn of(finding: &impl Serialize, record: Option<&Record>) -> Vec<Statement> {
    let tree = serde_json::to_value(finding).expect("findings serialise");
    let mut walk = Walk { record, all: Vec::new() };
    walk.visit(&tree, &Place::default());
    walk.all
}

/// Where in the finding.
#[derive(Clone, Default)]
struct Place {
    address: String,
    names: Vec<String>,
    subject: Option<String>,
    trial: Option<u32>,
    /// Whether what is beside it says that there was nothing to be seen.
    empty: bool,
}

impl Place {
    fn field(&self, name: &str) -> Place {
        let mut place = self.item(name);
        place.names.push(name.to_owned());
        place
    }

    fn item(&self, name: &str) -> Place {
        let name = name.replace('~', "~0").replace('/', "~1");
        Place { address: format!("{}/{name}", self.address), ..self.clone() }
    }
}

struct Walk<'a> {
    record: Option<&'a Record>,
    all: Vec<Statement>,
}

impl Walk<'_> {
    fn visit(&mut self, tree: &Json, place: &Place) {
        match tree {
            Json::Object(fields) => match whole(fields) {
                Some(value) => self.state(value, place),
                None => self.fields(fields, place),
            },
            Json::Array(items) => {
                items.iter().enumerate().for_each(|(i, item)| self.visit(item, &place.item(&i.to_string())));
            }
            Json::Number(number) => {
                let value =
                    number.as_u64().map_or_else(|| number.as_f64().map(Value::Measured), |n| Some(Value::Count(n)));
                if let Some(value) = value {
                    self.state(value, place);
                }
            }
            Json::Null => self.state(Value::NotSampled, place),
            Json::String(text) if text == "not_sampled" => self.state(Value::NotSampled, place),
            Json::String(_) | Json::Bool(_) => {}
        }
    }

    fn fields(&mut self, fields: &Map<String, Json>, place: &Place) {
        let trial = fields.get("trial").and_then(Json::as_u64).map(|n| n as u32);
        let inner = Place {
            trial: trial.or(place.trial),
            subject: subject(fields).or_else(|| place.subject.clone()),
            empty: fields.get("count").and_then(Json::as_u64) == Some(0) && fields.contains_key("p50"),
            ..place.clone()
        };
        fields.iter().for_each(|(name, value)| self.visit(value, &inner.field(name)));
    }

    fn state(&mut self, value: Value, place: &Place) {
        let names: Vec<&str> = place.names.iter().map(String::as_str).collect();
        let Some(unit) = table::unit(&names) else { return };
        let from = table::source(&names);
        let counted = matches!(unit, Unit::Number | Unit::Name | Unit::Microseconds | Unit::Bytes);
        let value = match value {
            _ if place.empty && names.last() != Some(&"count") => Value::NotSampled,
            // Looked at now and then: where no look saw any, nothing is known of the most there were.
            Value::Count(0) if names.ends_with(&["connections", "most"]) => Value::NotSampled,
            // A whole number of seconds is still measured.
            Value::Count(n) if !counted => Value::Measured(n as f64),
            other => other,
        };
        self.all.push(Statement {
            address: place.address.clone(),
            subject: place.subject.clone().unwrap_or_else(|| "run".to_owned()),
            predicate: names.join("."),
            value,
            unit,
            window: self.window(&names, place, from),
            from,
        });
    }

    /// The trial whose intervals a figure is of.
    fn window(&self, names: &[&str], place: &Place, from: Source) -> Option<Window> {
        let of_trial = matches!(from, Source::Ticks | Source::TicksAndSamples | Source::Attendance);
        let only = (names.first() == Some(&"load")).then(|| self.record?.trials.first().map(|t| t.number)).flatten();
        let number = place.trial.or(only).filter(|_| of_trial)?;
        let trial = self.record?.trials.iter().find(|t| t.number == number)?;
        Some(Window { trial: number, from_us: 0, to_us: (series::lasted(trial) * US).round() as u64 })
    }
}

/// What an object states as a whole: an estimate, a range, or a value that says what it is.
fn whole(fields: &Map<String, Json>) -> Option<Value> {
    let number = |name: &str| fields.get(name).and_then(Json::as_f64);
    let ends = |range: &Map<String, Json>| Some((range.get("low")?.as_f64()?, range.get("high")?.as_f64()?));
    if let Some((low, high)) = ends(fields).filter(|_| fields.len() == 2) {
        return Some(Value::Between { low, high });
    }
    if let (Some(value), Some(Json::Object(range)), Some(n)) = (number("value"), fields.get("interval"), number("n")) {
        let (low, high) = ends(range)?;
        return Some(Value::Estimate { value, low, high, n: n as u32 });
    }
    if fields.len() != 1 {
        return None;
    }
    let known = [
        ("measured", Value::Measured as fn(f64) -> Value),
        ("more_than", Value::MoreThan),
        ("less_than", Value::LessThan),
    ];
    known.iter().find_map(|(name, make)| number(name).map(make))
}

/// Of whom the figures of an object are.
fn subject(fields: &Map<String, Json>) -> Option<String> {
    let text = |name: &str| fields.get(name).and_then(Json::as_str).map(str::to_owned);
    let limit = || text("limit").or_else(|| Some(fields.get("limit")?.get("id")?.as_str()?.to_owned()));
    let pair = |a: &str, b: &str| Some(format!("{} and {}", text(a)?, text(b)?));
    let trial = || fields.get("trial").and_then(Json::as_u64).map(|n| format!("trial {n}"));
    text("name")
        .or_else(|| text("contender"))
        .or_else(|| pair("faster", "slower"))
        .or_else(|| pair("other", "base"))
        .or_else(|| limit().map(|id| format!("limit {id}")))
        .or_else(trial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn stated(finding: &Json) -> Vec<(String, String, Value)> {
        of(finding, None).into_iter().map(|s| (s.address, s.subject, s.value)).collect()
    }

    #[test]
    fn a_figure_has_its_address_its_subject_and_what_kind_of_value_it_is() {
        let finding = json!({
            "load": { "failed": 3, "lasted": 2, "latency": { "count": 0, "p50": 0.0 }, "service": { "count": 1, "p50": 0.5 } },
            "causes": [{ "limit": { "id": "worker_connections" }, "trial": 1, "broke": { "seen": { "more_than": 0.3 } } }],
            "proof": { "failed_before": { "value": 0.1, "interval": { "low": 0.0, "high": 0.2 }, "n": 3 } },
            "next": { "users": { "low": 10.0, "high": 12.0 }, "rate": null },
        });
        let wanted = [
            ("/load/failed", "run", Value::Count(3)),
            ("/load/lasted", "run", Value::Measured(2.0)),
            ("/load/latency/count", "run", Value::Count(0)),
            ("/load/latency/p50", "run", Value::NotSampled),
            ("/load/service/count", "run", Value::Count(1)),
            ("/load/service/p50", "run", Value::Measured(0.5)),
            ("/causes/0/trial", "limit worker_connections", Value::Count(1)),
            ("/causes/0/broke/seen", "limit worker_connections", Value::MoreThan(0.3)),
            ("/proof/failed_before", "run", Value::Estimate { value: 0.1, low: 0.0, high: 0.2, n: 3 }),
            ("/next/users", "run", Value::Between { low: 10.0, high: 12.0 }),
            ("/next/rate", "run", Value::NotSampled),
        ];
        let wanted: Vec<_> = wanted.map(|(a, s, v)| (a.to_owned(), s.to_owned(), v)).into_iter().collect();
        assert_eq!(stated(&finding), wanted);
    }

    #[test]
    fn a_field_that_nobody_gave_a_unit_states_nothing() {
        assert_eq!(stated(&json!({ "load": { "flux": 3 } })), []);
    }
}
