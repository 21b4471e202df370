//! Which figures of a finding each number in words comes from: those with which it changes.

use std::collections::BTreeMap;

use super::perturbed::{Change, Outputs, Text, texts};
use super::words::Spoken;

/// A number in words, and what changes it.
pub struct Number {
    /// Where the text stands in the document.
    pub path: String,
    /// The texts that belong to it.
    pub over: String,
    /// The number.
    pub spoken: Spoken,
    /// The changes of the finding that change it.
    pub effects: Vec<Effect>,
}

/// A change that changes a number in words.
pub struct Effect {
    /// Of what.
    pub address: String,
    /// What was there; none where it is no number.
    pub before: Option<f64>,
    /// What is there then.
    after: Option<f64>,
    /// Whether a text changed.
    pub quotes: bool,
    /// What is said then; none where the text is another one.
    pub shown: Option<Spoken>,
}

/// How a number in words follows from a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Follows {
    /// It is one figure, rounded and in its unit, before and after that changed.
    Shown,
    /// It is made of two figures, or of as many as there are.
    Derived,
    /// How many there are.
    Counted,
    /// It is quoted from a text of the finding: a setting, a formula, a log line.
    Quoted,
    /// It is quoted from samples, log lines or states of the record.
    Record,
    /// It is part of the wording: the confidence of every interval, a quantile's name, a status.
    Worded,
    /// It changes with figures that it is not made of.
    Loose,
    /// Nothing that was changed changes it.
    Unmoved,
}

/// Every number that is told of a record, with what changes it.
pub fn of(told: &Outputs) -> Vec<Number> {
    let base = texts(&told.document());
    let mut all: BTreeMap<(&str, usize), Number> = BTreeMap::new();
    for (path, text) in &base {
        for (i, spoken) in text.numbers.iter().enumerate() {
            let (path, over) = (path.clone(), format!("{} | {}", text.over, text.words));
            let number = Number { over, spoken: spoken.clone(), effects: Vec::new(), path };
            all.insert((base.get_key_value(&number.path).unwrap().0, i), number);
        }
    }
    for change in told.changes() {
        let Some(said) = change.said(told) else { continue };
        for (path, text) in &base {
            for (i, effect) in effects(&change, text, said.get(path)) {
                all.get_mut(&(path.as_str(), i)).unwrap().effects.push(effect);
            }
        }
    }
    all.into_values().collect()
}

/// Which numbers of a text a change changes.
fn effects(change: &Change, text: &Text, now: Option<&Text>) -> Vec<(usize, Effect)> {
    if now.is_some_and(|now| now.words == text.words) {
        return Vec::new();
    }
    let aligned = now.map(|now| aligned(text, now)).unwrap_or_default();
    let one = |(i, spoken): (usize, &Spoken)| {
        let shown = aligned.get(&i).copied();
        let (address, before, after) = (change.address.clone(), change.before, change.after);
        let same = shown.is_some_and(|shown| shown.is_same(spoken));
        (!same).then(|| (i, Effect { address, before, after, quotes: change.quotes, shown: shown.cloned() }))
    };
    text.numbers.iter().enumerate().filter_map(one).collect()
}

/// The number of the changed text that stands where each of the other one stood: the longest row of words that both have in common.
fn aligned<'t>(text: &Text, now: &'t Text) -> BTreeMap<usize, &'t Spoken> {
    if text.numbers.len() == now.numbers.len() && frame(&text.words) == frame(&now.words) {
        return now.numbers.iter().enumerate().collect();
    }
    let (a, b) = (&text.numbers, &now.numbers);
    let mut longest = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let both = a[i].alike(&b[j]) * 2 + longest[i + 1][j + 1];
            longest[i][j] = both.max(longest[i + 1][j]).max(longest[i][j + 1]);
        }
    }
    let (mut i, mut j, mut all) = (0, 0, BTreeMap::new());
    while i < a.len() && j < b.len() {
        let alike = a[i].alike(&b[j]);
        if alike > 0 && longest[i][j] == alike * 2 + longest[i + 1][j + 1] {
            all.insert(i, &b[j]);
            (i, j) = (i + 1, j + 1);
        } else if longest[i][j] == longest[i + 1][j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    all
}

/// A text without its numbers.
fn frame(words: &str) -> String {
    words.chars().filter(|c| !c.is_ascii_digit() && *c != ',' && *c != '.').collect()
}

impl Number {
    /// How it follows.
    pub fn follows(&self) -> Follows {
        if self.shown().next().is_some() {
            return Follows::Shown;
        }
        if self.derived() {
            return Follows::Derived;
        }
        if self.effects.iter().any(|e| e.address.starts_with("record")) {
            return Follows::Record;
        }
        if self.effects.iter().any(|e| e.quotes) {
            return Follows::Quoted;
        }
        // A position, whose number stands there no longer; or how many there are.
        let placed = |e: &Effect| e.shown.is_none() && e.before.is_some_and(|before| self.spoken.shows(before));
        if self.effects.iter().any(|e| e.before.is_none() || placed(e)) {
            return Follows::Counted;
        }
        // Wording stays, or goes with the whole text; it never becomes another number.
        let stays = self.effects.iter().all(|e| e.shown.is_none());
        match (self.effects.is_empty(), stays && self.literal()) {
            (_, true) => Follows::Worded,
            (true, false) => Follows::Unmoved,
            (false, false) => Follows::Loose,
        }
    }

    /// Whether it is the number of a wording.
    fn literal(&self) -> bool {
        let own = self.spoken.value.to_string();
        let of = |text: &str| {
            let digits: String = text.chars().filter(char::is_ascii_digit).collect();
            own.starts_with(&digits)
        };
        LITERALS.iter().any(|text| self.over.contains(text) && of(text))
    }

    /// The figures that it shows.
    pub fn shown(&self) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(|effect| {
            let (Some(before), Some(after), Some(shown)) = (effect.before, effect.after, &effect.shown) else {
                return false;
            };
            effect.address.contains("/*/") || self.spoken.shows(before) && shown.shows(after)
        })
    }

    /// Whether it is made of two of the figures that change it, before and after; or is the sum of all.
    pub fn derived(&self) -> bool {
        let of: Vec<&Effect> = self.effects.iter().filter(|one| one.before.is_some()).collect();
        let values: BTreeMap<&str, f64> = of.iter().map(|one| (one.address.as_str(), one.before.unwrap())).collect();
        let sum: f64 = values.values().sum();
        let total = |one: &Effect| sum - one.before.unwrap() + one.after.unwrap();
        let after = |one: &Effect, x: f64| one.shown.as_ref().is_some_and(|shown| shown.shows(x));
        if self.spoken.shows(sum) && of.iter().any(|one| after(one, total(one))) {
            return true;
        }
        // None of something, all of it.
        let none = [0.0, 100.0].contains(&self.spoken.value) && of.iter().any(|one| one.before == Some(0.0));
        if none
            || of.iter().any(|one| self.spoken.shows(1.0 - one.before.unwrap()) && after(one, 1.0 - one.after.unwrap()))
        {
            return true;
        }
        // Bytes each: of all that came to an end.
        let each = |a: &&&Effect| {
            let rest = sum - a.before.unwrap();
            self.spoken.shows(a.before.unwrap() / rest) && after(a, a.after.unwrap() / rest)
        };
        if values.len() == 3 && of.iter().any(|a| each(&a))
            || of.iter().any(|a| self.spoken.shows(a.before.unwrap() / 1e6))
        {
            return true;
        }
        let made = |f: &Formula, a: &Effect, b: f64| {
            self.spoken.shows(f(a.before.unwrap(), b)) && after(a, f(a.after.unwrap(), b))
        };
        of.iter().any(|a| {
            values.iter().filter(|(b, _)| **b != a.address).any(|(_, b)| FORMULAS.iter().any(|f| made(f, a, *b)))
        })
    }
}

/// Wordings with a number of their own.
const LITERALS: [&str; 14] = [
    "95 % ",
    "99 % of ",
    "50 %",
    "90 %",
    "within 1 s",
    "304 to its own entity tag",
    "status 5",
    "status 4",
    "1,000",
    "--starts 5",
    "% missing",
    "all 0 statements",
    "RFC",
    "(95 %)",
];

type Formula = fn(f64, f64) -> f64;

/// What words make of two figures.
const FORMULAS: [Formula; 8] = [
    |a, b| a / b,
    |a, b| b / a,
    |a, b| a / (a + b),
    |a, b| b / (a + b),
    |a, b| a + b,
    |a, b| a - b,
    |a, b| a * b,
    |a, b| 1.0 - a / b,
];
