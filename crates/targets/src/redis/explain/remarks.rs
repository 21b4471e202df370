//! What is wrong with a configuration, or is not what it seems.

use genkai_model::explain::{Remark, RemarkKind};

use super::refused;
use crate::explain::{about, place, remark};
use crate::files::entry::{Entries, Entry};
use crate::files::names::{nearest, table};
use crate::redis::limits::{Facts, RESERVED, bytes, percent};
use genkai_place::caps::Machine;

/// Every directive of Redis 7.0 (`CONFIG GET *`, and those that it does not tell).
static DIRECTIVES: &str = include_str!("directives.txt");
/// Directives that may stand several times.
const SEVERAL: &[&str] =
    &["save", "client-output-buffer-limit", "user", "loadmodule", "rename-command", "include", "bind"];
/// Settings without effect unless another has (or has not) a value.
const NEEDS: &[(&str, &str, &str)] = &[
    ("appendfsync", "appendonly", "no"),
    ("maxmemory-policy", "maxmemory", "0"),
    ("io-threads-do-reads", "io-threads", "1"),
    ("cluster-node-timeout", "cluster-enabled", "no"),
];

pub(super) fn of(config: &Entries, facts: &Facts, machine: &Machine, memory: u64) -> Vec<Remark> {
    let mut all = names(config);
    all.extend(refused::of(config));
    all.extend(clamps(facts, machine));
    all.extend(without_effect(config));
    all.extend(contradictions(config, facts, memory));
    all.sort();
    all.dedup();
    all
}

fn names(config: &Entries) -> Vec<Remark> {
    let unknown = |e: &&Entry| !table(DIRECTIVES).any(|(name, _)| name == e.name);
    let modules = config.last("loadmodule").is_some();
    let say = |entry: &Entry| {
        let text = "there is no such directive in Redis 7.0: it does not start".to_owned();
        let near = nearest(&entry.name, table(DIRECTIVES).map(|(n, _)| n)).map(|n| format!("did you mean {n}?"));
        about(config, entry, RemarkKind::Unknown, text, near)
    };
    // A module may bring names of its own, which have a dot.
    let ours = |e: &&Entry| !(modules && e.name.contains('.'));
    config.all().iter().filter(unknown).filter(ours).map(say).collect()
}

fn clamps(facts: &Facts, machine: &Machine) -> Vec<Remark> {
    let mut all = Vec::new();
    if facts.clients < facts.maxclients.value {
        let (asked, by) = (facts.maxclients.value, &machine.descriptors_ceiling.by);
        let text = format!("{asked} is taken as {}: {by}, {RESERVED} of them for Redis itself", facts.clients);
        let hint = format!("ulimit -n {}", asked.saturating_add(RESERVED));
        all.push(remark(RemarkKind::Clamped, place(&facts.maxclients.origin), "maxclients", text, Some(hint)));
    }
    let most = u64::from(machine.somaxconn);
    if facts.backlog.value > most {
        let text = format!("{} is taken as {most}: net.core.somaxconn of this machine", facts.backlog.value);
        let hint = format!("sysctl net.core.somaxconn={}", facts.backlog.value);
        all.push(remark(RemarkKind::Clamped, place(&facts.backlog.origin), "tcp-backlog", text, Some(hint)));
    }
    all
}

fn without_effect(config: &Entries) -> Vec<Remark> {
    let mut all = Vec::new();
    let mut say = |entry: &Entry, text: String| {
        all.push(about(config, entry, RemarkKind::Ignored, text, None));
    };
    for (name, other, off) in NEEDS {
        let is_off = config.last(other).is_none_or(|e| e.value().eq_ignore_ascii_case(off));
        // Debian's file writes every default; only what differs from it was meant.
        let usual = ["everysec", "noeviction", "no", "15000"];
        let entry = config.last(name).filter(|e| is_off && !usual.contains(&e.value().as_str()));
        if let Some(entry) = entry {
            say(entry, format!("has no effect: {other} is {off}"));
        }
    }
    let part = config.last("maxmemory-clients").filter(|e| percent(&e.value()).is_some_and(|part| part > 0));
    let unbounded = config.last("maxmemory").is_none_or(|e| bytes(&e.value()) == Some(0));
    if let Some(entry) = part.filter(|_| unbounded) {
        say(entry, "has no effect: it is a part of maxmemory, which is 0".to_owned());
    }
    for (entry, later) in config.replaced(|entry| !SEVERAL.contains(&entry.name.as_str())) {
        say(entry, format!("is set again at {later}: the later one counts"));
    }
    all
}

fn contradictions(config: &Entries, facts: &Facts, memory: u64) -> Vec<Remark> {
    let mut all = Vec::new();
    let mut say = |place, setting: &str, text: String, hint: String| {
        all.push(remark(RemarkKind::Contradiction, place, setting, text, Some(hint)));
    };
    let gib = |n: u64| n as f64 / f64::from(1 << 30);
    if facts.maxmemory.value > memory {
        let text = format!("{:.1} GiB are more than this machine has ({:.1})", gib(facts.maxmemory.value), gib(memory));
        say(place(&facts.maxmemory.origin), "maxmemory", text, "leave room for copies while it saves".to_owned());
    }
    let (hard, soft, _) = facts.pubsub.value;
    if hard > 0 && soft > hard {
        let text = "its soft limit is above its hard one, which then counts alone".to_owned();
        say(
            place(&facts.pubsub.origin),
            "client-output-buffer-limit pubsub",
            text,
            "lower the second number".to_owned(),
        );
    }
    let open =
        config.last("bind").is_some_and(|e| e.values.iter().any(|v| matches!(v.as_str(), "*" | "0.0.0.0" | "::")));
    let protected = config.last("protected-mode").is_none_or(|e| e.value() != "no");
    let password = ["requirepass", "aclfile", "user"].iter().any(|name| config.last(name).is_some());
    if let Some(entry) = config.last("bind").filter(|_| open && protected && !password) {
        let text = "lets nobody in but this machine: protected-mode is on and there is no password".to_owned();
        say(Some(config.place(entry)), "bind", text, "requirepass, or bind to addresses that are meant".to_owned());
    }
    all
}
