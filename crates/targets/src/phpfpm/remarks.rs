//! What is wrong with a configuration, or is not what it seems (sapi/fpm/fpm/fpm_conf.c: `fpm_conf_process_all_pools`).

use genkai_model::explain::{Remark, RemarkKind};

use super::config::{self, Missing};
use super::limits::{self, Pool, number, seconds};
use super::refused;
use crate::explain::{about, place, remark};
use crate::files::entry::{Entries, Entry};
use crate::files::names::{nearest, table};
use genkai_place::caps::Machine;

/// Every key of PHP 8, with where it may stand (fpm_conf.c: `ini_fpm_global_options`, `ini_fpm_pool_options`).
static KEYS: &str = include_str!("keys.txt");
/// Keys that one way of managing children has no use for.
const USELESS: &[(&str, &[&str])] = &[
    (
        "static",
        &[
            "pm.start_servers",
            "pm.min_spare_servers",
            "pm.max_spare_servers",
            "pm.max_spawn_rate",
            "pm.process_idle_timeout",
        ],
    ),
    ("dynamic", &["pm.process_idle_timeout"]),
    ("ondemand", &["pm.start_servers", "pm.min_spare_servers", "pm.max_spare_servers", "pm.max_spawn_rate"]),
];

pub(super) fn of(config: &Entries, pools: &[Pool], machine: &Machine, memory: u64) -> Vec<Remark> {
    let mut all = names(config);
    all.extend(refused::of(config, pools));
    all.extend(config::missing(config).into_iter().map(included));
    for pool in pools {
        all.extend(without_effect(config, pool));
        all.extend(clamps(pool, machine));
    }
    all.extend(together(config, pools, memory));
    all.sort();
    all.dedup();
    all
}

/// `php_value[memory_limit]` is a `php_value`.
fn plain(name: &str) -> &str {
    name.split('[').next().unwrap_or(name).trim()
}

fn names(config: &Entries) -> Vec<Remark> {
    let mut all = Vec::new();
    for entry in config.all() {
        let section = if entry.section == "global" || entry.section.is_empty() { "global" } else { "pool" };
        let known = || table(KEYS).filter(|(_, sections)| sections.split(',').any(|one| one == section));
        let name = plain(&entry.name);
        if !known().any(|(key, _)| key == name) {
            let text = "there is no such key here: php-fpm does not start".to_owned();
            let near = nearest(name, known().map(|(key, _)| key)).map(|n| format!("did you mean {n}?"));
            all.push(about(config, entry, RemarkKind::Unknown, text, near));
        }
    }
    all
}

/// What is said of an include that names nothing.
fn included(missing: Missing) -> Remark {
    let Missing { pattern, place, is_refused } = missing;
    let (kind, text) = match is_refused {
        true => (RemarkKind::Unknown, "the folder does not exist: php-fpm does not start"),
        false => (RemarkKind::Ignored, "names no file: php-fpm warns of it and starts without"),
    };
    remark(kind, Some(place), "include", format!("{pattern}: {text}"), None)
}

fn without_effect(config: &Entries, pool: &Pool) -> Vec<Remark> {
    let mut all = Vec::new();
    let mut say = |entry: &Entry, text: String, hint: Option<String>| {
        all.push(about(config, entry, RemarkKind::Ignored, text, hint));
    };
    let useless = USELESS.iter().find(|(manager, _)| *manager == pool.manager).map_or(&[][..], |(_, keys)| keys);
    for entry in useless.iter().filter_map(|key| config.value_in(&pool.name, key)) {
        say(entry, format!("has no effect with pm = {}", pool.manager), None);
    }
    let slow = config.value_in(&pool.name, "request_slowlog_timeout");
    if let Some(entry) =
        config.value_in(&pool.name, "slowlog").filter(|_| slow.is_none_or(|e| seconds(&e.value()) == Some(0)))
    {
        say(
            entry,
            "stays empty: request_slowlog_timeout is 0".to_owned(),
            Some("request_slowlog_timeout = 5s".to_owned()),
        );
    }
    for (entry, later) in config.replaced(|entry| entry.section == pool.name && !entry.name.contains('[')) {
        say(entry, format!("is set again at {later}: the later one counts"), None);
    }
    all
}

fn clamps(pool: &Pool, machine: &Machine) -> Option<Remark> {
    let (asked, most) = (pool.backlog.value, u64::from(machine.somaxconn));
    let at = place(&pool.backlog.origin).filter(|_| asked > most && asked != u64::MAX)?;
    let text = format!("{asked} is taken as {most}: net.core.somaxconn of this machine");
    let hint = format!("sysctl net.core.somaxconn={asked}");
    Some(remark(RemarkKind::Clamped, Some(at), "listen.backlog", text, Some(hint)))
}

/// What no pool does alone.
fn together(config: &Entries, pools: &[Pool], memory: u64) -> Vec<Remark> {
    let mut all = Vec::new();
    let asked = limits::asked(pools);
    let most = config.value_in("global", "process.max").and_then(|e| Some((number(&e.value()).filter(|n| *n > 0)?, e)));
    if let Some((most, entry)) = most.filter(|(most, _)| *most < asked) {
        let text = format!("{most} children of the {asked} that the pools ask for: who comes first has them");
        all.push(about(config, entry, RemarkKind::Clamped, text, Some(format!("write {asked}"))));
    }
    let each = pools.iter().filter_map(|p| Some(p.children.as_ref()?.value.saturating_mul(p.memory_limit.value)));
    let bytes = each.fold(0, u64::saturating_add);
    let first = pools.iter().filter(|p| p.memory_limit.value > 0).find_map(|p| p.children.as_ref());
    if let Some(held) = first.filter(|_| bytes > memory) {
        let gib = |n: u64| n as f64 / f64::from(1 << 30);
        let text = format!(
            "the pools' children may take {:.1} GiB by their memory_limit, and this machine has {:.1}",
            gib(bytes),
            gib(memory)
        );
        all.push(remark(
            RemarkKind::Contradiction,
            place(&held.origin),
            "pm.max_children",
            text,
            Some("fewer children, or a lower memory_limit".to_owned()),
        ));
    }
    all
}
