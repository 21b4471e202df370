//! What is taken from an answer, and what it must be.

use genkai_model::scenario::{Capture, Check, Expected, Source};

use super::{span, whole};
use crate::builder::Builder;
use crate::fault::Fault;
use crate::form::{self, statuses};
use crate::yaml::{Key, Node};

pub(super) fn captures(node: &Node, builder: &mut Builder<'_>) -> Result<Vec<Capture>, Fault> {
    let mut all = Vec::new();
    for (key, node) in node.entries("capture") {
        let text = |name: &str| node.text(name).map(str::to_owned);
        let from = match (text("json"), text("regex"), text("header"), node.has("body")) {
            (Some(json), None, None, false) => Source::Json(json),
            (None, Some(pattern), None, false) => regex(pattern, node)?,
            (None, None, Some(name), false) => Source::Header(name),
            (None, None, None, true) => Source::Body,
            _ => {
                return Err(node.fault("a capture has one of json, regex, header, body", "e.g. {json: /token}"));
            }
        };
        builder.defines(&key.name);
        let optional = node.is("optional").unwrap_or(false);
        all.push(Capture { variable: key.name.clone(), from, optional });
    }
    Ok(all)
}

/// A regular expression with its group.
pub(crate) fn regex(pattern: String, node: &Node) -> Result<Source, Fault> {
    let groups = regex::Regex::new(&pattern).map_or(1, |regex| regex.captures_len());
    let group = node.get("group").map_or(u64::from(groups > 1), whole) as u32;
    if group as usize >= groups {
        return Err(node.fault(format!("`{pattern}` has no group {group}"), "put it in parentheses"));
    }
    Ok(Source::Regex { pattern, group })
}

/// Refuses a key that is no place in JSON.
fn in_json(path: &Key) -> Result<(), Fault> {
    (form::JSON.read)(&path.name).map_err(|why| {
        let what = format!("`{}` is not a place in JSON{why}", path.name);
        Fault::at(path.place, what, format!("write it like {}", form::JSON.example))
    })
}

pub(super) fn checks(node: &Node, of: &str, builder: &mut Builder<'_>) -> Result<Vec<Check>, Fault> {
    let strict = node.is("strict").unwrap_or(false);
    let mut all = Vec::new();
    for (key, value) in node.map() {
        if value.is_null() {
            continue;
        }
        let mut add = |about: String, what: Expected, builder: &mut Builder<'_>| {
            all.push(builder.check(of, &about, what, strict, key.place)?);
            Ok::<(), Fault>(())
        };
        let texts: Vec<&str> = value.each().iter().filter_map(Node::scalar).collect();
        match key.name.as_str() {
            "status" => {
                let ranges = texts.iter().filter_map(|text| statuses(text)).collect();
                add(format!("status {}", texts.join(", ")), Expected::Status(ranges), builder)?;
            }
            "contains" => {
                for one in value.each() {
                    let text = builder.template(one);
                    add(format!("contains `{text}`"), Expected::Contains(text), builder)?;
                }
            }
            "matches" => add(format!("matches `{}`", texts.concat()), Expected::Matches(texts.concat()), builder)?,
            "exists" => {
                for text in &texts {
                    add(format!("{text} exists"), Expected::Exists(Source::Json((*text).to_owned())), builder)?;
                }
            }
            "latency" => {
                let most = span(value).unwrap_or_default();
                add(format!("latency < {most}"), Expected::Within(most), builder)?;
            }
            "json" => {
                for (path, wanted) in value.map() {
                    in_json(path)?;
                    let text = builder.template(wanted);
                    add(
                        format!("{} = {text}", path.name),
                        Expected::Equals(Source::Json(path.name.clone()), text),
                        builder,
                    )?;
                }
            }
            "header" => {
                for (name, wanted) in value.map() {
                    let text = builder.template(wanted);
                    add(format!("{}: {text}", name.name), Expected::HeaderContains(name.name.clone(), text), builder)?;
                }
            }
            _ => {}
        }
    }
    Ok(all)
}
