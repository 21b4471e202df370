//! Conditions of rules, as far as the requests under test decide them (configuration manual 7).

use super::Asked;
use crate::files::pattern::Reads;
use crate::haproxy::config::{Config, Found, Section};

/// Whether a rule applies to requests; none where something else decides.
pub(super) fn applies(config: &Config, section: &Section, rule: &Found, asked: &Asked<'_>) -> Option<bool> {
    let words: Vec<&str> = rule.words.iter().map(|w| w.value.as_str()).collect();
    let Some(at) = words.iter().position(|w| matches!(*w, "if" | "unless")) else { return Some(true) };
    let terms = terms(&words[at + 1..]);
    let alternatives = terms.split(|term| term.is_or());
    let all = alternatives.map(|terms| and(terms.iter().map(|term| term.holds(config, section, asked))));
    or(all).map(|holds| holds == (words[at] == "if"))
}

/// Whether all hold: one that does not decides it.
fn and(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    or(all.map(|holds| holds.map(|holds| !holds))).map(|any| !any)
}

/// Whether any holds: one that does decides it.
fn or(all: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<Option<bool>> = all.collect();
    match all.contains(&Some(true)) {
        true => Some(true),
        false if all.contains(&None) => None,
        false => Some(false),
    }
}

/// A part of a condition.
struct Term<'w> {
    negated: bool,
    /// The name of an ACL, or the words of one without a name.
    words: Vec<&'w str>,
    named: bool,
}

/// The parts of a condition: names, `{ ... }` and `or`, each maybe with `!` before it.
fn terms<'w>(words: &[&'w str]) -> Vec<Term<'w>> {
    let (mut all, mut words, mut negated) = (Vec::new(), words.iter(), false);
    while let Some(word) = words.next() {
        let rest = word.trim_start_matches('!');
        negated ^= (word.len() - rest.len()) % 2 == 1;
        match rest {
            "" => continue,
            "{" => {
                let inner = words.by_ref().take_while(|word| **word != "}").copied().collect();
                all.push(Term { negated, words: inner, named: false });
            }
            name => all.push(Term { negated, words: vec![name], named: true }),
        }
        negated = false;
    }
    all
}

impl Term<'_> {
    fn is_or(&self) -> bool {
        self.named && matches!(self.words[..], ["or" | "||"])
    }

    fn holds(&self, config: &Config, section: &Section, asked: &Asked<'_>) -> Option<bool> {
        let holds = match self.named {
            true => named(config, section, self.words[0], asked),
            false => matches(&self.words, asked),
        };
        holds.map(|holds| holds != self.negated)
    }
}

/// An ACL by its name: lines of the same name are alternatives. Some names are HAProxy's own (configuration manual 7.4).
fn named(config: &Config, section: &Section, name: &str, asked: &Asked<'_>) -> Option<bool> {
    let sections: Vec<&Section> = config.lineage(section).collect();
    let lines = sections.iter().flat_map(|s| config.inside(s)).filter(|f| f.is("acl") && f.arg(0) == Some(name));
    let words = lines.map(|line| line.words[2..].iter().map(|w| w.value.as_str()).collect::<Vec<_>>());
    let all: Vec<Option<bool>> = words.map(|words| matches(&words, asked)).collect();
    match name {
        _ if !all.is_empty() => or(all.into_iter()),
        "TRUE" => Some(true),
        "FALSE" => Some(false),
        "HTTP" | "HTTP_1.1" if asked.http => Some(true),
        "HTTP_1.0" | "HTTP_2.0" if asked.http => Some(false),
        _ => None,
    }
}

/// What a criterion looks at, and how it compares by itself.
struct Subject {
    /// None: the request has nothing of the kind.
    text: Option<String>,
    how: &'static str,
}

/// The ways to compare of which a criterion may bear the name: `path_beg`.
const HOW: [(&str, &str); 7] = [
    ("_beg", "beg"),
    ("_end", "end"),
    ("_sub", "sub"),
    ("_dir", "dir"),
    ("_dom", "dom"),
    ("_reg", "reg"),
    ("_str", "str"),
];

fn subject(criterion: &str, asked: &Asked<'_>) -> Option<Subject> {
    let (name, converters) = criterion.split_once(',').unwrap_or((criterion, ""));
    let (name, argument) = name.split_once('(').map_or((name, ""), |(n, a)| (n, a.split(')').next().unwrap_or(a)));
    let (name, how) = HOW.iter().find_map(|(end, how)| Some((name.strip_suffix(end)?, *how))).unwrap_or((name, "str"));
    let text = match (name, argument) {
        ("path", "") => asked.path.map(Some),
        ("url", "") => asked.target.map(Some),
        ("query", "") => asked.query().map(Some),
        ("hdr" | "req.hdr" | "req.fhdr", name) if name.split(',').next()?.eq_ignore_ascii_case("host") => {
            asked.host.map(Some)
        }
        ("hdr" | "req.hdr" | "req.fhdr", name) => asked.opening(name.split(',').next()?).map(Some),
        ("url_param" | "urlp", name) if !name.contains(',') => asked.parameter(name),
        _ => None,
    };
    let text = text?;
    match converters {
        "" => Some(Subject { text: text.map(str::to_owned), how }),
        "lower" => Some(Subject { text: text.map(str::to_ascii_lowercase), how }),
        _ => None,
    }
}

/// `CRITERION [-i] [-m HOW] [--] PATTERN...`
fn matches(words: &[&str], asked: &Asked<'_>) -> Option<bool> {
    let (criterion, rest) = words.split_first()?;
    match *criterion {
        "always_true" => return Some(true),
        "always_false" => return Some(false),
        "ssl_fc" => return asked.tls,
        _ => {}
    }
    let subject = subject(criterion, asked)?;
    let (mut blind, mut how, mut patterns) = (false, subject.how, rest.iter().peekable());
    while let Some(flag) = patterns.next_if(|word| word.starts_with('-')) {
        match *flag {
            "-i" => blind = true,
            "--" => break,
            "-m" => how = patterns.next()?,
            _ => return None,
        }
    }
    match subject.text {
        None => Some(false),
        // This takes no patterns.
        Some(_) if how == "found" => Some(true),
        Some(text) => or(patterns.map(|pattern| compared(&text, pattern, how, blind))),
    }
}

fn compared(text: &str, pattern: &str, how: &str, blind: bool) -> Option<bool> {
    let fold = |text: &str| if blind { text.to_ascii_lowercase() } else { text.to_owned() };
    let (text, folded) = (fold(text), fold(pattern));
    Some(match how {
        "str" => text == folded,
        "beg" => text.starts_with(&folded),
        "end" => text.ends_with(&folded),
        "sub" => text.contains(&folded),
        "dir" => has_word(&text, &folded, &['/', '?'])?,
        "dom" => has_word(&text, &folded, &['/', '?', '.', ':'])?,
        "reg" => Reads { blind, whole: false }.matches(pattern, &text)?,
        _ => return None,
    })
}

/// Whether a text has a pattern between delimiters, those at its own ends aside (match_word of src/pattern.c); none: it has nothing else.
fn has_word(text: &str, pattern: &str, delimiters: &[char]) -> Option<bool> {
    let word = Some(pattern.trim_matches(delimiters)).filter(|word| !word.is_empty())?;
    let bounds = |c: Option<char>| c.is_none_or(|c| delimiters.contains(&c));
    let is = |at: usize| {
        let after = text[at..].strip_prefix(word);
        after.is_some_and(|after| bounds(after.chars().next()) && bounds(text[..at].chars().next_back()))
    };
    Some(text.char_indices().any(|(at, _)| is(at)))
}
