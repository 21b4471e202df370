//! What is taken from an answer, and what it must be.

use genkai_model::scenario::{Capture, Check, Expected, Source};
use genkai_model::template::Template;

use super::template;
use crate::artillery::{Common, texts};
use crate::builder::Builder;
use crate::fault::Fault;
use crate::native::regex;
use crate::yaml::Node;

pub(super) fn captures(node: &Node, builder: &mut Builder<'_>, common: &Common) -> Result<Vec<Capture>, Fault> {
    let mut all = Vec::new();
    for node in node.each_of("capture") {
        let text = |name: &str| node.text(name).map(str::to_owned);
        let from = match (text("json"), text("regexp"), text("header")) {
            (Some(path), None, None) => Source::Json(path),
            (None, Some(pattern), None) => regex(flagged(pattern, node)?, node)?,
            (None, None, Some(name)) => Source::Header(name),
            _ => return Err(node.fault("a capture has one of json, regexp, header", "keep one of them")),
        };
        let variable = text("as").unwrap_or_default();
        builder.defines(&variable);
        let strict = node.is("strict").unwrap_or(common.strict);
        all.push(Capture { variable, from, optional: !strict });
    }
    Ok(all)
}

/// Flags of a JavaScript regular expression, as the expression itself says them.
fn flagged(pattern: String, node: &Node) -> Result<String, Fault> {
    let Some(flags) = node.text("flags") else { return Ok(pattern) };
    if let Some(bad) = flags.chars().find(|flag| !"gimsu".contains(*flag)) {
        return Err(
            node.fault(format!("the flag `{bad}` of a regular expression cannot be done"), "known: g, i, m, s, u")
        );
    }
    // The first match is taken whether `g` says so or not, and all text is Unicode.
    let own: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
    Ok(if own.is_empty() { pattern } else { format!("(?{own}){pattern}") })
}

pub(super) fn matches(node: &Node, of: &str, builder: &mut Builder<'_>) -> Result<Vec<Check>, Fault> {
    let mut all = Vec::new();
    for node in node.each_of("match") {
        let path = node.text("json").unwrap_or_default().to_owned();
        let value = node.get("value").map_or(Ok(Template::default()), |node| template(node, builder))?;
        let strict = node.is("strict").unwrap_or(true);
        let about = format!("{path} = {value}");
        all.push(builder.check(of, &about, Expected::Equals(Source::Json(path), value), strict, node.place)?);
    }
    Ok(all)
}

pub(super) fn expectations(node: &Node, of: &str, builder: &mut Builder<'_>) -> Result<Vec<Check>, Fault> {
    let mut all = Vec::new();
    for (key, value) in node.map() {
        let texts = texts(Some(value));
        let mut codes: Vec<u16> = value.each().iter().filter_map(Node::number).map(|n| n as u16).collect();
        codes.sort_unstable();
        let first = || texts.first().cloned().unwrap_or_default();
        let (about, what) = match key.name.as_str() {
            "statusCode" => (
                format!("status {}", texts.join(", ")),
                Expected::Status(codes.iter().map(|code| (*code, *code)).collect()),
            ),
            "notStatusCode" => (format!("status not {}", texts.join(", ")), Expected::Status(others(&codes))),
            "contentType" => {
                let text = template(value, builder)?;
                (format!("content type {text}"), Expected::HeaderContains("Content-Type".to_owned(), text))
            }
            "hasHeader" => (format!("has header {}", first()), Expected::Exists(Source::Header(first()))),
            "headerEquals" => {
                let [name, wanted] = value.list() else {
                    return Err(Fault::at(
                        value.place,
                        "`headerEquals` is a list of two",
                        "e.g. [content-type, text/html]",
                    ));
                };
                let (name, wanted) = (name.scalar().unwrap_or_default().to_owned(), template(wanted, builder)?);
                (format!("header {name} = {wanted}"), Expected::Equals(Source::Header(name), wanted))
            }
            "hasProperty" => {
                let path = if first().starts_with('$') { first() } else { format!("$.{}", first()) };
                if let Err(why) = (crate::form::JSON.read)(&path) {
                    return Err(Fault::at(
                        value.place,
                        format!("`{}` is not a property{why}", first()),
                        "e.g. user.name",
                    ));
                }
                (format!("has {}", first()), Expected::Exists(Source::Json(path)))
            }
            "matchesRegexp" => (format!("matches `{}`", first()), Expected::Matches(first())),
            _ => continue,
        };
        all.push(builder.check(of, &about, what, false, key.place)?);
    }
    Ok(all)
}

/// All statuses but these, which are in order.
fn others(codes: &[u16]) -> Vec<(u16, u16)> {
    let (mut from, mut all) = (100, Vec::new());
    for code in codes {
        if *code > from {
            all.push((from, code - 1));
        }
        from = from.max(code + 1);
    }
    all.push((from, 999.max(from)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_statuses_but_some() {
        assert_eq!(others(&[200, 201, 500]), [(100, 199), (202, 499), (501, 999)]);
    }
}
