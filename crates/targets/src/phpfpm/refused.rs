//! What php-fpm refuses: it does not start (sapi/fpm/fpm/fpm_conf.c; each asked of `php-fpm8.2 -t`).

use std::collections::BTreeMap;

use genkai_model::explain::{Remark, RemarkKind};

use super::limits::{Pool, integer, number, seconds};
use crate::explain::{about, remark};
use crate::files::entry::{Entries, Entry};

const INTEGERS: &[&str] = &[
    "emergency_restart_threshold",
    "listen.backlog",
    "log_limit",
    "pm.max_children",
    "pm.max_requests",
    "pm.max_spare_servers",
    "pm.max_spawn_rate",
    "pm.min_spare_servers",
    "pm.start_servers",
    "process.max",
    "request_slowlog_trace_depth",
    "rlimit_files",
];
const TIMES: &[&str] = &[
    "emergency_restart_interval",
    "pm.process_idle_timeout",
    "process_control_timeout",
    "request_slowlog_timeout",
    "request_terminate_timeout",
];
const FLAGS: &[&str] = &["catch_workers_output", "clear_env", "daemonize", "decorate_workers_output"];

pub(super) fn of(config: &Entries, pools: &[Pool]) -> Vec<Remark> {
    let mut all: Vec<Remark> = config.all().iter().filter_map(|entry| valued(config, entry)).collect();
    for pool in pools {
        let refusals = Refusals { config, pool };
        all.extend(refusals.whole());
        if pool.manager == "dynamic" {
            all.extend(refusals.spare());
        }
    }
    all.extend(shared(config, pools));
    all
}

/// A value of the wrong form.
fn valued(config: &Entries, entry: &Entry) -> Option<Remark> {
    let (name, value) = (entry.name.as_str(), entry.value());
    let form = match name {
        _ if INTEGERS.contains(&name) && integer(&value).is_none() => "a whole number",
        _ if TIMES.contains(&name) && seconds(&value).is_none() => "a time such as 30, 30s, 5m, 1h or 1d",
        _ if FLAGS.contains(&name) && !matches!(integer(&value), Some(0 | 1)) => "yes or no",
        "process.max" if integer(&value).is_some_and(|n| n < 0) => "a number of at least 0",
        "pm" if !["static", "dynamic", "ondemand"].contains(&value.to_lowercase().as_str()) => {
            "static, dynamic or ondemand"
        }
        _ => return None,
    };
    Some(about(config, entry, RemarkKind::Unknown, format!("`{value}` is not {form}: php-fpm does not start"), None))
}

/// What one pool must have.
struct Refusals<'a> {
    config: &'a Entries,
    pool: &'a Pool,
}

impl Refusals<'_> {
    fn entry(&self, key: &str) -> Option<&Entry> {
        self.config.value_in(&self.pool.name, key)
    }

    /// A number of the pool; one that is missing is 0.
    fn number(&self, key: &str) -> u64 {
        self.entry(key).and_then(|entry| number(&entry.value())).unwrap_or(0)
    }

    fn say(&self, key: &str, text: &str, hint: &str) -> Remark {
        let place = self.entry(key).map(|entry| self.config.place(entry));
        let text = format!("{text}: php-fpm does not start (pool [{}])", self.pool.name);
        remark(RemarkKind::Contradiction, place, key, text, Some(hint.to_owned()))
    }

    fn is_missing(&self, key: &str) -> bool {
        self.entry(key).is_none_or(|entry| entry.value().is_empty())
    }

    fn whole(&self) -> Vec<Remark> {
        let mut all = Vec::new();
        if self.is_missing("pm") && self.entry("pm").is_none() {
            all.push(self.say("pm", "is missing", "pm = dynamic"));
        }
        if self.pool.children.is_none() {
            all.push(self.say("pm.max_children", "is missing or below 1", "pm.max_children = 5"));
        }
        if self.is_missing("listen") {
            all.push(self.say("listen", "is missing", "listen = 127.0.0.1:9000"));
        }
        if self.is_missing("user") {
            let text = "is missing: php-fpm does not start as root";
            let hint = Some("user = www-data".to_owned());
            let text = format!("{text} (pool [{}])", self.pool.name);
            all.push(remark(RemarkKind::Contradiction, None, "user", text, hint));
        }
        let slow = self.entry("request_slowlog_timeout").and_then(|entry| seconds(&entry.value())).unwrap_or(0);
        if slow > 0 && self.is_missing("slowlog") {
            all.push(self.say("request_slowlog_timeout", "there is no slowlog", "slowlog = /var/log/php-slow.log"));
        }
        let idle = self.entry("pm.process_idle_timeout").and_then(|entry| seconds(&entry.value()));
        if self.pool.manager == "ondemand" && idle == Some(0) {
            all.push(self.say("pm.process_idle_timeout", "0 ends no child", "pm.process_idle_timeout = 10s"));
        }
        all
    }

    /// Children that wait for work, with `pm = dynamic`.
    fn spare(&self) -> Vec<Remark> {
        let Some(children) = self.pool.children.as_ref().map(|held| held.value) else { return Vec::new() };
        let (least, most) = ("pm.min_spare_servers", "pm.max_spare_servers");
        let (min, max, start) = (self.number(least), self.number(most), self.number("pm.start_servers"));
        let mut all = Vec::new();
        for (key, n) in [(least, min), (most, max)] {
            if n == 0 {
                all.push(self.say(key, "is missing or below 1", "at least 1"));
            } else if n > children {
                let text = format!("{n} cannot be spare of pm.max_children {children}");
                all.push(self.say(key, &text, "lower it, or raise pm.max_children"));
            }
        }
        if max < min {
            all.push(self.say(most, &format!("{max} is below pm.min_spare_servers {min}"), "raise it"));
        }
        // Without a number it is put between them.
        if start > 0 && !(min..=max).contains(&start) {
            let text = format!("{start} is not between pm.min_spare_servers {min} and pm.max_spare_servers {max}");
            all.push(self.say("pm.start_servers", &text, "choose one between them"));
        }
        if self.entry("pm.max_spawn_rate").is_some() && self.number("pm.max_spawn_rate") == 0 {
            all.push(self.say("pm.max_spawn_rate", "is below 1", "at least 1"));
        }
        all
    }
}

/// An address that two pools listen on.
fn shared(config: &Entries, pools: &[Pool]) -> Vec<Remark> {
    let mut listens: BTreeMap<String, &Pool> = BTreeMap::new();
    let mut all = Vec::new();
    for pool in pools {
        let Some(entry) = config.value_in(&pool.name, "listen") else { continue };
        if let Some(other) = listens.insert(entry.value().replace("$pool", &pool.name), pool) {
            let text = format!("is that of [{}] too: php-fpm does not start", other.name);
            all.push(about(config, entry, RemarkKind::Contradiction, text, None));
        }
    }
    all
}
