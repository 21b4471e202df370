//! What caps connections and objects, as data.

use genkai_model::error::ErrorKind;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::config::Config;
use super::evidence::OUT_OF_DESCRIPTORS;
use super::settings::bytes;
use crate::cache::largest;
use crate::limits::{accept_queue, connections, counted, log, raised, valued};
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;

/// Values in force.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Facts {
    /// `max_filedescriptors`: as written (0: as many as it inherits), and what that comes to.
    pub(super) descriptors: SourcedValue<u64>,
    /// As many as it can have.
    pub(super) available: u64,
    /// `workers`.
    pub(super) workers: SourcedValue<u64>,
    /// `maximum_object_size`.
    pub(super) object: SourcedValue<u64>,
    /// `maximum_object_size_in_memory`.
    pub(super) in_memory: SourcedValue<u64>,
    /// `request_body_max_size`; 0: no cap.
    pub(super) body: SourcedValue<u64>,
    /// `client_ip_max_connections`; none: no cap.
    pub(super) per_client: Option<SourcedValue<u64>>,
    /// Whether it has a `cache_dir`.
    pub(super) disk: bool,
    /// `max-size` of a rock store.
    pub(super) rock: Option<SourcedValue<u64>>,
}

impl Facts {
    pub(super) fn of(config: &Config, descriptors: u64) -> Facts {
        let number = |text: &str| text.parse().ok();
        let one = |name: &str, read: fn(&str) -> Option<u64>| config.sourced(name, read);
        let asked = one("max_filedescriptors", number);
        let value = if asked.value == 0 { descriptors } else { asked.value.min(descriptors) };
        Facts {
            descriptors: SourcedValue { value, ..asked },
            available: descriptors,
            workers: one("workers", number),
            object: one("maximum_object_size", bytes),
            in_memory: one("maximum_object_size_in_memory", bytes),
            body: one("request_body_max_size", bytes),
            per_client: config.value("client_ip_max_connections").map(|_| one("client_ip_max_connections", number)),
            disk: config.value("cache_dir").is_some(),
            rock: rock(config),
        }
        .without_a_cap()
    }

    /// `client_ip_max_connections -1` is no number.
    fn without_a_cap(self) -> Facts {
        Facts { per_client: self.per_client.filter(|held| held.value > 0), ..self }
    }
}

/// Largest object of the first rock store: `max-size=`, else one slot (`slot-size=`, 16 KB).
fn rock(config: &Config) -> Option<SourcedValue<u64>> {
    let entry = config.each("cache_dir").find(|entry| entry.values.first().is_some_and(|kind| kind == "rock"))?;
    let option = |name: &str| entry.values.iter().find_map(|word| word.strip_prefix(name)?.parse().ok());
    let value: u64 = option("max-size=").or_else(|| option("slot-size=")).unwrap_or(16 << 10);
    Some(SourcedValue { value, written: value.to_string(), origin: config.entries.origin(entry) })
}

/// Every limit of a configuration on a machine.
pub(super) fn of(facts: &Facts, machine: &Machine) -> Vec<Limit> {
    let mut all = vec![max_filedescriptors(facts), backlog(facts, machine), cpu(facts, machine)];
    let stored = if facts.disk { ("maximum_object_size", &facts.object) } else { memory(facts) };
    all.push(object(stored.0, stored.1));
    all.extend(rock_largest(facts));
    all.extend(facts.per_client.as_ref().map(per_client));
    all.extend((facts.body.value > 0).then(|| body(&facts.body)));
    all
}

/// Those that decide what a cache of genkai's own making can hold: all else of it is Squid's default.
pub(super) fn of_accelerator(facts: &Facts) -> Vec<Limit> {
    std::iter::once(max_filedescriptors(facts)).chain(rock_largest(facts)).collect()
}

fn rock_largest(facts: &Facts) -> Option<Limit> {
    let held = facts.rock.as_ref()?;
    let source = "squid 5.7 src/cf.data.pre, cache_dir";
    let limit = largest("squid.rock.max_size", "cache_dir max-size", held.value, source);
    Some(Limit { origin: held.origin.clone(), ..limit })
}

/// Without a disk an object must fit both sizes.
fn memory(facts: &Facts) -> (&'static str, &SourcedValue<u64>) {
    match facts.object.value < facts.in_memory.value {
        true => ("maximum_object_size", &facts.object),
        false => ("maximum_object_size_in_memory", &facts.in_memory),
    }
}

fn object(setting: &str, held: &SourcedValue<u64>) -> Limit {
    let source = "squid 5.7 src/cf.data.pre, maximum_object_size";
    let limit = largest(&format!("squid.{setting}"), setting, held.value, source);
    Limit { value: held.written.clone(), origin: held.origin.clone(), ..limit }
}

/// Squid accepts while `max - used - opening >= reserved` (src/comm/TcpAcceptor.cc), and reserves min(100, max / 4) (src/comm.cc).
fn max_filedescriptors(facts: &Facts) -> Limit {
    let held = &facts.descriptors;
    let reserved = reserved(held.value);
    let inherits = held.written == "0";
    let default = Origin::Default("0, the soft limit on descriptors (src/cf.data.pre)".to_owned());
    Limit {
        value: if inherits { held.value.to_string() } else { held.written.clone() },
        origin: if matches!(held.origin, Origin::Default(_)) { default } else { held.origin.clone() },
        caps: "descriptors: one a client, another one to the origin".to_owned(),
        law: Law::Slots {
            value: held.value as f64,
            reserved: reserved as f64,
            idle_cost: 1.0,
            busy_cost: 2.0,
            pools: facts.workers.value.max(1) as f64,
            soft: 1.0,
        },
        formula: format!("({} - {reserved} reserved) / 2 for requests that go to the origin", held.value),
        source: "squid 5.7 src/comm/TcpAcceptor.cc:248, src/comm.cc:1253".to_owned(),
        signatures: vec![log(OUT_OF_DESCRIPTORS, Strength::Decisive)],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: Some(Remedy {
            ceiling: Some(Ceiling {
                value: facts.available as f64,
                by: format!("{} descriptors that it inherits", facts.available),
            }),
            note: Some("takes a restart".to_owned()),
            ..raised("max_filedescriptors", RemedyUnit::Count, 1.0)
        }),
        ..Limit::named("squid.max_filedescriptors", "squid", "max_filedescriptors")
    }
}

/// Descriptors that are no client's: min(100, max / 4) (src/comm.cc).
pub(super) fn reserved(descriptors: u64) -> u64 {
    100.min(descriptors / 4)
}

/// Squid listens with a quarter of its descriptors as the backlog (src/comm.cc: `comm_listen`).
fn backlog(facts: &Facts, machine: &Machine) -> Limit {
    let asked = facts.descriptors.value / 4;
    let queue = asked.min(u64::from(machine.somaxconn)) + 1;
    Limit {
        value: asked.to_string(),
        origin: Origin::Default("a quarter of its descriptors (src/comm.cc)".to_owned()),
        formula: format!(
            "min(descriptors {} / 4, net.core.somaxconn {}) + 1",
            facts.descriptors.value, machine.somaxconn
        ),
        source: "squid 5.7 src/comm.cc: comm_listen; listen(2)".to_owned(),
        ..accept_queue("squid.backlog", "squid", "listen backlog", queue as f64)
    }
}

/// A worker has one thread.
fn cpu(facts: &Facts, machine: &Machine) -> Limit {
    let (workers, cores) = (facts.workers.value.max(1), u64::from(machine.cores));
    let value = workers.min(cores);
    Limit {
        caps: "cores that can work for Squid at once: a worker has one thread".to_owned(),
        law: Law::Cpu { cores: value as f64 },
        formula: format!("min({}, {} for the servers)", counted(workers, "worker"), counted(cores, "core")),
        source: "squid 5.7 src/cf.data.pre, workers".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        ..valued("squid.workers", "squid", "workers", &facts.workers)
    }
}

fn per_client(held: &SourcedValue<u64>) -> Limit {
    Limit {
        caps: "connections of one client address; a further one is closed at once".to_owned(),
        law: connections(held.value as f64, 1.0),
        formula: format!("client_ip_max_connections {}, all clients of a load from one address", held.value),
        source: "squid 5.7 src/comm/TcpAcceptor.cc: acceptOne".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Reset, ErrorKind::EofNew], slow: false },
        ..valued("squid.client_ip_max_connections", "squid", "client_ip_max_connections", held)
    }
}

fn body(held: &SourcedValue<u64>) -> Limit {
    Limit {
        caps: "bytes of a request's body; a larger one is refused with 413".to_owned(),
        law: Law::BodySize { value: held.value as f64 },
        formula: format!("request_body_max_size {}", held.written),
        source: "squid 5.7 src/client_side.cc: clientIsRequestBodyTooLargeForPolicy".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Status413], slow: false },
        ..valued("squid.request_body_max_size", "squid", "request_body_max_size", held)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn facts(text: &str) -> Facts {
        Facts::of(&Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap(), 20_000)
    }

    #[test]
    fn descriptors_are_what_is_asked_for_and_can_be_had() {
        let slots = |text: &str| match max_filedescriptors(&facts(text)).law {
            Law::Slots { value, reserved, .. } => ((value - reserved) / 2.0) as u64,
            _ => 0,
        };
        // Measured: 94 tunnels of Squid 5.7 with 256, less the few that it opens for itself.
        assert_eq!(slots("max_filedescriptors 256"), 96);
        assert_eq!((slots(""), slots("max_filedescriptors 90000")), (9950, 9950));
    }

    #[test]
    fn objects_are_capped_where_they_are_kept() {
        let named = |text: &str| -> Vec<String> {
            let facts = facts(text);
            let stored = if facts.disk { ("maximum_object_size", &facts.object) } else { memory(&facts) };
            vec![stored.0.to_owned(), stored.1.written.clone()]
        };
        assert_eq!(named(""), ["maximum_object_size_in_memory", "512 KB"]);
        assert_eq!(named("cache_dir ufs /x 100 16 256"), ["maximum_object_size", "4 MB"]);
        assert_eq!(named("maximum_object_size 8 KB"), ["maximum_object_size", "8 KB"]);
        assert_eq!(facts("cache_dir rock /x 100 max-size=32768").rock.map(|held| held.value), Some(32_768));
        assert_eq!(facts("client_ip_max_connections -1").per_client, None);
    }
}
