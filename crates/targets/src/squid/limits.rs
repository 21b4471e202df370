//! What caps connections and objects, as data.

use std::net::{IpAddr, SocketAddr};

use genkai_model::error::ErrorKind;
use genkai_model::evidence::metric;
use genkai_model::limit::{Ceiling, Law, Limit, Origin, Remedy, RemedyUnit, Strength, Symptom};

use super::config::Config;
use super::evidence::{OUT_OF_DESCRIPTORS, TOO_MANY_OF_ADDRESS};
use super::settings::{UNLIMITED, bytes, integer, number};
use super::{peers, replies, too_many};
use crate::cache::largest;
use crate::files::entry::Entry;
use crate::limits::{accept_queue, connections, counted, errors, log, raised, reached, valued};
use crate::settings::SourcedValue;
use genkai_place::caps::Machine;

/// Sizes of objects that it keeps: of all, and of those in memory.
pub(super) const OBJECT: [&str; 2] = ["maximum_object_size", "maximum_object_size_in_memory"];

/// `max_filedescriptors` as written (0: as many as it inherits), and what that comes to of so many that it can have.
pub(super) fn descriptors(config: &Config, available: u64) -> SourcedValue<u64> {
    let asked = config.sourced("max_filedescriptors", number);
    asked.map(|asked| if asked == 0 { available } else { asked.min(available) })
}

/// Whether requests may go to their origin past the peers: not those of an accelerator, unless it says so, and none where that is
/// forbidden (src/peer_select.cc: `checkAlwaysDirectDone`, `checkNeverDirectDone`).
pub(super) fn goes_direct(config: &Config) -> bool {
    let ports: Vec<_> = config.each("http_port").collect();
    let has = |entry: &Entry, word: &str| entry.values.iter().any(|value| value == word);
    let around = ports.iter().any(|port| !has(port, "accel") || has(port, "allow-direct"));
    let never = config.each("never_direct").next().is_some_and(|entry| entry.values == ["allow", "all"]);
    (around && !never) || config.value("always_direct").is_some()
}

/// Every limit of a configuration on a machine, which lets it have so many descriptors. `direct`: whether requests may go past the peers;
/// `client`: the address of the clients, where it is known; `nobody`: whether nobody listens at an address.
pub(super) fn of(
    config: &Config,
    available: u64,
    machine: &Machine,
    direct: bool,
    client: Option<IpAddr>,
    nobody: &dyn Fn(SocketAddr) -> bool,
) -> Vec<Limit> {
    let first = [max_filedescriptors(config, available), backlog(config, available, machine), cpu(config, machine)];
    let peers = peers::limit(config, nobody).filter(|_| !direct);
    let ports = peers::ports(config, machine.ports).filter(|_| !direct);
    let more = [Some(object(config)), rock(config), per_client(config), body(config), peers, ports];
    first
        .into_iter()
        .chain(more.into_iter().flatten())
        .chain(too_many::limits(config, client))
        .chain(replies::limits(config, client))
        .collect()
}

/// Those that decide what a cache of genkai's own making can hold: all else of it is Squid's default.
pub(super) fn of_accelerator(config: &Config, available: u64) -> Vec<Limit> {
    std::iter::once(max_filedescriptors(config, available)).chain(rock(config)).collect()
}

/// Largest object of the first rock store: `max-size=`, else one slot (`slot-size=`, 16 KB).
fn rock(config: &Config) -> Option<Limit> {
    let entry = config.each("cache_dir").find(|entry| entry.values.first().is_some_and(|kind| kind == "rock"))?;
    let option = |name: &str| entry.values.iter().find_map(|word| word.strip_prefix(name)?.parse().ok());
    let value: u64 = option("max-size=").or_else(|| option("slot-size=")).unwrap_or(16 << 10);
    let limit = largest("squid.rock.max_size", "cache_dir max-size", value, "squid 5.7 src/cf.data.pre, cache_dir");
    Some(Limit { origin: config.entries.origin(entry), ..limit })
}

/// Without a disk an object must fit both sizes.
fn object(config: &Config) -> Limit {
    let [all, in_memory] = OBJECT.map(|name| (name, config.sourced(name, bytes)));
    let on_disk = config.value("cache_dir").is_some();
    let (setting, size) = if on_disk || all.1.value < in_memory.1.value { all } else { in_memory };
    let source = "squid 5.7 src/cf.data.pre, maximum_object_size";
    let limit = largest(&format!("squid.{setting}"), setting, size.value, source);
    Limit { value: size.written, origin: size.origin, ..limit }
}

/// Squid accepts while `max - used - opening >= reserved` (src/comm/TcpAcceptor.cc), and reserves min(100, max / 4) (src/comm.cc).
fn max_filedescriptors(config: &Config, available: u64) -> Limit {
    let SourcedValue { value, written, origin } = descriptors(config, available);
    let (reserved, workers) = (100.min(value / 4), config.workers().value);
    let (all, one) = (value as f64, (value - reserved) as f64);
    let default = Origin::Default("0, the soft limit on descriptors (src/cf.data.pre)".to_owned());
    Limit {
        value: if written == "0" { value.to_string() } else { written },
        origin: if matches!(origin, Origin::Default(_)) { default } else { origin },
        caps: "descriptors: one a client, another one to the origin".to_owned(),
        law: Law::Slots {
            value: all,
            reserved: reserved as f64,
            idle_cost: 1.0,
            busy_cost: 2.0,
            pools: workers as f64,
            soft: if workers > 1 { (reserved as f64 + one / workers as f64) / all } else { 1.0 },
        },
        formula: format!(
            "({value} - {reserved} reserved) / 2 for requests that go to the origin{}; further clients wait to be accepted",
            too_many::of_each(workers)
        ),
        source: "squid 5.7 src/comm/TcpAcceptor.cc:248, src/comm.cc:1253, src/fd.cc: fdUsageHigh".to_owned(),
        // The message comes once in 15 seconds at most (src/fd.cc), and may have come before anybody minded.
        signatures: vec![
            log(OUT_OF_DESCRIPTORS, Strength::Decisive),
            reached(&format!("squid.{}", metric::WORKER_FDS_MAX), 0.97 * (value - reserved) as f64, Strength::Supports),
        ],
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        remedy: Some(Remedy {
            ceiling: Some(Ceiling { value: available as f64, by: format!("{available} descriptors that it inherits") }),
            note: Some("takes a restart".to_owned()),
            ..raised("max_filedescriptors", RemedyUnit::Count, 1.0)
        }),
        // It accepts nobody then, and with so few left it closes each connection after its answer (fdUsageHigh).
        turns: true,
        ..Limit::named("squid.max_filedescriptors", "squid", "max_filedescriptors")
    }
}

/// Squid listens with a quarter of its descriptors as the backlog (src/comm.cc: `comm_listen`).
fn backlog(config: &Config, available: u64, machine: &Machine) -> Limit {
    let descriptors = descriptors(config, available).value;
    let asked = descriptors / 4;
    let queue = asked.min(u64::from(machine.somaxconn)) + 1;
    Limit {
        value: asked.to_string(),
        origin: Origin::Default("a quarter of its descriptors (src/comm.cc)".to_owned()),
        formula: format!("min(descriptors {descriptors} / 4, net.core.somaxconn {}) + 1", machine.somaxconn),
        source: "squid 5.7 src/comm.cc: comm_listen; listen(2)".to_owned(),
        ..accept_queue("squid.backlog", "squid", "listen backlog", queue as f64)
    }
}

/// WebSockets, where no rule lets Squid pass their Upgrade on: it asks the origin without it. Protocols are compared letter by letter
/// (`WebSocket` is not what clients say); `OTHER` stands for those that no rule names.
pub(super) fn upgrade(config: &Config) -> Option<Limit> {
    let setting = "http_upgrade_request_protocols";
    let rules: Vec<_> = config.each(setting).collect();
    let value = |entry: &Entry, n: usize| entry.values.get(n).cloned().unwrap_or_default();
    let allowed = |e: &&Entry| matches!(value(e, 0).as_str(), "websocket" | "OTHER") && value(e, 1) == "allow";
    if rules.iter().any(allowed) {
        return None;
    }
    let last = rules.last();
    let default = || Origin::Default("squid 5.7 src/cf.data.pre: no protocol".to_owned());
    Some(Limit {
        value: last.map_or_else(|| "none".to_owned(), |rule| rule.values.join(" ")),
        origin: last.map_or_else(default, |rule| config.entries.origin(rule)),
        caps: "WebSockets: no rule lets Squid pass their `Upgrade: websocket` on".to_owned(),
        law: connections(0.0, 1.0),
        formula: "0 WebSockets, as no rule allows `websocket` (letter by letter)".to_owned(),
        source: "squid 5.7 src/cf.data.pre: http_upgrade_request_protocols; src/HttpUpgradeProtocolAccess.cc"
            .to_owned(),
        symptom: errors(&[ErrorKind::UpgradeRefused, ErrorKind::Status4xx, ErrorKind::Status502, ErrorKind::Status5xx]),
        ..Limit::named(&format!("squid.{setting}"), "squid", setting)
    })
}

/// A worker has one thread.
fn cpu(config: &Config, machine: &Machine) -> Limit {
    let (workers, cores) = (config.workers(), u64::from(machine.cores));
    Limit {
        caps: "cores that can work for Squid at once: a worker has one thread".to_owned(),
        law: Law::Cpu { cores: workers.value.min(cores) as f64 },
        formula: format!("min({}, {} for the servers)", counted(workers.value, "worker"), counted(cores, "core")),
        source: "squid 5.7 src/cf.data.pre, workers".to_owned(),
        symptom: Symptom { errors: vec![ErrorKind::Timeout], slow: true },
        ..valued("squid.workers", "squid", "workers", &workers)
    }
}

/// Squid closes a connection when more than so many are there before it, which lets one more in than is written (measured on 5.7). -1: no
/// cap. Without `client_db` it counts no clients (src/client_db.cc: `clientdbEstablished`; 20 clients with 5 on 5.7: none refused).
fn per_client(config: &Config) -> Option<Limit> {
    if !config.counts_clients() {
        return None;
    }
    let most = config.sourced("client_ip_max_connections", integer);
    let fit = u32::try_from(most.value).ok()? + 1;
    let workers = config.workers().value;
    Some(Limit {
        caps: "connections of one client address; a further one is closed at once".to_owned(),
        law: too_many::of_client(f64::from(fit), workers),
        formula: format!(
            "{fit}: a connection is closed when more than {} are there before it; all clients of a load have one address{}",
            most.value,
            too_many::of_each(workers)
        ),
        source: "squid 5.7 src/comm/TcpAcceptor.cc: acceptOne".to_owned(),
        signatures: vec![log(TOO_MANY_OF_ADDRESS, Strength::Decisive)],
        symptom: errors(&[ErrorKind::Reset, ErrorKind::EofNew]),
        remedy: Some(Remedy {
            note: Some("all connections of this load come from one address; real visitors have one each".to_owned()),
            parts: workers as f64,
            ..raised("client_ip_max_connections", RemedyUnit::Count, 1.0)
        }),
        ..valued("squid.client_ip_max_connections", "squid", "client_ip_max_connections", &most)
    })
}

fn body(config: &Config) -> Option<Limit> {
    let most = config.sourced("request_body_max_size", bytes);
    (most.value > 0 && most.value != UNLIMITED).then(|| Limit {
        caps: "bytes of a request's body; a larger one is refused with 413".to_owned(),
        law: Law::BodySize { value: most.value as f64 },
        formula: format!("request_body_max_size {}", most.written),
        source: "squid 5.7 src/client_side.cc: clientIsRequestBodyTooLargeForPolicy".to_owned(),
        symptom: errors(&[ErrorKind::Status413]),
        ..valued("squid.request_body_max_size", "squid", "request_body_max_size", &most)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(text: &str) -> Config {
        Config::of_text(Path::new("/x"), text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn descriptors_are_what_is_asked_for_and_can_be_had() {
        let slots = |text: &str| match max_filedescriptors(&config(text), 20_000).law {
            Law::Slots { value, reserved, .. } => ((value - reserved) / 2.0) as u64,
            _ => 0,
        };
        // Measured: 94 tunnels of Squid 5.7 with 256, less the few that it opens for itself.
        assert_eq!(slots("max_filedescriptors 256"), 96);
        assert_eq!((slots(""), slots("max_filedescriptors 90000")), (9950, 9950));
        let two = max_filedescriptors(&config("workers 2\nmax_filedescriptors 300"), 20_000);
        let Law::Slots { value, reserved, pools, soft, .. } = two.law else { panic!() };
        assert_eq!((pools * (value * soft - reserved) / 2.0, pools * (value - reserved) / 2.0), (112.5, 225.0));
    }

    #[test]
    fn websockets_pass_where_a_rule_names_them_as_clients_do() {
        let blocked = |text: &str| upgrade(&config(text)).map(|limit| limit.value);
        let rule = "http_upgrade_request_protocols";
        assert_eq!(blocked("").as_deref(), Some("none"));
        assert_eq!(blocked(&format!("{rule} WebSocket allow all")).as_deref(), Some("WebSocket allow all"));
        assert_eq!(blocked(&format!("{rule} websocket deny all")).as_deref(), Some("websocket deny all"));
        assert_eq!(blocked(&format!("{rule} websocket allow all")), None);
        assert_eq!(blocked(&format!("{rule} OTHER allow all")), None);
    }

    #[test]
    fn objects_are_capped_where_they_are_kept() {
        let named = |text: &str| {
            let limit = object(&config(text));
            [limit.setting, limit.value]
        };
        assert_eq!(named(""), ["maximum_object_size_in_memory", "512 KB"]);
        assert_eq!(named("cache_dir ufs /x 100 16 256"), ["maximum_object_size", "4 MB"]);
        assert_eq!(named("maximum_object_size 8 KB"), ["maximum_object_size", "8 KB"]);
        assert_eq!(rock(&config("cache_dir rock /x 100 max-size=32768")).unwrap().value, "32768");
        assert_eq!((per_client(&config("client_ip_max_connections -1")), per_client(&config(""))), (None, None));
        let law = |text: &str| per_client(&config(text)).map(|limit| limit.law);
        assert_eq!(law("client_db off\nclient_ip_max_connections 12"), None, "clients are not counted");
        assert_eq!(law("client_db disable\nclient_ip_max_connections 12"), None, "nor by its other word");
        assert_eq!(law("client_ip_max_connections 12"), Some(connections(13.0, 1.0)));
        assert_eq!(law("client_ip_max_connections 0"), Some(connections(1.0, 1.0)));
        // 62 of one address were served by two workers with 30 each (5.7).
        let Some(Law::Slots { value, soft, .. }) = law("workers 2\nclient_ip_max_connections 30") else { panic!() };
        assert_eq!((value * soft, value), (31.0, 62.0));
    }
}
