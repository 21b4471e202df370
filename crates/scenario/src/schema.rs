//! The JSON Schemas (2020-12) of files that people write, for editors, from the descriptions that find their mistakes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::claim::CLAIM;
use crate::form;
use crate::shape::{Kind, Shape};
use crate::systems::SYSTEMS;

/// Schema of a scenario file; ends with a newline.
pub fn scenario() -> String {
    file("genkai scenario", &form::SCENARIO, &[])
}

/// Schema of a file of systems, which are some of `products`; ends with a newline.
pub fn systems(products: &[&str]) -> String {
    file("genkai systems", &SYSTEMS, products)
}

/// Schema of a claim about one of `products`; ends with a newline.
pub fn claim(products: &[&str]) -> String {
    file("genkai claim", &CLAIM, products)
}

fn file(title: &str, shape: &'static Shape, products: &[&str]) -> String {
    let mut definitions = Definitions { all: BTreeMap::new(), products };
    let root = object(shape, &mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": shape.about,
    });
    let all = schema.as_object_mut().expect("an object");
    all.extend(root.as_object().expect("an object").clone().into_iter().filter(|(key, _)| key != "description"));
    all.insert("$defs".to_owned(), Value::Object(definitions.all.into_iter().collect::<Map<_, _>>()));
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema serialises");
    text.push('\n');
    text
}

/// Shapes by name, and the products that there are.
struct Definitions<'a> {
    all: BTreeMap<String, Value>,
    products: &'a [&'a str],
}

fn of(kind: &Kind, definitions: &mut Definitions<'_>) -> Value {
    let scalar = json!(["string", "number", "boolean"]);
    match kind {
        Kind::Same(kind) => of(kind, definitions),
        Kind::Any | Kind::Noted(_) => json!(true),
        Kind::Refused(_) => json!(false),
        Kind::Text => json!({ "type": scalar }),
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Number => json!({ "type": "number", "minimum": 0 }),
        Kind::Whole(least) => json!({ "type": "integer", "minimum": least }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Product => json!({ "enum": definitions.products }),
        Kind::Read(format) => {
            let mut schema = json!({ "type": ["string", "number"], "description": format!("{}, e.g. {}", format.name, format.example) });
            if let Some(pattern) = format.pattern {
                schema["pattern"] = pattern.into();
            }
            schema
        }
        Kind::List(inner) => json!({ "type": "array", "items": of(inner, definitions) }),
        Kind::OneOrMore(inner) => {
            let one = of(inner, definitions);
            json!({ "anyOf": [one, { "type": "array", "items": one }] })
        }
        Kind::Map(inner) => json!({ "type": "object", "additionalProperties": of(inner, definitions) }),
        Kind::Object(shape) => reference(shape, definitions),
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(|kind| of(kind, definitions)).collect::<Vec<_>>() }),
        Kind::Step(shapes) => {
            json!({ "anyOf": shapes.iter().map(|shape| reference(shape, definitions)).collect::<Vec<_>>() })
        }
    }
}

/// Shapes refer to each other, and to themselves.
fn reference(shape: &Shape, definitions: &mut Definitions<'_>) -> Value {
    let name = shape.name.trim_start_matches("a ").trim_start_matches("an ").replace(' ', "_");
    if !definitions.all.contains_key(&name) {
        definitions.all.insert(name.clone(), Value::Null);
        let schema = object(shape, definitions);
        definitions.all.insert(name.clone(), schema);
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn object(shape: &Shape, definitions: &mut Definitions<'_>) -> Value {
    let mut properties = Map::new();
    for field in shape.keys {
        let mut schema = of(&field.kind, definitions);
        // A key without a value is allowed where the key alone says enough.
        if let Some(schema) = schema.as_object_mut() {
            schema.insert("description".to_owned(), field.about.into());
        }
        let schema = if field.needed {
            schema
        } else {
            json!({ "anyOf": [schema, { "type": "null" }], "description": field.about })
        };
        properties.insert(field.name.to_owned(), schema);
    }
    let required: Vec<&str> = shape.keys.iter().filter(|field| field.needed).map(|field| field.name).collect();
    json!({
        "type": "object",
        "description": shape.about,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
