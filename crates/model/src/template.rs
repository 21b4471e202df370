//! Text with places for values: `/users/{{id}}`.
//!
//! `{{name}}` is a variable, `{{name.field}}` a part of one that is a JSON object or array. `{{name | json}}` writes the value as JSON
//! (text in quotes), `{{name | quoted}}` as the inside of a JSON string, `{{name | form}}` percent-encoded as HTML forms are. Functions:
//! `{{$randomNumber(1, 10)}}` (both ends included), `{{$randomString(8)}}`, `{{$uuid()}}`, `{{$timestamp()}}` (milliseconds since 1970).

use std::fmt::{self, Write as _};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Text with places for values. Reads and prints as it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template(pub Vec<Part>);

/// A part of a template.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// As it is.
    Text(String),
    /// A value.
    Value {
        /// Where it comes from.
        from: Origin,
        /// How it is written.
        form: Form,
    },
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// A variable, and the way into it (object keys, array positions).
    Variable(String, Vec<String>),
    /// A whole number between two, both included.
    RandomNumber(i64, i64),
    /// So many random letters and digits.
    RandomString(u32),
    /// A random UUID (RFC 9562 section 5.4).
    Uuid,
    /// Milliseconds since 1970-01-01 UTC.
    Timestamp,
}

/// How a value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As it is; JSON values that are not text in their JSON form.
    #[default]
    Plain,
    /// As a JSON value.
    Json,
    /// As the inside of a JSON string.
    Quoted,
    /// Percent-encoded (WHATWG URL, application/x-www-form-urlencoded).
    Form,
}

/// Text that is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{seen}` {why}")]
pub struct TemplateError {
    /// The part that is not understood.
    pub seen: String,
    /// Why not.
    pub why: &'static str,
}

/// Longest random text.
const LONGEST: u32 = 65_536;

impl Template {
    /// Text without places.
    pub fn text(text: impl Into<String>) -> Template {
        Template(vec![Part::Text(text.into())])
    }

    /// Names of the variables in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            Part::Value { from: Origin::Variable(name, _), .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// The same with every value written in `form`.
    pub fn written(mut self, form: Form) -> Template {
        for part in &mut self.0 {
            if let Part::Value { form: its, .. } = part {
                *its = form;
            }
        }
        self
    }

    /// The only value, when there is nothing else.
    pub fn sole(&self) -> Option<&Origin> {
        match self.0.as_slice() {
            [Part::Value { from, .. }] => Some(from),
            _ => None,
        }
    }

    /// Appends another.
    pub fn push(&mut self, more: Template) {
        for part in more.0 {
            match (self.0.last_mut(), part) {
                (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
                (_, part) => self.0.push(part),
            }
        }
    }

    /// Appends text.
    pub fn push_text(&mut self, text: &str) {
        self.push(Template::text(text));
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Template, TemplateError> {
        let mut template = Template::default();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((inside, after)) = after.split_once("}}") else {
                return Err(TemplateError { seen: format!("{{{{{after}"), why: "has no `}}`" });
            };
            if !before.is_empty() {
                template.push_text(before);
            }
            template.0.push(value(inside)?);
            rest = after;
        }
        if !rest.is_empty() {
            template.push_text(rest);
        }
        Ok(template)
    }
}

/// What stands between the braces.
fn value(inside: &str) -> Result<Part, TemplateError> {
    let error = |why| TemplateError { seen: format!("{{{{{inside}}}}}"), why };
    let (from, form) = match inside.rsplit_once('|') {
        None => (inside, Form::Plain),
        Some((from, "json" | " json" | " json ")) => (from, Form::Json),
        Some((from, "quoted" | " quoted" | " quoted ")) => (from, Form::Quoted),
        Some((from, "form" | " form" | " form ")) => (from, Form::Form),
        Some(_) => return Err(error("has a form that is not `json`, `quoted` or `form`")),
    };
    let from = from.trim();
    if let Some((name, arguments)) = from.strip_suffix(')').and_then(|from| from.split_once('(')) {
        let from = function(name.trim(), arguments).ok_or_else(|| error("is no function that genkai knows"))?;
        return Ok(Part::Value { from, form });
    }
    if ["$uuid", "$timestamp"].contains(&from) {
        return Ok(Part::Value { from: function(from, "").expect("known"), form });
    }
    let steps: Vec<String> = from.replace('[', ".").replace(']', "").split('.').map(unquoted).collect();
    let name = |text: &String| !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-$".contains(c));
    if !steps.iter().all(name) {
        return Err(error("is not the name of a variable"));
    }
    let mut steps = steps.into_iter();
    let first = steps.next().unwrap_or_default();
    Ok(Part::Value { from: Origin::Variable(first, steps.collect()), form })
}

fn unquoted(text: &str) -> String {
    text.trim_matches(['"', '\'']).to_owned()
}

fn function(name: &str, arguments: &str) -> Option<Origin> {
    let numbers: Option<Vec<i64>> = match arguments.trim() {
        "" => Some(Vec::new()),
        some => some.split(',').map(|n| n.trim().parse().ok()).collect(),
    };
    match (name, numbers?.as_slice()) {
        ("$randomNumber", [low, high]) if low <= high => Some(Origin::RandomNumber(*low, *high)),
        ("$randomString", [n]) => {
            u32::try_from(*n).ok().filter(|n| (1..=LONGEST).contains(n)).map(Origin::RandomString)
        }
        ("$randomString", []) => Some(Origin::RandomString(10)),
        ("$uuid", []) => Some(Origin::Uuid),
        ("$timestamp", []) => Some(Origin::Timestamp),
        _ => None,
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for part in &self.0 {
            match part {
                Part::Text(text) => f.write_str(text)?,
                Part::Value { from, form } => write!(f, "{{{{{from}{form}}}}}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable(name, way) => {
                f.write_str(name)?;
                way.iter().try_for_each(|step| write!(f, ".{step}"))
            }
            Origin::RandomNumber(low, high) => write!(f, "$randomNumber({low}, {high})"),
            Origin::RandomString(n) => write!(f, "$randomString({n})"),
            Origin::Uuid => f.write_str("$uuid()"),
            Origin::Timestamp => f.write_str("$timestamp()"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Plain => "",
            Form::Json => " | json",
            Form::Quoted => " | quoted",
            Form::Form => " | form",
        })
    }
}

impl Form {
    /// Appends `text` in this form.
    pub fn write(self, out: &mut String, text: &str) {
        match self {
            Form::Plain => out.push_str(text),
            Form::Json => {
                out.push('"');
                quote(out, text);
                out.push('"');
            }
            Form::Quoted => quote(out, text),
            Form::Form => percent(out, text),
        }
    }
}

/// RFC 8259 section 7.
fn quote(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => write!(out, "\\u{:04x}", c as u32).expect("writing to memory"),
            c => out.push(c),
        }
    }
}

/// WHATWG URL, "application/x-www-form-urlencoded serializing".
fn percent(out: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b if b.is_ascii_alphanumeric() || b"*-._".contains(&b) => out.push(b as char),
            b => write!(out, "%{b:02X}").expect("writing to memory"),
        }
    }
}

impl Serialize for Template {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Template {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Template".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_are_found_and_shown_as_written() {
        let template: Template =
            "/a/{{ id }}/{{user.names[0]|json}}?{{$randomNumber(1,10)}}{{ $uuid }}".parse().unwrap();
        assert_eq!(template.variables().collect::<Vec<_>>(), ["id", "user"]);
        assert_eq!(template.to_string(), "/a/{{id}}/{{user.names.0 | json}}?{{$randomNumber(1, 10)}}{{$uuid()}}");
        assert_eq!(template.to_string().parse(), Ok(template));
        assert_eq!("{{x}}".parse::<Template>().unwrap().sole(), Some(&Origin::Variable("x".into(), vec![])));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        for bad in
            ["{{", "{{}}", "{{a b}}", "{{$exec(1)}}", "{{$randomNumber(9,1)}}", "{{a|upper}}", "{{$randomString(0)}}"]
        {
            assert!(bad.parse::<Template>().is_err(), "{bad}");
        }
        assert!("{ \"a\": {} } }}".parse::<Template>().is_ok(), "braces alone are text");
    }

    #[test]
    fn forms_keep_what_is_around_them_whole() {
        let written = |form: Form| {
            let mut out = String::new();
            form.write(&mut out, "a\"b\\\n\u{1}é &");
            out
        };
        assert_eq!(written(Form::Plain), "a\"b\\\n\u{1}é &");
        assert_eq!(written(Form::Json), "\"a\\\"b\\\\\\n\\u0001é &\"");
        assert_eq!(written(Form::Quoted), "a\\\"b\\\\\\n\\u0001é &");
        assert_eq!(written(Form::Form), "a%22b%5C%0A%01%C3%A9+%26");
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_is_shown(text in "[a-z{}$()|., 0-9]{0,30}") {
            if let Ok(template) = text.parse::<Template>() {
                prop_assert_eq!(template.to_string().parse::<Template>(), Ok(template));
            }
        }
    }
}
