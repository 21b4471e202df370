//! Values that Redis refuses: it does not start (src/config.c; each asked of Redis 7.0).

use std::ops::RangeInclusive;

use genkai_model::explain::{Remark, RemarkKind};

use crate::explain::about;
use crate::files::entry::{Entries, Entry};
use crate::redis::limits::{bytes, number, percent};

const INT: u64 = i32::MAX as u64;

/// Whole numbers with what they may be.
const NUMBERS: &[(&str, RangeInclusive<u64>)] = &[
    ("databases", 1..=INT),
    ("io-threads", 1..=128),
    ("maxclients", 1..=u32::MAX as u64),
    ("maxmemory-samples", 1..=64),
    ("port", 0..=65535),
    ("repl-timeout", 1..=INT),
    ("tcp-backlog", 0..=INT),
    ("tcp-keepalive", 0..=INT),
    ("timeout", 0..=INT),
];
/// Amounts of memory with the least that they may be.
const AMOUNTS: &[(&str, u64)] =
    &[("client-query-buffer-limit", 1 << 20), ("maxmemory", 0), ("proto-max-bulk-len", 1 << 20)];
const FLAGS: &[&str] = &["appendonly", "cluster-enabled", "daemonize", "io-threads-do-reads", "protected-mode"];
const WORDS: &[(&str, &[&str])] = &[
    ("appendfsync", &["everysec", "always", "no"]),
    ("loglevel", &["debug", "verbose", "notice", "warning", "nothing"]),
    (
        "maxmemory-policy",
        &[
            "volatile-lru",
            "volatile-lfu",
            "volatile-random",
            "volatile-ttl",
            "allkeys-lru",
            "allkeys-lfu",
            "allkeys-random",
            "noeviction",
        ],
    ),
];
const CLASSES: &[&str] = &["normal", "slave", "replica", "pubsub"];

pub(super) fn of(config: &Entries) -> Vec<Remark> {
    let say = |(entry, why): (&Entry, String)| {
        about(config, entry, RemarkKind::Unknown, format!("{why}: Redis does not start"), None)
    };
    config.all().iter().filter_map(|entry| Some((entry, refused(entry)?))).map(say).collect()
}

fn refused(entry: &Entry) -> Option<String> {
    let name = entry.name.as_str();
    match name {
        "client-output-buffer-limit" => return classes(&entry.values),
        "save" => return saves(&entry.values),
        "maxmemory-clients" => return part(&entry.values),
        _ => {}
    }
    let form = form(name)?;
    match &entry.values[..] {
        [value] if takes(name, value) => None,
        [value] => Some(format!("`{value}` is not {form}")),
        all => Some(format!("has {} arguments, and takes one", all.len())),
    }
}

/// What a value of one argument must be, in words; none where it is not known here.
fn form(name: &str) -> Option<String> {
    let number = NUMBERS.iter().find(|(n, _)| *n == name);
    let number = number.map(|(_, range)| format!("a number from {} to {}", range.start(), range.end()));
    let amount = || AMOUNTS.iter().find(|(n, _)| *n == name).map(|(_, least)| format!("bytes, at least {least}"));
    let flag = || FLAGS.contains(&name).then(|| "yes or no".to_owned());
    let words = || WORDS.iter().find(|(n, _)| *n == name).map(|(_, words)| format!("one of {}", words.join(", ")));
    number.or_else(amount).or_else(flag).or_else(words)
}

fn takes(name: &str, value: &str) -> bool {
    let one_of = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    let numbers =
        NUMBERS.iter().filter(|(n, _)| *n == name).all(|(_, r)| number(value).is_some_and(|n| r.contains(&n)));
    let amounts =
        AMOUNTS.iter().filter(|(n, _)| *n == name).all(|(_, least)| bytes(value).is_some_and(|n| n >= *least));
    let words = WORDS.iter().filter(|(n, _)| *n == name).all(|(_, words)| one_of(words));
    numbers && amounts && words && (!FLAGS.contains(&name) || one_of(&["yes", "no"]))
}

/// Nothing (`""`), or seconds and changes in pairs.
fn saves(values: &[String]) -> Option<String> {
    let nothing = matches!(values, [one] if one.is_empty());
    let pairs = !values.is_empty() && values.len().is_multiple_of(2) && values.iter().all(|v| number(v).is_some());
    (!nothing && !pairs).then(|| "needs seconds and changes in pairs".to_owned())
}

/// Bytes, or a part of `maxmemory`.
fn part(values: &[String]) -> Option<String> {
    match values {
        [value] if percent(value).is_some() || bytes(value).is_some() => None,
        [value] => Some(format!("`{value}` is not bytes, or 0% to 100%")),
        all => Some(format!("has {} arguments, and takes one", all.len())),
    }
}

/// Classes of clients, each with two amounts and a number of seconds.
fn classes(values: &[String]) -> Option<String> {
    let sound = |class: &[String]| {
        CLASSES.iter().any(|known| known.eq_ignore_ascii_case(&class[0]))
            && bytes(&class[1]).is_some()
            && bytes(&class[2]).is_some()
            && number(&class[3]).is_some()
    };
    if values.is_empty() || !values.len().is_multiple_of(4) {
        return Some("needs a class, two amounts and seconds, and as many times as there are classes".to_owned());
    }
    let wrong = values.chunks(4).find(|class| !sound(class))?;
    Some(format!("`{}` is no class with two amounts and seconds", wrong.join(" ")))
}
