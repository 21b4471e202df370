//! The limits of php-fpm's pools, as data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Law, Limit, Origin, Remedy, RemedyUnit, Symptom};

use super::config;
use super::ini::Ini;
use crate::files::entry::Entries;
use crate::limits::php::bytes;
use crate::limits::{raised, raised_queue, valued};
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;

/// FPM_BACKLOG_DEFAULT of Linux, sapi/fpm/fpm/fpm_sockets.h (`php-fpm -tt` prints it): as long as the kernel allows.
const BACKLOG: &str = "-1";
/// How children come with `pm = ondemand` (fpm_process_ctl.c: fpm_pctl_on_socket_accept, FPM_EV_EDGE; measured on 8.2: 9 requests in one moment
/// had 1 to 2 children of 9, 9 requests one after the other had 9).
const ON_DEMAND: &str = "; ondemand starts one child each time that somebody comes, so of a burst the later ones wait for the first children";
/// PHP's own `memory_limit` (main/main.c).
const MEMORY_LIMIT: &str = "128M";
/// PHP's own `max_execution_time`, seconds (main/main.c).
const EXECUTION_TIME: &str = "30";

/// A pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// `static`, `dynamic`, `ondemand`; empty: it is missing.
    pub manager: String,
    /// `pm.min_spare_servers`, where it is written.
    pub spare: Option<u64>,
    /// `pm.max_children`; none: it is missing, and php-fpm does not start.
    pub children: Option<SourcedValue<u64>>,
    /// `listen.backlog`.
    pub backlog: SourcedValue<u64>,
    /// Whether it listens on a Unix socket.
    pub unix: bool,
    /// `memory_limit` of its scripts, bytes; 0: none.
    pub memory_limit: SourcedValue<u64>,
    /// `max_execution_time` of its scripts, seconds; 0: none.
    pub execution_time: SourcedValue<u64>,
    /// PHP's settings that the pool has by `php_admin_value`: nobody else can change them.
    pub firm: Vec<&'static str>,
    /// Settings whose value the program alone told, with how it was asked: what its master was started with besides (`-c`, `-n`, `-d`) its title
    /// hides.
    pub asked: BTreeMap<&'static str, String>,
    /// `request_terminate_timeout`, seconds; none where it ends no request.
    pub terminate: Option<SourcedValue<u64>>,
    /// PHP's own log, where that is a file of its own.
    pub error_log: Option<PathBuf>,
    /// Descriptors of a child.
    pub descriptors: SourcedValue<u64>,
    /// The path of its status page, and where that is asked for, where it has a socket of its own.
    pub status: Option<(String, Option<String>)>,
    /// Its slow log, and for how long a request lasts that is in it, as that is written.
    pub slow: Option<(PathBuf, String)>,
}

impl Pool {
    /// Whether all children were busy when it says that `pm.max_children` was reached: a dynamic one says so where all that may be are there and
    /// fewer than `pm.min_spare_servers` are idle, another whenever somebody comes and all are there (fpm_process_ctl.c).
    pub(super) fn says_when_all_are_busy(&self) -> bool {
        self.manager == "dynamic" && self.spare.is_some_and(|spare| spare <= 1)
    }

    /// The path of its status page and the socket of its own where that is asked for. None without one: on the pool's own it would take a child, or
    /// wait for one with the pool's clients.
    pub(super) fn page(&self) -> Option<(&str, &str)> {
        self.status.as_ref().and_then(|(path, own)| Some((path.as_str(), own.as_deref()?)))
    }

    /// The same with what php.ini and the files beside it say, where the pool says nothing.
    pub(super) fn with(mut self, ini: &Ini) -> Pool {
        let unsaid = |held: &SourcedValue<u64>| matches!(held.origin, Origin::Default(_));
        if let Some(held) = ini.value("memory_limit", bytes).filter(|_| unsaid(&self.memory_limit)) {
            self.memory_limit = held;
            self.asked.insert("memory_limit", ini.how().to_owned());
        }
        if let Some(held) = ini.value("max_execution_time", number).filter(|_| unsaid(&self.execution_time)) {
            self.execution_time = held;
            self.asked.insert("max_execution_time", ini.how().to_owned());
        }
        let log = || ini.value("error_log", |text| Some(PathBuf::from(text)).filter(|path| path.is_absolute()));
        self.error_log = self.error_log.or_else(|| log().map(|held| held.value));
        self
    }

    /// The pool of that name.
    pub fn of(config: &Entries, name: &str, machine: &Machine) -> Pool {
        let held = |section: &str, key: &str, read: fn(&str) -> Option<u64>| {
            let entry = config.value_in(section, key)?;
            let written = entry.value();
            Some(SourcedValue { value: read(&written)?, written, origin: config.origin(entry) })
        };
        let own = |key: &str, read| held(name, key, read);
        let default = |value: u64, written: &str, source: &str| SourcedValue {
            value,
            written: written.to_owned(),
            origin: Origin::Default(source.to_owned()),
        };
        // A negative backlog means as many as the kernel allows.
        let backlog = own("listen.backlog", |text| Some(integer(text)?.try_into().unwrap_or(u64::MAX)));
        // What a script cannot change counts before what it can (sapi/fpm/fpm/fpm_php.c).
        let php = |name: &str, read: fn(&str) -> Option<u64>| {
            own(&format!("php_admin_value[{name}]"), read).or_else(|| own(&format!("php_value[{name}]"), read))
        };
        let (memory, time) = (php("memory_limit", bytes), php("max_execution_time", number));
        let firm = |name: &'static str, read: fn(&str) -> Option<u64>| {
            own(&format!("php_admin_value[{name}]"), read).map(|_| name)
        };
        let firm = [firm("memory_limit", bytes), firm("max_execution_time", number)];
        let pool = name;
        let told = |name: &str| {
            ["php_admin_value", "php_value"]
                .iter()
                .find_map(|way| Some(config.value_in(pool, &format!("{way}[{name}]"))?.value()))
        };
        // 0 and less leave what the master has.
        let some = |text: &str| number(text).filter(|n| *n > 0);
        let descriptors = own("rlimit_files", some).or_else(|| held("global", "rlimit_files", some));
        let text = |key: &str| {
            let value = config.value_in(name, key)?.value().replace("$pool", name);
            (!value.is_empty()).then_some(value)
        };
        let slow = text("request_slowlog_timeout").filter(|held| seconds(held).is_some_and(|n| n > 0));
        let listen = config.value_in(name, "listen").map(|e| e.value()).unwrap_or_default();
        Pool {
            name: name.to_owned(),
            manager: config.value_in(name, "pm").map(|e| e.value().to_lowercase()).unwrap_or_default(),
            spare: config.value_in(name, "pm.min_spare_servers").and_then(|entry| number(&entry.value())),
            children: own("pm.max_children", number).filter(|h| h.value > 0),
            backlog: backlog.unwrap_or_else(|| default(u64::MAX, BACKLOG, "php-fpm: sapi/fpm/fpm/fpm_sockets.h")),
            unix: listen.starts_with('/') || !listen.contains(':') && listen.parse::<u16>().is_err(),
            memory_limit: memory.unwrap_or_else(|| {
                let bytes = bytes(MEMORY_LIMIT).unwrap_or(0);
                default(bytes, MEMORY_LIMIT, "PHP main/main.c; php.ini may say otherwise")
            }),
            execution_time: time.unwrap_or_else(|| {
                default(
                    number(EXECUTION_TIME).unwrap_or(0),
                    EXECUTION_TIME,
                    "PHP main/main.c; php.ini may say otherwise",
                )
            }),
            terminate: own("request_terminate_timeout", seconds).filter(|held| held.value > 0),
            firm: firm.into_iter().flatten().collect(),
            asked: BTreeMap::new(),
            error_log: told("error_log").map(PathBuf::from).filter(|path| path.is_absolute()),
            descriptors: descriptors
                .unwrap_or_else(|| SourcedValue::plain(machine.descriptors, Origin::Machine("ulimit -n".to_owned()))),
            status: text("pm.status_path").map(|path| (path, text("pm.status_listen"))),
            slow: slow.and_then(|held| Some((PathBuf::from(text("slowlog")?), held))),
        }
    }
}

/// Whether of all that is known only this pool's scripts write PHP's messages there: the pool names the file itself, and no other pool nor php.ini
/// names it.
pub(super) fn logs_alone(config: &Entries, pool: &str, ini: &Ini, path: &Path) -> bool {
    let names = |pool: &str| {
        let each = ["php_admin_value[error_log]", "php_value[error_log]"];
        each.iter().any(|key| config.value_in(pool, key).is_some_and(|entry| Path::new(&entry.value()) == path))
    };
    let others = config::pools(config).into_iter().filter(|other| *other != pool).any(names);
    let all = ini.value("error_log", |text| Some(PathBuf::from(text)));
    names(pool) && !others && all.is_some_and(|all| all.value != path)
}

/// A number that is not below zero.
pub(super) fn number(text: &str) -> Option<u64> {
    integer(text)?.try_into().ok()
}

/// A whole number as php-fpm reads it: digits with a sign before (fpm_conf.c: fpm_conf_set_integer), of which an `int` is made; words that
/// mean yes and no are numbers, too (Zend/zend_ini_scanner.l).
pub(super) fn integer(text: &str) -> Option<i32> {
    match text.to_lowercase().as_str() {
        "on" | "yes" | "true" => return Some(1),
        "" | "off" | "no" | "false" | "none" | "null" => return Some(0),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| {
        let digit = |sum: i64, b: u8| sum.saturating_mul(10).saturating_add(i64::from(b - b'0'));
        let size = digits.bytes().fold(0, digit);
        (if text.starts_with('-') { -size } else { size }) as i32
    })
}

/// Seconds of `30`, `30s`, `5m`, `1h`, `1d` (fpm_conf.c: `fpm_conf_set_time`): the last letter is the unit, and before it only digits at the
/// beginning are read (`5ms` is 5 s). None for another letter.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let unit = match text.as_bytes().last()? {
        b's' | b'0'..=b'9' => 1,
        b'm' => 60,
        b'h' => 3_600,
        b'd' => 86_400,
        _ => return None,
    };
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse::<u64>().unwrap_or(0).checked_mul(unit)
}

/// Every limit of all pools.
pub fn of(config: &Entries, pools: &[Pool], machine: &Machine, memory: u64) -> Vec<Limit> {
    let mut all = Vec::new();
    let shared = process_max(config).filter(|most| *most < asked(pools));
    let shares = shared.map(|most| shares(pools, most));
    for (number, pool) in pools.iter().enumerate() {
        let own = own(pool, machine);
        all.extend(own.map(|limit| match (shared, &shares) {
            (Some(most), Some(shares)) => sharing(limit, most, shares[number]),
            _ => limit,
        }));
        all.extend([backlog(pool, machine), memory_limit(pool, memory), descriptors(pool)]);
    }
    all.extend(together(config, pools));
    all
}

/// The children of a pool as a limit, as if it had all that it asks for.
pub(super) fn own(pool: &Pool, machine: &Machine) -> Option<Limit> {
    pool.children.as_ref().map(|held| children(pool, held, machine))
}

fn limit(pool: &Pool, key: &str, held: &SourcedValue<u64>) -> Limit {
    valued(&format!("php-fpm.{}.{key}", pool.name), "php-fpm", &format!("{key} of [{}]", pool.name), held)
}

fn children(pool: &Pool, held: &SourcedValue<u64>, machine: &Machine) -> Limit {
    let n = held.value;
    let queue = pool.backlog.value.min(u64::from(machine.somaxconn)) + 1;
    Limit {
        caps: "requests that PHP works on at once; further ones wait in the accept queue".to_owned(),
        law: Law::Workers { workers: n as f64, queue: Some(queue as f64), service: None, wait: None },
        formula: format!("{}{}", rates(n), if pool.manager == "ondemand" { ON_DEMAND } else { "" }),
        source: "php.net/manual/install.fpm.configuration#pm.max-children; Little's law".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Status504, ErrorKind::Timeout], slow: true },
        remedy: Some(Remedy {
            note: Some("as far as processors and memory reach".to_owned()),
            processes: 1.0,
            ..raised("pm.max_children", RemedyUnit::Count, 1.0)
        }),
        ..limit(pool, "pm.max_children", held)
    }
}

/// What so many children answer at most.
pub(super) fn rates(children: u64) -> String {
    let fast = children.saturating_mul(10);
    format!("requests/s <= {children} children / time of a request: {fast} at 100 ms, {children} at 1 s")
}

/// Children that each pool has at least and at most where `most` are all that there are of all pools together: who asks first has them
/// (fpm_children.c: `fpm_children_make`). Pools start theirs in the order in which they are written (fpm_conf.c:
/// `fpm_worker_pool_config_alloc`), and of `pm = static` all are started and stay.
pub(super) fn shares(pools: &[Pool], most: u64) -> Vec<(u64, u64)> {
    let asks = |pool: &Pool| pool.children.as_ref().map_or(0, |held| held.value);
    let mut free = most;
    let kept: Vec<u64> = pools
        .iter()
        .map(|pool| {
            // `ondemand` starts none; how many `dynamic` starts is no more than it may have.
            let begun = if pool.manager == "ondemand" { 0 } else { asks(pool).min(free) };
            free -= begun;
            if pool.manager == "static" { begun } else { 0 }
        })
        .collect();
    let (taken, all) = (kept.iter().sum::<u64>(), asked(pools));
    let share = |(pool, own): (&Pool, &u64)| {
        // What the others do not ask for is left to it.
        let left = most.saturating_sub(all.saturating_sub(asks(pool)));
        (left.min(asks(pool)).max(*own), asks(pool).min(most - (taken - own)))
    };
    pools.iter().zip(&kept).map(share).collect()
}

/// `pm.max_children` of a pool that has from so many to so many children, of the `most` that `process.max` gives all pools.
fn sharing(limit: Limit, most: u64, (least, top): (u64, u64)) -> Limit {
    let law = match limit.law {
        Law::Workers { queue, service, wait, .. } if least == top => {
            Law::Workers { workers: top as f64, queue, service, wait }
        }
        _ => Law::Unknown,
    };
    let formula = match least == top {
        true => format!("{}; process.max of global gives all pools {most}", rates(top)),
        false => format!(
            "from {least} to {top} children: process.max of global gives all pools {most} together, and who asks first has them"
        ),
    };
    Limit { law, formula, ..limit }
}

/// `process.max`, where it is a cap.
pub(super) fn process_max(config: &Entries) -> Option<u64> {
    number(&config.value_in("global", "process.max")?.value()).filter(|n| *n > 0)
}

pub(super) fn backlog(pool: &Pool, machine: &Machine) -> Limit {
    let value = pool.backlog.value.min(u64::from(machine.somaxconn)) + 1;
    let beyond = if pool.unix {
        "beyond it connect(2) fails at once (EAGAIN): the proxy answers an error (502 or 503)"
    } else {
        "beyond it connections hang: the proxy answers an error (504 or 503)"
    };
    Limit {
        caps: "requests that wait for a child of the pool".to_owned(),
        law: Law::Backlog { value: value as f64 },
        formula: match pool.backlog.value {
            u64::MAX => format!("net.core.somaxconn {} + 1: as many as the kernel allows; {beyond}", machine.somaxconn),
            n => format!("min({n}, net.core.somaxconn {}) + 1; {beyond}", machine.somaxconn),
        },
        source: "listen(2), unix(7); php.net/manual/install.fpm.configuration#listen-backlog".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Status502, ErrorKind::Status504], slow: true },
        remedy: Some(Remedy {
            note: Some("more children are the better answer".to_owned()),
            // Products that can stand before it have a setting of the short name, too.
            ..raised_queue(&format!("listen.backlog of [{}]", pool.name), machine.somaxconn)
        }),
        ..limit(pool, "listen.backlog", &pool.backlog)
    }
}

fn memory_limit(pool: &Pool, memory: u64) -> Limit {
    let each = pool.memory_limit.value;
    let law = match each {
        0 => Law::Unknown,
        _ => Law::Slots {
            value: memory as f64,
            reserved: 0.0,
            idle_cost: 0.0,
            busy_cost: each as f64,
            pools: 1.0,
            soft: 1.0,
        },
    };
    Limit {
        caps: "memory that each child may take".to_owned(),
        law,
        formula: match &pool.children {
            Some(held) if each > 0 => format!(
                "{} children x {} = {:.1} GiB of this machine's {:.1} at most",
                held.value,
                pool.memory_limit.written,
                held.value as f64 * each as f64 / f64::from(1 << 30),
                memory as f64 / f64::from(1 << 30)
            ),
            _ => "a child takes what its scripts ask for".to_owned(),
        },
        source: "php.net/manual/ini.core#ini.memory-limit".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Status502], slow: true },
        ..limit(pool, "memory_limit", &pool.memory_limit)
    }
}

fn descriptors(pool: &Pool) -> Limit {
    Limit {
        caps: "descriptors that each child may open: its request, files, databases".to_owned(),
        formula: format!("{} of each child", pool.descriptors.value),
        source: "getrlimit(2) RLIMIT_NOFILE; php.net/manual/install.fpm.configuration#rlimit-files".to_owned(),
        ..limit(pool, "rlimit_files", &pool.descriptors)
    }
}

/// Children that all pools ask for.
pub(super) fn asked(pools: &[Pool]) -> u64 {
    pools.iter().filter_map(|p| p.children.as_ref()).map(|h| h.value).fold(0, u64::saturating_add)
}

/// `process.max` of all pools together.
fn together(config: &Entries, pools: &[Pool]) -> Option<Limit> {
    let entry = config.value_in("global", "process.max")?;
    let (most, asked) = (process_max(config)?, asked(pools));
    Some(Limit {
        value: entry.value(),
        origin: config.origin(entry),
        caps: "children of all pools together".to_owned(),
        law: Law::Workers { workers: most as f64, queue: None, service: None, wait: None },
        formula: format!("process.max {most}; the pools ask for {asked} in all"),
        source: "php.net/manual/install.fpm.configuration#process.max".to_owned(),
        ..Limit::named("php-fpm.process.max", "php-fpm", "process.max")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phpfpm::config;

    /// php-fpm 8.2 with these: four children of `a` from the start, at most two of `b`.
    #[test]
    fn pools_share_what_all_may_have() {
        let text = |pools: &[(&str, u64)]| {
            let pool = |(n, (manager, most)): (usize, &(&str, u64))| {
                format!("[p{n}]\nlisten = /run/{n}\npm = {manager}\npm.max_children = {most}\n")
            };
            pools.iter().enumerate().map(pool).collect::<String>()
        };
        let shared = |all: &[(&str, u64)]| {
            let dir = tempfile::tempdir().unwrap();
            let main = dir.path().join("fpm.conf");
            std::fs::write(&main, text(all)).unwrap();
            let config = config::read(&main).unwrap();
            let machine = Machine::of(&Default::default());
            let pools: Vec<Pool> =
                config::pools(&config).into_iter().map(|name| Pool::of(&config, name, &machine)).collect();
            shares(&pools, 6)
        };
        assert_eq!(shared(&[("static", 4), ("ondemand", 10)]), [(4, 4), (2, 2)]);
        assert_eq!(shared(&[("static", 4), ("static", 10)]), [(4, 4), (2, 2)]);
        assert_eq!(shared(&[("dynamic", 4), ("ondemand", 3)]), [(3, 4), (2, 3)]);
        assert_eq!(shared(&[("dynamic", 10)]), [(6, 6)]);
    }
}
