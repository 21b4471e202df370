//! A server that genkai does not know, as its user starts it: a command line with parameters in braces.

use std::collections::BTreeSet;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How such a server is started, and what of that can be set. The values are the settings of its system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandLine {
    /// Program and arguments, with `{NAME}` where a value goes.
    pub words: Vec<String>,
    /// A file with `{NAME}` where a value goes, of which a filled copy is made; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<PathBuf>,
    /// What can be set, in the order in which it is tried.
    pub parameters: Vec<Parameter>,
}

/// Something that can be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// Its name, as it stands in braces.
    pub name: String,
    /// What it accepts.
    pub kind: ParameterKind,
}

/// What a parameter accepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// A whole number.
    Number {
        /// The smallest.
        least: u64,
        /// The largest; none: no bound is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
    /// One of these words.
    Words(Vec<String>),
    /// Anything; genkai does not change it.
    Text,
    /// A secret: the command gets it, nothing that is written has it, and genkai does not change it.
    Secret,
}

/// Names in braces that genkai gives a value: where to listen (`listen` is `host:port`), the filled file, and a private folder.
pub const OWN: [&str; 5] = ["listen", "host", "port", "template", "dir"];

impl Parameter {
    /// Reads `NAME=VALUE`: a number (`workers=2`), one with its range (`workers=2:1..64`), one of some words, the present one first
    /// (`mode=sync|async`), or text. Gives the present value, too.
    ///
    /// # Errors
    /// What is wrong with it, as a clause.
    pub fn read(text: &str) -> Result<(Parameter, String), String> {
        let (name, value) = text.split_once('=').ok_or("write it like workers=2 or workers=2:1..64")?;
        let (name, value) = (name.trim(), value.trim());
        if !is_name(name) {
            return Err(format!("`{name}` is no name: letters, digits and _ are, the first one a letter"));
        }
        if OWN.contains(&name) {
            return Err(format!("genkai gives {{{name}}} its value itself; choose another name"));
        }
        if value.is_empty() {
            return Err("it has no value".to_owned());
        }
        let (kind, present) = kind(value)?;
        Ok((Parameter { name: name.to_owned(), kind }, present))
    }

    /// Whether it accepts a value.
    pub fn accepts(&self, value: &str) -> bool {
        match &self.kind {
            ParameterKind::Number { least, most } => {
                value.parse::<u64>().is_ok_and(|n| n >= *least && most.is_none_or(|most| n <= most))
            }
            ParameterKind::Words(words) => words.iter().any(|word| word == value),
            ParameterKind::Text | ParameterKind::Secret => true,
        }
    }

    /// The same parameter with a value that nobody is to see. One with a range stays: what is to be tried is no secret.
    ///
    /// # Errors
    /// As [`Parameter::read`], of the name alone: what is said has nothing of the value in it.
    pub fn read_secret(text: &str) -> Result<(Parameter, String), String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        if let Ok((parameter @ Parameter { kind: ParameterKind::Number { most: Some(_), .. }, .. }, value)) =
            Parameter::read(text)
        {
            return Ok((parameter, value));
        }
        let value = value.trim();
        let plain = if value.is_empty() { "" } else { "text" };
        let (parameter, _) = Parameter::read(&format!("{name}={plain}"))?;
        Ok((Parameter { kind: ParameterKind::Secret, ..parameter }, value.to_owned()))
    }
}

/// A name as it may stand in braces.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn kind(value: &str) -> Result<(ParameterKind, String), String> {
    if let Some((present, range)) = value.split_once(':').filter(|(_, range)| range.contains("..")) {
        return ranged(present, range);
    }
    if value.contains('|') {
        let words: Vec<String> = value.split('|').map(|word| word.trim().to_owned()).collect();
        let unlike: BTreeSet<&String> = words.iter().collect();
        if words.iter().any(String::is_empty) || unlike.len() < words.len() {
            return Err("write each word once, like mode=sync|async".to_owned());
        }
        let present = words[0].clone();
        return Ok((ParameterKind::Words(words), present));
    }
    let kind = match value.parse::<u64>() {
        Ok(_) => ParameterKind::Number { least: 0, most: None },
        Err(_) => ParameterKind::Text,
    };
    Ok((kind, value.to_owned()))
}

fn ranged(present: &str, range: &str) -> Result<(ParameterKind, String), String> {
    let (least, most) = range.split_once("..").unwrap_or((range, range));
    let number = |text: &str| {
        text.trim().parse::<u64>().map_err(|_| format!("`{}` is no whole number; write it like 2:1..64", text.trim()))
    };
    let (present, least, most) = (number(present)?, number(least)?, number(most)?);
    if least > most {
        return Err(format!("{least}..{most} is no range; write the least first"));
    }
    if !(least..=most).contains(&present) {
        return Err(format!("{present} is not from {least} to {most}"));
    }
    Ok((ParameterKind::Number { least, most: Some(most) }, present.to_string()))
}

/// A piece of a text with braces.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece<'t> {
    Plain(&'t str),
    Name(&'t str),
}

/// The pieces of a text. `{NAME}` is a name; `${NAME}`, `{{NAME}}` and all other braces are as they stand.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut all = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let name = text[open + 1..].find('}').map(|end| &text[open + 1..open + 1 + end]).filter(|name| is_name(name));
        let kept = text[..open].ends_with(['$', '{']);
        at = open + 1;
        if let Some(name) = name.filter(|_| !kept) {
            all.push(Piece::Plain(&text[from..open]));
            all.push(Piece::Name(name));
            at = open + name.len() + 2;
            from = at;
        }
    }
    all.push(Piece::Plain(&text[from..]));
    all
}

/// The names in braces of a text, each once.
pub fn names(text: &str) -> BTreeSet<String> {
    let name = |piece| if let Piece::Name(name) = piece { Some(name.to_owned()) } else { None };
    pieces(text).into_iter().filter_map(name).collect()
}

/// A text with values for its names in braces. A name without a value stays as it stands; `{{NAME}}` of one with a value becomes `{NAME}`.
pub fn fill<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let one = |piece| match piece {
        Piece::Plain(text) => single(text, &value),
        Piece::Name(name) => value(name).map_or_else(|| format!("{{{name}}}"), str::to_owned),
    };
    pieces(text).into_iter().map(one).collect()
}

/// `{{NAME}}` of a name that has a value as `{NAME}`.
fn single<'v>(text: &str, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        match after.split_once("}}").filter(|(name, _)| value(name).is_some()) {
            Some((name, tail)) => {
                out.push_str(&format!("{{{name}}}"));
                rest = tail;
            }
            None => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbers_ranges_words_or_text() {
        let read = |text: &str| Parameter::read(text).map(|(parameter, value)| (parameter.name, parameter.kind, value));
        let words = || ParameterKind::Words(vec!["sync".to_owned(), "async".to_owned()]);
        for (text, name, kind, value) in [
            ("workers=2", "workers", ParameterKind::Number { least: 0, most: None }, "2"),
            ("workers=2:1..64", "workers", ParameterKind::Number { least: 1, most: Some(64) }, "2"),
            ("mode=sync|async", "mode", words(), "sync"),
            ("name=a b=c", "name", ParameterKind::Text, "a b=c"),
            ("at=12:30", "at", ParameterKind::Text, "12:30"),
        ] {
            assert_eq!(read(text), Ok((name.to_owned(), kind, value.to_owned())), "{text}");
        }
        for bad in
            ["workers", "=2", "w=", "2w=1", "w-x=1", "port=80", "w=65:1..64", "w=x:1..2", "w=1:1..x", "m=a|", "m=a|a"]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        let (workers, _) = Parameter::read("workers=2:1..64").unwrap();
        assert_eq!([0, 1, 64, 65].map(|n: u64| workers.accepts(&n.to_string())), [false, true, true, false]);
    }

    #[test]
    fn only_names_in_single_braces_are_filled() {
        let text = "a {workers} ${workers} {{workers}} { workers } {} {\n} f({other}) \u{e9} {\"a\":{\"b\":1}} {";
        assert_eq!(names(text), ["other", "workers"].map(str::to_owned).into());
        let filled = fill(text, |name| (name == "workers").then_some("7"));
        assert_eq!(filled, "a 7 ${workers} {workers} { workers } {} {\n} f({other}) \u{e9} {\"a\":{\"b\":1}} {");
    }

    proptest::proptest! {
        #[test]
        fn a_text_without_values_stays_byte_for_byte(text in ".{0,200}") {
            let filled = fill(&text, |_| None);
            proptest::prop_assert_eq!(filled, text);
        }
    }
}
