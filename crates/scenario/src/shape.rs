//! What a file may hold, as data: the same description finds mistakes in a document and makes the JSON Schema for editors, so the
//! two cannot disagree.

use crate::fault::{Fault, Place};
use crate::yaml::{Node, Value};

/// What a value may be.
pub(crate) enum Kind {
    /// Anything: it becomes JSON.
    Any,
    /// Any scalar.
    Text,
    /// A whole number from a smallest.
    Whole(u64),
    /// A number from zero.
    Number,
    Bool,
    /// A scalar that this reads; its name, a pattern for the schema, an example.
    Read(&'static Format),
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a product. Which there are, the caller knows ([`one_of`]).
    Product,
    List(&'static Kind),
    /// One, or a list of them.
    OneOrMore(&'static Kind),
    /// Any keys, each with such a value.
    Map(&'static Kind),
    Object(&'static Shape),
    /// One of these, told apart by whether it is a scalar, a list or a mapping.
    Either(&'static [Kind]),
    /// As that one is: how steps hold steps.
    Same(&'static Kind),
    /// One of these, told apart by the key that comes first in its shape.
    Step(&'static [&'static Shape]),
    /// Known, and cannot be done: why.
    Refused(&'static str),
    /// Known, and done otherwise: how.
    Noted(&'static str),
}

/// Text in a format.
pub(crate) struct Format {
    /// With its article: `a duration`.
    pub(crate) name: &'static str,
    pub(crate) pattern: Option<&'static str>,
    pub(crate) example: &'static str,
    pub(crate) read: fn(&str) -> Result<(), String>,
}

/// Text in a format, which has a name with its article, an example, and a function that reads it.
pub(crate) const fn reads(name: &'static str, example: &'static str, read: fn(&str) -> Result<(), String>) -> Format {
    Format { name, pattern: None, example, read }
}

impl Format {
    /// The same with a pattern for the schema.
    pub(crate) const fn pattern(self, pattern: &'static str) -> Format {
        Format { pattern: Some(pattern), ..self }
    }
}

/// A mapping with known keys.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) keys: &'static [Field],
}

/// A shape that has no keys yet.
pub(crate) const fn shape(name: &'static str, about: &'static str) -> Shape {
    Shape { name, about, keys: &[] }
}

impl Shape {
    pub(crate) const fn keys(self, keys: &'static [Field]) -> Shape {
        Shape { keys, ..self }
    }
}

/// A key and what it means.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) about: &'static str,
    /// Whether it must be there.
    pub(crate) needed: bool,
}

/// A field that may be there.
pub(crate) const fn field(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, about, needed: false }
}

/// A field that must be there.
pub(crate) const fn needed(name: &'static str, kind: Kind, about: &'static str) -> Field {
    Field { name, kind, about, needed: true }
}

/// What is done otherwise than the file says: place and sentence.
pub(crate) type Notes = Vec<(Place, String)>;

/// Finds the first mistake in `node`, which `name` names in messages.
pub(crate) fn check(node: &Node, kind: &Kind, name: &str, notes: &mut Notes) -> Result<(), Fault> {
    let wrong = |wanted: &str| Err(unlike(node, wanted, name));
    match kind {
        Kind::Any => Ok(()),
        Kind::Same(kind) => check(node, kind, name, notes),
        Kind::Text | Kind::Product if node.scalar().is_some() && !node.is_null() => Ok(()),
        Kind::Text | Kind::Product => wrong("text"),
        Kind::Bool if node.boolean().is_some() => Ok(()),
        Kind::Bool => wrong("true or false"),
        Kind::Number if node.number().is_some_and(|n| n >= 0.0) => Ok(()),
        Kind::Number => wrong("a number of 0 or more"),
        Kind::Whole(least) if node.number().is_some_and(|n| n.fract() == 0.0 && n >= *least as f64 && n < 1e15) => {
            Ok(())
        }
        Kind::Whole(least) => wrong(&format!("a whole number of {least} or more")),
        Kind::Word(words) => one_of(node, words, name),
        Kind::Read(format) => match node.scalar().filter(|_| !node.is_null()) {
            None => wrong(format.name),
            Some(text) => (format.read)(text).map_err(|why| {
                let what = format!("`{name}` must be {}, not `{text}`{why}", format.name);
                node.fault(what, format!("write it like {}", format.example))
            }),
        },
        Kind::List(inner) => match &node.value {
            Value::List(list) => list.iter().try_for_each(|one| check(one, inner, name, notes)),
            _ => wrong("a list"),
        },
        Kind::OneOrMore(inner) => node.each().iter().try_for_each(|one| check(one, inner, name, notes)),
        Kind::Map(inner) => match &node.value {
            Value::Map(map) => map.iter().try_for_each(|(key, one)| check(one, inner, &key.name, notes)),
            _ => wrong("a mapping"),
        },
        Kind::Object(shape) => object(node, shape, name, notes),
        Kind::Either(kinds) => match kinds.iter().find(|kind| fits(node, kind)) {
            Some(kind) => check(node, kind, name, notes),
            None => wrong(&kinds.iter().map(wanted).collect::<Vec<_>>().join(" or ")),
        },
        Kind::Step(shapes) => step(node, shapes, name, notes),
        Kind::Refused(why) => Err(node.fault(format!("`{name}` cannot be done: {why}"), "remove it")),
        Kind::Noted(how) => {
            notes.push((node.place, format!("`{name}`: {how}")));
            Ok(())
        }
    }
}

fn unlike(node: &Node, wanted: &str, name: &str) -> Fault {
    let seen = match node.scalar() {
        Some(text) if !node.is_null() => format!("{}, `{text}`", node.kind()),
        _ => node.kind().to_owned(),
    };
    node.fault(format!("`{name}` must be {wanted}, not {seen}"), "")
}

/// Refuses what is none of `words`; `name` names it in the message.
pub(crate) fn one_of(node: &Node, words: &[&str], name: &str) -> Result<(), Fault> {
    match node.scalar() {
        Some(text) if words.contains(&text) => Ok(()),
        _ => Err(unlike(node, &format!("one of {}", words.join(", ")), name)),
    }
}

/// Whether `node` is of the sort that `kind` describes, right or wrong.
fn fits(node: &Node, kind: &Kind) -> bool {
    match (&node.value, kind) {
        (_, Kind::Same(kind)) => fits(node, kind),
        (_, Kind::Any | Kind::Refused(_) | Kind::Noted(_) | Kind::OneOrMore(_)) => true,
        (Value::Scalar(..), Kind::Bool) => node.boolean().is_some(),
        (Value::Scalar(..), Kind::Number | Kind::Whole(_)) => node.number().is_some(),
        (Value::Scalar(..), Kind::Read(_) | Kind::Text | Kind::Word(_) | Kind::Product) => !node.is_null(),
        (Value::List(_), Kind::List(_)) => true,
        (Value::Map(_), Kind::Map(_) | Kind::Object(_) | Kind::Step(_)) => true,
        _ => false,
    }
}

fn wanted(kind: &Kind) -> String {
    match kind {
        Kind::Same(kind) => wanted(kind),
        Kind::Bool => "true or false".to_owned(),
        Kind::Number | Kind::Whole(_) => "a number".to_owned(),
        Kind::Read(format) => format.name.to_owned(),
        Kind::List(_) => "a list".to_owned(),
        Kind::Map(_) | Kind::Object(_) | Kind::Step(_) => "a mapping".to_owned(),
        _ => "text".to_owned(),
    }
}

fn object(node: &Node, shape: &Shape, name: &str, notes: &mut Notes) -> Result<(), Fault> {
    let Value::Map(map) = &node.value else {
        let what = format!("`{name}` must be a mapping, not {}", node.kind());
        return Err(node.fault(what, format!("known keys: {}", known(shape))));
    };
    for (key, value) in map {
        let Some(field) = shape.keys.iter().find(|field| field.name == key.name) else {
            return Err(unknown(
                key.place,
                &key.name,
                shape.name,
                shape.keys.iter().map(|field| field.name),
                known(shape),
            ));
        };
        // A key without a value is as if it were not there, unless it is all that says what is meant.
        let empty = value.is_null() && !field.needed;
        match field.kind {
            Kind::Refused(why) => {
                return Err(Fault::at(key.place, format!("`{}` cannot be done: {why}", key.name), "remove it"));
            }
            Kind::Noted(how) => notes.push((key.place, format!("`{}`: {how}", key.name))),
            _ if empty => {}
            _ => check(value, &field.kind, field.name, notes)?,
        }
    }
    match shape.keys.iter().find(|field| field.needed && !node.has(field.name)) {
        Some(field) => Err(node.fault(format!("{} needs `{}`", shape.name, field.name), "")),
        None => Ok(()),
    }
}

fn step(node: &Node, shapes: &[&Shape], name: &str, notes: &mut Notes) -> Result<(), Fault> {
    let kinds: Vec<&str> = shapes.iter().map(|shape| shape.keys[0].name).collect();
    if !matches!(node.value, Value::Map(_)) {
        let what = format!("each of `{name}` must be a mapping, not {}", node.kind());
        return Err(node.fault(what, format!("it begins with one of {}", kinds.join(", "))));
    }
    match shapes.iter().find(|shape| node.has(shape.keys[0].name)) {
        Some(shape) => object(node, shape, shape.name, notes),
        None => match node.map().first() {
            Some((key, _)) => {
                Err(unknown(key.place, &key.name, name, kinds.iter().copied(), format!("one of {}", kinds.join(", "))))
            }
            None => Err(node.fault(format!("one of `{name}` is empty"), format!("one of {}", kinds.join(", ")))),
        },
    }
}

fn known(shape: &Shape) -> String {
    let honoured = shape.keys.iter().filter(|field| !matches!(field.kind, Kind::Refused(_)));
    honoured.map(|field| field.name).collect::<Vec<_>>().join(", ")
}

/// A key that is not known, and the one that was perhaps meant.
fn unknown<'a>(place: Place, seen: &str, of: &str, names: impl Iterator<Item = &'a str>, all: String) -> Fault {
    Fault::at(
        place,
        format!("unknown key `{seen}` in {of}"),
        nearest(seen, names).map_or(format!("known: {all}"), |near| format!("did you mean `{near}`?")),
    )
}

/// Which of `names` was perhaps meant, else all that are known.
pub(crate) fn meant<'a>(seen: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    nearest(seen, names.clone()).map_or_else(
        || format!("known: {}", names.collect::<Vec<_>>().join(", ")),
        |near| format!("did you mean `{near}`?"),
    )
}

/// The name most like `seen`, if any is.
fn nearest<'a>(seen: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let seen = seen.to_lowercase();
    names
        .map(|name| (strsim::damerau_levenshtein(&seen, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 2.max(name.len() / 3) && *distance < name.len())
        .min()
        .map(|(_, name)| name)
}
