//! The limits of a Redis, as data. Defaults are those of Redis 7.0 (src/config.c).

use std::path::Path;

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::config;
use super::evidence::{EVICTED, OUTPUT_BUFFER, REJECTED};
use crate::files::ConfigError;
use crate::files::entry::Entries;
use crate::limits::{SLOW, connections, errors, grew, log, raised, valued};
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;

/// Descriptors that Redis keeps for itself (src/server.h: CONFIG_MIN_RESERVED_FDS).
pub(super) const RESERVED: u64 = 32;
/// By so many it lowers what it asks for.
const STEP: u64 = 16;
pub(super) const SOURCE: &str = "Redis 7.0 src/config.c";

/// Values in force.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    /// `maxclients` as written.
    pub(super) maxclients: SourcedValue<u64>,
    /// As many as the descriptors allow of it.
    pub(super) clients: u64,
    /// `tcp-backlog`.
    pub(super) backlog: SourcedValue<u64>,
    /// `maxmemory`, bytes; 0: none.
    pub(super) maxmemory: SourcedValue<u64>,
    /// `client-output-buffer-limit pubsub`: at once, for a while, and how long that is, seconds.
    pub(super) pubsub: SourcedValue<(u64, u64, u64)>,
    /// `client-query-buffer-limit`, bytes.
    pub(super) query: SourcedValue<u64>,
    /// `proto-max-bulk-len`, bytes.
    pub(super) bulk: SourcedValue<u64>,
    /// `maxmemory-clients`, bytes; none: no cap.
    pub(super) evicts: Option<SourcedValue<u64>>,
    /// Threads that write.
    pub(super) threads: SourcedValue<u64>,
    /// Whether they read, too.
    pub(super) threads_read: bool,
}

impl Facts {
    pub(super) fn of(config: &Entries, machine: &Machine) -> Facts {
        let held = |name: &str, default: &str, read: fn(&str) -> Option<u64>| {
            let entry = config.last(name).filter(|e| read(&e.value()).is_some());
            let written = entry.map_or_else(|| default.to_owned(), |e| e.value());
            let origin = entry.map_or_else(|| Origin::Default(SOURCE.to_owned()), |e| config.origin(e));
            SourcedValue { value: read(&written).unwrap_or(0), written, origin }
        };
        let maxmemory = held("maxmemory", "0", bytes);
        let maxclients = held("maxclients", "10000", number);
        let most = machine.descriptors_ceiling.value as u64;
        Facts {
            clients: with_descriptors(maxclients.value, machine.descriptors.min(most), most),
            maxclients,
            backlog: held("tcp-backlog", "511", number),
            evicts: evicts(config, maxmemory.value),
            maxmemory,
            pubsub: pubsub(config),
            query: held("client-query-buffer-limit", "1gb", bytes),
            bulk: held("proto-max-bulk-len", "512mb", bytes),
            threads: held("io-threads", "1", number),
            threads_read: config.last("io-threads-do-reads").is_some_and(|e| e.value().eq_ignore_ascii_case("yes")),
        }
    }
}

/// Clients for whom there are descriptors: Redis asks for what it needs, and for 16 fewer each time that the system does not give as many
/// (src/server.c: adjustOpenFilesLimit); it keeps those it `has`.
fn with_descriptors(clients: u64, has: u64, most: u64) -> u64 {
    let needed = clients.saturating_add(RESERVED);
    let given = needed - needed.saturating_sub(most).div_ceil(STEP) * STEP;
    clients.min(given.max(has).saturating_sub(RESERVED))
}

/// A whole number as Redis reads it: no sign, no zero before it (src/util.c: string2ll).
pub(super) fn number(text: &str) -> Option<u64> {
    let plain = text == "0" || !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}

/// Bytes of `32mb`, `1k`, `1g` (src/util.c: `memtoull`).
pub(super) fn bytes(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let unit = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    // Nothing at all is 0.
    let digits = if text.is_empty() { "0" } else { &text[..digits] };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The least that `maxmemory-clients` comes to (src/server.c: getClientEvictionLimit).
const LEAST_OF_CLIENTS: u64 = 128 << 10;

/// What clients may take of memory together: bytes, or a part of `maxmemory`, which is none where that is 0.
fn evicts(config: &Entries, maxmemory: u64) -> Option<SourcedValue<u64>> {
    let entry = config.last("maxmemory-clients")?;
    let written = entry.value();
    let value = match percent(&written) {
        Some(part) => maxmemory / 100 * part + maxmemory % 100 * part / 100,
        None => bytes(&written)?,
    };
    let origin = config.origin(entry);
    (value > 0).then(|| SourcedValue { value: value.max(LEAST_OF_CLIENTS), written, origin })
}

/// `5%` (src/config.c: PERCENT_CONFIG).
pub(super) fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    digits.parse().ok().filter(|part| *part <= 100 && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// `client-output-buffer-limit CLASS HARD SOFT SECONDS ...`, several classes a line.
fn pubsub(config: &Entries) -> SourcedValue<(u64, u64, u64)> {
    for entry in config.all().iter().rev().filter(|e| e.name == "client-output-buffer-limit") {
        for class in entry.values.chunks(4).rev() {
            if let [name, hard, soft, seconds] = class
                && name.eq_ignore_ascii_case("pubsub")
                && let (Some(hard), Some(soft), Ok(seconds)) = (bytes(hard), bytes(soft), seconds.parse())
            {
                let (written, origin) = (class[1..].join(" "), config.origin(entry));
                return SourcedValue { value: (hard, soft, seconds), written, origin };
            }
        }
    }
    let origin = Origin::Default("Redis 7.0 src/config.c: clientBufferLimitsDefaults".to_owned());
    SourcedValue { value: (32 << 20, 8 << 20, 60), written: "32mb 8mb 60".to_owned(), origin }
}

pub(super) fn of(config: &Entries, facts: &Facts, machine: &Machine, memory: u64) -> Vec<Limit> {
    let policy = config.last("maxmemory-policy").map_or_else(|| "noeviction".to_owned(), |e| e.value().to_lowercase());
    [
        clients(facts, machine),
        backlog(facts, machine),
        output(facts),
        query(facts),
        bulk(facts),
        space(facts, &policy, memory),
        cpu(facts),
    ]
    .into_iter()
    .chain(facts.evicts.as_ref().map(evicted))
    .collect()
}

/// Limits of a private Redis that runs on these lines beside its defaults, those whose signs can be seen.
pub(super) fn of_lines(lines: &[String], machine: &Machine, memory: u64) -> Result<Vec<Limit>, ConfigError> {
    let config = config::of_text(Path::new("(given)"), lines.join("\n").into_bytes())?;
    let mut all = of(&config, &Facts::of(&config, machine), machine, memory);
    all.retain(|limit| !limit.signatures.is_empty());
    for limit in all.iter_mut().filter(|limit| matches!(limit.origin, Origin::File { .. })) {
        limit.origin = Origin::Given;
    }
    Ok(all)
}

fn limit<T>(name: &str, held: &SourcedValue<T>) -> Limit {
    valued(&format!("redis.{name}"), "redis", name, held)
}

fn clients(facts: &Facts, machine: &Machine) -> Limit {
    Limit {
        caps: "clients at once: a process that publishes and subscribes has two".to_owned(),
        law: connections(facts.clients as f64, 1.0),
        formula: format!(
            "min(maxclients {}, {} descriptors - {RESERVED} of its own)",
            facts.maxclients.value, machine.descriptors_ceiling.value
        ),
        source: "Redis src/server.c: adjustOpenFilesLimit; src/networking.c: acceptCommonHandler".to_owned(),
        signatures: vec![grew(REJECTED, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Status503]),
        remedy: Some(Remedy {
            ceiling: Some(Ceiling {
                value: machine.descriptors_ceiling.value - RESERVED as f64,
                by: machine.descriptors_ceiling.by.clone(),
            }),
            ..raised("maxclients", RemedyUnit::Count, 1.0)
        }),
        ..limit("maxclients", &facts.maxclients)
    }
}

fn backlog(facts: &Facts, machine: &Machine) -> Limit {
    let value = facts.backlog.value.min(u64::from(machine.somaxconn)) + 1;
    Limit {
        caps: "connections that may wait to be accepted at one instant".to_owned(),
        law: Law::Backlog { value: value as f64 },
        formula: format!("min(tcp-backlog {}, net.core.somaxconn {}) + 1", facts.backlog.value, machine.somaxconn),
        source: "listen(2); Redis src/anet.c: anetListen".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::ConnectTimeout], slow: true },
        ..limit("tcp-backlog", &facts.backlog)
    }
}

fn output(facts: &Facts) -> Limit {
    let (hard, soft, seconds) = facts.pubsub.value;
    let kilo = |bytes: u64| bytes >> 10;
    Limit {
        caps: "what may wait for one subscriber; beyond it Redis cuts it off, and what waited is lost".to_owned(),
        formula: format!(
            "{} messages of 1 KiB waiting at once, or {} for {seconds} s; 0 is no limit",
            kilo(hard),
            kilo(soft)
        ),
        source: "Redis src/networking.c: checkClientOutputBufferLimits; pub/sub delivers at most once".to_owned(),
        signatures: vec![log(OUTPUT_BUFFER, Strength::Decisive)],
        symptom: errors(&[]),
        ..limit("client-output-buffer-limit pubsub", &facts.pubsub)
    }
}

fn evicted(held: &SourcedValue<u64>) -> Limit {
    Limit {
        caps: "memory of all clients' connections and buffers together; beyond it Redis closes those that take most"
            .to_owned(),
        formula: format!(
            "{} bytes (maxmemory-clients {}, at least 128 KiB), then connections are closed, largest first; those of replicas, of its \
             master and with CLIENT NO-EVICT are spared",
            held.value, held.written
        ),
        source: "Redis src/server.c: getClientEvictionLimit; src/networking.c: evictClients".to_owned(),
        signatures: vec![grew(EVICTED, Strength::Decisive)],
        symptom: errors(&[]),
        ..limit("maxmemory-clients", held)
    }
}

fn query(facts: &Facts) -> Limit {
    Limit {
        caps: "bytes that a client has sent and Redis has not taken as parts of a command yet".to_owned(),
        formula: format!("at once <= {} bytes; beyond it Redis cuts the client off", facts.query.value),
        source: "Redis src/networking.c: readQueryFromClient".to_owned(),
        ..limit("client-query-buffer-limit", &facts.query)
    }
}

/// A value that is longer is refused by its announced length; one that the query buffer cannot hold is cut off while it comes.
fn bulk(facts: &Facts) -> Limit {
    let most = facts.bulk.value.min(facts.query.value);
    Limit {
        caps: "bytes of one argument of a command: a key, a value".to_owned(),
        law: Law::BodySize { value: most as f64 },
        formula: format!(
            "min(proto-max-bulk-len {}, client-query-buffer-limit {}) = {most} bytes; a longer one is refused: Protocol error: invalid bulk \
             length",
            facts.bulk.value, facts.query.value
        ),
        source: "Redis src/networking.c: processMultibulkBuffer".to_owned(),
        ..limit("proto-max-bulk-len", &facts.bulk)
    }
}

fn space(facts: &Facts, policy: &str, memory: u64) -> Limit {
    let gib = |n: u64| n as f64 / f64::from(1 << 30);
    let formula = match facts.maxmemory.value {
        0 => format!("no limit: the machine's {:.1} GiB, then the kernel ends a process", gib(memory)),
        n if policy == "noeviction" => format!("{:.2} GiB, then writes fail with -OOM (noeviction)", gib(n)),
        n => format!("{:.2} GiB, then keys are evicted ({policy})", gib(n)),
    };
    Limit {
        caps: "memory of the data".to_owned(),
        formula,
        source: "Redis src/evict.c: getMaxmemoryState".to_owned(),
        ..limit("maxmemory", &facts.maxmemory)
    }
}

fn cpu(facts: &Facts) -> Limit {
    Limit {
        caps: "cores that can run commands".to_owned(),
        law: Law::Cpu { cores: 1.0 },
        formula: match (facts.threads.value, facts.threads_read) {
            (0 | 1, _) => "1: one thread reads, runs commands, and writes".to_owned(),
            (n, true) => format!("1: commands run in one thread ({n} read and write)"),
            (n, false) => {
                format!("1: commands run in one thread, which reads, too ({n} write; io-threads-do-reads is no)")
            }
        },
        source: "Redis src/server.c, redis.conf on io-threads".to_owned(),
        symptom: SLOW,
        ..limit("io-threads", &facts.threads)
    }
}
