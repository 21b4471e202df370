//! YAML as a tree that knows where everything was written. Aliases are resolved and merge keys (`<<`) merged; how deep and how large a
//! document may become by that is bounded.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Number, Value as Json};

use crate::fault::{Fault, Place};

/// Deepest nesting.
const DEEPEST: usize = 64;
/// Most nodes, those that aliases repeat included.
const MOST: usize = 200_000;

/// A part of a document.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A scalar, and whether it is plain (not quoted): then it may be a number, true, false or null.
    Scalar(String, bool),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) place: Place,
    pub(crate) name: String,
}

impl Node {
    /// Text of a scalar.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, _) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> &[Node] {
        match &self.value {
            Value::List(list) => list,
            _ => &[],
        }
    }

    pub(crate) fn map(&self) -> &[(Key, Node)] {
        match &self.value {
            Value::Map(map) => map,
            _ => &[],
        }
    }

    /// The value of a key, unless it is null.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.map().iter().find(|(key, _)| key.name == name).map(|(_, node)| node).filter(|node| !node.is_null())
    }

    /// The text of a key.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Node::scalar)
    }

    /// Whether a key is true or false.
    pub(crate) fn is(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Node::boolean)
    }

    /// The list of a key; empty without one.
    pub(crate) fn items(&self, name: &str) -> &[Node] {
        self.get(name).map(Node::list).unwrap_or_default()
    }

    /// The value of a key, or the elements of its list; empty without one.
    pub(crate) fn each_of(&self, name: &str) -> &[Node] {
        self.get(name).map(Node::each).unwrap_or_default()
    }

    /// The mapping of a key; empty without one.
    pub(crate) fn entries(&self, name: &str) -> &[(Key, Node)] {
        self.get(name).map(Node::map).unwrap_or_default()
    }

    /// A mistake here.
    pub(crate) fn fault(&self, what: impl Into<String>, hint: impl Into<String>) -> Fault {
        Fault::at(self.place, what, hint)
    }

    /// Whether the key is there, whatever its value.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.map().iter().any(|(key, _)| key.name == name)
    }

    /// The node itself, or the elements of a list.
    pub(crate) fn each(&self) -> &[Node] {
        match &self.value {
            Value::List(list) => list,
            _ => std::slice::from_ref(self),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(text, true) if ["", "~", "null", "Null", "NULL"].contains(&text.as_str()))
    }

    /// YAML 1.2.2 section 10.3, the core schema.
    pub(crate) fn boolean(&self) -> Option<bool> {
        match &self.value {
            Value::Scalar(text, true) => match text.as_str() {
                "true" | "True" | "TRUE" => Some(true),
                "false" | "False" | "FALSE" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// A number, also one in quotes.
    pub(crate) fn number(&self) -> Option<f64> {
        let text = self.scalar()?.trim();
        let digits = text.bytes().any(|b| b.is_ascii_digit()) && text.bytes().all(|b| b"+-.0123456789eE".contains(&b));
        text.parse().ok().filter(|n: &f64| digits && n.is_finite())
    }

    /// What kind of thing it is, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "nothing",
            Value::Scalar(_, true) if self.boolean().is_some() => "true or false",
            Value::Scalar(_, true) if self.number().is_some() => "a number",
            Value::Scalar(..) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Json {
        match &self.value {
            _ if self.is_null() => Json::Null,
            Value::Scalar(text, plain) => {
                let number = || {
                    let whole = text.parse::<i64>().ok().map(Number::from);
                    whole.or_else(|| Number::from_f64(self.number()?)).filter(|_| *plain && self.number().is_some())
                };
                self.boolean()
                    .map(Json::Bool)
                    .or_else(|| number().map(Json::Number))
                    .unwrap_or_else(|| text.clone().into())
            }
            Value::List(list) => Json::Array(list.iter().map(Node::json).collect()),
            Value::Map(map) => Json::Object(map.iter().map(|(key, node)| (key.name.clone(), node.json())).collect()),
        }
    }

    /// Lays `over` upon this: mappings are merged, anything else is replaced.
    pub(crate) fn overlay(&mut self, over: &Node) {
        match (&mut self.value, &over.value) {
            (Value::Map(mine), Value::Map(theirs)) => {
                for (key, node) in theirs {
                    match mine.iter_mut().find(|(known, _)| known.name == key.name) {
                        Some((_, known)) => known.overlay(node),
                        None => mine.push((key.clone(), node.clone())),
                    }
                }
            }
            _ => *self = over.clone(),
        }
    }

    fn size(&self) -> usize {
        1 + match &self.value {
            Value::Scalar(..) => 0,
            Value::List(list) => list.iter().map(Node::size).sum(),
            Value::Map(map) => map.iter().map(|(_, node)| node.size()).sum(),
        }
    }
}

/// A collection that is not finished, with its anchor.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<Key>,
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

/// Reads the only document in `text`.
pub(crate) fn read(text: &str) -> Result<Node, Fault> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| {
            let place = Place { line: e.marker().line(), column: e.marker().col() + 1 };
            Fault::at(
                place,
                format!("this is not YAML: {}", e.info()),
                "indent by spaces; quote text that holds `: ` or ` #`",
            )
        })?;
        let place = place(&span);
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let value = Value::Scalar(text.into_owned(), style == ScalarStyle::Plain);
                builder.put(Node { place, value }, anchor)?;
            }
            Event::SequenceStart(anchor, _) => builder.begin(Node { place, value: Value::List(Vec::new()) }, anchor)?,
            Event::MappingStart(anchor, _) => builder.begin(Node { place, value: Value::Map(Vec::new()) }, anchor)?,
            Event::SequenceEnd | Event::MappingEnd => builder.end()?,
            Event::Alias(anchor) => {
                let node = builder.anchors.get(&anchor).cloned();
                let node = node.ok_or_else(|| Fault::at(place, "this alias refers to itself", ""))?;
                builder.nodes += node.size();
                builder.put(node, 0)?;
            }
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(Fault::at(place, "a second document begins here", "one file holds one scenario"));
                }
            }
            _ => {}
        }
    }
    builder.root.ok_or_else(|| Fault::whole("the file is empty", ""))
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

impl Builder {
    fn begin(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        if self.open.len() >= DEEPEST {
            return Err(node.fault(format!("nested deeper than {DEEPEST}"), ""));
        }
        self.open.push(Open { node, anchor, key: None });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        let Some(Open { mut node, anchor, .. }) = self.open.pop() else { return Ok(()) };
        if let Value::Map(map) = &mut node.value {
            merge(map);
        }
        self.put(node, anchor)
    }

    /// Adds a finished node to what is open.
    fn put(&mut self, node: Node, anchor: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MOST {
            return Err(node.fault(format!("the document has more than {MOST} parts"), ""));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            Value::List(list) => list.push(node),
            Value::Map(map) => match open.key.take() {
                Some(key) => map.push((key, node)),
                None => {
                    let Some(name) = node.scalar() else {
                        return Err(node.fault("a key must be text", "quote it, e.g. \"{{name}}\""));
                    };
                    if name != "<<" && map.iter().any(|(key, _)| key.name == name) {
                        return Err(node.fault(format!("`{name}` is there twice"), "keep one of them"));
                    }
                    open.key = Some(Key { place: node.place, name: name.to_owned() });
                }
            },
            Value::Scalar(..) => {}
        }
        Ok(())
    }
}

/// Merge keys (<https://yaml.org/type/merge.html>): what is merged gives way to what is written.
fn merge(map: &mut Vec<(Key, Node)>) {
    while let Some(at) = map.iter().position(|(key, _)| key.name == "<<") {
        let (_, node) = map.remove(at);
        for source in node.each() {
            for (key, value) in source.map() {
                if key.name != "<<" && !map.iter().any(|(known, _)| known.name == key.name) {
                    map.push((key.clone(), value.clone()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn everything_knows_its_place() {
        let root = read("a: 1\nb:\n  - x\n  - {c: \"2\"}\n").unwrap();
        let list = root.get("b").unwrap();
        assert_eq!(list.list()[0].place, Place { line: 3, column: 5 });
        let (key, value) = &list.list()[1].map()[0];
        assert_eq!((key.place.column, value.kind(), root.get("a").unwrap().kind()), (6, "text", "a number"));
        assert_eq!(root.json().to_string(), r#"{"a":1,"b":["x",{"c":"2"}]}"#);
    }

    #[test]
    fn aliases_and_merge_keys_are_resolved() {
        let root = read("base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\nlist: [*b]\n").unwrap();
        assert_eq!(root.get("more").unwrap().json().to_string(), r#"{"y":3,"x":1}"#);
        assert_eq!(root.get("list").unwrap().list()[0].json().to_string(), r#"{"x":1,"y":2}"#);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let fault = |text: &str| read(text).unwrap_err().within("f").to_string();
        assert!(fault("a: 1\nb: [1\n").starts_with("f:"), "{}", fault("a: 1\nb: [1\n"));
        assert!(fault("a: 1\na: 2\n").starts_with("f:2:1: `a` is there twice"));
        assert!(fault("").contains("empty"));
        assert!(fault(&"[".repeat(100)).contains("nested"));
        let laughs = (1..12).fold("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let m = n - 1;
            format!("{text}a{n}: &a{n} [*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m},*a{m}]\n")
        });
        assert!(fault(&laughs).contains("parts"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~\n]{0,80}") {
            let _ = read(&text);
        }
    }
}
