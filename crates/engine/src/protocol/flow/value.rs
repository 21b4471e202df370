//! Variables of a user, and templates that use them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use genkai_model::template::{Form, Origin, Part, Template};
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use serde_json::Value as Json;

/// A value. Shared, because users take it from tables and constants.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Text.
    Text(Arc<str>),
    /// Something else that JSON knows.
    Json(Arc<Json>),
}

impl Value {
    /// `json` as a value: strings are text.
    pub(super) fn of(json: &Json) -> Value {
        match json {
            Json::String(text) => Value::Text(text.as_str().into()),
            other => Value::Json(Arc::new(other.clone())),
        }
    }

    pub(super) fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    /// A part of it: `way` of object keys and array positions.
    fn part(&self, way: &[String]) -> Option<Value> {
        let Value::Json(json) = self else { return way.is_empty().then(|| self.clone()) };
        let mut at: &Json = json;
        for step in way {
            at = match at {
                Json::Object(map) => map.get(step)?,
                Json::Array(list) => list.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(Value::of(at))
    }

    fn write(&self, out: &mut String, form: Form) {
        match self {
            Value::Text(text) => form.write(out, text),
            Value::Json(json) if form == Form::Json => out.push_str(&json.to_string()),
            Value::Json(json) => form.write(out, &json.to_string()),
        }
    }

    /// Its elements, if it is an array.
    pub(super) fn elements(&self) -> Option<Vec<Value>> {
        match self {
            Value::Json(json) => json.as_array().map(|list| list.iter().map(Value::of).collect()),
            Value::Text(_) => None,
        }
    }
}

/// Names of variables and their positions among a user's slots.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// The slot of `name`, a new one if it has none.
    pub(super) fn slot(&mut self, name: &str) -> usize {
        self.0.iter().position(|known| known == name).unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        })
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A template whose variables are slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Slot { slot: usize, way: Vec<String>, form: Form },
    Function(Origin),
}

/// A variable that a template needs has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unset;

impl Writer {
    pub(super) fn new(template: &Template, names: &mut Names) -> Writer {
        let piece = |part: &Part| match part {
            Part::Text(text) => Piece::Text(text.clone()),
            Part::Value { from: Origin::Variable(name, way), form } => {
                Piece::Slot { slot: names.slot(name), way: way.clone(), form: *form }
            }
            Part::Value { from, .. } => Piece::Function(from.clone()),
        };
        Writer(template.0.iter().map(piece).collect())
    }

    /// Appends the text with its values.
    pub(super) fn write(&self, out: &mut String, slots: &[Option<Value>], random: &mut Pcg64Mcg) -> Result<(), Unset> {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Slot { slot, way, form } => {
                    let value = slots[*slot].as_ref().ok_or(Unset)?;
                    if way.is_empty() {
                        value.write(out, *form);
                    } else {
                        value.part(way).ok_or(Unset)?.write(out, *form);
                    }
                }
                Piece::Function(function) => call(function, out, random),
            }
        }
        Ok(())
    }
}

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn call(function: &Origin, out: &mut String, random: &mut Pcg64Mcg) {
    use std::fmt::Write as _;
    let written = match function {
        Origin::RandomNumber(low, high) => write!(out, "{}", random.random_range(*low..=*high)),
        Origin::RandomString(n) => {
            out.extend((0..*n).map(|_| LETTERS[random.random_range(0..LETTERS.len())] as char));
            Ok(())
        }
        Origin::Uuid => {
            // RFC 9562 section 5.4: version 4, variant 10.
            let bits = random.random::<u128>() & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
            let (a, b, c) = (bits >> 96, bits >> 80 & 0xffff, bits >> 64 & 0xffff);
            write!(out, "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", bits >> 48 & 0xffff, bits & 0xffff_ffff_ffff)
        }
        Origin::Timestamp => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            write!(out, "{}", now.as_millis())
        }
        Origin::Variable(..) => Ok(()),
    };
    written.expect("writing to memory");
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use serde_json::json;

    fn written(template: &str, values: &[(&str, Json)]) -> Result<String, Unset> {
        let mut names = Names::default();
        let writer = Writer::new(&template.parse().unwrap(), &mut names);
        let mut slots = vec![None; names.len() + values.len()];
        for (name, value) in values {
            slots[names.slot(name)] = Some(Value::of(value));
        }
        let mut out = String::new();
        writer.write(&mut out, &slots, &mut Pcg64Mcg::seed_from_u64(7)).map(|()| out)
    }

    #[test]
    fn values_are_written_in_the_form_of_their_place() {
        let values = [("a", json!("x\"y")), ("n", json!(7)), ("o", json!({"list": [1, {"k": "v"}]}))];
        let all = written("{{a}} {{a|json}} {{a|quoted}} {{n}} {{n|json}} {{o.list[1].k}} {{o.list | json}}", &values);
        assert_eq!(all.unwrap(), "x\"y \"x\\\"y\" x\\\"y 7 7 v [1,{\"k\":\"v\"}]");
        assert_eq!(written("{{b}}", &values), Err(Unset));
        assert_eq!(written("{{o.other}}", &values), Err(Unset));
    }

    #[test]
    fn functions_give_what_their_names_say() {
        for _ in 0..50 {
            let n: i64 = written("{{$randomNumber(-2, 3)}}", &[]).unwrap().parse().unwrap();
            assert!((-2..=3).contains(&n));
        }
        let uuid = written("{{$uuid()}}", &[]).unwrap();
        assert_eq!((uuid.len(), &uuid[14..15]), (36, "4"));
        assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        assert_eq!(written("{{$randomString(12)}}", &[]).unwrap().len(), 12);
        assert!(written("{{$timestamp}}", &[]).unwrap().parse::<u64>().unwrap() > 1_700_000_000_000);
    }
}
